"""What a user calls a source → the keys by which citations of it are known.

A key is a kind and a value: `url:`, `doi:`, `pmid:`, `isbn:`, and `work:` (title and author) for
books and papers that have none of these. A citation has all that its template gives, and one in
common is enough.
"""

import re
from pathlib import Path
from typing import NamedTuple

from pincite.contract import codec
from pincite.contract.verify import ReportRecord
from pincite.documents.addresses import exact_key
from pincite.documents.clean import one_line
from pincite.errors import InputError
from pincite.text.identifiers import doi_of, doi_of_url, isbn13, pmid_of, pmid_of_url, work_key
from pincite.types import Article, Citation

_NUMBER = re.compile(r"r?([1-9][0-9]{0,3})\Z")
_FORMS = (
    "an address (https://…), a DOI (10.…), a PMID (PMID 123), an ISBN, or a citation: ARTICLE#r7, "
    "r7 with --article ARTICLE, or r7 with --report REPORT.json"
)


class Named(NamedTuple):
    """A source as a person called it, and its keys."""

    ref: str
    keys: tuple[str, ...]


def keys_of(citation: Citation) -> tuple[str, ...]:
    """Every key that the citation has, none twice; the surest first."""
    keys = []
    if doi := doi_of(citation.doi or ""):
        keys.append(f"doi:{doi}")
    if pmid := pmid_of(citation.pmid or ""):
        keys.append(f"pmid:{pmid}")
    if isbn := isbn13(citation.isbn or ""):
        keys.append(f"isbn:{isbn}")
    if citation.url:
        keys += _keys_of_address(citation.url)
    by = (*citation.authors, *([citation.publisher] if citation.publisher else []))
    if work := work_key(citation.title or "", by):
        keys.append(f"work:{work}")
    return tuple(dict.fromkeys(keys))


def named(ref: str) -> Named:
    """The source that an address, a DOI, a PMID or an ISBN names.

    Raises:
        InputError: it is none of these; lists the forms.
    """
    ref = one_line(ref)
    if re.match(r"https?://", ref, re.IGNORECASE):
        return Named(ref, tuple(_keys_of_address(ref)))
    if doi := doi_of(ref):
        return Named(f"doi:{doi}", (f"doi:{doi}",))
    if isbn := isbn13(ref):
        return Named(f"ISBN {isbn}", (f"isbn:{isbn}",))
    digits = re.sub(r"[\s-]|^isbn:?", "", ref.lower())
    if ref.lower().startswith("isbn") or re.fullmatch(r"[0-9]{9}[0-9x]|97[89][0-9]{10}", digits):
        raise InputError(f"{ref!r} is no ISBN: its check digit is wrong. Compare it with the book.")
    pmid = pmid_of(ref)
    if pmid and not _NUMBER.fullmatch(ref):  # 7 alone is more likely the number of a citation
        return Named(f"PMID {pmid}", (f"pmid:{pmid}",))
    raise InputError(f"{ref!r} names no source. Expected {_FORMS}.")


def of_citation(citation: Citation, place: str) -> Named:
    """The source of a citation of `place`.

    Raises:
        InputError: the citation says too little to know its source again.
    """
    keys = keys_of(citation)
    what = one_line(citation.title or citation.text or citation.url or "")
    if not keys:
        raise InputError(
            f"{citation.citation_id} of {place} ({what or 'no title'}) has no address, DOI, PMID, "
            "ISBN, nor title with author, by which it could be known again."
        )
    return Named(f"{what} ({citation.citation_id} of {place})", keys)


def in_article(article: Article, number: str, place: str) -> Named:
    """The source of the citation that `pincite claims` and reports call `number`, as r7.

    Raises:
        InputError: the number is none, or no claim of the article has that citation.
    """
    wanted = citation_id(number)
    found = {c.citation_id: c for claim in article.claims for c in claim.citations}
    if wanted not in found:
        raise InputError(f"{place} has no citation {wanted}. pincite claims {place} lists them.")
    return of_citation(found[wanted], place)


def in_report(path: Path, number: str) -> Named:
    """The source of a citation of a report that `verify --json` wrote.

    Raises:
        InputError: it is no such report, or has no such citation.
    """
    wanted = citation_id(number)
    report = codec.from_file(ReportRecord, path)
    found = {each.citation_id: each for finding in report.findings for each in finding.citations}
    if wanted in found:
        citation = codec.made(Citation, found[wanted], definition=found[wanted].span)
        return of_citation(citation, path.name)
    raise InputError(f"{path} has no citation {wanted}; its column citation_id in CSV lists them.")


def citation_id(number: str) -> str:
    """`r7` for 7 or r7.

    Raises:
        InputError: it is neither.
    """
    match = _NUMBER.match(number.strip())
    if not match:
        raise InputError(f"{number!r} is no citation of an article; expected a number such as r7.")
    return f"r{match[1]}"


def _keys_of_address(url: str) -> list[str]:
    keys = [f"url:{exact_key(url)}"]
    if doi := doi_of_url(url):
        keys.insert(0, f"doi:{doi.lower()}")
    elif pmid := pmid_of_url(url):
        keys.insert(0, f"pmid:{pmid}")
    return keys
