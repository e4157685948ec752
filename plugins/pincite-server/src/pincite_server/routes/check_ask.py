"""The pages of `check` and `ask`: a statement or a question for a corpus, and what it says.

A check takes two jobs: the first finds readings; the second looks for evidence for those that the
user kept or reworded. "Check now" starts only the second.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.datastructures import FormData

from pincite import codec
from pincite.errors import InputError
from pincite.report import bibliography, cells
from pincite.types import StatementType
from pincite.verbs.ask import render as ask_render
from pincite.verbs.ask import wording as ask_wording
from pincite.verbs.ask.report import AnswerReport, Checked
from pincite.verbs.check import render, wording
from pincite.verbs.check.report import CheckReport, Interpretation
from pincite_server import demo, forms
from pincite_server.forms import Form
from pincite_server.identity import Consent, Identity, Reader, Runner
from pincite_server.jobs import Event
from pincite_server.problems import Problem, not_found
from pincite_server.rendering import Look, page, words_of
from pincite_server.requests import MOST_AT_ONCE, AskRequest, CheckRequest
from pincite_server.routes.jobs import filled_corpora, last_job, parse_report, readable, start_job
from pincite_server.routing import Router
from pincite_server.site import Site, Stores

pages = Router(include_in_schema=False)
MOST_READINGS = 20  # as `CheckRequest`
KINDS = tuple(map(str, StatementType))
CHECK_WRITERS: dict[str, Callable[[CheckReport], str]] = {
    "md": render.to_footnotes,
    "jsonld": render.to_claimreview,
    "html": render.to_html,
    "csv": render.to_csv,
}
ASK_WRITERS: dict[str, Callable[[AnswerReport], str]] = {
    "bib": lambda report: bibliography.to_bibtex(report.cited_references),
    "ris": lambda report: bibliography.to_ris(report.cited_references),
    "csl.json": lambda report: bibliography.to_csl(report.cited_references),
    "md": ask_render.to_markdown,
    "html": ask_render.to_html,
    "csv": ask_render.to_csv,
}


@pages.get("/check")
def check_form(request: Request, who: Reader, site: Stores) -> HTMLResponse:
    return form_page(request, who, site, "check")


@pages.post("/check", response_model=None)
def check(form: Form, request: Request, who: Runner, site: Stores) -> Response:
    return submit(form, request, who, site, "check")


@pages.get("/ask")
def ask_form(request: Request, who: Reader, site: Stores) -> HTMLResponse:
    return form_page(request, who, site, "ask")


@pages.post("/ask", response_model=None)
def ask(form: Form, request: Request, who: Runner, site: Stores) -> Response:
    return submit(form, request, who, site, "ask")


@pages.post("/jobs/{job_id}/readings")
def readings(job_id: str, form: Form, who: Runner, site: Stores) -> RedirectResponse:
    """Look for evidence for the edited readings."""
    job = readable(site, job_id, who)
    if job.kind != "check":
        raise not_found()
    chosen = []
    for number in range(MOST_READINGS):
        text = " ".join(forms.text(form, f"text-{number}").split())
        if text and forms.text(form, f"keep-{number}"):
            reading = {"text": text}
            if (kind := forms.text(form, f"kind-{number}")) in KINDS:
                reading["kind"] = kind
            if forms.text(form, f"was-{number}") == text:  # a negation belongs to its wording
                reading["negation"] = forms.text(form, f"negation-{number}")
            chosen.append(reading)
    if not chosen:
        raise Problem(422, "invalid_request", "Keep at least one reading, or write one.")
    values = {name: job.request[name] for name in ("statement", "corpus")}
    values |= {"unlogged": job.request.get("unlogged", False), "readings_of": job_id}
    values |= {"settings": job.request.get("settings", {}), "readings": chosen}
    body = forms.validate(CheckRequest, values)
    return forms.redirect(f"/jobs/{start_job(site, who, 'check', body).job_id}")


def check_page(request: Request, look: Look, site: Site, result: bytes) -> HTMLResponse | None:
    """Render the editable readings or the evidence; None if another version wrote the result."""
    report = parse_report(CheckReport, result)
    if report is None:
        return _readings_page(request, look, result) if look.is_own else None
    words = words_of(request)
    return page(
        request,
        "checked.html",
        look.who,
        look=look,
        job=look.job,
        report=report,
        checks=render.views(report, words),
        advice=wording.ADVICE,
        legend=report.legend(words),
        used=cells.usage_line(report.usage),
        footnotes=render.to_footnotes(report),
    )


def submit(
    form: FormData, request: Request, who: Identity, site: Site, kind: Literal["check", "ask"]
) -> Response:
    """Start the job of a form. A text with several items is shown as read, to be confirmed first.

    The field `step` is "evidence" to start at once, and "one" if the text is a single item.
    """
    step, name = forms.text(form, "step"), "statement" if kind == "check" else "question"
    whole = {name: " ".join(forms.text(form, name).split())} if step == "one" else {}
    try:
        model: type[CheckRequest | AskRequest] = CheckRequest if kind == "check" else AskRequest
        body = forms.body(model, form, **whole)
        texts: tuple[str, ...] = getattr(body, name)
        if kind == "check":
            body = body.model_copy(update={"only_readings": step != "evidence"})
        if len(texts) > 1 and step != "evidence":
            given = forms.typed_texts(form) | {name: "\n\n".join(texts)}
            return form_page(request, who, site, kind, given=given, texts=texts)
        return forms.redirect(f"/jobs/{start_job(site, who, kind, body).job_id}")
    except Problem as problem:
        return form_page(request, who, site, kind, **forms.rejected_values(request, problem, form))


def form_page(
    request: Request, who: Identity, site: Site, kind: Literal["check", "ask"], **again: Any
) -> HTMLResponse:
    """Render a form, preset as the user's last one; `again` has values to correct or confirm."""
    examples = demo.examples(site, kind)
    last = last_job(site, who, kind)
    corpora = filled_corpora(site, who, last, examples and examples.corpus_id)
    if corpora and (texts := request.app.state.examples[kind]):
        examples = demo.Examples(corpora[0].corpus_id, [*texts])
    settings = last.request.get("settings", {}) if last else {}
    values: dict[str, Any] = {
        "given": {name: settings[name] for name in forms.FIELDS[kind] if name in settings},
        "corpora": corpora,
        "examples": examples,
        "tunable": forms.tunable(site, kind),
        "logged": bool(site.settings.results.folder) and who.consent is Consent.LOGGED,
        "texts": (),
        "most_at_once": MOST_AT_ONCE,
    }
    return page(request, f"{kind}_form.html", who, **values | again)


def _readings_page(request: Request, look: Look, result: bytes) -> HTMLResponse | None:
    try:
        interpretation = codec.from_json(Interpretation, result)
    except InputError:
        return None
    return page(
        request,
        "check_readings.html",
        look.who,
        job=look.job,
        statement=CheckRequest.model_validate(look.job.request).statement[0],
        readings=interpretation.readings,
        failures=[failure.detail for failure in interpretation.failures],
        kinds=KINDS,
        meanings=wording.KINDS,
        most=MOST_READINGS,
    )


def answer_page(request: Request, look: Look, site: Site, result: bytes) -> HTMLResponse | None:
    """Render the answer; None if another version of Pincite wrote it."""
    report, own = parse_report(AnswerReport, result), look.is_own
    if report is None:
        return None
    shown = {"with_texts": own, "only_passages": not own}
    return page(
        request,
        "answered.html",
        look.who,
        look=look,
        job=look.job,
        report=report,
        answers=ask_render.views(report.answers, words_of(request), **shown),
        advice=ask_wording.advice(report.answers),
        used=cells.usage_line(report.usage),
    )


def progress_values(events: Sequence[Event]) -> dict[str, Any]:
    """Template values of a running job: verified sentences and pending drafts."""
    starts = (n for n, event in enumerate(events) if event.kind == "item")
    events = events[max(starts, default=0) :]
    sentences = [event.data for event in events if event.kind == "sentence"]
    verified = [codec.from_values(Checked, sentence) for sentence in sentences]
    drafts = [event.data for event in events if event.kind == "draft"]
    draft: Mapping[str, Any] = drafts[-1] if drafts else {"after": 0, "texts": []}
    waiting = draft["texts"][max(0, len(verified) - draft["after"]) :]
    return {"checked": verified, "waiting": waiting, "looks": ask_wording.LOOKS}
