import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.retrieval.copies import group_copies, without_copies
from pincite.types import Hit, Passage, Span

TEXT = (
    "The harbour bridge was opened by mayor Holm on 14 May 1911, on a windy morning, before large "
    "crowds from the whole valley. It had cost the town more than two million crowns, a sum that "
    "the council did not borrow. Built of granite from the quarry above the river, it stood for "
    "fifty years before a flood took two of its arches. Trams crossed it from the first day, and "
    "the ferry that had served the quay until then was sold to a neighbouring port. Engineers "
    "praised the slender piers, and painters came in summer to draw them."
)
VOCABULARY = sorted(
    {
        "".join(chance.choices(string.ascii_lowercase, k=chance.randrange(4, 10)))
        for chance in [random.Random(7)]
        for _ in range(4_000)
    }
    - {"unable", "failed", "cannot"}
)


def hits(*texts: str, urls: str = "") -> list[Hit]:
    """Hits by rank; those with the same letter are of one page."""
    letters = urls or string.ascii_lowercase[: len(texts)]
    return [
        Hit(Passage(f"{url}{n}", f"https://{url}.example/", "", text, Span(0, 1)), 1.0 / n, n)
        for n, (url, text) in enumerate(zip(letters, texts, strict=True), 1)
    ]


def ids(found: list[Hit]) -> list[str]:
    return [hit.passage.doc_id for hit in found]


def changed(text: str, share: float, chance: random.Random) -> str:
    words = text.split()
    for place in chance.sample(range(len(words)), round(share * len(words))):
        words[place] = chance.choice(VOCABULARY)
    return " ".join(words)


def test_the_best_ranked_copy_stays_and_ranks_close_up() -> None:
    rewrite = "Mayor Holm opened the bridge in 1911, and the wind blew."
    found = without_copies(hits(TEXT, TEXT + " Printed by permission.", rewrite, TEXT.upper()))
    assert ids(found) == ["a1", "b2", "c3"]  # "Printed" may be a name
    assert [hit.rank for hit in found] == [1, 2, 3]
    assert ids(without_copies(hits(TEXT, TEXT + " (reprinted)", rewrite))) == ["a1", "c3"]
    assert without_copies([]) == []


@each_row("retrieval/copies/other_figures_names_and_negations_are_not_copies")
def test_other_figures_names_and_negations_are_not_copies(said: str, instead: str) -> None:
    other = TEXT.replace(said, instead, 1)
    assert other != TEXT
    assert ids(without_copies(hits(TEXT, other))) == ["a1", "b2"]
    assert ids(without_copies(hits(other, TEXT))) == ["a1", "b2"]


def test_a_copy_with_a_figure_less_says_no_more() -> None:
    more = TEXT.replace("May 1911,", "May 1911 (2 June by the old calendar),")
    assert ids(without_copies(hits(TEXT, more))) == ["a1", "b2"]
    assert ids(without_copies(hits(more, TEXT))) == ["a1"]


def test_a_cut_paragraph_moves_where_passages_begin() -> None:
    chance = random.Random(1)
    words = chance.choices(VOCABULARY, k=400)
    original = [" ".join(words[i : i + 100]) for i in range(0, 400, 100)]
    copy = [" ".join(words[i : i + 100]) for i in range(40, 300, 100)]
    found = without_copies(hits(*original, *copy, urls="aaaabbb"))
    assert ids(found) == ["a1", "a2", "a3", "a4"]
    alone = without_copies(hits(original[0], copy[0], urls="ab"))
    assert ids(alone) == ["a1", "b2"]  # 40 words of it are new


def test_a_text_put_together_from_several_pages_stays() -> None:
    chance = random.Random(2)
    one, two = (" ".join(chance.choices(VOCABULARY, k=100)) for _ in range(2))
    both = " ".join(one.split()[50:] + two.split()[:50])
    assert ids(without_copies(hits(one, two, both, urls="abc"))) == ["a1", "b2", "c3"]


@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 1, 1), (0.05, 0.95, 1), (0.15, 0, 0)])
def test_how_many_copies_are_found(share: float, least: float, most: float) -> None:
    chance = random.Random(3)
    found = 0
    for _ in range(200):
        text = " ".join(chance.choices(VOCABULARY, k=100))
        found += len(without_copies(hits(text, changed(text, share, chance)))) == 1
    assert least <= found / 200 <= most


@given(st.lists(st.text(st.sampled_from("ab 1N."), max_size=12), max_size=6))
def test_nothing_new_is_lost_and_nothing_changes(texts: list[str]) -> None:
    given_hits = hits(*texts)
    found = without_copies(given_hits)
    assert without_copies(found) == found
    assert ids(found)[:1] == ids(given_hits)[:1]
    assert ids(found) == [i for i in ids(given_hits) if i in set(ids(found))]


def test_copies_stand_behind_what_they_copy() -> None:
    other = "Nothing of this kind was ever said about the mill of the valley by anybody at all."
    found = group_copies(hits(TEXT, other, TEXT, TEXT + " And more.", other))
    assert [ids(group) for group in found] == [["a1", "c3", "d4"], ["b2", "e5"]]
