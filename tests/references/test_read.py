"""References of articles, bibliographies and lists."""

import json
from pathlib import Path

import pytest
from support.rows import each_row

from pincite.errors import InputError
from pincite.references import read

WIKITEXT = """It opened.<ref>{{cite journal|title=Trams of Varde|last=Holm|first=Ida|year=2019
|doi=10.1000/a1|issn=2049-3630|arxiv=2101.00001|pmc=55|journal=J Trams}}</ref> It closed.<ref
name=b>Berg, A. Book. ISBN 978-0-306-40615-8</ref> And.<ref name=b/>
{|
| 3 <ref>{{cite web|url=https://a.org/x|title=A page}}</ref>
|}"""
LIST = """Text before.

References

[1] Holm, I. M., & Berg, P. (2019). Trams of Varde: A history. Tram Studies, 12(3), 44-61.
[2] I. Holm, P. Berg and L. Wei, "The price of rye," J. Grain, vol. 4, pp. 1-9, 2011.
[3] Holm IM, Berg P, et al. Ferry crossings and sleep. BMJ. 2004;12:33-5. PMID: 12345
[4] Lind E. A short book about towers. Varde: Press; 1999. ISBN 978-0-306-40615-7"""
RIS = "TY  - JOUR\nTI  - Trams\nAU  - Holm, Ida\nPY  - 2019\nSN  - 2049-3630\nER  - \n"
CSL = {
    "id": "q",
    "type": "book",
    "title": "Trams",
    "author": [{"family": "Holm", "given": "Ida"}, {"literal": "Tram Group"}],
    "issued": {"date-parts": [[2019, 3]]},
    "ISBN": "978-0-306-40615-7",
}
NBIB = "PMID- 5001\nTI  - Rye\nFAU - Berg, Per\nDP  - 2019 Mar\nJT  - Journal of rye\n"


def of(tmp_path: Path, name: str, text: str) -> list[read.Reference]:
    (tmp_path / name).write_text(text)
    return read.read([tmp_path / name])


def test_each_reference_of_an_article_once(tmp_path: Path) -> None:
    found = [each.citation for each in of(tmp_path, "a.wiki", WIKITEXT)]
    known = [each.title or each.isbn for each in found]
    assert known == ["Trams of Varde", "978-0-306-40615-8", "A page"]
    first = found[0]
    assert (first.issn, first.arxiv, first.pmc) == ("2049-3630", "2101.00001", "55")


def test_a_list_gives_authors_year_and_title(tmp_path: Path) -> None:
    found = [each.citation for each in of(tmp_path, "a.txt", LIST)]
    assert [(each.title, each.authors, each.date) for each in found] == [
        ("Trams of Varde: A history", ("Holm, I M", "Berg, P"), "2019"),
        ("The price of rye", ("I Holm", "P Berg", "L Wei"), "2011"),
        ("Ferry crossings and sleep", ("Holm IM", "Berg P"), "2004"),
        ("A short book about towers", ("Lind E",), "1999"),
    ]
    assert (found[2].pmid, found[3].isbn) == ("12345", "978-0-306-40615-7")


def test_bibliographies_are_complete_and_keep_their_keys(tmp_path: Path) -> None:
    (ris,) = of(tmp_path, "a.ris", RIS)
    (csl,) = of(tmp_path, "a.json", json.dumps([CSL]))
    (nbib,) = of(tmp_path, "a.nbib", NBIB)
    assert (ris.citation.issn, ris.citation.date) == ("2049-3630", "2019")
    assert (csl.citation.citation_id, csl.citation.authors) == ("q", ("Holm, Ida", "Tram Group"))
    assert (csl.citation.date, csl.citation.isbn) == ("2019-03", "978-0-306-40615-7")
    assert (ris.kind, csl.kind) == ("article-journal", "book")
    assert (nbib.citation.pmid, nbib.citation.publisher) == ("5001", "Journal of rye")
    assert all(each.is_record for each in (ris, csl, nbib))


@each_row("references/read/the_arxiv_number_is_read_from_where_bibtex_has_it")
def test_the_arxiv_number_is_read_from_where_bibtex_has_it(tmp_path: Path, fields: str) -> None:
    (found,) = of(tmp_path, "a.bib", f"@misc{{a, title={{Trams}}, {fields}}}")
    assert found.citation.arxiv == "2101.00001"


def test_ids_are_unique_over_files(tmp_path: Path) -> None:
    for name in ("a.ris", "b.ris"):
        (tmp_path / name).write_text(RIS)
    found = read.read([tmp_path / "a.ris", tmp_path / "b.ris"])
    assert [each.citation.citation_id for each in found] == ["r1", "r2"]


@pytest.mark.parametrize("text", ["[{", '[{"a": ', '{ "id": \udcff'])
def test_damaged_json_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError):
        read.read([tmp_path / "a.json"])


def test_a_date_without_numbers_is_none(tmp_path: Path) -> None:
    rows = [CSL | {"issued": {"date-parts": parts}} for parts in ([[None]], [None], [])]
    found = [each.citation.date for each in of(tmp_path, "a.json", json.dumps(rows))]
    assert found == [found[0]] * 3
