"""Identifies a cited work: by ISBN, DOI or PMID, else by its title and authors."""

import re
import unicodedata
from collections.abc import Sequence
from urllib.parse import quote, unquote, urlsplit

from pincite.text import patterns, words_of

_ISBN = re.compile(r"[0-9][0-9 \u2010-\u2015-]{7,21}[0-9Xx]")
_DOI = re.compile(r"(?:doi:\s*|https?://(?:dx\.|www\.)?doi\.org/)?10\.[0-9]{4,9}/\S+\Z", re.I)
# A DOI may contain any printable character; old ones (SICI) have brackets, semicolons, "<" and ">".
_DOI_IN = re.compile(r"\b10\.[0-9]{4,9}(?:\.[0-9]+)*/[^\s\"“”]{1,300}")
_NEXT = re.compile(r"[,;](?=10\.[0-9]{4}|(?:doi|pmid|pmc|issn|isbn|arxiv|https?)\b)", re.IGNORECASE)
# In publishers' URLs a DOI follows a slash or is in the query; view names may follow it.
_DOI_IN_URL = re.compile(r"(?<=[/=])10\.[0-9]{4,9}(?:\.[0-9]+)*/[^\s?&#]{1,300}")
_P = patterns(__file__, "identifiers")
_PAIRS = {")": "(", "]": "[", "}": "{", ">": "<"}
# Identifiers that a reference in plain text names, as written there: a wrong one is kept.
_NAMED = {
    "isbn": re.compile(r"\bISBN(?:-1[03])?[ :]*([0-9][0-9 \u2010-\u2015-]{7,21}[0-9Xx])\b"),
    "issn": re.compile(r"\b[ep]?ISSN[ :]*([0-9]{4}[ \u2010-\u2015-]?[0-9]{3}[0-9Xx])\b"),
    "pmid": re.compile(r"(?:\bPMID:?\s*|pubmed\.ncbi\.nlm\.nih\.gov/)([0-9]{1,10})\b", re.I),
    "pmc": re.compile(r"\b(PMC[0-9]{1,10})\b"),
    "arxiv": re.compile(
        r"\barxiv(?:\.org/(?:abs|pdf)/|[ :]\s*|\.)([0-9]{4}\.[0-9X]{4,6}|[a-z.-]+/[0-9]{7})", re.I
    ),
}
_INITIALS = 3  # capitals, at most: "Ito MK" is the person also written "Mei K. Ito"
ET_AL = re.compile(r"[\s,]+(?:et\s+al\.?|and\s+others)\s*$", re.IGNORECASE)
NAME_PARTICLES, _GROUP_WORDS = (words_of("names", name) for name in ("particles", "groups"))
_AND = re.compile(r"\s+(?:and|&)\s+", re.IGNORECASE)


def isbn13(text: str) -> str | None:
    """The first ISBN in a text as 13 digits; None without a valid one.

    >>> isbn13("ISBN 0-306-40615-2 (hbk)"), isbn13("9780306406157"), isbn13("0306406153")
    ('9780306406157', '9780306406157', None)
    """
    for written in _ISBN.findall(text):
        digits = re.sub(r"[^0-9X]", "", written.upper())
        if len(digits) == 10 and "X" not in digits[:-1]:
            values = [*map(int, digits[:-1]), 10 if digits[-1] == "X" else int(digits[-1])]
            if sum((10 - n) * value for n, value in enumerate(values)) % 11 == 0:
                digits = f"978{digits[:9]}"
                return digits + str(-_sum_of_thirteen(digits) % 10)
        if len(digits) == 13 and digits.isdigit() and _sum_of_thirteen(digits) % 10 == 0:
            return digits if digits.startswith(("978", "979")) else None
    return None


def doi_of(text: str) -> str | None:
    """Parse a DOI with or without prefix; lower-cased, since DOIs are case-insensitive.

    >>> doi_of("https://doi.org/10.1000/ABC.1"), doi_of("doi:10.1000/x"), doi_of("10 towns")
    ('10.1000/abc.1', '10.1000/x', None)
    """
    doi = doi_in(text) if _DOI.match(text.strip()) else None
    return doi.partition("#")[0].lower() if doi else None


def doi_of_url(url: str) -> str | None:
    """The DOI in an address of doi.org or a publisher, in its original case.

    >>> doi_of_url("https://pub.example/doi/full/10.1002/(SICI)1096-8644%2899%291:3/full")
    '10.1002/(SICI)1096-8644(99)1:3'
    """
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return None
    if not parts.scheme.lower().startswith("http"):
        return None
    if (parts.hostname or "").endswith("doi.org"):
        return doi_in(url)
    match = _DOI_IN_URL.search(unquote(f"{parts.path}?{parts.query}"))
    return doi_in(_P["view"].sub("", match[0])) if match else None


def doi_address(doi: str) -> str:
    """The doi.org URL of a DOI."""
    return f"https://doi.org/{quote(doi, safe='/:;().', errors='replace')}"


def pubmed_address(pmid: str) -> str:
    return f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/"


def doi_in(text: str) -> str | None:
    """The first DOI in a text in its original case, without trailing punctuation.

    >>> doi_in("Berg (doi:10.1577/1548(1981)110<446:EOT>2.0.CO;2), p. 4.")
    '10.1577/1548(1981)110<446:EOT>2.0.CO;2'
    >>> doi_in("https://doi.org/10.1000/a%3Cb"), doi_in("10.1000/a;10.1000/b"), doi_in("10.5 km/h")
    ('10.1000/a<b', '10.1000/a', None)
    """
    match = _DOI_IN.search(text)
    if match is None:
        return None
    doi = _NEXT.split(match[0], maxsplit=1)[0]
    if text[: match.start()].lower().endswith("doi.org/"):
        doi = unquote(doi.partition("?")[0].partition("#")[0])
    while doi[-1] in ".,;:!?'’*" or doi.count(doi[-1]) > doi.count(_PAIRS.get(doi[-1], doi[-1])):
        doi = doi[:-1]
    return doi


def identifiers_in(text: str) -> dict[str, str]:
    """The identifiers that a plain text names, as it writes them, and its DOI.

    >>> identifiers_in("A. Berg. ISBN 0-306-40615-3, arXiv:2101.00001, PMID: 77.")
    {'isbn': '0-306-40615-3', 'pmid': '77', 'arxiv': '2101.00001'}
    """
    matches = {name: pattern.search(text) for name, pattern in _NAMED.items()}
    identifiers = {name: match[1] for name, match in matches.items() if match}
    if doi := doi_in(text):
        identifiers["doi"] = doi
    return identifiers


def pmid_of(text: str) -> str | None:
    """Parse a PubMed id: a number, `PMID 123` or its address.

    >>> pmid_of("PMID 0123"), pmid_of("https://pubmed.ncbi.nlm.nih.gov/123/"), pmid_of("r7")
    ('123', '123', None)
    """
    match = _P["pmid"].match(text.strip())
    return match[1] if match else None


def pmid_of_url(url: str) -> str | None:
    return pmid_of(url) if "pubmed" in url else None


def pmc_of_url(url: str) -> str | None:
    """The PMC id in an address of PubMed Central or Europe PMC."""
    match = re.match(
        r"https?://[^/]*(?:ncbi\.nlm\.nih\.gov|europepmc\.org)/.*\b(PMC\d{1,9})\b", url
    )
    return match[1] if match else None


def work_key(title: str, names: Sequence[str]) -> str | None:
    """A key of the title and the first author's family name, or publisher; None without either.

    A title alone is not enough: there are many works called "Annual report".

    >>> work_key("The Harbour: A History", ["Mei K. Ito"])
    'the harbour a history|ito'
    """
    first_author = next(filter(None, map(_words, names)), [])
    if not _words(title) or not first_author:
        return None
    last = first_author[-1]
    has_initials = len(first_author) > 1 and len(last) <= _INITIALS and last.isupper()
    family_name = first_author[0] if has_initials else last
    return f"{' '.join(_words(title))}|{family_name}".casefold()


def split_authors(stated: str) -> list[str]:
    """Split a list of authors in any form, such as "Ida Holm, Per Berg and Li Wei", into names.

    >>> split_authors("Holm, Ida; Berg, Per"), split_authors("Holm, Ida and Berg, Per")
    (['Holm, Ida', 'Berg, Per'], ['Holm, Ida', 'Berg, Per'])
    """
    text = ET_AL.sub("", stated)
    authors = text.split(";")
    if len(authors) == 1 and not is_group(text):
        authors = []
        for part in _AND.split(text):
            pieces = [piece.strip() for piece in part.strip(", ").split(",")]
            # Commas separate names, or the parts of one: "Holm, Ida".
            authors += pieces if all(" " in piece for piece in pieces) else [part]
    return [name.strip() for name in authors if any(map(str.isalnum, name))]


def is_group(author: str) -> bool:
    """Whether an author is a group: "University", or lower-case words other than particles."""
    words = re.findall(r"[^\W\d_]{2,}", author)
    small = {word for word in words if word.islower()} - NAME_PARTICLES - {"and"}
    return bool(small) or any(word.lower() in _GROUP_WORDS for word in words)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text))


def _sum_of_thirteen(digits: str) -> int:
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits))
