"""`pincite eval scifact`: the rows, and the measures of their verdicts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from evaluation.invented import WordVerifier
from support.files import write_jsonl
from support.rows import each_row

from pincite.errors import InputError
from pincite.types import Document, Evidence, Passage, Span
from pincite.verbs.ask.answer_check import AnswerChecker
from pincite_lab.evaluation import scifact
from pincite_lab.evaluation.scifact import CONTRADICT, NO_EVIDENCE, SUPPORT

CORPUS: list[dict[str, Any]] = [
    {"doc_id": 1, "title": "Bridges", "abstract": ["The bridge opened in 1911. ", "It is old."]},
    {"doc_id": 2, "title": "Mills", "abstract": ["The mill burnt down."]},
    {"doc_id": 3, "title": "Trams", "abstract": ["Trams ran until 1960."]},
]


def rationale(label: str) -> list[dict[str, Any]]:
    return [{"sentences": [0], "label": label}]


TRAMS = {"id": 5, "claim": "Trams ran until 1960.", "evidence": {"3": rationale("SUPPORT")}}
MILL = {"id": 6, "claim": "The mill stands.", "evidence": {"2": rationale("CONTRADICT")}}
DEV: list[dict[str, Any]] = [TRAMS | {"cited_doc_ids": [3, 1]}, MILL | {"cited_doc_ids": [2]}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_jsonl(tmp_path / "corpus.jsonl.gz", *CORPUS)
    write_jsonl(tmp_path / "claims_dev.jsonl", *DEV)
    return tmp_path


def test_every_cited_abstract_is_a_row(folder: Path) -> None:
    rows = scifact.read_rows(folder)
    assert [(row.claim, row.document.url, row.label) for row in rows] == [
        ("Trams ran until 1960.", "3", SUPPORT),
        ("Trams ran until 1960.", "1", NO_EVIDENCE),
        ("The mill stands.", "2", CONTRADICT),
    ]


@each_row("lab/evaluation/scifact/what_is_not_scifact")
def test_what_is_not_scifact(folder: Path, name: str, record: dict[str, Any], message: str) -> None:
    write_jsonl(folder / name, record)
    with pytest.raises(InputError, match=message):
        scifact.read_rows(folder)


class Scripted(AnswerChecker):
    """Returns the evidence that stands for each abstract's address."""

    def evidence(self, pairs: Sequence[tuple[str, Document]]) -> list[list[Evidence]]:
        found = {"3": (0.45, 0.1), "1": (0.2, 0.1), "2": (0.05, 0.6)}
        passage = Passage("d", "u", "", "text", Span(0, 4))
        of_pairs = [found[document.url] for _, document in pairs]
        return [[Evidence(passage, s, r, 1 - s - r, 1.0)] for s, r in of_pairs]


def test_thresholds_decide(folder: Path) -> None:
    calls: list[tuple[int, int]] = []
    rows = scifact.read_rows(folder)
    strict = Scripted(WordVerifier(), supported_from=0.5)
    found = scifact.measure(rows, strict, lambda *n: calls.append(n))
    assert calls == [(3, 3)]
    assert (found["n"], found["accuracy"]) == (3, 0.6667)
    assert found["classes"][SUPPORT]["recall"] == 0.0
    assert found["classes"][CONTRADICT]["f1"] == 1.0
    lenient = Scripted(WordVerifier(), supported_from=0.4)
    assert scifact.measure(rows, lenient)["accuracy"] == 1.0
