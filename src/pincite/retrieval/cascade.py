"""A cheap look before the costly one: which of a long page's passages the verifier reads.

A cascade (Viola and Jones 2001; in retrieval: Wang, Lin and Metzler 2011). A page of 10,000 words
has 200 passages in two widths, and the one that supports a claim nearly always shares more words,
names and figures with it than most others do. On WiCE dev, reading 16 passages a page instead of
all left the AUROC as it was (0.743 and 0.742) with a third of the pairs; docs/experiments.md.
"""

import re
from collections.abc import Sequence

from pincite.text import words
from pincite.types import Passage, Span

READ = 16  # passages of one page
LIKELY = 16 * READ  # passages of a very long page that are looked at closely
POINTED_AT = 16  # more that the citation points at: a printed page of 500 words in both widths
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")


def likely(claim: str, passages: Sequence[Passage], most: int = LIKELY) -> list[Passage]:
    """At most `most` passages that have most of the claim's words and digits, in the order given.

    Before `worth_reading`, where there are thousands: it looks at letters alone, and is far faster.

    >>> from pincite.types import Span
    >>> page = [Passage("d", "", "", t, Span(0, len(t))) for t in ("Opened 1911.", "Rain.")]
    >>> [passage.text for passage in likely("It opened in 1911.", page, 1)]
    ['Opened 1911.']
    """
    if len(passages) <= most:
        return list(passages)
    # A figure counts twice, as there.
    wanted = [*set(words.content_words(claim)), *2 * list(set(_DIGITS.findall(claim)))]
    texts = [passage.text.lower() for passage in passages]
    n_there = [sum(part in text for part in wanted) for text in texts]
    best = sorted(range(len(passages)), key=lambda i: (-n_there[i], i))[:most]
    return [passages[i] for i in sorted(best)]


def worth_reading(
    claim: str, passages: Sequence[Passage], most: int = READ, pointed_at: Sequence[Span] = ()
) -> list[Passage]:
    """At most `most` passages, those that share most with the claim, in the order given.

    Besides them, and not in their place, at most `POINTED_AT` that the spans touch.

    >>> from pincite.types import Span
    >>> page = [Passage("d", "", "", t, Span(0, len(t))) for t in ("Opened 1911.", "Rain.")]
    >>> [passage.text for passage in worth_reading("It opened in 1911.", page, 1)]
    ['Opened 1911.']
    """
    if len(passages) <= most:
        return list(passages)
    shared = [words.shared(claim, passage.text) for passage in passages]
    best = sorted(range(len(passages)), key=lambda i: (-shared[i], i))
    cited = [i for i in best if _touches(passages[i].span, pointed_at)] if pointed_at else []
    return [passages[i] for i in sorted({*best[:most], *cited[:POINTED_AT]})]


def _touches(span: Span, others: Sequence[Span]) -> bool:
    return any(span.start < other.end and other.start < span.end for other in others)
