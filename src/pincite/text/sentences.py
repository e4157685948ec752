"""Splits text into sentences, as spans, and finds those that only ask.

sentencex (Wikimedia's splitter, with rules for some 300 languages) splits within a line. A line
break always ends a sentence: extracted pages put headings, list items and table rows on lines.
`sentences` leaves it at that; `whole_sentences` mends what the splitter cuts in names and after
abbreviations, by rules that were written on the cases in tests/cases/editions.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from sentencex import get_sentence_boundaries

from pincite.text import LEXICON, patterns
from pincite.text.languages import CJK, SOUTHEAST, identify, is_english
from pincite.types import Span

# Characters that the splitter (Rust) rejects or panics on, each replaced by one equivalent
# character to keep offsets: lone surrogates, and white space of more than one byte.
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
_OTHER_SPACES = re.compile(r"[^\S\n\r ]")
# The splitter is quadratic in a line's quotation marks: 100,000 took 17 s.
_LONGEST = 8_000  # characters of a line
_TAIL = 20  # characters at the end of a sentence in which its last word is looked up
_P = patterns(__file__, "sentences")
SPACELESS, _CJK = re.compile(f"[{CJK}{SOUTHEAST}]"), re.compile(f"[{CJK}]")
CHARS_A_CJK_WORD, CHARS_A_SOUTHEAST_WORD = 2, 5  # of scripts without spaces
# Thai and Lao end a sentence with a space, but have spaces around numbers and names too.
_PHRASE = re.compile(rf".{{15,}}?[{SOUTHEAST}]\s(?=[{SOUTHEAST}]{{3}})")
_NUMBER = re.compile(r"(?:^|[\s(])No\.$")  # "No. 5", but not "No. It was not."
_DOTTED = re.compile(r"(?:^|[\s(\"“'])\w+(?:\.\w+)+\.$")  # "N.EX." before "T": a name with dots

# Abbreviations of other languages that the splitter lacks.
_ABBREVIATED_IN = {
    language: re.compile(rf"(?:^|[\s(\[«„“\"'’-])(?:{words})\.$", re.IGNORECASE)
    for language, words in LEXICON["abbreviations"].items()
}
_INITIAL = re.compile(r"(?:^|[\s(.-])[A-ZÀ-ÖØ-ÞŁŚŻŹČŠŽА-ЯЁ]\.$")  # "J. Roux"
_REMAINDER = re.compile(r"\(\d|[-–]\w")  # "1234 hab. (2019)", "к ю.-в."


def sentences(text: str, language: str = "en") -> list[Span]:
    """Split `text` into trimmed spans, in order; lines without words are dropped.

    >>> [s.of("Dr. Ito won. Twice!") for s in sentences("Dr. Ito won. Twice!")]
    ['Dr. Ito won.', 'Twice!']
    """
    text = _LONE_SURROGATES.sub("\ufffd", text)
    spans = []
    for line in (trim(text, line) for line in _lines(text)):
        if line.start < line.end:
            pieces = _split(_OTHER_SPACES.sub(" ", line.of(text)), language)
            spans += [trim(text, piece.moved(line.start)) for piece in pieces]
    return [span for span in spans if span.start < span.end]


def whole_sentences(text: str, language: str = "en") -> list[Span]:
    """Like `sentences`, but never splits within names or after abbreviations.

    For the prose of articles. Extracted pages may lack the spaces and capitals that this relies on,
    and every existing corpus was split with `sentences`.

    >>> text = "He read vol. 5. N.EX.T won."
    >>> [span.of(text) for span in whole_sentences(text)]
    ['He read vol. 5.', 'N.EX.T won.']
    """

    def is_one_sentence(left: Span, right: Span) -> bool:
        if _goes_on(text, left, right):
            return True
        return language != "en" and _goes_on_in(language, text, left, right)

    spans = merge_spans(sentences(text, language), is_one_sentence)
    if language == "en":
        return spans
    cut = _CUTS.get(language, _cut_at_measures)
    return [piece for span in spans for piece in cut(text, span)]


def source_sentences(text: str, language: str | None = None) -> list[Span]:
    """Split a source, in its own language if none is given."""
    language = identify("", language) or identify(text) or "en"
    return sentences(text) if language == "en" else whole_sentences(text, language)


def merge_spans(spans: Iterable[Span], goes_on: Callable[[Span, Span], bool]) -> list[Span]:
    """Merge each span with the next if `goes_on` holds for the pair."""
    merged: list[Span] = []
    for span in spans:
        if merged and goes_on(merged[-1], span):
            merged[-1] = Span(merged[-1].start, span.end)
        else:
            merged.append(span)
    return merged


def windows(text: str, sentences: Sequence[Span]) -> Iterator[Span]:
    """Yield each sentence, then each with the next one of its paragraph."""
    yield from sentences
    for sentence, following in pairwise(sentences):
        between = text[sentence.end : following.start]
        if between.isspace() and "\n\n" not in between:
            yield Span(sentence.start, following.end)


def _goes_on(text: str, left: Span, right: Span) -> bool:
    """Whether the full stop at the end of `left` does not end a sentence."""
    gap, end = text[left.end : right.start], text[max(left.start, left.end - _TAIL) : left.end]
    if "\n" in gap or not end.endswith((".", "!", "?")):
        return False
    following = re.match(r"\S+", text[right.start : right.start + 40])
    word = following[0] if following else ""
    if not gap and end.endswith("."):
        return bool(_DOTTED.search(end)) or len(word) < 3
    if _P["abbreviated"].search(end) or (_NUMBER.search(end) and word[:1].isdigit()):
        return True
    return word.isalpha() and word.islower() and not text[left.start].islower()


def _goes_on_in(language: str, text: str, left: Span, right: Span) -> bool:
    """The same for other languages; in Thai and Lao, only a line ends a sentence."""
    gap, end = text[left.end : right.start], text[max(left.start, left.end - _TAIL) : left.end]
    if "\n" in gap or language in ("th", "lo"):
        return "\n" not in gap
    if language in ("ja", "zh"):
        quoted = not gap and end[-1] in "」』”’" and text[right.start] not in "「『“‘（"
        return quoted or end[-1] == "."
    if not end.endswith("."):
        return False
    if text[right.start].islower() or _INITIAL.search(end) or _REMAINDER.match(text, right.start):
        return True
    if text[right.start].isdigit() and _DOTTED.search(end):
        return True
    if language == "de" and _P["ordinal"].search(end):
        return True
    if language == "pl" and end.endswith((" r.", " w.")) and _P["opening"].match(left.of(text)):
        return True
    abbreviated = _ABBREVIATED_IN.get(language)
    return bool(abbreviated and abbreviated.search(end))


def _cut_at_measures(text: str, span: Span) -> list[Span]:
    """Split after a measure or a year at the end of a sentence: "es 12 km. La presa"."""
    cuts = [span.start]
    for measure in _P["measure"].finditer(text, span.start, span.end):
        piece = text[cuts[-1] : measure.end()]
        if piece[-2] not in "гв" or not _P["opening"].match(piece.lstrip()):
            cuts.append(measure.end())
    return _cut(text, span, cuts[1:])


def _cut_at_stops(text: str, span: Span) -> list[Span]:
    """Split at each 。 or ។ outside brackets, even before digits."""
    cuts, depth = [], 0
    for n in range(span.start, span.end - 1):
        depth = max(depth + (text[n] in "「『（“《") - (text[n] in "」』）”》"), 0)
        if text[n] in "。！？។" and not depth and text[n + 1] not in "。！？」』）”》":
            cuts.append(n + 1)
    return _cut(text, span, cuts)


def _cut_at_spaces(text: str, span: Span) -> list[Span]:
    return _cut(text, span, [m.end() for m in _PHRASE.finditer(text, span.start, span.end)])


_CUTS = {
    **dict.fromkeys(("ja", "zh", "km"), _cut_at_stops),
    **dict.fromkeys(("th", "lo"), _cut_at_spaces),
}


def _cut(text: str, span: Span, cuts: Sequence[int]) -> list[Span]:
    edges = zip([span.start, *cuts], [*cuts, span.end], strict=True)
    return [trim(text, Span(start, end)) for start, end in edges]


def n_words(text: str) -> int:
    """Count words; in scripts without spaces two signs or five letters count as a word."""
    if text.isascii():
        return len(text.split())
    n_signs = len(_CJK.findall(text))
    n_letters = len(SPACELESS.findall(text)) - n_signs
    n_with_spaces = len(SPACELESS.sub(" ", text).split())
    return n_with_spaces + n_signs // CHARS_A_CJK_WORD + n_letters // CHARS_A_SOUTHEAST_WORD


def trim(text: str, span: Span) -> Span:
    """Trim white space; a blank span becomes empty at its start."""
    piece = span.of(text)
    lead = len(piece) - len(piece.lstrip())
    return Span(span.start + lead, span.start + max(lead, len(piece.rstrip())))


def _lines(text: str) -> Iterator[Span]:
    """Cut a text into lines, and long lines at spaces."""
    start = 0
    for line in text.splitlines(keepends=True):
        end = start + len(line)
        while end - start > _LONGEST:
            space = text.rfind(" ", start + 1, start + _LONGEST)
            middle = space if space > 0 else start + _LONGEST
            yield Span(start, middle)
            start = middle
        yield Span(start, end)
        start = end


def _split(line: str, language: str) -> list[Span]:
    try:
        boundaries = get_sentence_boundaries(language, line)
    except BaseException as error:
        # A panic in Rust is not an Exception; the line that causes it is not split.
        if type(error).__name__ != "PanicException":
            raise
        return [Span(0, len(line))]
    return [Span(bounds["start_index"], bounds["end_index"]) for bounds in boundaries]


def is_question(sentence: str) -> bool:
    """Whether a sentence only asks something, or states an aim, and so asserts nothing.

    "To assess whether screening improves vision" contains every word of "screening improves
    vision". The rules are narrow: they exclude sentences that assert something first, interview
    questions and intentions.

    >>> is_question("It is unclear whether it rose."), is_question("They voted on whether to go.")
    (True, False)
    """
    asks = sentence[-3:].rstrip('"”’»)」』 ').endswith(("?", "？", "؟"))
    return _P["asks"].match(sentence) is not None or (asks and not is_english(sentence))
