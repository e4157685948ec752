"""Build the folder that a GPU run needs, under 50 MiB: python research/gpu/pack.py CLAIMS [--out build/gpu-kit]

CLAIMS holds train/ and dev/ with claim files (*.jsonl.gz: id, evidence, claim, label, meta). The kit holds

    rows.jsonl.xz       training rows, and the rows of every set that are held back for evaluation
    dev.jsonl.xz        the dev rows
    pincite-verifier/   the shipped network and its tokenizer
    train.py, bert_onnx.py and input_scales.py: the run itself, which needs torch, transformers, tokenizers, numpy and onnx only

A multilingual body learns more of it: all of INFERENCE, to warm a new head up (what exceeds the English sets is marked
"extra"), and TRANSLATED. Each translated row has its English original, and is held to what the shipped network and the teacher
say of that, as English rows are held to what they say of them.

`--share 0.2` keeps a fifth of each public set (at least MIN_ROWS), for a run on a CPU; what was written for this task
stays whole. `--held-back` and `--looks` make the evaluation cheaper.

A row keeps the covering text of its evidence, as `verify` reads it, and beside it the windows that share most words with
the claim: `LOOKS` texts for training, more for evaluation. A supported row of `pages` has a copy that lacks a sentence. Sets, caps and weights stand in SETS: evidence-style sets whole, plain sentence inference capped.
A fifth of the claims (the same hash as `pincite_lab.training.groups.is_held_back`, seed 17) is never trained on; of our own
rows (OWN, from research/data/claims) a fifth of the passages, since all claims on a passage belong together.
"""

import argparse
import gzip
import hashlib
import json
import lzma
import random
import re
import shutil
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from typing import Any

from covering_groups import NEW, covering, lacking_one

from pincite.documents.jsonl import LabelledClaim
from pincite.text import words
from pincite.types import GAP
from pincite_lab.training.groups import changed_claims, is_held_back

SEED = 17  # of the held-back fifth: the shipped network's
LOOKS = 3
WINDOW_WORDS = 170
MIN_ROWS = 300
LIMIT = 50 << 20  # bytes
WEIGHTS = Path("src/pincite/models/weights_data/pincite-verifier")

# name: (most rows, weight of a row, kind). Kinds: "new" rows follow their labels and the teacher; "old" rows
# are also held to what the shipped network says of them.
OWN = {
    f"part-{part}": f"own_{part}" for part in "abcd"
}  # file in research/data/claims → name of the set
SETS: dict[str, tuple[int, float, str]] = {
    "written": (0, 2.0, "new"),
    "contrast": (0, 2.0, "new"),
    "own_a": (1300, 2.0, "new"),
    "own_b": (900, 2.0, "new"),
    "infotabs": (8000, 0.7, "new"),
    "tabfact_pairs": (8000, 0.7, "new"),
    "fever_eraser": (6000, 0.7, "new"),
    "fever_nei_pages": (4000, 0.7, "new"),
    "fever_sentences": (3000, 0.5, "new"),
    "feverous_dev": (0, 1.0, "new"),
    "cg2c": (0, 1.0, "new"),
    "nli4ct_2024_perturbed": (2500, 0.7, "new"),
    "contractnli": (600, 0.5, "new"),
    "sufficient_facts": (0, 1.0, "old"),
    "factcheck_gpt_stance": (0, 1.0, "old"),
    "healthver_more": (0, 1.0, "old"),
    "healthver_dev": (0, 1.0, "old"),
    "foolmetwice_more": (0, 1.0, "old"),
    "foolmetwice_dev": (0, 1.0, "old"),
    "fever_symmetric_dev": (0, 1.0, "old"),
    "scifact_train": (0, 1.5, "old"),
    "climate_fever": (3000, 1.0, "old"),
    "citation_integrity_train": (0, 1.0, "old"),
    "wice_partial_subclaims_train": (0, 1.0, "old"),
    "attributionbench_dev": (0, 1.0, "old"),
    "nli4ct_train": (0, 0.7, "old"),
    "covidfact": (1200, 0.5, "old"),
    "control_dev": (0, 0.7, "old"),
    "mnli_dev": (5000, 0.7, "old"),
    "conjnli_adv15k": (2000, 0.5, "old"),
    "scitail_dev": (1000, 0.5, "old"),
    "pages": (0, 1.2, "new"),
    "own_c": (0, 2.0, "new"),  # last, so that the samples above stay as they were
    "own_d": (0, 2.0, "new"),
}
# Plain sentence inference of which a multilingual body sees more.
INFERENCE: dict[str, tuple[int, float, str]] = {
    "mnli_dev": (0, 0.7, "old"),
    "conjnli_adv15k": (5000, 0.5, "old"),
    "scitail_dev": (0, 0.5, "old"),
    "snli_dev": (0, 0.5, "old"),
}
# Sets in other languages; `multilingual` has three rows for each English claim and passage of `written`.
TRANSLATED: dict[str, tuple[int, float, str]] = {
    "multilingual": (0, 1.5, "new"),
    "danfever": (0, 1.0, "new"),
}
# Of their supported claims one in SWAP_EVERY is also learnt with a fact changed (`pincite_lab.training.perturbations`).
SWAPPED = (
    "fever_eraser",
    "fever_sentences",
    "feverous_dev",
    "sufficient_facts",
    "factcheck_gpt_stance",
    "healthver_dev",
    "healthver_more",
    "foolmetwice_dev",
    "foolmetwice_more",
    "scifact_train",
    "climate_fever",
    "citation_integrity_train",
    "attributionbench_dev",
)
SWAP_EVERY, SWAP_WEIGHT = 2, 0.5
# Pairs of the public sets that blind readings label otherwise than the set (research/data/README.md).
CORRECTIONS = Path(__file__).parents[1] / "data" / "corrections.jsonl"
WHOLE = ("written", "contrast", *OWN.values(), *TRANSLATED)  # whatever the --share
DEV = (
    "pages_dev",
    "wice_claim_dev",
    "scifact_dev",
    "citation_integrity_dev",
    "written_dev",
    "contrast_dev",
)
TRANSLATED_DEV = ("multilingual_dev",)
_WORD = re.compile(r"\w+")


def plain(text: str) -> str:
    """The text with single spaces."""
    return " ".join(text.split())


def windows(text: str, words: int = WINDOW_WORDS) -> list[str]:
    """The evidence in overlapping windows of `words` words."""
    split = text.split()
    if len(split) <= words + 40:
        return [plain(text)]
    step = words // 2
    return [" ".join(split[i : i + words]) for i in range(0, len(split) - step, step)]


def closest(claim: str, passages: list[str], k: int) -> list[str]:
    """The `k` passages that share most words with the claim, best first."""
    wanted = {word.lower() for word in _WORD.findall(claim) if len(word) > 2}
    shared = [len(wanted & {word.lower() for word in _WORD.findall(p)}) for p in passages]
    order = sorted(range(len(passages)), key=lambda i: -shared[i])
    return [passages[i] for i in order[:k]]


def read_of(claim: str, evidence: str, k: int) -> list[str]:
    """The `k` texts to read: the covering text, as `verify` reads, and windows beside it."""
    if len(cut := windows(evidence)) == 1:
        return cut
    together = covering(claim, evidence)
    first = [plain(together.text.replace(GAP, "\n"))] if together else []
    return list(dict.fromkeys([*first, *closest(claim, cut, k - len(first))]))


def rows_of(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of a claim file, plain or .gz."""
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def file_of(name: str, folder: Path) -> Path:
    """Where the rows of a set are."""
    own = {ours: file for file, ours in OWN.items()}
    if name in own:
        return Path(__file__).parents[1] / "data" / "claims" / f"{own[name]}.jsonl"
    return folder / f"{name}.jsonl.gz"


def translated(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with `languages` (of claim and passage) and, where another row has them, `english` (claim, passage)."""
    claims, passages = {}, {}
    for row in rows:
        unit, meta = row["id"].rpartition(":")[0], row["meta"]
        if meta.get("lang_claim") == "en":
            claims[unit] = row["claim"]
        if meta.get("lang_passage") == "en":
            passages[unit] = plain(row["evidence"])
    found = []
    for row in rows:
        unit, meta = row["id"].rpartition(":")[0], row["meta"]
        of = [meta.get(key) or meta["lang"] for key in ("lang_claim", "lang_passage")]
        more: dict[str, Any] = {"languages": of}
        if unit in claims and unit in passages:
            more["english"] = [claims[unit], passages[unit]]
        found.append(row | more)
    return found


def is_kept_out(row: dict[str, Any], name: str) -> bool:
    """Whether the row is held back for evaluation: by its English claim, so that a translation is where its original is.

    Our own rows by their passage, named in the id.
    """
    claim = row.get("english", [row["claim"]])[0]
    unit = row["id"].rpartition(":")[0] if name in OWN.values() else claim
    return is_held_back(unit, SEED)


def packed(row: dict[str, Any], name: str, looks: int, **more: object) -> dict[str, object]:
    """A row as the kit keeps it: a title in its context is put before the claim."""
    meta = row.get("meta") or {}
    title = (meta.get("context") or {}).get("title")
    claim = f"{title}: {row['claim']}" if title else row["claim"]
    found = read_of(row["claim"], row["evidence"], looks)
    kind = row["id"].rpartition(":")[2] if name.startswith(("written", "contrast")) else ""
    if name in OWN.values() or "english" in row:
        kind = meta.get("kind", "")
    more |= {key: row[key] for key in ("languages", "english") if key in row}
    return {
        "set": name,
        "claim": claim,
        "passages": found,
        "label": row["label"],
        "of": kind,
        "evidence": hashlib.blake2b(row["evidence"].encode(), digest_size=6).hexdigest(),
    } | more


def write(file: Path, rows: Iterable[dict[str, object]]) -> int:
    """Write rows as compressed JSON lines; how many."""
    n = 0
    with lzma.open(file, "wt", encoding="utf-8", preset=6) as out:
        for n, row in enumerate(rows, start=1):
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    return n


def corrected(row: dict[str, Any], correction: dict[str, Any] | None) -> dict[str, Any] | None:
    """A packed row with the passage that was read and its label, not held to the shipped network's answer.

    None if its label is disputed.
    """
    if correction is None:
        return row
    if correction["label"] is None:
        return None
    passages = [row["passages"][correction["look"]]]
    return row | {"passages": passages, "label": correction["label"], "kind": "new"}


def swapped(
    row: dict[str, Any], whole: dict[str, Any], others: list[dict[str, Any]]
) -> Iterator[dict[str, object]]:
    """A packed row's claim with a fact changed, on the same passages; or another row's claim, which they do not support."""
    chance = random.Random(row["id"])
    drawn = [other for other in chance.sample(others, 3) if other["evidence"] != row["evidence"]]
    names = [name for other in chance.sample(others, 40) for name in words.names(other["claim"])]
    claim = LabelledClaim(row["id"], row["claim"], row["evidence"], row["label"])
    for text, label in changed_claims(claim, names, [other["claim"] for other in drawn], chance):
        more = {"claim": text, "label": label, "weight": SWAP_WEIGHT, "kind": "new"}
        yield whole | more | {"set": "swaps", "inference": False}


def without_one(row: dict[str, Any], whole: dict[str, Any]) -> Iterator[dict[str, object]]:
    """A packed row's claim on its covering text without a sentence that it needs: partly supported."""
    if less := lacking_one(row["claim"], whole["passages"][0]):
        yield whole | {"passages": [plain(less)], "label": "partial"}


def training_rows(
    folder: Path, share: float, n_held_back: int, apart: Set[str] = frozenset()
) -> Iterator[dict[str, object]]:
    """All rows to train on, none of them on the passages `apart`, and of each set some that are held back."""
    chance = random.Random(SEED)
    corrections = {(each["set"], each["id"]): each for each in rows_of(CORRECTIONS)}
    for name, (most, weight, kind) in (SETS | INFERENCE | TRANSLATED).items():
        rows = list(rows_of(file_of(name, folder)))
        if name in TRANSLATED:
            rows = translated(rows)
        held = [row for row in rows if is_kept_out(row, name)]
        kept = [row for row in rows if not is_kept_out(row, name)]
        chance.shuffle(kept)
        chance.shuffle(held)
        n = min(most or len(kept), len(kept))
        uncut = name in WHOLE or name in INFERENCE
        in_english = SETS.get(name, (0 if name in TRANSLATED else -1, 0, ""))[0]
        for i, row in enumerate(kept[: n if uncut else max(MIN_ROWS, round(n * share))]):
            more: dict[str, Any] = {"weight": weight, "kind": kind, "inference": name in INFERENCE}
            more["extra"] = in_english < 0 or 0 < in_english <= i
            if plain(row["evidence"]) in apart:
                continue
            whole = packed(row, name, LOOKS, **more)
            if used := corrected(whole, corrections.get((name, row["id"]))):
                yield used
                if name == NEW and used["label"] == "support":
                    yield from without_one(row, used)
                if name in SWAPPED and used["label"] == "support" and i % SWAP_EVERY == 0:
                    yield from swapped(row, used, kept)
        for row in held[:n_held_back]:
            yield packed(row, name, LOOKS, weight=0.0, kind="held back")


def dev_rows(file: Path) -> list[dict[str, Any]]:
    """The rows of a dev set; of TRANSLATED_DEV with their languages and English originals."""
    rows = list(rows_of(file))
    return translated(rows) if file.name.startswith(TRANSLATED_DEV) else rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("claims", type=Path)
    parser.add_argument("--out", type=Path, default="build/gpu-kit")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--held-back", type=int, default=300, help="rows of each set to evaluate")
    parser.add_argument("--looks", type=int, default=4, help="passages of a row to evaluate")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    dev = {
        name: dev_rows(args.claims / "dev" / f"{name}.jsonl.gz") for name in (*DEV, *TRANSLATED_DEV)
    }
    # Some of `written` are on passages of the translated dev rows, which nothing may be trained on.
    apart = {plain(row["evidence"]) for name in TRANSLATED_DEV for row in dev[name]}
    n = write(
        args.out / "rows.jsonl.xz",
        training_rows(args.claims / "train", args.share, args.held_back, apart),
    )
    n_dev = write(
        args.out / "dev.jsonl.xz",
        (packed(row, name, args.looks) for name, its_rows in dev.items() for row in its_rows),
    )
    student = args.out / WEIGHTS.name
    student.mkdir(exist_ok=True)
    for name in ("model.onnx", "tokenizer.json"):
        shutil.copy(WEIGHTS / name, student / name)
    shutil.copy(Path(__file__).with_name("train.py"), args.out)
    shutil.copy("plugins/pincite-lab/src/pincite_lab/training/bert_onnx.py", args.out)
    shutil.copy("plugins/pincite-multilingual/tools/input_scales.py", args.out)
    size = sum(file.stat().st_size for file in args.out.rglob("*") if file.is_file())
    print(f"{args.out}: {n} training and held-back rows, {n_dev} dev rows, {size / 2**20:.1f} MiB")
    if size > LIMIT:
        raise SystemExit(f"The kit may have {LIMIT >> 20} MiB; cap some SETS.")


if __name__ == "__main__":
    main()
