"""Reads articles, with claims and exact spans, from a dump, HTML, wikitext or a manuscript.

expat reads dumps of any size page by page and fetches nothing; a dump must begin with its root
element, so it cannot declare entities. A manuscript is plain text with numbered citations such as
[2, 4–6]; its references follow a heading ("Literaturverzeichnis"), or begin with a line "[1] …".
"""

import bz2
import gzip
import io
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal, cast
from xml.parsers import expat

from pincite.documents.body import format_of
from pincite.documents.text import code_of, decoded, detect
from pincite.errors import InputError
from pincite.text import citation_marks, patterns
from pincite.text.citation_marks import Mark
from pincite.text.hosts import host_of
from pincite.text.identifiers import identifiers_in
from pincite.text.sentences import n_words, trim
from pincite.types import Article, Citation, Claim, Span
from pincite.wiki.claims import VALUES, attach_tags, claims_of
from pincite.wiki.flat import BlockKind, Flat, Writer
from pincite.wiki.html import page_language, page_title, read_html, revision_of
from pincite.wiki.templates import Source, Use, address_in, edition, resolve
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
    states. For `otherwise` see `parse_page`.

    Raises:
        InputError: the file or title does not exist, or nothing in the file can be read.
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
    return list({c.reference: c for each in cited for c in each}.values())


def read_flat(source: str, markup: Markup, language: str) -> Flat:
    """Convert a page to the flat form. Never raises on malformed markup."""
    if markup == "html":
        return read_html(source, edition(language))
    return read_manuscript(source) or read_wikitext(source, edition(language))


def _read(page: PageText, otherwise: str) -> tuple[Flat, str]:
    known = code_of(page.language) or page.language
    flat = read_flat(page.source, page.markup, known or otherwise)
    if known:
        return flat, known
    text = " ".join(b.text for b in flat.blocks if b.kind is BlockKind.PARAGRAPH)
    if len(_THE.findall(text)) >= _SHARE_OF_THE * n_words(text) > 0:
        known = "en"  # avoids loading the model
    else:  # if their beginning and middle agree
        found = {detect(text), detect(text[len(text) // 2 :])} - {None}
        known = (found.pop() if len(found) == 1 else None) or otherwise
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
    with _opened(path, name) as raw:
        stream = _decompressed(raw)
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
    text = None if what else decoded(data)
    if text is None:
        raise InputError(
            f"{name} is {what or 'not a text file'}. Articles are read as wikitext, HTML or "
            "plain text, with their references: save the page as HTML, or copy its text into a "
            "file. To check statements without references, use Check (pincite check)."
        )
    return text.removeprefix("\ufeff")


def _opened(path: str | Path, name: str) -> IO[bytes]:
    if str(path) == "-":
        # Closing the copy leaves standard input open.
        return io.BufferedReader(cast("io.RawIOBase", sys.stdin.buffer))
    try:
        return Path(path).open("rb")
    except OSError as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
        message = (
            f"{name} cannot be opened: {reason}. Expected an article as wikitext, HTML or text, a "
            "MediaWiki dump, or - for standard input. Check the path."
        )
        raise InputError(message) from error


def _decompressed(raw: IO[bytes]) -> io.BufferedReader:
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
        message = (
            f"{name} has {len(source):,} characters; a page may have {MAX_PAGE:,}. Expected one "
            "article. Split the file, or give a dump."
        )
        raise InputError(message)
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


_OF_PAGE = ("page/title", "page/ns", "page/id")
_KEPT = {*_OF_PAGE, "revision/id", "revision/timestamp", "revision/text"}


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


# ── Manuscripts ──────────────────────

HEADING_WORDS = 12  # at most
UNWRAPPED = 120  # characters: a longer line that ends a sentence ends its paragraph
TITLE_WORDS = 3  # lower-case words, at least, of the sentence in a reference that is its title
NOUN = "[this work]"  # stands for a mark that its sentence needs: its digits would be a figure
MAX_USES = 20_000  # of references: "[1-50]" is short
_LINE = re.compile(r"[^\n]+|^$", re.MULTILINE)
_WIKITEXT = re.compile(r"<ref[\s>/]|\{\{|\[\[", re.IGNORECASE)
_P = patterns(__file__, "article")
_LIST = _P["list"]
_ENTRY = re.compile(r"(?:\[(\d{1,3})\]:?|(\d{1,3})[.)]?)\s+(?=\S)")
_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"”]{0,999}[^\s<>\"”.,;:)\]]", re.IGNORECASE)
_QUOTED = re.compile(r"[“\"„]([^“”\"„]{10,300}?)[,.]?[”\"“]")
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_LOWER = re.compile(r"(?<!\S)[^\W\d_A-Z]\S*")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_SUPERSCRIPT = _P["superscript"]
_NEEDS_MARK = _P["needs_mark"]
_NAMED = _P["named"]
_CONTINUES = re.compile(r"[a-zA-Z0-9,–-]\Z")
_NEW_SENTENCE = re.compile(r"(?:\A|[.!?]\s+)\Z")
_INTERVAL = re.compile(r"\b(?:CI|IQR|KI|range|interval)\b[\s,:=]*\Z")  # 95% CI [1, 3]
_BETWEEN = re.compile(r"\s*(?:[,;&]|and|und)?\s*")
_TO = re.compile(r"\s*[-–—]\s*")
_NEAR = 30  # characters before a mark


def read_manuscript(source: str) -> Flat | None:
    """Convert a manuscript to the flat form; None for wikitext, and without numbered citations."""
    if _WIKITEXT.search(source):
        return None
    lines = [trim(source, Span(*line.span())) for line in _LINE.finditer(source)]
    entries, listed = _entries(source, lines)
    parts = _parts(source, [Span(0, 0) if line in listed else line for line in lines])
    marks = {part: _bracketed(source, part) for part, _ in parts}
    if entries and not any(marks.values()):
        marks = {part: _superscripts(source, part) for part, _ in parts}
    if not any(marks.values()):
        return None
    writer = Writer(Flat(is_manuscript=True))
    for number, span in entries.items():
        writer.flat.definitions.define(None, number, (_reference(source, span),))
    seen = Counter[str]()
    for part, is_heading in parts:
        if is_heading:
            writer.flush(BlockKind.HEADING)
            writer.out.literal(part.of(source).strip("#* "), part.start)
            writer.end_heading(2)
        else:
            _write(writer, source, part, marks[part], seen)
            writer.flush()
    return writer.flat


def listed_references(source: str) -> list[Source]:
    """The references of a list in plain text; without a heading or numbers, one a line."""
    lines = [trim(source, Span(*line.span())) for line in _LINE.finditer(source)]
    entries, _ = _entries(source, lines)
    spans = [*entries.values()] or [line for line in lines if line.start < line.end]
    return [_reference(source, span) for span in spans]


def _entries(source: str, lines: Sequence[Span]) -> tuple[dict[str, Span], set[Span]]:
    """The references by number, without it, and the lines of the list with its heading."""
    heads = [n for n, line in enumerate(lines) if _LIST.fullmatch(line.of(source)[:60])]
    first = [n for n, line in enumerate(lines) if line.of(source).startswith("[1]")]
    start = heads[-1] if heads else first[-1] if first else len(lines)
    found: dict[str, Span] = {}
    listed, last, is_open = set(lines[start : start + 1] if heads else ()), 0, False
    for line in lines[start + bool(heads) :]:
        entry = _ENTRY.match(line.of(source))
        number = int(entry[1] or entry[2]) if entry else 0
        # The next number, or a later one in brackets: "44 pp." may begin a line of a reference.
        if entry and (number > last if entry[1] or not found else number == last + 1):
            last, is_open = number, True
            found[str(number)] = Span(line.start + entry.end(), line.end)
        elif line.start == line.end:
            is_open = False
        elif is_open:
            found[str(last)] = Span(found[str(last)].start, line.end)
        if is_open:
            listed.add(line)
    if heads and not found:  # Word numbers a list without writing the numbers
        whole = [line for line in lines[start + 1 :] if line.start < line.end]
        return {str(n): line for n, line in enumerate(whole, 1)}, {*listed, *whole}
    return found, listed


def _parts(source: str, lines: Sequence[Span]) -> list[tuple[Span, bool]]:
    """The paragraphs and headings of the text, and whether each is a heading."""
    found: list[tuple[Span, bool]] = []
    is_open = False  # whether the next line continues the last paragraph
    for line, following in zip(lines, [*lines[1:], Span(0, 0)], strict=True):
        text, after = line.of(source), following.of(source)
        if not text:
            is_open = False
        elif is_open:
            found[-1] = Span(found[-1][0].start, line.end), False
        else:
            short = n_words(text) <= HEADING_WORDS and text[-1] not in '.!?:;,…])}”"'
            is_heading = text.startswith("#") or (short and not after[:1].islower())
            found.append((line, is_heading))
        ends = len(text) > UNWRAPPED and not _CONTINUES.search(text)
        is_open = bool(text) and not ends and not found[-1][1]
    return found


def _bracketed(source: str, part: Span) -> list[Mark]:
    found = citation_marks.marks(part.of(source))
    moved = (Mark(m.span.moved(part.start), m.ids) for m in found if m.ids[0].isdigit())
    return [mark for mark in moved if not _INTERVAL.search(_before(source, part, mark.span))]


def _superscripts(source: str, part: Span) -> list[Mark]:
    found = []
    for each in _SUPERSCRIPT.finditer(source, *part):
        (mark,) = citation_marks.marks(f"[{each[0].translate(_RAISED)}]")
        found.append(Mark(Span(*each.span()), mark.ids))
    return found


def _before(source: str, part: Span, at: Span) -> str:
    return source[max(part.start, at.start - _NEAR) : at.start]


def _write(
    writer: Writer, source: str, part: Span, marks: Sequence[Mark], seen: Counter[str]
) -> None:
    """Write a paragraph without its marks, except those that are words of a sentence."""
    out, uses = writer.out, writer.flat.uses
    at, in_text, named = part.start, False, False
    for n, mark in enumerate(marks):
        ids, between = mark.ids, source[at : mark.span.start]
        if n and (_TO.fullmatch(between) or _BETWEEN.fullmatch(between)):
            if _TO.fullmatch(between):  # [4]–[6]
                (joined,) = citation_marks.marks(f"[{marks[n - 1].ids[-1]}-{ids[0]}]")
                ids = (*joined.ids[1:], *ids[1:])
        else:
            out.literal(between, at)
            before, after = _before(source, part, mark.span), source[mark.span.end : part.end]
            goes_on = after.lstrip()[:1].islower()
            named = goes_on and bool(_NAMED.search(before))
            is_subject = goes_on and not named and bool(_NEW_SENTENCE.search(before))
            in_text = is_subject or bool(_NEEDS_MARK.search(before))
            if in_text:
                out.rendered(NOUN, mark.span)
        for number in ids[: MAX_USES - len(uses)]:
            seen[number] += 1
            citation_id = f"r{number}-{seen[number]}" if seen[number] > 1 else f"r{number}"
            uses.append(Use(mark.span, number, citation_id=citation_id))
            out.mark(mark.span, len(uses) - 1, in_text=in_text or named)
        at = mark.span.end
    out.literal(source[at : part.end], at)


def _reference(source: str, span: Span) -> Source:
    """The identifiers and the title of a reference: in quotes, or its most wordy sentence."""
    text = " ".join(span.of(source).split())
    url, given = _URL.search(text), identifiers_in(text)
    if url and not host_of(address_in(url[0]) or "").endswith("doi.org"):
        given["url"] = url[0]
    quoted = _QUOTED.search(text)
    wordy = max(_SENTENCE.split(_URL.sub("", text)), key=lambda each: len(_LOWER.findall(each)))
    if quoted or len(_LOWER.findall(wordy)) >= TITLE_WORDS:
        given["title"] = quoted[1] if quoted else wordy.rstrip(".")
    return Source(span, text, fields=given)
