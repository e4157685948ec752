"""What a verifier is trained on and how: the recipe file as frozen dataclasses.

A recipe is TOML (`verifier.toml` beside this file is the one behind the shipped weights), so that
a run can be read, changed and repeated without touching code.
"""

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from pincite.errors import ConfigError

SHIPPED = Path(__file__).parent / "verifier.toml"
STRATEGIES = ("hard_em", "soft_em", "first", "random", "uniform")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SetRecipe:
    """One collection: how many of its rows are seen, how often, and how much they weigh."""

    name: str  # the file's name without .jsonl.gz
    rows: int = 0  # at most this many, chosen by the seed; 0 means all
    visits: int = 1  # how often each row is seen
    weight: float = 1.0  # of its losses
    retrieve: bool = False  # its evidence is searched for negatives
    marked: bool = False  # `meta.non_supported` marks the words without evidence (partial rows)


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides a run, beside the data and the base network."""

    sets: tuple[SetRecipe, ...]
    seed: int = 13
    strategy: str = "hard_em"  # one of STRATEGIES
    temperature: tuple[float, float] = (0.1, 1.0)  # soft EM: at the first step, after warm-up
    temperature_steps: int = 1000
    max_tokens: int = 320
    max_passages: int = 4  # of one evidence; those that share most words with the claim
    batch_tokens: int = 4096  # claims and passages with padding, in one step
    learning_rate: float = 4e-5
    warmup: float = 0.06  # share of the steps over which the rate rises
    weight_decay: float = 0.01
    frozen_layers: int = 0  # the embeddings too, where it is above 0
    ranking_weight: float = 0.5  # of the listwise loss beside the labels' cross-entropy
    made_weight: float = 0.7  # of the loss on made negatives
    swaps: float = 0.5  # share of the supported rows that get a changed claim
    negatives: float = 0.5  # share of the rows of searched sets that get a retrieved passage
    partial_support: float = 0.35  # the share of "supported" in the target of a partial row
    distillation: float = 0.5  # weight of the teacher's distribution, where there is a teacher



def read_recipe(path: Path = SHIPPED) -> Recipe:
    """The recipe in a TOML file: keys as `Recipe` names them, and `[[sets]]`.

    Raises:
        ConfigError: names the file and the key that is unknown or wrong.
    """
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read as a recipe: {error}") from error
    sets = given.pop("sets", [])
    if not isinstance(sets, list) or not sets:
        raise ConfigError(f"{path} names no [[sets]]; a recipe needs at least one.")
    if "temperature" in given:
        given["temperature"] = tuple(given["temperature"])
    made = _made(Recipe, given | {"sets": tuple(_made(SetRecipe, s, path) for s in sets)}, path)
    if made.strategy not in STRATEGIES:
        raise ConfigError(
            f"{path}: strategy is {made.strategy!r}; expected one of {', '.join(STRATEGIES)}."
        )
    return made


def _made(kind: type[T], given: dict[str, Any], path: Path) -> T:
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ConfigError(
            f"{path}: unknown key {unknown[0]!r}; {kind.__name__} knows {', '.join(known)}."
        )
    try:
        return kind(**given)
    except TypeError as error:
        raise ConfigError(f"{path}: {error}") from error
