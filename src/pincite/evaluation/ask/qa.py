"""`ask` on questions whose papers and answers are known: what `pincite eval qa` measures."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pincite.evaluation.ask import citations, decisions, literature
from pincite.evaluation.ask.questions import Question
from pincite.types import Document
from pincite.verbs.ask.pipeline import AskPipeline
from pincite.verbs.ask.records import Answer

PARTS = ("retrieval", "decisions", "found", "citations")

Progress = Callable[[str, int, int], None]  # what, done, in all


def measured(
    questions: Sequence[Question],
    pipeline: AskPipeline,
    parts: Sequence[str] = PARTS,
    systems: Sequence[str] = (),
    progress: Progress | None = None,
) -> dict[str, Any]:
    """By part, what is measured of the questions; retrieval by system."""
    tell = progress or _silent
    found: dict[str, Any] = {}
    if "retrieval" in parts:
        found["retrieval"] = _retrieval(questions, pipeline, systems or literature.SYSTEMS, tell)
    decided = [question for question in questions if question.decision]
    if "decisions" in parts and decided:
        papers = {q.question_id: _papers(q, pipeline) for q in decided}
        found["decisions"] = _decisions(decided, papers, pipeline, tell)
    if "found" in parts and decided:
        papers = _best(decided, pipeline, tell)
        found["found"] = _decisions(decided, papers, pipeline, tell)
    if "citations" in parts:
        found["citations"] = _citations(questions, pipeline, tell)
    return found


def _retrieval(
    questions: Sequence[Question], pipeline: AskPipeline, names: Sequence[str], tell: Progress
) -> dict[str, Any]:
    finders = literature.finders(pipeline.finder, names)
    found = {
        name: literature.measured(questions, literature.run_of(finder, questions, name, tell))
        for name, finder in finders.items()
    }
    relevant = sorted({url for question in questions for url in question.relevant})
    missing = sum(document is None for document in pipeline.finder.documents_of(relevant))
    return {"n_relevant": len(relevant), "n_relevant_not_in_corpus": missing, "systems": found}


def _decisions(
    questions: Sequence[Question],
    papers: Mapping[str, Sequence[Document]],
    pipeline: AskPipeline,
    tell: Progress,
) -> dict[str, Any]:
    said = decisions.decisions(questions, papers, pipeline.checker, tell)
    return decisions.measured(questions, said)


def _papers(question: Question, pipeline: AskPipeline) -> list[Document]:
    """Those that answer the question."""
    if question.given:
        return [question.given]
    stored = pipeline.finder.documents_of(sorted(question.relevant))
    return [document for document in stored if document]


def _best(
    questions: Sequence[Question], pipeline: AskPipeline, tell: Progress
) -> dict[str, list[Document]]:
    """What `ask` finds first for each question."""
    found = {}
    for number, question in enumerate(questions, 1):
        documents = pipeline.finder.find(question.text)[: decisions.BEST]
        found[question.question_id] = [each.document for each in documents]
        tell("searching", number, len(questions))
    return found


def _citations(
    questions: Sequence[Question], pipeline: AskPipeline, tell: Progress
) -> dict[str, Any]:
    answers: list[Answer] = []
    for number, question in enumerate(questions, 1):
        answers.append(pipeline.ask(question.text))
        tell("answering", number, len(questions))
    written = [answer for answer in answers if answer.sentences]
    judged = [citations.cited(answer, pipeline.checker) for answer in written]
    return {
        "by": pipeline.writer.fingerprint,
        "n_abstained": sum(bool(answer.abstained) for answer in answers),
        **citations.measured(judged),
    }


def _silent(what: str, done: int, total: int) -> None:
    """No progress is shown."""
