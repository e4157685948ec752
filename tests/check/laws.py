"""A judge for tests, and the laws of interpreters and judges."""

import copy
import re
from collections.abc import Sequence

from support.laws import check_evidence

from pincite.judgement.confirmation import from_answers
from pincite.types import Evidence, Failed, Passage
from pincite.verbs.check.confirm import VerifierJudge
from pincite.verbs.check.model_judge import ModelJudge
from pincite.verbs.check.report import Interpretation, Reading

_WORD = re.compile(r"\w+")


class FakeJudge:
    """A judge for whom a passage supports a reading by the share of its words that it holds."""

    fingerprint = "fake"

    def judge(self, pairs: Sequence[tuple[Reading, Passage]]) -> list[Evidence | Failed]:
        """The share for the reading and none for its negation; a reading without words fails."""
        return [self._one(reading, passage) for reading, passage in pairs]

    def _one(self, reading: Reading, passage: Passage) -> Evidence | Failed:
        words = set(_WORD.findall(reading.text.lower()))
        if not words:
            return Failed("reply", "the reading has no words")
        shared = words & set(_WORD.findall(passage.text.lower()))
        return from_answers(passage, round(len(shared) / len(words), 2), 0.0)


def check_interpretation(found: Interpretation) -> None:
    """Readings have ids r1, r2, … and a text each, which is not its negation."""
    ids = [reading.reading_id for reading in found.readings]
    assert ids == [f"r{n}" for n in range(1, len(ids) + 1)]
    assert found.by
    for reading in found.readings:
        assert reading.text.strip()
        assert reading.negation != reading.text


def check_judge(
    judge: "VerifierJudge | ModelJudge | FakeJudge", pairs: Sequence[tuple[Reading, Passage]]
) -> None:
    """Evidence or a failure a pair, in order; probabilities sum to one; quotes exist."""
    assert judge.fingerprint, "the fingerprint is empty"
    assert judge.judge([]) == [], "no pairs should give no judgements"
    before = copy.deepcopy(list(pairs))
    outcomes = judge.judge(pairs)
    assert list(pairs) == before, "judge changed its pairs"
    assert len(outcomes) == len(pairs), f"{len(outcomes)} judgements for {len(pairs)} pairs"
    for (_, passage), outcome in zip(pairs, outcomes, strict=True):
        if isinstance(outcome, Failed):
            assert outcome.detail, "a failure without a reason"
        else:
            check_evidence(passage, outcome)
