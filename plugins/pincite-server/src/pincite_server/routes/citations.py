"""The API of the user script: what was found on the citations of a wiki's article."""

import html
from dataclasses import replace
from datetime import date
from typing import Annotated
from urllib.parse import unquote

from fastapi import Query, Request
from pydantic import BaseModel

from pincite.notes import Language, phrase
from pincite.report import cells
from pincite.report.cells import REASONS
from pincite.types import CitationResult, Evidence, Finding, Suggestion, Unchecked
from pincite.verbs.verify import wikitext, wording
from pincite.verbs.verify.report import Report
from pincite.wiki.suggest import Dates
from pincite_server.identity import Reader
from pincite_server.jobs import Status
from pincite_server.problems import not_found
from pincite_server.rendering import STEPS, words_of
from pincite_server.requests import Line, Revision
from pincite_server.routes.findings import verified_in
from pincite_server.routes.jobs import readable
from pincite_server.routing import Router
from pincite_server.site import Stores

api = Router(prefix="/api/v1", tags=["jobs"])


REMEMBERED = 200  # newest jobs of an account that are searched for a citation
MAX_QUOTE = 600  # characters of a source in a response to the user script


class CitedBody(BaseModel):
    """One citation of a claim."""

    at: tuple[int, int]  # of its mark in the article's source, in code points
    label: str  # as in `types.Label`
    name: str
    url: str | None
    copy_url: str | None  # of the copy that was read, if it differs
    quote: str  # verbatim from the source; empty if none supports the claim
    near: str  # the closest passage, verbatim, if there is no quote
    language: str  # of the quote or passage; empty: unknown
    judged_by: str  # the network for other languages, if that judged; else empty
    reasons: list[str]
    unchecked: str | None  # why it could not be checked
    step: str  # what the user can do about it


class SuggestionBody(BaseModel):
    """A better source."""

    title: str
    url: str
    quote: str
    reference: str | None  # wikitext to paste


class ClaimBody(BaseModel):
    """The finding on a claim and its citations."""

    job_id: str
    claim_id: str
    claim: str
    label: str  # as in `types.Label`
    verdict: str  # the label in words, with the model that alone decided on it
    opinion: list[str]  # of a model, in words; empty if none was asked
    support: int | None  # percent
    missing: list[str]  # words of the claim that no source states
    citations: list[CitedBody]
    suggestions: list[SuggestionBody]
    tags: tuple[str, ...]  # by editors, who need no second one
    tag: str | None  # wikitext to paste


class NoteQuery(BaseModel):
    """A note of a wiki page; title, revision and wiki as in the request that verified it."""

    title: Line
    revision: Revision
    note: Line  # in the wiki page, such as "cite_note-Smith-2"
    wiki: Line | None = None  # not needed by a script of the wiki


@api.get("/jobs/{job_id}/citations", operation_id="get_citations")
def get_citations(job_id: str, request: Request, who: Reader, site: Stores) -> list[ClaimBody]:
    """The claims of a verified article in short, worst first."""
    verified = verified_in(site, readable(site, job_id, who))
    if verified is None:
        raise not_found()
    return _claims(job_id, verified.report, words_of(request))


@api.get("/citations", operation_id="find_citation")
def find_citation(
    asked: Annotated[NoteQuery, Query()], request: Request, who: Reader, site: Stores
) -> list[ClaimBody]:
    """The claims that cite a note of an article that you verified, from the newest such job."""
    wanted = {**asked.model_dump(exclude={"note"}), "wiki": who.wiki or asked.wiki}
    link = f'href="#{asked.note}"'
    for job in site.jobs.list_jobs(who.account_id, REMEMBERED, None, ("verify",)):
        if any(job.request.get(name) != value for name, value in wanted.items()):
            continue
        verified = verified_in(site, job) if job.status is Status.DONE else None
        source = str((site.jobs.file(job.job_id, "text") or {}).get("text", ""))
        citing = [
            finding
            for finding in (verified.report.findings if verified else ())
            if any(
                link in unquote(html.unescape(result.citation.span.of(source)))
                for result in finding.citations
            )
        ]
        if verified and citing:
            cited = replace(verified.report, findings=tuple(citing))
            return _claims(job.job_id, cited, words_of(request))
    raise not_found()


def _claims(job_id: str, report: Report, words: Language) -> list[ClaimBody]:
    dates = Dates(date.today(), report.date_format)
    return [_claim(job_id, finding, words, dates) for finding in report.findings]


def _claim(job_id: str, finding: Finding, words: Language, dates: Dates) -> ClaimBody:
    claim, support = finding.claim, finding.prob_supported
    absent, _ = wording.absent_and_denied(finding.missing)
    return ClaimBody(
        job_id=job_id,
        claim_id=claim.claim_id,
        claim=claim.text,
        label=str(finding.label),
        verdict=wording.verdict_by(finding, words.say),
        opinion=wording.second_opinion(finding, words.say),
        support=None if support is None else cells.percent(support),
        missing=[part.words for part in absent],
        citations=[_citation(result, finding, words) for result in finding.citations],
        suggestions=[_suggestion(s, dates, claim.language) for s in finding.suggestions],
        tags=claim.tags,
        tag=wikitext.tag(finding, dates.today),
    )


def _citation(result: CitationResult, finding: Finding, words: Language) -> CitedBody:
    cited, outcome, copy = result.citation, result.outcome, result.copy
    evidence = outcome if isinstance(outcome, Evidence) else None
    why = outcome if isinstance(outcome, Unchecked) else None
    text = cells.shorten(evidence.quoted or evidence.passage.text, MAX_QUOTE) if evidence else ""
    quoted = bool(evidence and evidence.quoted)
    of_source = wording.reasons(result, finding)
    return CitedBody(
        at=(cited.span.start, cited.span.end),
        label=str(result.label),
        name=wording.name_of(cited),
        url=cells.safe_link(cited.url),
        copy_url=cells.safe_link(copy.url) if copy and copy.url != cited.url else None,
        quote=text if quoted else "",
        near="" if quoted else text,
        language=(evidence.passage.language or "") if evidence else "",
        judged_by=evidence.verifier.partition("@")[0] if evidence else "",
        reasons=[phrase(note, words.say) for note in (*result.reference_notes, *of_source)],
        unchecked=words.say(REASONS[why.reason]) if why else None,
        step=words.say(STEPS[why.reason]) if why else "",
    )


def _suggestion(suggestion: Suggestion, dates: Dates, language: str) -> SuggestionBody:
    passage = suggestion.evidence.passage
    return SuggestionBody(
        title=cells.one_line(passage.title) or passage.url,
        url=cells.safe_link(passage.url) or "",
        quote=cells.shorten(suggestion.evidence.quoted or passage.text, MAX_QUOTE),
        reference=wikitext.reference(suggestion, dates, language),
    )
