"""A pasted text is one statement or question, or several: lines tell which."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.text.pasted import items, items_of_file


@each_row("text/pasted/items_are_told_by_their_lines")
def test_items_are_told_by_their_lines(text: str, expected: list[str]) -> None:
    assert items(text) == expected


REWORDED = json.loads((Path(__file__).parents[1] / "cases" / "pasted.json").read_text())


@pytest.mark.parametrize(("text", "expected"), REWORDED["written"])
def test_a_heading_is_no_statement(text: str, expected: list[str]) -> None:
    assert items(text) == expected


def test_a_file_is_split_like_pasted_text() -> None:
    text = "# Harbour\n- Ada Berg retired in\n2019.\n- The tram ran.\n#\nIt\nstopped.\n"
    assert items_of_file(text) == ["Ada Berg retired in 2019.", "The tram ran.", "It stopped."]
    assert items_of_file("Mill closes\nBridge opens") == ["Mill closes", "Bridge opens"]


@given(st.text(st.sampled_from("aB1 .?-)(\n\r\u2028\t")))
def test_items_shown_again_are_the_same(text: str) -> None:
    found = items(text)
    assert items("\n\n".join(found)) == found
    assert "".join(found).replace(" ", "") in "".join(text.split()) or len(found) > 1
    assert not any("\n" in item or item != item.strip() for item in found)
