"""Restores what the extractor left out of an article: nested lists, leads, captions.

A block is lost if it stands between two adjacent lines, or between the headline and the first line.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from pincite.documents.html_text import Block

# Calibrated on the development half of Mozilla Readability's cases (`tools/bench_html.py`).
N_GRAM = 4  # words that identify a block
MIN_WORDS = 5  # shorter blocks are labels: "Share", "Read more", a photographer's name
NEAR = 2  # lines ahead within which a label matches; labels repeat elsewhere
MAX_LEAD_WORDS = 120  # between headline and article; more is a list of other stories
MIN_TITLE_WORDS = 3  # of the title, in a block that counts as the headline
HEADLINE = 0  # line number of the headline; the article begins with line 1
# A character of a script without spaces counts as a word.
_WORD = re.compile("[\u3040-\u30ff\u3400-\u9fff]|[^\\W\u3040-\u30ff\u3400-\u9fff]+")
Words = tuple[str, ...]
LineOf = dict[Words, int]  # the first line with an n-gram, or that consists of these fewer words


def restore_blocks(article: str, blocks: Sequence[Block], title: str) -> str:
    """Restore what `article` lacks of `blocks`, which are all of the page, in its order."""
    lines = ["", *article.split("\n")]  # in place of the headline: ""
    line_of, title_words = _line_of(lines), _words(title)
    n_least = max(1, min(MIN_TITLE_WORDS, len(title_words)))
    whole = [[], *([line] for line in lines[1:])]  # of each line: itself and what was lost below
    before: int | None = None  # the last line met; None: outside of the article
    missing = list[str]()  # texts since then
    for block in blocks:
        words = _words(block.text)
        is_label = len(words) < MIN_WORDS
        found = _lines_with(words, line_of)
        near = range(before, before + NEAR + 1) if before else ()
        # The title may end with the site's name.
        is_title = len(words) >= n_least and words == title_words[: len(words)]
        if block.comment:
            before, missing = None, []
        elif found and (not is_label or found[0] in near):
            if missing and before is not None and _are_lost(missing, lines, before, found[0]):
                whole[before] += missing
            before, missing = found[-1], []
        elif before in (None, HEADLINE) and (block.headline or is_title):
            before, missing = HEADLINE, []
        elif not is_label and not block.is_navigation:
            missing.append(block.text)
    return "\n".join(chain.from_iterable(whole))


def _are_lost(texts: Sequence[str], lines: Sequence[str], before: int, after: int) -> bool:
    """Whether only labels are between the lines, and texts above them are not a list of stories."""
    between = lines[before + 1 : after]
    is_adjacent = before <= after and all(len(_words(line)) < MIN_WORDS for line in between)
    n_lead_words = sum(len(_words(text)) for text in texts) if before == HEADLINE else 0
    return is_adjacent and n_lead_words <= MAX_LEAD_WORDS


def _lines_with(words: Words, line_of: LineOf) -> range | None:
    """From the first to the last line with a block, if most of its words are there."""
    grams = list(_n_grams(words)) or [words]
    n_grams = Counter(line_of[gram] for gram in grams if gram in line_of)
    if 2 * n_grams.total() < len(grams):
        return None
    most = max(n_grams.values())
    numbers = [number for number, n in n_grams.items() if 2 * n >= most]  # others share a phrase
    return range(min(numbers), max(numbers) + 1)


def _line_of(lines: Sequence[str]) -> LineOf:
    words, numbers = list[str](), list[int]()  # of all lines: n-grams run across their ends
    line_of = LineOf()
    for number, line in enumerate(lines):
        here = _words(line)
        words += here
        numbers += [number] * len(here)
        if 0 < len(here) < N_GRAM:
            line_of.setdefault(here, number)
    for gram, number in zip(_n_grams(words), numbers, strict=False):
        line_of.setdefault(gram, number)
    return line_of


def _n_grams(words: Sequence[str]) -> Iterator[Words]:
    return zip(*(words[n:] for n in range(N_GRAM)), strict=False)


def _words(text: str) -> Words:
    return tuple(_WORD.findall(text.lower()))
