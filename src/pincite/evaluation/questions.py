"""Questions with the papers that answer them: PubMedQA's and BioASQ's files.

* PubMedQA (Jin et al. 2019): one JSON object, PMID → `QUESTION`, `CONTEXTS`, `LABELS`,
  `LONG_ANSWER`, `final_decision` (yes, no, maybe). The question is the title of that paper, so it
  is the one relevant document, and its title is not given away.
* BioASQ's task b: `{"questions": [{"id", "body", "type", "documents", "exact_answer", …}]}`;
  documents are addresses that end in the PMID, an exact answer is a word only of type `yesno`.

Either plain or .gz. A document is known by its address in PubMed, as Pincite's readers give it.
"""

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from pincite.documents import jsonl
from pincite.errors import InputError
from pincite.types import Document

YES, NO, MAYBE = "yes", "no", "maybe"
SEED = 20
DECISIONS = (YES, NO, MAYBE)
_PMID = re.compile(r"(\d{1,9})/?\s*\Z")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the addresses of the papers that answer it, and the answer if it is a word."""

    question_id: str
    text: str
    relevant: frozenset[str]
    decision: str | None = None  # one of DECISIONS
    kind: str = ""  # BioASQ: yesno, factoid, list, summary
    given: Document | None = None  # PubMedQA: the abstract without its conclusion


def read_questions(path: Path) -> list[Question]:
    """The questions of a file in order, told apart by what it holds.

    Raises:
        InputError: the file cannot be read or is neither format; names the record.
    """
    value = _json(path)
    if isinstance(value, dict) and isinstance(value.get("questions"), list):
        found = [
            _bioasq(one, f"{path} question {n}") for n, one in enumerate(value["questions"], 1)
        ]
    elif isinstance(value, dict):
        found = [_pubmedqa(pmid, one, f"{path} {pmid}") for pmid, one in value.items()]
    else:
        found = []
    if not found:
        raise InputError(
            f"{path} holds no questions; expected PubMedQA's JSON (PMID → QUESTION, CONTEXTS, …) "
            'or BioASQ\'s ({"questions": […]}).'
        )
    return found


def sample(questions: Sequence[Question], n: int | None) -> list[Question]:
    """`n` of them in a fixed random order, so that a smaller sample is part of a larger one."""
    order = np.random.default_rng(SEED).permutation(len(questions))
    return [questions[i] for i in order[:n]] if n else list(questions)


def pubmed_url(pmid: str) -> str:
    """The address of a paper in PubMed.

    >>> pubmed_url("123")
    'https://pubmed.ncbi.nlm.nih.gov/123/'
    """
    return f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/"


def _json(path: Path) -> Any:
    try:
        with jsonl.opened(path) as file:
            return json.loads(file.read())
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from error


def _pubmedqa(pmid: str, record: Any, place: str) -> Question:
    fields = record if isinstance(record, dict) else {}
    text, contexts, labels = (fields.get(name) for name in ("QUESTION", "CONTEXTS", "LABELS"))
    if not isinstance(text, str) or not pmid.isdigit() or not _is_texts(contexts):
        raise InputError(f"{place}: expected a PMID with QUESTION, CONTEXTS and LABELS.")
    names = labels if _is_texts(labels) and len(labels) == len(contexts) else [""] * len(contexts)
    document = Document(
        url=pubmed_url(pmid),
        title="",
        text="\n".join(f"{n}: {t}" if n else t for n, t in zip(names, contexts, strict=True)),
        kind="pubmedqa",
        published=jsonl.field_of(fields, "YEAR"),
        language="en",
        meta={"pmid": pmid},
    )
    decision = _decision(fields.get("final_decision"))
    return Question(pmid, text, frozenset({document.url}), decision, "yesno", document)


def _bioasq(record: Any, place: str) -> Question:
    fields: Mapping[str, Any] = record if isinstance(record, dict) else {}
    question_id, text = jsonl.field_of(fields, "id"), jsonl.field_of(fields, "body")
    documents, kind = fields.get("documents", []), fields.get("type", "")
    if not question_id or not text or not _is_texts(documents):
        raise InputError(f"{place}: expected id, body, type and documents.")
    pmids = [_PMID.search(address) for address in documents]
    if None in pmids:
        wrong = documents[pmids.index(None)]
        raise InputError(f"{place}: {wrong!r} does not end in a PMID.")
    urls = frozenset(pubmed_url(found[1]) for found in pmids if found)
    decision = _decision(fields.get("exact_answer")) if kind == "yesno" else None
    return Question(question_id, " ".join(text.split()), urls, decision, str(kind))


def _decision(value: Any) -> str | None:
    """Yes, no or maybe; BioASQ has them in a list in some years."""
    first = value[0] if isinstance(value, list) and value else value
    word = first.strip().lower() if isinstance(first, str) else ""
    return word if word in DECISIONS else None


def _is_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
