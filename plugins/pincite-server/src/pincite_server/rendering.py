"""Render pages, parts of pages and error pages from templates.

Every value is escaped, and the content security policy (`middleware`) forbids inline scripts.

Besides the names from `verbs.verify.render`, templates can use `_("…")`, `ngettext`, `{% trans %}`,
`static(name)`, `meaning(label)`, `link(url)`, `when(seconds)`, `moment(iso)` and the filter `said`
for notes. Pass only our own texts to `_`, never text from outside: its result is not escaped.
"""

import hashlib
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
from pincite_server import plugins
from pincite_server.identity import Identity, Permission
from pincite_server.jobs import Job
from pincite_server.languages import LANGUAGES, language_of, text_of, translations
from pincite_server.problems import path_of
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


TEMPLATES, STATIC = (Path(__file__).parent / name for name in ("templates", "static"))


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
        here=path_of(request),
        path=request.url.path,
        text_of=partial(text_of, request.app.state.texts, language),
        language=language,
        languages=LANGUAGES,
        server_mode=server.mode == "server",
        start=server.start,
        version=version("pincite"),
        added=[link for plugin in plugins.load_all() for link in plugin.navigation],
    )
    # Documents may contain a lone surrogate, which UTF-8 cannot encode.
    return HTMLResponse(text.encode("utf-8", "replace"), status, dict(headers or {}))


def page_alone(name: str, language: str, **values: Any) -> str:
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
        "static": static_address,
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


# ── Static files ─────────────────────────────────────────────────────────────────────────────────


@cache
def static_files() -> dict[str, bytes]:
    """The static files of the server and its plugins, by name."""
    paths = [STATIC / "icon.svg", STATIC / "pages.js"]
    paths += [path for folder in plugins.folders("static") for path in folder.iterdir()]
    files = {path.name: path.read_bytes() for path in paths}
    htmx = (STATIC / "htmx" / "htmx.min.js").read_bytes()
    return files | {"htmx.js": htmx, "pincite.css": _style().encode()}


@cache
def static_address(name: str) -> str:
    """The URL of a static file, with a hash of its content so that browsers can cache it."""
    return f"/static/{hashlib.sha256(static_files()[name]).hexdigest()[:12]}/{name}"


def _style() -> str:
    """The style sheet of the reports, each scoped to its own page, and that of the pages."""
    scoped = "".join(
        f".view-{name} {{\n{templates.own_style(f'{name}.css')}}}\n" for name in ("check", "ask")
    )
    sheets = ("pages.css", "corpora.css", "people.css")
    pages = "".join((STATIC / name).read_text(encoding="utf-8") for name in sheets)
    return str(templates.style()) + scoped + pages
