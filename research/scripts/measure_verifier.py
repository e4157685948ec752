"""Is a verifier's network better than another? python research/scripts/measure_verifier.py CLAIMS MODEL...

CLAIMS holds train/ and dev/ with claim files. MODEL: a name or folder with model.onnx, the folder
`model` of a run, or the folder of a run that goes on: its state is read as it is, in float32.

The network alone is measured, on one window of each evidence, so that a checkpoint costs minutes.
`pincite eval claims` measures the product: all passages, calibrated. The windows are chosen once,
by the shipped network, as that which bears on the claim most (supported or refuted against
neutral); every model reads the same, and no label is looked at.

Rows: the dev files, and of the recipe's sets with `held_back` the claims that no run trains on.
Partial rows count as not supported, and are left out of what is told of refuted; nor are rows
counted there that do not tell refuted from neutral.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pincite.documents.jsonl import LabelledClaim, read_labelled
from pincite.models import weights
from pincite.models.session import Session
from pincite.models.verifier import MAX_TOKENS, CrossEncoderVerifier
from pincite.protocols import Floats
from pincite.types import Claim, Passage, Span
from pincite_lab.evaluation import measures
from pincite_lab.training.groups import cut, half_of, is_held_back
from pincite_lab.training.recipe import SHIPPED, Recipe, recipe_in

DEV = ("scifact_dev", "wice_claim_dev", "citation_integrity_dev")
SAYS = ("support", "refute", "nei")  # labels in the order of the logits
PRECISION = 0.8  # of "refuted", for which a threshold is looked for

Judge = Callable[[Sequence[tuple[str, str]]], Floats]  # (claim, passage) → (n, 3) logits


@dataclass(frozen=True, slots=True)
class Row:
    """A claim with its window; `part` is dev, or what a held-back claim is for: fit or measure."""

    file: str
    row_id: str
    claim: str
    window: str
    label: str
    part: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("claims", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--recipe", type=Path, default=SHIPPED)
    parser.add_argument("--windows", type=Path, default=Path("windows.jsonl"), help="kept here")
    parser.add_argument(
        "--looks", type=int, default=3, help="windows that share most words, read for the choice"
    )
    parser.add_argument("--file", dest="files", action="append", help="only this one; repeatable")
    parser.add_argument("--rows", type=int, default=0, help="at most so many of a file")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--predictions", type=Path, help="a folder for each row's probabilities")
    args = parser.parse_args()
    rows = windows(args.claims, recipe_in(args.recipe, Recipe), args.windows, args.looks)
    files = args.files or sorted({row.file for row in rows})
    rows = [row for f in files for row in [r for r in rows if r.file == f][: args.rows or None]]
    for number, model in enumerate(args.models):
        said = softmax(judge_of(model, args.threads)([(r.claim, r.window) for r in rows]))
        for file in files:
            here = [i for i, row in enumerate(rows) if row.file == file]
            found = measured([rows[i].label for i in here], said[here])
            print(json.dumps({"model": model, "file": file, **found}), flush=True)
        print(json.dumps({"model": model, "refuted": of_refuted(rows, said)}), flush=True)
        if args.predictions:
            keep(args.predictions / f"{number}.jsonl", rows, said)


def windows(claims: Path, recipe: Recipe, path: Path, looks: int) -> list[Row]:
    """The rows to be measured, each with its window; chosen once and kept in `path`."""
    if path.exists():
        return [Row(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
    verifier = CrossEncoderVerifier(weights.locate(weights.VERIFIER))
    found = [
        Row(
            *(file, row.row_id, row.claim),
            *(window_of(row, recipe.window_words, looks, verifier), row.label, part),
        )
        for file, part, row in wanted(claims, recipe)
    ]
    verifier.close()
    path.write_text("".join(json.dumps(asdict(row)) + "\n" for row in found), "utf-8")
    return found


def wanted(claims: Path, recipe: Recipe) -> list[tuple[str, str, LabelledClaim]]:
    """The rows of the dev files, and those held back: with their file and part."""
    found = [
        (name, "dev", row)
        for name in DEV
        for row in read_labelled(claims / "dev" / f"{name}.jsonl.gz")
    ]
    for each in recipe.sets:
        if each.held_back:
            found += [
                (each.name, half_of(row.claim, recipe.seed), row)
                for row in read_labelled(claims / "train" / f"{each.name}.jsonl.gz")
                if is_held_back(row.claim, recipe.seed)
            ]
    return found


def window_of(row: LabelledClaim, n_words: int, looks: int, verifier: CrossEncoderVerifier) -> str:
    """The part of the evidence that bears on the claim most; marks of annotators are not read."""
    bare = LabelledClaim(row.row_id, row.claim, row.evidence, row.label)
    parts = cut(bare, looks, n_words).latent
    if len(parts) == 1:
        return parts[0]
    pairs = [(Claim("", row.claim), Passage("", "", "", p, Span(0, len(p)))) for p in parts]
    return parts[int(np.argmax(verifier.relevance(pairs)))]


def judge_of(model: str, threads: int) -> Judge:
    """The network of an exported folder, of a run's `model`, or of a run that goes on."""
    folder = Path(model)
    if (folder / "run.json").exists() or (folder / "config.json").exists():
        return torch_judge(folder, threads)
    return Session(weights.locate(model), max_tokens=MAX_TOKENS, threads=threads).logits


def torch_judge(folder: Path, threads: int) -> Judge:
    """The float32 network as it stands in a folder, without gradient or dropout."""
    import torch
    from safetensors import safe_open

    from pincite_lab.training import network
    from pincite_lab.training.recipe import STATE

    if threads:
        torch.set_num_threads(threads)
    if (folder / "config.json").exists():
        model, tokenizer = network.load_trained(str(folder))
    else:
        model, tokenizer = network.load(json.loads((folder / "run.json").read_text())["base"])
        known = dict(model.named_parameters())
        with safe_open(folder / STATE, "pt") as state:
            for key in state.keys():  # noqa: SIM118 - it is no dict
                if key.startswith("weight "):
                    known[key.removeprefix("weight ")].data.copy_(state.get_tensor(key))
    places = network.most_tokens(model) or MAX_TOKENS
    pairs_of = network.Pairs(model.eval(), tokenizer, min(MAX_TOKENS, places))
    return lambda pairs: np.asarray(pairs_of.judged(pairs).numpy(), dtype=np.float32)


def softmax(logits: Floats) -> Floats:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), dtype=np.float32)


def measured(labels: Sequence[str], said: Floats) -> dict[str, Any]:
    """AUROC of support against all else and of refuted against the rest, F1 by plain argmax."""
    supported = np.array([label == "support" for label in labels])
    told = np.isin(labels, SAYS)
    of_three = [label for label in labels if label in SAYS]
    refuted = np.array([label == "refute" for label in of_three])
    argmax = [SAYS[i] for i in said[told].argmax(axis=1)]
    classes = measures.class_measures(of_three, argmax) if refuted.any() else {}
    kept = ("weighted_f1", "macro_f1", "accuracy", "f1")
    return {
        "n": len(labels),
        "auroc_support": measures.binary_measures(supported, odds(said[:, 0]))["auroc"],
        "auroc_support_interval": measures.auroc_interval(supported, odds(said[:, 0])),
        "auroc_refuted": measures.binary_measures(refuted, odds(said[told, 1]))["auroc"],
        **{name: classes.get(name) for name in kept},
        "partial_called_refuted": share(said[np.array(labels) == "partial"].argmax(axis=1) == 1),
        "support_called_refuted": share(said[supported].argmax(axis=1) == 1),
    }


def odds(p: Any) -> Any:
    """Log-odds: they keep the order, and differ where probabilities near one are rounded."""
    within = np.clip(p.astype(np.float64), 1e-9, 1 - 1e-9)
    return np.log(within) - np.log1p(-within)


def share(flags: Any) -> float | None:
    return round(float(flags.mean()), 4) if len(flags) else None


def of_refuted(rows: Sequence[Row], said: Floats) -> dict[str, Any]:
    """The lowest threshold of P(refuted) with PRECISION on the `fit` half, and what it does on the
    `measure` half: claims that neither training nor the threshold saw.
    """
    told = [row.label != "not_support" for row in rows]
    fit = np.array([t and row.part == "fit" for t, row in zip(told, rows, strict=True)])
    new = np.array([t and row.part == "measure" for t, row in zip(told, rows, strict=True)])
    refuted, p = np.array([row.label == "refute" for row in rows]), said[:, 1]
    fits = [
        t
        for t in (i / 100 for i in range(30, 100))
        if (fit & (p >= t)).any() and refuted[fit & (p >= t)].mean() >= PRECISION
    ]
    if not fits or not new.any():
        return {"threshold": None}
    called = new & (p >= fits[0])
    return {
        "threshold": fits[0],
        "called": int(called.sum()),
        "precision": share(refuted[called]),
        "interval": measures.mean_interval(refuted[called].astype(np.float64)),
        "recall": share(p[new & refuted] >= fits[0]),
    }


def keep(path: Path, rows: Sequence[Row], said: Floats) -> None:
    """Ids, labels and probabilities, no text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as out:
        for row, p in zip(rows, said, strict=True):
            about = {"file": row.file, "id": row.row_id, "label": row.label, "part": row.part}
            out.write(json.dumps(about | {"p": [round(float(x), 5) for x in p]}) + "\n")


if __name__ == "__main__":
    main()
