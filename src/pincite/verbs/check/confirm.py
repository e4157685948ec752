"""How far a passage confirms a reading: by a local verifier, or by a language model.

A model takes EvidenceSeeker's steps, for the reading and again for its negation:

    (passage, I) ─▶ free analysis ─▶ multiple choice ─▶ P(first option | I, D)
"""

import hashlib
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TypeAlias

from pincite.completions import Completion, Prompt
from pincite.errors import ConfigError
from pincite.judgement import aggregation, confirmation, decide
from pincite.judgement.attribution import swapped
from pincite.judgement.force import weaker
from pincite.llm import replies
from pincite.llm.calls import Calls, Progress, run_concurrently, scaled_progress
from pincite.llm.chat import guidance_for
from pincite.llm.templates import Templates
from pincite.models.verifier import RoutedVerifier
from pincite.protocols import Verifier
from pincite.settings import Settings
from pincite.text import antonyms, names, tables, words
from pincite.text.finite import finite_verb
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

ANALYSE, CHOOSE = "freetext_confirmation_analysis", "multiple_choice_confirmation_analysis"
FEW_REPETITIONS = 30  # for `estimate`: EvidenceSeeker's guide recommends at least this many
SEED = 13
ANALYSIS_TOKENS, CHOICE_TOKENS = 500, 60
_CHUNK = 16  # pairs between two checks for Ctrl-C: about a second of verifier time on two cores
_ENOUGH = 0.5  # share of the repetitions that must be readable
_PROMPTED_TOKENS = 260  # for a choice if nothing prevents the model from explaining itself
# Probability of support from which a passage confirms a reading; below it, and without a
# contradiction, it is neutral. Chosen on the open half of tests/cases/gate. `decide.THRESHOLD` is
# enough if an examined model agrees: of dev claims between the two, 0.32 (WiCE) and 0.58 (SciFact)
# are supported, and 0.73 and 0.89 of those with a yes that is right in 0.85; of claims above,
# without a model, 0.66 and 0.77.
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
# The same for a passage of less than CONFIRMED_FROM, which then confirms only weakly.
PROBABLY = 0.05
# By how much the refutation of a lone sentence that says the opposite must exceed its support.
OPPOSED_FROM = 0.2
NEAR = 0.5  # share of a reading's words that sentences read alone may lack, the title included
_UNSAID = 0.2  # the same of what a word of the opposite meaning is said of
SHORTEST_QUOTE = 4  # words; fewer state nothing ("High Court"), unless one is a figure

_Branch: TypeAlias = tuple[float, str] | Failed  # P(first option), the analysis


@dataclass(frozen=True, slots=True)
class VerifierJudge:
    """DOC = supported - refuted, by a local verifier; the negation is not judged.

    A passage that confirms is judged again sentence by sentence (`confirm_by_sentence`).
    """

    verifier: Verifier
    reader: RoutedVerifier | None = None  # None: the verifier reads sentences too
    on_progress: Progress | None = None

    @property
    def fingerprint(self) -> str:
        return self.verifier.fingerprint

    def judge(self, pairs: Sequence[tuple[Reading, Passage]]) -> list[Evidence | Failed]:
        """Judge each pair, taking into account everything found in the same document."""
        evidence: list[Evidence] = []
        try:
            for start in range(0, len(pairs), _CHUNK):
                chunk = pairs[start : start + _CHUNK]
                claims = [(Claim.alone(reading.text), passage) for reading, passage in chunk]
                evidence += self.verifier.verify(claims)
                if self.on_progress:
                    self.on_progress(len(evidence), len(pairs))
            quoted = self._quoted(pairs, _in_documents(pairs, evidence))
            quoted = self._closely_read(pairs, quoted)
        except KeyboardInterrupt:
            return [STOPPED] * len(pairs)
        return [each.failed or each for each in _fully_quoted(pairs, quoted)]

    def _closely_read(
        self, pairs: Sequence[tuple[Reading, Passage]], evidence: Sequence[Evidence]
    ) -> list[Evidence]:
        """Read one or two sentences alone in near documents that say nothing as they were read.

        What they confirm is confirmed weakly; they count against a reading if nothing in their
        document is for it, and a rule or the network shows how they contradict it.
        """
        keys = [(reading.text, passage.doc_id) for reading, passage in pairs]
        decided = {key for key, each in zip(keys, evidence, strict=True) if any(each.stance or ())}
        places = [
            (n, span)
            for n, (reading, passage) in enumerate(pairs)
            if keys[n] not in decided and evidence[n].failed is None
            for span in near_spans(reading.text, passage)
        ]
        alone = [_alone(*pairs[n], span) for n, span in places]
        read, margins = self.verifier.verify(alone), self._margins(alone)
        found = [*evidence]
        for side in (True, False):
            for (n, span), each, margin in zip(places, read, margins, strict=True):
                stance, witnesses = alone_stance(pairs[n][0].text, each, margin)
                if any(stance) and bool(stance[0]) is side and keys[n] not in decided:
                    found[n] = replace(found[n], stance=stance, quote=span, witnesses=witnesses)
            decided.update(keys[n] for n, each in enumerate(found) if any(each.stance or ()))
        return found

    def _quoted(
        self, pairs: Sequence[tuple[Reading, Passage]], evidence: Sequence[Evidence]
    ) -> list[Evidence]:
        """Let no confirmation count that cannot quote a sentence which confirms alone."""
        confirming = [n for n, each in enumerate(evidence) if _confirms(each)]
        places = [
            (n, span)
            for n in confirming
            for span in candidate_sentences(pairs[n][0].text, pairs[n][1])
        ]
        alone = [_alone(*pairs[n], span) for n, span in places]
        margins: dict[int, dict[Span, float]] = {n: {} for n in confirming}
        for (n, span), margin in zip(places, self._margins(alone), strict=True):
            margins[n][span] = margin
        return [
            confirm_by_sentence(pairs[n][0].text, each, margins[n]) if n in margins else each
            for n, each in enumerate(evidence)
        ]

    def _margins(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[float]:
        """Return by how much the support of each pair exceeds its refutation."""
        if self.reader is None:
            evidence = self.verifier.verify(pairs)
            return [each.prob_supported - each.prob_refuted for each in evidence]
        odds = ((sigmoid(a), sigmoid(b)) for a, b in self.reader.log_odds(pairs).tolist())
        return [supported - (1 - supported) * refuted for supported, refuted in odds]


def _alone(reading: Reading, passage: Passage, span: Span) -> tuple[Claim, Passage]:
    return Claim.alone(reading.text), replace(passage, text=span.of(passage.text))


def _confirms(evidence: Evidence) -> bool:
    return bool(evidence.stance and evidence.stance[0])


def _in_documents(
    pairs: Sequence[tuple[Reading, Passage]], found: Sequence[Evidence]
) -> list[Evidence]:
    """Decide each pair with the texts and evidence of all passages of its document."""
    keys = [(reading.text, passage.doc_id) for reading, passage in pairs]
    texts: dict[tuple[str, str], dict[str, None]] = {}  # each once: passages may share a page
    of_document: dict[tuple[str, str], list[Evidence]] = {}
    for key, (_, passage), evidence in zip(keys, pairs, found, strict=True):
        texts.setdefault(key, {passage.about: None})[passage.page or passage.text] = None
        of_document.setdefault(key, []).append(evidence)
    return [
        with_stance(key[0], evidence, "\n".join(texts[key]), of_document[key])
        for key, evidence in zip(keys, found, strict=True)
    ]


def _fully_quoted(
    pairs: Sequence[tuple[Reading, Passage]], evidence: Sequence[Evidence]
) -> list[Evidence]:
    """Let no confirmation count that lacks a figure, if another of its document states them all."""
    confirming = {n for n, each in enumerate(evidence) if _confirms(each)}
    lacking = {
        n
        for n in confirming
        if tables.unstated(pairs[n][0].text, f"{evidence[n].passage.about}\n{evidence[n].quoted}")
    }
    exact = {(pairs[n][0], evidence[n].passage.doc_id) for n in confirming - lacking}
    return [
        replace(each, stance=(0.0, 0.0))
        if n in lacking and (pairs[n][0], each.passage.doc_id) in exact
        else each
        for n, each in enumerate(evidence)
    ]


# ── What a passage says of a reading ─────────────────────────────────────────────────────────────


def with_stance(
    reading: str, evidence: Evidence, document: str, of_document: Sequence[Evidence] = ()
) -> Evidence:
    """Return a verifier's evidence with how far it counts for and against a reading.

    A passage that "lacks a detail" has some probability of both, which is evidence of neither. A
    document that does not state a number or date of the reading does not confirm it.

    Args:
        reading: the judged text.
        evidence: what the passage says.
        document: all the text found from the passage's document.
        of_document: the evidence from each passage found in it.
    """
    evidence = aggregation.discard_rebutted(Claim.alone(reading), evidence, document)
    across = not common(reading, document)  # where words tell nothing of the topic
    elsewhere = not across and words.missing_words(reading, document) > ELSEWHERE
    elsewhere = elsewhere or _names_others(reading, document)
    counts = not elsewhere and decide.counts_as_refutation(evidence, of_document)
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


def _names_others(reading: str, document: str) -> bool:
    """Whether a document is about something else: of a reading's names it has none, in any form."""
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

    Two sentences are read as one if each has details that the other lacks (`words.best_quote`): on
    SciFact dev, this confirms five more true claims and no false one. Headings, questions, and
    sentences with another force than the reading are left out.
    """
    text, all_of = passage.text, words.sentences_of(passage.text)
    most = SENTENCES if common(reading, text) else SENTENCES_ACROSS
    spans = [span for span, _ in words.quotable(reading, text)][:most]
    if not spans:  # a title may be the only text
        spans = [span for span in all_of if not is_question(span.of(text))][:SENTENCES]
    both = words.best_quote(reading, text)
    if both and both not in all_of:
        spans.append(both)
    return [span for span in spans if _may_confirm(reading, text, span, all_of)]


def _may_confirm(reading: str, text: str, span: Span, all_spans: Sequence[Span]) -> bool:
    sentence = span.of(text)
    behind = next((each.of(text) for each in all_spans if each.start >= span.end), "")
    same_topic = words.missing_words(reading, sentence) <= confirmation.SAME_TOPIC
    return not (
        _differs_in_negation(reading, sentence)
        or _lacks_a_finding(reading, sentence)
        or weaker(reading, sentence)
        or weaker(reading, f"{sentence} {behind}")
        or (common(reading, text) == "en" and swapped(reading, sentence, text))
        or (same_topic and antonyms.contrasts(reading, sentence))
    )


def near_spans(reading: str, passage: Passage) -> list[Span]:
    """Return sentences, alone and with the next, that have most of a reading's words.

    The title counts. Headings and questions are left out.
    """
    text, about = passage.text, passage.about
    alone = [
        span
        for span in words.sentences_of(text)
        if not words.is_heading(text, span) and not is_question(span.of(text))
    ]
    both = [Span(a.start, b.end) for a, b in pairwise(alone) if "\n\n" not in text[a.end : b.start]]
    near = (
        s for s in (*alone, *both) if words.missing_words(reading, f"{about}\n{s.of(text)}") <= NEAR
    )
    return [*near] if common(reading, text) else []


def _contrary(reading: str, read: Evidence) -> tuple[Witness, ...]:
    """Return what shows that sentences contradict a reading: a rule, or the opposite word.

    Of the opposite word, the sentences must have nearly all else of the reading, its subject in
    full. The network alone counts only of sentences that have all words.
    """
    known = {*words.roots(f"{read.passage.about}\n{read.passage.text}")}
    own, verb = {*words.roots(reading)}, finite_verb(reading)
    subject = {*words.roots(reading[: verb.start])} if verb else own
    by_rule = tuple(each for each in read.witnesses if each.kind is not WitnessKind.NETWORK)
    if tables.unstated(reading, f"{read.passage.about}\n{read.passage.text}") or by_rule:
        return by_rule if decide.refutes(read) else ()
    if own <= known and len(own) >= SHORTEST_QUOTE and decide.refutes(read):
        return read.witnesses
    compares = " than" in reading and " than" in read.passage.text
    for word, opposite in antonyms.contrasts(reading, read.passage.text):
        missing = own - known - {*words.roots(word)}
        reverses = compares or antonyms.reverses_sentence(word)
        if reverses and subject <= known and len(missing) <= _UNSAID * len(own):
            return (Witness(WitnessKind.VALUE, word, opposite, Span(0, len(read.passage.text))),)
    return ()


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
    if supports and not against and _may_confirm(reading, text, whole, [whole]):
        return (min(read.prob_supported, confirmation.MEDIUM), 0.0), ()
    return (0.0, 0.0), ()


def confirm_by_sentence(
    reading: str, evidence: Evidence, margins: Mapping[Span, float]
) -> Evidence:
    """Quote the sentence that states the reading best alone; without one, nothing is confirmed.

    `margins`: by how much the support of each exceeds its refutation.
    """
    text, about = evidence.passage.text, evidence.passage.about
    across = not common(reading, text)  # where words tell nothing of the topic

    def is_near(span: Span) -> bool:  # else 4 wrong quotes, 1 right one for 160 claims
        near = words.missing_words(reading, f"{about}\n{span.of(text)}") <= ELSEWHERE
        return near or across or margins[span] >= CLEARLY

    best = max(filter(is_near, margins), key=lambda span: margins[span], default=None)
    supported, refuted = evidence.stance or (evidence.prob_supported, evidence.prob_refuted)
    if best is None or margins[best] < LEAST_MARGIN:
        best = _quoted_by_model(evidence, margins)
    if best is None:
        return replace(evidence, stance=(0.0, refuted))
    if evidence.prob_supported < CONFIRMED_FROM and not decide.seconding(evidence):
        sure = margins[best] >= PROBABLY and not tables.rows_of(best.of(text))
        supported = min(supported, confirmation.MEDIUM) if sure else 0.0
    elif margins[best] < CLEARLY:
        supported = min(supported, confirmation.STRONG)
    return replace(evidence, stance=(supported, refuted), quote=best)


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
    if _states_nothing(text, quote):
        found = (span for span, share in words.quotable(reading, text) if share > 0)
        quote = next((span for span in found if not _states_nothing(text, span)), None)
    return replace(evidence, quote=quote)


def _states_nothing(text: str, span: Span) -> bool:
    line = span.of(text)
    if "|" in line or any(map(str.isdigit, line)):
        return False
    is_name = all(word[:1].isupper() for word in line.split() if len(word) > 3)
    if n_words(line) < SHORTEST_QUOTE:
        return True
    return (is_name or words.is_heading(text, span)) and not finite_verb(line)


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """DOC = P(first option | I, D) - P(first option | non-I, D), by a language model."""

    calls: Calls
    templates: Templates
    settings: Settings = field(default_factory=Settings)
    on_progress: Progress | None = None  # calls done, total

    def __post_init__(self) -> None:
        n_options, n_labels = len(self.templates.options), len(self.settings.check.answer_labels)
        if n_labels < n_options:
            raise ConfigError(
                f"check.answer_labels has {n_labels} labels; expected {n_options}, one for each "
                "line of options.txt."
            )

    @property
    def fingerprint(self) -> str:
        """The models of both steps, and the source of the probabilities."""
        models = dict.fromkeys(self.calls.model(step).fingerprint for step in (ANALYSE, CHOOSE))
        return f"{' + '.join(models)} by {self.settings.check.probabilities}"

    def judge(self, pairs: Sequence[tuple[Reading, Passage]]) -> list[Evidence | Failed]:
        """Judge the reading and its negation for all pairs, `chat.at_once` at a time."""
        tasks = [
            partial(self._branch, reading, statement, passage)
            for reading, passage in pairs
            for statement in (reading.text, reading.negation)
        ]
        progress = scaled_progress(self.on_progress, 1 + self.settings.check.repetitions)
        branches = iter(run_concurrently(tasks, self.settings.chat.at_once, self.calls, progress))
        return [_combined(next(branches), next(branches), *pair) for pair in pairs]

    def _branch(self, reading: Reading, statement: str, passage: Passage) -> _Branch:
        if not statement:
            return Failed("negation", f"“{reading.text}” has no negation to compare with")
        check, chat = self.settings.check, self.settings.chat
        about = {
            "reading": reading.reading_id,
            "passage": passage.passage_id,
            "statement": statement,
        }
        source = passage.about if check.passage_source else ""
        evidence = f"{source}\n{passage.text}" if source else passage.text
        system, user = self.templates.fill(ANALYSE, statement=statement, evidence_item=evidence)
        max_tokens = chat.tokens_of_steps.get(ANALYSE, ANALYSIS_TOKENS)
        prompt = Prompt(user, system, max_tokens, chat.temperatures_of_steps[ANALYSE], SEED)
        analysis = self.calls.read(ANALYSE, prompt, about, lambda reply: reply.text)
        if isinstance(analysis, Failed):
            return analysis
        choices = [
            self._choice({**about, "repetition": n}, statement, evidence, analysis)
            for n in range(1, check.repetitions + 1)
        ]
        probabilities = [each for each in choices if not isinstance(each, Failed)]
        failures = [each for each in choices if isinstance(each, Failed)]
        too_few = len(probabilities) < _ENOUGH * len(choices)
        if failures and (failures[0].step != "reply" or too_few):
            return failures[0]
        return sum(probabilities) / len(probabilities), analysis

    def _choice(
        self, about: dict[str, object], statement: str, evidence: str, analysis: str
    ) -> float | Failed:
        check, chat = self.settings.check, self.settings.chat
        key = (SEED, about["passage"], statement, about["repetition"])
        digest = hashlib.sha256("\0".join(map(str, key)).encode("utf-8", "replace")).digest()
        # The order is derived from the pair, so that repeating a question gives the same prompt.
        chance = random.Random(int.from_bytes(digest[:8], "big"))  # noqa: S311 - not a secret
        n_options = len(self.templates.options)
        places = sorted(chance.sample(range(len(check.answer_labels)), n_options))
        labels = [check.answer_labels[place] for place in places]
        order = list(range(n_options))
        chance.shuffle(order)
        options = [
            f"{label}{check.label_delimiter} {self.templates.options[n]}"
            for label, n in zip(labels, order, strict=True)
        ]
        system, user = self.templates.fill(
            CHOOSE,
            statement=statement,
            evidence_item=evidence,
            analysis=analysis,
            options="\n".join(options),
            labels=", ".join(labels),
        )
        by_logprobs = check.probabilities == "logprobs"
        guidance = guidance_for(check.guidance, labels)
        prompt = Prompt(
            user,
            system,
            chat.tokens_of_steps.get(CHOOSE, CHOICE_TOKENS if guidance else _PROMPTED_TOKENS),
            chat.temperatures_of_steps[CHOOSE],
            chance.randrange(2**31),
            check.top_logprobs if by_logprobs else 0,
            guidance,
        )
        first = labels[order.index(0)]

        def probability(reply: Completion) -> float | None:
            if by_logprobs:
                shares = replies.label_probabilities(reply, labels)
                return shares[first] if shares else None
            label = replies.parse_label(reply.text, labels)
            return None if label is None else float(label == first)

        result = self.calls.read(CHOOSE, prompt, {**about, "first": first}, probability)
        if by_logprobs and isinstance(result, Failed) and result.step == "reply":
            hint = "; the server may send no log probabilities, or the options may have little of "
            hint += 'them: try probabilities = "estimate"'
            return Failed("reply", result.detail + hint)
        return result


def _combined(
    confirming: _Branch | None, denying: _Branch | None, reading: Reading, passage: Passage
) -> Evidence | Failed:
    if confirming is None or denying is None:
        return STOPPED
    if isinstance(confirming, Failed):
        return confirming
    if isinstance(denying, Failed):
        return denying
    # The quote is chosen by rule; quotes by the model are not shown.
    quote = words.best_quote(reading.text, passage.text)
    evidence = confirmation.from_answers(passage, confirming[0], denying[0], quote)
    return replace(evidence, analysis=confirming[1])
