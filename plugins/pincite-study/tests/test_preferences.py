"""What a study's report counts, by hand."""

import pytest

from pincite_study.preferences import PAIRS, Amount, Choice, Compared, Rating, Side, summary

CHOICES = PAIRS["citations"].choices
ITEMS = [Compared(1, -5.0, 1.0), Compared(2, -0.5, 1.5), Compared(3, 2.0, 2.5), Compared(4, 0, 9)]


def rated(item: int, *choices: Choice, first: bool = True) -> list[Rating]:
    shown_first: Side = "existing" if first else "suggested"
    return [
        Rating(item, rater, choice, evidence(rater), shown_first, 10.0)
        for rater, choice in enumerate(choices, 1)
    ]


def evidence(rater: int) -> dict[Side, Amount]:
    return {"existing": "none", "suggested": "enough" if rater == 1 else "partial"}


RATINGS = [
    *rated(1, "suggested", "suggested", "existing"),
    *rated(2, "existing", "neither", "both", first=False),
    *rated(3, "suggested", "suggested", "suggested", first=False),
    *rated(4, "unsure"),
]


def test_everything_is_counted() -> None:
    found = summary(ITEMS, RATINGS, per_item=3)
    counts = {"items": 4, "items_with_enough_ratings": 3, "raters": 3, "ratings": 10}
    assert found["counts"] == counts
    assert [found["preferences"][c]["n"] for c in CHOICES] == [2, 5, 1, 1, 1]
    assert found["preferences"]["suggested"]["share"] == 0.5
    assert found["preferences"]["suggested"]["interval"] == [0.2366, 0.7634]
    majorities = {answer: each["n"] for answer, each in found["majorities"].items() if each["n"]}
    assert majorities == {"suggested": 2, "no_majority": 1}
    assert found["evidence"]["suggested"]["ratings"]["enough"]["n"] == 4
    assert found["evidence"]["suggested"]["majorities"]["partial"]["n"] == 3
    assert found["sign_test"]["majorities"] == {
        "suggested": 2,
        "existing": 0,
        "share_suggested": {"n": 2, "share": 1.0, "interval": [0.3424, 1.0]},
        "p": 0.5,
    }
    assert found["sign_test"]["ratings"]["p"] == pytest.approx(2 * (1 + 7 + 21) / 2**7, rel=1e-4)
    assert [each["item"] for each in found["disputed"]] == [2]
    assert found["disputed"][0]["votes"] == {"existing": 1, "neither": 1, "both": 1}
    # Of item 1 the suggestion stood second (b), of item 3 first (a), of item 2 the existing second.
    assert (found["sides"]["a"], found["sides"]["b"]) == (4, 3)
    assert found["seconds"] == {"median": 10.0, "lower_quartile": 10.0, "upper_quartile": 10.0}


def test_buckets_hold_every_item_that_has_enough_ratings_once() -> None:
    buckets = summary(ITEMS, RATINGS, per_item=3)["buckets"]
    assert [each["items"] for each in buckets["existing_score"]] == [1, 0, 1, 0, 1]
    assert buckets["existing_score"][0]["majorities"]["suggested"]["share"] == 1.0
    assert buckets["existing_score"][1]["majorities"]["suggested"]["share"] is None
    assert [each["items"] for each in buckets["difference"]] == [1, 0, 1, 0, 1]
    assert buckets["existing_score"][-1]["from"] == 2.0  # an edge belongs to what is above it
