"""The reliability lists that a user imported: where they are kept, and which one a run uses.

One JSON file a list in the user's data folder. Pincite ships none: a list is its community's, it
changes, and which one counts depends on the wiki.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import platformdirs

from pincite.corpus.durable import write_text
from pincite.errors import ConfigError, InputError
from pincite.judgement.reliability import Entry, ReliabilityList
from pincite.types import Reliability
from pincite.wiki.addresses import Site
from pincite.wiki.reliability import ListFile, read_list

NONE = "none"  # the setting's value that switches lists off
_FORM = 1


@dataclass(frozen=True, slots=True)
class StoredList:
    """An imported list, and what a report records of it."""

    name: str
    rules: ReliabilityList
    about: Mapping[str, Any]  # file, sha256, rows, imported

    @property
    def fingerprint(self) -> str:
        """For a report: name, number of rows, date of the import, digest of the file."""
        about = self.about
        digest = str(about.get("sha256", ""))[:12]
        return f"{self.name}, {about.get('rows')} rows, {about.get('imported')}, {digest}"


def folder() -> Path:
    """Where lists are kept."""
    return Path(platformdirs.user_data_dir("pincite")) / "reliability"


def import_list(path: Path, name: str, site: Site | None = None) -> tuple[ListFile, Path]:
    """Read a list and keep it as `name`; one that was there is replaced.

    Raises:
        InputError: the file cannot be read.
        ConfigError: `name` cannot be a file's name.
    """
    kept = _file(name)
    found = read_list(path, site)
    about = {
        "form": _FORM,
        "file": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "rows": found.n_rows,
        "imported": datetime.now(UTC).date().isoformat(),
        "entries": [asdict(entry) for entry in found.entries],
    }
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(kept, json.dumps(about, ensure_ascii=False, indent=1))
    except OSError as error:
        raise InputError(f"{kept} cannot be written: {error.strerror}.") from error
    return found, kept


def imported() -> list[str]:
    """The names of the lists that are there."""
    return sorted(path.stem for path in folder().glob("*.json"))


def chosen(name: str, language: str) -> StoredList | None:
    """The list of a run: the one of this name; without one, that of the language if there is one.

    Raises:
        ConfigError: the named list was never imported.
    """
    if name == NONE or (not name and language not in imported()):
        return None
    return load(name or language)


def load(name: str) -> StoredList:
    """An imported list.

    Raises:
        ConfigError: it was never imported.
        InputError: its file is damaged.
    """
    path = _file(name)
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        entries = about.pop("entries")
        rules = tuple(Entry(**{**e, "reliability": Reliability(e["reliability"])}) for e in entries)
    except FileNotFoundError as error:
        known = ", ".join(imported()) or "none"
        message = (
            f"no reliability list {name!r} was imported; there are: {known}. Import one: pincite "
            f"reliability import FILE --name {name}"
        )
        raise ConfigError(message) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is damaged: {error!r}. Import the list again.") from error
    return StoredList(name, ReliabilityList(rules), about)


def _file(name: str) -> Path:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}", name):
        raise ConfigError(f"a list cannot be called {name!r}; expected letters, digits, - and _.")
    return folder() / f"{name}.json"
