"""Answers made of sentences copied from the sources, so that nothing is invented."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import Any

from pincite import errors
from pincite.documents.papers import in_own_words
from pincite.judgement.retraction import Retraction
from pincite.protocols import Encoder, Reader
from pincite.settings import LEAST_ANSWER, LEAST_RELEVANCE
from pincite.text import patterns, word_lists, words_of
from pincite.text import words as wording
from pincite.text.figures import figures
from pincite.text.finite import NOT, finite_verb
from pincite.text.sentences import joined, source_sentences
from pincite.text.syntax import AUXILIARIES, PREPOSITIONS
from pincite.types import Claim, Failed, Passage, Span
from pincite.verbs.ask import stance
from pincite.verbs.ask.ages import fits, without_ages
from pincite.verbs.ask.parts import (
    AIM,
    MOST_OF_AN_ABSTRACT,
    OPEN,
    TO_DO,
    WHOLE,
    Part,
    parts,
    unlabelled,
)
from pincite.verbs.ask.questions import (
    detail,
    is_of_degree,
    is_verb,
    topic,
    unanswered_terms,
    wanted,
)
from pincite.verbs.ask.report import EXTRACT, Reference

# Share of common content words from which a sentence repeats another. Sentences that differ in a
# figure or in polarity never do: they may contradict each other.
REPEATS = 0.75
# Log-odds that a sentence answers its question, from a logistic regression on 30 of PubMedQA's dev
# questions: sentences of the right paper's conclusion against those of its background and methods
# and of other papers. `relevance` weighs more than fitted (0.57): of the open questions in
# tests/cases/ask, 47 of 56 parts have the right sentence first instead of 39. `depth` weighs less
# than fitted (4.1); `is_open` and `goes_on` were set by
# reading answers; `lacks` and the bias were chosen on 70 other questions
# (research/check-and-ask.md).
BIAS = -7.8
WEIGHTS = {
    "relevance": 1.0,
    "likeness": 3.0,
    "of_document": 0.94,
    "depth": 3.0,
    "concludes": 1.5,
    "is_method": -1.8,
    "is_open": -1.5,
    "goes_on": -0.75,
    "lacks": -5.0,
    "other_ages": -2.0,  # set by reading answers, as `is_open`
}
# Chosen on the same half: sentences this far behind the best rarely answer.
BEHIND = 2.0
BEHIND_OF_DETAIL = 0.5  # one sentence states a figure, a reason or a way; chosen on open questions
SURE = 2.5  # relevance of a sentence that answers in other words than those of the question
REPEATED = 1.0  # log-odds lost by a sentence whose words were all said before
MIDDLE = 0.5
LATE = 0.75  # conclusions begin about here, usually with the results
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
FEWEST_WORDS, MOST_WORDS = 6, 70  # in a sentence that can stand alone and is readable
FEWEST_OF_FINDING = 3  # "Adherence was 71%."
OWN_WITHIN = 6  # words in which "this … study" must name the paper
# A document is listed if its log-odds, less `LACKING` times the share of the question's subject
# that it lacks, reach `ON_TOPIC`. For 71 PubMedQA questions to 250 abstracts, that lists 70 of the
# 71 right papers and 3 of 639 others; to keep as many, the log-odds alone would list 29 others.
LACKING, ON_TOPIC = 4.0, -1.0
# Log-odds by which a clear sentence of the other side may lie below those that an answer needs.
OTHER_SIDE = 1.0
_WORDS, _P = word_lists(__file__, "words"), patterns(__file__, "parts", re.IGNORECASE)
_THIS = frozenset({"this", "these", "those"})
_POINT_BACK_TOGETHER = frozenset({("the", "latter"), ("the", "former"), ("the", "same")})
_NO_NOUN = AUXILIARIES | PREPOSITIONS | words_of("verbs", "modals")  # ends "this large database"
_CASED = patterns(__file__, "extract")
_SHORT = [[each] for each in "al. vs. cf. e.g. i.e. Fig. approx. resp.".split()]  # no sentence end


@dataclass(frozen=True, slots=True)
class Quotable:
    """A sentence of a source that may be quoted."""

    text: str
    source: int  # index of its document in order of relevance
    place: int  # start offset in its document
    relevance: float = 0.0  # log-odds, by the network, that it bears on the question
    likeness: float = 0.0  # cosine similarity to the question
    of_document: float = 0.0  # log-odds that the best passage of its document bears on the question
    depth: float = 0.0  # relative position in its document: 0 first, 1 last
    part: Part = Part.OTHER
    lacks: float = 0.0  # share of the question's subject that its document does not mention
    fits: bool | None = None  # whether its study has the ages asked for; None: one names none
    is_nearest: bool = False  # quoted though nothing confirms that it answers
    agrees: bool | None = None  # whether it finds what is asked; None: unclear
    span: Span = field(default=Span(0, 0))  # in its document, without the section label

    def overlaps(self, other: "Quotable") -> bool:
        """Whether both are, or contain, the same sentence."""
        return self.source == other.source and self.span.overlaps(other.span)

    @property
    def answers(self) -> float:
        """Log-odds that it answers the question, by `WEIGHTS`."""
        values = {
            "relevance": self.relevance,
            "likeness": self.likeness,
            "of_document": self.of_document,
            "depth": self.depth,
            "concludes": float(self.part is Part.CONCLUSION),
            "is_method": float(self.part in (Part.BACKGROUND, Part.AIM, Part.METHOD)),
            "is_open": float(bool(OPEN.search(self.text))),
            "goes_on": float(bool(_P["goes_on"].match(self.text))),
            "lacks": self.lacks,
            "other_ages": float(self.fits is False),
        }
        return BIAS + sum(WEIGHTS[name] * value for name, value in values.items())


def can_stand_alone(text: str, *, is_last: bool = False) -> bool:
    """Whether a sentence can be read without its context, by rules.

    `is_last`: it ends its document, where the full stop may be missing.
    """
    words, end = text.split(), text.rstrip()[-1:]
    is_elliptic = words and words[-1].strip(".").casefold() in AUXILIARIES | NOT  # "Falls did not."
    is_finding = len(words) >= FEWEST_OF_FINDING and finite_verb(text) and not is_elliptic
    if not (FEWEST_WORDS <= len(words) <= MOST_WORDS or is_finding):
        return False
    if end not in '.!)”"' and not (is_last and end.isalnum()):
        return False
    if _CASED["fragment"].match(text):
        return False
    first, second = (word.strip("(,").casefold() for word in words[:2])
    if TO_DO.match(text) or AIM.match(text) or (first, second) in _POINT_BACK_TOGETHER:
        return False
    if first == "of" and second in _THIS:
        return False
    if _P["those_who"].match(text):
        return True
    if first not in _THIS:
        return first not in _WORDS["point_back"]
    # "This large database analysis suggests …"
    names = (word.strip("(,").casefold() for word in words[1:OWN_WITHIN])
    named = takewhile(lambda word: word not in _NO_NOUN, names)
    return any(word in _WORDS["own_paper"] for word in named)


def is_cut(before: str, after: str) -> bool:
    """Whether two consecutive pieces on a line are one sentence.

    >>> is_cut("As shown by Holm et al.", "[3] for tea."), is_cut("It was equal.", "It rose.")
    (True, False)
    """
    is_fragment = _CASED["fragment"].match(after) and not after.startswith("[")
    return bool(is_fragment) or before.split()[-1:] in _SHORT


def depth(place: int, n_sentences: int) -> float:
    """Return a sentence's position in an abstract, 0 to 1; `MIDDLE` in longer texts."""
    if not 1 < n_sentences <= MOST_OF_AN_ABSTRACT:
        return MIDDLE
    return min(LATE, place / (n_sentences - 1))


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

    def repeated(one: Quotable) -> float:
        words = set(wording.content_words(one.text))
        others = (set(wording.content_words(other.text)) for other in selected)
        shares = (len(words & other) / max(1, len(words)) for other in others)
        return REPEATED * max(shares, default=0.0)

    while left and len(selected) < most:
        worth = {id(c): c.answers - repeated(c) for c in left}
        first = min(left, key=lambda c: (-worth[id(c)], c.source, c.place))
        if worth[id(first)] < max(least, best - behind):
            break
        selected.append(first)
        left = [c for c in left if not (c.overlaps(first) or repeats(c.text, first.text))]
    return in_order(with_other_side(selected, candidates, most, least))


def with_other_side(
    selected: Sequence[Quotable], candidates: Sequence[Quotable], most: int, least: float
) -> list[Quotable]:
    """Where studies disagree, add what those without a quote find, the other side first."""
    quoted, sides = {c.source for c in selected}, {c.agrees for c in selected} - {None}
    best: dict[int, Quotable] = {}
    for each in sorted(candidates, key=lambda c: -c.answers):
        clear = each.agrees is not None and each.fits is not False
        if clear and each.answers >= least - OTHER_SIDE and each.source not in quoted:
            best.setdefault(each.source, each)
    added = sorted(best.values(), key=lambda c: c.agrees in sides)
    if not sides or len(sides.union(c.agrees for c in added)) == 1:
        return list(selected)
    n_kept = min(len(selected), max(1, most - 1)) if len(sides) == 1 else len(selected)
    return [*selected[:n_kept], *added][:most]


def in_order(selected: Sequence[Quotable]) -> list[Quotable]:
    """Sort by document, those with the ages asked for first, each in the order of its text."""
    by_ages = sorted(selected, key=lambda c: (True, None, False).index(c.fits))
    sources = list(dict.fromkeys(c.source for c in by_ages))
    ordered = sorted(selected, key=lambda c: (sources.index(c.source), c.place))
    opening = {c.source: c for c in reversed(ordered)}  # the first sentence of each document
    alone = Counter(c.source for c in ordered)
    # "However, …" needs what it continues, which was not chosen.
    return [
        c
        for c in ordered
        if alone[c.source] == 1 or opening[c.source] is not c or not _P["goes_on"].match(c.text)
    ]


def repeats(one: str, other: str) -> bool:
    """Whether two sentences say the same in nearly the same words."""
    if wording.is_negated(one) != wording.is_negated(other):
        return False
    if {f.key for f in figures(one)} != {f.key for f in figures(other)}:
        return False
    a, b = set(wording.content_words(one)), set(wording.content_words(other))
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
        self, questions: Sequence[str], references: Sequence[Reference]
    ) -> tuple[list[list[Quotable]], list[Failed]]:
        """Return up to `sentences` quotes for each question, and why some sources were not read."""
        best = max((each.relevance for each in references), default=0.0)
        near = [
            source
            for source, reference in enumerate(references)
            if reference.relevance >= best - TOO_FAR or not self.documents_read
        ]
        n_long = sum(len(references[source].document.text) > WHOLE for source in near)
        most = min(OF_ONE, OF_ALL // max(1, n_long))
        failures = list[Failed]()

        def skipped(why: Failed) -> list[Quotable]:
            failures.append(why)
            return []

        of_source = [
            errors.attempt(partial(quotable, source, reference, most), skipped)
            for source, reference in enumerate(references)
        ]
        texts = [each.text for source in near for each in of_source[source]]
        vectors: Iterable[Any] = self.encoder.encode(texts, "passage") if texts else ()
        answers = list[list[Quotable]]()
        for question in questions:
            finds, subject = stance.reader(question), stance.subject(question)
            candidates = list[Quotable]()
            for source in near:
                fitting = for_question(question, references[source], of_source[source])
                candidates += with_sides(finds, subject, references[source], fitting)
            read = self._read(question, references, candidates, vectors, failures)
            stated = stating(question, read)
            is_stated = stated is not None and not is_of_degree(question)
            able = read if stated is None else stated
            quotes = self._confirmed(question, references, able, is_stated=is_stated)
            if not quotes and self.documents_read:
                quotes = nearest(stated or read)
            answers.append(quotes)
        return answers, failures

    def _confirmed(
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
        elif stance.is_yes_or_no(question):
            chosen = choose(sentences, self.sentences, self.least)
        else:
            of_study = [c if c.part is Part.METHOD else _anywhere(c) for c in sentences]
            sure = [c for c in of_study if c.relevance >= LEAST_RELEVANCE]
            chosen = choose(sure, self.sentences, self.least)
        return [
            each
            for each in chosen
            if each.relevance >= SURE
            or not is_uncovered(question, absent_terms(question, [references[each.source]]))
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
            replace(each, likeness=float(vector @ query))
            for each, vector in zip(candidates, vectors, strict=True)
        ]
        near = sorted(near, key=lambda each: -each.likeness)[:READ]
        pairs = []
        for each in near:
            of = references[each.source].document
            passage = Passage(of.doc_id, of.url, of.title, each.text, each.span)
            pairs.append((Claim.alone(question), passage))

        def unread(_: tuple[Claim, Passage], why: Failed) -> float:
            failures.append(why)
            return UNREAD

        odds = errors.apply(lambda of: list(map(float, self.reader.relevance(of))), pairs, unread)
        best = dict[int, float]()  # best score of each document that was not read as a whole
        for each, score in zip(near, odds, strict=True):
            best[each.source] = max(score, best.get(each.source, score))
        if self.documents_read:
            best = {source: references[source].relevance for source in best}
        return [
            replace(each, relevance=score, of_document=best[each.source])
            for each, score in zip(near, odds, strict=True)
        ]


def stating(question: str, sentences: Sequence[Quotable]) -> list[Quotable] | None:
    """Return those with the figure or the reason asked for; None if neither is asked for."""
    of_study = [c for c in sentences if c.part not in (Part.BACKGROUND, Part.AIM)]
    if number := wanted(question):
        names = stance.subject(question).names_outcome
        stated = [c for c in of_study if number.is_in(c.text)]
        return [c for c in stated if number.effect is None or names(c.text)]
    if not (holds := detail(question)):
        return None
    stated = [c for c in of_study if holds(c.text)]
    return None if is_of_degree(question) and not stated else stated


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
    for each in sorted(near, key=lambda c: (-c.answers, c.source, c.place)):
        if len(chosen) < NEAREST and not any(map(each.overlaps, chosen)):
            chosen.append(replace(each, is_nearest=True))
    return in_order(chosen)


def absent_terms(question: str, references: Sequence[Reference]) -> list[str]:
    """Return the terms of a question that no reference mentions; ages may be in figures."""
    if any(fits(question, each.document) for each in references):
        question = without_ages(question)
    texts = "\n".join(f"{each.document.title}\n{each.document.text}" for each in references)
    return [term for term in unanswered_terms(topic(question), texts) if not is_verb(term)]


def is_uncovered(question: str, absent: Sequence[str]) -> bool:
    """Whether most of what the question asks about, on one side, is in `absent` terms."""
    for part in stance.subject(question)[:2]:
        terms = unanswered_terms(without_ages(part), "")
        if terms and len(set(absent).intersection(terms)) >= MUCH_ABSENT * len(terms):
            return True
    return False


def with_sides(
    finds: Callable[[str], bool | None],
    subject: stance.Subject,
    reference: Reference,
    sentences: Sequence[Quotable],
) -> list[Quotable]:
    """Add what the sentences of a study find of a question's subject, unless the study is unclear.

    By rules alone, so that it does not depend on what else was found. The conclusions decide; the
    results only where no conclusion names the subject.
    """
    document = reference.document
    ends = (each.text for each in sentences if each.part is Part.CONCLUSION)
    elsewhere = "\n".join([document.title, *ends])

    def naming(names: Callable[[str, str], bool], paper: str, *of: Part) -> list[Quotable]:
        return [s for s in sentences if s.part in of and names(s.text, paper)]

    deciding = (
        naming(subject.is_named, elsewhere, Part.CONCLUSION)
        or naming(subject.is_partly_named, elsewhere, Part.CONCLUSION)
        or naming(subject.is_named, "", Part.RESULT, Part.OTHER)
    )
    sides = {each.place: finds(each.text) for each in deciding if each.fits is not False}
    is_open = reference.retraction is Retraction.YES or stance.is_undecided(document.text)
    if is_open or not subject.is_compared_in(document) or len(set(sides.values()) - {None}) != 1:
        return list(sentences)
    return [replace(each, agrees=sides.get(each.place)) for each in sentences]


def on_topic(question: str, reference: Reference) -> bool:
    """Whether a document is about the question, answered there or not."""
    return reference.relevance - LACKING * lacking(question, reference) >= ON_TOPIC


def lacking(question: str, reference: Reference) -> float:
    """Return the share of the question's terms that a document lacks; ages may be in figures."""
    document, number = reference.document, wanted(question)
    about = number.about if number else topic(question)
    if fits(question, document):
        about = without_ages(about)
    is_long = len(document.text) > WHOLE
    texts = [passage.text for passage in reference.passages] if is_long else [document.text]
    terms = unanswered_terms(about, "")
    return len(unanswered_terms(about, "\n".join([document.title, *texts]))) / max(1, len(terms))


def for_question(
    question: str, reference: Reference, sentences: Sequence[Quotable]
) -> list[Quotable]:
    """Add to the sentences of a document how well it fits a question."""
    missing, of_age = lacking(question, reference), fits(question, reference.document)
    return [replace(each, lacks=missing, fits=of_age) for each in sentences]


def quotable(source: int, reference: Reference, n_passages: int) -> list[Quotable]:
    """Return sentences that can stand alone, except those in other languages.

    Those of a long document are taken from its best `n_passages` passages.
    """
    document = reference.document
    text, within = in_own_words(document.text), list[Span]()
    if len(document.text) > WHOLE:
        within = sorted(passage.span for passage in reference.passages[: max(1, n_passages)])

    def cut(left: Span, right: Span) -> bool:
        on_one_line = "\n" not in text[left.end : right.start]
        return on_one_line and is_cut(left.of(text), right.of(text))

    candidates = []
    for piece in within or [Span(0, len(text))]:
        spans = source_sentences(piece.of(text), document.language)
        spans = joined([span.moved(piece.start) for span in spans], cut)
        kinds = parts([span.of(text) for span in spans], whole=not within)
        for n, (span, part) in enumerate(zip(spans, kinds, strict=True)):
            sentence = unlabelled(span.of(text))
            ends_it = span.of(text).endswith(sentence)
            own = Span(span.end - len(sentence), span.end) if ends_it else span
            far = MIDDLE if within else depth(n, len(spans))
            candidates.append(Quotable(sentence, source, own.start, depth=far, part=part, span=own))
    end, quotes = len(text.rstrip()), list[Quotable]()
    for before, each in zip([None, *candidates], candidates, strict=False):
        if can_stand_alone(each.text, is_last=each.span.end == end):
            quotes.append(each)
        elif before and quotes[-1:] == [before]:
            quotes += _with_subject(before, each, text)
    return quotes


def _with_subject(before: Quotable, each: Quotable, text: str) -> Iterator[Quotable]:
    """Yield a sentence that opens with a pronoun, with the one before it, which names what for."""
    span, words = Span(before.span.start, each.span.end), each.text.split()
    is_one = "\n" not in text[before.span.end : each.span.start] and finite_verb(before.text)
    is_short = len(words) >= FEWEST_OF_FINDING and len(span.of(text).split()) <= MOST_WORDS
    if is_one and is_short and _CASED["pronoun"].match(each.text):
        yield replace(each, text=span.of(text), place=before.place, span=span)
