"""Reads a wiki's list of good and bad sources: a table, or the wikitext of its templates."""

import csv
import gzip
import hashlib
import io
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pincite.durable import write_text
from pincite.errors import InputError, usable
from pincite.library.exclusions import FORM, Entry, ListFile, list_file, place_of
from pincite.types import Reliability
from pincite.wiki.addresses import LANGUAGES, Site, wikipedia

MAX_FILE = 50_000_000  # bytes, decompressed; the English list has 1 MB
_CODES = {
    "gr": Reliability.RELIABLE,
    "nc": Reliability.NO_CONSENSUS,
    "gu": Reliability.UNRELIABLE,
    "d": Reliability.DEPRECATED,
    "b": Reliability.BLACKLISTED,
    "m": Reliability.MIXED,
}
_LABELS = [str(r) for r in Reliability if r is not Reliability.UNLISTED]
_USES = re.compile(r"\{\{\s*WP:RSPUSES\s*\|([^{}]*)\}\}", re.IGNORECASE)
_BLACKLISTED = re.compile(r"\{\{\s*WP:RSPSTATUS\s*\|[^{}]*\bb\s*=\s*y", re.IGNORECASE)
_PLAIN = ("site", "label", "name", "scope", "link")


def import_list(path: Path, name: str) -> tuple[ListFile, Path]:
    """Read a list and store it as `name`, replacing an earlier one.

    Its links lead to the Wikipedia called `name`, or the English one.

    Raises:
        InputError: The file cannot be read.
        ConfigError: `name` is not a valid file name.
    """
    kept = list_file(name)
    found = read_list(path, wikipedia(name) if name in LANGUAGES else None)
    about = {
        "form": FORM,
        "file": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "rows": found.n_rows,
        "imported": datetime.now(UTC).date().isoformat(),
        "entries": [asdict(entry) for entry in found.entries],
    }
    with usable(kept, "written"):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(kept, json.dumps(about, ensure_ascii=False, indent=1))
    return found, kept


def read_list(path: Path, site: Site | None = None) -> ListFile:
    """Read a list; its links lead to the wiki `site`, the English Wikipedia by default.

    Raises InputError with the line if the file is missing, too large, or has an unknown row format.
    """
    entries: dict[Entry, None] = {}
    nameless, n_rows = [], 0
    for number, row in _rows(path):
        n_rows += 1
        try:
            perennial = "status" in row and "id" in row
            found = list(_perennial(row, site or wikipedia("en")) if perennial else _plain(row))
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path}, row {number}: {error}. Expected site and label, or id and status of a "
                f"wiki's list; labels are {', '.join(_LABELS)}."
            ) from error
        entries |= dict.fromkeys(found)
        if not found:
            nameless.append(str(row.get("id") or row.get("name") or row.get("site")))
    if not n_rows:
        raise InputError(f"{path} is empty. Expected a list of sites with labels.")
    return ListFile(tuple(entries), n_rows, tuple(nameless))


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    text = _text(path)
    if text.lstrip().startswith("{"):
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise InputError(f"{path}, line {number} is not JSON: {error}.") from error
                yield number, row
        return
    reader = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    if not {"site", "label"} <= set(reader.fieldnames or ()):
        message = f"{path} begins with {text[:60]!r}. Expected JSON lines, or CSV with a header of "
        raise InputError(message + ", ".join(_PLAIN) + ".")
    yield from enumerate(reader, 2)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            stream = gzip.GzipFile(fileobj=file) if packed else file
            content = stream.read(MAX_FILE + 1)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read: {reason}.") from error
    if len(content) > MAX_FILE:
        raise InputError(f"{path} has more than {MAX_FILE:,} bytes; lists of sites are shorter.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 at byte {error.start}. Convert it first.") from error


def _plain(row: Mapping[str, Any]) -> Iterator[Entry]:
    label = str(row["label"]).strip().lower().replace(" ", "_").replace("-", "_")
    reliability = _CODES.get(label) or Reliability(label)
    place = place_of(str(row["site"]))
    if place is None:
        raise ValueError(f"{row['site']!r} is not a site")
    name, scope, link = (str(row.get(key) or "").strip() for key in ("name", "scope", "link"))
    if link and not link.startswith(("http://", "https://")):
        raise ValueError(f"the link {link[:60]!r} is not a web address")
    yield Entry(place, reliability, name or place, scope, link or None)


def _perennial(row: Mapping[str, Any], site: Site) -> Iterator[Entry]:
    """Parse a row of the perennial sources: an entry for every site in its last cell."""
    name, source = str(row["id"]), str(row.get("alltext") or "")
    reliability = _CODES[str(row["status"])]
    if _BLACKLISTED.search(source):
        reliability = Reliability.BLACKLISTED
    named = [str(row.get("domain") or "")]
    named += [use for cell in _USES.findall(source) for use in cell.split("|")]
    places = dict.fromkeys(filter(None, (place_of(text) for text in named if text.strip())))
    scope, link = _scope(row, name), _discussion(row, name, site)
    name = re.sub(r"\s*\([^()]*\)$", "", name) if scope else name
    for place in places:
        yield Entry(place, reliability, name, scope, link)


def _scope(row: Mapping[str, Any], name: str) -> str:
    """The scope of a row: a part in brackets, or in the name after the source's own."""
    qualifier = str(row.get("content_qualifier") or "").strip()
    if qualifier:
        return qualifier.strip("()") if qualifier.count("(") == 1 else qualifier
    source, plain = (re.sub(r"\s*\(.*\)$", "", text) for text in (str(row.get("name") or ""), name))
    return plain.removeprefix(source).strip() if source and plain.startswith(source) else ""


def _discussion(row: Mapping[str, Any], name: str, site: Site) -> str:
    """The newest discussion on the noticeboard, else the row itself."""
    notices = [n for n in row.get("rsnl") or () if str(n.get("notice_id", "")).isdecimal()]
    page, section = "Wikipedia:Reliable sources/Perennial sources", name
    if notices:
        newest = sorted(notices, key=lambda n: (bool(n.get("rfc")), int(n["notice_id"])))[-1]
        page = f"Wikipedia:Reliable sources/Noticeboard/Archive {newest['notice_id']}"
        section = str(newest["notice_title"])
    anchor = section.strip().replace(" ", "_")
    anchor = re.sub(r"[\s\"<>\[\]{}|\\^`%]", lambda c: f"%{ord(c[0]):02X}", anchor)
    return site.page(page) + (f"#{anchor}" if anchor else "")
