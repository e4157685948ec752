"""Opinions on results, stored in an SQLite file in the user's data folder, and exported as rows.

An opinion holds the statement, the passage and the verdict, so it stays useful when the result, the
corpus or the model are gone. Nothing is sent from this machine.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from pincite.documents.jsonl import LABELS
from pincite.durable import data_path
from pincite.errors import ConfigError, InputError, usable
from pincite.library.results import Item, Result

SIGNS = ("confirmed", "disconfirmed", "inconclusive")  # of a reading
UP, DOWN = "up", "down"
THUMBS = {UP: "positive", DOWN: "negative"}  # EvidenceSeeker's words, in templates and logs
# Verdict on a passage → label of a row that agrees. A thumbs down says only that the verdict is
# wrong, not which is right, so it makes no row.
_AGREED = {
    "supported": "support",
    "partly_supported": "partial",
    "disputed": "not_support",
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
    """A user's opinion on a result, or on one item of it."""

    created: str
    given: str  # "up", "down" or a label
    note: str
    who: str  # the user's name, if given
    correction: str  # the correct text: a quote, a sentence, an answer
    kind: str  # verify, check, ask
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
        """The statement and passage: equal for all opinions on them, in any result."""
        return self.statement, self.passage


_TABLE = "CREATE TABLE IF NOT EXISTS opinions (key INTEGER PRIMARY KEY, opinion TEXT NOT NULL)"


class Words(NamedTuple):
    """A user's words in addition to a label."""

    note: str = ""
    who: str = ""
    correction: str = ""


def opinion(
    data: bytes, result: Result, given: str, item: Item | None, words: Words | None = None
) -> Opinion:
    """Make an opinion on a result, or on one item of it.

    `data` is the result's JSON, and `given` is "up", "down" or a label.

    Raises ConfigError: The item cannot have this label; lists the allowed ones.
    """
    of_passage = item is not None and bool(item.passage)
    of_reading = item is not None and not of_passage and result.kind == "check"
    labels = LABELS if of_passage else SIGNS if of_reading else ()
    if given not in (UP, DOWN, *labels):
        what = "a reading" if of_reading else "an item without a passage"
        what = "a passage" if of_passage else what
        expected = f"expected one of {', '.join(labels)}, or --up or --down."
        if not labels:
            expected = f"{'' if item else 'name an item with --item, or '}give --up or --down."
        raise ConfigError(f"{given!r} is not a label of {what}; {expected}")
    item = item or Item("", "", "")
    return Opinion(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        given=given,
        **(words or Words())._asdict(),
        kind=result.kind,
        **asdict(item),
        result=_digest(data, 16),
        result_created=result.created,
        versions=json.dumps(dict(result.versions), sort_keys=True),
    )


def _digest(data: bytes, n_digits: int) -> str:
    return hashlib.sha256(data).hexdigest()[:n_digits]


class Opinions(AbstractContextManager["Opinions"]):
    """The user's file of opinions, created if it does not exist; a context manager."""

    def __init__(self, path: Path) -> None:
        """Raises InputError if the file cannot be created or is of another kind."""
        self._path = path
        with usable(path.parent, "created"):
            path.parent.mkdir(parents=True, exist_ok=True)
        with self._report_errors():
            self._connection = sqlite3.connect(path, isolation_level=None, timeout=10)
            self._connection.execute(_TABLE)

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def add(self, given: Opinion) -> None:
        """Store an opinion durably."""
        row = (json.dumps(asdict(given)),)
        with self._report_errors():
            self._connection.execute("INSERT INTO opinions (opinion) VALUES (?)", row)

    def all(self) -> list[Opinion]:
        with self._report_errors():
            rows = self._connection.execute("SELECT opinion FROM opinions ORDER BY key")
            return [Opinion(**json.loads(text)) for (text,) in rows]

    @contextmanager
    def _report_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise InputError(
                f"{self._path}: {error}. Set library.feedback_file to another file, or move this "
                "one out of the way."
            ) from error


def file_of(setting: str) -> Path:
    return data_path("feedback.sqlite", setting)


# ── Rows for evaluation and training ─────────────────────────────────────────────────────────────


def claims(given: Iterable[Opinion]) -> list[dict[str, Any]]:
    """Make labelled claims (`documents.jsonl`); the last opinion on a passage counts.

    A thumbs up confirms the verdict; a thumbs down makes no row.
    """
    latest = {each.about: each for each in given if each.passage}
    return [
        {
            "id": f"feedback-{_digest(chr(0).join(each.about).encode('utf-8', 'replace'), 12)}",
            "claim": each.statement,
            "evidence": each.passage,
            "label": label,
            "meta": {name: getattr(each, name) for name in ("url", "created", "said", "note")},
        }
        for each in latest.values()
        if (label := _label(each))
    ]


def plain(each: Opinion) -> Mapping[str, object]:
    return asdict(each) | {"versions": json.loads(each.versions)}


def _label(each: Opinion) -> str | None:
    if each.given == UP:
        return _AGREED.get(each.said)
    return None if each.given == DOWN else each.given
