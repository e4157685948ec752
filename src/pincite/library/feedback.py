"""What people think of results, kept in one SQLite file in the user's data folder.

An opinion holds the statement, the passage and what was said of them, so it stays useful when the
result, the corpus or the model are gone. Nothing here leaves the machine.
"""

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import platformdirs

from pincite.documents.jsonl import LABELS
from pincite.errors import ConfigError, InputError
from pincite.library.results import Item, Result
from pincite.protocols import Verifier
from pincite.text.sentences import sentences
from pincite.types import Claim, Passage, Span

SIGNS = ("confirmed", "disconfirmed", "inconclusive")  # of a reading, as `eval check` takes them
UP, DOWN = "up", "down"
# What was said of a passage → the label of a row that agrees. Of a thumb down only that label is
# known to be wrong, not which is right: it makes no row.
_AGREED = {
    "supported": "support",
    "partly_supported": "partial",
    "not_supported": "not_support",
    "refuted": "refute",
    "for": "support",
    "against": "refute",
    "silent": "nei",
    "supports": "support",
    "contradicts": "refute",
    "no_evidence": "nei",
}


@dataclass(frozen=True, slots=True)
class Opinion:
    """One person's word on a result, or on one item of it; fields in the order of the table."""

    created: str
    given: str  # "up", "down" or a label
    note: str
    who: str  # as they call themselves; empty: they did not say
    correction: str  # what should stand there instead: a quote, a sentence, an answer
    kind: str  # verify, check
    item_id: str  # empty: the whole result
    statement: str
    statement_type: str
    said: str
    passage: str
    quote: str
    url: str
    result: str  # 16 hex digits of SHA-256 of the file's bytes
    result_created: str
    versions: str  # JSON

    @property
    def about(self) -> tuple[str, str]:
        """Opinions on the same thing have this in common, whatever result it stood in."""
        return self.statement, self.passage


_COLUMNS = tuple(field.name for field in fields(Opinion))
_TABLE = (
    "CREATE TABLE IF NOT EXISTS opinions (key INTEGER PRIMARY KEY AUTOINCREMENT, "
    f"{', '.join(f'{name} TEXT NOT NULL' for name in _COLUMNS)})"
)


class Words(NamedTuple):
    """What somebody adds to a label in words."""

    note: str = ""
    who: str = ""
    correction: str = ""


def opinion(
    data: bytes, result: Result, given: str, item: Item | None, words: Words | None = None
) -> Opinion:
    """What somebody says of a result, or of one item of it.

    Args:
        data: the result's JSON, to know it again.
        result: what it says.
        given: "up", "down" or a label.
        item: what of it is meant; None: the whole.
        words: in addition.

    Raises:
        ConfigError: a label that this cannot have; names those that it can.
    """
    of_passage = item is not None and bool(item.passage)
    of_reading = item is not None and not of_passage and result.kind == "check"
    labels = LABELS if of_passage else SIGNS if of_reading else ()
    if given not in (UP, DOWN, *labels):
        what = "a passage" if of_passage else "a reading" if of_reading else "what has no passage"
        raise ConfigError(f"{given!r} is no label of {what}; {_expected(labels, item)}")
    item = item or Item("", "", "")
    return Opinion(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        given=given,
        **(words or Words())._asdict(),
        kind=result.kind,
        **asdict(item),
        result=hashlib.sha256(data).hexdigest()[:16],
        result_created=result.created,
        versions=json.dumps(dict(result.versions), sort_keys=True),
    )


def _expected(labels: Iterable[str], item: Item | None) -> str:
    if not labels:
        return f"{'' if item else 'name an item with --item, or '}give --up or --down."
    return f"expected one of {', '.join(labels)}, or --up or --down."


class Opinions(AbstractContextManager["Opinions"]):
    """The file of opinions, made when it is missing; a context manager."""

    def __init__(self, path: Path) -> None:
        """Raises InputError where it cannot be made or is something else."""
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{path.parent} cannot be made: {error.strerror}") from error
        with self._reported():
            self._connection = sqlite3.connect(path, isolation_level=None)
            self._connection.execute("PRAGMA busy_timeout=10000")
            self._connection.execute(_TABLE)

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def add(self, given: Opinion) -> None:
        """Keep one; it is on the disk when this returns."""
        marks = ", ".join("?" for _ in _COLUMNS)
        sql = f"INSERT INTO opinions ({', '.join(_COLUMNS)}) VALUES ({marks})"  # noqa: S608 - ours
        with self._reported():
            self._connection.execute(sql, astuple(given))

    def all(self) -> list[Opinion]:
        """Every opinion, oldest first."""
        sql = f"SELECT {', '.join(_COLUMNS)} FROM opinions ORDER BY key"  # noqa: S608 - ours
        with self._reported():
            return [Opinion(*row) for row in self._connection.execute(sql)]

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise InputError(
                f"{self._path}: {error}. Name another file in library.feedback_file, or move this "
                "one away."
            ) from error


def file_of(setting: str) -> Path:
    """Where opinions are kept: as library.feedback_file says, else in the user's data."""
    if setting:
        return Path(setting).expanduser()
    return Path(platformdirs.user_data_dir("pincite")) / "feedback.sqlite"


def most_telling(
    items: Sequence[Item], verifier: Verifier, threshold: float
) -> list[tuple[int, float]]:
    """Which items a label would teach most about: their numbers and how likely they are supported.

    First of each source the one nearest to the threshold (uncertainty sampling, Lewis and Gale
    1994), the nearest first; then the second of each, and so on, so that one page does not fill the
    list. A statement with the same passage counts once.
    """
    pairs = [
        (Claim("", i.statement), Passage("", i.url, "", i.passage, Span(0, len(i.passage))))
        for i in items
    ]
    first = {(i.statement, i.passage): n for n, i in reversed(list(enumerate(items)))}
    likely = [found.prob_supported for found in verifier.verify(pairs)]
    order = sorted(first.values(), key=lambda n: abs(_odds(likely[n]) - _odds(threshold)))
    turns: dict[str, int] = {}
    ranked = list[tuple[int, int]]()
    for number in order:
        source = items[number].url
        turns[source] = turns.get(source, 0) + 1
        ranked.append((turns[source], number))
    return [(n, likely[n]) for _, n in sorted(ranked, key=lambda each: each[0])]


def _odds(share: float) -> float:
    kept = min(max(share, 1e-6), 1 - 1e-6)
    return math.log(kept / (1 - kept))


# ── Rows that evaluation and training read ───────────────────────────────────────────────────────


def claims(given: Iterable[Opinion]) -> list[dict[str, object]]:
    """Rows of `documents.jsonl`; of several opinions on one passage the last counts.

    A label is taken as it is, a thumb up confirms what was said; a thumb down makes no row.
    """
    rows: list[dict[str, object]] = []
    for each in _latest(one for one in given if one.passage):
        if label := _label(each):
            meta = {"url": each.url, "created": each.created, "said": each.said, "note": each.note}
            row_id = hashlib.sha256("\0".join(each.about).encode("utf-8", "replace"))
            rows.append(
                {
                    "id": f"feedback-{row_id.hexdigest()[:12]}",
                    "claim": each.statement,
                    "evidence": each.passage,
                    "label": label,
                    "meta": meta,
                }
            )
    return rows


def scifact(given: Iterable[Opinion]) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """The same as SciFact has it (Wadden et al. 2020): claims with rationales, and a corpus.

    Its labels are SUPPORT and CONTRADICT; a claim whose document says neither has no evidence
    there. `partial` has no place in it. A rationale is the quote's sentences, else all of them.
    """
    texts: dict[tuple[str, str], int] = {}
    rows: list[dict[str, object]] = []
    corpus: list[dict[str, object]] = []
    for number, each in enumerate(_latest(one for one in given if one.passage), start=1):
        label = _label(each)
        if label in (None, "partial"):
            continue
        key = (each.url, each.passage)
        spans = sentences(each.passage)
        cut = [span.of(each.passage) for span in spans]
        if key not in texts:
            texts[key] = len(texts) + 1
            corpus.append({"doc_id": texts[key], "title": each.url, "abstract": cut})
        doc_id = texts[key]
        rationale = [n for n, text in enumerate(cut) if text in each.quote or each.quote in text]
        named = {"support": "SUPPORT", "refute": "CONTRADICT"}.get(str(label))
        evidence = {"sentences": rationale or list(range(len(cut))), "label": named}
        rows.append(
            {
                "id": number,
                "claim": each.statement,
                "evidence": {str(doc_id): [evidence]} if named else {},
                "cited_doc_ids": [doc_id],
            }
        )
    return rows, corpus


def statements(given: Iterable[Opinion]) -> list[dict[str, object]]:
    """Rows for `pincite eval check`, from labels of readings; of several on one the last counts."""
    return [
        {"statement": each.statement, "label": each.given, "type": each.statement_type}
        for each in _latest(g for g in given if g.kind == "check" and g.item_id and not g.passage)
        if each.given in SIGNS
    ]


def answers(given: Iterable[Opinion]) -> list[dict[str, object]]:
    """What was said of answers (`1`: its question stands there) and of their sentences (`1.s2`).

    With the report itself, `pincite train rows` makes training data of the same opinions.
    """
    said = _latest(g for g in given if g.kind == "ask" and g.item_id and not g.passage)
    names = ("result", "item_id", "statement", "said", "given", "correction", "note", "created")
    return [{name: getattr(each, name) for name in names} for each in said]


def plain(each: Opinion) -> Mapping[str, object]:
    """An opinion as JSON values."""
    return asdict(each) | {"versions": json.loads(each.versions)}


def _label(each: Opinion) -> str | None:
    if each.given == UP:
        return _AGREED.get(each.said)
    return None if each.given == DOWN else each.given


def _latest(given: Iterable[Opinion]) -> list[Opinion]:
    return list({each.about: each for each in given}.values())
