"""A claim as a query: words for BM25, a text for the encoder.

SIDE writes a citation's context as `title [SEP] section [SEP] text before`, and names its variants
by what they take of it (Petroni et al. 2023, Methods; the names are those of the released code).
Text after the citation is in none of them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from pincite.protocols import Query
from pincite.types import Claim

SHARE = 0.2  # of the length: what title and section may each take once the whole is too long
SEPARATOR = " [SEP] "
# Of words that stand near the claim, beside 1 for its own; chosen on the WAFER-like dev claims.
SECTION_WEIGHT = 0.5
BEFORE_WEIGHT = 0.1

Starts = Callable[[str], list[int]]  # a text → where each of its units (words, tokens) begins


@dataclass(frozen=True, slots=True)
class Variant:
    """What of a claim's context a query takes, in the order title, section, text."""

    title: bool = True
    section: bool = False
    words: int = 0  # of the text before the citation, the last so many; 0: all


VARIANTS = {
    "only_before_cit": Variant(),
    "only_before_cit+title": Variant(),  # the same under SIDE's longer name
    "only_before_cit+title+section": Variant(section=True),
    "only_before_cit+no_title": Variant(title=False),
    "only_before_cit_30w": Variant(words=30),
    "only_before_cit_30w+no_title": Variant(title=False, words=30),
}


def lexical_query(claim: Claim) -> Query:
    """The claim with its context as words for BM25, the farther away the lighter.

    What is asked is the claim and, for "it" and "he", the article's title. The section and the
    sentences before say what it is about, at a weight that tells equal passages apart.

    >>> lexical_query(Claim("c1", "It opened in 1911.", "Varde Bridge", ("Use",), "It was dear."))
    (('It opened in 1911.', 1.0), ('Varde Bridge', 1.0), ('Use', 0.5), ('It was dear.', 0.1))
    """
    parts = (
        (claim.text, 1.0),
        (claim.title, 1.0),
        (" ".join(claim.section), SECTION_WEIGHT),
        (claim.before, BEFORE_WEIGHT),
    )
    return tuple((text, weight) for text, weight in parts if text)


def side_query(claim: Claim) -> str:
    """SIDE's BM25 query, without the generated title: the claim, then the article's title.

    (Petroni et al. 2023, Methods; the released code left a literal "[CIT]" in it.)

    >>> side_query(Claim("c1", "It opened in 1911.", title="Varde Bridge"))
    'It opened in 1911. Varde Bridge'
    """
    return " ".join(part for part in (claim.text, claim.title) if part)


def dense_query(claim: Claim) -> str:
    """The article's title, then the claim: the title stands in for "it" and "he"."""
    return f"{claim.title} {claim.text}".strip()


def web_query(claim: Claim) -> str:
    """The claim for a search engine of the web, with the article's title unless it says it itself.

    >>> web_query(Claim("c1", "It opened in 1911.", "Varde Bridge"))
    'Varde Bridge It opened in 1911.'
    >>> web_query(Claim("c1", "Varde Bridge opened in 1911.", "Varde Bridge"))
    'Varde Bridge opened in 1911.'
    """
    return claim.text if claim.title.lower() in claim.text.lower() else dense_query(claim)


def context_query(
    claim: Claim, variant: Variant, length: int = 0, starts: Starts | None = None
) -> str:
    """The claim in its context, as SIDE's encoder reads it.

    The text before the citation is cut from the left, so that the words nearest to it stay; title
    and section are cut from the right, to a fifth of the length each, and only if the whole is too
    long (Petroni et al. 2023; the released `_truncate`, but that an absent field leaves no mark).

    Args:
        claim: with title, section and the sentences before it.
        variant: what is taken; one of `VARIANTS`, or another.
        length: at most so many units; 0: all.
        starts: where the units of a text begin; words by default, an encoder may give its tokens.

    >>> claim = Claim("c1", "It opened in 1911.", "Varde Bridge", ("History",), "Work took a year.")
    >>> context_query(claim, VARIANTS["only_before_cit"])
    'Varde Bridge [SEP] Work took a year. It opened in 1911.'
    >>> context_query(claim, VARIANTS["only_before_cit+title+section"], length=7)
    'Varde [SEP] History [SEP] year. It opened in 1911.'
    """
    begins = starts or words
    text = f"{claim.before} {claim.text}".strip()
    if variant.words:
        text = _last(text, variant.words, words)
    fields = [claim.title if variant.title else ""]
    fields.append(" ".join(claim.section) if variant.section else "")
    if length and sum(len(begins(part)) for part in (*fields, text)) > length:
        fields = [_first(field, max(1, int(length * SHARE)), begins) for field in fields]
        left = length - sum(len(begins(field)) for field in fields)
        text = _last(text, max(1, left), begins)
    return SEPARATOR.join(part for part in (*fields, text) if part)


def words(text: str) -> list[int]:
    """Where each run of characters other than white space begins."""
    return [match.start() for match in re.finditer(r"\S+", text)]


def _first(text: str, n: int, begins: Starts) -> str:
    where = begins(text)
    return text[: where[n]].rstrip() if len(where) > n else text


def _last(text: str, n: int, begins: Starts) -> str:
    where = begins(text)
    return text[where[-n] :] if len(where) > n else text
