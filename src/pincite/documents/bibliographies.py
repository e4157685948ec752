"""Reads the text exports of reference managers and databases: RIS, BibTeX and PubMed's (.nbib).

Each record is a document. A record without an abstract is not read, as in PubMed's XML.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from lxml import etree
from lxml.builder import E  # type: ignore[import-not-found]  # the stubs lack it

from pincite.documents.body import GZIP, Body, Limits, decompress, head_of, too_large, unusable
from pincite.documents.papers import PUBMED, PUBMED_STATUS, Authors, join
from pincite.documents.text import clean_text, decode, one_line
from pincite.text import tables_beside
from pincite.text.dates import stated_date
from pincite.text.identifiers import doi_address, doi_in, doi_of_url, pmid_of_url, pubmed_address
from pincite.types import Document, Reason, Unchecked

RIS, BIBTEX = "ris", "bibtex"  # the readers' names in `sandbox.read_here`
_RIS_START = re.compile(rb"^(?:\xef\xbb\xbf)?TY  - ", re.MULTILINE)
_BIBTEX_START = re.compile(
    rb"(?:\xef\xbb\xbf|\s|%.*\n)*@[a-z]+\s*[{(]\s*[\w:./-]+\s*,", re.IGNORECASE
)
_PUBMED_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*PMID- ?\d")
_PUBMED_FIELD = re.compile(r"^([A-Z]{2,4}) *- ?(.*(?:\n {6}.*)*)", re.MULTILINE)
_NOTICES = dict(zip("RIN RRI PRIN ECI EIN CRI".split(), PUBMED_STATUS, strict=True))
_TAGS = tables_beside(__file__)["ris_tags"].items()
_MAPPING = {tag: name for name, tags in _TAGS for tag in tags.split()}
_LISTED = ["AU", "A1", "KW", "N1", "UR"]  # tags that a record may have several times
_BIBTEX_NAMES: Mapping[str, str] = tables_beside(__file__)["bibtex_names"]
_META = ("journal", "journal_abbreviation", "volume", "issue", "pages", "publisher", "issn")
_VERBATIM = frozenset({"doi", "url", "link"})  # "--" is no dash in them
_RETRACTED = re.compile(r"\bretracted publication\b", re.IGNORECASE)
_PMID = re.compile(r"\bPMID:? ?(\d{1,9})\b")
_ON_OTHER = re.compile(
    r"\b(?:erratum|comment|concern|correct|retract|update)\w* (?:for|in|of|on)\b", re.I
)
_ESCAPED = re.compile(r"\\([%&$#_])")
_COMMAND = re.compile(r"(?<!\\)\$[^$]{1,300}\$|\S*\\[^\s%&$#_]\S*")


def reader_of(path: Path) -> str:
    """The name of the reader for a file, by its beginning or ending; empty for other files."""
    head = head_of(path)
    if _PUBMED_START.match(head):
        return PUBMED
    if _RIS_START.search(head):
        return RIS
    return BIBTEX if path.suffix.lower() == ".bib" or _BIBTEX_START.match(head) else ""


def bodies(path: Path, reader: str, limits: Limits) -> Iterator[Body | Unchecked]:
    """Yield the records of a file, or a BibTeX file as a whole: its macros hold for all."""
    url, data = path.resolve().as_uri(), path.read_bytes()
    data = decompress(data, limits.max_bytes) if data.startswith(GZIP) else data
    if len(data) > limits.max_bytes:
        yield too_large(url, len(data), limits.max_bytes)
        return
    if reader == BIBTEX:
        yield Body(url, data, limits=limits)
        return
    if (text := decode(data)) is None:
        yield Unchecked(url, Reason.UNDECODABLE, "it is not text in any encoding")
        return
    start = "PMID-" if reader == PUBMED else "TY  - "
    _, *records = re.split(f"^(?={start})", text, flags=re.MULTILINE)
    for number, record in enumerate(records, 1):
        if reader == PUBMED:
            data = etree.tostring(_medline_to_xml(record))
            yield Body(f"{path.name} record {number}", data, limits=limits)
        else:
            yield Body(f"{url}#{number}", record.encode(), limits=limits)


def _medline_to_xml(record: str) -> Any:
    """Write a record of PubMed's text format as XML, so that `papers` alone reads its fields."""
    fields = defaultdict[str, list[str]](list)
    for tag, value in _PUBMED_FIELD.findall(record):
        fields[tag].append(one_line(value))

    def elements(**tag_of: str) -> list[Any]:
        return [E(name, value) for name, tag in tag_of.items() for value in fields[tag]]

    topics = (heading.lstrip("*").partition("/")[0] for heading in fields["MH"])
    notices = [(kind, source) for tag, kind in _NOTICES.items() for source in fields[tag]]
    ids = [("doi", doi[:-6]) for doi in fields["AID"] if doi.endswith(" [doi]")]
    ids += [("pmc", pmc) for pmc in fields["PMC"]]
    issue = [*elements(Volume="VI", Issue="IP"), E.PubDate(*elements(MedlineDate="DP"))]
    journal = elements(Title="JT", ISOAbbreviation="TA", ISSN="IS")
    names = elements(LastName="FAU" if fields["FAU"] else "AU", CollectiveName="CN")
    article = E.Article(
        *elements(ArticleTitle="TI", VernacularTitle="TT"),
        E.Abstract(*elements(AbstractText="AB")),
        E.Journal(*journal, E.JournalIssue(*issue)),
        E.Pagination(*elements(MedlinePgn="PG")),
        E.AuthorList(*map(E.Author, names)),
        E.PublicationTypeList(*elements(PublicationType="PT")),
    )
    citation = E.MedlineCitation(
        *elements(PMID="PMID"),
        article,
        E.MeshHeadingList(*(E.MeshHeading(E.DescriptorName(topic)) for topic in topics)),
        E.KeywordList(*elements(Keyword="OT")),
        E.CommentsCorrectionsList(
            *(E.CommentsCorrections(E.RefSource(source), RefType=kind) for kind, source in notices)
        ),
    )
    links = E.ArticleIdList(*(E.ArticleId(number, IdType=kind) for kind, number in ids))
    return E.PubmedArticle(citation, E.PubmedData(links))


class Record(NamedTuple):
    """The fields of one record, the names of its authors, and where it stands."""

    fields: Mapping[str, str]
    names: list[str]
    body: Body


def read_ris(body: Body) -> list[Document | Unchecked]:
    return [_document(record, RIS) for record in ris_records(body)]


def read_bibtex(body: Body) -> list[Document | Unchecked]:
    records = bibtex_records(body)
    return [e if isinstance(e, Unchecked) else _document(e, BIBTEX) for e in records]


def ris_records(body: Body) -> list[Record]:
    import rispy

    text = "\n".join([*body.data.decode().splitlines(), "ER  - "])
    (record,) = rispy.loads(text, mapping=_MAPPING, list_tags=_LISTED, skip_unknown_tags=True)
    names = [one_line(name) for name in record.pop("authors", [])]
    fields = {
        name: join(map(one_line, value)) if isinstance(value, list) else one_line(value)
        for name, value in record.items()
    }
    pages = (fields.get("first_page"), fields.get("last_page"))
    return [Record({**fields, "pages": "-".join(filter(None, pages))}, names, body)]


def bibtex_records(body: Body) -> list[Record | Unchecked]:
    from bibtexparser.entrypoint import parse_string
    from bibtexparser.middlewares import names as people
    from bibtexparser.model import Entry

    def authors_of(text: str) -> Iterator[str]:
        for person in people.split_multiple_persons_names(text):
            parts = people.parse_single_name_into_parts(person, strict=False)
            pieces = (parts.von + parts.last, parts.first, parts.jr)
            yield _plain_text(", ".join(" ".join(piece) for piece in pieces if piece))

    records: list[Record | Unchecked] = []
    library = parse_string(decode(body.data) or "")
    for number, block in enumerate(library.blocks, 1):
        place = Body(f"{body.url}#{number}", b"", limits=body.limits)
        entry = getattr(block, "ignore_error_block", block)  # of a key that occurs twice
        if isinstance(entry, Entry):
            stated = {field.key.lower(): str(field.value) for field in entry.fields}
            known = ((_BIBTEX_NAMES.get(name, name), text) for name, text in stated.items())
            fields = {
                name: _without_latex(text) if name in _VERBATIM else _plain_text(text)
                for name, text in known
            }
            fields.setdefault("date", f"{fields.get('year', '')} {fields.get('month', '')}")
            fields |= {"key": entry.key, "type": entry.entry_type.lower()}
            records.append(Record(fields, list(authors_of(stated.get("author", ""))), place))
        elif block in library.failed_blocks:
            line = (block.start_line or 0) + 1
            detail = f"{unquote(body.url.rpartition('/')[2])} line {line}: not a BibTeX entry"
            records.append(Unchecked(place.url, Reason.UNDECODABLE, detail))
    return records


def _plain_text(text: str) -> str:
    return _without_latex(text.replace("--", "–"))


def _without_latex(text: str) -> str:
    """Decode LaTeX: only formulas and words with commands, since whole texts take long."""
    text = _COMMAND.sub(lambda match: _latex_to_text(match[0]), text)
    return one_line(re.sub(r"[{}]", "", _ESCAPED.sub(r"\1", text)))


@lru_cache(maxsize=4096)  # accents and formulas recur
def _latex_to_text(command: str) -> str:
    from pylatexenc.latex2text import LatexNodes2Text

    return str(LatexNodes2Text().latex_to_text(command))


class Identifiers(NamedTuple):
    """Those of one paper; empty if it has none."""

    pmid: str
    doi: str
    link: str

    def address(self, otherwise: str) -> str:
        if self.pmid:
            return pubmed_address(self.pmid)
        return doi_address(self.doi) if self.doi else self.link or otherwise


def _identifiers(fields: Mapping[str, str], remarks: str) -> Identifiers:
    link = next((part for part in fields.get("url", "").split("; ") if "://" in part), "")
    own_remarks = (part for part in remarks.split("; ") if not _ON_OTHER.search(part))
    is_of_pubmed = "pubmed" in fields.get("database", "").lower()
    stated = [fields.get("pmid", ""), fields.get("number", "") if is_of_pubmed else ""]
    numbers = (*stated, *_PMID.findall("; ".join(own_remarks)))
    pmid = next(filter(str.isdecimal, numbers), pmid_of_url(link) or "")
    return Identifiers(pmid, doi_in(fields.get("doi", "")) or doi_of_url(link) or "", link)


def _document(record: Record, kind: str) -> Document | Unchecked:
    fields, names, body = record
    remarks = join(fields.get(name, "") for name in ("notes", "number", "url", "keywords"))
    identifiers = _identifiers(fields, remarks)
    url = identifiers.address(body.url)
    where = unquote(body.url.rpartition("/")[2]).replace("#", " record ")
    text = clean_text(fields.get("abstract", ""))
    if not text:
        return Unchecked(url, Reason.TITLE_ONLY, f"{where}: it has no abstract")
    if fault := unusable(text, url, where, body.limits):
        return fault
    types = f"{fields.get('publication_type', '')}; {remarks}".split("; ")
    found = ((part, match.start()) for part in types for match in _RETRACTED.finditer(part))
    is_retracted = any(not _ON_OTHER.search(part[:start]) for part, start in found)
    meta = {
        **{name: fields.get(name, "") for name in (*_META, "keywords", "publication_type")},
        "pmid": identifiers.pmid,
        "doi": identifiers.doi,
        "coverage": "abstract",
        **Authors(names, []).meta(),
        "retracted": "yes" if is_retracted else "",
    }
    return Document(
        url=url,
        title=fields.get("title", "").removesuffix("."),
        text=text,
        kind=kind,
        published=stated_date(fields.get("date", "")) or None,
        meta={name: value for name, value in meta.items() if value},
    )
