"""A study of raters who are scripts: the report finds what was planted in them.

Each has a preference that is known and errs at a known rate; the numbers are counted a second time
by formulas of the tests' own.
"""

import random
from collections import Counter, defaultdict
from typing import Any, TypeAlias

import pytest
from study_samples import item

from pincite_server.database import Database
from pincite_study.blinding import blind
from pincite_study.preferences import Amount
from pincite_study.rating import ANSWERS, Answer, Answered, RatingStore, Task
from pincite_study.report import report_of
from pincite_study.studies import Plan, StudyStore

N_ITEMS, N_RATERS, PER_ITEM = 24, 8, 3
NOISE = 0.15  # of the answers are any of the five
# What is true of an item, by the verifier's score of its citation: low scores, better suggestions.
PLANTED = {-5.0: "suggested", -3.0: "suggested", -1.0: "existing", -0.5: "neither"}


def truth(number: int) -> tuple[float, str]:
    score = list(PLANTED)[number % len(PLANTED)]
    return score, PLANTED[score]


def answer_of(task: Task, chance: random.Random) -> Answer:
    """Reads the two sides as a person would, who knows what to look for."""
    if chance.random() < NOISE:
        return chance.choice(ANSWERS)
    wanted = truth(int(task.item.claim.split()[3]))[1]
    if wanted == "neither":
        return "neither"
    seen = blind(task.item, task.baseline_first)
    in_a = {"existing": "oldsite", "suggested": "newsite"}[wanted] in seen.a.passage.mark
    return "a" if in_a else "b"


Rated: TypeAlias = tuple[dict[str, Any], dict[int, list[str]]]


@pytest.fixture
def report(database: Database) -> Rated:
    """The report, and each item's choices in the order in which they were made."""
    items = [item(n, truth(n)[0]) for n in range(1, N_ITEMS + 1)]
    store, ratings = StudyStore(database), RatingStore(database)
    made = store.create("local", Plan("Planted", per_item=PER_ITEM, seed=11), items)
    chance = random.Random(5)
    waiting = [ratings.join(made.study_id)[0] for _ in range(N_RATERS)]
    while waiting:  # in turns, as people come and go
        rater = chance.choice(waiting)
        task = ratings.next(rater)
        if task is None:
            ratings.finish(rater)
            waiting.remove(rater)
            continue
        side = answer_of(task, chance)
        amounts: list[Amount] = ["enough" if side == each else "none" for each in ("a", "b")]
        ratings.answer(rater, task.position, Answered(side, *amounts), 0.0)
    votes: dict[int, list[str]] = defaultdict(list)
    for line in store.ratings(made.study_id):
        votes[line.item].append(line.choice)
    return report_of(store, made), votes


def test_the_report_finds_what_was_planted(report: Rated) -> None:
    found, votes = report
    assert {len(each) for each in votes.values()} == {PER_ITEM}
    assert found["counts"]["ratings"] == N_ITEMS * PER_ITEM
    right = sum(
        Counter(each).most_common(1)[0] == (truth(n)[1], k)
        for n, each in votes.items()
        for k in (2, 3)
    )
    assert right >= 0.85 * N_ITEMS
    low, high = found["sign_test"]["majorities"]["share_suggested"]["interval"]
    assert low <= 2 / 3 <= high  # twelve items prefer the suggestion, six the citation
    buckets = {bucket["from"]: bucket for bucket in found["buckets"]["existing_score"]}
    low_ones = [buckets[start]["majorities"]["suggested"]["n"] for start in (None, -4.0)]
    assert sum(low_ones) >= 9  # of twelve below -2; each is decided as planted with 0.96
    assert buckets[-2.0]["majorities"]["suggested"]["share"] <= 0.2
    assert found["agreement"]["preference"]["fleiss_kappa"] > 0.4
    p = found["sides"]["p"]
    assert p is None or p > 0.01  # nobody favours a side
