"""RIS and BibTeX files, and tables of papers, as collections."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from documents.builders import read_as_file
from support.found import document, refusal
from support.rows import text_of

from pincite.types import Document, Reason, Unchecked

Found = list[Document | Unchecked]
Read = Callable[[str, str], Found]

RIS = text_of("documents/bibliographies/works.ris")
BIBTEX = text_of("documents/bibliographies/works.bib")


@pytest.fixture
def read(tmp_path: Path) -> Read:
    return partial(read_as_file, tmp_path)


@pytest.mark.parametrize("name", ["saved.ris", "saved.nbib"])
def test_records_that_are_no_text_are_refused(tmp_path: Path, name: str) -> None:
    (why,) = read_as_file(tmp_path, b"TY  - JOUR\nPMID- 1\n" + bytes(range(256)), name)
    assert refusal(why).reason is Reason.UNDECODABLE


@pytest.mark.parametrize("name", ["saved.ris", "saved.txt", "saved.ris.gz"])
def test_the_records_of_a_ris_file(read: Read, name: str) -> None:
    found = read(RIS, name)
    first, second, third = document(found[0]), refusal(found[1]), document(found[2])
    assert first.url == "https://doi.org/10.9999/trams.1"
    assert first.title == "Trams and sleep in Varde"
    assert (first.text, first.published) == ("Trams are loud. Sleep fell by 3 %.", "2019-04-07")
    assert first.kind == "ris"
    assert first.meta == {
        "author": "I. M. Holm and P. Berg",
        "authors": "Holm, Ida Marie; Berg, Per",
        "coverage": "abstract",
        "doi": "10.9999/trams.1",
        "journal": "Journal of trams",
        "keywords": "sleep; noise",
        "pages": "11-19",
        "volume": "3",
    }
    assert (second.reason, second.url[-4:]) == (Reason.TITLE_ONLY, "/12/")
    assert (third.title, third.meta["retracted"]) == ("Bells", "yes")
    assert third.url.endswith(f"{name}#3")


@pytest.mark.parametrize(
    ("note", "address"),
    [
        ("PMID: 31452104", "https://pubmed.ncbi.nlm.nih.gov/31452104/"),
        ("Retracted Publication. PMID: 31452104", "https://pubmed.ncbi.nlm.nih.gov/31452104/"),
        ("Erratum in: Sleep. 2020. PMID: 31452104", "https://doi.org/10.9999/bells"),
        ("Comment on a retracted publication, PMID: 31452104", "https://doi.org/10.9999/bells"),
    ],
)
def test_the_pmid_of_a_note_about_another_paper_is_not_its_own(
    read: Read, note: str, address: str
) -> None:
    lines = [
        "TY  - JOUR",
        "TI  - Bells",
        "AB  - They rang.",
        "DO  - 10.9999/bells",
        f"N1  - {note}",
    ]
    (found,) = read("\n".join([*lines, "ER  - "]), "saved.ris")
    assert document(found).url == address
    assert document(found).meta.get("retracted") == ("yes" if note.startswith("Ret") else None)


@pytest.mark.parametrize("name", ["saved.bib", "saved.txt"])
def test_the_entries_of_a_bibtex_file(read: Read, name: str) -> None:
    found = read(BIBTEX.lstrip() if name == "saved.bib" else BIBTEX[BIBTEX.index("@art") :], name)
    first = document(found[0])
    assert (first.url, first.title) == ("https://doi.org/10.9999/trams.1", "Trams and slëep: 5–6")
    assert (first.text, first.published) == ("Sleep fell by 3% in 5 towns.", "2019-04")
    assert first.meta["authors"] == "van Holm, Ida; Berg, Per; Varde Study Group"
    assert (first.kind, first.meta["pages"]) == ("bibtex", "11–19")
    assert [each.title if isinstance(each, Document) else each.reason for each in found] == [
        "Trams and slëep: 5–6",
        "Same key",
        Reason.TITLE_ONLY,
        Reason.UNDECODABLE,
        "Bells",
    ]
    last = document(found[-1])
    assert last.meta["retracted"] == "yes"
    if name == "saved.bib":
        assert first.meta["journal"] == "Journal of träms"


def test_the_address_of_a_bibtex_file_keeps_its_hyphens(read: Read) -> None:
    entry = r"@article{a, title={5--6}, abstract={Loud.}, url={https://e.example/a--b\_c}}"
    (found,) = read(entry, "saved.bib")
    assert (document(found).url, document(found).title) == ("https://e.example/a--b_c", "5–6")


def test_text_that_only_quotes_a_record_is_one_document(read: Read) -> None:
    text = "Write to holm@trams.example, who wrote @article{holm, title = {Trams}} for us."
    (found,) = read(text, "note.txt")
    assert document(found).kind == "text"


@pytest.mark.parametrize(("name", "sign"), [("saved.csv", ","), ("saved.tsv", "\t")])
def test_the_rows_of_a_table_of_papers(read: Read, name: str, sign: str) -> None:
    rows = [
        "Title,Abstract,Authors,Year,DOI,PMID",
        "Trams,They are loud.,Holm I; Berg P,2019,10.9999/trams.1,",
        "Bells,They rang.,Berg P,2020,,13",
        "Horns,They blew.,,,,",
    ]
    found = read("\n".join(rows).replace(",", sign), name)
    documents = [each for each in found if isinstance(each, Document)]
    assert [each.title for each in documents] == ["Trams", "Bells", "Horns"]
    assert documents[0].published == "2019"
    assert documents[0].meta["authors"] == "Holm I; Berg P"
    assert [each.url.rpartition("/")[2] for each in documents] == ["trams.1", "", f"{name}#4"]


def test_a_table_of_papers_without_abstracts_names_the_missing_column(read: Read) -> None:
    (problem,) = read("title,doi\nTrams,10.9999/trams.1\n", "saved.csv")
    assert "abstract" in refusal(problem).detail
