"""The cited pages that a user has stored: a folder, asked by address.

A folder holds bodies named in `manifest.jsonl` or `manifest.csv`, saved pages that state their own
address, web archives, and every collection of lines that `corpus add` reads; in the folder itself
or anywhere below it. Opening reads addresses only; a body is read when it is asked for, and
remembered.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import urljoin

from pincite.documents import collection, jsonl, read, warc
from pincite.documents.addresses import exact_key, loose_key
from pincite.documents.body import DEFAULT_LIMITS, Limits
from pincite.documents.collection import Problem
from pincite.errors import InputError
from pincite.types import Document, Reason, Unchecked

__all__ = ["Problem", "Sources", "open_sources"]

_LOG = logging.getLogger(__name__)
Loader = Callable[[], Document | Unchecked]
_SAVED_PAGES = (".html", ".htm", ".xhtml", ".html.gz", ".htm.gz")
_WITHOUT_ADDRESS = (".pdf", ".docx", ".txt")  # can be read, and cannot say whose copy they are
MAX_PROBLEMS = 100  # that are listed; the others are only counted
MAX_REMEMBERED = 5_000  # pages: an article cites some hundreds, a dump millions
_NEEDS_MANIFEST = "states no address of its own; name it in manifest.jsonl"


class Sources:
    """Stored copies of cited pages; `get` gives a document or the reason why there is none."""

    def __init__(self, folder: Path, limits: Limits = DEFAULT_LIMITS) -> None:
        self.folder = folder
        self.limits = limits
        self._loaders: dict[str, list[Loader]] = defaultdict(list)
        self._loose: dict[str, list[Loader]] = defaultdict(list)
        self._redirects: dict[str, str] = {}
        self._remembered: dict[str, Document | Unchecked] = {}
        self._problems: list[Problem] = []
        self._n_problems = 0
        for directory in self._directories(folder):
            self._index(directory)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What in the folder could not be used, with file and line."""
        more = self._n_problems - len(self._problems)
        rest = [Problem(str(self.folder), 0, f"{more:,} more problems")] if more else []
        return (*self._problems, *rest)

    def __len__(self) -> int:
        """Number of different addresses with a stored copy."""
        return len(self._loaders)

    def get(self, url: str) -> Document | Unchecked:
        """The stored copy of the page at `url`, or why it cannot be checked."""
        key = exact_key(url)
        if len(self._remembered) > MAX_REMEMBERED:
            self._remembered.clear()
        if key not in self._remembered:
            detail = f"none in {self.folder}; save the page there and name it in {collection.NAME}"
            missing = Unchecked(url, Reason.NOT_SUPPLIED, detail)
            self._remembered[key] = missing  # also the end of a circle of redirects
            self._remembered[key] = self._found(url) or missing
        return self._remembered[key]

    def _found(self, url: str) -> Document | Unchecked | None:
        """The first copy that can be read, else the first reason; then where a redirect leads."""
        loose = loose_key(url)
        loaders = [*self._loaders.get(exact_key(url), ()), *self._loose.get(loose, ())]
        first: Unchecked | None = None
        for loader in loaders:
            try:
                outcome = loader()
            except Exception as error:  # the file is gone or broken since it was indexed
                _LOG.warning("reading the copy of %s failed", url, exc_info=True)
                outcome = read.failed(url, error)
            if isinstance(outcome, Document):
                return outcome
            first = first or outcome
        target = self._redirects.get(loose)
        return first or (self.get(target) if target else None)

    def _index(self, directory: Path) -> None:
        """Take up the addresses in one directory; files named in its manifest once only."""
        files = sorted(p for p in directory.iterdir() if p.is_file() and not _hidden(p))
        for path in files:
            if not collection.is_inside(self.folder, path):
                self._problem(path, 0, collection.outside(path.name))
        files = [path for path in files if collection.is_inside(self.folder, path)]
        manifests = [directory / name for name in collection.NAMES]
        named = {file for path in manifests for file in self._index_manifest(path, files)}
        for path in files:
            if path in manifests or path.resolve() in named:
                continue
            try:
                self._index_file(path)
            except OSError as error:
                self._problem(path, 0, f"cannot be opened: {error.strerror or error}")
            except Exception as error:
                _LOG.warning("reading %s failed", path, exc_info=True)
                self._problem(path, 0, read.failed("", error).detail)

    def _index_manifest(self, path: Path, files: list[Path]) -> set[Path]:
        named: set[Path] = set()
        for entry in collection.entries(path) if path in files else ():
            if isinstance(entry, Problem):
                self._problem(path, entry.line, entry.message)
                continue
            self._add(entry.url, partial(entry.read, self.limits))
            if entry.file and not entry.fault:
                named.add(entry.file.resolve())
        return named

    def _index_file(self, path: Path) -> None:
        name = path.name.lower()
        if name.endswith(read.WARC_ENDINGS):
            self._index_warc(path)
        elif known := jsonl.format_of(path):
            self._index_lines(path, known)
        elif name.endswith(_SAVED_PAGES):
            self._index_page(path)
        elif name.endswith(_WITHOUT_ADDRESS):
            self._problem(path, 0, _NEEDS_MANIFEST)

    def _index_warc(self, path: Path) -> None:
        for record in warc.records(path, self.limits):
            if isinstance(record, Unchecked):
                if record.url.startswith("file:"):
                    self._problem(path, 0, record.detail)
                else:
                    self._add(record.url, partial(read.read_record, record, self.limits))
            elif record.location and record.status and 300 <= record.status < 400:
                target = _joined(record.url, record.location)
                self._redirects.setdefault(loose_key(record.url), target)
            else:
                self._add(record.url, partial(_read_archived, path, record.offset, self.limits))

    def _index_lines(self, path: Path, known: jsonl.LineFormat) -> None:
        if known is jsonl.QUERIES:
            for unread in known.read(path, self.limits):
                self._problem(path, 0, unread.detail if isinstance(unread, Unchecked) else "")
            return
        places: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for line, url in jsonl.addresses(path, known, self.limits):
            if url:
                places[url].append((line.number, line.offset))
            else:
                self._problem(path, line.number, line.broken or "no address in it")
        for url, at in places.items():
            self._add(url, partial(jsonl.document_at, path, known, at, self.limits))

    def _index_page(self, path: Path) -> None:
        with path.open("rb") as file:
            head = file.read(read.HEAD_BYTES)
        addresses = read.addresses_of(head, path.resolve().as_uri())
        for url in addresses:
            self._add(url, partial(collection.Entry(url, path).read, self.limits))
        if not addresses:
            self._problem(path, 0, _NEEDS_MANIFEST)

    def _add(self, url: str, loader: Loader) -> None:
        self._loaders[exact_key(url)].append(loader)
        self._loose[loose_key(url)].append(loader)

    def _problem(self, path: Path, line: int, message: str) -> None:
        self._n_problems += 1
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(Problem(str(path.relative_to(self.folder)), line, message))

    def _directories(self, folder: Path) -> Iterator[Path]:
        """The folder and all below it, but for hidden ones and links."""
        yield folder
        for path in sorted(folder.iterdir()):
            if path.is_dir() and not path.is_symlink() and not _hidden(path):
                try:
                    yield from self._directories(path)
                except PermissionError as error:
                    self._problem(path, 0, f"may not be listed: {error.strerror}")


def open_sources(folder: Path, limits: Limits = DEFAULT_LIMITS) -> Sources:
    """The stored pages in `folder`, its addresses read, its texts not yet.

    Raises:
        InputError: `folder` is no folder that can be listed.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; one with stored pages was expected.")
    try:
        return Sources(folder, limits)
    except PermissionError as error:
        raise InputError(f"{folder} may not be listed: {error.strerror}.") from error


def _hidden(path: Path) -> bool:
    return path.name.startswith(".")


def _read_archived(path: Path, offset: int, limits: Limits) -> Document | Unchecked:
    return read.read_record(warc.record_at(path, offset, limits), limits)


def _joined(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:
        return location
