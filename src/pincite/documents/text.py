"""Plain text and Markdown. A Markdown file is read as its reader sees it: words without marks."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from pincite.documents.body import Body
from pincite.documents.clean import cleaned, decoded, one_line
from pincite.documents.language import code_of
from pincite.documents.markup import without_banner
from pincite.types import Document, Reason, Unchecked

# markdown-it is quadratic in some nestings; a longer file is a dump, and is read as plain text.
MAX_MARKDOWN_CHARS = 1_000_000
# Editors and mail programs wrap between these widths; a line that could have held the next word
# was ended on purpose.
MIN_WRAPPED, MAX_WRAPPED = 40, 120
WRAPPED_SHARE = 0.8
_ITEM = re.compile(r"\s|[-*•·–—]\s|\(?\d{1,3}[.)]\s")
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n(?:---|\.\.\.)\n", re.DOTALL)


def read_text(body: Body) -> Document | Unchecked:
    """A plain text file; a title is not guessed."""
    text = decoded(body.data, body.charset)
    if text is not None:
        text = unwrapped(without_banner(cleaned(text)))  # pages are kept as their words, too
    return _document(body, "text", text, {})


def unwrapped(text: str) -> str:
    r"""The text with the lines of a paragraph joined where the writer's editor broke them.

    A line goes on in the next if it is long and the next one neither begins an item nor an
    indented block: lists, tables and verses stay lines.

    >>> unwrapped("The old stone bridge over the river at Varde was\nopened in 1911.")
    'The old stone bridge over the river at Varde was opened in 1911.'
    """
    lines = text.split("\n")
    width = max(map(len, lines), default=0)
    if width > MAX_WRAPPED:
        return text
    joined = lines[:1]
    for before, line in pairwise(lines):
        first_word = line.split(" ", 1)[0]
        goes_on = (
            line.strip()
            and before.strip()
            and not _ITEM.match(line)
            and len(before) + 1 + len(first_word) > WRAPPED_SHARE * width
            and width >= MIN_WRAPPED
        )
        if goes_on:
            joined[-1] += " " + line
        else:
            joined.append(line)
    return "\n".join(joined)


def read_markdown(body: Body) -> Document | Unchecked:
    """A Markdown file without its marks; title, date and language from front matter if it has."""
    source = decoded(body.data, body.charset)
    if source is None:
        return _document(body, "markdown", None, {})
    source = source.replace("\r\n", "\n").replace("\0", "")  # the parser would show it as a sign
    front = _front_matter(source)
    source = _FRONT_MATTER.sub("", source)
    if len(source) > MAX_MARKDOWN_CHARS:
        return _document(body, "text", source, front)
    tokens = _parser().parse(source)
    headings = (tokens[i + 1] for i, token in enumerate(tokens) if token.type == "heading_open")
    if heading := next(headings, None):
        front.setdefault("title", "".join(_inline(heading.children or ())))
    return _document(body, "markdown", "".join(_pieces(tokens)), front)


def _document(
    body: Body, kind: str, raw: str | None, front: dict[str, str]
) -> Document | Unchecked:
    if raw is None:
        return Unchecked(body.url, Reason.UNDECODABLE, "the bytes are no text in any encoding")
    text = cleaned(raw)
    if not text:
        return Unchecked(body.url, Reason.EMPTY, "the file has no words")
    stated = re.match(r"\d{4}(-\d\d(-\d\d)?)?", front.get("date", ""))
    return Document(
        url=body.url,
        title=one_line(front.get("title")),
        text=text,
        kind=kind,
        published=stated[0] if stated else None,
        fetched=body.fetched,
        language=code_of(front.get("lang")),
        meta={"author": front["author"]} if front.get("author") else {},
    )


def _front_matter(source: str) -> dict[str, str]:
    """The simple `key: value` lines between the dashes at the top; anything deeper is left out."""
    match = _FRONT_MATTER.match(source)
    pairs = (line.partition(":") for line in match[1].splitlines()) if match else ()
    fields = {key.strip().lower(): value.strip(" \t\"'") for key, _, value in pairs}
    return {key: value for key, value in fields.items() if value}


def _pieces(tokens: list[Any]) -> Iterator[str]:
    """The words of each block, a blank line after paragraphs, a bar between cells."""
    for token in tokens:
        if token.type == "inline":
            yield "".join(_inline(token.children or ()))
        elif token.type in ("fence", "code_block"):
            yield f"{token.content}\n"
        elif token.type in ("td_close", "th_close"):
            yield " | "
        elif token.type in ("paragraph_close", "heading_close"):
            yield "\n" if token.hidden else "\n\n"
        elif token.type in ("tr_close", "list_item_close", "table_close"):
            yield "\n"


def _inline(children: Any) -> Iterator[str]:
    for child in children:
        if child.type in ("softbreak", "hardbreak"):
            yield " " if child.type == "softbreak" else "\n"
        elif child.type in ("text", "code_inline", "image"):
            yield child.content


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable(["table", "strikethrough"])
