"""How public verifiers read a claim and a document, and what their outputs mean: one row a family.

Each row follows the code that the authors published for it. What a network's own config.json says
of its labels comes first; the row fills in where that says LABEL_0. A document longer than `piece`
is read in pieces of whole sentences, and the piece that supports the claim best counts.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from pincite.errors import MissingModel
from pincite.protocols import Floats
from pincite.text.sentences import sentences

SUPPORTED, REFUTED, NEUTRAL = "supported", "refuted", "neutral"
_NOT_OR_YES = (NEUTRAL, SUPPORTED)  # two labels: what does not support may refute or say nothing
_MEANS = {
    "entailment": SUPPORTED, "contradiction": REFUTED, "neutral": NEUTRAL,
    "not_entailment": NEUTRAL, "consistent": SUPPORTED, "hallucinated": NEUTRAL,
    "unsupported": NEUTRAL, "yes": SUPPORTED, "no": NEUTRAL, SUPPORTED: SUPPORTED,
}  # fmt: skip
_NLI_NAMES = {"entailment", "contradiction", "neutral", "not_entailment"}
_UNNAMED = re.compile(r"label_\d+")
XNLI = tuple("en ar bg de el es fr hi ru sw th tr ur vi zh".split())
MULTI_NLI_26 = tuple(
    "en ar bn de es fa fr he hi id it ja ko mr nl pl ps pt ru sv sw ta tr uk ur vi zh".split()
)

Head = Literal["classes", "answer", "first_token", "tokens"]


@dataclass(frozen=True, slots=True)
class Layout:
    """One family: what it is shown, and where its verdict stands."""

    name: str
    ids: str  # matches its hub ids, and folders called so; without regard to case
    labels: tuple[str, ...]  # of its outputs, where its configuration does not name them
    head: Head = "classes"
    prompt: str = "{document}"  # without {claim} in it the claim is the second text of a pair
    piece: int = 400  # of a document read at once, in `unit`
    unit: Literal["words", "tokens"] = "tokens"
    max_tokens: int = 512
    languages: tuple[str, ...] = ("en",)
    foundation: str = ""  # where configuration and tokenizer are, if not in its own repository

    @property
    def runs_as_onnx(self) -> bool:
        """Whether an ONNX file does as well as safetensors: two texts in, a logit a label out."""
        return self.head == "classes" and self.prompt == "{document}"


# Sources: minicheck/inference.py and minicheck.py of github.com/Liyan06/MiniCheck.
_MINICHECK = "{document}{eos}{claim}"
# factcg/utils.py and factcg/inference.py of github.com/derenlei/FactCG.
_FACTCG = (
    "{document}\n\nChoose your answer: based on the paragraph above can we conclude that "
    '"{claim}"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is '
)
# modeling_hhem_v2.py of huggingface.co/vectara/hallucination_evaluation_model.
_HHEM = (
    "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {document}\n\n"
    "Hypothesis: {claim}"
)
# lettucedetect/models/inference.py and prompts/summary_prompt_en.txt of
# github.com/KRLabsOrg/LettuceDetect: what it shows where nobody asked a question.
_LETTUCE = "Summarize the following text:\npassage 1: {document}\noutput:"
_BY_MORITZ_LAURER = (SUPPORTED, NEUTRAL, REFUTED)  # as his model cards list them

# The first that matches counts. HHEM's and LettuceDetect's pieces are ours: theirs have no length,
# or fill what the network can read.
LAYOUTS = (
    Layout("minicheck-t5", "minicheck.*flan-t5", _NOT_OR_YES, "answer", "predict: " + _MINICHECK,
           500, "words", 2048),
    Layout("minicheck-roberta", "minicheck.*roberta", _NOT_OR_YES, prompt=_MINICHECK),
    Layout("minicheck-deberta", "minicheck.*deberta", _NOT_OR_YES, prompt=_MINICHECK,
           max_tokens=2048),
    Layout("factcg", "factcg", _NOT_OR_YES, prompt=_FACTCG, piece=550, unit="words",
           max_tokens=2048),
    Layout("hhem", "hallucination_evaluation_model|hhem-2", _NOT_OR_YES, "first_token", _HHEM,
           1000, "words", 2048, foundation="google/flan-t5-base"),
    Layout("lettucedetect", "(lettucedect|tinylettuce).*-en-v1", (SUPPORTED, NEUTRAL), "tokens",
           _LETTUCE, 3500, max_tokens=4096),
    Layout("nli-26", "2mil7", _BY_MORITZ_LAURER, languages=MULTI_NLI_26),
    Layout("nli-xnli", "(mdeberta|multilingual).*xnli", _BY_MORITZ_LAURER, languages=XNLI),
    Layout("nli-cross-encoder", "cross-encoder.*nli-", (REFUTED, SUPPORTED, NEUTRAL)),
    Layout("nli", "deberta.*mnli", _BY_MORITZ_LAURER),
)  # fmt: skip
_BY_LABELS = Layout("nli", "", ())  # any other whose configuration names the labels of NLI


def find(name: str, config: Mapping[str, Any]) -> Layout | None:
    """The row for a hub id or a folder, with what its config.json says; None: not in the table."""
    known = f"{name} {config.get('_name_or_path', '')}".lower()
    for layout in LAYOUTS:
        if re.search(layout.ids, known):
            return layout
    names = _names(config)
    return _BY_LABELS if "entailment" in names and names <= _NLI_NAMES else None


def of_folder(folder: Path) -> Layout | None:
    """The row for a folder of weights; None for Pincite's own, rerankers and what is unknown."""
    path = folder / "config.json"
    if (folder / "pincite.json").exists() or not path.exists():
        return None
    named = "/".join(folder.parts[-3:])  # as the hub's cache names it: id, "snapshots", revision
    return find(named, json.loads(path.read_text(encoding="utf-8")))


def labels_of(layout: Layout, folder: Path) -> tuple[str, ...]:
    """SUPPORTED, REFUTED or NEUTRAL for each output of the network in `folder`.

    Raises:
        MissingModel: its configuration has labels of another kind.
    """
    if layout.head in ("answer", "first_token"):
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
            "neutral and contradiction, or two labels one of which is support."
        )
    return labels


def _names(config: Mapping[str, Any]) -> set[str]:
    return {str(name).lower() for name in (config.get("id2label") or {}).values()}


def columns(logits: Floats, labels: Sequence[str]) -> Floats:
    """Logits of `labels` as (n, 3): supported, refuted, neutral; or as (n, 1): log-odds of support.

    >>> columns(np.array([[1.0, 3.0]], np.float32), (NEUTRAL, SUPPORTED)).tolist()
    [[2.0]]
    """
    if REFUTED in labels:
        return logits[:, [labels.index(label) for label in (SUPPORTED, REFUTED, NEUTRAL)]]
    at = labels.index(SUPPORTED)
    others = np.logaddexp.reduce(np.delete(logits, at, axis=1), axis=1)
    return np.asarray(logits[:, at] - others, dtype=np.float32)[:, None]


def pieces(text: str, most: int, size: Callable[[str], int]) -> list[str]:
    """The text in pieces of whole sentences that `size` counts at most `most` in; never none.

    A sentence that is longer is a piece of its own.

    >>> pieces("One two. Three four. Five.", 3, lambda sentence: len(sentence.split()))
    ['One two.', 'Three four. Five.']
    """
    if size(text) <= most:
        return [text]
    found: list[list[int]] = []  # start, end, size
    for span in sentences(text):
        n = size(span.of(text))
        if found and found[-1][2] + n <= most:
            found[-1][1:] = [span.end, found[-1][2] + n]
        else:
            found.append([span.start, span.end, n])
    return [text[start:end] for start, end, _ in found] or [text]


class Backend(Protocol):
    """A loaded network."""

    def logits(self, rows: Sequence[tuple[str, str]]) -> Floats:
        """(n_rows, n_labels) for (document, claim); of a "tokens" head what `PublicNetwork` has."""
        ...

    def n_tokens(self, text: str) -> int:
        """Without those that mark beginning and end."""
        ...


class PublicNetwork:
    """A network that reads as a row of the table says, seen as Pincite's own is."""

    def __init__(self, layout: Layout, labels: Sequence[str], backend: Backend) -> None:
        self._layout, self._labels, self._backend = layout, labels, backend
        self.width = 3 if REFUTED in labels else 1

    def logits(self, rows: Sequence[tuple[str, str]]) -> Floats:
        """For (claim, document) what `columns` says; of the piece that supports the claim best.

        If none supports it, of the one that contradicts it. Behind it, where the head judges
        tokens, the log-odds of each of the claim's words being unsupported.
        """
        if not rows:
            return np.zeros((0, self.width), dtype=np.float32)
        size = self._backend.n_tokens if self._layout.unit == "tokens" else _n_words
        read = [pieces(document, self._layout.piece, size) for _, document in rows]
        flat = [(one, claim) for (claim, _), found in zip(rows, read, strict=True) for one in found]
        logits = self._backend.logits(flat)
        if self._layout.head != "tokens":
            logits = columns(logits, self._labels)
        ends = np.cumsum([len(found) for found in read])
        return np.stack([self._best(each) for each in np.split(logits, ends[:-1])])

    def _best(self, of_pieces: Floats) -> Floats:
        if self.width == 1:
            return np.asarray(of_pieces[np.argmax(of_pieces[:, 0])])
        supported, refuted, neutral = of_pieces.T
        support = supported - np.logaddexp(refuted, neutral)
        against = refuted - np.logaddexp(supported, neutral)
        return np.asarray(of_pieces[np.argmax(support if support.max() > 0 else against)])


def _n_words(text: str) -> int:
    return len(text.split())
