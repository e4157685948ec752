"""Models on disk: where they are, how to fetch them, and their calibration.

A model is a folder with `model.onnx`, `tokenizer.json` and, for our own, `pincite.json` (its card).
A public verifier (`models.public`) may have safetensors instead of ONNX. It is looked for in the
package, as a folder, in the cache, in other packages (entry points `pincite.models`) and in the
hub's cache. Only `fetch` downloads: locating never leaves the machine.

The calibration turns a network's output and rule features into three probabilities, by two linear
models, fitted by pincite-lab and stored next to the weights they belong to:

    score            = log-odds of support = w·x + b
    prob_supported   = σ(score)
    prob_refuted     = (1 − prob_supported) · σ(v·x + c)

with x as `FEATURES` names them. Networks miss some changed figures ("1911", "1913"); rules do not.
The scale is fitted on dev rows (Platt 1999), so that σ(score) is the share of such pairs that
people called supported.
"""

import hashlib
import json
import re
import warnings
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pincite import durable
from pincite.errors import ConfigError, MissingModel, PinciteWarning, install_command
from pincite.models import public
from pincite.protocols import Floats
from pincite.text import names, quantities, tables, words
from pincite.text.antonyms import contrasts
from pincite.text.languages import common
from pincite.text.quantities import values as values_of
from pincite.types import Claim, Passage, Span, Witness

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
    """Return the user's cache for models."""
    return durable.cache_folder() / "models"


def locate(model: str) -> Path:
    """Return the folder of `model`: a name, a folder, or a hub id that was fetched before.

    Raises:
        MissingModel: not found; the message lists the places and the command to run.
    """
    places = [PACKAGE / model, Path(model).expanduser(), cache_folder() / model]
    for place in chain(places, _of_packages(model)):
        if (place / "model.onnx").is_file() or is_public(place):
            return place
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


def served(model: str) -> Served | None:
    """Parse `NAME@URL`; None: `model` is a name, a folder or a hub id.

    >>> served("bespoke-minicheck@http://127.0.0.1:11434/v1")
    Served(model='bespoke-minicheck', url='http://127.0.0.1:11434/v1')
    """
    name, _, url = model.partition("@")
    return Served(name, url) if url.startswith(("http://", "https://")) else None


def in_use(encoder: str, encoders: Sequence[str], verifier: str) -> list[tuple[str, str]]:
    """Return the models in use as (role, name)."""
    found = [*(("encoder", name) for name in (encoder, *encoders)), ("verifier", verifier)]
    if multilingual_verifier():
        found.append(("verifier", MULTILINGUAL_VERIFIER))
    return found


def described(model: str) -> str:
    """Return its fingerprint or, for a model on a server, its name; raises as `locate`."""
    if served(model):
        return f"{model} (texts are sent there)"
    return fingerprint(locate(model))


def is_public(folder: Path) -> bool:
    stored = any((folder / name).is_file() for name in ("model.safetensors", _INDEX))
    return stored and public.of_folder(folder) is not None


def fetch(model: str) -> Path:
    """Download a Hugging Face repository's ONNX file and tokenizer into the cache.

    For a public verifier, download safetensors if the ONNX file is missing or insufficient.

    Raises:
        ConfigError: `model` is not a hub id.
        MissingModel: the hub has no such repository, or it holds neither format.
    """
    if not public.is_hub_id(model):
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


def _download(model: str) -> Path:
    from huggingface_hub import hf_hub_download

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
        content = Path(hf_hub_download(model, name)).read_bytes()
        _write(target / ("model.onnx" if name == network else name), content)
    return target


def _files(model: str) -> set[str]:
    """List a repository's files with one request; a tree listing would retry for half a minute."""
    from huggingface_hub import HfApi

    found = HfApi().model_info(model, timeout=HUB_SECONDS).siblings
    return {each.rfilename for each in found or ()}


def _encoder_card(model: str, present: Collection[str]) -> dict[str, Any]:
    """Read how a sentence encoder's repository says to use it; empty if it is not one.

    Raises:
        MissingModel: its pooling is not supported by `models.session`.
    """
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
    from huggingface_hub import hf_hub_download

    if name not in present:
        return {}
    found = json.loads(Path(hf_hub_download(model, name)).read_text(encoding="utf-8"))
    return found if isinstance(found, dict) else {}


def _downloaded_safetensors(model: str, layout: public.Layout, present: Collection[str]) -> Path:
    from huggingface_hub import hf_hub_download

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
            hf_hub_download(layout.foundation, name, local_dir=target / public.FOUNDATION)
    for name in wanted:  # the weights last: `locate` looks for them
        hf_hub_download(model, name, local_dir=target)
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


# ── Calibration ───────────────────────────────────────────────────────────────────────────────────

FEATURES = (
    "support",  # the network's log-odds of support; the relevance logit if it has only one
    "refuted",  # its log-odds of refuted against neutral; 0 if it has only one logit
    "figures_missing",  # not found on the passage's page, if available
    "names_missing",  # the same for names
    "negation_differs",
    "figure_differs",
    "contrast_differs",  # an antonym in the quote, without the claim's own word
    "witness",  # a rule shows that a sentence says otherwise
)
# Counts, not shares: one wrong year is as bad in a long claim as in a short one. Beyond the third,
# another missing figure adds no information.
MOST_MISSING = 3
FILE = "calibration.json"  # next to model.onnx
NEVER = 99.0
# For uncalibrated networks: high, since nothing is known about them. They must give "refuted" a
# probability of 0.9 (0.92 where a claim denies) and leave at most 0.08 to support.
CONTRARY_FROM, DENIED_FROM = 4.7, 5.0
# Lower log-odds of support are raised to this (a probability of 0.08): a network that is sure of no
# support, and torn between refuted and neutral, must not refute by that alone.
LEAST_SUPPORT = -2.5
# What each gap in a text costs it, in log-odds of support: sentences torn from their neighbours are
# read as if they were about one thing. Of 0, 0.05, 0.1, 0.15: research/verifier.md.
OF_A_GAP = 0.1


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights in the order of FEATURES, the intercept last."""

    support: tuple[float, ...]
    refute: tuple[float, ...]
    name: str = "uncalibrated"
    # `contrary` from which the network refutes without a rule's witness; and the same for a claim
    # that denies, since networks learn that "no" in a claim is a sign of falsehood.
    contrary_from: float = NEVER
    denied_from: float = NEVER
    # The same for a claim and a passage in two languages, where no rule compares words.
    across_from: float = NEVER
    # (threshold, share of failing citations below it, share of sound ones below it), by threshold.
    flags: tuple[tuple[float, float, float], ...] = ()

    def scores(self, features: Floats) -> tuple[Floats, Floats]:
        """Return log-odds of support, and of refutation given no support: (n_pairs,) each."""
        with_intercept = np.hstack([features, np.ones((len(features), 1), dtype=np.float32)])
        support = with_intercept @ np.array(self.support, dtype=np.float32)
        refute = with_intercept @ np.array(self.refute, dtype=np.float32)
        return support, refute

    def bounds(self, pairs: Iterable[tuple[Claim, Passage]]) -> Floats:
        """Return from which `contrary` the network refutes each claim: (n_pairs,)."""
        bounds = {"contrary": self.contrary_from, "denied": self.denied_from}
        bounds["across"] = self.across_from
        return np.array([bounds[kind_of(*pair)] for pair in pairs], dtype=np.float32)

    def rates_at(self, threshold: float) -> tuple[float, float] | None:
        """Return the shares of failing and of sound citations that are flagged, from dev rows.

        None if nothing was measured, or only at higher thresholds.
        """
        at = bisect_right([flag[0] for flag in self.flags], threshold + 1e-9)
        return self.flags[at - 1][1:] if at else None


_NO_RULES = (0.0,) * (len(FEATURES) - 2)
# Uncalibrated networks: their outputs are used unchanged. A network with one logit never refutes.
THREE_WAY = Calibration(
    (1.0, 0.0, *_NO_RULES, 0.0),
    (0.0, 1.0, *_NO_RULES, 0.0),
    contrary_from=CONTRARY_FROM,
    denied_from=DENIED_FROM,
)
ONE_LOGIT = Calibration((1.0, 0.0, *_NO_RULES, 0.0), (0.0, 0.0, *_NO_RULES, -20.0))


def calibration_for(folder: Path, n_labels: int) -> Calibration:
    """Return the calibration next to a model's weights, or the default for uncalibrated networks.

    Raises:
        MissingModel: the file exists but is not a calibration with these FEATURES.
    """
    path = folder / FILE
    if not path.exists():
        return THREE_WAY if n_labels == 3 else ONE_LOGIT
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["features"] != [*FEATURES, "intercept"]:
            raise ValueError(f"its features are {found['features']}")
        return Calibration(
            tuple(map(float, found["support"])),
            tuple(map(float, found["refute"])),
            str(found["name"]),
            float(found["contrary_from"]),
            float(found["denied_from"]),
            float(found.get("across_from", NEVER)),
            tuple((float(t), float(caught), float(false)) for t, caught, false in found["flags"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MissingModel(
            f"{path} is not a calibration that this version reads ({error}); expected one made by "
            "make calibrate. Make it again, or delete it to use the network uncalibrated."
        ) from error


def kind_of(claim: Claim, passage: Passage) -> str:
    """Return which bound counts for a pair: "across" two languages, else "denied" or "contrary"."""
    if is_across(claim, passage):
        return "across"
    return "denied" if words.is_negated(claim.text) else "contrary"


def is_across(claim: Claim, passage: Passage) -> bool:
    return not common(claim.text, passage.text, claim.language)


def contrary(log_odds: Floats, supported: Floats | None = None) -> Floats:
    """Return how certain the network alone is of a contradiction: (n_pairs,) log-odds.

    The log-odds of refutation minus those of support, which are raised to at least LEAST_SUPPORT. A
    network that confuses who did what to whom leaves more to support than one that sees a
    contradiction, so the difference is more informative than either.

    Args:
        log_odds: (n_pairs, 2), of support and of refuted against neutral.
        supported: (n_pairs,) log-odds of support to use instead, such as the best of the page.
    """
    support, refuted = log_odds[:, 0], log_odds[:, 1]
    # P(refuted) = (1 - P(supported)) · σ(refuted); its odds are against all the rest.
    both = -np.logaddexp(0.0, support) - np.logaddexp(0.0, -refuted)
    rest = np.log(-np.expm1(np.minimum(both, -1e-6)))
    least = np.maximum(support if supported is None else supported, LEAST_SUPPORT)
    return np.asarray(both - rest - least, dtype=np.float32)


def features(
    pairs: Sequence[tuple[Claim, Passage]], log_odds: Floats, seen: Sequence[Witness | None]
) -> Floats:
    """Return (n_pairs, len(FEATURES)) float32, with columns in the order of FEATURES.

    `log_odds` is (n_pairs, 2), the first two features. `seen` are contradictions found by rules.
    """
    rows = [
        (float(row[0]), float(row[1]), *_by_rule(claim, passage), float(found is not None))
        for (claim, passage), row, found in zip(pairs, log_odds, seen, strict=True)
    ]
    return np.array(rows, dtype=np.float32).reshape(len(rows), len(FEATURES))


def _by_rule(stated: Claim, passage: Passage) -> tuple[float, ...]:
    claim, language = stated.text, stated.language
    sentence = words.best_sentence(claim, passage.text)
    quoted = sentence.of(passage.text) if sentence else ""
    absent = tables.unstated_values(claim, f"{passage.about}\n{passage.text}", (language, None))
    quoted_values = values_of(quoted) if absent else []
    beside = _beside(sentence, passage.text)  # "It rose until May. Then it fell."
    return (
        *_missing(claim, passage.about, passage.page or passage.text, language),
        float(bool(quoted) and words.is_negated(claim) != words.is_negated(quoted)),
        float(
            any(quantities.conflict(other, value) for value in absent for other in quoted_values)
        ),
        float(any(mine.lower() not in beside for mine, _ in contrasts(claim, quoted))),
    )


def _beside(sentence: Span | None, text: str) -> list[str]:
    spans = words.sentences_of(text)
    at = spans.index(sentence) if sentence else 0
    near = spans[max(0, at - 1) : at + 2]
    return re.findall(r"\w+", text[near[0].start : near[-1].end].lower()) if near else []


@lru_cache(maxsize=64)  # shared by a page's passages
def _missing(claim: str, about: str, page: str, language: str) -> tuple[float, float]:
    source = f"{about}\n{page}"
    figures = tables.unstated_values(claim, source, (language, None))
    unnamed = names.missing(claim, source, language)
    return float(min(MOST_MISSING, len(figures))), float(min(MOST_MISSING, len(unnamed)))
