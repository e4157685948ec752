"""PubMed and JATS files, well-formed, broken and hostile."""

import gzip
import random
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from documents.builders import pubmed_record as record
from documents.builders import read_as_file
from support.found import document, refusal
from support.rows import each_row
from syrupy.assertion import SnapshotAssertion

from pincite.documents import markup
from pincite.documents.read import read_bytes, read_path
from pincite.types import Document, Reason, Unchecked

CASES = sorted((Path(__file__).parents[1] / "cases" / "pubmed").iterdir())
ARTICLE = (
    "<article><front><article-meta><article-id pub-id-type='doi'>10.9/1</article-id></article-meta>"
    "</front><body>{body}</body></article>"
)


def file_of(*records: str, root: str = "PubmedArticleSet", before: str = "") -> str:
    return f"<?xml version='1.0'?>{before}<{root}>{''.join(records)}</{root}>"


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., list[Document | Unchecked]]:
    return partial(read_as_file, tmp_path)


Read = Callable[..., list[Document | Unchecked]]


def pmids(found: list[Document | Unchecked]) -> list[str]:
    return [page.meta["pmid"] for page in found if isinstance(page, Document)]


def unread(found: list[Document | Unchecked]) -> list[Unchecked]:
    return [page for page in found if isinstance(page, Unchecked)]


def as_case(page: Document | Unchecked, folder: Path) -> dict[str, Any]:
    values = asdict(page)
    values["url"] = values["url"].replace(folder.as_uri(), "file:")
    return values


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.name)
def test_cases(path: Path, snapshot: SnapshotAssertion) -> None:
    assert [as_case(page, path.parent) for page in read_path(path)] == snapshot


def test_packed_and_under_any_name(read: Read) -> None:
    content = file_of(record(1), record(2))
    for name in ("pubmed26n0001.xml.gz", "export.txt", "download"):
        assert pmids(read(content, name)) == ["1", "2"]
    packed = gzip.compress(content.encode())
    assert pmids(read(packed, "no-ending")) == ["1", "2"]


def test_a_broken_record_costs_only_itself(read: Read) -> None:
    bad = record(2).replace("</Article>", "")
    cut = record(3).partition("</Article>")[0]
    deep = record(5, "<i>" * 3_000 + "x" + "</i>" * 3_000)
    no_id = record(6).replace("<PMID>6</PMID>", "")
    found = read(file_of(record(1), bad, cut, record(4), deep, no_id, record(7)))
    assert pmids(found) == ["1", "4", "7"]
    assert [(u.url.rsplit("/", 2)[-2:], u.reason) for u in unread(found)] == [
        (["2", ""], Reason.UNDECODABLE),
        (["p.xml record 3"], Reason.UNDECODABLE),
        (["5", ""], Reason.UNDECODABLE),
        (["p.xml record 6"], Reason.UNDECODABLE),
    ]
    assert "is missing after" in unread(found)[1].detail


def test_a_record_over_the_limit_is_never_held(read: Read) -> None:
    found = read(file_of(record(1), record(2, "long " * 600_000), record(3)), line_bytes=10_000)
    assert pmids(found) == ["1", "3"]
    (large,) = unread(found)
    assert (large.reason, large.url) == (Reason.TOO_LARGE, "p.xml record 2")
    (many,) = unread(read(file_of(record(1, "<i/>" * 1_100_000))))
    assert "tags; the limit is 1,000,000" in many.detail
    (chars,) = unread(read(file_of(record(1, "x" * 99)), max_chars=50))
    assert chars.reason is Reason.TOO_LARGE


def test_records_across_the_pieces_in_which_a_file_is_read(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = file_of(*(record(n, "ring " * n) for n in range(1, 40)))
    whole = read(content)
    for size in (1, 7, 64, 997):
        monkeypatch.setattr(markup, "CHUNK_BYTES", size)
        assert read(content) == whole
        assert len(whole) == 39


@pytest.mark.parametrize("keep", [0.3, 0.7, 0.99])
def test_a_packed_file_that_is_cut_off_gives_what_is_whole(read: Read, keep: float) -> None:
    chance = random.Random(13)
    texts = (" ".join(f"{chance.randrange(10**9):x}" for _ in range(200)) for _ in range(40))
    content = file_of(*(record(n, text) for n, text in enumerate(texts, 1)))
    packed = gzip.compress(content.encode())
    found = read(packed[: int(len(packed) * keep)], "pubmed26n0001.xml.gz.part")
    last = refusal(found[-1])
    assert last.url.startswith("file:")
    assert "breaks off" in last.detail
    assert 5 < len(found) < 42


def test_a_plain_file_that_is_cut_off_says_so(read: Read) -> None:
    content = file_of(record(1), record(2))
    found = read(content[: content.index("<PubmedArticle>", 90) + 40])
    assert pmids(found) == ["1"]
    assert "the file ends within it" in unread(found)[0].detail
    found = read(content.removesuffix("</PubmedArticleSet>"))
    assert pmids(found) == ["1", "2"]
    assert "without </PubmedArticleSet>" in unread(found)[-1].detail


BOMB = "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * 10 if n else 'boom'}'>" for n in range(10))


@pytest.mark.parametrize(
    "before",
    [
        f"<!DOCTYPE PubmedArticleSet [{BOMB}]>",
        "<!DOCTYPE PubmedArticleSet [<!ENTITY e9 SYSTEM 'file:///etc/passwd'>]>",
        "<!DOCTYPE PubmedArticleSet SYSTEM 'http://127.0.0.1:1/evil.dtd'>",
        "<!DOCTYPE PubmedArticleSet [<!ENTITY % p SYSTEM 'file:///etc/passwd'> %p;]>",
    ],
)
def test_entities_are_never_resolved(read: Read, before: str) -> None:
    found = document(*read(file_of(record(1, "It said &e9; and &amp;."), before=before)))
    assert found.text == "It said &e9; and &."
    inside = record(2).replace("<PMID>", "<!DOCTYPE a [<!ENTITY e 'x'>]><PMID>")
    refusal(*read(file_of(inside)))


def test_names_of_signs_are_known_without_a_dtd(read: Read) -> None:
    found = document(*read(file_of(record(1, "&alpha;-blockers &le; 5&nbsp;mg &LT;b&GT;"))))
    assert found.text == "α-blockers ≤ 5 mg <b>"


def test_records_are_decoded_as_they_declare_or_refused(read: Read) -> None:
    text = file_of(record(1, "Trams in Århus & Łódź".replace("&", "&amp;")))
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert document(*read(text.encode(encoding))).text == "Trams in Århus & Łódź"
    latin = file_of(record(1, "Trams in Århus")).replace("'1.0'", "'1.0' encoding='ISO-8859-1'")
    assert document(*read(latin.encode("latin-1"))).text == "Trams in Århus"
    wrong = file_of(record(1), record(2, "Århus")).encode("latin-1")
    pages = read(wrong)
    assert pmids(pages) == ["1"]
    assert unread(pages)[0].reason is Reason.UNDECODABLE


@pytest.mark.parametrize(
    "content",
    [
        b"<PubmedArticleSet",
        b"<?xml version='1.0'?>" + b"<!-- x -->" * 3_000,
        b"<!-- <PubmedArticleSet> -->",
        b"<article><para>DocBook</para></article>",
        b"<html><body><p>PubmedArticleSet of 2019</p></body></html>",
    ],
)
def test_files_that_are_not_pubmed(read: Read, content: bytes) -> None:
    found = read(content, "x.xml")
    assert not any(isinstance(page, Document) and page.kind == "pubmed" for page in found)
    assert len(found) == 1


@pytest.mark.parametrize(
    "content",
    [
        "<PubmedArticleSet>" + "\xff\0junk" * 9_000,
        "<PubmedArticleSet><!-- " + "<PubmedArticle>" * 99,
        "<PubmedArticleSet><DeleteCitation/>",
        "<PubmedArticleSet>" + "<PubmedArticle>" * 999,
    ],
)
def test_junk_in_a_pubmed_file_is_reported(read: Read, content: str) -> None:
    found = read(content)
    assert found
    assert all(isinstance(page, Unchecked) for page in found)
    assert any("the file ends" in page.detail for page in unread(found))


def test_records_in_comments_are_ignored(read: Read) -> None:
    content = file_of(record(1), f"<!-- {record(2)} -->", record(3, "It <!-- not --> rang."))
    found = read(content)
    assert pmids(found) == ["1", "3"]
    assert document(found[1]).text == "It rang."


def test_a_suffix_is_not_taken_for_a_first_name(read: Read) -> None:
    author = "<Author><LastName>Holm</LastName><Suffix>Jr</Suffix></Author>"
    authors = f"<AuthorList>{author}</AuthorList>"
    content = file_of(record(1).replace("</Article>", f"{authors}</Article>"))
    assert document(read(content)[0]).meta["author"] == "Holm Jr"


def test_a_tag_in_a_comment_does_not_end_a_record(read: Read) -> None:
    body = "<!-- <body> </article> --><p>It rang.</p>"
    found = read(ARTICLE.format(body=body))
    assert [document(page).text for page in found] == ["It rang."]


@pytest.mark.parametrize("chunk", [100, 140, 1 << 20])
def test_a_record_just_below_the_limit_is_whole(
    read: Read, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    one = record(1, "ring " * 40)
    monkeypatch.setattr(markup, "CHUNK_BYTES", chunk)
    for spare in range(0, 60, 7):
        assert pmids(read(file_of(one), line_bytes=len(one) + spare)) == ["1"]
    assert not pmids(read(file_of(one), line_bytes=len(one) - 1))


def test_deleted_records_are_withdrawn(read: Read) -> None:
    gone = "<DeleteCitation><PMID Version='1'>5</PMID><PMID Version='1'>6</PMID></DeleteCitation>"
    assert [u.url[-3:] for u in unread(read(file_of(gone + "\n")))] == ["/5/", "/6/"]
    found = read(file_of(record(1), gone))
    assert [(u.reason, u.url) for u in unread(found)] == [
        (Reason.WITHDRAWN, "https://pubmed.ncbi.nlm.nih.gov/5/"),
        (Reason.WITHDRAWN, "https://pubmed.ncbi.nlm.nih.gov/6/"),
    ]


def test_a_text_export_is_read_like_xml(read: Read) -> None:
    content = (CASES[0].parent / "list.nbib").read_bytes()
    for name in ("saved.txt", "saved.nbib.gz"):
        assert pmids(read(content, name)) == ["11", "13"]
    assert [u.reason for u in unread(read(content, max_bytes=100))] == [Reason.TOO_LARGE]
    assert len(unread(read("PMID- 0x1\nAB  - \x00\ufffe"))) == 1


# ── JATS ─────────────────────────────────────────────────────────────────────────────────────────


def test_an_article_at_the_address_where_it_was_found() -> None:
    page = "<!DOCTYPE article PUBLIC '-//NLM//DTD JATS' 'x.dtd'>"
    page += ARTICLE.format(body="<p>So.</p>")
    found = document(read_bytes(page.encode(), url="https://a.example/1", content_type="text/xml"))
    assert (found.url, found.kind, found.text) == ("https://a.example/1", "jats", "So.")


@each_row("documents/papers/bodies")
def test_bodies_become_paragraphs(read: Read, body: str, text: str) -> None:
    assert document(*read(ARTICLE.format(body=body), "a.nxml")).text == text


def test_broken_or_deep_articles_are_reported(read: Read) -> None:
    for body in ("<p>x</b>", "<sec>" * 5_000 + "</sec>" * 5_000, "<p>x"):
        assert refusal(*read(ARTICLE.format(body=body), "a.nxml")).reason is Reason.UNDECODABLE


@each_row("documents/papers/formulas")
def test_formulas_become_one_line(read: Read, inside: str, line: str) -> None:
    body = f"<p><mml:math>{inside.replace('</', '</mml:').replace('<m', '<mml:m')}</mml:math></p>"
    body = body.replace("<semantics", "<mml:semantics").replace("<annotation", "<mml:annotation")
    assert document(*read(ARTICLE.format(body=body), "a.nxml")).text == line
