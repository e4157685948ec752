"""Claims cut into clauses: what is cut, what stays whole, and what holds for every text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.text.clauses import MAX_CLAUSES, clauses


@each_row("text/clauses/cut")
def test_claims_are_cut_into_clauses(claim: str, texts: list[str]) -> None:
    assert [clause.text for clause in clauses(claim)] == texts


@each_row("text/clauses/whole")
def test_uncertain_sentences_stay_whole(claim: str) -> None:
    (found,) = clauses(claim)
    assert found.text == found.span.of(claim) == claim


def test_spans_leave_conjunctions_and_full_stops_out() -> None:
    claim = "Berg, who was born in Aalby, studied law in Lund."
    spans = ["Berg, who was born in Aalby", "studied law in Lund"]
    assert [clause.span.of(claim) for clause in clauses(claim)] == spans


def test_too_many_clauses_are_a_list_and_stay_together() -> None:
    claim = " ".join(f"It was closed in {year}." for year in range(1900, 1901 + MAX_CLAUSES))
    assert len(clauses(claim)) == 1


_WORDS = (
    "Holm the bridge it was were opened built and but , ; who which where while in by 1911 Varde "
    'a an ( ) “ ” " . later sold became has coal that had been closed given'
).split()


@given(st.lists(st.sampled_from(_WORDS), max_size=40).map(" ".join) | st.text(max_size=200))
def test_spans_are_ordered_and_apart_in_any_text(claim: str) -> None:
    found = clauses(claim)
    assert 1 <= len(found) <= MAX_CLAUSES
    end = 0
    for clause in found:
        assert end <= clause.span.start <= clause.span.end <= len(claim)
        end = clause.span.end
        assert clause.text.strip() or not claim.strip()
    if len(found) == 1:
        assert found[0].text == found[0].span.of(claim) == claim


@pytest.mark.parametrize(
    "unit", ["and ", ", and was ", "was ", "a, ", "(", '"', "; it was", ", who was ", "Holm was. "]
)
def test_hostile_texts_take_no_time(unit: str) -> None:
    for length in (1_400, 100_000):
        claim = (unit * length)[:length]
        started = time.process_time()
        clauses(claim)
        assert time.process_time() - started < 2  # milliseconds, on a busy machine too
