"""`pincite learn`: a short run on the user's rows, with distillation against forgetting.

A few hundred rows of one kind would teach a network one answer to everything. So each run also sees
unlabelled claims (`remembered`) with passages of the feedback and of Pincite's demos, for which the
base's answer is the target (Li and Hoiem 2016, Learning without Forgetting).
"""

import hashlib
import itertools
import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pincite
from pincite.documents.collection import collect
from pincite.documents.jsonl import LabelledClaim
from pincite.durable import data_path
from pincite.errors import InputError
from pincite.models import calibration, weights
from pincite.models.verifier import CrossEncoderVerifier
from pincite.text import words
from pincite.text.passages import passages
from pincite.text.sentences import whole_sentences
from pincite.types import Claim, Document, Passage, Span
from pincite_lab.training import groups as grouped
from pincite_lab.training import network, perturbations
from pincite_lab.training import verifier as trainer
from pincite_lab.training.export import export
from pincite_lab.training.objective import AS_BEFORE, Objective
from pincite_lab.training.recipe import GROUPS, MODEL, Recipe, Run, SetRecipe, begin_run

# Feedback trains the upper seven of the shipped network's twelve layers.
RECIPE = Recipe(
    sets=(),
    max_tokens=320,
    max_passages=2,
    window_words=170,
    learning_rate=2e-4,
    frozen_layers=5,
    frozen_embeddings=True,
    dropout=0.05,
    swaps=0.0,
    negatives=0.0,
    distillation=0.0,  # of the feedback's rows; remembered ones have no other target
)
VISITS = 5  # of each feedback row
STEP_ROWS = 8  # feedback rows
REMEMBERED = 0.25  # unlabelled rows per feedback row
# Interpolation from the base's weights to the trained ones: accuracy elsewhere drops less than the
# feedback gains (Wortsman et al. 2022, Robust fine-tuning of zero-shot models).
SHARE = 0.6
FEEDBACK = "feedback"
SAVE_EVERY = 60.0  # seconds: the most work lost if the run is killed
REGRESSION_ROWS = 300  # generated for the comparison if the user gives none
RESCALED = 150  # unlabelled rows used to match the scales
NEIGHBOURS = 20  # passages searched for one on a similar subject
LEAST_WORDS = 7  # of a sentence taken as a claim
DEMOS = Path(pincite.__file__).parent / "demo"
_TEXTS = ("verify/corpus", "verify/sources", "ask/abstracts.xml", "check/documents")


def shipped_passages() -> tuple[list[Passage], list[Passage]]:
    """Return the passages of the shipped demos, which are fictional and in no recipe.

    By alternate documents: those to train on, and those to compare on.
    """
    collection = collect([DEMOS / name for name in _TEXTS])
    pages = [page for piece in collection.pieces for page in collection.read(piece)]
    of_pages = list(filter(None, (passages(page) for page in pages if isinstance(page, Document))))
    return list(itertools.chain(*of_pages[::2])), list(itertools.chain(*of_pages[1::2]))


def generated_rows(pool: Sequence[Passage], n: int, seed: int) -> list[LabelledClaim]:
    """Return up to n claims with passages: by turns true, altered, or set against another page."""
    chance = random.Random(f"{seed} made rows")  # noqa: S311 - a sample, not a secret
    claims = [(" ".join(s.of(p.text).split()), p) for p in pool for s in whole_sentences(p.text)]
    claims = [(claim, p) for claim, p in claims if len(claim.split()) >= LEAST_WORDS]
    claims = chance.sample(claims, min(2 * n, len(claims)))  # not every sentence can be changed
    names = [name for claim, _ in claims for name in words.names(claim)]
    rows = list[LabelledClaim]()
    for number, (claim, passage) in enumerate(claims):
        text, label, shown = claim, "support", passage.text
        if number % 3 == 1:
            tried = [*perturbations.KINDS, *perturbations.HARD_KINDS]
            chance.shuffle(tried)
            changed = (perturbations.perturb(kind, claim, names, chance, shown) for kind in tried)
            text = next((x.text for x in changed if x and x.text not in shown), "")
            label = "not_support"
        elif number % 3 == 2:
            drawn = chance.sample(pool, min(NEIGHBOURS, len(pool)))
            others = [p.text for p in drawn if p.doc_id != passage.doc_id]
            shown = max(others, key=lambda other: words.overlap(claim, other), default="")
            label = "nei"
        if text and shown:
            rows.append(LabelledClaim(f"made-{number}", text, shown, label))
        if len(rows) == n:
            break
    return rows


def remembered_groups(rows: Sequence[LabelledClaim], n: int, seed: int) -> list[grouped.Group]:
    """Make groups with the base's answer as target: half from the feedback, half from the demos."""
    own = [passage for row in rows for passage in passages(Document(row.row_id, "", row.evidence))]
    shipped, _ = shipped_passages()
    unlabelled = [*generated_rows(own, n // 2, seed), *generated_rows(shipped, n - n // 2, seed)]
    return [
        grouped.Group("remembered", row.row_id, row.claim, AS_BEFORE, (row.evidence,))
        for row in unlabelled
    ]


def regression_rows() -> list[LabelledClaim]:
    _, kept = shipped_passages()
    return generated_rows(kept, REGRESSION_ROWS, RECIPE.seed)


@dataclass(frozen=True, slots=True)
class Learning:
    """One attempt: its rows, and its folder until it is accepted or rejected."""

    learnt: Sequence[LabelledClaim]
    held_back: Sequence[LabelledClaim]
    folder: Path
    base: str
    threads: int = 0

    @property
    def exported(self) -> Path:
        """The folder of the new verifier, which `learn` creates."""
        return self.folder / "verifier"


def begin(rows: Sequence[LabelledClaim], base: str, threads: int = 0) -> Learning:
    """Start or resume learning from these rows; attempts with other rows or bases are removed.

    Raises:
        InputError: There are too few rows.
    """
    learnt, held_back = grouped.split(rows, RECIPE.seed)
    if not held_back:
        raise InputError(
            f"There is too little feedback to learn from: {len(rows)} labelled rows of "
            f"{len({row.document for row in rows})} documents, a fifth of which are held back; "
            f"expected at least {grouped.LEAST_ROWS} rows, and {grouped.LEAST_HELD_BACK} documents "
            "held back. Label more: pincite feedback RESULT.json --item ITEM --label LABEL"
        )
    folder = home() / f"run-{digest(rows, base)}"
    remove_runs(but=folder)
    return Learning(learnt, held_back, folder, base, threads)


def remove_runs(but: Path | None = None) -> None:
    for folder in home().glob("run-*"):
        if folder != but:
            shutil.rmtree(folder, ignore_errors=True)


def home() -> Path:
    """Return the folder for learned verifiers: user data, since they cannot be downloaded again."""
    return data_path("learned")


def digest(rows: Sequence[LabelledClaim], base: str) -> str:
    """Return 12 hex digits that identify the result of learning from these rows and base."""
    recipe = [asdict(RECIPE), VISITS, STEP_ROWS, REMEMBERED, SHARE]
    inputs = [base, recipe, [(row.claim, row.evidence, row.label) for row in rows]]
    return hashlib.sha256(json.dumps(inputs).encode("utf-8", "replace")).hexdigest()[:12]


def learn(attempt: Learning, progress: trainer.Progress) -> Path:
    """Train on the rows and export, resuming where a run stopped; returns the verifier's folder.

    Raises:
        ConfigError, InputError, MissingModel: See `verifier.train_verifier`.
    """
    if not (attempt.exported / "model.onnx").exists():
        run = Run(attempt.folder, attempt.folder, RECIPE, attempt.base, threads=attempt.threads)
        model = _train(run, attempt.learnt, progress)
        base = Path(attempt.base)
        shipped = base if base.is_dir() else weights.locate(attempt.base)
        licence = str(weights.read_card(shipped).get("licence", "not stated"))
        source = f"pincite learn, from {attempt.base}"
        exported = attempt.folder / "exported"  # moved when complete: a run may be killed
        export(model, exported, source=source, licence=licence)
        if (shipped / calibration.FILE).exists():
            rescale(exported, shipped)
        exported.rename(attempt.exported)
    return attempt.exported


def rescale(learnt: Path, base: Path) -> None:
    """Give a learned network its base's calibration, adjusted to the base's scale of log-odds.

    Training on supported claims makes a network more confident on other claims too. So the mean and
    spread of its log-odds are matched to the base's on claims that neither was trained on.
    """
    shown, _ = shipped_passages()
    rows = generated_rows(shown, RESCALED, RECIPE.seed + 1)
    whole = [Passage("", "", "", row.evidence, Span(0, len(row.evidence))) for row in rows]
    pairs = [(Claim("", row.claim), page) for row, page in zip(rows, whole, strict=True)]
    old, new = (CrossEncoderVerifier(one).log_odds(pairs)[:, 0] for one in (base, learnt))
    slope = float(old.std() / new.std())
    shift = float(old.mean() - slope * new.mean())
    about = json.loads((base / calibration.FILE).read_text(encoding="utf-8"))
    first, *rules, last = about["support"]
    about["support"] = [first * slope, *rules, last + first * shift]
    about["name"] += " rescaled"
    (learnt / calibration.FILE).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def _train(run: Run, rows: Sequence[LabelledClaim], progress: trainer.Progress) -> Path:
    device = begin_run(run)
    model, tokenizer = network.load(run.base)
    base, base_tokenizer = network.load(run.base)
    path = run.folder / GROUPS
    if not path.exists():
        wanted = SetRecipe(FEEDBACK, visits=VISITS)
        labelled = list(grouped.groups_of(rows, wanted, run.recipe, lambda row: ()))
        unlabelled = remembered_groups(rows, round(REMEMBERED * len(labelled)), run.recipe.seed)
        grouped.write_groups(path, [*labelled, *unlabelled])
    groups = grouped.read_groups(path)
    network.freeze(model.to(device), run.recipe.frozen_layers, run.recipe.frozen_embeddings)
    network.set_dropout(model, run.recipe.dropout)
    student, teacher = (
        network.Pairs(one, its_tokenizer, run.recipe.max_tokens, run.recipe.precision)
        for one, its_tokenizer in ((model, tokenizer), (base.eval().to(device), base_tokenizer))
    )
    work = trainer.Work(groups, _batches(groups), Objective(run.recipe, student, teacher), model)
    trainer.descend(work, run.recipe, run.folder, progress, SAVE_EVERY)
    old = dict(base.named_parameters())
    for name, weight in model.named_parameters():
        weight.data.lerp_(old[name].data, 1 - SHARE)
    network.write_model(model, tokenizer, run.folder / MODEL, len(rows))
    return run.folder / MODEL


def _batches(groups: Sequence[grouped.Group]) -> list[list[int]]:
    """Plan steps so that feedback rows and remembered rows are spread evenly over them."""
    feedback = [n for n, group in enumerate(groups) if group.set_name == FEEDBACK]
    rest = [n for n, group in enumerate(groups) if group.set_name != FEEDBACK]
    chance = random.Random(RECIPE.seed)  # noqa: S311 - an order, not a secret
    chance.shuffle(feedback)
    chance.shuffle(rest)
    n_steps = -(-len(feedback) // STEP_ROWS)
    return [feedback[n::n_steps] + rest[n::n_steps] for n in range(n_steps)]


def accept(attempt: Learning, about: Mapping[str, Any]) -> Path:
    number = 1 + max((int(p.name.rpartition("-")[2]) for p in home().glob("learned-*")), default=0)
    card = weights.read_card(attempt.exported)
    network.write_card(attempt.exported, card | {weights.LEARNED: dict(about)})
    folder = home() / f"learned-{number}"
    attempt.exported.replace(folder)
    return folder
