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
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from pincite import errors
from pincite.text import syntax, words
from pincite.text.languages import identify
from pincite.text.passages import WIDE_WORDS, units_of
from pincite.text.sentences import merge_spans, n_words
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
    texts = (passage.text.lower() for passage in passages)
    n_there = [sum(part in text for part in wanted) for text in texts]
    best = sorted(range(len(passages)), key=lambda i: (-n_there[i], i))[:most]
    return [passages[i] for i in sorted(best)]


class Page(NamedTuple):
    """A page to read for a claim: its passages, and the spans that the citation points to."""

    claim: Claim
    passages: Sequence[Passage]
    pointed_at: Sequence[Span] = ()


def read_pages(
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
    plans = [_plan(page.claim.text, page.passages, page.pointed_at, first, most) for page in pages]
    judged = _judge(pages, [plan.first for plan in plans], judge)
    second = [
        plan.second if plan.second and is_open(evidence) else []
        for plan, evidence in zip(plans, judged, strict=True)
    ]
    for evidence, more in zip(judged, _judge(pages, second, judge), strict=True):
        evidence += more
        evidence.sort(key=lambda e: e.passage.span)
    return judged


def worth_reading(claim: str, passages: Sequence[Passage], most: int = READ) -> list[Passage]:
    """Return the covering text and the `most` passages that share most with the claim, in order.

    >>> from pincite.types import Span
    >>> page = [Passage("d", "", "", t, Span(0, len(t))) for t in ("Opened 1911.", "Rain.")]
    >>> [passage.text for passage in worth_reading("It opened in 1911.", page, 1)]
    ['Opened 1911.']
    """
    plan = _plan(claim, with_covering(claim, passages), (), most, most)
    return sorted([*plan.first, *plan.second], key=lambda passage: passage.span)


def with_covering(claim: str, passages: Sequence[Passage]) -> list[Passage]:
    """Add the covering text to a page's passages, unless the page is in another language."""
    if not passages or not passages[0].page or _is_foreign(claim, passages):
        return list(passages)
    text = errors.attempt(lambda: covering(claim, passages), lambda why: None)
    return list(passages) if text is None or text in passages else [*passages, text]


def covering(claim: str, passages: Sequence[Passage]) -> Passage | None:
    """Return one text of the sentences of a page that together cover most of a claim.

    Greedy: the sentence that adds most by `words.weighted_terms` comes next, with the one before
    if it begins with a pronoun. A page that is no longer is read whole. None if no sentence
    shares anything. `passages` have the text of their page.
    """
    page = passages[0].page
    sentences = units_of(page, passages[0].language)
    chosen = [sentences[n][0] for n in _choose_covering(claim, page, sentences)]
    pieces = merge_spans(chosen, lambda before, after: not page[before.end : after.start].strip())
    if not pieces:
        return None
    read = [passage for passage in passages if any(map(passage.span.overlaps, pieces))]
    about = dict.fromkeys(part for passage in read for part in passage.about.split(" · "))
    recognised = [passage.recognised for passage in read if passage.recognised is not None]
    return replace(
        passages[0],
        text=GAP.join(piece.of(page) for piece in pieces),
        span=Span(pieces[0].start, pieces[-1].end),
        about=" · ".join(about),
        recognised=min(recognised, default=None),
        pieces=tuple(pieces) if len(pieces) > 1 else (),
    )


def _choose_covering(claim: str, page: str, sentences: Sequence[tuple[Span, int]]) -> list[int]:
    """Choose the sentences for `covering`, given each one's span and number of words."""
    weights, left = dict(words.weighted_terms(claim)), COVERING_WORDS
    terms = [words.stated_terms(weights, span.of(page)) for span, _ in sentences]
    lengths = [length for _, length in sentences]
    candidates = {n for n, stated in enumerate(terms) if stated}
    if candidates and sum(lengths) <= left:
        return list(range(len(sentences)))
    chosen = set[int]()
    while candidates := {n for n in candidates - chosen if lengths[n] <= left}:
        best = max(candidates, key=lambda n: (math.fsum(weights[term] for term in terms[n]), -n))
        added, before = [best], best - 1
        fits = before >= 0 and lengths[before] + lengths[best] <= left
        word = words.WORD.search(sentences[best][0].of(page))
        has_pronoun = word is not None and word[0].lower() in syntax.PRONOUNS
        if fits and before not in chosen and has_pronoun:  # it says whom that means
            added.append(before)
        for n in added:
            left -= lengths[n]
            for term in terms[n]:
                weights[term] *= COVERED
        chosen.update(added)
    return sorted(chosen)


def _is_foreign(claim: str, passages: Sequence[Passage]) -> bool:
    return (identify(claim) or "en") != (passages[0].language or "en")


@dataclass(frozen=True, slots=True)
class _Rounds:
    """The passages of a page that are read at once, and those read while it is still open."""

    first: list[Passage]
    second: list[Passage]


def _plan(
    claim: str, passages: Sequence[Passage], cited: Sequence[Span], n_first: int, n_most: int
) -> _Rounds:
    """Choose what to read: after the covering text, passages ranked by overlap with the claim.

    The first round has `n_first` of them and as many in the `cited` spans; both rounds together
    have `n_most`, and up to POINTED_AT in the cited spans. Of a page in another language, wide
    passages follow those that share anything with the claim; if none does, all are read at once.
    """
    covering_texts = [passage for passage in passages if passage.pieces]
    single = [passage for passage in passages if not passage.pieces]
    if len(single) <= n_first:
        return _Rounds([*covering_texts, *single], [])
    shared = errors.apply(
        lambda batch: [words.overlap(claim, passage.text) for passage in batch],
        single,
        lambda passage, why: math.inf,  # it is read, and the verifier reports the failure
    )
    ranked = sorted(range(len(single)), key=lambda n: (-shared[n], n))
    pointed_at = [n for n in ranked if any(map(single[n].span.overlaps, cited))]
    is_foreign, wide = _is_foreign(claim, single), list[Passage]()
    if is_foreign and len(single) > n_most and single[0].page:
        ranked = [n for n in ranked if shared[n]]
        wide = list(islice(_end_to_end(single), COVER))
    at_once = dict.fromkeys([*ranked[:n_first], *pointed_at[:n_first]])
    later = sorted({*ranked[:n_most], *pointed_at[:POINTED_AT]}.difference(at_once))
    first = [*covering_texts, *(single[n] for n in at_once)]
    second = [*(single[n] for n in later), *wide]
    if is_foreign and not any(shared):
        return _Rounds([*first, *second], [])
    return _Rounds(first, second)


def _end_to_end(passages: Sequence[Passage]) -> Iterator[Passage]:
    """Yield as few wide passages as contain the whole page between them, in order."""
    wide = passages[0]
    for passage in passages:
        whole = Span(wide.span.start, passage.span.end)
        text = whole.of(passage.page)
        if n_words(text) > WIDE_WORDS:
            yield wide
            wide = passage
        else:
            wide = replace(wide, text=text, span=whole)
    yield wide


def _judge(
    pages: Sequence[Page], chosen: Sequence[Sequence[Passage]], judge: Judge
) -> list[list[Evidence]]:
    """Judge the passages chosen of each page, in one batch."""
    pairs = [
        (page.claim, passage)
        for page, of_page in zip(pages, chosen, strict=True)
        for passage in of_page
    ]
    answers = iter(judge(pairs))
    return [[next(answers) for _ in of_page] for of_page in chosen]
