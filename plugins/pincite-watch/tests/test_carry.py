"""What a finding survives: any edit that leaves its sentence, reference and source alone."""

from collections import Counter
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.types import Citation, Claim, Document, Reason, Span, Unchecked
from pincite_watch.carry import context_hash, inputs_hash, match_hashes, source_hash, text_hash

KEYS = st.lists(st.sampled_from("abcdef"), max_size=12)
PAGE = Document("https://a.example/", "Weir", "The weir was built in 1911.")
CITED = Citation("r1", Span(10, 20), Span(10, 20), url="https://a.example/", pages="4")
CLAIM = Claim("0" * 12, "The weir dates from 1911.", "Weir", ("History",), citations=(CITED,))


def key(claim: Claim = CLAIM, page: Document | Unchecked = PAGE, verifier: str = "v1") -> str:
    return inputs_hash(context_hash(claim, (verifier, "")), source_hash([page]))


# Places in the article, and what no verdict is based on.
UNREAD = set("claim_id span sentence part mark after origin uncited_before".split())
VALUES: dict[str, Any] = {"own": Span(0, 3), "span": Span(0, 3), "part": Span(0, 3), "mark": (1, 2)}
VALUES |= {"citations": (), "earlier": (CITED,), "section": ("A",), "tags": ("dubious",)}
VALUES |= {"unread": ("as of",), "uncited_before": ("It rained.",)}


@pytest.mark.parametrize("name", [each.name for each in fields(Claim)])
def test_all_of_a_claim_that_its_verdict_may_depend_on_changes_the_hash(name: str) -> None:
    other = replace(CLAIM, **{name: VALUES.get(name, "other")})
    assert (key(other) == key()) is (name in UNREAD)


def test_the_texts_of_earlier_sources_change_the_inputs_but_not_the_context() -> None:
    context, page = context_hash(CLAIM, ()), source_hash([PAGE])
    assert inputs_hash(context, page, page) != inputs_hash(context, page, source_hash([]))


@given(KEYS, KEYS)
def test_every_finding_is_kept_or_withdrawn_and_every_claim_kept_or_new(
    held: list[str], claims: list[str]
) -> None:
    found = match_hashes(held, claims)
    assert sorted([*(f for f, _ in found.kept), *found.withdrawn]) == list(range(len(held)))
    assert sorted([*(c for _, c in found.kept), *found.new]) == list(range(len(claims)))
    assert all(held[f] == claims[c] for f, c in found.kept)
    assert len(found.kept) == (Counter(held) & Counter(claims)).total()


@given(KEYS)
def test_equal_sentences_keep_their_order(held: list[str]) -> None:
    assert match_hashes(held, held).kept == tuple((n, n) for n in range(len(held)))


@given(st.integers(0, 500), st.text("r0123456789", min_size=1))
def test_the_place_of_a_reference_changes_no_hash(at: int, number: str) -> None:
    moved = replace(CITED, citation_id=number, span=Span(at, at + 5), name="weir")
    assert key(replace(CLAIM, citations=(moved,), span=Span(at, at + 9))) == key()


def test_reference_source_and_verifier_change_the_hash() -> None:
    others = {
        key(replace(CLAIM, citations=(replace(CITED, pages="5"),))),
        key(page=replace(PAGE, text="The weir was built in 1912.")),
        key(page=Unchecked(PAGE.url, Reason.DEAD)),
        key(page=Unchecked(PAGE.url, Reason.SOFT_404)),
        key(verifier="v2"),
    }
    assert len(others | {key()}) == 6


def test_white_space_and_composition_do_not_change_a_text() -> None:
    assert text_hash("Ko\u0308ln \n lies") == text_hash("Köln lies") != text_hash("Koln lies")
