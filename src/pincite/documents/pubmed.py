"""PubMed's baseline and update files, and what its E-utilities send: a document a record.

A document is a record's abstract, with the labels of its sections and with
abstracts in other languages. A record with a title only is no source and is passed over with its
own reason; so is one that PubMed deleted. Their order in time is `documents.collection`'s business.

Names of elements are those of NLM's DTD (pubmed_250101.dtd). Values that a record has several of
stand in one text with "; " between them, which filters take apart (`retrieval.filters`).
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pincite.documents.body import Body, Limits, mismatch, unusable
from pincite.documents.dates import first_date, iso_date, stated_date
from pincite.documents.text import language_of, one_line
from pincite.documents.xml_records import Broken, Record, line_of, parsed, records
from pincite.retrieval.filters import SEPARATOR
from pincite.types import Document, Reason, Unchecked

ROOTS = frozenset({"PubmedArticleSet", "PubmedBookArticleSet", "PubmedArticle"})
_NAMES = ("PubmedArticle", "PubmedBookArticle", "DeleteCitation", "DeleteDocument")
RECORD = "pubmed record"  # what `sandbox.read_here` calls `read_record`
_PMID = re.compile(rb"<PMID[^>]{0,50}>\s*(\d{1,12})\s*</PMID>")
_NO_LABEL = frozenset({"", "UNLABELLED", "UNLABELED", "UNASSIGNED"})
_OTHER = re.compile(r"\n\nAbstract \([^()\n]{1,40}\)\n\n")  # as `_text` writes it
_NO_TITLE = frozenset({"", "Not Available"})
_INITIALISM = re.compile(r"(?:\b[A-Z]\.){2,}$")
MANY_AUTHORS = 2  # more are "et al."
# ISO 639-2 (bibliographic), as PubMed states it, to ISO 639-1: the 40 most frequent languages.
_LANGUAGES = dict(
    pair.split(":")
    for pair in (
        "eng:en ger:de fre:fr spa:es ita:it por:pt rus:ru chi:zh jpn:ja pol:pl dut:nl dan:da "
        "swe:sv nor:no fin:fi cze:cs slo:sk hun:hu rum:ro bul:bg ukr:uk tur:tr gre:el heb:he "
        "ara:ar per:fa kor:ko hrv:hr srp:sr slv:sl ice:is est:et lav:lv lit:lt cat:ca tha:th "
        "vie:vi ind:id may:ms afr:af"
    ).split()
)
# Of `CommentsCorrections`, by what the other article is to this one. The first that is found wins.
_STATUS = {
    "RetractionIn": "yes",
    "RetractedandRepublishedIn": "yes",
    "PartialRetractionIn": "partly",
    "ExpressionOfConcernIn": "expression of concern",
    "ErratumIn": "corrected",
    "CorrectedandRepublishedIn": "corrected",
}
STATUS_RANKS = ("yes", "partly", "expression of concern", "corrected", "no")
_OTHER_WAY = {
    "RetractionOf": "retracts",
    "PartialRetractionOf": "retracts",
    "RetractedandRepublishedFrom": "retracts",
    "UpdateIn": "updated_by",
}
# Where a field stands whose words are its value, below the record; the first that has words.
_ARTICLE_FIELDS = {
    "journal": ("MedlineCitation/Article/Journal/Title",),
    "journal_abbreviation": (
        "MedlineCitation/Article/Journal/ISOAbbreviation",
        "MedlineCitation/MedlineJournalInfo/MedlineTA",
    ),
    "issn": ("MedlineCitation/Article/Journal/ISSN",),
    "volume": ("MedlineCitation/Article/Journal/JournalIssue/Volume",),
    "issue": ("MedlineCitation/Article/Journal/JournalIssue/Issue",),
}


def bodies(path: Path, limits: Limits) -> Iterator[Body | Unchecked]:
    """The records of a file; of a broken one, why there is none.

    A file that does not fit the checksum beside it (`.md5`) is not read at all.
    """
    if fault := mismatch(path):
        yield Unchecked(path.resolve().as_uri(), Reason.UNDECODABLE, fault)
        return
    for record in records(path, _NAMES, limits):
        where = f"{path.name} record {record.number}"
        if record.broken:
            yield _broken(record, where, record.broken, path)
        else:
            yield Body(where, record.data, limits=limits)


def read_record(body: Body) -> list[Document | Unchecked]:
    """What is in a record of a file; `body.url` says which it is."""
    where = body.url
    record = Record(1, "", body.data)
    try:
        element = parsed(record)
        if not element.tag.startswith("Delete"):
            return [_document(element, where, body.limits)]
        detail = f"deleted by PubMed in {where.rpartition(' record ')[0]}"
        numbers = filter(None, (one_line(pmid.text) for pmid in element.iterfind("PMID")))
        return [Unchecked(address(number), Reason.WITHDRAWN, detail) for number in numbers]
    except (Broken, RecursionError) as error:
        return [_broken(record, where, str(error))]


def address(pmid: str) -> str:
    """Where PubMed shows a record."""
    return f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/"


def _broken(record: Record, where: str, why: str, path: Path | None = None) -> Unchecked:
    """Why a record cannot be read; `path` is its file, where it is the file that is broken."""
    pmid = _PMID.search(record.data)
    url = address(pmid[1].decode()) if pmid else where
    if path and not record.name:
        url = path.resolve().as_uri()
    reason = Reason.TOO_LARGE if record.is_large else Reason.UNDECODABLE
    return Unchecked(url, reason, f"{where}: {why}")


def _document(record: Any, where: str, limits: Limits) -> Document | Unchecked:
    is_book = record.tag == "PubmedBookArticle"
    citation = record.find("BookDocument" if is_book else "MedlineCitation")
    pmid = one_line(citation.findtext("PMID")) if citation is not None else ""
    article = citation if is_book or citation is None else citation.find("Article")
    if article is None or not pmid.isdecimal():
        return Unchecked(where, Reason.UNDECODABLE, f"{where}: no PMID or no article in it")
    text, language = _text(citation, article)
    url = address(pmid)
    if not text:
        return Unchecked(url, Reason.TITLE_ONLY, f"{where}: it has no abstract")
    if fault := unusable(text, url, where, limits):
        return fault
    meta = _of_book(record, citation) if is_book else _of_article(record, citation, article)
    date = meta.pop("published")
    meta = {"pmid": pmid, **meta, **_of_both(citation, article), "coverage": "abstract"}
    # The title in English; where there is none, that of the original, or of the book.
    tags = ("ArticleTitle", "VernacularTitle", "Book/BookTitle")
    titles = (cleaned_title(line_of(article.find(tag))) for tag in tags)
    return Document(
        url=url,
        title=next((title for title in titles if title not in _NO_TITLE), ""),
        text=text,
        kind="pubmed",
        published=date or None,
        language=language,
        meta={name: value for name, value in meta.items() if value},
    )


def _text(citation: Any, article: Any) -> tuple[str, str | None]:
    """The abstract, then its other forms, each under a line that names it; and the language."""
    own = _sections(article.find("Abstract"))
    others = list[str]()
    for other in citation.iterfind("OtherAbstract"):
        if sections := _sections(other):
            stated = one_line(other.get("Language"))
            kind = "Plain-language summary" if "plain" in other.get("Type", "") else "Abstract"
            others += [f"{kind} ({stated})" if stated else kind, *sections]
    text = "\n\n".join((*own, *others))  # of lines that are cleaned
    if not text:
        return "", None
    if own:
        # PubMed's abstracts are English; few of articles in other languages are not.
        codes = _languages(article)
        return text, "en" if "en" in codes or not codes else language_of(text, "en")
    code = citation.find("OtherAbstract").get("Language", "").lower()
    return text, language_of(text.partition("\n\n")[2], _LANGUAGES.get(code, code))


def _sections(abstract: Any) -> list[str]:
    sections = []
    for part in abstract.iterfind("AbstractText") if abstract is not None else ():
        label, words = one_line(part.get("Label")), line_of(part)
        if words and label.upper() not in _NO_LABEL:
            words = f"{label.rstrip(':')}: {words}"
        sections.append(words)
    return [words for words in sections if words]


def in_own_words(text: str) -> str:
    r"""The text of a document of ours without the abstracts in other languages behind its own.

    >>> in_own_words("The rate fell.\n\nAbstract (fre)\n\nLe taux a baissé.")
    'The rate fell.'
    """
    return _OTHER.split(text, maxsplit=1)[0]


# ── Metadata ─────────────────────────────────────────────────────────────────────────────────────


def _of_article(record: Any, citation: Any, article: Any) -> dict[str, str]:
    """What only a journal's article has."""
    ids = _ids(record.find("PubmedData/ArticleIdList"))
    printed = article.find("Journal/JournalIssue/PubDate")
    version = citation.find("PMID").get("Version", "1")
    dois = (
        one_line(place.text)
        for place in article.iterfind("ELocationID[@EIdType='doi']")
        if place.get("ValidYN") != "N"
    )
    # The day on which it first came out, electronically or on paper.
    dates = [*map(_date_of, article.iterfind("ArticleDate")), _date_of(printed)]
    return {
        "version": "" if version == "1" else version,
        "doi": ids.get("doi") or next(dois, ""),
        "pmc": ids.get("pmc", ""),
        **_authors_of(article.iterfind("AuthorList/Author")).meta(),
        "published": first_date(dates),
        "pubdate": _date_shown(printed),
        **_mesh_of(citation.iterfind("MeshHeadingList/MeshHeading")),
        **{
            name: next(filter(None, (line_of(record.find(path)) for path in paths)), "")
            for name, paths in _ARTICLE_FIELDS.items()
        },
    }


def _of_book(record: Any, citation: Any) -> dict[str, str]:
    """What only a chapter of a book on NLM's Bookshelf has."""
    ids = _ids(citation.find("ArticleIdList")) | _ids(record.find("PubmedBookData/ArticleIdList"))
    lists = {tag.get("Type", ""): tag for tag in citation.iterfind("AuthorList")}
    authors = lists.get("authors", lists.get(""))
    dates = (citation.find(path) for path in ("ContributionDate", "Book/PubDate"))
    return {
        "doi": ids.get("doi", ""),
        "bookshelf": ids.get("bookaccession", ""),
        **_authors_of(authors if authors is not None else ()).meta(),
        "published": next(filter(None, map(_date_of, dates)), ""),
        "book": cleaned_title(line_of(citation.find("Book/BookTitle"))),
        "publisher": line_of(citation.find("Book/Publisher/PublisherName")),
        "isbn": all_of(citation.iterfind("Book/Isbn")),
    }


def _of_both(citation: Any, article: Any) -> dict[str, str]:
    types = [line_of(t) for t in article.iterfind("PublicationTypeList/PublicationType")]
    types += [line_of(t) for t in article.iterfind("PublicationType")]
    keywords = citation.iterfind("KeywordList/Keyword")
    ends = (article.findtext(f"Pagination/{tag}") for tag in ("StartPage", "EndPage"))
    pages = "-".join(page for page in map(one_line, ends) if page)
    return {
        "pages": one_line(article.findtext("Pagination/MedlinePgn")) or pages,
        "publication_type": joined(types),
        "keywords": joined(dict.fromkeys(all_of([k]) for k in keywords)),
        "article_language": joined(_languages(article)),
        "vernacular_title": cleaned_title(line_of(article.find("VernacularTitle"))),
        "revised": _date_of(citation.find("DateRevised")),
        **_corrections_of(citation, types),
    }


def _ids(element: Any) -> dict[str, str]:
    """The record's own identifiers, by their kind; those of what it cites stand elsewhere."""
    if element is None:
        return {}
    found = ((e.get("IdType", ""), one_line(e.text)) for e in element.iterfind("ArticleId"))
    return {kind: value for kind, value in found if value}


def cleaned_title(title: str) -> str:
    """A title without the brackets of a translation and without its full stop.

    >>> cleaned_title("[Trams and sleep.]"), cleaned_title("[Sic] and so on?")
    ('Trams and sleep', '[Sic] and so on?')
    """
    title = _without_stop(title)
    if title.startswith("[") and title.endswith("]"):
        depths, depth = [], 0
        for sign in title:
            depth += (sign == "[") - (sign == "]")
            depths.append(depth)
        if all(depths[:-1]):  # the bracket that opens it is closed by the last sign, not before
            return _without_stop(title[1:-1].strip())
    return title


def _without_stop(title: str) -> str:
    if title.endswith("...") or _INITIALISM.search(title):
        return title
    return title.removesuffix(".").rstrip()


class Authors(NamedTuple):
    """Names of people as "Holm, Ida Marie, Jr", and of groups, in the order of the record."""

    names: tuple[str, ...]
    groups: tuple[str, ...]  # those of the names that are no person's

    def meta(self) -> dict[str, str]:
        """As metadata; `author` as a reader knows them, "I. Holm and P. Berg", "I. Holm et al."."""
        shown = []
        for name in self.names[:2]:
            last, *fore = [name] if name in self.groups else name.split(", ")
            initials = " ".join(f"{word[0]}." for word in (fore[0].split() if fore else ()))
            shown.append(f"{initials} {last}".strip())
        short = f"{shown[0]} et al." if len(self.names) > MANY_AUTHORS else " and ".join(shown)
        return {"author": short, "authors": joined(self.names), "groups": joined(self.groups)}


def _authors_of(elements: Iterable[Any]) -> Authors:
    """The authors of an AuthorList; names that NLM marks as misspelt (ValidYN="N") are left out."""
    names, groups = [], []
    for author in elements:
        if author.get("ValidYN") == "N":
            continue
        if group := one_of(author.find("CollectiveName")):
            groups.append(group)
        parts = (one_of(author.find(tag)) for tag in ("LastName", "ForeName", "Suffix"))
        if name := group or ", ".join(filter(None, parts)):
            names.append(name)
    return Authors(tuple(names), tuple(groups))


def _date_of(element: Any) -> str:
    """The ISO date in an element with Year, Month, Day or with a MedlineDate; empty for None."""
    if element is None:
        return ""
    parts = {child.tag: child.text or "" for child in element}
    if parts.get("MedlineDate"):
        return stated_date(one_line(parts["MedlineDate"]))
    return iso_date(*(parts.get(tag, "") for tag in ("Year", "Month", "Day")))


def _date_shown(element: Any) -> str:
    """The same as PubMed shows it: "2019 Apr 7", "2000 Spring", "1998 Dec-1999 Jan"."""
    parts = {child.tag: one_line(child.text) for child in (element if element is not None else ())}
    tags = ("Year", "Season", "Month", "Day", "MedlineDate")
    return " ".join(part for tag in tags if (part := parts.get(tag)))


def _mesh_of(headings: Iterable[Any]) -> dict[str, str]:
    """MeSH headings, alone and with their qualifiers; under `mesh_major` the main topics."""
    found, major = dict[str, None](), dict[str, None]()
    for heading in headings:
        name = ""
        for part in heading:  # the descriptor, then its qualifiers
            words = one_of(part)
            is_descriptor = part.tag == "DescriptorName"
            name = words if is_descriptor else name
            topic = name if is_descriptor else f"{name}/{words}"
            if name and words:
                found[topic] = None
                if part.get("MajorTopicYN") == "Y":
                    major[name] = major[topic] = None
    return {"mesh": joined(found), "mesh_major": joined(major)}


def _corrections_of(citation: Any, types: Iterable[str]) -> dict[str, str]:
    """Whether the article is retracted, by what notices; what it retracts, if it is a notice.

    `retracted` is one of `STATUS_RANKS`.
    """
    status, notices = ["no"], []
    others: dict[str, list[str]] = {"retracts": [], "updated_by": []}
    if "Retracted Publication" in types:
        status.append("yes")
    for element in citation.iterfind("CommentsCorrectionsList/CommentsCorrections"):
        kind = element.get("RefType", "")
        pmid, source = one_line(element.findtext("PMID")), one_of(element.find("RefSource"))
        other = f"PMID {pmid} ({source})" if pmid and source else f"PMID {pmid}" if pmid else source
        if kind in _STATUS:
            status.append(_STATUS[kind])
            notices.append(f"{kind}: {other}")
        elif kind in _OTHER_WAY:
            others[_OTHER_WAY[kind]].append(other)
    values = {name: joined(references) for name, references in others.items()}
    return {"retracted": min(status, key=STATUS_RANKS.index), "notices": joined(notices)} | values


def _languages(article: Any) -> list[str]:
    """The languages of the article itself, ISO 639-1 where PubMed's code has one that is frequent.

    The abstract is nearly always English, whatever the article is written in.
    """
    codes = (one_line(element.text).lower() for element in article.iterfind("Language"))
    return [_LANGUAGES.get(code, code) for code in codes if code]


def joined(values: Iterable[str]) -> str:
    """Several values as one text that filters take apart."""
    return SEPARATOR.join(value for value in values if value)


def all_of(elements: Iterable[Any]) -> str:
    """The words of elements as one text that filters take apart."""
    return joined(map(one_of, elements))


def one_of(element: Any) -> str:
    """The words of an element, in which nothing looks like the border between two values."""
    return line_of(element).replace(SEPARATOR, ", ")
