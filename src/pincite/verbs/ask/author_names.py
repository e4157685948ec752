"""The authors of a source, from the one text that metadata has them in.

PubMed's reader writes "Holm, Ida Marie, Jr; Berg, Per; Varde Study Group" under `authors` and names
the groups again under `groups`. Pages of the web have an `author` in any form. What cannot be taken
apart for sure is kept whole: a name that is not inverted is better than one that is wrongly so.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_SEMICOLON = re.compile(r"\s*;\s*")
_AND = re.compile(r"\s+(?:and|&)\s+", re.IGNORECASE)
_COMMA = re.compile(r"\s*,\s*")
_ET_AL = re.compile(r"[\s,]+(?:et\s+al\.?|and\s+others)\s*$", re.IGNORECASE)
_INITIALS = re.compile(r"(?P<family>\S.*?)\s+(?P<given>[A-Z]{1,4})")  # "van Holm IM"
_PARTICLES = frozenset(
    "af al bin d' da de del della den der di dos du el ibn la le ten ter van von zu".split()
)
_SUFFIX = re.compile(r"(?:Jr|Sr|[IVX]{1,4}|\d(?:st|nd|rd|th|d))\.?", re.IGNORECASE)
_GROUP_WORDS = frozenset(
    "agency association center centre committee consortium department group institute ministry "
    "network organisation organization society team trial university".split()
)
MOST_INITIALS = 4  # "JRRT"; longer words in capitals are names
MOST_SHOWN = 3  # names before "et al.", as the BMJ has it
MOST_WORDS = 6  # of a person's name: with more it is a group or a sentence


@dataclass(frozen=True, slots=True)
class Name:
    """A person, or with `given` and `suffix` empty and `whole` set a name that stays as it is."""

    family: str
    given: str = ""
    suffix: str = ""
    whole: bool = False  # a group, or a name that cannot be taken apart

    @property
    def inverted(self) -> str:
        """As catalogues have it.

        >>> Name("Holm", "Ida Marie", "Jr").inverted
        'Holm, Ida Marie, Jr'
        """
        return ", ".join(part for part in (self.family, self.given, self.suffix) if part)


@dataclass(frozen=True, slots=True)
class Authors:
    """The names in their order."""

    names: tuple[Name, ...]
    more: bool = False  # the metadata ends with "et al."


def authors_of(meta: Mapping[str, str]) -> Authors:
    """The authors as far as metadata names them.

    >>> authors_of({"author": "I. Holm and P. van Berg et al."}).names[1]
    Name(family='van Berg', given='P.', suffix='', whole=False)
    """
    stated = meta.get("authors") or meta.get("author") or ""
    text = _ET_AL.sub("", stated)
    groups = frozenset(_SEMICOLON.split(meta.get("groups", "")))
    names = tuple(
        Name(part, whole=True) if part in groups else _name(part)
        for part in map(str.strip, _split(text))
        if any(c.isalnum() for c in part)
    )
    return Authors(names, text != stated)


def first_of(meta: Mapping[str, str]) -> str:
    """The authors as a line of references has them: "Holm IM, Berg P, et al.".

    >>> first_of({"authors": "Holm, Ida Marie; Berg, Per; Dam, Bo; Lund, Eva"})
    'Holm IM, Berg P, Dam B, et al.'
    """
    authors = authors_of(meta)
    shown = [_short(name) for name in authors.names[:MOST_SHOWN]]
    if authors.more or len(authors.names) > MOST_SHOWN:
        shown.append("et al.")
    return ", ".join(shown)


def _short(name: Name) -> str:
    initials = "".join(word[0] for word in re.findall(r"[^\W\d_]+", name.given))
    if name.given.isalpha() and name.given.isupper() and len(name.given) <= MOST_INITIALS:
        initials = name.given  # "IM" is not one name that begins with I
    return " ".join(part for part in (name.family, initials, name.suffix) if part)


def _split(text: str) -> Sequence[str]:
    if ";" in text:
        return _SEMICOLON.split(text)
    if _is_group(text):
        return [text]
    parts = _AND.split(text)
    last_first = len(parts) == 1 and not _are_names(_COMMA.split(text))
    return parts if last_first else [name for part in parts for name in _listed(part)]


def _listed(part: str) -> Sequence[str]:
    pieces = _COMMA.split(part.strip(", "))
    return pieces if _are_names(pieces) else [part]


def _are_names(pieces: Sequence[str]) -> bool:
    """Whether commas stand between names, and not between the parts of one ("Holm, Ida")."""
    return all(" " in piece.strip() for piece in pieces)


def _name(text: str) -> Name:
    if "," in text:
        family, *rest = (part for part in _COMMA.split(text) if part)
        suffix = rest.pop() if len(rest) > 1 and _SUFFIX.fullmatch(rest[-1]) else ""
        return Name(family, " ".join(rest), suffix)
    words = text.split()
    if len(words) == 1 or len(words) > MOST_WORDS or not _is_latin(text) or _is_group(text):
        return Name(text, whole=True)
    if match := _INITIALS.fullmatch(text):
        return Name(match["family"], match["given"])
    return _western(words)


def _western(words: Sequence[str]) -> Name:
    """Given names first, the family's last with the particles before it."""
    suffix = words[-1] if len(words) > 2 and _SUFFIX.fullmatch(words[-1]) else ""
    words = words[:-1] if suffix else words
    start = len(words) - 1
    while start > 1 and words[start - 1] in _PARTICLES:
        start -= 1
    return Name(" ".join(words[start:]), " ".join(words[:start]), suffix)


def _is_group(text: str) -> bool:
    """Whether words are no person's: "University", or small ones but particles ("Study of …")."""
    words = re.findall(r"[^\W\d_]{2,}", text)
    small = {word for word in words if word.islower()} - _PARTICLES - {"and"}
    return bool(small) or any(word.lower() in _GROUP_WORDS for word in words)


def _is_latin(text: str) -> bool:
    return all("LATIN" in unicodedata.name(c, "") for c in text if c.isalpha())
