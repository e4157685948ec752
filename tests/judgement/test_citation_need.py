"""The classifier of sentences: its cues raise what it says, and each reason is in words."""

import tomllib

from support.rows import each_row

from pincite.wiki.uncited import WEIGHTS, Place, citation_need, features, need_threshold

PLAIN = "The bridge carries a road over the river."


@each_row("judgement/citation_need/a_cue_raises_the_probability_and_is_named")
def test_a_cue_raises_the_probability_and_is_named(text: str, code: str) -> None:
    found = citation_need(text, Place())
    assert found.probability > citation_need(PLAIN, Place()).probability
    assert code in {note.code for note in found.reasons}


def test_titles_and_terms_in_quotation_marks_are_no_quotations() -> None:
    for text in ("He sang “The Song of the Old Sea” there.", "It is a “glass bridge” of stone."):
        assert not citation_need(text, Place()).quotes


def test_the_weights_are_those_of_cues_that_exist() -> None:
    weights = tomllib.loads(WEIGHTS.read_text(encoding="utf-8"))["weights"]
    texts = [PLAIN, "We may, for example, let x = 12 % be “the thing that he said in 1911”."]
    seen = {name for text in texts for name in features(text, Place(("Views",), opens=True))}
    assert seen <= set(weights)
    assert 0 < need_threshold() < 1
