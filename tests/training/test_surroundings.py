"""A passage's title, boilerplate and headline: what is put around it, and what is not."""

import random
from typing import Any

import pytest

from pincite.documents.lines.labelled import LabelledClaim
from pincite.training import groups as g
from pincite.training import surroundings
from pincite.training.recipe import Recipe, SetRecipe

SET = SetRecipe("towns", retrieve=True)


def page(town: str, **meta: Any) -> LabelledClaim:
    told = [f"The {what} of {town} is {n + 3} years old and well kept." for n, what in
            enumerate(("mill", "bridge", "school", "harbour", "library"))]  # fmt: skip
    return LabelledClaim(town, f"The mill of {town} is old.", " ".join(told), "nei", meta)


@pytest.mark.parametrize(
    ("meta", "evidence", "title"),
    [
        ({"page": "Holm"}, "A mill.", "Holm"),
        ({"title": "Mills", "doc_id": 3}, "A mill.", "Mills"),
        ({"title": "The article that cites it"}, "A mill.", ""),
        ({}, "(meta data) TITLE: Holm's mill\nA mill.", "Holm's mill"),
        ({"page": None}, "A mill.", ""),
    ],
)
def test_the_title_is_that_of_the_evidence(meta: dict[str, Any], evidence: str, title: str) -> None:
    assert surroundings.title_of(LabelledClaim("1", "c", evidence, "nei", meta)) == title


def test_a_title_stands_before_passages_that_lack_it() -> None:
    recipe = Recipe(sets=(SET,), titles=1.0, swaps=0.0, negatives=0.0)
    (group,) = g.groups_of([page("Holm", page="Old mills")], SET, recipe, lambda _: [])
    assert group.passages[0].startswith("Old mills. The mill of Holm")
    (bare,) = g.groups_of([page("Holm", page="Holm")], SET, recipe, lambda _: [])
    assert bare.passages[0].startswith("The mill of Holm")


def test_dirt_keeps_the_passage_whole_and_spares_no_kind() -> None:
    recipe = Recipe(sets=(SET,), dirt=1.0, swaps=0.0, negatives=1.0)
    (group,) = g.groups_of([page("Holm")], SET, recipe, lambda _: ["Elsewhere."])
    for text, clean in ((group.passages[0], page("Holm").evidence), (*group.negatives, "Else")):
        assert clean in text
        assert "\n" in text


def test_a_headline_is_supported_by_the_rest_of_its_page_only() -> None:
    rows = [page(town) for town in ("Holm", "Skov", "Lund")]
    recipe = Recipe(sets=(SET,), headlines=1.0)
    made = [x for x in g.groups_of(rows, SET, recipe, lambda _: []) if x.weight < 1]
    assert {x.row_id for x in made} == {"Holm", "Skov", "Lund"}
    for group in made:
        ((other, label),) = group.rivals
        assert (group.label, label) == ("support", "not_support")
        assert group.row_id in group.claim
        assert group.claim not in group.passages[0]
        assert group.row_id not in other


def test_no_headline_where_there_is_no_page() -> None:
    short = LabelledClaim("1", "A claim.", "One sentence. Another one.", "support")
    assert list(surroundings.headlines([short], 1.0, random.Random(1))) == []
    plain = SetRecipe("towns")
    found = list(
        g.groups_of([page("Holm")], plain, Recipe(sets=(plain,), headlines=1.0), lambda _: [])
    )
    assert len(found) == 1
