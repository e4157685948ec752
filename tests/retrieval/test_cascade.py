from hypothesis import given
from hypothesis import strategies as st

from pincite.retrieval.cascade import likely, worth_reading
from pincite.types import Passage, Span


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
