"""A claim as a query: words for BM25, a text for the encoder."""

from pincite.types import Claim


def lexical_query(claim: Claim) -> str:
    """SIDE's BM25 query without the generated title: the claim and the article's title.

    (Petroni et al. 2023, Methods; the released code left a literal "[CIT]" in it.)

    >>> lexical_query(Claim("c1", "It opened in 1911.", title="Varde Bridge"))
    'It opened in 1911. Varde Bridge'
    """
    return f"{claim.text} {claim.title}".strip()


def dense_query(claim: Claim) -> str:
    """The article's title, then the claim: the title stands in for "it" and "he"."""
    return f"{claim.title}. {claim.text}" if claim.title else claim.text
