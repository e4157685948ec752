"""What is put back between the lines of an extraction, and what is not."""

import pytest

from pincite.documents.html import MAX_LEAD_WORDS, Block, filled

FIRST = "The council of Lindvik met on Tuesday to speak about the harbour."
LOST = "Its oldest crane was sold for scrap in the autumn of 1987."
NEXT = "Nobody spoke for the engineers who had asked to keep it."
ARTICLE = f"{FIRST}\n{NEXT}"


def between(*blocks: Block, title: str = "") -> str:
    """The article after a page with these blocks between its two lines."""
    return filled(ARTICLE, [Block(FIRST), *blocks, Block(NEXT)], title)


def test_a_paragraph_between_two_neighbours_is_put_back_in_its_place() -> None:
    assert between(Block(LOST)).split("\n") == [FIRST, LOST, NEXT]


def test_several_come_back_in_their_order() -> None:
    second = "A museum had offered twice as much for it a year before."
    assert between(Block(LOST), Block("Advert"), Block(second)).split("\n")[1:3] == [LOST, second]


@pytest.mark.parametrize(
    "block",
    [
        Block("Share this story"),  # a label
        Block("Read more: the crane that nobody wanted to buy", linked=0.8),
        Block(LOST, comment=True),
        Block(FIRST),  # said twice on the page
    ],
)
def test_what_is_no_running_text_of_the_article_stays_out(block: Block) -> None:
    assert between(block) == ARTICLE


def test_nothing_comes_back_where_lines_of_the_article_stand_between() -> None:
    middle = "A vote was then put off until the engineers had been heard."
    blocks = [Block(FIRST), Block(LOST), Block(NEXT), Block(middle)]
    assert filled(f"{FIRST}\n{middle}\n{NEXT}", blocks, "") == f"{FIRST}\n{middle}\n{NEXT}"


def test_text_outside_of_the_article_stays_out() -> None:
    teaser = "Also today: a bakery on the square closes after ninety years."
    blocks = [Block(teaser), Block(FIRST), Block(NEXT), Block(teaser)]
    assert filled(ARTICLE, blocks, "The harbour") == ARTICLE


@pytest.mark.parametrize(
    ("headline", "title"),
    [
        (Block("Crane sold", headline=True), "Something else"),
        (Block("The sale of the crane"), "The sale of the crane | Lindvik Post"),
    ],
)
def test_the_lead_below_the_headline_comes_back(headline: Block, title: str) -> None:
    blocks = [Block("Advertise with us on this page today"), headline, Block(LOST)]
    assert filled(ARTICLE, [*blocks, Block(FIRST), Block(NEXT)], title) == f"{LOST}\n{ARTICLE}"


def test_a_list_of_other_stories_below_the_headline_is_no_lead() -> None:
    stories = [Block(f"Story number {n} has these few words") for n in range(MAX_LEAD_WORDS // 6)]
    blocks = [Block("Crane", headline=True), *stories, Block(FIRST), Block(NEXT)]
    assert filled(ARTICLE, blocks, "") == ARTICLE


def test_a_paragraph_of_characters_without_spaces_is_known_again() -> None:
    first, lost, following = (
        "委员会星期二开会讨论港口。",
        "起重机在秋天被卖掉了。",
        "没有人为工程师说话。",
    )
    blocks = [Block(first), Block(lost), Block(following)]
    assert filled(f"{first}\n{following}", blocks, "").split("\n") == [first, lost, following]


def test_a_page_without_blocks_and_an_empty_article() -> None:
    assert filled(ARTICLE, [], "") == ARTICLE
    assert filled("", [Block(FIRST)], "") == ""
