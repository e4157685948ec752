"""Reads plain text, Markdown and subtitles, and makes the documents of other readers' texts."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import unescape
from itertools import pairwise, zip_longest
from types import MappingProxyType
from typing import Any, NamedTuple

from pincite.documents.body import Body
from pincite.documents.text import clean_text, code_of, decode, join_pieces, one_line
from pincite.text.dates import date_at_head, iso_date
from pincite.text.page_numbers import LABELS, PAGES
from pincite.types import Document, Reason, Unchecked

# The kinds of text with a head that may date it, unlike a table.
_DATED_BY_HEAD = frozenset({"text", "markdown", "docx", "rtf", "pdf", "image"})
_ISO_DATE = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?")


def document_of(
    body: Body,
    kind: str,
    raw: str | None,
    front: Mapping[str, str] = MappingProxyType({}),
    **meta: str,
) -> Document | Unchecked:
    """The document of a text; `front`: title, author, date, lang and created, as stated."""
    if raw is None:
        return Unchecked(body.url, Reason.UNDECODABLE, "the bytes are not text in any encoding")
    text = clean_text(raw)
    if not text:
        return Unchecked(body.url, Reason.EMPTY, "the file contains no words")
    meta = {"author": front.get("author", ""), "created": front.get("created", ""), **meta}
    return Document(
        url=body.url,
        title=one_line(front.get("title")),
        text=text,
        kind=kind,
        published=_published(kind, text, front.get("date", "")) or None,
        fetched=body.fetched,
        language=code_of(front.get("lang")),
        meta={key: value for key, value in meta.items() if value},
    )


def _published(kind: str, text: str, stated: str) -> str:
    # Calibre states "0101-01-01" for an unknown date.
    if (match := _ISO_DATE.match(stated)) and (date := iso_date(*match.groups(""))):
        return date
    return date_at_head(text) if kind in _DATED_BY_HEAD else ""


# ── Plain text ───────────────────────────────────────────────────────────────────────────────────

# Editors and mail programs wrap between these widths; a line that could have held the next word was
# ended on purpose.
MIN_WRAPPED = 40
MAX_WRAPPED = 120
WRAPPED_SHARE = 0.8  # of the width: a shorter line ends a paragraph
_ITEM = re.compile(r"\s|[-*•·–—]\s|\(?\d{1,3}[.)]\s")  # of a list, or indented


def read_text(body: Body) -> Document | Unchecked:
    text = decode(body.data, body.charset)
    return document_of(body, "text", text and unwrap_lines(clean_text(text)))


def unwrap_lines(text: str) -> str:
    """Join the lines of a paragraph that an editor wrapped.

    A line continues in the next if it is long and the next begins neither an item nor an indented
    block, so lists, tables and verse are kept.
    """
    lines = text.split("\n")
    width = max(map(len, lines))
    if not MIN_WRAPPED <= width <= MAX_WRAPPED:
        return text
    joined = lines[:1]
    for before, line in pairwise(lines):
        first_word = line.split(" ", 1)[0]
        had_room = len(before) + 1 + len(first_word) <= WRAPPED_SHARE * width
        is_text = line.strip() and before.strip() and not _ITEM.match(line)
        joined += [" " if is_text and not had_room else "\n", line]
    return "".join(joined)


# ── Markdown ─────────────────────────────────────────────────────────────────────────────────────

# markdown-it is quadratic in some nestings; longer files are dumps, and are read as plain text.
MAX_MARKDOWN_CHARS = 1_000_000
_FRONT_MATTER = re.compile(r"\A---\n(?P<fields>.*?)\n(?:---|\.\.\.)\n", re.DOTALL)


def read_markdown(body: Body) -> Document | Unchecked:
    """Read Markdown as plain text, with title, date and language from front matter."""
    source = decode(body.data, body.charset)
    if source is None:
        return document_of(body, "markdown", None)
    source = source.replace("\r\n", "\n").replace("\0", "")  # the parser would render NUL
    front = dict[str, str]()
    if match := _FRONT_MATTER.match(source):
        source = source[match.end() :]
        front = _fields_of(match["fields"])
    if len(source) > MAX_MARKDOWN_CHARS:
        return document_of(body, "text", source, front)
    tokens = _parser().parse(source)
    headings = (tokens[i + 1] for i, token in enumerate(tokens) if token.type == "heading_open")
    if heading := next(headings, None):
        front.setdefault("title", "".join(_inline(heading.children or ())))
    return document_of(body, "markdown", "".join(_pieces(tokens)), front)


def _fields_of(front_matter: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in front_matter.splitlines())
    stated = ((key.strip().lower(), value.strip(" \t\"'")) for key, _, value in pairs)
    return {key: value for key, value in stated if value}


def _pieces(tokens: list[Any]) -> Iterator[str]:
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
    struck_out = 0
    for child in children:
        struck_out += {"s_open": 1, "s_close": -1}.get(child.type, 0)
        if struck_out:
            continue
        if child.type in ("softbreak", "hardbreak"):
            yield " " if child.type == "softbreak" else "\n"
        elif child.type in ("text", "code_inline", "image"):
            yield child.content


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


# ── Subtitles (SRT, WebVTT) and transcripts with times: running text, located by time ─────────────

# At the start of a line: "00:12:31,000 --> 00:12:34,500" with settings; in transcripts without
# such lines, "[00:12:31]" or "12:31".
_TIME = (
    r"^[ \t]*[\[(]?(?:(?P<hours>\d{1,3}):)?(?P<minutes>\d{1,2}):(?P<seconds>\d\d)(?:[.,]\d{1,3})?"
)
_CAPTION = re.compile(rf"{_TIME}[ \t]*-->[^\n\]]*\]?", re.MULTILINE)
_TRANSCRIBED = re.compile(rf"{_TIME}(?:[\])]|(?=[ \t\n-]))", re.MULTILINE)
_NEXT_NUMBER = re.compile(r"\n\s*\d+\s*\Z")  # of the next caption
_SPEAKER = re.compile(r"<v(?:\.[\w.]+)?[ \t]+(?P<name>[^<>\n]+)>")
_TAGS = re.compile(r"<[^<>\n]*>|\{\\[^{}\n]*\}|[♪♫]|^[ \t]*[-–—](?=[ \t])", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’»)]*\s*\Z")
_LANGUAGE = re.compile(r"WEBVTT[^\n]*\n(?:[^\n]+\n)*?Language:\s*(?P<code>\S+)")
MAX_REPEATED_WORDS = 60  # two lines of captions have 15
MIN_REPEATED_WORDS = 3  # fewer are repeated by chance, unless they are the whole caption
MAX_CAPTIONS = 20  # in a sentence; with more, as automatic captions are, it has no full stops
LINE_CAPTIONS = 3  # in a line of text without full stops


class _Caption(NamedTuple):
    time: str  # "00:12:31"
    text: str
    speaker: str  # as the file names it; empty if it names none, or the one who spoke last


def read_subtitles(body: Body) -> Document | Unchecked:
    """Read the captions as running text; a speaker, if named, begins a line."""
    source = decode(body.data, body.charset)
    if source is None:
        return document_of(body, "subtitles", None)
    source = "\n".join(source.removeprefix("\ufeff").splitlines())
    captions = list(_without_repetition(_captions(source)))
    n_closed = sum(bool(_SENTENCE_END.search(caption.text)) for caption in captions)
    has_full_stops = n_closed * MAX_CAPTIONS >= len(captions)
    pieces = []
    for n, caption in enumerate(captions):
        begins_line = caption.speaker or (not has_full_stops and n % LINE_CAPTIONS == 0)
        speaker = f"{one_line(unescape(caption.speaker))}: " if caption.speaker else ""
        pieces.append(("\n" if begins_line else " ", f"{speaker}{caption.text}"))
    text, starts = join_pieces(pieces)
    language = _LANGUAGE.match(source)
    front = {"lang": language["code"]} if language else {}
    times = json.dumps([caption.time for caption in captions])
    return document_of(body, "subtitles", text, front, **{PAGES: json.dumps(starts), LABELS: times})


def _captions(source: str) -> Iterator[_Caption]:
    """Yield the captions as they are shown, with the speakers that they name."""
    marks = [*_CAPTION.finditer(source)] or [*_TRANSCRIBED.finditer(source)]
    ends = [mark.start() for mark in marks[1:]]
    for mark, end in zip_longest(marks, ends):
        shown = source[mark.end() : end]
        if source.startswith("WEBVTT"):  # a comment or the name of the next caption may follow
            shown = "" if shown.startswith("\n\n") else shown.strip("\n")
            shown = re.split(r"\n[ \t]*\n", shown, maxsplit=1)[0]
        elif end is not None:
            shown = _NEXT_NUMBER.sub("", shown)
        hours, minutes, seconds = (int(part or 0) for part in mark.groups())
        speaker = _SPEAKER.search(shown)
        yield _Caption(
            f"{hours:02}:{minutes:02}:{seconds:02}",
            one_line(unescape(_TAGS.sub("", shown))),
            speaker["name"] if speaker else "",
        )


def _without_repetition(captions: Iterable[_Caption]) -> Iterator[_Caption]:
    """Drop what a caption repeats of the one before: its words, and who speaks."""
    last_words, last_speaker = list[str](), ""
    for caption in captions:
        words = caption.text.split()
        new = words[_n_repeated(last_words, words) :]
        last_words = words or last_words
        if new:
            speaker = "" if caption.speaker == last_speaker else caption.speaker
            last_speaker = caption.speaker or last_speaker
            yield _Caption(caption.time, " ".join(new), speaker)


def _n_repeated(last: Sequence[str], words: Sequence[str]) -> int:
    """The number of words at the start of a caption that ended the one before.

    Captions that roll up show each line twice; captions that grow repeat their beginning.
    """
    for n in range(min(len(last), len(words), MAX_REPEATED_WORDS), 0, -1):
        if last[-n:] == words[:n] and (n >= MIN_REPEATED_WORDS or n == len(last)):
            return n
    return 0
