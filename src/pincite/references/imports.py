"""Reads files of records for the catalogue, one record at a time.

Crossref's and OpenAlex's JSON lines, Crossref's public data files (`items` in a .json.gz), PubMed's
XML and text, DBLP's XML, and Retraction Watch's CSV. A record that cannot be read is None: it costs
itself. The format is told by what the file contains.
"""

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO, Any

from pincite.documents import bibliographies, papers
from pincite.documents.body import DEFAULT_LIMITS, GZIP, head_of
from pincite.documents.markup import Broken, line_of, parse_record, records, root_of
from pincite.documents.text import one_line
from pincite.errors import InputError, usable
from pincite.references.works import (
    ABOUT_OTHERS,
    KINDS,
    Imported,
    Notice,
    NoticeKind,
    Work,
    arxiv_of,
    kind_of,
    notice_record,
)
from pincite.text import patterns
from pincite.text.dates import iso_date, stated_date
from pincite.text.identifiers import doi_of, isbn13, pmid_of
from pincite.types import Unchecked

# What reading a record raises if it is not as documented.
MALFORMED = (Broken, KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError)
# How publishers mark the titles of works; a notice has a title of its own, "Retraction of: …".
_MARK = patterns(__file__, "imports")["mark"]
MOST_JSON = 500_000_000  # characters of a file that is one value; Crossref's have 30 million
_PREPRINT = frozenset(("posted-content", "preprint", "Preprint"))
_NOTICE_TYPES = frozenset(("erratum", "retraction"))  # of OpenAlex
_INVERSE = re.compile(r"(?:Of|For)\Z")  # "RetractionOf" is what a notice says of another record
_DBLP_RECORDS = (
    *("article", "inproceedings", "proceedings", "book", "incollection", "phdthesis"),
    "mastersthesis",
)


def read(path: Path) -> Iterator[Imported]:
    """Yield the records of a file; raises InputError if it is missing or in another format."""
    with usable(path):
        head = head_of(path)
        root = root_of(head)
        if root == "dblp":
            for record in records(path, _DBLP_RECORDS, DEFAULT_LIMITS):
                yield from try_make(dblp_work, record.data, "DBLP")
        elif root.startswith("Pubmed"):
            for record in records(path, ("PubmedArticle",), DEFAULT_LIMITS):
                yield from try_make(pubmed_work, record.data, "PubMed")
        elif bibliographies.reader_of(path) == papers.PUBMED:
            for body in bibliographies.bodies(path, papers.PUBMED, DEFAULT_LIMITS):
                data = b"" if isinstance(body, Unchecked) else body.data
                yield from try_make(pubmed_work, data, "PubMed")
        elif b"RetractionDOI" in head[:2_000]:
            with _text(path) as file:
                for row in csv.DictReader(file):
                    yield from try_make(retraction_watch, row, "Retraction Watch")
        elif head.lstrip()[:1] in (b"{", b"["):
            yield from _of_json(path)
        else:
            raise InputError(
                f"{path} has no records of works. Expected Crossref or OpenAlex JSON lines, "
                "Crossref's public data file, PubMed, DBLP, or Retraction Watch's CSV."
            )


def _text(path: Path) -> IO[str]:
    with path.open("rb") as file:
        packed = file.read(2) == GZIP
    if packed:
        return io.TextIOWrapper(gzip.open(path), "utf-8-sig", "replace", newline="")
    return path.open(encoding="utf-8-sig", errors="replace", newline="")


def try_make(
    make: Callable[[Any], Iterable[Imported]], record: Any, source: str
) -> Iterator[Imported]:
    """Yield what `make` makes of a record; None if that is not as documented."""
    try:
        made = list(make(record))
    except MALFORMED:
        yield None
        return
    for work in made:
        yield work and with_notice(replace(work, source=source))


def with_notice(work: Work) -> Work:
    """Turn a mark in a work's title into a notice."""
    if not (mark := _MARK.search(work.title)):
        return work
    kind = NoticeKind.WITHDRAWN if mark["withdrawn"] else NoticeKind.RETRACTED
    is_known = any(notice.kind is kind for notice in work.notices)
    notices = work.notices if is_known else (*work.notices, Notice(kind, stated_by=work.source))
    return replace(work, title=_MARK.sub("", work.title), notices=notices)


def _of_json(path: Path) -> Iterator[Imported]:
    with _text(path) as file:
        first = file.readline(DEFAULT_LIMITS.line_bytes)
        try:
            records_in: Iterator[Any] = chain([json.loads(first)], map(_json_of, file))
        except ValueError:  # one value on several lines: a public data file, or a list
            whole = json.loads(first + file.read(MOST_JSON))
            records_in = iter(whole if isinstance(whole, list) else [whole])
        for record in records_in:
            items = record.get("items") if isinstance(record, dict) else None
            for item in items if isinstance(items, list) else [record]:
                is_openalex = isinstance(item, dict) and "openalex" in str(item.get("id", ""))
                make, source = (openalex, "OpenAlex") if is_openalex else (crossref, "Crossref")
                yield from try_make(make, item, source)


def _json_of(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return {} if not line.strip() else None


def crossref(item: Mapping[str, Any]) -> Iterator[Imported]:
    """Read a work of Crossref's REST API; a notice also says which works it is about."""
    doi = str(item["DOI"]).lower()
    own = [n for link in item.get("updated-by") or () for n in _notice(link, link.get("DOI", ""))]
    relation = item.get("relation") or {}
    for later in (*relation.get("is-replaced-by", ()), *relation.get("is-preprint-of", ())):
        own += [Notice(NoticeKind.SUPERSEDED, doi_of(later["id"]) or "", "", "Crossref")]
    title = ": ".join(map(one_line, (*item.get("title", ())[:1], *item.get("subtitle", ())[:1])))
    notices = [
        notice_record(notice, [("doi", target)])
        for link in item.get("update-to") or ()
        for notice in _notice(link, doi)
        if (target := doi_of(str(link.get("DOI", ""))))
    ]
    kind = str(item.get("type", ""))
    dates = (item.get(name, {}) for name in ("published-print", "published-online", "issued"))
    years = [int(d["date-parts"][0][0]) for d in dates if d and d.get("date-parts", [[None]])[0][0]]
    yield Work(
        title,
        tuple(filter(None, map(name_of_csl, item.get("author") or item.get("editor") or ()))),
        tuple(dict.fromkeys(years)),
        one_line(next(iter(item.get("container-title") or ()), "")),
        doi,
        isbns=isbns_of(item.get("ISBN") or ()),
        issn=next(iter(item.get("ISSN") or ()), ""),
        kind=_kind(kind, notices),
        volume=str(item.get("volume", "")),
        issue=str(item.get("issue", "")),
        pages=str(item.get("page", "")),
        publisher=one_line(item.get("publisher")),
        arxiv=arxiv_of(doi),
        notices=tuple(own),
    )
    yield from notices


def _kind(stated: str, notices: Sequence[Work] = ()) -> str:
    """The kind of a record; one that is about other works is a notice, but not a new version."""
    kinds = {notice.kind for work in notices for notice in work.notices}
    if stated in _NOTICE_TYPES or kinds - {NoticeKind.SUPERSEDED}:
        return ABOUT_OTHERS
    return "preprint" if stated in _PREPRINT else stated


def _notice(update: Mapping[str, Any], doi: str) -> Iterator[Notice]:
    parts = update.get("updated", {}).get("date-parts", [[]])[0]
    if kind := kind_of(str(update.get("type", ""))):
        day = iso_date(*map(str, parts[:3])) if parts else ""
        yield Notice(kind, doi.lower(), day, str(update.get("source") or "Crossref"))


def name_of_csl(author: Mapping[str, Any]) -> str:
    parts = (one_line(author.get(part)) for part in ("family", "given"))
    return ", ".join(filter(None, parts)) or one_line(author.get("name") or author.get("literal"))


def isbns_of(stated: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(isbn for text in stated if (isbn := isbn13(text))))


def openalex(item: Mapping[str, Any]) -> Iterator[Work]:
    """Read a work of OpenAlex."""
    ids, place = item.get("ids") or {}, item.get("primary_location") or {}
    venue, parts = place.get("source") or {}, item.get("biblio") or {}
    doi = doi_of(item.get("doi") or "") or ""
    names = (one_line(part["author"].get("display_name")) for part in item.get("authorships") or ())
    stated = Notice(NoticeKind.RETRACTED, stated_by="OpenAlex")
    yield Work(
        one_line(item.get("title") or item["display_name"]),
        tuple(filter(None, names)),
        (int(item["publication_year"]),) if item.get("publication_year") else (),
        one_line(venue.get("display_name")),
        doi,
        pmid=pmid_of(str(ids.get("pmid") or "")) or "",
        pmc=str(ids.get("pmcid") or "").rpartition("/")[2].upper().removeprefix("PMC"),
        arxiv=arxiv_of(doi),
        issn=venue.get("issn_l") or "",
        kind=_kind(str(item.get("type") or "")),
        volume=parts.get("volume") or "",
        issue=parts.get("issue") or "",
        pages="-".join(filter(None, (parts.get("first_page"), parts.get("last_page")))),
        publisher=one_line(venue.get("host_organization_name")),
        notices=(stated,) if item.get("is_retracted") else (),
    )


def pubmed_work(data: bytes) -> Iterator[Imported]:
    """Read a `PubmedArticle`."""
    record = parse_record(data)
    article = record.find("MedlineCitation/Article")
    fields = papers.texts_at(papers.PUBMED_PATHS, record)
    types = {line_of(t) for t in article.iterfind("PublicationTypeList/PublicationType")}
    printed = stated_date(" ".join(article.find("Journal/JournalIssue/PubDate").itertext()))
    online = [papers.pubmed_date(day) for day in article.iterfind("ArticleDate")]
    is_retracted = "Retracted Publication" in types
    notices = [Notice(NoticeKind.RETRACTED, stated_by="PubMed")] * is_retracted
    doi, others = doi_of(fields["doi"]) or "", list[Work]()
    for element in record.iterfind("MedlineCitation/CommentsCorrectionsList/CommentsCorrections"):
        kind, source = element.get("RefType", ""), line_of(element.find("RefSource"))
        by, inverse = one_line(element.findtext("PMID")), _INVERSE.sub("In", kind)
        if stated := kind_of(papers.PUBMED_STATUS.get(kind, "")):
            notices = [n for n in notices if n.date or n.kind is not stated]
            notices.append(Notice(stated, "", stated_date(source), "PubMed"))
        elif by and (other := kind_of(papers.PUBMED_STATUS.get(inverse, ""))):
            notice = Notice(other, doi, printed, "PubMed")
            others.append(notice_record(notice, [("pmid", by)]))
    yield from others
    yield Work(
        papers.cleaned_title(line_of(article.find("ArticleTitle"))),
        tuple(papers.pubmed_authors(article.iterfind("AuthorList/Author")).names),
        tuple(dict.fromkeys(int(day[:4]) for day in (printed, *online) if day)),
        fields["journal"],
        doi,
        pmid=one_line(record.findtext("MedlineCitation/PMID")),
        pmc=fields["pmc"].upper().removeprefix("PMC"),
        issn=fields["issn"],
        kind=_kind("Preprint" if "Preprint" in types else "article", others),
        volume=fields["volume"],
        issue=fields["issue"],
        pages=one_line(article.findtext("Pagination/MedlinePgn")),
        notices=tuple(notices),
    )


def dblp_work(data: bytes) -> Iterator[Work]:
    """Read a publication of DBLP; "Wei Wang 0001" is one of several of that name."""
    record = parse_record(data)
    links = [one_line(link.text) for link in record.iterfind("ee")]
    doi = next(filter(None, map(doi_of, links)), "")
    names = (line_of(author).rstrip(" 0123456789") for author in record.iterfind("author"))
    venues = (line_of(record.find(tag)) for tag in ("journal", "booktitle"))
    volume = line_of(record.find("volume"))  # of a preprint: "abs/2101.00001"
    publication = record.get("publtype", "")
    notice = Notice(NoticeKind.WITHDRAWN, stated_by="DBLP")
    yield Work(
        line_of(record.find("title")).removesuffix("."),
        tuple(filter(None, names)),
        (int(record.findtext("year")),) if record.findtext("year") else (),
        next(filter(None, venues), ""),
        doi,
        arxiv=arxiv_of(doi) or (volume.removeprefix("abs/") if volume.startswith("abs/") else ""),
        isbns=isbns_of(map(line_of, record.iterfind("isbn"))),
        kind="preprint" if "informal" in publication else record.tag,
        volume=volume,
        issue=line_of(record.find("number")),
        pages=line_of(record.find("pages")),
        publisher=line_of(record.find("publisher")),
        notices=(notice,) if "withdrawn" in publication else (),
    )


def retraction_watch(row: Mapping[str, str]) -> Iterator[Work]:
    """Read the work of a row, and its notice; dates are written month first: "12/31/2020 0:00"."""
    stated = {"doi": doi_of(row["OriginalPaperDOI"]), "pmid": row["OriginalPaperPubMedID"].strip()}
    ids = {name: value for name, value in stated.items() if value and value != "0"}
    printed, noticed = (
        [*row[name].partition(" ")[0].split("/"), "", "", ""][:3]
        for name in ("OriginalPaperDate", "RetractionDate")
    )
    month, day, year = noticed
    doi = doi_of(row.get("RetractionDOI") or "") or ""
    kind = KINDS[row["RetractionNature"].strip().lower()]
    if ids:
        years = (int(printed[2]),) if printed[2] else ()
        names = tuple(filter(None, map(str.strip, (row.get("Author") or "").split(";"))))
        yield Work(one_line(row["Title"]), names, years, one_line(row["Journal"]), **ids)  # type: ignore[arg-type]
        notice = Notice(kind, doi, iso_date(year, month, day), "Retraction Watch")
        yield notice_record(notice, ids.items())
