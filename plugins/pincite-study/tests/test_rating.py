"""Items go round evenly, once to each rater, also when many ask at once; on both databases."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from study_samples import study

from pincite_server.database import Database
from pincite_study import rating
from pincite_study.rating import Answered, Ended, Full, Rater, RatingStore
from pincite_study.studies import StudyStore
from pincite_study.tables import study_raters


@pytest.fixture
def studies(database: Database) -> StudyStore:
    return StudyStore(database)


@pytest.fixture
def ratings(database: Database) -> RatingStore:
    return RatingStore(database)


def rate_all(ratings: RatingStore, rater: Rater, answer: rating.Answer = "a") -> list[int]:
    """Answer whatever comes; the items' numbers."""
    found = []
    while task := ratings.next(rater):
        found.append(task.number)
        assert ratings.answer(rater, task.position, Answered(answer, "enough", "none"), 1.0)
    return found


def test_each_item_gets_its_ratings_and_no_rater_an_item_twice(
    studies: StudyStore, ratings: RatingStore
) -> None:
    made = study(studies, n=5, per_item=3)
    raters = [ratings.join(made.study_id)[0] for _ in range(4)]
    items = [rate_all(ratings, rater) for rater in raters]
    assert [len(set(each)) for each in items] == [len(each) for each in items] == [5, 5, 5, 0]
    assert len({tuple(each) for each in items[:3]}) > 1  # in an order of one's own
    given = studies.ratings(made.study_id)
    assert Counter(each.item for each in given) == dict.fromkeys(range(1, 6), 3)
    assert studies.get(made.study_id) == studies.of_token(made.token or "")
    (found,) = studies.newest(None, 9)
    assert (found.n_items, found.n_raters, found.n_ratings, found.wanted) == (5, 4, 15, 15)


def test_the_item_rated_least_comes_first(studies: StudyStore, ratings: RatingStore) -> None:
    made = study(studies, n=6, per_item=2)
    one, two = (ratings.join(made.study_id)[0] for _ in range(2))
    first = []
    for _ in range(3):
        task = ratings.next(one)
        assert task
        first.append(task.number)
        ratings.answer(one, task.position, Answered("a"), None)
    assert set(rate_all(ratings, two)[:3]) == set(range(1, 7)) - set(first)


def test_many_at_once_get_every_place_once(studies: StudyStore, ratings: RatingStore) -> None:
    made = study(studies, n=6, per_item=3)

    def take_part(_: int) -> list[int]:
        return rate_all(ratings, ratings.join(made.study_id)[0])

    with ThreadPoolExecutor(8) as pool:
        items = [number for found in pool.map(take_part, range(8)) for number in found]
    assert Counter(items) == dict.fromkeys(range(1, 7), 3)
    pairs = [(each.rater, each.item) for each in studies.ratings(made.study_id)]
    assert len(set(pairs)) == len(pairs) == 18


def test_a_place_is_kept_while_somebody_looks_and_then_given_on(
    studies: StudyStore, ratings: RatingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = study(studies, n=1, per_item=1)
    slow, quick = (ratings.join(made.study_id)[0] for _ in range(2))
    assert ratings.next(slow)
    assert ratings.next(quick) is None
    monkeypatch.setattr(rating, "LEASE_SECONDS", -1.0)
    assert ratings.at(slow, 1)  # what was opened then is given up by now
    monkeypatch.setattr(rating, "LEASE_SECONDS", 1800.0)
    assert rate_all(ratings, quick) == [1]
    assert rate_all(ratings, slow) == [1]  # who comes back may still answer


def test_sides_are_random_by_the_seed_and_kept(studies: StudyStore, ratings: RatingStore) -> None:
    def sides(seed: int) -> dict[tuple[int, int], bool]:
        made = study(studies, n=20, per_item=3, seed=seed)
        for _ in range(3):
            rate_all(ratings, ratings.join(made.study_id)[0])
        return {(g.rater, g.item): g.baseline_first for g in studies.ratings(made.study_id)}

    one = sides(7)
    assert one == sides(7) != sides(8)
    assert 15 <= sum(one.values()) <= 45  # of 60; a fair coin leaves this once in 10,000 times


def test_answers_can_be_changed_until_the_end(studies: StudyStore, ratings: RatingStore) -> None:
    made = study(studies, n=2)
    rater, _ = ratings.join(made.study_id)
    assert ratings.next(rater)
    assert ratings.answer(rater, 1, Answered("a", "enough", "none"), None)
    assert ratings.next(rater)
    assert ratings.answer(rater, 1, Answered("neither", "none", "none"), None)
    assert not ratings.answer(rater, 7, Answered("a"), None)
    (given,) = studies.ratings(made.study_id)
    assert (given.answer, given.n_answers) == ("neither", 2)
    ratings.finish(rater)
    for act in (lambda: ratings.answer(rater, 1, Answered("a"), None), lambda: ratings.next(rater)):
        with pytest.raises(Ended):
            act()
    assert [task.said for task in ratings.tasks(rater)] == [Answered("neither", "none", "none")]


def test_what_was_open_at_the_end_is_given_on(studies: StudyStore, ratings: RatingStore) -> None:
    made = study(studies, n=1, per_item=1)
    one, two = (ratings.join(made.study_id)[0] for _ in range(2))
    assert ratings.next(one)
    ratings.finish(one)
    assert rate_all(ratings, two) == [1]


def test_time_is_what_was_visible_but_never_more_than_passed(
    studies: StudyStore, ratings: RatingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = study(studies, n=1)
    rater, _ = ratings.join(made.study_id)
    at = [0.0]
    monkeypatch.setattr(rating, "now", lambda: at[0])

    def seconds(shown: float, answered: float, visible: float | None) -> float:
        at[0] = shown
        assert ratings.next(rater) or ratings.at(rater, 1)
        at[0] = answered
        ratings.answer(rater, 1, Answered("a"), visible)
        return studies.ratings(made.study_id)[0].seconds

    assert seconds(100, 130, 12.5) == 12.5
    assert seconds(200, 210, 9999.0) == 22.5  # no more than the ten seconds that passed
    assert seconds(300, 305, None) == 27.5
    assert seconds(400, 90_000, None) == rating.MAX_SECONDS


def test_a_closed_study_takes_nothing(studies: StudyStore, ratings: RatingStore) -> None:
    made = study(studies, n=2)
    rater, _ = ratings.join(made.study_id)
    assert ratings.next(rater)
    studies.close(made.study_id)
    closed = studies.get(made.study_id)
    assert closed
    assert closed.closed
    studies.close(made.study_id)
    assert studies.get(made.study_id) == closed  # closed once
    with pytest.raises(Ended):
        ratings.answer(rater, 1, Answered("a"), None)
    with pytest.raises(Ended):
        ratings.join(made.study_id)


def test_an_account_is_one_rater_and_cannot_be_found_again_after_the_end(
    studies: StudyStore, ratings: RatingStore, database: Database
) -> None:
    made = study(studies, n=2)
    one, key = ratings.join(made.study_id, "account-1")
    again, new = ratings.join(made.study_id, "account-1")
    other, _ = ratings.join(made.study_id, "account-2")
    assert (one.number, again.number, other.number) == (1, 1, 2)
    assert ratings.rater(made.study_id, key) is None  # the newer browser took over
    assert ratings.rater(made.study_id, new) == one
    elsewhere = study(studies, n=2)
    assert ratings.rater(elsewhere.study_id, new) is None
    stored = str(database.rows(sa.select(study_raters)))
    assert "account-1" not in stored
    assert key not in stored
    studies.close(made.study_id)
    assert {row.account_hash for row in database.rows(sa.select(study_raters))} == {None}


def test_raters_are_deleted_with_everything(studies: StudyStore, ratings: RatingStore) -> None:
    made = study(studies, n=2, per_item=1)
    one, key = ratings.join(made.study_id)
    rate_all(ratings, one)
    ratings.forget(one)
    assert ratings.rater(made.study_id, key) is None
    assert studies.ratings(made.study_id) == []
    two, _ = ratings.join(made.study_id)
    assert sorted(rate_all(ratings, two)) == [1, 2]  # the places are free again
    assert studies.forget(made.study_id, two.number)
    assert not studies.forget(made.study_id, two.number)
    studies.delete(made.study_id)
    assert studies.get(made.study_id) is None


def test_only_so_many_join_by_a_link(
    studies: StudyStore, ratings: RatingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rating, "MAX_BY_LINK", 2)
    made = study(studies)
    first, _ = ratings.join(made.study_id)
    ratings.join(made.study_id)
    with pytest.raises(Full):
        ratings.join(made.study_id)
    known, _ = ratings.join(made.study_id, "an account")  # is told apart, and joins once
    assert ratings.join(made.study_id, "an account")[0].number == known.number
    ratings.forget(first)
    assert ratings.join(made.study_id)[0].number == 4
