"""The local catalogue of works, and the files that fill it."""

import gzip
import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.rows import CASES, each_row, rows

from pincite.corpora import open_corpora
from pincite.corpus.engines import EmbeddedCorpus
from pincite.errors import CorpusError, InputError
from pincite.judgement.provenance import Retraction, retraction_of
from pincite.protocols import Query
from pincite.references import catalogue, imports
from pincite.references.catalogue import Catalogue, Counted, with_notices
from pincite.references.imports import with_notice
from pincite.references.outcomes import Status, ask, decide
from pincite.references.works import (
    ABOUT_OTHERS,
    Imported,
    Notice,
    NoticeKind,
    Work,
    users_catalogue,
)
from pincite.settings import Settings
from pincite.types import Citation, Document, Hit, Passage, Span

FILES = CASES / "references" / "imports"


def cited(**given: Any) -> Citation:
    return Citation("r1", Span(0, 0), Span(0, 0), **given)


@pytest.fixture
def works(tmp_path: Path) -> Iterator[Catalogue]:
    with closing(Catalogue(tmp_path / "works.sqlite")) as found:
        yield found


def about(kind: NoticeKind, notice: str, date: str, source: str, **ids: str) -> Work:
    notices = (Notice(kind, notice, date, source),)
    return Work("", kind=ABOUT_OTHERS, source=source, notices=notices, **ids)  # type: ignore[arg-type]


def add(works: Catalogue, *names: str) -> list[Counted]:
    files = [FILES / name for name in names]
    return [works.add(f.name, str(f.stat().st_size), imports.read(f)) for f in files]


# ── Files ────────────────────────────────────────────────────────────────────────────────────────


def of(name: str) -> list[Any]:
    """The works of a file; None stands for a record that cannot be read."""
    return list(imports.read(FILES / name))


def test_crossref_gives_both_dates_names_and_groups() -> None:
    first = of("crossref.jsonl")[0]
    assert (first.title, first.years) == ("Trams of Varde: A history", (2020, 2019))
    assert first.authors == ("Holm, Ida Marie", "Tram Study Group")
    assert (first.doi, first.issn, first.pages) == ("10.1000/a1", "2049-3630", "44-61")


def test_a_notice_is_read_from_the_work_and_from_the_notice() -> None:
    found = of("crossref.jsonl")
    assert found[0].notices == (
        Notice(NoticeKind.RETRACTED, "10.1000/r1", "2021-05-04", "publisher"),
    )
    assert [each for each in found if each and not each.title] == [
        about(NoticeKind.RETRACTED, "10.1000/r2", "2022-02-01", "Crossref", doi="10.1000/a2"),
        about(NoticeKind.CORRECTED, "10.1000/e3", "2018", "Crossref", doi="10.1000/a3"),
    ]


def test_openalex_gives_identifiers_and_retractions() -> None:
    first, second = of("openalex.jsonl")
    assert (first.arxiv, first.pmid, first.pmc) == ("2101.00001", "777", "888")
    assert [notice.kind for notice in second.notices] == [NoticeKind.RETRACTED]


def test_pubmed_gives_the_notice_with_its_date_and_the_target_of_an_erratum() -> None:
    found = of("pubmed.xml")
    assert (found[0].title, found[0].pmid, found[0].pmc) == ("Sleep on ferries", "4001", "55")
    assert found[0].notices == (Notice(NoticeKind.RETRACTED, "", "2016-07", "PubMed"),)
    assert found[1] is None
    assert found[2] == about(NoticeKind.CORRECTED, "", "2018", "PubMed", pmid="4005")


def test_dblp_gives_names_without_numbers_and_preprints() -> None:
    first, second = of("dblp.xml")
    assert (first.authors, first.venue) == (("Ida M. Holm", "José Müller"), "TRAM")
    assert (second.kind, second.arxiv) == ("preprint", "2101.00002")


def test_retraction_watch_gives_works_and_notices_by_doi_or_pmid() -> None:
    work, notice, *others, last = of("retraction_watch.csv")
    assert work
    assert (work.title, work.years, work.doi) == ("Ferries", (2004,), "10.1000/b1")
    stated = (NoticeKind.RETRACTED, "10.1000/r9", "2019-12-31", "Retraction Watch")
    assert notice == about(*stated, doi="10.1000/b1")
    assert [each.pmid for each in others if each] == ["4005", "4005"]
    assert last is None


def test_retraction_watch_alone_tells_what_was_retracted(works: Catalogue) -> None:
    add(works, "retraction_watch.csv")
    citation = cited(doi="10.1000/b1", title="Ferries", authors=("Ida Holm",), date="2004")
    assert decide(citation, ask(citation, [works])).status == "retracted"


def test_public_data_file_of_crossref_is_read(tmp_path: Path) -> None:
    lines = (FILES / "crossref.jsonl").read_text().splitlines()
    items = [json.loads(line) for line in lines if line.startswith("{")]
    file = tmp_path / "0.json.gz"
    file.write_bytes(gzip.compress(json.dumps({"items": items}, indent=1).encode()))
    titles = [each.title for each in imports.read(file) if isinstance(each, Work)]
    assert titles == [each.title for each in of("crossref.jsonl") if isinstance(each, Work)]


@pytest.mark.parametrize("text", ["", "a text", "<html></html>"])
def test_a_file_without_records_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(InputError):
        list(imports.read(tmp_path / "a.txt"))


# ── The catalogue ────────────────────────────────────────────────────────────────────────────────


def test_works_are_found_by_identifier_and_by_title(works: Catalogue) -> None:
    add(works, "crossref.jsonl", "openalex.jsonl", "pubmed.xml", "dblp.xml")
    for given in (
        {"doi": "10.1000/A1"},
        {"title": "TRAMS of Varde: a history"},
        {"title": "Trams of Varde, a small history"},
    ):
        assert works.lookup(cited(**given))[0].doi == "10.1000/a1"
    for given in ({"pmid": "777"}, {"pmc": "PMC888"}, {"arxiv": "2101.00001v3"}):
        assert works.lookup(cited(**given))[0].title == "A model of trams"
    assert works.lookup(cited(isbn="0-306-40615-2"))[0].doi == "10.1000/b1"
    assert works.lookup(cited(title="Quantum")) == []


def test_an_import_goes_on_where_it_was_stopped(
    works: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "RECORDS_A_STEP", 2)
    file = FILES / "crossref.jsonl"

    def stopped() -> Iterator[Imported]:
        for number, record in enumerate(imports.read(file)):
            if number == 5:
                raise KeyboardInterrupt
            yield record

    with pytest.raises(KeyboardInterrupt):
        works.add(file.name, str(file.stat().st_size), stopped())
    assert works.lookup(cited(title="Trams of Varde, a small history"))[0].doi == "10.1000/a1"
    again = works.add(file.name, str(file.stat().st_size), imports.read(file))
    assert again == Counted(2, 1, 2)  # of nine records four were stored
    assert len(works) == 5
    assert works.add(file.name, str(file.stat().st_size), imports.read(file)) == Counted()


def test_a_record_that_comes_again_replaces_the_older_one(works: Catalogue) -> None:
    older = Work("Trams of the Varde line", doi="10.1000/1", pmid="8", source="PubMed")
    newer = Work("Buses and sleep", pmid="8", pmc="9", source="PubMed")
    for number, record in enumerate((older, newer)):
        works.add(str(number), "1", [record])
    assert works.lookup(cited(pmid="8")) == works.lookup(cited(pmc="9")) == [newer]
    assert works.lookup(cited(doi="10.1000/1")) == []
    assert works.lookup(cited(title="Trams of a Varde line")) == []


def test_a_notice_about_a_book_is_found_by_its_isbn(works: Catalogue) -> None:
    notice = {"DOI": "10.1000/r", "type": "retraction"}
    record = {"DOI": "10.1000/x", "title": [], "ISBN": ["9780306406157"], "updated-by": [notice]}
    works.add("x", "1", imports.crossref(record))
    (found,) = works.lookup(cited(isbn="978-0-306-40615-7"))
    assert found.isbns == ("9780306406157",)
    assert [each.doi for each in found.notices] == ["10.1000/r"]


@each_row("references/notices/records")
def test_notices_are_found_in_either_direction(
    works: Catalogue, tmp_path: Path, text: str, given: dict[str, Any], status: str
) -> None:
    for number, part in enumerate(text.split("\f")):
        file = tmp_path / str(number)
        file.write_text(part)
        works.add(file.name, "1", imports.read(file))
    citation = cited(**{**given, "authors": tuple(given["authors"])})
    assert decide(citation, ask(citation, [works])).status == status


def marks(name: str) -> list[bool]:
    """Whether the mark in each title is read, and only a mark."""
    found = []
    for title, kind in rows(f"references/notices/{name}"):
        work = with_notice(Work(title, source="Crossref"))
        is_cut = kind is None or work.title in ("Rye prices in Jutland", "Sleep on ferries")
        found.append([n.kind for n in work.notices] == ([kind] if kind else []) and is_cut)
    return found


def test_marks_of_retracted_works_in_titles_are_read() -> None:
    corrected = Notice(NoticeKind.CORRECTED)
    marked = with_notice(Work("RETRACTED: Rye prices", notices=(corrected,)))
    assert [each.kind for each in marked.notices] == [NoticeKind.CORRECTED, NoticeKind.RETRACTED]
    assert all(marks("titles"))
    held = marks("titles_held_back")
    assert sum(held) >= 0.85 * len(held)


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(CorpusError):
        Catalogue(tmp_path / "a.sqlite")
    with pytest.raises(CorpusError):
        Catalogue(tmp_path / "a.sqlite" / "b")


def test_hostile_titles_are_data(works: Catalogue) -> None:
    title = 'a" OR "b*) NEAR (\'; DROP TABLE works; --\ud800'
    works.add("x", "1", [Work(title, source="Crossref")])
    assert len(works.lookup(cited(title=title))) == 1
    for pattern in ("<>", "<", "(retracted ", "RETRACTED <", "( ", ". "):
        assert with_notice(Work(pattern * 20_000)).notices == ()


def test_a_milder_notice_than_the_documents_own_is_left_out(works: Catalogue) -> None:
    works.add("notices", "1", [about(NoticeKind.CONCERN, "10.1/n", "2021", "x", doi="10.1000/a9")])
    marked = Document("https://doi.org/10.1000/a9", "W", "Worn.", meta={"retracted": "partly"})
    assert with_notices(marked, works) == marked


def test_a_file_corrected_in_place_is_read_again(works: Catalogue) -> None:
    for version, title in (("1", "Stone wear"), ("2", "Stone tear"), ("2", "Never read")):
        works.add("x", version, [Work(title, doi="10.1000/a9", source="Crossref")])
    assert [work.title for work in works.lookup(cited(doi="10.1000/a9"))] == ["Stone tear"]


def test_a_notice_about_a_broken_identifier_costs_itself(works: Catalogue) -> None:
    broken = about(NoticeKind.RETRACTED, "", "", "x", doi="10.1000/\ud800", pmid="77")
    assert works.add("notices", "1", [broken]) == Counted(0, 1, 0)


@pytest.mark.parametrize(
    ("kind", "known"),
    [
        (NoticeKind.RETRACTED, Retraction.YES),
        (NoticeKind.WITHDRAWN, Retraction.YES),
        (NoticeKind.PARTLY_RETRACTED, Retraction.PARTLY),
        (NoticeKind.CONCERN, Retraction.CONCERN),
        (NoticeKind.CORRECTED, Retraction.UNKNOWN),
    ],
)
@each_row("references/catalogue/a_document_is_marked_by_the_notices_of_its_work")
def test_a_document_is_marked_by_the_notices_of_its_work(
    works: Catalogue, kind: NoticeKind, known: Retraction, url: str, meta: dict[str, str]
) -> None:
    notice = about(kind, "10.1000/n", "2021", "x", doi="10.1000/a9", pmid="77")
    works.add("notices", "1", [notice])
    marked = with_notices(Document(url, "Stone wear", "Stones wear.", meta=meta), works)
    assert retraction_of(marked) is known
    assert ("10.1000/n" in marked.meta.get("notices", "")) is (known is not Retraction.UNKNOWN)


def test_documents_of_corpora_are_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    document = Document("https://doi.org/10.1000/a9", "Stone wear", "Stones wear.")
    notice = about(NoticeKind.RETRACTED, "", "", "x", doi="10.1000/a9")
    with EmbeddedCorpus.create(tmp_path / "c", None) as corpus:
        corpus.add([document])
        for known in (Retraction.UNKNOWN, Retraction.YES):
            with open_corpora(Settings(), corpus) as corpora:
                (found,) = corpora.get([document.url])
            assert found
            assert retraction_of(found) is known
            with closing(Catalogue(users_catalogue())) as works:
                works.add("notices", "1", [notice])


RYE = Document(
    "https://pubmed.ncbi.nlm.nih.gov/77/",
    "The price of rye in Jutland",
    "Rye was dear.",
    published="2011-03",
    meta={
        "authors": "Holm, Ida; Berg, Per",
        "journal": "Journal of Grain",
        "pmid": "77",
        "doi": "10.1000/1",
        "retracted": "yes",
        "pubdate": "2011 Mar",
    },
)


def documents_of(urls: Sequence[str]) -> list[Document | None]:
    return [RYE if url == RYE.url else None for url in urls]


class Words:
    def retrieve(self, queries: Sequence[Query], k: int) -> list[list[Hit]]:
        passage = Passage(RYE.doc_id, RYE.url, RYE.title, RYE.text, Span(0, len(RYE.text)))
        return [[Hit(passage, 1.0, 1)] if query == RYE.title else [] for query in queries]


def in_a_corpus(**given: Any) -> Status:
    citation = cited(**given)
    return decide(citation, ask(citation, [catalogue.CorpusRecords(documents_of, Words())])).status


def test_a_retracted_record_is_found_by_number_and_by_title() -> None:
    assert in_a_corpus(pmid="77") is Status.RETRACTED
    assert in_a_corpus(title=RYE.title, authors=("Ida Holm",), date="2011") is Status.RETRACTED
