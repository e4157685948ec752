"""One row a citation, for spreadsheets, in the words of the other reports; no text is a formula.

How far a citation came stands in its row (`citation_reached`): counting that column gives the
funnel, and no line has to be told apart from the rows.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from functools import partial

from pincite import containment
from pincite.judgement import fusion
from pincite.judgement.funnel import FLAGS, stage
from pincite.report import cells
from pincite.types import (
    CitationResult,
    Claim,
    Failed,
    Finding,
    Label,
    Listing,
    Part,
    Unchecked,
    Uncited,
)
from pincite.verbs.verify import wording
from pincite.verbs.verify.report import Report

COLUMNS = (
    "rank claim_id section claim label score citation_id citation_title citation_url "
    "citation_label citation_score unchecked_reason unchecked_detail quote reasons "
    "suggestion_url suggestion_title suggestion_score suggestion_quote "
    "missing citation_missing advice citation_reliability suggestion_reliability excluded "
    "citation_reached "
    "copy copy_url copy_date not_live changed changed_quote place suggestion_place "
    "second_opinion second_opinion_model disagrees suggestion_corpus citation_need"
).split()

Value = str | float | None


def to_csv(report: Report) -> str:
    """The report as CSV with a header."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows(report):
        writer.writerow([cells.cell(value) for value in row])
    return out.getvalue()


def rows(report: Report) -> Iterator[list[Value]]:
    """The values of `COLUMNS`; a claim without citations has one row.

    So has a sentence that needs a citation and has none, with the probability in the last column.
    """
    found: list[dict[str, Value]] = []
    for rank, finding in enumerate(report.findings, 1):
        found += containment.shown(partial(_rows, report, rank), finding)
    found += [containment.shown_uncited(_uncited, each) for each in report.uncited or ()]
    for row in found:
        yield [row.get(column) for column in COLUMNS]


def _rows(report: Report, rank: int, finding: Finding) -> list[dict[str, Value]]:
    claim, said = finding.claim, finding.opinion
    of_claim: dict[str, Value] = {
        **_of_claim(claim),
        **_of_suggestions(finding),
        "rank": rank,
        "label": wording.LABELS[finding.label],
        "score": finding.score,
        "missing": _words(finding.missing),
    }
    if finding.label in FLAGS:
        of_claim["advice"] = wording.flag_advice(report.flag_precision) or None
    if isinstance(said, Failed):
        of_claim["second_opinion"] = f"none: {said.detail}"
    elif said:
        of_claim["second_opinion"] = wording.VERDICTS[said.verdict]
        of_claim["second_opinion_model"] = said.model
        of_claim["disagrees"] = "yes" if fusion.disagree(finding) else "no"
    return [of_claim | _of_citation(each, finding) for each in finding.citations] or [of_claim]


def _of_citation(result: CitationResult, finding: Finding) -> dict[str, Value]:
    citation, outcome, copy, changed = result.citation, result.outcome, result.copy, result.changed
    row: dict[str, Value] = {
        "citation_id": citation.citation_id,
        "citation_title": citation.title,
        "citation_url": citation.url,
        "citation_label": wording.LABELS[result.label],
        "citation_missing": _words(result.missing),
        "citation_reliability": _reliability(result.listing),
        "citation_reached": str(stage(result, finding.label)),
        "place": wording.where(result.place, result.label) or None,
    }
    if isinstance(outcome, Unchecked):
        row |= {"unchecked_reason": str(outcome.reason), "unchecked_detail": outcome.detail}
    else:
        row |= {"citation_score": outcome.score, "quote": outcome.quoted}
        row["reasons"] = "; ".join(outcome.reasons)
    if copy:
        row |= {"copy": str(copy.kind), "copy_url": copy.url, "copy_date": copy.date}
        row["not_live"] = str(result.not_live.reason) if result.not_live else None
    if copy and changed:
        row |= {"changed": wording.LABELS[changed.label], "changed_quote": changed.evidence.quoted}
    return row


def _uncited(uncited: Uncited) -> dict[str, Value]:
    return {
        **_of_claim(uncited.claim),
        **_of_suggestions(uncited),
        "label": wording.NO_CITATION,
        "reasons": "; ".join(uncited.reasons),
        "citation_need": uncited.probability,
    }


def _of_claim(claim: Claim) -> dict[str, Value]:
    section = " › ".join(claim.section)
    return {"claim_id": claim.claim_id, "section": section, "claim": claim.text}


def _of_suggestions(found: Finding | Uncited) -> dict[str, Value]:
    """The first better source, and the pages that were left out."""
    row: dict[str, Value] = {
        "excluded": " | ".join(f"{each.url} ({each.bar})" for each in found.excluded) or None
    }
    for suggestion in found.suggestions[:1]:
        evidence = suggestion.evidence
        row |= {
            "suggestion_url": evidence.passage.url,
            "suggestion_title": evidence.passage.title,
            "suggestion_score": evidence.score,
            "suggestion_quote": evidence.quoted,
            "suggestion_reliability": _reliability(suggestion.listing),
            "suggestion_place": wording.where(suggestion.place, Label.SUPPORTED) or None,
            "suggestion_corpus": suggestion.corpus or None,
        }
    return row


def _reliability(listing: Listing | None) -> str | None:
    return str(listing.reliability) if listing else None


def _words(parts: Sequence[Part]) -> str | None:
    return " | ".join(part.words for part in parts) or None
