"""Verified answers, and what people made of them, as rows that `train answerer` learns from.

As Verif.ai's PQAref (Košprdić et al. 2024, §II-B) a row is a question, the references that were
found for it, in the order of the prompt, and an answer that cites them by id. Of an answer only
sentences stand in it that each of their references supports, or that somebody wrote.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pincite.judgement.references import Retraction, Standing, Support
from pincite.library.feedback import DOWN, UP, Opinion
from pincite.text import citation_marks
from pincite.text.passages import passages
from pincite.types import Span
from pincite.verbs.ask.data import read_answers
from pincite.verbs.ask.literature import WHOLE
from pincite.verbs.ask.records import Answer, Checked, Reference
from pincite.verbs.ask.writers import EXTRACT, excerpt

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
