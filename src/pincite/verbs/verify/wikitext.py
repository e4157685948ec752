"""What an editor can paste: a tag for outside the reference, and a reference to a better source.

Never prose for the article: templates and verbatim quotes only, every parameter escaped. Lines
that begin with `#` are for the editor and stay out of the article.
"""

from datetime import date
from functools import partial

from pincite import containment
from pincite.judgement import aggregation
from pincite.report import cells
from pincite.types import (
    CitationResult,
    CopyKind,
    Evidence,
    Finding,
    Label,
    Reason,
    Suggestion,
    Uncited,
)
from pincite.verbs.verify import funnel_words, wording
from pincite.verbs.verify.report import Report
from pincite.wiki import suggest

MAX_REASON_QUOTE = 200  # characters of the source in a tag: enough to find the place
# The page itself is gone for good, as far as one run can tell.
GONE = (Reason.DEAD, Reason.SOFT_404, Reason.FRONT_PAGE, Reason.NO_HOST)
FAILED = (Label.NOT_SUPPORTED, Label.REFUTED, Label.PARTLY_SUPPORTED)


def to_wikitext(report: Report, today: date) -> str:
    """A block for each claim with something to paste, or that fails, worst first.

    Sentences that need a citation follow.
    """
    findings = [
        f
        for f in report.findings
        if f.label in FAILED or f.suggestions or f.claim.disputed or any(map(archived, f.citations))
    ]
    blocks = [
        containment.shown(partial(_block, number=number, today=today), finding)
        for number, finding in enumerate(findings, 1)
    ]
    advice = wording.flag_advice(report.flag_precision) or wording.ADVICE
    n_claims = f"{len(blocks)} of {cells.n_of(report.n_claims, 'claim')}"
    head = f"# {cells.one_line(report.title)}: {n_claims} with something to do. {advice}\n"
    head += f"# {funnel_words.line(report.funnel)}\n"
    blocks += [
        containment.shown_uncited(partial(_uncited, today=today), each)
        for each in report.uncited or ()
    ]
    return "\n".join([head, *blocks])


def tag_uncited(uncited: Uncited, today: date) -> str | None:
    """The tag that asks for a citation; None where an editor put one."""
    if uncited.claim.tags:
        return None
    return suggest.citation_needed(month_year=f"{today:%B %Y}")


def _uncited(uncited: Uncited, today: date) -> str:
    claim = uncited.claim
    section = " › ".join(cells.one_line(heading) for heading in claim.section)
    lines = [
        f"# {wording.NO_CITATION}{' · ' + section if section else ''}",
        f"# sentence: {cells.shortened(claim.text, 300)}",
        *(f"# {cells.one_line(reason)}" for reason in uncited.reasons),
    ]
    found = [tag_uncited(uncited, today), *(reference(s, today) for s in uncited.suggestions)]
    return "\n".join([*lines, *filter(None, found)]) + "\n"


def tag(finding: Finding, today: date) -> str | None:
    """The failed-verification tag; None where nothing that was checked fails, or no part of it."""
    checked = [r.outcome for r in finding.citations if isinstance(r.outcome, Evidence)]
    if finding.label not in FAILED or not checked or finding.claim.disputed:
        return None
    if finding.label is Label.PARTLY_SUPPORTED and not finding.missing:
        return None
    closest = max(checked, key=lambda evidence: evidence.score)
    reason = f"The cited source does not seem to state {_what(finding)}"
    if closest.quoted:
        reason += f"; closest passage: “{cells.shortened(closest.quoted, MAX_REASON_QUOTE)}”"
    return suggest.failed_verification(month_year=f"{today:%B %Y}", reason=reason)


def _what(finding: Finding) -> str:
    """The missing parts in the claim's own words; "this" where all of it fails."""
    words = [part.words for part in finding.missing]
    return ", ".join(f"“{cells.shortened(w, wording.MAX_PART)}”" for w in words) or "this"


def reference(suggestion: Suggestion, today: date) -> str | None:
    """`<ref>{{cite web|…}}</ref>`; None for a page without a web address, or not likely enough."""
    passage = suggestion.evidence.passage
    likely = suggestion.evidence.prob_supported >= aggregation.PROPOSED_FROM
    if not likely or not passage.url.startswith(("http://", "https://")):
        return None
    return suggest.reference(
        suggest.cite_web(
            url=passage.url,
            title=cells.one_line(passage.title) or passage.url,
            date=suggestion.published,
            access_date=today.isoformat(),
            quote=cells.one_line(suggestion.evidence.quoted) or None,
        )
    )


def archived(result: CitationResult) -> str | None:
    """Parameters for the citation's template that name the archived copy; None without a need.

    Where the page changed, or is gone while the citation still calls it live.
    """
    copy, citation, why = result.copy, result.citation, result.not_live
    if copy is None or copy.kind not in (CopyKind.ARCHIVED, CopyKind.WAYBACK):
        return None
    if result.changed:
        status = "deviated"
    elif why and why.reason in GONE and citation.url_status != "dead":
        status = "dead"
    else:
        return None
    if not copy.url.startswith(("http://", "https://")):
        return None
    known = citation.archive_url is not None and copy.kind is CopyKind.ARCHIVED
    return suggest.archive_parameters(
        url=None if known else copy.url, date=None if known else copy.date, status=status
    )


def _block(finding: Finding, number: int, today: date) -> str:
    section = " › ".join(cells.one_line(heading) for heading in finding.claim.section)
    lines = [
        f"# {number}. {wording.verdict(finding.label)}{' · ' + section if section else ''}",
        f"# claim: {cells.shortened(finding.claim.text, 300)}",
        *(f"# {line}" for line in wording.about_claim(finding.claim)),
    ]
    lacks = wording.what_is_missing(finding.label, finding.missing)
    if lacks:
        lines.append(f"# {lacks}")
    tagged = tag(finding, today)
    if tagged:
        lines.append(tagged)
    for result in finding.citations:
        if of_copy := archived(result):
            said = wording.what_changed(result) or wording.copy_read(result)
            lines += [f"# {wording.name_of(result.citation)}: {said}", of_copy]
    found = [reference(suggestion, today) for suggestion in finding.suggestions]
    lines += [text for text in found if text]
    return "\n".join(lines) + "\n"
