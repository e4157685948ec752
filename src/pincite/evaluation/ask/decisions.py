"""Yes, no or maybe: what the verifier's verdicts on a question make of it.

The question as it stands or as a statement (`statements`) is judged as a sentence of an answer
would be, against the abstract that answers it or against what was found. Two ways to read that:

* `thresholds`: supported is yes, contradicted is no, anything else maybe, as `ask` labels;
* `likelier`: yes or no, whichever has the higher probability in any passage.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pincite.evaluation import labels
from pincite.evaluation.ask.questions import DECISIONS, MAYBE, NO, YES, Question
from pincite.evaluation.ask.statements import statement_of
from pincite.judgement.references import Support, support_of
from pincite.types import Document, Evidence
from pincite.verbs.ask.answer_check import AnswerChecker

AT_ONCE = 8  # questions a batch
BEST = 3  # documents that were found, of which the verdict is read
_WORD = {Support.SUPPORTS: YES, Support.CONTRADICTS: NO}

Documents = Mapping[str, Sequence[Document]]  # question → what is read for it


def decisions(
    questions: Sequence[Question], documents: Documents, checker: AnswerChecker, tell: Any
) -> dict[str, list[str]]:
    """By way (`statement, thresholds`, …) the word for each question, in order."""
    said: dict[str, list[str]] = {}
    for start in range(0, len(questions), AT_ONCE):
        batch = questions[start : start + AT_ONCE]
        for form in ("statement", "question"):
            texts = [statement_of(q.text) if form == "statement" else q.text for q in batch]
            thresholds = (checker.supported_from, checker.contradicted_from)
            read = _evidence(texts, [documents.get(q.question_id, ()) for q in batch], checker)
            for text, each in zip(texts, read, strict=True):
                word = _WORD.get(support_of(text, each, *thresholds).support, MAYBE)
                said.setdefault(f"{form}, thresholds", []).append(word)
                said.setdefault(f"{form}, likelier", []).append(likelier(each))
        tell("decisions", start + len(batch), len(questions))
    return said


def measured(questions: Sequence[Question], said: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Accuracy and F1 by class for each way, and for saying the commonest word of all.

    Over the words that the questions have: where none is answered maybe, saying so is wrong.
    """
    wanted = [question.decision or "" for question in questions]
    classes = [word for word in DECISIONS if word in wanted]
    commonest = Counter(wanted).most_common(1)[0][0]
    found = {way: labels.by_class(wanted, words, classes) for way, words in said.items()}
    baseline = labels.by_class(wanted, [commonest] * len(wanted), classes)
    return {"n": len(wanted), "majority": {"word": commonest, **baseline}, "ways": found}


def likelier(evidence: Sequence[Evidence]) -> str:
    """Yes or no by the highest probability of either; maybe of nothing."""
    if not evidence:
        return MAYBE
    supported = max(e.prob_supported for e in evidence)
    return YES if supported >= max(e.prob_refuted for e in evidence) else NO


def _evidence(
    texts: Sequence[str], documents: Sequence[Sequence[Document]], checker: AnswerChecker
) -> list[list[Evidence]]:
    """For each text what all of its documents say."""
    pairs = [(text, each) for text, of in zip(texts, documents, strict=True) for each in of]
    found = iter(checker.evidence(pairs))
    return [[e for _ in of for e in next(found)] for of in documents]
