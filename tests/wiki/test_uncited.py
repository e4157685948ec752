"""Which sentences have no reference, and which of these may go without one."""

import tomllib

import pytest
from support.articles import parse_article
from support.rows import each_row

from pincite.wiki.claims import NEEDED
from pincite.wiki.uncited import (
    WEIGHTS,
    Exempt,
    Place,
    Sentence,
    Sourced,
    citation_need,
    features,
    find_uncited,
    prose,
)

SAID = "Holm wrote in 1911 that it was “the finest bridge that was ever built here”."
PLAIN = "The bridge carries a road over the river."
REF = "<ref>A. Berg, 1950</ref>"


def article_of(wikitext: str) -> list[Sentence]:
    return prose(parse_article(wikitext, "Varde Bridge"))


def found(wikitext: str, title: str = "Varde Bridge") -> list[str]:
    return [each.claim.text for each in find_uncited(parse_article(wikitext, title))]


def body(text: str, heading: str = "History") -> str:
    return f"The '''bridge''' is of stone.{REF}\n\n== {heading} ==\n{text}\n"


def test_a_sentence_that_quotes_needs_a_citation_and_a_plain_one_does_not() -> None:
    source = body(f"{PLAIN} {SAID}")
    (each,) = find_uncited(parse_article(source, "Varde Bridge"))
    assert each.claim.span
    assert each.claim.text == each.claim.span.of(source) == SAID
    assert (each.claim.section, each.claim.before) == (("History",), PLAIN)
    assert not each.claim.citations


@each_row("wiki/uncited/references_elsewhere_cover_a_sentence")
def test_references_elsewhere_cover_a_sentence(text: str) -> None:
    sentence = next(each for each in article_of(body(text)) if each.claim.text.startswith("Holm"))
    assert sentence.sourced is not Sourced.UNCITED
    assert sentence.claim.text not in found(body(text))


@each_row("wiki/uncited/references_of_other_sentences_do_not_count")
def test_references_of_other_sentences_do_not_count(text: str) -> None:
    assert [each[:10] for each in found(body(text))] == [SAID[:10]]


def test_sections_that_need_none() -> None:
    for heading in ("Plot", "Plot summary", "See also", "Further reading", "Works"):
        assert found(body(SAID, heading)) == [], heading


@pytest.mark.parametrize(
    ("text", "exempt"),
    [
        (f":''{SAID}''", Exempt.QUOTATION),
        (f"<blockquote>{SAID}</blockquote>", Exempt.QUOTATION),
        (f"{SAID[:-1]}:\n* {PLAIN}", Exempt.POINTER),
        ("The table below lists the 12 largest bridges of 1911.", Exempt.POINTER),
        ("For example, somebody might say “it is the finest of all bridges”.", Exempt.EXAMPLE),
        ("* the 12 largest bridges of 1911", Exempt.NOT_PROSE),
    ],
)
def test_exempt_sentences_need_no_citation(text: str, exempt: Exempt) -> None:
    assert exempt in {each.exempt for each in article_of(body(text))}
    assert found(body(text)) == []


def test_a_lead_needs_none_where_the_body_cites_but_for_quotations() -> None:
    figures = "It was built between 1906 and 1911 for 2,400,000 crowns, 12 % more than estimated."
    assert found(f"{figures}\n\n== History ==\n{PLAIN} It stood in 1911.{REF}") == []
    assert found(f"{SAID}\n\n== History ==\n{PLAIN} It stood in 1911.{REF}") == [SAID]
    assert found(f"{figures} {SAID}") != []  # a stub is all lead


def test_tagged_sentences_come_first() -> None:
    each, other = find_uncited(parse_article(body(f"{SAID} {PLAIN}{{{{cn}}}}"), "Varde Bridge"))
    assert (each.claim.text, each.claim.tags) == (PLAIN, (NEEDED,))
    assert [note.code for note in each.reasons_coded] == ["need_tagged"]
    assert other.claim.text == SAID
    assert each.probability < other.probability


def test_disambiguation_pages_have_no_sentences() -> None:
    assert found(f"'''Varde''' may refer to:\n* {SAID}") == []
    assert found(body(SAID), "Varde (disambiguation)") == []


def test_living_people_need_more() -> None:
    text = body("He believed that the council was wrong about the old bridge.")
    dead, alive = (
        find_uncited(parse_article(text + f"\n{SAID}\n[[Category:{category}]]", "Ida Holm"))
        for category in ("1880 births", "Living people")
    )
    assert min(each.probability for each in alive) > 0
    assert sum(each.probability for each in alive) > sum(each.probability for each in dead)
    assert "need_living" in {note.code for each in alive for note in each.reasons_coded}


def test_an_article_without_text() -> None:
    assert found(" ") == found("{{Infobox|a=1}}") == []


@each_row("judgement/citation_need/a_cue_raises_the_probability_and_is_named")
def test_a_cue_raises_the_probability_and_is_named(text: str, code: str) -> None:
    found = citation_need(text, Place())
    assert found.probability > citation_need(PLAIN, Place()).probability
    assert code in {note.code for note in found.reasons}


def test_titles_and_terms_in_quotation_marks_are_no_quotations() -> None:
    for text in ("He sang “The Song of the Old Sea” there.", "It is a “glass bridge” of stone."):
        assert not citation_need(text, Place()).quotes


def test_the_weights_are_those_of_cues_that_exist() -> None:
    weights = tomllib.loads(WEIGHTS.read_text(encoding="utf-8"))["weights"]
    texts = [PLAIN, "We may, for example, let x = 12 % be “the thing that he said in 1911”."]
    seen = {name for text in texts for name in features(text, Place(("Views",), opens=True))}
    assert seen <= set(weights)
