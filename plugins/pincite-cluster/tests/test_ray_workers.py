"""Work in order on Ray: the same results, the same errors, no more begun than needed."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import dead_head
import numpy as np
import pytest
import unlucky
from corpus.test_update import filled, held, numbered_files
from support.laws import FakeEncoder, check_encoder

from pincite.corpus.engines import EmbeddedCorpus
from pincite.documents.inputs import Parallel
from pincite.errors import PinciteError
from pincite_cluster import ray_workers
from pincite_cluster.ray_workers import SpreadEncoder

pytest.importorskip("ray")
# Ray itself leaves files open and calls what Python has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore")
__all__ = ["numbered_files"]  # a fixture


@pytest.fixture(scope="module")
def spread() -> Iterator[Parallel]:
    with ray_workers.opened(2) as found:
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


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_a_head_that_does_not_answer_ends_with_an_error(
    dead: str, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_workers, "ANSWER_SECONDS", 0.5)
    monkeypatch.setenv("RAY_ADDRESS", scheme + dead)
    with pytest.raises(PinciteError) as raised, ray_workers.opened():
        pass
    assert isinstance(raised.value.__cause__, OSError)


def test_a_head_that_is_killed_ends_with_an_error() -> None:
    command = [sys.executable, str(Path(dead_head.__file__))]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (result.returncode, result.stdout) == (0, "PinciteError"), result.stderr


def test_no_more_is_begun_than_needed(spread: Parallel) -> None:
    asked: list[int] = []

    def items() -> Iterator[int]:
        for n in range(1_000):
            asked.append(n)
            yield n

    results = spread.map(abs, items())
    assert next(results) == 0
    assert len(asked) <= 8  # four for each of two workers


def test_what_a_killed_worker_did_is_done_again(spread: Parallel, tmp_path: Path) -> None:
    marks = [tmp_path / str(n) for n in range(3)]
    assert list(spread.map(unlucky.dies_once, marks)) == ["0", "1", "2"]
    marks = [tmp_path / f"stream {n}" for n in range(2)]
    found = [list(items) for _, items in spread.streams(unlucky.dies_in_between, marks)]
    assert found == [list(range(200))] * 2


def test_workers_fill_the_same_corpus(
    spread: Parallel, numbered_files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pincite.corpus.update.BATCH_CHARS", 20_000)
    with EmbeddedCorpus.create(tmp_path / "alone", FakeEncoder()) as corpus:
        expected = filled(corpus, tmp_path / "alone", numbered_files, Parallel())
        alone = held(corpus)
    encoder = SpreadEncoder(FakeEncoder(), partial(FakeEncoder, 32), spread)
    with EmbeddedCorpus.create(tmp_path / "spread", encoder) as corpus:
        outcome = filled(corpus, tmp_path / "spread", numbered_files, spread)
        assert held(corpus) == alone
    assert outcome == expected
    assert (len(outcome.added), len(outcome.unread)) == (79, 1)


def test_a_spread_encoder_keeps_the_laws(spread: Parallel) -> None:
    encoder = SpreadEncoder(FakeEncoder(), FakeEncoder, spread)
    check_encoder(encoder)
    texts = [f"text {n}" for n in range(50)]
    assert np.array_equal(encoder.encode(texts, "passage"), FakeEncoder().encode(texts, "passage"))
