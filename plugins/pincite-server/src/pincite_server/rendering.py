"""Render pages, parts of pages and error pages from templates.

Every value is escaped, and the content security policy (`middleware`) forbids inline scripts.

Besides the names from `verbs.verify.render`, templates can use `_("…")`, `ngettext`, `{% trans %}`,
`static(name)`, `meaning(label)`, `link(url)`, `when(seconds)`, `moment(iso)` and the filter `said`
for notes. Pass only our own texts to `_`, never text from outside: its result is not escaped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse

from pincite.documents.body import ENDINGS
from pincite.notes import Language
from pincite.report import cells, templates
from pincite.report.cells import REASONS
from pincite.types import Label, Reason
from pincite.verbs.verify import render, wording
from pincite_server import plugins, static_files
from pincite_server.identity import Identity, Permission
from pincite_server.jobs import Job
from pincite_server.languages import LANGUAGES, language_of, translations
from pincite_server.operator_texts import chosen
from pincite_server.routing import csrf_for

# What to do about a source that could not be checked. Where the reports name a command, the pages
# have a form.
STEPS: Mapping[Reason, str] = wording.STEPS | {
    Reason.PAYWALL: "read it through a library, and upload your copy",
    Reason.OFFLINE: "upload the pages if you have them",
    Reason.NOT_SUPPLIED: "upload a saved copy",
    Reason.LANGUAGE: "add pincite[multilingual] or a language model ([judge]) to this server",
    Reason.INTERNAL_ERROR: "tell the operator of this server, whose log has the details",
}


def words_of(request: Request) -> Language:
    texts = translations(language_of(request))
    return Language(texts.gettext, texts.ngettext)


@dataclass(frozen=True, slots=True)
class Look:
    """A visitor viewing the page of a finished job."""

    job: Job
    who: Identity | None  # None if not logged in
    link: str = ""  # path of the share link; empty on the job's own page

    @property
    def place(self) -> str:
        return self.link or f"/jobs/{self.job.job_id}"

    @property
    def is_own(self) -> bool:
        """Whether to show whole texts and forms; never for a share link."""
        return not self.link and self.who is not None and self.who.owns(self.job.owner)

    @property
    def may_run(self) -> bool:
        """Whether to show forms that start jobs, share the result or judge it."""
        return self.is_own and self.who is not None and Permission.RUN in self.who.may


TEMPLATES = Path(__file__).parent / "templates"


def page(
    request: Request,
    name: str,
    who: Identity | None,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **values: Any,
) -> HTMLResponse:
    """Render a page, or a part of one, in the visitor's language; `values` are for the template."""
    language = language_of(request)
    template = _environment(language).get_template(name)
    server = request.app.state.site.server
    forms: dict[str, Any] = {"faults": {}, "given": {}}  # for a form without errors
    text = template.render(
        **forms | values,
        who=who,
        may=who.may if who else frozenset(),
        csrf=csrf_for(request),
        here=request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        path=request.url.path,
        text_of=partial(chosen, request.app.state.texts, language),
        language=language,
        languages=LANGUAGES,
        server_mode=server.mode == "server",
        start=server.start,
        version=version("pincite"),
        added=[each for plugin in plugins.loaded() for each in plugin.navigation],
    )
    # Documents may contain a lone surrogate, which UTF-8 cannot encode.
    return HTMLResponse(text.encode("utf-8", "replace"), status, dict(headers or {}))


def rendered(name: str, language: str, **values: Any) -> str:
    """Render a self-contained page with its styles inline."""
    template = _environment(language).get_template(name)
    values |= {"language": language, "style": templates.style()}
    return str(template.render(**values))


@cache
def _environment(language: str) -> Any:
    texts = translations(language)
    folders = [TEMPLATES, *plugins.folders("templates")]
    environment = templates.environment(folders, texts, language)
    environment.globals |= render.names(Language(texts.gettext, texts.ngettext)) | {
        "static": static_files.address,
        "meaning": lambda label: texts.gettext(wording.LEGEND[Label(label)]),
        "when": when,
        "moment": lambda text: when(datetime.fromisoformat(text).timestamp()),
        "REASONS": REASONS,
        "STEPS": STEPS,
        "called": cells.display_name,
        "accepted": ",".join(ENDINGS),
    }
    return environment


def when(at: float) -> str:
    """Format a time for people, with its time zone.

    >>> when(0.0)
    '1970-01-01 00:00 UTC'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def problem_page(request: Request, problem: Any) -> HTMLResponse:
    """`problem` is a `problems.ProblemBody`."""
    who = getattr(request.state, "identity", None)
    return page(request, "problem.html", who, status=problem.status, problem=problem)
