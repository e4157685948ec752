"""`pincite eval beir` on an invented collection, with the real corpus and a fake encoder."""

import gzip
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from click.testing import CliRunner, Result
from support.laws import FakeEncoder
from syrupy.assertion import SnapshotAssertion

from pincite import runtime
from pincite.cli import cli
from pincite.corpus.embedded import EmbeddedCorpus
from pincite.errors import ConfigError, InputError
from pincite.types import Document
from pincite_lab.evaluation import beir

ir: Any = ir_measures  # it has no types

FILLER = "The ferry leaves the quay every hour and nobody on board is in a hurry. " * 12
DOCUMENTS: list[dict[str, Any]] = [
    {"_id": "d1", "title": "Bridge", "text": "The bridge of Varde opened in 1911.", "metadata": {}},
    {"_id": "d2", "title": "Mill", "text": f"The mill burnt down. {FILLER} The mill is gone."},
    {"_id": "d3", "title": "Tram", "text": "Trams ran until 1960.", "metadata": {"url": "u"}},
    {"_id": "d4", "title": "Bus", "text": "Buses took over from trams.", "metadata": {"url": "u"}},
    {"_id": "q4", "title": "", "text": "Which engines drew the harbour train?"},
    {"_id": "d5", "title": "Harbour", "text": "Engines drew a train along the harbour."},
]
QUERIES = [
    {"_id": "q1", "text": "bridge opened", "metadata": {}},
    {"_id": "q2", "text": "mill burnt down", "metadata": {}},
    {"_id": "q3", "text": "trams until 1960", "metadata": {}},
    {"_id": "q4", "text": "Which engines drew the harbour train?", "metadata": {}},
    {"_id": "q5", "text": "Nobody judged this one.", "metadata": {}},
]
QRELS = [("q1", "d1", 1), ("q2", "d2", 2), ("q3", "d3", 2), ("q3", "d4", 1), ("q4", "d5", 1)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The collection, in a home without models."""
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(runtime, "encoder", lambda settings: FakeEncoder(256))
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "varde"
    (made / "qrels").mkdir(parents=True)
    lines = [json.dumps(record) for record in DOCUMENTS]
    (made / "corpus.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    (made / "queries.jsonl").write_text("\n".join(map(json.dumps, QUERIES)))
    rows = ["\t".join(map(str, row)) for row in (("query-id", "corpus-id", "score"), *QRELS)]
    (made / "qrels" / "test.tsv").write_text("\ufeff" + "\r\n".join(rows) + "\n", "utf-8")
    return made


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(cli, ["eval", "beir", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def indexed(folder: Path, where: Path) -> EmbeddedCorpus:
    found = list(beir.documents(folder / "corpus.jsonl.gz"))
    corpus = EmbeddedCorpus.create(where, FakeEncoder(256))
    corpus.add([one for one in found if isinstance(one, Document)])
    return corpus


def test_end_to_end(folder: Path) -> None:
    result = json.loads(run("varde", "--json", "--run-out", "out").stdout)
    assert (result["collection"], result["split"], result["n"]) == ("varde", "test", 4)
    assert result["corpus"]["documents"] == len(DOCUMENTS)
    assert result["n_relevant_not_in_corpus"] == 0
    assert list(result["systems"]) == ["lexical", "dense", "hybrid", "rrf", "verifai"]
    lexical = result["systems"]["lexical"]
    assert lexical["RR@10"] == lexical["R@100"] == 1.0
    assert result["versions"]["encoder"] == "fake-256"
    qrels = list(ir.read_trec_qrels("out/test.qrels"))
    for system, values in result["systems"].items():
        theirs = ir.calc_aggregate(
            [ir.nDCG @ 10, ir.R @ 100, ir.RR @ 10], qrels, ir.read_trec_run(f"out/{system}.run")
        )
        for measure, value in theirs.items():
            assert values[str(measure)] == pytest.approx(value, abs=1e-4), (system, measure)


def test_the_table(folder: Path, snapshot: SnapshotAssertion) -> None:
    (folder / "qrels" / "more.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\tno\t1\n")
    assert run("varde", "--split", "more").stdout == snapshot


def test_words_alone_need_no_encoder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(settings: object) -> None:
        raise AssertionError("no encoder is needed")

    monkeypatch.setattr(runtime, "encoder", refused)
    result = json.loads(run("varde", "--system", "lexical", "--json").stdout)
    assert list(result["systems"]) == ["lexical"]
    assert result["versions"]["encoder"] == "none"


def test_bad_lines_of_the_corpus_are_named(folder: Path) -> None:
    corpus = folder / "corpus.jsonl.gz"
    corpus.write_bytes(corpus.read_bytes() + gzip.compress(b'\n{"_id": "d9"}\n'))
    result = run("varde", "--system", "lexical", "--json")
    assert json.loads(result.stdout)["n_unread"] == 1
    assert "corpus.jsonl.gz line 7: no text" in result.stderr


def test_ids_are_the_addresses_whatever_the_documents_say(folder: Path) -> None:
    found = list(beir.documents(folder / "corpus.jsonl.gz"))
    assert [one.url for one in found] == [record["_id"] for record in DOCUMENTS]


def test_a_document_with_the_query_s_id_is_left_out(folder: Path, tmp_path: Path) -> None:
    collection = beir.open_collection(folder, "test")
    with indexed(folder, tmp_path / "corpus") as corpus:
        _, runs = beir.evaluate(collection, corpus)
    for of_system in runs.values():
        assert "q4" not in of_system["q4"]
        assert of_system["q4"][0] == "d5"


def test_a_document_has_the_rank_of_its_best_passage(folder: Path, tmp_path: Path) -> None:
    """One document with more passages that match than the first question asks for."""
    rows = [Document("many", "", "The mill turns. " + FILLER + "\n\n" + "mill mill mill. " * 9_000)]
    rows += [Document(f"d{n}", "", f"There was a mill in village {n}.") for n in range(120)]
    with EmbeddedCorpus.create(tmp_path / "corpus", None) as corpus:
        corpus.add(rows)
        assert corpus.status().n_passages > 2 * beir.DEPTH + len(rows)
        collection = beir.Collection(tmp_path, {"q": "mill"}, {"q": {"d7": 1}})
        _, runs = beir.evaluate(collection, corpus, beir.chosen(["lexical"]))
    ranked = runs["lexical"]["q"]
    assert len(ranked) == beir.DEPTH
    assert ranked[0] == "many"
    assert len(set(ranked)) == beir.DEPTH


def _without(name: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / name).unlink()


def _with(name: str, text: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_without("corpus.jsonl.gz"), "has no corpus.jsonl or corpus.jsonl.gz"),
        (_without("queries.jsonl"), "has no queries.jsonl"),
        (_without("qrels/test.tsv"), "test.tsv does not exist; the splits of .*varde are: none"),
        (_with("qrels/test.tsv", "query-id\tcorpus-id\tscore\n"), "has no judgements"),
        (_with("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq9\td1\t1\n"), "the first is 'q9'"),
        (_with("qrels/test.tsv", ""), "line 1: expected the columns"),
        (_with("qrels/test.tsv", "1\ta\t1\n"), "line 1: expected the columns"),
        (_with("qrels/test.tsv", "query-id\tcorpus-id\tscore\n1 a 1\n"), "line 2: expected"),
        (_with("qrels/test.tsv", "query-id\tcorpus-id\tscore\n1\ta\t0.5\n"), "line 2: expected"),
        (_with("qrels/test.tsv", "query-id\tcorpus-id\tscore\n1\ta\t1\n1\ta\t0"), "line 3: a is"),
        (_with("queries.jsonl", '{"_id": "q1"}'), "queries.jsonl line 1: expected an object with"),
        (_with("queries.jsonl", "{}\n["), "queries.jsonl line 1: expected an object with _id"),
        (_with("queries.jsonl", "["), "queries.jsonl line 1: not valid JSON"),
    ],
)
def test_errors_say_what_is_missing(folder: Path, spoil: Callable[[Path], Any], said: str) -> None:
    spoil(folder)
    with pytest.raises(InputError, match=said):
        run("varde")


def test_an_unknown_system(folder: Path) -> None:
    with pytest.raises(ConfigError, match="no system 'sparse'; known: lexical, dense, hybrid"):
        run("varde", "--system", "sparse")


# TREC's files

RUN = {"q1": ["d3", "d1", "d2", "ø/4"], "q2": ["d1", "d2"]}


def test_ir_measures_reads_the_run_and_the_qrels(tmp_path: Path) -> None:
    beir.write_run(tmp_path / "a.run", RUN, "words")
    found: dict[str, list[tuple[str, float]]] = {}
    for row in ir.read_trec_run(str(tmp_path / "a.run")):
        found.setdefault(row.query_id, []).append((row.doc_id, row.score))
    assert {q: [d for d, _ in of] for q, of in found.items()} == RUN
    assert all(a[1] > b[1] for of in found.values() for a, b in pairwise(of))
    beir.write_qrels(tmp_path / "a.qrels", {"q1": {"d1": 2, "d2": 0}})
    rows = ir.read_trec_qrels(str(tmp_path / "a.qrels"))
    assert [(r.query_id, r.doc_id, r.relevance) for r in rows] == [("q1", "d1", 2), ("q1", "d2", 0)]


@pytest.mark.parametrize("run", [{"q 1": ["a"]}, {"q": ["a b"]}, {"q": [""]}])
def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "a.run"
    beir.write_run(path, RUN, "old")
    before = path.read_bytes()
    with pytest.raises(InputError):
        beir.write_run(path, run, "new")
    assert path.read_bytes() == before
    with pytest.raises(InputError):
        beir.write_run(tmp_path / "absent" / "a.run", RUN, "t")
