"""Exports of references: read again by the libraries that users would read them with."""

import json
import re
from typing import Any
from urllib.parse import quote

import pytest
from ask_samples import everything, hostile
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import HOSTILE
from support.rows import each_row
from syrupy.assertion import SnapshotAssertion

from pincite.report import bibliography
from pincite.report.bibliography import CslName
from pincite.report.cells import one_line
from pincite.types import Document
from pincite.verbs.ask.report import Reference

# Of csl-data.json, CSL 1.0.2: the variables that we write, all others being left out.
CSL_TEXTS = {
    *"id type title container-title container-title-short volume issue page publisher".split(),
    *"ISSN ISBN DOI PMID PMCID URL language genre keyword abstract status note".split(),
}
ANY_TEXT = st.text(max_size=60) | st.sampled_from(HOSTILE)
NAMES = (
    *"pmid doi pmc author authors groups journal journal_abbreviation volume issue pages".split(),
    *"pubdate keywords mesh publication_type notices book site retracted coverage issn".split(),
)


@st.composite
def sources(draw: st.DrawFn) -> Reference:
    meta = draw(st.dictionaries(st.sampled_from(NAMES), ANY_TEXT, max_size=12))
    url, title = draw(st.just("https://varde.example/") | ANY_TEXT), draw(ANY_TEXT)
    date = draw(st.none() | st.dates().map(str) | ANY_TEXT)
    source = Document(url, title, draw(ANY_TEXT), published=date, meta=meta)
    return Reference(draw(st.integers(1, 9)), draw(ANY_TEXT), source)


def bibtex_read(text: str) -> list[dict[str, str]]:
    bibtexparser = pytest.importorskip("bibtexparser")
    library = bibtexparser.parse_string(text)
    assert not library.failed_blocks
    return [
        {"key": e.key, "type": e.entry_type, **{f.key: str(f.value) for f in e.fields}}
        for e in library.entries
    ]


def without_latex(text: str) -> str:
    """What a reader sees of a value."""
    words = {"backslash": "\\", "asciitilde": "~", "asciicircum": "^", "less": "<", "greater": ">"}
    words |= {"braceleft": "\1", "braceright": "\2"}
    shown = re.sub(r"\{\\text(\w+)\}", lambda m: words[m[1]], text)
    shown = re.sub(r"\\([&%$#_])", r"\1", shown)
    return re.sub(r"[{}]", "", shown).replace("\1", "{").replace("\2", "}")


def ris_read(text: str) -> list[dict[str, Any]]:
    rispy = pytest.importorskip("rispy")
    return list(rispy.loads(text))


def csl_read(text: str) -> list[dict[str, Any]]:
    items = json.loads(text)
    for item in items:
        assert {"id", "type"} <= set(item) <= CSL_TEXTS | {"author", "issued"}
        assert all(isinstance(item[name], str) for name in CSL_TEXTS & set(item))
        assert item["type"] in ("article-journal", "chapter", "webpage", "document")
        for name in item.get("author", []):
            assert set(name) == {"literal"} or set(name) <= {"family", "given", "suffix"}
        (date,) = item.get("issued", {"date-parts": [[1]]})["date-parts"]
        assert 1 <= len(date) <= 3
    assert len({item["id"] for item in items}) == len(items)
    return list(items)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_texts(text: str) -> None:
    given = hostile(text, "javascript:alert(1)").references
    shown = one_line(text)
    for entry in bibtex_read(bibliography.to_bibtex(given)):
        assert without_latex(entry["title"]) == shown
        assert "url" not in entry
    for record in ris_read(bibliography.to_ris(given)):
        assert record["title"] == shown
        assert "urls" not in record
    for item in csl_read(bibliography.to_csl(given)):
        assert item["title"] == shown
        assert "URL" not in item


@given(st.lists(sources(), max_size=4))
@settings(max_examples=60)
def test_any_references_read_back_in_every_format(given: list[Reference]) -> None:
    titles = [one_line(r.document.title) or one_line(r.ref_id) for r in given]
    csl = csl_read(bibliography.to_csl(given))
    assert [item.get("title", "") for item in csl] == titles

    records = bibtex_read(bibliography.to_bibtex(given))
    assert [entry["key"] for entry in records] == [item["id"] for item in csl]
    assert len({entry["key"].lower() for entry in records}) == len(given)
    # bibtexparser trims what is no letter to Python's strip().
    assert [without_latex(e.get("title", "")).strip() for e in records] == [
        t.strip() for t in titles
    ]

    written = bibliography.to_ris(given)
    lines = written.split("\r\n")
    assert all(re.match(r"[A-Z][A-Z0-9]  - ", line) for line in lines if line)
    assert lines.count("ER  - ") == len(given)
    assert "\n" not in written.replace("\r\n", "")


@each_row("report/bibliography/names")
def test_names_of_authors_are_parsed(stated: str, names: list[CslName] | str) -> None:
    found, _ = bibliography.parse_authors({"author": stated})
    if isinstance(names, str):
        wanted = [name for name in names.split("|") if name]
        assert [name["family"] for name in found][: len(wanted)] == wanted
    else:
        assert found == names


@each_row("report/bibliography/capitals_are_protected")
def test_capitals_are_protected(title: str, written: str) -> None:
    assert bibliography.brace_capitals(title) == written


def test_books_pages_and_files_have_types_of_their_own() -> None:
    book = Document("https://x.example/b", "On trams", "", meta={"book": "All of Varde"})
    page = Document("https://x.example/p", "On trams", "", published="2020-05", meta={})
    file = Document("file:///tmp/a.txt", "On trams", "")
    given = [Reference(n, "x", d) for n, d in enumerate((book, page, file), 1)]
    csl = csl_read(bibliography.to_csl(given))
    assert [item["type"] for item in csl] == ["chapter", "webpage", "document"]
    assert csl[1]["issued"] == {"date-parts": [[2020, 5]]}
    assert "URL" not in csl[2]
    types = [entry["type"] for entry in bibtex_read(bibliography.to_bibtex(given))]
    assert types == ["incollection", "misc", "misc"]


@given(st.dictionaries(st.sampled_from(["pmid", "doi", "pmc"]), ANY_TEXT))
def test_links_lead_nowhere_else(meta: dict[str, str]) -> None:
    homes = r"https://(pubmed\.ncbi\.nlm\.nih\.gov|pmc\.ncbi\.nlm\.nih\.gov|doi\.org)/[!-~]*"
    for _, to in bibliography.links(meta):
        assert re.fullmatch(homes, to)


def test_snapshots(snapshot: SnapshotAssertion) -> None:
    given = everything().cited_references
    assert bibliography.to_bibtex(given) == snapshot(name="bibtex")
    assert bibliography.to_ris(given) == snapshot(name="ris")
    assert bibliography.to_csl(given) == snapshot(name="csl")


SICI = "10.1002/(SICI)1097-0258(19980815)17:15<1661:AID-SIM968>3.0.CO;2-2"


@pytest.mark.parametrize(
    ("meta", "url"),
    [
        ({"doi": f"https://doi.org/{SICI}"}, "https://e.org/a"),
        ({}, f"https://pub.example/doi/abs/{quote(SICI)}"),
    ],
)
def test_bibtex_and_ris_have_the_doi_of_metadata_or_address(meta: dict[str, str], url: str) -> None:
    reference = Reference(1, "r", Document(url, "Mills & 100% of sails", "Text.", meta=meta))
    assert f"doi = {{{SICI}}}" in bibliography.to_bibtex([reference])
    assert f"DO  - {SICI}\r\n" in bibliography.to_ris([reference])


def test_the_folder_of_a_local_file_is_not_exported() -> None:
    source = Document("file:///home/ada/notes/tea%202022.txt", "", "Tea was drunk.")
    given = [Reference(1, source.url, source)]
    for text in map(str, (bibliography.to_bibtex(given), bibliography.to_ris(given))):
        assert "tea 2022.txt" in text
        assert "ada" not in text
    (item,) = csl_read(bibliography.to_csl(given))
    assert item["title"] == "tea 2022.txt"
    assert "URL" not in item


def test_pages_that_are_numbered_by_chapter_stay_as_they_are() -> None:
    assert bibliography.whole_pages("12-1-12-9").text == "12-1-12-9"


def test_a_name_without_letters_is_whole() -> None:
    assert bibliography.csl_name(",") == {"literal": ","}
