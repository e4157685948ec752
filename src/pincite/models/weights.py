"""Models on disk: where they are, and how to fetch them.

A model is a folder with `model.onnx`, `tokenizer.json` and, for our own, `pincite.json` (its card).
A public verifier (`models.public`) may have safetensors instead of ONNX. It is looked for in the
package, as a folder, in the cache, in other packages (entry points `pincite.models`) and in the
hub's cache. Only `fetch` downloads: locating never leaves the machine.
"""

import hashlib
import json
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pincite import durable
from pincite.errors import ConfigError, MissingModel, PinciteWarning, install_command

if TYPE_CHECKING:
    from pincite.models.public import Layout

ENCODER = "all-MiniLM-L6-v2"  # shipped unchanged in the package
VERIFIER = "pincite-verifier"
# An encoder and a verifier, in the package of the extra of the first name.
MULTILINGUAL, MULTILINGUAL_VERIFIER = "multilingual", "multilingual-verifier"
RERANKER = "ms-marco-MiniLM-L-12-v2"  # our verifier was trained from it and is compared with it
PIECES, VECTORS = "sentencepiece.model", "vectors.npy"  # of a vocabulary that networks share
PACKAGE = Path(__file__).parent / "weights_data"
GROUP = "pincite.models"
# In order of preference; int8 for VNNI runs twice as fast.
_ONNX = ("onnx/model_qint8_avx512_vnni.onnx", "onnx/model_quantized.onnx", "onnx/model.onnx")
_INDEX = "model.safetensors.index.json"
_ABOUT = (
    "config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "spiece.model", "spm.model", "vocab.json", "merges.txt", "vocab.txt",
)  # fmt: skip
# sentence-transformers' names → ours.
_POOLINGS = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
HUB_SECONDS = 30.0  # for the hub to list the files
MOST_TOKENS = 512  # per text: a passage of 250 words has fewer, and memory grows quadratically
LEARNED = "learned"  # in the card of a verifier made by `pincite learn`


def cache_folder() -> Path:
    return durable.cache_folder() / "models"


def locate(model: str) -> Path:
    """Return the folder of `model`: a name, a folder or a fetched hub id; raises MissingModel."""
    places = [PACKAGE / model, Path(model).expanduser(), cache_folder() / model]
    for place in chain(places, _of_packages(model)):
        if (place / "model.onnx").is_file() or is_public(place):
            return place
    from pincite.models import public

    if (kept := public.in_hub_cache(model)) and is_public(kept):
        return kept
    advice = "Give such a folder, or fetch one: pincite models fetch ORGANISATION/NAME"
    if model in (ENCODER, VERIFIER):
        advice = f"It is part of Pincite: {install_command()}"
    elif model in (MULTILINGUAL, MULTILINGUAL_VERIFIER):
        advice = f"Install it with: {install_command('multilingual')}"
    elif model == RERANKER:
        advice = "Get it with: make reranker (in a clone)"
    elif public.is_hub_id(model):
        advice = f"Get it with: pincite models fetch {model}"
    if public.find_chat(model):
        advice = "Run it on a server: NAME@URL, such as bespoke-minicheck@http://127.0.0.1:8000/v1"
    raise MissingModel(
        f"The model {model!r} is in none of {', '.join(map(str, places))}. Expected a folder with "
        f"model.onnx and tokenizer.json, or a verifier of those in docs/verifiers.md. {advice}"
    )


def _of_packages(model: str) -> Iterator[Path]:
    for point in entry_points(group=GROUP, name=model):
        folder: Path = point.load()
        yield folder


def multilingual_verifier() -> Path | None:
    """Return the folder of the verifier for other languages; None if not installed whole."""
    folder = next(_of_packages(MULTILINGUAL_VERIFIER), None)
    needed = [folder / "model.onnx", *vocabulary(folder)] if folder else []
    if lacking := next((path for path in needed if not path.is_file()), None):
        warnings.warn(
            f"{lacking} is missing, so only English is checked. To repair the installation: "
            f"{install_command(MULTILINGUAL, repair=True)}",
            PinciteWarning,
            stacklevel=2,
        )
        return None
    return folder


def vocabulary(folder: Path) -> tuple[Path, Path]:
    """Return the paths of a shared vocabulary's pieces and vectors: in `folder`, or above it."""
    place = folder if (folder / VECTORS).is_file() else folder.parent
    return place / PIECES, place / VECTORS


class Served(NamedTuple):
    """A model on a server: its name there, and the address up to `/v1`."""

    model: str
    url: str


def server_of(model: str) -> Served | None:
    """Parse `NAME@URL`; None: `model` is a name, a folder or a hub id.

    >>> server_of("bespoke-minicheck@http://127.0.0.1:11434/v1")
    Served(model='bespoke-minicheck', url='http://127.0.0.1:11434/v1')
    """
    name, _, url = model.partition("@")
    return Served(name, url) if url.startswith(("http://", "https://")) else None


def in_use(encoder: str, encoders: Sequence[str], verifier: str) -> list[tuple[str, str]]:
    """Return the models in use as (role, name)."""
    models = [*(("encoder", name) for name in (encoder, *encoders)), ("verifier", verifier)]
    if multilingual_verifier():
        models.append(("verifier", MULTILINGUAL_VERIFIER))
    return models


def describe(model: str) -> str:
    """Return its fingerprint or, for a model on a server, its name; raises as `locate`."""
    if server_of(model):
        return f"{model} (texts are sent there)"
    return fingerprint(locate(model))


def is_public(folder: Path) -> bool:
    stored = any((folder / name).is_file() for name in ("model.safetensors", _INDEX))
    return stored and layout_of(folder) is not None


def layout_of(folder: Path) -> "Layout | None":
    """Return the layout of a public verifier in `folder`; None for Pincite's own and others."""
    if (folder / "pincite.json").exists() or not (folder / "config.json").exists():
        return None
    from pincite.models import public  # most runs have no such verifier

    return public.of_folder(folder)


def languages_of(folder: Path) -> frozenset[str]:
    """Return the languages that a verifier reads (ISO 639-1): of its layout, or of its card."""
    if layout := layout_of(folder):
        return frozenset(layout.languages)
    return frozenset(read_card(folder).get("languages", ["en"]))


def fetch(model: str) -> Path:
    """Download a Hugging Face repository's ONNX file and tokenizer into the cache.

    For a public verifier, download safetensors if the ONNX file is missing or insufficient.

    Raises ConfigError for what is no hub id, MissingModel if the hub has neither format of it.
    """
    from pincite.models.public import is_hub_id

    if not is_hub_id(model):
        raise ConfigError(
            f"{model!r} is not a Hugging Face id. Expected the form ORGANISATION/NAME."
        )
    from huggingface_hub.errors import RepositoryNotFoundError  # includes gated ones

    try:
        return _download(model)
    except MissingModel:
        raise
    except RepositoryNotFoundError as error:
        raise MissingModel(
            f"The Hugging Face hub has no public repository {model}. Expected one with an ONNX "
            "file. Check the spelling; for a gated repository set HF_TOKEN."
        ) from error
    except Exception as error:  # from any of the hub library's HTTP clients
        why = " ".join(str(error).split()) or type(error).__name__
        raise MissingModel(
            f"{model} could not be fetched: the Hugging Face hub did not answer as expected "
            f"({why}). Expected a network connection. Without one, fetch it on another "
            f"machine, copy its folder ({cache_folder() / model} here), and give that folder."
        ) from error


def _file(model: str, name: str, folder: Path | None = None) -> Path:
    """Download a file of a repository into the hub's cache, or into `folder`."""
    from huggingface_hub import hf_hub_download

    return Path(hf_hub_download(model, name, local_dir=folder))


def _download(model: str) -> Path:
    from pincite.models import public

    target = cache_folder() / model
    present = _files(model)
    layout = public.find(model, _read_json(model, "config.json", present))
    # The int8 file of a public verifier is not the network that its authors measured.
    network = next((name for name in (_ONNX[-1:] if layout else _ONNX) if name in present), None)
    if layout and (network is None or not layout.runs_as_onnx):
        return _downloaded_safetensors(model, layout, present)
    if network is None:
        raise MissingModel(f"{model} has none of {', '.join(_ONNX)}: export it to ONNX.")
    about = [name for name in ("config.json", "tokenizer.json") if name in present]
    if card := _encoder_card(model, present):
        _write(target / "pincite.json", json.dumps(card).encode())
    for name in [*about, network]:  # the network last: `locate` looks for it
        content = _file(model, name).read_bytes()
        _write(target / ("model.onnx" if name == network else name), content)
    return target


def _files(model: str) -> set[str]:
    """List a repository's files with one request; a tree listing would retry for half a minute."""
    from huggingface_hub import HfApi

    siblings = HfApi().model_info(model, timeout=HUB_SECONDS).siblings
    return {file.rfilename for file in siblings or ()}


def _encoder_card(model: str, present: Collection[str]) -> dict[str, Any]:
    """Read how to use a sentence encoder; empty if it is none, MissingModel for another pooling."""
    pooling = _read_json(model, "1_Pooling/config.json", present)
    if not pooling:
        return {}
    chosen = [name for name, on in pooling.items() if name.startswith("pooling_mode_") and on]
    if len(chosen) != 1 or chosen[0] not in _POOLINGS:
        raise MissingModel(
            f"{model} pools by {', '.join(chosen) or 'nothing known'}; Pincite runs encoders that "
            "pool by the mean or the first token. A server can run it: --encoder NAME@URL"
        )
    length = _read_json(model, "sentence_bert_config.json", present).get("max_seq_length")
    prompts = _read_json(model, "config_sentence_transformers.json", present).get("prompts") or {}
    passage = prompts.get("passage") or prompts.get("document") or ""
    prefix = {"query": prompts.get("query") or "", "passage": passage}
    if not any(prefix.values()) and re.search(r"(^|[/-])e5-", model.lower()):
        prefix = {"query": "query: ", "passage": "passage: "}  # in its card, not its files
    tokens = {"max_tokens": min(length, MOST_TOKENS)} if isinstance(length, int) else {}
    return {"pooling": _POOLINGS[chosen[0]], "prefix": prefix, **tokens}


def _read_json(model: str, name: str, present: Collection[str]) -> dict[str, Any]:
    if name not in present:
        return {}
    content = json.loads(_file(model, name).read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {}


def _downloaded_safetensors(model: str, layout: "Layout", present: Collection[str]) -> Path:
    from pincite.models import public

    target = cache_folder() / model
    stored = sorted(name for name in present if re.fullmatch(r"model.*\.safetensors", name))
    if not stored:
        raise MissingModel(
            f"{model} has no weights as ONNX or safetensors, and Pincite does not load "
            "pickles: docs/verifiers.md says how to convert it."
        )
    wanted = [name for name in (*_ABOUT, *stored, _INDEX) if name in present]
    if layout.foundation:
        for name in sorted({*_ABOUT} & _files(layout.foundation)):
            _file(layout.foundation, name, target / public.FOUNDATION)
    for name in wanted:  # the weights last: `locate` looks for them
        _file(model, name, target)
    return target


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with durable.replacing(path) as part:
        part.write_bytes(content)


@cache
def fingerprint(folder: Path) -> str:
    """Return `name@` and 12 hex digits of SHA-256 over network, tokenizer and card."""
    digest = hashlib.sha256()
    paths = [folder / name for name in ("model.onnx", "tokenizer.json", "pincite.json")]
    if not paths[0].exists():
        paths += [folder / "config.json", *sorted(folder.glob("*.safetensors"))]
    for path in filter(Path.exists, paths):
        with path.open("rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    in_hub_cache = folder.parent.name == "snapshots"
    name = folder.parent.parent.name.rpartition("--")[2] if in_hub_cache else folder.name
    return f"{name}@{digest.hexdigest()[:12]}"


def read_card(folder: Path) -> dict[str, Any]:
    """Return the model's `pincite.json`; empty for models from elsewhere."""
    path = folder / "pincite.json"
    if not path.exists():
        return {}
    card: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return card
