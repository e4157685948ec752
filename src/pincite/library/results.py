"""The log of results, and results parsed into items that a user can rate.

An *item* is a statement with one passage that was judged for it. In `check` it can also be a
reading with its outcome, in `ask` a sentence with its standing, or an answer as a whole.

The log uses EvidenceSeeker's file names, by day and id: `2026_11_23_ab12….yaml` and `.md`. A result
with a known id is replaced, in whichever folder it is.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pincite import codec, durable
from pincite.errors import ConfigError, InputError, usable
from pincite.settings import ResultsSettings

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

        Raises:
            InputError: There is none, or several; lists them.
        """
        found = [item for item in self.items if item.item_id == item_id]
        if not found or (passage and not found[0].passage):
            below = [i for i in self.items if i.item_id.startswith(f"{item_id}/")]
            found = below or found
        # A claim with one citation means that citation, regardless of suggested sources.
        cited = [i for i in found if not _SUGGESTED.fullmatch(i.item_id.rpartition("/")[2])]
        for chosen in (cited, found):
            if len(chosen) == 1:
                return chosen[0]
        what = "is the start of several items" if found else "is not an item"
        known = ", ".join(item.item_id for item in (found or self.items)[:20])
        raise InputError(f"{item_id!r} {what} of this result; expected one of: {known}.")


def read_result(path: Path) -> Result:
    """Read the result in a JSON file.

    Raises:
        InputError: It cannot be read, or is not a result of `verify`, `check` or `ask`.
    """
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


# ── Log ──────────────────────────────────────────────────────────────────────────────────────────

# The folder of a result, by its date (EvidenceSeeker, `SubdirConstruction`).
FOLDERS = {
    "": "",
    "daily": "%Y_%m_%d",
    "weekly": "y%Y_w%W",
    "monthly": "y%Y_m%m",
    "yearly": "y%Y",
}


def log_result(
    settings: ResultsSettings, uid: str, created: str, texts: Mapping[str, str]
) -> list[Path]:
    """Write the texts of a result, by file ending, into the log; returns their paths.

    `uid` is unique to this result; `created` is an ISO date or timestamp.

    Raises:
        ConfigError: A file cannot be written; what was written stays.
    """
    if not settings.folder:
        return []
    folder, day = Path(settings.folder).expanduser(), datetime.fromisoformat(created)
    written = list[Path]()
    for ending, text in texts.items():
        name = f"{day:%Y_%m_%d}_{uid}.{ending}"
        usual = folder / day.strftime(FOLDERS[settings.by]) / name
        path = next(iter(sorted(folder.rglob(name))), usual)
        with usable(path, "written (results.folder)", ConfigError):
            path.parent.mkdir(parents=True, exist_ok=True)
            durable.write_text(path, text)
        written.append(path)
    return written
