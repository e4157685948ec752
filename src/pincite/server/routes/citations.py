"""`/api/v1/…/citations`: what a script in a wiki's page shows beside each citation."""

import html
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any
from urllib.parse import unquote

from fastapi import Request, Response
from pydantic import BaseModel, model_validator

from pincite.notes import Language, said
from pincite.report import cells
from pincite.report.reasons import REASONS
from pincite.server.identity import Identity, Reader, Runner
from pincite.server.jobs import Job, Status
from pincite.server.problems import not_found
from pincite.server.rendering import STEPS, words_of
from pincite.server.requests import Body, Line, Revision, Tuning, VerifyRequest
from pincite.server.routes.jobs import OF_STARTING, JobBody, accepted, readable, start_job
from pincite.server.routes.verify import Verified, verified_in
from pincite.server.routing import Router
from pincite.server.site import Site, Stores
from pincite.types import CitationResult, Evidence, Finding, Suggestion, Unchecked
from pincite.verbs.verify import render, wording

REMEMBERED = 200  # jobs of an account that are looked through, the newest
MAX_QUOTE = 600  # characters of a source

api = Router(prefix="/api/v1", tags=["jobs"])


class CitationRequest(Body):
    """One citation: a note of an article that was verified, or a claim and what it cites."""

    title: Line = ""
    revision: Revision | None = None
    note: Line | None = None  # the id that the wiki's page gives the reference: "cite_note-Smith-2"
    claim: Line | None = None
    url: Line | None = None
    settings: Tuning = Tuning()

    @model_validator(mode="after")
    def _of_one_kind(self) -> "CitationRequest":
        known = bool(self.title and self.revision and self.note)
        given = bool(self.claim and self.url)
        if known == given:
            raise ValueError("expected title, revision and note, or claim and url")
        return self


class CitedBody(BaseModel):
    """One citation of a claim."""

    at: tuple[int, int]  # its mark in the article's source, in characters (code points)
    label: str  # "supported", "partly_supported", "not_supported", "refuted" or "unchecked"
    name: str
    url: str | None
    copy_url: str | None  # of what was read, where that was another address
    quote: str  # verbatim of the source; empty: nothing speaks for the claim
    near: str  # verbatim, what came closest, where there is no quote
    reasons: list[str]
    unchecked: str | None  # why it could not be checked
    step: str  # what one can do then


class SuggestionBody(BaseModel):
    """A better source."""

    title: str
    url: str
    quote: str
    reference: str | None  # wikitext to paste


class ClaimBody(BaseModel):
    """What is known of one claim, and of each of its citations."""

    job_id: str
    claim_id: str
    claim: str
    label: str  # "supported", "partly_supported", "not_supported", "refuted" or "unchecked"
    verdict: str  # the label in words
    support: int | None  # percent
    missing: list[str]  # the claim's own words that no source states
    citations: list[CitedBody]
    suggestions: list[SuggestionBody]
    tag: str | None  # wikitext to paste


class KnownOrJob(BaseModel):
    """Claims that are known already, or the job that finds out."""

    claims: list[ClaimBody]
    job: JobBody | None


@api.get(
    "/jobs/{job_id}/citations",
    operation_id="get_citations",
    responses={404: {"description": "There is no such article, or it is not verified yet."}},
)
def get_citations(job_id: str, request: Request, who: Reader, site: Stores) -> list[ClaimBody]:
    """The claims of a verified article, worst first, in short: for a page that shows them."""
    found = verified_in(request, site, readable(site, job_id, who))
    if found is None:
        raise not_found()
    return _claims(job_id, found, found.report.findings, words_of(request))


@api.post(
    "/citations",
    operation_id="citation",
    responses={
        202: {"model": KnownOrJob, "description": "Nothing is known yet: the job finds out."},
        404: {"description": "This note of this revision was not checked."},
        **OF_STARTING,
    },
)
def citation(
    body: CitationRequest, request: Request, response: Response, who: Runner, site: Stores
) -> KnownOrJob:
    """What is known of one citation; a claim that was never judged starts a job (202)."""
    words = words_of(request)
    for job in _before(site, who, body):
        verified = verified_in(request, site, job)
        if verified and (found := _citing(job, verified, body.note, site)):
            return KnownOrJob(claims=_claims(job.job_id, verified, found, words), job=None)
    if not (body.claim and body.url):
        raise not_found()
    asked = _article_of(body)
    response.status_code = 202
    job = start_job(site, who, "verify", asked)
    return KnownOrJob(claims=[], job=accepted(job, response))


def _before(site: Site, who: Identity, body: CitationRequest) -> Iterator[Job]:
    """Finished jobs of the one who asks that may hold the answer, the newest first."""
    wanted = _article_of(body).model_dump(mode="json", exclude_none=True) if body.claim else None
    for job in site.jobs.listed(who.account_id, REMEMBERED, None, ("verify",)):
        if job.status is not Status.DONE:
            continue
        if wanted is not None:
            if _is_same(site, job, wanted):
                yield job
        elif (job.request.get("title"), job.request.get("revision")) == (body.title, body.revision):
            yield job


def _is_same(site: Site, job: Job, wanted: dict[str, Any]) -> bool:
    """Whether a job was asked the same; its text lies apart from the rest."""
    rest = {key: value for key, value in wanted.items() if key != "text"}
    if {key: job.request.get(key) for key in rest} != rest or "revision" in job.request:
        return False
    return _sent(site, job) == str(wanted["text"])


def _sent(site: Site, job: Job) -> str:
    """The text that a job was sent."""
    return str((site.jobs.file(job.job_id, "text") or {}).get("text", ""))


def _article_of(body: CitationRequest) -> VerifyRequest:
    """The claim with its reference as an article of one sentence, in the form wikis render."""
    claim, url = html.escape(body.claim or ""), html.escape(body.url or "")
    text = (
        f'<!doctype html><html><body><p>{claim}<sup class="reference"><a href="#cite_note-1">[1]'
        f'</a></sup></p><ol class="references"><li id="cite_note-1"><a class="external" '
        f'href="{url}">{url}</a></li></ol></body></html>'
    )
    return VerifyRequest(text=text, markup="html", title=body.title, settings=body.settings)


def _citing(job: Job, verified: Verified, note: str | None, site: Site) -> list[Finding]:
    """The findings on claims that cite a note; all where none is named."""
    if note is None:
        return list(verified.report.findings)
    source, link = _sent(site, job), f'href="#{note}"'
    return [
        finding
        for finding in verified.report.findings
        if any(
            link in unquote(html.unescape(result.citation.span.of(source)))
            for result in finding.citations
        )
    ]


def _claims(
    job_id: str, verified: Verified, findings: Iterable[Finding], words: Language
) -> list[ClaimBody]:
    names, today = verified.view.get("names", {}), date.today()
    return [_claim(job_id, finding, names, words, today) for finding in findings]


def _claim(
    job_id: str, finding: Finding, names: Mapping[str, str], words: Language, today: date
) -> ClaimBody:
    support = finding.prob_supported
    absent, _ = wording.absent_and_denied(finding.missing)
    return ClaimBody(
        job_id=job_id,
        claim_id=finding.claim.claim_id,
        claim=finding.claim.text,
        label=str(finding.label),
        verdict=words.say(wording.LABELS[finding.label]),
        support=None if support is None else cells.percent(support),
        missing=[part.words for part in absent],
        citations=[_cited(result, names, words) for result in finding.citations],
        suggestions=[_suggested(each, today) for each in finding.suggestions],
        tag=render.tag(finding, today),
    )


def _cited(result: CitationResult, names: Mapping[str, str], words: Language) -> CitedBody:
    cited, outcome, copy = result.citation, result.outcome, result.copy
    evidence = outcome if isinstance(outcome, Evidence) else None
    why = outcome if isinstance(outcome, Unchecked) else None
    text = cells.shortened(evidence.quoted or evidence.passage.text, MAX_QUOTE) if evidence else ""
    quoted = bool(evidence and evidence.quoted)
    return CitedBody(
        at=(cited.span.start, cited.span.end),
        label=str(result.label),
        name=names.get(cited.citation_id) or wording.name_of(cited),
        url=cells.safe_link(cited.url),
        copy_url=cells.safe_link(copy.url) if copy and copy.url != cited.url else None,
        quote=text if quoted else "",
        near="" if quoted else text,
        reasons=[said(note, words.say) for note in evidence.reasons_coded] if evidence else [],
        unchecked=words.say(REASONS[why.reason]) if why else None,
        step=words.say(STEPS[why.reason]) if why else "",
    )


def _suggested(suggestion: Suggestion, today: date) -> SuggestionBody:
    passage = suggestion.evidence.passage
    return SuggestionBody(
        title=cells.one_line(passage.title) or passage.url,
        url=cells.safe_link(passage.url) or "",
        quote=cells.shortened(suggestion.evidence.quoted or passage.text, MAX_QUOTE),
        reference=render.reference(suggestion, today),
    )
