"""`ask` on questions whose papers and answers are known: what `pincite eval qa` measures."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pincite.errors import ConfigError
from pincite.evaluation import measures
from pincite.evaluation.questions import DECISIONS, MAYBE, NO, YES, Question
from pincite.judgement.references import Support, support_of
from pincite.protocols import Retriever
from pincite.retrieval.retrievers import Fused, Reranked
from pincite.types import Document, Evidence
from pincite.verbs.ask.answer_check import AnswerChecker
from pincite.verbs.ask.pipeline import AskPipeline, LiteratureFinder
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
        found["retrieval"] = _retrieval(questions, pipeline, systems or SYSTEMS, tell)
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
    found = {
        name: search_measures(questions, run_of(finder, questions, name, tell))
        for name, finder in finders(pipeline.finder, names).items()
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
    said = decisions(questions, papers, pipeline.checker, tell)
    return decision_measures(questions, said)


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
        documents = pipeline.finder.find(question.text)[:BEST]
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
    judged = [cited(answer, pipeline.checker) for answer in written]
    return {
        "by": pipeline.writer.fingerprint,
        "n_abstained": sum(bool(answer.abstained) for answer in answers),
        **citation_measures(judged),
    }


def _silent(what: str, done: int, total: int) -> None:
    """No progress is shown."""


# Do the references of an answer support its sentences? ALCE's measures (Gao et al. 2023, §3.3).


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


def citation_measures(answers: Sequence[Sequence[Cited]]) -> dict[str, Any]:
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


# Yes, no or maybe: what the verifier's verdicts on a question make of it.

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


def decision_measures(
    questions: Sequence[Question], said: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Accuracy and F1 by class for each way, and for saying the commonest word of all.

    Over the words that the questions have: where none is answered maybe, saying so is wrong.
    """
    wanted = [question.decision or "" for question in questions]
    classes = [word for word in DECISIONS if word in wanted]
    commonest = Counter(wanted).most_common(1)[0][0]
    found = {way: measures.by_class(wanted, words, classes) for way, words in said.items()}
    baseline = measures.by_class(wanted, [commonest] * len(wanted), classes)
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


# Are the papers that answer a question among the first ten, for each way to search?

CUTOFF = 10  # documents of a question, in BioASQ and in Verif.ai
SYSTEMS = ("lexical", "dense", "hybrid", "verifai", "reranked", "ask")

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


def search_measures(questions: Sequence[Question], run: Run) -> dict[str, Any]:
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


# A yes/no question as the statement that it asks about, by rules on its first words.

_BE = ("is", "are", "was", "were")
_DO = ("does", "do", "did")
_OTHER = ("can", "could", "should", "would", "will", "may", "might", "must", "has", "have", "had")
_ASKED = re.compile(
    r"(?:(?P<topic>[^?]{3,200})(?:[:.]|--)\s*)?"
    rf"(?P<verb>{'|'.join((*_BE, *_DO, *_OTHER))})\s+(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
_PRONOUN = re.compile(r"(?:it|this|they|these)\s+(?=\S)", re.IGNORECASE)
# Where the predicate begins, after at least one word of a subject: such a word, one with such an
# ending, or such a verb. Nothing after a preposition: "the use of a useful drug".
_STARTS = frozenset(
    "a an not still really always more less as better worse safe different important relevant "
    "sufficient significant independent".split()
)
_PREPOSITIONS = frozenset("of in on at for to with by from and or the".split())
_ENDING = re.compile(r".{2,}(?:able|ible|ive|ful|ous|ed|ary)", re.IGNORECASE)
_VERBS = frozenset(
    "affect allow alter cause change contribute decrease depend differ enhance have help impact "
    "improve increase indicate influence lead make matter need play predict prevent produce "
    "promote protect provide reduce reflect represent require result worsen be".split()
)


def statement_of(question: str) -> str:
    """The statement that a yes/no question asks about.

    >>> statement_of("Does smoking cause lung cancer?")
    'smoking causes lung cancer.'
    >>> statement_of("Is the laser useful in children?")
    'the laser is useful in children.'
    >>> statement_of("Balloon enteroscopy: is it safe in a community?")
    'Balloon enteroscopy is safe in a community.'
    >>> statement_of("Which drugs help?")
    'Which drugs help?'
    """
    found = _ASKED.fullmatch(question.strip().rstrip("?").strip())
    if found is None:
        return question
    verb, rest, topic = found["verb"].lower(), found["rest"].strip(), found["topic"]
    pronoun = _PRONOUN.match(rest)
    if topic and pronoun:
        said = rest[pronoun.end() :]
        if verb not in _DO:
            return f"{topic.strip()} {verb} {said}."
        rest = f"{topic.strip()} {said}"
    if verb in _DO:
        return f"{_inflected(rest) if verb == 'does' else rest}."
    words = rest.split()
    if words[0].lower() == "there":
        return f"there {verb} {' '.join(words[1:]).removeprefix('any ')}."
    at = _place(words, _is_verb if verb in _OTHER else _is_predicate)
    return f"{' '.join([*words[:at], verb, *words[at:]] if at else words)}."


def _inflected(rest: str) -> str:
    """With the first known verb in the third person."""
    words = rest.split()
    at = _place(words, _is_verb)
    if not at:
        return rest
    verb = words[at]
    form = {"have": "has", "be": "is"}.get(verb.lower(), f"{verb}s")
    return " ".join([*words[:at], form, *words[at + 1 :]])


def _place(words: Sequence[str], is_start: Callable[[str], bool]) -> int:
    """Of the first word of the predicate; 0 where none is known."""
    for place in range(1, len(words)):
        if is_start(words[place].lower()) and words[place - 1].lower() not in _PREPOSITIONS:
            return place
    return 0


def _is_verb(word: str) -> bool:
    return word in _VERBS


def _is_predicate(word: str) -> bool:
    return word in _STARTS or bool(_ENDING.fullmatch(word))
