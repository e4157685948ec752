"""Sources of articles: untrusted files and zip files are unpacked, and matched with citations."""

import io
import json
import stat
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.documents import read
from pincite.documents.collection import NAME, open_sources
from pincite.server import uploads as sources
from pincite.server.requests import SentFile
from pincite.server.uploads import SENT, Outcome, Unused, Why, match_files, parts_of, unpack_files
from pincite.types import Document, Unchecked
from pincite.wiki.article import parse_article


def zipped(*files: tuple[str | zipfile.ZipInfo, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as packed:
        for name, data in files:
            packed.writestr(name, data, kind)
    return out.getvalue()


def laid(folder: Path, *files: tuple[str, bytes]) -> tuple[list[str], list[Unused]]:
    """What lies in the folder after these were sent, and what could not be used."""
    stored, into = folder / "stored", folder / "into"
    stored.mkdir()
    into.mkdir()
    sent = []
    for n, (name, data) in enumerate(files, 1):
        path = stored / f"{n:05d}"
        path.write_bytes(data)
        sent.append(SentFile(stored=path.name, name=name, n_bytes=len(data)))
    unused = unpack_files(stored, sent, into)
    paths = sorted(path for path in into.rglob("*") if path.is_file())
    return [path.relative_to(into).as_posix() for path in paths], unused


def whys(unused: Sequence[Unused]) -> list[tuple[str, Why]]:
    return [(each.file, each.why) for each in unused]


def test_files_keep_their_folders_and_zips_are_unpacked(tmp_path: Path) -> None:
    packed = zipped(("pages/a.html", b"a"), ("__MACOSX/pages/._a.html", b"x"), (".DS_Store", b"x"))
    found, unused = laid(
        tmp_path, ("mine/b.txt", b"b"), ("mine/.hidden", b"x"), ("all.zip", packed)
    )
    assert found == ["all.zip/pages/a.html", "mine/b.txt"]
    assert unused == []
    assert (tmp_path / "into" / "all.zip" / "pages" / "a.html").read_bytes() == b"a"


@pytest.mark.parametrize(
    "name", ["../out.txt", "a/../../out.txt", "/out.txt", "C:\\out.txt", "..\\out.txt", "a\n.txt"]
)
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    packed = zipped((name, b"evil"), ("good.txt", b"good"))
    found, unused = laid(tmp_path, (name, b"evil"), ("sources.zip", packed))
    assert found == ["sources.zip/good.txt"]
    assert [each.why for each in unused] == [Why.UNSAFE, Why.UNSAFE]
    everything = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert everything == {"00001", "00002", "good.txt"}


@given(st.text(st.characters(codec=None), max_size=40))
def test_parts_are_plain_names(name: str) -> None:
    parts = parts_of(name)
    for part in parts or ():
        assert part not in ("", ".", "..")
        assert not set(part) & set("/\\\0\n")
        assert 0 < len(part.encode()) <= sources.MAX_NAME_BYTES


def test_links_locks_and_zips_in_zips_are_named(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link.html")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    locked = bytearray(zipped(("locked.html", b"secret")))
    at = locked.rindex(b"PK\x01\x02")
    locked[at + 8] |= 1  # says that it is encrypted
    inner = zipped(("a.html", b"a"))
    found, unused = laid(
        tmp_path,
        ("one.zip", zipped((link, b"/etc/passwd"), ("more.zip", inner), ("fine.html", b"f"))),
        ("two.zip", bytes(locked)),
        ("three.zip", b"no zip at all"),
        ("four.zip", zipped(("a.html", b"a"), kind=zipfile.ZIP_BZIP2)),
    )
    assert found == ["one.zip/fine.html"]
    assert whys(unused) == [
        ("one.zip/link.html", Why.LINK),
        ("one.zip/more.zip", Why.NESTED),
        ("two.zip/locked.html", Why.ENCRYPTED),
        ("three.zip", Why.NO_ZIP),
        ("four.zip/a.html", Why.NO_ZIP),
    ]


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "SMALL", 1_000)
    bomb = zipped(("bomb.html", b"\0" * 3_000_000), ("fine.html", b"fine"))
    found, unused = laid(tmp_path, ("bomb.zip", bomb))
    assert found == ["bomb.zip/fine.html"]
    assert whys(unused) == [("bomb.zip/bomb.html", Why.TOO_LARGE)]


def test_all_zips_together_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_BYTES", 10)
    packed = zipped(("a.html", b"123456"), ("b.html", b"123456"))
    found, unused = laid(tmp_path, ("one.zip", packed), ("after.html", b"x"))
    assert found == ["one.zip/a.html"]
    assert whys(unused) == [("one.zip", Why.TOO_LARGE), ("after.html", Why.TOO_LARGE)]


def test_files_have_a_limit_and_names_count_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_UNPACKED_FILES", 3)
    found, unused = laid(tmp_path, *((name, b"x") for name in ("a", "a", "a/b", "c", "d")))
    assert found == ["a"]
    assert whys(unused) == [
        ("a", Why.TWICE),
        ("a/b", Why.TWICE),
        ("c", Why.TOO_MANY),
        ("d", Why.TOO_MANY),
    ]


def test_a_zip_with_too_many_entries_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = zipped(*((f"{n}.html", b"x") for n in range(50)))
    monkeypatch.setattr(sources, "MAX_DIRECTORY", 100)
    monkeypatch.setattr(zipfile, "ZipFile", None)  # nothing may open it
    end = packed.rindex(b"PK\x05\x06")
    large = packed[:end] + b"PK\x06\x07" + bytes(16) + struct.pack("<4s", packed[end : end + 4])
    large += packed[end + 4 :]
    found, unused = laid(tmp_path, ("long.zip", packed), ("zip64.zip", large))
    assert found == []
    assert whys(unused) == [("long.zip", Why.TOO_MANY), ("zip64.zip", Why.TOO_MANY)]


# ── Matching with citations ──────────────────────────────────────────────────────────────────────

ARTICLE = """The pier opened in 1911.<ref>{{cite web |url=https://port.example/reports/pier-review-1911.pdf
|title=Review of the outer pier}}</ref>
It is forty metres long.<ref>{{cite journal |title=Lengths of northern piers |doi=10.1000/xyz.7
|url=https://journal.example/7}}</ref>
Ann Fell wrote about it.<ref>{{cite book |title=A short book about piers |last=Fell}}</ref>
It has a clock.<ref>https://www.clocks.example/pier?id=4</ref>"""
URLS = {
    "r1": "https://port.example/reports/pier-review-1911.pdf",
    "r2": "https://journal.example/7",
    "r4": "https://www.clocks.example/pier?id=4",
}
TEXT = "The harbour board met and spoke about the pier and its clock for a long time."


def sent(folder: Path) -> Outcome:
    return match_files(folder, parse_article(ARTICLE, "Pier"))


def put(folder: Path, name: str, text: str = TEXT) -> None:
    path = folder / SENT / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "text", "citation"),
    [
        ("r2.txt", TEXT, "r2"),
        ("r2 my scan.txt", TEXT, "r2"),
        ("Pier-Review-1911.txt", TEXT, "r1"),
        ("Review of the outer pier.txt", TEXT, "r1"),
        ("scan.txt", f"Lengths of northern piers\n\n{TEXT}", "r2"),
        ("scan.txt", f"Journal 3, 4 (doi:10.1000/XYZ.7).\n\n{TEXT}", "r2"),
        (
            "saved.html",
            f'<link rel="canonical" href="http://clocks.example/pier?id=4"><p>{TEXT}</p>',
            "r4",
        ),
        (
            "saved.html",
            f"<title>Review of the outer pier - The Port</title><article><p>{TEXT}</p></article>",
            "r1",
        ),
    ],
)
def test_a_file_is_found_under_its_citations_address(
    tmp_path: Path, name: str, text: str, citation: str
) -> None:
    put(tmp_path, f"folder/{name}", text)
    outcome = sent(tmp_path)
    assert outcome.matched == [(f"folder/{name}", citation)]
    assert outcome.unused == []
    found = open_sources(tmp_path)
    copy = found.get(URLS[citation])
    assert isinstance(copy, Document)
    assert "harbour board" in copy.text
    assert not found.warnings


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("2.txt", TEXT, Why.NO_MATCH),  # the second of somebody's files, not of the citations
        ("[2] notes.txt", TEXT, Why.NO_MATCH),
        ("review.txt", TEXT, Why.NO_MATCH),
        ("r9.txt", TEXT, Why.NO_MATCH),
        ("A short book about piers.txt", TEXT, Why.NO_ADDRESS),
        ("empty.txt", " ", Why.UNREADABLE),
        ("photo.jpg", "\x00\x01", Why.UNREADABLE),
    ],
)
def test_a_file_that_matches_no_citation_is_reported(
    tmp_path: Path, name: str, text: str, why: Why
) -> None:
    put(tmp_path, name, text)
    outcome = sent(tmp_path)
    assert [(each.file, each.why) for each in outcome.unused] == [(name, why)]
    assert outcome.matched == []
    assert len(open_sources(tmp_path)) == 0


def test_a_file_that_matches_two_sources_is_unused(tmp_path: Path) -> None:
    text = "{{cite web |url=https://%s.example/annual-review.pdf |title=The annual review here}}"
    refs = "".join(f"It is {word}.<ref>{text % word}</ref>\n" for word in ("old", "new"))
    put(tmp_path, "annual-review.txt")
    outcome = match_files(tmp_path, parse_article(refs, "Pier"))
    assert [each.why for each in outcome.unused] == [Why.NO_MATCH]


def test_manifests_and_collections_are_left_as_they_are(tmp_path: Path) -> None:
    put(tmp_path, "page.txt", f"{TEXT} One.")
    row = {"url": URLS["r4"], "file": "page.txt"}
    put(tmp_path, NAME, json.dumps(row))
    put(tmp_path, "more.jsonl", json.dumps({"url": URLS["r2"], "text": f"{TEXT} Two."}))
    outcome = sent(tmp_path)
    assert (outcome.matched, outcome.unused, outcome.n_named) == ([], [], 2)
    found = open_sources(tmp_path)
    for citation, word in (("r4", "One."), ("r2", "Two.")):
        copy = found.get(URLS[citation])
        assert isinstance(copy, Document)
        assert word in copy.text


def test_file_whose_reading_raises_costs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = read.read_file

    def read_file(path: Path) -> Document | Unchecked:
        if path.name == "broken.txt":
            raise KeyError("ſ")
        return real(path)

    monkeypatch.setattr(read, "read_file", read_file)
    put(tmp_path, "r1.txt")
    put(tmp_path, "broken.txt", "Words that no citation has.")
    outcome = sent(tmp_path)
    assert outcome.matched == [("r1.txt", "r1")]
    assert [(each.file, each.why) for each in outcome.unused] == [("broken.txt", Why.UNREADABLE)]
