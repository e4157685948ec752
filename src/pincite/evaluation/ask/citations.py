"""Do the references of an answer support its sentences? ALCE's measures (Gao et al. 2023, §3.3).

Citation recall is the share of sentences that their references support together. Citation
precision is the share of references that are of use: those of a sentence that is so supported,
but for one which does not support it alone and without which the others still do. The judge is a
verifier; where it is the one that the answer was checked with, both say what a reader sees, and
not how often the verifier errs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pincite.evaluation import measures
from pincite.judgement.references import Support, support_of
from pincite.types import Document
from pincite.verbs.ask.answer_check import AnswerChecker
from pincite.verbs.ask.records import Answer


@dataclass(frozen=True, slots=True)
class Cited:
    """A sentence: whether its references support it together, and each of them."""

    together: bool
    alone: tuple[bool, ...] = ()
    others: tuple[bool, ...] = ()  # whether the rest does without it

    @property
    def n_of_use(self) -> int:
        """How many of its references count for precision."""
        if not self.together:
            return 0
        pairs = zip(self.alone, self.others, strict=True)
        return sum(alone or not others for alone, others in pairs)


def measured(answers: Sequence[Sequence[Cited]]) -> dict[str, Any]:
    """Means over the answers, each with a 95 % bootstrap interval; answers have sentences.

    As in ALCE's code, an answer without references has a precision of 0.
    """
    recalls = [sum(s.together for s in answer) / len(answer) for answer in answers]
    precisions = [_precision(answer) for answer in answers]
    found: dict[str, Any] = {"n": len(answers), "n_sentences": sum(map(len, answers))}
    for name, values in (("citation_recall", recalls), ("citation_precision", precisions)):
        found[name] = round(float(np.mean(values)), 4) if values else None
        found[f"{name}_interval"] = measures.interval(np.array(values)) if values else None
    return found


def cited(answer: Answer, checker: AnswerChecker) -> list[Cited]:
    """Each sentence of an answer, judged; a reference that does not exist supports nothing."""
    documents = {reference.number: reference.document for reference in answer.references}
    given = [
        (one.sentence.text, [documents.get(v.number or 0) for v in one.verdicts])
        for one in answer.sentences
    ]
    questions: list[tuple[str, list[Document | None]]] = []
    for text, found in given:
        questions.append((text, found))
        if len(found) > 1:
            questions += [(text, [each]) for each in found]
            questions += [(text, found[:i] + found[i + 1 :]) for i in range(len(found))]
    answers = iter(_supported(questions, checker))
    return [_one(len(found), answers) for _, found in given]


def _one(n_references: int, answers: Any) -> Cited:
    together = next(answers)
    if n_references < 2:  # nothing is left without the only one
        return Cited(together, (together,) * n_references, (False,) * n_references)
    alone = tuple(next(answers) for _ in range(n_references))
    return Cited(together, alone, tuple(next(answers) for _ in range(n_references)))


def _supported(
    questions: Sequence[tuple[str, Sequence[Document | None]]], checker: AnswerChecker
) -> list[bool]:
    pairs = [(text, joined([d for d in found if d])) for text, found in questions]
    evidence = checker.evidence(pairs)
    thresholds = (checker.supported_from, checker.contradicted_from)
    return [
        support_of(text, each, *thresholds).support is Support.SUPPORTS
        for (text, _), each in zip(pairs, evidence, strict=True)
    ]


def joined(documents: Sequence[Document]) -> Document:
    """The documents as one, in order; of nothing one without a word."""
    if len(documents) == 1:
        return documents[0]
    title = " · ".join(d.title for d in documents if d.title)
    return Document("", title, "\n\n".join(d.text for d in documents))


def _precision(answer: Sequence[Cited]) -> float:
    n_references = sum(len(sentence.alone) for sentence in answer)
    return sum(sentence.n_of_use for sentence in answer) / n_references if n_references else 0.0
