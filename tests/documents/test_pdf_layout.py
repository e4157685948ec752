import time

from pincite.documents.pdf import Line, running_text


def line(text: str, height: float, left: float = 72, right: float = 400, size: float = 10) -> Line:
    return Line(text, height, height, left, right, size)


def test_nothing() -> None:
    assert running_text([]) == ("", [])
    assert running_text([[], []]) == ("", [0, 0])


def test_page_starts_point_at_the_first_character_of_the_page() -> None:
    text, starts = running_text([[line("One.", 700)], [], [line("Three.", 700)]])
    assert text == "One.\n\nThree."
    assert starts == [0, 4, 6]


def test_hyphens_at_line_ends() -> None:
    page = [
        line("A well-", 700),
        line("known bridge, a well-known one, of inter-", 688),
        line("national fame in the Anglo-", 676),
        line("American world, infor\x02mation from 1913-", 664),
        line("1914", 652),
    ]
    assert running_text([page])[0] == (
        "A well-known bridge, a well-known one, of international fame in the Anglo-American world, "
        "information from 1913-1914"
    )


def test_one_long_word_takes_time_in_proportion() -> None:
    word = "a" * 100_000
    begin = time.process_time()
    assert running_text([[line(word, 700)]])[0] == word
    assert time.process_time() - begin < 2  # 0.01 s; with the square of its letters 8 s


def test_paragraphs_by_gap_heading_indent_and_short_last_line() -> None:
    page = [
        line("A heading", 700, size=14),
        line("The first line of a paragraph that fills", 688),
        line("its column, and a last one.", 676, right=200),
        line("Another paragraph without a gap, which", 664),
        line("ends at the margin after all of its words.", 652),
        line("Indented, the third.", 640, left=90),
        line("After a gap, the fourth.", 610),
    ]
    assert running_text([page])[0].split("\n\n") == [
        "A heading",
        "The first line of a paragraph that fills its column, and a last one.",
        "Another paragraph without a gap, which ends at the margin after all of its words.",
        "Indented, the third.",
        "After a gap, the fourth.",
    ]


def test_a_sentence_that_goes_on_in_the_next_column_is_not_cut() -> None:
    page = [line("The bridge was", 100, 72, 280), line("opened in 1931.", 700, 320, 520)]
    assert running_text([page])[0] == "The bridge was opened in 1931."


def test_running_headers_and_page_numbers_go_rows_of_figures_stay() -> None:
    pages = [
        [
            line("Annual report 1931", 780),
            line(f"Text of page {n} is this.", 700),
            line(f"{n}", 40),
        ]
        for n in range(1, 5)
    ]
    assert running_text(pages)[0].split("\n\n") == [
        f"Text of page {n} is this." for n in range(1, 5)
    ]
    figures = [[line(f"{n} 12 {n * 7}", 700), line(f"{n} 9 {n * 5}", 688)] for n in range(1, 5)]
    assert running_text(figures)[0].startswith("1 12 7 1 9 5")


def test_ligatures_and_controls() -> None:
    assert running_text([[line("the of\ufb01ce\x00", 700)]])[0] == "the office"
