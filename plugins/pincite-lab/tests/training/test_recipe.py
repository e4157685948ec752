"""Recipes: the shipped one can be read, and what is wrong in another is named."""

from pathlib import Path

import pytest
from support.rows import each_row

from pincite.errors import ConfigError
from pincite_lab.training.recipe import SHIPPED, recipe_in

SETS = '[[sets]]\nname = "a"\n'


def test_the_shipped_recipe_can_be_read() -> None:
    recipe = recipe_in(SHIPPED)
    assert len(recipe.sets) > 10
    assert any(each.retrieve for each in recipe.sets)


def test_values_come_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(f"seed = 4\nclass_weights = [0.2, 1, 2]\n{SETS}rows = 3\nweight = 2\n")
    recipe = recipe_in(path)
    assert (recipe.seed, recipe.class_weights) == (4, (0.2, 1, 2))
    assert (recipe.sets[0].name, recipe.sets[0].rows, recipe.sets[0].weight) == ("a", 3, 2)
    assert recipe.precision == "auto"


@each_row("lab/training/recipe/what_is_wrong_is_named_with_its_file")
def test_what_is_wrong_is_named_with_its_file(tmp_path: Path, text: str, key: str) -> None:
    path = tmp_path / "r.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        recipe_in(path)
    assert str(caught.value).startswith(f"{path}: {key}: " if key else str(path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml cannot be read"):
        recipe_in(tmp_path / "none.toml")
