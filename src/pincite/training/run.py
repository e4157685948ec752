"""A training run in a folder: what it was started with, its parts put together, its result.

The folder holds run.json (what decides the run), groups.jsonl, the state, the log and, at the end,
`model`. The same call goes on where it stopped; a call that means another run is refused.
"""

import hashlib
import json
import shutil
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic

import torch

from pincite.errors import ConfigError
from pincite.models import weights
from pincite.models.encoder import OnnxEncoder
from pincite.training import loop, network, prepare
from pincite.training.objective import Teacher
from pincite.training.recipe import Extra, R, Recipe

RECORD = "run.json"
MODEL = "model"
OWN_ROWS = "own_rows"  # in a card


@dataclass(frozen=True, slots=True)
class Run(Generic[R]):
    """What a run is made of.

    `teacher`: a verifier, exported (its name or folder) or as a Hugging Face folder with CLASSES as
    labels.
    """

    data: Path
    folder: Path
    recipe: R
    base: str
    teacher: Path | None = None
    dense: bool = True  # negatives by meaning too, not by words alone
    device: str = "auto"  # or cpu, cuda
    threads: int = 0  # 0: all cores
    max_bad: int = prepare.MAX_BAD
    extra: Extra = field(default_factory=Extra)  # a verifier's only


def train_verifier(
    run: Run[Recipe], tell: prepare.Tell, warn: prepare.Warn, progress: loop.Progress
) -> Path:
    """Prepare, train and write the model, or what of it is still to do; the model's folder.

    Raises:
        ConfigError: the folder holds another run, or there is no such device.
        InputError: the data cannot be used, or the state does not fit.
        MissingModel: base, teacher or encoder is nowhere.
    """
    # Before the run is on record: a file that is bad can then be mended, and the command repeated.
    own = prepare.read_own(run.extra, run.recipe.seed, warn, run.max_bad)
    device = begun(run)
    model, tokenizer = network.load(run.base)
    taught = None
    if run.teacher:
        taught = teacher_of(str(run.teacher), run.recipe, device, run.threads)
    encoder = None
    if run.dense and not (run.folder / prepare.GROUPS).exists():
        encoder = OnnxEncoder(weights.locate(weights.ENCODER), threads=run.threads)
    groups = prepare.prepared(
        run.data, run.recipe, encoder, run.folder, tell, warn, run.max_bad, own
    )
    loop.train(groups, run.recipe, model.to(device), tokenizer, run.folder, taught, progress)
    n_own = sum(len(reading.rows) for _, reading in own) + own_rows(Path(run.base))
    write_model(model, tokenizer, run.folder / MODEL, n_own)
    return run.folder / MODEL


def teacher_of(place: str, recipe: Recipe, device: str = "cpu", threads: int = 0) -> Teacher:
    """Exported verifiers answer in int8, Hugging Face folders in torch."""
    if place in network.FROM_ONNX or (Path(place) / "model.onnx").is_file():
        return network.Exported(weights.locate(place), recipe.max_tokens, threads)
    model, tokenizer = network.load_trained(Path(place))
    return network.Pairs(model.to(device), tokenizer, recipe.max_tokens, recipe.precision)


def own_rows(folder: Path) -> int:
    """How many rows of users' own, of --extra, went into the model of a folder and its bases."""
    return int(weights.read_card(folder).get(OWN_ROWS, 0))


def begun(run: Run[R]) -> str:
    """The device of a run that is now on record, with its threads and its chance set.

    Raises:
        ConfigError: the folder holds another run, or there is no such device.
    """
    device = _device(run.device)
    if run.threads:
        torch.set_num_threads(run.threads)
    record(run)
    torch.manual_seed(run.recipe.seed)  # of a new head
    return device


def record(run: Run[R]) -> None:
    """Write what decides the run when it starts; afterwards refuse what would make it another.

    Raises:
        ConfigError: names what differs, with both values.
    """
    path = run.folder / RECORD
    # Through JSON, so that it compares with what is read back.
    decides: dict[str, Any] = json.loads(json.dumps(_decides(run)))
    if path.exists():
        _require_same(path, decides)
        return
    for name in (prepare.GROUPS, loop.STATE):
        if (run.folder / name).exists():
            raise ConfigError(
                f"{run.folder} holds {name} but no {RECORD} that says what it was made from. "
                "Choose another folder with --run."
            )
    run.folder.mkdir(parents=True, exist_ok=True)
    libraries = {name: version(name) for name in ("pincite", "torch", "transformers")}
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(decides | {"versions": libraries}, indent=1) + "\n", "utf-8")
    beside.replace(path)


def write_model(model: Any, tokenizer: Any, folder: Path, n_own: int = 0) -> None:
    """A Hugging Face folder (config, safetensors, tokenizer.json), whole or not at all.

    With rows of a user's own it has a card that says how many: who passes it on should know.
    """
    from transformers import PreTrainedTokenizerFast

    beside = folder.with_name(folder.name + ".part")
    shutil.rmtree(beside, ignore_errors=True)
    model.cpu().save_pretrained(beside)
    tokenizer.no_truncation()
    padding = tokenizer.id_to_token(model.config.pad_token_id or 0)
    places = network.most_tokens(model)
    fields = ["input_ids", "attention_mask", *network.types_field(model)]
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=padding,
        model_max_length=places,
        model_input_names=fields,  # without the third a BERT would read two texts as one
    ).save_pretrained(beside)
    if n_own:
        card = {"kind": "verifier", OWN_ROWS: n_own}
        (beside / "pincite.json").write_text(json.dumps(card, indent=1) + "\n", "utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    beside.replace(folder)


def _decides(run: Run[R]) -> dict[str, Any]:
    """All on which the weights depend; a device is left out, a run may change it."""
    decides = {
        "data": str(run.data.resolve()),
        "base": _place(run.base),
        "teacher": _place(str(run.teacher)) if run.teacher else None,
        "dense": run.dense,
        "recipe": asdict(run.recipe),
    }
    # By content: an export of feedback grows under one name. Without any nothing is noted, so that
    # runs which began before there was --extra go on.
    return decides | ({"extra rows": _marks(run.extra)} if run.extra.files else {})


def _marks(extra: Extra) -> list[str]:
    """For each file its digest, and how it is learnt from."""
    return [
        f"sha256 {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}, "
        f"visits {extra.visits}, weight {float(extra.weight)}"
        for path in extra.files
    ]


def _place(base: str) -> str:
    return str(Path(base).resolve()) if Path(base).is_dir() else base


def _require_same(path: Path, decides: dict[str, Any]) -> None:
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
        old, new = _flat(before), _flat(decides)
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise ConfigError(f"{path} cannot be read ({error}). Choose another --run.") from error
    different = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    if different:
        shown = "; ".join(f"{key} was {old.get(key)!r}, is {new.get(key)!r}" for key in different)
        raise ConfigError(
            f"{path.parent} holds another run: {shown}. Give what it was started with to go on "
            "with it, or choose another folder with --run."
        )


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """`recipe` spread into `recipe.seed` and so on; versions are for people only."""
    recipe = {f"recipe.{key}": value for key, value in values["recipe"].items()}
    rest = {key: value for key, value in values.items() if key not in ("recipe", "versions")}
    return rest | recipe


def _device(wanted: str) -> str:
    there = torch.cuda.is_available()
    if wanted == "cuda" and not there:
        raise ConfigError("--device cuda: torch finds no GPU here. Use --device cpu.")
    return ("cuda" if there else "cpu") if wanted == "auto" else wanted
