"""What a claim names in tables that are written in words."""

import pytest
from support.rows import each_row

from pincite.judgement.contradictions import contradiction
from pincite.report.templates import mark_cells
from pincite.text.paraphrase import verifier_input
from pincite.text.tables import keep_named_rows, look_up, other_value, unstated_values
from pincite.types import Claim, Passage, Span

SHIPS = """Ships of the line
Ship: Aldra; Built: 1987; Passengers: 1,150; Cars: 260
Ship: Corvina; Built: 2003; Passengers: 1,900; Cars: 480
Ship: Dagny; Built: 2011; Passengers: 1,620; Cars: 390"""
LOANS = """Branch: Ask; Year: 2015; Loans: 412; Visitors: 890
Branch: Ask; Year: 2016; Loans: 398; Visitors: 905
Branch: Vik; Year: 2015; Loans: 87; Visitors: 140
Branch: Vik; Year: 2016; Loans: 91; Visitors: 151
Branch: Total; Year: 2016; Loans: 489; Visitors: 1,056"""


@pytest.mark.parametrize(
    ("claim", "text", "n_rows"),
    [
        ("Dagny was built in 2003.", SHIPS, 1),  # a year of the column that the claim names
        ("Vik made 91 loans in 2016.", LOANS, 1),
        ("Vik made 91 loans.", LOANS, 2),
        ("Ships were built.", SHIPS, 0),
    ],
)
def test_the_rows_that_a_claim_names(claim: str, text: str, n_rows: int) -> None:
    assert sum(len(lookup.rows) for lookup in look_up(claim, text)) == n_rows


def test_only_named_rows_are_read_and_no_column_lends_its_value() -> None:
    claim = "Dagny can take 390 passengers."
    assert "Corvina" not in keep_named_rows(claim, SHIPS)
    assert "390" not in verifier_input(claim, SHIPS, page=SHIPS)[1]
    first = "\n".join(SHIPS.split("\n")[:2])
    assert keep_named_rows(claim, first, SHIPS) == "Ships of the line"


def test_a_cell_that_states_the_claim_is_read_alone() -> None:
    prose = "The Aldra carries 1,150 passengers."
    claim = "The Dagny carries 1,620 passengers."
    assert keep_named_rows(claim, f"{prose}\n{SHIPS}").endswith("Ship: Dagny; Passengers: 1,620")
    assert prose not in keep_named_rows(claim, f"{prose}\n{SHIPS}")
    assert prose in keep_named_rows("The Dagny carries 1,900 passengers.", f"{prose}\n{SHIPS}")
    assert prose in keep_named_rows("The Dagny is new.", f"{prose}\n{SHIPS}")


def test_no_row_ranks_without_its_whole_table() -> None:
    claim = "Aldra is the ship with the most passengers."
    assert keep_named_rows(claim, SHIPS.rpartition("\n")[0]) == "Ships of the line"
    assert "most" not in keep_named_rows(claim, SHIPS, SHIPS)
    assert "Passengers: most" in keep_named_rows(claim.replace("Aldra", "Corvina"), SHIPS, SHIPS)


@pytest.mark.parametrize("total", ["Town: Total; 2000: 120", "Town: Total; 1990: 5"])
def test_a_rank_is_that_of_the_row_beside_a_named_total(total: str) -> None:
    claim = "Ask had the largest total in 2000."
    text = f"{total}\nTown: Ask; 2000: 40\nTown: Vik; 2000: 50\nTown: Ob; 2000: 30"
    assert [other_value(lookup) for lookup in look_up(claim, text)] == [(Span(8, 19), "40 (2.)")]


def test_a_pronoun_names_the_row_of_the_article() -> None:
    read = verifier_input("It takes 480 cars.", SHIPS, page=SHIPS, subject="Aldra")[1]
    assert ("Aldra" in read, "Corvina" in read) == (True, False)


def test_a_number_within_a_sum_does_not_follow_from_it() -> None:
    claim = "Aldra and Dagny together take 650 cars and 65 lorries."
    assert [value.span.of(claim) for value in unstated_values(claim, SHIPS)] == ["65"]


@each_row("text/tables/the_cells_that_a_claim_names_are_marked")
def test_the_cells_that_a_claim_names_are_marked(claim: str, cells: list[str]) -> None:
    quote = SHIPS.rsplit("\n", maxsplit=1)[-1]
    head, row = mark_cells(claim, quote)
    assert (head.is_header, row.is_header) == (True, False)
    assert [cell.text for cell in head.cells] == ["Ship", "Built", "Passengers", "Cars"]
    assert [cell.text for cell in row.cells if cell.is_marked] == cells
    assert not mark_cells(claim, SHIPS)


@each_row("text/tables/what_follows_from_a_table_is_written_beside_the_cell")
def test_what_follows_from_a_table_is_written_beside_the_cell(claim: str, words: str) -> None:
    text = LOANS if "Vik" in claim else SHIPS
    assert words in verifier_input(claim, text, page=text)[1]
    assert not unstated_values(claim, text)


@each_row("text/tables/what_does_not_follow_is_not_written")
def test_what_does_not_follow_is_not_written(claim: str) -> None:
    text = LOANS if "Vik" in claim else SHIPS
    read = verifier_input(claim, text, page=text)[1]
    assert not any(word in read for word in ("together", "of the total", "most"))


@each_row("text/tables/a_cell_contradicts_in_its_row_and_column")
def test_a_cell_contradicts_in_its_row_and_column(claim: str, source: str) -> None:
    text = LOANS if "Vik" in claim else SHIPS
    found = contradiction(Claim.alone(claim), Passage.alone(text), text)
    assert found is not None
    assert found.source == source


@each_row("text/tables/other_claims_are_not_contradicted")
def test_other_claims_are_not_contradicted(claim: str) -> None:
    text = LOANS if "Vik" in claim else SHIPS
    assert contradiction(Claim.alone(claim), Passage.alone(text), text) is None
