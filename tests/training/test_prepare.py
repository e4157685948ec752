"""Groups of a run from its files: negatives from other documents, made once and kept."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.laws import FakeEncoder

from pincite.documents.jsonl import LabelledClaim
from pincite.errors import InputError
from pincite.training import groups as made
from pincite.training import prepare
from pincite.training.recipe import Extra, Recipe, SetRecipe

Rows = Callable[..., list[dict[str, Any]]]
Write = Callable[[Path, list[Any]], Path]
RECIPE = Recipe(sets=(SetRecipe("towns", retrieve=True), SetRecipe("more")), negatives=1.0)


def silent(*_: object) -> None:
    pass


@pytest.fixture
def data(tmp_path: Path, rows_of: Rows, write: Write) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    write(folder / "towns.jsonl.gz", [*rows_of(12), "not json"])
    write(folder / "more.jsonl", rows_of(3, seed=5))
    return folder


@pytest.mark.parametrize("encoder", [None, FakeEncoder()], ids=["words", "both"])
def test_groups_have_negatives_of_other_documents_only(
    data: Path, tmp_path: Path, encoder: FakeEncoder | None
) -> None:
    run, told = tmp_path / "run", set[str]()
    warned: list[str] = []
    run.mkdir()
    groups = prepare.prepared(
        data, RECIPE, encoder, run, lambda what, *_: told.add(what), warned.append
    )
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


def test_groups_are_made_once(data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    groups = prepare.prepared(data, RECIPE, None, run, silent, silent)
    (data / "towns.jsonl.gz").unlink()
    assert prepare.prepared(data, RECIPE, None, run, silent, silent) == groups
    (run / prepare.GROUPS).unlink()
    with pytest.raises(InputError, match="towns"):
        prepare.prepared(data, RECIPE, None, run, silent, silent)


def test_too_many_bad_rows_refuse_the_run(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="more than 0 bad rows"):
        prepare.prepared(data, RECIPE, None, tmp_path, silent, silent, max_bad=0)
    assert not (tmp_path / prepare.GROUPS).exists()


def rows(*pairs: tuple[str, str]) -> list[LabelledClaim]:
    return [LabelledClaim(str(n), c, e, "support") for n, (c, e) in enumerate(pairs)]


def test_the_first_hits_are_skipped_and_own_evidence_never_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "SKIPPED", 0)
    found = rows(
        ("The mill of Holm", "The mill of Holm is old."),
        ("The mill of Holm", "A second page about the mill of Holm."),
        ("The mill of Gram", "The mill of Gram is new."),
    )
    with prepare.indexed(tmp_path / "e", [r.evidence for r in found], None, silent) as corpus:
        got = prepare.negatives(corpus, found, False, silent)
        assert got["The mill of Holm"] == ["The mill of Gram is new."]
        assert len(got["The mill of Gram"]) == 2
        monkeypatch.setattr(prepare, "SKIPPED", 3)
        assert prepare.negatives(corpus, found, False, silent)["The mill of Gram"] == []


def test_an_index_that_was_cut_short_is_gone_on_with(tmp_path: Path) -> None:
    folder, seen = tmp_path / "e", list[tuple[object, ...]]()
    folder.mkdir()
    (folder / "g1").mkdir()  # what a kill leaves before the corpus is one
    evidences = ["The mill is old.", "The mill is new.", "The mill is old."]
    with prepare.indexed(folder, evidences[:1], None, silent) as corpus:
        assert corpus.status().n_documents == 1
    with prepare.indexed(folder, evidences, None, lambda *a: seen.append(a)) as corpus:
        assert corpus.status().n_documents == 2
    assert seen == [("indexing evidence", 2, 2)]


def test_rows_of_ones_own_come_after_the_recipes(
    data: Path, tmp_path: Path, rows_of: Rows, write: Write
) -> None:
    own = tmp_path / "feedback.jsonl"
    write(own, [*rows_of(4, seed=9), "not json"])
    extra, warned = Extra((own,), visits=3, weight=2.0), list[str]()
    plain, more = tmp_path / "plain", tmp_path / "more"
    plain.mkdir()
    more.mkdir()
    before = prepare.prepared(data, RECIPE, None, plain, silent, silent)
    read = prepare.read_own(extra, RECIPE.seed, warned.append, 20)
    after = prepare.prepared(data, RECIPE, None, more, silent, silent, own=read)
    assert after[: len(before)] == before
    added = after[len(before) :]
    assert len(added) == 12
    assert {(group.set_name, group.weight) for group in added} == {("own rows 1", 2.0)}
    assert "line 5" in warned[0]
    assert made.read_groups(more / prepare.GROUPS) == after


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (None, "cannot be read"),
        ([], "has no rows that can be used"),
        ([{"statement": "It is.", "label": "confirmed"}] * 2, "more than 1 bad rows"),
    ],
    ids=["missing", "empty", "another export"],
)
def test_a_bad_file_of_ones_own_is_named_with_what_was_expected(
    tmp_path: Path, rows: list[Any] | None, message: str, write: Write
) -> None:
    path = tmp_path / "own.jsonl"
    if rows is not None:
        write(path, rows)
    with pytest.raises(InputError, match=message) as caught:
        prepare.read_own(Extra((path,)), 13, silent, 1)
    assert "pincite feedback export --format claims" in str(caught.value)
    assert str(path) in str(caught.value)
