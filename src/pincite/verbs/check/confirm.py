"""How far a passage confirms a reading: by a local verifier, or by a language model.

A model takes EvidenceSeeker's steps, for the reading and again for its negation:

    (passage, I) ─▶ free analysis ─▶ multiple choice ─▶ P(first option | I, D)

The options are shuffled, so that a preference for "A" is not evidence. The order is derived from
the pair, so that repeating a question gives the same prompt.
"""

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, TypeAlias

from pincite import containment
from pincite.completions import Completion, Prompt
from pincite.judgement import confirmation
from pincite.llm import replies
from pincite.llm.calls import Calls, all_at_once, in_calls
from pincite.llm.chat import GuidanceKind, guidance_for
from pincite.llm.templates import Templates
from pincite.protocols import Floats, Verifier
from pincite.settings import Probabilities
from pincite.text import words
from pincite.types import Claim, Evidence, Failed, Passage, sigmoid
from pincite.verbs.check.report import STOPPED, Reading

FEW_REPETITIONS = 30  # for `estimate`: EvidenceSeeker's guide recommends at least this many
ANALYSIS_TOKENS, CHOICE_TOKENS = 500, 60
_CHUNK = 16  # pairs between two checks for Ctrl-C: about a second of verifier time on two cores
_ENOUGH = 0.5  # share of the repetitions that must be readable
_PROMPTED_TOKENS = 260  # for a choice if nothing prevents the model from explaining itself

_Branch: TypeAlias = tuple[float, str] | Failed  # P(first option), the analysis


class SentenceReader(Protocol):
    """What the local verifier offers besides evidence."""

    def log_odds(self, pairs: Sequence[tuple[Claim, Passage]]) -> Floats:
        """(n_pairs, 2): of support, and of refuted against neutral."""
        ...


@dataclass(frozen=True, slots=True)
class VerifierJudge:
    """DOC = supported - refuted, by a local verifier; the negation is not judged.

    A passage that confirms is judged again sentence by sentence (`confirmation.borne_out`), by
    `reader` if there is one, else by the verifier.
    """

    verifier: Verifier
    reader: SentenceReader | None = None
    on_progress: Callable[[int, int], None] | None = None

    @property
    def fingerprint(self) -> str:
        return self.verifier.fingerprint

    def judge(self, pairs: Sequence[tuple[Reading, Passage]]) -> list[Evidence | Failed]:
        """Judge each pair, taking into account everything found in the same document."""
        found: list[Evidence] = []
        try:
            for start in range(0, len(pairs), _CHUNK):
                chunk = pairs[start : start + _CHUNK]
                claims = [(Claim.alone(reading.text), passage) for reading, passage in chunk]
                found += self.verifier.verify(claims)
                if self.on_progress:
                    self.on_progress(len(found), len(pairs))
            decided = self._borne_out(pairs, _decided(pairs, found))
        except KeyboardInterrupt:
            return [STOPPED] * len(pairs)
        return [containment.failure(each) or each for each in decided]

    def _borne_out(
        self, pairs: Sequence[tuple[Reading, Passage]], found: Sequence[Evidence]
    ) -> list[Evidence]:
        """Make a confirmation neutral unless it can quote a sentence that confirms alone."""
        spans = [
            confirmation.readable_alone(reading.text, each.passage) if each.prob_supported else []
            for (reading, _), each in zip(pairs, found, strict=True)
        ]
        alone = [
            (Claim.alone(reading.text), replace(passage, text=span.of(passage.text)))
            for (reading, passage), of_one in zip(pairs, spans, strict=True)
            for span in of_one
        ]
        shares = iter(self._shares(alone))
        return [
            confirmation.borne_out(
                each, [confirmation.ReadAlone(span, *next(shares)) for span in of_one]
            )
            if each.prob_supported
            else each
            for each, of_one in zip(found, spans, strict=True)
        ]

    def _shares(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[tuple[float, float]]:
        if self.reader is None:
            found = self.verifier.verify(pairs)
            return [(each.prob_supported, each.prob_refuted) for each in found]
        odds = ((sigmoid(a), sigmoid(b)) for a, b in self.reader.log_odds(pairs).tolist())
        return [(supported, (1 - supported) * refuted) for supported, refuted in odds]


def _decided(pairs: Sequence[tuple[Reading, Passage]], found: Sequence[Evidence]) -> list[Evidence]:
    """Decide each pair with the texts and evidence of all passages of its document."""
    keys = [(reading.text, passage.doc_id) for reading, passage in pairs]
    texts: dict[tuple[str, str], list[str]] = {}
    of_document: dict[tuple[str, str], list[Evidence]] = {}
    for key, (_, passage), evidence in zip(keys, pairs, found, strict=True):
        texts.setdefault(key, [passage.about]).append(passage.text)
        of_document.setdefault(key, []).append(evidence)
    return [
        confirmation.decided(key[0], evidence, "\n".join(texts[key]), of_document[key])
        for key, evidence in zip(keys, found, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Asking:
    """The settings of EvidenceSeeker's confirmation analyser."""

    probabilities: Probabilities = "logprobs"
    guidance: GuidanceKind = "json"
    repetitions: int = 1  # of the multiple choice, each in its own order
    labels: tuple[str, ...] = ("A", "B", "C")  # as many are drawn as there are options
    delimiter: str = "."  # between a label and its option
    with_source: bool = True  # title, author and year precede a passage
    top_logprobs: int = 5
    temperature: float = 0.2
    at_once: int = 16
    seed: int = 13
    tokens: Mapping[str, int] = field(default_factory=dict)  # reply limits by step


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """DOC = P(first option | I, D) - P(first option | non-I, D), by a language model."""

    calls: Calls
    templates: Templates
    how: Asking = field(default_factory=Asking)
    on_progress: Callable[[int, int], None] | None = None  # calls done, total

    @property
    def fingerprint(self) -> str:
        """The models of both steps, and the source of the probabilities."""
        steps = ("freetext_confirmation_analysis", "multiple_choice_confirmation_analysis")
        models = dict.fromkeys(self.calls.model(step).fingerprint for step in steps)
        return f"{' + '.join(models)} by {self.how.probabilities}"

    def judge(self, pairs: Sequence[tuple[Reading, Passage]]) -> list[Evidence | Failed]:
        """Judge the reading and its negation for all pairs, `how.at_once` at a time."""
        branches = [
            (reading, statement, passage)
            for reading, passage in pairs
            for statement in (reading.text, reading.negation)
        ]
        asking = [partial(self._branch, *branch) for branch in branches]
        progress = in_calls(self.on_progress, 1 + self.how.repetitions)
        answers = iter(all_at_once(asking, self.how.at_once, self.calls, progress))
        return [_joined(next(answers), next(answers), *pair) for pair in pairs]

    def _branch(self, reading: Reading, statement: str, passage: Passage) -> _Branch:
        if not statement:
            return Failed("negation", f"“{reading.text}” has no negation to compare with")
        about = {"reading": reading.reading_id, "passage": passage.passage_id}
        about["statement"] = statement
        about_it = passage.about if self.how.with_source else ""
        shown = f"{about_it}\n{passage.text}" if about_it else passage.text
        step = "freetext_confirmation_analysis"
        system, user = self.templates.filled(step, statement=statement, evidence_item=shown)
        most = self.how.tokens.get(step, ANALYSIS_TOKENS)
        prompt = Prompt(user, system, most, self.how.temperature, self.how.seed)
        analysis = self.calls.read(step, prompt, about, lambda reply: reply.text)
        if isinstance(analysis, Failed):
            return analysis
        shares = [
            self._choice({**about, "repetition": n}, statement, shown, analysis)
            for n in range(1, self.how.repetitions + 1)
        ]
        known = [share for share in shares if not isinstance(share, Failed)]
        failed = [share for share in shares if isinstance(share, Failed)]
        if failed and (failed[0].step != "reply" or len(known) < _ENOUGH * len(shares)):
            return failed[0]
        return sum(known) / len(known), analysis

    def _choice(
        self, about: dict[str, object], statement: str, shown: str, analysis: str
    ) -> float | Failed:
        step = "multiple_choice_confirmation_analysis"
        pair = (self.how.seed, about["passage"], statement, about["repetition"])
        content = "\0".join(map(str, pair)).encode("utf-8", "replace")
        seed = int.from_bytes(hashlib.sha256(content).digest()[:8], "big")
        chance = random.Random(seed)  # noqa: S311 - no secret
        labels, order = drawn(len(self.templates.options), self.how.labels, chance)
        delimiter, wording = self.how.delimiter, self.templates.options
        options = [f"{x}{delimiter} {wording[n]}" for x, n in zip(labels, order, strict=True)]
        system, user = self.templates.filled(
            step,
            statement=statement,
            evidence_item=shown,
            analysis=analysis,
            options="\n".join(options),
            labels=", ".join(labels),
        )
        by_logs = self.how.probabilities == "logprobs"
        guidance = guidance_for(self.how.guidance, labels)
        prompt = Prompt(
            user,
            system,
            self.how.tokens.get(step, CHOICE_TOKENS if guidance else _PROMPTED_TOKENS),
            self.how.temperature,
            chance.randrange(2**31),
            self.how.top_logprobs if by_logs else 0,
            guidance,
        )
        first = labels[order.index(0)]

        def read(reply: Completion) -> float | None:
            if by_logs:
                shares = replies.label_probabilities(reply, labels)
                return shares[first] if shares else None
            chosen = replies.label_in(reply.text, labels)
            return None if chosen is None else float(chosen == first)

        found = self.calls.read(step, prompt, {**about, "first": first}, read)
        if by_logs and isinstance(found, Failed) and found.step == "reply":
            hint = "; the server may send no log probabilities, or the options may have little of "
            hint += 'them: try probabilities = "estimate"'
            return Failed("reply", found.detail + hint)
        return found


def drawn(
    n_options: int, labels: Sequence[str], chance: random.Random
) -> tuple[list[str], list[int]]:
    """Draw `n_options` labels in order, and assign the options to them at random."""
    places = sorted(chance.sample(range(len(labels)), n_options))
    order = list(range(n_options))
    chance.shuffle(order)
    return [labels[place] for place in places], order


def _joined(
    of_reading: _Branch | None, of_negation: _Branch | None, reading: Reading, passage: Passage
) -> Evidence | Failed:
    if of_reading is None or of_negation is None:
        return STOPPED
    if isinstance(of_reading, Failed):
        return of_reading
    if isinstance(of_negation, Failed):
        return of_negation
    # The quote is chosen by rule; quotes by the model are not shown.
    quote = words.best_quote(reading.text, passage.text)
    found = confirmation.from_answers(passage, of_reading[0], of_negation[0], quote)
    return replace(found, analysis=of_reading[1])
