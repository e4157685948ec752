"""`pincite eval scifact`: rows of both protocols, and what is measured of them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from evaluation.invented import WordVerifier

from pincite.errors import ConfigError, InputError
from pincite.evaluation import scifact, tables
from pincite.evaluation.scifact import CONTRADICT, NO_EVIDENCE, SUPPORT, JudgedRow, Row
from pincite.types import Document, Evidence, Passage, Span
from pincite.verbs.ask.answer_check import AnswerChecker

CORPUS: list[dict[str, Any]] = [
    {"doc_id": 1, "title": "Bridges", "abstract": ["The bridge opened in 1911. ", "It is old."]},
    {"doc_id": 2, "title": "Mills", "abstract": ["The mill burnt down."]},
    {"doc_id": 3, "title": "Trams", "abstract": ["Trams ran until 1960."]},
]


def rationale(label: str) -> list[dict[str, Any]]:
    return [{"sentences": [0], "label": label}]


TRAIN: list[dict[str, Any]] = [
    {"id": 1, "claim": "The bridge opened in 1911.", "evidence": {"1": rationale("SUPPORT")},
     "cited_doc_ids": [1, 2]},
    {"id": 2, "claim": "The mill stands.", "evidence": {"2": rationale("CONTRADICT")},
     "cited_doc_ids": [2]},
    {"id": 3, "claim": "Nobody knows.", "evidence": {}, "cited_doc_ids": [2, 3]},
    {"id": 4, "claim": "Nobody knows.", "evidence": {}, "cited_doc_ids": [3]},
]  # fmt: skip
DEV: list[dict[str, Any]] = [
    {"id": 5, "claim": "Trams ran until 1960.", "evidence": {"3": rationale("SUPPORT")},
     "cited_doc_ids": [3, 1]},
    {"id": 6, "claim": "The mill stands.", "evidence": {"2": rationale("CONTRADICT")},
     "cited_doc_ids": [2]},
]  # fmt: skip


def lines(records: list[dict[str, Any]]) -> bytes:
    return "\n".join(map(json.dumps, records)).encode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "corpus.jsonl.gz").write_bytes(gzip.compress(lines(CORPUS)))
    (tmp_path / "claims_train.jsonl").write_bytes(lines(TRAIN))
    (tmp_path / "claims_dev.jsonl").write_bytes(lines(DEV))
    return tmp_path


def rows(folder: Path, protocol: str) -> list[tuple[str, str, str, str]]:
    found = scifact.rows_of(folder, protocol)
    return [(row.split, row.claim_id, row.document.url, row.label) for row in found]


def test_official_dev_takes_every_cited_abstract(folder: Path) -> None:
    assert rows(folder, "official-dev") == [
        ("dev", "5", "3", SUPPORT),
        ("dev", "5", "1", NO_EVIDENCE),
        ("dev", "6", "2", CONTRADICT),
    ]


def test_verifai_cleans(folder: Path) -> None:
    """Evidence where a claim has some, each cited abstract where it has none, equal rows once."""
    corpus = scifact._corpus(folder / "corpus.jsonl.gz")
    found = [(r.split, r.claim_id, r.document.url) for r in scifact.cleaned(folder, corpus)]
    assert found == [
        ("train", "1", "1"),
        ("train", "2", "2"),
        ("train", "3", "2"),
        ("train", "3", "3"),
        ("dev", "5", "3"),
    ]


def invented(n: int, label: str, split: str = "train") -> list[Row]:
    document = Document("d", "", "text")
    return [Row(f"{label}{i}", f"{label} {i}", document, label, split) for i in range(n)]


def test_the_split_is_of_each_class_and_always_the_same() -> None:
    every = invented(40, SUPPORT) + invented(36, NO_EVIDENCE) + invented(24, CONTRADICT)
    chosen = scifact.drawn(every)
    assert chosen == scifact.drawn(every)
    assert chosen != scifact.drawn(every, seed=1)
    assert [sum(r.label == label for r in chosen) for label in scifact.LABELS] == [4, 4, 2]
    assert [row.claim_id.removeprefix(SUPPORT) for row in chosen[:4]] == ["11", "12", "21", "30"]


def test_no_such_protocol(folder: Path) -> None:
    with pytest.raises(ConfigError, match="official-dev, verifai"):
        scifact.rows_of(folder, "test")


@pytest.mark.parametrize(
    ("name", "record", "message"),
    [
        ("corpus.jsonl.gz", {"doc_id": 1, "abstract": "a text"}, "a list of sentences"),
        ("claims_dev.jsonl", {"id": 1, "claim": "x"}, "evidence and cited_doc_ids"),
        (
            "claims_dev.jsonl",
            {"id": 1, "claim": "x", "evidence": {"1": rationale("NEI")}, "cited_doc_ids": [1]},
            "line 1: expected rationales of one label",
        ),
        (
            "claims_dev.jsonl",
            {"id": 1, "claim": "x", "evidence": {}, "cited_doc_ids": [9]},
            "cites 9: no such abstract",
        ),
    ],
)
def test_what_is_not_scifact(folder: Path, name: str, record: dict[str, Any], message: str) -> None:
    data = lines([record])
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with pytest.raises(InputError, match=message):
        scifact.rows_of(folder, "official-dev")


def evidence(supported: float, refuted: float, score: float = 0.0) -> Evidence:
    passage = Passage("d", "u", "", "text", Span(0, 4))
    return Evidence(passage, supported, refuted, 1 - supported - refuted, score)


def judged(label: str, found: list[Evidence], split: str = "dev") -> JudgedRow:
    return JudgedRow(Row("1", "claim", Document("d", "", "text"), label, split), tuple(found))


def test_likeliest_is_read_from_the_least_neutral_passage() -> None:
    assert scifact.likeliest([evidence(0.4, 0.1), evidence(0.3, 0.6)]) == CONTRADICT
    assert scifact.likeliest([evidence(0.2, 0.1)]) == NO_EVIDENCE
    assert scifact.likeliest([]) == NO_EVIDENCE


def test_thresholds_decide_and_seen_rows_are_apart() -> None:
    every = [
        judged(SUPPORT, [evidence(0.55, 0.1, 1.0)]),
        judged(SUPPORT, [evidence(0.45, 0.1, 1.0)]),
        judged(CONTRADICT, [evidence(0.1, 0.2, 1.0), evidence(0.05, 0.6, -1.0)]),
        judged(NO_EVIDENCE, []),
        judged(NO_EVIDENCE, [evidence(0.9, 0.0)], split="train"),
    ]
    result = scifact.measured(every, "verifai", 0.5, 0.5)
    assert (result["n"], result["n_seen_in_training"]) == (5, 1)
    ours = result["unseen"]["by_thresholds"]
    assert ours["n"] == 4
    assert ours["accuracy"] == 0.75
    assert ours["classes"][SUPPORT]["recall"] == 0.5
    assert ours["classes"][CONTRADICT]["f1"] == 1.0
    assert result["seen_in_training"]["accuracy"] == 0.0
    table = tables.scifact_table(result)
    assert "The other 1 rows were seen in training: no result." in table


def test_rows_of_dev_outside_the_tenth_are_measured_apart(folder: Path) -> None:
    every = scifact.judge(scifact.rows_of(folder, "verifai"), AnswerChecker(WordVerifier()))
    result = scifact.measured(every, "verifai", 0.5, 0.5)
    assert [each.row.claim_id for each in every] == ["5"]  # of five rows a tenth is none
    assert result["unseen"] is None
    assert result["all_dev"]["n"] == 1


def test_judging_tells_how_far_it_is(folder: Path) -> None:
    heard: list[tuple[int, int]] = []
    found = scifact.judge(
        scifact.rows_of(folder, "official-dev"),
        AnswerChecker(WordVerifier()),
        lambda *n: heard.append(n),
    )
    assert heard == [(3, 3)]
    assert found[0].evidence[0].prob_supported == pytest.approx(0.95)
