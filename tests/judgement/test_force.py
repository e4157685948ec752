"""What a source reports, plans, hedges or denies, and a claim states as fact."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from support.rows import each_row

from pincite.judgement.decide import label_of, log_odds
from pincite.judgement.force import find_weakening
from pincite.models.verifier import _evidence
from pincite.types import Claim, Label, Passage, Readout, Voice

# `force-sealed.tsv` was written with `force-open.tsv` and held back: nothing is tuned to it.
CASES = Path(__file__).parents[1] / "cases/rules"


def limit(claim: str, text: str, page: str = "", voice: Voice | None = None) -> str:
    """Return the words by which a text weakens a claim; "" if it does not."""
    passage = replace(Passage.alone(text), page=page, voice=voice or Voice())
    found = find_weakening(Claim.alone(claim), passage)
    return found.source if found else ""


@each_row("judgement/force/only_qualified")
def test_statement_that_source_only_qualifies(claim: str, passage: str, words: str) -> None:
    found = limit(claim, passage)
    assert words in found
    assert found.split("…")[0].strip() in passage


@each_row("judgement/force/clause_that_denies_a_claim_in_its_own_language")
def test_clause_that_denies_a_claim_in_its_own_language(
    claim: str, passage: str, clause: str
) -> None:
    assert limit(claim, passage) == clause


@each_row("judgement/force/stated_as_fact")
def test_statement_that_source_makes(claim: str, passage: str) -> None:
    assert not limit(claim, passage)


def test_page_that_states_it_elsewhere() -> None:
    claim, passage = "Willow bark relieves headaches.", "Willow bark may relieve headaches."
    page = f"{passage}\n\nIn a later trial, willow bark clearly relieved headaches."
    assert limit(claim, passage, passage)
    assert not limit(claim, passage, page)
    assert not limit(claim, "")


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
    assert bool(limit(claim, text, voice=Voice.of(meta))) is limited
    assert not limit(claim, text, voice=Voice.of({"author": "Ida Holm"}))


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
    pair = Claim.alone("Willow bark relieves headaches."), Passage.alone(text)
    found = _evidence(pair, Readout(log_odds(probability)), None, ())
    assert label_of(found) is label
    assert [witness.kind for witness in found.witnesses] == kinds


def test_hostile_text_takes_no_time() -> None:
    claim, text = "Willow bark relieves headaches.", "may that accused of if " * 4_000
    began = time.perf_counter()
    limit(claim, text)
    limit(claim, "Willow bark may relieve headaches. " * 2_000)
    limit(claim, f"Willow bark used{' during' * 48} (again) to relieve headaches.")
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize(("half", "least"), [("open", 14), ("sealed", 17)])
def test_rewordings_are_read_as_well_as_before(half: str, least: int) -> None:
    """Rows: "weaker" or "same", as the passage states the claim; claim; passage."""
    lines = (CASES / f"force-{half}.tsv").read_text(encoding="utf-8").splitlines()
    read = [line.split("\t") for line in lines]
    right = [bool(limit(claim, text)) == (want == "weaker") for want, claim, text in read]
    assert sum(right) >= least
