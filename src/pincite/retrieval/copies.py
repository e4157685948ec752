"""Passages that copy others: an article published by several sites counts once.

Copies cut paragraphs, so a passage of a copy may overlap two neighbours of the original. It is a
copy if nearly all of its words occur, in runs of three, in better-ranked passages of one page.
Texts that differ in a figure, a name or a negation are never copies. MinHash (Broder 1997, by
rensa) finds the few passages worth comparing word by word.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from pincite.retrieval.fusion import filter_hits
from pincite.text import words as wording
from pincite.text.figures import figures
from pincite.types import Hit, Span

RUN = 3  # words: two texts on one topic share words, but few runs of three
# Share of a passage's words in no shared run. Copies with 5 % of the words changed are found 95
# times in 100, with 15 % never (tests/retrieval/test_copies.py).
OTHER_WORDS = 0.10
# A passage split between two neighbours has a Jaccard similarity of at least 1/4 to one of them.
# With 128 hashes the estimate is off by 0.04, so 0.12 misses fewer than 1 in 1,000.
WORTH_COMPARING = 0.12
_HASHES, _SEED = 128, 42
_WORD = re.compile(r"\w+(?:['’]\w+)?")


@dataclass(frozen=True, slots=True)
class _Text:
    url: str
    text: str
    words: tuple[re.Match[str], ...]
    runs: tuple[str, ...]  # the run that begins at each word, except the last two
    signature: Any


def without_copies(hits: Sequence[Hit]) -> list[Hit]:
    firsts = {id(group[0]) for group in group_copies(hits)}
    return filter_hits(hits, lambda hit: id(hit) in firsts)


def group_copies(hits: Sequence[Hit]) -> list[list[Hit]]:
    """Group the distinct hits, in order, each followed by its copies."""
    groups: list[tuple[_Text, list[Hit]]] = []
    for hit in hits:
        text = _read(hit.passage.text, hit.passage.url)
        pages: defaultdict[str, list[tuple[float, _Text, list[Hit]]]] = defaultdict(list)
        for known, group in groups:
            similarity = known.signature.jaccard(text.signature)
            if similarity >= WORTH_COMPARING:
                pages[known.url].append((similarity, known, group))
        for alike in pages.values():
            if _is_copy(text, [known for _, known, _ in alike]):
                _, _, most_similar = max(alike, key=itemgetter(0))
                most_similar.append(hit)
                break
        else:
            groups.append((text, [hit]))
    return [group for _, group in groups]


def stands_in(paragraph: str, texts: Sequence[str]) -> bool:
    """Whether the texts of one page together contain all but a tenth of the paragraph's words.

    >>> stands_in("The king opened the bridge.", ["In 1911 the king opened the bridge."])
    True
    """
    read = _read(paragraph)
    runs = {run for text in texts for run in _read(text).runs}
    other = len(read.words) - len(_known_words(read, runs))
    return bool(read.words) and other <= OTHER_WORDS * len(read.words)


def n_words(text: str) -> int:
    return len(_WORD.findall(text))


def _read(text: str, url: str = "") -> _Text:
    from rensa import RMinHash

    words = tuple(_WORD.finditer(text))
    plain = [word[0].lower() for word in words]
    starts = range(max(len(plain) - RUN + 1, 1))
    runs = tuple(" ".join(plain[i : i + RUN]) for i in starts)
    signature = RMinHash(num_perm=_HASHES, seed=_SEED)
    signature.update(runs)
    return _Text(url, text, words, runs, signature)


def _is_copy(text: _Text, originals: Sequence[_Text]) -> bool:
    """Whether the text adds nothing to the originals, and they negate none of it."""
    known = _known_words(text, {run for original in originals for run in original.runs})
    other = [word for i, word in enumerate(text.words) if i not in known]
    if len(other) > OTHER_WORDS * len(text.words):
        return False
    numbers = [figure.span for figure in figures(text.text)]
    adds = any(
        wording.is_negated(word[0])
        or (word[0][0].isupper() and wording.content_words(word[0]))
        or any(map(Span(*word.span()).overlaps, numbers))
        for word in other
    )
    return not adds and not any(_denies(original, text) for original in originals)


def _denies(original: _Text, text: _Text) -> bool:
    """Whether the original has a negation between the words that the text repeats."""
    known = _known_words(original, set(text.runs))
    between = range(min(known, default=0), max(known, default=0))
    return any(wording.is_negated(original.words[i][0]) for i in between if i not in known)


def _known_words(text: _Text, runs: set[str]) -> set[int]:
    """Return the places of the words that are in one of the runs."""
    return {i + j for i, run in enumerate(text.runs) if run in runs for j in range(RUN)}
