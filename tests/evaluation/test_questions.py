"""PubMedQA's and BioASQ's files, and questions as statements."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pincite.errors import InputError
from pincite.evaluation.qa import statement_of
from pincite.evaluation.questions import read_questions, sample

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
    first, second = read_questions(written(tmp_path / "pqa.json.gz", PUBMEDQA))
    assert (first.question_id, first.text, first.decision) == (
        "101",
        "Does the bridge hold?",
        "yes",
    )
    assert first.relevant == {"https://pubmed.ncbi.nlm.nih.gov/101/"}
    assert first.given is not None
    assert first.given.text == "BACKGROUND: It was built in 1911.\nRESULTS: No crack was seen."
    assert (first.given.title, first.given.published) == ("", "2011")
    assert second.decision is None
    assert second.given is not None
    assert second.given.text == "Perhaps."


def test_bioasq(tmp_path: Path) -> None:
    first, second = read_questions(written(tmp_path / "BioASQ.json", BIOASQ))
    assert (first.text, first.kind, first.decision) == ("Is the bridge old?", "yesno", "yes")
    assert first.relevant == {f"https://pubmed.ncbi.nlm.nih.gov/{n}/" for n in (101, 102)}
    assert (second.relevant, second.decision, second.given) == (frozenset(), None, None)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "holds no questions"),
        ({}, "holds no questions"),
        ({"x": {"QUESTION": "?"}}, "x: expected a PMID with QUESTION"),
        ({"questions": [{"id": "1"}]}, "question 1: expected id, body"),
        (
            {"questions": [{"id": "1", "body": "?", "documents": ["http://a.example/x"]}]},
            "'http://a.example/x' does not end in a PMID",
        ),
    ],
)
def test_what_is_neither(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_questions(written(tmp_path / "q.json", value))


def test_what_is_no_json(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        read_questions(tmp_path / "q.json")


def test_a_smaller_sample_is_part_of_a_larger_one(tmp_path: Path) -> None:
    value = {str(n): {"QUESTION": f"{n}?", "CONTEXTS": ["x"]} for n in range(100, 120)}
    questions = read_questions(written(tmp_path / "q.json", value))
    assert sample(questions, None) == questions
    assert sample(questions, 7) == sample(questions, 15)[:7]
    assert sample(questions, 20) != questions
    assert len(sample(questions, 50)) == 20


def test_documents_for_a_corpus(tmp_path: Path) -> None:
    tool = Path(__file__).parents[2] / "tools" / "pubmedqa_documents.py"
    source = written(tmp_path / "pqa.json", PUBMEDQA)
    shown = subprocess.run(
        [sys.executable, str(tool), str(source)], capture_output=True, text=True, check=True
    ).stdout
    first, second = map(json.loads, shown.splitlines())
    assert first == {
        "url": "https://pubmed.ncbi.nlm.nih.gov/101/",
        "title": "",
        "text": "BACKGROUND: It was built in 1911.\nRESULTS: No crack was seen.",
        "published": "2011",
        "kind": "pubmedqa",
        "pmid": "101",
    }
    assert second["published"] is None


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("Can aspirin reduce pain in adults?", "aspirin can reduce pain in adults."),
        ("Do statins lower risk?", "statins lower risk."),
        ("Does pain in the knee have a cause?", "pain in the knee has a cause."),
        ("Is there any link between A and B?", "there is link between A and B."),
        ("Surgery in old age. Is it always needed?", "Surgery in old age is always needed."),
        ("Screening: does it help?", "Screening helps."),
        ("Is surgery?", "surgery."),
        ("A link between A and B?", "A link between A and B?"),
        ("", ""),
    ],
)
def test_statements(question: str, statement: str) -> None:
    assert statement_of(question) == statement
