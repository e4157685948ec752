"""Chooses cheaply what the verifier reads of a long page.

A sentence of an article often rests on two or three sentences of its source that stand apart. So
the first text to read is made of the sentences that together have most of the claim's words, names
and figures (`covering`); beside it the passages that share most with the claim are read, the best
two first, the others while they may change the verdict: a cascade (Viola and Jones 2001; Wang, Lin
and Metzler 2011). research/verifier.md compares this with passages alone.

A page in another language than the claim shares figures and names at most, and the passage that
matters often none. It is read from end to end, in wide passages, up to COVER of them.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from pincite import errors
from pincite.text import syntax, words
from pincite.text.languages import identify
from pincite.text.passages import WIDE_WORDS, sentences_of
from pincite.text.sentences import joined, n_words
from pincite.types import GAP, Claim, Evidence, Passage, Span

COVERING_WORDS = 170  # of the covering text: some 230 tokens (of 120, 140, 170, 200, 230, the best)
COVERED = 0.3  # what a word is worth to a covering text for each time that it is already there
READ = 4  # passages per page beside the covering text
COVER = 32  # wide passages per page in another language: 14,000 characters of Japanese
FIRST = 2  # passages read in the first round
LIKELY = 256  # passages of a very long page that are scored
POINTED_AT = 16  # extra passages at the cited place: two printed pages of 500 words
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")

Judge = Callable[[Sequence[tuple[Claim, Passage]]], Sequence[Evidence]]


def likely(claim: str, passages: Sequence[Passage], most: int = LIKELY) -> list[Passage]:
    """Return the `most` passages with most of the claim's words and digits, in the given order.

    A fast prefilter for `worth_reading` on thousands of passages: it compares raw strings only.

    >>> from pincite.types import Span
    >>> page = [Passage("d", "", "", t, Span(0, len(t))) for t in ("Opened 1911.", "Rain.")]
    >>> [passage.text for passage in likely("It opened in 1911.", page, 1)]
    ['Opened 1911.']
    """
    if len(passages) <= most:
        return list(passages)
    # A figure counts twice, as in `worth_reading`.
    wanted = [*set(words.content_words(claim)), *2 * list(set(_DIGITS.findall(claim)))]
    texts = [passage.text.lower() for passage in passages]
    n_there = [sum(part in text for part in wanted) for text in texts]
    best = sorted(range(len(passages)), key=lambda i: (-n_there[i], i))[:most]
    return [passages[i] for i in sorted(best)]


class Page(NamedTuple):
    """A page to read for a claim: its passages, and the spans that the citation points to."""

    claim: Claim
    passages: Sequence[Passage]
    pointed_at: Sequence[Span] = ()


def read(
    pages: Sequence[Page],
    judge: Judge,
    is_open: Callable[[Sequence[Evidence]], bool],
    most: int = READ,
    first: int = FIRST,
) -> list[list[Evidence]]:
    """Judge the passages worth reading of each page, in page order.

    The first rounds of all pages are one batch for `judge`, and so are the second rounds of the
    pages that are still open (`is_open`).
    """
    looks = [_looks(page.claim.text, page.passages, page.pointed_at, first, most) for page in pages]
    found = _judge(pages, [at_once for at_once, _ in looks], judge)
    rests = [
        rest if rest and is_open(of_page) else []
        for (_, rest), of_page in zip(looks, found, strict=True)
    ]
    more = _judge(pages, rests, judge)
    return [
        sorted([*one, *other], key=lambda each: each.passage.span)
        for one, other in zip(found, more, strict=True)
    ]


def worth_reading(claim: str, passages: Sequence[Passage], most: int = READ) -> list[Passage]:
    """Return the covering text and the `most` passages that share most with the claim, in order.

    >>> from pincite.types import Span
    >>> page = [Passage("d", "", "", t, Span(0, len(t))) for t in ("Opened 1911.", "Rain.")]
    >>> [passage.text for passage in worth_reading("It opened in 1911.", page, 1)]
    ['Opened 1911.']
    """
    at_once, rest = _looks(claim, with_covering(claim, passages), (), most, most)
    return sorted([*at_once, *rest], key=lambda passage: passage.span)


def with_covering(claim: str, passages: Sequence[Passage]) -> list[Passage]:
    """Add the covering text to a page's passages, unless the page is in another language."""
    if not passages or not passages[0].page or _is_foreign(claim, passages):
        return list(passages)
    found = errors.attempted(lambda: covering(claim, passages), lambda why: None)
    return [*passages, *([found] if found and found not in passages else [])]


def covering(claim: str, passages: Sequence[Passage]) -> Passage | None:
    """Return one text of the sentences of a page that together cover most of a claim.

    Greedy: the sentence that adds most by the weights of `words.terms` comes next, with the one
    before if it begins with a pronoun. A page that is no longer is read whole. None if no sentence
    shares anything.

    Args:
        claim: a sentence.
        passages: of the page, with its text.
    """
    page, weights = passages[0].page, dict(words.terms(claim))
    units = sentences_of(page, passages[0].language)
    shared = [words.stated(weights, span.of(page)) for span, _ in units]
    chosen, left = set[int](), COVERING_WORDS
    todo = {i for i, stated in enumerate(shared) if stated}
    if todo and sum(n for _, n in units) <= left:
        chosen, todo = set(range(len(units))), set()
    while todo := {i for i in todo - chosen if units[i][1] <= left}:
        best = max(todo, key=lambda i: (math.fsum(weights[term] for term in shared[i]), -i))
        added = {best}
        if best and best - 1 not in chosen and _leans_back(units[best][0].of(page)):
            added |= {best - 1} if units[best - 1][1] + units[best][1] <= left else set()
        chosen |= added
        left -= sum(units[i][1] for i in added)
        for term in (term for i in added for term in shared[i]):
            weights[term] *= COVERED
    spans = [units[i][0] for i in sorted(chosen)]
    spans = joined(spans, lambda one, other: not page[one.end : other.start].strip())
    if not spans:
        return None
    read = [each for each in passages if any(map(each.span.overlaps, spans))]
    return replace(
        passages[0],
        text=GAP.join(span.of(page) for span in spans),
        span=Span(spans[0].start, spans[-1].end),
        about=" · ".join(dict.fromkeys(part for p in read for part in p.about.split(" · "))),
        recognised=min((p.recognised for p in read if p.recognised is not None), default=None),
        pieces=tuple(spans) if len(spans) > 1 else (),
    )


def _leans_back(sentence: str) -> bool:
    """Whether a sentence begins with a pronoun, so that the one before says whom it means."""
    first = words.WORD.search(sentence)
    return first is not None and first[0].lower() in syntax.PRONOUNS


def _is_foreign(claim: str, passages: Sequence[Passage]) -> bool:
    return (identify(claim) or "en") != (passages[0].language or "en")


def _looks(
    claim: str, passages: Sequence[Passage], spans: Sequence[Span], first: int, most: int
) -> tuple[list[Passage], list[Passage]]:
    """Return the passages for the first round and for the second one.

    Ranked by overlap with the claim, after the covering text; up to as many again of each kind
    overlap the spans. Of a page in another language, wide passages follow those that share
    anything; if none does, at once.
    """
    together = [each for each in passages if each.pieces]
    single = [each for each in passages if not each.pieces]
    if len(single) <= first:
        return [*together, *single], []
    shared = errors.each(
        lambda some: [words.shared(claim, passage.text) for passage in some],
        single,
        lambda passage, why: math.inf,  # it is read, and the verifier reports the failure
    )
    best = sorted(range(len(single)), key=lambda i: (-shared[i], i))
    cited = [i for i in best if any(map(single[i].span.overlaps, spans))]
    wide, foreign = list[Passage](), _is_foreign(claim, single)
    if foreign and len(single) > most and single[0].page:
        best = [i for i in best if shared[i]]
        wide = list(islice(_end_to_end(single), COVER))
    at_once = list(dict.fromkeys([*best[:first], *cited[:first]]))
    rest = [i for i in {*best[:most], *cited[:POINTED_AT]} if i not in at_once]
    now, later = [*together, *(single[i] for i in at_once)], [*(single[i] for i in rest), *wide]
    return ([*now, *later], []) if foreign and not any(shared) else (now, later)


def _end_to_end(passages: Sequence[Passage]) -> Iterator[Passage]:
    """Yield as few wide passages as contain the whole page between them, in order."""
    wide = passages[0]
    for passage in passages:
        whole = Span(wide.span.start, passage.span.end)
        if n_words(text := whole.of(passage.page)) > WIDE_WORDS:
            yield wide
            wide = passage
        else:
            wide = replace(wide, text=text, span=whole)
    yield wide


def _judge(
    pages: Sequence[Page], chosen: Sequence[Sequence[Passage]], judge: Judge
) -> list[list[Evidence]]:
    pairs = [
        (page.claim, passage)
        for page, of_page in zip(pages, chosen, strict=True)
        for passage in of_page
    ]
    answers = iter(judge(pairs))
    return [[next(answers) for _ in of_page] for of_page in chosen]
