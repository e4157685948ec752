"""Rows of question, abstracts and referenced answer as lessons: a prompt, and the reply to learn.

The prompt is the one that `ask` asks with (`answer_question.txt`). An answer that cites what it was
not given would teach to invent, so its row is left out. As many abstracts are shown as there is
room for, the cited ones always; all in an order by chance, so that no place in it means anything.
"""

import gzip
import json
import random
import re
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pincite.errors import InputError
from pincite.llm.templates import Templates
from pincite.text import citation_marks
from pincite.text.fences import abstract

STEP = "answer_question"
_PMID = re.compile(
    r"(?:PUBMED|PMID)\s*:?\s*(\d{1,9})", re.IGNORECASE
)  # in an answer, bare ones too
_ID = re.compile(r"(?:PUBMED|PMID)?\s*:?\s*(\d{1,9})", re.IGNORECASE)  # what a row may call a PMID

OnBad = Callable[[InputError], None]


@dataclass(frozen=True, slots=True)
class Abstract:
    """A text that an answer was written from."""

    ref_id: str  # the digits of a PMID, or any other id
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A question with what was found for it, best first, and its answer with references."""

    question: str
    abstracts: tuple[Abstract, ...]
    answer: str  # `[n]` counts the abstracts in their order


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one step sees of one row: both messages of the prompt, and the reply."""

    system: str
    user: str
    answer: str


@dataclass(slots=True)
class Sieve:
    """Makes lessons of rows and counts what it leaves out, and why.

    `n_tokens` says how long a lesson is, `control` which tokens of the model no text may hold.
    """

    templates: Templates
    n_tokens: Callable[[Lesson], int]
    max_tokens: int
    seed: int
    control: frozenset[str] = frozenset()
    kept: list[Lesson] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    n_rows: int = 0
    n_cut: int = 0  # rows of which abstracts were left out
    n_abstracts_cut: int = 0
    n_without_reference: int = 0  # answers that say there is none, or forgot them

    def add(self, row: Row) -> None:
        """Keep the row's lesson, or count why not."""
        self.n_rows += 1
        why = _why_not(row, self.control)
        lesson, n_shown = (None, 0) if why else self._fitted(row)
        if lesson is None:
            self.dropped[why or "whose answer and cited abstracts need more than max_tokens"] += 1
            return
        self.kept.append(lesson)
        self.n_without_reference += not cited_places(row)
        self.n_abstracts_cut += len(row.abstracts) - n_shown
        self.n_cut += len(row.abstracts) > n_shown

    def _fitted(self, row: Row) -> tuple[Lesson | None, int]:
        """The lesson with as many abstracts as fit, and how many; None where the cited do not."""
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
    """The row with the abstracts of these places, in this order; its answer numbers them anew."""
    blocks = [
        abstract(number, row.abstracts[place].ref_id, *_texts(row.abstracts[place]))
        for number, place in enumerate(places, 1)
    ]
    system, user = templates.filled(STEP, question=row.question, abstracts="\n\n".join(blocks))
    return Lesson(system, user, _renumbered(row.answer, places))


def _texts(given: Abstract) -> tuple[str, str]:
    return given.title, given.text


def cited_places(row: Row) -> list[int]:
    """Places of the abstracts that the answer cites, each once; only of a row that is sound."""
    of_id = {f"PUBMED:{each.ref_id}": place for place, each in enumerate(row.abstracts)}
    return sorted({of_id[i] if i in of_id else int(i) - 1 for i in cited_ids(row.answer)})


def cited_ids(answer: str) -> list[str]:
    """What an answer refers to: "PUBMED:123" or a number, each once.

    >>> cited_ids("It rose [2, 3], as PMID 7 says (PUBMED:12).")
    ['2', '3', 'PUBMED:12', 'PUBMED:7']
    """
    marked = [each for mark in citation_marks.marks(answer) for each in mark.ids]
    return list(dict.fromkeys([*marked, *(f"PUBMED:{n}" for n in _PMID.findall(answer))]))


def _renumbered(answer: str, places: Sequence[int]) -> str:
    """`[n]` counts the abstracts as they are shown now; ids stay."""
    now = {str(place + 1): number for number, place in enumerate(places, 1)}
    parts, at = [], 0
    for mark in citation_marks.marks(answer):
        if all(each in now for each in mark.ids):
            numbers = sorted(now[each] for each in mark.ids)
            parts += [answer[at : mark.span.start], f"[{', '.join(map(str, numbers))}]"]
            at = mark.span.end
    return "".join([*parts, answer[at:]])


def _why_not(row: Row, control: frozenset[str]) -> str:
    texts = [row.question, row.answer, *(t for each in row.abstracts for t in _texts(each))]
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
        return "that hold a token by which the model tells turns apart"
    return ""


def read_rows(path: Path, on_bad: OnBad) -> Iterator[Row]:
    """The rows of a file of JSON lines, plain or .gz.

    Raises:
        InputError: the file cannot be read; what is wrong with a line goes to `on_bad`.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    try:
                        yield _row(line)
                    except (ValueError, KeyError, TypeError, RecursionError) as error:
                        on_bad(InputError(f"{path} line {number}: expected {_FORM}; got {error!r}"))
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


_FORM = (
    'an object with "question", "answer" and "abstracts", a list of objects with "id", "title" and '
    '"text"'
)


def _row(line: bytes) -> Row:
    value = json.loads(line)
    abstracts = tuple(
        Abstract(_ref_id(each["id"]), _text(each.get("title") or ""), _text(each["text"]))
        for each in value["abstracts"]
    )
    return Row(_text(value["question"]), abstracts, _text(value["answer"]))


def _ref_id(given: Any) -> str:
    if not isinstance(given, str | int):
        raise TypeError(f"id {given!r}")
    pmid = _ID.fullmatch(str(given).strip())
    return pmid[1] if pmid else str(given)


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError(f"{given!r} where a text should be")
    given.encode()  # half a surrogate pair, as "\ud800" spells it, is a ValueError
    return given
