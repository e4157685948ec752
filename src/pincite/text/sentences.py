"""Where sentences begin and end, as spans.

sentencex (Wikimedia's splitter, rules for some 300 languages) decides inside a line; a line break
always ends a sentence, because extracted pages put headings, list items and table rows on lines of
their own. Decision hidden here: which library splits, and that spans carry no outer white space.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from sentencex import get_sentence_boundaries

from pincite.types import Span

# What the splitter (Rust) cannot take or panics on, each for one character of the same meaning, so
# that offsets stay: half surrogate pairs, and white space of more than one byte.
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
_OTHER_SPACES = re.compile(r"[^\S\n\r ]")
# The splitter's time grows with the square of a line's quotation marks: 100,000 took 17 s.
_LONGEST = 8_000
# Abbreviations that the splitter takes for the end of a sentence when a capital or a digit follows.
_ABBREVIATED = re.compile(
    r"(?:^|[\s(\[“\"'])(?:Sen|Gov|Prof|Supt|Insp|Cllr|Messrs|Mlle|Mme|Bros|St|Ste|"
    r"(?:approx|vol|vols|ch|chap|sec|fig|figs|no|nos|est|vs|ca|spp|ssp|var|cf|op|vz|mil)|"
    r"(?:Approx|Vol|Vols|Ch|Fig|Figs|Est|Nos|Op))\.$"
)
_NUMBER = re.compile(r"(?:^|[\s(])No\.$")  # "No. 5"; but "No. It was not."
_DOTTED = re.compile(r"(?:^|[\s(\"“'])\w+(?:\.\w+)+\.$")  # "N.EX." before "T": a name with stops


def sentences(text: str, language: str = "en") -> list[Span]:
    """Spans of the sentences of `text`, in order, trimmed; lines without words give none.

    >>> [s.of("Dr. Ito won. Twice!") for s in sentences("Dr. Ito won. Twice!")]
    ['Dr. Ito won.', 'Twice!']
    """
    text = _LONE_SURROGATES.sub("\ufffd", text)
    return [span for line in _lines(text) for span in _split_line(text, line, language)]


def whole_sentences(text: str, language: str = "en") -> list[Span]:
    """As `sentences`, but nothing is cut at a stop within a name or behind an abbreviation.

    For an article's prose. A page as it was extracted may lack the spaces and capitals that this
    goes by, and passages are cut by `sentences` in every corpus that there is.

    >>> text = "He read vol. 5. N.EX.T won."
    >>> [span.of(text) for span in whole_sentences(text)]
    ['He read vol. 5.', 'N.EX.T won.']
    """
    return joined(sentences(text, language), lambda left, right: _goes_on(text, left, right))


def joined(spans: Iterable[Span], goes_on: Callable[[Span, Span], bool]) -> list[Span]:
    """The spans in order, each put together with the one before where that one goes on in it."""
    found: list[Span] = []
    for span in spans:
        if found and goes_on(found[-1], span):
            found[-1] = Span(found[-1].start, span.end)
        else:
            found.append(span)
    return found


def _goes_on(text: str, left: Span, right: Span) -> bool:
    """Whether the stop at the end of `left` ends no sentence."""
    gap, end = text[left.end : right.start], text[max(left.start, left.end - 20) : left.end]
    if "\n" in gap or not end.endswith((".", "!", "?")):
        return False
    following = re.match(r"\S+", text[right.start : right.start + 40])
    word = following[0] if following else ""
    if not gap and end.endswith("."):
        return bool(_DOTTED.search(end)) or len(word) < 3
    if _ABBREVIATED.search(end) or (_NUMBER.search(end) and word[:1].isdigit()):
        return True
    return word.isalpha() and word.islower() and not text[left.start].islower()


def trimmed(text: str, span: Span) -> Span:
    """`span` without the white space at its ends; empty at its start if there is nothing else."""
    piece = span.of(text)
    lead = len(piece) - len(piece.lstrip())
    return Span(span.start + lead, span.start + max(lead, len(piece.rstrip())))


def _lines(text: str) -> Iterator[Span]:
    """Lines, and pieces of very long ones."""
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


def _split_line(text: str, line: Span, language: str) -> Iterator[Span]:
    line = trimmed(text, line)
    if line.start == line.end:
        return
    for start, end in _boundaries(_OTHER_SPACES.sub(" ", line.of(text)), language):
        span = trimmed(text, Span(line.start + start, line.start + end))
        if span.start < span.end:
            yield span


def _boundaries(line: str, language: str) -> list[tuple[int, int]]:
    try:
        found = get_sentence_boundaries(language, line)
    except BaseException as error:
        # A panic inside Rust is no Exception; a line that causes one is left whole.
        if type(error).__name__ != "PanicException":
            raise
        return [(0, len(line))]
    return [(each["start_index"], each["end_index"]) for each in found]
