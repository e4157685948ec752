"""The pages of `ask`: a question, and its answer with what became of each sentence of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse

from pincite.contract import codec
from pincite.contract.ask import SentenceRecord
from pincite.errors import InputError
from pincite.report import cells
from pincite.server import demo, forms
from pincite.server.forms import Form
from pincite.server.identity import Identity, Reader, Runner
from pincite.server.jobs.store import Event
from pincite.server.problems import Problem, not_found
from pincite.server.rendering import Look, page, words_of
from pincite.server.requests import AskRequest
from pincite.server.routes import corpora
from pincite.server.routes.check import filled
from pincite.server.routes.jobs import readable, started
from pincite.server.routing import Router
from pincite.server.site import Site, Stores
from pincite.verbs.ask import bibliography, data, render, wording
from pincite.verbs.ask.records import Answer, AnswerReport

router = Router(include_in_schema=False)
EXPORTS = {
    "bib": "application/x-bibtex",
    "ris": "application/x-research-info-systems",
    "csl.json": "application/vnd.citationstyles.csl+json",
    "md": "text/markdown",
    "html": "text/html",
}
FIELDS = ("fusion", "published_from", "published_to")


@router.get("/ask")
def ask_form(request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """Question and corpus."""
    return _form(request, who, site)


@router.post("/ask", response_model=None)
def ask(form: Form, request: Request, who: Runner, site: Stores) -> Response:
    """Ask, and go where the answer appears."""
    settings: dict[str, Any] = {n: v for n in FIELDS if (v := forms.text(form, n))}
    settings |= forms.settings_given(form, "ask")
    if forms.text(form, "undated"):
        settings["undated"] = True
    if forms.text(form, "include_retracted"):
        settings["include_retracted"] = True
    for name in ("kinds", "source_languages"):
        if values := [each for each in forms.text(form, name).replace(",", " ").split() if each]:
            settings[name] = values
    asked: dict[str, Any] = {"question": forms.text(form, "question")}
    asked |= {"corpus": forms.texts(form, "corpus")} if forms.texts(form, "corpus") else {}
    asked |= {"settings": settings, "repair": bool(forms.text(form, "repair"))}
    try:
        body = forms.checked(AskRequest, asked)
        job = started(site, who, "ask", body, Response(), None)
    except Problem as problem:
        return _form(request, who, site, forms.back(request, problem, forms.kept_texts(form)))
    return forms.to(f"/jobs/{job.job_id}")


def _form(
    request: Request, who: Identity, site: Site, back: forms.Back = forms.FRESH
) -> HTMLResponse:
    tried = demo.questions(site)
    corpora = filled(site, who, "ask", tried)
    own = demo.own(request.app.state.examples.questions, corpora)
    values: dict[str, Any] = {"corpora": corpora, "examples": own or tried, **back.values}
    values |= {"given": back.given or forms.last_used(site, who, "ask"), "modes": _modes(request)}
    return page(request, "ask_form.html", who, tuned=forms.tuned(site, "ask"), **values)


@router.get("/jobs/{job_id}/answer.{ending}")
def export(job_id: str, ending: str, who: Reader, site: Stores) -> Response:
    """The references for a bibliography, or the answer as one file."""
    job = readable(site, job_id, who)
    report = _report(site.jobs.result(job_id)) if job.kind == "ask" else None
    if report is None or ending not in EXPORTS:
        raise not_found()
    text = _exported(report, ending)
    headers = {"Content-Disposition": f'attachment; filename="answer-{job_id}.{ending}"'}
    kind = f"{EXPORTS[ending]}; charset=utf-8"
    return Response(text.encode("utf-8", "replace"), 200, headers, kind)


def result_page(request: Request, look: Look, site: Site, result: bytes) -> HTMLResponse | None:
    """The answer; None if another version wrote it."""
    report = _report(result)
    if report is None:
        return None
    answers = report.answers if look.is_own else tuple(map(_without_texts, report.answers))
    return page(
        request,
        "answered.html",
        look.who,
        look=look,
        job=look.job,
        report=report,
        answers=render.views(answers, words_of(request), with_texts=True),
        advice=wording.advice(report.answers),
        used=cells.asked(report.usage),
        covers=corpora.covered(site, look.job.request.get("corpus"), look.who) if look.who else [],
    )


def so_far(events: Sequence[Event]) -> dict[str, Any]:
    """What of an answer stands already, for the page of a job that runs: verified, and waiting."""
    told = [event.data for event in events if event.kind == "sentence"]
    verified = [codec.from_values(SentenceRecord, each) for each in told]
    drafts = [event.data for event in events if event.kind == "draft"]
    waiting: list[str] = []
    if drafts:
        after, texts = int(drafts[-1]["after"]), list(drafts[-1]["texts"])
        waiting = texts[max(0, len(verified) - after) :]
    return {"sentences": [_live(each) for each in verified], "waiting": waiting}


def _without_texts(answer: Answer) -> Answer:
    """With the passages that were judged, and without the texts that they stand in."""
    references = tuple(
        replace(each, document=replace(each.document, text="")) for each in answer.references
    )
    return replace(answer, references=references)


def _live(sentence: SentenceRecord) -> dict[str, Any]:
    return {
        "text": sentence.text,
        "tone": render.TONES[sentence.standing],
        "sign": wording.SIGNS[sentence.standing],
        "label": wording.LABELS[sentence.standing],
    }


def _report(result: bytes | None) -> AnswerReport | None:
    try:
        return data.from_json(result) if result else None
    except InputError:
        return None


def _exported(report: AnswerReport, ending: str) -> str:
    if ending == "md":
        return render.to_markdown(report)
    if ending == "html":
        return render.to_html(report)
    write = {
        "bib": bibliography.to_bibtex,
        "ris": bibliography.to_ris,
        "csl.json": bibliography.to_csl,
    }[ending]
    return write(bibliography.used(report))


def _modes(request: Request) -> list[tuple[str, str]]:
    _ = words_of(request).say
    return [
        ("", _("balanced: words and meaning")),
        ("rrf", _("equal: the place in either ranking counts")),
        ("verifai", _("mostly meaning, as Verif.ai")),
        ("union", _("wide: the best of each, in turn")),
    ]
