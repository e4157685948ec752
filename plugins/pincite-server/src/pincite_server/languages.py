"""The languages of the pages, and the texts that the operator of a server writes.

The code is English; `locale/` has the translations, which `tools/make_locale.py` compiles. The
operator's texts are titles, introductions, notes, and terms of use.
"""

import gettext
import re
from collections.abc import Mapping
from dataclasses import make_dataclass
from functools import cache
from pathlib import Path

from fastapi import Request
from markupsafe import Markup

from pincite.errors import ConfigError
from pincite.settings import schema
from pincite_server import plugins
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
    codes = [re.split("[-;]", part.strip())[0] for part in accepted]
    chosen = request.cookies.get(LANGUAGE, "")
    return next((code for code in (chosen, *codes) if code in LANGUAGES), "en")


# ── Texts of the operator ────────────────────────────────────────────────────────────────────────

PAGES, PARTS = ("verify", "check", "ask", "login"), ("title", "introduction", "notes")
_Page = make_dataclass("_Page", [(part, str, "") for part in PARTS])
_Texts = make_dataclass("_Texts", [(page, _Page, None) for page in PAGES], bases=(_Page,))


def read_texts(path: str) -> dict[str, str]:
    """The texts of a TOML file by name, as "en.title" or "en.check.title"; without a file, none.

    Titles are plain text, the others Markdown. Raises ConfigError: it has another name or value.
    """
    texts = dict[str, str]()
    for language, table in schema.read_toml(Path(path).expanduser()).items() if path else ():
        if language not in LANGUAGES or not isinstance(table, dict):
            raise ConfigError(f"{path}: {language} is no table of {' or '.join(LANGUAGES)}.")
        for name, text in schema.convert(_Texts, table, f"{path}: {language}").items():
            texts[f"{language}.{name}"] = text if name.endswith("title") else markdown(text)
    return texts


def read_terms(path: str) -> dict[str, str]:
    """The consent page by language: `consent.md`, and `consent.de.md` if there is one."""
    if not path:
        return {}
    files = {code: str(Path(path).with_suffix(f".{code}.md")) for code in LANGUAGES}
    given = {code: file for code, file in files.items() if Path(file).expanduser().exists()}
    return {code: markdown(read_text(file)) for code, file in ({"en": path} | given).items()}


def markdown(text: str) -> Markup:
    """Render Markdown below a page's heading; HTML in it is shown as text, images as links."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("js-default").disable("image")
    tokens = parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
    return Markup(parser.renderer.render(tokens, parser.options, {}))  # noqa: S704 - escaped there


def text_of(texts: Mapping[str, str], language: str, name: str = "") -> str:
    """The text of a name in this language, or else in English; empty without one."""
    own, english = (f"{code}.{name}".rstrip(".") for code in (language, "en"))
    return texts.get(own) or texts.get(english, "")
