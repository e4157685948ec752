"""Work in order, here and on Ray: the same results, the same errors, no more begun than needed."""

import json
import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from library import dead_head, unlucky
from support.laws import FakeEncoder, check_encoder

from pincite.corpus.embedded import EmbeddedCorpus
from pincite.corpus.origins import Origins
from pincite.errors import InputError, PinciteError
from pincite.library import parallel
from pincite.library.parallel import Parallel, SpreadEncoder
from pincite.library.update import How, Outcome, update

# Ray itself leaves files open and calls what Python has deprecated.
RAY = pytest.param("ray", marks=[pytest.mark.ray, pytest.mark.filterwarnings("ignore")])


@pytest.fixture(scope="module", params=["local", RAY])
def spread(request: pytest.FixtureRequest) -> Iterator[Parallel]:
    with parallel.opened(request.param, 2) as found:
        yield found


def test_results_come_in_order(spread: Parallel) -> None:
    assert list(spread.map(abs, range(-40, 0))) == list(range(40, 0, -1))
    assert list(spread.map(abs, [])) == []


def test_streams_come_in_order_and_whole(spread: Parallel) -> None:
    found = [(n, list(items)) for n, items in spread.streams(range, [3, 0, 500, 1, 2])]
    assert found == [(n, list(range(n))) for n in (3, 0, 500, 1, 2)]


def test_an_error_comes_at_its_place(spread: Parallel) -> None:
    results = spread.map(int, ["1", "2", "x", "4"])
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(ValueError, match=r"^invalid literal for int\(\) with base 10: 'x'$"):
        next(results)
    read: list[int] = []
    with closing(spread.streams(unlucky.counts, ["1 2 x 4", "5"])) as streams:
        _, first = next(streams)
        with pytest.raises(ValueError, match="'x'"):
            read.extend(first)
        assert list(next(streams)[1]) == [5]
    assert read == [1, 2]


@pytest.fixture(params=["closed", "silent"])
def dead(request: pytest.FixtureRequest) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        if request.param == "closed":
            server.close()
        yield address


@pytest.mark.ray
@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_a_head_that_does_not_answer_ends_with_an_error(
    dead: str, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "ANSWER_SECONDS", 0.5)
    monkeypatch.setenv("RAY_ADDRESS", scheme + dead)
    with pytest.raises(PinciteError) as raised, parallel.opened("ray"):
        pass
    assert isinstance(raised.value.__cause__, OSError)


@pytest.mark.ray
def test_a_head_that_is_killed_ends_with_an_error() -> None:
    command = [sys.executable, str(Path(dead_head.__file__))]
    tests = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": tests}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert (result.returncode, result.stdout) == (0, "PinciteError"), result.stderr


@pytest.mark.parametrize("spread", [RAY], indirect=True)
def test_no_more_is_begun_than_needed(spread: Parallel) -> None:
    asked: list[int] = []

    def items() -> Iterator[int]:
        for n in range(1_000):
            asked.append(n)
            yield n

    results = spread.map(abs, items())
    assert next(results) == 0
    assert len(asked) <= 8  # four for each of two workers


@pytest.mark.parametrize("spread", [RAY], indirect=True)
def test_what_a_killed_worker_did_is_done_again(spread: Parallel, tmp_path: Path) -> None:
    marks = [tmp_path / str(n) for n in range(3)]
    assert list(spread.map(unlucky.dies_once, marks)) == ["0", "1", "2"]
    marks = [tmp_path / f"stream {n}" for n in range(2)]
    found = [list(items) for _, items in spread.streams(unlucky.dies_in_between, marks)]
    assert found == [list(range(200))] * 2


# ── A corpus filled by workers ───────────────────────────────────────────────────────────────────


class Counting(FakeEncoder):
    """Remembers what it encoded."""

    def __init__(self) -> None:
        super().__init__()
        self.encoded: list[str] = []

    def encode(self, texts: Any, role: Any) -> Any:
        self.encoded += texts
        return super().encode(texts, role)


def sentences(chance: random.Random, n: int) -> str:
    words = [f"word{chance.randrange(300)}" for _ in range(12 * n)]
    return " ".join(f"The {' '.join(words[at : at + 12])}." for at in range(0, len(words), 12))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Texts, some in rows of a table with broken ones between, one address given twice."""
    chance, folder = random.Random(7), tmp_path / "files"
    folder.mkdir()
    for n in range(9):
        (folder / f"{n}.txt").write_text(sentences(chance, 30 + n))
    rows = [
        json.dumps({"url": f"https://e.example/{n % 70}", "text": sentences(chance, 20)})
        for n in range(75)
    ]
    (folder / "rows.jsonl").write_text("\n".join([*rows[:40], "{broken", *rows[40:]]))
    (folder / "pages.csv").write_text("url,author\nhttps://e.example/3,I. Holm\n")
    return folder


def filled(corpus: EmbeddedCorpus, folder: Path, files: Path, spread: Parallel) -> Outcome:
    with Origins(folder) as origins:
        return update(corpus, origins, [files], How(), None, spread)


def held(corpus: EmbeddedCorpus) -> list[Any]:
    """Everything that the corpus holds, in its order."""
    store = corpus._generation.store
    rows = store.rows("SELECT key, doc_id, title, content_hash, meta FROM documents ORDER BY key")
    texts = store.rows("SELECT document, number, data FROM blocks ORDER BY document, number")
    passages = store.rows("SELECT key, document, first, last FROM passages ORDER BY key")
    vectors = store.rows("SELECT passage, vector FROM vectors ORDER BY passage")
    return [rows, texts, passages, vectors]


def test_workers_fill_the_same_corpus(
    spread: Parallel, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pincite.library.update.BATCH_CHARS", 20_000)
    with EmbeddedCorpus.create(tmp_path / "alone", FakeEncoder()) as corpus:
        expected = filled(corpus, tmp_path / "alone", files, Parallel())
        alone = held(corpus)
    encoder = SpreadEncoder(FakeEncoder(), partial(FakeEncoder, 32), spread)
    with EmbeddedCorpus.create(tmp_path / "spread", encoder) as corpus:
        outcome = filled(corpus, tmp_path / "spread", files, spread)
        assert held(corpus) == alone
    assert outcome == expected
    assert (len(outcome.added), len(outcome.unread)) == (79, 1)


def test_a_spread_encoder_keeps_the_laws(spread: Parallel) -> None:
    encoder = SpreadEncoder(FakeEncoder(), FakeEncoder, spread)
    check_encoder(encoder)
    texts = [f"text {n}" for n in range(50)]
    assert np.array_equal(encoder.encode(texts, "passage"), FakeEncoder().encode(texts, "passage"))


class Killed(BaseException):
    """As Ctrl-C, or kill -9: nobody catches it."""


def only(n: int, add: Any) -> Any:
    """`add`, which is killed after so many calls."""
    left = iter(range(n))

    def added(documents: Any) -> int:
        if next(left, None) is None:
            raise Killed
        result: int = add(documents)
        return result

    return added


@pytest.mark.parametrize("n_commits", [1, 2, 4])
def test_a_cut_load_goes_on_and_encodes_nothing_twice(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_commits: int
) -> None:
    monkeypatch.setattr("pincite.library.update.BATCH_CHARS", 20_000)
    folder, encoder = tmp_path / "kb", Counting()
    with EmbeddedCorpus.create(tmp_path / "whole", FakeEncoder()) as corpus:
        filled(corpus, tmp_path / "whole", files, Parallel())
        whole = held(corpus)
    with EmbeddedCorpus.create(folder, encoder) as corpus:
        monkeypatch.setattr(corpus, "add", only(n_commits, corpus.add))
        with pytest.raises(Killed):
            filled(corpus, folder, files, Parallel())
    with EmbeddedCorpus.open(folder, encoder, write=True) as corpus:
        filled(corpus, folder, files, Parallel())
        assert held(corpus) == whole
    assert len(encoder.encoded) == len(set(encoder.encoded))


def test_a_file_that_breaks_every_worker_is_one_problem(files: Path, tmp_path: Path) -> None:
    class Breaking(Parallel):
        def streams(self, function: Any, items: Any) -> Any:
            for signed, found in super().streams(function, items):
                if signed.piece.path.name == "3.txt":
                    yield signed, broken()
                else:
                    yield signed, found

    def broken() -> Iterator[Any]:
        yield from ()
        raise InputError("each of 10 workers that had it ended")

    with EmbeddedCorpus.create(tmp_path / "kb", None) as corpus:
        outcome = filled(corpus, tmp_path / "kb", files, Breaking())
    assert len(outcome.added) == 78
    assert [each.url.rsplit("/", 1)[-1] for each in outcome.unread] == [
        "3.txt",
        "rows.jsonl line 41",
    ]
