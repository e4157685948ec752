"""References in RIS. rispy splits a value with a line break, so records are written here."""

from collections.abc import Sequence

from pincite.report.bibliography import MORE_AUTHORS, Cited, CslName, Entry, entries, whole_pages
from pincite.retrieval.filters import SEPARATOR

_TYPES = {  # of each CSL type
    "article-journal": "JOUR", "chapter": "CHAP", "webpage": "ELEC", "document": "GEN",
    "book": "BOOK", "paper-conference": "CPAPER", "thesis": "THES", "report": "RPRT",
}  # fmt: skip


def to_ris(references: Sequence[Cited]) -> str:
    """Format a record per reference, with CRLF line ends; empty for none."""
    return "".join(map(ris, entries(references)))


def ris(entry: Entry) -> str:
    pages = whole_pages(entry.text("page"))
    fields = [
        ("ID", entry.text("id")),
        *(("AU", _inverted(name)) for name in entry.authors),
        ("TI", entry.text("title")),
        ("T2", entry.text("container-title")),
        ("JO", entry.text("container-title-short")),
        ("PY", "".join(map(str, entry.date[:1]))),
        ("DA", _date(entry)),
        ("VL", entry.text("volume")),
        ("IS", entry.text("issue")),
        ("SP", pages.first),
        ("EP", pages.last),
        ("PB", entry.text("publisher")),
        ("SN", entry.text("ISSN") or entry.text("ISBN")),
        ("DO", entry.text("DOI")),
        ("AN", entry.text("PMID")),
        ("DB", "PubMed" if entry.text("PMID") else ""),
        ("C2", entry.text("PMCID")),
        ("UR", entry.text("URL")),
        ("LA", entry.text("language")),
        ("M3", entry.text("genre")),
        *(("KW", keyword) for keyword in entry.text("keyword").split(SEPARATOR)),
        ("AB", entry.text("abstract")),
        ("N1", entry.note),
        ("N1", MORE_AUTHORS if entry.has_more_authors else ""),
    ]
    lines = [f"{tag}  - {value}" for tag, value in fields if value]
    return "\r\n".join((f"TY  - {_TYPES[entry.text('type')]}", *lines, "ER  - ", "", ""))


def _date(entry: Entry) -> str:
    """Format the date as YYYY/MM/DD/, with unknown parts empty; empty without a year."""
    if not entry.date:
        return ""
    year, *others = entry.date
    month, day, *_ = (*(f"{part:02}" for part in others), "", "")
    return f"{year:04}/{month}/{day}/"


def _inverted(name: CslName) -> str:
    parts = (name.get(part, "") for part in ("literal", "family", "given", "suffix"))
    return ", ".join(part for part in parts if part)
