"""Learning from feedback: a short run over a user's own rows, held to what the network knew.

A few hundred rows of one kind would teach a network to say one thing of everything. So each run
also sees sentences that it was told nothing of (`remembered`), before passages of the same
feedback and of Pincite's own demos, and is asked to say of them what its base says: distillation
against forgetting (Li and Hoiem 2016, Learning without Forgetting).
"""

import hashlib
import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import platformdirs

from pincite.documents.collection import collected
from pincite.documents.jsonl import LabelledClaim
from pincite.errors import InputError
from pincite.models import calibration, weights
from pincite.models.verifier import CrossEncoderVerifier
from pincite.text import perturbations, words
from pincite.text.passages import passages
from pincite.text.sentences import whole_sentences
from pincite.training import groups as grouped
from pincite.training import loop, network, prepare
from pincite.training.export import export
from pincite.training.losses import AS_BEFORE
from pincite.training.objective import Objective
from pincite.training.recipe import Recipe, SetRecipe
from pincite.training.run import MODEL, Run, begun, write_model
from pincite.types import Claim, Document, Passage, Span

# What feedback trains: seven of the shipped network's twelve layers, the upper ones.
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
VISITS = 5  # of each row of feedback
STEP_ROWS = 8  # of feedback
REMEMBERED = 0.25  # rows without a label for one of feedback
# The way that the weights go from the base's to the trained ones: what was not trained for suffers
# less than the feedback gains (Wortsman et al. 2022, Robust fine-tuning of zero-shot models).
SHARE = 0.6
FEEDBACK = "feedback"
SAVE_EVERY = 60.0  # seconds: what a kill may cost
LEAST_ROWS, LEAST_HELD_BACK = 20, 5
GUARDED = 300  # rows made for the comparison, where no others are given
RESCALED = 150  # rows without a label on which scales are compared
NEIGHBOURS = 20  # passages among which one on a like subject is looked for
LEAST_WORDS = 7  # of a sentence that is taken for a claim
DEMOS = Path(__file__).parents[1] / "demo"
_TEXTS = ("verify/corpus", "verify/sources", "ask/abstracts.xml", "check/documents")


def split(
    rows: Sequence[LabelledClaim], seed: int
) -> tuple[list[LabelledClaim], list[LabelledClaim]]:
    """The rows to learn from, and those held back: a fifth of the claims, the same every time."""
    back = [grouped.is_held_back(row.claim, seed) for row in rows]
    return (
        [row for row, held in zip(rows, back, strict=True) if not held],
        [row for row, held in zip(rows, back, strict=True) if held],
    )


def shipped_passages() -> list[Passage]:
    """Passages of all that Pincite ships to show itself with; invented, and read by no recipe."""
    collection = collected([DEMOS / name for name in _TEXTS])
    pages = [page for piece in collection.pieces for page in collection.read(piece)]
    return [p for page in pages if isinstance(page, Document) for p in passages(page)]


def made_rows(found: Sequence[Passage], n: int, seed: int) -> list[LabelledClaim]:
    """At most n claims before passages, by turns: as it stands there, changed, of another page."""
    chance = random.Random(f"{seed} made rows")  # noqa: S311 - a sample, not a secret
    said = [(s.of(p.text), p) for p in found for s in whole_sentences(p.text)]
    said = [(" ".join(claim.split()), p) for claim, p in said]
    said = [(claim, p) for claim, p in said if len(claim.split()) >= LEAST_WORDS]
    said = chance.sample(said, min(2 * n, len(said)))  # not every sentence can be changed
    names = [name for claim, _ in said for name in words.names(claim)]
    rows = (
        row
        for number, (claim, passage) in enumerate(said)
        if (row := _made(number, claim, passage, found, names, chance))
    )
    return [row for row, _ in zip(rows, range(n), strict=False)]


def _made(
    number: int,
    claim: str,
    passage: Passage,
    found: Sequence[Passage],
    names: Sequence[str],
    chance: random.Random,
) -> LabelledClaim | None:
    if number % 3 == 1:
        tried = [*perturbations.KINDS, *perturbations.HARD_KINDS]
        chance.shuffle(tried)
        changed = (
            perturbations.swap_of(kind, claim, names, chance, passage.text) for kind in tried
        )
        text = next((x.text for x in changed if x and x.text not in passage.text), "")
        return LabelledClaim(f"made-{number}", text, passage.text, "not_support") if text else None
    if number % 3 == 2:
        others = [
            p
            for p in chance.sample(found, min(NEIGHBOURS, len(found)))
            if p.doc_id != passage.doc_id
        ]
        if not others:
            return None
        passage = max(others, key=lambda other: words.shared(claim, other.text))
        return LabelledClaim(f"made-{number}", claim, passage.text, "nei")
    return LabelledClaim(f"made-{number}", claim, passage.text, "support")


def remembered(rows: Sequence[LabelledClaim], n: int, seed: int) -> list[grouped.Group]:
    """What the base is asked of: half from the feedback's own passages, half from the demos'."""
    own = [passage for row in rows for passage in passages(Document(row.row_id, "", row.evidence))]
    shipped, _ = halves(shipped_passages())
    made = [*made_rows(own, n // 2, seed), *made_rows(shipped, n - n // 2, seed)]
    return [
        grouped.Group("remembered", row.row_id, row.claim, AS_BEFORE, (row.evidence,))
        for row in made
    ]


def guard_rows() -> list[LabelledClaim]:
    """Rows made of the demos' other half, for the comparison of two verifiers."""
    _, kept = halves(shipped_passages())
    return made_rows(kept, GUARDED, RECIPE.seed)


def halves(found: Sequence[Passage]) -> tuple[list[Passage], list[Passage]]:
    """Passages of every other document: what is remembered, and what guards the comparison."""
    order = {doc_id: n for n, doc_id in enumerate(dict.fromkeys(p.doc_id for p in found))}
    return (
        [p for p in found if order[p.doc_id] % 2 == 0],
        [p for p in found if order[p.doc_id] % 2],
    )


@dataclass(frozen=True, slots=True)
class Learning:
    """One attempt: its rows, and the folder where it stands until it is taken or refused."""

    learnt: Sequence[LabelledClaim]
    held_back: Sequence[LabelledClaim]
    folder: Path
    base: str
    threads: int = 0

    @property
    def exported(self) -> Path:
        """The new verifier, once it is there."""
        return self.folder / "verifier"


def begin(rows: Sequence[LabelledClaim], base: str, threads: int = 0) -> Learning:
    """What is learnt from these rows: the same rows and base find what was begun with them.

    What was begun with others is removed.

    Raises:
        InputError: there are too few.
    """
    learnt, held_back = split(rows, RECIPE.seed)
    if len(learnt) < LEAST_ROWS or len(held_back) < LEAST_HELD_BACK:
        raise InputError(
            f"There is too little feedback to learn from: {len(rows)} labelled rows, "
            f"{len(held_back)} of them held back to compare with; expected at least {LEAST_ROWS} "
            f"and {LEAST_HELD_BACK} more. Label more: pincite feedback RESULT.json --item ITEM "
            "--label LABEL; pincite feedback suggest RESULT.json says which."
        )
    folder = home() / f"run-{digest(rows, base)}"
    cleared(folder)
    return Learning(learnt, held_back, folder, base, threads)


def cleared(but: Path | None = None) -> None:
    """Remove the folders of runs, which are large, all but one."""
    for folder in home().glob("run-*"):
        if folder != but:
            shutil.rmtree(folder, ignore_errors=True)


def home() -> Path:
    """Where what was learnt is kept: in the user's data, since it cannot be fetched again."""
    return Path(platformdirs.user_data_dir("pincite")) / "learned"


def digest(rows: Sequence[LabelledClaim], base: str) -> str:
    """12 hex digits that name what rows and base would make."""
    how = [asdict(RECIPE), VISITS, STEP_ROWS, REMEMBERED, SHARE]
    told = [base, how, [(row.claim, row.evidence, row.label) for row in rows]]
    return hashlib.sha256(json.dumps(told).encode("utf-8", "replace")).hexdigest()[:12]


def learn(given: Learning, progress: loop.Progress) -> Path:
    """Train on the rows and export, or what of it is still to do; the folder of the verifier.

    Raises:
        ConfigError, InputError, MissingModel: as `run.train_verifier`.
    """
    if not (given.exported / "model.onnx").exists():
        run = Run(given.folder, given.folder, RECIPE, given.base, threads=given.threads)
        model = _trained(run, given.learnt, progress)
        shipped = Path(given.base) if Path(given.base).is_dir() else weights.locate(given.base)
        about = weights.read_card(shipped)
        export(
            model,
            given.exported,
            source=f"pincite learn, from {given.base}",
            licence=str(about.get("licence", "not stated")),
        )
        if (shipped / calibration.FILE).exists():
            rescale(given.exported, shipped)
    return given.exported


def rescale(learnt: Path, base: Path) -> None:
    """Give a network that learnt its base's calibration, with its log-odds on the base's scale.

    What is shown to be supported makes it surer of other claims too. So mean and spread of its
    log-odds are made those of the base, on claims without a label that neither was shown.
    """
    shown, _ = halves(shipped_passages())
    rows = made_rows(shown, RESCALED, RECIPE.seed + 1)
    pairs = [
        (Claim("", r.claim), Passage("", "", "", r.evidence, Span(0, len(r.evidence))))
        for r in rows
    ]
    old, new = (CrossEncoderVerifier(one).log_odds(pairs)[:, 0] for one in (base, learnt))
    slope = float(old.std() / new.std())
    shift = float(old.mean() - slope * new.mean())
    about = json.loads((base / calibration.FILE).read_text(encoding="utf-8"))
    first, *rules, last = about["support"]
    about["support"] = [first * slope, *rules, last + first * shift]
    about["name"] += " rescaled"
    (learnt / calibration.FILE).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def _trained(run: Run[Recipe], rows: Sequence[LabelledClaim], progress: loop.Progress) -> Path:
    device = begun(run)
    model, tokenizer = network.load(run.base)
    base, vocabulary = network.load(run.base)
    path = run.folder / prepare.GROUPS
    if not path.exists():
        wanted = SetRecipe(FEEDBACK, visits=VISITS)
        told = list(grouped.groups_of(rows, wanted, run.recipe, lambda row: ()))
        grouped.write_groups(
            path, [*told, *remembered(rows, round(REMEMBERED * len(told)), run.recipe.seed)]
        )
    groups = grouped.read_groups(path)
    network.freeze(model.to(device), run.recipe.frozen_layers, run.recipe.frozen_embeddings)
    network.set_dropout(model, run.recipe.dropout)
    pairs, taught = (
        network.Pairs(one, words_of, run.recipe.max_tokens, run.recipe.precision)
        for one, words_of in ((model, tokenizer), (base.eval().to(device), vocabulary))
    )
    work = loop.Work(groups, _batches(groups), Objective(run.recipe, pairs, taught), model)
    loop.descend(work, run.recipe, run.folder, progress, SAVE_EVERY)
    old = dict(base.named_parameters())
    for name, weight in model.named_parameters():
        weight.data.lerp_(old[name].data, 1 - SHARE)
    write_model(model, tokenizer, run.folder / MODEL, len(rows))
    return run.folder / MODEL


def _batches(groups: Sequence[grouped.Group]) -> list[list[int]]:
    """Steps that each see as many rows of feedback as remembered ones, or nearly."""
    told = [n for n, group in enumerate(groups) if group.set_name == FEEDBACK]
    rest = [n for n, group in enumerate(groups) if group.set_name != FEEDBACK]
    chance = random.Random(RECIPE.seed)  # noqa: S311 - an order, not a secret
    chance.shuffle(told)
    chance.shuffle(rest)
    n_steps = -(-len(told) // STEP_ROWS)
    return [told[n::n_steps] + rest[n::n_steps] for n in range(n_steps)]


def taken(given: Learning, told: Mapping[str, Any]) -> Path:
    """Keep the new verifier, with what is told of it in its card; its folder."""
    number = 1 + max((int(p.name.rpartition("-")[2]) for p in home().glob("learned-*")), default=0)
    card = given.exported / "pincite.json"
    about = json.loads(card.read_text(encoding="utf-8")) | {weights.LEARNED: dict(told)}
    card.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    folder = home() / f"learned-{number}"
    given.exported.replace(folder)
    return folder
