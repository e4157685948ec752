"""Answers made of sentences copied from the sources, so that nothing is invented."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pincite import errors
from pincite.judgement.provenance import Retraction
from pincite.protocols import Encoder, Reader
from pincite.settings import LEAST_ANSWER, LEAST_RELEVANCE
from pincite.text import words as wording
from pincite.text.figures import figures
from pincite.types import Claim, Failed, Passage
from pincite.verbs.ask import abstracts, questions
from pincite.verbs.ask.abstracts import WHOLE, Part
from pincite.verbs.ask.quotable import GOES_ON, LATE, Quotable, sentences_of
from pincite.verbs.ask.report import EXTRACT, Reference

# Share of common content words from which a sentence repeats another. Sentences that differ in a
# figure or in polarity never do: they may contradict each other.
REPEATS = 0.75
# Chosen on the same half: sentences this far behind the best rarely answer.
BEHIND = 2.0
BEHIND_OF_DETAIL = 0.5  # one sentence states a figure, a reason or a way; chosen on open questions
SURE = 2.5  # relevance of a sentence that answers in other words than those of the question
REPEATED = 1.0  # log-odds lost by a sentence whose words were all said before
READ = 100  # sentences that the network reads: the nearest to the question in meaning
# Passages whose sentences may be quoted: per long document, and in total, best first. On 20 full
# articles, 40 gave the same sentences as 100 (research/check-and-ask.md).
OF_ONE, OF_ALL = 40, 60
TOO_FAR = 5.0  # log-odds below the best document: its sentences would be further than `BEHIND`
LEAST_OF_DETAIL = 0.0  # relevance of a sentence for a figure or a reason: more likely than not
NEAREST = 2  # sentences quoted where none answers
# Share of the terms of what is asked that a paper lacks, from which its sentences do not answer: 2
# of 71 right papers for PubMedQA's questions lack as much.
MUCH_ABSENT = 0.5
UNREAD = -99.0  # log-odds of a sentence that could not be read
# A document is listed if its log-odds, less `LACKING` times the share of the question's subject
# that it lacks, reach `ON_TOPIC`. For 71 PubMedQA questions to 250 abstracts, that lists 70 of the
# 71 right papers and 3 of 639 others; to keep as many, the log-odds alone would list 29 others.
LACKING, ON_TOPIC = 4.0, -1.0
# Log-odds by which a clear sentence of the other side may lie below those that an answer needs.
OTHER_SIDE = 1.0


def choose(
    candidates: Sequence[Quotable], most: int, least: float = LEAST_ANSWER, behind: float = BEHIND
) -> list[Quotable]:
    """Choose up to `most` sentences that answer the question without repetition.

    Documents come best first, and their sentences in their order. A conclusion stands for its
    document: what else it says is left out, such as results with their figures. A sentence must
    reach the log-odds `least`, and be at most `behind` below the best. Repeated words lower its
    score (Carbonell & Goldstein 1998: maximal marginal relevance).
    """
    selected: list[Quotable] = []
    left = [c for c in candidates if c.answers >= least]
    best = max((c.answers for c in left), default=0.0)
    concluded = {c.source for c in left if c.part is Part.CONCLUSION and c.answers >= best - behind}
    left = [c for c in left if c.part is Part.CONCLUSION or c.source not in concluded]

    def worth(candidate: Quotable) -> float:
        words = set(wording.content_words(candidate.text))
        others = (set(wording.content_words(other.text)) for other in selected)
        shares = (len(words & other) / max(1, len(words)) for other in others)
        return candidate.answers - REPEATED * max(shares, default=0.0)

    while left and len(selected) < most:
        first = min(left, key=lambda c: (-worth(c), c.source, c.span.start))
        if worth(first) < max(least, best - behind):
            break
        selected.append(first)
        left = [c for c in left if not (c.overlaps(first) or repeats(c.text, first.text))]
    return sort_quotes(with_other_side(selected, candidates, most, least))


def with_other_side(
    selected: Sequence[Quotable], candidates: Sequence[Quotable], most: int, least: float
) -> list[Quotable]:
    """Where studies disagree, add what those without a quote find, the other side first."""
    quoted, sides = {c.source for c in selected}, {c.agrees for c in selected} - {None}
    best: dict[int, Quotable] = {}
    for candidate in sorted(candidates, key=lambda c: -c.answers):
        clear = candidate.agrees is not None and candidate.fits is not False
        if clear and candidate.answers >= least - OTHER_SIDE and candidate.source not in quoted:
            best.setdefault(candidate.source, candidate)
    added = sorted(best.values(), key=lambda c: c.agrees in sides)
    if not sides or len(sides.union(c.agrees for c in added)) == 1:
        return list(selected)
    n_kept = min(len(selected), max(1, most - 1)) if len(sides) == 1 else len(selected)
    return [*selected[:n_kept], *added][:most]


def sort_quotes(selected: Sequence[Quotable]) -> list[Quotable]:
    """Sort by document, those with the ages asked for first, each in the order of its text."""
    by_ages = sorted(selected, key=lambda c: (True, None, False).index(c.fits))
    sources = list(dict.fromkeys(c.source for c in by_ages))
    ordered = sorted(selected, key=lambda c: (sources.index(c.source), c.span.start))
    opening = {c.source: c for c in reversed(ordered)}  # the first sentence of each document
    alone = Counter(c.source for c in ordered)
    # "However, …" needs what it continues, which was not chosen.
    return [
        c
        for c in ordered
        if alone[c.source] == 1 or opening[c.source] is not c or not GOES_ON.match(c.text)
    ]


def repeats(first: str, second: str) -> bool:
    """Whether two sentences say the same in nearly the same words."""
    if wording.is_negated(first) != wording.is_negated(second):
        return False
    if {f.key for f in figures(first)} != {f.key for f in figures(second)}:
        return False
    a, b = set(wording.content_words(first)), set(wording.content_words(second))
    return len(a & b) >= REPEATS * min(len(a), len(b)) if a and b else a == b


@dataclass(frozen=True, slots=True)
class Extractor:
    """Quotes the sentences of the sources that best answer the question."""

    reader: Reader
    encoder: Encoder
    sentences: int = 4
    least: float = LEAST_ANSWER
    documents_read: bool = True  # whether a reference's relevance is the network's log-odds
    fingerprint: str = EXTRACT

    def quotes(
        self, asked: Sequence[str], references: Sequence[Reference]
    ) -> tuple[list[list[Quotable]], list[Failed]]:
        """Return up to `sentences` quotes for each question, and why some sources were not read."""
        best = max((reference.relevance for reference in references), default=0.0)
        near = [
            source
            for source, reference in enumerate(references)
            if reference.relevance >= best - TOO_FAR or not self.documents_read
        ]
        n_long = sum(len(references[source].document.text) > WHOLE for source in near)
        most = min(OF_ONE, OF_ALL // max(1, n_long))
        failures = list[Failed]()

        def skip(why: Failed) -> list[Quotable]:
            failures.append(why)
            return []

        of_source = [
            errors.attempt(partial(sentences_of, source, reference, most), skip)
            for source, reference in enumerate(references)
        ]
        texts = [sentence.text for source in near for sentence in of_source[source]]
        vectors: Iterable[Any] = self.encoder.encode(texts, "passage") if texts else ()
        answers = list[list[Quotable]]()
        for question in asked:
            finds, subject = questions.reader(question), questions.subject(question)
            candidates = list[Quotable]()
            for source in near:
                fitting = for_question(question, references[source], of_source[source])
                candidates += with_sides(finds, subject, references[source], fitting)
            read = self._read(question, references, candidates, vectors, failures)
            stated = stating(question, read)
            is_stated = stated is not None and not questions.is_of_degree(question)
            able = read if stated is None else stated
            quotes = self._choose_confirmed(question, references, able, is_stated=is_stated)
            if not quotes and self.documents_read:
                quotes = nearest(stated or read)
            answers.append(quotes)
        return answers, failures

    def _choose_confirmed(
        self,
        question: str,
        references: Sequence[Reference],
        sentences: Sequence[Quotable],
        *,
        is_stated: bool,
    ) -> list[Quotable]:
        """Choose sentences that answer, of documents that name what is asked."""
        if is_stated:
            sure = [c for c in map(_anywhere, sentences) if c.relevance >= LEAST_OF_DETAIL]
            chosen = choose(sure, self.sentences, self.least, BEHIND_OF_DETAIL)
        elif questions.is_yes_or_no(question):
            chosen = choose(sentences, self.sentences, self.least)
        else:
            of_study = [c if c.part is Part.METHOD else _anywhere(c) for c in sentences]
            sure = [c for c in of_study if c.relevance >= LEAST_RELEVANCE]
            chosen = choose(sure, self.sentences, self.least)
        return [
            sentence
            for sentence in chosen
            if sentence.relevance >= SURE
            or not is_uncovered(question, absent_terms(question, [references[sentence.source]]))
        ]

    def _read(
        self,
        question: str,
        references: Sequence[Reference],
        candidates: Sequence[Quotable],
        vectors: Iterable[Any],
        failures: list[Failed],
    ) -> list[Quotable]:
        """Score the candidates nearest to the question in meaning with the network."""
        query = self.encoder.encode([question], "query")[0]
        near = [
            replace(candidate, likeness=float(vector @ query))
            for candidate, vector in zip(candidates, vectors, strict=True)
        ]
        near = sorted(near, key=lambda candidate: -candidate.likeness)[:READ]
        claim, documents = Claim.alone(question), [references[c.source].document for c in near]
        pairs = [
            (claim, Passage(of.doc_id, of.url, of.title, candidate.text, candidate.span))
            for candidate, of in zip(near, documents, strict=True)
        ]

        def unread(_: tuple[Claim, Passage], why: Failed) -> float:
            failures.append(why)
            return UNREAD

        odds = errors.apply(lambda of: list(map(float, self.reader.relevance(of))), pairs, unread)
        best = dict[int, float]()  # best score of each document that was not read as a whole
        for candidate, score in zip(near, odds, strict=True):
            best[candidate.source] = max(score, best.get(candidate.source, score))
        if self.documents_read:
            best = {source: references[source].relevance for source in best}
        return [
            replace(candidate, relevance=score, of_document=best[candidate.source])
            for candidate, score in zip(near, odds, strict=True)
        ]


def stating(question: str, sentences: Sequence[Quotable]) -> list[Quotable] | None:
    """Return those with the figure or the reason asked for; None if neither is asked for."""
    of_study = [c for c in sentences if c.part not in (Part.BACKGROUND, Part.AIM)]
    if number := questions.wanted_number(question):
        names = questions.subject(question).names_outcome
        stated = [c for c in of_study if number.is_in(c.text)]
        return [c for c in stated if number.effect is None or names(c.text)]
    if not (holds := questions.detail(question)):
        return None
    stated = [c for c in of_study if holds(c.text)]
    return None if questions.is_of_degree(question) and not stated else stated


def _anywhere(sentence: Quotable) -> Quotable:
    """Weigh a sentence as a conclusion: what is asked for may stand anywhere."""
    is_own = sentence.part not in (Part.BACKGROUND, Part.AIM, Part.METHOD)
    return replace(sentence, part=Part.CONCLUSION if is_own else Part.OTHER, depth=LATE)


def nearest(sentences: Sequence[Quotable]) -> list[Quotable]:
    """Return those closest to the question, unconfirmed, that are surely about it."""
    near = [
        c
        for c in map(_anywhere, sentences)
        if max(c.of_document, c.relevance if c.lacks <= MUCH_ABSENT else UNREAD) >= LEAST_RELEVANCE
    ]
    chosen = list[Quotable]()
    for sentence in sorted(near, key=lambda c: (-c.answers, c.source, c.span.start)):
        if len(chosen) < NEAREST and not any(map(sentence.overlaps, chosen)):
            chosen.append(replace(sentence, is_nearest=True))
    return sort_quotes(chosen)


def absent_terms(question: str, references: Sequence[Reference]) -> list[str]:
    """Return the terms of a question that no reference mentions; ages may be in figures."""
    if any(abstracts.fits(question, r.document) for r in references):
        question = abstracts.without_ages(question)
    texts = "\n".join(f"{r.document.title}\n{r.document.text}" for r in references)
    terms = questions.unanswered_terms(questions.topic(question), texts)
    return [term for term in terms if not questions.is_verb(term)]


def is_uncovered(question: str, absent: Sequence[str]) -> bool:
    """Whether most of what the question asks about, on one side, is in `absent` terms."""
    for part in questions.subject(question)[:2]:
        terms = questions.unanswered_terms(abstracts.without_ages(part), "")
        if terms and len(set(absent).intersection(terms)) >= MUCH_ABSENT * len(terms):
            return True
    return False


def with_sides(
    finds: Callable[[str], bool | None],
    subject: questions.Subject,
    reference: Reference,
    sentences: Sequence[Quotable],
) -> list[Quotable]:
    """Add what the sentences of a study find of a question's subject, unless the study is unclear.

    By rules alone, so that it does not depend on what else was found. The conclusions decide; the
    results only where no conclusion names the subject.
    """
    document = reference.document
    ends = (s.text for s in sentences if s.part is Part.CONCLUSION)
    elsewhere = "\n".join([document.title, *ends])

    def naming(names: Callable[[str, str], bool], paper: str, *of: Part) -> list[Quotable]:
        return [s for s in sentences if s.part in of and names(s.text, paper)]

    deciding = (
        naming(subject.is_named, elsewhere, Part.CONCLUSION)
        or naming(subject.is_partly_named, elsewhere, Part.CONCLUSION)
        or naming(subject.is_named, "", Part.RESULT, Part.OTHER)
    )
    sides = {s.span.start: finds(s.text) for s in deciding if s.fits is not False}
    is_open = reference.retraction is Retraction.YES or questions.is_undecided(document.text)
    if is_open or not subject.is_compared_in(document) or len(set(sides.values()) - {None}) != 1:
        return list(sentences)
    return [replace(s, agrees=sides.get(s.span.start)) for s in sentences]


def on_topic(question: str, reference: Reference) -> bool:
    """Whether a document is about the question, answered there or not."""
    return reference.relevance - LACKING * lacking(question, reference) >= ON_TOPIC


def lacking(question: str, reference: Reference) -> float:
    """Return the share of the question's terms that a document lacks; ages may be in figures."""
    document, number = reference.document, questions.wanted_number(question)
    about = number.about if number else questions.topic(question)
    if abstracts.fits(question, document):
        about = abstracts.without_ages(about)
    is_long = len(document.text) > WHOLE
    texts = [passage.text for passage in reference.passages] if is_long else [document.text]
    terms = questions.unanswered_terms(about, "")
    absent = questions.unanswered_terms(about, "\n".join([document.title, *texts]))
    return len(absent) / max(1, len(terms))


def for_question(
    question: str, reference: Reference, sentences: Sequence[Quotable]
) -> list[Quotable]:
    """Add to the sentences of a document how well it fits a question."""
    missing, of_age = lacking(question, reference), abstracts.fits(question, reference.document)
    return [replace(sentence, lacks=missing, fits=of_age) for sentence in sentences]
