"""The store of own copies: what survives a kill, who may read it, and what is never touched."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pincite.errors import ConfigError
from pincite.library.private_copies import FILES, INDEX, OwnCopies, OwnCopy

DATA = b"The bridge opened in 1911."
# Attaches copies without end, each to a source of its own, and says so once it is done.
ATTACH = """
import hashlib, sys
from pathlib import Path
from pincite.library.private_copies import OwnCopies, OwnCopy
store, name, most = OwnCopies(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
for n in range(most):
    data = f"{name} {n} ".encode() * 20_000
    digest = hashlib.sha256(data).hexdigest()
    copy = OwnCopy("r", (f"url:{name}/{n}",), "f.txt", digest, len(data), None, 0, 1, "en", "")
    store.attach(copy, data)
    print(n, flush=True)
"""


def copy(data: bytes = DATA, *keys: str, name: str = "book.txt") -> OwnCopy:
    digest = hashlib.sha256(data).hexdigest()
    return OwnCopy("REF", keys or ("isbn:1",), name, digest, len(data), None, 0, 5, "en", "")


def files(folder: Path) -> set[str]:
    return {path.name for path in (folder / FILES).iterdir()}


def writer(folder: Path, name: str, most: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", ATTACH, str(folder), name, str(most)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_attached_found_and_removed(tmp_path: Path) -> None:
    store = OwnCopies(tmp_path / "own")
    assert (store.all(), store.of(["isbn:1"]), store.fingerprint()) == ([], [], "")
    assert not (tmp_path / "own").exists()  # asking makes nothing
    kept = store.attach(copy(DATA, "isbn:1", "doi:10.1/x"), DATA)
    assert store.of(["doi:10.1/x", "isbn:1"]) == [kept] == store.all()
    assert store.of(["isbn:2"]) == store.of([]) == []
    assert store.read(kept) == DATA
    first = store.fingerprint()
    store.attach(copy(b"Another."), b"Another.")
    assert store.fingerprint() not in ("", first)
    store.remove(store.of(["isbn:1"]))
    assert (store.all(), files(store.folder)) == ([], set())


def test_a_file_of_two_sources_stays_until_both_are_gone(tmp_path: Path) -> None:
    store = OwnCopies(tmp_path)
    one = store.attach(copy(DATA, "isbn:1"), DATA)
    two = store.attach(copy(DATA, "isbn:2"), DATA)
    store.remove([one])
    assert store.read(two) == DATA
    store.remove([two])
    assert files(tmp_path) == set()


def test_attaching_again_replaces(tmp_path: Path) -> None:
    store = OwnCopies(tmp_path)
    store.attach(copy(), DATA)
    again = store.attach(replace(copy(), pages=(120, 135)), DATA)
    assert store.all() == [again]
    assert store.all()[0].pages == (120, 135)


def test_only_the_owner_reads(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = OwnCopies(tmp_path / "own")
        kept = store.attach(copy(), DATA)
    finally:
        os.umask(before)
    modes = {p.name: p.stat().st_mode & 0o777 for p in (tmp_path / "own").rglob("*")}
    assert modes == {FILES: 0o700, INDEX: 0o600, kept.sha256: 0o600}
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700


def test_names_are_never_paths(tmp_path: Path) -> None:
    store = OwnCopies(tmp_path / "own")
    for number, name in enumerate(
        ("../../etc/passwd", "/etc/passwd", "a\0b", "\x1b[2J", "ü" * 300)
    ):
        data = str(number).encode()
        kept = store.attach(copy(data, f"k{number}", name=name), data)
        assert store.read(kept) == data
        assert store.all()[-1].name == name
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {
        INDEX,
        *(kept.sha256 for kept in store.all()),
    }


def test_damage_and_links_are_not_read(tmp_path: Path) -> None:
    store = OwnCopies(tmp_path / "own")
    kept = store.attach(copy(), DATA)
    path = store.path_of(kept)
    path.write_bytes(DATA + b" ")
    assert store.read(kept) is None
    path.unlink()
    assert store.read(kept) is None
    (tmp_path / "elsewhere").write_bytes(DATA)
    path.symlink_to(tmp_path / "elsewhere")
    assert store.read(kept) is None
    store.attach(copy(), DATA)  # takes the place of the link, not of what it leads to
    assert not path.is_symlink()
    assert store.read(kept) == DATA
    path.unlink()
    os.mkfifo(path)
    assert store.read(kept) is None


def test_files_of_others_stay(tmp_path: Path) -> None:
    (tmp_path / FILES).mkdir()
    (tmp_path / FILES / "thesis.pdf").write_text("mine")
    left_behind = tmp_path / FILES / ("0" * 64)
    left_behind.write_text("of a killed run")
    store = OwnCopies(tmp_path)
    kept = store.attach(copy(), DATA)
    store.remove([kept])
    assert files(tmp_path) == {"thesis.pdf"}


@pytest.mark.parametrize("content", [b"no database at all, but long enough for a header" * 9, b""])
def test_a_broken_index(tmp_path: Path, content: bytes) -> None:
    (tmp_path / INDEX).write_bytes(content)
    store = OwnCopies(tmp_path)
    if content:
        with pytest.raises(ConfigError, match="own_copies"):
            store.all()
    else:  # killed before its first transaction
        assert store.all() == []


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="own_copies"):
        OwnCopies(tmp_path / "file" / "own").attach(copy(), DATA)


def test_two_processes(tmp_path: Path) -> None:
    most = 25
    started = [writer(tmp_path, name, most) for name in "abc"]
    store = OwnCopies(tmp_path)
    while any(process.poll() is None for process in started):
        for kept in store.all():  # a reader sees whole copies at every moment
            assert store.read(kept) is not None
    assert [process.wait() for process in started] == [0, 0, 0]
    assert len(store.all()) == 3 * most == len(files(tmp_path))
    for process in started:
        process.communicate()


def test_kill_at_any_moment(tmp_path: Path) -> None:
    chance = random.Random(11)
    for round_number in range(6):
        process = writer(tmp_path, f"round{round_number}", 1000)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.15))
        process.send_signal(signal.SIGKILL)
        said = process.communicate()[0].split()
        store = OwnCopies(tmp_path)
        for done in ["0", *said]:
            (kept,) = store.of([f"url:round{round_number}/{done}"])
            assert store.read(kept) is not None
        assert all(store.read(kept) for kept in store.all())
    last = store.attach(copy(), DATA)
    assert files(tmp_path) == {kept.sha256 for kept in store.all()} >= {last.sha256}


def test_threads(tmp_path: Path) -> None:
    store = OwnCopies(tmp_path)

    def attach(number: int) -> None:
        data = str(number).encode()
        store.attach(copy(data, f"k{number}"), data)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(attach, range(20)))
    assert len(store.all()) == 20
