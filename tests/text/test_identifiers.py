import pytest

from pincite.text.identifiers import (
    doi_address,
    doi_in,
    doi_of,
    doi_of_url,
    pmc_of_url,
    pmid_of_url,
)

SICI = "10.1002/(SICI)1097-0258(19980815)17:15<1661:AID-SIM968>3.0.CO;2-2"


@pytest.mark.parametrize(
    ("url", "doi"),
    [
        (doi_address(SICI), SICI),
        ("http://dx.doi.org/10.1016/S0140-6736%2804%2912345-6", "10.1016/S0140-6736(04)12345-6"),
        ("https://doi.org/10.1016/S0140-6736(04)12345-6", "10.1016/S0140-6736(04)12345-6"),
        ("https://pub.example/doi/abs/10.1002/x.12?journalCode=a#top", "10.1002/x.12"),
        ("https://link.example/content/pdf/10.1007%2Fs001-02-3.pdf", "10.1007/s001-02-3"),
        ("https://plos.example/one/article?id=10.1371/journal.pone.7", "10.1371/journal.pone.7"),
        ("https://arxiv.example/content/10.1101/2020.01.01v2.full", "10.1101/2020.01.01v2"),
        ("https://pub.example/doi/10.1000/supplement/12", "10.1000/supplement/12"),
        ("https://e.example/10.5/20", None),
        ("https://e.example/", None),
        ("http://[", None),
        ("10.1000/x", None),
    ],
)
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
