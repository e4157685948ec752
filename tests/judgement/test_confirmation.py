"""EvidenceSeeker's formulas by hand-computed numbers, and what they leave out."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.judgement import confirmation
from pincite.judgement.confirmation import (
    Outcome,
    Unjudged,
    Weighed,
    combine,
    degree,
    from_answers,
    level,
)
from pincite.judgement.provenance import Source
from pincite.types import Passage, Span

PASSAGE = Passage.alone("Text.")


def stating(text: str, quote: str, title: str = "") -> Weighed:
    passage = replace(Passage.alone(text), title=title)
    return Weighed(from_answers(passage, 0.9, 0.0, Span(0, len(quote))))


def item(doc: float | None, text_id: int, published: str | None = None) -> Weighed:
    passage = replace(PASSAGE, doc_id=f"d{text_id}")
    if doc is None:
        return Weighed(Unjudged("reply", "no answer", passage), text_id, "failed", published)
    outcome = from_answers(passage, max(doc, 0), max(-doc, 0))
    return Weighed(outcome, text_id, confirmation.side(doc), published)


def items(*degrees: float | None) -> list[Weighed]:
    return [item(doc, n) for n, doc in enumerate(degrees)]


@each_row("judgement/confirmation/levels_have_the_seeds_bounds")
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
    """P(A1 | I, D) and P(A1 | non-I, D) of four documents, by hand: (0.93 + 0.55 - 0.40) / 3."""
    pairs = [(0.95, 0.02), (0.70, 0.15), (0.40, 0.25), (0.05, 0.45)]
    degrees = [degree(from_answers(PASSAGE, i, non_i)) for i, non_i in pairs]
    assert degrees == [0.93, 0.55, 0.15, -0.4]
    weight = combine(items(*degrees))
    assert (weight.doc, weight.outcome) == (0.36, Outcome.WEAK_CONFIRMATION)
    assert (weight.n_texts, weight.n_silent, weight.n_failed) == (3, 1, 0)
    assert math.isclose(weight.variance or 0, (0.57**2 + 0.19**2 + 0.76**2) / 3)


def test_a_degree_of_just_the_threshold_is_silent() -> None:
    """0.9 - 0.7 is more than 0.2 in binary."""
    weight = combine(items(degree(from_answers(PASSAGE, 0.9, 0.7))))
    assert (weight.outcome, weight.doc, weight.n_silent) == (Outcome.NO_EVIDENCE, None, 1)


def test_nothing_failure_and_balance_are_three_results() -> None:
    outcomes = [combine(items(*d)).outcome for d in ((), (0.1,), (None,), (0.8, -0.8))]
    assert outcomes == ["no_evidence", "no_evidence", "failed", "balanced"]
    assert combine(items(0.1, None)).outcome is Outcome.FAILED, "it may have spoken"
    partial = combine(items(0.9, None))
    assert (partial.outcome, partial.n_failed) == (Outcome.CONFIRMATION, 1)


def test_a_text_counts_once_with_what_it_says_most() -> None:
    found = [item(0.9, 0), item(0.5, 0), item(-0.3, 1)]
    once, each = combine(found), combine(found, count_copies=True)
    assert (once.doc, once.n_texts) == (0.3, 2)
    assert (each.doc, each.n_texts) == (round(1.1 / 3, 9), 3)


def test_a_strong_contradiction_is_never_averaged_out_of_sight() -> None:
    assert combine(items(0.9, 0.9, 0.9, -0.7)).contradictions == (3,)
    assert combine(items(0.9, 0.9, -0.6)).contradictions == ()
    assert combine(items(-0.9, -0.9, 0.61)).contradictions == (2,)
    assert combine(items(0.7, -0.7)).contradictions == (0, 1)
    of_one_document = combine([item(0.9, 0), item(-0.8, 0)])
    assert (of_one_document.outcome, of_one_document.contradictions) == (Outcome.BALANCED, (0, 1))
    weakly = combine([item(0.9, 0), item(-0.4, 0)])
    assert (weakly.outcome, weakly.doc) == (Outcome.BALANCED, 0.0)


def test_a_sentence_that_overlapping_passages_quote_is_shown_once() -> None:
    def quoting(doc_id: str, start: int, quote: int, support: float) -> Weighed:
        passage = Passage(doc_id, "", "", "It rained. It burnt.", Span(start, start + 20))
        outcome = from_answers(passage, support, 0.0, Span(quote, quote + 9))
        return Weighed(outcome, 0, "for")

    found = [
        quoting("a", 0, 11, 0.6),
        quoting("a", 11, 0, 0.9),  # the same sentence, in the next passage
        quoting("a", 0, 0, 0.5),
        quoting("b", 0, 11, 0.7),
    ]
    assert confirmation.sides(found) == ([1, 3, 2], [])


@given(st.lists(st.floats(-1, 1), max_size=9))
def test_the_mean_lies_between_and_turns_with_the_sign(degrees: Sequence[float]) -> None:
    weight = combine(items(*degrees))
    turned = combine(items(*(-doc for doc in degrees)))
    assert weight.n_texts + weight.n_silent == len(degrees)
    if weight.doc is None:
        assert turned.doc is None
        return
    assert turned.doc == -weight.doc
    assert min(degrees) - 1e-9 <= weight.doc <= max(degrees) + 1e-9
    levels = [
        str(each.outcome).replace("dis", "").replace("strong_", "") for each in (weight, turned)
    ]
    assert levels[0] == levels[1], "only confirmation needs more than one document to be strong"


def test_one_document_confirms_strongly_only_in_the_words_of_the_reading() -> None:
    for degrees, capped, outcome in (
        ((0.9,), True, Outcome.CONFIRMATION),
        ((0.9, 0.9), False, Outcome.STRONG_CONFIRMATION),
        ((-0.9,), True, Outcome.DISCONFIRMATION),
        ((-0.9, -0.9), False, Outcome.STRONG_DISCONFIRMATION),
        ((), False, Outcome.NO_EVIDENCE),
    ):
        weight = combine(items(*degrees))
        assert (weight.is_capped, weight.outcome) == (capped, outcome)
    assert combine(items(0.9), count_copies=True).outcome is Outcome.STRONG_CONFIRMATION
    found = [stating("The mill closed in 1934.", "The mill closed in 1934.")]
    for reading, outcome in (
        ("In 1934 the mill closed.", Outcome.STRONG_CONFIRMATION),
        ("In 1935 the mill closed.", Outcome.CONFIRMATION),
        ("The mill did not close in 1934.", Outcome.CONFIRMATION),
        ("The mill at Varde closed for good in 1934.", Outcome.CONFIRMATION),
    ):
        assert combine(found, reading=reading).outcome is outcome
    title = "The mill closed in 1934."
    headline = [stating(f"{title}\nIt reopened a year later.", title, title)]
    assert combine(headline, reading=title).outcome is Outcome.CONFIRMATION


@pytest.mark.parametrize("source", [Source(own=True), Source(speaker="the mayor")])
def test_only_independent_documents_confirm_strongly(source: Source) -> None:
    found = items(0.9, 0.9)
    mixed = [found[0], replace(found[1], source=source)]
    assert combine(mixed, reading="The mill closed.").outcome is Outcome.CONFIRMATION


def test_a_model_refutes_nothing_by_a_scan() -> None:
    scan = replace(PASSAGE, recognised=97)
    assert degree(from_answers(PASSAGE, 0.1, 0.9)) < 0 <= degree(from_answers(scan, 0.1, 0.9))
    assert degree(from_answers(scan, 0.9, 0.1)) > 0.7


def test_neutral_documents_are_sorted_by_nearness() -> None:
    reading = "The Tarn yard doubled its noise."
    texts = ("Rain fell on the pier.", "The noise of the Tarn yard rose by a tenth.")
    found = [
        Weighed(from_answers(replace(Passage.alone(text), doc_id=f"d{n}"), 0.1, 0.1), n)
        for n, text in enumerate(texts)
    ]
    assert confirmation.nearest(reading, found) == [1, 0]
    assert confirmation.nearest(reading, items(0.9, 0.0)) == [1]
