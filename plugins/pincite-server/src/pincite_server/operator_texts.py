"""Texts that the operator of a server writes: titles, introductions, notes, and terms of use."""

from collections.abc import Mapping
from dataclasses import make_dataclass
from pathlib import Path

from markupsafe import Markup

from pincite.errors import ConfigError
from pincite.settings import schema
from pincite_server.languages import LANGUAGES
from pincite_server.settings import read_text

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
        texts = schema.convert(_Texts, table, f"{path}: {language}")
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
