"""What a statement may mean: by rules, or by EvidenceSeeker's steps with a language model.

    statement ─▶ free analysis ─▶ list, for each of the three types at once ─▶ negation of each

A step that fails is told of and costs its readings alone; where a model finds none at all, the
rules' readings stand in, and the result says so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from pincite.completions import Guidance, Prompt
from pincite.judgement.confirmation import StatementType
from pincite.llm import replies
from pincite.llm.calls import Calls, all_at_once, in_calls
from pincite.llm.templates import Templates
from pincite.text.words import looks_german
from pincite.types import Failed
from pincite.verbs.check import readings
from pincite.verbs.check.records import Interpretation, Reading

_NO_READING = "no reading: this says nothing that could be so or not; write it as a statement"
MOST_READINGS = 20  # of one statement; each costs up to 2·k·(1 + repetitions) calls
ANALYSIS_TOKENS, LIST_TOKENS, NEGATION_TOKENS = 700, 500, 200
CLAIMS = '{"type":"object","properties":{"claims":{"type":"array","items":{"type":"string"}}},'
CLAIMS += '"required":["claims"],"additionalProperties":false}'
NEGATION = '{"type":"object","properties":{"negation":{"type":"string"}},'
NEGATION += '"required":["negation"],"additionalProperties":false}'


@dataclass(frozen=True, slots=True)
class RuleInterpreter:
    """Readings by rule, without a model."""

    language: str = "en"
    fingerprint: str = "rules"

    def interpret(self, statements: Sequence[str]) -> list[Interpretation]:
        """The statement itself first, then what rules find in it; none of a question."""
        return [self._interpretation(text) for text in statements]

    def _interpretation(self, text: str) -> Interpretation:
        german = self.language == "en" and looks_german(text)
        language = "de" if german else self.language
        found = () if readings.is_question(text) else readings.readings(text, language)
        failures = () if found else (Failed("statement", _NO_READING),)
        return Interpretation(tuple(found), self.fingerprint, failures)


@dataclass(frozen=True, slots=True)
class ModelInterpreter:
    """EvidenceSeeker's preprocessor."""

    calls: Calls
    templates: Templates
    language: str = "en"
    guided: bool = True  # whether the lists are asked for with a JSON Schema
    temperature: float = 0.2
    at_once: int = 16
    tokens: Mapping[str, int] = field(default_factory=dict)  # by step: other limits of the reply
    tell: Callable[[int, int], None] | None = None  # how many calls of how many are done

    @property
    def fingerprint(self) -> str:
        """The models' of the steps."""
        steps = ("freetext_descriptive_analysis", "list_descriptive_statements", "negate_claim")
        return " + ".join(dict.fromkeys(self.calls.model(step).fingerprint for step in steps))

    def interpret(self, statements: Sequence[str]) -> list[Interpretation]:
        """The readings of all statements, asked for at once."""
        asked = [(text, kind) for text in statements for kind in StatementType]
        finding = [partial(self._found, text, kind) for text, kind in asked]
        answers = all_at_once(finding, self.at_once, self.calls, in_calls(self.tell, 2))
        lists = dict(zip(asked, answers, strict=True))
        found = [self._of_types(text, lists) for text in statements]
        flat = [reading for of_text in found for reading in of_text.readings]
        denying = [partial(self._denied, reading) for reading in flat]
        denied = iter(all_at_once(denying, self.at_once, self.calls, self.tell))
        return [
            self._with_negations(of_text, [next(denied) for _ in of_text.readings])
            for of_text in found
        ]

    def _found(self, text: str, kind: StatementType) -> list[str] | Failed:
        about = {"statement": text, "type": str(kind)}
        step = f"freetext_{kind}_analysis"
        prompt = self._prompt(step, ANALYSIS_TOKENS, claim=text)
        analysis = self.calls.read(step, prompt, about, lambda reply: reply.text)
        if isinstance(analysis, Failed):
            return analysis
        step = f"list_{kind}_statements"
        prompt = self._prompt(step, LIST_TOKENS, claim=text, **{f"{kind}_analysis": analysis})
        prompt = replace(prompt, guidance=Guidance("json", CLAIMS) if self.guided else None)
        return self.calls.read(step, prompt, about, lambda reply: replies.listed(reply.text))

    def _denied(self, reading: Reading) -> Reading | Failed:
        prompt = self._prompt("negate_claim", NEGATION_TOKENS, statement=reading.text)
        # A prompt of the user's says itself how it wants the answer; EvidenceSeeker's: plain text.
        guided = self.guided and "negate_claim" not in self.templates.own
        prompt = replace(prompt, guidance=Guidance("json", NEGATION) if guided else None)

        def read(text: str) -> str | None:
            said = replies.statement_in(text, "negation")
            return None if said is None or said.casefold() == reading.text.casefold() else said

        about = {"reading": reading.text}
        said = self.calls.read("negate_claim", prompt, about, lambda reply: read(reply.text))
        return said if isinstance(said, Failed) else replace(reading, negation=said)

    def _of_types(
        self, text: str, lists: dict[tuple[str, StatementType], list[str] | Failed | None]
    ) -> Interpretation:
        """The readings of a statement, of all types; the rules' where a model found none."""
        found, failures = [], []
        for kind in StatementType:
            listed = lists[text, kind]
            if isinstance(listed, list):
                found += [Reading("", each, kind, "", "model") for each in listed]
            else:
                failures.append(listed or Failed("stopped", "the run was stopped"))
        kept = readings.numbered(found)
        if not kept:
            by_rule = tuple(readings.readings(text, self.language))
            return Interpretation(by_rule, "rules", tuple(failures))
        if len(kept) > MOST_READINGS:
            left = f"the first {MOST_READINGS} of {len(kept)} readings are kept: more is no reading"
            failures.append(Failed("budget", left))
        return Interpretation(tuple(kept[:MOST_READINGS]), self.fingerprint, tuple(failures))

    def _with_negations(
        self, found: Interpretation, denied: Sequence[Reading | Failed | None]
    ) -> Interpretation:
        """The model's negations; the rules' where it gave none, which is told of."""
        kept, failures = [], [*found.failures]
        for reading, answer in zip(found.readings, denied, strict=True):
            if isinstance(answer, Reading):
                kept.append(answer)
                continue
            why = answer.detail if answer else "the run was stopped"
            failures.append(Failed("negation", f"negation of “{reading.text}” by rule: {why}"))
            by_rule = readings.negation(reading.text, self.language)
            kept.append(replace(reading, negation=reading.negation or by_rule))
        return replace(found, readings=tuple(kept), failures=tuple(failures))

    def _prompt(self, step: str, max_tokens: int, **values: str) -> Prompt:
        system, user = self.templates.filled(step, **values)
        return Prompt(user, system, self.tokens.get(step, max_tokens), self.temperature)


Interpreter: TypeAlias = RuleInterpreter | ModelInterpreter
