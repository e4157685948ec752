"""RM3 by hand-computed numbers."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.retrieval.relevance_feedback import Feedback, rm3
from pincite.types import Hit, Passage, Span


def hit(text: str, score: float, rank: int = 1) -> Hit:
    return Hit(Passage(f"d{rank}", "http://a", "", text, Span(0, len(text))), score, rank)


def stems(words: Sequence[str]) -> list[tuple[str, float]]:
    """ "bridges" is "bridge", and "town" stands everywhere."""
    return [(word.removesuffix("s"), 0.01 if word == "town" else 1.0) for word in words]


def weights(query: object) -> dict[str, float]:
    assert isinstance(query, tuple)
    return dict(query)


def test_the_relevance_model_by_hand() -> None:
    hits = [hit("Holm bridges", 3.0), hit("bridge mill mill mill", 1.0, 2)]
    # P(w|R): holm 3/4·1/2, bridge 3/4·1/2 + 1/4·1/4, mill 1/4·3/4; own words 2; (1-0.6)/0.6 = 2/3.
    found = weights(rm3("Holm opened", hits, stems, Feedback(10, 2, 0.6)))
    holm, bridge = 3 / 8, 3 / 8 + 1 / 16
    assert found["Holm opened"] == 1.0
    assert found["bridges"] == pytest.approx(2 * 2 / 3 * bridge / (holm + bridge))
    assert found["holm"] == pytest.approx(2 * 2 / 3 * holm / (holm + bridge))
    assert len(found) == 3


def test_common_words_and_function_words_are_not_chosen() -> None:
    hits = [hit("The town of the town and the town has a mill in 1911", 1.0)]
    found = weights(rm3("holm", hits, stems, Feedback(10, 2, 0.5)))
    assert set(found) == {"holm", "mill", "1911"}


def test_weights_of_the_query_stay_and_set_the_scale() -> None:
    query = (("Holm bridge", 1.0), ("old mills", 0.5))
    found = weights(rm3(query, [hit("ferry", 1.0)], stems, Feedback(original=0.5)))
    assert found == {**dict(query), "ferry": pytest.approx(3.0)}


def test_only_the_first_passages_count() -> None:
    hits = [hit("mill", 2.0), hit("ferry", 1.0, 2)]
    assert "ferry" not in weights(rm3("holm", hits, stems, Feedback(passages=1)))


@pytest.mark.parametrize("hits", [[], [hit("", 1.0)], [hit("mill", 0.0)]])
def test_without_words_the_query_stays(hits: list[Hit]) -> None:
    for query in ("Holm", (("Holm", 1.0),)):
        found = rm3(query, hits, stems)
        assert found in (query, (("Holm", 1.0),))


def test_words_that_the_index_does_not_know_are_left_out() -> None:
    nothing = rm3("holm", [hit("mill", 1.0)], lambda words: [("", 0.0) for _ in words])
    assert nothing == (("holm", 1.0),)


@given(
    st.lists(st.tuples(st.text(max_size=40), st.floats(0.1, 50)), max_size=5),
    st.integers(1, 6),
    st.floats(0.1, 1.0),
)
def test_it_adds_at_most_so_many_words_of_the_right_sum(
    found: list[tuple[str, float]], n: int, original: float
) -> None:
    hits = [hit(text, score, rank) for rank, (text, score) in enumerate(found, 1)]
    query = weights(rm3((("Holm bridge", 2.0),), hits, stems, Feedback(10, n, original)))
    added = [weight for text, weight in query.items() if text != "Holm bridge"]
    assert len(added) <= n
    assert all(weight > 0 for weight in added)
    if added:
        assert sum(added) == pytest.approx(4 * (1 - original) / original)
