"""What is wrong with a reference as it is written: identifiers, dates, pages, left-over text.

A fault (a check digit, a date, what a chatbot left) says that something is written wrongly, not
that no such work exists. No record is looked up.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta

from pincite.references.matching import Likeness, titles
from pincite.text import patterns
from pincite.text.dates import stated_date
from pincite.text.identifiers import doi_in, isbn13
from pincite.types import Article, Citation, Fault, FaultKind

# How far numbers had been given out, and how many are added in a year, with room to spare.
KNOWN_IN = 2026
LAST_PMID, PMIDS_A_YEAR = 43_000_000, 3_000_000  # 42,094,228 was given in May 2026
LAST_PMC, PMCS_A_YEAR = 14_000_000, 2_000_000
LAST_REGISTRANT, REGISTRANTS_A_YEAR = 70_000, 6_000  # 10.64898 was given in 2025
FIRST_REGISTRANT = 1_000
# DOI Handbook; Crossref's and DataCite's prefixes for tests.
_TEST_PREFIXES = frozenset({"5555", "5072"})
# Of arXiv numbers, which begin with year and month: the first without a subject, and with 5 digits.
_FIRST_NEW_ARXIV, _FIVE_DIGITS_FROM = 704, 1501
FIRST_JOURNAL, FIRST_BOOK = 1665, 1450
AHEAD = timedelta(days=366)  # a journal may print the year of its next volume,
DAYS_AHEAD = timedelta(days=92)  # and the day of an issue of the next quarter
ZONES = timedelta(days=1)  # between time zones

_DOI = re.compile(r"10\.(\d+)((?:\.\d+)*)/\S")
_P = patterns(__file__, "faults")
_ORCID = re.compile(r"\borcid\.org/(\d{4}-\d{4}-\d{4}-\d{3}[\dX])", re.I)
_PAGES = re.compile(r"(?<![\w-])(\d{2,6})(\s*[-–—]\s*)(\d{2,6})(?![\w-])")
_SINCE = re.compile(r"\b(\d{3,4})\b(?!\s*(?:BC|BCE))", re.I)
# A value made only of words for what belongs there: "Author Name", "Title of the Article".
_FIELD_WORDS = frozenset(
    "article author authors book chapter date firstname journal lastname name names newspaper "
    "publication publisher surname title url website".split()
)
_FILLERS = frozenset(
    "a an the of your insert here first last full actual anonymous placeholder".split()
)
_REQUESTS = frozenset("your insert here firstname lastname placeholder anonymous".split())
_NAME_WORDS = frozenset(("name", "names", "title"))
_IN_BRACKETS = re.compile(r"\W*[\[<{(].*[\])>}]\W*")
_BLANKS = re.compile(r"[Xx]{4,}|\b(?:fake|placeholder|dummy|example)\b", re.I)  # in a DOI
# RFC 2606: names that no page can have.
_RESERVED = re.compile(r"https?://(?:[\w-]+\.)*example\.(?:com|org|net)(?=[/:?#]|\Z)", re.I)


def check_references(article: Article, today: date) -> Article:
    """Add to each reference what is wrong with it as written."""
    citations = {c.citation_id: c for claim in article.claims for c in claim.citations}
    checked_once = with_faults([*citations.values()], today, article.source)
    faults = {citation.citation_id: citation.faults for citation in checked_once}
    if not any(faults.values()):
        return article
    claims = []
    for claim in article.claims:
        marked = (replace(c, faults=faults[c.citation_id]) for c in claim.citations)
        claims.append(replace(claim, citations=tuple(marked)))
    return replace(article, claims=tuple(claims))


def faults_of(citation: Citation, today: date, source: str = "") -> tuple[Fault, ...]:
    """Return what is wrong with one reference; `source`: its markup."""
    faults = (
        *_of_numbers(citation, today),
        *_of_doi(citation.doi or "", today),
        *_of_dates(citation, today),
        *_of_pages(citation.pages or ""),
        *_left_over(citation, source),
    )
    return tuple(dict.fromkeys(faults))


def with_faults(citations: Sequence[Citation], today: date, source: str = "") -> list[Citation]:
    """Add their faults to references; `source`: the article that they are defined in."""
    twice = _shared_dois(citations)
    own = [faults_of(c, today, c.definition.of(source)) for c in citations]
    return [
        replace(c, faults=(*faults, *twice.get(c.citation_id, ())))
        for c, faults in zip(citations, own, strict=True)
    ]


def _of_numbers(citation: Citation, today: date) -> Iterator[Fault]:
    years = max(0, today.year - KNOWN_IN)
    pmc = citation.pmc and citation.pmc.strip().upper().removeprefix("PMC")
    arxiv = re.sub(r"\A\s*arxiv:", "", citation.arxiv or "", flags=re.I).strip()
    pmid = citation.pmid and citation.pmid.strip()
    stated = [
        (FaultKind.ISBN, citation.isbn, _is_isbn(citation.isbn or "")),
        (FaultKind.ISSN, citation.issn, _is_issn(citation.issn or "")),
        (FaultKind.PMID, citation.pmid, _is_given(pmid, LAST_PMID + years * PMIDS_A_YEAR)),
        (FaultKind.PMC, citation.pmc, _is_given(pmc, LAST_PMC + years * PMCS_A_YEAR)),
        (FaultKind.ARXIV, citation.arxiv, _is_arxiv(arxiv, today)),
        *((FaultKind.ORCID, orcid, _is_orcid(orcid)) for orcid in _ORCID.findall(citation.text)),
    ]
    for kind, words, is_right in stated:
        if words and not is_right and not words.startswith("(("):  # accepted by an editor
            yield Fault(kind, words)


def _is_given(number: str | None, last: int) -> bool:
    return number is not None and number.isdecimal() and 0 < int(number) <= last


def _is_isbn(text: str) -> bool:
    digits = re.sub(r"[^\dXx]", "", text)
    return isbn13(text) is not None or (len(digits) == 9 and isbn13(f"0{digits}") is not None)


def _is_issn(text: str) -> bool:
    """Whether the last digit is the check digit (ISO 3297)."""
    digits = re.sub(r"[\s\u2010-\u2015-]", "", text).upper()
    if not re.fullmatch(r"\d{7}[\dX]", digits):
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum(value * (8 - n) for n, value in enumerate(values)) % 11 == 0


def _is_orcid(text: str) -> bool:
    """Whether the last digit is the check digit (ISO 7064, MOD 11-2)."""
    digits, last = text.replace("-", "")[:-1], text[-1].upper()
    total = 0
    for digit in digits:
        total = (total + int(digit)) * 2
    return "0123456789X"[(12 - total % 11) % 11] == last


def _is_arxiv(text: str, today: date) -> bool:
    match = _P["arxiv"].fullmatch(text.partition(" ")[0])
    if match is None:
        return False
    year, month = int(match["year"] or match["old_year"]), int(match["month"] or match["old_month"])
    if not 1 <= month <= 12:
        return False
    given, now = year * 100 + month, today.year % 100 * 100 + today.month
    if match["subject"]:  # hep-th/9901001, from 1991 until March 2007
        return year >= 91 or given < _FIRST_NEW_ARXIV
    n_digits = 5 if given >= _FIVE_DIGITS_FROM else 4
    return _FIRST_NEW_ARXIV <= given <= now and len(match["number"]) == n_digits


def _of_doi(doi: str, today: date) -> Iterator[Fault]:
    if not doi or doi.startswith("(("):
        return
    match = _DOI.match(doi_in(doi) or doi)
    if match is None or _BLANKS.search(doi):
        yield Fault(FaultKind.DOI, doi)
        return
    last = LAST_REGISTRANT + max(0, today.year - KNOWN_IN) * REGISTRANTS_A_YEAR
    number = int(match[1])
    if not FIRST_REGISTRANT <= number <= last or match[1] in _TEST_PREFIXES:
        yield Fault(FaultKind.REGISTRANT, f"10.{match[1]}")


def _shared_dois(citations: Iterable[Citation]) -> dict[str, tuple[Fault, ...]]:
    """By citation, the DOIs that stand with another title too."""
    by_doi = defaultdict[str, list[Citation]](list)
    for citation in citations:
        if citation.doi and citation.title:
            by_doi[citation.doi.lower()].append(citation)
    faults = dict[str, tuple[Fault, ...]]()
    for doi, same in by_doi.items():
        for citation in same:
            own = citation.title or ""
            others = (o.title for o in same if titles(own, o.title or "") is Likeness.OTHER)
            if other := next(others, None):
                faults[citation.citation_id] = (Fault(FaultKind.SAME_DOI, doi, other),)
    return faults


def _of_dates(citation: Citation, today: date) -> Iterator[Fault]:
    published, accessed = map(stated_date, (citation.date or "", citation.access_date or ""))
    ahead = DAYS_AHEAD if len(published) == len("2026-11-29") else AHEAD
    if published and _first_day(published) > today + ahead:
        yield Fault(FaultKind.FUTURE, citation.date or "")
    if accessed and _first_day(accessed) > today + ZONES:
        yield Fault(FaultKind.FUTURE, citation.access_date or "")
    if len(accessed) == 10 and published and _first_day(published) > _first_day(accessed) + ZONES:
        yield Fault(FaultKind.ACCESSED_EARLY, citation.access_date or "", citation.date or "")
    template = citation.template or ""
    first = FIRST_JOURNAL if "journal" in template or "news" in template else FIRST_BOOK
    year = _SINCE.fullmatch((citation.date or "").strip())
    if year and int(year[1]) < first and template.startswith(("cite ", "citation")):
        yield Fault(FaultKind.TOO_EARLY, citation.date or "")


def _first_day(stated: str) -> date:
    """The first day of a year, month or day."""
    return date.fromisoformat((stated + "-01-01")[:10])


def _of_pages(pages: str) -> Iterator[Fault]:
    """Ranges whose end lies before their start, if it is written in full: not "1098–102".

    A hyphen may belong to one number: page 10 of chapter 12 is "12-10".
    """
    for match in _PAGES.finditer(pages):
        first, dash, last = match.groups()
        least = 3 if "-" in dash else 2
        if len(last) >= len(first) >= least and int(last) < int(first):
            yield Fault(FaultKind.PAGES, match[0])


def _left_over(citation: Citation, source: str) -> Iterator[Fault]:
    addresses = (citation.url or "", citation.archive_url or "")
    for text in (*addresses, source, citation.text):
        if match := _P["traces"].search(text):
            yield Fault(FaultKind.CHATBOT, match[0])
            break
    for value in (citation.title or "", citation.publisher or "", *citation.authors):
        if _is_placeholder(value):
            yield Fault(FaultKind.PLACEHOLDER, value)
    for address in addresses:
        if match := _RESERVED.match(address):
            yield Fault(FaultKind.PLACEHOLDER, match[0])


def traces(source: str) -> tuple[str, ...]:
    """Return what chatbots left in a text, each once.

    >>> traces("It opened.[cite: 3] It closed.[cite: 3]")
    ('[cite: 3]',)
    """
    return tuple(dict.fromkeys(match[0] for match in _P["traces"].finditer(source)))


def _is_placeholder(value: str) -> bool:
    """Whether a value only names what belongs in its place."""
    words = set(re.findall(r"\w+", value.lower()))
    fields = words & _FIELD_WORDS
    if not fields or not words <= _FIELD_WORDS | _FILLERS:
        return False
    names_a_field = len(fields) > 1 and not words.isdisjoint(_NAME_WORDS)
    asks_for_it = not words.isdisjoint(_REQUESTS)
    return names_a_field or asks_for_it or bool(_IN_BRACKETS.fullmatch(value))
