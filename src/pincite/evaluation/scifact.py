"""SciFact (Wadden et al. 2020): what does a given abstract say about a claim?

A folder holds `corpus`, `claims_train` and `claims_dev` (`.jsonl`, plain or .gz) in SciFact's
schema. Two protocols define the rows:

* `official-dev`: each claim of the dev split with each abstract that it cites; an abstract without
  rationales is NO_EVIDENCE. Nothing in the dev split was trained on.
* `verifai`: Verif.ai's (Košprdić et al. 2024, arXiv 2402.18589, §III-C and its code). Claims with
  rationales: the abstracts that have them; other claims: each cited abstract. Duplicates are
  removed; train and dev are pooled, with 10 % of each class as test part. Which rows those were is
  not published, and Pincite's verifier was trained on the train claims among them, so only the rows
  of dev are a result. They are few, so all rows of dev, cleaned in the same way, are measured too.

The abstract is given, so neither compares with SciFact's leaderboard, where it has to be found.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from pincite.documents import jsonl
from pincite.documents.body import DEFAULT_LIMITS
from pincite.errors import ConfigError, InputError
from pincite.evaluation import measures
from pincite.judgement.references import Support, support_of
from pincite.types import Document, Evidence, Unchecked
from pincite.verbs.ask.answer_check import AnswerChecker

NO_EVIDENCE, SUPPORT, CONTRADICT = "NO_EVIDENCE", "SUPPORT", "CONTRADICT"
LABELS = (NO_EVIDENCE, SUPPORT, CONTRADICT)  # in the order of Verif.ai's Table I
_LABELS = {Support.SUPPORTS: SUPPORT, Support.CONTRADICTS: CONTRADICT}  # else NO_EVIDENCE
PROTOCOLS = ("official-dev", "verifai")
SPLITS = ("train", "dev")
TRAINED_ON = ("train",)  # Pincite's verifier: see its card
SEED = 42
TEST_PART = 0.1
ROWS_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Row:
    """A claim with one abstract and its annotated label."""

    claim_id: str
    claim: str
    document: Document
    label: str  # one of LABELS
    split: str  # the official split of the claim
    tested: bool = True  # whether the protocol's test part has it


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """A row with the verifier's evidence for each passage of the abstract."""

    row: Row
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class _Claim:
    claim_id: str
    text: str
    cited: tuple[str, ...]
    labels: Mapping[str, str]  # by cited abstract that has rationales


def rows_of(folder: Path, protocol: str) -> list[Row]:
    """Return the rows of a protocol.

    Raises:
        ConfigError: There is no such protocol.
        InputError: A file is missing or not in SciFact's schema.
    """
    if protocol not in PROTOCOLS:
        raise ConfigError(f"There is no protocol {protocol!r}; known: {', '.join(PROTOCOLS)}.")
    corpus = _corpus(_existing(folder, "corpus"))
    if protocol == "official-dev":
        return [row for claim in _claims(folder, "dev") for row in _cited(claim, corpus, "dev")]
    every = cleaned(folder, corpus)
    tested = set(map(id, drawn(every)))
    return [
        replace(row, tested=id(row) in tested)
        for row in every
        if row.split not in TRAINED_ON or id(row) in tested
    ]


def cleaned(folder: Path, corpus: Mapping[str, Document]) -> list[Row]:
    """Return Verif.ai's rows of train and dev; the first label of a (claim, abstract) wins."""
    found: dict[tuple[str, str], Row] = {}
    for split in SPLITS:
        for claim in _claims(folder, split):
            for row in _cited(claim, corpus, split):
                if row.document.url in claim.labels or not claim.labels:
                    found.setdefault((row.claim, row.document.url), row)
    return list(found.values())


def drawn(rows: Sequence[Row], seed: int = SEED) -> list[Row]:
    """Draw a tenth of each class, rounded; Verif.ai uses the other 80 and 10 % for training.

    Verif.ai's three parts have the same mix of classes (§III-C), so each class is drawn separately.
    The same files give the same part on every machine.
    """
    chosen: list[int] = []
    for number, label in enumerate(LABELS):
        of_label = np.array([i for i, row in enumerate(rows) if row.label == label], dtype=int)
        shuffled = np.random.default_rng([seed, number]).permutation(of_label)
        chosen += map(int, shuffled[: round(len(of_label) * TEST_PART)])
    return [rows[i] for i in sorted(chosen)]


def judge(
    rows: Sequence[Row],
    checker: AnswerChecker,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[JudgedRow]:
    judged: list[JudgedRow] = []
    for start in range(0, len(rows), ROWS_AT_ONCE):
        batch = rows[start : start + ROWS_AT_ONCE]
        found = checker.evidence([(row.claim, row.document) for row in batch])
        judged += [JudgedRow(row, tuple(each)) for row, each in zip(batch, found, strict=True)]
        progress(len(judged), len(rows))
    return judged


def measured(
    judged: Sequence[JudgedRow], protocol: str, supported_from: float, contradicted_from: float
) -> dict[str, Any]:
    """Measure `unseen` rows, which Pincite was not trained on, and for `verifai` also `all_dev`.

    Each part is measured by the thresholds and by the likeliest label. Rows that were trained on
    are under `seen_in_training` and are not a result.
    """
    tested = [each for each in judged if each.row.tested]
    seen = [each for each in tested if each.row.split in TRAINED_ON]
    unseen = [each for each in tested if each.row.split not in TRAINED_ON]
    every = [each for each in judged if each.row.split not in TRAINED_ON]
    thresholds = (supported_from, contradicted_from)
    return {
        "protocol": protocol,
        "n": len(tested),
        "n_seen_in_training": len(seen),
        "mix": mix(tested),
        "thresholds": {"supported_from": supported_from, "contradicted_from": contradicted_from},
        "unseen": _measures(unseen, *thresholds),
        "all_dev": _measures(every, *thresholds) if len(every) > len(unseen) else None,
        "seen_in_training": _by_thresholds(seen, *thresholds) if seen else None,
    }


def likeliest(evidence: Sequence[Evidence]) -> str:
    """Return the likeliest label of the least neutral passage."""
    speaking = min(evidence, key=lambda e: e.prob_neutral, default=None)
    if speaking is None:
        return NO_EVIDENCE
    probabilities = {
        NO_EVIDENCE: speaking.prob_neutral,
        SUPPORT: speaking.prob_supported,
        CONTRADICT: speaking.prob_refuted,
    }
    return max(LABELS, key=probabilities.__getitem__)


def _measures(
    judged: Sequence[JudgedRow], supported_from: float, contradicted_from: float
) -> dict[str, Any] | None:
    if not judged:
        return None
    said = [likeliest(each.evidence) for each in judged]
    return {
        "n": len(judged),
        "mix": mix(judged),
        "by_thresholds": _by_thresholds(judged, supported_from, contradicted_from),
        "by_likeliest": measures.by_class(_labels(judged), said, LABELS),
    }


def _by_thresholds(
    judged: Sequence[JudgedRow], supported_from: float, contradicted_from: float
) -> dict[str, Any]:
    said = [_thresholds(each, supported_from, contradicted_from) for each in judged]
    return measures.by_class(_labels(judged), said, LABELS)


def _thresholds(judged: JudgedRow, supported_from: float, contradicted_from: float) -> str:
    said = support_of(judged.row.claim, judged.evidence, supported_from, contradicted_from)
    return _LABELS.get(said.support, NO_EVIDENCE)


def _labels(judged: Sequence[JudgedRow]) -> list[str]:
    return [each.row.label for each in judged]


def mix(judged: Sequence[JudgedRow]) -> dict[str, float]:
    counts = Counter(_labels(judged))
    return {label: round(counts[label] / max(1, len(judged)), 3) for label in LABELS}


def _cited(claim: _Claim, corpus: Mapping[str, Document], split: str) -> Iterator[Row]:
    for doc_id in claim.cited:
        if doc_id not in corpus:
            raise InputError(f"Claim {claim.claim_id} of {split} cites {doc_id}: no such abstract.")
        label = claim.labels.get(doc_id, NO_EVIDENCE)
        yield Row(claim.claim_id, claim.text, corpus[doc_id], label, split)


def _corpus(path: Path) -> dict[str, Document]:
    """Read the abstracts by id; the text is the joined sentences."""
    found = {}
    for place, record in _records(path):
        doc_id, sentences = jsonl.field_of(record, "doc_id"), record.get("abstract")
        if not doc_id or not _is_texts(sentences):
            raise InputError(f"{place}: expected doc_id, title and abstract, a list of sentences.")
        title = jsonl.field_of(record, "title") or ""
        text = " ".join(sentence.strip() for sentence in sentences)
        found[doc_id] = Document(doc_id, title, text, "jsonl", language="en")
    return found


def _claims(folder: Path, split: str) -> Iterator[_Claim]:
    for place, record in _records(_existing(folder, f"claims_{split}")):
        claim_id, text = jsonl.field_of(record, "id"), jsonl.field_of(record, "claim")
        cited, evidence = record.get("cited_doc_ids"), record.get("evidence")
        if (
            not claim_id
            or not text
            or not isinstance(cited, list)
            or not isinstance(evidence, dict)
        ):
            raise InputError(f"{place}: expected id, claim, evidence and cited_doc_ids.")
        found = {doc_id: _label(sets, place) for doc_id, sets in evidence.items()}
        yield _Claim(claim_id, text, tuple(dict.fromkeys(map(str, cited))), found)


def _label(rationales: Any, place: str) -> str:
    """Return the label of an abstract's rationales, which agree in SciFact."""
    known = rationales if isinstance(rationales, list) and rationales else [{}]
    found = {one.get("label") if isinstance(one, dict) else None for one in known}
    if found not in ({SUPPORT}, {CONTRADICT}):
        raise InputError(f"{place}: expected rationales of one label, SUPPORT or CONTRADICT.")
    return SUPPORT if found == {SUPPORT} else CONTRADICT


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for line in jsonl.lines(path):
        record = jsonl.record_of(line, path, DEFAULT_LIMITS)
        if isinstance(record, Unchecked):
            raise InputError(f"{path.parent / record.detail}.")
        yield str(path.parent / jsonl.place(line, path)), record


def _is_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _existing(folder: Path, name: str) -> Path:
    for path in (folder / f"{name}.jsonl", folder / f"{name}.jsonl.gz"):
        if path.is_file():
            return path
    raise InputError(
        f"{folder} holds no {name}.jsonl or {name}.jsonl.gz; expected SciFact's corpus, "
        "claims_train and claims_dev."
    )
