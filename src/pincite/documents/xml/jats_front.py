"""What the front matter of a JATS article says: the same fields as a PubMed record's.

An article that is marked as retracted, corrected or of concern says so; of one without a mark
nothing is known, since publishers seldom change a file that they have given away.
"""

import re
from collections.abc import Iterator
from typing import Any

from pincite.documents.clean import one_line
from pincite.documents.dates import first_date, iso_date, stated_date
from pincite.documents.xml import pubmed_fields as fields
from pincite.documents.xml.records import local
from pincite.documents.xml.text import flat, line_of
from pincite.judgement.references import is_retracted_title
from pincite.retrieval.filters import SEPARATOR

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
