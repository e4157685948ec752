"""Full text in JATS and NLM's older DTDs, as PMC, PLOS and other publishers give it away.

One article, or PMC's sets of them, packed or not. The text is the abstract and then the body as a
reader sees it; references, reviewers' reports and translations in `sub-article` are left out, so
that nothing another article says is taken for this one's. What floats (figures, tables, lists,
notes within a paragraph) follows its paragraph, so that sentences stay whole.

The front matter gives the same fields as a PubMed record. An article that is marked as retracted,
corrected or of concern says so; of one without a mark nothing is known, since publishers seldom
change a file that they have given away.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from pincite.documents import xml_records
from pincite.documents.body import Body, Limits, unusable
from pincite.documents.dates import first_date, iso_date, stated_date
from pincite.documents.pubmed import STATUS_RANKS, Authors, all_of, cleaned_title, joined
from pincite.documents.text import cleaned, code_of, one_line
from pincite.documents.xml_records import Broken, Record, flat, line_of
from pincite.judgement.references import is_retracted_title
from pincite.retrieval.filters import SEPARATOR
from pincite.types import Document, Reason, Unchecked

_NAMES = ("article",)
RECORD = "jats record"  # what `sandbox.read_here` calls `read_record`
_ROOTS = frozenset({"article", "pmc-articleset", "OAI-PMH"})
# DocBook has articles too; only these have journals.
_JOURNAL = re.compile(rb"//NLM//DTD|\bJATS\b|<(journal-meta|article-meta)[\s>]")
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_HREF = "{http://www.w3.org/1999/xlink}href"
# Of `pub-date`: not the day on which the article first came out.
_OTHER_DATES = re.compile(
    r"pmc-release|nihms|retract|correct|received|accepted|preprint|update|open-access",
    re.IGNORECASE,
)
# Where the fields of the front matter stand whose words are their value; the first that has words.
# What stands in a work that the article reviews or cites is none of them.
_OWN = "[not(ancestor::product or ancestor::related-article or ancestor::related-object)]"
_FIELDS: dict[str, list[Any]] = {
    name: [etree.XPath(f".//{path}{_OWN}") for path in paths.split()]
    for name, paths in {
        "journal": "journal-title",
        "journal_abbreviation": "journal-id[@journal-id-type='nlm-ta'] abbrev-journal-title",
        "issn": "issn",
        "publisher": "publisher-name",
        "volume": "volume",
        "issue": "issue",
        "first_page": "fpage",
        "last_page": "lpage",
        "pages": "elocation-id",
        "licence": "license license_ref",
    }.items()
}
_CONTRIBUTORS: Any = etree.XPath(
    ".//contrib[not(@contrib-type) or @contrib-type='author']"
    "[not(ancestor::collab or ancestor::contrib)]"
)
_TYPES = {
    "research-article": "Journal Article",
    "review-article": "Review",
    "systematic-review": "Systematic Review",
    "case-report": "Case Reports",
    "brief-report": "Journal Article",
    "letter": "Letter",
    "reply": "Letter",
    "editorial": "Editorial",
    "article-commentary": "Comment",
    "book-review": "Book Review",
    "news": "News",
    "retraction": "Retraction Notice",
    "correction": "Published Erratum",
    "addendum": "Published Erratum",
    "expression-of-concern": "Expression of Concern",
}
# Of `related-article`: what happened to this one, and where it is told.
_STATUS = {
    "retraction-forward": "yes",
    "partial-retraction-forward": "partly",
    "concern-forward": "expression of concern",
    "expression-of-concern-forward": "expression of concern",
    "correction-forward": "corrected",
    "corrected-forward": "corrected",
    "erratum-forward": "corrected",
}
_RETRACTS = frozenset({"retracted-article", "partially-retracted-article", "partial-retraction"})
# Elements that stand beside the paragraph that holds them.
_BLOCKS = frozenset(
    "boxed-text bibr def-list disp-quote disp-formula-group fig fig-group fn fn-group list p "
    "preformat sec speech statement supplementary-material table-wrap table-wrap-group table "
    "verse-group chem-struct-wrap array question answer floats-group".split()
)
_UNREAD = frozenset(
    "ref-list ref bio graphic media object-id sub-article response xref-group sec-meta "
    "alt-text long-desc permissions kwd-group subj-group related-article related-object "
    "processing-meta contrib-group aff author-notes".split()
)
_LABELLED = frozenset(
    "fig table-wrap boxed-text supplementary-material statement fn chem-struct-wrap".split()
)


def is_article(head: bytes) -> bool:
    """Whether a file that begins like this holds articles in JATS."""
    return xml_records.root_of(head) in _ROOTS and bool(_JOURNAL.search(head))


def bodies(path: Path, limits: Limits) -> Iterator[Body | Unchecked]:
    """The records of a file; of a broken one, why there is none."""
    for record in xml_records.records(path, _NAMES, limits):
        where = path.resolve().as_uri()
        if record.number > 1:
            where += f"#{record.number}"
        if record.broken:
            yield _broken(record, where, record.broken)
        else:
            yield Body(where, record.data, limits=limits)


def read_record(body: Body) -> Document | Unchecked:
    """The article in a record of a file, at the address that it states for itself."""
    return _read(Record(1, "article", body.data), body.url, body.limits, stated=True)


def read_jats(body: Body) -> Document | Unchecked:
    """The first article in a body, at the body's own address."""
    for record in xml_records.records(body.data, _NAMES, body.limits):
        return _read(record, body.url, body.limits, stated=False)
    return Unchecked(body.url, Reason.UNDECODABLE, "there is no article in it")


def _read(record: Record, where: str, limits: Limits, *, stated: bool) -> Document | Unchecked:
    try:
        return _document(xml_records.parsed(record), where, limits, stated=stated)
    except (Broken, RecursionError) as error:
        return _broken(record, where, str(error))


def _broken(record: Record, where: str, why: str) -> Unchecked:
    return Unchecked(where, Reason.TOO_LARGE if record.is_large else Reason.UNDECODABLE, why)


def _document(article: Any, where: str, limits: Limits, *, stated: bool) -> Document | Unchecked:
    parts = {child.tag: child for child in article}
    front = parts.get("front", etree.Element("front"))
    ids = _identifiers(front)
    url = (_address(ids) if stated else "") or where
    body = [b for name in ("body", "floats-group") for b in _blocks(parts.get(name))]
    blocks = [*_abstracts(front), *body, *_blocks(parts.get("back"))]
    # Without those that say the same as the one before them.
    kept = [block for before, block in zip(["", *blocks], blocks, strict=False) if block != before]
    text, title = cleaned("\n\n".join(kept)), _title(front)
    if not text and title:
        return Unchecked(url, Reason.TITLE_ONLY, "the article has no text")
    if fault := unusable(text, url, "the article", limits):
        return fault
    meta = {**ids, **_meta(article, front, title)}
    meta["coverage"] = "full text" if body else "abstract"
    dates = (
        _date(element)
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


# ── Front matter ─────────────────────────────────────────────────────────────────────────────────


def _identifiers(front: Any) -> dict[str, str]:
    found = {}
    for element in front.iter("article-id"):
        kind = (element.get("pub-id-type") or "").lower()
        value = one_line(element.text)
        if kind in ("pmc", "pmcid") and value:
            found["pmc"] = value if value.upper().startswith("PMC") else f"PMC{value}"
        elif kind in ("pmid", "doi") and value:
            found[kind] = value
    return {name: found[name] for name in ("pmid", "pmc", "doi") if name in found}


def _address(ids: dict[str, str]) -> str:
    """Where the full text is: at PMC, else under its DOI; empty if it states neither."""
    if pmc := ids.get("pmc"):
        return f"https://pmc.ncbi.nlm.nih.gov/articles/{pmc}/"
    return f"https://doi.org/{ids['doi']}" if "doi" in ids else ""


def _title(front: Any) -> str:
    """Title and subtitle, without the marks of notes."""
    parts = {child.tag: child for group in front.iter("title-group") for child in group}
    titles = (parts[name] for name in ("article-title", "subtitle") if name in parts)
    lines = (one_line(flat(title, lambda e: e.tag in ("fn", "xref"))) for title in titles)
    return cleaned_title(": ".join(filter(None, lines)))


def _meta(article: Any, front: Any, title: str) -> dict[str, str]:
    kind = article.get("article-type") or ""
    values = {
        name: next(filter(None, (_value(e) for path in paths for e in path(front)[:1])), "")
        for name, paths in _FIELDS.items()
    }
    ends = (values.pop("first_page"), values.pop("last_page"))
    subjects = front.iterfind(".//subj-group[@subj-group-type='heading']//subject")
    return {
        **_authors(front).meta(),
        **values,
        "pages": "-".join(filter(None, dict.fromkeys(ends))) or values["pages"],
        "article_type": kind,
        "publication_type": _TYPES.get(kind, ""),
        "subject": all_of(subjects),
        "keywords": all_of(front.iter("kwd")),
        **_retraction(front, title),
    }


def _value(element: Any) -> str:
    """The words of a field; of a licence its address, whose prose is no metadata."""
    return one_line(element.get(_HREF)) if element.tag == "license" else line_of(element)


def _retraction(front: Any, title: str) -> dict[str, str]:
    """Whether it is retracted or corrected as far as it says so, and what it retracts itself."""
    status, notices, retracts = [], [], []
    if is_retracted_title(title):
        status.append("yes")
    for element in front.iter("related-article"):
        kind = (element.get("related-article-type") or "").lower()
        where = one_line(element.get(_HREF) or line_of(element)).removeprefix("info:doi/")
        if kind in _STATUS:
            status.append(_STATUS[kind])
            notices.append(f"{kind}: {where}" if where else kind)
        elif kind in _RETRACTS and where:
            retracts.append(where)
    return {
        "retracted": min(status, key=STATUS_RANKS.index, default=""),
        "notices": joined(notices),
        "retracts": joined(retracts),
    }


def _authors(front: Any) -> Authors:
    """People and groups; the members that a group lists are no authors of their own."""
    names, groups = [], []
    for contrib in _CONTRIBUTORS(front):
        collab = contrib.find("collab")
        if collab is not None:
            if group := one_line(flat(collab, lambda e: e.tag == "contrib-group")):
                groups.append(group.replace(SEPARATOR, ", "))
                names.append(groups[-1])
            continue
        for element in contrib.iter("name", "string-name"):
            stated = (line_of(element.find(tag)) for tag in ("surname", "given-names", "suffix"))
            if name := ", ".join(filter(None, stated)) or line_of(element):
                names.append(name)
            break
    return Authors(tuple(names), tuple(groups))


def _date(element: Any) -> str:
    parts = {child.tag: line_of(child) for child in element}
    if parts.get("year"):
        month = parts.get("month") or parts.get("season", "")
        return iso_date(parts["year"], month, parts.get("day", ""))
    return iso_date(*(element.get("iso-8601-date") or "").split("-")[:3]) or stated_date(
        parts.get("string-date", "")
    )


# ── Text ─────────────────────────────────────────────────────────────────────────────────────────


def _abstracts(front: Any) -> Iterator[str]:
    """The abstract, then summaries for other readers and in other languages, named as such."""
    found = list(front.iter("abstract", "trans-abstract"))
    for element in sorted(found, key=lambda e: bool(_kind(e)) + 2 * (e.tag != "abstract")):
        inside = list(_blocks(element))
        if inside and _kind(element) and element.find("title") is None:
            yield _kind(element)
        yield from inside


def _kind(abstract: Any) -> str:
    """What a reader must know of an abstract that is not the main one."""
    kind = (abstract.get("abstract-type") or "").replace("-", " ")
    if kind in ("toc", "teaser", "web summary", "short"):  # as the table of contents has it
        kind = "summary"
    language = abstract.get(_XML_LANG, "") if abstract.tag == "trans-abstract" else ""
    named = kind.capitalize() or ("Abstract" if language else "")
    return f"{named} ({language})" if language else named


def _blocks(element: Any) -> Iterator[str]:
    """The text of an element that may be missing, block by block, without those that are empty."""
    if element is not None:
        yield from filter(None, _children(element))


def _children(element: Any) -> Iterator[str]:
    label = ""
    loose: list[str] = [element.text or ""]
    for child in element:
        name = child.tag
        if name == "label":
            label = line_of(child)
        elif name == "title":
            yield _headed(label, _line(child))
            yield from _asides(child)
            label = ""
        elif name not in _UNREAD:
            if name not in _BLOCKS and not any(map(_is_aside, child.iter())):
                loose.append(one_line(flat(child, _is_aside)))
                loose.append(child.tail or "")
                continue
            yield one_line(" ".join(loose))
            loose.clear()
            yield from _block(child, label)
            label = ""
        loose.append(child.tail or "")
    yield _headed(label, one_line(" ".join(loose)))


def _block(element: Any, label: str = "") -> Iterator[str]:
    name = element.tag
    if name == "p":
        yield _headed(label, _line(element))
        yield from _asides(element)
    elif name in ("list", "def-list"):
        yield from _list(element)
    elif name in ("table", "array"):
        yield "\n".join(_rows(element))
    elif name in _LABELLED:
        yield from _labelled(element)
    else:
        if label:
            yield label
        yield from _children(element)


def _line(paragraph: Any) -> str:
    return one_line(flat(paragraph, _is_aside))


def _is_aside(element: Any) -> bool:
    return element.tag in _BLOCKS


def _asides(element: Any) -> Iterator[str]:
    """The blocks that stand within a paragraph, outermost ones only."""
    for child in element:
        if child.tag in _BLOCKS:
            yield from _block(child)
        elif child.tag not in _UNREAD:
            yield from _asides(child)


def _labelled(element: Any) -> Iterator[str]:
    """A figure, a table, a note: its label and title in one line, then all that it holds."""
    label = line_of(element.find("label"))
    title = next(map(_line, element.xpath("title | caption/title")), "")
    inside = [block for block in _inside(element) if block]
    if not title and inside and "\n" not in inside[0] and label:
        title = inside.pop(0)
    yield _headed(label, title)
    yield from inside


def _inside(element: Any) -> Iterator[str]:
    """What a labelled block holds beside its label and its title."""
    for child in element:
        name = child.tag
        if name == "caption":
            for part in child:
                yield from _asides(part) if part.tag == "title" else _block(part)
        elif name in _BLOCKS:
            yield from _block(child)
        elif name == "title":
            yield from _asides(child)
        elif name not in _UNREAD and name != "label":
            yield from _children(child)


def _headed(label: str, text: str) -> str:
    """`Figure 1. What it shows`; one of the two alone where the other is missing."""
    if not (label and text):
        return label or text
    return f"{label}. {text}" if label[-1:].isalnum() else f"{label} {text}"


def _list(element: Any) -> Iterator[str]:
    """The items as lines, each with its label or a dash; lists within follow as lines too."""
    lines = []
    for item in element:
        name = item.tag
        if name == "title":
            yield _line(item)
        elif name == "list-item":
            label = line_of(item.find("label")) if item.find("label") is not None else "-"
            parts = filter(None, _item(item))
            words = " ".join(parts)
            lines.append(f"{label} {words}" if words else "")
        elif name == "def-item":  # `term: what it means`
            terms = ", ".join(map(_line, item.iterfind("term")))
            meanings = " ".join(b for child in item.iterfind("def") for b in _blocks(child))
            lines.append(": ".join(filter(None, (terms, meanings))))
        elif name not in ("term-head", "def-head", "label"):
            lines += _children(item)
    yield "\n".join(line for line in lines if line)


def _item(item: Any) -> Iterator[str]:
    for child in item:
        if child.tag in _BLOCKS:
            yield from _block(child)
        elif child.tag != "label":
            yield from _children(child)


def _rows(table: Any) -> Iterator[str]:
    """The rows of a table; of one within a cell the rows follow in the cell."""
    for row in table.iter():
        tables = row.iterancestors("table", "array")
        if row.tag.lower() == "tr" and next(tables, None) is table:
            cells = (cell for cell in row if cell.tag.lower() in ("td", "th"))
            texts = (one_line(" ".join([_line(cell), *_asides(cell)])) for cell in cells)
            if line := " | ".join(filter(None, texts)):
                yield line
