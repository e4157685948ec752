"""How far a passage confirms a reading: by a local verifier, or by a language model.

A model takes EvidenceSeeker's steps, for the reading and again for its negation:

    (passage, I) ─▶ free analysis ─▶ multiple choice ─▶ P(first option | I, D)
"""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from pincite.completions import Completion, Prompt
from pincite.errors import ConfigError
from pincite.judgement import confirmation
from pincite.llm import replies
from pincite.llm.calls import Calls, Progress, run_concurrently, scaled_progress
from pincite.llm.chat import guidance_for
from pincite.llm.templates import Templates
from pincite.models.routing import RoutedVerifier
from pincite.protocols import Verifier
from pincite.settings import Settings
from pincite.text import tables, words
from pincite.text.languages import common
from pincite.types import STOPPED, Claim, Evidence, Failed, Passage, sigmoid
from pincite.verbs.check.parts import parts
from pincite.verbs.check.report import Reading

ANALYSE, CHOOSE = "freetext_confirmation_analysis", "multiple_choice_confirmation_analysis"
FEW_REPETITIONS = 30  # for `estimate`: EvidenceSeeker's guide recommends at least this many
SEED = 13
ANALYSIS_TOKENS, CHOICE_TOKENS = 500, 60
_CHUNK = 16  # pairs between two checks for Ctrl-C: about a second of verifier time on two cores
_ENOUGH = 0.5  # share of the repetitions that must be readable
_PROMPTED_TOKENS = 260  # for a choice if nothing prevents the model from explaining itself

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
            borne_out = self._borne_out(pairs, _decided(pairs, evidence))
        except KeyboardInterrupt:
            return [STOPPED] * len(pairs)
        whole = _fully_quoted(pairs, borne_out)
        return [each.failed or each for each in whole]

    def _borne_out(
        self, pairs: Sequence[tuple[Reading, Passage]], evidence: Sequence[Evidence]
    ) -> list[Evidence]:
        """Let no confirmation count that cannot quote a sentence which confirms alone."""
        spans = [
            confirmation.candidate_sentences(reading.text, each.passage) if _confirms(each) else []
            for (reading, _), each in zip(pairs, evidence, strict=True)
        ]
        alone = [
            (Claim.alone(reading.text), replace(passage, text=span.of(passage.text)))
            for (reading, passage), of_one in zip(pairs, spans, strict=True)
            for span in of_one
        ]
        shares = iter(self._shares(alone))
        return [
            confirmation.confirm_by_sentence(
                reading.text,
                each,
                [confirmation.SentenceScore(span, *next(shares)) for span in of_one],
            )
            if _confirms(each)
            else each
            for (reading, _), each, of_one in zip(pairs, evidence, spans, strict=True)
        ]

    def _shares(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[tuple[float, float]]:
        if self.reader is None:
            evidence = self.verifier.verify(pairs)
            return [(each.prob_supported, each.prob_refuted) for each in evidence]
        odds = ((sigmoid(a), sigmoid(b)) for a, b in self.reader.log_odds(pairs).tolist())
        return [(supported, (1 - supported) * refuted) for supported, refuted in odds]


def _confirms(evidence: Evidence) -> bool:
    return bool(evidence.stance and evidence.stance[0])


def _fully_quoted(
    pairs: Sequence[tuple[Reading, Passage]], evidence: Sequence[Evidence]
) -> list[Evidence]:
    """Let no confirmation count whose quote says nothing of a part that is not confirmed.

    "The debt has doubled, and rents have risen" is not confirmed by "Rents have risen". If a quote
    states all figures, others of the document that lack one do not count.
    """
    confirmed = {
        words.roots(reading.text)
        for (reading, _), each in zip(pairs, evidence, strict=True)
        if _confirms(each)
    }

    def lacks_a_part(reading: str, quote: str) -> bool:
        pieces = [words.roots(piece) for piece in parts(reading)] if common(reading, quote) else []
        unshown = (piece for piece in pieces if len(pieces) > 1 and piece not in confirmed)
        own = ({*p}.difference(*(other for other in pieces if other is not p)) for p in unshown)
        return any(each and each.isdisjoint(words.roots(quote)) for each in own)

    def lacks_a_figure(reading: str, found: Evidence) -> bool:
        return bool(tables.unstated(reading, f"{found.passage.about}\n{found.quoted}"))

    exact = {
        (reading, each.passage.doc_id)
        for (reading, _), each in zip(pairs, evidence, strict=True)
        if _confirms(each) and not lacks_a_figure(reading.text, each)
    }
    return [
        replace(each, stance=(0.0, 0.0))
        if _confirms(each)
        and (
            lacks_a_part(reading.text, each.quoted)
            or ((reading, each.passage.doc_id) in exact and lacks_a_figure(reading.text, each))
        )
        else each
        for (reading, _), each in zip(pairs, evidence, strict=True)
    ]


def _decided(pairs: Sequence[tuple[Reading, Passage]], found: Sequence[Evidence]) -> list[Evidence]:
    """Decide each pair with the texts and evidence of all passages of its document."""
    keys = [(reading.text, passage.doc_id) for reading, passage in pairs]
    texts: dict[tuple[str, str], dict[str, None]] = {}  # each once: passages may share a page
    of_document: dict[tuple[str, str], list[Evidence]] = {}
    for key, (_, passage), evidence in zip(keys, pairs, found, strict=True):
        texts.setdefault(key, {passage.about: None})[passage.page or passage.text] = None
        of_document.setdefault(key, []).append(evidence)
    return [
        confirmation.with_stance(key[0], evidence, "\n".join(texts[key]), of_document[key])
        for key, evidence in zip(keys, found, strict=True)
    ]


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
