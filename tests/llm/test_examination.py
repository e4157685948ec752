"""Who passes the examination, after how many questions, and what it then may do."""

import random
from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from pincite.errors import ServerError
from pincite.llm.calls import Calls
from pincite.llm.judge import CONTRADICTS_FROM, Examination, Judge, Row, examine, rows
from pincite.llm.templates import Templates
from pincite.protocols import Completion, Prompt
from pincite.types import Failed

ALL = [row for pool in ("en", "other") for side in rows(pool) for row in side]
BY_CLAIM = {(" ".join(row.claim.split()), " ".join(row.evidence.split())): row for row in ALL}


class Answering:
    """A model that answers by the row that it is asked about."""

    fingerprint = "answering@here"

    def __init__(self, answer: Callable[[Row], str]) -> None:
        self.answer = answer
        self.asked: list[Row] = []

    def generate(self, prompts: Sequence[Prompt]) -> list[Completion | ServerError]:
        found: list[Completion | ServerError] = []
        for prompt in prompts:
            text = " ".join(prompt.user.split())
            row = next(r for (c, e), r in BY_CLAIM.items() if c in text and e in text)
            self.asked.append(row)
            quote = " ".join(row.evidence.split()[:6])
            said = f'{{"quotes": ["{quote}"], "missing": [], "why": "", "verdict": '
            found.append(Completion(f'{said}"{self.answer(row)}"}}'))
        return found


def examined(answer: Callable[[Row], str], pool: str = "en") -> tuple[Examination, int]:
    model = Answering(answer)
    found = examine(Judge(Calls({"": model}), Templates.load("en", "en")), pool)
    assert isinstance(found, Examination)
    return found, len(model.asked)


def rightly(row: Row) -> str:
    said = {"support": "supported", "refute": "contradicted", "nei": "not_supported"}
    return said.get(row.label, "unusable")


@pytest.mark.parametrize("pool", ["en", "other"])
def test_a_model_that_is_always_right_passes_after_two_dozen_questions(pool: str) -> None:
    found, n = examined(rightly, pool)
    assert found.trust.refuses
    assert found.right == found.asked
    assert 20 <= n <= 28
    assert found.wrong == {}


@pytest.mark.parametrize("verdict", ["supported", "not_supported", "unusable", "maybe"])
def test_a_model_that_always_says_the_same_fails_after_a_dozen(verdict: str) -> None:
    found, _ = examined(lambda row: verdict)
    assert not found.passed
    assert not found.trust.refuses
    assert sum(found.asked) <= 12


def test_most_guessing_models_fail_and_most_good_ones_pass() -> None:
    def passed(share: float, seed: int) -> bool:
        chance = random.Random(seed)
        no = {"support": "not_supported"}
        return examined(
            lambda row: rightly(row) if chance.random() < share else no.get(row.label, "supported")
        )[0].passed

    results = {share: sum(passed(share, seed) for seed in range(20)) for share in (0.6, 0.97)}
    assert results[0.6] <= 1
    assert results[0.97] >= 18


def test_contradictions_count_only_if_the_model_tells_them_from_silence() -> None:
    assert examined(rightly)[0].trust.contradicts
    yes_or_no, _ = examined(lambda row: "supported" if row.label == "support" else "contradicted")
    assert yes_or_no.trust.refuses
    assert not yes_or_no.trust.contradicts


def test_a_server_that_fails_gives_no_result() -> None:
    class Gone:
        fingerprint = "gone@here"

        def generate(self, prompts: Sequence[Prompt]) -> list[Completion | ServerError]:
            return [ServerError("HTTP 500") for _ in prompts]

    found = examine(Judge(Calls({"": Gone()}), Templates.load("en", "en")))
    assert isinstance(found, Failed)
    assert found.is_of_run


def test_the_rows_are_many_and_balanced() -> None:
    english = [row for side in rows("en") for row in side]
    assert len(english) >= 120
    assert len(ALL) - len(english) >= 40
    assert len({row.id for row in ALL}) == len(ALL)
    of_kind = Counter(row.kind for row in english)
    for kind, n in of_kind.items():
        true = sum(row.kind == kind and row.label == "support" for row in english)
        assert 0.4 * n <= true <= 0.6 * n
    assert CONTRADICTS_FROM < 1
