"""How far a passage confirms a reading: a local verifier's answer, or a language model's.

With a model, EvidenceSeeker's steps for the reading and again for its negation:

    (passage, I) ─▶ free analysis ─▶ multiple choice ─▶ P(first option | I, D)

The options stand in random order, so that a liking for "A" does not count as evidence; the order
is drawn from the pair itself, so that the same question is asked the same way again.
"""

import hashlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, TypeAlias

from pincite import containment
from pincite.completions import Completion, Prompt
from pincite.judgement import confirmation
from pincite.judgement.aggregation import sigmoid
from pincite.llm import replies
from pincite.llm.calls import Calls, all_at_once, in_calls
from pincite.llm.chat import GuidanceKind, guidance_for
from pincite.llm.templates import Templates
from pincite.protocols import Floats, Verifier
from pincite.settings import Probabilities
from pincite.text import words
from pincite.types import Claim, Evidence, Failed, Passage
from pincite.verbs.check.records import Reading

FEW_REPETITIONS = 30  # for `estimate`: EvidenceSeeker's guide asks for at least as many
ANALYSIS_TOKENS, CHOICE_TOKENS = 500, 60
_CHUNK = 16  # pairs between two looks at the keyboard: a second of a verifier on two cores
_ENOUGH = 0.5  # of the repetitions must be readable
_PROMPTED_TOKENS = 260  # of a choice where nothing keeps a model from explaining itself

_Branch: TypeAlias = tuple[float, str] | Failed  # P(first option), the analysis


class SentenceReader(Protocol):
    """What a `Verifier` of one's own can say of a sentence beside its evidence."""

    def log_odds(self, pairs: Sequence[tuple[Claim, Passage]]) -> Floats:
        """(n_pairs, 2): of support, and of refuted against neutral."""
        ...


@dataclass(frozen=True, slots=True)
class VerifierJudge:
    """DOC = supported - refuted, by a local verifier; the negation is not asked for.

    What confirms is read again, a sentence at a time (`confirmation.borne_out`): by `reader`, or by
    the verifier where there is none.
    """

    verifier: Verifier
    reader: SentenceReader | None = None
    language: str = "en"
    tell: Callable[[int, int], None] | None = None

    @property
    def fingerprint(self) -> str:
        """The verifier's."""
        return self.verifier.fingerprint

    def judge(self, pairs: Sequence[tuple[Reading, Passage]]) -> list[Evidence | Failed]:
        """Each pair's evidence, decided together with what was found of the same document."""
        found: list[Evidence] = []
        try:
            for start in range(0, len(pairs), _CHUNK):
                found += self._evidence(pairs[start : start + _CHUNK])
                if self.tell:
                    self.tell(len(found), len(pairs))
            outcomes = [confirmation.decided(*each) for each in _of_documents(pairs, found)]
            borne_out = self._borne_out([reading.text for reading, _ in pairs], outcomes)
            return [containment.failure(each) or each for each in borne_out]
        except KeyboardInterrupt:
            return [Failed("stopped", "the run was stopped") for _ in pairs]

    def _evidence(self, pairs: Sequence[tuple[Reading, Passage]]) -> list[Evidence]:
        return self.verifier.verify([(Claim.alone(r.text), passage) for r, passage in pairs])

    def _borne_out(self, readings: Sequence[str], found: Sequence[Evidence]) -> Iterator[Evidence]:
        """The evidence; what confirms quotes a sentence that does so alone, or is neutral."""
        spans = [
            confirmation.readable_alone(reading, evidence.passage)
            if evidence.prob_supported
            else []
            for reading, evidence in zip(readings, found, strict=True)
        ]
        asked = [
            (Claim.alone(reading), replace(evidence.passage, text=span.of(evidence.passage.text)))
            for reading, evidence, of_one in zip(readings, found, spans, strict=True)
            for span in of_one
        ]
        answers = iter(self._alone(asked))
        for evidence, of_one in zip(found, spans, strict=True):
            alone = [confirmation.ReadAlone(span, *next(answers)) for span in of_one]
            yield confirmation.borne_out(evidence, alone) if evidence.prob_supported else evidence

    def _alone(self, asked: Sequence[tuple[Claim, Passage]]) -> list[tuple[float, float]]:
        """How likely each sentence supports its reading, and refutes it."""
        if self.reader is None:
            found = self.verifier.verify(asked)
            return [(each.prob_supported, each.prob_refuted) for each in found]
        odds = ((sigmoid(a), sigmoid(b)) for a, b in self.reader.log_odds(asked).tolist())
        return [(supported, (1 - supported) * refuted) for supported, refuted in odds]


def _of_documents(
    pairs: Sequence[tuple[Reading, Passage]], found: Sequence[Evidence]
) -> list[tuple[str, Evidence, str, list[Evidence]]]:
    """The reading, what the passage says, and what was found of its document and says of it."""
    keys = [(reading.text, passage.doc_id) for reading, passage in pairs]
    texts: dict[tuple[str, str], list[str]] = {}
    says: dict[tuple[str, str], list[Evidence]] = {}
    for key, (_, passage) in zip(keys, pairs, strict=True):
        texts.setdefault(key, [passage.about]).append(passage.text)
    for key, evidence in zip(keys, found, strict=True):
        says.setdefault(key, []).append(evidence)
    return [
        (key[0], evidence, "\n".join(texts[key]), says[key])
        for key, evidence in zip(keys, found, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked for a choice; the settings of EvidenceSeeker's confirmation analyser."""

    probabilities: Probabilities = "logprobs"
    guidance: GuidanceKind = "json"
    repetitions: int = 1  # of the multiple choice, each with its own order
    labels: tuple[str, ...] = ("A", "B", "C")  # as many as there are options are drawn
    delimiter: str = "."  # between a label and its option
    with_source: bool = True  # title, author and year stand before a passage
    top_logprobs: int = 5
    temperature: float = 0.2
    at_once: int = 16
    seed: int = 13
    tokens: Mapping[str, int] = field(default_factory=dict)  # by step: other limits of the reply


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """DOC = P(first option | I, D) - P(first option | non-I, D), by a language model."""

    calls: Calls
    templates: Templates
    how: Asking = field(default_factory=Asking)
    tell: Callable[[int, int], None] | None = None  # how many calls of how many are done

    @property
    def fingerprint(self) -> str:
        """The models' of both steps, and where the probabilities come from."""
        steps = ("freetext_confirmation_analysis", "multiple_choice_confirmation_analysis")
        models = dict.fromkeys(self.calls.model(step).fingerprint for step in steps)
        return f"{' + '.join(models)} by {self.how.probabilities}"

    def judge(self, pairs: Sequence[tuple[Reading, Passage]]) -> list[Evidence | Failed]:
        """Both branches of all pairs, as many at once as `how.at_once` says."""
        branches = [
            (reading, statement, passage)
            for reading, passage in pairs
            for statement in (reading.text, reading.negation)
        ]
        asking = [partial(self._branch, *branch) for branch in branches]
        tell = in_calls(self.tell, 1 + self.how.repetitions)
        answers = iter(all_at_once(asking, self.how.at_once, self.calls, tell))
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
        """P(first option) of one multiple choice."""
        step = "multiple_choice_confirmation_analysis"
        seed = _seed(self.how.seed, about["passage"], statement, about["repetition"])
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
    """As many labels in their order, and the numbers of the options that they stand for.

    The labels themselves keep their order, since a list from C to A would be odd to read; which
    option has which is random all the same.
    """
    places = sorted(chance.sample(range(len(labels)), n_options))
    order = list(range(n_options))
    chance.shuffle(order)
    return [labels[place] for place in places], order


def _seed(*parts: object) -> int:
    content = "\0".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(content.encode("utf-8", "replace")).digest()[:8], "big")


def _joined(
    of_reading: _Branch | None, of_negation: _Branch | None, reading: Reading, passage: Passage
) -> Evidence | Failed:
    for branch in (of_reading, of_negation):
        if branch is None:
            return Failed("stopped", "the run was stopped")
        if isinstance(branch, Failed):
            return branch
    assert isinstance(of_reading, tuple)
    assert isinstance(of_negation, tuple)
    # The quote is found by a program in the passage's own text; what a model quotes is not shown.
    quote = words.best_quote(reading.text, passage.text)
    found = confirmation.from_answers(passage, of_reading[0], of_negation[0], quote)
    return replace(found, analysis=of_reading[1])
