"""Are the papers that answer a question among the first ten, for each way to search?

Every way is `ask`'s own `LiteratureFinder` with parts left out, so what is measured is what `ask`
reads. A document counts once, at its best passage.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pincite.errors import ConfigError
from pincite.evaluation import measures
from pincite.evaluation.ask.questions import Question
from pincite.protocols import Retriever
from pincite.retrieval.retrievers import Fused, Reranked
from pincite.verbs.ask.literature import LiteratureFinder

CUTOFF = 10  # documents of a question, in BioASQ and in Verif.ai
SYSTEMS = ("lexical", "dense", "hybrid", "verifai", "reranked", "ask")

Progress = Callable[[str, int, int], None]  # what, done, in all
Run = Mapping[str, Sequence[str]]  # question → addresses, best first


def finders(whole: LiteratureFinder, names: Sequence[str] = SYSTEMS) -> dict[str, LiteratureFinder]:
    """The ways to search by name; `ask` is `whole` itself, as its settings have it.

    Raises:
        ConfigError: there is no system of that name.
    """
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
    known["ask"] = replace(whole, limit=CUTOFF)
    if unknown := [name for name in names if name not in known]:
        raise ConfigError(f"There is no system {unknown[0]!r}; known: {', '.join(known)}.")
    return {name: known[name] for name in known if name in names}


def run_of(
    finder: LiteratureFinder, questions: Sequence[Question], name: str, tell: Progress
) -> dict[str, list[str]]:
    """What a way to search finds for each question: addresses, best first."""
    found: dict[str, list[str]] = {}
    for number, question in enumerate(questions, 1):
        found[question.question_id] = [f.document.url for f in finder.find(question.text)]
        tell(name, number, len(questions))
    return found


def measured(questions: Sequence[Question], run: Run) -> dict[str, Any]:
    """MAP@10, P@10, R@10 and RR@10: means over the questions that have relevant documents.

    Each has a 95 % bootstrap interval under `intervals`. A question without hits counts as 0.
    """
    judged = [question for question in questions if question.relevant]
    pairs = [(run.get(q.question_id, ()), q.relevant) for q in judged]
    values = {
        "MAP@10": [average_precision(found, relevant) for found, relevant in pairs],
        "P@10": [_hits(found, relevant) / CUTOFF for found, relevant in pairs],
        "R@10": [_hits(found, relevant) / len(relevant) for found, relevant in pairs],
        "RR@10": [reciprocal_rank(found, relevant) for found, relevant in pairs],
    }
    means = {
        name: round(float(np.mean(each)), 4) if each else None for name, each in values.items()
    }
    intervals = {name: measures.interval(np.array(each)) for name, each in values.items()}
    return {**means, "n": len(judged), "intervals": intervals}


def average_precision(found: Sequence[str], relevant: frozenset[str], k: int = CUTOFF) -> float:
    """AP@k = Σ P@r over the ranks r ≤ k that hold a relevant document / min(k, relevant ones).

    BioASQ's since its eighth year (Nentidis et al. 2020, §3.2): dividing by `k`, as it did before,
    a question with fewer relevant documents could not reach 1.

    >>> average_precision(["a", "x", "b"], frozenset({"a", "b"}))  # (1/1 + 2/3) / 2
    0.8333333333333333
    """
    if not relevant:
        return 0.0
    total, n_hits = 0.0, 0
    for rank, doc in enumerate(found[:k], 1):
        if doc in relevant:
            n_hits += 1
            total += n_hits / rank
    return total / min(k, len(relevant))


def reciprocal_rank(found: Sequence[str], relevant: frozenset[str], k: int = CUTOFF) -> float:
    """1 / rank of the first relevant document among the first `k`; 0 if there is none.

    >>> reciprocal_rank(["x", "a"], frozenset({"a"}))
    0.5
    """
    return next((1 / rank for rank, doc in enumerate(found[:k], 1) if doc in relevant), 0.0)


def _hits(found: Sequence[str], relevant: frozenset[str]) -> int:
    return len(relevant & set(found[:CUTOFF]))
