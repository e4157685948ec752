"""What raters of a blind study preferred, and how sure that is.

The evaluation is that of SIDE (Petroni et al., "Improving Wikipedia verifiability with AI", Nature
Machine Intelligence 5 (2023), figures 3 and 4): preferences and majorities over items, bucketed by
the verifier's score, agreement between raters, a sign test. Pure functions over records.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from pincite_study import agreement

Comparison = Literal["citations", "passages", "answers"]
Side = Literal["existing", "suggested", "random", "chosen", "first", "other"]
Undecided = Literal["neither", "both", "unsure"]
Choice = Side | Undecided
Amount = Literal["enough", "partial", "none"]
UNDECIDED: tuple[Undecided, ...] = get_args(Undecided)
AMOUNTS: tuple[Amount, ...] = ("none", "partial", "enough")  # in their order
NO_MAJORITY = "no_majority"
# Of the verifier's log-odds: 0 is even odds, 2 some 88 %, 4 some 98 %.
SCORE_EDGES = (-4.0, -2.0, 0.0, 2.0)
DIFFERENCE_EDGES = (1.0, 2.0, 4.0, 6.0)
SCHEMA_VERSION = "1"


@dataclass(frozen=True, slots=True)
class Pair:
    """The two sides of a comparison, as files and reports call them."""

    baseline: Side
    tested: Side  # is it preferred to the baseline?
    cited: Side  # which of the two comes from the article's citation, with the score it was given

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.baseline, self.tested

    @property
    def choices(self) -> tuple[Choice, ...]:
        return *self.sides, *UNDECIDED


# The second is SIDE's control (Methods): is the one passage that stands for a source a good choice?
# The third compares whole answers, as Verif.ai's authors did for their models.
PAIRS: Mapping[Comparison, Pair] = {
    "citations": Pair("existing", "suggested", cited="existing"),
    "passages": Pair("random", "chosen", cited="chosen"),
    "answers": Pair("first", "other", cited="first"),
}


@dataclass(frozen=True, slots=True)
class Compared:
    """A claim with its citation's score and that of the citation that was suggested."""

    item: int
    score: float  # log-odds of support, of the verifier
    suggested_score: float | None = None  # None: nothing was suggested
    claim: str = ""
    system: str = ""  # answers: which one is compared with the first


@dataclass(frozen=True, slots=True)
class Rating:
    """One rater's answer about one item."""

    item: int
    rater: int
    choice: Choice
    evidence: Mapping[Side, Amount]  # without what was not answered
    first: Side  # which of the two was shown as A
    seconds: float  # the item was visible


@dataclass(frozen=True, slots=True)
class _Votes:
    """The items that have enough ratings, and all ratings by item."""

    pair: Pair
    items: Sequence[Compared]
    ratings: Mapping[int, Sequence[Rating]]
    majorities: Mapping[int, Choice | None]  # of `items`

    def preferences(self, items: Iterable[Compared]) -> Counter[Choice | None]:
        return Counter(self.majorities[item.item] for item in items)

    def evidence(self, items: Iterable[Compared], side: Side) -> Counter[Amount | None]:
        ratings = (self.ratings[item.item] for item in items)
        return Counter(agreement.majority(_amounts(votes, side)) for votes in ratings)


def summary(
    items: Sequence[Compared],
    ratings: Sequence[Rating],
    per_item: int,
    compare: Comparison = "citations",
) -> dict[str, Any]:
    """Everything as JSON values; shares with 95 % Wilson intervals, numbers to four digits.

    A majority is more than half of an item's answers. Majorities and Fleiss' κ are taken over the
    items that have at least `per_item` ratings: κ over the first `per_item` of each. The items are
    all of the study, and the ratings in the order in which they were given.
    """
    pair = PAIRS[compare]
    by_item: dict[int, list[Rating]] = defaultdict(list)
    for rating in ratings:
        by_item[rating.item].append(rating)
    full = [item for item in items if len(by_item[item.item]) >= per_item]
    majorities = {item.item: agreement.majority(_choices(by_item[item.item])) for item in full}
    votes = _Votes(pair, full, by_item, majorities)
    choices, decided = Counter(_choices(ratings)), votes.preferences(full)
    systems = dict.fromkeys(item.system for item in items if item.system)
    of_system = {name: [item for item in full if item.system == name] for name in systems}
    return {
        "schema_version": SCHEMA_VERSION,
        "per_item": per_item,
        "counts": {
            "items": len(items),
            "items_with_enough_ratings": len(full),
            "raters": len({rating.rater for rating in ratings}),
            "ratings": len(ratings),
        },
        "preferences": _shares(choices, pair.choices),
        "majorities": _shares(decided, (*pair.choices, None)),
        "evidence": {
            side: {
                "ratings": _shares(Counter(_amounts(ratings, side)), AMOUNTS),
                "majorities": _shares(votes.evidence(full, side), (*AMOUNTS, None)),
            }
            for side in pair.sides
        },
        "sign_test": {"majorities": _test(decided, pair), "ratings": _test(choices, pair)},
        "systems": {name: _test(votes.preferences(its), pair) for name, its in of_system.items()},
        "agreement": _agreement(votes, per_item),
        "buckets": _buckets_by_score(votes),
        "sides": _sides(ratings),
        "seconds": _seconds(ratings),
        "disputed": _disputed_items(votes),
    }


def _choices(ratings: Iterable[Rating]) -> list[Choice]:
    return [rating.choice for rating in ratings]


def _amounts(ratings: Iterable[Rating], side: Side) -> list[Amount]:
    return [rating.evidence[side] for rating in ratings if side in rating.evidence]


def _shares(counts: Mapping[Any, int], answers: Iterable[str | None]) -> dict[str, Any]:
    """The count and share of each answer in all that are counted; None is no majority."""
    total = sum(counts.values())
    return {answer or NO_MAJORITY: _share(counts[answer], total) for answer in answers}


def _share(n: int, total: int) -> dict[str, Any]:
    share = round(n / total, 4) if total else None
    return {"n": n, "share": share, "interval": agreement.wilson(n, total)}


def _test(counts: Mapping[Any, int], pair: Pair) -> dict[str, Any]:
    """Who wins, of those that preferred one of the two."""
    n_for, n_against = counts[pair.tested], counts[pair.baseline]
    return {
        pair.tested: n_for,
        pair.baseline: n_against,
        f"share_{pair.tested}": _share(n_for, n_for + n_against),
        "p": agreement.sign_test(n_for, n_against),
    }


def _agreement(votes: _Votes, per_item: int) -> dict[str, dict[str, float | None]]:
    pair, every = votes.pair, votes.ratings.values()
    first = [votes.ratings[item.item][:per_item] for item in votes.items]
    by_question: dict[str, dict[str, float | None]] = {
        "preference": {
            "fleiss_kappa": agreement.fleiss_kappa(list(map(_choices, first)), pair.choices),
            "krippendorff_alpha": agreement.krippendorff_alpha(
                list(map(_choices, every)), pair.choices, "nominal"
            ),
        }
    }
    for side in pair.sides:
        answered = [_amounts(ratings, side) for ratings in first]
        complete = [amounts for amounts in answered if len(amounts) == per_item]
        by_question[f"evidence_{side}"] = {
            "fleiss_kappa": agreement.fleiss_kappa(complete, AMOUNTS),
            "krippendorff_alpha": agreement.krippendorff_alpha(
                [_amounts(ratings, side) for ratings in every], AMOUNTS, "ordinal"
            ),
        }
    return by_question


def _buckets_by_score(votes: _Votes) -> dict[str, list[dict[str, Any]]]:
    pair, scores = votes.pair, [(item, item.score) for item in votes.items]
    by_score = {f"{pair.cited}_score": _buckets(votes, scores, SCORE_EDGES)}
    if "suggested" in pair.sides:
        above = [
            (item, item.suggested_score - item.score)
            for item in votes.items
            if item.suggested_score is not None
        ]
        by_score["difference"] = _buckets(votes, above, DIFFERENCE_EDGES)
    return by_score


def _buckets(
    votes: _Votes, scored: Sequence[tuple[Compared, float]], edges: Sequence[float]
) -> list[dict[str, Any]]:
    """Items by a score, lowest first: `from` belongs to its bucket, `to` to the next one."""
    pair, buckets = votes.pair, []
    for low, high in pairwise((None, *edges, None)):
        inside = [
            item
            for item, score in scored
            if (low is None or score >= low) and (high is None or score < high)
        ]
        evidence = votes.evidence(inside, pair.cited)
        buckets.append(
            {
                "from": low,
                "to": high,
                "items": len(inside),
                "majorities": _shares(votes.preferences(inside), (*pair.choices, None)),
                f"evidence_{pair.cited}": _shares(evidence, (*AMOUNTS, None)),
            }
        )
    return buckets


def _sides(ratings: Sequence[Rating]) -> dict[str, Any]:
    """Whether raters favoured the side that stood first, whatever stood there."""
    decided = [rating for rating in ratings if rating.choice not in UNDECIDED]
    n_first = sum(rating.choice == rating.first for rating in decided)
    n_second = len(decided) - n_first
    return {"a": n_first, "b": n_second, "p": agreement.sign_test(n_first, n_second)}


def _seconds(ratings: Sequence[Rating]) -> dict[str, float | None]:
    """Quartiles of the time that an item was visible to a rater."""
    if not ratings:
        return {"median": None, "lower_quartile": None, "upper_quartile": None}
    quartiles = np.quantile([rating.seconds for rating in ratings], (0.25, 0.5, 0.75))
    low, middle, high = (round(float(seconds), 1) for seconds in quartiles)
    return {"median": middle, "lower_quartile": low, "upper_quartile": high}


def _disputed_items(votes: _Votes) -> list[dict[str, Any]]:
    return [
        {
            "item": item.item,
            "claim": item.claim,
            "votes": dict(sorted(Counter(_choices(votes.ratings[item.item])).items())),
        }
        for item in votes.items
        if votes.majorities[item.item] is None
    ]
