"""Tables as rows in words, from every format that has them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from support.found import document
from support.rows import each_row
from support.table_files import CASES, FILES, TableCase, TableClaim, read_cases, written

from pincite.documents.read import read_bytes
from pincite.documents.tables import GROUP_WORDS, LINE_WORDS, Cell, grid_of, lines_of
from pincite.judgement import decide
from pincite.judgement.atoms import unstated_atoms
from pincite.models import weights
from pincite.models.verifier import CrossEncoderVerifier
from pincite.text.passages import cited_passages
from pincite.types import Claim, Document, Label

ROWS = "Crop,Area,2001\nWheat,3,4.5\nRye,1,2"


def lines(*rows: str, caption: str = "", headed: bool = True) -> list[str]:
    cells = [[Cell(text) for text in row.split("|")] for row in rows]
    return lines_of(grid_of(cells), caption, headed=headed)


def read(data: str, ending: str, content_type: str | None = None) -> Document:
    url = f"https://e.org/a{ending}"
    return document(read_bytes(data.encode(), url=url, content_type=content_type))


def test_each_value_stands_behind_its_header() -> None:
    assert lines("Crop|2001|2002", "Wheat|3|4", "Rye|–|2") == [
        "Crop: Wheat; 2001: 3; 2002: 4",
        "Crop: Rye; 2002: 2",
    ]


@each_row("documents/tables/units_and_marks")
def test_units_and_marks(header: str, caption: str, cell: str, expected: str) -> None:
    found = lines(f"Town|{header}", f"Ask|{cell}", caption=caption)
    assert found[-1] == f"Town: Ask; {expected}"


def test_spans_are_resolved() -> None:
    grid = grid_of(
        [
            [Cell("Town", 1, 2, header=True), Cell("Seats", 2, 1, header=True)],
            [Cell("Won", header=True), Cell("Lost", header=True)],
            [Cell("Ask", 1, 2), Cell("1"), Cell("2")],
            [Cell("3", 2, 1)],
            [Cell("South", 3, 1)],
            [Cell("Vik"), Cell("5"), Cell("6")],
        ]
    )
    assert lines_of(grid) == [
        "Town: Ask; Seats, Won: 1; Seats, Lost: 2",
        "Town: Ask; Seats, Won: 3",
        "South; Town: Vik; Seats, Won: 5; Seats, Lost: 6",
    ]


def test_a_long_table_repeats_its_caption_and_a_wide_row_its_first_cell() -> None:
    rows = [f"Town {n}|{'one two ' * 9}|{n}|{'three ' * 20}" for n in range(20)]
    found = lines("Town|Words|Number|More", *rows, caption="Towns")
    assert found.count("Towns") > 2
    between = "\n".join(found).split("Towns\n")[1:]
    assert all(len(part.split()) <= GROUP_WORDS + 2 * LINE_WORDS for part in between)
    assert sum(line.startswith("Town: Town 7; ") for line in found) == 2


def test_a_table_without_headers_keeps_its_cells() -> None:
    assert lines("Name|Ask", "River|Vell", headed=False) == ["Name: Ask", "River: Vell"]
    assert lines("1|2|3", "4|5|6") == ["1 | 2 | 3", "4 | 5 | 6"]


def test_layout_tables_and_hidden_cells_are_left_alone() -> None:
    words = (
        "The bridge was opened in 1911 by the mayor of the town, and it stands to this day. " * 6
    )
    page = f"<body><table><tr><td>Menu<td>{words}<tr><td>More<td>{words}</table>"
    assert "; " not in read(page, ".html").text
    page = (
        "<body><table><tr><th>Town<th>Size<tr><td>Ask<td><span style='display:none'>9</span>"
        "12<sup>1</sup><tr><td>Vik<td>4 km<sup>2</sup></table>"
    )
    assert read(page, ".html").text == "Town: Ask; Size: 12\nTown: Vik; Size: 4 km2"


@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_separated_values_are_rows_whatever_separates_them(sign: str) -> None:
    found = read(ROWS.replace(",", sign), ".csv", "text/plain")
    assert (found.kind, found.text.split("\n")[0]) == ("csv", "Crop: Wheat; Area: 3; 2001: 4.5")


def read_case(case: TableCase, name: str = "a") -> Document:
    ending, content_type = FILES[case.format]
    url = f"https://e.org/{name}{ending}"
    return document(read_bytes(written(case), url=url, content_type=content_type))


@pytest.mark.parametrize("case", read_cases(), ids=lambda case: case.id)
def test_every_format_gives_each_row(case: TableCase) -> None:
    found = read_case(case)
    rows = [line for line in found.text.split("\n") if "; " in line]
    assert len(rows) == len(case.rows) - case.n_headers
    for value in (cell for row in case.rows[case.n_headers :] for cell in row):
        shown = value.removesuffix("[a]").replace(",", "").replace("−", "-")
        plain = found.text.replace(",", "").replace("−", "-")
        assert value in ("^", "<", "—") or shown.removesuffix(".0") in plain


PDF_SETS = ["pdf.txt", "pdf-fresh.txt"]
PDF_CASES = [case for name in PDF_SETS for case in read_cases(CASES.with_name(name))]


@pytest.mark.parametrize("case", PDF_CASES, ids=lambda case: case.id)
def test_a_table_in_a_pdf_is_read_as_the_same_table_in_html(case: TableCase) -> None:
    html = read_case(replace(case, format="html")).text
    rows = [line for line in html.split("\n") if "; " in line and ": " in line]
    text = read_case(replace(case, format="pdf")).text
    assert len(rows) == len(case.rows) - case.n_headers
    assert [row for row in rows if row not in text.split("\n")] == []
    words = " ".join(text.split())
    assert [part for part in (case.text, case.note) if part not in words] == []


@pytest.mark.models
def test_most_claims_about_tables_are_judged_right() -> None:
    right, claims = judged(read_cases())
    assert right >= 0.85 * claims


@pytest.mark.models
@pytest.mark.parametrize("name", PDF_SETS)
def test_most_claims_about_tables_in_pdfs_are_judged_right(name: str) -> None:
    right, claims = judged(read_cases(CASES.with_name(name)))
    assert (claims, right >= 25) == (30, True)


def judged(cases: Sequence[TableCase]) -> tuple[int, int]:
    """How many claims are judged right, of how many; no true one may be refuted."""
    verifier = CrossEncoderVerifier(weights.locate(weights.VERIFIER))
    right, claims = 0, list[TableClaim]()
    for case in cases:
        passages = cited_passages(read_case(case, case.title.replace(" ", "_")))
        for claim in case.claims:
            evidence = verifier.verify([(Claim("", claim.text), each) for each in passages])
            best = decide.deciding_evidence(evidence)
            assert best is not None
            label = decide.label_of(best, atoms=unstated_atoms(claim.text, passages))
            assert not (claim.true and label is Label.REFUTED)
            right += (label in (Label.SUPPORTED, Label.PARTLY_SUPPORTED)) is claim.true
            claims.append(claim)
    return right, len(claims)


@each_row("documents/tables/numbers_of_a_table_have_their_unit_and_sign")
def test_numbers_of_a_table_have_their_unit_and_sign(written: str, read: list[str]) -> None:
    text = document(read_bytes(written.encode(), url="u", content_type="text/csv")).text
    assert [part for part in read if part not in text] == []
