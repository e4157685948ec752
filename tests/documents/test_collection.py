"""Addresses, manifests, and folders of stored pages."""

from pathlib import Path

import pytest
from documents.builders import warc_record
from hypothesis import given
from hypothesis import strategies as st
from support.files import write_jsonl
from support.found import document, refusal
from support.laws import FakeEncoder
from support.rows import text_of

from pincite.corpus.engines import EmbeddedCorpus
from pincite.documents.collection import collect, exact_key, files, loose_key, open_sources
from pincite.documents.read import read_path
from pincite.errors import InputError
from pincite.types import Reason

SAME = text_of("documents/collection/same.txt")
DIFFERENT = """
https://example.org/a https://example.org/A
https://example.org/a?b=1 https://example.org/a?b=2
https://example.org/a https://www.example.org/a
https://example.org:8080/a https://example.org/a
https://example.org/a%2Fb https://example.org/a/b
https://notdoi.org/A https://notdoi.org/a
"""
LOOSE = """
https://www.example.org/a
https://web.archive.org/web/20130105/http://www.example.org/a
http://web.archive.org/web/20130105id_/http:/example.org/a
https://web.archive.org/web/2013/example.org/a
https://archive.today/20130105120000/http://example.org/a
https://archive.is/2013.01.05-120000/http://example.org/a
https://web.archive.org/web/2014/https://web.archive.org/web/2013/http://example.org/a
"""


@pytest.mark.parametrize("pair", SAME.strip().split("\n"))
def test_addresses_of_one_page_have_one_key(pair: str) -> None:
    one, other = pair.split()
    assert exact_key(one) == exact_key(other)


@pytest.mark.parametrize("pair", DIFFERENT.strip().split("\n"))
def test_addresses_of_different_pages_have_different_keys(pair: str) -> None:
    one, other = pair.split()
    assert exact_key(one) != exact_key(other)


@pytest.mark.parametrize("url", LOOSE.split())
def test_loose_keys_ignore_archives_and_www(url: str) -> None:
    assert loose_key(url) == "example.org/a"


@given(st.one_of(st.text(), st.from_regex(r"https?://\S*")))
def test_any_string_has_keys(url: str) -> None:
    assert isinstance(exact_key(url), str)
    assert isinstance(loose_key(url), str)


# ── Stored copies of cited pages ─────────────────────────────────────────────────────────────────

MANIFEST = "manifest.jsonl"
PAGE = "<html><head>{head}<title>{title}</title></head><body><p>{text}</p></body></html>"


def page(title: str, text: str = "Opened in 1931.", head: str = "") -> bytes:
    return PAGE.format(title=title, text=text, head=head).encode()


def test_a_manifest_gives_files_addresses_and_statuses(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(page("A"))
    write_jsonl(
        tmp_path / MANIFEST,
        {"url": "https://e.org/a", "file": "a.bin", "content_type": "text/html", "fetched": "2020"},
        {"url": "https://e.org/gone", "status": 404},
        {"url": "https://e.org/no", "file": "a.bin", "status": 503},
    )
    sources = open_sources(tmp_path)
    found = sources.get("http://E.org/a/?utm_medium=mail#top")
    assert document(found).title == "A"
    assert (document(found).url, document(found).fetched) == ("https://e.org/a", "2020")
    assert sources.get("https://e.org/a") is found
    assert refusal(sources.get("https://e.org/gone")).reason is Reason.DEAD
    assert refusal(sources.get("https://e.org/no")).reason is Reason.REFUSED
    assert len(sources) == 3
    assert sources.warnings == ()


@pytest.mark.parametrize(
    ("name", "kind"), [("a.csv", "csv"), ("a.tsv", "csv"), ("a.md", "markdown"), ("a.txt", "text")]
)
def test_a_manifest_needs_no_media_type_where_the_file_has_an_ending(
    tmp_path: Path, name: str, kind: str
) -> None:
    (tmp_path / name).write_bytes(b"Town,Year\nVarde,1931\n")
    write_jsonl(tmp_path / MANIFEST, {"url": "https://e.org/download?id=7", "file": name})
    assert document(open_sources(tmp_path).get("https://e.org/download?id=7")).kind == kind


def test_a_manifest_names_files_in_folders_below(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "a.html").write_bytes(page("A"))
    write_jsonl(tmp_path / MANIFEST, {"url": "https://e.org/a", "file": "below/a.html"})
    sources = open_sources(tmp_path)
    assert document(sources.get("https://e.org/a")).title == "A"
    assert (sources.warnings, sources.single) == ((), [])


def test_pictures_of_a_saved_page_are_no_sources(tmp_path: Path) -> None:
    (tmp_path / "page_files").mkdir()
    for name in ("logo.png", "photo.jpg"):
        (tmp_path / "page_files" / name).write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "README.md").write_text("Saved in May.")
    (tmp_path / "report.pdf").write_bytes(b"%PDF-1.7")
    assert [warning.file for warning in open_sources(tmp_path).warnings] == ["report.pdf"]


def test_bad_lines_are_warnings(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(page("A"))
    bad = ["{", {"file": "a.html"}, {"url": "u"}, {"url": "u", "status": "x"}, {"url": ["u"]}, "[]"]
    write_jsonl(
        tmp_path / MANIFEST,
        *bad,
        {"url": "https://e.org/a", "file": "a.html"},
        {"url": "u", "status": 200},
        {"url": "https://e.org/none", "file": "none.html"},
    )
    sources = open_sources(tmp_path)
    assert document(sources.get("https://e.org/a")).title == "A"
    assert [(w.file, w.line) for w in sources.warnings] == [
        ("manifest.jsonl", line) for line in (1, 2, 3, 4, 5, 6, 8, 9)
    ]
    assert refusal(sources.get("https://e.org/none")).reason is Reason.NOT_SUPPLIED


def test_rows_without_a_file_are_hashed_once(tmp_path: Path) -> None:
    rows = "".join(f"https://e.example/{n}\n" for n in range(20))
    (tmp_path / "manifest.csv").write_text(f"url\n{rows}")
    for n in range(3):
        (tmp_path / f"{n}.txt").write_text("Varde has a mill.")
    files = collect([tmp_path])
    signatures = [files.signature(piece) for piece in files.pieces]
    kept = files.pages_digest
    files.by_address.clear()
    assert signatures == [files.signature(piece) for piece in files.pieces]
    assert all(signature.endswith(kept) for signature in signatures)


@pytest.mark.parametrize(
    "name", ["../secret.html", "/etc/passwd", "link.html", "inner/../../secret.html", "a\0b"]
)
def test_a_file_outside_the_folder_is_never_opened(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "sources"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "secret.html").write_bytes(page("Secret"))
    (folder / "link.html").symlink_to(tmp_path / "secret.html")
    write_jsonl(folder / MANIFEST, {"url": "https://e.org/s", "file": name})
    sources = open_sources(folder)
    found = sources.get("https://e.org/s")
    assert refusal(found).reason is Reason.NOT_SUPPLIED
    assert "outside" in refusal(found).detail
    assert [(p.file, p.line) for p in sources.warnings] == [("link.html", 0), ("manifest.jsonl", 1)]


def test_a_copy_removed_after_indexing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"url": "https://e.org/a", "text": "Opened in 1931."}')
    sources = open_sources(tmp_path)
    path.unlink()
    assert refusal(sources.get("https://e.org/a")).reason is Reason.UNDECODABLE


def test_every_kind_of_file_in_nested_folders(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / ".hidden.html").write_bytes(b"x")
    link = '<link rel="canonical" href="https://e.org/saved">'
    (inner / "saved.html").write_bytes(page("Saved", head=link))
    (tmp_path / "unknown.html").write_bytes(page("Unknown"))
    for ending in ("pdf", "docx", "txt"):
        (tmp_path / f"unknown.{ending}").write_bytes(b"%PDF-")
    many = ({"url": f"https://e.org/{n}", "title": str(n), "text": "A word."} for n in range(9))
    write_jsonl(tmp_path / "many.jsonl.gz", *many, "no json")
    (tmp_path / "crawl.warc.gz").write_bytes(
        warc_record("https://e.org/archived", b"Not today", http="500 Oops")
        + warc_record("https://e.org/archived", page("Archived"))
        + warc_record("https://e.org/old", b"", http="302 Found", Location="archived")
        + warc_record("https://e.org/round", b"", http="302 Found", Location="/round")
    )
    sources = open_sources(tmp_path)
    assert document(sources.get("https://e.org/saved")).title == "Saved"
    assert [document(sources.get(f"https://e.org/{n}")).title for n in (7, 2, 5)] == ["7", "2", "5"]
    assert document(sources.get("https://e.org/archived")).title == "Archived"
    assert document(sources.get("https://e.org/old")).title == "Archived"
    assert refusal(sources.get("https://e.org/round")).reason is Reason.NOT_SUPPLIED
    assert {(w.file, w.line) for w in sources.warnings} == {
        ("unknown.html", 0),
        *((f"unknown.{ending}", 0) for ending in ("pdf", "docx", "txt")),
        ("many.jsonl.gz", 10),
    }


def test_sources_find_the_documents_that_corpus_add_reads(tmp_path: Path) -> None:
    records = [{"url": f"https://{n}.org/", "text": f"Word {n}."} for n in range(3)]
    records += [{"id": "https://3.org/", "text": "Three."}, {"url": "u"}]
    write_jsonl(tmp_path / "a.jsonl", *records)
    write_jsonl(tmp_path / "queries.jsonl", {"_id": "q1", "text": "when did trams run"})
    sources = open_sources(tmp_path)
    (queries,) = sources.warnings
    assert "queries of a BEIR collection" in queries.message
    for page in read_path(tmp_path / "a.jsonl"):
        assert sources.get(page.url) == page
    (tmp_path / "a.jsonl").write_text("")
    assert refusal(open_sources(tmp_path).get("https://1.org/")).reason is Reason.NOT_SUPPLIED


def test_archives_and_www_are_a_fallback(tmp_path: Path) -> None:
    for name in ("plain", "www", "snapshot"):
        (tmp_path / f"{name}.html").write_bytes(page(name))
    write_jsonl(
        tmp_path / MANIFEST,
        {"url": "https://e.org/a", "file": "plain.html"},
        {"url": "https://www.e.org/a", "file": "www.html"},
        {"url": "https://web.archive.org/web/2013/http://e.org/b", "file": "snapshot.html"},
    )
    sources = open_sources(tmp_path)
    assert document(sources.get("http://www.e.org/a")).title == "www"
    assert document(sources.get("http://e.org/a")).title == "plain"
    archived = sources.get("https://web.archive.org/web/2015/http://www.e.org/a")
    assert document(archived).title == "plain"
    assert document(sources.get("http://e.org/b")).title == "snapshot"


def test_a_body_is_read_on_demand(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_bytes(page("Before"))
    write_jsonl(tmp_path / MANIFEST, {"url": "https://e.org/a", "file": "a.html"})
    sources = open_sources(tmp_path)
    path.write_bytes(page("After"))
    assert document(sources.get("https://e.org/a")).title == "After"
    path.unlink()
    assert document(sources.get("https://e.org/a")).title == "After"
    path.write_bytes(page("Again"))
    fresh = open_sources(tmp_path)
    path.unlink()
    assert refusal(fresh.get("https://e.org/a")).reason is Reason.NOT_SUPPLIED


def test_an_absent_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="absent"):
        open_sources(tmp_path / "absent")


def test_a_folder_that_holds_the_corpus_is_read_without_it(tmp_path: Path) -> None:
    (tmp_path / "mill.txt").write_text("The mill opened in 1911.")
    with EmbeddedCorpus.create(tmp_path / "kb", FakeEncoder()):
        assert [path.name for path in files([tmp_path])] == ["mill.txt"]
