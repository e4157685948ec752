"""Results as files: a log of them, and results read back as what a person can have an opinion on.

An *item* is a statement with one passage that was judged for it; of `check` also a reading with its
outcome, of `ask` a sentence with its standing and an answer as a whole. Each kind of result has one
function here; another kind needs one more.

Files of the log are called as EvidenceSeeker calls them, by day and id: `2026_11_23_ab12….yaml` and
`.md`. A result with an id that is there already is written over, wherever it lies.
"""

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pincite.contract import codec
from pincite.errors import ConfigError, InputError
from pincite.settings import ResultsSettings

Kind = Literal["verify", "check", "ask"]
_SUGGESTED = re.compile(r"s\d+")  # the end of a better source's id
MAX_BYTES = 200_000_000  # a report of 1,000 claims with all passages has some 20 MB


@dataclass(frozen=True, slots=True)
class Item:
    """A statement and what was said of it; without `passage` it is a reading as a whole."""

    item_id: str  # unique in its result; one that ends earlier stands for all that begin so
    statement: str
    said: str  # verify: a label; check: an outcome, or a side; ask: a standing, or a support
    passage: str = ""
    quote: str = ""
    url: str = ""
    statement_type: str = ""  # descriptive, ascriptive, normative; of a reading


@dataclass(frozen=True, slots=True)
class Result:
    """What a result file says, as far as opinions need it."""

    kind: Kind
    created: str
    versions: Mapping[str, str]
    items: tuple[Item, ...]

    def chosen(self, item_id: str, *, passage: bool = False) -> Item:
        """The one item whose id is, or begins with, `item_id`.

        `passage`: one with a passage is meant; of a sentence or reading, its only one.

        Raises:
            InputError: none is, or several are; lists them.
        """
        found = [item for item in self.items if item.item_id == item_id]
        if not found or (passage and not found[0].passage):
            below = [i for i in self.items if i.item_id.startswith(f"{item_id}/")]
            found = below or found
        # A claim with one citation is that citation, whatever better sources stand beside it.
        cited = [i for i in found if not _SUGGESTED.fullmatch(i.item_id.rpartition("/")[2])]
        if len(cited) == 1:
            return cited[0]
        if len(found) == 1:
            return found[0]
        what = "begins several items" if found else "is no item"
        known = ", ".join(item.item_id for item in (found or self.items)[:20])
        raise InputError(f"{item_id!r} {what} of this result; expected one of: {known}.")


def read_result(path: Path) -> Result:
    """The result in a JSON file.

    Raises:
        InputError: it cannot be read, or is no result of `verify`, `check` or `ask`.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path} is larger than any result: over {MAX_BYTES} bytes.")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    return result_in(data, str(path))


def result_in(data: bytes, name: str) -> Result:
    """The result in JSON, which messages call `name`; raises as `read_result` does."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is no JSON: {error}") from error
    for key, (kind, items) in _KINDS.items():
        if isinstance(value, dict) and key in value:
            try:
                about = {name: value[name] for name in ("created", "versions")}
                return codec.from_values(Result, {"kind": kind, "items": [*items(value)], **about})
            except (InputError, LookupError, TypeError, AttributeError) as error:
                raise InputError(
                    f"{name} is no result of this version of Pincite: "
                    f"{type(error).__name__}: {error}"
                ) from error
    raise InputError(f"{name} is no result of `pincite verify`, `check` or `ask` with --json.")


_Values = Mapping[str, Any]


def _of_verify(report: _Values) -> Iterator[_Values]:
    """`CLAIM/CITATION` for each citation that could be checked, `CLAIM/sN` for suggestions."""
    for finding in report["findings"]:
        claim = finding["claim"]
        judged = [
            (result["citation"]["citation_id"], result["label"], result["outcome"])
            for result in finding["citations"]
            if "passage" in result["outcome"]
        ]
        better = enumerate(finding["suggestions"], start=1)
        judged += [(f"s{number}", "supported", each["evidence"]) for number, each in better]
        for name, said, evidence in judged:
            yield _item(f"{claim['claim_id']}/{name}", claim["text"], said, evidence)


def _of_check(report: _Values) -> Iterator[_Values]:
    """`N.READING` for each reading of the N-th statement, and `N.READING/eM` for its evidence."""
    for number, check in enumerate(report["checks"], start=1):
        for result in check["results"]:
            reading, text = result["reading"], result["reading"]["text"]
            place = f"{number}.{reading['reading_id']}"
            outcome = result["weight"]["outcome"]
            of_reading = {"item_id": place, "statement": text, "said": outcome}
            yield of_reading | {"statement_type": reading["kind"]}
            for n, item in enumerate(result["items"], start=1):
                yield _item(f"{place}/e{n}", text, item["side"], item["outcome"])


def _of_ask(report: _Values) -> Iterator[_Values]:
    """`N` for the N-th answer, `N.sM` for a sentence, `N.sM/rK` for it with reference K."""
    for number, answer in enumerate(report["answers"], start=1):
        said = "abstained" if answer["abstained"] else "answered"
        yield {"item_id": str(number), "statement": answer["question"], "said": said}
        for n, checked in enumerate(answer["sentences"], start=1):
            place, text = f"{number}.s{n}", checked["sentence"]["text"]
            yield {"item_id": place, "statement": text, "said": checked["standing"]}
            for verdict in checked["verdicts"]:
                if verdict["evidence"]:
                    name = f"{place}/r{verdict['number']}"
                    yield _item(name, text, verdict["support"], verdict["evidence"])


def _item(item_id: str, statement: str, said: str, outcome: _Values) -> _Values:
    passage = outcome["passage"]
    return {
        "item_id": item_id,
        "statement": statement,
        "said": said,
        "passage": passage["text"],
        "quote": outcome.get("quoted", ""),
        "url": passage["url"],
    }


_KINDS: Mapping[str, tuple[Kind, Callable[[_Values], Iterator[_Values]]]] = {
    "findings": ("verify", _of_verify),
    "checks": ("check", _of_check),
    "answers": ("ask", _of_ask),
}


# ── Log ──────────────────────────────────────────────────────────────────────────────────────────

# Of the date of a result: the folder that it lies in (EvidenceSeeker, `SubdirConstruction`).
FOLDERS = {
    "": "",
    "daily": "%Y_%m_%d",
    "weekly": "y%Y_w%W",
    "monthly": "y%Y_m%m",
    "yearly": "y%Y",
}
GIT_SECONDS = 60.0  # for a push over a slow line


@dataclass(frozen=True, slots=True)
class ResultLog:
    """Where results are kept."""

    folder: Path
    by: str = ""
    git: str = ""  # "commit", "push"

    def keep(self, uid: str, created: str, texts: Mapping[str, str]) -> list[Path]:
        """Write the texts of a result, by their ending; where they are.

        Args:
            uid: hex digits or letters, of this result alone.
            created: ISO date or timestamp.
            texts: "yaml" and "md", or others.

        Raises:
            ConfigError: a file cannot be written, or git refuses; what was written stays.
        """
        day = datetime.fromisoformat(created)
        stem = f"{day:%Y_%m_%d}_{uid}"
        usual = self.folder / day.strftime(FOLDERS[self.by])
        written, is_new = [], True
        for ending, text in texts.items():
            name = f"{stem}.{ending}"
            path = next(iter(sorted(self.folder.rglob(name))), usual / name)
            is_new = is_new and not path.exists()
            _write(path, text)
            written.append(path)
        if self.git:
            self._into_git(f"{'Upload new' if is_new else 'Update'} result ({uid})", written)
        return written

    def _into_git(self, message: str, paths: Sequence[Path]) -> None:
        named = ["--", *(str(path.resolve()) for path in paths)]
        self._run("add", *named)
        if self._run("diff", "--cached", "--name-only", *named):
            self._run("commit", "--quiet", "-m", message, *named)
        if self.git == "push":
            self._run("push", "--quiet")

    def _run(self, *arguments: str) -> str:
        """What git prints; the person's own git, with the credentials that it has."""
        command = ["git", "-C", str(self.folder), *arguments]
        try:
            done = subprocess.run(  # noqa: S603 - our own words and our own files
                command, capture_output=True, encoding="utf-8", timeout=GIT_SECONDS, check=True
            )
        except subprocess.CalledProcessError as error:
            said = (error.stderr or error.stdout).strip()[-300:]
            raise ConfigError(f"results.git: git {arguments[0]} failed: {said}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ConfigError(f"results.git: git {arguments[0]} failed: {error}") from error
        return done.stdout.strip()


def log_of(settings: ResultsSettings) -> ResultLog | None:
    """The log of the settings; None: there is none."""
    if not settings.folder:
        return None
    return ResultLog(Path(settings.folder).expanduser(), settings.by, settings.git)


def _write(path: Path, text: str) -> None:
    beside = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8", errors="replace")
        beside.replace(path)
    except OSError as error:
        raise ConfigError(f"results.folder: {path} cannot be written: {error.strerror}") from error
