"""A file that nobody touched is believed; whatever a program does to it is noticed."""

import contextlib
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pincite.corpus import durable
from pincite.corpus.durable import checksum, is_as_written, read_stamp, witness
from pincite.corpus.embedded import EmbeddedCorpus
from pincite.types import Document

CONTENT = b"codes of vectors " * 100


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(durable, "BELIEVED_BYTES", 0)
    path = tmp_path / "index"
    path.write_bytes(CONTENT)
    time.sleep(0.02)  # a file system's clock ticks every 4 or 10 ms
    return path


def flip(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"C")


def flip_and_set_the_clock_back(path: Path) -> None:
    before = path.stat()
    flip(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_by_a_copy(path: Path) -> None:
    copy = path.with_name("copy")
    shutil.copy2(path, copy)
    flip_and_set_the_clock_back(copy)
    copy.replace(path)


def cut(path: Path) -> None:
    os.truncate(path, 10)


@pytest.mark.parametrize("harm", [flip, flip_and_set_the_clock_back, replace_by_a_copy, cut])
def test_a_changed_file_is_noticed(file: Path, harm: Callable[[Path], None]) -> None:
    known, seen = checksum(file), witness(file)
    harm(file)
    assert not is_as_written(file, known, seen)


def test_an_untouched_file_is_not_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known, seen = checksum(file), witness(file)
    monkeypatch.setattr(durable, "checksum", lambda path: pytest.fail("was read"))
    assert is_as_written(file, known, seen)


def test_a_faithful_copy_is_as_written(file: Path) -> None:
    known, seen = checksum(file), witness(file)
    copy = Path(shutil.copy2(file, file.with_name("copy")))
    assert is_as_written(copy, known, seen)


def test_a_small_file_is_always_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "BELIEVED_BYTES", len(CONTENT) + 1)
    assert not is_as_written(file, "another", witness(file))


def test_a_file_that_is_gone_is_not_as_written(file: Path) -> None:
    known, seen = checksum(file), witness(file)
    file.unlink()
    assert not is_as_written(file, known, seen)
    assert witness(file) == []


def test_a_segment_harmed_under_an_open_writer_is_never_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable, "BELIEVED_BYTES", 0)
    with EmbeddedCorpus.create(tmp_path / "c", None) as corpus:
        corpus.add([Document("u:a", "A", "the old mill")])
        [segment] = (tmp_path / "c").glob("g1/lexical-*/*.idx")
        time.sleep(0.02)
        flip(segment)
        corpus.add([Document("u:b", "B", "the new bridge")])
    stamp = read_stamp(tmp_path / "c" / "g1" / "lexical.json") or {}
    name = segment.name
    assert not segment.exists() or not is_as_written(
        segment, stamp["files"][name], stamp["seen"][name]
    )
    with EmbeddedCorpus.open(tmp_path / "c", None, write=True) as corpus:
        hits = corpus.lexical().retrieve(["old mill"], 5)[0]
    assert [hit.passage.text for hit in hits] == ["the old mill"]


@pytest.mark.parametrize(("n_refusals", "held"), [(3, False), (10_000, True)])
def test_a_stamp_waits_a_moment_for_who_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_refusals: int, held: bool
) -> None:
    """Windows refuses to rename over a file that somebody has open."""
    refusals = iter([True] * n_refusals)
    replace = Path.replace

    def refused(self: Path, target: Path) -> Path:
        if next(refusals, False):
            raise PermissionError(13, "in use")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refused)
    monkeypatch.setattr(durable, "READ_SECONDS", 0.0)
    with pytest.raises(PermissionError) if held else contextlib.nullcontext():
        durable.write_stamp(tmp_path / "stamp.json", {"a": 1})
    assert read_stamp(tmp_path / "stamp.json") == (None if held else {"a": 1})


def test_a_file_or_folder_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    durable.write_text(path, "old")
    with contextlib.suppress(ValueError), durable.replacing(path) as part:
        part.write_text("ne")
        raise ValueError
    assert path.read_text() == "old"
    for content in ("new", "newer"):
        with durable.replacing(path) as part:
            part.mkdir()
            (part / "a").write_text(content)
        assert (path / "a").read_text() == content
    assert [*tmp_path.iterdir()] == [path]
