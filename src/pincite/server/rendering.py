"""From a template and values to a page; languages, static files, words, and errors as pages.

Everything is escaped; the middleware's content security policy does the rest. English is what the
code says; the other languages lie in `locale/`, made by `tools/make_locale.py`. Static files have
addresses that name their content: a browser keeps them.

A template may use: `_("…")`, `ngettext` and `{% trans %}`; `static(name)`, the address of a file;
`sign(label)`, `word(label)` and `meaning(label)` of a verdict; `in_words(note)`, a note in the
reader's language (`say` of parts.html marks what has no code); of a citation's result
`copy_read(result)`, `where(result)` and `what_changed(result)`; `second_opinion(finding)`, lines;
`link(url)`, the URL if a browser may open it, else none; `when(seconds)` and `moment(iso)`, a time.
What each page is given besides is in `page`.
`_` takes a template's own words or a constant of ours, never a text from outside: what it gives is
taken for markup.
"""

import gettext
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from fastapi import Request, Response
from fastapi.responses import HTMLResponse

from pincite import notes
from pincite.notes import Language
from pincite.report import cells, templates
from pincite.report.reasons import REASONS
from pincite.server import plugins
from pincite.server.identity import PUBLIC, Identity
from pincite.server.jobs import Job
from pincite.server.problems import not_found
from pincite.server.routing import Router, csrf_for
from pincite.server.uploads import Why
from pincite.server.work import SCHEME
from pincite.types import Label, Reason
from pincite.verbs.ask import bibliography
from pincite.verbs.ask import wording as ask_wording
from pincite.verbs.check import wording as check_wording
from pincite.verbs.verify import render, wording

LOCALE = Path(__file__).parent / "locale"
LANGUAGES = {"en": "English", "de": "Deutsch"}  # each in its own words
LANGUAGE = "pincite_language"


@cache
def translations(language: str) -> gettext.NullTranslations:
    """The texts of a language."""
    if language == "en":
        return gettext.NullTranslations()
    texts = gettext.translation("pincite", LOCALE, [language])
    for folder in plugins.folders("locale"):
        texts.add_fallback(gettext.translation("pincite", folder, [language], fallback=True))
    return texts


def language_of(request: Request) -> str:
    """What somebody chose, else the first that their browser asks for and that we have."""
    chosen = request.cookies.get(LANGUAGE, "")
    if chosen in LANGUAGES:
        return chosen
    wanted = []
    for part in request.headers.get("accept-language", "")[:500].split(","):
        name, _, weight = part.strip().partition(";")
        wanted.append((-_weight(weight), name.partition("-")[0].lower()))
    known = [each for each in wanted if each[0] < 0 and each[1] in LANGUAGES]
    return min(known, key=lambda each: each[0])[1] if known else "en"


def _weight(text: str) -> float:
    try:
        return float(text.strip().removeprefix("q=") or 1)
    except ValueError:
        return 0.0


STATIC = Path(__file__).parent / "static"
KEPT = "public, max-age=31536000, immutable"
# Our files by the name that templates use; the style sheet is made, see `_style`.
SCRIPTS = {
    "pages.js": STATIC / "pages.js",
    "htmx.js": STATIC / "htmx" / "htmx.min.js",
}
TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

router = Router(include_in_schema=False)


def address(name: str) -> str:
    """Where a file is served; another content has another address."""
    return f"/static/{_digest(name)}/{name}"


@router.get("/static/{digest}/{name}", dependencies=[PUBLIC])
def static(digest: str, name: str) -> Response:
    """A file."""
    if name not in names() or digest != _digest(name):
        raise not_found()
    media_type = TYPES[name.rpartition(".")[2]]
    return Response(_content(name), media_type=media_type, headers={"Cache-Control": KEPT})


@cache
def _content(name: str) -> bytes:
    if name == "pincite.css":
        return _style().encode()
    return (SCRIPTS | _added()).get(name, STATIC / name).read_bytes()


@cache
def _digest(name: str) -> str:
    return hashlib.sha256(_content(name)).hexdigest()[:12]


def _style() -> str:
    """The reports' style sheet and the pages' own behind it.

    The two palettes are the reports'; here a person may choose one against their system.
    """
    reports = str(templates.style())
    light, dark = re.findall(r":root \{([^}]*)\}", reports)
    chosen = (
        f":root[data-theme=light] {{{light}; color-scheme: light }}\n"
        f":root[data-theme=dark] {{{dark}; color-scheme: dark }}\n"
    )
    sheets = ("pages.css", "corpora.css", "people.css")
    pages = "".join((STATIC / name).read_text(encoding="utf-8") for name in sheets)
    # What only the reports of `check` and `ask` have stays on their pages.
    theirs = "".join(
        f".view-{name} {{\n{templates.own_style(f'{name}.css')}}}\n" for name in ("check", "ask")
    )
    return reports + chosen + theirs + pages


def names() -> frozenset[str]:
    """Of all static files."""
    return frozenset({"pincite.css", "icon.svg", *SCRIPTS, *_added()})


@cache
def _added() -> dict[str, Path]:
    return {path.name: path for folder in plugins.folders("static") for path in folder.iterdir()}


# What is wrong with a file, and what can be done.
UNUSED: Mapping[Why, str] = {
    Why.NO_ZIP: "not a zip file that can be unpacked; zip the files again",
    Why.ENCRYPTED: "locked with a password; send it unlocked",
    Why.UNSAFE: "its name or folder is not allowed; rename it",
    Why.LINK: "a link, not a file; send the file itself",
    Why.NESTED: "a zip inside a zip; unpack it first",
    Why.TOO_LARGE: "too large when unpacked; send fewer or smaller files",
    Why.TOO_MANY: "too many files; send fewer at once",
    Why.TWICE: "another file has the same name; only the first was used",
    Why.UNREADABLE: "no text could be read from it; send a PDF, HTML, Word or text file",
    Why.NO_ADDRESS: "its citation has no address; hand the file in under that citation below",
    Why.NO_MATCH: "fits no citation of the article; name it after the last part of the cited "
    "address, or hand it in under its citation below",
}


class SentFiles(NamedTuple):
    """Files that were sent: how many could be used, and why the others could not."""

    n_files: int
    n_matched: int
    n_named: int
    matched: list[str]
    unused: list[tuple[str, str, str]]  # file, why, detail


def sent_files(told: Mapping[str, Any] | None, is_own: bool) -> SentFiles | None:
    """None if none were sent, or if they are not the reader's business: names may say much."""
    if not told or not is_own:
        return None
    unused = [(file, UNUSED[Why(why)], detail) for file, why, detail in told["unused"]]
    matched = [file for file, _ in told["matched"]]
    return SentFiles(told["n_files"], len(matched), told["n_named"], matched, unused)


# What a person can do where a source could not be checked: a page has a form for what the reports
# send to the command line for.
STEPS: Mapping[Reason, str] = wording.STEPS | {
    Reason.PAYWALL: "read it through a library, and hand in your copy",
    Reason.OFFLINE: "hand in the pages if you have them",
    Reason.NOT_SUPPLIED: "hand in a saved copy",
}
# Tables of the reports whose texts translators are given (`tools/make_locale.py`).
SHARED: tuple[Mapping[Any, str], ...] = (
    wording.LEGEND,
    UNUSED,
    check_wording.LABELS,
    check_wording.KINDS,
    ask_wording.LABELS,
    ask_wording.SHORT,
    ask_wording.VERDICTS,
    wording.READ,
    dict(enumerate((wording.NOT_LIVE, wording.NOT_LIVE_STATUS))),
    {retraction: mark for retraction, mark in bibliography.RETRACTIONS.items() if mark},
    dict(enumerate((check_wording.ADVICE, ask_wording.ADVICE, ask_wording.COPIED))),
    dict(enumerate((ask_wording.NO_ANSWER, ask_wording.INHERITED))),
    dict(enumerate((ask_wording.LEFT_OUT, ask_wording.VERBATIM_FROM))),
    *(wording.ARCHIVED, wording.CHANGED, wording.ON_PAGE, wording.ELSEWHERE),
    *(wording.VERDICTS, wording.OPINIONS, wording.UNCITED, wording.MISSING),
    {0: wording.CHANGED_STEP},
    {code: said for code, said in notes.ENGLISH.items() if code != notes.AS_WRITTEN},
    dict(enumerate((notes.QUOTED, ask_wording.ABSENT, ask_wording.CUT, ask_wording.MISSING))),
    dict(enumerate((ask_wording.UNKNOWN_ONE, ask_wording.UNKNOWN))),
)


def attachment(
    text: str, media_type: str, name: str, headers: Mapping[str, str] | None = None
) -> Response:
    """A text as a file to save; half of a surrogate pair, which is no UTF-8, becomes "?"."""
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    content_type = f"{media_type}; charset=utf-8"
    found = {**disposition, **(headers or {})}
    return Response(text.encode("utf-8", "replace"), 200, found, content_type)


def words_of(request: Request) -> Language:
    """The language of a request."""
    texts = translations(language_of(request))
    return Language(texts.gettext, texts.ngettext)


@dataclass(frozen=True, slots=True)
class Look:
    """Somebody at the page of a job that has ended."""

    job: Job
    who: Identity | None  # None: nobody who is logged in
    link: str = ""  # the path of a share link; empty: the job's own page

    @property
    def place(self) -> str:
        """The path of the page; those of its pieces begin with it."""
        return self.link or f"/jobs/{self.job.job_id}"

    @property
    def is_own(self) -> bool:
        """Whether whole texts and forms are shown: through a link they are for nobody."""
        return not self.link and self.who is not None and self.who.owns(self.job.owner)


TEMPLATES = Path(__file__).parent / "templates"
THEME = "pincite_theme"  # a cookie
THEMES = ("light", "dark")


def page(
    request: Request,
    name: str,
    who: Identity | None,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **values: Any,
) -> HTMLResponse:
    """A page, or a piece of one, in the language of whoever asks.

    Args:
        request: asks for it.
        name: of the template.
        who: asks; None: nobody who is known.
        status: of HTTP.
        headers: more of them.
        **values: what the template asks for.
    """
    language = language_of(request)
    template = _environment(language).get_template(name)
    theme = request.cookies.get(THEME, "")
    forms: dict[str, Any] = {"faults": {}, "given": {}}  # of pages that show one
    text = template.render(
        **forms | values,
        who=who,
        csrf=csrf_for(request),
        here=request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        path=request.url.path,
        language=language,
        languages=LANGUAGES,
        theme=theme if theme in THEMES else "",
        server_mode=request.app.state.site.server.mode == "server",
        version=version("pincite"),
        added=[each for plugin in plugins.loaded() for each in plugin.navigation],
    )
    # Half of a surrogate pair, from a document that has one, is no UTF-8.
    return HTMLResponse(text.encode("utf-8", "replace"), status, dict(headers or {}))


def rendered(name: str, language: str, **values: Any) -> str:
    """A page that nobody asks a server for: one file, with its style inside."""
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
        "called": called,
    }
    return environment


def called(url: str, title: str = "") -> str:
    """What a document is called: its title, else the name of the file that was sent, else the URL.

    >>> called("upload:two%20words.pdf"), called("https://a.example/", "A page")
    ('two words.pdf', 'A page')
    """
    return cells.one_line(title) or unquote(url.removeprefix(SCHEME))


def when(at: float) -> str:
    """A time for people, with its zone.

    >>> when(0.0)
    '1970-01-01 00:00 UTC'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def problem_page(request: Request, problem: Any) -> HTMLResponse:
    """What `problems.response` shows a browser.

    Args:
        request: could not be answered.
        problem: a `problems.ProblemBody`.
    """
    heading = _headings(request).get(problem.code) or _headings(request)["other"]
    who = getattr(request.state, "identity", None)
    return page(
        request, "problem.html", who, status=problem.status, problem=problem, heading=heading
    )


def _headings(request: Request) -> dict[str, str]:
    _ = translations(language_of(request)).gettext
    return {
        "not_found": _("There is nothing here"),
        "not_logged_in": _("You are not logged in"),
        "not_allowed": _("You may not do this"),
        "foreign_origin": _("This came from a page of another site"),
        "too_large": _("This is too large"),
        "queue_full": _("Too many jobs are waiting"),
        "too_many_of_yours": _("You have as many jobs as one account may"),
        "disk_full": _("The server's disk is nearly full"),
        "account_full": _("Your files have reached the limit of an account"),
        "too_many_requests": _("Too many requests"),
        "login_refused": _("You are not logged in"),
        "login_expired": _("This login has expired"),
        "csrf": _("This page has expired"),
        "offline": _("This server fetches nothing from the web"),
        "invalid_request": _("The request was not understood"),
        "internal": _("An error in the program"),
        "other": _("This did not work"),
    }
