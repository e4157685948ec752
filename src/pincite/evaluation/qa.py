"""`pincite eval qa`: measure `ask` on questions with known papers and answers.

* PubMedQA (Jin et al. 2019): one JSON object, PMID → `QUESTION`, `CONTEXTS`, `LABELS`,
  `LONG_ANSWER`, `final_decision` (yes, no, maybe). The question is that paper's title, so the paper
  is the only relevant document, and its title is withheld.
* BioASQ's task b: `{"questions": [{"id", "body", "type", "documents", "exact_answer", …}]}`;
  documents are addresses that end in the PMID, and an exact answer is a word only for type `yesno`.

Both plain or .gz. A document is identified by its PubMed address, as Pincite's readers return it.
"""

import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pincite.documents import jsonl
from pincite.errors import ConfigError, InputError
from pincite.evaluation import files, measures
from pincite.judgement.references import Support, support_of
from pincite.protocols import Retriever
from pincite.retrieval.retrievers import Fused, Reranked
from pincite.types import Document
from pincite.verbs.ask.answer_check import AnswerChecker
from pincite.verbs.ask.pipeline import AskPipeline, LiteratureFinder
from pincite.verbs.ask.report import Answer

YES, NO, MAYBE = "yes", "no", "maybe"
DECISIONS = (YES, NO, MAYBE)
SEED = 20
_PMID = re.compile(r"(\d{1,9})/?\s*\Z")
PARTS = ("retrieval", "decisions", "citations")

Tell = Callable[[str, int, int], None]  # task, steps done, steps in all


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the addresses of the papers that answer it, and the answer if it is a word."""

    question_id: str
    text: str
    relevant: frozenset[str]
    decision: str | None = None  # one of DECISIONS
    kind: str = ""  # BioASQ: yesno, factoid, list, summary
    given: Document | None = None  # PubMedQA: the abstract without its conclusion


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
            f"{path} holds no questions; expected PubMedQA's JSON (PMID → QUESTION, CONTEXTS, …) "
            'or BioASQ\'s ({"questions": […]}).'
        )
    return found


def sample(questions: Sequence[Question], n: int | None) -> list[Question]:
    """Return `n` questions in a fixed random order: a smaller sample is part of a larger one."""
    order = np.random.default_rng(SEED).permutation(len(questions))
    return [questions[i] for i in order[:n]] if n else list(questions)


def pubmed_url(pmid: str) -> str:
    """Return the address of a paper in PubMed.

    >>> pubmed_url("123")
    'https://pubmed.ncbi.nlm.nih.gov/123/'
    """
    return f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/"


def _json(path: Path) -> Any:
    try:
        with jsonl.opened(path) as file:
            return json.loads(file.read())
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
        url=pubmed_url(pmid),
        title="",
        text="\n".join(f"{n}: {t}" if n else t for n, t in zip(labels, contexts, strict=True)),
        kind="pubmedqa",
        published=jsonl.field_of(fields, "YEAR"),
        language="en",
        meta={"pmid": pmid},
    )
    decision = _decision(fields.get("final_decision"))
    return Question(pmid, text, frozenset({document.url}), decision, "yesno", document)


def _bioasq(record: Any, place: str) -> Question:
    fields: Mapping[str, Any] = record if isinstance(record, dict) else {}
    question_id, text = jsonl.field_of(fields, "id"), jsonl.field_of(fields, "body")
    documents, kind = fields.get("documents", []), fields.get("type", "")
    if not question_id or not text or not files.is_texts(documents):
        raise InputError(f"{place}: expected id, body, type and documents.")
    pmids = [_PMID.search(address) for address in documents]
    if None in pmids:
        wrong = documents[pmids.index(None)]
        raise InputError(f"{place}: {wrong!r} does not end in a PMID.")
    urls = frozenset(pubmed_url(found[1]) for found in pmids if found)
    decision = _decision(fields.get("exact_answer")) if kind == "yesno" else None
    return Question(question_id, " ".join(text.split()), urls, decision, str(kind))


def _decision(value: Any) -> str | None:
    """Return yes, no or maybe; some years of BioASQ have it in a list."""
    first = value[0] if isinstance(value, list) and value else value
    word = first.strip().lower() if isinstance(first, str) else ""
    return word if word in DECISIONS else None


def measured(
    questions: Sequence[Question],
    pipeline: AskPipeline,
    parts: Sequence[str] = PARTS,
    systems: Sequence[str] = (),
    tell: Tell = lambda what, done, total: None,
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    finder, checker = pipeline.finder, pipeline.checker
    if "retrieval" in parts:
        relevant = sorted({url for question in questions for url in question.relevant})
        found["retrieval"] = {
            "n_relevant": len(relevant),
            "n_relevant_not_in_corpus": sum(one is None for one in finder.documents_of(relevant)),
            "systems": {
                name: search_measures(questions, run_of(each, questions, name, tell))
                for name, each in finders(finder, systems or SYSTEMS).items()
            },
        }
    decided = [question for question in questions if question.decision]
    if "decisions" in parts and decided:
        found["decisions"] = decision_measures(decided, decisions(decided, finder, checker, tell))
    if "citations" in parts:
        found["citations"] = _citations(questions, pipeline, tell)
    return found


def _citations(questions: Sequence[Question], pipeline: AskPipeline, tell: Tell) -> dict[str, Any]:
    answers: list[Answer] = []
    for number, question in enumerate(questions, 1):
        answers.append(pipeline.ask(question.text))
        tell("answering", number, len(questions))
    written = [answer for answer in answers if answer.sentences]
    judged = [cited(answer, pipeline.checker) for answer in written]
    return {
        "by": pipeline.writer.fingerprint,
        "n_abstained": sum(bool(answer.abstained) for answer in answers),
        **citation_measures(judged),
    }


# Do the references of an answer support its sentences? ALCE's measures (Gao et al. 2023, §3.3).


@dataclass(frozen=True, slots=True)
class Cited:
    """Whether a sentence's references support it together, and each of them alone."""

    together: bool
    alone: tuple[bool, ...] = ()
    others: tuple[bool, ...] = ()  # whether the other references suffice without it

    @property
    def n_of_use(self) -> int:
        """How many of its references count for precision."""
        if not self.together:
            return 0
        pairs = zip(self.alone, self.others, strict=True)
        return sum(alone or not others for alone, others in pairs)


def citation_measures(answers: Sequence[Sequence[Cited]]) -> dict[str, Any]:
    """Return means over answers with sentences, each with a 95 % bootstrap interval.

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
    """Judge each sentence of an answer; a reference that does not exist supports nothing."""
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
    if n_references < 2:  # without the only reference there is nothing
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
    if len(documents) == 1:
        return documents[0]
    title = " · ".join(d.title for d in documents if d.title)
    return Document("", title, "\n\n".join(d.text for d in documents))


def _precision(answer: Sequence[Cited]) -> float:
    n_references = sum(len(sentence.alone) for sentence in answer)
    return sum(sentence.n_of_use for sentence in answer) / n_references if n_references else 0.0


# Yes, no or maybe, from the verifier's verdicts on a question.

AT_ONCE = 8  # questions per batch
_WORD = {Support.SUPPORTS: YES, Support.CONTRADICTS: NO}


def decisions(
    questions: Sequence[Question], finder: LiteratureFinder, checker: AnswerChecker, tell: Tell
) -> list[str]:
    """Return each question's word, in order, from the papers that answer it."""
    words: list[str] = []
    thresholds = (checker.supported_from, checker.contradicted_from)
    for start in range(0, len(questions), AT_ONCE):
        batch = questions[start : start + AT_ONCE]
        papers = [
            [q.given] if q.given else [d for d in finder.documents_of(sorted(q.relevant)) if d]
            for q in batch
        ]
        pairs = [(q.text, one) for q, its in zip(batch, papers, strict=True) for one in its]
        found = iter(checker.evidence(pairs))
        for question, its in zip(batch, papers, strict=True):
            evidence = [each for _ in its for each in next(found)]
            support = support_of(question.text, evidence, *thresholds).support
            words.append(_WORD.get(support, MAYBE))
        tell("decisions", start + len(batch), len(questions))
    return words


def decision_measures(questions: Sequence[Question], predicted: Sequence[str]) -> dict[str, Any]:
    """Return accuracy and F1 by class of the decisions, and of the most common word alone.

    Only the words that occur as answers are classes: where "maybe" never occurs, it is wrong.
    """
    wanted = [question.decision or "" for question in questions]
    classes = [word for word in DECISIONS if word in wanted]
    commonest = Counter(wanted).most_common(1)[0][0]
    baseline = measures.by_class(wanted, [commonest] * len(wanted), classes)
    return measures.by_class(wanted, predicted, classes) | {
        "majority": {"word": commonest, **baseline}
    }


# Are the papers that answer a question among the first ten, for each way to search?

CUTOFF = 10  # documents per question, in BioASQ and in Verif.ai
SYSTEMS = ("lexical", "dense", "hybrid", "verifai", "reranked", "ask")

Run = Mapping[str, Sequence[str]]  # question → addresses, best first


def finders(whole: LiteratureFinder, names: Sequence[str] = SYSTEMS) -> dict[str, LiteratureFinder]:
    """Return the ways to search by name; `ask` is `whole`, with the user's settings.

    Raises:
        ConfigError: There is no system of that name.
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
    finder: LiteratureFinder, questions: Sequence[Question], name: str, tell: Tell
) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for number, question in enumerate(questions, 1):
        found[question.question_id] = [f.document.url for f in finder.find(question.text)]
        tell(name, number, len(questions))
    return found


def search_measures(questions: Sequence[Question], run: Run) -> dict[str, Any]:
    """MAP@10, P@10, R@10 and RR@10: means over the questions that have relevant documents.

    Each has a 95 % bootstrap interval under `intervals`. A question without hits counts as 0.
    """
    pairs = [(run.get(q.question_id, ()), q.relevant) for q in questions if q.relevant]
    hits = [len(relevant & set(found[:CUTOFF])) for found, relevant in pairs]
    values = {
        "MAP@10": [average_precision(found, relevant) for found, relevant in pairs],
        "P@10": [n / CUTOFF for n in hits],
        "R@10": [n / len(relevant) for n, (_, relevant) in zip(hits, pairs, strict=True)],
        "RR@10": [reciprocal_rank(found, relevant) for found, relevant in pairs],
    }
    return measures.means({name: np.array(each) for name, each in values.items()})


def average_precision(found: Sequence[str], relevant: frozenset[str], k: int = CUTOFF) -> float:
    """AP@k = Σ P@r over the ranks r ≤ k that hold a relevant document / min(k, relevant ones).

    BioASQ's definition since its eighth year (Nentidis et al. 2020, §3.2). It divided by `k`
    before, so a question with fewer relevant documents could not reach 1.

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
