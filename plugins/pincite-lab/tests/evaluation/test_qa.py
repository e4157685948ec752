"""`pincite eval qa`: measures by hand-computed numbers, and the whole on an invented corpus."""

import gzip
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from evaluation.invented import WordVerifier
from support.rows import each_row

from pincite.cli import cli
from pincite.errors import InputError
from pincite.protocols import Floats
from pincite.retrieval.retrievers import Fused, Reranked
from pincite.text.identifiers import pubmed_address as address
from pincite.types import Claim, Document, Hit, Passage, Span
from pincite.verbs.ask import build as build_ask
from pincite.verbs.ask.answer_check import AnswerChecker
from pincite.verbs.ask.extract import Extractor
from pincite.verbs.ask.pipeline import AskPipeline, LiteratureFinder
from pincite.verbs.ask.report import Searched
from pincite.verbs.verify import build
from pincite_lab.evaluation import qa, tables
from pincite_lab.evaluation.qa import Question

BRIDGE = "The old stone bridge of Varde opened in 1911."
MILL = "The mill of Varde burnt down in 1913."
PAPERS = {
    address(pmid): Document(address(pmid), "", text, language="en", meta={"pmid": pmid})
    for pmid, text in {"1": BRIDGE, "2": MILL, "3": "Bakers sold warm bread."}.items()
}
URLS = list(PAPERS)
QUESTIONS = [
    Question("1", "Is the bridge of Varde old?", frozenset({URLS[0]})),
    Question("2", "Did the mill of Varde burn in 1999?", frozenset({URLS[1]})),
    Question("3", "What do bakers sell?", frozenset({URLS[2], "gone"})),
]


class Reader(WordVerifier):
    """Reads too: what shares words with the question bears on it, more than the search knows."""

    def relevance(self, pairs: Sequence[tuple[Claim, Passage]]) -> Floats:
        return np.array([10 * e.score + 2 for e in self.verify(pairs)], dtype=np.float32)


class Alike:
    """All texts mean the same to it."""

    dim = 2
    fingerprint = "alike"

    def encode(self, texts: Sequence[str], role: str) -> Floats:
        return np.ones((len(texts), self.dim), dtype=np.float32)


class Everything:
    """Finds all papers in one order, best first."""

    def __init__(self, order: Sequence[int]) -> None:
        self.order = order

    def retrieve(self, queries: Sequence[Any], k: int) -> list[list[Hit]]:
        passages = [
            Passage(d.doc_id, d.url, d.title, d.text, Span(0, len(d.text)))
            for d in (PAPERS[URLS[i]] for i in self.order)
        ]
        hits = [Hit(p, 1.0 / rank, rank) for rank, p in enumerate(passages, 1)]
        return [hits[:k] for _ in queries]


@pytest.fixture
def pipeline() -> AskPipeline:
    reader = Reader()
    finder = LiteratureFinder(
        Reranked(Fused(Everything([0, 1, 2]), Everything([2, 1, 0]), depth=100), reader),
        documents_of=lambda urls: [PAPERS.get(url) for url in urls],
    )
    searched = Searched("digest", 3, "weighted")
    writer = Extractor(reader, Alike(), least=-99.0)
    return AskPipeline(finder, writer, AnswerChecker(reader), searched)


def test_average_precision_by_hand() -> None:
    relevant = frozenset({"a", "b", "c"})
    found = ["x", "a", "x", "b"]
    assert qa.average_precision(found, relevant) == pytest.approx((1 / 2 + 2 / 4) / 3)
    many = frozenset(map(str, range(30)))
    assert qa.average_precision([str(i) for i in range(10)], many) == 1.0  # of ten, ten
    assert qa.average_precision(["x"] * 10 + ["a"], relevant) == 0.0
    assert qa.average_precision(["a"], frozenset()) == 0.0


def test_measures_by_hand() -> None:
    run = {"1": [URLS[0]], "2": [URLS[0], URLS[1]], "3": []}
    found = qa.search_measures(QUESTIONS, run)
    assert found["MAP@10"] == pytest.approx((1 + 0.5 + 0) / 3, abs=1e-4)
    assert found["RR@10"] == found["MAP@10"]  # one relevant paper each
    assert found["P@10"] == pytest.approx(0.2 / 3, abs=1e-4)
    assert found["R@10"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["n"] == 3
    assert qa.search_measures([Question("9", "?", frozenset())], {})["n"] == 0


def test_systems(pipeline: AskPipeline) -> None:
    finders = qa.finders(pipeline.finder)
    assert list(finders) == ["lexical", "dense", "hybrid", "verifai", "reranked", "ask"]
    tops = {name: each.find(QUESTIONS[1].text)[0][0].document.url for name, each in finders.items()}
    assert tops["lexical"] == URLS[0]
    assert tops["dense"] == URLS[2]
    assert tops["reranked"] == tops["ask"] == URLS[1]


def test_all_systems_are_measured(pipeline: AskPipeline) -> None:
    calls: list[str] = []
    found = qa.measured(QUESTIONS, pipeline.finder, tell=lambda what, *_: calls.append(what))
    assert (found["n_relevant"], found["n_relevant_not_in_corpus"]) == (4, 1)
    assert found["systems"]["ask"]["RR@10"] == 1.0
    assert set(calls) == set(found["systems"]) == set(qa.finders(pipeline.finder))
    table = tables.qa_table({"file": "q.json", "n": 3, **found})
    assert "1 of 4 papers are not in the corpus" in table


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pipeline: AskPipeline) -> Path:
    @contextmanager
    def asking(*_: Any, **__: Any) -> Iterator[Any]:
        yield SimpleNamespace(pipeline=pipeline, versions={"verifier": "words"})

    monkeypatch.setattr(build_ask, "asking", asking)

    @contextmanager
    def verifying(*_: Any, **__: Any) -> Iterator[Any]:
        yield SimpleNamespace(pipeline=SimpleNamespace(verifier=WordVerifier()), versions={})

    monkeypatch.setattr(build, "verifying", verifying)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    value = {
        "1": {"QUESTION": "Is the bridge of Varde old?", "CONTEXTS": [BRIDGE], "LABELS": ["A"]}
    }
    (tmp_path / "pqa.json").write_text(json.dumps(value))
    return tmp_path


def test_the_command(home: Path) -> None:
    arguments = ["eval", "qa", "pqa.json", "--corpus", "papers", "--limit", "5", "-q"]
    shown = CliRunner().invoke(cli, arguments, catch_exceptions=False).output
    assert shown.startswith("pqa.json: 1 questions")
    as_json = [*arguments, "--json"]
    result = json.loads(CliRunner().invoke(cli, as_json, catch_exceptions=False).output)
    assert "hybrid" in result["systems"]


def test_scifact_as_a_command(home: Path) -> None:
    claim = {"id": 1, "claim": BRIDGE, "cited_doc_ids": [7]}
    evidence = {"7": [{"sentences": [0], "label": "SUPPORT"}]}
    paper = {"doc_id": 7, "title": "Varde", "abstract": [BRIDGE]}
    (home / "corpus.jsonl").write_text(json.dumps(paper))
    (home / "claims_dev.jsonl").write_text(json.dumps({**claim, "evidence": evidence}))
    run = CliRunner().invoke(cli, ["eval", "scifact", ".", "-q"], catch_exceptions=False)
    assert run.output.startswith("SciFact dev: 1 rows")
    asked = ["eval", "scifact", ".", "--json", "--supported-from", "0.99"]
    result = json.loads(CliRunner().invoke(cli, asked, catch_exceptions=False).output)
    assert result["supported_from"] == 0.99
    assert result["accuracy"] == 0.0


# Files of questions

PUBMEDQA = {
    "101": {
        "QUESTION": "Does the bridge hold?",
        "CONTEXTS": ["It was built in 1911.", "No crack was seen."],
        "LABELS": ["BACKGROUND", "RESULTS"],
        "LONG_ANSWER": "It holds.",
        "YEAR": "2011",
        "final_decision": "yes",
    },
    "102": {"QUESTION": "Is it old?", "CONTEXTS": ["Perhaps."], "LABELS": []},
}
BIOASQ = {
    "questions": [
        {
            "id": "5a", "type": "yesno", "body": "Is the bridge\nold?", "exact_answer": ["Yes"],
            "documents": ["http://www.ncbi.nlm.nih.gov/pubmed/101", "https://pubmed.gov/102/"],
        },
        {"id": "5b", "type": "factoid", "body": "How old?", "exact_answer": [["90"]]},
    ]
}  # fmt: skip


def written(path: Path, value: Any) -> Path:
    data = json.dumps(value).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_pubmedqa(tmp_path: Path) -> None:
    first, second = qa.read_questions(written(tmp_path / "pqa.json.gz", PUBMEDQA))
    assert (first.question_id, first.text) == ("101", "Does the bridge hold?")
    assert first.relevant == {"https://pubmed.ncbi.nlm.nih.gov/101/"}
    assert first.abstract is not None
    assert first.abstract.text == "BACKGROUND: It was built in 1911.\nRESULTS: No crack was seen."
    assert (first.abstract.title, first.abstract.published) == ("", "2011")
    assert second.abstract is not None
    assert second.abstract.text == "Perhaps."


def test_bioasq(tmp_path: Path) -> None:
    first, second = qa.read_questions(written(tmp_path / "BioASQ.json", BIOASQ))
    assert first.text == "Is the bridge old?"
    assert first.relevant == {f"https://pubmed.ncbi.nlm.nih.gov/{n}/" for n in (101, 102)}
    assert (second.relevant, second.abstract) == (frozenset(), None)


@each_row("lab/evaluation/qa/what_is_neither")
def test_what_is_neither(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        qa.read_questions(written(tmp_path / "q.json", value))


def test_a_smaller_sample_is_part_of_a_larger_one(tmp_path: Path) -> None:
    value = {str(n): {"QUESTION": f"{n}?", "CONTEXTS": ["x"]} for n in range(100, 120)}
    questions = qa.read_questions(written(tmp_path / "q.json", value))
    assert qa.sample(questions, None) == questions
    assert qa.sample(questions, 7) == qa.sample(questions, 15)[:7]
    assert qa.sample(questions, 20) != questions
    assert len(qa.sample(questions, 50)) == 20
