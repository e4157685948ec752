"""PDFs: text, pages, columns and reasons for refusal."""

import pytest
from documents.builders import Line, locked_pdf, pdf, pdf_of, show, show_raised
from support.found import document, refusal
from support.rows import each_row

from pincite.documents.body import DEFAULT_LIMITS, Limits
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


@each_row("documents/pdf/printed_page_numbers")
def test_printed_page_numbers(labels: str, known: str | None) -> None:
    page = [(72.0, 700.0, "The tram runs to the harbour.")]
    found = document(read(pdf([page, page], catalog=f"/PageLabels << /Nums {labels} >>")))
    assert found.meta.get(LABELS) == known


@pytest.mark.parametrize("title", ["Microsoft Word - draft7.doc", "Untitled", "report.indd", " - "])
def test_titles_of_word_processors_are_none(title: str) -> None:
    assert document(read(pdf_of([PAGE_TWO], f"/Title ({title})"))).title == ""


def test_pdfs_that_cannot_be_read_have_a_reason() -> None:
    whole = pdf_of([PAGE_ONE, PAGE_TWO])
    assert reason(read(locked_pdf())) is Reason.ENCRYPTED
    assert reason(read(pdf_of([[], []]))) is Reason.EMPTY
    assert reason(read(b"%PDF-1.7 but no more")) is Reason.UNDECODABLE
    assert reason(read(whole, Limits(max_chars=20))) is Reason.TOO_LARGE


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


@each_row("documents/pdf/text_of_a_page")
def test_text_of_a_page(lines: list[Line], text: str) -> None:
    assert document(read(pdf([lines]))).text == text


@each_row("documents/pdf/rows_of_a_table_stay_rows")
def test_rows_of_a_table_stay_rows(columns: list[list[str]]) -> None:
    found = document(read(pdf([rows(*columns)])))
    first = [found.text.index(f"{a} {b}") for a, b in zip(*columns, strict=True)]
    assert first == sorted(first)


TABLE = [["Ferry", "Aldra", "Belfrid"], ["Built", "1931", "1932"], ["Cars", "12", "14"]]
IN_WORDS = ["Ferry: Aldra; Built: 1931; Cars: 12", "Ferry: Belfrid; Built: 1932; Cars: 14"]


@pytest.mark.parametrize(
    "matrix", ["1 0 0 1 0 0", "0 1 -1 0 800 0", "-1 0 0 -1 612 792", "0 -1 1 0 0 612"]
)
def test_a_table_is_read_whichever_way_it_is_turned(matrix: str) -> None:
    shown = [show(*each) for each in rows(*TABLE, lefts=(60, 160, 260))]
    text = document(read(pdf([[f"q {matrix} cm {each} Q" for each in shown]]))).text
    assert text.split("\n") == IN_WORDS


def test_a_sign_without_a_code_moves_no_word_to_another_cell() -> None:
    texts = [(62, 700, "Boat"), (101, 700, "Crew"), (62, 688, "Aldra"), (101, 688, "12")]
    lines = [f"{x} 671 m {x} 711 l S" for x in (60, 99, 140)]
    lines += [f"60 {y} m 140 {y} l S" for y in (711, 697, 684, 671)]
    bullet = "BT /F1 10 Tf 62 676 Td (\\000 Holmby 4,120) Tj ET"
    found = document(read(pdf([[*(show(*each) for each in texts), bullet, *lines]])))
    assert found.text.split("\n")[1] == "Boat: Holmby; Crew: 4,120"


@each_row("documents/pdf/powers_and_footnote_marks")
def test_powers_and_footnote_marks(texts: tuple[str, ...], expected: str) -> None:
    assert document(read(pdf([[show_raised(72, 700, *texts)]]))).text == expected


@pytest.mark.parametrize("order", [0, 1, 2])
def test_columns_in_any_order_of_the_file(order: int) -> None:
    lines = [*rows(LEFT, RIGHT), (150, 730, HEADING)]
    shuffled = [lines[n * 7 % 11] for n in range(11)]
    page = [lines, shuffled, lines[::-1]][order]
    assert " ".join(document(read(pdf([page]))).text.split()) == " ".join([HEADING, *LEFT, *RIGHT])


@each_row("documents/pdf/a_turned_or_mirrored_page_is_read_as_an_upright_one")
def test_a_turned_or_mirrored_page_is_read_as_an_upright_one(matrix: str) -> None:
    shown = [show(left, height, text) for left, height, text in rows(LEFT, RIGHT)]
    text = document(read(pdf([[f"q {matrix} cm {each} Q" for each in shown]]))).text
    assert text == f"{' '.join(LEFT)} {' '.join(RIGHT)}"


@pytest.mark.parametrize(
    "content",
    [
        # 200,000 characters, at one place, in tiny boxes, at every place, and turned
        [show(72, 700, "word " * 40_000)],
        [show(n % 600, n * 7 % 790, "words", 0.01) for n in range(20_000)],
        [show(n * 13 % 600, n * 7 % 790, "four words and more 10", 9) for n in range(9_000)],
        [
            f"q 0 -1 1 0 {n % 600} {n * 7 % 790} cm {show(0, 0, 'words', -5)} Q"
            for n in range(9_000)
        ],
        [show(10 * (n % 60), 12 * (n // 60 % 66), "a1", 9) for n in range(20_000)],
        ["BT /F1 0 Tf (no size) Tj ET", "BT /F1 10 Tf 0 0 0 0 0 0 Tm (no box 12) Tj ET"],
        [show(1e30, -1e30, "far away 12"), show(72, 700, "near")],
    ],
)
def test_hostile_layouts_end_within_the_limits(content: list[str]) -> None:
    found = read(pdf([content]), Limits(seconds=20))
    assert isinstance(found, Document) or reason(found) is Reason.EMPTY
