"""Jinja2 templates: HTML for report files and the server's pages, Markdown that users may replace.

HTML escapes every value (autoescape is on for the whole environment). Templates of a user run in a
sandbox, and the values that they print cannot become markup.
"""

import re
from collections.abc import Sequence
from functools import cache
from gettext import NullTranslations
from pathlib import Path
from typing import NamedTuple

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from pincite import notes
from pincite.errors import ConfigError, usable
from pincite.notes import Note
from pincite.report import cells
from pincite.report.cells import one_line
from pincite.text import tables

FOLDER = Path(__file__).parent
_MARKDOWN_SIGNS = re.compile(r"([\\`*_{}\[\]<>#|~!$])")


@cache
def page(name: str) -> jinja2.Template:
    return environment().get_template(name)


def environment(
    folders: Sequence[Path] = (), texts: NullTranslations | None = None, language: str = "en"
) -> jinja2.Environment:
    """Make an environment for HTML: every value is escaped, and a missing one is an error.

    `folders` hold templates in addition to those of this package. `texts` translates them into
    `language`; None: English.
    """
    translations = texts or NullTranslations()

    def in_words(note: Note) -> str:
        text = notes.phrase(note, translations.gettext)
        if note.code != notes.AS_WRITTEN or language == "en":
            return text
        return Markup('<span lang="en">{}</span>').format(text)

    def say(one_or_more: Note | Sequence[Note]) -> Markup:
        """Format notes as text; untranslated ones are marked as English."""
        several = [one_or_more] if isinstance(one_or_more, Note) else one_or_more
        return Markup("; ").join(map(in_words, several))

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, FOLDER]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        extensions=["jinja2.ext.i18n"],
    )
    made.install_gettext_translations(translations, newstyle=True)  # type: ignore[attr-defined]
    made.globals |= {"link": cells.safe_link, "n_of": cells.n_of, "mark_cells": mark_cells}
    made.filters |= {"said": say, "one_line": one_line, "percent": cells.percent}
    return made


class MarkedCell(NamedTuple):
    """A cell of a quoted row, and whether the claim names it."""

    text: str
    is_marked: bool


class MarkedRow(NamedTuple):
    """A quoted row, or the headers above it."""

    is_header: bool
    cells: Sequence[MarkedCell]


def mark_cells(claim: str, quote: str) -> list[MarkedRow]:
    """Return a quote of rows as a table whose cells are marked if the claim names them.

    Empty if it has other lines than rows. The first cell, which names the row, is never marked.
    """
    rows = [tables.cells_of(line) for line in quote.split("\n")]
    if not all(rows):
        return []
    claim_terms, marked_rows, headers = tables.terms_of(claim), list[MarkedRow](), list[str]()
    for row in rows:
        if headers != list(row):
            headers = list(row)
            marked_rows.append(MarkedRow(True, [MarkedCell(h, is_marked=False) for h in headers]))
        whole, in_part = list[str](), list[str]()
        for header in headers[1:]:
            if any(tables.has_all_of(claim_terms, text) for text in (header, row[header])):
                whole.append(header)
            elif tables.shares_a_word(claim_terms, header):
                in_part.append(header)
        in_row = [MarkedCell(text, header in (whole or in_part)) for header, text in row.items()]
        marked_rows.append(MarkedRow(False, in_row))
    return marked_rows


@cache
def style(*more: str) -> Markup:
    """Return the style sheet of all pages, followed by those named."""
    return Markup("".join(map(own_style, ("report.css", *more))))  # noqa: S704 - our files


@cache
def own_style(name: str) -> str:
    """Return one style sheet alone."""
    return (FOLDER / name).read_text(encoding="utf-8")


def markdown(path: Path | None, values: dict[str, object], *, shipped: str = "check.md.j2") -> str:
    """Fill in a user's Markdown template; None: the shipped one of that name.

    Raises:
        ConfigError: The template cannot be read, or uses an unknown value or a forbidden one.
    """
    place = path or FOLDER / shipped
    template = load(place)
    try:
        return template.render(values)
    except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise ConfigError(f"{place} cannot be filled in: {error}") from error


def load(place: Path) -> jinja2.Template:
    """Load a Markdown template.

    In a .j2 file, such as ours, a line with only a tag produces no output line. In any other file
    all white space is kept: Jinja's default, which EvidenceSeeker's templates expect.

    Raises:
        ConfigError: It cannot be read, or is not a template.
    """
    trimmed = place.suffix == ".j2"
    environment = ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined,
        finalize=_plain,
        autoescape=False,  # this is Markdown: `_plain` escapes every value for it
        trim_blocks=trimmed,
        lstrip_blocks=trimmed,
    )
    try:
        return environment.from_string(source(place))
    except (jinja2.TemplateError, RecursionError) as error:
        raise ConfigError(f"{place} cannot be filled in: {error}") from error


def source(place: Path) -> str:
    try:
        with usable(place, "read as a template", ConfigError):
            return place.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{place} cannot be read as a template: it is not UTF-8.") from error


def _plain(value: object) -> object:
    """Escape a value for Markdown: a page's text must not become a heading, a link or HTML."""
    if value is None or isinstance(value, int | float | jinja2.Undefined):
        return value
    return _MARKDOWN_SIGNS.sub(r"\\\1", one_line(str(value)))
