"""A query with words of what it finds first: pseudo-relevance feedback, without any model.

RM3 (Abdul-Jaleel et al. 2004, UMass at TREC 2004) mixes a query with the relevance model RM1
(Lavrenko & Croft 2001, eq. 2-8): P(w|R) = Σ P(w|d) · P(d|Q) over the first passages d. P(d|Q) is
a passage's share of their scores, P(w|d) its relative frequency in the passage.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pincite.protocols import Query
from pincite.text.words import content_words
from pincite.types import Hit

_WORD = re.compile(r"[^\W_]+")  # as the index cuts: runs of letters and digits
_SHORTEST = 2  # characters; a single letter is a list mark or an initial

# Words → for each its form in the index, by which two words are one, and its idf: how rare it is.
Terms = Callable[[Sequence[str]], list[tuple[str, float]]]


@dataclass(frozen=True, slots=True)
class Feedback:
    """How much is taken from what was found; passages and words as Anserini's RM3 has them.

    On the WAFER-like dev claims it does harm at every share: evidence P@1 is 0.85 without, 0.79
    with 0.8, 0.71 with 0.5 and twenty words. It is there for other collections, and off by default.
    """

    passages: int = 10  # the first so many
    words: int = 10  # of them, added to the query
    original: float = 0.8  # share of the query's own words in the mixture, above 0 up to 1


def rm3(query: Query, hits: Sequence[Hit], terms: Terms, how: Feedback | None = None) -> Query:
    """The query with the words that its first hits have in common, weighted.

    P'(w|Q) = λ · P(w|Q) + (1 − λ) · P(w|R). BM25 ranks alike by any multiple of it, so the query's
    own words keep their weights, and those added have (1 − λ) / λ of their sum. Words are chosen
    by P(w|R) · idf(w), since without idf common words would come first. Function words are never
    added, and without hits the query stays as it is.

    >>> from pincite.types import Passage, Span
    >>> text = "The Holm bridge spans the Gudena."
    >>> hit = Hit(Passage("d", "http://a", "", text, Span(0, len(text))), 2.0, 1)
    >>> rm3("Holm", [hit], lambda words: [(word, 1.0) for word in words], Feedback(words=2))
    (('Holm', 1.0), ('bridge', 0.12499999999999997), ('gudena', 0.12499999999999997))
    """
    how = how or Feedback()
    texts = ((query, 1.0),) if isinstance(query, str) else query
    found = hits[: how.passages]
    total = sum(hit.score for hit in found)
    if not texts or total <= 0:
        return query
    counts = [Counter(_words(hit.passage.text)) for hit in found]
    known = sorted({word for of_passage in counts for word in of_passage})
    looked_up = dict(zip(known, terms(known), strict=True))
    shares = [hit.score / total for hit in found]
    chosen = _chosen(_relevance(counts, shares, looked_up), how.words)
    own = sum(weight * sum(1 for _ in _words(text)) for text, weight in texts)
    left = sum(share for _, share in chosen)
    scale = own * (1 - how.original) / how.original / left if left else 0.0
    return (*texts, *((word, share * scale) for word, share in chosen if share * scale > 0))


@dataclass(slots=True)
class _Term:
    """One word of the index in the passages: its probability, its idf, and how it is written."""

    share: float = 0.0
    idf: float = 0.0
    word: str = ""


def _relevance(
    counts: Sequence[Counter[str]],
    shares: Sequence[float],
    terms: dict[str, tuple[str, float]],
) -> list[_Term]:
    """RM1 over the index's words, each with the first of its spellings that was met."""
    found: dict[str, _Term] = defaultdict(_Term)
    for of_passage, share in zip(counts, shares, strict=True):
        length = max(1, of_passage.total())
        for word, count in sorted(of_passage.items()):
            key, idf = terms[word]
            if key:
                term = found[key]
                term.share += share * count / length
                term.idf, term.word = idf, term.word or word
    return list(found.values())


def _chosen(found: Sequence[_Term], n: int) -> list[tuple[str, float]]:
    """The `n` that say most of the passages, best first; ties by the alphabet."""
    ranked = sorted(found, key=lambda term: (-term.share * term.idf, term.word))
    return [(term.word, term.share) for term in ranked[:n]]


def _words(text: str) -> Iterator[str]:
    """Words in lower case, function words left out; figures are words too."""
    for match in _WORD.finditer(text):
        word = match[0].lower()
        if len(word) >= _SHORTEST and (not word.isalpha() or content_words(word)):
            yield word
