"""How far a passage confirms a reading, by a local verifier."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from pincite.judgement import confirmation, decide
from pincite.judgement.attribution import swapped
from pincite.judgement.contradictions import contrary_by_word, discard_rebutted
from pincite.judgement.force import weaker
from pincite.llm.calls import Progress
from pincite.models.verifier import RoutedVerifier
from pincite.protocols import Verifier
from pincite.text import antonyms, names, tables, words, words_of
from pincite.text.finite import NAME, finite_verb
from pincite.text.languages import common
from pincite.text.sentences import is_question, n_words
from pincite.types import (
    STOPPED,
    Claim,
    Evidence,
    Failed,
    Passage,
    Span,
    Witness,
    WitnessKind,
    sigmoid,
)
from pincite.verbs.check.report import Reading

_CHUNK = 16  # pairs between two checks for Ctrl-C: about a second of verifier time on two cores
# Probability of support from which a passage confirms a reading; chosen on the open half of
# tests/cases/gate. `decide.THRESHOLD` is enough if an examined model agrees
# (research/check-and-ask.md).
CONFIRMED_FROM = 0.5
# A document missing more than this share of the reading's words is about something else: its
# refutations do not count ("the mill closed" refutes nothing about a bridge). A sentence missing
# more than it, title included, must confirm CLEARLY.
ELSEWHERE = 0.6
# Sentences of a passage to judge alone: those that share most with the reading. On half of
# SciFact dev, six confirm all 36 true claims that judging every sentence confirms; four, 33.
SENTENCES, SENTENCES_ACROSS = 6, 12  # in another language than the reading's: words rank none
# By how much a lone sentence's support must exceed its refutation. Below CLEARLY, the
# passage's degree is capped at STRONG (research/check-and-ask.md).
LEAST_MARGIN, CLEARLY = 0.0, 0.2
# The same for what confirms weakly: a sentence of a passage of less than CONFIRMED_FROM, and two
# neighbours of TOGETHER_FROM or more, unless a SURE one's lack at most UNSTATED of the words.
PROBABLY, TOGETHER, TOGETHER_FROM = 0.05, 0.1, 0.4
SURE, UNSTATED = 0.6, 0.35
# By how much the refutation of a lone sentence that says the opposite must exceed its support.
OPPOSED_FROM = 0.2
NEAR = 0.5  # share of a reading's words that sentences read alone may lack, the title included
SHORTEST_QUOTE = 4  # words; fewer state nothing ("High Court"), unless one is a figure

_BYLINE_DATE = re.compile(r"\d{4}-\d\d-\d\d$")
_PLACED = re.compile(rf"\b(?:[Ii]n|[Aa]cross|[Tt]hroughout|[Aa]t|of) (?:the )?(?P<name>{NAME})")
_OWNED = re.compile(rf"\b({NAME})['’]s\b")
_OTHERWHERE = words_of("spoken", "elsewhere")

_Pair: TypeAlias = tuple[Reading, Passage]


class _Excerpt(NamedTuple):
    """One or two sentences of a pair's passage, which are judged without the others."""

    n: int  # of the pair
    span: Span


@dataclass(frozen=True, slots=True)
class VerifierJudge:
    """DOC = supported - refuted, by a local verifier; the negation is not judged."""

    verifier: Verifier
    reader: RoutedVerifier | None = None  # None: the verifier reads sentences too
    on_progress: Progress | None = None

    @property
    def fingerprint(self) -> str:
        return self.verifier.fingerprint

    def judge(self, pairs: Sequence[_Pair]) -> list[Evidence | Failed]:
        """Judge each pair, taking into account everything found in the same document."""
        try:
            evidence = weigh_in_documents(pairs, self._read(pairs))
            evidence = self._require_sentence(pairs, evidence)
            evidence = self._read_silent_documents(pairs, evidence)
        except KeyboardInterrupt:
            return [STOPPED] * len(pairs)
        return [judged.failed or judged for judged in prefer_stated_figures(pairs, evidence)]

    def _read(self, pairs: Sequence[_Pair]) -> list[Evidence]:
        evidence: list[Evidence] = []
        for start in range(0, len(pairs), _CHUNK):
            chunk = pairs[start : start + _CHUNK]
            claims = [(Claim.alone(reading.text), passage) for reading, passage in chunk]
            evidence += self.verifier.verify(claims)
            if self.on_progress:
                self.on_progress(len(evidence), len(pairs))
        return evidence

    def _require_sentence(
        self, pairs: Sequence[_Pair], evidence: Sequence[Evidence]
    ) -> list[Evidence]:
        """Let no confirmation count without a sentence, or two neighbours, that confirm alone."""
        quoted, undecided = [*evidence], _confirming(evidence)
        for spans_of, together in ((candidate_sentences, False), (neighbours, True)):
            found = {n: spans_of(*_texts(pairs[n])) for n in undecided}
            excerpts = [_Excerpt(n, span) for n, spans in found.items() for span in spans]
            margins: dict[int, dict[Span, float]] = {n: {} for n in undecided}
            alone = [_alone(pairs, excerpt) for excerpt in excerpts]
            for (n, span), margin in zip(excerpts, self._margins(alone), strict=True):
                margins[n][span] = margin
            for n in undecided:
                reading = pairs[n][0].text
                quoted[n] = confirm_by_sentence(reading, evidence[n], margins[n], together)
            near = (n for n in undecided if evidence[n].prob_supported >= TOGETHER_FROM)
            undecided = sorted({*near}.difference(_confirming(quoted)))
        return quoted

    def _read_silent_documents(
        self, pairs: Sequence[_Pair], evidence: Sequence[Evidence]
    ) -> list[Evidence]:
        """Read one or two sentences alone where a document says nothing as it was read.

        What they confirm is confirmed weakly. They count against a reading only if nothing in
        their document is for it, and a rule or the network shows how they contradict it.
        """
        keys = _documents_of(pairs)
        decided = {key for key, one in zip(keys, evidence, strict=True) if any(one.stance or ())}
        excerpts = [
            _Excerpt(n, span)
            for n, pair in enumerate(pairs)
            if keys[n] not in decided and evidence[n].failed is None
            for span in near_spans(*_texts(pair))
        ]
        alone = [_alone(pairs, excerpt) for excerpt in excerpts]
        judged = zip(excerpts, self.verifier.verify(alone), self._margins(alone), strict=True)
        supporting, opposing = list[tuple[int, Evidence]](), list[tuple[int, Evidence]]()
        for (n, span), read, margin in judged:
            stance, witnesses = alone_stance(pairs[n][0].text, read, margin)
            found = replace(evidence[n], stance=stance, quote=span, witnesses=witnesses)
            (supporting if stance[0] else opposing).append((n, found))
        result = [*evidence]
        for side in (supporting, opposing):
            undecided = [(n, f) for n, f in side if any(f.stance or ()) and keys[n] not in decided]
            for n, found in undecided:
                result[n] = found
            decided.update(keys[n] for n, _ in undecided)
        return result

    def _margins(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[float]:
        """Return by how much the support of each pair exceeds its refutation."""
        if self.reader is None:
            evidence = self.verifier.verify(pairs)
            return [read.prob_supported - read.prob_refuted for read in evidence]
        odds = ((sigmoid(a), sigmoid(b)) for a, b in self.reader.log_odds(pairs).tolist())
        return [supported - (1 - supported) * refuted for supported, refuted in odds]


def _alone(pairs: Sequence[_Pair], excerpt: _Excerpt) -> tuple[Claim, Passage]:
    reading, passage = pairs[excerpt.n]
    return Claim.alone(reading.text), replace(passage, text=excerpt.span.of(passage.text))


def _texts(pair: _Pair) -> tuple[str, Passage]:
    return pair[0].text, pair[1]


def _documents_of(pairs: Sequence[_Pair]) -> list[tuple[str, str]]:
    """Return a key for each pair that those of the same reading and document share."""
    return [(reading.text, passage.doc_id) for reading, passage in pairs]


def _confirming(evidence: Sequence[Evidence]) -> list[int]:
    return [n for n, judged in enumerate(evidence) if judged.stance and judged.stance[0]]


def weigh_in_documents(pairs: Sequence[_Pair], evidence: Sequence[Evidence]) -> list[Evidence]:
    """Decide each pair with the texts and evidence of all passages of its document."""
    keys = _documents_of(pairs)
    texts: dict[tuple[str, str], dict[str, None]] = {}  # distinct: passages may share a page
    of_document: dict[tuple[str, str], list[Evidence]] = {}
    for key, (_, passage), read in zip(keys, pairs, evidence, strict=True):
        texts.setdefault(key, {passage.about: None})[passage.page or passage.text] = None
        of_document.setdefault(key, []).append(read)
    return [
        with_stance(key[0], read, "\n".join(texts[key]), of_document[key])
        for key, read in zip(keys, evidence, strict=True)
    ]


def prefer_stated_figures(pairs: Sequence[_Pair], evidence: Sequence[Evidence]) -> list[Evidence]:
    """Let no confirmation count that lacks a figure, if another of its document states them all."""
    keys, result = _documents_of(pairs), [*evidence]
    lacking, exact = list[int](), set[tuple[str, str]]()
    for n in _confirming(evidence):
        stated = f"{evidence[n].passage.about}\n{evidence[n].quoted}"
        if tables.unstated(pairs[n][0].text, stated):
            lacking.append(n)
        else:
            exact.add(keys[n])
    for n in lacking:
        if keys[n] in exact:
            result[n] = replace(evidence[n], stance=(0.0, 0.0))
    return result


# ── What a passage says of a reading ─────────────────────────────────────────────────────────────


def with_stance(
    reading: str, evidence: Evidence, document: str, of_document: Sequence[Evidence] = ()
) -> Evidence:
    """Return a verifier's evidence with how far it counts for and against a reading.

    A document that does not state a number or date of the reading does not confirm it. `document`:
    all the text found of it; `of_document`: the evidence from each of its passages.
    """
    evidence = discard_rebutted(Claim.alone(reading), evidence, document)
    counts = not _is_elsewhere(reading, document)
    counts = counts and decide.counts_as_refutation(evidence, of_document)
    if counts and evidence.contradiction is None and evidence.quote:  # read by the network alone
        counts = not _lacks_a_finding(reading, evidence.quote.of(evidence.passage.text))
    against = evidence.prob_refuted if counts and decide.refutes(evidence) else 0.0
    confirms = not against and evidence.prob_supported >= decide.THRESHOLD
    if evidence.contradiction or (confirms and tables.unstated(reading, document)):
        confirms = False  # as in `decide.label_of`
    supported = evidence.prob_supported if confirms else 0.0
    if not against:
        evidence = decide.without(evidence, WitnessKind.NETWORK)
    return replace(evidence, stance=(supported, against))


def _is_elsewhere(reading: str, document: str) -> bool:
    """Whether a document is about something else: it lacks most words, or all names."""
    if common(reading, document) and words.missing_words(reading, document) > ELSEWHERE:
        return True
    known = (words.is_named(name, document) for name in words.names(reading))
    return bool(names.missing(reading, document)) and not any(known)


# What is sought, done or unknown is no finding, unless another clause follows ("Although the cause
# is unclear, …"). Of SciFact's sentences 6.1 % match, of its evidence in train 0.6 %.
_NO_FINDING = re.compile(
    r"\W*(?-i:OBJECTIVES?|AIMS?|PURPOSE|DESIGN|SETTING|METHODS?|PARTICIPANTS|PATIENTS"
    r"|INTERVENTIONS?|MAIN OUTCOME|DATA SOURCES?)\b"
    r"|.*\b(?:this|the present|our) (?:study|trial|review|paper|article|analysis|work|survey)"
    r" (?:aim|address|assesse|compare|describe|discusse|estimate|evaluate|examine|explore|review"
    r"|investigate)(?:s|d|ed)?\b"
    r"|(?!\W*(?:Although|Though|While)\b).*\b(?:little is known"
    r"|(?:is|are|was|were|been|remain\w*) (?:[\w-]+ ){0,3}?(?:unknown|unclear|uncertain|elusive"
    r"|controversial|debated?|disputed|(?:not|poorly|incompletely|little|less) (?:[\w-]+ ){0,2}?"
    r"(?:known|understood|clear|defined|determined|elucidated|established)))\b",
    re.IGNORECASE | re.DOTALL,
)
# Clauses that may be negated while the others are not: "migraine, but not other headaches". Of the
# supporting sentences of SciFact train, 14 % are negated otherwise than their claim; of the clauses
# that share most with it, 10 % (of contradicting ones 29 and 27 %).
_CLAUSES = re.compile(
    r";|,? (?:but|whereas|while|although|though|and not)\b"
    r"|, (?:suggesting|indicating|implying|showing|demonstrating)\b"
)


def candidate_sentences(reading: str, passage: Passage) -> list[Span]:
    """Return the sentences of a passage that may confirm a reading, best overlap first.

    Headings, questions, and sentences with another force than the reading are left out.
    """
    text, sentences = passage.text, words.sentences_of(passage.text)
    most = SENTENCES if common(reading, text) else SENTENCES_ACROSS
    spans = [span for span, _ in words.quotable(reading, text)][:most]
    if not spans:  # a title may be the only text
        spans = [span for span in sentences if not is_question(span.of(text))][:SENTENCES]
    for _, worked in antonyms.agreeing(reading, text):
        shown = [span for span in sentences if span.overlaps(worked.span)]
        spans.append(Span(shown[0].start, shown[-1].end))
    spans = [*dict.fromkeys(spans)]
    return [span for span in spans if _may_confirm(reading, passage, span, sentences)]


def _may_confirm(reading: str, passage: Passage, span: Span, sentences: Sequence[Span]) -> bool:
    text, sentence = passage.text, span.of(passage.text)
    following = next((later.of(text) for later in sentences if later.start >= span.end), "")
    same_topic = words.missing_words(reading, sentence) <= confirmation.SAME_TOPIC
    return not (
        _is_of_another_place(reading, passage.about, sentence.rpartition("\n")[2])
        or _differs_in_negation(reading, sentence)
        or _lacks_a_finding(reading, sentence)
        or weaker(reading, sentence)
        or weaker(reading, f"{sentence} {following}")
        or (common(reading, text) == "en" and swapped(reading, sentence, text))
        or (same_topic and antonyms.contrasts(reading, sentence))
    )


def _headed_places(reading: str, about: str) -> set[str]:
    """The places of a reading that its page's head names: "in Varde", "Varde's mills"."""
    placed = (match["name"] for match in _PLACED.finditer(reading))
    return {name for name in (*placed, *_OWNED.findall(reading)) if name in about}


def _is_of_another_place(reading: str, about: str, sentence: str) -> bool:
    """Whether the page's head names the reading's place, and the sentence names another."""
    if all(words.is_named(name, sentence) for name in _headed_places(reading, about)):
        return False
    others = (match["name"] for match in _PLACED.finditer(sentence))
    named = any(names.missing(f"In {name}", f"{about}\n{reading}") for name in others)
    return named or not _OTHERWHERE.isdisjoint(re.findall(r"\w+", sentence.lower()))


def neighbours(reading: str, passage: Passage) -> list[Span]:
    """Return two sentences that follow each other, of which one may confirm a reading."""
    text, sentences = passage.text, words.sentences_of(passage.text)
    first = [span for span, _ in words.quotable(reading, text)][:SENTENCES]
    both = (both for both in _both(text) if any(both.overlaps(span) for span in first))
    return [span for span in both if _may_confirm(reading, passage, span, sentences)]


def near_spans(reading: str, passage: Passage) -> list[Span]:
    """Return sentences, alone and with the next, that have most of a reading's words.

    The title counts. Headings and questions are left out.
    """
    text, about = passage.text, passage.about
    spans = [*_statements(text), *_both(text)]
    near = [s for s in spans if words.missing_words(reading, f"{about}\n{s.of(text)}") <= NEAR]
    return near if common(reading, text) else []


def _statements(text: str) -> list[Span]:
    """The sentences of a text without headings, bylines and questions."""
    spans = words.sentences_of(text)
    return [s for s in spans if not words.is_heading(text, s) and not _states_nothing(text, s)]


def _both(text: str) -> list[Span]:
    """The statements of a text, each with the next of its paragraph."""
    following = pairwise(_statements(text))
    return [Span(a.start, b.end) for a, b in following if "\n\n" not in text[a.end : b.start]]


def _contrary(reading: str, read: Evidence) -> tuple[Witness, ...]:
    """Return what shows that sentences contradict a reading: a rule, or the opposite word.

    The network alone counts only of sentences that have all words.
    """
    about, text = read.passage.about, read.passage.text
    by_rule = tuple(w for w in read.witnesses if w.kind is not WitnessKind.NETWORK)
    if tables.unstated(reading, f"{about}\n{text}") or by_rule:
        return by_rule if decide.refutes(read) else ()
    own = {*words.roots(reading)}
    has_all = len(own) >= SHORTEST_QUOTE and own <= {*words.roots(f"{about}\n{text}")}
    if has_all and decide.refutes(read):
        return read.witnesses
    word = contrary_by_word(reading, text, about)
    return (word,) if word else ()


def _differs_in_negation(reading: str, sentence: str) -> bool:
    """Whether only one is negated: of a sentence, the clause that shares most with the reading."""
    negated = words.is_negated(reading)
    clauses = _CLAUSES.split(sentence)
    return max((words.shared(reading, c), words.is_negated(c) != negated) for c in clauses)[1]


def _lacks_a_finding(reading: str, text: str) -> bool:
    """Whether a text has a sentence that states no finding, unlike the reading."""
    spans = words.sentences_of(text)
    return not _NO_FINDING.match(reading) and any(_NO_FINDING.match(s.of(text)) for s in spans)


def alone_stance(
    reading: str, read: Evidence, margin: float
) -> tuple[tuple[float, float], tuple[Witness, ...]]:
    """Return how far one or two sentences, read alone, count for and against a reading, and why."""
    text, against = read.passage.text, _contrary(reading, read)
    if margin <= -OPPOSED_FROM and against:
        return (0.0, min(-margin, confirmation.MEDIUM)), against
    whole = Span(0, len(text))
    one = len(words.sentences_of(text)) == 1  # of two, the first may be of another subject
    supports = one and read.prob_supported >= CONFIRMED_FROM and margin >= PROBABLY
    if supports and not against and _may_confirm(reading, read.passage, whole, [whole]):
        return (min(read.prob_supported, confirmation.MEDIUM), 0.0), ()
    return (0.0, 0.0), ()


def confirm_by_sentence(
    reading: str, evidence: Evidence, margins: Mapping[Span, float], together: bool = False
) -> Evidence:
    """Quote the sentence that states the reading best alone; without one, nothing is confirmed.

    `margins`: by how much the support of each exceeds its refutation; `together`: of two sentences.
    """
    supported, refuted = evidence.stance or (evidence.prob_supported, evidence.prob_refuted)
    passage, clearly = evidence.passage, 1.0 if together else CLEARLY
    near = (s for s in margins if margins[s] >= clearly or _is_near(reading, passage, s))
    best = max(near, key=lambda span: margins[span], default=None)
    if best is None or margins[best] < LEAST_MARGIN:
        best, most = _quoted_by_model(evidence, margins), confirmation.STRONG
    elif _is_enough(evidence) and not together:
        most = confirmation.STRONG if margins[best] < CLEARLY else 1.0
    else:
        least = _least_margin(reading, evidence, best if together else None)
        is_row = tables.rows_of(best.of(passage.text))
        most = confirmation.MEDIUM if margins[best] >= least and not is_row else 0.0
    if best is None or not most:
        return replace(evidence, stance=(0.0, refuted))
    return replace(evidence, stance=(min(supported, most), refuted), quote=best)


def _is_near(reading: str, passage: Passage, span: Span) -> bool:
    """Whether a quote has most words of a reading, with the title and two sentences before it."""
    text = passage.text  # 4 wrong quotes without this, 1 right one for 160 claims
    before = [each for each in words.sentences_of(text) if each.end <= span.start][-2:]
    context = text[before[0].start if before else span.start : span.end]
    near = words.missing_words(reading, f"{passage.about}\n{context}") <= ELSEWHERE
    return near or not common(reading, text)  # across languages, words tell nothing of the topic


def _is_enough(evidence: Evidence) -> bool:
    return evidence.prob_supported >= CONFIRMED_FROM or bool(decide.seconding(evidence))


def _least_margin(reading: str, evidence: Evidence, both: Span | None) -> float:
    """By how much support must exceed refutation to confirm weakly; `both`: two neighbours."""
    if both is None:
        return PROBABLY
    quote = f"{evidence.passage.about}\n{both.of(evidence.passage.text)}"
    lacks = words.missing_words(reading, quote) > UNSTATED or tables.unstated(reading, quote)
    return TOGETHER if lacks or evidence.prob_supported < SURE else LEAST_MARGIN


def _quoted_by_model(evidence: Evidence, spans: Iterable[Span]) -> Span | None:
    """Return the first sentence that a trusted model, which read its context, quotes in support."""
    opinion, text = decide.seconding(evidence), evidence.passage.text
    quotes = opinion.quotes if opinion else ()
    found = (Span(at, at + len(q)) for q in quotes if (at := text.find(q)) >= 0)
    return next((span for quote in found for span in spans if quote.overlaps(span)), None)


def with_sentence_quoted(reading: str, evidence: Evidence) -> Evidence:
    """Replace a quote that states nothing, as a bare name or heading, by the next best sentence."""
    text, quote = evidence.passage.text, evidence.quote
    if quote is None:
        return evidence
    heading, gap, _ = quote.of(text).rpartition("\n\n")
    if gap and not heading.rstrip().endswith((".", "!", "?", "”", '"', ":", "|")):
        quote = Span(quote.start + len(heading) + len(gap), quote.end)
    if quote.of(text) == evidence.passage.title or _states_nothing(text, quote):
        found = (span for span, share in words.quotable(reading, text) if share > 0)
        quote = next((span for span in found if not _states_nothing(text, span)), None)
    return replace(evidence, quote=quote)


def _states_nothing(text: str, span: Span) -> bool:
    line = span.of(text)
    if line.rstrip().endswith("?"):
        return True
    undated = _BYLINE_DATE.sub("", line)
    if "|" in line or any(map(str.isdigit, undated)):
        return False
    is_name = all(word[:1].isupper() for word in line.split() if len(word) > 3)
    if n_words(line) < SHORTEST_QUOTE:
        return True
    bare = is_name or undated != line or words.is_heading(text, span)
    return bare and not finite_verb(line)
