"""The pages of `ask`: a question, and an answer with a verdict for each sentence."""

from collections.abc import Callable, Sequence
from typing import Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse

from pincite import codec
from pincite.report import bibliography, cells
from pincite.verbs.ask import render, wording
from pincite.verbs.ask.report import AnswerReport, Checked
from pincite_server.forms import Form
from pincite_server.identity import Reader, Runner
from pincite_server.jobs import Event
from pincite_server.rendering import Look, page, words_of
from pincite_server.routes.check import form_page, submitted
from pincite_server.routes.jobs import parsed
from pincite_server.routing import Router
from pincite_server.site import Site, Stores

pages = Router(include_in_schema=False)
WRITERS: dict[str, Callable[[AnswerReport], str]] = {
    "bib": lambda report: bibliography.to_bibtex(report.cited_references),
    "ris": lambda report: bibliography.to_ris(report.cited_references),
    "csl.json": lambda report: bibliography.to_csl(report.cited_references),
    "md": render.to_markdown,
    "html": render.to_html,
    "csv": render.to_csv,
}


@pages.get("/ask")
def ask_form(request: Request, who: Reader, site: Stores) -> HTMLResponse:
    """A form for question and corpus."""
    return form_page(request, who, site, "ask")


@pages.post("/ask", response_model=None)
def ask(form: Form, request: Request, who: Runner, site: Stores) -> Response:
    """Ask a question, and go to the page where the answer appears."""
    return submitted(form, request, who, site, "ask")


def result_page(request: Request, look: Look, site: Site, result: bytes) -> HTMLResponse | None:
    """Render the answer; None if another version of Pincite wrote it."""
    report, own = parsed(AnswerReport, result), look.is_own
    if report is None:
        return None
    return page(
        request,
        "answered.html",
        look.who,
        look=look,
        job=look.job,
        report=report,
        answers=render.views(
            report.answers, words_of(request), with_texts=own, only_passages=not own
        ),
        advice=wording.advice(report.answers),
        used=cells.usage_line(report.usage),
    )


def so_far(events: Sequence[Event]) -> dict[str, Any]:
    """Template values of a running job: verified sentences and pending drafts."""
    starts = (n for n, event in enumerate(events) if event.kind == "item")
    events = events[max(starts, default=0) :]
    found = [event.data for event in events if event.kind == "sentence"]
    verified = [codec.from_values(Checked, each) for each in found]
    drafts = [event.data for event in events if event.kind == "draft"]
    waiting: list[str] = []
    if drafts:
        after, texts = int(drafts[-1]["after"]), list(drafts[-1]["texts"])
        waiting = texts[max(0, len(verified) - after) :]
    return {"checked": verified, "waiting": waiting, "looks": wording.LOOKS}
