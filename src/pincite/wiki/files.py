"""Files with articles, told apart by what is in them: dump, HTML, JSON lines, wikitext."""

import bz2
import gzip
import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, cast

from pincite.errors import InputError
from pincite.wiki.dump import find_page, normal_title, read_pages
from pincite.wiki.html import page_language, page_title, revision_of

# Characters of a page. The HTML of the longest ones has 10 MB; MediaWiki's limit for wikitext is
# 2 MiB ($wgMaxArticleSize). Reading takes time with the length, whatever stands there.
MAX_PAGE = 20_000_000
MAX_WIKITEXT = 2 * 1024 * 1024
MAX_LINE = 40_000_000  # of one JSON line: escapes can double a page
_HEAD = 4096  # bytes that are looked at to tell formats apart
_DUMP = re.compile(rb"\s*(?:<\?xml[^>]*\?>)?\s*(?:<!--.*?-->\s*)*<mediawiki\b", re.DOTALL)
_HTML = re.compile(rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype html|html|head|body)\b", re.I | re.DOTALL)
_JSONL = re.compile(rb"\s*\{\s*\"")

Markup = Literal["wikitext", "html"]


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page and what the file says about it."""

    source: str
    title: str
    markup: Markup = "wikitext"
    revision_id: str | None = None
    timestamp: str | None = None
    language: str | None = None


def read_pages_of(path: str | Path, title: str | None) -> Iterator[PageText]:
    """The pages of a file, or of standard input for "-"; of a dump only `title` if it is given.

    Raises:
        InputError: the file is missing, empty, too large or not what it looks like.
    """
    name = "standard input" if str(path) == "-" else str(path)
    with _opened(path, name) as raw:
        stream = _decompressed(raw)
        try:
            head = stream.peek(_HEAD)[:_HEAD]
        except (OSError, EOFError) as error:
            message = f"{name} cannot be decompressed: {error}. Fetch the file again."
            raise InputError(message) from error
        if _DUMP.match(head):
            yield from _dump(stream, name, title)
        elif _JSONL.match(head):
            yield from _json_lines(stream, name, title)
        else:
            yield _single(stream, name, title, html=bool(_HTML.match(head)))


def _opened(path: str | Path, name: str) -> IO[bytes]:
    if str(path) == "-":
        # Closing the copy leaves standard input open.
        return io.BufferedReader(cast("io.RawIOBase", sys.stdin.buffer))
    try:
        return Path(path).open("rb")
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
        message = (
            f"{name} cannot be opened: {reason}. Expected an article as wikitext or HTML, a "
            "MediaWiki dump, JSON lines, or - for standard input. Check the path."
        )
        raise InputError(message) from error


def _decompressed(raw: IO[bytes]) -> io.BufferedReader:
    magic = cast("io.BufferedReader", raw).peek(3)[:3]
    if magic == b"BZh":
        return io.BufferedReader(cast("io.RawIOBase", bz2.BZ2File(raw)))
    if magic[:2] == b"\x1f\x8b":
        return io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=raw)))
    return cast("io.BufferedReader", raw)


def _dump(stream: IO[bytes], name: str, title: str | None) -> Iterator[PageText]:
    if title is not None:
        pages = iter([find_page(stream, name, title)])
    else:
        every = read_pages(stream, name)
        pages = (p for p in every if not (p.namespace or p.redirect or p.deleted))
    for page in pages:
        yield PageText(
            page.text,
            page.title,
            revision_id=page.revision_id,
            timestamp=page.timestamp,
            language=page.language,
        )


def _json_lines(stream: io.BufferedReader, name: str, title: str | None) -> Iterator[PageText]:
    wanted = normal_title(title) if title else None
    number = 0
    while line := stream.readline(MAX_LINE):
        number += 1
        if not line.strip():
            continue
        page = _json_page(line, f"{name}, line {number}")
        if wanted is None or page.title == wanted:
            yield page
            if wanted:
                return
    if wanted:
        message = f"{name} has no article called {wanted!r}. Expected the exact title."
        raise InputError(message)


def _json_page(line: bytes, where: str) -> PageText:
    try:
        given: Any = json.loads(line)
        source, title = given["wikitext"], given["title"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        message = f"{where}: {error!r}. Expected a JSON object with 'title' and 'wikitext'."
        raise InputError(message) from error
    if not isinstance(source, str) or not isinstance(title, str):
        message = f"{where}: 'title' and 'wikitext' must be text. Check how the file was made."
        raise InputError(message)
    revision, timestamp, language = map(given.get, ("revid", "timestamp", "language"))
    return PageText(
        source,
        title,
        revision_id=None if revision is None else str(revision),
        timestamp=timestamp if isinstance(timestamp, str) else None,
        language=language if isinstance(language, str) else None,
    )


def _single(stream: IO[bytes], name: str, title: str | None, *, html: bool) -> PageText:
    try:
        content = stream.read(4 * MAX_PAGE + 1)
        source = _checked(content.decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        message = f"{name} is not UTF-8 ({error.reason} at byte {error.start}). Convert it first."
        raise InputError(message) from error
    except (OSError, EOFError) as error:
        message = f"{name} cannot be read: {error}. Fetch the file again."
        raise InputError(message) from error
    stem = Path(name).name.split(".")[0].replace("_", " ") if name != "standard input" else ""
    return _told(source, title, stem, html=html)


def page_in(source: str, title: str | None) -> PageText:
    """The page that a text is, told by how it begins: HTML, else wikitext.

    Raises:
        InputError: it has no words, or more than a page may have.
    """
    head = source[:_HEAD].encode("utf-8", "replace")
    return _told(_checked(source, "The text"), title, "", html=bool(_HTML.match(head)))


def _told(source: str, title: str | None, otherwise: str, *, html: bool) -> PageText:
    """The text with its title: as given, as the page says, or as it is called otherwise."""
    if html:
        known = title or page_title(source) or otherwise
        language = page_language(source)
        return PageText(source, known, "html", revision_of(source), language=language)
    return PageText(source, title or otherwise)


def _checked(source: str, name: str) -> str:
    if not source.strip():
        message = f"{name} is empty. Expected an article as wikitext or HTML. Check the file."
        raise InputError(message)
    if len(source) > MAX_PAGE:
        message = (
            f"{name} has {len(source):,} characters; a page may have {MAX_PAGE:,}. Expected one "
            "article. Split the file, or give a dump or JSON lines."
        )
        raise InputError(message)
    return source
