"""Replies as models really write them: compact, fenced, wordy, cut, and unreadable."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.llm.templates import (
    first_json,
    label_probabilities,
    parse_label,
    parse_list,
    parse_statement,
)
from pincite.protocols import Completion, TokenChoice

ABC = ["A", "B", "C"]


@each_row("llm/replies/a_choice_is_understood")
def test_a_choice_is_understood(reply: str) -> None:
    assert parse_label(reply, ABC) == "B"


@each_row("llm/replies/replies_without_a_choice")
def test_replies_without_a_choice(reply: str) -> None:
    assert parse_label(reply, ABC) is None


@each_row("llm/replies/lists")
def test_lists_are_found_in_replies(reply: str, expected: list[str] | None) -> None:
    assert parse_list(reply) == expected


@each_row("llm/replies/one_statement")
def test_one_statement_is_found_in_a_reply(reply: str, expected: str | None) -> None:
    assert parse_statement(reply, "negation", plain=True) == expected
    asked_for_json = expected if reply.startswith("{") else None
    assert parse_statement(reply, "negation") == asked_for_json


def tokens(*texts: str, at: int, top: Sequence[tuple[str, float]]) -> Completion:
    """A reply of these tokens; `top` are the alternatives, with probabilities, at one of them."""
    logs = tuple((token, math.log(p)) for token, p in top)
    return Completion(
        "".join(texts),
        tokens=tuple(
            TokenChoice(text, logs if n == at else ((text, 0.0),)) for n, text in enumerate(texts)
        ),
    )


@pytest.mark.parametrize(
    "reply",
    [
        tokens('{"', "answer", '": "', "B", '"}', at=3, top=[("B", 0.7), ("A", 0.2), ("C", 0.1)]),
        tokens('{"answer":"', "B", '"}', at=1, top=[("B", 0.7), ("A", 0.2), ("C", 0.1)]),
        tokens('{"answer":', '"B"}', at=1, top=[('"B"}', 0.7), ('"A"}', 0.2), ('"C"', 0.1)]),
        tokens(
            "```json\n", '{"answer":', ' "', "B", at=3, top=[("B", 0.7), ("A", 0.2), ("C", 0.1)]
        ),
        tokens("Answer", ":", " B", at=2, top=[(" B", 0.6), ("B", 0.1), (" A", 0.2), (" C", 0.1)]),
        tokens("B", at=0, top=[("B", 0.7), ("A", 0.2), ("C", 0.1)]),
        tokens("<think>A? B?</think>", "B", at=1, top=[("B", 0.7), ("A", 0.2), ("C", 0.1)]),
    ],
)
def test_label_probabilities_are_read_in_any_spelling_of_the_reply(reply: Completion) -> None:
    found = label_probabilities(reply, ABC)
    assert found is not None
    assert {label: round(p, 6) for label, p in found.items()} == {"A": 0.2, "B": 0.7, "C": 0.1}


def test_a_label_missing_from_the_alternatives_has_probability_zero() -> None:
    reply = tokens("B", at=0, top=[("B", 0.9), ("The", 0.1)])
    assert label_probabilities(reply, ABC) == pytest.approx({"A": 0.0, "B": 0.9, "C": 0.0})


def test_unreadable_probabilities_are_none_not_zero() -> None:
    assert label_probabilities(Completion("B"), ABC) is None, "the server sent none"
    assert label_probabilities(tokens("I", " pass", at=0, top=[("I", 0.9)]), ABC) is None
    unsure = tokens("B", at=0, top=[("B", 0.2), ("The", 0.7)])
    assert label_probabilities(unsure, ABC) is None, "most of the probability is no answer"
    broken = Completion("B", tokens=(TokenChoice("B", (("B", math.nan),)),))
    assert label_probabilities(broken, ABC) is None


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    assert parse_label(text, ABC) in (*ABC, None)
    found = parse_list(text)
    assert found is None or all(found)
    parse_statement(text, "negation")
    first_json(text)
