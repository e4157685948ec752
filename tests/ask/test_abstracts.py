"""Questions of several kinds over invented abstracts, and how often they are answered.

The key names words of the sentences that answer each part. The sealed halves were asked once.
"""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pincite.api import ask, open_corpus
from pincite.documents.collection import collect
from pincite.types import Document
from pincite.verbs.ask.report import Answer

CASES = Path(__file__).parents[1] / "cases" / "ask"


def outcome(question: Mapping[str, Any], answer: Answer) -> str:
    """Compare an answer with the key: right, part, wrong, refused, or what its nearest are."""
    urls = {each.number: each.document.url for each in answer.references}
    said = [
        s.sentence.text
        for s in answer.sentences
        if question["document"] in {urls[v.number] for v in s.verdicts if v.number}
    ]
    has = [any(words in text for words in ways for text in said) for ways in question["key"]]
    if not answer.sentences:
        return "refused"
    holds = "right" if has and all(has) else "part" if any(has) else "wrong"
    return f"nearest {holds}" if answer.abstained else holds


def measured(
    collection_of: str, half: str, folder: Path
) -> list[tuple[Mapping[str, Any], Answer, str]]:
    cases = CASES / collection_of
    lines = (cases / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [one for line in lines if (one := json.loads(line))["half"] == half]
    collection = collect([cases / "documents.jsonl"])
    documents = [one for piece in collection.pieces for one in collection.read(piece)]
    with open_corpus(folder, write=True) as corpus:
        corpus.add([one for one in documents if isinstance(one, Document)])
        answers = ask([one["question"] for one in questions], corpus).results
    return [
        (one, answer, outcome(one, answer)) for one, answer in zip(questions, answers, strict=True)
    ]


@pytest.mark.models
@pytest.mark.parametrize("half", ["open", "sealed"])
@pytest.mark.parametrize("cases", ["abstracts", "fields"])
def test_few_questions_are_refused_or_answered_wrongly(
    cases: str, half: str, tmp_path: Path
) -> None:
    rows = measured(cases, half, tmp_path)
    known = Counter(found for question, _, found in rows if question["key"])
    unknown = Counter(found for question, _, found in rows if not question["key"])
    n = sum(known.values())
    assert known["refused"] <= 0.1 * n, known
    assert known["wrong"] <= 0.05 * n, known
    assert unknown["wrong"] <= 1, unknown
