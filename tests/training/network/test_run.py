"""A run's folder: what it was started with is kept, and another run in it is refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs the extra: pincite[train]")

from pincite.errors import ConfigError
from pincite.training import run as runs
from pincite.training.recipe import Recipe, SetRecipe

RECIPE = Recipe(sets=(SetRecipe("towns"),))


@pytest.fixture
def run(tmp_path: Path) -> runs.Run[Recipe]:
    return runs.Run(tmp_path / "data", tmp_path / "run", RECIPE, "base")


def test_the_same_run_goes_on_also_elsewhere(run: runs.Run[Recipe]) -> None:
    runs.record(run)
    runs.record(replace(run, device="cuda", threads=3, max_bad=1))
    kept = json.loads((run.folder / runs.RECORD).read_text())
    assert kept["recipe"]["strategy"] == "hard_em"
    assert kept["base"] == "base"
    assert set(kept["versions"]) == {"pincite", "torch", "transformers"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"base": "other"}, r"holds another run: base was 'base', is 'other'\. Give what"),
        ({"recipe": replace(RECIPE, seed=99)}, r"recipe\.seed was 13, is 99"),
        ({"dense": False}, "dense was True, is False"),
        ({"data": Path("/elsewhere")}, "data was '.*', is '/elsewhere'"),
        ({"teacher": Path("/teacher")}, "teacher was None, is '/teacher'"),
    ],
    ids=["base", "recipe", "dense", "data", "teacher"],
)
def test_another_run_is_refused(
    run: runs.Run[Recipe], change: dict[str, object], message: str
) -> None:
    runs.record(run)
    with pytest.raises(ConfigError, match=message) as caught:
        runs.record(replace(run, **change))  # type: ignore[arg-type]
    assert "--run" in str(caught.value)


def test_a_folder_with_groups_of_unknown_origin_is_refused(run: runs.Run[Recipe]) -> None:
    run.folder.mkdir()
    (run.folder / "groups.jsonl").write_text("")
    with pytest.raises(ConfigError, match=r"groups\.jsonl but no run\.json"):
        runs.record(run)


@pytest.mark.parametrize("content", ["{", "[]", "{}"])
def test_a_record_that_cannot_be_read_is_named(run: runs.Run[Recipe], content: str) -> None:
    run.folder.mkdir()
    (run.folder / runs.RECORD).write_text(content)
    with pytest.raises(ConfigError, match=r"run\.json cannot be read"):
        runs.record(run)
