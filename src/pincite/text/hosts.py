"""Which sites a suggestion must never come from: Wikipedia itself and what copies it.

A page that copies the article supports every claim of it (circular sourcing), so these hosts are
left out before ranking. A host stands for itself and everything below it. The list follows the
English community's "Wikipedia:Mirrors and forks" as far as the sites are large and alive;
settings can add more.
"""

from collections.abc import Collection
from urllib.parse import urlsplit

WIKIPEDIA_AND_MIRRORS = (
    "wikipedia.org",
    "wikimedia.org",
    "wikidata.org",
    "wiktionary.org",
    "wikivoyage.org",
    "wikiquote.org",
    "wikinews.org",
    "wikiwand.com",
    "alchetron.com",
    "bionity.com",
    "chemeurope.com",
    "dbpedia.org",
    "en-academic.com",
    "encyclopedia.kids.net.au",
    "everipedia.org",
    "everybodywiki.com",
    "fandom.com",
    "infogalactic.com",
    "justapedia.org",
    "kiddle.co",
    "peoplepill.com",
    "wiki2.org",
    "wikimili.com",
    "wikizero.com",
    "wn.com",
)


def host_of(url: str) -> str:
    """The host of a URL in lower case without port; empty if it has none or cannot be read.

    >>> host_of("https://EN.Wikipedia.org:443/wiki/X")
    'en.wikipedia.org'
    """
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:  # an IPv6 address with a bracket missing, and the like
        return ""


def is_below(url: str, hosts: Collection[str]) -> bool:
    """Whether the URL's host is one of `hosts` or lies below one.

    >>> is_below("https://en.wikipedia.org/wiki/X", ["wikipedia.org"])
    True
    >>> is_below("https://notwikipedia.org/", ["wikipedia.org"])
    False
    """
    if not hosts:
        return False
    labels = host_of(url).split(".")
    return any(".".join(labels[i:]) in hosts for i in range(len(labels)))
