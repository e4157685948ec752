import gzip
from itertools import pairwise
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.errors import InputError
from pincite.evaluation import trec
from pincite.evaluation.trec import Ranked

ir: Any = ir_measures  # it has no types

RUN = {
    "q1": [Ranked("d3", 2.5), Ranked("d1", 2.5), Ranked("d2", 2.5), Ranked("ø/4", -1.0)],
    "q2": [Ranked("d1", 0.03252247488101534), Ranked("d2", 0.03252247488101533)],
}
QRELS = {"q1": {"d1": 2, "d2": 0}, "q2": {"ø/4": 1}}


def test_a_run_as_it_is_written(tmp_path: Path) -> None:
    trec.write_run(tmp_path / "a.run", {"q1": RUN["q1"][:2]}, "words")
    assert (tmp_path / "a.run").read_text() == (
        "q1 Q0 d3 1 2.5 words\nq1 Q0 d1 2 2.49999976 words\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["a.run"]


@pytest.mark.parametrize("name", ["a.run", "a.run.gz"])
def test_ir_measures_reads_the_same_run(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    trec.write_run(path, RUN, "words")
    ours = trec.read_run(path)
    assert {q: [d.doc_id for d in docs] for q, docs in ours.items()} == {
        q: [d.doc_id for d in docs] for q, docs in RUN.items()
    }
    theirs: dict[str, list[tuple[str, float]]] = {}
    for row in ir.read_trec_run(str(path)):
        theirs.setdefault(row.query_id, []).append((row.doc_id, row.score))
    assert theirs == ours
    for rows in theirs.values():
        assert rows == sorted(rows, key=lambda row: -row[1])
        assert len({score for _, score in rows}) == len(rows)


@pytest.mark.parametrize("name", ["a.qrels", "a.qrels.gz"])
def test_ir_measures_reads_the_same_qrels(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    trec.write_qrels(path, QRELS)
    assert trec.read_qrels(path) == QRELS
    theirs: dict[str, dict[str, int]] = {}
    for row in ir.read_trec_qrels(str(path)):
        theirs.setdefault(row.query_id, {})[row.doc_id] = row.relevance
    assert theirs == QRELS


def test_measures_of_ties_are_those_of_the_ranks(tmp_path: Path) -> None:
    """trec_eval puts tied documents in the order of their ids, last first."""
    documents = [Ranked(f"d{n}", 1.0) for n in range(9)]
    trec.write_run(tmp_path / "ties.run", {"q": documents}, "t")
    run = ir.read_trec_run(str(tmp_path / "ties.run"))
    qrels = [ir.Qrel("q", "d1", 1)]
    assert ir.calc_aggregate([ir.RR], qrels, run)[ir.RR] == 0.5


finite = st.floats(-1e30, 1e30)


@given(st.lists(finite, max_size=40))
def test_scores_fall_and_stay_where_they_fell_already(scores: list[float]) -> None:
    found = trec.falling(scores)
    written = [float(f"{score:.9g}") for score in found]
    assert all(a > b for a, b in pairwise(written))
    assert trec.falling(found) == found


def test_other_tools_runs_are_read_by_score_then_rank(tmp_path: Path) -> None:
    path = tmp_path / "their.run"
    path.write_text("\n1\tQ0  b 0 1.5 x\n1 Q0 a 2 3e0 x\n1 Q0 c 1 1.5 x\n\n")
    assert trec.read_run(path) == {"1": [Ranked("a", 3.0), Ranked("b", 1.5), Ranked("c", 1.5)]}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1 Q0 a 1 2.0", "5 fields; expected qid Q0 docno rank score tag"),
        ("1 Q0 a 1 2.0 my tag", "7 fields"),
        ("1 Q0 a first 2.0 t", "the rank is 'first'; expected a whole number"),
        ("1 Q0 a 1 high t", "the score is 'high'; expected a finite number"),
        ("1 Q0 a 1 nan t", "the score is 'nan'"),
        ("1 Q0 a 1 -inf t", "the score is '-inf'"),
        ("1 Q0 known 2 1.0 t", "document known comes a second time for query 1"),
    ],
)
def test_bad_runs_say_where(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "bad.run"
    path.write_text(f"1 Q0 known 1 9 t\n\n{line}\n")
    with pytest.raises(InputError) as error:
        trec.read_run(path)
    assert str(error.value).startswith(f"{path} line 3: ")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1 0 a", "3 fields; expected qid 0 docno rel"),
        ("1 0 a 0.5", "the relevance is '0.5'; expected a whole number"),
        ("1 0 known 1", "document known comes a second time for query 1"),
    ],
)
def test_bad_qrels_say_where(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "bad.qrels"
    path.write_text(f"1 0 known 1\n{line}\n")
    with pytest.raises(InputError, match="line 2: ") as error:
        trec.read_qrels(path)
    assert said in str(error.value)


def test_beir_qrels(tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    path.write_bytes(b"\xef\xbb\xbfquery-id\tcorpus-id\tscore\r\nq 1\td 1\t2\r\nq 1\td2\t0\r\n")
    assert trec.read_beir_qrels(path) == {"q 1": {"d 1": 2, "d2": 0}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: expected the columns query-id, corpus-id, score"),
        ("1\ta\t1\n", "line 1: expected the columns"),
        ("query-id\tcorpus-id\tscore\n1 a 1\n", "line 2: 1 fields"),
        ("query-id\tcorpus-id\tscore\n1\ta\t1\n1\ta\t0\n", "line 3: document a comes a second"),
        ("query-id\tcorpus-id\tscore\n1\ta\thigh\n", "line 2: the relevance is 'high'"),
    ],
)
def test_bad_beir_qrels_say_where(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "test.tsv"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        trec.read_beir_qrels(path)
    assert said in str(error.value)


@pytest.mark.parametrize("read", [trec.read_run, trec.read_qrels, trec.read_beir_qrels])
def test_files_that_cannot_be_read(tmp_path: Path, read: Any) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "absent")
    (tmp_path / "broken.gz").write_bytes(gzip.compress(b"\n" * 99)[:-9])
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "broken.gz")
    (tmp_path / "latin").write_bytes(b"\n1 0 \xe9 1\n")
    with pytest.raises(InputError, match=r"line 2: .*Expected UTF-8"):
        read(tmp_path / "latin")


@pytest.mark.parametrize(
    ("run", "tag", "said"),
    [
        ({"q 1": []}, "t", "query id 'q 1'"),
        ({"q": [Ranked("a b", 1.0)]}, "t", "document id 'a b'"),
        ({"q": [Ranked("", 1.0)]}, "t", "document id ''"),
        ({"q": [Ranked("a", 1.0)]}, "my run", "tag 'my run'"),
        ({"q": [Ranked("a", float("nan"))]}, "t", "score nan"),
        ({"q": [Ranked("a", 1e300)]}, "t", "score 1e\\+300"),
    ],
)
def test_what_cannot_be_written_leaves_the_old_file(
    tmp_path: Path, run: Any, tag: str, said: str
) -> None:
    path = tmp_path / "a.run"
    trec.write_run(path, RUN, "old")
    before = path.read_bytes()
    with pytest.raises(InputError, match=said):
        trec.write_run(path, run, tag)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.run"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        trec.write_qrels(tmp_path / "absent" / "a.qrels", QRELS)
