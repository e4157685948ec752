"""Inputs at addresses of fsspec: copied once and kept up to date; items that are read ahead."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import fsspec
import pytest
from click.testing import CliRunner

from pincite.cli import cli
from pincite.corpus import engines
from pincite.documents import inputs
from pincite.documents.inputs import MOST_STREAMS, PART_CHARS, WAITING_PARTS, read_ahead, read_each
from pincite.errors import ConfigError, InputError
from pincite.types import Document


@pytest.fixture
def place() -> str:
    return f"memory://{uuid4().hex}"


def put(place: str, **texts: str) -> None:
    store: Any = fsspec.filesystem("memory")
    for name, text in texts.items():
        store.pipe(f"{place.removeprefix('memory:/')}/{name}.txt", text.encode())


def read(path: Path) -> dict[str, str]:
    return {
        file.relative_to(path).as_posix(): file.read_text()
        for file in sorted(path.rglob("*"))
        if file.is_file() and not file.name.startswith(".")
    }


def test_paths_stay_as_they_are(tmp_path: Path) -> None:
    found = inputs.local(["pages/", tmp_path], tmp_path / "copies")
    assert found.paths == [Path("pages"), tmp_path]
    assert found.named("file:///pages/a.txt") == "file:///pages/a.txt"
    assert not (tmp_path / "copies").exists()


def test_a_folder_is_copied_and_kept_up_to_date(place: str, tmp_path: Path) -> None:
    put(place, a="one", **{"below/b": "two"})
    told: list[tuple[Any, ...]] = []
    (copy,) = inputs.local([place], tmp_path, lambda *some: told.append(some)).paths
    assert read(copy) == {"a.txt": "one", "below/b.txt": "two"}
    assert ("copying files", 1, 2, "copying below/b.txt") in told
    before = {name: (copy / name).stat().st_mtime_ns for name in read(copy)}
    put(place, a="another")
    fsspec.filesystem("memory").pipe(f"/{place[9:]}/c.txt", b"three")
    fsspec.filesystem("memory").rm(f"/{place[9:]}/below/b.txt")
    (copy / "a.txt").touch()
    assert inputs.local([place], tmp_path).paths == [copy]
    assert read(copy) == {"a.txt": "another", "c.txt": "three"}
    kept = (copy / "c.txt").stat().st_mtime_ns
    inputs.local([place], tmp_path)
    assert (copy / "c.txt").stat().st_mtime_ns == kept, "what did not change is not copied anew"
    assert before["a.txt"] != (copy / "a.txt").stat().st_mtime_ns


def test_documents_have_the_addresses_that_the_user_knows(place: str, tmp_path: Path) -> None:
    put(place, a="one", **{"below/b c": "two"})
    whole, one = place + "/", f"{place}/a.txt"
    found = inputs.local([whole, one], tmp_path)
    folder, file = (path.resolve().as_uri() for path in found.paths)
    assert found.named(f"{folder}/below/b%20c.txt") == f"{place}/below/b%20c.txt"
    assert found.named(file) == one
    assert found.named("https://example.org/a") == "https://example.org/a"


def test_a_corpus_is_filled_from_addresses(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "c.txt").write_text("Herons stand still.")
    put(place, a="The old bridge is of wood.", b="The ferry is closed.")

    def update(*options: str) -> Any:
        given = [str(tmp_path / "kb"), place, (tmp_path / "here").as_uri(), *options]
        arguments = ["corpus", "update", *given, "--no-vectors", "--json", "-q"]
        result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    names = [f"{place}/a.txt", f"{place}/b.txt", f"{(tmp_path / 'here').as_uri()}/c.txt"]
    assert sorted(update()["added"]) == sorted(names)
    assert update()["n_unchanged"] == 3
    put(place, a="The new bridge is of stone.")
    fsspec.filesystem("memory").rm(f"/{place[9:]}/b.txt")
    outcome = update("--prune")
    assert (outcome["changed"], outcome["removed"]) == ([names[0]], [names[1]])
    with engines.open(tmp_path / "kb", None) as corpus:
        (hit,) = corpus.lexical().retrieve(["stone bridge"], 5)[0]
    assert hit.passage.url == names[0]


def test_the_list_of_copies_is_whole_and_no_file_of_the_store(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store: Any = fsspec.filesystem("memory")
    put(place, a="one")
    store.pipe(f"/{place[9:]}/{inputs._LIST}", b"theirs")
    (copy,) = inputs.local([place], tmp_path).paths
    assert (copy / inputs._LIST).read_text() == "theirs"

    def write_half(path: Path, text: str) -> None:
        path.write_bytes(text.encode()[: len(text) // 2])
        raise OSError("the disk is full")

    put(place, a="another")
    monkeypatch.setattr(Path, "write_text", write_half)
    with pytest.raises(InputError):
        inputs.local([place], tmp_path)
    monkeypatch.undo()
    assert read(inputs.local([place], tmp_path).paths[0]) == {"a.txt": "another"}


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/../../b", ".", ""])
def test_a_name_outside_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not the name of a file under"):
        inputs._inside(tmp_path / "copy", name)


def test_what_cannot_be_read_is_said(place: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nosuch://x.*fsspec"):
        inputs.local(["nosuch://x"], tmp_path)
    with pytest.raises(InputError, match=rf"{place}"):
        inputs.local([place], tmp_path)
    with pytest.raises(
        ConfigError, match=r"ftp://…@host/a: .* must not contain a password"
    ) as error:
        inputs.local(["ftp://me:secret@host/a"], tmp_path)
    assert "secret" not in str(error.value)


def test_a_corpus_goes_to_a_hub_and_comes_back(place: str, tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "mill.txt").write_text("The mill in Varde closed in 1902.")
    run = CliRunner()
    own, back, file = str(tmp_path / "kb"), str(tmp_path / "back"), f"{place}/kb.zip"
    for command in (
        ["update", own, str(tmp_path / "pages"), "--no-vectors"],
        ["pack", own, file],
        ["unpack", file, back],
    ):
        done = run.invoke(cli, ["corpus", *command])
        assert done.exit_code == 0, done.output
    with engines.open(Path(back), None) as corpus:
        assert [url.rpartition("/")[2] for url in corpus.urls()] == ["mill.txt"]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "kb.zip").write_bytes(b"")
    with pytest.raises(ConfigError):
        inputs.send(tmp_path / "kb.zip", "nosuchstore://varde/kb.zip")
    with pytest.raises(InputError):
        inputs.send(tmp_path / "absent.zip", "memory://varde/kb.zip")


# ── Reading ahead ─────────────────────────────────────────────────────────────────────────────────

LONG = 60.0  # seconds: only a fault makes a test wait for them


def long_document(number: int) -> Document:
    return Document(f"https://e.example/{number}", "", "x" * PART_CHARS)


@pytest.mark.parametrize("n_readers", [1, 3])
def test_order_is_kept(n_readers: int) -> None:
    streams = ((n, range(n, n + 50)) for n in range(200))
    found = [(name, list(items)) for name, items in read_ahead(streams, n_readers)]
    assert found == [(n, list(range(n, n + 50))) for n in range(200)]
    assert list(read_ahead([])) == []


def test_an_error_comes_after_the_items_of_its_stream() -> None:
    def breaking() -> Iterator[int]:
        yield 1
        raise OSError("the disk")

    found: list[object] = []
    for _, items in read_ahead([("a", breaking()), ("b", iter([2]))]):
        try:
            found.extend(items)
        except OSError as error:
            found.append(str(error))
    assert found == [1, "the disk", 2]


def test_an_error_between_streams_comes_last() -> None:
    def streams() -> Iterator[tuple[str, list[int]]]:
        yield "a", [1]
        raise OSError("the archive")

    found = read_ahead(streams())
    assert [list(items) for _, items in [next(found)]] == [[1]]
    with pytest.raises(OSError, match="the archive"):
        next(found)


def test_the_backlog_is_bounded() -> None:
    numbers, enough, ended = count(1), threading.Event(), threading.Event()
    most = WAITING_PARTS + 1  # and one in hand

    def long_ones() -> Iterator[Document]:
        try:
            for _ in range(100):
                number = next(numbers)
                if number == most:
                    enough.set()
                yield long_document(number)
        finally:
            ended.set()

    with closing(read_ahead([("a", long_ones())], 1)) as streams:
        next(streams)
        assert enough.wait(LONG)
    assert ended.wait(LONG)
    assert next(numbers) == most + 1


def test_a_stream_that_is_not_exhausted_is_passed_over() -> None:
    streams = ((n, map(long_document, range(n + 5))) for n in range(2 * MOST_STREAMS))
    assert [number for number, _ in read_ahead(streams, 2)] == list(range(2 * MOST_STREAMS))


@pytest.mark.parametrize("n_readers", [1, 2])
def test_items_are_read_in_order_and_few_at_once(
    n_readers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "READERS", n_readers)
    monkeypatch.setattr(inputs, "_AT_ONCE", threading.BoundedSemaphore(n_readers))
    lock, under_way, most = threading.Lock(), 0, 0

    def read(number: int) -> int:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        with lock:
            under_way -= 1
        return number

    streams = ((n, read_each(read, range(n, n + 20))) for n in range(8))
    found = [list(items) for _, items in read_ahead(streams, 4)]
    assert found == [list(range(n, n + 20)) for n in range(8)]
    assert 1 <= most <= n_readers
