from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pincite.retrieval.cascade import Judge, Page, likely, read, worth_reading
from pincite.text.passages import cited_passages
from pincite.types import Claim, Document, Evidence, Passage, Span


def page(*texts: str) -> list[Passage]:
    return [Passage("d", "", "", text, Span(0, len(text))) for text in texts]


def test_what_shares_names_and_figures_is_read_first() -> None:
    found = page("Rain fell all week.", "The bridge opened in 1911.", "The bridge is old.")
    chosen = worth_reading("Ingrid Holm opened the bridge in 1911.", found, 2)
    assert [p.text for p in chosen] == ["The bridge opened in 1911.", "The bridge is old."]


def test_of_equals_the_first_is_read() -> None:
    found = page("Rain.", "Snow.", "Hail.")
    assert worth_reading("Nothing of that.", found, 2) == found[:2]


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
        read([Page(CLAIM, foreign)], judging({}, asked), unsure, first=1)
        assert [batch for batch in asked if batch] == expected


def test_the_rest_of_a_page_is_read_only_while_it_is_open() -> None:
    sure = page("Rain.", "The bridge opened in 1911.", "Snow.")
    unread = page("Hail.", "The bridge is old.", "Ingrid Holm cut the ribbon herself.")
    asked: list[list[str]] = []
    judge = judging({"The bridge opened in 1911.": 0.9}, asked)
    found = read([Page(CLAIM, sure), Page(CLAIM, unread)], judge, unsure, first=1)
    assert [[e.passage.text for e in of_page] for of_page in found] == [
        ["The bridge opened in 1911."],
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
    (read_all,) = read([Page(CLAIM, found)], judging({}, []), lambda _: True, most, first)
    if first <= most:
        assert [e.passage for e in read_all] == worth_reading(CLAIM.text, found, most)


def test_where_the_citation_points_is_read_at_once() -> None:
    found = page(*(f"The bridge of 1911, part {n}." for n in range(9)), "Hail and snow again.")
    cited = Passage("d", "", "", "Rain on page 9.", Span(500, 515))
    asked: list[list[str]] = []
    pages = [Page(CLAIM, [*found, cited], [Span(505, 506)])]
    read(pages, judging({}, asked), lambda _: False, first=2)
    assert len(asked[0]) == 3
    assert "Rain on page 9." in asked[0]


def test_a_page_without_passages_says_nothing() -> None:
    assert read([Page(CLAIM, [])], judging({}, []), lambda found: bool(found)) == [[]]


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
