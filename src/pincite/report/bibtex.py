"""References in BibTeX.

bibtexparser and pybtex leave keys, capitals and LaTeX escapes to the caller, so entries are written
here. Tests read them with those libraries.
"""

import re
from collections.abc import Sequence
from urllib.parse import quote

from pincite.report.bibliography import Cited, CslName, Entry, entries
from pincite.retrieval.filters import SEPARATOR

MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()  # macros, which styles translate
# The entry type of each CSL type, and its field for the container.
_TYPES = {
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
    kind, container = _TYPES[entry.text("type")]
    names = [_bibtex_name(name) for name in entry.authors]
    fields = {
        "title": protected(entry.text("title")),
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
    if len(entry.date) > 1:  # a macro: styles translate it
        lines.append(f"  month = {MONTHS[entry.date[1] - 1]},")
    return "\n".join((f"@{kind}{{{entry.text('id')},", *lines, "}\n"))


def latex(text: str) -> str:
    r"""Escape text for LaTeX and BibTeX.

    >>> print(latex("5 % of {a_b} & c"))
    5 \% of {\textbraceleft}a\_b{\textbraceright} \& c
    """
    return "".join(_LATEX.get(c, c) for c in text)


def protected(title: str) -> str:
    """Brace a title's names, formulas and abbreviations, so that styles keep their capitals.

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
        begins = after.endswith(":")  # styles keep the case of the letter after a colon
    return " ".join(words)


def _bibtex_name(name: CslName) -> str:
    if not name.get("given"):
        return f"{{{latex(name.get('literal') or name['family'])}}}"
    parts = (name.get(part, "") for part in ("family", "suffix", "given"))
    return ", ".join(_bibtex_part(part) for part in parts if part)


def _bibtex_part(part: str) -> str:
    """Brace a part of a name with "and", which BibTeX would read as a separator."""
    has_and = re.search(r"\band\b", part, re.IGNORECASE)
    return f"{{{latex(part)}}}" if has_and or "," in part else latex(part)
