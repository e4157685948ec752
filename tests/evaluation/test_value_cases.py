"""The sets of values in other forms are whole; what they measure is in `tools/gate_values.py`."""

from collections import Counter

import gate_values
import pytest

PAIRS = {half: gate_values.read_pairs(half) for half in gate_values.HALVES}
REWRITES = {half: gate_values.read_rewrites(half) for half in gate_values.HALVES}
OF_KIND = {"number": 30, "date": 25, "unit": 20, "name": 25}


@pytest.mark.parametrize("half", gate_values.HALVES)
def test_each_half_has_as_many_equal_pairs_as_unequal_ones_of_each_kind(half: str) -> None:
    counts = Counter((pair.kind, pair.equal) for pair in PAIRS[half])
    assert counts == {(kind, same): n for kind, n in OF_KIND.items() for same in (True, False)}


@pytest.mark.parametrize("half", gate_values.HALVES)
def test_a_claim_has_one_source_that_states_its_value_and_one_that_does_not(half: str) -> None:
    answers = Counter((pair.claim, pair.value, pair.equal) for pair in PAIRS[half])
    assert set(answers.values()) == {1}
    assert {(claim, value, not same) for claim, value, same in answers} == set(answers)


def test_ids_are_unique() -> None:
    rows = [row for sets in (PAIRS, REWRITES) for half in gate_values.HALVES for row in sets[half]]
    assert len({row.id for row in rows}) == len(rows) == 2 * (200 + 150)


@pytest.mark.parametrize("half", gate_values.HALVES)
def test_the_value_stands_once_in_its_claim(half: str) -> None:
    assert [pair.id for pair in PAIRS[half] if pair.claim.count(pair.value) != 1] == []


@pytest.mark.parametrize("half", gate_values.HALVES)
def test_passages_of_rewrites_have_60_to_150_words(half: str) -> None:
    lengths = [len(source.split()) for source in {row.source for row in REWRITES[half]}]
    assert len(lengths) == 30
    assert 60 <= min(lengths) <= max(lengths) <= 150


@pytest.mark.parametrize("half", gate_values.HALVES)
def test_a_rewrite_differs_from_its_claim_and_says_how(half: str) -> None:
    same = [row.id for row in REWRITES[half] if row.rewrite.lower() == row.claim.lower()]
    assert same == []
    assert all(row.how for row in REWRITES[half])


def test_the_halves_share_no_sentence() -> None:
    of_half = [
        {text for pair in PAIRS[half] for text in (pair.claim, pair.source)}
        | {text for row in REWRITES[half] for text in (row.source, row.claim, row.rewrite)}
        for half in gate_values.HALVES
    ]
    assert not of_half[0] & of_half[1]


def test_a_value_counts_as_stated_unless_what_is_missing_overlaps_it() -> None:
    assert gate_values.says_same("It has 12 bells and 3 doors.", "12 bells", "It has 12 bells.")
    assert not gate_values.says_same("It has 12 bells.", "12", "It has 15 bells.")
    assert not gate_values.says_same("It was Fennimore's.", "Fennimore", "It was Harlow's.")
