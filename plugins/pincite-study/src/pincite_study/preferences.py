"""What raters of a blind study preferred, and how sure that is.

After the evaluation of SIDE (Petroni et al., "Improving Wikipedia verifiability with AI", Nature
Machine Intelligence 5 (2023), figures 3 and 4): preferences and majorities over items, bucketed by
the verifier's score, agreement between raters, a sign test. Pure functions over records.
"""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

from pincite_study import agreement
from pincite_study.agreement import wilson

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
        """Both."""
        return self.baseline, self.tested

    @property
    def choices(self) -> tuple[Choice, ...]:
        """What can be preferred."""
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

    @property
    def difference(self) -> float | None:
        """How far the suggestion is above the citation."""
        return None if self.suggested_score is None else self.suggested_score - self.score


@dataclass(frozen=True, slots=True)
class Rating:
    """One rater's answer about one item."""

    item: int
    rater: int
    choice: Choice
    evidence: Mapping[Side, Amount]  # without what was not answered
    first: Side  # which of the two was shown as A
    seconds: float  # the item was visible


def summary(
    items: Sequence[Compared],
    ratings: Sequence[Rating],
    per_item: int,
    compare: Comparison = "citations",
) -> dict[str, Any]:
    """Everything as JSON values; shares with 95 % Wilson intervals, numbers to four digits.

    A majority is more than half of an item's answers. Majorities and Fleiss' κ are taken over the
    items that have at least `per_item` ratings: κ over the first `per_item` of each.

    Args:
        items: of the study, also those that nobody rated.
        ratings: in the order in which they were given.
        per_item: ratings that an item was to get.
        compare: what was compared; the sides have its names (`PAIRS`).
    """
    pair = PAIRS[compare]
    votes = _by_item(ratings)
    full = [item for item in items if len(votes[item.item]) >= per_item]
    choices = Counter(rating.choice for rating in ratings)
    decided = {item.item: agreement.majority(_choices(votes[item.item])) for item in full}
    majorities = Counter(decided.values())
    return {
        "schema_version": SCHEMA_VERSION,
        "per_item": per_item,
        "counts": {
            "items": len(items),
            "items_with_enough_ratings": len(full),
            "raters": len({rating.rater for rating in ratings}),
            "ratings": len(ratings),
        },
        "preferences": {c: _share(choices[c], len(ratings)) for c in pair.choices},
        "majorities": {c: _share(majorities[c], len(full)) for c in pair.choices}
        | {NO_MAJORITY: _share(majorities[None], len(full))},
        "evidence": {side: _evidence(full, votes, ratings, side) for side in pair.sides},
        "sign_test": {"majorities": _test(majorities, pair), "ratings": _test(choices, pair)},
        "systems": {
            name: _test(Counter(decided[item.item] for item in full if item.system == name), pair)
            for name in dict.fromkeys(item.system for item in items if item.system)
        },
        "agreement": _agreement(full, votes, ratings, per_item, pair),
        "buckets": _every_bucket(full, votes, decided, pair),
        "sides": _sides(ratings),
        "seconds": _seconds(ratings),
        "disputed": _disputed_items(full, votes, decided),
    }


def _by_item(ratings: Iterable[Rating]) -> dict[int, list[Rating]]:
    found: dict[int, list[Rating]] = defaultdict(list)
    for rating in ratings:
        found[rating.item].append(rating)
    return found


def _choices(ratings: Iterable[Rating]) -> list[Choice]:
    return [rating.choice for rating in ratings]


def _amounts(ratings: Iterable[Rating], side: Side) -> list[Amount]:
    return [amount for rating in ratings if (amount := rating.evidence.get(side))]


def _share(n: int, total: int) -> dict[str, Any]:
    share = round(n / total, 4) if total else None
    return {"n": n, "share": share, "interval": wilson(n, total)}


def _evidence(
    full: Sequence[Compared],
    votes: Mapping[int, Sequence[Rating]],
    ratings: Sequence[Rating],
    side: Side,
) -> dict[str, Any]:
    said = Counter(_amounts(ratings, side))
    decided = Counter(agreement.majority(_amounts(votes[item.item], side)) for item in full)
    return {
        "ratings": {a: _share(said[a], said.total()) for a in AMOUNTS},
        "majorities": {a: _share(decided[a], len(full)) for a in AMOUNTS}
        | {NO_MAJORITY: _share(decided[None], len(full))},
    }


def _test(counts: Mapping[Any, int], pair: Pair) -> dict[str, Any]:
    """Who wins, of those that preferred one of the two."""
    n_for, n_against = counts[pair.tested], counts[pair.baseline]
    return {
        pair.tested: n_for,
        pair.baseline: n_against,
        f"share_{pair.tested}": _share(n_for, n_for + n_against),
        "p": agreement.sign_test(n_for, n_against),
    }


def _agreement(
    full: Sequence[Compared],
    votes: Mapping[int, Sequence[Rating]],
    ratings: Sequence[Rating],
    per_item: int,
    pair: Pair,
) -> dict[str, Any]:
    every = _by_item(ratings).values()
    first = [votes[item.item][:per_item] for item in full]
    found = {
        "preference": {
            "fleiss_kappa": agreement.fleiss_kappa([_choices(f) for f in first], pair.choices),
            "krippendorff_alpha": agreement.krippendorff_alpha(
                [_choices(each) for each in every], pair.choices, "nominal"
            ),
        }
    }
    for side in pair.sides:
        answered = [_amounts(each, side) for each in first]
        kappa = agreement.fleiss_kappa([a for a in answered if len(a) == per_item], AMOUNTS)
        alpha = agreement.krippendorff_alpha(
            [_amounts(each, side) for each in every], AMOUNTS, "ordinal"
        )
        found[f"evidence_{side}"] = {"fleiss_kappa": kappa, "krippendorff_alpha": alpha}
    return found


def _every_bucket(
    full: Sequence[Compared],
    votes: Mapping[int, Sequence[Rating]],
    decided: Mapping[int, Choice | None],
    pair: Pair,
) -> dict[str, list[dict[str, Any]]]:
    scores = [(item, item.score) for item in full]
    found = {f"{pair.cited}_score": _buckets(scores, SCORE_EDGES, votes, decided, pair)}
    if "suggested" in pair.sides:
        above = [(item, d) for item in full if (d := item.difference) is not None]
        found["difference"] = _buckets(above, DIFFERENCE_EDGES, votes, decided, pair)
    return found


def _buckets(
    scored: Sequence[tuple[Compared, float]],
    edges: Sequence[float],
    votes: Mapping[int, Sequence[Rating]],
    decided: Mapping[int, Choice | None],
    pair: Pair,
) -> list[dict[str, Any]]:
    """Items by a score, lowest first: `from` belongs to its bucket, `to` to the next one."""
    ends = [None, *edges, None]
    found = []
    for low, high in pairwise(ends):
        inside = [
            item
            for item, score in scored
            if (low is None or score >= low) and (high is None or score < high)
        ]
        majorities = Counter(decided[item.item] for item in inside)
        evidence = Counter(
            agreement.majority(_amounts(votes[item.item], pair.cited)) for item in inside
        )
        total = len(inside)
        found.append(
            {
                "from": low,
                "to": high,
                "items": total,
                "majorities": {c: _share(majorities[c], total) for c in pair.choices}
                | {NO_MAJORITY: _share(majorities[None], total)},
                f"evidence_{pair.cited}": {a: _share(evidence[a], total) for a in AMOUNTS}
                | {NO_MAJORITY: _share(evidence[None], total)},
            }
        )
    return found


def _sides(ratings: Sequence[Rating]) -> dict[str, Any]:
    """Whether raters favoured the side that stood first, whatever stood there."""
    one_of_both = [r for r in ratings if r.choice not in UNDECIDED]
    n_first = sum(r.choice == r.first for r in one_of_both)
    n_second = len(one_of_both) - n_first
    return {"a": n_first, "b": n_second, "p": agreement.sign_test(n_first, n_second)}


def _seconds(ratings: Sequence[Rating]) -> dict[str, float | None]:
    """Quartiles of the time that an item was visible to a rater."""
    times = sorted(rating.seconds for rating in ratings)
    if not times:
        return {"median": None, "lower_quartile": None, "upper_quartile": None}
    low, middle, high = (
        statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else times * 3
    )
    return {
        "median": round(middle, 1),
        "lower_quartile": round(low, 1),
        "upper_quartile": round(high, 1),
    }


def _disputed_items(
    full: Sequence[Compared],
    votes: Mapping[int, Sequence[Rating]],
    decided: Mapping[int, Choice | None],
) -> list[dict[str, Any]]:
    """The items without a majority, with what was answered."""
    return [
        {
            "item": item.item,
            "claim": item.claim,
            "votes": dict(sorted(Counter(_choices(votes[item.item])).items())),
        }
        for item in full
        if decided[item.item] is None
    ]
