"""Dumps, HTML and wikitext from files and standard input."""

import bz2
import contextlib
import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from documents.test_hostile import docx

from pincite.errors import InputError
from pincite.wiki import article as files
from pincite.wiki.article import read_articles

PAGE = """<page><title>{title}</title><ns>{ns}</ns><id>1</id>{redirect}
<revision><id>{revision}</id><timestamp>2016-04-14T11:35:49Z</timestamp>
<text xml:space="preserve">{text}</text></revision></page>"""
TEXT = "The hall seats 900.&lt;ref&gt;http://a.example/1&lt;/ref&gt; A &amp;amp; B."


def page(title: str, *, ns: int = 0, revision: int = 7, redirect: str = "") -> str:
    tag = f'<redirect title="{redirect}" />' if redirect else ""
    return PAGE.format(title=title, ns=ns, revision=revision, redirect=tag, text=TEXT)


DUMP = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" xml:lang="en">\n<siteinfo/>\n'
    + page("Alba")
    + page("Talk:Alba", ns=1)
    + page("Albas", redirect="Alba")
    + page("Borg Hall", revision=9)
    + "</mediawiki>"
).encode()


@pytest.fixture(params=[bytes, bz2.compress, gzip.compress], ids=["plain", "bz2", "gz"])
def dump(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "some.file"  # recognised by its content
    path.write_bytes(request.param(DUMP))
    return path


def test_a_dump_gives_its_articles(dump: Path) -> None:
    articles = list(read_articles(dump))
    assert [a.title for a in articles] == ["Alba", "Borg Hall"]
    assert [c.text for c in articles[0].claims] == ["The hall seats 900."]
    assert articles[1].revision_id == "9"
    assert articles[1].timestamp == "2016-04-14T11:35:49Z"
    assert articles[0].source.endswith("A &amp; B.")


def test_a_dump_gives_one_title_or_says_why_not(dump: Path) -> None:
    (article,) = read_articles(dump, title="borg_Hall")
    assert article.title == "Borg Hall"
    for title, message in (("Borg Hal", "no page called 'Borg Hal'"), ("Albas", "Ask for 'Alba'")):
        with pytest.raises(InputError, match=message):
            list(read_articles(dump, title=title))


@pytest.mark.parametrize("pack", [bytes, bz2.compress, gzip.compress])
def test_a_cut_off_dump_is_an_input_error(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "d"
    path.write_bytes(pack(DUMP)[:-40])
    with pytest.raises(InputError, match=r"cannot be (read|decompressed)"):
        list(read_articles(path))


def test_entities_of_a_dump_are_not_resolved(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("top secret")
    path = tmp_path / "d.xml"
    head = f'<!DOCTYPE m [<!ENTITY x SYSTEM "file://{secret}">]>'
    path.write_text(head + "<mediawiki><page><title>A</title>&x;</page></mediawiki>")
    with contextlib.suppress(InputError):  # refusing it is as good
        assert all("top secret" not in article.source for article in read_articles(path))


def test_wikitext_that_its_file_does_not_name_is_named_by_its_bold_subject(tmp_path: Path) -> None:
    text = "\ufeff{{Infobox|name='''Pool'''}}\nThe '''Wexmoor Lido''' is a pool.<ref>A. Berg</ref>"
    for name, title in (("fixed", "Wexmoor Lido"), ("Lido_(Wexmoor)", "Lido (Wexmoor)")):
        path = tmp_path / f"{name}.wiki"
        path.write_text(text, encoding="utf-8")
        (article,) = read_articles(path)
        assert (article.title, article.source[:2]) == (title, "{{")
    (named,) = read_articles(path, title="Other")
    assert named.title == "Other"
    path.write_text("A pool.<ref>A. Berg</ref>")
    assert [article.title for article in read_articles(path)] == ["Lido (Wexmoor)"]


@pytest.mark.parametrize("revision", ["Special:Redirect/revision/12", '"wgRevisionId":12'])
def test_html_states_title_and_revision(tmp_path: Path, revision: str) -> None:
    path = tmp_path / "x.html"
    head = f"<title>Borg &amp; Hall – Wikipedia</title><meta content='{revision}'>"
    path.write_text(f"<!DOCTYPE html>\n<html><head>{head}</head><body><p>Old.</p></body></html>")
    (article,) = read_articles(path)
    assert (article.title, article.revision_id) == ("Borg & Hall", "12")


def test_an_article_is_read_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO(b"It is old.<ref>x</ref>")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(buffer))
    (article,) = read_articles("-", title="Alba")
    assert [c.text for c in article.claims] == ["It is old."]


def test_missing_empty_large_and_foreign_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        list(read_articles(tmp_path / "none.wiki"))
    path = tmp_path / "a.wiki"
    path.write_text(" \n")
    with pytest.raises(InputError, match="is empty"):
        list(read_articles(path))
    for data, words in ((docx(b""), "DOCX"), (b"%PDF-1.7 x", "PDF"), (bytes(256), "text")):
        path.write_bytes(data)
        with pytest.raises(InputError, match=words):
            list(read_articles(path))
    monkeypatch.setattr(files, "MAX_PAGE", 10)
    path.write_text("a" * 11)
    with pytest.raises(InputError, match="a page may have 10"):
        list(read_articles(path))
    path.write_bytes(gzip.compress(b"It is old." * 100)[:-20])
    with pytest.raises(InputError, match="cannot be"):
        list(read_articles(path))


def test_a_deleted_revision_is_not_an_empty_page(tmp_path: Path) -> None:
    gone = page("Gone").replace(f">{TEXT}</text>", ' deleted="deleted" />')
    path = tmp_path / "dump.xml"
    path.write_bytes(DUMP.replace(b"</mediawiki>", gone.encode() + b"</mediawiki>"))
    assert [a.title for a in read_articles(path)] == ["Alba", "Borg Hall"]
    with pytest.raises(InputError, match="deleted"):
        list(read_articles(path, title="Gone"))


def test_a_page_that_is_too_long_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    long = "x" * (files.MAX_PAGE + 70_000)  # more than libxml2 and `MAX_PAGE` take
    path.write_bytes(DUMP.replace(TEXT.encode(), long.encode(), 1))
    first, second = read_articles(path)
    assert (len(first.warnings), first.claims, len(first.source)) == (1, (), files.MAX_PAGE)
    assert (second.warnings, len(second.claims)) == ((), 1)


def test_a_dump_that_nests_too_deeply_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    path.write_text("<mediawiki>" + "<a>" * 200)
    with pytest.raises(InputError, match="MediaWiki dump"):
        list(read_articles(path))


def test_a_file_of_comments_is_recognised_in_one_pass(tmp_path: Path) -> None:
    path = tmp_path / "page"
    path.write_text("<!---->" * 500 + "It is old.<ref>x</ref>")  # 2 ** 500 ways to read it
    (article,) = read_articles(path)
    assert len(article.claims) == 1
