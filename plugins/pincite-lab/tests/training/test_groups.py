"""Rows of claims files as groups: what is cut, made, drawn, kept and refused."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.files import write_jsonl
from support.laws import FakeEncoder
from training.conftest import invented

from pincite.documents.jsonl import LabelledClaim
from pincite.errors import InputError
from pincite.text import words as wording
from pincite_lab.training import groups as g
from pincite_lab.training.recipe import Recipe, Run, SetRecipe

SET = SetRecipe("towns", visits=3, retrieve=True, weight=1.5)
RECIPE = Recipe(sets=(SET,), swaps=1.0, negatives=1.0)


def labelled(rows: list[dict[str, Any]]) -> list[LabelledClaim]:
    return [LabelledClaim(r["id"], r["claim"], r["evidence"], r["label"]) for r in rows]


def long_row() -> LabelledClaim:
    filler = [f"Filler number {n} says nothing much about any of it at all." for n in range(60)]
    filler[40] = "The lighthouse of Nesby was painted green by its keeper."
    return LabelledClaim("long", "The lighthouse of Nesby is green.", " ".join(filler), "support")


def test_of_long_evidence_the_passages_that_share_words_are_kept_in_order() -> None:
    row = long_row()
    kept = g.cut(row, 2).latent
    assert len(kept) == 2
    assert all("lighthouse of Nesby" in text for text in kept)
    starts = [row.evidence.index(text) for text in kept]
    assert starts == sorted(starts)
    assert len(g.cut(row, 4).latent) == 4


def test_a_set_may_have_passages_of_its_own_width() -> None:
    rows, recipe = [long_row()], replace(RECIPE, max_passages=2, window_words=170, swaps=0.0)

    def longest(wanted: SetRecipe) -> int:
        (group,) = g.groups_of(rows, wanted, recipe, lambda row: ())
        return max(len(passage.split()) for passage in group.passages)

    assert longest(SetRecipe("towns")) > 100
    assert longest(SetRecipe("towns", window_words=40)) <= 60


def test_where_lines_are_marked_the_rest_of_the_page_lacks_the_evidence() -> None:
    row = long_row()
    lines = row.evidence.replace(". ", ".\n")
    marked = LabelledClaim("1", row.claim, lines, "support", {"supporting": [[40], [41]]})
    kept = g.cut(marked, 3)
    assert kept.latent
    assert all("Nesby" in text or "number 41 " in text for text in kept.latent)
    assert len(kept.lacking) == 3
    assert not [text for text in kept.lacking if "Nesby" in text or "number 41 " in text]
    groups = list(g.groups_of([marked], SET, RECIPE, lambda _: []))
    assert {len(x.negatives) for x in groups} == {1}
    assert {x.negatives[0] for x in groups} <= set(kept.lacking)


@pytest.mark.parametrize("marks", [None, [], [1, 2], "no", [["x", None]], {"a": 1}, [[999]]])
def test_marks_that_mean_nothing_are_no_marks(marks: object) -> None:
    row = LabelledClaim("1", "A claim.", "Some evidence.", "support", {"supporting": marks})
    assert g.cut(row, 3) == g.Cut(("Some evidence.",))


def test_made_claims_are_changed_and_labelled() -> None:
    row = LabelledClaim("1", "The mill of Holm was built in 1811.", "It was.", "support")
    labels = set()
    for seed in range(40):
        others = ["The sea is wide."]
        for claim, label in g.changed_claims(row, ["Skov"], others, random.Random(seed)):
            assert claim != row.claim
            is_denied = wording.is_negated(claim)
            assert label == ("refute" if is_denied else "not_support")
            labels.add(label)
    assert labels == {"refute", "not_support"}


def test_what_the_evidence_says_of_the_changed_place_decides_the_label() -> None:
    told = LabelledClaim("1", "The mill burnt in 1811.", "A fire took it in 1811.", "support")
    made = {pair for s in range(40) for pair in g.changed_claims(told, [], [], random.Random(s))}
    assert {label for _, label in made} == {"refute"}
    untold = replace(told, evidence="A fire took it.")
    made = {pair for s in range(40) for pair in g.changed_claims(untold, [], [], random.Random(s))}
    assert {label for _, label in made} == {"not_support"}


def test_denying_a_possibility_refutes_nothing() -> None:
    row = LabelledClaim("1", "the mill may flood", "It may flood.", "support")
    made = [g.changed_claims(row, [], [], random.Random(seed)) for seed in range(10)]
    assert set(made) == {(("the mill may not flood", "not_support"),)}


def test_a_change_that_the_evidence_states_too_is_not_made() -> None:
    row = LabelledClaim("1", "at Holm", "at Holm or at Skov", "support")
    assert g.changed_claims(row, ["Skov"], [], random.Random(1)) == ()
    assert g.changed_claims(row, ["Lund"], [], random.Random(1)) == (("at Lund", "not_support"),)


def test_a_claim_about_the_same_evidence_is_no_wrong_claim() -> None:
    evidence = "The old mill and the young miller."
    rows = [LabelledClaim(str(n), claim, evidence, "support") for n, claim in enumerate("ab")]
    assert [x.rivals for x in g.groups_of(rows, SET, RECIPE, lambda _: [])] == [()] * 6


def test_groups_are_a_visit_each_and_repeatable() -> None:
    rows = labelled(invented(12))

    def make(seed: int) -> list[g.Group]:
        recipe = Recipe(sets=(SET,), seed=seed, swaps=0.5, negatives=0.5)
        return list(g.groups_of(rows, SET, recipe, lambda _: ["Other town.", "Another."]))

    groups = make(1)
    assert groups == make(1)
    assert groups != make(2)
    assert [x.row_id for x in groups] == [row.row_id for row in rows for _ in range(3)]
    assert {x.weight for x in groups} == {1.5}
    assert {bool(x.negatives) for x in groups} == {True, False}
    assert {x.label for x in groups if x.rivals} == {"support"}
    per_visit = {x.rivals for x in groups if x.row_id == rows[0].row_id}
    assert len(per_visit) > 1, "each visit draws anew"


def test_a_retrieved_passage_of_the_own_evidence_is_no_negative() -> None:
    rows = labelled(invented(3))
    groups = g.groups_of(rows, SET, RECIPE, lambda row: [row.evidence[:30], "Elsewhere."])
    assert {x.negatives for x in groups} == {("Elsewhere.",)}


def test_a_set_is_sampled_by_the_seed(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "towns.jsonl.gz", *invented(9))

    def ids(n: int, seed: int) -> list[str]:
        found = g.read_set(tmp_path, SetRecipe("towns", rows=n), seed, silent)
        return [row.row_id for row in found]

    assert len(ids(4, 1)) == 4
    assert ids(4, 1) == ids(4, 1) != ids(4, 2)
    assert sorted(ids(0, 1)) == [f"row-0-{n}" for n in range(9)]


def test_bad_rows_are_told_with_their_line_and_skipped_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = invented(2)
    write_jsonl(tmp_path / "towns.jsonl", good[0], "{broken", good[1], {"id": "no claim"})
    warned: list[str] = []
    assert len(g.read_set(tmp_path, SetRecipe("towns"), 1, warned.append)) == 2
    assert len(warned) == 2
    assert f"{tmp_path / 'towns.jsonl'} line 2" in warned[0]
    assert "line 4" in warned[1]
    monkeypatch.setattr(g, "MAX_BAD", 1)
    with pytest.raises(InputError, match=r"more than 1 bad rows; the last: .*line 4"):
        g.read_set(tmp_path, SetRecipe("towns"), 1, silent)


def test_a_missing_or_empty_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no towns\.jsonl\.gz"):
        g.read_set(tmp_path, SetRecipe("towns"), 1, silent)
    write_jsonl(tmp_path / "towns.jsonl")
    with pytest.raises(InputError, match="no usable rows"):
        g.read_set(tmp_path, SetRecipe("towns"), 1, silent)


def claims(n: int) -> list[LabelledClaim]:
    texts = [(f"The mill of Holm has {i + 20} wheels.", f"Page {i} of it.") for i in range(n)]
    return [LabelledClaim(str(i), *text, "support") for i, text in enumerate(texts)]


def test_a_fifth_of_the_claims_is_held_back_whatever_their_evidence_and_case() -> None:
    held = [row for row in claims(500) if g.is_held_back(row.claim, 13)]
    assert 70 < len(held) < 130
    assert all(g.is_held_back(f" {row.claim.upper()}  ", 13) for row in held)
    other = [row for row in claims(500) if g.is_held_back(row.claim, 14)]
    assert 10 < len({r.row_id for r in held} & {r.row_id for r in other}) < 50
    halves = [g.half_of(row.claim, 13) for row in held]
    assert 0.3 < halves.count("fit") / len(halves) < 0.7


def test_documents_are_held_back_whole_and_with_their_claims() -> None:
    rows = [replace(row, meta={"url": n % 60}) for n, row in enumerate(claims(300))]
    rows += [replace(row, meta={"url": "again"}) for row in rows[:60]]
    learnt, held = g.split(rows, 13)
    documents, texts = {row.document for row in held}, {row.claim for row in held}
    assert 5 < len(documents) < 25
    assert learnt
    assert not any(row.document in documents or row.claim in texts for row in learnt)
    assert g.split(rows[:20], 13) == (rows[:20], [])


def test_what_is_held_back_stands_in_no_group() -> None:
    words = ["".join(chr(97 + int(digit)) for digit in str(n)) for n in range(60)]
    rows = [LabelledClaim(w, f"Its goats eat {w}.", f"Of {w}.", "support") for w in words]
    held = [row for row in rows if g.is_held_back(row.claim, RECIPE.seed)]
    assert held
    wanted = SetRecipe("towns", visits=9, held_back=True)
    groups = list(g.groups_of(rows, wanted, RECIPE, lambda _: []))
    assert groups
    told = " ".join([x.claim for x in groups] + [c for x in groups for c, _ in x.rivals])
    assert not [row for row in held if row.claim in told]


FILES = Recipe(sets=(SetRecipe("towns", retrieve=True), SetRecipe("more")), negatives=1.0)


def silent(*_: object) -> None:
    pass


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    write_jsonl(folder / "towns.jsonl.gz", *invented(12), "not json")
    write_jsonl(folder / "more.jsonl", *invented(3, seed=5))
    return folder


@pytest.mark.parametrize("encoder", [None, FakeEncoder()], ids=["words", "both"])
def test_groups_have_negatives_of_other_documents_only(
    data: Path, tmp_path: Path, encoder: FakeEncoder | None
) -> None:
    run, told, warned = tmp_path / "run", set[str](), list[str]()
    run.mkdir()
    of_run = Run(data, run, FILES, "base")
    groups = g.prepare_groups(of_run, encoder, lambda what, *_: told.add(what), warned.append)
    assert told == {"indexing evidence", "searching negatives", "cutting evidence"}
    assert len(warned) == 1
    assert "line 13" in warned[0]
    towns = [group for group in groups if group.set_name == "towns"]
    assert len(towns) == 12
    assert len(groups) == 15
    assert any(group.negatives for group in towns)
    assert not any(group.negatives for group in groups if group.set_name == "more")
    for group in towns:
        evidence = " ".join(group.passages)
        assert not [text for text in group.negatives if text in evidence]


def rows(*pairs: tuple[str, str]) -> list[LabelledClaim]:
    return [LabelledClaim(str(n), c, e, "support") for n, (c, e) in enumerate(pairs)]


def test_the_first_hits_are_skipped_and_own_evidence_never_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(g, "SKIPPED", 0)
    found = rows(
        ("The mill of Holm", "The mill of Holm is old."),
        ("The mill of Holm", "A second page about the mill of Holm."),
        ("The mill of Gram", "The mill of Gram is new."),
    )
    holm, gram = [r.evidence for r in found[:2]], [found[2].evidence]
    own = {"The mill of Holm": holm, "The mill of Gram": gram}
    with g.index(tmp_path / "e", [r.evidence for r in found], None, silent) as corpus:
        got = g.negatives(corpus, own, False, silent)
        assert [p.text for p in got["The mill of Holm"]] == ["The mill of Gram is new."]
        assert len(got["The mill of Gram"]) == 2
        monkeypatch.setattr(g, "SKIPPED", 3)
        assert g.negatives(corpus, own, False, silent)["The mill of Gram"] == []
