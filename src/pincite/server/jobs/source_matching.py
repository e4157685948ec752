"""Which citation a file is the copy of, where nothing says so: no manifest, no address in the page.

A file counts as a citation's copy if it is named by the citation's number, as `pincite claims` has
it (`r7.pdf`), if it states the cited address or DOI, if it has the name under which the address is
saved, or if it has the cited title. What fits two different sources fits none: a wrong copy would
accuse a right citation.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from pincite.documents import formats, manifest, read
from pincite.documents.addresses import loose_key
from pincite.documents.formats import Format
from pincite.documents.lines import line_formats
from pincite.judgement.funnel import addresses
from pincite.server.jobs.source_files import Unused, Why
from pincite.text.identifiers import doi_in, doi_of, doi_of_url
from pincite.types import Article, Citation, Document, Unchecked

SENT = "sent"  # the folder of the files as they came, beside the manifest
HEAD = 3_000  # characters of a text in which its title and DOI stand
_NUMBERED = re.compile(r"r([1-9]\d{0,3})(?=[\W_]|$)")
_NAMELESS = frozenset({"index", "default", "download", "article", "document", "home", "main"})
NAME_LETTERS = 6  # of an address's last part: "vol2.pdf" is the name of many files
TITLE_WORDS = 3  # "Annual report" is the title of many documents
Key = tuple[str, str]  # what it is, and its value
_DOCUMENTS = frozenset(
    {Format.HTML, Format.PDF, Format.DOCX, Format.TEXT, Format.MARKDOWN, Format.JATS}
)

# What a file is, where its address's ending says otherwise: a page saved for "/report.pdf".
_TYPES = {Format.HTML: "text/html", Format.TEXT: "text/plain", Format.MARKDOWN: "text/markdown"}


class Matched(NamedTuple):
    """A file that became a citation's copy."""

    file: str
    citation_id: str


class Outcome(NamedTuple):
    """What became of the files of a folder."""

    matched: list[Matched]
    unused: list[Unused]
    n_named: int  # by a manifest, or in a collection that names its pages


class Cited:
    """What an article cites, by all that a file may know of it."""

    def __init__(self, article: Article) -> None:
        citations = [c for claim in article.claims for c in claim.citations]
        known = {c.citation_id: c for c in citations}
        self._found: dict[Key, list[Citation]] = {}
        for citation in known.values():
            for key in _keys_of(citation):
                self._found.setdefault(key, []).append(citation)

    def of(self, keys: Iterable[Key]) -> Citation | None:
        """The citation that the first fitting key names, if all that it names are one source."""
        for key in keys:
            if found := self._found.get(key):
                sources = {tuple(addresses(citation)) for citation in found}
                return found[0] if len(sources) == 1 else None
        return None


def matched(folder: Path, article: Article) -> Outcome:
    """Name in a manifest of `folder` the files in its folder `SENT` that are copies of sources.

    Files that a manifest of their sender's names, and collections, are left as they are.
    """
    cited, outcome, rows = Cited(article), Outcome([], [], 0), []
    n_named = 0
    for path, name in _files(folder / SENT):
        if name is None:
            n_named += 1
            continue
        found = _citation_of(path, name, cited)
        if isinstance(found, Unused):
            outcome.unused.append(found)
            path.unlink()  # else the report's warnings would name it again
        else:
            stored = folder / f"{len(outcome.matched) + 1:05d}{path.suffix.lower()}"
            path.rename(stored)
            row = {"file": stored.name, "content_type": _TYPES.get(_format(stored), "")}
            rows += [{"url": url, **row} for url in addresses(found)]
            outcome.matched.append(Matched(name, found.citation_id))
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / manifest.NAME).write_text(lines, encoding="utf-8")
    return outcome._replace(n_named=n_named)


def _files(folder: Path) -> Iterable[tuple[Path, str | None]]:
    """All files with the names that they were sent under; None for what names its own sources."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    named = {
        entry.file.resolve()
        for path in paths
        if path.name in manifest.NAMES
        for entry in manifest.entries(path)
        if isinstance(entry, manifest.Entry) and entry.file and not entry.fault
    }
    for path in paths:
        if path.name in manifest.NAMES:
            continue
        collects = path.name.lower().endswith(read.WARC_ENDINGS) or line_formats.reader_of(path)
        itself = bool(collects) or path.resolve() in named
        yield path, None if itself else path.relative_to(folder).as_posix()


def _citation_of(path: Path, name: str, cited: Cited) -> Citation | Unused:
    """The citation that a file is the copy of, or why it is of no use."""
    if _format(path) not in _DOCUMENTS:
        return Unused(name, Why.UNREADABLE)
    urls = read.addresses_of(_head(path), path.as_uri())
    found = cited.of(_of_name(path.stem, urls))
    if found is None:
        document = read.read_file(path)
        if isinstance(document, Unchecked):
            return Unused(name, Why.UNREADABLE, document.detail[:200])
        found = cited.of(_of_document(document))
    if found is None:
        return Unused(name, Why.NO_MATCH)
    return found if addresses(found) else Unused(name, Why.NO_ADDRESS, found.citation_id)


def _format(path: Path) -> Format:
    return formats.format_of(_head(path), path.as_uri(), None).format


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(read.HEAD_BYTES)


def _keys_of(citation: Citation) -> Iterable[Key]:
    """All by which a file may be known as a citation's."""
    yield "number", citation.citation_id.removeprefix("r")
    if doi := doi_of(citation.doi or ""):
        yield "doi", doi
    for url in addresses(citation):
        yield "url", loose_key(url)
        if doi := doi_of_url(url):
            yield "doi", doi.lower()
        if name := _saved_as(url):
            yield "name", name
    if title := _title(citation.title or ""):
        yield "title", title


def _of_name(stem: str, urls: Sequence[str]) -> Iterable[Key]:
    """Keys that a file's name gives, and the addresses that it states; the surest first.

    >>> list(_of_name("r7 Annual report", ["https://port.example/"]))[:2]
    [('number', '7'), ('url', 'port.example')]
    >>> list(_of_name("2019", []))
    []
    """
    if numbered := _NUMBERED.match(stem):
        yield "number", numbered[1]
    for url in urls:
        yield "url", loose_key(url)
    if name := _comparable(stem):
        yield "name", name
    if title := _title(stem):
        yield "title", title


def _of_document(document: Document) -> Iterable[Key]:
    """Keys that a text gives: a DOI at its beginning, its title with or without its site's name."""
    stated = doi_in(document.meta.get("doi", "") or document.text[:HEAD])
    if stated and (doi := doi_of(stated)):
        yield "doi", doi
    first = next((line for line in document.text.splitlines() if line.strip()), "")
    for said in (document.title, *re.split(r"\s[|–—-]\s", document.title), first):
        if title := _title(said):
            yield "title", title


def _saved_as(url: str) -> str:
    """The name that a browser saves an address under, without its ending; empty if it says little.

    >>> _saved_as("https://port.example/reports/Annual%20Review-2019.pdf")
    'annual review 2019'
    """
    try:
        last = unquote(urlsplit(url).path).rstrip("/").rpartition("/")[2]
    except ValueError:
        return ""
    return _comparable(last.rpartition(".")[0] or last)


def _comparable(stem: str) -> str:
    words = _words(stem)
    name = " ".join(words)
    return "" if len(name) < NAME_LETTERS or name in _NAMELESS else name


def _title(text: str) -> str:
    words = _words(text)
    return " ".join(words) if len(words) >= TITLE_WORDS else ""


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text).casefold()
    return re.findall(r"[^\W_]+", plain)


def as_values(outcome: Outcome, refused: list[Unused], n_files: int) -> Mapping[str, object]:
    """What the result's page says of the files that were sent, as JSON values."""
    unused = [*refused, *outcome.unused]
    return {
        "n_files": n_files,
        "n_named": outcome.n_named,
        "matched": [[each.file, each.citation_id] for each in outcome.matched],
        "unused": [[each.file, str(each.why), each.detail] for each in unused],
    }
