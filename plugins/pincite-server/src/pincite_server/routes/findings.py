"""The page of a verified article: its findings, worst first, with one of them open.

URLs contain the threshold and the open finding, so that a link shows the same to everyone.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache, partial
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse

from pincite.judgement.findings import rank_findings, relabel
from pincite.library.private_copies import citation_keys
from pincite.report import cells
from pincite.text.hosts import host_of
from pincite.types import CopyKind, Evidence, Finding, Unchecked
from pincite.verbs.verify import render, wikitext, wording
from pincite.verbs.verify.report import Report, Stage, stage_of
from pincite.wiki.suggest import Dates
from pincite_server import demo
from pincite_server.identity import Identity
from pincite_server.jobs import Job
from pincite_server.problems import Problem, not_found
from pincite_server.rendering import Look, page, words_of
from pincite_server.routes.jobs import filled_corpora, find_file, parse_report
from pincite_server.site import Site
from pincite_server.verifying import THRESHOLDS

WHOLE = 60_000  # characters; of a longer source, only a window is shown
WINDOW = 12_000  # characters before and after the quote
MAX_NAME = 60  # characters of a source's name in an edit summary
MAX_EDITED = 300_000  # characters of an article in a text box


@dataclass(frozen=True, slots=True)
class Verified:
    """A stored report, and the view stored with it."""

    report: Report
    view: Mapping[str, Any]

    @property
    def threshold(self) -> float:
        return float(str(self.report.settings["verify.threshold"]))


# Cached because a reader requests the same result repeatedly.
_report = lru_cache(maxsize=16)(partial(parse_report, Report))


def verified_in(site: Site, job: Job, result: bytes | None = None) -> Verified | None:
    """The result of a job; None unless it is a finished verification that this version can read."""
    if job.kind != "verify" or not job.ended:
        return None
    report = _report(result or site.jobs.result(job.job_id))
    return Verified(report, site.jobs.file(job.job_id, "view") or {}) if report else None


def marked_wrong(site: Site, job: Job, who: Identity) -> frozenset[str]:
    """The claims with a verdict that the user marked as wrong; of several marks the last counts."""
    last = site.feedback.verdicts(who.account_id, job.job_id)
    items = (item.split("/") for item, verdict in last.items() if verdict == "wrong")
    return frozenset(claim for claim, *cited in items if cited and cited[0].startswith("r"))


def report_at(verified: Verified, threshold: float | None, wrong: Collection[str] = ()) -> Report:
    """Relabel a report for another threshold; None keeps its own."""
    report = verified.report
    if threshold is None or threshold == verified.threshold:
        return replace(report, findings=tuple(rank_findings(report.findings, wrong)))
    findings = [relabel(finding, threshold) for finding in report.findings]
    rates = verified.view.get("precision", {}).get(f"{threshold:.2f}", ())
    return replace(
        report,
        findings=tuple(rank_findings(findings, wrong)),
        flag_precision=tuple((base_rate, precision) for base_rate, precision in rates),
    )


def result_page(
    request: Request,
    look: Look,
    site: Site,
    result: bytes,
    refused: tuple[str, Problem] | None = None,
) -> HTMLResponse | None:
    """Render the findings; None if another version of Pincite wrote the report.

    In the query, `claim` is the finding to open, by default the worst one, `threshold` the support
    needed, and `copy` the hash of a copy just uploaded. `refused` has the citation for which a
    copy was uploaded, and the problem with it.
    """
    verified = verified_in(site, look.job, result)
    if verified is None:
        return None
    values = _board(site, look, verified, threshold_in(request), request.query_params.get("claim"))
    sha256 = request.query_params.get("copy")
    copies = site.own.of(look.who.account_id).all() if look.is_own and look.who and sha256 else []
    copy = next((own_copy for own_copy in reversed(copies) if own_copy.sha256 == sha256), None)
    values |= {"copy": copy, "refused": refused}
    part = request.headers.get("hx-target")  # of the page, if a script replaces only that
    name = f"{part}.html" if part in ("board", "finding") else "verified.html"
    return page(request, name, look.who, status=422 if refused else 200, **values)


def draft_page(request: Request, who: Identity, site: Site, job: Job) -> HTMLResponse | None:
    """Sum up a report for the reviewer of a draft; None if there is no report."""
    verified = verified_in(site, job)
    if verified is None:
        return None
    source = str((site.jobs.file(job.job_id, "article") or {}).get("source", ""))
    draft = render.draft_of(verified.report, source, words_of(request).say)
    report = f"/jobs/{job.job_id}"
    return page(request, "draft.html.j2", who, layout="base.html", draft=draft, report=report)


def threshold_in(request: Request) -> float | None:
    """The threshold in a page's query; None for that of the run."""
    try:
        threshold = float(request.query_params.get("threshold", ""))
    except ValueError:
        return None
    return round(threshold, 4) if 0 < threshold < 1 else None


def _board(
    site: Site, look: Look, verified: Verified, threshold: float | None, claim_id: str | None
) -> dict[str, Any]:
    """Template values for a verified article's page, with this finding or the worst one open.

    Whole source texts are shown to the job's owner, not through a share link.

    Raises Problem: 404, there is no such finding.
    """
    wrong = marked_wrong(site, look.job, look.who) if look.is_own and look.who else frozenset()
    report = report_at(verified, threshold, wrong)
    dates = Dates(date.today(), report.date_format)
    ids = [finding.claim.claim_id for finding in report.findings]
    if claim_id and claim_id not in ids:
        raise not_found()
    place = ids.index(claim_id) if claim_id else 0
    opened = report.findings[place] if ids else None
    at = verified.threshold if threshold is None else threshold
    searched = bool(look.job.request.get("corpus")) or site.searches_web
    of_example = bool(look.job.request.get("example"))
    offers_search = look.may_run and not searched and not (of_example and demo.web(site))
    asks = look.who if offers_search and not of_example else None
    corpora = filled_corpora(site, asks, None) if asks else []
    query = {} if at == verified.threshold else {"threshold": f"{at:g}"}

    def address(claim_id: str) -> str:
        return f"{look.place}?{urlencode({'claim': claim_id, **query})}"

    def find(doc_id: str) -> dict[str, Any] | None:
        return find_file(site, look.job, doc_id, look.who) if look.is_own and look.who else None

    def unjudged_text(why: Unchecked) -> dict[str, Any] | None:
        doc_id = verified.view.get("unjudged", {}).get(why.url)
        return find(doc_id) if doc_id else None

    return {
        "look": look,
        "job": look.job,
        "report": report,
        "threshold": at,
        "own_threshold": verified.threshold,
        "address": address,
        "query": f"?{urlencode(query)}" if query else "",
        "steps": THRESHOLDS,
        "coverage": coverage_at(verified.report, report),
        "searched": searched,
        "offers_search": offers_search,
        "corpora": corpora,
        "n_uncited": sum(not finding.citations for finding in report.findings),
        "sent": verified.view.get("sent") if look.is_own else None,
        "own": list(dict.fromkeys(_own_copies(report))) if look.is_own else [],
        "editable": partial(_editable, site, look.job),
        "blocks": list(article_blocks(verified, report)),
        "open": opened,
        "rank": place + 1,
        "before_id": ids[place - 1] if place else "",
        "next_id": [*ids, "", ""][place + 1],
        "edit": edit_link(verified, opened.claim.claim_id) if opened else None,
        "summary": edit_summary(opened) if opened else "",
        "around": partial(around, find),
        "unjudged_text": unjudged_text,
        "WHOLE": WHOLE,
        "may_hand_in": citation_keys,  # without keys, a copy could not be matched later
        "reference": partial(
            wikitext.reference, dates=dates, language=opened.claim.language if opened else ""
        ),
        "to_paste": partial(wikitext.to_paste, dates=dates, wrong=wrong),
        "wrong": wrong,
    }


def _own_copies(report: Report) -> Iterator[tuple[str, str]]:
    for result in (r for finding in report.findings for r in finding.citations):
        if result.copy and result.copy.kind is CopyKind.OWN:
            yield result.copy.file, wording.name_of(result.citation)


def _editable(site: Site, job: Job) -> str:
    """The wikitext of the article; empty if it is HTML or too long for a text box."""
    if job.request.get("markup") == "html":
        return ""
    text = str((site.jobs.file(job.job_id, "article") or {}).get("source", ""))
    return text if len(text) <= MAX_EDITED else ""


def coverage_at(original: Report, report: Report) -> list[tuple[str, int]]:
    """How many citations reached each stage; `report` is at the chosen threshold."""
    flagged = sum(
        stage_of(result, finding.label) is Stage.FLAGGED
        for finding in report.findings
        for result in finding.citations
    )
    uses = {str(stage): tally.uses for stage, tally in original.coverage.stages.items()}
    counts = uses | {str(Stage.FLAGGED): flagged}
    return [("references", original.coverage.references), *counts.items()]


def edit_link(verified: Verified, claim_id: str) -> tuple[str, str] | None:
    """The URL of the wiki's edit form for a claim's section, and the wiki's host."""
    report = verified.report
    base, _, query = (report.url or "").partition("?")
    if not (report.revision_id and query and base.endswith("/index.php") and cells.safe_link(base)):
        return None
    parameters = {"title": report.title.replace(" ", "_"), "action": "edit"}
    for block in verified.view.get("blocks", ()):
        if any(placed == claim_id for _, _, placed in block["claims"]):
            parameters.setdefault("section", str(block["section"]))
    return f"{base}?{urlencode(parameters)}", host_of(base)


def article_blocks(verified: Verified, report: Report) -> Iterator[dict[str, Any]]:
    """The article's blocks, split into pieces: (text, claim id or "", label)."""
    labels = {f.claim.claim_id: f.label for f in report.findings}
    for block in verified.view.get("blocks", ()):
        pieces, end, text = [], 0, block["text"]
        for start, stop, claim_id in block["claims"]:
            claim = (text[start:stop], claim_id, labels.get(claim_id))
            pieces += [(text[end:start], "", ""), claim]
            end = stop
        pieces.append((text[end:], "", ""))
        shown = [piece for piece in pieces if piece[0]]
        yield {"kind": block["kind"], "label": block["label"], "pieces": shown}


def edit_summary(finding: Finding) -> str:
    """A neutral edit summary that names the sources and the tool; empty without citations."""
    cited = (wording.name_of(result.citation) for result in finding.citations)
    names = ", ".join(f"“{cells.shorten(name, MAX_NAME)}”" for name in dict.fromkeys(cited))
    return f"checked {names} (tool-assisted: Pincite)" if names else ""


def around(find: Callable[[str], Mapping[str, Any] | None], evidence: Evidence) -> dict[str, Any]:
    """The source around the quote: the stored whole text if available, else the passage."""
    passage, quote = evidence.passage, evidence.quote
    document = find(passage.doc_id)
    if document and passage.span.of(document["text"]) != passage.text:
        document = None
    text, shift = (document["text"], passage.span.start) if document else (passage.text, 0)
    start = shift + (quote.start if quote else 0)
    stop = shift + (quote.end if quote else len(passage.text))
    first, last = 0, len(text)
    if len(text) > WHOLE:
        first, last = max(0, start - WINDOW), min(last, stop + WINDOW)
    return {
        "head": text[first:start],
        "marked": text[start:stop],
        "is_quote": quote is not None,  # an exact match, else the closest passage
        "tail": text[stop:last],
        "cut": (first, last) != (0, len(text)),
        "whole": document is not None,
        "language": (document or {}).get("language") or passage.language or "",
    }
