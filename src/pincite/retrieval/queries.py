"""A claim as a query: words for BM25, a text for the encoder or a search engine of the web."""

from pincite.protocols import Query
from pincite.types import Claim

# Of words that stand near the claim, beside 1 for its own; chosen on the WAFER-like dev claims.
SECTION_WEIGHT = 0.5
BEFORE_WEIGHT = 0.1


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
