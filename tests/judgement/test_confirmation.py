"""EvidenceSeeker's formulas by hand-computed numbers, and what they leave out."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.judgement import confirmation
from pincite.judgement.confirmation import (
    Outcome,
    Weighed,
    degree,
    from_answers,
    level,
    weighed_together,
)
from pincite.types import Failed, Passage, Span

PASSAGE = Passage("d", "https://d.example/", "", "Text.", Span(0, 5))


def item(doc: float | None, text_id: int, published: str | None = None) -> Weighed:
    passage = Passage(f"d{text_id}", f"https://{text_id}.example/", "", "Text.", Span(0, 5))
    failed = Failed("reply", "no answer")
    outcome = failed if doc is None else from_answers(passage, max(doc, 0), max(-doc, 0))
    return Weighed(passage, outcome, text_id, published)


def items(*degrees: float | None) -> list[Weighed]:
    return [item(doc, n) for n, doc in enumerate(degrees)]


@pytest.mark.parametrize(
    ("doc", "outcome"),
    [
        (1.0, "strong_confirmation"),
        (0.6000001, "strong_confirmation"),
        (0.6, "confirmation"),
        (0.4000001, "confirmation"),
        (0.4, "weak_confirmation"),
        (0.2000001, "weak_confirmation"),
        (0.2, "balanced"),
        (0.0, "balanced"),
        (-0.2, "balanced"),
        (-0.2000001, "weak_disconfirmation"),
        (-0.4, "weak_disconfirmation"),
        (-0.4000001, "disconfirmation"),
        (-0.6, "disconfirmation"),
        (-0.6000001, "strong_disconfirmation"),
        (-1.0, "strong_disconfirmation"),
    ],
)
def test_levels_have_the_seeds_bounds(doc: float, outcome: str) -> None:
    assert level(doc) == outcome


@given(st.floats(0, 1), st.floats(0, 1))
def test_two_answers_are_one_evidence_of_the_same_degree(i: float, non_i: float) -> None:
    found = from_answers(PASSAGE, i, non_i)
    probabilities = (found.prob_supported, found.prob_refuted, found.prob_neutral)
    assert all(0.0 <= each <= 1.0 for each in probabilities)
    assert math.isclose(sum(probabilities), 1.0)
    assert degree(found) == pytest.approx(i - non_i, abs=1e-9)
    if i + non_i < 1:
        assert (found.prob_supported, found.prob_refuted) == pytest.approx((i, non_i))


def test_a_worked_example() -> None:
    """P(A1 | I, D) and P(A1 | non-I, D) of four documents, by hand."""
    pairs = [(0.95, 0.02), (0.70, 0.15), (0.40, 0.25), (0.05, 0.45)]
    degrees = [degree(from_answers(PASSAGE, i, non_i)) for i, non_i in pairs]
    assert degrees == [0.93, 0.55, 0.15, -0.4]
    weight = weighed_together(items(*degrees))
    assert weight.doc == 0.36, "(0.93 + 0.55 - 0.40) / 3; 0.15 does not count"
    assert weight.outcome is Outcome.WEAK_CONFIRMATION
    assert (weight.n_texts, weight.n_silent, weight.n_failed) == (3, 1, 0)
    assert math.isclose(weight.variance or 0, (0.57**2 + 0.19**2 + 0.76**2) / 3)


@pytest.mark.parametrize("pair", [(0.9, 0.7), (0.6, 0.4), (0.3, 0.1), (0.7, 0.9)])
def test_a_degree_of_just_the_threshold_is_silent(pair: tuple[float, float]) -> None:
    """0.9 - 0.7 is more than 0.2 in binary."""
    weight = weighed_together(items(degree(from_answers(PASSAGE, *pair))))
    assert (weight.outcome, weight.doc, weight.n_silent) == (Outcome.NO_EVIDENCE, None, 1)


@pytest.mark.parametrize("bound", [0.4, 0.6])
def test_a_mean_on_a_bound_has_the_weaker_level(bound: float) -> None:
    """(0.3 + 0.5) / 2 and (0.3 + 0.9) / 2."""
    weight = weighed_together(items(0.3, 2 * bound - 0.3))
    assert weight.doc == bound
    assert weight.outcome == {0.4: "weak_confirmation", 0.6: "confirmation"}[bound]


def test_nothing_failure_and_balance_are_three_results() -> None:
    outcomes = [weighed_together(items(*d)).outcome for d in ((), (0.1,), (None,), (0.8, -0.8))]
    assert outcomes == ["no_evidence", "no_evidence", "failed", "balanced"]
    assert weighed_together(items(0.1, None)).outcome is Outcome.FAILED, "it may have spoken"
    partial = weighed_together(items(0.9, None))
    assert (partial.outcome, partial.n_failed) == (Outcome.STRONG_CONFIRMATION, 1)


def test_a_text_counts_once_with_what_it_says_most() -> None:
    found = [item(0.9, 0), item(0.5, 0), item(-0.3, 1)]
    once, each = weighed_together(found), weighed_together(found, each=True)
    assert (once.doc, once.n_texts) == (0.3, 2)
    assert (each.doc, each.n_texts) == (round(1.1 / 3, 9), 3)


def test_a_strong_contradiction_is_never_averaged_out_of_sight() -> None:
    assert weighed_together(items(0.9, 0.9, 0.9, -0.7)).contradictions == (3,)
    assert weighed_together(items(0.9, 0.9, -0.6)).contradictions == ()
    assert weighed_together(items(-0.9, -0.9, 0.61)).contradictions == (2,)
    assert weighed_together(items(0.7, -0.7)).contradictions == (0, 1)
    hidden = [item(0.9, 0), item(-0.8, 0)]
    both = weighed_together(hidden)
    assert (both.outcome, both.contradictions) == (Outcome.BALANCED, (0, 1)), "of one document too"


def test_another_threshold() -> None:
    assert weighed_together(items(0.3, 0.9), 0.5).doc == 0.9
    assert weighed_together(items(0.1), 0.0).outcome is Outcome.BALANCED


def test_the_interval_is_seeded_and_holds_the_mean() -> None:
    degrees = [0.3, 0.5, 0.9, -0.4, 0.8]
    low, high = confirmation.interval(degrees) or (0, 0)
    assert -0.4 <= low < sum(degrees) / 5 < high <= 0.9
    assert confirmation.interval(degrees) == (low, high)


def test_a_document_has_one_vote() -> None:
    spans = [("a", 0, 50), ("a", 40, 90), ("a", 100, 150), ("b", 0, 50), ("a", 149, 200)]
    passages = [Passage(doc, doc, "", "", Span(a, b)) for doc, a, b in spans]
    assert confirmation.text_ids(passages) == [0, 0, 0, 3, 0]
    assert confirmation.text_ids([]) == []


def test_as_of_a_date() -> None:
    found = [item(0.9, 0, "2015-03-01"), item(-0.9, 1, "2021"), item(0.9, 2)]
    assert confirmation.as_of(found, "2015-02") == []
    assert confirmation.as_of(found, "2021-06") == found[:2], "2021 may be before June"
    years = confirmation.by_year(found)
    assert [(year, weight.outcome) for year, weight in years] == [
        ("2015", "strong_confirmation"),
        ("2021", "balanced"),
    ]
    assert confirmation.by_year(found[:1]) == ()


def test_for_and_against() -> None:
    assert confirmation.sides(items(0.3, -0.5, 0.9, 0.1, None, -0.9)) == ([2, 0], [5, 1])


def test_a_sentence_that_overlapping_passages_quote_is_shown_once() -> None:
    def quoting(doc_id: str, start: int, quote: int, support: float) -> Weighed:
        passage = Passage(doc_id, "", "", "It rained. It burnt.", Span(start, start + 20))
        outcome = from_answers(passage, support, 0.0, Span(quote, quote + 9))
        return Weighed(passage, outcome, 0)

    found = [
        quoting("a", 0, 11, 0.6),
        quoting("a", 11, 0, 0.9),  # the same sentence, in the next passage
        quoting("a", 0, 0, 0.5),
        quoting("b", 0, 11, 0.7),
    ]
    assert confirmation.sides(found) == ([1, 3, 2], [])


@given(st.lists(st.floats(-1, 1), max_size=9))
def test_the_mean_lies_between_and_turns_with_the_sign(degrees: Sequence[float]) -> None:
    weight = weighed_together(items(*degrees))
    turned = weighed_together(items(*(-doc for doc in degrees)))
    assert weight.n_texts + weight.n_silent == len(degrees)
    if weight.doc is None:
        assert turned.doc is None
        return
    assert turned.doc == -weight.doc
    assert min(degrees) - 1e-9 <= weight.doc <= max(degrees) + 1e-9
    assert str(turned.outcome).replace("dis", "") == str(weight.outcome).replace("dis", "")
