"""Places in an order."""

from support.rows import each_row

from pincite.text.ranks import ranks


@each_row("text/ranks/ranks")
def test_ranks_have_a_place_and_an_order(text: str, place: int, order: str) -> None:
    assert [(rank.place, rank.order) for rank in ranks(text)] == [(place, order)]


def test_letters_that_look_alike_and_long_numbers_are_read() -> None:
    assert [rank.place for rank in ranks("It came fir\u017ft of ten.")] == [1]
    assert ranks(f"It came {'9' * 5000}th of ten.") == ()
