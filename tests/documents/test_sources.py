import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pincite.documents.sources import open_sources
from pincite.errors import InputError
from pincite.types import Document, Reason, Unchecked

PAGE = "<html><head>{head}<title>{title}</title></head><body><p>{text}</p></body></html>"


def page(title: str, text: str = "Opened in 1931.", head: str = "") -> bytes:
    return PAGE.format(title=title, text=text, head=head).encode()


def manifest(folder: Path, *lines: object) -> None:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    (folder / "manifest.jsonl").write_text(text)


def title(found: Document | Unchecked) -> str:
    assert isinstance(found, Document), found
    return found.title


def reason(found: Document | Unchecked) -> Reason:
    assert isinstance(found, Unchecked), found
    return found.reason


def test_a_manifest(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(page("A"))
    manifest(
        tmp_path,
        {"url": "https://e.org/a", "file": "a.bin", "content_type": "text/html", "fetched": "2020"},
        {"url": "https://e.org/gone", "status": 404},
        {"url": "https://e.org/no", "file": "a.bin", "status": 503},
    )
    sources = open_sources(tmp_path)
    found = sources.get("http://E.org/a/?utm_medium=mail#top")
    assert title(found) == "A"
    assert isinstance(found, Document)
    assert (found.url, found.fetched) == ("https://e.org/a", "2020")
    assert sources.get("https://e.org/a") is found
    assert reason(sources.get("https://e.org/gone")) is Reason.DEAD
    assert reason(sources.get("https://e.org/no")) is Reason.REFUSED
    assert len(sources) == 3
    assert sources.warnings == ()


def test_what_is_not_there_says_what_to_do(tmp_path: Path) -> None:
    found = open_sources(tmp_path).get("https://e.org/x")
    assert found == Unchecked(
        "https://e.org/x",
        Reason.NOT_SUPPLIED,
        f"no stored copy in {tmp_path}; save the page there and name it in manifest.jsonl",
    )


def test_bad_lines_are_warnings(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(page("A"))
    bad = ["{", {"file": "a.html"}, {"url": "u"}, {"url": "u", "status": "x"}, {"url": ["u"]}, "[]"]
    manifest(
        tmp_path, *bad, {"url": "https://e.org/a", "file": "a.html"}, {"url": "u", "status": 200}
    )
    sources = open_sources(tmp_path)
    assert title(sources.get("https://e.org/a")) == "A"
    assert [(w.file, w.line) for w in sources.warnings] == [
        ("manifest.jsonl", line) for line in (1, 2, 3, 4, 5, 6, 8)
    ]
    assert str(sources.warnings[1]) == "manifest.jsonl line 2: no url"


@pytest.mark.parametrize(
    "name", ["../secret.html", "/etc/passwd", "link.html", "inner/../../secret.html", "a\0b"]
)
def test_a_file_outside_the_folder_is_never_opened(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "sources"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "secret.html").write_bytes(page("Secret"))
    (folder / "link.html").symlink_to(tmp_path / "secret.html")
    manifest(folder, {"url": "https://e.org/s", "file": name})
    sources = open_sources(folder)
    found = sources.get("https://e.org/s")
    assert reason(found) is Reason.NOT_SUPPLIED
    assert isinstance(found, Unchecked)
    assert "outside" in found.detail
    assert len(sources.warnings) == 1


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    manifest(tmp_path, {"url": "https://e.org/s", "file": "none.html"})
    sources = open_sources(tmp_path)
    assert reason(sources.get("https://e.org/s")) is Reason.NOT_SUPPLIED
    assert "not there" in sources.warnings[0].message


def test_every_kind_of_store_also_one_folder_down(
    tmp_path: Path, make_record: Callable[..., bytes]
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / ".hidden.html").write_bytes(b"x")
    link = '<link rel="canonical" href="https://e.org/saved">'
    (inner / "saved.html").write_bytes(page("Saved", head=link))
    (tmp_path / "unknown.html").write_bytes(page("Unknown"))
    (tmp_path / "unknown.pdf").write_bytes(b"%PDF-")
    records = [
        {"url": f"https://e.org/{n}", "title": str(n), "text": "Some words."} for n in range(9)
    ]
    lines = "\n".join(map(json.dumps, records)) + "\nno json"
    (tmp_path / "many.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "crawl.warc.gz").write_bytes(
        make_record("https://e.org/archived", b"Not today", http="500 Oops")
        + make_record("https://e.org/archived", page("Archived"))
        + make_record("https://e.org/old", b"", http="302 Found", Location="archived")
        + make_record("https://e.org/round", b"", http="302 Found", Location="/round")
    )
    sources = open_sources(tmp_path)
    assert title(sources.get("https://e.org/saved")) == "Saved"
    assert [title(sources.get(f"https://e.org/{n}")) for n in (7, 2, 5)] == ["7", "2", "5"]
    assert title(sources.get("https://e.org/archived")) == "Archived"
    assert title(sources.get("https://e.org/old")) == "Archived"
    assert reason(sources.get("https://e.org/round")) is Reason.NOT_SUPPLIED
    assert {(w.file, w.line) for w in sources.warnings} == {
        ("unknown.html", 0),
        ("unknown.pdf", 0),
        ("many.jsonl.gz", 10),
    }


def test_archives_and_www_are_a_fallback(tmp_path: Path) -> None:
    for name in ("plain", "www", "snapshot"):
        (tmp_path / f"{name}.html").write_bytes(page(name))
    manifest(
        tmp_path,
        {"url": "https://e.org/a", "file": "plain.html"},
        {"url": "https://www.e.org/a", "file": "www.html"},
        {"url": "https://web.archive.org/web/2013/http://e.org/b", "file": "snapshot.html"},
    )
    sources = open_sources(tmp_path)
    assert title(sources.get("http://www.e.org/a")) == "www"
    assert title(sources.get("http://e.org/a")) == "plain"
    assert title(sources.get("https://web.archive.org/web/2015/http://www.e.org/a")) == "plain"
    assert title(sources.get("http://e.org/b")) == "snapshot"


def test_a_body_is_read_when_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_bytes(page("Before"))
    manifest(tmp_path, {"url": "https://e.org/a", "file": "a.html"})
    sources = open_sources(tmp_path)
    path.write_bytes(page("After"))
    assert title(sources.get("https://e.org/a")) == "After"
    path.unlink()
    assert title(sources.get("https://e.org/a")) == "After"
    path.write_bytes(page("Again"))
    fresh = open_sources(tmp_path)
    path.unlink()
    assert reason(fresh.get("https://e.org/a")) is Reason.NOT_SUPPLIED


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        open_sources(tmp_path / "absent")
