"""Sentences of answers and the references in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.text.citation_marks import (
    as_text,
    cited_sentences,
    find_number,
    marks,
    quote_with_marks,
    renumber,
    with_neighbours,
    without_copied,
    without_open_mark,
)


def parsed(text: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(sentence.text, sentence.ids) for sentence in cited_sentences(text)]


@each_row("text/citation_marks/a_mark_belongs_to_the_sentence_that_it_ends")
def test_a_mark_belongs_to_the_sentence_that_it_ends(text: str) -> None:
    assert parsed(text) == [("Rates fell.", ("PUBMED:12",)), ("They rose again.", ("2",))]


@each_row("text/citation_marks/lists_ranges_and_variants_are_spelt_out")
def test_lists_ranges_and_variants_are_spelt_out(mark: str, ids: str) -> None:
    (found,) = marks(f"It fell {mark}.")
    assert found.ids == tuple(ids.split())


def test_years_intervals_and_figures_in_brackets_are_not_references() -> None:
    assert marks("from [1990-2000], (2019), (95% CI 1.2-3.4), (n = 12), [sic], [2.5]") == []


@each_row("text/citation_marks/marks_are_taken_out_of_sentences")
def test_marks_are_taken_out_of_sentences(
    text: str, expected: tuple[tuple[str, tuple[str, ...]], ...]
) -> None:
    assert parsed(text) == [*expected]


@given(st.text(alphabet="ab. [](),-1234PUBMED:\n", max_size=80))
def test_spans_are_in_order_and_hold_their_marks(text: str) -> None:
    end = 0
    for sentence in cited_sentences(text):
        assert end <= sentence.span.start < sentence.span.end <= len(text)
        end = sentence.span.end
        for mark in sentence.marks:
            assert sentence.span.start <= mark.span.start < mark.span.end <= sentence.span.end
    in_sentences = [m for s in cited_sentences(text) for m in s.marks]
    assert in_sentences == marks(text)


def test_a_number_is_a_place_in_the_list_and_a_pmid_an_id() -> None:
    known = {"111": 1, "7": 2, "https://a.example/": 3}
    assert find_number("PUBMED:111", known) == 1
    assert find_number("PUBMED:3", known) is None
    assert find_number("3", known) == 3
    assert find_number("7", known) == 2  # there is no seventh reference, but one with this PMID
    assert find_number("9", known) is None


@given(st.text(alphabet="ab. [](),-1234PUBMED:\n", max_size=60), st.integers(0, 60))
def test_a_text_is_numbered_as_its_beginning_is(text: str, at: int) -> None:
    known, beginning = {"a": 1, "b": 2, "1": 3, "c": 4}, without_open_mark(text[:at])
    whole, order = renumber(text, known)
    begun, before = renumber(beginning, known)
    if marks(beginning) == marks(text)[: len(marks(beginning))]:
        assert order[: len(before)] == before
        assert whole.startswith(begun) or not before
    assert sorted(order) == sorted(set(order))
    assert len(marks(whole)) == len(marks(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ash grew. Birch fell [1]. Cedar fell.", "- 1 -"),
        ("Ash grew [1]. Birch fell. Cedar fell. Elm grew [2].", "1 1 2 2"),
        ("Ash grew [1]. Cypress fell. Cedar fell [2].", "1 2 2"),
    ],
)
def test_a_middle_sentence_inherits_the_own_marks_of_the_neighbour_most_alike(
    text: str, expected: str
) -> None:
    found = with_neighbours(cited_sentences(text), lambda a, b: float(a.text[0] == b.text[0]))
    assert [" ".join(sentence.ids) or "-" for sentence, _ in found] == expected.split()
    own = [sentence.ids for sentence in cited_sentences(text)]
    assert [ids != sentence.ids for ids, (sentence, _) in zip(own, found, strict=True)] == [
        is_inherited for _, is_inherited in found
    ]


@given(st.lists(st.tuples(st.text(min_size=1), st.integers(1, 99)), max_size=6))
def test_marks_in_copied_sentences_are_text(copied: list[tuple[str, int]]) -> None:
    told = [
        (f"{said} as Holm et al. [3] and others [55, 7-9] (12) saw (PMID 5).", n)
        for said, n in copied
    ]
    text, found = quote_with_marks(told)
    assert [sentence.ids for sentence in found] == [(str(n),) for _, n in told]
    for (said, n), sentence in zip(told, found, strict=True):
        assert sentence.text == as_text(" ".join(said.split()))
        assert sentence.span.of(text) == f"{sentence.text} [{n}]"
        assert [mark.span.of(text) for mark in sentence.marks] == [f"[{n}]"]


@given(st.text(alphabet="[]() ,-12PMID:", max_size=30))
def test_neutralised_text_has_no_marks_and_keeps_its_length(text: str) -> None:
    assert marks(as_text(text)) == []
    assert len(as_text(text)) == len(text)


PAPER = "In two trials velorin shortened the attacks of most adults [8], [9]. Cost was low [1]."


def test_a_mark_that_was_copied_with_its_words_is_text() -> None:
    given = [(frozenset({"1", "PUBMED:77"}), PAPER)]
    copy = "Velorin shortened the attacks of most adults [8], [9]."
    assert without_copied(copy, given) == "Velorin shortened the attacks of most adults (8), (9)."
    # Behind other words, or few, and where it names the very paper, it is the writer's own.
    for own in ("Adults had shorter attacks [8].", "Adults [8].", "It said so [1, 8]."):
        assert without_copied(own, given) == own
    cited = copy.replace("[8], [9]", "[1]")
    assert without_copied(cited, [(frozenset("1"), PAPER.replace("[8], [9]", "[1]"))]) == cited


@given(st.integers(0, len(PAPER)))
def test_copied_marks_are_text_in_a_streamed_answer_too(n: int) -> None:
    given = [(frozenset({"2"}), PAPER)]
    written = without_open_mark(PAPER[:n])
    assert without_copied(PAPER, given).startswith(without_copied(written, given))
