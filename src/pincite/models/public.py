"""Public verifiers: how each family reads a claim and a document, and how it is run.

Each row of the table follows the code published by the authors. The labels in a network's own
config.json take precedence; the row fills in if they are LABEL_0.

`Transformer` runs them with torch, from safetensors alone: no repository code is run, no pickle is
read, and nothing is downloaded. `MiniCheckClient` uses a chat server.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pincite.completions import Completion, Prompt
from pincite.errors import BadReply, MissingExtra, MissingModel, ServerError
from pincite.protocols import Floats, Generator

if TYPE_CHECKING:
    from pincite.models.session import Session

SUPPORTED, REFUTED, NEUTRAL = "supported", "refuted", "neutral"
_NOT_OR_YES = (NEUTRAL, SUPPORTED)  # two labels: "no support" may mean refuted or neutral
_MEANS = {
    "entailment": SUPPORTED, "contradiction": REFUTED, "neutral": NEUTRAL,
    "not_entailment": NEUTRAL, "consistent": SUPPORTED, "hallucinated": NEUTRAL,
    "unsupported": NEUTRAL, "yes": SUPPORTED, "no": NEUTRAL, SUPPORTED: SUPPORTED,
}  # fmt: skip
_NLI_NAMES = {"entailment", "contradiction", "neutral", "not_entailment"}
_UNNAMED = re.compile(r"label_\d+")
MAX_TOKENS = 512  # of a pair: a passage of 250 words has fewer
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
XNLI = tuple("en ar bg de el es fr hi ru sw th tr ur vi zh".split())
MULTI_NLI_26 = tuple(
    "en ar bn de es fa fr he hi id it ja ko mr nl pl ps pt ru sv sw ta tr uk ur vi zh".split()
)


@dataclass(frozen=True, slots=True)
class Layout:
    """A family of verifiers: sequence classifiers with one input format and the same labels."""

    name: str
    ids: str  # regex for its hub ids and folder names, case-insensitive
    labels: tuple[str, ...]  # of its outputs, if its configuration does not name them
    prompt: str = "{document}"  # without {claim}, the claim is the second text of a pair
    languages: tuple[str, ...] = ("en",)

    @property
    def runs_as_onnx(self) -> bool:
        """Whether an ONNX file is enough: two texts in, one logit per label out."""
        return self.prompt == "{document}"


# Sources: minicheck/inference.py and minicheck.py of github.com/Liyan06/MiniCheck.
_MINICHECK = "{document}{eos}{claim}"
# factcg/utils.py and factcg/inference.py of github.com/derenlei/FactCG.
_FACTCG = (
    "{document}\n\nChoose your answer: based on the paragraph above can we conclude that "
    '"{claim}"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is '
)
_BY_MORITZ_LAURER = (SUPPORTED, NEUTRAL, REFUTED)  # as listed in his model cards

# The first match counts.
LAYOUTS = (
    Layout("minicheck", "minicheck.*(roberta|deberta)", _NOT_OR_YES, prompt=_MINICHECK),
    Layout("factcg", "factcg", _NOT_OR_YES, prompt=_FACTCG),
    Layout("nli-26", "2mil7", _BY_MORITZ_LAURER, languages=MULTI_NLI_26),
    Layout("nli-xnli", "(mdeberta|multilingual).*xnli", _BY_MORITZ_LAURER, languages=XNLI),
    Layout("nli-cross-encoder", "cross-encoder.*nli-", (REFUTED, SUPPORTED, NEUTRAL)),
    Layout("nli", "deberta.*mnli", _BY_MORITZ_LAURER),
)  # fmt: skip
_BY_LABELS = Layout("nli", "", ())  # any other network whose configuration has NLI labels


def find(name: str, config: Mapping[str, Any]) -> Layout | None:
    """Return the row for a hub id, or for a folder with this config.json; None if there is none."""
    known = f"{name} {config.get('_name_or_path', '')}".lower()
    for layout in LAYOUTS:
        if re.search(layout.ids, known):
            return layout
    names = {str(name).lower() for name in (config.get("id2label") or {}).values()}
    return _BY_LABELS if "entailment" in names and names <= _NLI_NAMES else None


def is_hub_id(model: str) -> bool:
    return bool(_HUB_ID.fullmatch(model)) and not Path(model).expanduser().exists()


def in_hub_cache(model: str) -> Path | None:
    if not is_hub_id(model):
        return None
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(model, "config.json")
    return Path(found).parent if isinstance(found, str) else None


def of_folder(folder: Path) -> Layout | None:
    """Return the row for a folder of weights; None for Pincite's own and unknown ones."""
    path = folder / "config.json"
    if (folder / "pincite.json").exists() or not path.exists():
        return None
    named = "/".join(folder.parts[-3:])  # as in the hub's cache: id, "snapshots", revision
    return find(named, json.loads(path.read_text(encoding="utf-8")))


def labels_of(layout: Layout, folder: Path) -> tuple[str, ...]:
    """Return SUPPORTED, REFUTED or NEUTRAL for each output of the network in `folder`.

    Raises:
        MissingModel: its configuration has other labels.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    named: Mapping[str, Any] = config.get("id2label") or {}
    names = [str(named[key]).lower() for key in sorted(named, key=int)]
    if all(map(_UNNAMED.fullmatch, names)) and len(names) in (0, len(layout.labels)):
        return layout.labels
    labels = tuple(_MEANS.get(name, "") for name in names)
    if labels.count(SUPPORTED) != 1 or not all(labels) or len(labels) < 2:
        raise MissingModel(
            f"{folder}/config.json names the labels {', '.join(names)}; expected entailment, "
            "neutral and contradiction, or two labels one of which is support."
        )
    return labels


def columns(logits: Floats, labels: Sequence[str]) -> Floats:
    """Reorder logits to (n, 3) supported, refuted, neutral; or (n, 1) log-odds of support.

    >>> columns(np.array([[1.0, 3.0]], np.float32), (NEUTRAL, SUPPORTED)).tolist()
    [[2.0]]
    """
    if REFUTED in labels:
        return logits[:, [labels.index(label) for label in (SUPPORTED, REFUTED, NEUTRAL)]]
    at = labels.index(SUPPORTED)
    others = np.logaddexp.reduce(np.delete(logits, at, axis=1), axis=1)
    return np.asarray(logits[:, at] - others, dtype=np.float32)[:, None]


class PublicNetwork:
    """A network described by a row of the table, with the interface of Pincite's own."""

    def __init__(
        self, layout: Layout, labels: Sequence[str], backend: "Session | Transformer"
    ) -> None:
        self._layout, self._labels, self._backend = layout, labels, backend
        self.width = 3 if REFUTED in labels else 1

    def logits(self, rows: Sequence[tuple[str, str]]) -> Floats:
        """Return `columns` of (claim, document), (n_rows, 3) or (n_rows, 1)."""
        if not rows:
            return np.zeros((0, self.width), dtype=np.float32)
        return columns(self._backend.logits([row[::-1] for row in rows]), self._labels)


# Run with torch

BATCH = 4
_ADVICE = (
    "Expected config.json, tokenizer.json and model.safetensors; docs/verifiers.md says how to "
    "make them of other files."
)


class Transformer:
    """A sequence classifier of a Hugging Face folder, in float32."""

    def __init__(self, folder: Path, layout: Layout, threads: int) -> None:
        """Load the network. `threads` is for torch; 0 keeps its default.

        Raises:
            MissingExtra: torch or transformers is not installed.
            MissingModel: the folder holds no complete network of this layout.
        """
        if absent := [name for name in ("torch", "transformers") if find_spec(name) is None]:
            raise MissingExtra(
                f"This verifier needs {' and '.join(absent)}, not installed here: "
                "pip install 'pincite[train]'"
            )
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
        from transformers.utils import logging

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        if threads:
            torch.set_num_threads(threads)
        self._layout, self._device = layout, "cuda" if torch.cuda.is_available() else "cpu"
        here: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        try:
            model, about = AutoModelForSequenceClassification.from_pretrained(
                folder, use_safetensors=True, output_loading_info=True, **here
            )
            self._model = model.float().eval().to(self._device)
            self._tokenizer = AutoTokenizer.from_pretrained(folder, **here)
        except Exception as error:  # transformers raises whatever its parts raise
            raise MissingModel(f"{folder} cannot be loaded ({error}). {_ADVICE}") from error
        if missing := about["missing_keys"]:  # random weights would judge
            raise MissingModel(
                f"{folder} lacks the weights {', '.join(sorted(missing)[:3])}: it holds another "
                f"kind of network. {_ADVICE}"
            )

    def logits(self, rows: Sequence[tuple[str, str]]) -> Floats:
        """Return (n_rows, n_labels) for (document, claim)."""
        order = sorted(range(len(rows)), key=lambda i: -len(rows[i][0]) - len(rows[i][1]))
        found: dict[int, Floats] = {}
        for start in range(0, len(rows), BATCH):
            some = order[start : start + BATCH]
            found.update(zip(some, self._batch([rows[i] for i in some]), strict=True))
        return np.stack([found[i] for i in range(len(rows))])

    def _batch(self, rows: Sequence[tuple[str, str]]) -> Floats:
        import torch

        rows = [(self._plain(document), self._plain(claim)) for document, claim in rows]
        with torch.inference_mode():
            logits = self._model(**self._read(rows).to(self._device)).logits
        return np.asarray(logits.float().cpu().numpy())

    def _read(self, rows: Sequence[tuple[str, str]]) -> Any:
        """Encode the batch as tensors. If too long, the document is cut, not the claim."""
        eos, prompt = self._tokenizer.eos_token or self._tokenizer.sep_token, self._layout.prompt
        first = [prompt.format(document=text, claim=claim, eos=eos) for text, claim in rows]
        as_pair = "{claim}" not in prompt
        self._tokenizer.truncation_side = "right" if as_pair else "left"
        return self._tokenizer(
            first,
            [claim for _, claim in rows] if as_pair else None,
            truncation=True,
            max_length=MAX_TOKENS,
            padding=True,
            return_tensors="pt",
        )

    def _plain(self, text: str) -> str:
        """Remove special tokens: a source must not be able to end itself and forge the claim."""
        for token in self._tokenizer.all_special_tokens:
            text = text.replace(token, " ")
        return text


# On a server

SYSTEM = (
    "Determine whether the provided claim is consistent with the corresponding document. "
    "Consistency in this context implies that all information presented in the claim is "
    "substantiated by the document. If not, it should be considered inconsistent. Please assess "
    'the claim\'s consistency with the document by responding with either "Yes" or "No".'
)
TOP = 5  # tokens whose probability is requested
LEAST = 1e-6  # probability of an answer that is not among them


class MiniCheckClient:
    """Bespoke-MiniCheck on a chat server, with its authors' prompt: one logit per pair.

    The logit comes from the probabilities of "Yes" and "No" as the reply's first token. Source:
    SYSTEM_PROMPT, USER_PROMPT and get_support_prob of github.com/Liyan06/MiniCheck.
    """

    width = 1
    seconds = 0.2  # per pair, on one GPU: docs.bespokelabs.ai/models/bespoke-minicheck

    def __init__(self, server: Generator) -> None:
        self._server = server
        self.fingerprint = server.fingerprint

    def logits(self, rows: Sequence[tuple[str, str]]) -> Floats:
        """Return (n_rows, 1) for (claim, document).

        Raises:
            ServerError: the server fails, or does not return log probabilities.
        """
        replies = self._server.generate([_prompt(*row) for row in rows])
        return np.array([_log_odds(reply) for reply in replies], dtype=np.float32).reshape(-1, 1)


def _prompt(claim: str, document: str) -> Prompt:
    """One line each, so that no line of a source can pass for the claim."""
    user = f"Document: {' '.join(document.split())}\nClaim: {' '.join(claim.split())}"
    return Prompt(user, SYSTEM, max_tokens=1, top_logprobs=TOP)


def _log_odds(reply: Completion | ServerError) -> float:
    if isinstance(reply, ServerError):
        raise reply
    shares = {"yes": 0.0, "no": 0.0}
    for token, log in reply.tokens[0].top if reply.tokens else ():
        if (word := token.strip().lower()) in shares:
            shares[word] += math.exp(log)
    if not any(shares.values()):
        raise BadReply(
            f"The server replied {reply.text[:40]!r} without the probability of Yes or No; "
            "expected Bespoke-MiniCheck on a server that sends log probabilities, as vLLM and "
            "llama.cpp do."
        )
    return math.log(max(LEAST, shares["yes"])) - math.log(max(LEAST, shares["no"]))
