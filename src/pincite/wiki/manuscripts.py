"""Reads manuscripts: plain text with numbered citations such as [2, 4–6], or raised numbers.

The references follow a heading ("Literaturverzeichnis"), or begin with a line "[1] …".
"""

import re
from collections import Counter
from collections.abc import Sequence

from pincite.text import citation_marks, patterns
from pincite.text.citation_marks import Mark
from pincite.text.hosts import host_of
from pincite.text.identifiers import identifiers_in
from pincite.text.sentences import n_words, trim
from pincite.types import Span
from pincite.wiki.flat import BlockKind, Flat, Writer
from pincite.wiki.templates import Source, Use, address_in

HEADING_WORDS = 12  # at most
UNWRAPPED = 120  # characters: a longer line that ends a sentence ends its paragraph
TITLE_WORDS = 3  # lower-case words, at least, of the sentence in a reference that is its title
NOUN = "[this work]"  # stands for a mark that its sentence needs: its digits would be a figure
MAX_USES = 20_000  # of references: "[1-50]" is short
_LINE = re.compile(r"[^\n]+|^$", re.MULTILINE)
_PATTERNS = patterns(__file__, "manuscripts")
_ENTRY = re.compile(r"(?:\[(\d{1,3})\]:?|(\d{1,3})[.)]?)\s+(?=\S)")
_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"”]{0,999}[^\s<>\"”.,;:)\]]", re.IGNORECASE)
_QUOTED = re.compile(r"[“\"„]([^“”\"„]{10,300}?)[,.]?[”\"“]")
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_LOWER = re.compile(r"(?<!\S)[^\W\d_A-Z]\S*")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_CONTINUES = re.compile(r"[a-zA-Z0-9,–-]\Z")
_NEW_SENTENCE = re.compile(r"(?:\A|[.!?]\s+)\Z")
_INTERVAL = re.compile(r"\b(?:CI|IQR|KI|range|interval)\b[\s,:=]*\Z")  # 95% CI [1, 3]
_BETWEEN = re.compile(r"\s*(?:[,;&]|and|und)?\s*")
_TO = re.compile(r"\s*[-–—]\s*")
_NEAR = 30  # characters before a mark


def read_manuscript(source: str) -> Flat | None:
    """Convert a manuscript to the flat form; None without numbered citations."""
    lines = [trim(source, Span(*line.span())) for line in _LINE.finditer(source)]
    entries, listed = _entries(source, lines)
    parts = _parts(source, [Span(0, 0) if line in listed else line for line in lines])
    marks = {part: _bracket_marks(source, part) for part, _ in parts}
    if entries and not any(marks.values()):
        marks = {part: _superscript_marks(source, part) for part, _ in parts}
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
    heads = [n for n, line in enumerate(lines) if _PATTERNS["list"].fullmatch(line.of(source)[:60])]
    first = [n for n, line in enumerate(lines) if line.of(source).startswith("[1]")]
    start = heads[-1] if heads else first[-1] if first else len(lines)
    entries: dict[str, Span] = {}
    listed, last, is_open = set(lines[start : start + 1] if heads else ()), 0, False
    for line in lines[start + bool(heads) :]:
        entry = _ENTRY.match(line.of(source))
        number = int(entry[1] or entry[2]) if entry else 0
        # The next number, or a later one in brackets: "44 pp." may begin a line of a reference.
        if entry and (number > last if entry[1] or not entries else number == last + 1):
            last, is_open = number, True
            entries[str(number)] = Span(line.start + entry.end(), line.end)
        elif line.start == line.end:
            is_open = False
        elif is_open:
            entries[str(last)] = Span(entries[str(last)].start, line.end)
        if is_open:
            listed.add(line)
    if heads and not entries:  # Word numbers a list without writing the numbers
        whole = [line for line in lines[start + 1 :] if line.start < line.end]
        return {str(n): line for n, line in enumerate(whole, 1)}, {*listed, *whole}
    return entries, listed


def _parts(source: str, lines: Sequence[Span]) -> list[tuple[Span, bool]]:
    """The paragraphs and headings of the text, and whether each is a heading."""
    parts: list[tuple[Span, bool]] = []
    is_open = False  # whether the next line continues the last paragraph
    for line, following in zip(lines, [*lines[1:], Span(0, 0)], strict=True):
        text, after = line.of(source), following.of(source)
        if not text:
            is_open = False
        elif is_open:
            parts[-1] = Span(parts[-1][0].start, line.end), False
        else:
            short = n_words(text) <= HEADING_WORDS and text[-1] not in '.!?:;,…])}”"'
            is_heading = text.startswith("#") or (short and not after[:1].islower())
            parts.append((line, is_heading))
        ends = len(text) > UNWRAPPED and not _CONTINUES.search(text)
        is_open = bool(text) and not ends and not parts[-1][1]
    return parts


def _bracket_marks(source: str, part: Span) -> list[Mark]:
    bracketed = citation_marks.marks(part.of(source))
    moved = (Mark(m.span.moved(part.start), m.ids) for m in bracketed if m.ids[0].isdigit())
    return [mark for mark in moved if not _INTERVAL.search(_before(source, part, mark.span))]


def _superscript_marks(source: str, part: Span) -> list[Mark]:
    superscripts = []
    for match in _PATTERNS["superscript"].finditer(source, *part):
        (mark,) = citation_marks.marks(f"[{match[0].translate(_RAISED)}]")
        superscripts.append(Mark(Span(*match.span()), mark.ids))
    return superscripts


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
            named = goes_on and bool(_PATTERNS["named"].search(before))
            is_subject = goes_on and not named and bool(_NEW_SENTENCE.search(before))
            in_text = is_subject or bool(_PATTERNS["needs_mark"].search(before))
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
    wordy = max(_SENTENCE.split(_URL.sub("", text)), key=lambda words: len(_LOWER.findall(words)))
    if quoted or len(_LOWER.findall(wordy)) >= TITLE_WORDS:
        given["title"] = quoted[1] if quoted else wordy.rstrip(".")
    return Source(span, text, fields=given)
