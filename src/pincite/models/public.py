"""Public verifiers: how each family reads a claim and a document, and how it is run.

Each row of the table follows the code published by the authors. The labels in a network's own
config.json take precedence, unless known to be wrong; the row fills in if they are LABEL_0. The
authors' code splits long documents; here every document is a passage of at most 250 words.

`Transformer` runs them with torch, from safetensors alone: no repository code is run, no pickle is
read, and nothing is downloaded. `ChatNetwork` uses a chat server.
"""

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pincite.errors import BadReply, MissingExtra, MissingModel, ServerError, install_command
from pincite.protocols import Completion, Floats, Generator, Prompt

if TYPE_CHECKING:
    from pincite.models.session import Session

SUPPORTED, REFUTED, NEUTRAL = "supported", "refuted", "neutral"
_MEANS = {
    "entailment": SUPPORTED, "contradiction": REFUTED, "neutral": NEUTRAL,
    "not_entailment": NEUTRAL, "consistent": SUPPORTED, "hallucinated": NEUTRAL,
    "unsupported": NEUTRAL, "yes": SUPPORTED, "no": NEUTRAL, SUPPORTED: SUPPORTED,
}  # fmt: skip
_NLI_NAMES = {"entailment", "contradiction", "neutral", "not_entailment"}
_UNNAMED = re.compile(r"label_\d+")
FOUNDATION = "foundation"  # in a verifier's folder: files of its base network
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")

Head = Literal["classes", "answer", "first_token", "tokens"]


@dataclass(frozen=True, slots=True)
class Layout:
    """A family of verifiers: the format of its input, and where the output has the verdict."""

    name: str
    ids: str  # regex for its hub ids and folder names, case-insensitive
    labels: tuple[str, ...]  # of its outputs, if its configuration does not name them
    head: Head = "classes"
    prompt: str = "{document}"  # without {claim}, the claim is the second text of a pair
    max_tokens: int = 512
    languages: tuple[str, ...] = ("en",)
    foundation: str = ""  # repository with configuration and tokenizer, if not its own
    mislabelled: bool = False  # its configuration names the labels in another, wrong order

    @property
    def runs_as_onnx(self) -> bool:
        """Whether an ONNX file is enough: two texts in, one logit per label out."""
        return self.head == "classes" and self.prompt == "{document}"


_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_WORDS = ("labels", "languages")  # fields that are lists of words
LAYOUTS = tuple(
    Layout(**row | {field: tuple(row[field].split()) for field in _WORDS if field in row})
    for row in _TABLES["layouts"]
)
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

    config = try_to_load_from_cache(model, "config.json")
    return Path(config).parent if isinstance(config, str) else None


def of_folder(folder: Path) -> Layout | None:
    """Return the row for a folder with a configuration; None if there is none."""
    named = "/".join(folder.parts[-3:])  # as in the hub's cache: id, "snapshots", revision
    return find(named, json.loads((folder / "config.json").read_text(encoding="utf-8")))


def labels_of(layout: Layout, folder: Path) -> tuple[str, ...]:
    """Return SUPPORTED, REFUTED or NEUTRAL for each output; raises MissingModel for others."""
    if layout.head in ("answer", "first_token") or layout.mislabelled:
        return layout.labels
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    named: Mapping[str, Any] = config.get("id2label") or {}
    names = [str(named[key]).lower() for key in sorted(named, key=int)]
    if all(map(_UNNAMED.fullmatch, names)) and len(names) in (0, len(layout.labels)):
        return layout.labels
    labels = tuple(_MEANS.get(name, "") for name in names)
    if labels.count(SUPPORTED) != 1 or not all(labels) or len(labels) < 2:
        raise MissingModel(
            f"{folder}/config.json names the labels {', '.join(names)}; expected entailment, "
            "neutral and contradiction, or two labels, one of them support."
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
    """A `verifier.Network` described by a row of the table."""

    is_served = False

    def __init__(
        self, layout: Layout, labels: Sequence[str], backend: "Session | Transformer"
    ) -> None:
        self._layout, self._labels, self._backend = layout, labels, backend
        self.width = 3 if REFUTED in labels else 1

    def logits(self, rows: Sequence[tuple[str, str]]) -> Floats:
        """Return `columns` of (claim, document), (n_rows, 3) or (n_rows, 1).

        If the head judges tokens, further columns have the log-odds that each of the claim's words
        is unsupported.
        """
        if not rows:
            return np.zeros((0, self.width), dtype=np.float32)
        logits = self._backend.logits([row[::-1] for row in rows])
        return logits if self._layout.head == "tokens" else columns(logits, self._labels)


# Run with torch

BATCH = 4
# Words of a claim that are reported individually; later words are judged but not named.
MOST_WORDS = 64
# T5 tokens that begin the answers "0" and "1": minicheck/inference.py.
ANSWERS = [3, 209]
_CLASSES = {
    "classes": "AutoModelForSequenceClassification",
    "tokens": "AutoModelForTokenClassification",
    "answer": "AutoModelForSeq2SeqLM",
}


class Transformer:
    """A network of a Hugging Face folder, in float32."""

    def __init__(self, folder: Path, layout: Layout, labels: Sequence[str], threads: int) -> None:
        """Load the network; `threads` is for torch, and 0 keeps its default.

        Raises MissingExtra without torch, MissingModel for an incomplete network of the layout.
        """
        if absent := [name for name in ("torch", "transformers") if find_spec(name) is None]:
            raise MissingExtra(
                f"This verifier needs {' and '.join(absent)}, not installed here: "
                f"{install_command('train')}"
            )
        import torch

        if threads:
            torch.set_num_threads(threads)
        self._layout, self._supported = layout, labels.index("supported")
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            self._model = _load(folder, layout).float().eval().to(self._device)
            self._tokenizer = _tokenizer(folder, layout)
        except MissingModel:
            raise
        except Exception as error:  # transformers raises whatever its parts raise
            raise MissingModel(f"{folder} cannot be loaded ({error}). {_ADVICE}") from error

    def logits(self, rows: Sequence[tuple[str, str]]) -> Floats:
        """Return (n_rows, n_labels) for (document, claim); of a "tokens" head see `_of_words`."""
        order = sorted(range(len(rows)), key=lambda i: -len(rows[i][0]) - len(rows[i][1]))
        outputs: dict[int, Floats] = {}
        for start in range(0, len(rows), BATCH):
            some = order[start : start + BATCH]
            outputs.update(zip(some, self._batch([rows[i] for i in some]), strict=True))
        return np.stack([outputs[i] for i in range(len(rows))])

    def _batch(self, rows: Sequence[tuple[str, str]]) -> Floats:
        import torch

        rows = [(self._plain(document), self._plain(claim)) for document, claim in rows]
        read = self._read(rows)
        inputs = {k: v.to(self._device) for k, v in read.items() if k != "offset_mapping"}
        head = self._layout.head
        if head == "answer":  # T5 begins every answer with token 0
            inputs["decoder_input_ids"] = torch.zeros_like(inputs["input_ids"][:, :1])
        with torch.inference_mode():
            logits = self._model(**inputs).logits.float().cpu().numpy()
        if head == "classes":
            return np.asarray(logits)
        if head == "tokens":
            return np.stack(
                [self._of_words(logits[i], read, i, rows[i][1]) for i in range(len(rows))]
            )
        return np.asarray(logits[:, 0, ANSWERS] if head == "answer" else logits[:, 0])

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
            max_length=self._layout.max_tokens,
            padding=True,
            return_tensors="pt",
            return_offsets_mapping=self._layout.head == "tokens",
        )

    def _plain(self, text: str) -> str:
        """Remove special tokens: a source must not be able to end itself and forge the claim."""
        for token in self._tokenizer.all_special_tokens:
            text = text.replace(token, " ")
        return text

    def _of_words(self, logits: Floats, read: Any, row: int, claim: str) -> Floats:
        """Return log-odds of support (1,), and of no support per word (MOST_WORDS,), −∞ if absent.

        As in LettuceDetect, the least likely token determines the support of a claim.
        """
        odds = logits[:, 1 - self._supported] - logits[:, self._supported]
        words = [match.span() for match in re.finditer(r"\S+", claim)][:MOST_WORDS]
        of_words = np.full(MOST_WORDS, -np.inf, dtype=np.float32)
        worst = -np.inf
        for at, part in enumerate(read.sequence_ids(row)):
            if part != 1:
                continue
            worst = max(worst, float(odds[at]))
            start, end = read["offset_mapping"][row][at].tolist()
            for i, (first, last) in enumerate(words):
                if start < last and end > first:
                    of_words[i] = max(of_words[i], odds[at])
        support = -worst if np.isfinite(worst) else 0.0  # a claim without tokens says nothing
        return np.concatenate([np.array([support], dtype=np.float32), of_words])


_ADVICE = (
    "Expected config.json, tokenizer.json and model.safetensors; docs/verifiers.md says how to "
    "make them from other files."
)


def _load(folder: Path, layout: Layout) -> Any:
    """Load the network; missing weights are an error, since random ones would judge."""
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if layout.head == "first_token":
        return _hhem(folder, layout)
    kind = getattr(transformers, _CLASSES[layout.head])
    model, about = kind.from_pretrained(
        folder,
        local_files_only=True,
        use_safetensors=True,
        trust_remote_code=False,
        output_loading_info=True,
    )
    _check_complete(folder, set(about["missing_keys"]))
    return model


def _hhem(folder: Path, layout: Layout) -> Any:
    from safetensors.torch import load_file
    from transformers import AutoConfig, T5ForTokenClassification

    config = AutoConfig.from_pretrained(_foundation(folder, layout), local_files_only=True)
    config.num_labels = len(layout.labels)
    model = T5ForTokenClassification(config)
    stored = load_file(folder / "model.safetensors")
    own = {name.removeprefix("t5."): value for name, value in stored.items()}
    shared, tied = "transformer.shared.weight", "transformer.encoder.embed_tokens.weight"
    if shared in own:
        own.setdefault(tied, own[shared])
    _check_complete(folder, set(model.load_state_dict(own, strict=False).missing_keys))
    return model


def _tokenizer(folder: Path, layout: Layout) -> Any:
    from transformers import AutoTokenizer

    base = _foundation(folder, layout) if layout.foundation else folder
    return AutoTokenizer.from_pretrained(base, local_files_only=True, trust_remote_code=False)


def _foundation(folder: Path, layout: Layout) -> Path:
    own = folder / FOUNDATION
    base = own if own.is_dir() else in_hub_cache(layout.foundation)
    if base is None:
        raise MissingModel(
            f"{folder} needs config.json and tokenizer.json of {layout.foundation}, expected in "
            f"{own}. pincite models fetch puts them there."
        )
    return base


def _check_complete(folder: Path, missing: set[str]) -> None:
    if missing:
        raise MissingModel(
            f"{folder} lacks the weights {', '.join(sorted(missing)[:3])}: it is another kind "
            f"of network. {_ADVICE}"
        )


# On a server


@dataclass(frozen=True, slots=True)
class ChatLayout:
    """A family of chat models: the request for a pair, and where the reply has the verdict."""

    ids: str  # regex for its names on servers, case-insensitive
    messages: tuple[tuple[str, str], ...]  # role, text
    support: Literal["yes", "no"] = "yes"  # the answer that means support
    after: str = ""  # what precedes the answer in the reply
    max_tokens: int = 1
    with_documents: bool = False  # the document is an argument of the chat template
    template: Mapping[str, Any] | None = None  # its further arguments


CHAT_LAYOUTS = tuple(
    ChatLayout(**row | {"messages": tuple(map(tuple, row["messages"]))}) for row in _TABLES["chat"]
)
TOP = 5  # tokens whose probability is requested
LEAST = 1e-6  # probability of an answer that is not among them
_SPECIAL = re.compile(r"<\|[^<|>]*\|>|</?\w+>")  # tokens with which a text could end its message


def find_chat(name: str) -> ChatLayout | None:
    """Return the row for a model's name on a server or hub id; None if there is none."""
    return next((row for row in CHAT_LAYOUTS if re.search(row.ids, name.lower())), None)


class ChatNetwork:
    """A `verifier.Network`: a chat model described by a row of the table, with one logit.

    The logit comes from the probabilities of "yes" and "no" as the answer, as in MiniCheck's
    get_support_prob and Granite Guardian's get_probabilities.
    """

    width, is_served = 1, True

    def __init__(self, server: Generator, model: str) -> None:
        """Raise MissingModel if no row describes `model`, its name on the server."""
        if not (layout := find_chat(model)):
            raise MissingModel(f"{model!r} names no chat model of those in docs/verifiers.md.")
        self._server, self._layout, self.fingerprint = server, layout, server.fingerprint

    def logits(self, rows: Sequence[tuple[str, str]]) -> Floats:
        """Return (n_rows, 1) for (claim, document); raises ServerError."""
        replies = self._server.generate([_prompt(self._layout, *row) for row in rows])
        odds = [_log_odds(self._layout, reply) for reply in replies]
        return np.array(odds, dtype=np.float32).reshape(-1, 1)


def _prompt(layout: ChatLayout, claim: str, document: str) -> Prompt:
    """One line each, without special tokens, so that no part of a source can pass for the claim."""
    pair = {"claim": claim, "document": document}
    pair = {name: " ".join(_SPECIAL.sub(" ", text).split()) for name, text in pair.items()}
    messages = [{"role": role, "content": text.format(**pair)} for role, text in layout.messages]
    fields: dict[str, Any] = {"messages": messages}
    if layout.with_documents:
        fields["documents"] = [{"doc_id": "0", "text": pair["document"]}]
    if layout.template:
        fields["chat_template_kwargs"] = layout.template
    return Prompt("", max_tokens=layout.max_tokens, top_logprobs=TOP, fields=fields)


def _log_odds(layout: ChatLayout, reply: Completion | ServerError) -> float:
    if isinstance(reply, ServerError):
        raise reply
    shares, before = {"yes": 0.0, "no": 0.0}, ""
    for token, top in reply.tokens:
        if layout.after in before and token.strip():
            for word, log in ((other.strip().lower(), log) for other, log in top):
                shares[word] = shares.get(word, 0.0) + math.exp(log)
            break
        before += token
    if not shares["yes"] + shares["no"]:
        raise BadReply(
            f"The server replied {reply.text[:40]!r} without the probability of Yes or No; "
            "expected a verifier of those in docs/verifiers.md on a server that sends log "
            "probabilities, as vLLM and llama.cpp do."
        )
    odds = math.log(max(LEAST, shares["yes"])) - math.log(max(LEAST, shares["no"]))
    return odds if layout.support == "yes" else -odds
