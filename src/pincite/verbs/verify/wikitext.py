"""Renders what an editor may paste: tags, references, and parameters of citation templates.

These are templates and verbatim quotes only, never prose for the article, and every parameter is
escaped. The templates are those of English Wikipedia: editors of others get no tag, and a reference
without a template.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from functools import partial
from itertools import dropwhile

from pincite.judgement.findings import contradicted_words, render_one, render_uncited
from pincite.report import cells
from pincite.report.cells import WORKS
from pincite.text.hosts import host_of
from pincite.types import (
    NO_WORK,
    CitationResult,
    Claim,
    CopyKind,
    Evidence,
    Finding,
    Label,
    Reason,
    Suggestion,
    Uncited,
    WorkStatus,
)
from pincite.verbs.verify import wording
from pincite.verbs.verify.report import Report
from pincite.wiki import suggest
from pincite.wiki.suggest import Dates
from pincite.wiki.uncited import is_read

MAX_REASON_QUOTE = 200  # characters of the source in a tag: enough to find the place
MAX_CLAIM = 300
MOST_AUTHORS = 3  # more are "et al."
# The page is probably gone for good.
GONE = (Reason.DEAD, Reason.SOFT_404, Reason.FRONT_PAGE, Reason.NO_HOST)
FAILED = (Label.NOT_SUPPORTED, Label.REFUTED, Label.PARTLY_SUPPORTED)
# Templates of English Wikipedia that follow a citation.
TAGS = {
    WorkStatus.RETRACTED: "retracted",
    WorkStatus.WITHDRAWN: "retracted",
    WorkStatus.CONCERN: "expression of concern",
}


def to_wikitext(report: Report, today: date, wrong: Collection[str] = ()) -> str:
    """Return a block per claim that fails or has something to paste, then uncited sentences.

    Lines that begin with `#` are for the editor and stay out of the article. `wrong`: ids of the
    claims whose verdicts the user marked as wrong.
    """
    dates = Dates(today, report.date_format)
    findings = [finding for finding in report.findings if _has_block(finding, dates)]
    works = _works_to_look_at(report)
    blocks = [
        render_one(partial(_block, number=number, dates=dates, wrong=wrong), finding)
        for number, finding in enumerate(findings, 1)
    ]
    blocks += [
        render_uncited(partial(_uncited_block, dates=dates), sentence)
        for sentence in report.uncited or ()
    ]
    blocks += [_work_block(result, report.language) for result in works]
    counts = f"{len(findings)} of {cells.n_of(report.n_claims, 'claim')}"
    if works:
        counts += f", {cells.n_of(len(works), 'reference')}"
    advice = report.advice or wording.ADVICE
    if n_open := report.counts.labels[Label.UNCHECKED]:
        advice = f"{n_open} could not be checked. {advice}"
    head = f"# {cells.one_line(report.title)}: {counts} to look at. {advice}\n"
    return "\n".join([head, *blocks])


def to_paste(item: Finding | Uncited, dates: Dates, wrong: Collection[str] = ()) -> list[str]:
    """Return the wikitext of one claim or sentence: tag, parameters, and the best reference."""
    texts: list[str | None] = []
    language = item.claim.language
    if isinstance(item, Finding):
        if item.claim.claim_id not in wrong:
            texts.append(tag(item, dates.today))
        if not language:
            texts += [archive_parameters(result, dates) for result in item.citations]
        texts += [correction(result, language or "en") for result in item.citations]
    elif not item.claim.tags:  # else an editor already asked for a citation
        texts.append(suggest.template("citation needed", date=f"{dates.today:%B %Y}"))
    texts += [reference(suggestion, dates, language) for suggestion in item.suggestions[:1]]
    return list(filter(None, texts))


def tag(finding: Finding, today: date) -> str | None:
    """Return the failed-verification tag; None if no checked source fails the claim."""
    checked = [r.outcome for r in finding.citations if isinstance(r.outcome, Evidence)]
    if finding.label not in FAILED or not checked or finding.claim.disputed:
        return None
    if finding.claim.language or any(result.other_copy for result in finding.citations):
        return None
    if finding.label is Label.PARTLY_SUPPORTED and not finding.missing:
        return None
    closest = max(checked, key=lambda evidence: evidence.score)
    lacks = wording.quote_parts(finding.missing, finding.claim.text) or "this"
    if finding.label is Label.REFUTED:
        denied = wording.quote_parts(contradicted_words(finding.claim.text, closest)) or lacks
        reason, before_quote = f"The cited source seems to contradict {denied}", ": "
    else:
        reason = f"The cited source does not seem to state {lacks}"
        before_quote = "; closest passage: "
    if closest.quoted:
        reason += f"{before_quote}“{cells.shorten(closest.quoted, MAX_REASON_QUOTE)}”"
    return suggest.template("failed verification", date=f"{today:%B %Y}", reason=reason)


def archive_parameters(result: CitationResult, dates: Dates) -> str | None:
    """Return parameters for an archived copy if the page changed, or is gone but marked live."""
    copy, citation, why = result.copy, result.citation, result.not_live
    if copy is None or copy.kind not in wording.ARCHIVED_KINDS or not cells.safe_link(copy.url):
        return None
    if result.changed:
        status = "deviated"
    elif why and why.reason in GONE and citation.url_status != "dead":
        status = "dead"
    else:
        return None
    if citation.archive_url is not None and copy.kind is CopyKind.ARCHIVED:
        return suggest.parameters(url_status=status)  # the citation has the other two
    date_of_copy = dates.written(copy.date)
    return suggest.parameters(archive_url=copy.url, archive_date=date_of_copy, url_status=status)


def correction(result: CitationResult, language: str) -> str:
    """Return the corrected citation template, and the tag of a work that no longer stands."""
    work = result.work or NO_WORK
    name = TAGS.get(work.status) if is_read(language) and not work.is_marked else None
    texts = (work.template, suggest.template(name, doi=work.notice) if name else "")
    return " ".join(filter(None, texts))


# Probability of support from which a reference to a page is proposed; of twelve that reached only
# `decide.THRESHOLD`, eight were wrong.
PROPOSED_FROM = 0.5


def reference(suggestion: Suggestion, dates: Dates, language: str = "") -> str | None:
    """Return `<ref>{{cite web|…}}</ref>`; None without a web address, or if not likely enough.

    `language`: of the claim, if not English: then `<ref>[address title], date</ref>`.
    """
    passage = suggestion.evidence.passage
    is_likely = suggestion.evidence.prob_supported >= PROPOSED_FROM
    if not is_likely or not passage.url.startswith(("http://", "https://")):
        return None
    if language:
        title = suggest.escape_parameter(passage.title or passage.url)
        known_dates = ", ".join(filter(None, (suggestion.published, dates.today.isoformat())))
        return f"<ref>[{suggest.escape_url(passage.url)} {title}], {known_dates}</ref>"
    citation = suggest.template(
        "cite web",
        **_author_parameters(suggestion.authors),
        url=passage.url,
        title=cells.one_line(suggestion.headline or passage.title) or passage.url,
        website=cells.one_line(suggestion.site) or host_of(passage.url).removeprefix("www."),
        date=dates.written(suggestion.published),
        access_date=dates.written(dates.today.isoformat()),
        quote=quoted_prose(suggestion.evidence) or None,
    )
    return f"<ref>{citation}</ref>"


def quoted_prose(evidence: Evidence) -> str:
    """Return the quote without headings before it; empty if that is no whole sentence of prose."""
    shown = wording.excerpt(evidence.passage.text, evidence.quote)
    is_prose = partial(wording.is_prose, language=evidence.passage.language or "en")
    quoted = shown.quote.splitlines() if shown else []
    lines = list(dropwhile(lambda line: not is_prose(line), quoted))
    return cells.one_line(" ".join(lines)) if all(map(is_prose, lines)) else ""


def _author_parameters(names: Sequence[str]) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for n, name in enumerate(names[:MOST_AUTHORS], 1):
        family, comma, given = map(cells.one_line, name.partition(","))
        if comma:
            parameters |= {f"last{n}": family, f"first{n}": given}
        else:
            parameters[f"author{n}"] = family
    if len(names) > MOST_AUTHORS:
        parameters["display_authors"] = "etal"
    return parameters


def _has_block(finding: Finding, dates: Dates) -> bool:
    has_parameters = any(archive_parameters(result, dates) for result in finding.citations)
    is_failed = finding.label in FAILED or finding.claim.disputed
    return is_failed or bool(finding.suggestions) or has_parameters


def _works_to_look_at(report: Report) -> Collection[CitationResult]:
    """Return a result for each cited work that is in doubt or has a correction."""
    works: Mapping[object, CitationResult] = {
        result.citation.reference: result
        for result in report.results
        if result.work and (result.is_in_doubt or result.work.corrections)
    }
    return works.values()


def _block(finding: Finding, number: int, dates: Dates, wrong: Collection[str]) -> str:
    is_marked_wrong = finding.claim.claim_id in wrong
    sign, language = wording.LOOKS[finding.label].sign, finding.claim.language
    comments = [
        f"{number}. {sign} {wording.verdict_by(finding)}{_section(finding.claim)}",
        f"claim: {cells.shorten(finding.claim.text, MAX_CLAIM)}",
        *wording.about_claim(finding),
        wording.MARKED_WRONG if is_marked_wrong else "",
        wording.missing_of(finding),
        *(_about_references(finding) if finding.label in FAILED else ()),
        wording.unverifiable(finding),
    ]
    lines = [f"# {comment}" for comment in comments if comment]
    texts = [None if is_marked_wrong else tag(finding, dates.today)]
    for result in finding.citations:
        parameters = None if language else archive_parameters(result, dates)
        if parameters:
            why = wording.what_changed(result) or wording.copy_read(result)
            texts += [f"# {wording.name_of(result.citation)}: {why}", parameters]
    texts += [reference(suggestion, dates, language) for suggestion in finding.suggestions]
    return "\n".join([*lines, *filter(None, texts)]) + "\n"


def _about_references(finding: Finding) -> list[str]:
    lines = []
    for n, result in enumerate(finding.citations, 1):
        place = f" {n} of {len(finding.citations)}" if len(finding.citations) > 1 else ""
        label = wording.LOOKS[result.label].label
        lines.append(f"reference{place}: {wording.name_of(result.citation)} ({label})")
        lines += [cells.one_line(str(reason)) for reason in wording.reasons(result, finding)]
    return lines


def _uncited_block(uncited: Uncited, dates: Dates) -> str:
    comments = [
        f"{wording.NO_CITATION}{_section(uncited.claim)}",
        f"sentence: {cells.shorten(uncited.claim.text, MAX_CLAIM)}",
        *map(cells.one_line, uncited.reasons),
    ]
    others = (reference(suggestion, dates) for suggestion in uncited.suggestions[1:])
    texts = [*to_paste(uncited, dates), *filter(None, others)]
    return "\n".join([*(f"# {comment}" for comment in comments), *texts]) + "\n"


def _section(claim: Claim) -> str:
    path = " › ".join(map(cells.one_line, claim.section))
    return f" · {path}" if claim.section else ""


def _work_block(result: CitationResult, language: str) -> str:
    work = result.work or NO_WORK
    look, name = WORKS[work.status], wording.short_name_of(result.citation)
    lines = [
        f"# {look.sign} Reference, {look.label}: {name}",
        *(f"# {cells.one_line(str(note))}" for note in result.reference_notes),
    ]
    for change in work.corrections:
        lines.append(f"# − |{change.parameter}={cells.one_line(change.cited)}")
        lines.append(f"# + |{change.parameter}={change.known}")
    if work.status in TAGS and not is_read(language):
        lines.append(f"# {wording.NO_TAG}")
    if corrected := correction(result, language):
        lines.append(corrected)
    return "\n".join(lines) + "\n"
