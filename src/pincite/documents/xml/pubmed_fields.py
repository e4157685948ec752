"""What a PubMed record says of an article beside its abstract: a function for each field.

Field names are those of NLM's DTD (pubmed_250101.dtd). Values that a record has several of stand
in one text with "; " between them, which filters take apart (`retrieval.filters`).
"""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from pincite.documents.clean import one_line
from pincite.documents.dates import first_date, iso_date, stated_date
from pincite.documents.xml.records import line_of
from pincite.retrieval.filters import SEPARATOR

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
_RANKS = ("yes", "partly", "expression of concern", "corrected", "no")
_NOTICES = frozenset({"RetractionOf", "PartialRetractionOf", "RetractedandRepublishedFrom"})
_UPDATES = frozenset({"UpdateIn"})
_RETRACTED_TYPE = "Retracted Publication"
_INITIALISM = re.compile(r"(?:\b[A-Z]\.){2,}$")
_NAME_PARTS = ("LastName", "ForeName", "Suffix", "CollectiveName")
MANY_AUTHORS = 2  # more are "et al."


def cleaned_title(title: str) -> str:
    """A title without the brackets of a translation and without its full stop.

    >>> cleaned_title("[Trams and sleep.]"), cleaned_title("[Sic] and so on?")
    ('Trams and sleep', '[Sic] and so on?')
    """
    title = _without_stop(title)
    if title.startswith("[") and title.endswith("]") and _closes_last(title):
        title = _without_stop(title[1:-1].strip())
    return title


def _without_stop(title: str) -> str:
    if title.endswith("...") or _INITIALISM.search(title):
        return title
    return title.removesuffix(".").rstrip()


def _closes_last(title: str) -> bool:
    """Whether the bracket that opens the title is closed by its last sign, not before."""
    depth = 0
    for position, sign in enumerate(title):
        depth += (sign == "[") - (sign == "]")
        if not depth:
            return position == len(title) - 1
    return False


class Authors(NamedTuple):
    """Names of people as "Holm, Ida Marie, Jr", and of groups, in the order of the record."""

    names: tuple[str, ...]
    groups: tuple[str, ...]  # those of the names that are no person's

    @property
    def short(self) -> str:
        """As a reader knows them: "I. Holm", "I. Holm and P. Berg", "I. Holm et al."."""
        shown = [_short(name) if name not in self.groups else name for name in self.names[:2]]
        return f"{shown[0]} et al." if len(self.names) > MANY_AUTHORS else " and ".join(shown)

    def meta(self) -> dict[str, str]:
        """As metadata."""
        return {"author": self.short, "authors": joined(self.names), "groups": joined(self.groups)}


def authors_of(elements: Iterable[Any]) -> Authors:
    """The authors of an AuthorList; names that NLM marks as misspelt (ValidYN="N") are left out."""
    names, groups = [], []
    for author in elements:
        if author.get("ValidYN") == "N":
            continue
        parts = {child.tag: line_of(child) for child in author if child.tag in _NAME_PARTS}
        group = parts.pop("CollectiveName", "")
        if group:
            groups.append(_one(group))
        name = group or ", ".join(part for tag in _NAME_PARTS if (part := parts.get(tag)))
        if name:
            names.append(_one(name))
    return Authors(tuple(names), tuple(groups))


def _short(name: str) -> str:
    last, *fore = name.split(", ")
    initials = " ".join(f"{word[0]}." for word in (fore[0].split() if fore else ()))
    return f"{initials} {last}".strip()


def date_of(element: Any) -> str:
    """The ISO date in an element with Year, Month, Day or with a MedlineDate; empty for None."""
    if element is None:
        return ""
    parts = {child.tag: child.text or "" for child in element}
    if parts.get("MedlineDate"):
        return stated_date(one_line(parts["MedlineDate"]))
    return iso_date(*(parts.get(tag, "") for tag in ("Year", "Month", "Day")))


def date_shown(element: Any) -> str:
    """The same as PubMed shows it: "2019 Apr 7", "2000 Spring", "1998 Dec-1999 Jan"."""
    if element is None:
        return ""
    parts = {child.tag: one_line(child.text) for child in element}
    tags = ("Year", "Season", "Month", "Day", "MedlineDate")
    return " ".join(part for tag in tags if (part := parts.get(tag)))


def published(issue: Any, electronic: Iterable[Any]) -> str | None:
    """The day the article first came out, of the issue's date and those of its electronic form."""
    return first_date([*map(date_of, electronic), date_of(issue)]) or None


def pages_of(pagination: Any) -> str:
    """First and last page as the record states them."""
    if pagination is None:
        return ""
    stated = one_line(pagination.findtext("MedlinePgn"))
    if stated:
        return stated
    ends = (pagination.findtext(tag) for tag in ("StartPage", "EndPage"))
    return "-".join(page for page in map(one_line, ends) if page)


def mesh_of(headings: Iterable[Any]) -> dict[str, str]:
    """MeSH headings, alone and with their qualifiers; under `mesh_major` the main topics."""
    found, major = dict[str, None](), dict[str, None]()
    for heading in headings:
        name = ""
        for part in heading:  # the descriptor, then its qualifiers
            words = _one(line_of(part))
            is_descriptor = part.tag == "DescriptorName"
            name = words if is_descriptor else name
            topic = name if is_descriptor else f"{name}/{words}"
            if name and words:
                found[topic] = None
                if part.get("MajorTopicYN") == "Y":
                    major[name] = major[topic] = None
    return {"mesh": joined(found), "mesh_major": joined(major)}


def corrections_of(elements: Iterable[Any], types: Iterable[str]) -> dict[str, str]:
    """Whether the article is retracted, by what notices; what it retracts, if it is a notice.

    `retracted` is "yes", "partly", "expression of concern", "corrected" or "no".
    """
    status, notices = ["no"], []
    others: dict[str, list[str]] = {"retracts": [], "updated_by": []}
    if _RETRACTED_TYPE in types:
        status.append("yes")
    for element in elements:
        kind = element.get("RefType", "")
        if kind in _STATUS:
            status.append(_STATUS[kind])
            notices.append(f"{kind}: {_reference(element)}")
        elif kind in _NOTICES:
            others["retracts"].append(_reference(element))
        elif kind in _UPDATES:
            others["updated_by"].append(_reference(element))
    values = {name: joined(references) for name, references in others.items()}
    return {"retracted": min(status, key=_RANKS.index), "notices": joined(notices)} | values


def _reference(element: Any) -> str:
    """Where the other article is: its PMID, else what the record says of it."""
    pmid, source = one_line(element.findtext("PMID")), _one(line_of(element.find("RefSource")))
    return f"PMID {pmid} ({source})" if pmid and source else f"PMID {pmid}" if pmid else source


def languages_of(elements: Iterable[Any]) -> list[str]:
    """The languages of the article itself, ISO 639-1 where PubMed's code has one that is frequent.

    The abstract is nearly always English, whatever the article is written in.
    """
    codes = (one_line(element.text).lower() for element in elements)
    return [_LANGUAGES.get(code, code) for code in codes if code]


def language_code(code: str) -> str:
    """A language as PubMed states it, as ISO 639-1 where that is known here."""
    return _LANGUAGES.get(code.lower(), code.lower())


def joined(values: Iterable[str]) -> str:
    """Several values as one text that filters take apart."""
    return SEPARATOR.join(value for value in values if value)


def all_of(elements: Iterable[Any]) -> str:
    """The words of elements as one text that filters take apart."""
    return joined(_one(line_of(element)) for element in elements)


def _one(value: str) -> str:
    """A value in which nothing looks like the border between two."""
    return value.replace(SEPARATOR, ", ")
