"""The user's own copies as sources: read when they are attached, and again when they are cited.

A source may have several files, as chapters; the pages that a citation names choose among them, and
what is chosen is read as one document, whose pages keep the numbers that are printed on them.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import platformdirs

from pincite.documents.body import DEFAULT_LIMITS, Limits, too_large
from pincite.documents.clean import one_line
from pincite.documents.read import read_bytes
from pincite.errors import InputError
from pincite.judgement.own import SCHEME
from pincite.library.own_copies import OwnCopies, OwnCopy
from pincite.library.own_refs import Named, keys_of
from pincite.text.page_numbers import (
    LABELS,
    PAGES,
    PageRange,
    cited_pages,
    page_labels,
    page_starts,
)
from pincite.types import Citation, Document, Reason, Unchecked

_BETWEEN = "\n\n"  # two files
_ENDING = re.compile(r"\.[a-z0-9]{1,10}\Z")
_PAGES = re.compile(r"([0-9]{1,6})(?:\s*[-\u2010-\u2015]\s*([0-9]{1,6}))?\Z")


def folder_of(chosen: str) -> Path:
    """The folder of own copies: the setting, else one in the user's data folder."""
    if chosen:
        return Path(chosen).expanduser()
    return Path(platformdirs.user_data_dir("pincite")) / "own"


@dataclass(frozen=True, slots=True)
class OwnSources:
    """Called with a citation: the user's copy of its source, why it cannot be read, or None."""

    copies: OwnCopies
    limits: Limits = DEFAULT_LIMITS
    _read: dict[str, Document | Unchecked] = field(default_factory=dict)

    def __call__(self, citation: Citation) -> Document | Unchecked | None:
        """What the user has of the citation's source; None if that is nothing."""
        found = self.copies.of(keys_of(citation))
        if not found:
            return None
        chosen = chosen_by_pages(found, citation.pages or "")
        if not chosen:
            had = ", ".join(f"{c.pages[0]}–{c.pages[1]}" for c in found if c.pages)
            detail = f"your copy has the pages {had}, the citation names {citation.pages}"
            return Unchecked("", Reason.NOT_SUPPLIED, detail)
        documents = [self._document(copy) for copy in chosen]
        failed = next((d for d in documents if isinstance(d, Unchecked)), None)
        return failed or joined([d for d in documents if isinstance(d, Document)])

    def _document(self, copy: OwnCopy) -> Document | Unchecked:
        key = f"{copy.sha256} {copy.pages}"
        if key not in self._read:
            data = self.copies.read(copy)
            self._read[key] = (
                read_copy(data, copy.name, copy.pages, self.limits)
                if data is not None
                else _damaged(copy)
            )
        return self._read[key]


def attach(
    copies: OwnCopies,
    source: Named,
    path: Path,
    pages: tuple[int, int] | None = None,
    limits: Limits = DEFAULT_LIMITS,
    *,
    name: str = "",
) -> OwnCopy | Unchecked:
    """Read a file and keep it as the user's copy of a source, or say why it is of no use.

    Args:
        copies: where it is kept.
        source: what it is a copy of.
        path: the file.
        pages: numbers printed on its first and last page, if they are not those of the file.
        limits: of its size.
        name: what it is called, if it lies there under another name.

    Raises:
        InputError: there is no such file, or it has another number of pages.
    """
    data = _bytes_of(path, limits)
    if isinstance(data, Unchecked):
        return data
    name = name or path.name
    document = read_copy(data, name, pages, limits)
    if isinstance(document, Unchecked):
        return document
    n_pages = len(page_starts(document))
    if pages and n_pages and pages[1] - pages[0] + 1 != n_pages:
        raise InputError(
            f"{pages[0]}-{pages[1]} are {pages[1] - pages[0] + 1} pages, but {one_line(name)} "
            f"has {n_pages}. Give the numbers printed on its first and last page."
        )
    copy = OwnCopy(
        ref=source.ref,
        keys=source.keys,
        name=one_line(name) or "unnamed",
        sha256=hashlib.sha256(data).hexdigest(),
        n_bytes=len(data),
        pages=pages,
        n_pages=n_pages,
        n_words=len(document.text.split()),
        language=document.language or "",
        title=document.title,
    )
    return copies.attach(copy, data)


def read_copy(
    data: bytes, name: str, pages: tuple[int, int] | None, limits: Limits
) -> Document | Unchecked:
    """The document in a copy, its pages numbered from `pages` on; its address is its content's."""
    ending = _ENDING.search(name.lower())
    found = read_bytes(data, url=f"file:///copy{ending[0] if ending else ''}", limits=limits)
    found = replace(found, url=f"{SCHEME}{hashlib.sha256(data).hexdigest()}")
    if isinstance(found, Unchecked) or not pages:
        return found
    labels = [str(pages[0] + number) for number in range(len(page_starts(found)))]
    return replace(found, meta={**found.meta, LABELS: json.dumps(labels)}) if labels else found


def printed_pages(text: str) -> tuple[int, int]:
    """The numbers in `120-135`, or in `120` alone.

    Raises:
        InputError: it is neither.
    """
    match = _PAGES.match(text.strip())
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if last < first:
        raise InputError(f"pages are {text!r}; expected numbers as 120-135, the lower one first.")
    return first, last


def chosen_by_pages(copies: Sequence[OwnCopy], cited: str) -> list[OwnCopy]:
    """The copies that may hold the cited pages: those that say so, else those that do not say.

    None if all say which pages they have, and none has a cited one.
    """
    wanted = [pages for pages in cited_pages(cited) if isinstance(pages, PageRange)]
    if not wanted:
        return list(copies)
    holding = [
        copy
        for copy in copies
        if copy.pages and any(w.first <= copy.pages[1] and copy.pages[0] <= w.last for w in wanted)
    ]
    return holding or [copy for copy in copies if not copy.pages]


def joined(documents: Sequence[Document]) -> Document:
    """Several files of one source as one document; one alone is itself."""
    if len(documents) == 1:
        return documents[0]
    starts: list[int] = []
    labels: list[str] = []
    length = 0
    for document in documents:
        starts += [length + start for start in page_starts(document)]
        labels += page_labels(document)
        length += len(document.text) + len(_BETWEEN)
    first = documents[0]
    meta = {key: value for key, value in first.meta.items() if key not in (PAGES, LABELS)}
    if all(map(page_labels, documents)):  # else some pages would have two numbers
        meta |= {PAGES: json.dumps(starts), LABELS: json.dumps(labels)}
    return replace(
        first,
        url=SCHEME + "+".join(document.url.removeprefix(SCHEME) for document in documents),
        text=_BETWEEN.join(document.text for document in documents),
        meta=meta,
        anchors={},
    )


def _bytes_of(path: Path, limits: Limits) -> bytes | Unchecked:
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "not there, or no file"
        raise InputError(f"{path} is {kind}; a PDF, text or another document was expected.")
    try:
        if (size := path.stat().st_size) > limits.max_bytes:
            return too_large("", size, limits.max_bytes)
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} may not be read: {error.strerror}.") from error


def _damaged(copy: OwnCopy) -> Unchecked:
    detail = "your own copy is gone or damaged; attach it again"
    return Unchecked(f"{SCHEME}{copy.sha256}", Reason.UNDECODABLE, detail)
