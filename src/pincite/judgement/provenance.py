"""Who says it: the kind of a source and its publisher, and whether it was retracted, by rules.

A page's own markup (or a user's metadata `type`), its address and its first lines decide; a name
that merely sounds like a newspaper or a ministry does not. In doubt the kind is unknown.
"""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import TypeVar

from pincite.notes import Note
from pincite.text import patterns, words_of
from pincite.text.hosts import host_of, is_below
from pincite.text.syntax import PREPOSITIONS
from pincite.types import Document, Evidence, Unchecked


class SourceKind(StrEnum):
    """The kind of a source, in the order in which reports group them."""

    OFFICIAL = "official"  # a public authority or a parliament, by its address or markup
    STUDY = "study"  # a paper: it has a DOI, a PMID or a journal
    PRESS = "press"  # a news article, by its markup
    PRESS_RELEASE = "press_release"  # the page calls itself one
    BLOG = "blog"  # a blog or a social network
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Source:
    """Who published a document, and who speaks in the quote."""

    kind: SourceKind = SourceKind.UNKNOWN
    publisher: str = ""
    author: str = ""
    speaker: str = ""  # to whom the quoted words are ascribed: "the mayor"
    own: bool = False  # published by the one that the reading is about
    primary: bool = False  # minutes, a judgment, a contract, …: what it records is so by it

    @property
    def independent(self) -> bool:
        """Whether the document itself states what it is quoted for, and is by another."""
        return not (self.own or self.speaker)


UNKNOWN = Source()
_BY_TYPE = {
    name: kind
    for kind in SourceKind
    if kind is not SourceKind.UNKNOWN
    for name in words_of("sources", f"{kind}_types")
}
_NOT_NAMES, _BODIES, _BEFORE_BODIES, _OFFICIAL_HOSTS, _BLOG_HOSTS = (
    words_of("sources", name)
    for name in ("not_names", "bodies", "before_bodies", "official_hosts", "blog_hosts")
)
_HEAD = 300  # characters of a text in which a line says what it is
_P = patterns(__file__, "provenance")


def source_of(document: Document) -> Source:
    """Return the kind of a document, its publisher and author.

    >>> source_of(Document("https://a.gov.uk/1", "", "Press release: the mill closed")).kind.value
    'press_release'
    """
    meta = document.meta
    publisher = meta.get("publisher") or meta.get("site") or meta.get("journal") or ""
    author = meta.get("authors") or meta.get("author") or ""
    head = f"{document.title}\n{document.text[:_HEAD]}"
    kind = _kind(document, head)
    unofficial = kind in (SourceKind.PRESS_RELEASE, SourceKind.BLOG, SourceKind.PRESS)
    primary = kind is SourceKind.OFFICIAL or (not unofficial and bool(_P["record"].search(head)))
    return Source(kind, publisher, author, primary=primary)


def _kind(document: Document, head: str) -> SourceKind:
    meta, url = document.meta, document.url
    names = ("".join(_P["words"].findall(name.lower())) for name in meta.get("type", "").split(";"))
    by_type = [_BY_TYPE[name] for name in names if name in _BY_TYPE]
    if document.kind in ("pubmed", "jats") or any(map(meta.get, ("doi", "pmid", "journal"))):
        return SourceKind.STUDY
    if _P["release"].search(head) or _P["release_path"].search(url):
        return SourceKind.PRESS_RELEASE
    # Authorities mark their news as `NewsArticle`, too.
    if by_type and by_type[0] is not SourceKind.PRESS:
        return by_type[0]
    if _P["official_label"].search(host_of(url)) or is_below(url, _OFFICIAL_HOSTS):
        return SourceKind.OFFICIAL
    if is_below(url, _BLOG_HOSTS):
        return SourceKind.BLOG
    return by_type[-1] if by_type else SourceKind.UNKNOWN


def is_about(reading: str, name: str) -> bool:
    """Whether a reading is about a publisher or an author: it has the name, or "the council".

    >>> is_about("The council froze tax.", "Varde Borough Council")
    True
    >>> is_about("Lindvik's council froze tax.", "Varde Borough Council")
    False
    """
    parts = [word for word in _P["words"].findall(name.lower()) if word not in _NOT_NAMES]
    words = ["", *_P["words"].findall(re.sub(r"['’]s\b", "", reading.lower()))]
    if not parts:
        return False
    pairs = [*pairwise(words)]
    if set(parts) <= set(words):  # "in Varde" is a place, not the site of that name
        before_name = [before for before, word in pairs if word == parts[0]]
        return len(parts) > 1 or not PREPOSITIONS.issuperset(before_name)
    return any(
        word in _BODIES and word in parts and before in _BEFORE_BODIES | {"", *parts}
        for before, word in pairs
    )


def named_speaker(words: str) -> str:
    """Return a speaker's name without the time and manner of speaking.

    >>> named_speaker("Mayor Ada Holm today")
    'Mayor Ada Holm'
    """
    name = _P["trailing"].sub("", words.strip(" ,.“”\"'"))
    return re.sub("^(?:The|An?) ", lambda m: m[0].lower(), name)


# ── Retraction ────────────────────────────────────────────────────────────────────────────────────

Outcome = TypeVar("Outcome", bound=Evidence | Unchecked)


class Retraction(StrEnum):
    """What is known of a paper's standing; a source that says nothing of it is `unknown`."""

    YES = "yes"
    PARTLY = "partly"
    CONCERN = "expression_of_concern"
    CORRECTED = "corrected"
    NO = "no"
    UNKNOWN = "unknown"


_RETRACTION = patterns(__file__, "retraction", re.IGNORECASE)
BEGINNING = 1_500  # characters in which a page may say that it is retracted


def retraction_of(document: Document) -> Retraction:
    """Return what metadata, title or beginning say; the gravest counts."""
    known = document.meta.get("retracted", "").replace(" ", "_")
    stated = Retraction(known) if known in list(Retraction) else Retraction.UNKNOWN
    title, text = document.title.strip(), document.text[:BEGINNING]
    if is_retracted_title(title) or _RETRACTION["page"].search(text):
        return Retraction.YES
    if stated in (Retraction.YES, Retraction.PARTLY, Retraction.CONCERN):
        return stated
    if _RETRACTION["partly_title"].match(title):
        return Retraction.PARTLY
    concerned = _RETRACTION["concern_title"].match(title) or _RETRACTION["concern_page"].search(
        text
    )
    return Retraction.CONCERN if concerned else stated


def is_retracted_title(title: str) -> bool:
    """Whether a title marks a retracted work or a retraction notice."""
    return _RETRACTION["title"].match(title) is not None


def with_retraction(outcome: Outcome, source: Document | Unchecked | None) -> Outcome:
    """Add a note to the evidence if its source was retracted."""
    if not (isinstance(outcome, Evidence) and isinstance(source, Document)):
        return outcome
    code = _NOTES.get(retraction_of(source))
    return replace(outcome, notes=(*outcome.notes, Note(code))) if code else outcome


_NOTES = {
    Retraction.YES: "source_retracted",
    Retraction.PARTLY: "source_retracted_partly",
    Retraction.CONCERN: "source_of_concern",
}
