import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.judgement import aggregation
from pincite.text.syntax import Clause
from pincite.types import Evidence, Part, Passage, Span

CLAIM = (
    "On 14 May 1886 the engineer Ingrid Holm told the Varde Post that “the line will never pay”."
)


def passage(text: str, about: str = "") -> Passage:
    return Passage("d", "https://a.example/", "T", text, Span(0, len(text)), about)


def missing(claim: str, *texts: str) -> list[tuple[str, str]]:
    found = aggregation.missing_atoms(claim, [passage(text) for text in texts])
    assert all(part.span.of(claim) == part.words and not part.supported for part in found)
    return [(part.kind, part.words) for part in found]


def test_atoms_of_every_kind() -> None:
    assert [(a.kind, a.words) for a in aggregation.atoms(CLAIM)] == [
        ("figure", "14 May 1886"),
        *(("name", "Ingrid"), ("name", "Holm"), ("name", "Varde"), ("name", "Post")),
        ("quotation", "the line will never pay"),
    ]


def test_neighbours_that_are_missing_are_one_part() -> None:
    assert missing(CLAIM, "Nothing of it.") == [
        ("figure", "14 May 1886"),
        ("name", "Ingrid Holm"),
        ("name", "Varde Post"),
        ("quotation", "the line will never pay"),
    ]


def test_only_what_no_passage_states_is_missing() -> None:
    texts = ("In May 1886 Holm spoke.", "The Varde paper said: “The line will\nnever  pay.”")
    assert missing(CLAIM, *texts) == [("figure", "14 May 1886"), ("name", "Post")]


def test_what_is_known_of_the_page_counts_as_stated() -> None:
    found = aggregation.missing_atoms(
        "It was sold by Holm in 1911.", [passage("Sold.", "By Holm · 1911")]
    )
    assert found == []


def test_nothing_looked_at_nothing_missing() -> None:
    assert aggregation.missing_atoms(CLAIM, []) == []


@pytest.mark.parametrize(
    ("quotation", "text", "stated"),
    [
        ("“It was a cold day”", 'He said: "it was  a COLD\nday."', True),
        ('"it wasn\'t a cold day"', "it wasn’t a cold day", True),
        ("“it was [very] cold … that day”", "it was so cold, she said, on that day", True),
        ("“it was […] cold that day”", "it was so cold that day", True),
        ("“it was a cold day”", "it was a colder day", False),
        ("“it was a cold”", "it was a colder day", False),
        ("«It was all over»", "It was all over.", True),
    ],
)
def test_quotations_are_compared_word_for_word(quotation: str, text: str, stated: bool) -> None:
    assert missing(f"He wrote {quotation}.", text) == (
        [] if stated else [("quotation", quotation[1:-1])]
    )


def test_a_name_within_a_missing_quotation_is_not_told_again() -> None:
    said = "He wrote “the Varde line will never pay” to Holm."
    assert missing(said, "He wrote a letter.") == [
        ("quotation", "the Varde line will never pay"),
        ("name", "Holm"),
    ]


def test_a_title_in_quotation_marks_is_no_quotation() -> None:
    assert missing("The song “cold day” was sold.", "A song was sold.") == []


def test_clauses_keep_their_order_and_their_evidence() -> None:
    best = [Evidence(passage("x"), p, 0.0, 1 - p, p) for p in (0.9, 0.2)]
    found = aggregation.judged_clauses(
        "a b", [Clause(Span(0, 1), "a"), Clause(Span(2, 3), "b")], best, 0.55
    )
    assert [(p.text, p.supported, p.evidence) for p in found] == [
        ("a", True, best[0]),
        ("b", False, best[1]),
    ]


@given(st.text(max_size=120), st.text(max_size=120))
def test_missing_atoms_are_spans_of_the_claim_in_order(claim: str, source: str) -> None:
    found = aggregation.missing_atoms(claim, [passage(source)])
    assert [part.span for part in found] == sorted(part.span for part in found)
    assert all(part.span.of(claim) == part.words for part in found)
    assert aggregation.missing_atoms(claim, [passage(claim)]) == []


@pytest.mark.parametrize(
    "unit", ["“", '"a b c" ', "[", "“a b c [” ", "14 ", "Ab ", "a of 1, ", "…"]
)
def test_hostile_claims_take_linear_time(unit: str) -> None:
    claim = (unit * 100_000)[:100_000]
    started = time.process_time()
    aggregation.atoms(claim)
    aggregation.missing_atoms(claim, [passage("Nothing of it.")])
    assert time.process_time() - started < 5


def test_an_item_that_stands_in_the_passage_is_not_missing() -> None:
    text = "The ferry calls at Gram under the cliff."
    read = Evidence(Passage("d", "", "", text, Span(0, len(text))), 0.1, 0.0, 0.9, -2.0)
    assert aggregation.stands(Part("clause", Span(30, 34), "Gram", False, read))
    assert not aggregation.stands(Part("clause", Span(30, 35), "Varde", False, read))
    assert not aggregation.stands(Part("clause", Span(0, 16), "It calls at Gram", False, read))
