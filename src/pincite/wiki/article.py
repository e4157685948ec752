"""Reads articles, with claims and exact spans, from a dump, HTML, wikitext or a manuscript.

expat reads dumps of any size page by page and fetches nothing; a dump must begin with its root
element, so it cannot declare entities.
"""

import bz2
import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal, cast
from xml.parsers import expat

from pincite.documents.body import format_of
from pincite.documents.text import code_of, decode, detect
from pincite.errors import InputError
from pincite.text import citation_marks
from pincite.text.sentences import n_words
from pincite.types import Article, Citation, Claim
from pincite.wiki.claims import VALUES, attach_tags, claims_of
from pincite.wiki.flat import BlockKind, Flat
from pincite.wiki.html import page_language, page_title, read_html, revision_of
from pincite.wiki.templates import edition, resolve
from pincite.wiki.wikitext import read_wikitext

# Characters per page. The longest pages have 10 MB of HTML; MediaWiki's limit for wikitext is 2 MiB
# ($wgMaxArticleSize). Reading time grows with the length, whatever the content.
MAX_PAGE = 20_000_000
MAX_WIKITEXT = 2 * 1024 * 1024
MAX_DEPTH = 100  # nesting depth of elements in a dump; MediaWiki writes five
MAX_WARNINGS = 100  # limits the report of a page full of broken brackets
_CHUNK = 1 << 16  # bytes of a dump that are read at a time
_THE = re.compile(r"\bthe\b", re.IGNORECASE)
_SHARE_OF_THE = 0.03  # share of words; in English prose it is 5 to 7 %
_HEAD = 4096  # bytes examined to detect the format
_COMMENTS = rb"\s*+(?:(?><!--.*?-->)\s*+)*+"
_DUMP = re.compile(rb"\s*+(?:<\?xml[^>]*\?>)?" + _COMMENTS + rb"<mediawiki\b", re.DOTALL)
_HTML = re.compile(_COMMENTS + rb"<(?:!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)

# The subject of an article, in bold at the start of a line: "The '''Wexmoor Lido''' is …".
_BOLD_NAME = re.compile(r"^(?:\w{1,3} )?'{3,5}([^\n'|{}<>\[\]][^\n|{}<>\[\]]{0,100}?)'{3,5}", re.M)
_WIKITEXT = re.compile(r"<ref[\s>/]|\{\{|\[\[", re.IGNORECASE)
MAX_LEAD = 20_000  # characters in which the name is looked for: an infobox may be long

Markup = Literal["wikitext", "html"]


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page and what its file states about it."""

    source: str
    title: str
    markup: Markup = "wikitext"
    revision_id: str | None = None
    timestamp: str | None = None
    language: str | None = None
    namespace: int = 0
    redirect: str | None = None  # title of the redirect's target
    deleted: bool = False  # the revision's text was deleted by administrators
    page_id: str | None = None


# ── Articles ──────────────────────


def read_articles(
    path: str | Path,
    *,
    title: str | None = None,
    language: str | None = None,
    otherwise: str = "en",
) -> Iterator[Article]:
    """Read the articles of a file; "-" is standard input.

    A dump (plain, .bz2, .gz) gives the page `title`, or every article that is not a redirect;
    wikitext and HTML give one article. `title` and `language` override what the page or file name
    states. For `otherwise` see `parse_page`. Raises InputError if the file or title does not exist,
    or nothing in the file can be read.
    """
    for page in read_pages_of(path, title):
        yield parse_page(replace(page, language=language) if language else page, otherwise)


def article_in(source: str, *, title: str | None = None, otherwise: str = "en") -> Article:
    """Parse a text as one article: wikitext, or the HTML of a page.

    Its language is detected, or `otherwise` if detection is not confident. Raises InputError if the
    text has no words, or exceeds the limit for a page.

    >>> article_in("It opened in 1911.<ref>A. Berg</ref>").claims[0].text
    'It opened in 1911.'
    """
    head = source[:_HEAD].encode("utf-8", "replace")
    return parse_page(_page_of(source, "The text", title, "", _HTML.match(head)), otherwise)


def parse_page(page: PageText, otherwise: str = "en") -> Article:
    """Parse a page. All spans count code points of its source.

    Malformed markup never raises: it gives fewer claims and a warning. The language is the stated
    one, else the detected one, else `otherwise`. An article that is too long has no claims.
    """
    source, limit = page.source, MAX_PAGE if page.markup == "html" else MAX_WIKITEXT
    article = Article(
        page.title,
        source,
        (),
        page.revision_id,
        page.timestamp,
        page.language or otherwise,
        markup=page.markup,
        page_id=page.page_id,
    )
    if len(source) > limit:
        warning = f"the page has {len(source):,} characters and is not read; the limit is {limit:,}"
        return replace(article, warnings=(warning,))
    flat, language = _read(page, otherwise)
    attach_tags(flat)
    cited, missing = resolve(flat.uses, flat.definitions)
    claims = claims_of(flat.blocks, cited, page.title, language, source)
    if flat.is_manuscript:
        claims = [replace(claim, about="") for claim in claims]
    warnings = list(dict.fromkeys((*flat.warnings, *missing, *_without_claim(flat, claims))))
    is_plain = page.markup == "wikitext" and not _WIKITEXT.search(source)
    if is_plain and not flat.uses and (cited_by := citation_marks.AUTHOR_YEAR.search(source)):
        warnings.append(f"citations by author and year are not read, such as {cited_by[0]}")
    if (more := len(warnings) - MAX_WARNINGS) > 0:
        warnings = [*warnings[:MAX_WARNINGS], f"and {more} more warnings"]
    return replace(
        article,
        claims=tuple(claims),
        language=language,
        n_references=len(flat.uses),
        warnings=tuple(warnings),
    )


def references_of(page: PageText) -> list[Citation]:
    """Return each reference of a page once, whether or not a claim has it."""
    flat, _ = _read(page, "en")
    cited, _ = resolve(flat.uses, flat.definitions)
    return list({c.reference: c for citations in cited for c in citations}.values())


def read_flat(source: str, markup: Markup, language: str) -> Flat:
    """Convert a page to the flat form. Never raises on malformed markup."""
    if markup == "html":
        return read_html(source, edition(language))
    if not _WIKITEXT.search(source):
        from pincite.wiki.manuscripts import read_manuscript  # most articles are wikitext

        if manuscript := read_manuscript(source):
            return manuscript
    return read_wikitext(source, edition(language))


def _read(page: PageText, otherwise: str) -> tuple[Flat, str]:
    known = code_of(page.language) or page.language
    flat = read_flat(page.source, page.markup, known or otherwise)
    if known:
        return flat, known
    text = " ".join(b.text for b in flat.blocks if b.kind is BlockKind.PARAGRAPH)
    if len(_THE.findall(text)) >= _SHARE_OF_THE * n_words(text) > 0:
        known = "en"  # avoids loading the model
    else:  # if their beginning and middle agree
        languages = {detect(text), detect(text[len(text) // 2 :])} - {None}
        known = (languages.pop() if len(languages) == 1 else None) or otherwise
    if edition(known) != edition(otherwise):
        flat = read_flat(page.source, page.markup, known)
    return flat, known


def _without_claim(flat: Flat, claims: list[Claim]) -> Iterator[str]:
    """Warnings for references without a claim: in headings, and beside no text."""
    cited = {citation.span for claim in claims for citation in claim.citations}
    in_values = {mark.use for block in flat.blocks if block.kind in VALUES for mark in block.marks}
    without = [n for n, use in enumerate(flat.uses) if use.span not in cited]
    for n in without:
        if n not in in_values:
            yield f"no claim was found for the reference at character {flat.uses[n].span.start}"
    if n_values := sum(n in in_values for n in without):
        kind = "references in table cells and infobox values that are not sentences"
        yield f"{kind}, without a claim: {n_values}"


# ── Files ──────────────────────


def read_pages_of(path: str | Path, title: str | None) -> Iterator[PageText]:
    """Yield the pages of a file, or of standard input for "-"; of a dump only `title`, if given.

    Raises InputError if the file is missing, empty, too large or of an unknown format.
    """
    name = "standard input" if str(path) == "-" else str(path)
    with _open(path, name) as raw:
        stream = _decompress(raw)
        try:
            head = stream.peek(_HEAD)[:_HEAD]
            if _DUMP.match(head):
                yield from _articles_of_dump(stream, name, title)
            else:
                source = article_text(stream.read(4 * MAX_PAGE + 1), name)
                stem = "" if str(path) == "-" else Path(path).name.split(".")[0].replace("_", " ")
                yield _page_of(source, name, title, stem, _HTML.match(head))
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{name} cannot be read: {error}. Fetch the file again.") from error


def article_text(data: bytes, name: str) -> str:
    """Decode the file of an article. Raises InputError: It is neither wikitext nor HTML."""
    kind, label = format_of(data, "", None)
    what = label or ("" if kind.is_text else f"in {kind.upper()} format")
    text = None if what else decode(data)
    if text is None:
        raise InputError(
            f"{name} is {what or 'not a text file'}. Articles are read as wikitext, HTML or "
            "plain text, with their references: save the page as HTML, or copy its text into a "
            "file. To check statements without references, use Check (pincite check)."
        )
    return text.removeprefix("\ufeff")


def _open(path: str | Path, name: str) -> IO[bytes]:
    if str(path) == "-":
        # Closing the copy leaves standard input open.
        return io.BufferedReader(cast("io.RawIOBase", sys.stdin.buffer))
    try:
        return Path(path).open("rb")
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise InputError(
            f"{name} cannot be opened: {reason}. Expected an article as wikitext, HTML or text, a "
            "MediaWiki dump, or - for standard input. Check the path."
        ) from error


def _decompress(raw: IO[bytes]) -> io.BufferedReader:
    magic = cast("io.BufferedReader", raw).peek(3)[:3]
    if magic == b"BZh":
        return io.BufferedReader(cast("io.RawIOBase", bz2.BZ2File(raw)))
    if magic[:2] == b"\x1f\x8b":
        return io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=raw)))
    return cast("io.BufferedReader", raw)


def _page_of(source: str, name: str, title: str | None, stem: str, is_html: object) -> PageText:
    if not source.strip():
        message = f"{name} is empty. Expected an article as wikitext, HTML or text. Check the file."
        raise InputError(message)
    if len(source) > MAX_PAGE:
        raise InputError(
            f"{name} has {len(source):,} characters; a page may have {MAX_PAGE:,}. Expected one "
            "article. Split the file, or give a dump."
        )
    if not is_html:
        return PageText(source, title or title_of(source, stem))
    known = title or title_of(source, stem, "html")
    return PageText(source, known, "html", revision_of(source), language=page_language(source))


def title_of(source: str, stem: str, markup: Markup = "wikitext") -> str:
    r"""The title that a page states, or else `stem`, the name of its file.

    Of wikitext, that is its first name in bold, unless the file is named after that.

    >>> title_of("{{Short description|Pool}}\n'''Wexmoor Lido''' is a pool.", "fixed")
    'Wexmoor Lido'
    >>> title_of("'''Wexmoor Lido''' is a pool.", "Lido (Wexmoor)")
    'Lido (Wexmoor)'
    """
    if markup == "html":
        return page_title(source) or stem
    lead = _BOLD_NAME.search(source[:MAX_LEAD])
    name = " ".join(lead[1].split()) if lead else ""
    is_named_after = {*stem.casefold().split()} & {*name.casefold().split()}
    return stem if is_named_after or not name else name


# ── Dumps ──────────────────────


def _articles_of_dump(stream: IO[bytes], name: str, title: str | None) -> Iterator[PageText]:
    wanted = " ".join((title or "").replace("_", " ").split())
    wanted = wanted[:1].upper() + wanted[1:]  # MediaWiki stores "ada_Lovelace " as "Ada Lovelace"
    for page in _dump_pages(stream, name):
        if not wanted and not (page.namespace or page.redirect or page.deleted):
            yield page
        elif wanted == page.title and page.deleted:
            raise InputError(
                f"The text of the latest revision of {page.title!r} in {name} was deleted. "
                "Choose another article, or use a later dump."
            )
        elif wanted == page.title and page.redirect:
            raise InputError(
                f"{page.title!r} in {name} is a redirect and has no claims. Expected an article. "
                f"Ask for {page.redirect!r}."
            )
        elif wanted == page.title:
            yield page
            return
    if wanted:
        message = f"{name} has no page called {wanted!r}. Expected the exact title and case."
        raise InputError(message)


def _dump_pages(stream: IO[bytes], name: str) -> Iterator[PageText]:
    reader, parser = _DumpReader(name), expat.ParserCreate()
    parser.buffer_text, parser.buffer_size = True, _CHUNK
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.data
    chunk = b" "
    while chunk:
        chunk = stream.read(_CHUNK)
        try:
            parser.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            message = f"{name} cannot be read as a MediaWiki dump: {error}. Fetch the file again."
            raise InputError(message) from error
        yield from reader.pages
        reader.pages.clear()


_KEPT = {"page/title", "page/ns", "page/id", "revision/id", "revision/timestamp", "revision/text"}


class _DumpReader:
    """Collects the pages of a dump from expat's events. Drops text beyond `MAX_PAGE`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pages: list[PageText] = []
        self.language: str | None = None  # of the wiki
        self.path: list[str] = []
        self.known: dict[str, str] = {}
        self.text: list[str] = []
        self.remaining = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        self.path.append(tag)
        if len(self.path) > MAX_DEPTH:
            raise InputError(f"{self.name} nests too deeply for a MediaWiki dump.")
        self.text, self.remaining = [], MAX_PAGE
        if tag == "mediawiki":
            self.language = attributes.get("xml:lang")
        elif tag == "page":
            self.known = {}
        elif tag == "redirect":
            self.known["redirect"] = attributes.get("title", "")
        elif tag == "text":
            self.known["deleted"] = "deleted" if "deleted" in attributes else ""

    def data(self, text: str) -> None:
        if self.remaining > 0:
            self.text.append(text[: self.remaining])
            self.remaining -= len(text)

    def end(self, _: str) -> None:
        where = "/".join(self.path[-2:])
        if where in _KEPT:
            self.known[where] = "".join(self.text)
        elif where == "mediawiki/page":
            known, namespace = self.known, self.known.get("page/ns", "")
            self.pages.append(
                PageText(
                    known.get("revision/text", ""),
                    known.get("page/title", ""),
                    revision_id=known.get("revision/id"),
                    timestamp=known.get("revision/timestamp"),
                    language=self.language,
                    namespace=int(namespace) if namespace.lstrip("-").isdecimal() else 0,
                    redirect=known.get("redirect") or None,
                    deleted=bool(known.get("deleted")),
                    page_id=known.get("page/id"),
                )
            )
        self.text, self.remaining = [], 0
        self.path.pop()
