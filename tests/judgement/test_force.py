"""What a source reports, plans, hedges or denies, and a claim states as fact."""

import time
from pathlib import Path

import pytest
from support.rows import each_row

from pincite.judgement.decide import label_of, log_odds
from pincite.judgement.force import weaker
from pincite.models.verifier import _evidence
from pincite.types import Claim, Label, Passage, Readout, Span, Voice

# `force-sealed.tsv` was written with `force-open.tsv` and held back: nothing is tuned to it.
CASES = Path(__file__).parents[1] / "cases/rules"


@each_row("judgement/force/only_qualified")
def test_statement_that_source_only_qualifies(claim: str, passage: str, words: str) -> None:
    found = weaker(claim, passage)
    assert found is not None
    assert words in found.source
    assert found.source.split("…")[0].strip() in passage


@each_row("judgement/force/clause_that_denies_a_claim_in_its_own_language")
def test_clause_that_denies_a_claim_in_its_own_language(
    claim: str, passage: str, clause: str
) -> None:
    found = weaker(claim, passage)
    assert found is not None
    assert found.source == clause


@each_row("judgement/force/stated_as_fact")
def test_statement_that_source_makes(claim: str, passage: str) -> None:
    assert weaker(claim, passage) is None


@pytest.mark.parametrize("passage", ["", " \n"])
def test_empty_passage_weakens_nothing(passage: str) -> None:
    assert weaker("Willow bark relieves headaches.", passage) is None


def test_page_that_states_it_elsewhere() -> None:
    claim, passage = "Willow bark relieves headaches.", "Willow bark may relieve headaches."
    page = f"{passage}\n\nIn a later trial, willow bark clearly relieved headaches."
    assert weaker(claim, passage, page=passage) is not None
    assert weaker(claim, passage, page=page) is None


@pytest.mark.parametrize(
    ("claim", "limited"),
    [
        ("The bypass has ruined the village.", True),
        ("Ida Holm writes that the bypass has ruined the village.", False),
        ("The bypass could not but have ruined the village.", True),
        ("The bypass was opened in 2011.", False),  # readers can check this
    ],
)
def test_opinion_piece_states_opinions(claim: str, limited: bool) -> None:
    meta = {"author": "Ida Holm", "type": "OpinionNewsArticle"}
    text = "The bypass, opened in 2011, has ruined the village."
    assert (weaker(claim, text, voice=Voice.of(meta)) is not None) is limited
    assert weaker(claim, text, voice=Voice.of({"author": "Ida Holm"})) is None


@pytest.mark.parametrize(
    ("text", "probability", "label", "kinds"),
    [
        ("Willow bark may relieve headaches.", 0.9, Label.PARTLY_SUPPORTED, ["stated_only_as"]),
        ("Willow bark may relieve headaches.", 0.1, Label.NOT_SUPPORTED, []),
        ("Willow bark does relieve headaches.", 0.9, Label.SUPPORTED, []),
    ],
)
def test_label_of_qualified_evidence(
    text: str, probability: float, label: Label, kinds: list[str]
) -> None:
    passage = Passage("d", "", "", text, Span(0, len(text)))
    readout = Readout(log_odds(probability))
    found = _evidence((Claim.alone("Willow bark relieves headaches."), passage), readout, None, ())
    assert label_of(found) is label
    assert [witness.kind for witness in found.witnesses] == kinds


def test_hostile_text_takes_no_time() -> None:
    claim, text = "Willow bark relieves headaches.", "may that accused of if " * 4_000
    began = time.perf_counter()
    weaker(claim, text)
    weaker(claim, "Willow bark may relieve headaches. " * 2_000)
    weaker(claim, f"Willow bark used{' during' * 48} (again) to relieve headaches.")
    assert time.perf_counter() - began < 5


def rewordings(half: str) -> list[bool]:
    """Whether each row of a set is read as its first column says: weaker, or the same."""
    rows = (CASES / f"force-{half}.tsv").read_text(encoding="utf-8").splitlines()
    read = [line.split("\t") for line in rows]
    return [(weaker(claim, text) is not None) == (want == "weaker") for want, claim, text in read]


@pytest.mark.parametrize(("half", "least"), [("open", 14), ("sealed", 17)])
def test_rewordings_are_read_as_well_as_before(half: str, least: int) -> None:
    assert sum(rewordings(half)) >= least
