"""Matches the files that a user supplied for an article with its citations.

A file counts as a citation's copy if a manifest or the page itself says so, if its name is the
citation's number in `pincite claims` (`r7.pdf`), if it states the cited address or DOI, if it has
the name under which a browser saves the address, or if it has the cited title. A file that fits two
sources is not used: a wrong copy would make a correct citation look wrong.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from pincite.documents import body, read
from pincite.documents.body import Format
from pincite.documents.collection import Entry, Loader, Problem, Sources, loose_key
from pincite.errors import attempt
from pincite.library.private_copies import citation_keys
from pincite.report import cells
from pincite.text.hosts import host_of
from pincite.text.identifiers import doi_in, doi_of, doi_of_url
from pincite.types import FILE, Article, Citation, Document, Failed, Unchecked
from pincite.verbs.verify.report import addresses
from pincite.verbs.verify.wording import name_of

HEAD = 3_000  # characters at the start of a text that are searched for its DOI
MAX_FILES = 2_000  # read to find a title or DOI; a long article cites a few hundred sources
MAX_DETAIL = 200  # characters of the reason why a file cannot be read
NAME_LETTERS = 6  # minimum length of a URL's last component: many files are called "vol2.pdf"
TITLE_WORDS = 3  # minimum words in a title: many documents are called "Annual report"
SITE_LETTERS = 4  # minimum letters of a word that names a website: not "the", "www", "news.co"
MAX_TITLE_WORDS = 20  # of a page's title with the name of its website
_CITATION_NUMBER = re.compile(r"r([1-9]\d{0,3})(?=[\W_]|$)")  # "r7 Annual report.pdf"
_GENERIC_NAMES = frozenset({"index", "default", "download", "article", "document", "home", "main"})

SHOWN = 20  # files that are printed of each kind
WHAT_TO_DO = (
    "`pincite claims` prints the numbers of the citations. Or add manifest.jsonl beside the files, "
    'with a line for each: {"url": "https://…", "file": "…"}'
)


class KeyKind(StrEnum):
    """What a file and a citation have in common, as it is printed."""

    NUMBER = "number"
    DOI = "DOI"
    ADDRESS = "address"
    FILE_NAME = "file name"
    TITLE = "title"
    TITLE_AND_SITE = "title and site"


class Key(NamedTuple):
    """A property by which a file is recognised as the copy of a citation."""

    kind: KeyKind
    value: str


Index = Mapping[Key, Sequence[Citation]]


class Unmatched(StrEnum):
    """Why a file is not used."""

    NO_MATCH = "no_match"
    SEVERAL = "several"
    UNREADABLE = "unreadable"
    TOO_MANY = "too_many"


WHY = {
    Unmatched.NO_MATCH: "matches no citation (name it after one, such as r7%(ending)s)",
    Unmatched.SEVERAL: "matches several citations (name it after one of %(detail)s)",
    Unmatched.UNREADABLE: "no text could be read from it (%(detail)s)",
    Unmatched.TOO_MANY: f"skipped: only the first {MAX_FILES:,} files are read",
}


class Match(NamedTuple):
    """A file, the citations of the source that it is a copy of, and how that was found."""

    file: str
    citations: Sequence[Citation]
    by: KeyKind

    @property
    def ids(self) -> str:
        return ", ".join(citation.citation_id for citation in self.citations)


class Unused(NamedTuple):
    """A file that is not used. `why`: one of `Unmatched`, or of a server's own reasons."""

    file: str
    why: str
    detail: str = ""

    def __str__(self) -> str:
        detail = cells.one_line(self.detail) or "unknown format"
        ending = Path(self.file).suffix.lower()
        return WHY[Unmatched(self.why)] % {"detail": detail, "ending": ending}


@dataclass(frozen=True, slots=True)
class ArticleFiles:
    """The files supplied for an article: those matched with citations, and all by address."""

    sources: Sources
    matches: Sequence[Match] = ()
    unused: Sequence[Unused] = ()
    _paths: Mapping[str, Sequence[Path]] = field(default_factory=dict)  # by key of the source
    _records: Mapping[str, Loader] = field(default_factory=dict)  # of collections, by title
    _documents: dict[tuple[str, str], Document | Unchecked] = field(default_factory=dict)  # read

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Problems with the files; a page saved for another article is none."""
        unnamed = {self.sources.name_of(path) for path in self.sources.unnamed}
        lost = [Problem(file.file, 0, str(file)) for file in self.unused if file.file in unnamed]
        return self.sources.problems(lost)

    def __call__(self, citation: Citation) -> Document | Unchecked | None:
        """Return the file of a citation, or why it cannot be read; None if it has none."""
        key = next((key for key in _source_keys(citation) if key in self._paths), None)
        if key is None:
            return self._record(citation)
        url = next(iter(addresses(citation)), "")
        if (key, url) not in self._documents:
            copies = [self._read(path, url) for path in self._paths[key]]
            readable = (copy for copy in copies if isinstance(copy, Document))
            self._documents[key, url] = next(readable, copies[0])
        return self._documents[key, url]

    def _record(self, citation: Citation) -> Document | Unchecked | None:
        """Return the record with the cited title, unless a file has the cited address."""
        load = self._records.get(_title(citation.title or ""))
        if load is None:
            return None
        pages = map(self.sources.get, addresses(citation))
        return None if any(isinstance(page, Document) for page in pages) else load()

    def _read(self, path: Path, url: str) -> Document | Unchecked:
        name = self.sources.name_of(path)
        # The address may have another extension, as that of a page saved for "/report.pdf".
        file_format, _ = body.format_of(body.head_of(path), path.absolute().as_uri(), None)
        media_type = next(iter(file_format.media_types), None)
        entry = Entry(
            url or f"file:{quote(name)}", path, content_type=media_type, meta={FILE: name}
        )
        return entry.read(self.sources.limits)


def match_files(
    sources: Sources,
    article: Article,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ArticleFiles:
    """Find the citation of each file that neither a manifest nor a collection describes."""
    index = _index(article)
    matches, unused = list[Match](), list[Unused]()
    paths: dict[str, list[Path]] = {}
    n_files = len(sources.single)
    for n, path in enumerate(sources.single[:MAX_FILES]):
        progress(n, n_files)
        name = sources.name_of(path)
        match: Callable[[], Match | Unused] = partial(_match, path, name, index)
        outcome = attempt(match, partial(_unreadable, name))
        if isinstance(outcome, Unused):
            unused.append(outcome)
            continue
        matches.append(outcome)
        for key in {key for citation in outcome.citations for key in _source_keys(citation)}:
            paths.setdefault(key, []).append(path)
    excess = map(sources.name_of, sources.single[MAX_FILES:])
    unused += [Unused(name, Unmatched.TOO_MANY) for name in excess]
    progress(n_files, n_files)
    return ArticleFiles(sources, matches, unused, paths, _records_by_title(sources))


def _records_by_title(sources: Sources) -> dict[str, Loader]:
    """Return the records of collections whose title no record at another address has."""
    loaders: dict[str, dict[str, Loader]] = {}
    for stated, url, loader in sources.titles:
        if title := _title(stated):
            loaders.setdefault(title, {})[url] = loader
    return {
        title: next(iter(by_url.values())) for title, by_url in loaders.items() if len(by_url) == 1
    }


def describe(files: ArticleFiles) -> list[str]:
    """Say which file is a copy of which citation, and what to do about the others."""
    sources, lines = files.sources, list[str]()
    lost = [problem for problem in files.warnings if not problem.line]
    if sources.single or not sources.n_named:
        n_files = cells.n_of(len(sources.single), "file")
        lines.append(f"{len(files.matches)} of {n_files} matched to citations.")
    if sources.n_named:
        n_named = cells.n_of(sources.n_named, "file")
        lines.append(f"{n_named} with records, or named by a manifest.")
    lines += _first_lines(
        f"{match.file} → {match.ids} {cells.shorten(name_of(match.citations[0]), 60)}"
        f" (by {match.by})"
        for match in files.matches
    )
    if lost:
        lines.append(f"{cells.n_of(len(lost), 'file')} left out:")
        lines += [*_first_lines(map(str, lost)), WHAT_TO_DO]
    known = {problem.file for problem in lost}
    if others := [file.file for file in files.unused if file.file not in known]:
        verb = "matches" if len(others) == 1 else "match"
        lines.append(f"{cells.n_of(len(others), 'other file')} {verb} no citation:")
        lines += _first_lines(others)
    return lines


def _first_lines(lines: Iterable[str]) -> list[str]:
    indented = [f"  {cells.one_line(line)}" for line in lines]
    n_more = len(indented) - SHOWN
    return [*indented[:SHOWN], f"  … and {n_more} more"] if n_more > 0 else indented


def _match(path: Path, name: str, index: Index) -> Match | Unused:
    """Match a file by its name, else by its text."""
    head, uri = body.head_of(path), path.absolute().as_uri()
    file_format, format_name = body.format_of(head, uri, None)
    if not file_format.reader:
        return Unused(name, Unmatched.UNREADABLE, format_name)
    by_name = _look_up(index, name, _keys_of_name(path.stem, read.addresses_of(head, uri)))
    if isinstance(by_name, Match) or file_format is Format.IMAGE:  # many are of saved pages
        return by_name
    document = read.read_file(path)
    if isinstance(document, Unchecked):
        return _unreadable(name, document)
    by_text = _look_up(index, name, _keys_of_document(document))
    is_better = isinstance(by_text, Match) or by_name.why == Unmatched.NO_MATCH
    return by_text if is_better else by_name


def _unreadable(name: str, why: Unchecked | Failed) -> Unused:
    return Unused(name, Unmatched.UNREADABLE, why.detail[:MAX_DETAIL])


def _look_up(index: Index, name: str, keys: Iterable[Key]) -> Match | Unused:
    """Return the citations of the first known key, unless they name different sources."""
    key = next((key for key in keys if key in index), None)
    if key is None:
        return Unused(name, Unmatched.NO_MATCH)
    citations = index[key]
    if not set.intersection(*(set(_source_keys(citation)) for citation in citations)):
        numbers = ", ".join(citation.citation_id for citation in citations)
        return Unused(name, Unmatched.SEVERAL, numbers)
    return Match(name, citations, key.kind)


def _source_keys(citation: Citation) -> list[str]:
    """Return keys that two citations of one source share."""
    keys = [loose_key(url) for url in addresses(citation)]
    return keys or [*citation_keys(citation)] or [citation.citation_id.partition("-")[0]]


def _index(article: Article) -> Index:
    """Return the citations of an article by the keys that a file may have."""
    citations = {c.citation_id: c for claim in article.claims for c in claim.citations}
    index: dict[Key, list[Citation]] = {}
    for citation in citations.values():
        for key in dict.fromkeys(_keys_of_citation(citation)):
            index.setdefault(key, []).append(citation)
    return index


def _keys_of_citation(citation: Citation) -> Iterator[Key]:
    number = citation.citation_id.removeprefix("r").partition("-")[0]  # r7-2 is [7] cited again
    yield Key(KeyKind.NUMBER, number)
    if doi := doi_of(citation.doi or ""):
        yield Key(KeyKind.DOI, doi)
    for url in addresses(citation):
        yield Key(KeyKind.ADDRESS, loose_key(url))
        if doi := doi_of_url(url):
            yield Key(KeyKind.DOI, doi.lower())
        if name := _saved_name(url):
            yield Key(KeyKind.FILE_NAME, name)
    if title := _title(citation.title or ""):
        yield Key(KeyKind.TITLE, title)
    if citation.title:
        for site in _site_words(citation):
            yield _title_and_site(_words(citation.title), site)


def _site_words(citation: Citation) -> set[str]:
    """Return the words of the name and of the host of a citation's website."""
    words = (*_words(citation.publisher or ""), *host_of(citation.url or "").split(".")[:-1])
    return {word for word in words if len(word) >= SITE_LETTERS}


def _title_and_site(title: Sequence[str], site: str) -> Key:
    return Key(KeyKind.TITLE_AND_SITE, f"{' '.join(title)} | {site}")


def _keys_of_page_title(text: str) -> Iterator[Key]:
    """Yield keys for "Our story | Friends", a page's title that begins with the cited one."""
    words = _words(text)[:MAX_TITLE_WORDS]
    for n in range(2, len(words)):  # "History" alone begins the titles of many pages
        for site in words[n:]:
            yield _title_and_site(words[:n], site)


def _keys_of_name(stem: str, urls: Sequence[str]) -> Iterator[Key]:
    """Yield keys from a file's name and from the URLs that it states, most reliable first.

    >>> [key.value for key in _keys_of_name("r7 Annual report", ["https://port.example/"])][:2]
    ['7', 'port.example']
    >>> list(_keys_of_name("2019", []))
    []
    """
    if numbered := _CITATION_NUMBER.match(stem):
        yield Key(KeyKind.NUMBER, numbered[1])
    for url in urls:
        yield Key(KeyKind.ADDRESS, loose_key(url))
    if name := _comparable_name(stem):
        yield Key(KeyKind.FILE_NAME, name)
    if title := _title(stem):
        yield Key(KeyKind.TITLE, title)
    yield from _keys_of_page_title(stem)


def _keys_of_document(document: Document) -> Iterator[Key]:
    """Yield a DOI near the start of a text, and its title with and without the site's name."""
    stated = doi_in(document.meta.get("doi", "") or document.text[:HEAD])
    if stated and (doi := doi_of(stated)):
        yield Key(KeyKind.DOI, doi)
    first_line = next((line for line in document.text.splitlines() if line.strip()), "")
    parts_of_title = re.split(r"\s[|–—-]\s", document.title)
    for text in (document.title, *parts_of_title, first_line):
        if title := _title(text):
            yield Key(KeyKind.TITLE, title)
    yield from _keys_of_page_title(document.title)


def _saved_name(url: str) -> str:
    """Return the name under which a browser saves a URL, without extension; empty if too generic.

    >>> _saved_name("https://port.example/reports/Annual%20Review-2019.pdf")
    'annual review 2019'
    """
    try:
        last = unquote(urlsplit(url).path).rstrip("/").rpartition("/")[2]
    except ValueError:
        return ""
    return _comparable_name(last.rpartition(".")[0] or last)


def _comparable_name(stem: str) -> str:
    name = " ".join(_words(stem))
    return "" if len(name) < NAME_LETTERS or name in _GENERIC_NAMES else name


def _title(text: str) -> str:
    words = _words(text)
    return " ".join(words) if len(words) >= TITLE_WORDS else ""


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text).casefold()
    return re.findall(r"[^\W_]+", plain)
