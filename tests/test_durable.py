"""Files are replaced whole or not at all."""

import contextlib
import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from pincite import durable
from pincite.durable import read_stamp


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


def test_a_link_is_followed_to_its_target(tmp_path: Path) -> None:
    target, link = tmp_path / "there" / "file", tmp_path / "link"
    target.parent.mkdir()
    link.symlink_to(target)
    for text in ("new", "newer"):
        durable.write_text(link, text)
        assert (link.is_symlink(), target.read_text()) == (True, text)


@pytest.mark.skipif(sys.platform != "linux", reason="devices of Linux")
def test_a_device_is_written_through_and_stays_one(tmp_path: Path) -> None:
    node = tmp_path / "full"
    try:
        os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 7))  # /dev/full
        node.open("wb").close()
    except PermissionError:
        pytest.skip("a device can be made here only by root")
    with pytest.raises(OSError, match="No space"):
        durable.write_text(node, "x" * 100_000)
    assert stat.S_ISCHR(node.stat().st_mode)
    node.unlink()
    os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 3))  # /dev/null
    durable.write_text(node, "x")
    assert stat.S_ISCHR(node.stat().st_mode)
    assert list(tmp_path.iterdir()) == [node]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
def test_a_pipe_gets_the_content(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    durable.write_text(pipe, "content")
    reader.join()
    assert read == ["content"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(sys.platform != "linux", reason="folders of Linux")
def test_nothing_is_created_among_devices() -> None:
    place = Path("/dev/pincite-test")
    with pytest.raises(FileNotFoundError):
        durable.write_text(place, "x")
    assert not place.exists()


def test_only_our_own_unfinished_file_is_replaced(tmp_path: Path) -> None:
    for name in ("report.part", ".report.part"):
        (tmp_path / name).write_text("the user's")
    durable.write_text(tmp_path / "report", "new")
    (tmp_path / f"report{durable.PART}").write_text("left by a killed run")
    durable.write_text(tmp_path / "report", "newer")
    files = {path.name: path.read_text() for path in tmp_path.iterdir()}
    users = dict.fromkeys(("report.part", ".report.part"), "the user's")
    assert files == {"report": "newer", **users}
