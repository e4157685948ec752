"""Values under EvidenceSeeker's names and in its formats, so that its templates run unchanged."""

import math
from collections.abc import Mapping
from typing import Any

from pincite.judgement import confirmation
from pincite.judgement.confirmation import Outcome
from pincite.verbs.check import wording
from pincite.verbs.check.render import LenientDict
from pincite.verbs.check.report import Check, ReadingResult


class _Member(str):
    """A string that also acts as a member of EvidenceSeeker's enums, with a `.value`."""

    value: str

    def __new__(cls, text: str, value: str) -> "_Member":
        member = super().__new__(cls, text)
        member.value = value
        return member


class _Levels(dict[str, str]):
    """Our labels by outcome. Calling it with a mean degree returns EvidenceSeeker's level."""

    def __call__(self, doc: float) -> _Member:
        level = Outcome.BALANCED if math.isnan(doc) else confirmation.level(doc)
        return _level(level)


def values(ours: Mapping[str, Any], check: Check) -> dict[str, Any]:
    """Return what to add to the values of a check; a missing number is NaN."""
    claims = zip(ours["claims"], check.results, strict=True)
    evse = {
        "claims": [claim | _claim(claim, result) for claim, result in claims],
        "confirmation_level": _Levels({str(o): look.label for o, look in wording.LOOKS.items()}),
    }
    more = {"request": check.statement, "feedback": LenientDict(binary=ours["feedback"] or None)}
    return evse | {"evse_result": {**ours, **evse, **more}}


def _claim(claim: Mapping[str, Any], result: ReadingResult) -> dict[str, Any]:
    reading, weight = result.reading, result.weight
    return {
        "uid": reading.reading_id,
        "statement_type": _Member(str(reading.kind), str(reading.kind)),
        "average_confirmation": _number(weight.doc),
        "evidential_uncertainty": _number(weight.variance),
        "n_evidence": weight.n_texts,
        "confirmation_level": _level(weight.outcome),
        "verbalized_confirmation": result.summary,
        "confirmation_by_document": {x["uid"]: _number(x["doc"]) for x in claim["documents"]},
        "metadata": LenientDict(),
    }


def _level(outcome: Outcome) -> _Member:
    """Return EvidenceSeeker's word for our outcome, such as "strongly_confirmed"."""
    word = confirmation.seed_level(outcome) or str(outcome)
    for noun, verb in (("disconfirmation", "disconfirmed"), ("confirmation", "confirmed")):
        if word.endswith(noun) and not word.startswith("inconclusive"):
            degree = word.removesuffix(noun).rstrip("_")
            return _Member(str(outcome), f"{degree}ly_{verb}" if degree else verb)
    return _Member(str(outcome), word)


def _number(value: float | None) -> float:
    """Return a number for EvidenceSeeker's filters, which round every value."""
    return math.nan if value is None else value
