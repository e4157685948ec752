"""PDFs: text, pages, columns and reasons for refusal."""

import time

import pytest
from documents.builders import locked_pdf, pdf, pdf_of
from support.found import document, refusal

from pincite.documents.body import DEFAULT_LIMITS, Limits
from pincite.documents.pdf import Line, running_text
from pincite.documents.read import read_bytes
from pincite.text.page_numbers import LABELS, page_of
from pincite.types import Document, Reason, Unchecked

URL = "https://archive.example/report.pdf"
PAGE_ONE = [
    [
        "The council decided in the spring of 1931 that the infor-",
        "mation office moves into the town",
    ],
    ["A second paragraph begins here and", "goes on below."],
]
PAGE_TWO = [["Costs were borne by the harbour board."]]


def read(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Document | Unchecked:
    return read_bytes(data, url=URL, limits=limits)


def reason(found: Document | Unchecked) -> Reason:
    assert refusal(found).detail
    return refusal(found).reason


def test_text_title_pages_and_paragraphs() -> None:
    info = "/Title (Report on the office) /Author (Ada Holm) /CreationDate (D:19990203120000Z)"
    found = document(read(pdf_of([PAGE_ONE, PAGE_TWO], info)))
    assert found.text == (
        "The council decided in the spring of 1931 that the information office moves into the town"
        "\n\nA second paragraph begins here and goes on below."
        "\n\nCosts were borne by the harbour board."
    )
    assert (found.title, found.kind, found.language) == ("Report on the office", "pdf", "en")
    assert found.meta["author"] == "Ada Holm"
    assert found.meta["created"] == "1999-02-03"
    assert found.published is None
    assert page_of(found, 0) == 1
    assert page_of(found, found.text.index("Costs") - 1) == 1
    assert page_of(found, found.text.index("Costs")) == 2


@pytest.mark.parametrize(
    ("labels", "known"),
    [
        ("[0 << /S /r >> 1 << /S /D /St 120 >>]", '["i", "120"]'),
        ("[0 << /S /D >> 1 << /S /D >>]", None),  # two pages 1: the file does not know
        ("[0 << /S /D >>]", None),  # 1, 2: as they are counted
    ],
)
def test_printed_page_numbers(labels: str, known: str | None) -> None:
    page = [(72.0, 700.0, "The tram runs to the harbour.")]
    found = document(read(pdf([page, page], catalog=f"/PageLabels << /Nums {labels} >>")))
    assert found.meta.get(LABELS) == known


@pytest.mark.parametrize("title", ["Microsoft Word - draft7.doc", "Untitled", "report.indd", " - "])
def test_titles_of_word_processors_are_none(title: str) -> None:
    assert document(read(pdf_of([PAGE_TWO], f"/Title ({title})"))).title == ""


def test_reasons() -> None:
    whole = pdf_of([PAGE_ONE, PAGE_TWO])
    assert reason(read(locked_pdf())) is Reason.ENCRYPTED
    assert reason(read(pdf_of([[], []]))) is Reason.EMPTY
    assert reason(read(b"%PDF-1.7 but no more")) is Reason.UNDECODABLE
    assert reason(read(whole, Limits(max_chars=20))) is Reason.TOO_LARGE


def test_many_short_lines_end_at_the_limit_of_processor_time() -> None:
    many = pdf([[(72.0, 700.0, f"a{n}") for n in range(20_000)]])
    assert reason(read(many, Limits(seconds=0.05))) is Reason.TIMED_OUT
    assert isinstance(read(pdf_of([PAGE_TWO])), Document)


LEFT = [
    "The council of Varde met in the spring of",
    "1931 and read the report of the harbour",
    "board. It voted for a new ferry and for",
    "two cranes at the northern quay, which",
    "had been without one since the great",
]
RIGHT = [
    "storm. The mill on the island was sold to",
    "a cooper from Ribe for nine hundred",
    "crowns, and its wheel was taken to the",
    "museum. The road to the church was paved",
    "by forty men before the winter came.",
]
HEADING = "MINUTES OF THE TOWN COUNCIL OF VARDE FOR THE YEARS FROM 1931 TO 1944"


def rows(
    *columns: list[str], lefts: tuple[float, ...] = (60, 320)
) -> list[tuple[float, float, str]]:
    """The columns as a file has them that was written row by row."""
    return [
        (left, 700 - 12 * n, text)
        for n, row in enumerate(zip(*columns, strict=True))
        for left, text in zip(lefts, row, strict=True)
    ]


def test_columns_written_row_by_row() -> None:
    assert document(read(pdf([rows(LEFT, RIGHT)]))).text == f"{' '.join(LEFT)} {' '.join(RIGHT)}"


def test_a_heading_across_columns_ends_those_above_it() -> None:
    below = [(left, height - 200, text) for left, height, text in rows(RIGHT, LEFT)]
    found = document(read(pdf([[*rows(LEFT, RIGHT), (60, 560, HEADING), *below]])))
    parts = [" ".join(LEFT), " ".join(RIGHT), HEADING]
    assert [found.text.index(part) for part in parts] == sorted(map(found.text.index, parts))
    assert found.text.rindex(" ".join(RIGHT)) < found.text.rindex(" ".join(LEFT))


def test_hyphenated_words_across_columns() -> None:
    left = [
        *LEFT[:2],
        "board. It voted for a new fer-",
        "ry and for two cranes at the northern",
        LEFT[4],
    ]
    right = [
        *RIGHT[:3],
        "museum. The road to the church was re-",
        "paired by forty men before the winter.",
    ]
    found = document(read(pdf([rows(left, right)])))
    assert "a new ferry and for" in found.text
    assert "was repaired by forty men" in found.text


@pytest.mark.parametrize(
    "columns",
    [
        [["Year", "1931", "1932", "1933"], ["Ferries", "12", "14", "9"]],
        [
            ["Mill", "Old harbour crane", "Bell", "Tower of the church"],
            ["sold", "lost", "kept", "-"],
        ],
    ],
)
def test_rows_of_a_table_stay_rows(columns: list[list[str]]) -> None:
    found = document(read(pdf([rows(*columns)])))
    first = [found.text.index(f"{a} {b}") for a, b in zip(*columns, strict=True)]
    assert first == sorted(first)


def test_one_column_with_wide_gaps_stays_as_it_is() -> None:
    lines = [(72.0, 700 - 12.0 * n, text) for n, text in enumerate(LEFT)]
    found = document(read(pdf([[*lines, (72, 640, "Signed:"), (320, 640, "Ida Holm")]])))
    assert "Signed: Ida Holm" in " ".join(found.text.split())


@pytest.mark.parametrize(
    ("base", "raised", "expected"),
    [
        ("They sent 10", "6", "They sent 10⁶ watts"),
        ("They sent 10", "-3", "They sent 10⁻³ watts"),
        ("They sent 5 km", "2", "They sent 5 km² watts"),
        ("They sent it in 1910", "6", "They sent it in 1910"),  # a note's number
        ("They sent ferries", "2", "They sent ferries"),
    ],
)
def test_powers_and_footnote_marks(base: str, raised: str, expected: str) -> None:
    stream = (
        f"BT /F1 10 Tf 72 700 Td ({base}) Tj /F1 6 Tf 4 Ts ({raised}) Tj "
        "/F1 10 Tf 0 Ts ( watts) Tj ET"
    )
    source = pdf([[(72, 700, "X")]]).decode("latin-1")
    old = "BT /F1 10 Tf 72 700 Td (X) Tj ET"
    source = source.replace(f"<< /Length {len(old)} >>", f"<< /Length {len(stream)} >>")
    found = document(read(source.replace(old, stream).encode("latin-1")))
    assert expected in found.text


def line(text: str, height: float, left: float = 72, right: float = 400, size: float = 10) -> Line:
    return Line(text, height, height, left, right, size)


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


def test_a_long_word_takes_linear_time() -> None:
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


def test_running_headers_are_dropped_and_figures_kept() -> None:
    pages = [
        [line("Annual report 1931", 780), line(f"Text of page {n} is this.", 700), line(f"{n}", 40)]
        for n in range(1, 5)
    ]
    assert running_text(pages)[0].split("\n\n") == [
        f"Text of page {n} is this." for n in range(1, 5)
    ]
    figures = [[line(f"{n} 12 {n * 7}", 700), line(f"{n} 9 {n * 5}", 688)] for n in range(1, 5)]
    assert running_text(figures)[0].startswith("1 12 7 1 9 5")
