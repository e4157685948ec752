"""A language model as judge: does it find the claim in the sources?

Only verifiable parts of its answer are kept: quotes that occur in a source, and missing words that
occur in the claim. A model is examined before its first opinion; a file keeps the results.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pincite import codec, durable
from pincite.durable import data_path
from pincite.errors import usable
from pincite.judgement import decide
from pincite.llm.calls import Calls, Progress, run_concurrently, tokens_of
from pincite.llm.templates import Templates, fenced_abstract, first_json
from pincite.notes import Note
from pincite.protocols import Completion, Guidance, Prompt, Verifier
from pincite.retrieval import cascade
from pincite.text.languages import identify
from pincite.text.passages import cited_passages
from pincite.text.sentences import SPACELESS, n_words
from pincite.types import (
    NO_TRUST,
    STOPPED,
    Claim,
    Document,
    Evidence,
    Failed,
    Opinion,
    Passage,
    Trust,
    Verdict,
)

STEP = "judge_source"
REPLY_TOKENS = 500
SOURCE_TOKENS = 6000  # of all sources in one prompt: as much as small local models read well
MOST_QUOTES, MOST_MISSING = 3, 6
MOST_WORDS = 400  # characters of the explanation, and of each missing piece
_SHORTEST = 8  # characters of a quote: a shorter one is found anywhere
_FEWEST_WORDS = 2  # where there are no spaces: "他生于北京", "he was born in Peking", is a sentence
_LONGEST = 1000  # characters
_MOST_PASSAGES = 60
_ALIKE = ('"“”„«»', "'’‘ʼ", "-–—‐‑−")  # characters that models interchange
_SCHEMA = {
    "type": "object",
    "properties": {
        "quotes": {"type": "array", "items": {"type": "string"}, "maxItems": MOST_QUOTES},
        "missing": {"type": "array", "items": {"type": "string"}, "maxItems": MOST_MISSING},
        "why": {"type": "string"},
        "verdict": {"type": "string", "enum": [str(verdict) for verdict in Verdict]},
    },
    "required": ["quotes", "missing", "why", "verdict"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Judge:
    """Asks a model for a second opinion on claims; thread-safe."""

    calls: Calls
    templates: Templates
    trust: Trust = NO_TRUST  # by its examination
    source_tokens: int = SOURCE_TOKENS
    guided: bool = True  # whether the server enforces the reply's schema

    @property
    def model(self) -> str:
        """`name@host`."""
        return self.calls.model(STEP).fingerprint

    def opinion(self, claim: Claim, sources: Sequence[Document]) -> Opinion | Failed:
        """Return the verdict on the claim given all these sources, or why there is none."""
        most_tokens = self.source_tokens // max(1, len(sources))
        texts = [excerpt(claim.text, source, most_tokens) for source in sources]
        place = " › ".join(filter(None, (claim.title, *claim.section)))
        system, user = self.templates.fill(
            STEP,
            context=f"{place}\n{claim.before}".strip() or "–",
            statement=claim.text,
            sources="\n\n".join(
                fenced_abstract(n, "", source.title, text)
                for n, (source, text) in enumerate(zip(sources, texts, strict=True), 1)
            ),
        )
        guidance = Guidance("json", json.dumps(_SCHEMA)) if self.guided else None
        prompt = Prompt(user, system, REPLY_TOKENS, guidance=guidance)
        about = {"claim": claim.claim_id, "sources": [source.url for source in sources]}
        fields = self.calls.read(STEP, prompt, about, lambda reply: _read(reply, claim.text, texts))
        if isinstance(fields, Failed):
            return fields
        whole = all(s.text == text for s, text in zip(sources, texts, strict=True))
        return Opinion(model=self.model, whole=whole, trust=self.trust, **fields)


# Returns the judge, trusted by its examination, for claims in a language ("": English).
Examined: TypeAlias = Callable[[str], Judge | Failed]


@dataclass(frozen=True, slots=True)
class WithSecondOpinion:
    """A `Verifier` that asks an examined judge about what another calls for or against.

    It also asks about the likeliest passage of each other claim, which may be support overlooked.
    """

    verifier: Verifier
    judge: Judge
    examined: Examined
    every: bool = False  # ask about all pairs
    at_once: int = 4

    @property
    def calls(self) -> Calls:
        return self.judge.calls

    @property
    def fingerprint(self) -> str:
        return f"{self.verifier.fingerprint} with {self.judge.model}"

    def verify(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Evidence]:
        """Return evidence for each pair, in order; raises KeyboardInterrupt if stopped."""
        base = self.verifier.verify(pairs)
        read = [n for n, evidence in enumerate(base) if not evidence.failed]
        # The last of equal keys stays: the likeliest passage of each claim.
        by_score = sorted(read, key=lambda n: (base[n].score, -n))
        likeliest = {pairs[n][0].text: n for n in by_score}.values()
        asked = [n for n in read if self.every or n in likeliest or _decides(base[n])]
        tasks = [partial(_opinion, self._judge_of(pairs[n][0]), *pairs[n]) for n in asked]
        opinions = run_concurrently(tasks, self.at_once, self.calls)
        if self.calls.stopped:
            raise KeyboardInterrupt
        failed = [answer for answer in opinions if isinstance(answer, Failed) and answer.is_of_run]
        self.calls.unanswered.update(answer.detail for answer in failed)
        for n, opinion in zip(asked, opinions, strict=True):
            if opinion:
                base[n] = decide.weigh(replace(base[n], opinion=opinion))
        return base

    def _judge_of(self, claim: Claim) -> Judge | Failed:
        return self.examined(identify(claim.text, claim.language) or "")


def _decides(evidence: Evidence) -> bool:
    return evidence.prob_supported >= decide.THRESHOLD or decide.refutes(evidence)


def _opinion(judge: Judge | Failed, claim: Claim, passage: Passage) -> Opinion | Failed:
    if isinstance(judge, Failed):
        return judge
    text = f"{passage.about}\n{passage.text}" if passage.about else passage.text
    return judge.opinion(claim, [Document(passage.url, passage.title, text)])


def excerpt(claim: str, source: Document, most_tokens: int) -> str:
    """Return the text if it fits, else the passages that share most with the claim, in order."""
    if tokens_of(source.text) <= most_tokens:
        return source.text
    passages = [p for p in cited_passages(source) if tokens_of(p.text) <= most_tokens]
    chosen: list[Passage] = []
    for n in range(1, min(len(passages), _MOST_PASSAGES) + 1):
        apart: list[Passage] = []  # passages that do not overlap
        for passage in sorted(cascade.worth_reading(claim, passages, n), key=lambda p: p.span):
            if not apart or passage.span.start >= apart[-1].span.end:
                apart.append(passage)
        if sum(tokens_of(passage.text) for passage in apart) > most_tokens:
            break
        chosen = apart
    return "\n[…]\n".join(passage.text for passage in chosen)


def _read(reply: Completion, claim: str, sources: Sequence[str]) -> dict[str, Any] | None:
    """Return the checked fields of an opinion in a reply; None if it cannot be read."""
    fields = first_json(reply.text)
    if not isinstance(fields, dict) or fields.get("verdict") not in list(Verdict):
        return None
    quotes = _texts(fields.get("quotes"))[:MOST_QUOTES]
    found_quotes = [words for quote in quotes if (words := found_in(quote, sources))]
    missing = [_words_of(claim, words) for words in _texts(fields.get("missing"))[:MOST_MISSING]]
    verdict, why = Verdict(fields["verdict"]), fields.get("why")
    if verdict is Verdict.CONTRADICTED and not found_quotes:  # no quote that is in a source
        verdict = Verdict.NOT_SUPPORTED
    return {
        "verdict": verdict,
        "quotes": tuple(dict.fromkeys(found_quotes)),
        "missing": tuple(dict.fromkeys(filter(None, missing))),
        "why": " ".join(why.split())[:MOST_WORDS] if isinstance(why, str) else "",
        "n_invented": len(quotes) - len(found_quotes),
    }


def found_in(quote: str, sources: Sequence[str]) -> str:
    """Return the quote as in a source, ignoring white space and kinds of quotes and dashes."""
    words = quote.strip().strip("\"“”„«»'’‘.… ").split()
    text = " ".join(words)
    n_spaceless_words = n_words("".join(SPACELESS.findall(text)))
    is_long_enough = len(text) >= _SHORTEST or n_spaceless_words >= _FEWEST_WORDS
    if not is_long_enough or len(text) > _LONGEST:
        return ""
    alike = {sign: f"[{re.escape(signs)}]" for signs in _ALIKE for sign in signs}
    patterns = ("".join(alike.get(c) or re.escape(c) for c in word) for word in words)
    pattern = re.compile(r"\s+".join(patterns))
    return next((match[0] for source in sources if (match := pattern.search(source))), "")


def _words_of(claim: str, reported: str) -> str:
    """Return reportedly missing words as in the claim; empty if it does not have them."""
    match = re.search(re.escape(reported.strip(" .…\"“”'")), claim, re.IGNORECASE)
    return match[0] if match and match[0].strip() else ""


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


# ── The examination ──────────────────────────────────────────────────────────────────────────────

# The rows of `examination.jsonl` are ours (CC0). True and false claims are asked in turn, all kinds
# before any kind again, until Wald's sequential probability ratio test decides on both (Wald 1945,
# Annals of Mathematical Statistics 16(2)): a model that is always right needs a dozen of each, one
# that always agrees fails after three false ones.
PASSES, FAILS = 0.90, 0.70  # share of right answers of a model that passes, and that fails
ERROR = 0.05  # probability of either wrong result at exactly these shares
_BOUND = math.log((1 - ERROR) / ERROR)
_RIGHT, _WRONG = math.log(PASSES / FAILS), math.log((1 - PASSES) / (1 - FAILS))
# "Contradicted" counts only from a model that says so where a claim is refuted, not merely absent.
CONTRADICTS_FROM, LEAST_CONTRADICTED = 0.8, 5
_REFUSALS = (Verdict.NOT_SUPPORTED, Verdict.CONTRADICTED, Verdict.PARTLY_SUPPORTED)
_RIGHTLY = {
    "support": (Verdict.SUPPORTED,),
    "unusable": (Verdict.UNUSABLE, Verdict.NOT_SUPPORTED, Verdict.CONTRADICTED),
    "refute": _REFUSALS,
    "nei": _REFUSALS,
}


class Row(NamedTuple):
    """A question of the examination, with its answer."""

    id: str
    lang: str
    kind: str
    claim: str
    evidence: str
    label: str  # support, refute, nei, unusable


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What a model answered."""

    model: str  # "name@host"
    examined: str  # ISO date
    passed: bool
    right: tuple[int, int]  # of the true, and of the false claims
    asked: tuple[int, int]
    wrong: Mapping[str, int]  # wrong answers by kind
    contradicted: tuple[int, int]  # said rightly, said

    @property
    def trust(self) -> Trust:
        rightly, said = self.contradicted
        sure = said >= LEAST_CONTRADICTED and rightly >= CONTRADICTS_FROM * said
        return Trust(refuses=self.passed, contradicts=self.passed and sure)


@cache
def rows(language: str = "en") -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Return the true and the false claims, English or in other languages, kinds in turn."""
    text = Path(__file__).with_name("examination.jsonl").read_text(encoding="utf-8")
    claims = [Row(**json.loads(line)) for line in text.splitlines()]
    chosen = [row for row in claims if (row.lang == "en") == (language == "en")]
    true, false = (
        _in_turn([row for row in chosen if (row.label == "support") is truth])
        for truth in (True, False)
    )
    return true, false


def _in_turn(of: Sequence[Row]) -> tuple[Row, ...]:
    kinds: dict[str, list[Row]] = {}
    for row in of:
        kinds.setdefault(row.kind, []).append(row)
    return tuple(row for row in chain(*zip_longest(*kinds.values())) if row)


@dataclass(slots=True)
class _Side:
    """The true or the false claims, and how many answers about them were right."""

    rows: Sequence[Row]
    right: int = 0
    asked: int = 0

    @property
    def passed(self) -> bool | None:
        """Whether the model passes on this side; None if that is not yet clear."""
        ratio = self.right * _RIGHT + (self.asked - self.right) * _WRONG
        is_clear = abs(ratio) >= _BOUND or self.asked >= len(self.rows)
        return ratio > 0 if is_clear else None


def examine(
    judge: Judge,
    language: str = "en",
    on_progress: Callable[[int, int], None] | None = None,
    at_once: int = 2,
) -> Examination | Failed:
    """Ask until the result is clear; Failed if the server does not answer or the run is stopped."""
    true, false = sides = [_Side(claims) for claims in rows(language)]
    wrong, contradicted = Counter[str](), Counter[bool]()
    step = max(1, at_once // 2)
    while None in (results := [side.passed for side in sides]) and False not in results:
        open_sides = [side for side in sides if side.passed is None]
        batch = [(s, row) for s in open_sides for row in s.rows[s.asked : s.asked + step]]
        asking = [
            partial(judge.opinion, Claim(row.id, row.claim), [Document("", "", row.evidence)])
            for _, row in batch
        ]
        replies = run_concurrently(asking, at_once, judge.calls)
        for (side, row), reply in zip(batch, replies, strict=True):
            if reply is None or (isinstance(reply, Failed) and reply.is_of_run):
                return reply or STOPPED
            verdict = reply.verdict if isinstance(reply, Opinion) else None
            is_right = verdict in _RIGHTLY[row.label]
            side.right += is_right
            side.asked += 1
            wrong[row.kind] += not is_right
            contradicted[row.label == "refute"] += verdict is Verdict.CONTRADICTED
        if on_progress:
            on_progress(true.asked + false.asked, len(true.rows) + len(false.rows))
    return Examination(
        model=judge.model,
        examined=datetime.now(UTC).date().isoformat(),
        passed=False not in results,
        right=(true.right, false.right),
        asked=(true.asked, false.asked),
        wrong=dict(+wrong),
        contradicted=(contradicted[True], contradicted.total()),
    )


# ── Examined models ──────────────────────────────────────────────────────────────────────────────

# A model's support outweighs our doubt if so large a share of at least so many of the user's rows
# with both is supported.
CONFIRMS_FROM, LEAST_CONFIRMED = 0.85, 10


class JudgedRow(NamedTuple):
    """A labelled row that both judged."""

    log_odds: float  # ours
    verdict: Verdict
    supported: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A model's verdicts on rows of the user's own."""

    rows: int
    measured: str  # ISO date
    files: tuple[str, ...]  # names of the files of rows
    counts: Mapping[Verdict, tuple[int, int]]  # of supported rows, of others
    right: tuple[float, float, float]  # shares of rows: by us, by the model, supported by both
    confirmed: tuple[int, int]  # supported rows, all rows that only the model calls supported
    threshold: float
    rates: tuple[float, float] | None  # shares of others and of supported rows flagged

    @property
    def confirms(self) -> bool:
        right, said = self.confirmed
        return said >= LEAST_CONFIRMED and right >= CONFIRMS_FROM * said


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownJudge:
    """What is known of a model."""

    examinations: Mapping[str, Examination] = field(default_factory=dict)  # "en", "other"
    measured: Measured | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownJudges:
    """All models that were examined or measured on this machine, as "name@host"."""

    judges: Mapping[str, KnownJudge] = field(default_factory=dict)


def judges_file(setting: str) -> Path:
    return data_path("judges.json", setting)


def read_judges(path: Path) -> KnownJudges:
    """Read what is known; empty without a file. Raises InputError for any other file."""
    return codec.from_file(KnownJudges, path) if path.exists() else KnownJudges()


def known_judge(path: Path, model: str) -> KnownJudge:
    """Return what is stored of a model; raises InputError if the file cannot be read."""
    return read_judges(path).judges.get(model, KnownJudge())


def keep_judge(path: Path, model: str, judge: KnownJudge) -> None:
    """Store what is known of a model; raises InputError if the file cannot be written."""
    judges = {**read_judges(path).judges, model: judge}
    with usable(path, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        durable.write_text(path, codec.to_json(KnownJudges(judges=judges)))


@dataclass(slots=True)
class Examiner:
    """Examines a judge before its first opinion, once per model and server."""

    judge: Judge
    file: Path
    at_once: int = 4
    on_progress: Progress | None = None
    _examined: dict[str, Judge | Failed] = field(default_factory=dict)  # in this run, by pool

    def __call__(self, language: str = "") -> Judge | Failed:
        """Return the judge with what its opinion may change; Failed if it could not be examined."""
        pool = "en" if language in ("", "en") else "other"
        if pool not in self._examined:
            known = self.known
            result = known.examinations.get(pool) or self.examine(pool)
            self.judge.calls.notes.append(note_of(result))
            if isinstance(result, Failed):
                self._examined[pool] = result
            else:
                confirms = result.passed and known.measured is not None and known.measured.confirms
                trust = replace(result.trust, confirms=confirms)
                self._examined[pool] = replace(self.judge, trust=trust)
        return self._examined[pool]

    def examine(self, pool: str) -> Examination | Failed:
        """Examine the judge on rows in English ("en") or other languages; keep the result."""
        result = examine(self.judge, pool, self.on_progress, self.at_once)
        if isinstance(result, Examination):
            known = self.known
            examinations = {**known.examinations, pool: result}
            keep_judge(self.file, self.judge.model, replace(known, examinations=examinations))
        return result

    @property
    def known(self) -> KnownJudge:
        """What is stored of the judge; raises InputError if the file cannot be read."""
        return known_judge(self.file, self.judge.model)


def note_of(result: Examination | Failed) -> Note:
    if isinstance(result, Failed):
        return Note("judge_not_examined", {"why": result.detail})
    return Note(
        "judge_passed" if result.passed else "judge_failed",
        {
            "model": result.model,
            "date": result.examined,
            "right": sum(result.right),
            "asked": sum(result.asked),
        },
    )


def describe(pool: str, result: Examination | Failed) -> str:
    """Describe an examination in a line or two, in English."""
    if isinstance(result, Failed):
        return f"not examined: {result.detail}"
    rows = {"en": "English rows", "other": "rows in other languages"}[pool]
    (true, n_true), (false, n_false) = zip(result.right, result.asked, strict=True)
    trust = result.trust
    effect = "its refusals stand" if trust.refuses else "its opinions change nothing"
    if trust.contradicts:
        effect += ", and its contradictions are shown as such"
    wrong = ", ".join(f"{n} × {kind}" for kind, n in result.wrong.items()) or "none"
    return (
        f"{result.model}, examined {result.examined} on {rows}: "
        f"{'passed' if result.passed else 'failed'}; {effect}.\n"
        f"  right on {true} of {n_true} true and {false} of {n_false} false claims; wrong: {wrong}"
    )
