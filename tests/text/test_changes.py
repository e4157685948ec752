"""Changes, shares and ranks that a text states, or that its figures imply."""

from support.rows import each_row

from pincite.text.changes import agreeing, changes_in, ranks, stated_changes, worked_out


@each_row("text/changes/changes")
def test_changes_are_signed(text: str, words: str, low: float, high: float, measure: str) -> None:
    change = changes_in(text)[0]
    found = change.words, round(change.low, 3), round(change.high, 3), change.measure
    assert found == (words, low, high, measure)


@each_row("text/changes/no_changes")
def test_other_numbers_are_no_changes(text: str) -> None:
    assert [c for c in changes_in(text) if not c.than and c.kind != "part"] == []


def test_letters_that_look_alike_and_long_numbers_are_read() -> None:
    assert [change.words for change in stated_changes("It tr\u0131pled.")] == ["tripled"]
    assert ranks(f"It came {'9' * 5000}th of ten.") == ()


@each_row("text/changes/ranks")
def test_ranks_have_a_place_and_an_order(text: str, place: int, order: str) -> None:
    assert [(rank.place, rank.order) for rank in ranks(text)] == [(place, order)]


@each_row("text/changes/side_by_side")
def test_figures_side_by_side_are_compared(text: str, words: str, than: str) -> None:
    found = [change for change in worked_out(text) if change.is_computed]
    assert [(c.words, " ".join(sorted(c.than))) for c in found[:1]] == [(words, than)] * bool(words)


def test_figures_of_another_thing_agree_with_nothing() -> None:
    source = "The wardens found 40 lost dogs, up from 20. They found 90 lost cats, up from 80."
    assert [other.words for _, other in agreeing("Lost dogs have doubled.", source)][:1]
    assert agreeing("Lost cats have doubled.", source) == []
