"""The readings of a statement, by rules (English, German) or with a language model.

The rules find the statement itself and its `parts`: what it ascribes to a speaker, what it values,
and the statements that it joins. A model takes EvidenceSeeker's steps for descriptive, ascriptive
and normative readings:

    statement ─▶ free analysis ─▶ list ─▶ negation of each reading
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from pincite.judgement.confirmation import ReadingOrigin
from pincite.llm import templates
from pincite.llm.calls import Calls, Progress, run_concurrently, scaled_progress
from pincite.llm.templates import Templates
from pincite.protocols import Completion, Guidance, Prompt
from pincite.settings import Settings
from pincite.text import words_of
from pincite.text.finite import finite_verb
from pincite.text.german import main_clause
from pincite.text.languages import FUNCTION_WORDS, identify
from pincite.text.sentences import sentences
from pincite.types import STOPPED, Failed, StatementType
from pincite.verbs.check import kinds
from pincite.verbs.check.parts import conjuncts, parts
from pincite.verbs.check.report import Interpretation, Reading
from pincite.verbs.check.spoken import UNKNOWN, Occasion, alone, without_tag

_TAG = re.compile(r"[,.]?[”\"“],? (?:she|he|they) \w+\Z")
DEEPEST = 3  # an ascription of a valuation of two statements
_QUESTION = "no reading: this is a question; rephrase it as a statement"
_NO_READING = "no reading: this says nothing that can be true or false; write it as a statement"
_UNREAD = "what is reported is not judged by itself; write it as a statement of its own"


def interpret_by_rules(
    statement: str, language: str = "en", occasion: Occasion = UNKNOWN
) -> Interpretation:
    if language == "en" and _is_german(statement):
        language = "de"
    statement = without_tag(statement) if language == "en" else statement
    if is_question(statement):
        return Interpretation((), "rules", (Failed("statement", _QUESTION),))
    result = readings(statement, language, occasion)
    ascriptions = (kinds.ascription(reading.text, language) for reading in result)
    why = "" if result else _NO_READING
    if any(said and said.unread for said in ascriptions):
        why = _UNREAD
    return Interpretation(tuple(result), "rules", (Failed("statement", why),) if why else ())


def _is_german(text: str) -> bool:
    """Whether a text is German by its small words, or by its order where these are too few."""
    known, english = identify(text), words_of("words", "function") - FUNCTION_WORDS["de"]
    maybe = known is None and english.isdisjoint(text.lower().split()) and not finite_verb(text)
    return known == "de" or bool(maybe and main_clause(text))


def readings(statement: str, language: str = "en", occasion: Occasion = UNKNOWN) -> list[Reading]:
    """Return the statement itself, then the readings that rules find in it.

    >>> [(str(r.kind), r.text) for r in readings("Holm says that the mill closed.")]
    [('ascriptive', 'Holm says that the mill closed.'), ('descriptive', 'the mill closed')]
    """
    speaker, text = kinds.without_speaker(" ".join(statement.split()))
    if not kinds.WORD.search(text):
        return []
    lacks: tuple[str, ...] = ()
    if language == "en":
        text, lacks = alone(text, replace(occasion, speaker=occasion.speaker or speaker))
    texts = [text]
    for part in _unfold(text, language, DEEPEST):
        opening = part.lstrip(kinds.MARKS)[:20]
        is_quoted = any(f"{mark}{opening}" in text for mark in '“"„')
        texts.append(_as_sentence(part) if is_quoted else part)
    unnumbered = list[Reading]()
    for part in texts:
        kind, negation = kinds.kind_of(part, language), kinds.negation(part, language)
        joins = tuple(conjuncts(part, language))
        origin: ReadingOrigin = "rule" if unnumbered else "statement"
        unnumbered.append(Reading("", part, kind, negation, origin, joins, lacks))
    return with_ids(unnumbered)


def _as_sentence(quoted: str) -> str:
    """Return what was cut from a quotation, with a capital and a full stop."""
    text = _TAG.sub("", quoted.lstrip('“"„ ')).rstrip(" ,;:")
    stop = "" if text.endswith((".", "!", "?", "”", '"')) else "."
    return f"{text[:1].upper()}{text[1:]}{stop}"


def _unfold(text: str, language: str, depth: int) -> list[str]:
    """Return the parts of a text, each followed by its own parts."""
    inside = parts(text, language) if depth else []
    return [text for part in inside for text in (part, *_unfold(part, language, depth - 1))]


def is_question(text: str) -> bool:
    """Whether a text is a single sentence that ends in a question mark."""
    text = text.rstrip(kinds.MARKS)
    return text.endswith("?") and len(text) <= kinds.LONGEST and len(sentences(text)) == 1


def with_ids(candidates: Iterable[Reading]) -> list[Reading]:
    """Drop duplicates and assign the ids "r1", "r2", …."""
    distinct: dict[tuple[str, str], Reading] = {}
    for reading in candidates:
        distinct.setdefault((reading.text.strip(kinds.MARKS).casefold(), reading.kind), reading)
    return [replace(reading, reading_id=f"r{n}") for n, reading in enumerate(distinct.values(), 1)]


def user_reading(text: str, language: str = "en", kind: StatementType | None = None) -> Reading:
    """Make a reading worded by the user; its kind is found by rules unless given."""
    text = " ".join(text.split())
    kind = kind or kinds.kind_of(text, language)
    return Reading("", text, kind, kinds.negation(text, language), "user")


# ── By a language model ──────────────────────────────────────────────────────────────────────────

MOST_READINGS = 20  # per statement; each costs up to 2·k·(1 + repetitions) calls
ANALYSIS_TOKENS, LIST_TOKENS, NEGATION_TOKENS = 700, 500, 200
_CLAIMS = (
    '{"type":"object","properties":{"claims":{"type":"array","items":{"type":"string"}}},'
    '"required":["claims"],"additionalProperties":false}'
)
_NEGATION = (
    '{"type":"object","properties":{"negation":{"type":"string"}},'
    '"required":["negation"],"additionalProperties":false}'
)


@dataclass(frozen=True, slots=True)
class ModelInterpreter:
    """EvidenceSeeker's preprocessor."""

    calls: Calls
    templates: Templates
    settings: Settings = field(default_factory=Settings)
    on_progress: Progress | None = None  # calls done, total

    @property
    def fingerprint(self) -> str:
        steps = ("freetext_descriptive_analysis", "list_descriptive_statements", "negate_claim")
        return " + ".join(dict.fromkeys(self.calls.model(step).fingerprint for step in steps))

    def interpret(self, statement: str) -> Interpretation:
        """Return the model's readings with their negations; the rules' if it gave none."""
        at_once, language = self.settings.chat.at_once, self.settings.language
        tasks = [partial(self._list_readings, statement, kind) for kind in StatementType]
        lists = run_concurrently(tasks, at_once, self.calls, scaled_progress(self.on_progress, 2))
        readings_listed, failures = list[Reading](), list[Failed]()
        for kind, texts in zip(StatementType, lists, strict=True):
            if isinstance(texts, list):
                readings_listed += [Reading("", text, kind, "", "model") for text in texts]
            else:
                failures.append(texts or STOPPED)
        distinct, by = with_ids(readings_listed), self.fingerprint
        if not distinct:
            distinct, by = readings(statement, language), "rules"
        if len(distinct) > MOST_READINGS:
            cut = f"the first {MOST_READINGS} of {len(distinct)} readings are kept"
            failures.append(Failed("budget", cut))
        result = list[Reading]()
        denials = [partial(self._negate, reading) for reading in distinct[:MOST_READINGS]]
        negations = run_concurrently(denials, at_once, self.calls, self.on_progress)
        for reading, answer in zip(distinct, negations, strict=False):
            if not isinstance(answer, str):
                why = (answer or STOPPED).detail
                failures.append(Failed("negation", f"negation of “{reading.text}” by rule: {why}"))
                answer = reading.negation or kinds.negation(reading.text, language)
            result.append(replace(reading, negation=answer))
        return Interpretation(tuple(result), by, tuple(failures))

    def _list_readings(self, text: str, kind: StatementType) -> list[str] | Failed:
        about = {"statement": text, "type": str(kind)}
        step = f"freetext_{kind}_analysis"
        prompt = self._prompt(step, ANALYSIS_TOKENS, claim=text)
        analysis = self.calls.read(step, prompt, about, lambda reply: reply.text)
        if isinstance(analysis, Failed):
            return analysis
        step = f"list_{kind}_statements"
        values = {"claim": text, f"{kind}_analysis": analysis}
        prompt = self._prompt(step, LIST_TOKENS, _CLAIMS, **values)
        return self.calls.read(step, prompt, about, lambda reply: templates.parse_list(reply.text))

    def _negate(self, reading: Reading) -> str | Failed:
        # A user's prompt states how it wants the answer; EvidenceSeeker's wants plain text.
        schema = "" if "negate_claim" in self.templates.own else _NEGATION
        prompt = self._prompt("negate_claim", NEGATION_TOKENS, schema, statement=reading.text)

        def read(reply: Completion) -> str | None:
            text = templates.parse_statement(reply.text, "negation", plain=not schema)
            return None if text is None or text.casefold() == reading.text.casefold() else text

        return self.calls.read("negate_claim", prompt, {"reading": reading.text}, read)

    def _prompt(self, step: str, max_tokens: int, schema: str = "", **values: str) -> Prompt:
        chat, check = self.settings.chat, self.settings.check
        system, user = self.templates.fill(step, **values)
        guided = schema and (check.guidance != "prompted" or check.schema_for_lists)
        return Prompt(
            user,
            system,
            chat.tokens_of_steps.get(step, max_tokens),
            chat.temperatures_of_steps[step],
            guidance=Guidance("json", schema) if guided else None,
        )
