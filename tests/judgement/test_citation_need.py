"""The classifier of sentences: its cues raise what it says, and each reason is in words."""

import tomllib

import pytest

from pincite.judgement.citation_need import WEIGHTS, Place, features, need, threshold

PLAIN = "The bridge carries a road over the river."


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Holm called it “the finest bridge ever built”.", "need_quotation"),
        ("The bridge carries 12 % of the traffic of 1911.", "need_figures"),
        ("Critics considered the bridge over the river ugly.", "need_opinion"),
        ("Holm stated that the bridge over the river would fall.", "need_said"),
        ("It is the largest bridge over the river.", "need_superlative"),
        ("Three men were killed on the bridge over the river.", "need_disputed"),
        ("A survey of the bridge over the river was made.", "need_study"),
    ],
)
def test_a_cue_raises_the_probability_and_is_named(text: str, code: str) -> None:
    found = need(text, Place())
    assert found.probability > need(PLAIN, Place()).probability
    assert code in {note.code for note in found.reasons}


def test_titles_and_terms_in_quotation_marks_are_no_quotations() -> None:
    for text in ("He sang “The Song of the Old Sea” there.", "It is a “glass bridge” of stone."):
        assert not need(text, Place()).quotes


def test_the_weights_are_those_of_cues_that_exist() -> None:
    weights = tomllib.loads(WEIGHTS.read_text(encoding="utf-8"))["weights"]
    texts = [PLAIN, "We may, for example, let x = 12 % be “the thing that he said in 1911”."]
    seen = {name for text in texts for name in features(text, Place(("Views",), opens=True))}
    assert seen <= set(weights)
    assert 0 < threshold() < 1
