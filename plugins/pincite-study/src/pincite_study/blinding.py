"""What a rater sees of an item: two sources that differ in what they say and in nothing else.

They have no title, site, date, score or verdict. Addresses in the texts are hidden; a quote is
marked, and a whole text offered, only where both sides have one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pincite.text.hosts import host_of
from pincite_study.items import Item, Source

HIDDEN = "[address]"
_ADDRESS = re.compile(r"(?:\b[a-z][a-z0-9+.-]{1,9}://|\bwww\.)[^\s<>\"“”]+|\S+@[\w-]+\.\S+", re.I)


@dataclass(frozen=True, slots=True)
class Marked:
    """A text in three pieces; `mark` is empty where nothing is marked."""

    head: str
    mark: str
    tail: str


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two sources."""

    passage: Marked
    text: Marked | None  # around the passage, with the passage marked


@dataclass(frozen=True, slots=True)
class BlindItem:
    """An item as a rater sees it."""

    article: str
    section: tuple[str, ...]
    before: str
    claim: str
    a: Side
    b: Side


def blind(item: Item, baseline_first: bool) -> BlindItem:
    """The item with its sides in this order."""
    sides = (item.baseline, item.tested)
    a, b = sides if baseline_first else sides[::-1]
    hosts = _hosts(sides)
    quoted, texts = all(s.quote for s in sides), all(s.text for s in sides)
    shown = [_side(side, hosts, quoted=quoted, text=texts) for side in (a, b)]
    return BlindItem(item.article, item.section, item.before, item.claim, *shown)


def _side(source: Source, hosts: Sequence[str], *, quoted: bool, text: bool) -> Side:
    passage = source.passage
    start, end = source.quote if quoted and source.quote else (len(passage), len(passage))
    marked = (passage[:start], passage[start:end], passage[end:])
    around = None
    if text:
        stop = source.start + len(passage)
        pieces = (source.text[: source.start], passage, source.text[stop:])
        around = Marked(*(_mask(piece, hosts) for piece in pieces))
    return Side(Marked(*(_mask(piece, hosts) for piece in marked)), around)


def _mask(text: str, hosts: Sequence[str]) -> str:
    text = _ADDRESS.sub(HIDDEN, text)
    for host in hosts:
        text = re.sub(rf"\b{re.escape(host)}\b(?:/\S*)?", HIDDEN, text, flags=re.IGNORECASE)
    return text


def _hosts(sources: Sequence[Source]) -> list[str]:
    """Names of both sites, the longest first; each with and without its www."""
    hosts = {host_of(source.url).removeprefix("www.") for source in sources}
    return sorted((host for host in hosts if "." in host), key=len, reverse=True)
