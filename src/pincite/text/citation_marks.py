"""Splits an answer into sentences and their reference marks.

Verif.ai's prompt asks for `(PUBMED:123)` after each statement, an earlier one for `[1]` (§II-B);
models write both. A mark belongs to the sentence that it ends, even after the full stop.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from pincite.text import patterns
from pincite.text.sentences import sentences, trim
from pincite.types import Span

MOST_IN_A_RANGE = 50  # "[1-50]": longer ranges are years or typos, not references
PUBMED = re.compile(r"(?:PUBMED|PMID)\s*:?\s*(\d{1,9})", re.IGNORECASE)
_ID = r"(?:PUBMED|PMID)\s*:?\s*\d{1,9}"
_AND = r"\s*(?:[,;&]|and|,\s*and)\s*"
_NAMED = rf"[(\[]\s*{_ID}(?:{_AND}(?:{_ID}|\d{{1,9}}))*\s*[)\]]"
_NUMBER = r"\d{1,3}(?:\s*[-–—]\s*\d{1,3})?"
_NUMBERED = rf"\[\s*{_NUMBER}(?:{_AND}{_NUMBER})*\s*\]"
_MARK = re.compile(rf"{_NAMED}|{_NUMBERED}", re.IGNORECASE)
AUTHOR_YEAR = patterns(__file__, "citation_marks")["author_year"]
_FILLER = "\ue000"  # private use: replaces a mark while sentences are split
_LEADING_MARKS = re.compile(rf"(?:\s*{_FILLER}+[\s.]*)+")
_WORD = re.compile(r"\w")
# Words before a mark that identify a copy: two authors rarely share five consecutive words.
_WORDS_ALIKE = 5
_CHARS_ALIKE = 200  # window for these words, including other marks
_CACHED_SOURCES = 64  # at least those of one answer
_OPEN_MARK = re.compile(r"[\[(][^\])\n]{0,60}\Z")


@dataclass(frozen=True, slots=True)
class Mark:
    """A reference mark in a text: `[2-4]`, `(PUBMED:123; PUBMED:456)`."""

    span: Span
    ids: tuple[str, ...]  # "2", "3", "4"; "PUBMED:123", "PUBMED:456"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer with its reference marks, which may be inside or after it."""

    span: Span  # in the answer, including marks
    text: str  # the sentence without its marks
    marks: tuple[Mark, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for mark in self.marks for name in mark.ids))


def marks(text: str) -> list[Mark]:
    """The reference marks of a text in order.

    >>> [mark.ids for mark in marks("So [1, 3] and [2-4]. Yes (PUBMED:12; PMID 7).")]
    [('1', '3'), ('2', '3', '4'), ('PUBMED:12', 'PUBMED:7')]
    """
    return [Mark(Span(*m.span()), _ids(m.group())) for m in _MARK.finditer(text)]


def _ids(mark: str) -> tuple[str, ...]:
    if PUBMED.search(mark):
        return tuple(dict.fromkeys(f"PUBMED:{n}" for n in re.findall(r"\d+", mark)))
    ids: list[str] = []
    for number in re.findall(_NUMBER, mark):
        ends = [int(digits) for digits in re.findall(r"\d+", number)]
        first, last = ends[0], ends[-1]
        is_range = first <= last < first + MOST_IN_A_RANGE
        ids += map(str, range(first, last + 1) if is_range else (first, last))
    return tuple(dict.fromkeys(ids))


def as_text(text: str, foreign: Sequence[Mark] | None = None) -> str:
    """Rewrite the text's own marks so that none is parsed as ours; keeps the length.

    `foreign` restricts this to some of `marks(text)`; None rewrites all.

    >>> as_text("It rose [8, 9] (PMID: 12). It fell [1].")
    'It rose (8, 9) {PMID: 12}. It fell (1).'
    """
    rewritten = dict[Span, str]()
    for mark in marks(text) if foreign is None else foreign:
        words = text[mark.span.start + 1 : mark.span.end - 1]
        rewritten[mark.span] = f"{{{words}}}" if PUBMED.search(words) else f"({words})"
    return with_written(text, rewritten)


def with_written(text: str, written: Mapping[Span, str]) -> str:
    """Replace the spans, which are in order, by other words."""
    parts, at = [], 0
    for span, words in written.items():
        parts += [text[at : span.start], words]
        at = span.end
    return "".join([*parts, text[at:]])


def without_copied(text: str, sources: Sequence[tuple[frozenset[str], str]]) -> str:
    """Neutralise the marks in an answer that were copied from a source's text.

    A mark is a copy if the words before it precede the same mark in a source, and it does not refer
    to that source. Lengths are kept, and for an answer being streamed, the result for a prefix is a
    prefix of the result.

    `sources` has the names of each source ("2", "PUBMED:123") and its text.

    >>> source = "As known, tea lowers the pressure of the blood [7]."
    >>> answer = "Tea lowers the pressure of the blood [7] in men [2]."
    >>> without_copied(answer, [(frozenset({"2"}), source)])
    'Tea lowers the pressure of the blood (7) in men [2].'
    """
    copied = [
        mark
        for mark, before in zip(marks(text), _words_before(text), strict=True)
        if len(before) == _WORDS_ALIKE
        and any(
            (before, mark.ids) in _marks_with_words(source) and not names.issuperset(mark.ids)
            for names, source in sources
        )
    ]
    return as_text(text, copied)


@lru_cache(maxsize=_CACHED_SOURCES)  # called for every prefix of a streamed answer
def _marks_with_words(source: str) -> frozenset[tuple[tuple[str, ...], tuple[str, ...]]]:
    ids = (mark.ids for mark in marks(source))
    return frozenset(zip(_words_before(source), ids, strict=True))


def _words_before(text: str) -> list[tuple[str, ...]]:
    """The words before each mark of a text."""
    starts = [mark.span.start for mark in marks(text)]
    near = (_MARK.sub(" ", text[max(0, n - _CHARS_ALIKE) : n]) for n in starts)
    return [tuple(re.findall(r"\w+", words.casefold())[-_WORDS_ALIKE:]) for words in near]


def cited_sentences(text: str, language: str = "en") -> list[Sentence]:
    """Split an answer into sentences with their marks; a lone mark joins the sentence before.

    Marks are blanked out before splitting, so that their dots and brackets do not mislead the
    splitter.

    >>> [(s.text, s.ids) for s in cited_sentences("It rose. [1] It fell [2].")]
    [('It rose.', ('1',)), ('It fell.', ('2',))]
    """
    all_marks = marks(text)
    blank = with_written(text, {m.span: _FILLER * (m.span.end - m.span.start) for m in all_marks})
    spans: list[Span] = []
    for span in sentences(blank, language):
        if spans and not _WORD.search(span.of(blank)):
            spans[-1] = Span(spans[-1].start, span.end)
            continue
        lead = _LEADING_MARKS.match(span.of(blank))
        if spans and lead:  # these marks end the previous sentence
            end = span.start + lead.end()
            spans[-1] = Span(spans[-1].start, trim(blank, Span(span.start, end)).end)
            span = trim(blank, Span(end, span.end))
        spans.append(span)
    cited = []
    for span in spans:
        own = tuple(m for m in all_marks if span.start <= m.span.start and m.span.end <= span.end)
        cited.append(Sentence(span, without_marks(text, span, own), own))
    return cited


def quote_with_marks(quotes: Sequence[tuple[str, int]]) -> tuple[str, list[Sentence]]:
    """Join copied sentences, one per line, each followed by its source's number.

    Marks within a copied sentence are the paper's own, and are neutralised by `as_text`.

    >>> quote_with_marks([("It fell [55].", 2)])[0]
    'It fell (55). [2]'
    """
    lines, cited, at = list[str](), list[Sentence](), 0
    for quote, number in quotes:
        text = as_text(" ".join(quote.split()))
        line = f"{text} [{number}]"
        end = at + len(line)
        mark = Mark(Span(at + len(text) + 1, end), (str(number),))
        lines.append(line)
        cited.append(Sentence(Span(at, end), text, (mark,)))
        at = end + 1
    return "\n".join(lines), cited


def without_open_mark(text: str) -> str:
    """Strip an incomplete mark from the end of a streamed answer.

    >>> without_open_mark("It rose (PUBM"), without_open_mark("It rose (in [3] cases).")
    ('It rose ', 'It rose (in [3] cases).')
    """
    return _OPEN_MARK.sub("", text)


def without_marks(text: str, span: Span, own: Sequence[Mark]) -> str:
    """The words of a span, without marks and extra spaces."""
    parts, at = [], span.start
    for mark in own:
        parts.append(text[at : mark.span.start].rstrip())
        at = mark.span.end
    return " ".join("".join([*parts, text[at : span.end]]).split())


def with_neighbours(
    cited: Sequence[Sentence], likeness: Callable[[Sentence, Sentence], float]
) -> list[tuple[Sentence, bool]]:
    """Return each sentence, and whether its marks come from a neighbour.

    Verif.ai's rule: a sentence without a reference takes those of the neighbour with the more
    similar sources; the first and the last sentence may stay without (V-6). `likeness(sentence,
    neighbour)` compares the sentence with the neighbour's sources; ties go to the preceding one.
    Only a neighbour's own marks are inherited.
    """
    result = []
    for place, sentence in enumerate(cited):
        is_inner = 0 < place < len(cited) - 1
        beside = (cited[place - 1], cited[place + 1]) if is_inner and not sentence.marks else ()
        neighbours = [neighbour for neighbour in beside if neighbour.marks]
        if neighbours:
            chosen = max(neighbours, key=lambda n: likeness(sentence, n))
            result.append((replace(sentence, marks=chosen.marks), True))
        else:
            result.append((sentence, False))
    return result


def find_number(written: str, known: Mapping[str, int]) -> int | None:
    """The number of the reference that a mark names; None if there is none.

    `known` maps ids (PMIDs bare) to numbers. A bare number is an index into the list of references
    if it is in range.
    """
    bare = written.removeprefix("PUBMED:")
    if bare != written:
        return known.get(bare)
    places = {str(number): number for number in known.values()}
    return places.get(written, known.get(written))


def renumber(text: str, known: Mapping[str, int]) -> tuple[str, list[int]]:
    """Renumber references by first use; also return their old numbers in that order.

    Marks by PMID and unknown marks are kept. For a streamed answer, the result for a prefix is a
    prefix of the result.

    >>> renumber("It rose [3]. It fell [1, 3]. Why [9]?", {"a": 1, "b": 2, "c": 3})
    ('It rose [1]. It fell [2, 1]. Why [9]?', [3, 1])
    """
    order: dict[int, int] = {}
    written: dict[Span, str] = {}
    for mark in marks(text):
        numbers = [find_number(name, known) for name in mark.ids]
        for number in numbers:
            if number is not None:
                order.setdefault(number, len(order) + 1)
        if all(map(str.isdigit, mark.ids)):
            pairs = zip(mark.ids, numbers, strict=True)
            new = (name if number is None else str(order[number]) for name, number in pairs)
            written[mark.span] = f"[{', '.join(new)}]"
    return with_written(text, written), list(order)
