"""Which of two states of a record is the later one, where files of a collection follow each other.

PubMed's baseline of a year is followed by daily update files that are numbered on; a record that
stands in several counts as the last file has it. Elsewhere the file that is read last counts.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pincite.documents import jsonl, manifest
from pincite.documents.addresses import exact_key
from pincite.documents.body import CHECKSUM, DEFAULT_LIMITS, Limits
from pincite.documents.manifest import Entry, Problem
from pincite.documents.read import read_path
from pincite.errors import InputError
from pincite.types import Document, Reason, Unchecked

_NAME = re.compile(r"(?:pubmed|medline)(\d\d)n(\d{4,9})\.xml(?:\.gz)?", re.IGNORECASE)


class Edition(NamedTuple):
    """A file's place in the row of a collection's files; greater is later."""

    year: int  # its last two digits
    number: int


def edition(path: Path) -> Edition | None:
    """The place that a file's name states; None if it states none.

    >>> edition(Path("updatefiles/pubmed26n1403.xml.gz"))
    Edition(year=26, number=1403)
    """
    match = _NAME.fullmatch(path.name)
    return Edition(int(match[1]), int(match[2])) if match else None


def in_order(paths: Sequence[Path]) -> list[Path]:
    """The paths with numbered files in the order of their numbers; all others keep their places."""
    places = [i for i, path in enumerate(paths) if edition(path)]
    ordered = sorted((paths[i] for i in places), key=lambda path: edition(path) or Edition(0, 0))
    result = list(paths)
    for place, path in zip(places, ordered, strict=True):
        result[place] = path
    return result


def version(meta: Mapping[str, str]) -> int:
    """Which version of its article a record is: 1 unless it says otherwise."""
    stated = meta.get("version", "1")
    return int(stated) if stated.isascii() and stated.isdecimal() else 1


Found = Document | Unchecked


@dataclass(frozen=True, slots=True)
class Piece:
    """A file to be read, with the rows of manifests that name it."""

    path: Path
    entries: tuple[Entry, ...] = ()
    rows: tuple[Entry | Problem, ...] | None = None  # of a manifest: its faults and its texts


@dataclass(slots=True)
class Collection:
    """What is to be read, in order; made by `collected`."""

    pieces: list[Piece]
    by_address: dict[str, Entry] = field(default_factory=dict)  # rows that name no file
    met: set[str] = field(default_factory=set)  # keys of these whose page was found
    outside: tuple[Path, ...] = ()  # links in a folder that lead out of it: never opened
    limits: Limits = DEFAULT_LIMITS

    def read(self, piece: Piece) -> Iterator[Found]:
        """The documents of a piece; raises InputError if its file may not be opened."""
        if piece.rows is not None:
            yield from self._read_rows(piece, piece.rows)
        elif piece.entries:
            yield from (entry.read(self.limits) for entry in piece.entries)
        else:
            yield from map(self._told_of, read_path(piece.path, limits=self.limits))

    def signature(self, piece: Piece) -> str:
        """Changes whenever the file, or what manifests say of it, may have changed.

        By size and time, as make and rsync do: reading 10,000 PDFs to see that they are the same
        would take longer than adding one.
        """
        stat = piece.path.stat()
        said = piece.entries or tuple(self.by_address.values())
        known = hashlib.sha256(repr([(e.url, e.known, e.fetched) for e in said]).encode())
        return f"{stat.st_size}:{stat.st_mtime_ns}:{known.hexdigest()[:16]}"

    def known_as(self, url: str) -> None:
        """A page with this address is there, though it was not read now."""
        self.met.add(exact_key(url))

    def read_elsewhere(self, piece: Piece, url: str) -> None:
        """Another process, with a copy of this, read the page in the piece."""
        if self.by_address and piece.rows is None and not piece.entries:
            self.known_as(url)

    def unmet(self) -> list[Unchecked]:
        """Links out of a folder, and rows whose page no file holds; nothing is fetched."""
        links = [
            Unchecked(path.absolute().as_uri(), Reason.NOT_SUPPLIED, manifest.outside(path.name))
            for path in self.outside
        ]
        detail = "the manifest names no file for it, and no file that was given holds this page"
        rows = (entry for key, entry in self.by_address.items() if key not in self.met)
        return links + [Unchecked(entry.url, Reason.NOT_SUPPLIED, detail) for entry in rows]

    def _told_of(self, found: Found) -> Found:
        key = exact_key(found.url)
        self.met.add(key)
        entry = self.by_address.get(key)
        return entry.known.told_of(found) if entry else found

    def _read_rows(self, piece: Piece, rows: tuple[Entry | Problem, ...]) -> Iterator[Found]:
        for row in rows:
            if isinstance(row, Problem):
                yield Unchecked(row.file, Reason.UNDECODABLE, str(row))
                continue
            where = f"{piece.path.name} line {row.line}"
            for remark in row.remarks:
                yield Unchecked(row.url or where, Reason.UNDECODABLE, f"{where}: {remark}")
            if row.fault:
                yield Unchecked(row.url or where, Reason.NOT_SUPPLIED, f"{where}: {row.fault}")
            elif row.record:
                kind = "csv" if piece.path.suffix.lower() == ".csv" else "jsonl"
                found = jsonl.document_in(row.record, where, self.limits, kind)
                yield row.known.told_of(found)
            elif row.status is not None and not row.file:
                yield row.read(self.limits)


def collected(
    paths: Sequence[Path],
    limits: Limits = DEFAULT_LIMITS,
    called: Mapping[str, Path] = manifest.NOTHING,
) -> Collection:
    """What is to be read of files and folders, with what manifests among them say.

    `called`: files that lie under other names than the manifests have for them.

    Numbered files of a collection come in the order of their numbers, whatever order they were
    given in; all others in the order in which `files` finds them.

    Raises:
        InputError: a path does not exist.
    """
    links = list[Path]()
    inside = [path for path in files(paths, links.append) if not _is_checksum(path)]
    found = in_order(inside)
    by_name = {path.name: path for path in found}
    rows = {
        path: tuple(
            manifest.rows(path, limits, {**by_name, **called} if path.suffix == ".json" else called)
        )
        for path in found
        if manifest.is_manifest(path)
    }
    named: dict[Path, list[Entry]] = {}
    by_address: dict[str, Entry] = {}
    for row in (row for group in rows.values() for row in group if isinstance(row, Entry)):
        if row.file and not row.fault:
            named.setdefault(row.file.resolve(), []).append(row)
        elif not row.file and not row.record and row.status is None:
            by_address[exact_key(row.url)] = row
    given = {path.resolve() for path in found}
    pieces = [Piece(path, tuple(named.get(path.resolve(), ())), rows.get(path)) for path in found]
    pieces += [Piece(path, tuple(group)) for path, group in named.items() if path not in given]
    return Collection(pieces, by_address, outside=tuple(links), limits=limits)


def files(
    paths: Sequence[Path], on_outside: Callable[[Path], object] = lambda path: None
) -> Iterator[Path]:
    """Files in a fixed order; of a folder all below it but hidden ones.

    Links that lead out of their folder are left out and handed to `on_outside`: a folder that was
    downloaded must not pull private files into a corpus.

    Raises:
        InputError: a path does not exist.
    """
    for path in paths:
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.is_file())
            for file in inside:
                if any(part.startswith(".") for part in file.relative_to(path).parts):
                    continue
                if file.is_symlink() and not manifest.is_inside(path, file):
                    on_outside(file)
                else:
                    yield file
        elif path.is_file():
            yield path
        else:
            raise InputError(f"{path} does not exist; expected a file or a folder to add.")


def _is_checksum(path: Path) -> bool:
    return path.suffix.lower() == CHECKSUM and path.with_suffix("").is_file()
