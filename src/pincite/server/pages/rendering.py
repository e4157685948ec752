"""From a template and values to a page. Everything is escaped; the border's policy does the rest.

A template may use: `_("…")`, `ngettext` and `{% trans %}`; `static(name)`, the address of a file;
`sign(label)`, `word(label)` and `meaning(label)` of a verdict; `in_words(note)`, a note in the
reader's language (`say` of parts.html marks what has no code); of a citation's result
`copy_read(result)`, `where(result)` and `what_changed(result)`; `second_opinion(finding)`, lines;
`link(url)`, the URL if a browser may open it, else none; `when(seconds)` and `moment(iso)`, a time.
What each page is given besides is in `page`.
`_` takes a template's own words or a constant of ours, never a text from outside: what it gives is
taken for markup.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fastapi import Request
from fastapi.responses import HTMLResponse

from pincite import notes
from pincite.report import cells, templates
from pincite.report.reasons import BARS, REASONS
from pincite.server.branding import Branding
from pincite.server.jobs.ingesting import SCHEME
from pincite.server.pages import languages, static
from pincite.server.pages.words import STEPS
from pincite.server.people.identity import Identity
from pincite.server.people.login import csrf_for
from pincite.types import Label
from pincite.verbs.verify import wording

FOLDER = Path(__file__).parents[1] / "templates"
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
    language = languages.language_of(request)
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
        languages=languages.LANGUAGES,
        theme=theme if theme in THEMES else "",
        server_mode=request.app.state.site.server.mode == "server",
        version=version("pincite"),
        branding=request.app.state.branding,
    )
    # Half of a surrogate pair, from a document that has one, is no UTF-8.
    return HTMLResponse(text.encode("utf-8", "replace"), status, dict(headers or {}))


def rendered(name: str, language: str, **values: Any) -> str:
    """A page that nobody asks a server for: one file, with its style inside."""
    template = _environment(language).get_template(name)
    values |= {"language": language, "style": templates.style(), "branding": Branding()}
    return str(template.render(**values))


@cache
def _environment(language: str) -> Any:
    environment = templates.environment(FOLDER, "jinja2.ext.i18n", "jinja2.ext.do")
    texts = languages.translations(language)
    environment.install_gettext_translations(texts, newstyle=True)  # type: ignore[attr-defined]
    environment.globals |= {
        "static": static.address,
        "sign": lambda label: wording.SIGNS[Label(label)],
        "word": lambda label: texts.gettext(wording.LABELS[Label(label)]),
        "meaning": lambda label: texts.gettext(wording.LEGEND[Label(label)]),
        "link": cells.safe_link,
        "when": when,
        "moment": lambda text: when(datetime.fromisoformat(text).timestamp()),
        "wording": wording,
        "REASONS": REASONS,
        "BARS": BARS,
        "STEPS": STEPS,
        "called": called,
        "copy_read": lambda result: wording.copy_read(result, texts.gettext),
        "where": lambda result: wording.where(result.place, result.label, texts.gettext),
        "what_changed": lambda result: wording.what_changed(result, texts.gettext),
        "second_opinion": lambda finding: wording.second_opinion(finding, texts.gettext),
        "in_words": lambda note: notes.said(note, texts.gettext),
        "AS_WRITTEN": notes.AS_WRITTEN,
        "ORDER": wording.ORDER,
    }
    environment.filters["one_line"] = cells.one_line
    environment.filters["percent"] = cells.percent
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
