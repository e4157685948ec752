from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.retrieval.cascade import (
    COVERING_WORDS,
    Judge,
    Page,
    covering,
    likely,
    read_pages,
    with_covering,
    worth_reading,
)
from pincite.text import words
from pincite.text.passages import cited_passages
from pincite.text.sentences import n_words, source_sentences
from pincite.types import Claim, Document, Evidence, Passage, Span


def page(*texts: str) -> list[Passage]:
    ends = list(accumulate(len(text) + 1 for text in texts))
    places = [Span(end - len(text) - 1, end - 1) for text, end in zip(texts, ends, strict=True)]
    return [Passage("d", "", "", *each) for each in zip(texts, places, strict=True)]


def test_what_shares_names_and_figures_is_read_first() -> None:
    found = page("Rain fell all week.", "The bridge opened in 1911.", "The bridge is old.")
    chosen = worth_reading("Ingrid Holm opened the bridge in 1911.", found, 2)
    assert [p.text for p in chosen] == ["The bridge opened in 1911.", "The bridge is old."]
    assert worth_reading("Nothing of that.", found, 2) == found[:2], "of equals the first"


@given(st.lists(st.text(max_size=40), max_size=12), st.integers(1, 14))
def test_order_and_number(texts: list[str], most: int) -> None:
    found = page(*texts)
    chosen = worth_reading("The bridge of 1911", found, most)
    assert len(chosen) == min(most, len(found))
    rest = iter(found)
    assert all(any(p is other for other in rest) for p in chosen)  # a subsequence


def judging(supported: Mapping[str, float], asked: list[list[str]]) -> Judge:
    """A judge that knows a probability for each text, and writes down what it is asked."""

    def judge(pairs: Sequence[tuple[Claim, Passage]]) -> list[Evidence]:
        asked.append([passage.text for _, passage in pairs])
        known = [(passage, supported.get(passage.text, 0.0)) for _, passage in pairs]
        return [Evidence(passage, p, 0.0, 1 - p, p) for passage, p in known]

    return judge


def unsure(evidence: Sequence[Evidence]) -> bool:
    return max(each.prob_supported for each in evidence) < 0.5


CLAIM = Claim("c", "Ingrid Holm opened the bridge in 1911.")


def test_a_page_that_shares_no_word_is_read_at_once_if_it_is_in_another_language() -> None:
    texts = ("Es regnete.", "Der Kran steht am Hafen.", "Schnee fiel in der Nacht.")
    for language, expected in (("de", [list(texts)]), ("en", [[texts[0]], list(texts[1:])])):
        foreign = [replace(passage, language=language) for passage in page(*texts)]
        asked: list[list[str]] = []
        read_pages([Page(CLAIM, foreign)], judging({}, asked), unsure, first=1)
        assert [batch for batch in asked if batch] == expected


def test_the_rest_of_a_page_is_read_only_while_it_is_open() -> None:
    sure = page("Rain.", "The bridge opened in 1911.", "Snow.")
    unread = page("Hail.", "The bridge is old.", "Ingrid Holm cut the ribbon herself.")
    asked: list[list[str]] = []
    judge = judging({"The bridge opened in 1911.": 0.9}, asked)
    pages = [Page(CLAIM, found) for found in (sure, [], unread)]
    found = read_pages(pages, judge, unsure, first=1)
    assert [[e.passage.text for e in of_page] for of_page in found] == [
        ["The bridge opened in 1911."],
        [],
        [passage.text for passage in unread],
    ]
    first, second = asked
    assert len(first) == 2
    assert sorted([first[1], *second]) == sorted(passage.text for passage in unread)


@given(
    st.lists(st.sampled_from(["Rain.", "The bridge of 1911.", "Holm.", "1911."]), max_size=9),
    st.integers(1, 10),
    st.integers(1, 10),
)
def test_an_open_page_is_read_as_if_at_once(texts: list[str], first: int, most: int) -> None:
    found = page(*texts)
    (read_all,) = read_pages([Page(CLAIM, found)], judging({}, []), lambda _: True, most, first)
    if first <= most:
        assert [e.passage for e in read_all] == worth_reading(CLAIM.text, found, most)


def test_where_the_citation_points_is_read_at_once() -> None:
    found = page(*(f"The bridge of 1911, part {n}." for n in range(9)), "Hail and snow again.")
    cited = Passage("d", "", "", "Rain on page 9.", Span(500, 515))
    asked: list[list[str]] = []
    pages = [Page(CLAIM, [*found, cited], [Span(505, 506)])]
    read_pages(pages, judging({}, asked), lambda _: False, first=2)
    assert len(asked[0]) == 3
    assert "Rain on page 9." in asked[0]


def test_a_long_page_in_another_language_is_read_to_its_end() -> None:
    """Though other passages share a figure with the claim, and most share nothing."""
    sentences = [f"Im Jahr {1890 + n} regnete es an {n} Tagen im Mai." for n in range(90)]
    document = Document("d", "", " ".join(sentences), language="de")
    found = cited_passages(document)
    for claim in ("It rained a lot in 1911.", "The gate remained shut."):
        chosen = worth_reading(claim, found, 4)
        assert len(chosen) < len(found)
        assert all(any(s in passage.text for passage in chosen) for s in sentences)


def test_what_is_worth_reading_is_likely() -> None:
    said = "The mill of Varde opened in 1911 with 3.5 tons a day."
    texts = [f"Barley grew near the river in year {n}." for n in range(2_000)]
    texts[700], texts[1_400] = "The mill opened in 1911.", "It made 3.5 tons."
    passages = page(*texts)
    found = likely(said, passages, 20)
    assert len(found) == 20
    assert {"The mill opened in 1911.", "It made 3.5 tons."} <= {p.text for p in found}
    assert worth_reading(said, found, 2) == worth_reading(said, passages, 2)
    assert likely(said, passages[:20], 20) == passages[:20]


# ── The covering text ────────────────────────────────────────────────────────────────────────────

FILLER = [f"Barley number {n} grew well beside the lower mill that year." for n in range(40)]


def covered(claim: str, *sentences: str, language: str | None = None) -> tuple[Document, Passage]:
    document = Document("d", "", " ".join(sentences), language=language)
    text = covering(claim, cited_passages(document))
    assert text is not None
    return document, text


DREW, OPENED = "Ingrid Holm drew all the plans herself.", "The bridge was opened in 1911."
SAME = [f"The bridge was opened in 1911, says report {n} of the {'old ' * 16}." for n in "abcdefgh"]
WITH_PRONOUN = "Varde got a second crossing. It was opened by Ingrid Holm in 1911."


@pytest.mark.parametrize(
    ("sentences", "read"),
    [
        pytest.param([DREW, *FILLER, OPENED, *FILLER], [DREW, OPENED], id="far apart"),
        pytest.param([*SAME, *FILLER, DREW[7:]], [DREW[7:]], id="what adds something new"),
        pytest.param([*FILLER, WITH_PRONOUN, *FILLER], [WITH_PRONOUN], id="before a pronoun"),
    ],
)
def test_sentences_that_cover_a_claim_are_read_together(
    sentences: list[str], read: list[str]
) -> None:
    _, text = covered(CLAIM.text, *sentences)
    assert all(sentence in text.text for sentence in read)


def test_a_covering_text_is_as_badly_legible_as_its_worst_passage() -> None:
    sentences = ["The bridge opened in 1911.", *FILLER, "Ingrid Holm drew it.", *FILLER]
    found = cited_passages(Document("d", "", " ".join(sentences)))
    drawn = next(n for n, each in enumerate(found) if "Holm" in each.text)
    found[drawn] = replace(found[drawn], recognised=61)
    passages = with_covering(CLAIM.text, found)
    assert passages[-1].recognised == 61
    asked: list[list[str]] = []
    read_pages([Page(CLAIM, passages)], judging({}, asked), lambda _: False, first=1)
    assert len(asked[0]) == 2, "it is read beside the best passage, and first"
    assert asked[0][0] == passages[-1].text


def test_a_short_page_is_read_whole() -> None:
    document, text = covered(CLAIM.text, "Rain fell.", "The bridge opened in 1911.", "Snow fell.")
    assert (text.text, text.pieces) == (document.text, ())


@pytest.mark.parametrize("text", ["", "\n", " ".join(FILLER), "The bridge opened in 1911."])
def test_a_page_that_shares_nothing_or_is_one_sentence_has_no_covering_text(text: str) -> None:
    for found in (cited_passages(Document("d", "", text)), page(text, text)):  # of no page
        assert with_covering(CLAIM.text, found) == found


def test_a_language_without_spaces_is_covered_within_the_limit() -> None:
    claim, opened = "橋は1911年に開通した。", "この橋は1911年に盛大に開通した。"
    filler = [f"その年の第{n}番目の村では大麦がよく育ったと記録されている。" for n in range(60)]
    _, text = covered(claim, *filler, opened, *filler, language="ja")
    assert opened in text.text
    assert n_words(text.text) <= COVERING_WORDS * 1.1  # each piece is rounded


@given(
    st.lists(
        st.sampled_from(["Rain.", "It opened.", "The bridge of 1911 is old.", "Holm.", *FILLER]),
        min_size=1,
        max_size=60,
    )
)
def test_covering_text_is_spans_in_page_order_within_the_limit(sentences: list[str]) -> None:
    document = Document("d", "", "\n".join(sentences))
    (*_, text) = with_covering(CLAIM.text, cited_passages(document))
    assert text.stands_in(document.text)
    pieces = text.pieces or (text.span,)
    assert text.span == Span(pieces[0].start, pieces[-1].end)
    assert all(a.end < b.start for a, b in pairwise(pieces))
    assert n_words(text.text) - len(text.pieces) <= COVERING_WORDS
    for span in words.sentences_of(text.text):
        if (sentence := span.of(text.text)) != "[…]":
            assert text.in_document(span).of(document.text) == sentence
            assert text.within_a_piece(span) == span
    if text.pieces:
        spans = source_sentences(document.text)
        best = max(words.overlap(CLAIM.text, span.of(document.text)) for span in spans)
        assert best == max(
            words.overlap(CLAIM.text, line) for line in text.text.splitlines() if line
        )


def test_a_span_across_pieces_is_reduced_to_the_longer_one() -> None:
    document, text = covered(CLAIM.text, "The bridge.", *FILLER, "Ingrid Holm opened it in 1911.")
    quote = text.within_a_piece(Span(0, len(text.text)))
    assert quote.of(text.text) == "Ingrid Holm opened it in 1911."
    assert text.in_document(quote).of(document.text) == quote.of(text.text)
