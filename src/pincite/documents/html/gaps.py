"""What an extractor left out between two blocks that it kept.

Lists in lists, leads and captions are what extractors lose most. Where two blocks stand next to
each other in the extraction but not on the page, running text between them belongs to the article;
so does what stands between the page's headline and the article's first words. Links alone do not.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Calibration: the choosing half of Mozilla Readability's cases (`tools/bench_html.py`).
N_GRAM = 4  # words in a row by which a block is known again
MIN_WORDS = 5  # shorter ones are labels: "Share", "Read more", a photographer's name
NEAR = 2  # lines further down at which a label is known again; the same may stand anywhere
MAX_LINKED = 0.5  # a block with more of its words in links leads elsewhere
MAX_LEAD_WORDS = 120  # between headline and article; more is a list of other stories
ABOVE, NOWHERE = -1, -2  # no line of the article: below its headline; not yet near it
# A character of a script without spaces is a word
_WORD = re.compile("[\u3040-\u30ff\u3400-\u9fff]|[^\\W\u3040-\u30ff\u3400-\u9fff]+")
Places = dict[tuple[str, ...], int]


@dataclass(frozen=True, slots=True)
class Block:
    """A line of what a reader sees of a page; `linked` is the share of it that is in links."""

    text: str
    linked: float = 0.0
    headline: bool = False  # stands in the page's `<h1>`
    comment: bool = False  # stands among what readers wrote below


def filled(article: str, blocks: Sequence[Block], title: str) -> str:
    r"""`article` with the blocks that it lacks between two of its neighbouring lines, in order.

    `blocks` are all of the page in its order; `title` is known again as a block of that text.

    >>> texts = "The old mill burnt down.", "Its owner was in Rome.", "Not a man was harmed."
    >>> filled(f"{texts[0]}\n{texts[2]}", [Block(text) for text in texts], "").split("\n")[1]
    'Its owner was in Rome.'
    """
    lines = article.split("\n")
    places = _places(lines)
    lost: dict[int, list[str]] = {}  # what follows a line; ABOVE: what stands before all
    for before, after, texts in _gaps(blocks, places, _words(title)):
        if _is_lost(before, after, texts, lines):
            lost.setdefault(before, []).extend(texts)
    return "\n".join(_merged(lines, lost)) if lost else article


def _gaps(
    blocks: Sequence[Block], places: Places, title: list[str]
) -> Iterator[tuple[int, int, list[str]]]:
    """(line before, line after, running text between them that is in no line)."""
    before, gap = NOWHERE, list[str]()
    for block in blocks:
        words = _words(block.text)
        long = len(words) >= MIN_WORDS
        place = _place(words, places) if long or before >= 0 else None
        if block.comment:
            before, gap = NOWHERE, []
        elif place and (long or before <= place[0] <= before + NEAR):
            if gap and before != NOWHERE:
                yield before, place[0], gap
            before, gap = place[1], []
        elif before < 0 and (block.headline or _is_title(words, title)):
            before, gap = ABOVE, []
        elif long and block.linked <= MAX_LINKED:
            gap.append(block.text)


def _is_lost(before: int, after: int, texts: list[str], lines: list[str]) -> bool:
    """Whether the lines around a gap are neighbours, and the lead above them no list of stories."""
    between = (line for line in lines[before + 1 : after] if len(_words(line)) >= MIN_WORDS)
    if before > after or any(between):
        return False
    return before != ABOVE or sum(len(_words(text)) for text in texts) <= MAX_LEAD_WORDS


def _places(lines: list[str]) -> Places:
    """The line where words in a row stand first; of a line of fewer words all of them."""
    words, at = list[str](), list[int]()
    places: Places = {}
    for n, line in enumerate(lines):
        here = _words(line)
        words += here
        at += [n] * len(here)
        if 0 < len(here) < N_GRAM:
            places.setdefault(tuple(here), n)
    for gram, n in zip(_n_grams(words), at, strict=False):
        places.setdefault(gram, n)
    return places


def _place(words: list[str], places: Places) -> tuple[int, int] | None:
    """The first and the last line that hold a block, if most of its words stand there."""
    grams = list(_n_grams(words)) or [tuple(words)]
    known = Counter(map(places.__getitem__, filter(places.__contains__, grams)))
    if 2 * known.total() < len(grams):
        return None
    most = max(known.values())  # the others may hold a phrase that comes back
    held = [line for line, n in known.items() if 2 * n >= most]
    return min(held), max(held)


def _is_title(words: list[str], title: list[str]) -> bool:
    """Whether a block is the title, which may name the site after it."""
    return words == title[: len(words)] and len(words) >= min(3, len(title)) > 0


def _merged(lines: list[str], lost: dict[int, list[str]]) -> Iterator[str]:
    yield from lost.get(ABOVE, ())
    for n, line in enumerate(lines):
        yield line
        yield from lost.get(n, ())


def _n_grams(words: list[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(words[n:] for n in range(N_GRAM)), strict=False)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
