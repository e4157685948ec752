"""A source as a bibliography knows it, whatever the format: the fields, cleaned, and its key.

The year is that of the issue (`pubdate`), as a journal is cited, and not the day on which the
article first came out, by which corpora are searched.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

from pincite import containment
from pincite.judgement.references import Retraction
from pincite.text.identifiers import doi_address, doi_in, doi_of_url, pmc_of_url, pmid_of_url
from pincite.verbs.ask.author_names import Authors, authors_of
from pincite.verbs.ask.records import Reference

Kind = Literal["article", "chapter", "webpage", "document"]
SEPARATOR = "; "  # between several values of one field of the metadata
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
RETRACTIONS: Mapping[Retraction, str] = {
    Retraction.YES: "RETRACTED",
    Retraction.PARTLY: "RETRACTED IN PART",
    Retraction.CONCERN: "EXPRESSION OF CONCERN",
    Retraction.CORRECTED: "corrected",
    Retraction.NO: "",
    Retraction.UNKNOWN: "",
}
_ISO = re.compile(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?(?!\d)")
_SHOWN = re.compile(r"(\d{4})(?:\s+([A-Z][a-z]{2})[a-z]*(?:\s+(\d{1,2}))?)?(?![\d-])")
_RANGE = re.compile(r"([A-Za-z]*)(\d+)\s*[-–—]\s*([A-Za-z]*)(\d+)(?!\w)")
_PMID = re.compile(r"[1-9]\d{0,8}")
_PMC = re.compile(r"PMC\d{1,9}")
# Marks that change in which direction a text runs.
_DIRECTIONS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_STOP_WORDS = frozenset("about from into over that their these this those with".split())
MOST_OF_NAME = 20  # letters of the first author's in a key: a group's may be a sentence
MIN_WORD = 4  # letters of the title's word in a key


@dataclass(frozen=True, slots=True)
class Entry:
    """A source with the fields that formats of bibliographies share; empty: not known."""

    key: str
    kind: Kind
    title: str
    authors: Authors
    date: tuple[int, ...]  # year, month, day as far as they are known
    container: str = ""  # the journal, or the book of a chapter
    container_short: str = ""
    volume: str = ""
    issue: str = ""
    pages: str = ""  # "45-49; discussion 50"
    first_page: str = ""
    last_page: str = ""
    publisher: str = ""
    issn: str = ""
    isbn: str = ""
    doi: str = ""
    pmid: str = ""
    pmc: str = ""
    url: str = ""
    language: str = ""
    keywords: tuple[str, ...] = ()
    types: str = ""  # "Journal Article; Randomized Controlled Trial"
    abstract: str = ""
    retraction: Retraction = Retraction.UNKNOWN
    note: str = ""  # that it is retracted, and where that is told


def entries(references: Sequence[Reference]) -> list[Entry]:
    """One entry a reference, in their order, each with a key of its own."""
    plain = containment.each(
        lambda of: list(map(_entry, of)), references, lambda one, _: _bare(one)
    )
    return [replace(e, key=key) for e, key in zip(plain, _keys(plain), strict=True)]


def _bare(reference: Reference) -> Entry:
    """A source of which nothing but its id can be read."""
    name = line(str(reference.ref_id))
    return Entry("", "document", name, Authors(()), (), url=name if "://" in name else "")


def line(text: str) -> str:
    r"""Text on one line, without control characters and direction overrides.

    Joiners of letters stay: Persian and Hindi are written with them.

    >>> line("a\x1b[2Jb\nc")
    'a[2Jb c'
    """
    spaced = re.sub(r"\s+", " ", text).strip()
    kept = (c for c in spaced if unicodedata.category(c) not in ("Cc", "Cs"))
    return "".join(c for c in kept if c not in _DIRECTIONS).strip()


def cited_date(published: str | None, meta: Mapping[str, str]) -> tuple[int, ...]:
    """Year, month and day of the issue, else of the day on which it came out.

    >>> cited_date("2018-12-20", {"pubdate": "2019 Apr 7"}), cited_date("2018-12", {})
    ((2019, 4, 7), (2018, 12))
    >>> cited_date(None, {"pubdate": "1998 Dec-1999 Jan"}), cited_date("soon", {})
    ((1998,), ())
    """
    if match := _SHOWN.match(meta.get("pubdate", "")):
        year, name, day = match.groups()
        month = MONTHS.index(name.lower()) + 1 if (name or "").lower() in MONTHS else 0
        return _date(int(year), month, int(day or 0))
    if match := re.match(r"(\d{4})\b", meta.get("pubdate", "")):
        return _date(int(match[1]), 0, 0)
    if match := _ISO.match(published or ""):
        return _date(*(int(part or 0) for part in match.groups()))
    return ()


def _date(year: int, month: int, day: int) -> tuple[int, ...]:
    if not year:
        return ()
    if not 1 <= month <= 12:
        return (year,)
    return (year, month, day) if 1 <= day <= 31 else (year, month)


def whole_pages(text: str) -> tuple[str, str, str]:
    """Pages with the last one written out, as PubMed does not; and the first and last alone.

    >>> whole_pages("1023-9; discussion 1030"), whole_pages("S12-5"), whole_pages("e42")
    (('1023-1029; discussion 1030', '1023', '1029'), ('S12-S15', 'S12', 'S15'), ('e42', 'e42', ''))
    """
    match = _RANGE.match(text)
    if match is None:
        return text, text, ""
    letters, start, own, end = match.groups()
    if len(end) < len(start) and not own:
        end = start[: len(start) - len(end)] + end
    first, last = letters + start, (own or letters) + end
    return f"{first}-{last}{text[match.end() :]}", first, last


def links(meta: Mapping[str, str]) -> list[tuple[str, str]]:
    """Identifiers and where they lead: ("PMID 123", "https://pubmed…"); bad ones are left out."""
    found = []
    if pmid := _valid(_PMID, meta.get("pmid", "")):
        found.append((f"PMID {pmid}", f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/"))
    if pmc := _valid(_PMC, meta.get("pmc", "")):
        found.append((pmc, f"https://pmc.ncbi.nlm.nih.gov/articles/{pmc}/"))
    if doi := doi_in(line(meta.get("doi", ""))):
        found.append((f"doi:{doi}", doi_address(doi)))
    return found


def retraction_note(reference: Reference) -> str:
    """That it is retracted, and by what notice; empty where it is not, or nobody knows."""
    mark = RETRACTIONS[reference.retraction]
    notices = line(reference.document.meta.get("notices", ""))
    return f"{mark}: {notices}" if mark and notices else mark


def _valid(pattern: re.Pattern[str], text: str) -> str:
    return text if pattern.fullmatch(text) else ""


def _entry(reference: Reference) -> Entry:
    document = reference.document
    meta = {name: line(value) for name, value in document.meta.items()}
    pages, first, last = whole_pages(meta.get("pages", ""))
    is_web = document.url.lower().startswith(("http://", "https://"))
    keywords = f"{meta.get('keywords', '')}{SEPARATOR}{meta.get('mesh', '')}".split(SEPARATOR)
    return Entry(
        key="",
        kind=_kind(meta, is_web),
        title=line(document.title) or line(reference.ref_id),
        authors=authors_of(meta),
        date=cited_date(document.published, meta),
        container=meta.get("journal") or meta.get("book") or meta.get("site", ""),
        container_short=meta.get("journal_abbreviation", ""),
        volume=meta.get("volume", ""),
        issue=meta.get("issue", ""),
        pages=pages,
        first_page=first,
        last_page=last,
        publisher=meta.get("publisher", ""),
        issn=meta.get("issn", ""),
        isbn=meta.get("isbn", "").split(SEPARATOR)[0],
        doi=doi_in(meta.get("doi", "")) or doi_of_url(document.url) or "",
        pmid=_valid(_PMID, meta.get("pmid", "")) or pmid_of_url(document.url) or "",
        pmc=_valid(_PMC, meta.get("pmc", "")) or pmc_of_url(document.url) or "",
        url=line(document.url) if is_web else "",
        language=meta.get("article_language", "").split(SEPARATOR)[0] or document.language or "",
        keywords=tuple(dict.fromkeys(word for word in keywords if word)),
        types=meta.get("publication_type", ""),
        abstract=line(document.text) if meta.get("coverage") == "abstract" else "",
        retraction=reference.retraction,
        note=retraction_note(reference),
    )


def _kind(meta: Mapping[str, str], is_web: bool) -> Kind:
    if meta.get("journal"):
        return "article"
    if meta.get("book"):
        return "chapter"
    return "webpage" if is_web else "document"


# ── Keys ─────────────────────────────────────────────────────────────────────────────────────────


def _keys(plain: Sequence[Entry]) -> Iterator[str]:
    """AuthorYearWord; where several would have the same, all of them end in a letter."""
    bases = [_base(entry) for entry in plain]
    often = Counter(base.lower() for base in bases)
    used: set[str] = set()
    for base in bases:
        # BibTeX tells no capitals from small letters in a key.
        numbers = count(0 if often[base.lower()] == 1 else 1)
        key = next(k for n in numbers if (k := base + _letters(n)).lower() not in used)
        used.add(key.lower())
        yield key


def _base(entry: Entry) -> str:
    names = entry.authors.names
    author = _ascii(names[0].family)[:MOST_OF_NAME] if names else ""
    year = str(entry.date[0]) if entry.date else ""
    words = (_ascii(word) for word in re.split(r"[\W_]+", entry.title))
    long = (w for w in words if len(w) >= MIN_WORD and w.lower() not in _STOP_WORDS)
    return f"{author or 'Anon'}{year}{next(long, '')[:MOST_OF_NAME].capitalize()}"


def _ascii(word: str) -> str:
    """The Latin letters of a word without their accents; empty for another script."""
    plain = unicodedata.normalize("NFKD", word.replace("ø", "o").replace("Ø", "O"))
    return "".join(c for c in plain if c.isascii() and c.isalpha())


def _letters(n: int) -> str:
    """Nothing for 0, then a to z, then aa, ab and so on."""
    text = ""
    while n:
        n, rest = divmod(n - 1, 26)
        text = chr(ord("a") + rest) + text
    return text
