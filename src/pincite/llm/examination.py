"""The examination of a language model, before its opinion counts.

The rows of `examination.jsonl` are ours (CC0). True and false claims are asked in turn, all kinds
before any kind again, until Wald's sequential probability ratio test decides on both (Wald 1945,
*Annals of Mathematical Statistics* 16(2)): a model that is always right needs a dozen of each, one
that always agrees fails after three false ones.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple

from pincite.llm.calls import run_concurrently
from pincite.llm.judge import Judge
from pincite.types import Claim, Document, Failed, Opinion, Trust, Verdict

PASSES, FAILS = 0.90, 0.70  # share of right answers of a model that passes, and that fails
ERROR = 0.05  # probability of either wrong result at exactly these shares
_BOUND = math.log((1 - ERROR) / ERROR)
_RIGHT, _WRONG = math.log(PASSES / FAILS), math.log((1 - PASSES) / (1 - FAILS))
# "Contradicted" counts only from a model that says so where a claim is refuted, not merely absent.
CONTRADICTS_FROM, LEAST_CONTRADICTED = 0.8, 5
_RIGHTLY = {
    "support": (Verdict.SUPPORTED,),
    "unusable": (Verdict.UNUSABLE, Verdict.NOT_SUPPORTED),
    "refute": (Verdict.NOT_SUPPORTED, Verdict.CONTRADICTED, Verdict.PARTLY_SUPPORTED),
    "nei": (Verdict.NOT_SUPPORTED, Verdict.CONTRADICTED, Verdict.PARTLY_SUPPORTED),
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
    n_tokens: int = 0

    @property
    def trust(self) -> Trust:
        rightly, said = self.contradicted
        sure = said >= LEAST_CONTRADICTED and rightly >= CONTRADICTS_FROM * said
        return Trust(refuses=self.passed, contradicts=self.passed and sure)


@cache
def rows(language: str = "en") -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Return the true and the false claims, English or in other languages, kinds in turn."""
    text = Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8")
    found = [Row(**json.loads(line)) for line in text.splitlines()]
    chosen = [row for row in found if (row.lang == "en") == (language == "en")]
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


def examine(
    judge: Judge,
    language: str = "en",
    on_progress: Callable[[int, int], None] | None = None,
    at_once: int = 2,
) -> Examination | Failed:
    """Ask until the result is clear; Failed if the server does not answer or the run is stopped."""
    sides, counts = rows(language), ([0, 0], [0, 0])  # of each side: right, asked
    wrong, said = Counter[str](), Counter[bool]()
    step = max(1, at_once // 2)
    while (results := _results(counts, sides)).count(None) and False not in results:
        batch = [
            (n, row)
            for n, result in enumerate(results)
            if result is None
            for row in sides[n][counts[n][1] : counts[n][1] + step]
        ]
        asking = [partial(_ask, judge, row) for _, row in batch]
        replies = run_concurrently(asking, at_once, judge.calls)
        for (n, row), reply in zip(batch, replies, strict=True):
            if reply is None or (isinstance(reply, Failed) and reply.is_of_run):
                return reply or Failed("stopped", "the run was stopped")
            verdict = reply.verdict if isinstance(reply, Opinion) else None
            is_right = verdict in _RIGHTLY[row.label]
            counts[n][0] += is_right
            counts[n][1] += 1
            wrong[row.kind] += not is_right
            said[row.label == "refute"] += verdict is Verdict.CONTRADICTED
        if on_progress:
            on_progress(counts[0][1] + counts[1][1], sum(map(len, sides)))
    used = judge.calls.usage
    return Examination(
        model=judge.model,
        examined=datetime.now(UTC).date().isoformat(),
        passed=False not in results,
        right=(counts[0][0], counts[1][0]),
        asked=(counts[0][1], counts[1][1]),
        wrong=dict(+wrong),
        contradicted=(said[True], said.total()),
        n_tokens=used.n_prompt_tokens + used.n_reply_tokens,
    )


def _results(counts: Sequence[Sequence[int]], sides: Sequence[Sequence[Row]]) -> list[bool | None]:
    return [_result(n[0], n[1], len(side)) for n, side in zip(counts, sides, strict=True)]


def _ask(judge: Judge, row: Row) -> Opinion | Failed:
    return judge.opinion(Claim(row.id, row.claim), [Document("", "", row.evidence)])


def _result(right: int, asked: int, most: int) -> bool | None:
    """Return whether a side is passed; None if that is not yet clear."""
    ratio = right * _RIGHT + (asked - right) * _WRONG
    if abs(ratio) >= _BOUND or asked >= most:
        return ratio > 0
    return None
