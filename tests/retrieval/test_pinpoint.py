"""What citations point at, on documents whose every offset is known."""

import json
from dataclasses import replace
from typing import Any

import pytest
from support.rows import each_row

from pincite.retrieval.pinpoint import Aim, aim_of, alternatives, place_of, text_directives
from pincite.text.page_numbers import LABELS, PAGES, PageRange, cited_pages, number_at
from pincite.types import Citation, Document, Evidence, Label, Passage, Place, Span
from pincite.verbs.verify import wording

PAGE_TEXTS = [f"Words of sheet {n}. The ferry sank." for n in range(1, 11)]
TEXT = "\n\n".join(PAGE_TEXTS)
STARTS = [TEXT.index(text) for text in PAGE_TEXTS]


def document(*labels: str) -> Document:
    meta = {PAGES: json.dumps(STARTS)}
    if labels:
        meta[LABELS] = json.dumps(labels)
    return Document("https://a.example/x.pdf", "X", TEXT, kind="pdf", meta=meta)


def citation(pages: str = "", url: str = "https://a.example/x.pdf") -> Citation:
    return Citation("r1", Span(0, 1), Span(0, 1), url=url, pages=pages or None)


def evidence(document: Document, words: str, score: float, nth: int = 1) -> Evidence:
    start = [i for i in range(len(document.text)) if document.text.startswith(words, i)][nth - 1]
    passage = Passage("d", document.url, "", words, Span(start, start + len(words)))
    return Evidence(passage, 0.6, 0.1, 0.3, score, Span(0, len(words)))


@each_row("retrieval/pinpoint/pages_of_a_citation")
def test_pages_of_a_citation(text: str, pages: list[Any]) -> None:
    assert cited_pages(text) == [PageRange(*p) if isinstance(p, list) else p for p in pages]


@each_row("retrieval/pinpoint/pages_that_are_pointed_at")
def test_pages_that_are_pointed_at(
    pages: str, fragment: str, labels: tuple[str, ...], sheets: list[int] | None
) -> None:
    aim = aim_of(citation(pages, f"https://a.example/x.pdf#{fragment}"), document(*labels))
    assert (aim and [STARTS.index(span.start) + 1 for span in aim.spans]) == sheets


def test_a_page_is_named_by_its_printed_number_if_it_has_one() -> None:
    book = document("i", "ii", *map(str, range(1, 9)))
    assert number_at(book, STARTS[4]) == ("3", True)
    assert number_at(document(), STARTS[4]) == ("5", False)
    assert aim_of(citation("200"), book) == Aim((), "p. 200", exact=True)
    aim = aim_of(citation("8", "https://a.example/x.pdf#page=4"), book)
    assert aim
    assert aim.words == "p. 2"


@each_row("retrieval/pinpoint/text_fragments")
def test_a_text_fragment_aims_at_its_words(fragment: str, words: str) -> None:
    aim = aim_of(citation(url=f"https://a.example/#{fragment}"), document())
    assert aim is not None
    assert [span.of(TEXT) for span in aim.spans] == [words]
    if "sheet%203" in fragment:
        assert aim.spans[0].start > STARTS[2]
    if "sheet%205" in fragment:
        assert STARTS[3] < aim.spans[0].start < STARTS[4]


@pytest.mark.parametrize("words", ["", "-,", "a,b,c,d", "%ff-,%00,-%", "(((*", "heet"])
def test_broken_fragments_and_parts_of_words_point_nowhere(words: str) -> None:
    assert aim_of(citation(url=f"https://a.example/#:~:text={words}"), document()) is None
    assert text_directives(f"no:text={words}") == []


def test_a_fragment_aims_at_its_section() -> None:
    page = Document("u", "", TEXT, anchors={"Später": STARTS[3]})
    aim = aim_of(citation(url="https://a.example/#Sp%C3%A4ter"), page)
    assert aim is not None
    assert (aim.spans[0].start, aim.exact) == (STARTS[3], False)
    assert aim_of(citation(url="https://a.example/#Other"), page) is None


@pytest.mark.parametrize("pages", ['"x"', "[1, 0]", "[null]", "{", "[-1]", "9" * 5000])
def test_pages_that_a_stranger_made_up(pages: str) -> None:
    odd = Document("u", "", TEXT, meta={PAGES: pages, LABELS: '["a"]'})
    assert number_at(odd, 0) is None
    assert aim_of(citation("1"), odd) is None


def test_a_page_is_no_time() -> None:
    timed = document(*(f"00:12:{n:02}" for n in range(10)))
    assert aim_of(citation("12"), timed) is None
    found = place_of(evidence(timed, "Words of sheet 4", 1.0), timed, None)
    assert found == Place("00:12:03", printed=True)
    assert wording.where(found, Label.SUPPORTED) == wording.ON_PAGE["time"] % {"page": "00:12:03"}


def test_a_tie_goes_to_what_is_pointed_at() -> None:
    book = document()
    aim = aim_of(citation("7"), book)
    first, cited = (evidence(book, "The ferry sank.", 2.0, n) for n in (1, 7))
    assert alternatives([first, cited], first, aim) == [cited]
    much_better = evidence(book, "The ferry sank.", 3.0, 2)
    assert alternatives([first, cited, much_better], much_better, aim) == []
    assert alternatives([first, cited], cited, aim) == []
    assert alternatives([first, cited], first, None) == []


def test_the_place_of_a_quote() -> None:
    book, aim = document(), aim_of(citation("7"), document())
    cited, other = (evidence(book, "The ferry sank.", 2.0, n) for n in (7, 4))
    assert place_of(cited, book, aim) == Place("7", printed=False, cited="p. 7", elsewhere=False)
    assert place_of(other, book, aim) == Place("4", printed=False, cited="p. 7", elsewhere=True)
    assert place_of(other, book, None) == Place("4", printed=False)
    assert place_of(other, Document("u", "", TEXT), None) is None


def test_a_claim_whose_other_half_is_on_the_cited_page_is_cited_there() -> None:
    text = "The ferry left Holmby at dawn. Nine sailors of the crew were hurt. It rained in Gram."
    meta = {PAGES: "[0, 31, 67]", LABELS: '["1", "2", "3"]'}
    book = Document("https://a.example/x.pdf", "", text, meta=meta)
    found = evidence(book, "The ferry left Holmby at dawn.", 2.0)
    passage = replace(found.passage, text=text, span=Span(0, len(text)))
    found = replace(found, passage=passage, quote=Span(0, 30))
    claim = "The ferry left Holmby at dawn, and nine sailors were hurt."
    for page, elsewhere in (("2", False), ("3", True)):
        place = place_of(found, book, aim_of(citation(page), book), claim)
        assert place
        assert place.elsewhere is elsewhere
