"""Render pages from templates: translations, static files, and error pages.

Every value is escaped, and the content security policy (`middleware`) forbids inline scripts.
English texts are in the code; translations are in `locale/`, compiled by `tools/make_locale.py`.

Besides the names from `verbs.verify.render`, templates can use `_("…")`, `ngettext`, `{% trans %}`,
`static(name)`, `meaning(label)`, `link(url)`, `when(seconds)`, `moment(iso)` and the filter `said`
for notes. Pass only our own texts to `_`, never text from outside: its result is not escaped.
"""

import gettext
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from pincite.documents.body import ENDINGS
from pincite.errors import ConfigError
from pincite.notes import Language
from pincite.report import cells, templates
from pincite.report.cells import REASONS
from pincite.settings import schema
from pincite.types import Label, Reason
from pincite.verbs.verify import render, wording
from pincite_server import plugins
from pincite_server.identity import PUBLIC, Identity, Permission
from pincite_server.jobs import Job
from pincite_server.problems import not_found
from pincite_server.routing import Router, csrf_for
from pincite_server.settings import read_text

LOCALE = Path(__file__).parent / "locale"
LANGUAGES = {"en": "English", "de": "Deutsch"}  # in their own languages
LANGUAGE = "pincite_language"


@cache
def translations(language: str) -> gettext.NullTranslations:
    if language == "en":
        return gettext.NullTranslations()
    texts = gettext.translation("pincite", LOCALE, [language])
    for folder in plugins.folders("locale"):
        texts.add_fallback(gettext.translation("pincite", folder, [language], fallback=True))
    return texts


def language_of(request: Request) -> str:
    """The language that the visitor chose, else the browser's first that we support."""
    accepted = request.headers.get("accept-language", "").lower().split(",")
    codes = [re.split("[-;]", each.strip())[0] for each in accepted]
    chosen = request.cookies.get(LANGUAGE, "")
    return next((each for each in (chosen, *codes) if each in LANGUAGES), "en")


# ── Texts of the operator ────────────────────────────────────────────────────────────────────────

PAGES, PARTS = ("verify", "check", "ask", "login"), ("title", "introduction", "notes")
_Page = make_dataclass("_Page", [(part, str, "") for part in PARTS])
_Texts = make_dataclass("_Texts", [(page, _Page, None) for page in PAGES], bases=(_Page,))


def read_texts(path: str) -> dict[str, str]:
    """The texts of a TOML file by name, as "en.title" or "en.check.title"; without a file, none.

    Titles are plain text, the others Markdown. Raises ConfigError: it has another name or value.
    """
    found = dict[str, str]()
    for language, table in schema.read_toml(Path(path).expanduser()).items() if path else ():
        if language not in LANGUAGES or not isinstance(table, dict):
            raise ConfigError(f"{path}: {language} is no table of {' or '.join(LANGUAGES)}.")
        texts = schema.checked(_Texts, table, f"{path}: {language}")
        found |= {f"{language}.{name}": text for name, text in texts.items()}
    return {
        name: text if name.endswith("title") else markdown(text) for name, text in found.items()
    }


def read_terms(path: str) -> dict[str, str]:
    """The consent page by language: `consent.md`, and `consent.de.md` if there is one."""
    if not path:
        return {}
    files = {each: str(Path(path).with_suffix(f".{each}.md")) for each in LANGUAGES}
    given = {each: file for each, file in files.items() if Path(file).expanduser().exists()}
    return {each: markdown(read_text(file)) for each, file in ({"en": path} | given).items()}


def markdown(text: str) -> Markup:
    """Render Markdown below a page's heading; HTML in it is shown as text, images as links."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("js-default").disable("image")
    tokens = parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
    return Markup(parser.renderer.render(tokens, parser.options, {}))  # noqa: S704 - escaped there


def chosen(texts: Mapping[str, str], language: str, name: str = "") -> str:
    """The text of a name in this language, or else in English; empty without one."""
    own, english = (f"{each}.{name}".rstrip(".") for each in (language, "en"))
    return texts.get(own) or texts.get(english, "")


# ── Static files ─────────────────────────────────────────────────────────────────────────────────

STATIC = Path(__file__).parent / "static"
KEPT = "public, max-age=31536000, immutable"
TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

router = Router(include_in_schema=False)


@cache
def _files() -> dict[str, bytes]:
    paths = [STATIC / "icon.svg", STATIC / "pages.js"]
    paths += [path for folder in plugins.folders("static") for path in folder.iterdir()]
    found = {path.name: path.read_bytes() for path in paths}
    htmx = (STATIC / "htmx" / "htmx.min.js").read_bytes()
    return found | {"htmx.js": htmx, "pincite.css": _style().encode()}


@cache
def address(name: str) -> str:
    """The URL of a static file, with a hash of its content so that browsers can cache it."""
    return f"/static/{hashlib.sha256(_files()[name]).hexdigest()[:12]}/{name}"


@router.get("/static/{digest}/{name}", dependencies=[PUBLIC])
def static(digest: str, name: str) -> Response:
    """A static file."""
    if name not in _files() or address(name) != f"/static/{digest}/{name}":
        raise not_found()
    media_type = TYPES[name.rpartition(".")[2]]
    return Response(_files()[name], media_type=media_type, headers={"Cache-Control": KEPT})


def _style() -> str:
    """The style sheet of the reports, followed by that of the pages."""
    # Scope the style of each report to its own page.
    scoped = "".join(
        f".view-{name} {{\n{templates.own_style(f'{name}.css')}}}\n" for name in ("check", "ask")
    )
    sheets = ("pages.css", "corpora.css", "people.css")
    pages = "".join((STATIC / name).read_text(encoding="utf-8") for name in sheets)
    return str(templates.style()) + scoped + pages


# ── Words ────────────────────────────────────────────────────────────────────────────────────────

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
        "static": address,
        "meaning": lambda label: texts.gettext(wording.LEGEND[Label(label)]),
        "when": when,
        "moment": lambda text: when(datetime.fromisoformat(text).timestamp()),
        "REASONS": REASONS,
        "STEPS": STEPS,
        "called": cells.called,
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
