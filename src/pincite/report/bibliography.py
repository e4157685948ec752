"""Bibliographies of sources: CSL-JSON items with parsed authors and unique keys, BibTeX and RIS.

bibtexparser and pybtex leave keys, capitals and LaTeX escapes to the caller, and rispy splits a
value with a line break, so the formats are written here. Tests read them with those libraries.

PubMed's reader writes "Holm, Ida Marie, Jr; Berg, Per; Varde Study Group" under `authors` and names
the groups again under `groups`. Pages of the web have an `author` in any form. A name that cannot
be split reliably is kept whole.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, product
from string import ascii_lowercase
from typing import Any, NamedTuple, Protocol, TypeAlias
from urllib.parse import quote

from pincite import errors
from pincite.judgement.provenance import Retraction
from pincite.report.cells import one_line
from pincite.retrieval.filters import SEPARATOR
from pincite.text import identifiers
from pincite.text.dates import iso_date, stated_date
from pincite.text.hosts import without_folder
from pincite.types import Document

# ── Names of authors ─────────────────────────────────────────────────────────────────────────────

_COMMA = re.compile(r"\s*,\s*")
_INITIALS = re.compile(r"(?P<family>\S.*?)\s+(?P<given>[A-Z]{1,4})")  # "van Holm IM"
_SUFFIX = re.compile(r"(?:Jr|Sr|[IVX]{1,4}|\d(?:st|nd|rd|th|d))\.?", re.IGNORECASE)
MOST_INITIALS = 4  # "JRRT"; longer words in capitals are names
MOST_SHOWN = 3  # names before "et al.", as in the BMJ
MOST_WORDS = 6  # in a person's name; anything longer is a group or a sentence

CslName: TypeAlias = dict[str, str]  # family, given and suffix; or literal for a name kept whole


class Authors(NamedTuple):
    """The authors of a source. `has_more`: the list ends with "et al."."""

    names: list[CslName]
    has_more: bool


def parse_authors(meta: Mapping[str, str]) -> Authors:
    """Parse the authors that the metadata names."""
    stated = meta.get("authors") or meta.get("author") or ""
    groups = frozenset(map(str.strip, meta.get("groups", "").split(";")))
    split = identifiers.split_authors(stated)
    names = [{"literal": name} if name in groups else csl_name(name) for name in split]
    return Authors(names, bool(identifiers.ET_AL.search(stated)))


def short_authors(meta: Mapping[str, str]) -> str:
    """Format the authors for a reference list: "Holm IM, Berg P, et al."."""
    authors = parse_authors(meta)
    shown = [_short(name) for name in authors.names[:MOST_SHOWN]]
    if authors.has_more or len(authors.names) > MOST_SHOWN:
        shown.append("et al.")
    return ", ".join(shown)


def _short(name: CslName) -> str:
    given = name.get("given", "")
    initials = "".join(word[0] for word in re.findall(r"[^\W\d_]+", given))
    if given.isalpha() and given.isupper() and len(given) <= MOST_INITIALS:
        initials = given  # "IM" is not one name that begins with I
    parts = (name.get("literal") or name["family"], initials, name.get("suffix"))
    return " ".join(part for part in parts if part)


def csl_name(text: str) -> CslName:
    """Split a name: "Holm IM", "Berg, Per, Jr" or "Ida van Holm"; whole if it may be a group's."""
    if "," in text and (parts := [part for part in _COMMA.split(text) if part]):
        family, *rest = parts
        suffix = rest.pop() if len(rest) > 1 and _SUFFIX.fullmatch(rest[-1]) else ""
        return _csl_name(family, " ".join(rest), suffix)
    words = text.split()
    is_latin = all("LATIN" in unicodedata.name(c, "") for c in text if c.isalpha())
    if len(words) == 1 or len(words) > MOST_WORDS or not is_latin or identifiers.is_group(text):
        return {"literal": text}
    if match := _INITIALS.fullmatch(text):
        return _csl_name(match["family"], match["given"])
    suffix = words.pop() if len(words) > 2 and _SUFFIX.fullmatch(words[-1]) else ""
    start = len(words) - 1
    while start > 1 and words[start - 1] in identifiers.NAME_PARTICLES:
        start -= 1
    return _csl_name(" ".join(words[start:]), " ".join(words[:start]), suffix)


def _csl_name(family: str, given: str, suffix: str = "") -> CslName:
    name = {"family": family, "given": given, "suffix": suffix}
    return {part: text for part, text in name.items() if text}


# ── Dates, pages and identifiers ─────────────────────────────────────────────────────────────────

_ISO = re.compile(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?(?!\d)")
# Not of "12-1-12-9", whose pages are numbered by chapter.
_RANGE = re.compile(r"([A-Za-z]*)(\d+)\s*[-–—]\s*([A-Za-z]*)(\d+)(?!\w|\s*[-–—]\s*[A-Za-z]*\d)")


def cited_date(published: str | None, meta: Mapping[str, str]) -> tuple[int, ...]:
    """Return year, month and day of the issue, else of the publication date.

    >>> cited_date("2018-12-20", {"pubdate": "2019 Apr 7"}), cited_date("2018-12", {})
    ((2019, 4, 7), (2018, 12))
    >>> cited_date(None, {"pubdate": "1998 Dec-1999 Jan"}), cited_date("soon", {})
    ((1998, 12), ())
    """
    stated = stated_date(meta.get("pubdate", ""))
    if not stated and (match := _ISO.match(published or "")):
        stated = iso_date(*(part or "" for part in match.groups()))
    return tuple(map(int, stated.split("-"))) if stated else ()


class Pages(NamedTuple):
    """The pages of an article, with the last one written out, and the first and last alone."""

    text: str
    first: str
    last: str = ""


def whole_pages(text: str) -> Pages:
    """Parse the pages of a record, in which the last one may lack digits that it shares.

    >>> whole_pages("1023-9; discussion 1030")
    Pages(text='1023-1029; discussion 1030', first='1023', last='1029')
    >>> whole_pages("S12-5").text, whole_pages("e42")
    ('S12-S15', Pages(text='e42', first='e42', last=''))
    """
    match = _RANGE.match(text)
    if match is None:
        return Pages(text, text)
    letters, start, own, end = match.groups()
    if len(end) < len(start) and not own:
        end = start[: len(start) - len(end)] + end
    first, last = letters + start, (own or letters) + end
    return Pages(f"{first}-{last}{text[match.end() :]}", first, last)


_PMID = re.compile(r"[1-9]\d{0,8}")
_PMC = re.compile(r"PMC\d{1,9}")


class Link(NamedTuple):
    """An identifier and where it leads: "PMID 123", "https://pubmed…"."""

    name: str
    url: str


def links(meta: Mapping[str, str]) -> list[Link]:
    """Return the valid identifiers."""
    known = []
    if pmid := _valid(_PMID, meta.get("pmid", "")):
        known.append(Link(f"PMID {pmid}", f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/"))
    if pmc := _valid(_PMC, meta.get("pmc", "")):
        known.append(Link(pmc, f"https://pmc.ncbi.nlm.nih.gov/articles/{pmc}/"))
    if doi := identifiers.doi_in(one_line(meta.get("doi", ""))):
        known.append(Link(f"doi:{doi}", identifiers.doi_address(doi)))
    return known


def _valid(pattern: re.Pattern[str], text: str) -> str:
    return text if pattern.fullmatch(text) else ""


# ── Entries ──────────────────────────────────────────────────────────────────────────────────────

RETRACTIONS: Mapping[Retraction, str] = {
    Retraction.YES: "RETRACTED",
    Retraction.PARTLY: "RETRACTED IN PART",
    Retraction.CONCERN: "EXPRESSION OF CONCERN",
    Retraction.CORRECTED: "corrected",
    Retraction.NO: "",
    Retraction.UNKNOWN: "",
}
MORE_AUTHORS = "The list of authors is longer (et al.)."
_STOP_WORDS = frozenset("about from into over that their these this those with".split())
MOST_OF_NAME = 20  # letters of the first author in a key: a group's name may be a sentence
MIN_WORD = 4  # letters; shorter title words are not used in keys


class Cited(Protocol):
    """A document that is cited."""

    @property
    def document(self) -> Document: ...
    @property
    def ref_id(self) -> str: ...
    @property
    def retraction(self) -> Retraction: ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A source as a CSL-JSON item, plus what other formats put in separate fields."""

    item: dict[str, Any]  # only fields in the schema of CSL 1.0.2
    note: str = ""  # that it was retracted, and by which notice
    has_more_authors: bool = False

    def text(self, name: str) -> str:
        return str(self.item.get(name, ""))

    @property
    def authors(self) -> Sequence[CslName]:
        return list(self.item.get("author", ()))

    @property
    def date(self) -> Sequence[int]:
        return list(self.item.get("issued", {"date-parts": [[]]})["date-parts"][0])


def entries(references: Sequence[Cited]) -> list[Entry]:
    """Return an entry per reference, in order, each with a unique key."""
    made = errors.apply(
        lambda batch: list(map(_entry, batch)), references, lambda one, _: _bare_entry(one)
    )
    keys = _unique_keys([entry.item for entry in made])
    pairs = zip(made, keys, strict=True)
    return [replace(entry, item={"id": key} | entry.item) for entry, key in pairs]


def _bare_entry(reference: Cited) -> Entry:
    """Return the entry of a reference of which a bug prevents more."""
    name = one_line(without_folder(str(reference.ref_id)))
    item = {"type": "document", "title": name, "URL": name if "://" in name else ""}
    return Entry({field: value for field, value in item.items() if value})


def _entry(reference: Cited) -> Entry:
    document = reference.document
    meta = {name: one_line(value) for name, value in document.meta.items()}
    is_web = document.url.lower().startswith(("http://", "https://"))
    keywords = f"{meta.get('keywords', '')}{SEPARATOR}{meta.get('mesh', '')}".split(SEPARATOR)
    authors, date = parse_authors(meta), cited_date(document.published, meta)
    mark, notices = RETRACTIONS[reference.retraction], meta.get("notices", "")
    note = f"{mark}: {notices}" if mark and notices else mark
    notes = [note, MORE_AUTHORS] if authors.has_more else [note]
    fields = {
        "type": _type_of(meta, is_web),
        "title": one_line(document.title) or one_line(without_folder(reference.ref_id)),
        "author": authors.names,
        "container-title": meta.get("journal") or meta.get("book") or meta.get("site"),
        "container-title-short": meta.get("journal_abbreviation"),
        "issued": {"date-parts": [list(date)]} if date else {},
        "volume": meta.get("volume"),
        "issue": meta.get("issue"),
        "page": whole_pages(meta.get("pages", "")).text,
        "publisher": meta.get("publisher"),
        "ISSN": meta.get("issn"),
        "ISBN": meta.get("isbn", "").split(SEPARATOR)[0],
        "DOI": identifiers.doi_in(meta.get("doi", "")) or identifiers.doi_of_url(document.url),
        "PMID": _valid(_PMID, meta.get("pmid", "")) or identifiers.pmid_of_url(document.url),
        "PMCID": _valid(_PMC, meta.get("pmc", "")) or identifiers.pmc_of_url(document.url),
        "URL": one_line(document.url) if is_web else "",
        "language": document.language,
        "genre": meta.get("publication_type"),
        "keyword": SEPARATOR.join(dict.fromkeys(word for word in keywords if word)),
        "abstract": one_line(document.text) if meta.get("coverage") == "abstract" else "",
        "status": "retracted" if reference.retraction is Retraction.YES else "",
        "note": " ".join(filter(None, notes)),
    }
    item = {name: value for name, value in fields.items() if value}
    return Entry(item, note, authors.has_more)


def _type_of(meta: Mapping[str, str], is_web: bool) -> str:
    if meta.get("journal"):
        return "article-journal"
    if meta.get("book"):
        return "chapter"
    return "webpage" if is_web else "document"


def _unique_keys(items: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield AuthorYearWord keys, with a letter appended to duplicates."""
    bases = [_base(item) for item in items]
    # BibTeX keys are case-insensitive.
    occurrences = Counter(base.lower() for base in bases)
    used: set[str] = set()
    for base in bases:
        ends = (end for n in count(1) for end in product(ascii_lowercase, repeat=n))
        lettered = (f"{base}{''.join(end)}" for end in ends)  # a to z, then aa, ab, …
        candidates = chain([base] if occurrences[base.lower()] == 1 else [], lettered)
        key = next(key for key in candidates if key.lower() not in used)
        used.add(key.lower())
        yield key


def _base(item: Mapping[str, Any]) -> str:
    first_author: Mapping[str, str] = next(iter(item.get("author", [])), {})
    author = _ascii(first_author.get("family") or first_author.get("literal") or "")
    year = item["issued"]["date-parts"][0][0] if "issued" in item else ""
    words = (_ascii(word) for word in re.split(r"[\W_]+", item.get("title", "")))
    long_words = (w for w in words if len(w) >= MIN_WORD and w.lower() not in _STOP_WORDS)
    word = next(long_words, "")[:MOST_OF_NAME].capitalize()
    return f"{author[:MOST_OF_NAME] or 'Anon'}{year}{word}"


def _ascii(word: str) -> str:
    """Reduce a word to Latin letters without accents; empty for other scripts."""
    plain = unicodedata.normalize("NFKD", word.replace("ø", "o").replace("Ø", "O"))
    return "".join(c for c in plain if c.isascii() and c.isalpha())


# ── CSL-JSON ─────────────────────────────────────────────────────────────────────────────────────


def to_csl(references: Sequence[Cited]) -> str:
    """Format the references as CSL-JSON."""
    return csl_json([entry.item for entry in entries(references)])


def csl_json(items: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(items, ensure_ascii=False, indent=1) + "\n"


# ── BibTeX ───────────────────────────────────────────────────────────────────────────────────────

# BibTeX's macros, which styles translate.
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
# BibTeX's entry type of each CSL type, and its field for the container.
_BIBTEX = {
    "article-journal": ("article", "journal"),
    "chapter": ("incollection", "booktitle"),
    "webpage": ("misc", "howpublished"),
    "document": ("misc", "howpublished"),
    "book": ("book", "series"),
    "paper-conference": ("inproceedings", "booktitle"),
    "thesis": ("phdthesis", "school"),
    "report": ("techreport", "institution"),
}
# BibTeX counts escaped braces too, so braces are written as commands.
_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_"},
    "{": "{\\textbraceleft}",
    "}": "{\\textbraceright}",
    "~": "{\\textasciitilde}",
    "^": "{\\textasciicircum}",
    "\\": "{\\textbackslash}",
    "<": "{\\textless}",
    ">": "{\\textgreater}",
}
_WORD = re.compile(r"([\s(\[\"“]*)(.*?)([\s,.:;?!)\]\"”]*)", re.DOTALL)  # with punctuation
# Kept in a URL; other characters could break BibTeX or a LaTeX command around it.
_SAFE_IN_URL = "!#$%&'()*+,-./:;=?@[]_~"


def to_bibtex(references: Sequence[Cited]) -> str:
    return "\n".join(map(bibtex, entries(references)))


def bibtex(entry: Entry) -> str:
    kind, container = _BIBTEX[entry.text("type")]
    names = [_bibtex_name(name) for name in entry.authors]
    fields = {
        "title": brace_capitals(entry.text("title")),
        "author": " and ".join([*names, "others"] if names and entry.has_more_authors else names),
        container: latex(entry.text("container-title")),
        "year": "".join(map(str, entry.date[:1])),
        "volume": latex(entry.text("volume")),
        "number": latex(entry.text("issue")),
        "pages": re.sub(r"(?<=\w)-(?=\w)", "--", latex(entry.text("page"))),
        "publisher": latex(entry.text("publisher")),
        "issn": latex(entry.text("ISSN")),
        "isbn": latex(entry.text("ISBN")),
        "doi": quote(entry.text("DOI"), safe=_SAFE_IN_URL + "<>"),
        "pmid": entry.text("PMID"),
        "pmcid": entry.text("PMCID"),
        "url": quote(entry.text("URL"), safe=_SAFE_IN_URL),
        "language": latex(entry.text("language")),
        "keywords": latex(entry.text("keyword").replace(SEPARATOR, ", ")),
        "abstract": latex(entry.text("abstract")),
        "note": latex(entry.note),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    if len(entry.date) > 1:
        lines.append(f"  month = {MONTHS[entry.date[1] - 1]},")
    return "\n".join((f"@{kind}{{{entry.text('id')},", *lines, "}\n"))


def latex(text: str) -> str:
    r"""Escape text for LaTeX and BibTeX.

    >>> print(latex("5 % of {a_b} & c"))
    5 \% of {\textbraceleft}a\_b{\textbraceright} \& c
    """
    return "".join(_LATEX.get(c, c) for c in text)


def brace_capitals(title: str) -> str:
    """Brace a title's names, formulas and abbreviations, so that styles keep their capitals.

    >>> brace_capitals("The effect of mRNA in Denmark: Results for COVID-19.")
    'The effect of {mRNA} in {Denmark}: Results for {COVID-19}.'
    """
    words, begins = [], True
    for word in title.split(" "):
        match = _WORD.fullmatch(word)
        before, core, after = match.groups() if match else ("", word, "")
        has_capital = any(c.isupper() for c in (core[1:] if begins else core))
        written = f"{{{latex(core)}}}" if has_capital else latex(core)
        words.append(latex(before) + written + latex(after))
        begins = after.endswith(":")  # styles keep the case of the letter after a colon
    return " ".join(words)


def _bibtex_name(name: CslName) -> str:
    if not name.get("given"):
        return f"{{{latex(name.get('literal') or name['family'])}}}"
    written = []
    for part in filter(None, (name.get(part) for part in ("family", "suffix", "given"))):
        # BibTeX would read "and" and commas as separators.
        is_split = re.search(r"\band\b|,", part, re.IGNORECASE)
        written.append(f"{{{latex(part)}}}" if is_split else latex(part))
    return ", ".join(written)


# ── RIS ──────────────────────────────────────────────────────────────────────────────────────────

_RIS = {  # type of each CSL type
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
        *(("AU", _invert_name(name)) for name in entry.authors),
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
    return "\r\n".join((f"TY  - {_RIS[entry.text('type')]}", *lines, "ER  - ", "", ""))


def _date(entry: Entry) -> str:
    """Format the date as YYYY/MM/DD/, with unknown parts empty; empty without a year."""
    if not entry.date:
        return ""
    year, *others = entry.date
    return "/".join([f"{year:04}", *(f"{part:02}" for part in others), "", "", ""][:4])


def _invert_name(name: CslName) -> str:
    parts = (name.get(part, "") for part in ("literal", "family", "given", "suffix"))
    return ", ".join(part for part in parts if part)
