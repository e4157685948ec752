"""Fit the verifier's calibration: make calibrate CLAIMS=FOLDER; options: calibrate.py --help

CLAIMS holds train/ and dev/ with claim files (*.jsonl.gz with id, evidence, claim, label).

1. What a figure or name that stands nowhere on the page, a negation or a contrary word costs is
   fitted on training collections, on rows that the network was not trained on where a collection
   has such. Evidence is cut into passages, and which of them speaks is latent: hard EM as in SIDE
   (Petroni et al. 2023, Methods) takes the one with the highest score.
2. The scale of the score (Platt 1999) is fitted on dev rows, each collection with the same weight,
   and its calibration error is measured on folds held back from the fit. From WiCE's rows comes
   the share of failing and of sound citations below each threshold.
3. How surely the network must read a contradiction (`calibration.contrary`, with the page's best
   support) to refute a claim that no rule has a witness against is chosen on half of the rows that
   its training held back (--held-back RECIPE, by whose seed and sets they are known), so that at
   least 85 of 100 such refutations are right, and its precision is measured on the other half. A
   bound that accuses more than one in a hundred true claims of a dev file is not taken.

With --translated NAME the network for other languages is calibrated, all three steps on the rows of
train/NAME that its training held back: half of them are fitted, the precision of step 3 is measured
on the others. A row is held back with the English original of its claim.

The collections pair claims with evidence on their very subject. `verify` also meets pages on
something else, and pages that say the same of another year or person; so each set's supported
rows are added again with the most similar evidence of another row and with any other evidence
(SIDE's wrong references), with a figure changed, with a name taken from another claim, negated, and
with a contrary word ("rose" for "fell").
"""

import argparse
import json
import random
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from pincite.documents.jsonl import LabelledClaim, read_labelled
from pincite.judgement.contradictions import contradiction
from pincite.models import calibration, weights
from pincite.models.verifier import CrossEncoderVerifier
from pincite.text import names, quantities
from pincite.text import words as wording
from pincite.types import Claim, Passage, Span
from pincite_lab.evaluation.claims import FAILS, cut, languages_of
from pincite_lab.evaluation.measures import Doubles, calibration_error
from pincite_lab.training import perturbations
from pincite_lab.training.groups import half_of, is_held_back, read_set
from pincite_lab.training.recipe import SetRecipe, recipe_in

# Evidence of some length that was looked up for its claim, as `verify` meets it. Left out: plain
# sentence inference, sets of single evidence sentences (climate_fever, healthver: their logits lie
# in another range), and citing statements whose figures stand elsewhere (citation_integrity).
SETS = (
    "attributionbench_dev covidfact fever_symmetric_dev foolmetwice_dev qags_cnndm rte_train "
    "scifact_train"
).split()
DEV = ("wice_claim_dev", "scifact_dev")  # real pages behind Wikipedia's sentences, and abstracts
FLAGGED = "wice_claim_dev"
BOUNDS = ("contrary", "denied", "across")  # kinds of pairs: calibration.kind_of
TRANSLATED_SEED = 17  # research/gpu/pack.py
ROWS_PER_SET = 250
ADDED_PER_SET = 50  # of each kind of made negative
SEED = 13
EM_ROUNDS = 3  # the chosen passages hardly change after the second
FOLDS = 5
PRECISION = 0.85  # of what the network refutes by itself
ACCUSED = 0.01  # share of a dev file's supported rows that it may call refuted
CONTRARY_FROM = [round(3 + 0.05 * i, 2) for i in range(80)]
LEAST_SAID = 10  # of the half that chooses: of fewer rows a precision says nothing
THRESHOLDS = [round(0.02 * i, 2) for i in range(1, 50)]
TURNED = ("negation", "contrary")  # the evidence says the opposite
KINDS = (*perturbations.KINDS, "contrary")  # what a rule can see
SUPPORT_COLUMNS = [0, 2, 3, 4, 6, 7]  # "figure_differs" speaks of refutation
Floats = npt.NDArray[np.float32]
Whole = npt.NDArray[np.int64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("claims", type=Path)
    parser.add_argument("--model", default=weights.VERIFIER)
    parser.add_argument("--judged", type=Path, help="keep logits here: a stopped run goes on")
    parser.add_argument("--held-back", type=Path, help="recipe: rows it holds back")
    parser.add_argument("--translated", help="set of rows in other languages, held back by --seed")
    parser.add_argument("--seed", type=int, default=TRANSLATED_SEED, help="of its training")
    parser.add_argument("--only-refuting", action="store_true", help="step 3 alone; the rest stays")
    parser.add_argument("--threads", type=int, default=0, help="0: all cores")
    args = parser.parse_args()
    folder = weights.locate(args.model)
    verifier = CrossEncoderVerifier(folder, judged=args.judged, threads=args.threads)
    with closing(verifier):
        write(folder, calibrated(args, verifier))


def calibrated(args: argparse.Namespace, verifier: CrossEncoderVerifier) -> dict[str, Any]:
    if args.translated:
        held = translated(args.claims / "train" / f"{args.translated}.jsonl.gz", args.seed)
        return of_translated(args.translated, held, verifier)
    dev = {name: list(read_labelled(args.claims / "dev" / f"{name}.jsonl.gz")) for name in DEV}
    seen = {name: all_features(rows, verifier) for name, rows in dev.items()}
    refutes = refuting(held_back(args.held_back, args.claims), dev, seen, verifier)
    if args.only_refuting:
        file = weights.locate(args.model) / calibration.FILE
        return dict(json.loads(file.read_text("utf-8")) | refutes)
    rows, of_set = [], []
    for name in SETS:
        # From the end of the order in which training takes them: unseen ones come first.
        read = read_set(args.claims / "train", SetRecipe(name), SEED, print)
        found = extended(read[-ROWS_PER_SET:])
        rows += found
        of_set += [name] * len(found)
    fitted = fit(*all_features(rows, verifier), rows, of_set)
    return fitted | scaled(fitted, dev, seen) | {"n_rows": len(rows)} | refutes


def translated(path: Path, seed: int) -> list[tuple[LabelledClaim, bool]]:
    """The rows that research/gpu/pack.py holds back, each with whether it is fitted."""
    rows = list(read_labelled(path))
    units = [row.row_id.rpartition(":")[0] for row in rows]
    english = {u: r.claim for u, r in zip(units, rows, strict=True) if languages_of(r)[0] == "en"}
    claims = [english.get(unit, row.claim) for unit, row in zip(units, rows, strict=True)]
    return [
        (row, half_of(claim, seed) == "fit")
        for row, claim in zip(rows, claims, strict=True)
        if is_held_back(claim, seed)
    ]


def of_translated(
    name: str, held: list[tuple[LabelledClaim, bool]], verifier: CrossEncoderVerifier
) -> dict[str, Any]:
    fit_on = [row for row, fits in held if fits]
    seen = {name: all_features(fit_on, verifier)}
    rows = extended(fit_on)
    fitted = fit(*all_features(rows, verifier), rows, [name] * len(rows))
    fitted |= scaled(fitted, {name: fit_on}, seen, name) | {"n_rows": len(rows)}
    about = {"rules_fitted_on": [name], "scale_fitted_on": [name]}
    return fitted | refuting(held, {name: fit_on}, seen, verifier) | about


def extended(rows: list[LabelledClaim]) -> list[LabelledClaim]:
    """The rows with made negatives after them: wrong evidence, changed figures, other names."""
    chance = random.Random(SEED)  # noqa: S311 - a sample, not a secret
    known = [name for row in rows for name in wording.names(row.claim)]
    similar = lookalikes(rows)
    made: dict[str, list[LabelledClaim]] = {"lookalike": [], "any": [], **{k: [] for k in KINDS}}
    for row in rows:
        if row.label != "support":
            continue
        made["lookalike"].append(replace(row, evidence=similar[row.row_id], label="nei"))
        foreign = languages_of(row)[1] is not None  # then others may have the same in translation
        other = chance.choice(others(row, rows) if foreign else rows).evidence
        made["any"].append(replace(row, evidence=other, label="nei"))
        for kind in KINDS if languages_of(row)[0] in (None, "en") else ():
            swap = perturbations.perturb(kind, row.claim, known, chance)
            if swap and absent(kind, swap.text, row.evidence):
                # Where the evidence has the true figure it says otherwise; else it may say nothing.
                stated = kind in ("number", "date") and not quantities.unstated_values(
                    row.claim, row.evidence
                )
                label = "refute" if stated or kind in TURNED else "not_support"
                made[kind].append(replace(row, claim=swap.text, label=label))
    return rows + [row for kind in made.values() for row in kind[:ADDED_PER_SET]]


def absent(kind: str, claim: str, evidence: str) -> bool:
    """Whether a changed claim says what the evidence does not."""
    if kind in TURNED:
        return True
    missing = names.missing if kind == "name" else quantities.unstated_values
    return bool(missing(claim, evidence))


def lookalikes(rows: list[LabelledClaim]) -> dict[str, str]:
    """For each row's id the evidence of another row that shares most words with its claim."""
    words = {row.evidence: set(wording.content_words(row.evidence)) for row in rows}
    found = {}
    for row in rows:
        claimed = set(wording.content_words(row.claim))
        evidence = dict.fromkeys(other.evidence for other in others(row, rows))
        found[row.row_id] = max(evidence, key=lambda other: len(claimed & words[other]))
    return found


def others(row: LabelledClaim, rows: list[LabelledClaim]) -> list[LabelledClaim]:
    """The rows with evidence of another text, in the same language if there are such."""
    apart = [other for other in rows if text_of(other) != text_of(row)]
    return [o for o in apart if languages_of(o)[1] == languages_of(row)[1]] or apart


def text_of(row: LabelledClaim) -> str:
    """What its evidence is known by: of a translated row the number of the original, in its id."""
    return row.evidence if languages_of(row)[1] is None else row.row_id.split(":")[1]


def all_features(rows: list[LabelledClaim], verifier: CrossEncoderVerifier) -> tuple[Floats, Whole]:
    """(n_pairs, n_features) for every passage of every row, and the row that each belongs to."""
    pairs, owner = all_pairs(rows)
    print(f"{len(rows)} rows, {len(pairs)} pairs", flush=True)
    seen = [contradiction(claim, passage) for claim, passage in pairs]
    return calibration.features(pairs, verifier.log_odds(pairs), seen), owner


def all_pairs(rows: list[LabelledClaim]) -> tuple[list[tuple[Claim, Passage]], Whole]:
    """Every row's claim with each passage that `verify` would read, and whose row it is."""
    found = [cut(row) for row in rows]
    pairs = [(each.claim, passage) for each in found for passage in each.passages]
    return pairs, np.repeat(np.arange(len(rows)), [len(each.passages) for each in found])


def speaking(scores: Floats, owner: Whole, n_rows: int) -> Whole:
    """For each row the pair with the highest score (the E step)."""
    best = np.zeros(n_rows, dtype=np.int64)
    order = np.argsort(scores, kind="stable")
    best[owner[order]] = order  # later assignments win: the highest score comes last
    return best


def fit(x: Floats, owner: Whole, rows: list[LabelledClaim], of_set: list[str]) -> dict[str, Any]:
    """Slopes within the sets: each set has an intercept of its own, and their mean is kept."""
    labels = [row.label for row in rows]
    names_of_sets = list(dict.fromkeys(of_set))
    sets = np.array([[mine == name for name in names_of_sets] for mine in of_set], np.float32)
    supported = np.array([label == "support" for label in labels])
    told = np.isin(labels, ["refute", "nei"])  # the others do not tell refuted from neutral
    refuted = np.array([label == "refute" for label in labels])
    scores = x[:, 0]
    for _ in range(EM_ROUNDS):
        chosen = x[speaking(scores, owner, len(rows))]
        support = weights_of(chosen, SUPPORT_COLUMNS, sets, supported)
        scores = x @ np.array(support[:-1], dtype=np.float32)
    every = list(range(len(calibration.FEATURES)))
    refute = weights_of(chosen[told], every, sets[told], refuted[told])
    return {"support": support, "refute": refute}


def held_back(path: Path | None, claims: Path) -> list[tuple[LabelledClaim, bool]]:
    """The rows that a recipe holds back, each with whether the bound may be chosen on it."""
    if path is None:
        return []
    recipe = recipe_in(path)
    return [
        (row, half_of(row.claim, recipe.seed) == "fit")
        for each in recipe.sets
        if each.held_back
        for row in read_labelled(claims / "train" / f"{each.name}.jsonl.gz")
        if is_held_back(row.claim, recipe.seed)
    ]


def refuting(
    rows: list[tuple[LabelledClaim, bool]],
    dev: dict[str, list[LabelledClaim]],
    seen: dict[str, tuple[Floats, Whole]],
    verifier: CrossEncoderVerifier,
) -> dict[str, Any]:
    """From where on the network refutes by itself, and how often it is then right."""
    if not rows:
        return {f"{kind}_from": calibration.NEVER for kind in BOUNDS}
    known = [row for row, _ in rows]
    best = surest(known, *all_features(known, verifier), verifier)
    refuted = np.array([row.label == "refute" for row in known])
    kinds = np.array([kind_of(row) for row in known])
    first = np.array([fits for _, fits in rows])
    true = []  # per dev file, of supported rows: how surely contradicted, and of which kind
    for name, each in dev.items():
        kept = np.array([row.label == "support" for row in each])
        of_kind = np.array([kind_of(row) for row in each])
        true.append((surest(each, *seen[name], verifier)[kept], of_kind[kept]))
    chosen: dict[str, Any] = {}
    for kind in BOUNDS:
        mine = first & (kinds == kind)
        right = [
            bound
            for bound in CONTRARY_FROM
            if (mine & (best >= bound)).sum() >= LEAST_SAID
            and refuted[mine & (best >= bound)].mean() >= PRECISION
            and all(((p >= bound) & (k == kind)).mean() <= ACCUSED for p, k in true)
        ]
        chosen[f"{kind}_from"] = min(right, default=calibration.NEVER)
    bounds = np.array([chosen[f"{kind}_from"] for kind in kinds])
    said = ~first & (best >= bounds)
    measured = {"n": int(said.sum()), "right": int(refuted[said].sum())}
    return chosen | {"contrary_measured": measured | {"of": int(refuted[~first].sum())}}


def kind_of(row: LabelledClaim) -> str:
    whole = Passage("", "", "", row.evidence, Span(0, len(row.evidence)))
    return calibration.kind_of(cut(row).claim, whole)


def surest(
    rows: list[LabelledClaim], x: Floats, owner: Whole, verifier: CrossEncoderVerifier
) -> Doubles:
    """For each row how surely a passage contradicts it, read closely where that may matter."""
    pairs, _ = all_pairs(rows)
    lowest = np.full(len(pairs), CONTRARY_FROM[0], dtype=np.float32)
    closer, _ = verifier.contrary(pairs, x[:, :2], lowest)
    return surest_refutation(x, closer, owner, len(rows))


def surest_refutation(x: Floats, closer: Floats, owner: Whole, n_rows: int) -> Doubles:
    """For each row the highest of its passages, beside the best support of its page.

    `closer`: (n_pairs,) how surely each contradicts by itself.
    """
    supported, best = np.full(n_rows, -np.inf), np.full(n_rows, -np.inf)
    np.maximum.at(supported, owner, x[:, 0])
    beside = calibration.contrary(x[:, :2], supported[owner])
    np.maximum.at(best, owner, np.minimum(beside, closer))
    return best


def weights_of(x: Floats, columns: list[int], sets: Floats, y: npt.NDArray[Any]) -> list[float]:
    """The weights of FEATURES, 0 for all but some columns of x; the intercept last."""
    model = LogisticRegression(class_weight="balanced", max_iter=2000, fit_intercept=False)
    found = model.fit(np.hstack([x[:, columns], sets]), y).coef_[0]
    slopes = np.zeros(len(calibration.FEATURES))
    slopes[columns] = found[: len(columns)]
    return [round(float(w), 4) for w in (*slopes, found[len(columns) :].mean())]


def scaled(
    fitted: dict[str, Any],
    dev: dict[str, list[LabelledClaim]],
    seen: dict[str, tuple[Floats, Whole]],
    flagged: str = FLAGGED,
) -> dict[str, Any]:
    """The same models with the score on the scale of log-odds, and what dev rows say of it."""
    scores, supported, counts = [], [], []
    for name, rows in dev.items():
        x, owner = seen[name]
        every = x @ np.array(fitted["support"][:-1], dtype=np.float32) + fitted["support"][-1]
        scores.append(every[speaking(every, owner, len(rows))])
        supported.append(np.array([row.label == "support" for row in rows]))
        counts += [1 / len(rows)] * len(rows)
    s, y, w = np.concatenate(scores), np.concatenate(supported), np.array(counts)
    of_set = np.repeat(np.arange(len(dev)), [len(rows) for rows in dev.values()])
    held_back = np.zeros(len(s))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    for learnt, held in folds.split(s, 2 * of_set + y):
        slope, shift = platt(s[learnt], y[learnt], w[learnt])
        held_back[held] = expit((slope * s[held] + shift).astype(np.float64))
    slope, shift = platt(s, y, w)
    first = list(dev).index(flagged)
    p = expit((slope * s[of_set == first] + shift).astype(np.float64))
    return {
        "support": [
            round(slope * weight, 4) for weight in fitted["support"][:-1]
        ] + [round(slope * fitted["support"][-1] + shift, 4)],
        "ece_held_back": {"all": calibration_error(y, held_back)} | {
            name: calibration_error(y[of_set == i], held_back[of_set == i])
            for i, name in enumerate(dev)
        },
        "flags": flags(p, [row.label for row in dev[flagged]]),
    }  # fmt: skip


def flags(p: Doubles, labels: list[str]) -> list[list[float]]:
    """(threshold, share of failing rows below it, of sound ones); partial rows are neither.

    Half a row is added to both sides (Jeffreys' prior): none among a hundred sound rows does not
    promise that a flag is always right.
    """
    sides = [p[np.isin(labels, FAILS)], p[np.array(labels) == "support"]]
    return [
        [t, *(round(float(((side < t).sum() + 0.5) / (len(side) + 1)), 4) for side in sides)]
        for t in THRESHOLDS
    ]


def platt(s: Floats, y: npt.NDArray[np.bool_], w: Doubles) -> tuple[float, float]:
    """Slope and intercept of log-odds over the score, by maximum likelihood."""
    model = LogisticRegression(C=1e6).fit(s[:, None], y, sample_weight=w * len(w))
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def write(folder: Path, fitted: dict[str, Any]) -> None:
    digest = blake2b(json.dumps(fitted).encode(), digest_size=3).hexdigest()
    fitted = {"rules_fitted_on": SETS, "scale_fitted_on": DEV} | fitted
    fitted |= {  # two of a day must differ in name: cached verdicts are known by it
        "name": f"dev-{datetime.now(UTC):%Y-%m-%d}-{digest}",
        "features": [*calibration.FEATURES, "intercept"],
        "command": "make calibrate CLAIMS=folder",
    }
    text = json.dumps(fitted, indent=1)
    (folder / calibration.FILE).write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
