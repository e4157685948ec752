"""The inputs of a training run: its recipe, a TOML file, and its folder.

`verifier.toml` beside this file is the default recipe. The folder's run.json records everything
that the weights depend on: the same command resumes the run, and a different one is rejected.
"""

import json
import tomllib
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from pincite import durable
from pincite.errors import ConfigError

SHIPPED = Path(__file__).parent / "verifier.toml"
MAX_BAD = 20  # malformed rows skipped per file before the run is rejected
GROUPS = "groups.jsonl"  # in a run's folder
STATE = "state.safetensors"
RECORD = "run.json"
MODEL = "model"

STRICT = ConfigDict(extra="forbid", strict=True)
Count = Annotated[int, Field(ge=0)]
Size = Annotated[int, Field(gt=0)]
Share = Annotated[float, Field(ge=0, lt=1)]
Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True, config=STRICT)
class SetRecipe:
    """One collection of rows and how it is used."""

    name: str  # the file's name without .jsonl.gz
    rows: Count = 0  # at most this many, chosen by the seed; 0 means all
    visits: Count = 1  # how often each row is seen
    weight: Number = 1.0  # of its losses
    retrieve: bool = False  # search its evidence for negatives
    held_back: bool = False  # never train on a fifth of its claims: `groups.is_held_back`
    window_words: Count = 0  # of its passages; 0: the recipe's


@dataclass(frozen=True, slots=True, config=STRICT)
class Recipe:
    """How a verifier is trained."""

    sets: tuple[SetRecipe, ...]
    seed: Count = 13
    max_tokens: Size = 320
    max_passages: Size = 4  # of one evidence: those that share most words with the claim
    window_words: Count = 0  # of a passage; 0: split like `verify`, in two widths
    batch_tokens: Size = 4096  # claims and passages per step, with padding
    steps: Count = 0  # where the rate reaches zero; 0: one pass over all groups
    learning_rate: Number = 4e-5
    warmup: Number = 0.06  # share of the steps over which the rate rises
    weight_decay: Number = 0.01
    frozen_layers: Count = 0  # above 0, the embeddings are frozen too
    frozen_embeddings: bool = False
    dropout: Share = 0.1  # after the layers; attention has none
    # auto: bfloat16 if the processor supports it
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    ranking_weight: Number = 0.5  # of the listwise loss, relative to the labels' cross-entropy
    made_weight: Number = 0.7  # of the loss on generated negatives
    swaps: Number = 0.5  # share of supported rows that get a changed claim
    negatives: Number = 0.5  # share of searched sets' rows that get a retrieved passage
    partial_support: Number = 0.35  # probability of "supported" in the target of a partial row
    # supported, refuted, neutral
    class_weights: tuple[Number, Number, Number] = (1.0, 1.0, 1.0)
    smoothing: Number = 0.0  # of the labels
    distillation: Number = 0.5  # weight of the teacher's distribution, if there is a teacher


def recipe_in(path: Path) -> Recipe:
    """Read a recipe from a TOML file.

    Raises:
        ConfigError: A key is unknown or invalid; the message names it and the file.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        # In JSON mode pydantic accepts lists for tuples, and is otherwise strict.
        recipe = TypeAdapter(Recipe).validate_json(json.dumps(values, default=str))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise ConfigError(f"{path}: {key}: {first['msg']}; got {first['input']!r}.") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read as a recipe: {error}") from error
    names = [spec.name for spec in recipe.sets]
    if not names or len(set(names)) < len(names):
        raise ConfigError(f"{path}: sets: expected at least one [[sets]], each name once.")
    return recipe


@dataclass(frozen=True, slots=True)
class Run:
    """A training run: its inputs, its folder and how it uses the machine.

    `teacher`: the name of the shipped verifier, or the folder `model` of another run.
    """

    data: Path
    folder: Path
    recipe: Recipe
    base: str
    teacher: str | None = None
    dense: bool = True  # find negatives by meaning too, not only by words
    device: str = "auto"  # or cpu, cuda
    threads: int = 0  # 0: all cores


def begin_run(run: Run) -> str:
    """Record the run, seed torch and set its threads; returns the device.

    Raises:
        ConfigError: The folder holds another run, or there is no such device.
    """
    import torch

    has_gpu = torch.cuda.is_available()
    if run.device == "cuda" and not has_gpu:
        raise ConfigError("--device cuda: torch finds no GPU here. Use --device cpu.")
    record(run)
    if run.threads:
        torch.set_num_threads(run.threads)
    torch.manual_seed(run.recipe.seed)  # for a new head
    return ("cuda" if has_gpu else "cpu") if run.device == "auto" else run.device


def record(run: Run) -> None:
    """Record what the run's weights depend on; an existing record must be identical.

    The device is left out, since it may change.

    Raises:
        ConfigError: It differs; the message has both values.
    """
    path = run.folder / RECORD
    base, teacher = (
        str(Path(place).resolve()) if place and Path(place).is_dir() else place
        for place in (run.base, run.teacher)
    )
    inputs: dict[str, Any] = {"data": str(run.data.resolve()), "base": base, "teacher": teacher}
    recipe = {f"recipe.{key}": value for key, value in asdict(run.recipe).items()}
    inputs |= {"dense": run.dense, **recipe}
    inputs = json.loads(json.dumps(inputs))  # to compare equal with the record
    if not path.exists():
        run.folder.mkdir(parents=True, exist_ok=True)
        versions = {name: version(name) for name in ("pincite", "torch", "transformers")}
        durable.write_text(path, json.dumps(inputs | {"versions": versions}, indent=1) + "\n")
        return
    try:
        recorded = json.loads(path.read_text(encoding="utf-8"))
        old = {key: value for key, value in recorded.items() if key != "versions"}
    except (OSError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path} cannot be read ({error}). Choose another --run.") from error
    differing = [key for key in {**old, **inputs} if old.get(key) != inputs.get(key)]
    if differing:
        shown = "; ".join(f"{k} was {old.get(k)!r}, is {inputs.get(k)!r}" for k in differing)
        raise ConfigError(
            f"{run.folder} holds another run: {shown}. To resume it, start it as before; for a new "
            "run choose another folder with --run."
        )
