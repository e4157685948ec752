"""Sources of articles: untrusted files and zip files are unpacked."""

import io
import stat
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.verbs.verify.article_files import Unused
from pincite_server import uploads as sources
from pincite_server.requests import SentFile
from pincite_server.uploads import Why, parts_of, unpack_files


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


def whys(unused: Sequence[Unused]) -> list[tuple[str, str]]:
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
