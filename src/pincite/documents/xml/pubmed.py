"""PubMed's baseline and update files, and what its E-utilities send: a document a record.

Decision hidden here: a document is a record's abstract, with the labels of its sections and with
abstracts in other languages. A record with a title only is no source and is passed over with its
own reason; so is one that PubMed deleted. Their order in time is `documents.editions`' business.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pincite.documents.body import Body, Limits, unusable
from pincite.documents.checksum import mismatch
from pincite.documents.clean import one_line
from pincite.documents.language import language_of
from pincite.documents.xml import pubmed_fields as fields
from pincite.documents.xml import records
from pincite.documents.xml.records import Broken, Record, line_of
from pincite.types import Document, Reason, Unchecked

ROOTS = frozenset({"PubmedArticleSet", "PubmedBookArticleSet", "PubmedArticle"})
_NAMES = ("PubmedArticle", "PubmedBookArticle", "DeleteCitation", "DeleteDocument")
RECORD = "pubmed record"  # what `sandbox.read_here` calls `read_record`
_PMID = re.compile(rb"<PMID[^>]{0,50}>\s*(\d{1,12})\s*</PMID>")
_NO_LABEL = frozenset({"", "UNLABELLED", "UNLABELED", "UNASSIGNED"})
_OTHER = re.compile(r"\n\nAbstract \([^()\n]{1,40}\)\n\n")  # as `_other` writes it
_NO_TITLE = frozenset({"", "Not Available"})


def bodies(path: Path, limits: Limits) -> Iterator[Body | Unchecked]:
    """The records of a file; of a broken one, why there is none.

    A file that does not fit the checksum beside it (`.md5`) is not read at all.
    """
    if fault := mismatch(path):
        yield Unchecked(path.resolve().as_uri(), Reason.UNDECODABLE, fault)
        return
    for record in records.records(path, _NAMES, limits):
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
        element = records.parsed(record)
        if element.tag.startswith("Delete"):
            return list(_deleted(element, where.rpartition(" record ")[0]))
        return [_document(element, where, body.limits)]
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


def _deleted(element: Any, name: str) -> Iterator[Unchecked]:
    for pmid in element.iterfind("PMID"):
        if number := one_line(pmid.text):
            yield Unchecked(address(number), Reason.WITHDRAWN, f"deleted by PubMed in {name}")


def _document(record: Any, where: str, limits: Limits) -> Document | Unchecked:
    is_book = record.tag == "PubmedBookArticle"
    citation = record.find("BookDocument" if is_book else "MedlineCitation")
    pmid = one_line(citation.findtext("PMID")) if citation is not None else ""
    article = citation if is_book or citation is None else citation.find("Article")
    if article is None or not pmid.isdecimal():
        return Unchecked(where, Reason.UNDECODABLE, f"{where}: no PMID or no article in it")
    title, text, language = _title(article), *_text(citation, article)
    url = address(pmid)
    if not text:
        return Unchecked(url, Reason.TITLE_ONLY, f"{where}: it has no abstract")
    if fault := unusable(text, url, where, limits):
        return fault
    meta = _of_book(record, citation) if is_book else _of_article(record, citation, article)
    meta |= _of_both(citation, article)
    date = meta.pop("published")
    meta = {"pmid": pmid, **meta, "coverage": "abstract"}
    return Document(
        url=url,
        title=title,
        text=text,
        kind="pubmed",
        published=date or None,
        language=language,
        meta={name: value for name, value in meta.items() if value},
    )


def _title(article: Any) -> str:
    """The title in English; where there is none, that of the original, or of the book."""
    for tag in ("ArticleTitle", "VernacularTitle", "Book/BookTitle"):
        title = fields.cleaned_title(line_of(article.find(tag)))
        if title not in _NO_TITLE:
            return title
    return ""


# ── Text ─────────────────────────────────────────────────────────────────────────────────────────


def _text(citation: Any, article: Any) -> tuple[str, str | None]:
    """The abstract, then its other forms, each under a line that names it; and the language."""
    own = _sections(article.find("Abstract"))
    others = [part for other in citation.iterfind("OtherAbstract") for part in _other(other)]
    if not own and not others:
        return "", None
    text = "\n\n".join((*own, *others))  # of lines that are cleaned
    stated = fields.languages_of(article.iterfind("Language"))
    if own:
        # PubMed's abstracts are English; few of articles in other languages are not.
        return text, "en" if "en" in stated or not stated else language_of(text, "en")
    code = fields.language_code(citation.find("OtherAbstract").get("Language", ""))
    return text, language_of(text.partition("\n\n")[2], code)


def _sections(abstract: Any) -> list[str]:
    """The parts of an abstract, each behind its label."""
    if abstract is None:
        return []
    sections = []
    for part in abstract.iterfind("AbstractText"):
        label, words = one_line(part.get("Label")), line_of(part)
        if words and label.upper() not in _NO_LABEL:
            words = f"{label.rstrip(':')}: {words}"
        sections.append(words)
    return [words for words in sections if words]


def _other(abstract: Any) -> list[str]:
    """An abstract in another language or for other readers, under a line that says so."""
    sections = _sections(abstract)
    language = one_line(abstract.get("Language"))
    kind = "Plain-language summary" if "plain" in abstract.get("Type", "") else "Abstract"
    return [f"{kind} ({language})" if language else kind, *sections] if sections else []


def in_own_words(text: str) -> str:
    r"""The text of a document of ours without the abstracts in other languages behind its own.

    >>> in_own_words("The rate fell.\n\nAbstract (fre)\n\nLe taux a baissé.")
    'The rate fell.'
    """
    return _OTHER.split(text, maxsplit=1)[0]


# ── Metadata ─────────────────────────────────────────────────────────────────────────────────────


def _of_article(record: Any, citation: Any, article: Any) -> dict[str, str]:
    """What only a journal's article has."""
    journal = _children(article.find("Journal"))
    issue, told = _children(journal.get("JournalIssue")), _children(citation)
    ids = _ids(record.find("PubmedData/ArticleIdList"))
    printed, abbreviation = issue.get("PubDate"), line_of(journal.get("ISOAbbreviation"))
    version = citation.find("PMID").get("Version", "1")
    return {
        "version": "" if version == "1" else version,
        "doi": ids.get("doi") or _stated_doi(article),
        "pmc": ids.get("pmc", ""),
        **fields.authors_of(article.iterfind("AuthorList/Author")).meta(),
        "published": fields.published(printed, article.iterfind("ArticleDate")) or "",
        "pubdate": fields.date_shown(printed),
        **fields.mesh_of(told.get("MeshHeadingList", ())),
        "journal": line_of(journal.get("Title")),
        "journal_abbreviation": abbreviation
        or line_of(citation.find("MedlineJournalInfo/MedlineTA")),
        "issn": line_of(journal.get("ISSN")),
        "volume": line_of(issue.get("Volume")),
        "issue": line_of(issue.get("Issue")),
    }


def _children(element: Any) -> dict[str, Any]:
    """The elements in one that may be missing, by their names."""
    return {} if element is None else {child.tag: child for child in element}


def _of_book(record: Any, citation: Any) -> dict[str, str]:
    """What only a chapter of a book on NLM's Bookshelf has."""
    ids = _ids(citation.find("ArticleIdList")) | _ids(record.find("PubmedBookData/ArticleIdList"))
    book = citation.find("Book")
    lists = {tag.get("Type", ""): tag for tag in citation.iterfind("AuthorList")}
    authors = lists.get("authors", lists.get(""))
    dates = [citation.find("ContributionDate"), citation.find("Book/PubDate")]
    values = {
        "doi": ids.get("doi", ""),
        "bookshelf": ids.get("bookaccession", ""),
        **fields.authors_of(authors if authors is not None else ()).meta(),
        "published": next((date for date in map(fields.date_of, dates) if date), ""),
    }
    if book is not None:
        values["book"] = fields.cleaned_title(line_of(book.find("BookTitle")))
        values["publisher"] = line_of(book.find("Publisher/PublisherName"))
        values["isbn"] = fields.all_of(book.iterfind("Isbn"))
    return values


def _of_both(citation: Any, article: Any) -> dict[str, str]:
    types = [line_of(t) for t in article.iterfind("PublicationTypeList/PublicationType")]
    types += [line_of(t) for t in article.iterfind("PublicationType")]
    keywords = citation.iterfind("KeywordList/Keyword")
    corrections = citation.iterfind("CommentsCorrectionsList/CommentsCorrections")
    return {
        "pages": fields.pages_of(article.find("Pagination")),
        "publication_type": fields.joined(types),
        "keywords": fields.joined(dict.fromkeys(fields.all_of([k]) for k in keywords)),
        "article_language": fields.joined(fields.languages_of(article.iterfind("Language"))),
        "vernacular_title": fields.cleaned_title(line_of(article.find("VernacularTitle"))),
        "revised": fields.date_of(citation.find("DateRevised")),
        **fields.corrections_of(corrections, types),
    }


def _ids(element: Any) -> dict[str, str]:
    """The record's own identifiers, by their kind; those of what it cites stand elsewhere."""
    if element is None:
        return {}
    found = ((e.get("IdType", ""), one_line(e.text)) for e in element.iterfind("ArticleId"))
    return {kind: value for kind, value in found if value}


def _stated_doi(article: Any) -> str:
    for element in article.iterfind("ELocationID"):
        if element.get("EIdType") == "doi" and element.get("ValidYN") != "N":
            return one_line(element.text)
    return ""
