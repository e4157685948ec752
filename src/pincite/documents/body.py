"""Input to the readers: bytes, declared type, limits, and format detection.

All limits live here, so one setting applies to every format. The defaults suit a machine with 4 GB
of memory that reads untrusted pages.
"""

import re
import zlib
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pincite.types import Reason, Unchecked


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for one source; a source over a limit becomes `Unchecked` and is never truncated."""

    max_bytes: int = 50_000_000  # a scanned book has 20 to 40 MB
    max_chars: int = 10_000_000  # the longest novels have 3 to 4 million
    line_bytes: int = 20_000_000  # one record of a JSONL file
    # Processor time per document: 4,500 pages of a usual PDF (150 a second), 1,800 of a newspaper.
    seconds: float = 30.0
    # Address space of the worker, including code and libraries. Honest files at the limits above
    # took 0.1 (Word, PDF, text) to 0.7 GB (50 MB of Word XML); 47 MB of HTML took 1.0 GB.
    memory: int = 1_200_000_000


DEFAULT_LIMITS = Limits()
# A page of A4 takes 5 to 7 s on one core, and half of this address space.
SCANNED_PAGES, SECONDS_A_SCAN, MEMORY_OF_SCANS = 20, 15.0, 3_000_000_000
# Text compresses 4 to 20 times, XML at most 30 times, zeros 1,030 times. A higher ratio is treated
# as an attack once the output also exceeds `max_bytes`, or SMALL for a part of a ZIP.
MAX_RATIO, SMALL = 200, 1_000_000
GZIP = b"\x1f\x8b"
SLICE_BYTES = 4_096
PACKERS = {"br": "brotli", "zstd": "zstd"}  # by the name of the encoding in HTTP
_END = b"\0the end of the buffer\xff"  # is overwritten only by data that fills it
FIRST_BYTES = 200_000  # canonical links are in the head; some heads carry 100 kB of styles
# After this many consecutive bad records the file is given up.
MAX_REFUSED_IN_A_ROW = 10_000


def is_bomb(n_unpacked: int, n_packed: int, limits: Limits) -> bool:
    return n_unpacked > max(limits.max_bytes, MAX_RATIO * n_packed)


@dataclass(frozen=True, slots=True)
class Body:
    """One source as bytes, with metadata from its server or file name."""

    url: str
    data: bytes
    content_type: str | None = None
    fetched: str | None = None
    limits: Limits = DEFAULT_LIMITS

    @property
    def charset(self) -> str | None:
        _, _, parameters = (self.content_type or "").lower().partition("charset=")
        return parameters.split(";")[0].strip(" \"'") or None


def too_large(url: str, n_bytes: int, limit: int, what: str = "the file") -> Unchecked:
    """Return the `Unchecked` for a source over a limit, stating both sizes."""
    size, most = (f"{n / 1e6:.1f} MB" if n >= 100_000 else f"{n} bytes" for n in (n_bytes, limit))
    return Unchecked(url, Reason.TOO_LARGE, f"{what} is {size}; the limit is {most}")


def unusable(text: str, url: str, where: str, limits: Limits) -> Unchecked | None:
    """Return why a record's text cannot be used (empty or too long); `where` is file and line."""
    if not text:
        return Unchecked(url, Reason.EMPTY, f"{where}: the text contains no words")
    if len(text) > limits.max_chars:
        detail = f"{where}: {len(text)} characters; the limit is {limits.max_chars}"
        return Unchecked(url, Reason.TOO_LARGE, detail)
    return None


def of_status(url: str, status: int | None) -> Unchecked | None:
    """Classify by HTTP status alone; None if the body is worth reading."""
    if status is None or status < 300:
        return None
    if status < 400:
        detail = f"HTTP {status}: a redirect to a page that is not stored"
        return Unchecked(url, Reason.NOT_SUPPLIED, detail)
    reasons = {404: Reason.DEAD, 410: Reason.DEAD, 402: Reason.PAYWALL}
    return Unchecked(url, reasons.get(status, Reason.REFUSED), f"HTTP {status}")


def decompress(data: bytes, limit: int) -> bytes:
    """Decompress at most `limit` + 1 bytes of gzip data, of all members; stops at corrupt data."""
    unpacker = zlib.decompressobj(wbits=31)
    unpacked_data = bytearray()
    with suppress(zlib.error):
        # Small slices, since the library copies what follows a member of the file.
        for start in range(0, len(data), SLICE_BYTES):
            packed = data[start : start + SLICE_BYTES]
            while packed and len(unpacked_data) <= limit:
                left = limit + 1 - len(unpacked_data)
                unpacked_data += unpacker.decompress(packed, min(1 << 16, left))
                packed = unpacker.unconsumed_tail
                if unpacker.eof:
                    packed = unpacker.unused_data
                    unpacker = zlib.decompressobj(wbits=31)
    return bytes(unpacked_data)


def unpacked_as(encoding: str, data: bytes, limit: int) -> bytes | None:
    """Decompress at most `limit` + 1 bytes of one of PACKERS; None if the data is corrupt."""
    import cramjam

    unpacked_data = bytearray(limit + 1 + len(_END))
    unpacked_data[-len(_END) :] = _END
    try:
        length = getattr(cramjam, PACKERS[encoding]).decompress_into(data, unpacked_data)
    except cramjam.DecompressionError:
        if unpacked_data.endswith(_END):  # some crawlers store a page unpacked, but not its header
            return data if data.lstrip().startswith(b"<") else None
        length = limit + 1  # the library stops where the buffer is full
    return bytes(memoryview(unpacked_data)[: min(length, limit + 1)])


def head_of(path: Path) -> bytes:
    """The first bytes of a file, decompressed if gzipped; fewer if it is corrupt."""
    with path.open("rb") as file:
        head = file.read(FIRST_BYTES)
    return decompress(head, FIRST_BYTES) if head.startswith(GZIP) else head


_OFFICE = "application/vnd.openxmlformats-officedocument."


class Format(StrEnum):
    """Formats with their reader, endings and media types, and two values for data without one."""

    HTML = "html", "html.read_html", ".html .htm .xhtml", "text/html application/xhtml+xml"
    PDF = "pdf", "pdf.read_pdf", ".pdf", "application/pdf application/x-pdf"
    DOCX = "docx", "office.read_docx", ".docx", f"{_OFFICE}wordprocessingml.document"
    TEXT = "text", "plain.read_text", ".txt", "text/plain"
    MARKDOWN = "markdown", "plain.read_markdown", ".md .markdown", "text/markdown text/x-markdown"
    JATS = "jats", "papers.read_jats", ".xml", "application/jats+xml"
    EPUB = "epub", "office.read_epub", ".epub", "application/epub+zip"
    PPTX = "pptx", "office.read_slides", ".pptx", f"{_OFFICE}presentationml.presentation"
    RTF = "rtf", "office.read_rtf", ".rtf", "application/rtf"
    MHTML = "mhtml", "office.read_mhtml", ".mhtml .mht", "multipart/related"
    SUBTITLES = "subtitles", "plain.read_subtitles", ".srt .vtt", "text/vtt text/srt"
    CSV = "csv", "tables.read_csv", ".csv .tsv", "text/csv text/tab-separated-values"
    XLSX = "xlsx", "office.read_sheets", ".xlsx", f"{_OFFICE}spreadsheetml.sheet"
    ODS = "ods", "office.read_sheets", ".ods", "application/vnd.oasis.opendocument.spreadsheet"
    WIKITEXT = "wikitext", "tables.read_wikitext", ".wiki .wikitext", "text/x-wiki"
    IMAGE = "image", "ocr.read_image", ".png .jpg .jpeg .tif .tiff", "image/png image/jpeg"
    UNSUPPORTED = "unsupported"
    MISLABELLED = "mislabelled"  # labelled as a format that its bytes are not

    reader: str  # module and function of this package
    endings: tuple[str, ...]
    media_types: tuple[str, ...]  # the usual one first

    def __new__(cls, value: str, reader: str = "", endings: str = "", types: str = "") -> Self:
        member = str.__new__(cls, value)
        member._value_, member.reader = value, reader
        member.endings, member.media_types = tuple(endings.split()), tuple(types.split())
        return member

    @property
    def is_text(self) -> bool:  # text is recognised by its label too, other data by its bytes alone
        return any(media_type.startswith("text/") for media_type in self.media_types)


_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*")
# Formats that users and servers do send, for the message; other bytes fail as undecodable text.
_UNSUPPORTED = {
    b"GIF8": "a GIF image",
    b"RIFF": "a WebP image, sound or film",
    b"PK\3\4": "a ZIP file",
    b"\xd0\xcf\x11\xe0": "an old Office file, or one with a password",
    b"%!PS": "a PostScript file",
    b"AT&TFORM": "a DjVu file",
}
ENDINGS = tuple(ending for kind in Format for ending in kind.endings)
# XHTML and papers are recognised by their bytes.
_NOT_READ = ".json .xml .css .js .svg text/css text/javascript text/calendar text/xml".split()
_LABELS = {
    **{label: kind for kind in Format for label in (*kind.endings, *kind.media_types)},
    **dict.fromkeys(_NOT_READ, Format.UNSUPPORTED),
}
# A record of a list saved from PubMed's page ("PubMed", "Abstract"): read as one text, they would
# make one study.
_EXPORTED = re.compile(rb"^PMID(?:- |: )\d{1,9}\b", re.MULTILINE)
_NO_LABEL = frozenset({"", "application/octet-stream", "binary/octet-stream", "unknown/unknown"})
# A comment matches in one way only: otherwise 400 comments in a row take exponential time.
_HTML_START = re.compile(
    rb"\s*(<\?xml[^>]{0,200}>\s*)?(?>(?><!--.{0,2000}?-->)\s*)*+<(!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_HTML_INSIDE = re.compile(rb"<(html|head|body|title|div|p|h1|table|br|span|a\s)\b", re.IGNORECASE)
_ARTICLE_START = re.compile(
    rb"\s*(<\?xml[^>]{0,200}>\s*)?(<!doctype\s+article\b[^>\[]{0,500}>\s*)?<article[\s>]",
    re.IGNORECASE,
)
# Names of parts: the directory is at the end, but each part begins with its name.
_PACKED = {
    b"word/document": Format.DOCX,
    b"ppt/presentation": Format.PPTX,
    b"META-INF/container.xml": Format.EPUB,
    b"xl/workbook": Format.XLSX,
    b"application/vnd.oasis.opendocument.spreadsheet": Format.ODS,
}
# Headers of mail, of which one states that a page and its pictures follow.
_MHTML_START = re.compile(
    rb"\s*(?>(?!content-type:)[\w-]{2,40}:[^\r\n]*\r?\n(?>[ \t][^\r\n]*\r?\n)*+)*+"
    rb"content-type:\s*multipart/related",
    re.IGNORECASE,
)
_SUBTITLES_START = re.compile(
    rb"WEBVTT(?=\s)|\s*\d+\s*\n\s*\d+:\d\d:\d\d[,.]\d{3}[ \t]*-->", re.IGNORECASE
)
# A transcript begins within the first minute; a schedule does not.
_TRANSCRIPT_START = re.compile(rb"\s*[\[(]?(?:00?:)?00?:\d\d(?:[.,]\d+)?(?=[\])\s])")
_TRANSCRIPT_TIME = re.compile(rb"^[ \t]*[\[(]?(?:\d{1,2}:)?\d{1,2}:\d\d(?=[\]).,\s])", re.MULTILINE)
MIN_TIMES = 3  # lines with a time at the start of a transcript
# DocBook has articles too; only these have journals.
ARTICLE_INSIDE = re.compile(rb"//NLM//DTD|<(journal-meta|article-meta)[\s>]")
HEAD_BYTES = 4096


def format_of(data: bytes, url: str, content_type: str | None) -> tuple[Format, str]:
    """Return the format to read `data` as, and its name for messages.

    The first bytes take precedence over the server's type and the file name: servers send error
    pages as `application/pdf` and PDFs as text.
    """
    start = data[:HEAD_BYTES]
    if data[:4] == b"PK\3\4":
        places = {at: kind for name, kind in _PACKED.items() if (at := data.find(name)) >= 0}
        if places:
            return places[min(places)], ""  # a presentation may contain a Word file
    if start.startswith(b"{\\rtf"):
        return Format.RTF, ""
    if b"%PDF-" in start[:1024]:  # the standard allows junk before the header
        return Format.PDF, ""
    if start.startswith(_IMAGES):
        return Format.IMAGE, "a picture"
    for magic, name in _UNSUPPORTED.items():
        if start.startswith(magic):
            return Format.UNSUPPORTED, name
    # The patterns expect no byte order mark and one byte per character.
    is_utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    head = start[2:].replace(b"\0", b"") if is_utf16 else start.removeprefix(b"\xef\xbb\xbf")
    if _HTML_START.match(head):
        return Format.HTML, ""
    if _ARTICLE_START.match(head) and ARTICLE_INSIDE.search(head):
        return Format.JATS, ""
    if _SUBTITLES_START.match(head):
        return Format.SUBTITLES, ""
    if _MHTML_START.match(head):
        return Format.MHTML, ""
    return _by_label(head, url, content_type)


def _by_label(head: bytes, url: str, content_type: str | None) -> tuple[Format, str]:
    label = (content_type or "").split(";")[0].strip().lower()
    ending = _ending(url)
    if label in _NO_LABEL:
        stated = _LABELS.get(ending) or (Format.HTML if _HTML_INSIDE.search(head) else Format.TEXT)
        label = ending
    else:
        other = Format.TEXT if label.startswith("text/") else Format.UNSUPPORTED
        stated = _LABELS.get(label, other)
    written = _LABELS.get(ending)
    if stated is Format.TEXT and written and written.is_text:
        stated = written  # servers often say text/plain
    if stated is Format.TEXT and _TRANSCRIPT_START.match(head):
        stated = Format.SUBTITLES if len(_TRANSCRIPT_TIME.findall(head)) >= MIN_TIMES else stated
    if stated is Format.TEXT and len(_EXPORTED.findall(head)) > 1:
        return Format.UNSUPPORTED, "several PubMed records as text (expected PubMed XML)"
    if stated.reader and not stated.is_text:
        kind = re.split(r"[./]", label)[-1] if stated is Format.IMAGE else str(stated)
        name = {"jpg": "JPEG", "tif": "TIFF"}.get(kind, kind.upper())
        return Format.MISLABELLED, f"named {label}, but not a {name} file"
    return stated, label


def type_of_ending(ending: str) -> str | None:
    """The usual media type of files with this ending; None: unknown."""
    return next(iter(_LABELS.get(ending, Format.UNSUPPORTED).media_types), None)


def _ending(url: str) -> str:
    try:
        path = urlsplit(url).path.lower().removesuffix(".gz")
    except ValueError:
        return ""
    name = path.rsplit("/", 1)[-1]
    return f".{name.rsplit('.', 1)[-1]}" if "." in name else ""
