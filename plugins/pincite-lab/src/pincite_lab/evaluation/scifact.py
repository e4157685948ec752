"""SciFact (Wadden et al. 2020): what does a given abstract say about a claim?

A folder holds `corpus` and `claims_dev` (`.jsonl`, plain or .gz) in SciFact's schema. The rows are
the claims of the dev split, each with each abstract that it cites; an abstract without rationales
is NO_EVIDENCE. Nothing in the dev split was trained on. The abstract is given, so the figures do
not compare with SciFact's leaderboard, where it has to be found.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pincite.documents import jsonl
from pincite.documents.body import DEFAULT_LIMITS
from pincite.errors import InputError, usable
from pincite.judgement.references import Support, support_of
from pincite.types import Document, Unchecked
from pincite.verbs.ask.answer_check import AnswerChecker
from pincite_lab.evaluation import measures

NO_EVIDENCE, SUPPORT, CONTRADICT = "NO_EVIDENCE", "SUPPORT", "CONTRADICT"
LABELS = (NO_EVIDENCE, SUPPORT, CONTRADICT)  # in the order of Verif.ai's Table I
_LABELS = {Support.SUPPORTS: SUPPORT, Support.CONTRADICTS: CONTRADICT}  # else NO_EVIDENCE
ROWS_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Row:
    """A claim with one abstract and its annotated label."""

    claim: str
    document: Document
    label: str  # one of LABELS


def read_rows(folder: Path) -> list[Row]:
    """Read the rows of the dev split.

    Raises:
        InputError: A file is missing or not in SciFact's schema.
    """
    corpus = _corpus(_find_file(folder, "corpus"))
    rows: list[Row] = []
    for place, record in _read_records(_find_file(folder, "claims_dev")):
        text, cited = jsonl.field_of(record, "claim"), record.get("cited_doc_ids")
        evidence = record.get("evidence")
        if not text or not isinstance(cited, list) or not isinstance(evidence, dict):
            raise InputError(f"{place}: expected claim, evidence and cited_doc_ids.")
        labels = {doc_id: _label(sets, place) for doc_id, sets in evidence.items()}
        for doc_id in dict.fromkeys(map(str, cited)):
            if doc_id not in corpus:
                raise InputError(f"{place} cites {doc_id}: no such abstract.")
            rows.append(Row(text, corpus[doc_id], labels.get(doc_id, NO_EVIDENCE)))
    return rows


def measure(
    rows: Sequence[Row],
    checker: AnswerChecker,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Judge the rows and measure the verdicts, decided by the threshold of `checker`."""
    predicted: list[str] = []
    for start in range(0, len(rows), ROWS_AT_ONCE):
        batch = rows[start : start + ROWS_AT_ONCE]
        of_batch = checker.evidence([(row.claim, row.document) for row in batch])
        for row, evidence in zip(batch, of_batch, strict=True):
            support = support_of(row.claim, evidence, checker.supported_from).support
            predicted.append(_LABELS.get(support, NO_EVIDENCE))
        progress(len(predicted), len(rows))
    return {
        "supported_from": checker.supported_from,
        **measures.by_class([row.label for row in rows], predicted, LABELS),
    }


def _corpus(path: Path) -> dict[str, Document]:
    """Read the abstracts by id; the text is the joined sentences."""
    documents = {}
    for place, record in _read_records(path):
        doc_id, sentences = jsonl.field_of(record, "doc_id"), record.get("abstract")
        texts: list[Any] = sentences if isinstance(sentences, list) else [None]
        if not doc_id or not all(isinstance(sentence, str) for sentence in texts):
            raise InputError(f"{place}: expected doc_id, title and abstract, a list of sentences.")
        title = jsonl.field_of(record, "title") or ""
        text = " ".join(sentence.strip() for sentence in texts)
        documents[doc_id] = Document(doc_id, title, text, "jsonl", language="en")
    return documents


def _label(rationales: Any, place: str) -> str:
    """Return the label of an abstract's rationales, which agree in SciFact."""
    known = rationales if isinstance(rationales, list) else []
    labels = {one.get("label") if isinstance(one, dict) else None for one in known}
    if labels not in ({SUPPORT}, {CONTRADICT}):
        raise InputError(f"{place}: expected rationales of one label, SUPPORT or CONTRADICT.")
    return str(labels.pop())


def _find_file(folder: Path, name: str) -> Path:
    if path := jsonl.find(folder, name):
        return path
    raise InputError(f"{folder} has no {name}.jsonl or {name}.jsonl.gz; expected SciFact's files.")


def _read_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the JSON object of each line; raises InputError for any other line."""
    with usable(path):
        for line in jsonl.lines(path):
            record = jsonl.record_of(line, DEFAULT_LIMITS)
            if isinstance(record, Unchecked):
                raise InputError(f"{path.parent / record.detail}.")
            yield str(path.parent / line.place), record
