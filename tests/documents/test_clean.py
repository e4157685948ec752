import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.documents.clean import MAX_MARKS, cleaned, one_line
from pincite.text.sentences import n_words


@given(st.text(st.characters(), max_size=200))
def test_cleaned_is_idempotent_and_free_of_what_it_drops(text: str) -> None:
    once = cleaned(text)
    assert cleaned(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in once if c != "\n")
    assert once == once.strip()
    assert all(line == line.strip(" ") for line in once.split("\n"))
    assert once.splitlines() == (once.split("\n") if once else [])


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("a\r\nb\rc\u2028d\x0ce", "a\nb\nc\nd\ne"),
        ("a\tb \u00a0 c", "a b c"),
        ("co\u00adop\u200berate\ufeff", "cooperate"),
        ("bad \ud800 half", "bad \ufffd half"),
        ("e\u0301", "é"),
        ("\ufb01re", "fire"),
        ("one\n\n\n\n two", "one\n\ntwo"),
        ("nul\0l", "null"),
        ("x² ½", "x² ½"),
    ],
)
def test_cleaned(raw: str, expected: str) -> None:
    assert cleaned(raw) == expected


def test_marks_without_end_do_not_take_quadratic_time() -> None:
    start = time.process_time()
    text = cleaned("a" + "\u0327\u0301\u0316" * 100_000)
    assert time.process_time() - start < 2
    assert len(text) <= MAX_MARKS + 1


def test_one_line_and_words() -> None:
    assert one_line(None) == ""
    assert one_line(" A\n title ") == "A title"
    assert n_words("") == 0
    assert n_words("東京 is a 都市") == 4
