"""What the page of a verified article shows, made of its report and of what lies beside it."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import urlencode

from pincite.errors import InputError
from pincite.judgement import aggregation
from pincite.judgement.funnel import Stage, stage
from pincite.judgement.thresholds import relabelled
from pincite.library.own_refs import keys_of
from pincite.notes import Note
from pincite.report import cells
from pincite.server.jobs.display import atoms_of
from pincite.server.jobs.store import JobStore
from pincite.settings import renamed
from pincite.text.hosts import host_of
from pincite.types import CitationResult, Evidence, Finding, Label, Suggestion, Unchecked
from pincite.verbs.verify import data, html, wikitext, wording
from pincite.verbs.verify.records import Report

KEPT = 16  # results that stay parsed: somebody who reads one asks for it again and again
WHOLE = 60_000  # characters of a source beyond which a window of it is shown
WINDOW = 12_000  # characters before and after the quote
SHORT = 140  # characters of a claim in the list


@dataclass(frozen=True, slots=True)
class Verified:
    """A report as it was stored, and what lies beside it."""

    report: Report
    view: Mapping[str, Any]

    @property
    def threshold(self) -> float:
        """Of the run."""
        return float(str(renamed(self.report.settings)["verify.threshold"]))


class Results:
    """Stored results, parsed; the last few stay so. Safe to use from several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Verified] = OrderedDict()
        self._lock = Lock()

    def get(self, store: JobStore, job_id: str, result: bytes | None = None) -> Verified | None:
        """The result of a job that has ended; None if there is none that this version reads."""
        with self._lock:
            if found := self._kept.get(job_id):
                self._kept.move_to_end(job_id)
                return found
        result = result if result is not None else store.result(job_id)
        if result is None:
            return None
        try:
            report = data.from_json(result)
        except InputError:
            return None
        found = Verified(report, store.file(job_id, "view") or {})
        with self._lock:
            self._kept[job_id] = found
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found


def at(verified: Verified, threshold: float | None) -> Report:
    """The report as it would be at another threshold; None: at its own."""
    report = verified.report
    if threshold is None or threshold == verified.threshold:
        return report
    stored = verified.view.get("atoms", {})
    findings = [
        relabelled(f, threshold, atoms_of(stored.get(f.claim.claim_id, {}), f.claim.text))
        for f in report.findings
    ]
    return replace(
        report,
        findings=tuple(aggregation.ranked(findings)),
        flag_precision=tuple(
            (base_rate, precision)
            for base_rate, precision in verified.view.get("precision", {}).get(
                f"{threshold:.2f}", ()
            )
        ),
    )


class Row(NamedTuple):
    """A finding in the list."""

    rank: int
    claim_id: str
    label: Label
    text: str
    support: int | None  # percent
    why: str  # codes of reasons, for what could not be checked
    better: bool


def rows(report: Report) -> list[Row]:
    """The findings, worst first."""
    return [_row(finding, rank) for rank, finding in enumerate(report.findings, 1)]


def _row(finding: Finding, rank: int) -> Row:
    support = aggregation.support(finding)
    reasons = [r.outcome.reason for r in finding.citations if isinstance(r.outcome, Unchecked)]
    return Row(
        rank,
        finding.claim.claim_id,
        finding.label,
        cells.shortened(finding.claim.text, SHORT),
        None if support is None else cells.percent(support),
        " ".join(dict.fromkeys(map(str, reasons))) if finding.label is Label.UNCHECKED else "",
        bool(finding.suggestions),
    )


def unchecked(report: Report) -> list[tuple[str, int]]:
    """Why citations could not be checked, and how many each; the most frequent first."""
    outcomes = [result.outcome for finding in report.findings for result in finding.citations]
    reasons = Counter(str(o.reason) for o in outcomes if isinstance(o, Unchecked))
    uncited = sum(not finding.citations for finding in report.findings)
    return reasons.most_common() + ([("", uncited)] if uncited else [])


def edit_link(verified: Verified, claim_id: str) -> tuple[str, str] | None:
    """Where a claim's section can be edited in its wiki, and the wiki's host; None if unknown.

    The link opens the wiki's form; it changes nothing.
    """
    report = verified.report
    base, _, query = (report.url or "").partition("?")
    if not (report.revision_id and query and base.endswith("/index.php") and cells.safe_link(base)):
        return None
    asked = {"title": report.title.replace(" ", "_"), "action": "edit"}
    section = verified.view.get("sections", {}).get(claim_id)
    if section is not None:
        asked["section"] = str(section)
    return f"{base}?{urlencode(asked)}", host_of(base)


def funnel(verified: Verified, report: Report) -> list[tuple[str, int]]:
    """How far citations came: name of the stage and how many."""
    flagged = sum(
        stage(result, finding.label) is Stage.FLAGGED
        for finding in report.findings
        for result in finding.citations
    )
    found = verified.report.funnel
    uses = {str(each): tally.uses for each, tally in found.stages.items()}
    # Flagged at the run's threshold; at another they are others.
    return [("references", found.n_references), *(uses | {str(Stage.FLAGGED): flagged}).items()]


def article(verified: Verified, report: Report) -> Iterator[dict[str, Any]]:
    """The article's blocks; each in pieces: text, and of a claim its finding's id and label."""
    labels = {f.claim.claim_id: f.label for f in report.findings}
    for block in verified.view.get("blocks", ()):
        pieces, end, text = [], 0, block["text"]
        for start, stop, claim_id in block["claims"]:
            pieces += [
                (text[end:start], "", ""),
                (text[start:stop], claim_id, labels.get(claim_id)),
            ]
            end = stop
        pieces.append((text[end:], "", ""))
        yield {
            "kind": block["kind"],
            "label": block["label"],
            "pieces": [piece for piece in pieces if piece[0]],
        }


# ── One finding ──────────────────────────────────────────────────────────────────────────────────


class Quoted(NamedTuple):
    """A source's text around what speaks for it; `quote` is marked, `near` only came closest."""

    head: str
    quote: str
    near: str
    tail: str
    cut: bool  # there is more of it than is shown
    whole: bool  # this is the source's text, not only a passage of it
    language: str
    supported: int  # percent
    refuted: int
    reasons: tuple[Note, ...]
    doc_id: str


def finding_view(
    finding: Finding, rank: int, names: Mapping[str, str], documents: Mapping[str, Any], today: date
) -> dict[str, Any]:
    """All that the right-hand side shows of a finding.

    Args:
        finding: labelled at the threshold that is looked at.
        rank: its place in the list.
        names: what to call citations without title and address, by id.
        documents: sources that may be shown whole, by document id.
        today: for the date of tags.
    """
    support = aggregation.support(finding)
    absent, denied = wording.absent_and_denied(finding.missing)
    citations = [_citation(result, finding, names, documents) for result in finding.citations]
    addresses = [c["href"] for c in citations if c["href"]]
    return {
        "rank": rank,
        "claim": finding.claim,
        "label": finding.label,
        "support": None if support is None else cells.percent(support),
        "together": cells.percent(finding.together.prob_supported) if finding.together else None,
        "pieces": html.pieces(finding.claim.text, finding.missing),
        "absent": [part.span.of(finding.claim.text) for part in absent],
        "denied": [part.span.of(finding.claim.text) for part in denied],
        "citations": citations,
        "suggestions": [_suggestion(s, documents, today) for s in finding.suggestions],
        "excluded": finding.excluded,
        "n_candidates": finding.n_candidates,
        "opinion": finding if finding.opinion else None,
        "tag": wikitext.tag(finding, today),
        "summary": edit_summary(finding),
        "open": next(iter(addresses), None),
    }


def edit_summary(finding: Finding) -> str:
    """What to write about an edit that follows: neutral, and honest about the tool."""
    numbers = "".join(f"[{r.citation.citation_id.removeprefix('r')}]" for r in finding.citations)
    return f"checked source {numbers} (tool-assisted: Pincite)" if numbers else ""


def _citation(
    result: CitationResult,
    finding: Finding,
    names: Mapping[str, str],
    documents: Mapping[str, Any],
) -> dict[str, Any]:
    citation, outcome = result.citation, result.outcome
    absent, denied = wording.absent_and_denied(result.missing)
    same = result.missing == finding.missing and result.label is finding.label
    text = finding.claim.text
    return {
        "id": citation.citation_id,
        "label": result.label,
        "name": names.get(citation.citation_id) or wording.name_of(citation),
        "href": cells.safe_link(citation.url),
        "listing": result.listing,
        "unchecked": outcome if isinstance(outcome, Unchecked) else None,
        "may_hand_in": bool(keys_of(citation)),  # else it could not be known again
        "absent": [] if same else [part.span.of(text) for part in absent],
        "denied": [] if same else [part.span.of(text) for part in denied],
        "quoted": quoted(outcome, documents) if isinstance(outcome, Evidence) else None,
        "result": result,
        "read_href": cells.safe_link(result.copy.url) if result.copy else None,
        "today": quoted(result.changed.evidence, {}) if result.changed else None,
    }


def _suggestion(
    suggestion: Suggestion, documents: Mapping[str, Any], today: date
) -> dict[str, Any]:
    passage = suggestion.evidence.passage
    return {
        "name": cells.one_line(passage.title) or passage.url,
        "href": cells.safe_link(passage.url),
        "published": suggestion.published,
        "corpus": suggestion.corpus,
        "listing": suggestion.listing,
        "quoted": quoted(suggestion.evidence, {}),  # its passage; the page is a click away
        "reference": wikitext.reference(suggestion, today),
    }


def quoted(evidence: Evidence, documents: Mapping[str, Any]) -> Quoted:
    """The source around the quote: whole where we have it, else the passage."""
    passage, quote = evidence.passage, evidence.quote
    document = documents.get(passage.doc_id)
    text, shift = (document["text"], passage.span.start) if document else (passage.text, 0)
    start = shift + (quote.start if quote else 0)
    stop = shift + (quote.end if quote else len(passage.text))
    first, last = 0, len(text)
    if len(text) > WHOLE:
        first, last = max(0, start - WINDOW), min(last, stop + WINDOW)
    marked = text[start:stop]
    return Quoted(
        head=text[first:start],
        quote=marked if quote else "",
        near="" if quote else marked,
        tail=text[stop:last],
        cut=(first, last) != (0, len(text)),
        whole=document is not None,
        language=(document or {}).get("language") or "",
        supported=cells.percent(evidence.prob_supported),
        refuted=cells.percent(evidence.prob_refuted),
        reasons=evidence.reasons_coded,
        doc_id=passage.doc_id if document else "",
    )


def documents_of(finding: Finding, stored: Callable[[str], Any]) -> dict[str, Any]:
    """The sources of a finding that lie beside the report, by id; `stored` looks one up."""
    outcomes = [result.outcome for result in finding.citations]
    wanted = {o.passage.doc_id for o in outcomes if isinstance(o, Evidence)}
    found = {doc_id: stored(doc_id) for doc_id in wanted}
    return {doc_id: document for doc_id, document in found.items() if document}
