"""Verified answers, and what people made of them, as rows that `train answerer` learns from.

As Verif.ai's PQAref (Košprdić et al. 2024, §II-B) a row is a question, the references that were
found for it, in the order of the prompt, and an answer that cites them by id. Of an answer only
sentences stand in it that each of their references supports, or that somebody wrote.
"""

import gzip
import hashlib
import json
import random
import re
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pincite.errors import InputError
from pincite.judgement.references import Retraction, Standing, Support
from pincite.library.feedback import DOWN, UP, Opinion
from pincite.llm.templates import Templates
from pincite.text import citation_marks
from pincite.text.passages import passages
from pincite.text.prompt_quoting import abstract
from pincite.types import Span
from pincite.verbs.ask.data import read_answers
from pincite.verbs.ask.records import EXTRACT, WHOLE, Answer, Checked, Reference
from pincite.verbs.ask.writers import excerpt

PARTS = {"test": 0.1, "dev": 0.2, "train": 1.0}  # up to which share of the questions: 10, 10, 80 %
_SUPPORT = {Support.SUPPORTS, Support.VERBATIM}


@dataclass(slots=True)
class Builder:
    """Makes rows of answers and counts what it leaves out, and why."""

    opinions: Sequence[Opinion] = ()  # oldest first: the last on an item counts
    least_verified: float = 1.0  # share of an answer's sentences; the others are left out
    extracts: bool = True  # whether answers that no model wrote are taken
    rows: list[dict[str, Any]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    verifiers: Counter[str] = field(default_factory=Counter)  # answers that each judged
    n_answers: int = 0
    _known: set[tuple[str, str]] = field(default_factory=set)

    def add(self, path: Path) -> None:
        """Make rows of a report of `ask --json`; raises InputError where it is none."""
        report = read_answers(path)
        result = hashlib.sha256(path.read_bytes()).hexdigest()[:16]  # as `feedback.opinion` has it
        said = {each.item_id: each for each in self.opinions if each.result == result}
        for number, answer in enumerate(report.answers, 1):
            self.n_answers += 1
            made = self._row(answer, str(number), said)
            if not isinstance(made, str) and (_plain(made), made["answer"]) in self._known:
                made = "given twice"
            if isinstance(made, str):
                self.left_out[made] += 1
                continue
            self._known.add((_plain(made), made["answer"]))
            self.verifiers[report.versions.get("verifier", "unknown")] += 1
            self.rows.append(made)

    def _row(self, answer: Answer, item: str, said: Mapping[str, Opinion]) -> dict[str, Any] | str:
        """The row, or why there is none."""
        of_all = said.get(item)
        if of_all and of_all.correction:
            return _cited(answer, of_all.correction, 1)
        if answer.abstained or not answer.complete:
            return "not answered, or not written and checked to the end"
        if of_all and of_all.given == DOWN:
            return "called wrong by somebody"
        if answer.by == EXTRACT and not self.extracts:
            return "quoted, not written by a model"
        text, n_kept, n_corrected = _kept(answer, item, said)
        if not text or n_kept < self.least_verified * len(answer.sentences):
            return "with too many sentences that are not verified"
        return _cited(answer, text, n_corrected)

    def parts(self) -> dict[str, list[dict[str, Any]]]:
        """The rows in train, dev and test: what shares a question or references stays together.

        Chance is the question's own hash, so that rows stay where they are when more are added,
        unless these join two questions.
        """
        found: dict[str, list[dict[str, Any]]] = {part: [] for part in reversed(PARTS)}
        for rows in _together(self.rows):
            digest = hashlib.sha256(min(_plain(row) for row in rows).encode()).digest()
            drawn = int.from_bytes(digest[:8]) / 2**64
            found[next(part for part, share in PARTS.items() if drawn < share)] += rows
        return found

    def card(self) -> dict[str, Any]:
        """What the rows are, in numbers; no text of them stands in it."""
        parts = self.parts()
        return {
            "kind": "answers with references",
            "rows": {part: len(rows) for part, rows in parts.items()},
            "questions": {part: len(set(map(_plain, rows))) for part, rows in parts.items()},
            "answers_read": self.n_answers,
            "left_out": dict(sorted(self.left_out.items())),
            "least_verified": self.least_verified,
            "references": sum(len(row["abstracts"]) for row in self.rows),
            "cited": sum(len(row["meta"]["cited"]) for row in self.rows),
            "corrected": sum(row["meta"]["corrected"] > 0 for row in self.rows),
            "written_by": dict(Counter(row["meta"]["by"] for row in self.rows)),
            "verified_by": dict(self.verifiers),
        }


def files(built: Builder) -> dict[str, str]:
    """Name and content of each: the three parts, the card for programs, and for people."""
    card = built.card()
    found = {
        f"{part}.jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        for part, rows in built.parts().items()
    }
    table = "".join(
        f"| {part} | {n} | {card['questions'][part]} |\n" for part, n in card["rows"].items()
    )
    out = "".join(f"* {n} {why}\n" for why, n in card["left_out"].items()) or "* none\n"
    by = "".join(f"* {name}: {n}\n" for name, n in card["written_by"].items())
    found["README.md"] = f"""# Questions, references, answers

Made by `pincite train rows` from {card["answers_read"]} answers of `pincite ask`; for
`pincite train answerer train.jsonl`. Every sentence was judged to be supported by each of its
references, by {", ".join(card["verified_by"]) or "nothing"}, or corrected by somebody
({card["corrected"]} rows); the judge errs. At least {card["least_verified"]:.0%} of an answer's
sentences were verified, the others are left out. The texts are the sources' own: their licences
apply.

| part | rows | questions |
|---|---|---|
{table}
No question and no set of references, given or cited, stands in two parts.
{card["references"]} references, of which {card["cited"]} are cited.

## Written by

{by}
## Answers left out

{out}"""
    return found | {"card.json": json.dumps(card, indent=1, ensure_ascii=False) + "\n"}


def _kept(answer: Answer, item: str, said: Mapping[str, Opinion]) -> tuple[str, int, int]:
    """The answer's good sentences, how many they are, and how many of them somebody wrote."""
    text, at, n_kept, n_corrected = "", 0, 0, 0
    for number, checked in enumerate(answer.sentences, 1):
        span, name = checked.sentence.span, f"{item}.s{number}"
        gap, at = answer.text[at : span.start], span.end
        mine = said[name].correction if name in said else ""
        if mine or (_is_verified(checked) and not _doubted(name, checked, said)):
            own = mine or span.of(answer.text)
            text += gap + (own if citation_marks.marks(own) else own + _marks(checked))
            n_kept, n_corrected = n_kept + 1, n_corrected + bool(mine)
    return text.strip(), n_kept, n_corrected


def _is_verified(checked: Checked) -> bool:
    together = checked.standing in (Standing.SUPPORTED, Standing.VERBATIM)
    return together and all(each.support in _SUPPORT for each in checked.verdicts)


def _doubted(name: str, checked: Checked, said: Mapping[str, Opinion]) -> bool:
    """Whether somebody called the sentence, or what a reference says of it, wrong."""
    names = [name, *(f"{name}/r{each.number}" for each in checked.verdicts)]
    return any(each in said and said[each].given not in (UP, "support") for each in names)


def _marks(checked: Checked) -> str:
    """References of a sentence that has none in its own words: inherited, or lost in correcting."""
    numbers = dict.fromkeys(str(each.number) for each in checked.verdicts if each.number)
    return f" [{', '.join(numbers)}]" if numbers else ""


def _cited(answer: Answer, text: str, n_corrected: int) -> dict[str, Any] | str:
    """The row with this text for an answer, its marks as ids; or why there is none."""
    found = answer.searched.found
    order = {ref_id: place for place, ref_id in enumerate(found)}
    given = [each for each in answer.references if each.document.text.strip()]
    given.sort(key=lambda each: (order.get(each.ref_id, len(found)), each.number))
    known = {each.ref_id: each.number for each in given}
    places = {each.number: place for place, each in enumerate(given)}
    parts, at, cited = [], 0, dict[str, None]()
    for mark in citation_marks.marks(text):
        named = [places.get(citation_marks.resolved(each, known) or 0) for each in mark.ids]
        its = [given[place] for place in named if place is not None]
        if len(its) < len(named):
            return "that cite what is not among their references"
        if any(each.retraction is Retraction.YES for each in its):
            return "that cite a retracted paper"
        parts += [text[at : mark.span.start], _mark(its, places)]
        at, cited = mark.span.end, cited | dict.fromkeys(each.ref_id for each in its)
    if not cited:
        return "without a reference"
    abstracts = [
        {"id": each.ref_id, "title": each.document.title, "text": _text(each, answer)}
        for each in given
    ]
    meta = {"by": answer.by, "corrected": n_corrected, "cited": [*cited]}
    said = "".join([*parts, text[at:]])
    return {"question": answer.question, "abstracts": abstracts, "answer": said, "meta": meta}


def _mark(cited: Sequence[Reference], places: Mapping[int, int]) -> str:
    if all(each.ref_id.isdigit() for each in cited):
        return f"({', '.join(f'PUBMED:{each.ref_id}' for each in cited)})"
    return f"[{', '.join(str(places[each.number] + 1) for each in cited)}]"


def _text(reference: Reference, answer: Answer) -> str:
    """What the row gives of it: all, or of a long one the passages that were quoted, and others."""
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


def _plain(row: Mapping[str, Any]) -> str:
    """The question without case, blanks and marks at its end."""
    return " ".join(row["question"].casefold().split()).rstrip(" ?.!")


def _together(rows: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Rows that have a question in common, or the references given or cited; or do so in steps."""
    group, first = list(range(len(rows))), dict[Hashable, int]()

    def root(row: int) -> int:
        while group[row] != row:
            row = group[row]
        return row

    for number, row in enumerate(rows):
        given = frozenset(each["id"] for each in row["abstracts"])
        for key in (_plain(row), ("given", given), ("cited", frozenset(row["meta"]["cited"]))):
            one, other = sorted((root(number), root(first.setdefault(key, number))))
            group[other] = one
    found: dict[int, list[dict[str, Any]]] = {}
    for number, row in enumerate(rows):
        found.setdefault(root(number), []).append(row)
    return list(found.values())


# From rows to lessons. An answer that cites what it was not given would teach to invent, so its row
# is left out. As many abstracts are shown as there is room for, the cited ones always; all in an
# order by chance, so that no place in it means anything.

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
        Abstract(_ref_id(each["id"]), _string(each.get("title") or ""), _string(each["text"]))
        for each in value["abstracts"]
    )
    return Row(_string(value["question"]), abstracts, _string(value["answer"]))


def _ref_id(given: Any) -> str:
    if not isinstance(given, str | int):
        raise TypeError(f"id {given!r}")
    pmid = _ID.fullmatch(str(given).strip())
    return pmid[1] if pmid else str(given)


def _string(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError(f"{given!r} where a text should be")
    given.encode()  # half a surrogate pair, as "\ud800" spells it, is a ValueError
    return given
