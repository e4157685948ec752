"""References as BibTeX, RIS and CSL-JSON, for Zotero, EndNote, LaTeX and their like.

Decision hidden here: we write them ourselves. bibtexparser and pybtex write BibTeX, but leave keys,
capitals and the signs that LaTeX reads to the caller, rispy writes a value with a line break in it
as two lines, and CSL-JSON is JSON. Tests read what is written here with those libraries.

Text stays Unicode, as UTF-8: biber, Zotero and pandoc read it.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from pincite.judgement.references import Retraction
from pincite.verbs.ask.author_names import Name
from pincite.verbs.ask.bibliography import MONTHS, SEPARATOR, Entry, entries
from pincite.verbs.ask.records import AnswerReport, Reference

_BIBTEX_TYPES = {
    "article": "article",
    "chapter": "incollection",
    "webpage": "misc",
    "document": "misc",
}
_RIS_TYPES = {"article": "JOUR", "chapter": "CHAP", "webpage": "ELEC", "document": "GEN"}
_CSL_TYPES = {
    "article": "article-journal",
    "chapter": "chapter",
    "webpage": "webpage",
    "document": "document",
}
# BibTeX counts braces that are escaped by a backslash too: all of these are written as words.
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
_WORD = re.compile(r"([\s(\[\"“]*)(.*?)([\s,.:;?!)\]\"”]*)", re.DOTALL)  # and signs around it
# In an address: signs that BibTeX or a LaTeX command around it would stumble over.
_SAFE_IN_URL = "!#$%&'()*+,-./:;=?@[]_~"


def used(report: AnswerReport) -> list[Reference]:
    """The references that sentences of the answers name, each once, in the order of the report."""
    found: dict[str, Reference] = {}
    for answer in report.answers:
        numbers = {v.number for sentence in answer.sentences for v in sentence.verdicts}
        for reference in answer.references:
            if reference.number in numbers:
                found.setdefault(reference.ref_id, reference)
    return list(found.values())


# ── BibTeX ───────────────────────────────────────────────────────────────────────────────────────


def to_bibtex(references: Sequence[Reference]) -> str:
    """An entry a reference, with a blank line between; empty for none."""
    return "\n".join(_bibtex(entry) for entry in entries(references))


def _bibtex(entry: Entry) -> str:
    values = {name: value for name, value in _bibtex_fields(entry) if value}
    lines = [f"  {name} = {{{value}}}," for name, value in values.items()]
    if len(entry.date) > 1:  # a macro: styles put it into their language
        lines.append(f"  month = {MONTHS[entry.date[1] - 1]},")
    head = f"@{_BIBTEX_TYPES[entry.kind]}{{{entry.key},"
    return "\n".join((head, *lines, "}\n"))


def _bibtex_fields(entry: Entry) -> Iterator[tuple[str, str]]:
    container = {"article": "journal", "chapter": "booktitle"}.get(entry.kind, "howpublished")
    names = [_bibtex_name(name) for name in entry.authors.names]
    yield "title", protected(entry.title)
    yield "author", " and ".join([*names, "others"] if names and entry.authors.more else names)
    yield container, latex(entry.container)
    yield "year", str(entry.date[0]) if entry.date else ""
    yield "volume", latex(entry.volume)
    yield "number", latex(entry.issue)
    yield "pages", re.sub(r"(?<=\w)-(?=\w)", "--", latex(entry.pages))
    yield "publisher", latex(entry.publisher)
    yield "issn", latex(entry.issn)
    yield "isbn", latex(entry.isbn)
    yield "doi", quote(entry.doi, safe=_SAFE_IN_URL + "<>")
    yield "pmid", entry.pmid
    yield "pmcid", entry.pmc
    yield "url", _address(entry.url)
    yield "language", latex(entry.language)
    yield "keywords", latex(", ".join(entry.keywords))
    yield "abstract", latex(entry.abstract)
    yield "note", latex(entry.note)


def latex(text: str) -> str:
    r"""Text in which LaTeX and BibTeX see nothing but text.

    >>> print(latex("5 % of {a_b} & c"))
    5 \% of {\textbraceleft}a\_b{\textbraceright} \& c
    """
    return "".join(_LATEX.get(c, c) for c in text)


def protected(title: str) -> str:
    """A title whose capitals styles do not make small: names, formulas and abbreviations.

    >>> protected("The effect of mRNA in Denmark: Results for COVID-19.")
    'The effect of {mRNA} in {Denmark}: Results for {COVID-19}.'
    """
    words, begins = [], True
    for word in title.split(" "):
        match = _WORD.fullmatch(word)
        before, core, after = match.groups() if match else ("", word, "")
        has_capital = any(c.isupper() for c in (core[1:] if begins else core))
        written = f"{{{latex(core)}}}" if has_capital else latex(core)
        words.append(latex(before) + written + latex(after))
        begins = after.endswith(":")  # styles leave the first letter there as it is
    return " ".join(words)


def _bibtex_name(name: Name) -> str:
    if name.whole:
        return f"{{{latex(name.family)}}}"
    parts = (name.family, name.suffix, name.given)
    written = ", ".join(_bibtex_part(part) for part in parts if part)
    return written if name.given else f"{{{latex(name.family)}}}"


def _bibtex_part(part: str) -> str:
    """A part of a name; BibTeX would read an "and" in it as the border between two people."""
    has_and = re.search(r"\band\b", part, re.IGNORECASE)
    return f"{{{latex(part)}}}" if has_and or "," in part else latex(part)


def _address(text: str) -> str:
    """An address for a field that is read verbatim: what is not safe there as %-escapes."""
    return quote(text, safe=_SAFE_IN_URL)


# ── RIS ──────────────────────────────────────────────────────────────────────────────────────────


def to_ris(references: Sequence[Reference]) -> str:
    """A record a reference, lines ending in CR and LF as the format wants; empty for none."""
    return "".join(_ris(entry) for entry in entries(references))


def _ris(entry: Entry) -> str:
    lines = [f"{tag}  - {value}" for tag, value in _ris_fields(entry) if value]
    return "\r\n".join((f"TY  - {_RIS_TYPES[entry.kind]}", *lines, "ER  - ", "", ""))


def _ris_fields(entry: Entry) -> Iterator[tuple[str, str]]:
    yield "ID", entry.key
    yield from (("AU", name.inverted) for name in entry.authors.names)
    yield "TI", entry.title
    yield "T2", entry.container
    yield "JO", entry.container_short
    yield "PY", str(entry.date[0]) if entry.date else ""
    yield "DA", _ris_date(entry.date)
    yield "VL", entry.volume
    yield "IS", entry.issue
    yield "SP", entry.first_page
    yield "EP", entry.last_page
    yield "PB", entry.publisher
    yield "SN", entry.issn or entry.isbn
    yield "DO", entry.doi
    yield "AN", entry.pmid
    yield "DB", "PubMed" if entry.pmid else ""
    yield "C2", entry.pmc
    yield "UR", entry.url
    yield "LA", entry.language
    yield "M3", entry.types
    yield from (("KW", keyword) for keyword in entry.keywords)
    yield "AB", entry.abstract
    yield "N1", entry.note
    yield "N1", _missing_authors(entry)


def _ris_date(date: Sequence[int]) -> str:
    """YYYY/MM/DD/ with nothing for what is not known."""
    if not date:
        return ""
    year, month, day = (*date, 0, 0)[:3]
    return f"{year:04}/{f'{month:02}' if month else ''}/{f'{day:02}' if day else ''}/"


def _missing_authors(entry: Entry) -> str:
    return "The list of authors goes on (et al.)." if entry.authors.more else ""


# ── CSL-JSON ─────────────────────────────────────────────────────────────────────────────────────


def to_csl(references: Sequence[Reference]) -> str:
    """A JSON list with an item a reference, by the schema of CSL 1.0.2."""
    items = [_csl(entry) for entry in entries(references)]
    return json.dumps(items, ensure_ascii=False, indent=1) + "\n"


def _csl(entry: Entry) -> dict[str, Any]:
    notes = (entry.note, _missing_authors(entry))
    fields = {
        "id": entry.key,
        "type": _CSL_TYPES[entry.kind],
        "title": entry.title,
        "author": [_csl_name(name) for name in entry.authors.names],
        "container-title": entry.container,
        "container-title-short": entry.container_short,
        "issued": {"date-parts": [list(entry.date)]} if entry.date else {},
        "volume": entry.volume,
        "issue": entry.issue,
        "page": entry.pages,
        "publisher": entry.publisher,
        "ISSN": entry.issn,
        "ISBN": entry.isbn,
        "DOI": entry.doi,
        "PMID": entry.pmid,
        "PMCID": entry.pmc,
        "URL": entry.url,
        "language": entry.language,
        "genre": entry.types,
        "keyword": SEPARATOR.join(entry.keywords),
        "abstract": entry.abstract,
        "status": "retracted" if entry.retraction is Retraction.YES else "",
        "note": " ".join(note for note in notes if note),
    }
    return {name: value for name, value in fields.items() if value}


def _csl_name(name: Name) -> dict[str, str]:
    if name.whole:
        return {"literal": name.family}
    parts = {"family": name.family, "given": name.given, "suffix": name.suffix}
    return {part: value for part, value in parts.items() if value}


FORMATS: Mapping[str, Callable[[Sequence[Reference]], str]] = {
    "bibtex": to_bibtex,
    "ris": to_ris,
    "csl": to_csl,
}
