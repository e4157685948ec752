"""Build the rows that `train answerer` learns from, and turn them into lessons.

As in Verif.ai's PQAref (Košprdić et al. 2024, §II-B), a row is a question, the references found for
it in prompt order, and an answer that cites them by id. `RowMaker` makes rows from verified answers
of `ask`, `LessonMaker` prompts and replies from rows.
"""

import hashlib
import json
import random
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pincite.documents import jsonl
from pincite.errors import InputError
from pincite.judgement.references import Retraction, Support
from pincite.llm.templates import Templates
from pincite.text import citation_marks
from pincite.text.passages import passages
from pincite.text.prompt_quoting import abstract
from pincite.types import Span
from pincite.verbs.ask.parts import WHOLE
from pincite.verbs.ask.report import Answer, AnswerReport, Reference
from pincite.verbs.ask.writers import excerpt

PARTS = {"test": 0.1, "dev": 0.2, "train": 1.0}  # cumulative shares of the questions: 10, 10, 80 %
_SUPPORT = {Support.SUPPORTS, Support.VERBATIM}


@dataclass(slots=True)
class RowMaker:
    """Makes rows from answers, and counts what it leaves out by reason."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    n_answers: int = 0
    writers: Counter[str] = field(default_factory=Counter)  # of the rows: "extract", or the model
    verifiers: set[str] = field(default_factory=set)

    def add(self, path: Path) -> None:
        """Make rows from a report of `ask --json`; raises InputError if it is not one."""
        report = AnswerReport.from_file(path)
        self.verifiers.add(report.versions.get("verifier", "not stated"))
        for answer in report.answers:
            self.n_answers += 1
            row = _row_of(answer)
            if isinstance(row, str):
                self.left_out[row] += 1
            elif row in self.rows:
                self.left_out["repeated"] += 1
            else:
                self.rows.append(row)
                self.writers[answer.by] += 1

    def files(self, title: str = "Answers with references", licence: str = "") -> dict[str, str]:
        """Return the name and content of each file: three parts, and a README.md.

        README.md is a data set card as Hugging Face reads it; `licence` is that of the answers.

        A hash of the question decides the part, so adding rows does not move others.
        """
        lines: dict[str, list[str]] = {part: [] for part in reversed(PARTS)}
        for row in self.rows:
            plain = " ".join(row["question"].casefold().split()).rstrip(" ?.!")
            drawn = int.from_bytes(hashlib.sha256(plain.encode()).digest()[:8]) / 2**64
            part = next(part for part, share in PARTS.items() if drawn < share)
            lines[part].append(json.dumps(row, ensure_ascii=False) + "\n")
        files = {f"{part}.jsonl": "".join(of_part) for part, of_part in lines.items()}
        readme = _README.format(
            # JSON is YAML.
            header=json.dumps({"license": licence or "unknown", "pretty_name": title}),
            title=" ".join(title.split()),
            parts="\n".join(
                f"| {part}.jsonl | {len(of_part)} |" for part, of_part in lines.items()
            ),
            verifiers=_listed(sorted(self.verifiers)),
            writers=_listed(f"{name} ({n} rows)" for name, n in sorted(self.writers.items())),
            left_out=_listed(f"{n} {why}" for why, n in sorted(self.left_out.items())),
            licence=licence or "not stated",
        )
        return files | {"README.md": readme}


_README = """---
{header}
---

# {title}

Questions, the references found for each, and an answer that cites them, as in PQAref (Košprdić et
al. 2024). Made by `pincite train rows`.

| file | rows |
|---|---|
{parts}

Each line has `question`, `abstracts` (objects with `id`, `title`, `text`, best first) and `answer`.
In an answer, `(PUBMED:123)` or `[n]` names an abstract by id or by place.

* **Written by:** {writers}.
* **Verified by:** {verifiers}. Every sentence is copied from its reference, or judged by this
  program as supported by every reference that it cites. No person has read them.
* **Left out** of the answers read: {left_out}.
* **Licence** of the answers: {licence}. Abstracts keep the licences of their publishers.
"""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _row_of(answer: Answer) -> dict[str, Any] | str:
    """Return the answer as a row, with marks replaced by ids; or why it cannot be one.

    Each of its sentences must be supported by each of its references.
    """
    if answer.abstained or not answer.complete:
        return "not answered, or not written and checked to the end"
    if not all(each.support in _SUPPORT for s in answer.sentences for each in s.verdicts):
        return "with a sentence that is not verified"
    text = _with_all_marks(answer)
    if not text:
        return "with a sentence that has no reference"
    found = answer.searched.found
    order = {ref_id: place for place, ref_id in enumerate(found)}
    references = [each for each in answer.references if each.document.text.strip()]
    references.sort(key=lambda each: (order.get(each.ref_id, len(found)), each.number))
    known = {each.ref_id: each.number for each in references}
    places = {each.number: place for place, each in enumerate(references)}
    written = dict[Span, str]()
    for mark in citation_marks.marks(text):
        named = [places.get(citation_marks.find_number(each, known) or 0) for each in mark.ids]
        its = [references[place] for place in named if place is not None]
        if len(its) < len(named):
            return "that cite what is not among their references"
        if any(each.retraction is Retraction.YES for each in its):
            return "that cite a retracted paper"
        if all(each.ref_id.isdigit() for each in its):
            written[mark.span] = f"({', '.join(f'PUBMED:{each.ref_id}' for each in its)})"
        else:
            numbers = (str(places[each.number] + 1) for each in its)
            written[mark.span] = f"[{', '.join(numbers)}]"
    abstracts = [
        {"id": each.ref_id, "title": each.document.title, "text": _text(each, answer)}
        for each in references
    ]
    whole = citation_marks.with_written(text, written)
    return {"question": answer.question, "abstracts": abstracts, "answer": whole}


def _with_all_marks(answer: Answer) -> str:
    """Return the text with the marks that sentences inherit; "" if a sentence has no reference."""
    parts, at = [], 0
    for checked in answer.sentences:
        span = checked.sentence.span
        own = span.of(answer.text)
        numbers = dict.fromkeys(str(each.number) for each in checked.verdicts if each.number)
        if not numbers:
            return ""
        marks = "" if citation_marks.marks(own) else f" [{', '.join(numbers)}]"
        parts += [answer.text[at : span.start], own, marks]
        at = span.end
    return "".join(parts).strip()


def _text(reference: Reference, answer: Answer) -> str:
    """Return the reference's text; for a long one, the quoted passages and some others."""
    document = reference.document
    if len(document.text) <= WHOLE:
        return document.text
    verdicts = [v for s in answer.sentences for v in s.verdicts if v.number == reference.number]
    quoted = [each.evidence.passage.span for each in verdicts if each.evidence]
    chosen, left = list[Span](), WHOLE
    for span in [*quoted, *(passage.span for passage in passages(document))]:
        if (left >= len(span.of(document.text))) and not any(map(span.overlaps, chosen)):
            chosen.append(span)
            left -= len(span.of(document.text))
    return excerpt(document.text, sorted(chosen or quoted[:1]))


# From rows to lessons. An answer that cites what it was not given would teach the model to invent,
# so its row is left out. As many abstracts as fit are shown, always including the cited ones, in
# random order so that a position has no meaning.

STEP = "answer_question"
_ID = re.compile(r"(?:PUBMED|PMID)?\s*:?\s*(\d{1,9})", re.IGNORECASE)  # spellings of a PMID
_FORM = (
    'an object with "question", "answer" and "abstracts", a list of objects with "id", "title" and '
    '"text"'
)


@dataclass(frozen=True, slots=True)
class Abstract:
    """A text that an answer is based on."""

    ref_id: str  # the digits of a PMID, or any other id
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A question with the abstracts found for it, best first, and its answer with references."""

    question: str
    abstracts: tuple[Abstract, ...]
    answer: str  # `[n]` is the n-th abstract


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one training step sees of one row: the two prompt messages and the reply."""

    system: str
    user: str
    answer: str


@dataclass(slots=True)
class LessonMaker:
    """Makes lessons from rows, and counts what it leaves out by reason.

    `n_tokens` returns a lesson's length; `control` holds the model's special tokens, which no text
    may contain.
    """

    templates: Templates
    n_tokens: Callable[[Lesson], int]
    max_tokens: int
    seed: int
    control: frozenset[str] = frozenset()
    lessons: list[Lesson] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    n_rows: int = 0
    n_cut: int = 0  # rows that lost abstracts, none of them cited

    def add(self, row: Row) -> None:
        self.n_rows += 1
        why = _unusable(row, self.control)
        lesson, n_shown = (None, 0) if why else self._fitted(row)
        if lesson is None:
            self.dropped[why or "whose answer and cited abstracts need more than max_tokens"] += 1
            return
        self.lessons.append(lesson)
        self.n_cut += len(row.abstracts) > n_shown

    def _fitted(self, row: Row) -> tuple[Lesson | None, int]:
        """Return the lesson with as many abstracts as fit, and their number.

        The lesson is None if the cited ones do not fit.
        """
        chance = random.Random(f"{self.seed} {self.n_rows}")  # noqa: S311 - an order, not a secret
        rank = [chance.random() for _ in row.abstracts]
        needed = cited_places(row)
        others = [place for place in range(len(row.abstracts)) if place not in needed]

        def shown(n_others: int) -> Lesson:
            places = [*needed, *others[:n_others]]
            return lesson_of(row, sorted(places, key=lambda place: rank[place]), self.templates)

        n_fitting = bisect_right(
            range(len(others) + 1), self.max_tokens, key=lambda n: self.n_tokens(shown(n))
        )
        if not n_fitting:
            return None, 0
        return shown(n_fitting - 1), len(needed) + n_fitting - 1


def lesson_of(row: Row, places: Sequence[int], templates: Templates) -> Lesson:
    """Make a lesson from the abstracts at `places`, in this order; the answer is renumbered."""
    blocks = [
        abstract(number, each.ref_id, each.title, each.text)
        for number, each in enumerate((row.abstracts[place] for place in places), 1)
    ]
    system, user = templates.fill(STEP, question=row.question, abstracts="\n\n".join(blocks))
    now = {str(place + 1): number for number, place in enumerate(places, 1)}
    written = {
        mark.span: f"[{', '.join(map(str, sorted(now[each] for each in mark.ids)))}]"
        for mark in citation_marks.marks(row.answer)
        if all(each in now for each in mark.ids)  # ids of papers stay
    }
    return Lesson(system, user, citation_marks.with_written(row.answer, written))


def cited_places(row: Row) -> list[int]:
    """Return the distinct places of the abstracts that the answer of a usable row cites."""
    of_id = {f"PUBMED:{each.ref_id}": place for place, each in enumerate(row.abstracts)}
    return sorted({of_id[i] if i in of_id else int(i) - 1 for i in cited_ids(row.answer)})


def cited_ids(answer: str) -> list[str]:
    """Return the distinct references of an answer: "PUBMED:123" or a number.

    >>> cited_ids("It rose [2, 3], as PMID 7 says (PUBMED:12).")
    ['2', '3', 'PUBMED:12', 'PUBMED:7']
    """
    marked = [each for mark in citation_marks.marks(answer) for each in mark.ids]
    return list(
        dict.fromkeys([*marked, *(f"PUBMED:{n}" for n in citation_marks.PUBMED.findall(answer))])
    )


def _unusable(row: Row, control: frozenset[str]) -> str:
    """Explain why no lesson can be made from the row; "" if one can."""
    texts = [row.question, row.answer, *(t for x in row.abstracts for t in (x.title, x.text))]
    if not row.question.strip() or not row.answer.strip():
        return "without a question or an answer"
    if not row.abstracts or not all(each.text.strip() for each in row.abstracts):
        return "without abstracts, or with an empty one"
    ids = [each.ref_id for each in row.abstracts]
    if len(set(ids)) < len(ids):
        return "that give two abstracts one id"
    known = {f"PUBMED:{i}" for i in ids} | {str(n) for n in range(1, len(ids) + 1)}
    if set(cited_ids(row.answer)) - known:
        return "whose answer cites what is not among its abstracts"
    if any(token in text for token in control for text in texts):
        return "that contain a control token of the model"
    return ""


def read_rows(path: Path, on_bad: Callable[[InputError], None]) -> Iterator[Row]:
    """Read the rows of a file of JSON lines, plain or .gz; malformed lines go to `on_bad`.

    Raises:
        InputError: The file cannot be read.
    """
    return jsonl.read_rows(path, _row, _FORM, on_bad)


def _row(line: bytes) -> Row:
    value = json.loads(line)
    abstracts = tuple(
        Abstract(_ref_id(each["id"]), _string(each.get("title") or ""), _string(each["text"]))
        for each in value["abstracts"]
    )
    return Row(_string(value["question"]), abstracts, _string(value["answer"]))


def _ref_id(value: Any) -> str:
    if not isinstance(value, str | int):
        raise TypeError(f"id {value!r}")
    pmid = _ID.fullmatch(str(value).strip())
    return pmid[1] if pmid else str(value)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    value.encode()  # a lone surrogate such as "\ud800" raises ValueError
    return value
