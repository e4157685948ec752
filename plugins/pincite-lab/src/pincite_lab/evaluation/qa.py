"""`pincite eval qa`: does the search of `ask` find the papers that answer a question?

* PubMedQA (Jin et al. 2019): one JSON object, PMID → `QUESTION`, `CONTEXTS`, `LABELS`, … The
  question is that paper's title, so the paper is the only relevant document, and its title is
  withheld.
* BioASQ's task b: `{"questions": [{"id", "body", "documents", …}]}`; documents are addresses that
  end in the PMID.

Both plain or .gz. A document is identified by its PubMed address, as Pincite's readers return it.
"""

import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pincite.documents import jsonl
from pincite.errors import InputError
from pincite.protocols import Retriever
from pincite.retrieval.retrievers import Fused, Reranked
from pincite.text.identifiers import pubmed_address
from pincite.types import Document
from pincite.verbs.ask.pipeline import LiteratureFinder
from pincite_lab.evaluation import files, measures

SEED = 20
CUTOFF = 10  # documents per question, in BioASQ and in Verif.ai
_RANKING = ("P@10", "R@10", "RR@10")
_PMID = re.compile(r"(\d{1,9})/?\s*\Z")

Run = Mapping[str, Sequence[str]]  # question → addresses, best first
Tell = Callable[[str, int, int], None]  # task, steps done, steps in all


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the addresses of the papers that answer it."""

    question_id: str
    text: str
    relevant: frozenset[str]
    abstract: Document | None = None  # PubMedQA: the abstract without its conclusion


def read_questions(path: Path) -> list[Question]:
    """Read the questions of a file in order; the content decides the format.

    Raises:
        InputError: The file cannot be read or is in neither format; names the record.
    """
    value = _json(path)
    if isinstance(value, dict) and isinstance(value.get("questions"), list):
        found = [
            _bioasq(one, f"{path} question {n}") for n, one in enumerate(value["questions"], 1)
        ]
    elif isinstance(value, dict):
        found = [_pubmedqa(pmid, one, f"{path} {pmid}") for pmid, one in value.items()]
    else:
        found = []
    if not found:
        raise InputError(
            f"{path} has no questions; expected PubMedQA's JSON (PMID → QUESTION, CONTEXTS, …) "
            'or BioASQ\'s ({"questions": […]}).'
        )
    return found


def sample(questions: Sequence[Question], n: int | None) -> list[Question]:
    """Return `n` questions in a fixed random order: a smaller sample is part of a larger one."""
    order = np.random.default_rng(SEED).permutation(len(questions))
    return [questions[i] for i in order[:n]] if n else list(questions)


def _json(path: Path) -> Any:
    try:
        with path.open("rb") as raw:
            return json.loads(jsonl.unpacked(raw, path).read())
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from error


def _pubmedqa(pmid: str, record: Any, place: str) -> Question:
    fields = record if isinstance(record, dict) else {}
    text, contexts, labels = (fields.get(name) for name in ("QUESTION", "CONTEXTS", "LABELS"))
    if not isinstance(text, str) or not pmid.isdigit() or not files.is_texts(contexts):
        raise InputError(f"{place}: expected a PMID with QUESTION, CONTEXTS and LABELS.")
    if not files.is_texts(labels) or len(labels) != len(contexts):
        labels = [""] * len(contexts)
    document = Document(
        url=pubmed_address(pmid),
        title="",
        text="\n".join(f"{n}: {t}" if n else t for n, t in zip(labels, contexts, strict=True)),
        kind="pubmedqa",
        published=jsonl.field_of(fields, "YEAR"),
        language="en",
        meta={"pmid": pmid},
    )
    return Question(pmid, text, frozenset({document.url}), document)


def _bioasq(record: Any, place: str) -> Question:
    fields: Mapping[str, Any] = record if isinstance(record, dict) else {}
    question_id, text = jsonl.field_of(fields, "id"), jsonl.field_of(fields, "body")
    documents = fields.get("documents", [])
    if not question_id or not text or not files.is_texts(documents):
        raise InputError(f"{place}: expected id, body and documents.")
    pmids = [_PMID.search(each) for each in documents]
    if None in pmids:
        wrong = documents[pmids.index(None)]
        raise InputError(f"{place}: {wrong!r} does not end in a PMID.")
    urls = frozenset(pubmed_address(found[1]) for found in pmids if found)
    return Question(question_id, " ".join(text.split()), urls)


def measured(
    questions: Sequence[Question],
    finder: LiteratureFinder,
    tell: Tell = lambda what, done, total: None,
) -> dict[str, Any]:
    """Measure each way to search."""
    relevant = sorted({url for question in questions for url in question.relevant})
    return {
        "n_relevant": len(relevant),
        "n_relevant_not_in_corpus": sum(one is None for one in finder.documents_of(relevant)),
        "systems": {
            name: search_measures(questions, _run(each, questions, name, tell))
            for name, each in finders(finder).items()
        },
    }


def finders(whole: LiteratureFinder) -> dict[str, LiteratureFinder]:
    """Return the ways to search by name; `ask` is `whole`, with the user's settings."""
    search = whole.search
    both = search.retriever if isinstance(search, Reranked) else search
    assert isinstance(both, Fused)
    hybrid = replace(both, mode="weighted")
    searches: dict[str, Retriever] = {
        "lexical": replace(hybrid, dense=None),
        "dense": replace(hybrid, lexical=None),
        "hybrid": hybrid,
        "verifai": replace(both, mode="verifai"),
        "reranked": replace(search, retriever=hybrid) if isinstance(search, Reranked) else hybrid,
    }
    plain = replace(whole, exact_first=False, limit=CUTOFF)
    known = {name: replace(plain, search=each) for name, each in searches.items()}
    return known | {"ask": replace(whole, limit=CUTOFF)}


def _run(
    finder: LiteratureFinder, questions: Sequence[Question], name: str, tell: Tell
) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for number, question in enumerate(questions, 1):
        found[question.question_id] = [f.document.url for f in finder.find(question.text)[0]]
        tell(name, number, len(questions))
    return found


def search_measures(questions: Sequence[Question], run: Run) -> dict[str, Any]:
    """MAP@10, P@10, R@10 and RR@10: means over the questions that have relevant documents.

    Each has a 95 % bootstrap interval under `intervals`. A question without hits counts as 0.
    """
    answered = [q for q in questions if q.relevant]
    qrels = {q.question_id: dict.fromkeys(q.relevant, 1) for q in answered}
    found = measures.ranking_measures(qrels, run, {name: name for name in _RANKING})
    precisions = [average_precision(run.get(q.question_id, ()), q.relevant) for q in answered]
    of_map = measures.means({"MAP@10": np.array(precisions)})
    return of_map | found | {"intervals": of_map["intervals"] | found["intervals"]}


def average_precision(found: Sequence[str], relevant: frozenset[str]) -> float:
    """AP@10 = Σ P@r over the ranks r ≤ 10 that hold a relevant document / min(10, relevant ones).

    BioASQ's definition since its eighth year (Nentidis et al. 2020, §3.2). It divided by `k`
    before, so a question with fewer relevant documents could not reach 1.

    >>> average_precision(["a", "x", "b"], frozenset({"a", "b"}))  # (1/1 + 2/3) / 2
    0.8333333333333333
    """
    if not relevant:
        return 0.0
    total, n_hits = 0.0, 0
    for rank, doc in enumerate(found[:CUTOFF], 1):
        if doc in relevant:
            n_hits += 1
            total += n_hits / rank
    return total / min(CUTOFF, len(relevant))
