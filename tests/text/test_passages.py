from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.text.passages import PASSAGE_WORDS, around, cited_passages, passages
from pincite.types import Document, Passage, Span

words = st.lists(st.sampled_from(["bridge", "river", "opened.", "in", "1911.", "\n", "é"]))


def document(text: str) -> Document:
    return Document(url="https://varde.example/", title="Varde", text=text)


def sentence(n_words: int, name: str = "word") -> str:
    return " ".join([name.capitalize()] + [name] * (n_words - 1)) + "."


def test_no_words_no_passages() -> None:
    assert passages(document("")) == passages(document(" \n\t")) == []


@pytest.mark.parametrize(
    ("lengths", "expected"), [([40] * 5, [80, 80, 40]), ([50, 50, 250], [100, 100, 100, 50])]
)
def test_passages_have_up_to_a_hundred_words(lengths: list[int], expected: list[int]) -> None:
    found = passages(document(" ".join(sentence(n) for n in lengths)))
    assert [len(p.text.split()) for p in found] == expected


def test_passages_of_a_cited_source_overlap() -> None:
    text = " ".join(sentence(20, f"w{n}") for n in range(30))
    found = cited_passages(document(text))
    assert all(a.span.end > b.span.start for a, b in pairwise(found))


@given(words, st.sampled_from([passages, cited_passages]))
def test_passages_are_exact_spans_and_cover_every_word(
    tokens: list[str], cut: Callable[[Document], list[Passage]]
) -> None:
    doc = document(" ".join(tokens * 9))
    found = cut(doc)
    assert all(p.span.of(doc.text) == p.text for p in found)
    assert all(0 < len(p.text.split()) <= PASSAGE_WORDS for p in found)
    assert len({p.passage_id for p in found}) == len(found)
    covered = {i for p in found for i in range(*p.span)}
    assert all(i in covered for i, char in enumerate(doc.text) if not char.isspace())


def test_a_window_grows_on_both_sides_by_whole_sentences() -> None:
    sentences_ = [f"Sentence number {n} has six words." for n in range(20)]
    long = document(" ".join(sentences_))
    middle, end = long.text.index("Sentence number 9"), len(long.text)
    for span, n_words, first, last in (
        (Span(middle, middle + 10), 30, 7, 12),
        (Span(end - 5, end), 18, 17, 20),
        (Span(0, 5), 10_000, 0, 20),
    ):
        assert around(long, span, n_words).of(long.text) == " ".join(sentences_[first:last])


def test_a_window_is_never_less_than_what_it_is_around() -> None:
    long = document("One two three four five. Six seven eight nine ten.")
    assert around(long, Span(10, 40), 2) == Span(0, len(long.text))
