"""Where weights are looked for, in this order: package, folder, cache, hub id in the cache.

A model is a folder with `model.onnx`, `tokenizer.json` and, if it is ours, `pincite.json` (its
card). Nothing is downloaded here unless `fetch` is called: looking never leaves the machine.
"""

import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

from pincite.errors import ConfigError, MissingModel

ENCODER = "all-MiniLM-L6-v2"  # shipped in the package, as is
VERIFIER = "pincite-verifier"
RERANKER = "ms-marco-MiniLM-L-12-v2"  # what our verifier was trained from and is compared with
QUERY_TOWER = "query"  # in an encoder's folder: the network for claims, where it is one of its own
PACKAGE = Path(__file__).parent / "weights_data"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
# In this order: the first that a repository has is taken; int8 for VNNI runs twice as fast.
_HUB_FILES = ("onnx/model_qint8_avx512_vnni.onnx", "onnx/model_quantized.onnx", "onnx/model.onnx")


def cache_folder() -> Path:
    """The user's cache for models: `PINCITE_CACHE`, or the platform's place."""
    import os

    chosen = os.environ.get("PINCITE_CACHE")
    return (Path(chosen) if chosen else Path(platformdirs.user_cache_dir("pincite"))) / "models"


def locate(model: str) -> Path:
    """The folder that holds `model`: a name, a folder, or a hub id that was fetched before.

    Raises:
        MissingModel: it is nowhere; the message names the places and the command to run.
    """
    places = [PACKAGE / model, Path(model).expanduser(), cache_folder() / model]
    for place in places:
        if (place / "model.onnx").is_file():
            return place
    advice = "Give such a folder, or fetch one: pincite models fetch ORGANISATION/NAME"
    if model in (ENCODER, VERIFIER):
        advice = "It is part of Pincite: pip install --force-reinstall pincite"
    elif model == RERANKER or _is_hub_id(model):
        command = "make reranker" if model == RERANKER else f"pincite models fetch {model}"
        advice = f"Get it with: {command}"
    raise MissingModel(
        f"The model {model!r} is in none of {', '.join(map(str, places))}. Expected a folder with "
        f"model.onnx and tokenizer.json. {advice}"
    )


def fetch(model: str) -> Path:
    """Download a Hugging Face repository's ONNX file and tokenizer into the cache.

    Raises:
        ConfigError: `model` is no hub id.
        MissingModel: the hub has no such repository, or it holds no ONNX file.
    """
    if not _is_hub_id(model):
        raise ConfigError(f"{model!r} is no Hugging Face id. Expected the form ORGANISATION/NAME.")
    try:
        return _downloaded(model)
    except MissingModel:
        raise
    except Exception as error:  # of whichever HTTP client the hub's library goes through
        why = " ".join(str(error).split())
        raise MissingModel(
            f"{model} could not be fetched from the Hugging Face hub ({why}). Expected a public "
            "repository with an ONNX file. Is it spelt so, and is there a network?"
        ) from error


def _downloaded(model: str) -> Path:
    from huggingface_hub import HfApi, hf_hub_download

    target = cache_folder() / model
    present = set(HfApi().list_repo_files(model))
    network = next((name for name in _HUB_FILES if name in present), None)
    if network is None:
        raise MissingModel(f"{model} holds none of {', '.join(_HUB_FILES)}: export it to ONNX.")
    wanted = [name for name in ("config.json", "tokenizer.json") if name in present]
    for name in [*wanted, network]:  # the network last: `locate` looks for it
        content = Path(hf_hub_download(model, name)).read_bytes()
        _write(target / ("model.onnx" if name == network else name), content)
    return target


def _is_hub_id(model: str) -> bool:
    return bool(_HUB_ID.fullmatch(model)) and not Path(model).expanduser().exists()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(path.suffix + ".part")
    beside.write_bytes(content)
    beside.replace(path)


@cache
def fingerprint(folder: Path) -> str:
    """`name@` and 12 hex digits of SHA-256 over network, tokenizer and card."""
    digest = hashlib.sha256()
    for name in ("model.onnx", "tokenizer.json", "pincite.json"):
        path = folder / name
        if path.exists():
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return f"{folder.name}@{digest.hexdigest()[:12]}"


def read_card(folder: Path) -> dict[str, Any]:
    """The model's `pincite.json`; an empty card for a folder that came from elsewhere."""
    path = folder / "pincite.json"
    if not path.exists():
        return {}
    card: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return card
