"""The verifier for other languages, if it is there: pincite_multilingual/weights."""

import pytest
from support.laws import check_verifier

from pincite import runtime
from pincite.models import weights
from pincite.models.weights import languages_of
from pincite.settings import ModelSettings
from pincite.types import Claim, Passage, Span

FOLDER = weights.multilingual_verifier()
SOURCE = "Die Brücke bei Varde wurde von Ingrid Holm entworfen und im Jahr 1911 eröffnet."
TRUE = ["Die Brücke bei Varde wurde 1911 eröffnet.", "The bridge at Varde opened in 1911."]
OTHERS = ["Die Brücke bei Varde wurde nie gebaut.", "Two airlines fly to Varde every day."]


@pytest.mark.skipif(FOLDER is None, reason="it has not been trained")
def test_it_is_calibrated_and_judges_across_languages() -> None:
    assert FOLDER
    assert {"en", "de"} <= languages_of(FOLDER)
    verifier = runtime.verifier(ModelSettings(), keep=False)
    assert verifier.other.calibration.name.startswith("dev-")
    passage = Passage("", "", "", SOURCE, Span(0, len(SOURCE)), language="de")
    pairs = [(Claim.alone(text), passage) for text in (*TRUE, *OTHERS)]
    check_verifier(verifier, pairs)
    scores = [evidence.score for evidence in verifier.verify(pairs)]
    assert min(scores[: len(TRUE)]) > max(scores[len(TRUE) :])
