"""Ask teachers once of all that a run will ask them: python research/scripts/teach.py CLAIMS RECIPE MODEL...

    python research/scripts/teach.py claims/train src/pincite/training/verifier_ninth.toml \\
        pincite-verifier RUN/model --out research/scripts/verifier_ninth.npz

MODEL: a name or folder with model.onnx, or the folder `model` of a run (torch). Of several the mean
of what they say counts: of log-probabilities. The recipe must read one passage of a page, so that
the pairs of its steps are known before it runs. The file is what `--teacher` of `pincite train
verifier` takes in place of a network; no text is in it. What was asked is kept each minute: the
same command goes on.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from pincite.training import loop, network, prepare
from pincite.training.losses import CLASSES
from pincite.training.objective import Objective, Teacher
from pincite.training.recipe import Recipe, read_recipe
from pincite.training.run import teacher_of

KEPT_EVERY = 60.0  # seconds
AT_ONCE = 64  # pairs

Logits = npt.NDArray[np.float32]


@dataclass
class Said:
    """What was said so far, by pair."""

    file: Path
    of: dict[int, Logits]

    def keep(self) -> None:
        pairs = np.fromiter(self.of, dtype=np.uint64, count=len(self.of))
        said = np.array(list(self.of.values()), dtype=np.float16).reshape(-1, len(CLASSES))
        beside = self.file.with_suffix(".part.npz")
        np.savez_compressed(beside, pairs=pairs, said=said)
        beside.replace(self.file)


def main() -> None:
    """Ask, and write the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("claims", type=Path)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--base", default="pincite-verifier", help="the run's")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=0)
    args = parser.parse_args()
    recipe = read_recipe(args.recipe)
    if recipe.max_passages != 1:
        sys.exit(f"{args.recipe} has max_passages = {recipe.max_passages}; expected 1 (--help).")
    if args.threads:
        torch.set_num_threads(args.threads)
    pairs = pairs_of(args.claims, recipe, args.base, args.out.with_suffix(".groups"))
    said = Said(args.out, network.told(args.out) if args.out.exists() else {})
    left = [pair for pair in pairs if network.key_of(*pair) not in said.of]
    teachers = [teacher_of(model, recipe, threads=args.threads) for model in args.models]
    saved = time.monotonic()
    try:
        for start in range(0, len(left), AT_ONCE):
            some = left[start : start + AT_ONCE]
            means = np.mean([log_softmax(each, some) for each in teachers], axis=0)
            said.of |= {network.key_of(*pair): mean for pair, mean in zip(some, means, strict=True)}
            if time.monotonic() - saved > KEPT_EVERY:
                said.keep()
                saved = time.monotonic()
                print(f"{len(said.of)} of {len(pairs)} pairs", file=sys.stderr, flush=True)
    finally:
        said.keep()


def pairs_of(claims: Path, recipe: Recipe, base: str, folder: Path) -> list[tuple[str, str]]:
    """The pairs of all steps of a run, each once, in the order of the steps."""
    folder.mkdir(exist_ok=True)
    groups = prepare.prepared(claims, recipe, None, folder, lambda *_: None, print)
    model, tokenizer = network.load(base)
    student = network.Pairs(model, tokenizer, recipe.max_tokens)
    objective = Objective(recipe, student)
    batches = loop.plan(groups, student, recipe)[: recipe.steps or None]
    found = (pair for batch in batches for pair in objective.pairs([groups[i] for i in batch]))
    return list(dict.fromkeys(found))


def log_softmax(teacher: Teacher, pairs: list[tuple[str, str]]) -> Logits:
    said: Logits = torch.log_softmax(teacher.judged(pairs).float(), dim=-1).numpy()
    return said


if __name__ == "__main__":
    main()
