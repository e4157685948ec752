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
from pincite.types import CitationResult, Evidence, Failed, Finding, Label, Part, Unchecked, Uncited
from pincite.verbs.verify import wording
from pincite.verbs.verify.records import Report

COLUMNS = (
    "rank claim_id section claim label score citation_id citation_title citation_url "
    "citation_label citation_score unchecked_reason unchecked_detail quote reasons "
    "suggestion_url suggestion_title suggestion_score suggestion_quote "
    "missing citation_missing advice citation_reliability suggestion_reliability excluded "
    "citation_reached "
    "copy copy_url copy_date not_live changed changed_quote place suggestion_place "
    "second_opinion second_opinion_model disagrees suggestion_corpus citation_need"
).split()
_SUGGESTION = [f"suggestion_{each}" for each in ("url", "title", "score", "quote")]


def to_csv(report: Report) -> str:
    """The report as CSV with a header."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows(report):
        writer.writerow([cells.cell(value) for value in row])
    return out.getvalue()


def rows(report: Report) -> Iterator[list[str | float | None]]:
    """The values of `COLUMNS`; a claim without citations has one row.

    So has a sentence that needs a citation and has none, with the probability in the last column.
    """
    for rank, finding in enumerate(report.findings, 1):
        yield from containment.shown(partial(_rows, report, rank), finding)
    for uncited in report.uncited or ():
        yield containment.shown_uncited(_uncited, uncited)


def _rows(report: Report, rank: int, finding: Finding) -> list[list[str | float | None]]:
    return [
        [
            *_row(rank, finding, result),
            *_missing(finding, result),
            _advice(report, finding),
            *_reliability(finding, result),
            str(stage(result, finding.label)) if result else None,
            *_copy(result),
            *_places(finding, result),
            *_opinion(finding),
            _corpus(finding),
            None,
        ]
        for result in finding.citations or (None,)
    ]


def _row(rank: int, finding: Finding, result: CitationResult | None) -> list[str | float | None]:
    claim = finding.claim
    section = " › ".join(claim.section)
    head: list[str | float | None] = [rank, claim.claim_id, section, claim.text]
    head += [wording.LABELS[finding.label], finding.score]
    return [*head, *_of_citation(result), *_of_suggestion(finding)]


def _of_citation(result: CitationResult | None) -> list[str | float | None]:
    if result is None:
        return [None] * 9
    citation, outcome = result.citation, result.outcome
    head = [citation.citation_id, citation.title, citation.url, wording.LABELS[result.label]]
    if isinstance(outcome, Unchecked):
        return [*head, None, str(outcome.reason), outcome.detail, None, None]
    return [*head, outcome.score, None, None, outcome.quoted, "; ".join(outcome.reasons)]


def _uncited(uncited: Uncited) -> list[str | float | None]:
    claim = uncited.claim
    first = uncited.suggestions[0] if uncited.suggestions else None
    suggested = dict(zip(_SUGGESTION, _of_suggestion(uncited), strict=True))
    row: dict[str, str | float | None] = {
        "claim_id": claim.claim_id,
        "section": " › ".join(claim.section),
        "claim": claim.text,
        "label": wording.NO_CITATION,
        "reasons": "; ".join(uncited.reasons),
        "suggestion_reliability": str(first.listing.reliability) if first and first.listing else "",
        "excluded": _excluded(uncited),
        "suggestion_place": _place(uncited),
        "suggestion_corpus": _corpus(uncited),
        "citation_need": uncited.probability,
    }
    return [(row | suggested).get(column) for column in COLUMNS]


def _of_suggestion(finding: Finding | Uncited) -> list[str | float | None]:
    if not finding.suggestions:
        return [None] * 4
    evidence: Evidence = finding.suggestions[0].evidence
    return [evidence.passage.url, evidence.passage.title, evidence.score, evidence.quoted]


def _corpus(finding: Finding | Uncited) -> str | None:
    """Where the first suggestion was found; empty where there is one corpus."""
    return finding.suggestions[0].corpus or None if finding.suggestions else None


def _missing(finding: Finding, result: CitationResult | None) -> list[str | float | None]:
    """What the group lacks, and what the citation: the claim's own words, parted by bars."""
    of_citation = result.missing if result else ()
    return [_words(finding.claim.text, parts) for parts in (finding.missing, of_citation)]


def _words(claim: str, parts: Sequence[Part]) -> str | None:
    return " | ".join(part.span.of(claim) for part in parts) or None


def _advice(report: Report, finding: Finding) -> str | None:
    """On the rows that it is about: those of flagged claims."""
    return wording.flag_advice(report.flag_precision) or None if finding.label in FLAGS else None


def _reliability(finding: Finding, result: CitationResult | None) -> list[str | float | None]:
    """The lists' words on the citation and on the first suggestion; what was left out, and why."""
    suggested = finding.suggestions[0].listing if finding.suggestions else None
    listings = (result.listing if result else None, suggested)
    labels = [str(found.reliability) if found else None for found in listings]
    return [*labels, _excluded(finding)]


def _excluded(finding: Finding | Uncited) -> str | None:
    return " | ".join(f"{e.url} ({e.bar})" for e in finding.excluded) or None


def _copy(result: CitationResult | None) -> list[str | float | None]:
    """Which copy was read, why not the page itself, and what today's page says if it changed."""
    if result is None or result.copy is None:
        return [None] * 6
    copy, changed = result.copy, result.changed
    not_live = str(result.not_live.reason) if result.not_live else None
    today = [wording.LABELS[changed.label], changed.evidence.quoted] if changed else [None, None]
    return [str(copy.kind), copy.url, copy.date, not_live, *today]


def _opinion(finding: Finding) -> list[str | float | None]:
    """A language model's verdict, and whether we alone would say otherwise."""
    said = finding.opinion
    if said is None or isinstance(said, Failed):
        return [f"none: {said.detail}" if said else None, None, None]
    disagrees = "yes" if fusion.disagree(finding) else "no"
    return [wording.VERDICTS[said.verdict], said.model, disagrees]


def _places(finding: Finding, result: CitationResult | None) -> list[str | float | None]:
    """Where the quotes stand in the source and in the first suggestion."""
    cited = wording.where(result.place, result.label) if result else ""
    return [cited or None, _place(finding)]


def _place(finding: Finding | Uncited) -> str | None:
    suggested = finding.suggestions[0].place if finding.suggestions else None
    return wording.where(suggested, Label.SUPPORTED) or None
