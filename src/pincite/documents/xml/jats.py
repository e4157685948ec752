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

from pincite.documents.body import Body, Limits, unusable
from pincite.documents.clean import cleaned, one_line
from pincite.documents.dates import first_date, iso_date, stated_date
from pincite.documents.language import code_of
from pincite.documents.xml import pubmed_fields as fields
from pincite.documents.xml import records
from pincite.documents.xml.records import Broken, Record, flat, line_of, local
from pincite.judgement.references import is_retracted_title
from pincite.retrieval.filters import SEPARATOR
from pincite.types import Document, Reason, Unchecked

# Of `pub-date`: not the day on which the article first came out.
_OTHER_DATES = re.compile(
    r"pmc-release|nihms|retract|correct|received|accepted|preprint|update|open-access",
    re.IGNORECASE,
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
_RANKS = ("yes", "partly", "expression of concern", "corrected")
_HREF = "{http://www.w3.org/1999/xlink}href"


def identifiers(front: Any) -> dict[str, str]:
    """pmid, pmc and doi, as far as the article states them."""
    found = {}
    for element in _all(front, "article-id"):
        kind = (element.get("pub-id-type") or "").lower()
        value = one_line(element.text)
        if kind in ("pmc", "pmcid") and value:
            found["pmc"] = value if value.upper().startswith("PMC") else f"PMC{value}"
        elif kind in ("pmid", "doi") and value:
            found[kind] = value
    return {name: found[name] for name in ("pmid", "pmc", "doi") if name in found}


def address(ids: dict[str, str]) -> str:
    """Where the full text is: at PMC, else under its DOI; empty if it states neither."""
    if pmc := ids.get("pmc"):
        return f"https://pmc.ncbi.nlm.nih.gov/articles/{pmc}/"
    return f"https://doi.org/{ids['doi']}" if "doi" in ids else ""


def title_of(front: Any) -> str:
    """Title and subtitle, without the marks of notes."""
    group = next(_all(front, "title-group"), None)
    parts = {local(child): child for child in (group if group is not None else ())}
    lines = (_unmarked(parts[name]) for name in ("article-title", "subtitle") if name in parts)
    return fields.cleaned_title(": ".join(line for line in lines if line))


def published(front: Any) -> str | None:
    """The first of the days on which it came out, on paper or not."""
    dates = (
        element
        for element in _all(front, "pub-date")
        if not _OTHER_DATES.search(f"{element.get('pub-type', '')} {element.get('date-type', '')}")
    )
    return first_date(map(_date, dates)) or None


def meta_of(article: Any, front: Any) -> dict[str, str]:
    """All other fields."""
    kind = article.get("article-type") or ""
    values = {
        **_authors(front).meta(),
        **_journal(front),
        "volume": _text(front, "volume"),
        "issue": _text(front, "issue"),
        "pages": _pages(front),
        "article_type": kind,
        "publication_type": _TYPES.get(kind, ""),
        "subject": _subjects(front),
        "keywords": fields.all_of(_all(front, "kwd")),
        "licence": _licence(front),
    }
    return values | _retraction(front)


def _retraction(front: Any) -> dict[str, str]:
    """Whether it is retracted or corrected as far as it says so, and what it retracts itself."""
    status, notices, retracts = [], [], []
    if is_retracted_title(title_of(front)):
        status.append("yes")
    for element in _of_meta(front, "related-article"):
        kind = (element.get("related-article-type") or "").lower()
        where = one_line(element.get(_HREF) or line_of(element)).removeprefix("info:doi/")
        if kind in _STATUS:
            status.append(_STATUS[kind])
            notices.append(f"{kind}: {where}" if where else kind)
        elif kind in _RETRACTS and where:
            retracts.append(where)
    return {
        "retracted": min(status, key=_RANKS.index, default=""),
        "notices": fields.joined(notices),
        "retracts": fields.joined(retracts),
    }


def _authors(front: Any) -> fields.Authors:
    """People and groups; the members that a group lists are no authors of their own."""
    names, groups = [], []
    for contrib in _all(front, "contrib"):
        if contrib.get("contrib-type", "author") != "author" or _is_member(contrib):
            continue
        collab = next((e for e in contrib if local(e) == "collab"), None)
        if collab is not None:
            if group := one_line(flat(collab, lambda e: local(e) == "contrib-group")):
                groups.append(group.replace(SEPARATOR, ", "))
                names.append(groups[-1])
        elif name := _name(contrib):
            names.append(name)
    return fields.Authors(tuple(names), tuple(groups))


def _is_member(contrib: Any) -> bool:
    return any(local(e) in ("collab", "contrib") for e in contrib.iterancestors())


def _name(contrib: Any) -> str:
    for element in contrib.iter():
        if local(element) in ("name", "string-name"):
            parts = {local(child): line_of(child) for child in element}
            stated = (parts.get(tag, "") for tag in ("surname", "given-names", "suffix"))
            return ", ".join(part for part in stated if part) or line_of(element)
    return ""


def _journal(front: Any) -> dict[str, str]:
    ids = {e.get("journal-id-type", ""): one_line(e.text) for e in _all(front, "journal-id")}
    return {
        "journal": _text(front, "journal-title"),
        "journal_abbreviation": ids.get("nlm-ta", "") or _text(front, "abbrev-journal-title"),
        "issn": one_line(next((e.text for e in _all(front, "issn")), "")),
        "publisher": _text(front, "publisher-name"),
    }


def _pages(front: Any) -> str:
    ends = (_text(front, name) for name in ("fpage", "lpage"))
    pages = "-".join(dict.fromkeys(page for page in ends if page))
    return pages or _text(front, "elocation-id")


def _subjects(front: Any) -> str:
    groups = (e for e in _all(front, "subj-group") if e.get("subj-group-type") == "heading")
    return fields.all_of(subject for group in groups for subject in _all(group, "subject"))


def _licence(front: Any) -> str:
    """The address of the licence; its prose is no metadata."""
    for element in _all(front, "license"):
        if stated := one_line(element.get(_HREF)):
            return stated
    return one_line(next((e.text for e in _all(front, "license_ref")), ""))


def _date(element: Any) -> str:
    parts = {local(child): line_of(child) for child in element}
    if parts.get("year"):
        month = parts.get("month") or parts.get("season", "")
        return iso_date(parts["year"], month, parts.get("day", ""))
    return iso_date(*(element.get("iso-8601-date") or "").split("-")[:3]) or stated_date(
        parts.get("string-date", "")
    )


def _unmarked(title: Any) -> str:
    return one_line(flat(title, lambda e: local(e) in ("fn", "xref")))


def _text(front: Any, name: str) -> str:
    """The first element of the journal's or the article's own with that name."""
    return line_of(next(_of_meta(front, name), None))


def _of_meta(front: Any, name: str) -> Iterator[Any]:
    """Elements that are not those of a work that the article reviews or cites."""
    inner = ("product", "related-article", "related-object") if name != "related-article" else ()
    for element in _all(front, name):
        if not any(local(e) in inner for e in element.iterancestors()):
            yield element


def _all(element: Any, name: str) -> Iterator[Any]:
    if element is not None:
        yield from element.iter(f"{{*}}{name}")


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


def text_blocks(element: Any) -> Iterator[str]:
    """The blocks of an element that may be missing."""
    if element is not None:
        yield from blocks(element)


def blocks(element: Any) -> Iterator[str]:
    """The text of an element, block by block; blocks that say nothing are left out."""
    yield from filter(None, _children(element))


def _children(element: Any) -> Iterator[str]:
    label = ""
    loose: list[str] = [element.text or ""]
    for child in element:
        name = local(child)
        if name == "label":
            label = line_of(child)
        elif name == "title":
            yield _headed(label, _line(child))
            yield from _asides(child)
            label = ""
        elif name and name not in _UNREAD:
            if name not in _BLOCKS and not _holds_blocks(child):
                loose.append(one_line(flat(child, _is_aside)))
                loose.append(child.tail or "")
                continue
            yield one_line(" ".join(loose))
            loose.clear()
            yield from _block(child, label)
            label = ""
        loose.append(child.tail or "")
    yield _headed(label, one_line(" ".join(loose)))


def _block(element: Any, label: str) -> Iterator[str]:
    name = local(element)
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
    return local(element) in _BLOCKS


def _asides(element: Any) -> Iterator[str]:
    """The blocks that stand within a paragraph, outermost ones only."""
    for child in element:
        if local(child) in _BLOCKS:
            yield from _block(child, "")
        elif local(child) not in _UNREAD:
            yield from _asides(child)


def _holds_blocks(element: Any) -> bool:
    return any(local(inner) in _BLOCKS for inner in element.iter())


def _labelled(element: Any) -> Iterator[str]:
    """A figure, a table, a note: its label and title in one line, then all that it holds."""
    label = next((line_of(child) for child in element if local(child) == "label"), "")
    title = next((_line(e) for e in element.iter() if _is_title_of(e, element)), "")
    inside = [block for block in _inside(element) if block]
    if not title and inside and "\n" not in inside[0] and label:
        title = inside.pop(0)
    yield _headed(label, title)
    yield from inside


def _is_title_of(found: Any, element: Any) -> bool:
    parent = found.getparent()
    return local(found) == "title" and (
        parent is element or (local(parent) == "caption" and parent.getparent() is element)
    )


def _inside(element: Any) -> Iterator[str]:
    """What a labelled block holds beside its label and its title."""
    for child in element:
        name = local(child)
        if name == "caption":
            for part in child:
                if local(part) != "title":
                    yield from _block(part, "")
                else:
                    yield from _asides(part)
        elif name in _BLOCKS:
            yield from _block(child, "")
        elif name and name not in _UNREAD and name not in ("label", "title"):
            yield from _children(child)
        elif name == "title":
            yield from _asides(child)


def _headed(label: str, text: str) -> str:
    """`Figure 1. What it shows`; one of the two alone where the other is missing."""
    if not (label and text):
        return label or text
    return (
        f"{label} {text}"
        if label[-1:] in ".:)" or not label[-1:].isalnum()
        else (f"{label}. {text}")
    )


def _list(element: Any) -> Iterator[str]:
    """The items as lines, each with its label or a dash; lists within follow as lines too."""
    lines = []
    for item in element:
        name = local(item)
        if name == "title":
            yield _line(item)
        elif name == "list-item":
            label = next((line_of(child) for child in item if local(child) == "label"), "-")
            parts = [part for part in _without_label(item) if part]
            lines.append(f"{label} {' '.join(parts)}" if parts else "")
        elif name == "def-item":
            lines.append(_definition(item))
        elif name and name not in ("term-head", "def-head", "label"):
            lines += _children(item)
    yield "\n".join(line for line in lines if line)


def _without_label(item: Any) -> Iterator[str]:
    for child in item:
        if local(child) in _BLOCKS:
            yield from _block(child, "")
        elif local(child) and local(child) != "label":
            yield from _children(child)


def _definition(item: Any) -> str:
    """`term: what it means`."""
    terms = (_line(child) for child in item if local(child) == "term")
    meanings = (b for child in item if local(child) == "def" for b in blocks(child))
    return ": ".join(part for part in (", ".join(terms), " ".join(meanings)) if part)


def _rows(table: Any) -> Iterator[str]:
    """The rows of a table; of one within a cell the rows follow in the cell."""
    for row in table.iter():
        if local(row).lower() != "tr" or _table_of(row) is not table:
            continue
        cells = (_cell(cell) for cell in row if local(cell).lower() in ("td", "th"))
        if line := " | ".join(cell for cell in cells if cell):
            yield line


def _table_of(row: Any) -> Any:
    return next((e for e in row.iterancestors() if local(e) in ("table", "array")), None)


def _cell(cell: Any) -> str:
    return one_line(" ".join([_line(cell), *_asides(cell)]))


_NAMES = ("article",)
RECORD = "jats record"  # what `sandbox.read_here` calls `read_record`
_ROOTS = frozenset({"article", "pmc-articleset", "OAI-PMH"})
# DocBook has articles too; only these have journals.
_JOURNAL = re.compile(rb"//NLM//DTD|\bJATS\b|<(journal-meta|article-meta)[\s>]")
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def is_article(head: bytes) -> bool:
    """Whether a file that begins like this holds articles in JATS."""
    return records.root_of(head) in _ROOTS and bool(_JOURNAL.search(head))


def bodies(path: Path, limits: Limits) -> Iterator[Body | Unchecked]:
    """The records of a file; of a broken one, why there is none."""
    for record in records.records(path, _NAMES, limits):
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
    for record in records.records_in(body.data, _NAMES, body.limits):
        return _read(record, body.url, body.limits, stated=False)
    return Unchecked(body.url, Reason.UNDECODABLE, "there is no article in it")


def _read(record: Record, where: str, limits: Limits, *, stated: bool) -> Document | Unchecked:
    """The article, at the address that it states for itself if that is wanted."""
    try:
        return _document(records.parsed(record), where, limits, stated=stated)
    except (Broken, RecursionError) as error:
        return _broken(record, where, str(error))


def _broken(record: Record, where: str, why: str) -> Unchecked:
    return Unchecked(where, Reason.TOO_LARGE if record.is_large else Reason.UNDECODABLE, why)


def _document(article: Any, where: str, limits: Limits, *, stated: bool) -> Document | Unchecked:
    parts = {local(child): child for child in article}
    front = parts.get("front")
    ids = identifiers(front)
    url = (address(ids) if stated else "") or where
    abstract = list(_abstracts(front))
    body = [*text_blocks(parts.get("body")), *text_blocks(parts.get("floats-group"))]
    back = list(text_blocks(parts.get("back")))
    text = cleaned("\n\n".join(_without_repeats([*abstract, *body, *back])))
    title = title_of(front)
    if not text and title:
        return Unchecked(url, Reason.TITLE_ONLY, "the article has no text")
    if fault := unusable(text, url, "the article", limits):
        return fault
    meta = {**ids, **meta_of(article, front)}
    meta["coverage"] = "full text" if body else "abstract"
    return Document(
        url=url,
        title=title,
        text=text,
        kind="jats",
        published=published(front),
        language=code_of(article.get(_XML_LANG)) or "en",
        meta={name: value for name, value in meta.items() if value},
    )


def _abstracts(front: Any) -> Iterator[str]:
    """The abstract, then summaries for other readers and in other languages, named as such."""
    if front is None:
        return
    found = [e for e in front.iter() if local(e) in ("abstract", "trans-abstract")]
    for element in sorted(found, key=lambda e: bool(_kind(e)) + 2 * (local(e) != "abstract")):
        inside = list(blocks(element))
        titled = any(local(child) == "title" for child in element)
        if inside and _kind(element) and not titled:
            yield _kind(element)
        yield from inside


def _kind(abstract: Any) -> str:
    """What a reader must know of an abstract that is not the main one."""
    kind = (abstract.get("abstract-type") or "").replace("-", " ")
    if kind in ("toc", "teaser", "web summary", "short"):  # as the table of contents has it
        kind = "summary"
    language = abstract.get(_XML_LANG, "") if local(abstract) == "trans-abstract" else ""
    named = kind.capitalize() or ("Abstract" if language else "")
    return f"{named} ({language})" if language else named


def _without_repeats(parts: list[str]) -> Iterator[str]:
    """The blocks without one that says the same as the one before it."""
    before = ""
    for part in parts:
        if part != before:
            yield part
        before = part
