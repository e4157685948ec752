"""Reads scholarly articles: PubMed's XML, and full text in JATS or NLM's older DTDs.

References, reviewers' reports and translations in `sub-article` are omitted, so that no other
article's statements are attributed to this one. Floats (figures, tables, lists, notes within a
paragraph) follow their paragraph, so that sentences stay whole. Multiple values are joined with
"; ", which filters split. A JATS article without a mark of retraction has unknown status, since
publishers rarely update files that they have distributed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from pincite.documents import tables
from pincite.documents.body import ARTICLE_INSIDE, Body, Format, Limits, head_of, unusable
from pincite.documents.markup import Broken, line_of, parse_record, records, root_of, text_of
from pincite.documents.tables import Cell
from pincite.documents.text import clean_text, code_of, one_line
from pincite.retrieval.filters import SEPARATOR
from pincite.text import patterns, tables_beside, word_lists
from pincite.text.dates import first_date, iso_date, stated_date
from pincite.text.identifiers import doi_address, pubmed_address
from pincite.types import Document, Reason, Unchecked

PUBMED = "pubmed record"  # the reader's name in `sandbox.read_here`
# Values of `retracted`; the first that applies wins.
STATUS_RANKS = ("yes", "partly", "expression of concern", "corrected", "no")
MANY_AUTHORS = 2  # more become "et al."
_INITIALISM = re.compile(r"(?:\b[A-Z]\.){2,}$")


# ── What both formats share ──────────────────────────────────────────────────────────────────────


class Authors(NamedTuple):
    """Names of people as "Holm, Ida Marie, Jr", and of groups, in record order."""

    names: list[str]
    groups: list[str]  # those of the names that are not people

    def meta(self) -> dict[str, str]:
        """Metadata; `author` is the display form, "I. Holm and P. Berg" or "I. Holm et al."."""
        shown = []
        for name in self.names[:2]:
            last, *fore = [name] if name in self.groups else name.split(", ")
            initials = " ".join(f"{word[0]}." for word in (fore[0].split() if fore else ()))
            shown.append(f"{initials} {last}".strip())
        short = f"{shown[0]} et al." if len(self.names) > MANY_AUTHORS else " and ".join(shown)
        return {"author": short, "authors": join(self.names), "groups": join(self.groups)}


def full_name(last: str, fore: str, suffix: str) -> str:
    """Join the parts of a name; without a first name, "Holm Jr", since "Jr" would pass for one."""
    parts = (last, fore, suffix) if fore else (f"{last} {suffix}".strip(),)
    return ", ".join(filter(None, parts))


def join(values: Iterable[str]) -> str:
    return SEPARATOR.join(filter(None, values))


def value_of(element: Any) -> str:
    """The text of an element, with any separator replaced."""
    return line_of(element).replace(SEPARATOR, ", ")


def cleaned_title(title: str) -> str:
    """Strip a translated title's brackets, and the full stop.

    >>> cleaned_title("[Trams and sleep.]"), cleaned_title("[Sic] and so on?")
    ('Trams and sleep', '[Sic] and so on?')
    """
    title = _without_stop(title)
    # The opening bracket must be closed by the last character, not before.
    is_translated = re.fullmatch(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]", title)
    return _without_stop(title[1:-1].strip()) if is_translated else title


def _without_stop(title: str) -> str:
    has_own = title.endswith("...") or _INITIALISM.search(title)
    return title if has_own else title.removesuffix(".").rstrip()


_xpath: Any = cache(etree.XPath)


def texts_at(paths: dict[str, str], element: Any) -> dict[str, str]:
    """The first text at the paths of each field, which are separated by " | "."""
    fields = dict[str, str]()
    for name, alternatives in paths.items():
        nodes = (node for path in alternatives.split(" | ") for node in _xpath(path)(element)[:1])
        texts = (one_line(node) if isinstance(node, str) else line_of(node) for node in nodes)
        fields[name] = next(filter(None, texts), "")
    return fields


def reader_of(path: Path) -> str:
    """The name of the reader for the records of an XML file; empty for other files."""
    head = head_of(path)
    root = root_of(head)
    if root in ("PubmedArticleSet", "PubmedArticle"):
        return PUBMED
    is_jats = root in ("article", "pmc-articleset", "OAI-PMH") and ARTICLE_INSIDE.search(head)
    return Format.JATS if is_jats else ""


def bodies(path: Path, reader: str, limits: Limits) -> Iterator[Body | Unchecked]:
    """Yield the records of a file; a broken one becomes an `Unchecked`."""
    names = _PUBMED_RECORDS if reader == PUBMED else ("article",)
    file = path.resolve().as_uri()
    for record in records(path, names, limits):
        where = f"{path.name} record {record.number}" if record.number else path.name
        detail = f"{where}: {record.broken}"
        if reader == Format.JATS:
            where = f"{file}#{record.number}" if record.number > 1 else file
        if record.broken:
            yield Unchecked(where if record.number else file, record.reason, detail)
        else:
            yield Body(where, record.data, limits=limits)


# ── PubMed ───────────────────────────────────────────────────────────────────────────────────────

_PUBMED_RECORDS = ("PubmedArticle", "PubmedBookArticle", "DeleteCitation")
_PMID = re.compile(rb"<PMID[^>]{0,50}>\s*(\d{1,12})\s*</PMID>")
_NO_LABEL = frozenset({"", "UNLABELLED", "UNLABELED", "UNASSIGNED"})
_OTHER = re.compile(r"\n\nAbstract \([^()\n]{1,40}\)\n\n")  # as `_other_abstracts` writes it
_NO_TITLE = frozenset({"", "Not Available"})
PUBMED_STATUS: Mapping[str, str] = tables_beside(__file__)["pubmed_status"]
PUBMED_PATHS: dict[str, str] = tables_beside(__file__)["pubmed_article"]


def read_pubmed_record(body: Body) -> list[Document | Unchecked]:
    """Read one record; `body.url` states its file and number."""
    where = body.url
    try:
        element = parse_record(body.data)
        if not element.tag.startswith("Delete"):
            return [_pubmed_document(element, where, body.limits)]
        detail = f"deleted by PubMed in {where.rpartition(' record ')[0]}"
        numbers = filter(None, (one_line(pmid.text) for pmid in element.iterfind("PMID")))
        return [Unchecked(pubmed_address(number), Reason.WITHDRAWN, detail) for number in numbers]
    except (Broken, RecursionError) as error:
        pmid = _PMID.search(body.data)
        url = pubmed_address(pmid[1].decode()) if pmid else where
        return [Unchecked(url, Reason.UNDECODABLE, f"{where}: {error}")]


def _pubmed_document(record: Any, where: str, limits: Limits) -> Document | Unchecked:
    citation = record.find("MedlineCitation")
    pmid = one_line(record.findtext("MedlineCitation/PMID"))
    article = record.find("MedlineCitation/Article")
    if article is None or not pmid.isdecimal():
        return Unchecked(where, Reason.UNDECODABLE, f"{where}: it has no PMID or no article")
    own = _sections(article.find("Abstract"))
    text = "\n\n".join((*own, *_other_abstracts(citation)))  # the lines are cleaned already
    url = pubmed_address(pmid)
    if not text:
        return Unchecked(url, Reason.TITLE_ONLY, f"{where}: it has no abstract")
    if fault := unusable(text, url, where, limits):
        return fault
    printed = article.find("Journal/JournalIssue/PubDate")
    dates = [*map(pubmed_date, article.iterfind("ArticleDate")), pubmed_date(printed)]
    parts = {child.tag: one_line(child.text) for child in (printed if printed is not None else ())}
    shown = (parts.get(tag) for tag in ("Year", "Season", "Month", "Day", "MedlineDate"))
    types = [line_of(t) for t in article.iterfind("PublicationTypeList/PublicationType")]
    ends = (one_line(article.findtext(f"Pagination/{tag}")) for tag in ("StartPage", "EndPage"))
    meta = {
        "pmid": pmid,
        **texts_at(PUBMED_PATHS, record),
        **pubmed_authors(article.iterfind("AuthorList/Author")).meta(),
        "pubdate": " ".join(filter(None, shown)),  # as PubMed shows it: "1998 Dec-1999 Jan"
        **_mesh(citation.iterfind("MeshHeadingList/MeshHeading")),
        "pages": one_line(article.findtext("Pagination/MedlinePgn"))
        or "-".join(filter(None, ends)),
        "publication_type": join(types),
        "keywords": join(dict.fromkeys(map(value_of, citation.iterfind("KeywordList/Keyword")))),
        **_corrections(citation, types),
        "coverage": "abstract",
    }
    tags = ("ArticleTitle", "VernacularTitle")
    titles = (cleaned_title(line_of(article.find(tag))) for tag in tags)
    return Document(
        url=url,
        title=next((title for title in titles if title not in _NO_TITLE), ""),
        text=text,
        kind="pubmed",
        published=first_date(dates) or None,
        language="en" if own else None,  # with few exceptions in foreign-language articles
        meta={name: value for name, value in meta.items() if value},
    )


def _other_abstracts(citation: Any) -> Iterator[str]:
    for other in citation.iterfind("OtherAbstract"):
        if sections := _sections(other):
            stated = one_line(other.get("Language"))
            kind = "Plain-language summary" if "plain" in other.get("Type", "") else "Abstract"
            yield f"{kind} ({stated})" if stated else kind
            yield from sections


def _sections(abstract: Any) -> list[str]:
    sections = []
    for part in abstract.iterfind("AbstractText") if abstract is not None else ():
        label, words = one_line(part.get("Label")), line_of(part)
        if words and label.upper() not in _NO_LABEL:
            words = f"{label.rstrip(':')}: {words}"
        sections.append(words)
    return [words for words in sections if words]


def in_own_words(text: str) -> str:
    r"""Strip abstracts in other languages from a PubMed text.

    >>> in_own_words("The rate fell.\n\nAbstract (fre)\n\nLe taux a baissé.")
    'The rate fell.'
    """
    return _OTHER.split(text, maxsplit=1)[0]


def pubmed_authors(elements: Iterable[Any]) -> Authors:
    """Parse an AuthorList, without names that NLM marks as misspelt (ValidYN="N")."""
    authors = Authors([], [])
    for author in elements:
        if author.get("ValidYN") == "N":
            continue
        if group := value_of(author.find("CollectiveName")):
            authors.groups.append(group)
        parts = (value_of(author.find(tag)) for tag in ("LastName", "ForeName", "Suffix"))
        if name := group or full_name(*parts):
            authors.names.append(name)
    return authors


def pubmed_date(element: Any) -> str:
    """Parse an element with Year, Month and Day, or with MedlineDate; empty for None."""
    if element is None:
        return ""
    parts = {child.tag: child.text or "" for child in element}
    if parts.get("MedlineDate"):
        return stated_date(one_line(parts["MedlineDate"]))
    return iso_date(*(parts.get(tag, "") for tag in ("Year", "Month", "Day")))


def _mesh(headings: Iterable[Any]) -> dict[str, str]:
    """MeSH headings, alone and with qualifiers; `mesh_major` has the main topics."""
    topics, major = dict[str, None](), dict[str, None]()
    for heading in headings:
        name = ""
        for part in heading:  # the descriptor, then its qualifiers
            words = value_of(part)
            is_descriptor = part.tag == "DescriptorName"
            name = words if is_descriptor else name
            topic = name if is_descriptor else f"{name}/{words}"
            if name and words:
                topics[topic] = None
                if part.get("MajorTopicYN") == "Y":
                    major[name] = major[topic] = None
    return {"mesh": join(topics), "mesh_major": join(major)}


def _corrections(citation: Any, types: Iterable[str]) -> dict[str, str]:
    status, notices = ["no"], []
    if "Retracted Publication" in types:
        status.append("yes")
    for element in citation.iterfind("CommentsCorrectionsList/CommentsCorrections"):
        kind = element.get("RefType", "")
        pmid, source = one_line(element.findtext("PMID")), value_of(element.find("RefSource"))
        other = f"PMID {pmid} ({source})" if pmid and source else f"PMID {pmid}" if pmid else source
        if kind in PUBMED_STATUS:
            status.append(PUBMED_STATUS[kind])
            notices.append(f"{kind}: {other}")
    return {"retracted": min(status, key=STATUS_RANKS.index), "notices": join(notices)}


# ── JATS: the article and its front matter ───────────────────────────────────────────────────────

_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_HREF = "{http://www.w3.org/1999/xlink}href"
_OTHER_DATES = patterns(__file__, "papers")["other_dates"]
# Fields of works that the article reviews or cites are excluded.
_NOT_OWN = "ancestor::product|ancestor::related-article|ancestor::related-object"
_FRONT = {
    name: " | ".join(f".//{tag}[not({_NOT_OWN})]" for tag in tags.split())
    for name, tags in tables_beside(__file__)["jats_front"].items()
}
_CONTRIBUTORS: Any = etree.XPath(
    ".//contrib[not(@contrib-type) or @contrib-type='author']"
    "[not(ancestor::collab or ancestor::contrib)]"
)
_TYPES: Mapping[str, str] = tables_beside(__file__)["jats_types"]
_JATS_STATUS: Mapping[str, str] = tables_beside(__file__)["jats_status"]


def read_jats(body: Body) -> Document | Unchecked:
    """Read the first article in a body; in a file, the address that it states becomes its own."""
    for record in records(body.data, ("article",), body.limits):
        if record.broken:
            return Unchecked(body.url, record.reason, record.broken)
        try:
            return _jats_document(parse_record(record.data), body)
        except (Broken, RecursionError) as error:
            return Unchecked(body.url, Reason.UNDECODABLE, str(error))
    return Unchecked(body.url, Reason.UNDECODABLE, "it contains no article")


def _jats_document(article: Any, body: Body) -> Document | Unchecked:
    parts = {child.tag: child for child in article}
    front = parts.get("front", etree.Element("front"))
    ids, url = _identifiers(front), body.url
    if url.startswith("file:"):
        of_pmc = f"https://pmc.ncbi.nlm.nih.gov/articles/{ids['pmc']}/" if ids["pmc"] else ""
        url = of_pmc or (doi_address(ids["doi"]) if ids["doi"] else url)
    main = [b for name in ("body", "floats-group") for b in _blocks(parts.get(name))]
    blocks = [*_abstracts(front), *main, *_blocks(parts.get("back"))]
    texts = [block for before, block in zip(["", *blocks], blocks, strict=False) if block != before]
    text = clean_text("\n\n".join(texts))
    tags = ("article-title", "subtitle")
    titles = (front.find(f".//title-group/{tag}") for tag in tags)
    lines = (text_of(t, lambda e: e.tag in ("fn", "xref")) for t in titles if t is not None)
    title = cleaned_title(": ".join(filter(None, map(one_line, lines))))
    if not text and title:
        return Unchecked(url, Reason.TITLE_ONLY, "the article has no text")
    if fault := unusable(text, url, "the article", body.limits):
        return fault
    meta = {**ids, **_jats_meta(article, front)}
    meta["coverage"] = "full text" if main else "abstract"
    dates = (
        _jats_date(element)
        for element in front.iter("pub-date")
        if not _OTHER_DATES.search(f"{element.get('pub-type', '')} {element.get('date-type', '')}")
    )
    return Document(
        url=url,
        title=title,
        text=text,
        kind="jats",
        published=first_date(dates) or None,
        language=code_of(article.get(_XML_LANG)) or "en",
        meta={name: value for name, value in meta.items() if value},
    )


def _identifiers(front: Any) -> dict[str, str]:
    ids = dict.fromkeys(("pmid", "pmc", "doi"), "")
    for element in front.iter("article-id"):
        kind = (element.get("pub-id-type") or "").lower().replace("pmcid", "pmc")
        if kind in ids and (value := one_line(element.text)):
            is_bare = kind == "pmc" and not value.upper().startswith("PMC")
            ids[kind] = f"PMC{value}" if is_bare else value
    return ids


def _jats_meta(article: Any, front: Any) -> dict[str, str]:
    values = texts_at(_FRONT, front)
    ends = (values.pop("first_page"), values.pop("last_page"))
    licences = [front.find(".//license"), front.find(".//license_ref")]
    # Keep the licence's URL; its prose is not metadata.
    addresses = [e.get(_HREF) if e.tag == "license" else e.text for e in licences if e is not None]
    subjects = front.iterfind(".//subj-group[@subj-group-type='heading']//subject")
    return {
        **_jats_authors(front).meta(),
        **values,
        "licence": next(filter(None, map(one_line, addresses)), ""),
        "pages": "-".join(filter(None, dict.fromkeys(ends))) or values["pages"],
        "publication_type": _TYPES.get(article.get("article-type"), ""),
        "subject": join(map(value_of, subjects)),
        "keywords": join(map(value_of, front.iter("kwd"))),
        **_retraction(front),
    }


def _retraction(front: Any) -> dict[str, str]:
    status, notices = list[str](), list[str]()
    for element in front.iter("related-article"):
        kind = (element.get("related-article-type") or "").lower()
        where = one_line(element.get(_HREF) or line_of(element)).removeprefix("info:doi/")
        if kind in _JATS_STATUS:
            status.append(_JATS_STATUS[kind])
            notices.append(f"{kind}: {where}" if where else kind)
    worst = min(status, key=STATUS_RANKS.index, default="")
    return {"retracted": worst, "notices": join(notices)}


def _jats_authors(front: Any) -> Authors:
    """People and groups; members listed within a group are not separate authors."""
    authors = Authors([], [])
    for contrib in _CONTRIBUTORS(front):
        if (collab := contrib.find("collab")) is not None:
            if group := one_line(text_of(collab, lambda e: e.tag == "contrib-group")):
                authors.groups.append(group.replace(SEPARATOR, ", "))
                authors.names.append(authors.groups[-1])
            continue
        for element in contrib.iter("name", "string-name"):
            stated = (line_of(element.find(tag)) for tag in ("surname", "given-names", "suffix"))
            if name := full_name(*stated) or line_of(element):
                authors.names.append(name)
            break
    return authors


def _jats_date(element: Any) -> str:
    parts = {child.tag: line_of(child) for child in element}
    if parts.get("year"):
        month = parts.get("month") or parts.get("season", "")
        return iso_date(parts["year"], month, parts.get("day", ""))
    stated = (element.get("iso-8601-date") or "").split("-")[:3]
    return iso_date(*stated) or stated_date(parts.get("string-date", ""))


# ── JATS: the text ───────────────────────────────────────────────────────────────────────────────

_BESIDE, _UNREAD, _LABELLED = (
    word_lists(__file__, "elements")[name] for name in ("beside", "unread", "labelled")
)


def _abstracts(front: Any) -> Iterator[str]:
    """Yield the abstract, then labelled summaries and abstracts in other languages."""
    abstracts = list(front.iter("abstract", "trans-abstract"))
    for element in sorted(abstracts, key=lambda e: bool(_kind(e)) + 2 * (e.tag != "abstract")):
        inside = list(_blocks(element))
        if inside and _kind(element) and element.find("title") is None:
            yield _kind(element)
        yield from inside


def _kind(abstract: Any) -> str:
    """The label of a secondary abstract; empty for the main one."""
    kind = (abstract.get("abstract-type") or "").replace("-", " ")
    if kind in ("toc", "teaser", "web summary", "short"):  # short forms for the table of contents
        kind = "summary"
    language = abstract.get(_XML_LANG, "") if abstract.tag == "trans-abstract" else ""
    named = kind.capitalize() or ("Abstract" if language else "")
    return f"{named} ({language})" if language else named


def _blocks(element: Any, done: Iterable[Any] = ()) -> Iterator[str]:
    """Yield the text of an element, or nothing for None, by blocks, without labels in `done`."""
    if element is not None:
        yield from filter(None, _children(element, list(done)))


def _children(element: Any, done: list[Any]) -> Iterator[str]:
    label = ""
    loose: list[str] = [element.text or ""]
    for child in element:
        name = child.tag
        if name == "label":
            label = "" if child in done else line_of(child)
        elif name == "title":
            if child not in done:
                yield _with_heading(label, _line(child))
                label = ""
            yield from _asides(child)
        elif name not in _UNREAD:
            if name not in _BESIDE and not any(e in done or e.tag in _BESIDE for e in child.iter()):
                loose += [_line(child), child.tail or ""]
                continue
            yield one_line(" ".join(loose))
            loose.clear()
            yield from _block(child, label, done)
            label = ""
        loose.append(child.tail or "")
    yield _with_heading(label, one_line(" ".join(loose)))


def _block(element: Any, label: str = "", done: Iterable[Any] = ()) -> Iterator[str]:
    name = element.tag
    if name == "p":
        yield _with_heading(label, _line(element))
        yield from _asides(element)
    elif name in ("list", "def-list"):
        yield from _list(element)
    elif name in ("table", "array"):
        yield "\n".join(tables.lines_of(tables.grid_of(_rows(element))))
    elif name in _LABELLED:
        yield from _labelled_texts(element)
    else:
        if label:
            yield label
        yield from _children(element, list(done))


def _line(paragraph: Any) -> str:
    return one_line(text_of(paragraph, lambda element: element.tag in _BESIDE))


def _asides(element: Any) -> Iterator[str]:
    for child in element:
        if child.tag in _BESIDE:
            yield from _block(child)
        elif child.tag not in _UNREAD:
            yield from _asides(child)


def _labelled_texts(element: Any) -> Iterator[str]:
    label, titles = element.find("label"), element.xpath("title | caption/title")[:1]
    title = "".join(map(_line, titles))
    inside = list(_blocks(element, [label, *titles]))
    if not title and label is not None and inside and "\n" not in inside[0]:
        title = inside.pop(0)
    yield _with_heading(line_of(label), title)
    yield from inside


def _with_heading(label: str, text: str) -> str:
    if not (label and text):
        return label or text
    return f"{label}. {text}" if label[-1:].isalnum() else f"{label} {text}"


def _list(element: Any) -> Iterator[str]:
    lines = list[str]()
    for item in element:
        name = item.tag
        if name == "title":
            yield _line(item)
        elif name == "list-item":
            label = item.find("label")
            words = " ".join(_blocks(item, [label]))
            lines.append(f"{'-' if label is None else line_of(label)} {words}" if words else "")
        elif name == "def-item":  # `term: definition`
            terms = ", ".join(map(_line, item.iterfind("term")))
            meanings = " ".join(b for child in item.iterfind("def") for b in _blocks(child))
            lines.append(": ".join(filter(None, (terms, meanings))))
        elif name not in ("term-head", "def-head", "label"):
            lines += _blocks(item)
    yield "\n".join(filter(None, lines))


def _rows(table: Any) -> Iterator[list[Cell]]:
    """Yield a table's rows; a nested table is flattened into its cell."""
    for row in table.iter():
        around = row.iterancestors("table", "array")
        if row.tag.lower() == "tr" and next(around, None) is table:
            cells = (cell for cell in row if cell.tag.lower() in ("td", "th"))
            texts = ((cell, " ".join([_line(cell), *_asides(cell)])) for cell in cells)
            yield [tables.cell_of(cell, text) for cell, text in texts]
