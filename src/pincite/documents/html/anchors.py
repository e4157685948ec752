"""Where the named places of a web page (`#History`) stand in its extracted text.

The extraction keeps no names, so a place is found again by the words that follow it in the page as
a reader sees it. One that cannot be found has no offset: then nothing points there.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

MAX_ANCHORS = 500  # of a page; generated documentation has some thousand, a name for each line
MAX_CHARS = 2_000_000  # of a text; each name is looked for in all of it
# Words that follow a name: eight tell a section from its line in a table of contents, and the
# first three are left where an advertisement stood behind the heading.
_PROBES = (8, 3)


def located(names: Sequence[tuple[str, str]], text: str) -> dict[str, int]:
    """The offset in `text` of each name whose following words stand there.

    Args:
        names: a name and the words that follow it, in the order of the page.
        text: what was extracted of the page.
    """
    if not names or len(text) > MAX_CHARS:
        return {}
    words = [(match[0], match.start()) for match in re.finditer(r"\S+", text)]
    flat = f" {' '.join(word for word, _ in words)} "
    places = [0, *accumulate(len(word) + 1 for word, _ in words)]  # of the spaces before words
    found: dict[str, int] = {}
    reached = 0
    for name, following in names[:MAX_ANCHORS]:
        at = _place(following.split(), flat, reached)
        if at >= 0 and name not in found:
            found[name] = words[bisect_left(places, at)][1]
            reached = at
    return found


def _place(following: Sequence[str], flat: str, reached: int) -> int:
    """Where the words stand from `reached` on, else anywhere; -1 if nowhere."""
    for n_words in _PROBES:
        if len(following) >= n_words or n_words == _PROBES[-1]:
            probe = " ".join(following[:n_words])
            at = flat.find(f" {probe} ", reached) if probe else -1
            at = flat.find(f" {probe} ") if probe and at < 0 else at
            if at >= 0:
                return at
    return -1
