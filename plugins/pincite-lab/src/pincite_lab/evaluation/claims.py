"""Evaluate systems on labelled claims with evidence: how well do they find the supported ones?

Every system, verifier or baseline, sees a claim with the passages of its evidence, split like a
source cited to `verify`, and returns the score of the best passage: −∞ for evidence without words,
NaN if it cannot score the row.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from pincite.corpus.protocol import idf
from pincite.documents.jsonl import LABELS, LabelledClaim, read_labelled
from pincite.durable import silent
from pincite.errors import InputError, MissingModel
from pincite.judgement import decide
from pincite.models import weights
from pincite.models.session import Session
from pincite.models.verifier import MAX_TOKENS
from pincite.protocols import Encoder, Verifier
from pincite.retrieval import cascade
from pincite.text import words as wording
from pincite.text.passages import cited_passages, passages
from pincite.types import Claim, Document, Evidence, Label, Passage
from pincite_lab.evaluation import measures
from pincite_lab.evaluation.measures import Doubles, Flags

BATCH_ROWS = 32
FIRST = 3  # SIDE's document-level scorer sees only the first two or three passages
K1, B = 0.9, 0.4  # BM25: Anserini's defaults, also used by the field's passage baselines
THREE_WAY = {Label.SUPPORTED: "support", Label.REFUTED: "refute", Label.NOT_SUPPORTED: "nei"}
_LANGUAGES = ("lang_claim", "lang_passage")
FAILS = ("not_support", "refute", "nei")  # labels of a citation that fails verification

Progress = Callable[[str, int, int], None]  # system, rows done, rows in all
Tell = Callable[[int], None]  # rows done
Logits = Callable[[Sequence[tuple[str, str]]], Sequence[float]]  # of (claim, passage) pairs


@dataclass(frozen=True, slots=True)
class CutRow:
    """A row with its evidence split like a source cited to `verify`."""

    row: LabelledClaim
    passages: tuple[Passage, ...]

    @property
    def claim(self) -> Claim:
        code = languages_of(self.row)[0]
        return Claim("", self.row.claim, language="" if code in (None, "en") else code)


@dataclass(frozen=True, slots=True)
class Scores:
    """One score per row, and from a verifier also the evidence and its speed."""

    values: Doubles  # (n_rows,): higher is better supported; −∞, NaN: see above
    evidence: tuple[Evidence | None, ...] | None = None  # None inside: evidence without words
    denying: tuple[Evidence | None, ...] | None = None  # the passage that contradicts most
    n_pairs: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Scorer:
    """A row of the table of systems; `score` returns a value for each row, in order."""

    name: str
    score: Callable[[Sequence[CutRow], Tell], Scores]


@dataclass(frozen=True, slots=True)
class Predictions:
    """Each system's scores for the rows of a file."""

    file: str
    rows: tuple[LabelledClaim, ...]
    systems: Mapping[str, Scores]


def languages_of(row: LabelledClaim) -> tuple[str | None, str | None]:
    """Return the languages of claim and evidence that its `meta` states; None: unknown."""
    claim, evidence = (row.meta.get(key, row.meta.get("lang")) for key in _LANGUAGES)
    return claim, evidence


def cut(row: LabelledClaim) -> CutRow:
    pieces = cited_passages(Document(row.row_id, "", row.evidence, language=languages_of(row)[1]))
    return CutRow(row, tuple(cascade.worth_reading(row.claim, pieces)))


def read_rows(path: Path) -> list[CutRow]:
    """Read the rows of a file with their passages.

    Raises:
        InputError: There are no rows, or one is invalid; the message names file, line and error.
    """
    if rows := [cut(row) for row in read_labelled(path)]:
        return rows
    raise InputError(f"{path} has no rows; expected JSON lines with id, evidence, claim, label.")


def predict(path: Path, scorers: Sequence[Scorer], progress: Progress = silent) -> Predictions:
    return predict_rows(path.name, read_rows(path), scorers, progress)


def predict_rows(
    name: str, rows: Sequence[CutRow], scorers: Sequence[Scorer], progress: Progress = silent
) -> Predictions:
    def tell(system: str, n_done: int) -> None:
        progress(system, n_done, len(rows))

    systems = {one.name: one.score(rows, partial(tell, one.name)) for one in scorers}
    return Predictions(name, tuple(row.row for row in rows), systems)


# Systems


def by_verifier(verifier: Verifier, name: str = "pincite") -> Scorer:
    """Score by the verifier's log-odds of support of the best passage (SIDE §2.2: the maximum)."""
    return Scorer(name, partial(verifier_scores, verifier))


def by_first_passages(verifier: Verifier) -> Scorer:
    """Score only the first passages, like SIDE's document-level baseline.

    Source: Petroni et al. 2023, the document-level scorer beside their passage-level one. Ours
    reads each of the first three 100-word passages separately with Pincite's verifier.
    """
    return Scorer(f"first {FIRST} passages", partial(verifier_scores, verifier, n_first=FIRST))


def by_url_depth() -> Scorer:
    """Score by the number of path elements of `meta.url`, or of the deepest of `meta.urls`.

    Source: SIDE (Petroni et al. 2023) uses this as a baseline that reads nothing: deep pages are
    more often specific.
    """
    return Scorer("URL depth", _depths)


def baselines(verifier: Verifier, encoder: Encoder, threads: int = 0) -> list[Scorer]:
    """Return all baselines, cheapest first; the last only if its model is on this machine.

    BM25 of the claim against its row's passages, idf over all of the file's (Robertson & Zaragoza
    2009). The encoder's cosine (dense retrieval with one vector per passage, Karpukhin et al.
    2020). The raw logit of sentence-transformers' ms-marco-MiniLM-L-12-v2, trained for relevance.
    """
    scorers = [by_url_depth(), Scorer("BM25", bm25), by_first_passages(verifier)]
    scorers.append(Scorer("encoder cosine", partial(cosines, encoder)))
    with suppress(MissingModel):
        logits = cross_encoder(threads)
        scorers.append(Scorer("ms-marco cross-encoder", partial(relevance, logits)))
    return scorers


def verifier_scores(
    verifier: Verifier, rows: Sequence[CutRow], tell: Tell, *, n_first: int = 0
) -> Scores:
    """Compute a verifier's log-odds of support; with `n_first`, only over the first passages."""
    best: list[Evidence | None] = []
    denying: list[Evidence | None] = []
    n_pairs, started = 0, time.perf_counter()
    for batch in _batches(rows, tell):
        shown = [
            (row.claim, _first_passages(row.row, n_first) if n_first else row.passages)
            for row in batch
        ]
        evidence = all_evidence(verifier, shown)
        best += map(decide.best, evidence)
        denying += map(decide.strongest_refutation, evidence)
        n_pairs += sum(map(len, evidence))
    values = np.array([-np.inf if one is None else one.score for one in best])
    return Scores(values, tuple(best), tuple(denying), n_pairs, time.perf_counter() - started)


def _first_passages(row: LabelledClaim, n: int) -> Sequence[Passage]:
    return passages(Document(row.row_id, "", row.evidence))[:n]


def all_evidence(
    verifier: Verifier, claims: Sequence[tuple[Claim, Sequence[Passage]]]
) -> list[list[Evidence]]:
    pairs = [(claim, passage) for claim, of_claim in claims for passage in of_claim]
    evidence = iter(verifier.verify(pairs))
    return [[next(evidence) for _ in of_claim] for _, of_claim in claims]


def _batches(rows: Sequence[CutRow], tell: Tell) -> Iterator[Sequence[CutRow]]:
    for start in range(0, len(rows), BATCH_ROWS):
        batch = rows[start : start + BATCH_ROWS]
        yield batch
        tell(start + len(batch))


def _depths(rows: Sequence[CutRow], tell: Tell) -> Scores:
    values = []
    for row in rows:
        meta = row.row.meta
        urls = [meta.get("url"), *(meta["urls"] if isinstance(meta.get("urls"), list) else [])]
        depths = [url_depth(url) for url in urls if isinstance(url, str) and url]
        values.append(max(depths, default=math.nan))
    tell(len(rows))
    return Scores(np.array(values, dtype=np.float64))


def url_depth(url: str) -> float:
    """Count the path elements.

    >>> url_depth("https://news.example/2011/05/bridge?page=2"), url_depth("https://news.example/")
    (3.0, 0.0)
    """
    try:
        return float(sum(bool(element) for element in urlsplit(url).path.split("/")))
    except ValueError:  # a bracket that does not start an IPv6 address
        return math.nan


def bm25(rows: Sequence[CutRow], tell: Tell) -> Scores:
    """Σ over words: idf·tf·(k1 + 1) / (tf + k1·(1 − b + b·length/mean)).

    idf = ln(1 + (N − n + ½) / (n + ½)) as in Lucene. Words are those of `text.words`: no function
    words, truncated to six letters.
    """
    counts = [[Counter(wording.content_words(p.text)) for p in row.passages] for row in rows]
    every = [one for of_row in counts for one in of_row]
    mean = sum(one.total() for one in every) / max(1, len(every))
    having = Counter(word for one in every for word in one)

    def score(query: Mapping[str, int], passage: Counter[str]) -> float:
        norm = K1 * (1 - B + B * passage.total() / mean) if mean else K1
        in_passage = {word: passage[word] * (K1 + 1) / (passage[word] + norm) for word in query}
        return sum(n * idf(len(every), having[w]) * in_passage[w] for w, n in query.items())

    values = []
    for row, of_row in zip(rows, counts, strict=True):
        query = Counter(wording.content_words(row.row.claim))
        values.append(max((score(query, one) for one in of_row), default=-math.inf))
    tell(len(rows))
    return Scores(np.array(values, dtype=np.float64))


def cosines(encoder: Encoder, rows: Sequence[CutRow], tell: Tell) -> Scores:
    values: list[float] = []
    for batch in _batches(rows, tell):
        texts = list(dict.fromkeys(p.text for row in batch for p in row.passages))
        vectors = dict(zip(texts, encoder.encode(texts, "passage"), strict=True))
        claims = encoder.encode([row.row.claim for row in batch], "query")
        values += [
            max((float(claim @ vectors[p.text]) for p in row.passages), default=-math.inf)
            for row, claim in zip(batch, claims, strict=True)
        ]
    return Scores(np.array(values, dtype=np.float64))


def relevance(logits: Logits, rows: Sequence[CutRow], tell: Tell) -> Scores:
    values: list[float] = []
    for batch in _batches(rows, tell):
        scores = iter(logits([(row.row.claim, p.text) for row in batch for p in row.passages]))
        values += [max((next(scores) for _ in row.passages), default=-math.inf) for row in batch]
    return Scores(np.array(values, dtype=np.float64))


def cross_encoder(threads: int = 0) -> Logits:
    """Load the ms-marco cross-encoder and return a function that computes its logits.

    Raises:
        MissingModel: It is not on this machine.
    """
    folder = weights.locate(weights.RERANKER)
    max_tokens = weights.read_card(folder).get("max_tokens", MAX_TOKENS)
    session = Session(folder, max_tokens=max_tokens, threads=threads)
    return lambda pairs: [float(logit) for logit in session.logits(pairs)[:, 0]]


# Measures


def measure(predictions: Predictions, threshold: float) -> dict[str, Any]:
    """Return the measures of every system as JSON values; None where one is undefined."""
    labels = [row.label for row in predictions.rows]
    pairs = [languages_of(row) for row in predictions.rows]
    systems = []
    for name, scores in predictions.systems.items():
        systems.append({"system": name, **_measure(labels, scores, threshold)})
        if any(map(all, pairs)):
            systems[-1]["languages"] = by_languages(pairs, labels, scores, threshold)
    counts = {label: labels.count(label) for label in LABELS}
    about = {"file": predictions.file, "n": len(labels), "labels": counts, "threshold": threshold}
    return about | {"systems": systems}


def _measure(labels: Sequence[str], scores: Scores, threshold: float) -> dict[str, Any]:
    known = ~np.isnan(scores.values)
    of_known = np.array(labels)[known]
    supported, values = of_known == "support", finite(scores.values[known])
    probabilities = decided = None
    if scores.evidence is not None:  # evidence without words has no probability of support
        prob_supported = [best.prob_supported if best else 0.0 for best in scores.evidence]
        probabilities = np.array(prob_supported)
        decided = probabilities[known] >= threshold
    whole = of_known != "partial"
    result = {
        "n": int(known.sum()),
        **measures.binary_measures(supported, values, decided),
        "auroc_interval": measures.auroc_interval(supported, values),
        "auroc_without_partial": measures.binary_measures(supported[whole], values[whole])["auroc"],
        **_three_way(labels, scores, threshold),
        "ece": None,
        "reliability": None,
    }
    is_supported = np.array(labels) == "support"
    if probabilities is not None and is_supported.any() and not is_supported.all():
        result["ece"] = measures.calibration_error(is_supported, probabilities)
        result["reliability"] = measures.reliability(is_supported, probabilities)
    if scores.n_pairs:
        per_second = round(scores.n_pairs / scores.seconds, 1) if scores.seconds else None
        result |= {"pairs": scores.n_pairs, "pairs_per_second": per_second}
    return result


def by_languages(
    pairs: Sequence[tuple[str | None, str | None]],
    labels: Sequence[str],
    scores: Scores,
    threshold: float,
) -> dict[str, dict[str, Any]]:
    """Return the measures by the languages of claim and passage ("de-en"), and means of them.

    `auroc` of support, and `accused`: the share of supported rows called refuted, None for a system
    that refutes none. Each language has the same weight in the means.
    """
    known = ~np.isnan(scores.values)
    values, supported = finite(scores.values), np.array(labels) == "support"
    refuted = None
    if scores.evidence is not None and scores.denying is not None:
        evidence = zip(scores.evidence, scores.denying, strict=True)
        refuted = np.array([_label(pair, threshold) is Label.REFUTED for pair in evidence])
    measured: dict[str, dict[str, Any]] = {}
    kinds: dict[str, list[str]] = {"same language": [], "English claim": [], "English passage": []}
    for claim, passage in sorted({(c, p) for c, p in pairs if c and p}):
        of_pair = known & np.array([pair == (claim, passage) for pair in pairs])
        accused = None if refuted is None else refuted[of_pair & supported]
        name = f"{claim}-{passage}"
        measured[name] = {
            "n": int(of_pair.sum()),
            "auroc": measures.binary_measures(supported[of_pair], values[of_pair])["auroc"],
            "accused": None if accused is None or not len(accused) else float(accused.mean()),
        }
        kind = "English claim" if claim == "en" else "English passage"
        if "en" in (claim, passage) or claim == passage:
            kinds["same language" if claim == passage else kind].append(name)
    means = {kind: _mean([measured[n] for n in names]) for kind, names in kinds.items() if names}
    return means | measured


def _mean(several: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    means: dict[str, Any] = {"n": sum(one["n"] for one in several)}
    for key in ("auroc", "accused"):
        values = [one[key] for one in several if one[key] is not None]
        means[key] = round(float(np.mean(values)), 4) if values else None
    return means


def _three_way(labels: Sequence[str], scores: Scores, threshold: float) -> dict[str, Any]:
    """Return F1 by class if all labels are among the three and a verifier is scored, else None."""
    of_three = set(labels) <= set(THREE_WAY.values()) and len(set(labels)) > 1
    if scores.evidence is None or scores.denying is None or not of_three:
        return dict.fromkeys(("macro_f1", "weighted_f1", "accuracy", "f1"))
    predicted = []
    for pair in zip(scores.evidence, scores.denying, strict=True):
        evidence = [one for one in pair if one]
        if "nei" in labels:  # the sets have no "partly"
            predicted.append(THREE_WAY.get(_label(pair, threshold), "nei"))
        else:  # only supported and refuted rows (NLI4CT): the likelier one
            supported = max((one.prob_supported for one in evidence), default=0.0)
            refuted = max((one.prob_refuted for one in evidence), default=0.0)
            predicted.append("support" if supported >= refuted else "refute")
    return measures.class_measures(labels, predicted)


def _label(evidence: Sequence[Evidence | None], threshold: float) -> Label:
    """Decide like `verify`."""
    deciding = decide.deciding_evidence([one for one in evidence if one], threshold)
    return decide.label_of(deciding, threshold) if deciding else Label.NOT_SUPPORTED


def side_by_side(
    predictions: Predictions, names: Container[str], threshold: float
) -> list[dict[str, Any]]:
    """Compare each two of the verifiers `names` on the same rows, and say which to trust.

    A verifier says "supported" from `threshold`; partly supported rows are excluded. `kappa` is
    Cohen's (1960), None where both always say the same. `both`, `first_only` and `second_only`
    count the rows called supported by both or by one (n), those that are (right), and the
    precision with its 95 % Wilson interval.
    """
    from sklearn.metrics import cohen_kappa_score

    rows = np.array([row.label != "partial" for row in predictions.rows])
    truth = np.array([row.label == "support" for row in predictions.rows])[rows]
    says = {
        name: np.array([e is not None and e.prob_supported >= threshold for e in x.evidence])[rows]
        for name, x in predictions.systems.items()
        if name in names and x.evidence is not None
    }

    def precision(called: Flags) -> dict[str, Any]:
        n, right = int(called.sum()), int((called & truth).sum())
        share = round(right / n, 4) if n else None
        return {"n": n, "right": right, "precision": share, "interval": measures.wilson(right, n)}

    pairs = []
    for (first, a), (second, b) in combinations(says.items(), 2):
        kappa = float(cohen_kappa_score(a, b)) if len(truth) else math.nan
        agreed = round(float((a == b).mean()), 4) if len(truth) else None
        pair: dict[str, Any] = {"first": first, "second": second, "n": len(truth)}
        pair |= {"agreement": agreed, "kappa": None if math.isnan(kappa) else round(kappa, 4)}
        called = {"both": a & b, "first_only": a & ~b, "second_only": b & ~a}
        pairs.append(pair | {name: precision(flags) for name, flags in called.items()})
    return pairs


def finite(values: Doubles) -> Doubles:
    """Replace −∞ with a number below all others: it sorts the same and allows arithmetic."""
    numbers = values[np.isfinite(values)]
    return np.where(np.isneginf(values), numbers.min() - 1 if len(numbers) else 0.0, values)


# Two verifiers on the same rows: what the second fixes and what it breaks. A row is right if it is
# called supported (at `verify`'s threshold) if and only if its label says so. Partly supported
# rows are excluded: neither answer would be wrong.

# On rows that the second did not learn from. A loss counts if it is shown: the 95 % interval over
# the documents lies on one side of 0, as for a gain.
MOST_LOST = 0.005  # of AUROC
MOST_BROKEN = 0.02  # of the share that are right


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the current and the new verifier classify rows."""

    n: int
    wrong_before: int
    wrong_after: int
    fixed: int
    broken: int
    n_documents: int
    gain: float  # in the share of rows that are right
    interval: list[float]  # of the gain: 95 %, bootstrap over the documents
    shown: bool  # the interval lies above 0
    auroc_interval: list[float]  # of the gain in AUROC; [0, 0] if all rows have the same label
    auroc_before: float | None  # None: all rows have the same label
    auroc_after: float | None
    examples: tuple[tuple[str, str], ...] = ()  # ("fixed" or "broken", the claim)


def compare(
    rows: Sequence[LabelledClaim],
    before: Verifier,
    after: Verifier,
    threshold: float,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Comparison:
    rows = [row for row in rows if row.label != "partial"]
    shown, n = [cut(row) for row in rows], len(rows)
    old = verifier_scores(before, shown, lambda done: progress(done, 2 * n))
    new = verifier_scores(after, shown, lambda done: progress(n + done, 2 * n))
    truth = np.array([row.label == "support" for row in rows], dtype=bool)
    was, now = (
        (np.array([e.prob_supported if e else 0.0 for e in x.evidence or ()]) >= threshold) == truth
        for x in (old, new)
    )
    names, place = np.unique([row.document for row in rows], return_inverse=True)
    better = now * 1.0 - was
    drawn = measures.resamples(len(names)) if n else np.ones((1, 0))
    won, of = (drawn @ np.bincount(place, values, len(names)) for values in (better, np.ones(n)))
    interval = (measures.percentiles(won / of) if n else None) or [0.0, 0.0]
    # The first row of weights is the rows as they are.
    weights = np.vstack([np.ones((1, n)), drawn[:, place] if n else np.ones((1, 0))])
    ranked = [measures.aurocs(truth, finite(x.values), weights) if n else np.array([np.nan])
              for x in (old, new)]  # fmt: skip
    auroc_before, auroc_after = (None if np.isnan(x[0]) else round(float(x[0]), 4) for x in ranked)
    counts = {"wrong_before": ~was, "wrong_after": ~now, "fixed": now & ~was, "broken": was & ~now}
    named = {(False, True): "fixed", (True, False): "broken"}
    changes = zip(rows, zip(was.tolist(), now.tolist(), strict=True), strict=True)
    return Comparison(
        n=n,
        **{name: int(counted.sum()) for name, counted in counts.items()},
        n_documents=len(names),
        gain=round(float(better.sum()) / max(1, n), 4),
        interval=interval,
        shown=interval[0] > 0,
        auroc_interval=measures.percentiles((ranked[1] - ranked[0])[1:]) or [0.0, 0.0],
        auroc_before=auroc_before,
        auroc_after=auroc_after,
        examples=tuple((named[x], row.claim) for row, x in changes if x in named),
    )


def objection(feedback: Comparison, guard: Comparison) -> str:
    """Explain why the new verifier is not better; "" if it is."""
    if not feedback.shown:
        return f"no gain is shown on {feedback.n} held-back rows of feedback"
    before, after = guard.auroc_before or 0.0, guard.auroc_after or 0.0
    if before - after > MOST_LOST and guard.auroc_interval[1] < 0:
        return (
            f"its AUROC on {guard.n} rows that it did not learn from falls from {before:.3f} to "
            f"{after:.3f}, by more than {MOST_LOST}"
        )
    if guard.gain < -MOST_BROKEN and guard.interval[1] < 0:
        return (
            f"on {guard.n} rows that it did not learn from it makes {guard.broken} new mistakes "
            f"and fixes {guard.fixed}"
        )
    return ""
