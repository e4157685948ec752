"""Opinions on results, stored in an SQLite file in the user's data folder, and exported as rows.

An opinion is on a result or on an *item* of it: a statement with one passage that was judged for
it. In `check` an item can also be a reading with its outcome, in `ask` a sentence with its
standing, or an answer as a whole.

An opinion holds the statement, the passage and the verdict, so it stays useful when the result, the
corpus or the model are gone. Nothing is sent from this machine.
"""

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pincite import codec
from pincite.documents.jsonl import LABELS
from pincite.durable import data_path
from pincite.errors import ConfigError, InputError, usable

# ── Results and their items ───────────────────────────────────────────────────────────────────────

Kind = Literal["verify", "check", "ask"]
_SUGGESTED = re.compile(r"s\d+")  # the end of the id of a better source
MAX_BYTES = 200_000_000  # a report of 1,000 claims with all passages has some 20 MB


@dataclass(frozen=True, slots=True)
class Item:
    """A statement and its result; without `passage` it is a reading as a whole."""

    item_id: str  # unique in its result; a prefix up to "/" selects all that begin with it
    statement: str
    said: str  # verify: a label; check: an outcome or a side; ask: a standing or a support
    passage: str = ""
    quote: str = ""
    url: str = ""
    statement_type: str = ""  # descriptive, ascriptive, normative; of a reading


@dataclass(frozen=True, slots=True)
class Result:
    """The parts of a result file that opinions need."""

    kind: Kind
    created: str
    versions: Mapping[str, str]
    items: tuple[Item, ...]

    def chosen(self, item_id: str, *, passage: bool = False) -> Item:
        """Return the only item whose id is, or begins with, `item_id`.

        `passage`: select an item with a passage; for a sentence or reading, its only one.

        Raises InputError: There is none, or several; lists them.
        """
        items = [item for item in self.items if item.item_id == item_id]
        if not items or (passage and not items[0].passage):
            below = [i for i in self.items if i.item_id.startswith(f"{item_id}/")]
            items = below or items
        # A claim with one citation means that citation, regardless of suggested sources.
        cited = [i for i in items if not _SUGGESTED.fullmatch(i.item_id.rpartition("/")[2])]
        for chosen in (cited, items):
            if len(chosen) == 1:
                return chosen[0]
        what = "is the start of several items" if items else "is not an item"
        known = ", ".join(item.item_id for item in (items or self.items)[:20])
        raise InputError(f"{item_id!r} {what} of this result; expected one of: {known}.")


def read_result(path: Path) -> Result:
    """Read the result in a JSON file; raises InputError for any other file."""
    return result_in(codec.content_of(path, MAX_BYTES), str(path))


def result_in(data: bytes, name: str) -> Result:
    """Parse a result in JSON; messages refer to it as `name`. Raises like `read_result`."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not JSON: {error}") from error
    for key, (kind, items) in _KINDS.items():
        if isinstance(value, dict) and key in value:
            try:
                about = {name: value[name] for name in ("created", "versions")}
                return codec.from_values(Result, {"kind": kind, "items": [*items(value)], **about})
            except (InputError, LookupError, TypeError, AttributeError) as error:
                what = f"{type(error).__name__}: {error}"
                message = f"{name} is not a result of this version of Pincite: {what}"
                raise InputError(message) from error
    raise InputError(f"{name} is not a result of `pincite verify`, `check` or `ask` with --json.")


_Values = Mapping[str, Any]


def _of_verify(report: _Values) -> Iterator[_Values]:
    """`CLAIM/CITATION` for each citation that could be checked, `CLAIM/sN` for suggestions."""
    for finding in report["findings"]:
        place, claim = finding["claim_id"], finding["claim"]
        for result in finding["citations"]:
            if result["evidence"]:
                name = f"{place}/{result['citation_id']}"
                yield _item(name, claim, result["label"], result["evidence"])
        for number, better in enumerate(finding["suggestions"], start=1):
            yield _item(f"{place}/s{number}", claim, "supported", better["evidence"])


def _of_check(report: _Values) -> Iterator[_Values]:
    """`N.READING` for each reading of the N-th statement, and `N.READING/eM` for its evidence."""
    for number, check in enumerate(report["checks"], start=1):
        for reading in check["readings"]:
            place, text = f"{number}.{reading['reading_id']}", reading["text"]
            of_reading = {"item_id": place, "statement": text, "said": reading["outcome"]}
            yield of_reading | {"statement_type": reading["kind"]}
            for n, item in enumerate(reading["evidence"], start=1):
                yield _item(f"{place}/e{n}", text, item["side"], item)


def _of_ask(report: _Values) -> Iterator[_Values]:
    """`N` for the N-th answer, `N.sM` for a sentence, `N.sM/rK` for it with reference K."""
    for number, answer in enumerate(report["answers"], start=1):
        said = "abstained" if answer["abstained"] else "answered"
        yield {"item_id": str(number), "statement": answer["question"], "said": said}
        for n, checked in enumerate(answer["sentences"], start=1):
            place, text = f"{number}.s{n}", checked["text"]
            yield {"item_id": place, "statement": text, "said": checked["standing"]}
            for verdict in checked["verdicts"]:
                if verdict["evidence"]:
                    name = f"{place}/r{verdict['number']}"
                    yield _item(name, text, verdict["support"], verdict["evidence"])


def _item(item_id: str, statement: str, said: str, evidence: _Values) -> _Values:
    return {
        "item_id": item_id,
        "statement": statement,
        "said": said,
        "passage": evidence["passage"],
        "quote": evidence.get("quote", ""),
        "url": evidence["url"],
    }


_KINDS: Mapping[str, tuple[Kind, Callable[[_Values], Iterator[_Values]]]] = {
    "findings": ("verify", _of_verify),
    "checks": ("check", _of_check),
    "answers": ("ask", _of_ask),
}


# ── Opinions ──────────────────────────────────────────────────────────────────────────────────────

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


def opinion_on(
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
        except (sqlite3.DatabaseError, TypeError, ValueError) as error:
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
    latest = {opinion.about: opinion for opinion in given if opinion.passage}
    return [
        {
            "id": f"feedback-{_digest(chr(0).join(opinion.about).encode('utf-8', 'replace'), 12)}",
            "claim": opinion.statement,
            "evidence": opinion.passage,
            "label": label,
            "meta": {name: getattr(opinion, name) for name in ("url", "created", "said", "note")},
        }
        for opinion in latest.values()
        if (label := _label(opinion))
    ]


def plain(opinion: Opinion) -> Mapping[str, object]:
    return asdict(opinion) | {"versions": json.loads(opinion.versions)}


def _label(opinion: Opinion) -> str | None:
    if opinion.given == UP:
        return _AGREED.get(opinion.said)
    return None if opinion.given == DOWN else opinion.given
