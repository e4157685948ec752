"""What a second opinion would buy, and what each of its verdicts should add.

    python research/scripts/simulate_judges.py wice_claim_dev.jsonl.gz scifact_dev.jsonl.gz
    python research/scripts/simulate_judges.py wice_claim_dev.jsonl.gz scifact_dev.jsonl.gz --fit

A simulated judge says "supported" or "not supported" of every row and is right for a stated share. It errs
evenly, mostly on supported rows (strict) or on the others (lenient), and its errors are independent of ours or
follow ours (a row on which we are wrong by 0.5 more is e^1.5 times as likely to be among them; closely: e^4 times).
Rows are weighted so that a third to two thirds of them are supported: dev sets, and citations as articles have them.

The table compares the accuracy of Pincite alone, the judge alone, and both: with the default for unmeasured models
(and, for comparison, with 0.8 and 1.0), and measured on 100 rows by `measure_verdicts`, on the other rows. Next to
each stands its distance from the better one alone: the mean over sets and shares, and the worst of them.
`--fit` prints the defaults that fall least behind the better one, by the root mean square. Any rule without labels that looks at one claim
at a time is two cuts on our own score, one for each verdict, so no other form has to be tried.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pincite import runtime
from pincite.evaluation import claims
from pincite.judgement import aggregation, decide
from pincite.judgement.fusion import CAUTIOUS, JudgedRow, measure_verdicts
from pincite.protocols import Verifier
from pincite.settings import Settings
from pincite.types import Verdict

# Published for language models: 0.70 to 0.77 on real citations, 0.79 to 0.84 on WiCE.
RIGHT = (0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
FOLLOWING = {"own errors": 0.0, "follows": 3.0, "closely": 8.0}
LEANING = {"even": 0.0, "strict": 2.0, "lenient": -2.0}  # log of how much likelier an error on a supported row is
SUPPORTED = (0.35, 0.5, 0.7)
DRAWS = 6
SAMPLES = 4  # of labelled rows for each draw of a judge
MEASURED = 100  # labelled rows
OURS, THEIRS = (0.0, 0.0), (np.inf, np.inf)  # what the verdicts add and take if one alone decides
BEFORE = (0.8, 1.0)  # default until November 2026
VALUES = np.arange(0, 3.01, 0.1)
CUT = decide.log_odds(aggregation.THRESHOLD)


class Judged(NamedTuple):
    """One simulated judge on one set."""

    kind: tuple[float, str, str]  # share right, leaning, following
    case: tuple[str, float]  # file, share of supported rows
    own: Any
    truth: Any
    says: Any
    weight: Any


def main() -> None:
    """Print what second opinions gain, or the best defaults."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+", help="labelled claims, as for pincite eval claims")
    parser.add_argument("--fit", action="store_true", help="search for the default")
    parser.add_argument("--rows", type=int, default=MEASURED, help="labelled rows of a measured judge")
    given = parser.parse_args()
    verifier = runtime.verifier(Settings().models)
    judges = [judge for path in given.files for judge in simulated(path, verifier)]
    (fit if given.fit else lambda found: compare(found, given.rows))(judges)


def simulated(path: Path, verifier: Verifier) -> Iterator[Judged]:
    """Yield every kind of judge on one set."""
    predicted = claims.predict(path, [claims.by_verifier(verifier)])
    scores = predicted.systems["pincite"].values
    has_words = np.isfinite(scores)
    own = scores[has_words]
    truth = np.array([row.label == "support" for row in predicted.rows])[has_words]
    wrong_by = np.abs(truth - 1 / (1 + np.exp(-own)))
    for right, leaning, following, share, seed in product(RIGHT, LEANING, FOLLOWING, SUPPORTED, range(DRAWS)):
        weight = np.where(truth, share / truth.mean(), (1 - share) / (1 - truth.mean()))
        chance = np.random.default_rng(seed)
        likely = np.exp(FOLLOWING[following] * wrong_by + LEANING[leaning] * truth)
        order = np.argsort(chance.exponential(size=len(own)) / likely)
        errs = np.zeros(len(own), bool)
        errs[order[np.cumsum(weight[order]) <= (1 - right) * weight.sum()]] = True
        kind, case = (right, leaning, following), (path.name, share)
        yield Judged(kind, case, own, truth, truth ^ errs, weight / weight.sum())


def accuracy(judge: Judged, added: float, taken: float) -> float:
    """Return the share of right labels where "supported" adds, and "not supported" takes."""
    both = judge.own + np.where(judge.says, added, -taken) >= CUT
    return float(((both == judge.truth) * judge.weight).sum())


def measured(judge: Judged, n_rows: int, chance: Any) -> tuple[float, float, float]:
    """Measure the judge on rows; return the accuracy of both, of ours and of the judge on the others."""
    drawn = chance.choice(len(judge.own), n_rows, replace=False, p=judge.weight)
    verdicts = (Verdict.NOT_SUPPORTED, Verdict.SUPPORTED)
    rows = [JudgedRow(float(judge.own[n]), verdicts[int(judge.says[n])], bool(judge.truth[n])) for n in drawn]
    found = measure_verdicts(rows)
    rest, share, truth = judge.weight.copy(), judge.case[1], judge.truth
    rest[drawn] = 0
    rest *= np.where(truth, share / rest[truth].sum(), (1 - share) / rest[~truth].sum())
    others = judge._replace(weight=rest)
    both = accuracy(others, found[Verdict.SUPPORTED], -found[Verdict.NOT_SUPPORTED])
    return both, accuracy(others, *OURS), accuracy(others, *THEIRS)


def compare(judges: list[Judged], n_rows: int) -> None:
    """Print the table."""
    default = CAUTIOUS[Verdict.SUPPORTED], -CAUTIOUS[Verdict.NOT_SUPPORTED]
    chance = np.random.default_rng(0)
    drawn: dict[Any, dict[Any, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    for judge in judges:
        plain = [accuracy(judge, *way) for way in (OURS, THEIRS, BEFORE, default)]
        for _ in range(SAMPLES):
            drawn[judge.kind][judge.case].append([*plain, *measured(judge, n_rows, chance)])
    print(f"right leaning  errors      |  ours judge |{'before':>9}  diff. worst |"
          f"{'default':>9}  diff. worst |{n_rows:>4} rows  diff. worst |")  # fmt: skip
    everything = []
    for (right, leaning, following), cases in drawn.items():
        found = np.array([np.mean(draws, 0) for draws in cases.values()])
        everything.append(found)
        print(f"{right:<5} {leaning:8} {following:11} |" + line(found))
    found = np.concatenate(everything)
    print(f"{'all':26} |" + line(found))
    for name, behind in zip(("before", "default", "measured"), differences(found), strict=True):
        shortfall = -np.minimum(behind, 0).mean()
        print(f"{name}: mean shortfall {shortfall:.4f}; {(behind < -0.01).mean():.0%} of cases more than 0.01 behind")


def differences(found: Any) -> list[Any]:
    """Return how far both are from the better one alone, in every case: before, default, measured."""
    better = found[:, :2].max(1)
    return [found[:, 2] - better, found[:, 3] - better, found[:, 4] - found[:, 5:].max(1)]


def line(found: Any) -> str:
    ours, judge, *both = found.mean(0)[:5]
    cells = zip(both, differences(found), strict=True)
    return f" {ours:.3f} {judge:.3f} |" + "".join(
        f"    {right:.3f} {behind.mean():+.3f} {behind.min():+.3f} |" for right, behind in cells
    )


def fit(judges: list[Judged]) -> None:
    """Print the defaults that fall least behind the better one, by the root mean square."""
    drawn: dict[Any, list[Any]] = defaultdict(list)
    for judge in judges:
        right = {}  # of the rows with one verdict, by what it adds
        for says, sign in ((True, 1), (False, -1)):
            both = judge.own + sign * VALUES[:, None] >= CUT
            right[says] = ((both == judge.truth) * judge.weight)[:, judge.says == says].sum(1)
        plain = np.full((2, len(VALUES)), [[accuracy(judge, *OURS)], [accuracy(judge, *THEIRS)]])
        drawn[judge.kind, judge.case].append(np.vstack([right[True][:, None] + right[False], plain]))
    found = np.array([np.mean(draws, 0) for draws in drawn.values()])
    behind = found[:, :-2] - found[:, -2:].max(1)[:, None]
    shortfall = np.sqrt((np.minimum(behind, 0) ** 2).mean(0))
    print("added taken: shortfall (root mean square); difference to the better one: mean, worst")
    for n in np.argsort(shortfall, axis=None)[:12]:
        added, taken = np.unravel_index(n, shortfall.shape)
        one = behind[:, added, taken]
        print(f"{VALUES[added]:5.1f} {VALUES[taken]:5.1f}: {shortfall[added, taken]:.4f}; {one.mean():+.4f} {one.min():+.4f}")


if __name__ == "__main__":
    main()
