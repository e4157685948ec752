"""Reading order: columns, running heads, paragraphs, notes and captions."""

import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.documents import running_heads
from pincite.documents.columns import in_reading_order
from pincite.documents.page_lines import Line, Rule
from pincite.documents.paragraphs import running_text
from pincite.documents.ruled_tables import with_ruled_tables


def line(text: str, height: float, left: float = 72, right: float = 400, size: float = 10) -> Line:
    return Line(text, height, left, right, size)


def test_page_starts_point_at_the_first_character_of_the_page() -> None:
    text, starts = running_text([[line("One.", 700)], [], [line("Three.", 700)]])
    assert text == "One.\n\nThree."
    assert starts == [0, 4, 6]


@each_row("documents/layout/paragraphs")
def test_lines_become_paragraphs(lines: list[list[Any]], paragraphs: list[str]) -> None:
    assert running_text([[line(*each) for each in lines]])[0].split("\n\n") == paragraphs


def test_a_long_word_takes_linear_time() -> None:
    word = "a" * 100_000
    begin = time.process_time()
    assert running_text([[line(word, 700)]])[0] == word
    assert time.process_time() - begin < 2  # 0.01 s; with the square of its letters 8 s


def test_running_heads_are_dropped_and_figures_kept() -> None:
    pages = [
        [line("Annual report 1931", 780), line(f"Text of page {n} is this.", 700), line(f"{n}", 40)]
        for n in range(1, 5)
    ]
    assert running_text(running_heads.without_running_heads(pages))[0].split("\n\n") == [
        f"Text of page {n} is this." for n in range(1, 5)
    ]
    figures = [[line(f"{n} 12 {n * 7}", 700), line(f"{n} 9 {n * 5}", 688)] for n in range(1, 5)]
    assert running_heads.without_running_heads(figures) == figures


@each_row("documents/layout/which_lines_are_running_heads")
def test_which_lines_are_running_heads(heads: list[str], kept: list[str] | None) -> None:
    pages = [
        [*([line(head, 780)] if head else []), line("One of the lines", 700), line("Two", 690)]
        for head in heads
    ]
    for n, page in enumerate(pages):
        page[-2:] = [line(f"Line {word} of a page", 700 - n) for word in ("one", "two")]
    found = [each.text for page in running_heads.without_running_heads(pages) for each in page]
    expected = list(filter(None, heads)) if kept is None else kept
    assert [text for text in found if text in heads] == expected


def test_the_heads_of_a_table_over_several_pages_are_kept_once() -> None:
    row = [line("Parish", 780, 72, 120), line("Men", 780, 200, 240), line("Women", 780, 300, 350)]
    pages = [[*row, line(f"The text {word}.", 700)] for word in ("one", "two", "three", "four")]
    found = running_heads.without_running_heads(pages)
    assert [len(page) for page in found] == [4, 1, 1, 1]


BODY = [
    "The council of Varde met in the spring of the year",
    "and read the report of the harbour board on the",
]
TEXT = [line(f"{BODY[0]} and not of the last.", 700 - 12 * n) for n in range(9)]


def test_a_sentence_goes_on_over_a_page_and_its_notes() -> None:
    note = line("See the minutes of 1931.", 60, size=8)
    first = [*TEXT, line(BODY[0], 100), line(BODY[1], 88), note]
    second = [line("cranes at the northern quay.", 720), *TEXT, line("It was cold.", 560)]
    text, starts = running_text([first, second])
    assert text.split("\n\n")[1:] == [
        "See the minutes of 1931.",
        f"{BODY[0]} {BODY[1]} cranes at the northern quay.",
        " ".join(each.text for each in TEXT),
        "It was cold.",
    ]
    assert text[starts[1] :].startswith("cranes")


def test_a_hyphenated_word_goes_on_over_a_page() -> None:
    pages = [[line(BODY[0], 100), line("and read the report of the harbour adminis-", 88)]]
    text, starts = running_text([*pages, [line("tration.", 700)]])
    assert text == f"{BODY[0]} and read the report of the harbour administration."
    assert text[starts[1] :] == "tration."


def test_cells_of_several_lines_stay_in_the_order_of_the_file() -> None:
    cells = [("The crane", "of the quay"), ("was sold", "in spring"), ("to Ribe", "for nine")]
    page = [
        line(text, 700 - 12 * row, 72 + 100 * n, 130 + 100 * n)
        for n, cell in enumerate(cells)
        for row, text in enumerate(cell)
    ]
    assert [each.text for each in in_reading_order(page)] == [text for c in cells for text in c]


def cells(*rows: str, steps: float | list[float] = 12, size: float = 10) -> list[Line]:
    """Rows of cells, "a|b|c", 100 points apart; "+" begins those that are as wide as two."""
    found, height = list[Line](), 700.0
    for n, row in enumerate(rows):
        height -= steps[n - 1] if n and isinstance(steps, list) else 12 if n else 0
        for j, text in enumerate(row.split("|")):
            left, right = 72 + 100 * j, 72 + 100 * j + (120 if text[:1] == "+" else 5 * len(text))
            found += [Line(text.strip("+"), height, left, right, size)] if text else []
    return found


def table_of(page: list[Line], rules: list[Rule] | None = None) -> list[str]:
    tables = [each.text for each in in_reading_order(page, rules or []) if each.is_table]
    return "".join(tables).split("\v") if tables else []


@each_row("documents/layout/columns_of_cells_are_a_table")
def test_columns_of_cells_are_a_table(
    rows: tuple[str, ...], steps: float | list[float], expected: list[str]
) -> None:
    assert table_of(cells(*rows, steps=steps)) == expected


@each_row("documents/layout/what_is_not_surely_a_table_stays_text")
def test_what_is_not_surely_a_table_stays_text(rows: tuple[str, ...]) -> None:
    assert table_of(cells(*rows)) == []


def test_rules_above_and_below_a_head_make_words_a_table() -> None:
    page = cells("Boat|Port|Owner", "Aldra|Varde|Holm", "Belfrid|Ribe|Reed")
    one, two = Rule(70, 712, 300, 712), Rule(70, 697, 300, 697)
    assert table_of(page, [two]) == []
    assert table_of(page, [one, two])[0] == "Boat: Aldra; Port: Varde; Owner: Holm"


def test_a_caption_gives_its_unit_to_the_table() -> None:
    caption = line("Table 2. Crew by year (in thousands)", 720, 72, 280)
    page = [caption, *cells("Boat|1931|1932", "Aldra|12|9", "Belfrid|7|8")]
    assert table_of(page)[1] == "Boat: Aldra; 1931: 12 thousand; 1932: 9 thousand"


def test_cells_that_no_rule_parts_are_one() -> None:
    page = cells("Boat|Crew", "|1931|1932", "Aldra|12|9", "Belfrid||8")
    xs, ys = (70, 170, 270, 370), (709, 697, 685, 673, 661)
    rules = [Rule(70, y, 370, y) for y in ys if y != 697 and y != 673]
    rules += [Rule(170, 697, 370, 697), Rule(70, 673, 170, 673), Rule(270, 673, 370, 673)]
    rules += [Rule(x, 661, x, 709) for x in xs if x != 270] + [Rule(270, 661, 270, 697)]
    found = with_ruled_tables(page, rules)
    assert [each.text.split("\v") for each in found] == [
        [
            "Boat: Aldra; Crew, 1931: 12; Crew, 1932: 9",
            "Boat: Belfrid; Crew, 1931: 12; Crew, 1932: 8",
        ]
    ]


def ruled(*columns: tuple[float, ...]) -> list[Rule]:
    """Rules between three rows; those between the columns stand elsewhere in each row."""
    ys = (709, 697, 685, 673)
    upright = [
        Rule(x, b, x, t) for t, b, *xs in zip(ys, ys[1:], *columns, strict=False) for x in xs
    ]
    return [Rule(70, y, 370, y) for y in ys] + upright


EDGES = (70, 70, 70), (370, 370, 370)


def test_rules_that_are_not_quite_in_line_part_every_row() -> None:
    page = cells("Boat|Crew", "Aldra|12", "Belfrid|7")
    rules = ruled(EDGES[0], (165, 167.5, 170), EDGES[1])
    (table,) = with_ruled_tables(page, rules)
    assert table.text.split("\v") == ["Boat: Aldra; Crew: 12", "Boat: Belfrid; Crew: 7"]


def test_words_beside_a_frame_belong_to_its_last_cell() -> None:
    wide = Line("7 of her own", 676, 272, 420, 10, (272, 300, 340, 380))
    page = [*cells("Boat|Port|Crew", "Aldra|Ribe|12"), line("Belfrid", 676), wide]
    rules = ruled(EDGES[0], (170, 170, 170), (270, 270, 270), EDGES[1])
    (table,) = with_ruled_tables(page, rules)
    assert table.text.split("\v")[1] == "Boat: Belfrid; Crew: 7 of her own"


def test_a_line_of_one_table_is_no_head_of_the_next() -> None:
    first = [("Boat", "Yard where she lay at anchor", "Crew"), ("Aldra", "Ribe", "12")]
    first += [("Belfrid", "Varde", "7"), ("Corona", "Holm", "9"), ("", "", "men")]
    second = [("Parish on the northern side of the river Sill", "1931", "1932")]
    second += [(f"Holm {name}", "12", "9") for name in ("north", "south", "east")]
    page = [
        Line(text, 700 - 12 * n, left, left + 5 * len(text), 10)
        for n, (lefts, row) in enumerate(
            [((72, 120, 300), row) for row in first] + [((72, 302, 400), row) for row in second]
        )
        for left, text in zip(lefts, row, strict=True)
        if text
    ]
    tables = [each.text for each in in_reading_order(page) if each.is_table]
    assert ["men" in text for text in tables] == [True, False]


def test_a_line_that_stands_twice_on_each_page_is_no_running_head_of_two_pages() -> None:
    heads = [line("Annual report", 780), line("Annual report", 774)]
    pages = [[*heads, line(f"Text of page {name}.", 700)] for name in ("one", "two")]
    assert running_heads.without_running_heads(pages) == pages


words = st.sampled_from(["the old harbour of Varde", "a crane", "12 9", "were sold to the cooper"])
places = st.integers(0, 60).map(lambda n: n * 10.0)


@given(st.lists(st.builds(line, words, places, places, places, st.sampled_from([0.01, 8, 10, 30]))))
def test_every_line_is_in_the_order_once(page: list[Line]) -> None:
    ordered = " ".join(each.text for each in in_reading_order(page)).split()
    assert sorted(ordered) == sorted(" ".join(each.text for each in page).split())
    text, starts = running_text([page, page])
    assert len(starts) == 2
    assert 0 == starts[0] <= starts[1] <= len(text)
