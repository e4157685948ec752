"""Recipes: the shipped one is whole, and what is wrong in another is named."""

from pathlib import Path

import pytest

from pincite.errors import ConfigError
from pincite.training.recipe import SHIPPED, read_recipe

SETS = '[[sets]]\nname = "a"\n'


def test_the_shipped_recipe_can_be_read() -> None:
    recipe = read_recipe(SHIPPED)
    assert len(recipe.sets) > 10
    assert any(each.retrieve for each in recipe.sets)


def test_values_come_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(f"seed = 4\ntemperature = [0.2, 1]\n{SETS}rows = 3\nweight = 2\n")
    recipe = read_recipe(path)
    assert (recipe.seed, recipe.temperature) == (4, (0.2, 1))
    assert (recipe.sets[0].name, recipe.sets[0].rows, recipe.sets[0].weight) == ("a", 3, 2)
    assert recipe.strategy == "hard_em"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed = ", "cannot be read as a recipe"),
        ("seed = 1\n", "names no"),
        (f"colour = 1\n{SETS}", "unknown key 'colour'; Recipe knows sets, seed"),
        (f"{SETS}colour = 1\n", "unknown key 'colour'; SetRecipe knows name"),
        ("[[sets]]\nrows = 1\n", "name"),
        ("sets = [1]\n", "expected tables"),
        (f"{SETS}{SETS}", "names the set 'a' twice"),
        (f"strategy = 'best'\n{SETS}", "strategy is 'best'; expected one of hard_em"),
        (f"seed = 'x'\n{SETS}", "seed is 'x'; expected a whole number"),
        (f"max_tokens = 3.5\n{SETS}", "max_tokens is 3.5; expected a whole number"),
        (f"swaps = -1\n{SETS}", "swaps is -1; expected a number from 0"),
        (f"temperature = 3\n{SETS}", "temperature is 3; expected a list of two"),
        (f"temperature = [1]\n{SETS}", "temperature is .*; expected a list of two"),
        (f"precision = 'nf4'\n{SETS}", "precision is 'nf4'; expected one of auto, float32, bfloat"),
        (f"class_weights = [1, 2]\n{SETS}", "class_weights is .*; expected a list of three"),
        (f"{SETS}retrieve = 1\n", "retrieve is 1; expected true or false"),
    ],
)
def test_what_is_wrong_is_named_with_its_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "r.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        read_recipe(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml cannot be read"):
        read_recipe(tmp_path / "none.toml")
