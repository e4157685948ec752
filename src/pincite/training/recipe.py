"""What a model is trained on and how: the recipe file as frozen dataclasses.

A recipe is TOML (`verifier.toml` beside this file is the default), so that
a run can be read, changed and repeated without touching code.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from pincite.errors import ConfigError
from pincite.llm.templates import LANGUAGES

SHIPPED = Path(__file__).parent / "verifier.toml"
ENCODER = Path(__file__).parent / "encoder.toml"
ANSWERER = Path(__file__).parent / "answerer.toml"
STRATEGIES = ("hard_em", "soft_em", "first", "random", "uniform")
POOLINGS = ("mean", "cls")
PRECISIONS = ("float32", "bfloat16", "nf4", "fp4")  # the last two: 4 bits, by bitsandbytes
ARITHMETIC = ("auto", "float32", "bfloat16")  # auto: bfloat16 where the processor multiplies it
T = TypeVar("T")
R = TypeVar("R", "Recipe", "EncoderRecipe", "AnswererRecipe")


@dataclass(frozen=True, slots=True)
class SetRecipe:
    """One collection: how many of its rows are seen, how often, and how much they weigh."""

    name: str  # the file's name without .jsonl.gz
    rows: int = 0  # at most this many, chosen by the seed; 0 means all
    visits: int = 1  # how often each row is seen
    weight: float = 1.0  # of its losses
    retrieve: bool = False  # its evidence is searched for negatives
    held_back: bool = False  # a fifth of its claims is kept for measuring: `groups.is_held_back`
    window_words: int = 0  # of its passages; 0: the recipe's


@dataclass(frozen=True, slots=True)
class Extra:
    """Rows of a user's own beside a recipe's sets, as `pincite feedback export` writes them.

    Seen as often, and weighing as much, as the small clean sets of the shipped recipe.
    """

    files: tuple[Path, ...] = ()
    visits: int = 2
    weight: float = 1.5

    @property
    def sets(self) -> tuple[SetRecipe, ...]:
        """A set for each file, named by its place: the run is the same wherever the file lies."""
        return tuple(
            SetRecipe(f"own rows {n}", visits=self.visits, weight=self.weight)
            for n in range(1, len(self.files) + 1)
        )


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
    window_words: int = 0  # of a passage; 0: as `verify` cuts, in two widths
    batch_tokens: int = 4096  # claims and passages with padding, in one step
    steps: int = 0  # at most so many, and the rate falls to zero there; 0: all groups once
    learning_rate: float = 4e-5
    warmup: float = 0.06  # share of the steps over which the rate rises
    weight_decay: float = 0.01
    frozen_layers: int = 0  # the embeddings too, where it is above 0
    frozen_embeddings: bool = False  # where no layer is frozen
    dropout: float = 0.1  # behind the layers; attention has none
    precision: str = "auto"  # one of ARITHMETIC
    ranking_weight: float = 0.5  # of the listwise loss beside the labels' cross-entropy
    made_weight: float = 0.7  # of the loss on made negatives
    swaps: float = 0.5  # share of the supported rows that get a changed claim
    negatives: float = 0.5  # share of the rows of searched sets that get a retrieved passage
    partial_support: float = 0.35  # the share of "supported" in the target of a partial row
    class_weights: tuple[float, float, float] = (1.0, 1.0, 1.0)  # supported, refuted, neutral
    smoothing: float = 0.0  # of the labels
    distillation: float = 0.5  # weight of the teacher's distribution, where there is a teacher


@dataclass(frozen=True, slots=True)
class EncoderRecipe:
    """All that decides an encoder's run, beside the data and the base network."""

    sets: tuple[SetRecipe, ...]
    seed: int = 13
    pooling: str = "mean"  # as sentence-transformers bases have it; or cls
    score_temperature: float = 0.05  # cosines are divided by it: SimCSE's (Gao et al. 2021, §3)
    max_tokens: int = 256  # of a claim or a passage
    batch_claims: int = 32  # in one step; each has the others' passages as negatives
    steps: int = 0  # at most so many, and the rate falls to zero there; 0: all pairs once
    learning_rate: float = 2e-5
    warmup: float = 0.06  # share of the steps over which the rate rises
    weight_decay: float = 0.01
    refuted: bool = True  # evidence that refutes a claim is on its topic: it is to be found too
    negatives: bool = True  # a passage of another document beside each, that words or meanings find


@dataclass(frozen=True, slots=True)
class AnswererRecipe:
    """All that decides the run of a model that answers, beside the data and the base.

    Defaults are Verif.ai's (LoRA after Hu et al. 2021; 4 bits after Dettmers et al. 2023, QLoRA).
    """

    seed: int = 13
    rows: int = 0  # at most so many, chosen by the seed; 0 means all
    visits: int = 2  # how often each is seen
    max_tokens: int = 4096  # of prompt and answer; abstracts that are not cited are cut for it
    batch_rows: int = 8  # in one step
    rows_at_once: int = 1  # of them in memory at once: accumulation is the rest
    steps: int = 0  # at most so many, and the rate falls to zero there; 0: all rows
    learning_rate: float = 2e-4
    warmup: float = 0.03  # share of the steps over which the rate rises
    weight_decay: float = 0.0
    rank: int = 64
    alpha: int = 16  # the adapter's product is scaled by alpha / rank
    dropout: float = 0.1  # before the adapter
    modules: tuple[str, ...] = ("q_proj", "v_proj")  # or one: all-linear
    precision: str = "float32"  # of the base, which is not trained; one of PRECISIONS
    checkpointing: bool = True  # layers are computed twice, and their insides need no memory
    prompt_language: str = "en"  # in which language the model is asked, as the setting of `check`
    language: str = "en"  # of the answers
    prompts: str = ""  # a folder with an answer_question.txt of your own


def read_recipe(path: Path = SHIPPED) -> Recipe:
    """The recipe of a verifier, as `recipe_in` reads it."""
    return recipe_in(path, Recipe)


def recipe_in(path: Path, kind: type[R]) -> R:
    """The recipe in a TOML file: keys as `kind` names them, and `[[sets]]` where it has some.

    Raises:
        ConfigError: names the file and the key that is unknown or wrong.
    """
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read as a recipe: {error}") from error
    if kind is not AnswererRecipe:
        sets = given.pop("sets", [])
        if not isinstance(sets, list) or not sets:
            raise ConfigError(f"{path} names no [[sets]]; a recipe needs at least one.")
        given["sets"] = tuple(_made(SetRecipe, each, path) for each in sets)
    given = {key: tuple(v) if isinstance(v, list) else v for key, v in given.items()}
    made = _made(kind, given, path)
    names = [each.name for each in given.get("sets", ())]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"{path} names the set {twice[0]!r} twice; give it once, with `visits`.")
    _require_sense(made, path)
    return made


def _require_sense(made: R, path: Path) -> None:
    """Each key that chooses has one of its values, and what divides or counts is above zero."""
    precisions = {"precision": ARITHMETIC if isinstance(made, Recipe) else PRECISIONS}
    for key, choices in (_CHOICES | precisions).items():
        value = getattr(made, key, choices[0])
        if value not in choices:
            raise ConfigError(f"{path}: {key} is {value!r}; expected one of {', '.join(choices)}.")
    for key in _ABOVE_ZERO:
        if not getattr(made, key, 1):
            raise ConfigError(f"{path}: {key} is 0; expected a number above 0.")
    if getattr(made, "dropout", 0) >= 1:
        raise ConfigError(f"{path}: dropout is a share; expected a number below 1.")


def _made(kind: type[T], given: Any, path: Path) -> T:
    if not isinstance(given, dict):
        raise ConfigError(f"{path}: [[sets]] holds {given!r}; expected tables with a name.")
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ConfigError(
            f"{path}: unknown key {unknown[0]!r}; {kind.__name__} knows {', '.join(known)}."
        )
    try:
        made = kind(**given)
    except TypeError as error:
        raise ConfigError(f"{path}: {error}") from error
    for field in fields(kind):  # type: ignore[arg-type]
        value, (words, fits) = getattr(made, field.name), _FITS[field.type]
        if not fits(value):
            raise ConfigError(f"{path}: {field.name} is {value!r}; expected {words}.")
    return made


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


_ABOVE_ZERO = (
    *("score_temperature", "batch_claims"),
    "visits",
    *("batch_rows", "rows_at_once", "rank", "alpha", "max_tokens", "modules"),
)
_CHOICES = {
    "strategy": STRATEGIES,
    "pooling": POOLINGS,
    "prompt_language": LANGUAGES,
}
# A field's type → how it is called, and what it allows.
_FITS: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    str: ("a string", lambda value: isinstance(value, str)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    int: ("a whole number from 0", lambda value: _is_number(value) and isinstance(value, int)),
    float: ("a number from 0", _is_number),
    tuple[float, float]: (
        "a list of two numbers",
        lambda value: isinstance(value, tuple) and len(value) == 2 and all(map(_is_number, value)),
    ),
    tuple[float, float, float]: (
        "a list of three numbers",
        lambda value: isinstance(value, tuple) and len(value) == 3 and all(map(_is_number, value)),
    ),
    tuple[str, ...]: (
        "a list of strings",
        lambda value: isinstance(value, tuple) and all(isinstance(each, str) for each in value),
    ),
    tuple[SetRecipe, ...]: ("tables", lambda value: isinstance(value, tuple)),
}
