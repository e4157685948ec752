"""Reads the references of a file: an article, a bibliography, or a list in a text.

Each becomes a `Citation`, as in an article. Bibliographies are complete about authors and venue;
articles and lists may shorten them.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from pincite.documents import bibliographies, papers
from pincite.documents.body import DEFAULT_LIMITS, Body, head_of
from pincite.documents.read import read_path
from pincite.documents.text import one_line
from pincite.errors import InputError, usable
from pincite.references import imports
from pincite.references.works import Work, arxiv_of
from pincite.text import identifiers, tables_beside
from pincite.types import Citation, Span, Unchecked
from pincite.wiki.article import read_pages_of, references_of
from pincite.wiki.manuscripts import listed_references
from pincite.wiki.templates import Source, known_fields

NOWHERE = Span(0, 0)
_DOCUMENTS = (".pdf", ".docx", ".odt", ".rtf", ".epub", ".html.pdf")
_CSL_TYPES: Mapping[str, str] = tables_beside(__file__)["csl_types"]
_YEAR = re.compile(r"(?<![\d/.-])(1[5-9]\d\d|20\d\d)(?![\d/-])")
_AFTER_YEAR = re.compile(r"\(\d{4}[a-z]?\)[.,:]?\s+([^.?!]{10,300})[.?!]")  # APA: the title


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference of a file."""

    citation: Citation
    is_record: bool = False  # of a bibliography: complete about authors and venue
    kind: str = "document"  # as in CSL
    volume: str = ""
    issue: str = ""


def read(paths: Sequence[Path]) -> list[Reference]:
    """Return the references of files, each with its own id; raises InputError if one has none."""
    return [*_with_own_ids([reference for path in paths for reference in _read(path)])]


def _read(path: Path) -> list[Reference]:
    with usable(path):
        if str(path) != "-" and not path.is_file():
            raise InputError(f"{path} is no file. Expected references or an article.")
        references = [*_references(path)]
    if not references:
        raise InputError(
            f"{path} has no references. Expected an article, BibTeX, RIS, CSL-JSON, .nbib, or a "
            "list of references in a text, Word or PDF file."
        )
    return references


def _references(path: Path) -> Iterator[Reference]:
    head = b"" if str(path) == "-" else head_of(path)
    if path.suffix.lower() in _DOCUMENTS or head.startswith((b"%PDF", b"PK\x03\x04")):
        for document in read_path(path):
            if isinstance(document, Unchecked):
                why = f"{document.reason} {document.detail}".strip()
                raise InputError(f"{path} cannot be read: {why}")
            yield from map(_of_entry, listed_references(document.text))
        return
    reader = bibliographies.reader_of(path) if head else ""
    if reader == papers.PUBMED:
        for work in imports.read(path):
            if isinstance(work, Work):
                yield _reference_of(_fields_of(work), work.authors)
    elif re.match(rb"\s*\[\s*\{|\s*\{\s*\"", head):
        yield from map(_csl, _items(path))
    elif reader:
        for body in bibliographies.bodies(path, reader, DEFAULT_LIMITS):
            if isinstance(body, Body):
                yield from _of_bibliography(body, reader)
    else:
        yield from _of_text(path)


def _of_text(path: Path) -> Iterator[Reference]:
    pages = [*read_pages_of(path, None)]
    references = [_cited_reference(c) for page in pages for c in references_of(page)]
    yield from references
    if not references:
        yield from (
            _of_entry(listed) for page in pages for listed in listed_references(page.source)
        )


def _cited_reference(citation: Citation) -> Reference:
    """A reference of an article; without a template it is read like one of a list."""
    kind = (citation.template or "").removeprefix("cite ")
    if not (citation.template or citation.title or citation.url):
        for one in [_of_entry(source).citation for source in listed_references(citation.text)][:1]:
            named = {"title": one.title, "authors": one.authors, "date": one.date}
            citation = replace(citation, **named)  # type: ignore[arg-type]
    return Reference(citation, kind=_CSL_TYPES.get(kind, "document"))


def _of_entry(source: Source) -> Reference:
    """A reference in plain text: what stands before its title or year are its authors."""
    after_year = _AFTER_YEAR.search(source.text)
    title = source.fields.get("title") or (after_year[1] if after_year else "")
    at_title = source.text.find(title) if title else -1
    numbers = re.compile(r"https?://\S+|10\.\d{4,9}/\S+" + (f"|{re.escape(title)}" * bool(title)))
    years = [*_YEAR.finditer(numbers.sub(lambda match: "_" * len(match[0]), source.text))]
    ends = [at for at in (at_title, years[0].start() if years else -1) if at > 0]
    lead = source.text[: min(ends)].strip(" \"“„'.,(:;") if ends else ""
    named = identifiers.split_authors(re.sub(r"\b([A-Z])\.(?=\s|[A-Z]|,|\Z)", r"\1", lead))
    fields = {**source.fields, "title": title} | ({"date": years[0][0]} if years else {})
    known = known_fields(fields) | ({"authors": tuple(_pair_initials(named))} if named else {})
    return Reference(Citation("", NOWHERE, source.span, text=source.text, **known))


def _pair_initials(names: Sequence[str]) -> Iterator[str]:
    """Join "Holm" and "I M", which a comma separates like two names."""
    before = ""
    for piece in (piece.strip() for name in names for piece in name.split(",")):
        if before and re.fullmatch(r"(?:[A-Z]\b[ -]?){1,4}", piece):
            yield f"{before}, {piece}"
            before = ""
        elif piece:
            yield from filter(None, [before])
            before = piece
    yield from filter(None, [before])


def _of_bibliography(body: Body, reader: str) -> Iterator[Reference]:
    records: Sequence[bibliographies.Record | Unchecked]
    is_ris = reader == bibliographies.RIS
    records = bibliographies.ris_records(body) if is_ris else bibliographies.bibtex_records(body)
    for record in records:
        if not isinstance(record, Unchecked):
            yield _reference_of(record.fields, record.names)


def _reference_of(fields: Mapping[str, str], names: Sequence[str]) -> Reference:
    url = next((part for part in fields.get("url", "").split("; ") if "://" in part), None)
    stated = fields.get("doi", "")
    doi = identifiers.doi_in(stated) or stated or identifiers.doi_of_url(url or "") or ""
    of_arxiv = "arxiv" in (fields.get("database") or fields.get("archiveprefix", "")).lower()
    named = identifiers.identifiers_in(f"{url or ''} {fields.get('journal', '')}")
    arxiv = arxiv_of(doi) or (fields.get("number") if of_arxiv else named.get("arxiv"))
    numbers = fields.get("issn", "")  # RIS has ISBN and ISSN in one field
    is_isbn = len(re.sub(r"[^\dXx]", "", numbers)) >= 10
    more = ("et al.",) if names and names[-1].lower() in ("others", "et al", "et al.") else ()
    citation = Citation(
        fields.get("key", ""),
        NOWHERE,
        NOWHERE,
        text=fields.get("title", ""),
        url=url,
        title=fields.get("title") or None,
        publisher=fields.get("journal") or fields.get("publisher") or None,
        authors=(*names[:-1], *more) if more else tuple(names),
        date=fields.get("date", "").strip() or fields.get("year") or None,
        pages=fields.get("pages") or None,
        isbn=fields.get("isbn") or (numbers if is_isbn else None),
        issn=numbers if numbers and not is_isbn else None,
        doi=doi or None,
        pmid=fields.get("pmid") or identifiers.pmid_of_url(url or ""),
        pmc=fields.get("pmcid") or identifiers.pmc_of_url(url or ""),
        arxiv=arxiv or None,
    )
    kind = _CSL_TYPES.get(fields.get("type", "").lower(), "document")
    volume, issue = fields.get("volume", ""), fields.get("issue", "")
    return Reference(citation, True, kind, volume, issue)


def _items(path: Path) -> list[Mapping[str, Any]]:
    """The items of a CSL-JSON file: a list, or one item."""
    try:
        items = json.loads(path.read_text("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as CSL-JSON: {error}") from error
    listed = items if isinstance(items, list) else [items]
    return [item for item in listed if isinstance(item, dict)]


def _fields_of(work: Work) -> dict[str, str]:
    same = ("title", "doi", "pages", "pmid", "issn", "volume", "issue")
    named = {"journal": work.venue, "pmcid": work.pmc, "key": work.pmid, "type": "article"}
    year = "".join(map(str, work.years[:1]))
    return {name: getattr(work, name) for name in same} | named | {"date": year}


def _csl(item: Mapping[str, Any]) -> Reference:
    issued = item.get("issued") or {}
    parts = (issued.get("date-parts") or [[]])[0] or []
    date = "-".join(f"{int(part):02}" for part in parts[:3] if part) or str(issued.get("raw") or "")
    names = [imports.name_of_csl(author) for author in item.get("author") or ()]
    wanted = {
        "key": "id", "title": "title", "journal": "container-title", "doi": "DOI", "url": "URL",
        "pmid": "PMID", "pmcid": "PMCID", "issn": "ISSN", "isbn": "ISBN", "pages": "page",
        "volume": "volume", "issue": "issue", "publisher": "publisher",
    }  # fmt: skip
    fields = {ours: one_line(str(item.get(csl_name) or "")) for ours, csl_name in wanted.items()}
    reference = _reference_of(fields | {"date": date}, names)
    return replace(reference, kind=str(item.get("type") or "document"))


def _with_own_ids(references: Sequence[Reference]) -> Iterator[Reference]:
    used = set[str]()
    for number, reference in enumerate(references, 1):
        key = reference.citation.citation_id or f"r{number}"
        own = next(k for n in count(1) if (k := key if n == 1 else f"{key}-{n}") not in used)
        used.add(own)
        yield replace(reference, citation=replace(reference.citation, citation_id=own))
