import pytest
from support.rows import each_row

from pincite.text.identifiers import (
    doi_address,
    doi_in,
    doi_of,
    doi_of_url,
    pmc_of_url,
    pmid_of_url,
)

SICI = "10.1002/(SICI)1097-0258(19980815)17:15<1661:AID-SIM968>3.0.CO;2-2"


@each_row("text/identifiers/the_doi_of_an_address")
def test_the_doi_of_an_address(url: str, doi: str | None) -> None:
    assert doi_of_url(url) == doi


@pytest.mark.parametrize("written", [SICI, f"doi:{SICI}", f"DOI: {SICI}", doi_address(SICI)])
def test_one_key_however_a_doi_is_written(written: str) -> None:
    assert doi_of(written) == SICI.lower()
    assert doi_in(f"Cox, D. ({written}).") == SICI


def test_other_numbers_of_addresses() -> None:
    assert pmid_of_url("https://pubmed.ncbi.nlm.nih.gov/0123/") == "123"
    assert pmid_of_url("https://e.example/123/") is None
    assert pmc_of_url("https://www.ncbi.nlm.nih.gov/pmc/articles/PMC77/pdf/a.pdf") == "PMC77"
    assert pmc_of_url("https://e.example/PMC77") is None
