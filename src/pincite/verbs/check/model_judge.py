"""How far a passage confirms a reading, by a language model.

It takes EvidenceSeeker's steps, for the reading and again for its negation:

    (passage, I) ─▶ free analysis ─▶ multiple choice ─▶ P(first option | I, D)
"""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from pincite.errors import ConfigError
from pincite.judgement import confirmation
from pincite.llm import templates
from pincite.llm.calls import Calls, Progress, run_concurrently, scaled_progress
from pincite.llm.chat import guidance_for
from pincite.llm.templates import Templates
from pincite.protocols import Completion, Prompt
from pincite.settings import Settings
from pincite.text import words
from pincite.types import STOPPED, Evidence, Failed, Passage
from pincite.verbs.check.report import Reading

ANALYSE, CHOOSE = "freetext_confirmation_analysis", "multiple_choice_confirmation_analysis"
FEW_REPETITIONS = 30  # for `estimate`: EvidenceSeeker's guide recommends at least this many
SEED = 13
ANALYSIS_TOKENS, CHOICE_TOKENS = 500, 60
_ENOUGH = 0.5  # share of the repetitions that must be readable
_PROMPTED_TOKENS = 260  # for a choice if nothing prevents the model from explaining itself

_Branch: TypeAlias = tuple[float, str] | Failed  # P(first option), the analysis


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
        return [_combine(next(branches), next(branches), *pair) for pair in pairs]

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
            self._choose({**about, "repetition": n}, statement, evidence, analysis)
            for n in range(1, check.repetitions + 1)
        ]
        probabilities = [choice for choice in choices if not isinstance(choice, Failed)]
        failures = [choice for choice in choices if isinstance(choice, Failed)]
        too_few = len(probabilities) < _ENOUGH * len(choices)
        if failures and (failures[0].step != "reply" or too_few):
            return failures[0]
        return sum(probabilities) / len(probabilities), analysis

    def _choose(
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
                shares = templates.label_probabilities(reply, labels)
                return shares[first] if shares else None
            label = templates.parse_label(reply.text, labels)
            return None if label is None else float(label == first)

        result = self.calls.read(CHOOSE, prompt, {**about, "first": first}, probability)
        if by_logprobs and isinstance(result, Failed) and result.step == "reply":
            hint = "; the server may send no log probabilities, or the options may have little of "
            hint += 'them: try probabilities = "estimate"'
            return Failed("reply", result.detail + hint)
        return result


def _combine(
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
