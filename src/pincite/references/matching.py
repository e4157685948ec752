"""Compares titles, names of people and venues as a reader does.

Case, accents, markup, hyphens and British or American spelling never matter, subtitles and initials
may be left out. A word that differs does matter: "for" is not "towards".
"""

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from functools import lru_cache

from pincite.text import patterns, tables_beside, word_lists
from pincite.text.identifiers import ET_AL, NAME_PARTICLES

NEAR_FROM = 0.7  # share of words in common: "near" titles differ in one word of four or less
_MARKUP = re.compile(r"<[^<>]{1,40}>|\\[a-zA-Z]+\s*|[{}$\\^_]")
_LETTERS = str.maketrans({"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th",
                          "ı": "i", "&": " and "})  # fmt: skip
_AMERICAN = [
    (re.compile(ending), form) for ending, form in tables_beside(__file__)["american"].items()
]
_BREAK = patterns(__file__, "matching")["break"]
_CUT = re.compile(r"\s*(?:…|\.\.\.)\s*\Z")
# "I.—On trams": the number of a paper in its journal, if only one of two titles has it.
_NUMBERED = re.compile(r"\s*(?:[IVXLC]+|\d{1,3})(?:[.)]\s*[–—-]?|\s*[–—])\s*(?=[^\W\d])")
# "Mueller" and "Müller", "Kierkegaard" and "Kierkegård".
_TWO_LETTERS = re.compile(r"(?<=[aou])e|(?<=a)a")
MIN_MAIN = 2  # words of a title before its subtitle: "Bridges: …" alone names no work


class Likeness(StrEnum):
    """How two titles or venues compare."""

    SAME = "same"
    NEAR = "near"  # some words differ
    OTHER = "other"
    UNKNOWN = "unknown"  # one is missing, or they are in different scripts


@lru_cache(maxsize=8192)
def words_of(text: str) -> tuple[str, ...]:
    r"""The words of a title in a form that compares."""
    plain = re.sub(r"\\([a-zA-Z]{4,})", r" \1 ", html.unescape(text))  # \alpha is read as a word
    plain = unicodedata.normalize("NFKD", _MARKUP.sub("", plain)).casefold().translate(_LETTERS)
    letters = (_name_of_letter(c) for c in plain if not unicodedata.combining(c))
    plain = re.sub(r"(?<=\w)['’](?=\w)", "", "".join(letters))
    for ending, form in _AMERICAN:
        plain = ending.sub(form, plain)
    return tuple(re.findall(r"[^\W_]+", plain))


def _name_of_letter(character: str) -> str:
    name = unicodedata.name(character, "") if "α" <= character <= "ω" else ""
    return f" {name.rpartition(' ')[2].lower()} " if name else character


def key_of(title: str) -> str:
    """A key that is equal for titles that are the same but for spaces, hyphens and umlauts."""
    return _TWO_LETTERS.sub("", "".join(words_of(title)))


def titles(cited: str, known: str) -> Likeness:
    """Compare two titles."""
    if bool(_NUMBERED.match(cited)) != bool(_NUMBERED.match(known)):
        cited, known = _NUMBERED.sub("", cited), _NUMBERED.sub("", known)
    first, second = key_of(cited), key_of(known)
    if not first or not second or not _alike_scripts(first, second):
        return Likeness.UNKNOWN
    if first == second:
        return Likeness.SAME
    for short, long in ((cited, known), (known, cited)):
        if _is_part(short, long):
            return Likeness.SAME if len(words_of(short)) >= MIN_MAIN else Likeness.UNKNOWN
    alike = _numbers(words_of(cited)) == _numbers(words_of(known))
    return Likeness.NEAR if alike and common_words(cited, known) >= NEAR_FROM else Likeness.OTHER


def common_words(cited: str, known: str) -> float:
    """The share of words that two titles have in common, in order."""
    first, second = words_of(cited), words_of(known)
    return SequenceMatcher(None, first, second, autojunk=False).ratio() if first else 0.0


def _numbers(words: Sequence[str]) -> list[str]:
    """Numbers tell parts of a series apart, and so do single letters at the end."""
    last = words[-1] if words else ""
    is_part = len(last) == 1 or re.fullmatch("[ivx]+", last) is not None
    return [word for word in words if word.isdigit()] + [last] * is_part


def _is_part(short: str, long: str) -> bool:
    """Whether a title is the other one without its subtitle, or cut with an ellipsis."""
    key, whole = key_of(_CUT.sub("", short)), key_of(long)
    if not whole.startswith(key):
        return False
    if _CUT.search(short):
        return len(words_of(short)) >= MIN_MAIN
    return any(key_of(long[: match.start()]) == key for match in _BREAK.finditer(long))


def _alike_scripts(first: str, second: str) -> bool:
    """Whether both are in Latin letters, or neither is: a translation cannot be compared."""
    return _is_latin(first) == _is_latin(second)


def _is_latin(text: str) -> bool:
    letters = [c for c in text if c.isalpha()]
    return 2 * sum(c.isascii() for c in letters) >= len(letters)


@lru_cache(maxsize=16384)
def _parts(name: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a name, and the initials that stand for others: "Urban MH" has two."""
    plain = re.sub(r"\b(?:Jr|Sr|[IV]{2,3})\b\.?", "", ET_AL.sub("", re.sub(r"\d", "", f" {name}")))
    full, initials = set[str](), set[str]()
    pieces = [p for p in re.split(r"[\s,.’'-]+", plain) if p]
    longest = max(map(len, pieces), default=0)
    for piece in pieces:
        short = len(piece) <= 4 and piece.isupper() and (longest > len(piece) or len(piece) == 1)
        if len(piece) == 1 or (short and len(pieces) > 1):
            initials.update(piece.casefold())
        elif piece.casefold() not in NAME_PARTICLES:
            full.update(_TWO_LETTERS.sub("", word) for word in words_of(piece))
    return frozenset(full), frozenset(initials)


def same_person(cited: str, known: str) -> bool:
    """Whether two names may be one person's; order, initials and middle names do not matter."""
    (full, short), (other, shorter) = _parts(cited), _parts(known)
    common = full & other
    if not common:
        joined = "".join(sorted(full)), "".join(sorted(other))
        return bool(joined[0]) and joined[0] == joined[1]
    given, their_given = full - common, other - common
    if (not given and not short) or (not their_given and not shorter):
        return True
    letters = {word[0] for word in given} | short
    their_letters = {word[0] for word in their_given} | shorter
    if given and their_given:  # two written-out names that differ
        return (bool(letters & their_letters) and bool(short or shorter)) or len(common) > 1
    common_letters = {word[0] for word in common}
    return not letters or not their_letters or bool(letters & (their_letters | common_letters))


class Authors(StrEnum):
    """How the authors of a reference compare with those of a record."""

    SAME = "same"
    FEWER = "fewer"  # the reference names only some of them
    OTHERS = "others"  # some are not of the record
    DISJOINT = "disjoint"
    UNKNOWN = "unknown"


UNLIKE = 0.25  # share of authors that may be written too differently: a nickname, a maiden name


def authors(cited: Sequence[str], known: Sequence[str], *, more: bool = False) -> Authors:
    """Compare two lists; `more`: the reference says "et al."."""
    cited = [name for name in cited if any(_parts(name))]
    known = [name for name in known if any(_parts(name))]
    if not cited or not known or not _alike_scripts("".join(cited), "".join(known)):
        return Authors.UNKNOWN
    left, matched = list(known), 0
    for name in cited:
        if other := next((person for person in left if same_person(name, person)), None):
            left.remove(other)
            matched += 1
        elif " " not in name and any(_parts(name)[0] & _parts(person)[0] for person in known):
            matched += 1  # "Holm, Ida" was read as two
    if not matched:
        return Authors.DISJOINT
    if len(cited) - matched > UNLIKE * len(cited):
        return Authors.OTHERS
    return Authors.FEWER if len(cited) < len(known) and not more else Authors.SAME


_STOP = frozenset("the of on in for and a an de la et und der die du des le acm ieee cvf".split())
_KINDS = word_lists(__file__, "words")["kinds"]
_ACRONYM = re.compile(r"[A-Z][A-Za-z]{0,3}[A-Z][A-Za-z]{0,9}\Z|[A-Z]{2,10}\Z")
PREPRINTS = word_lists(__file__, "words")["preprints"]
# What follows a section's letter only describes it.
_SECTION = re.compile(r"[\s.,(-]{0,5}\b(?:Se(?:r|ries|ct|ction)|Part|Pt)\b\.?\s*([A-Z]|[IVX]+)\b.*")
_COUNTRY = re.compile(r",?\sU\.?\s?S\.?(?:\s?A\.?)?\Z")
_EVENT = re.compile(r"[’']?\b(?:19|20)?\d\d\b|\b\d+(?:st|nd|rd|th)\b")  # the year or count of one


def venues(cited: str, known: str) -> Likeness:
    """Compare two journals or conferences, in full, abbreviated or as an acronym."""
    cited, known = _EVENT.sub(" ", cited), _EVENT.sub(" ", known)
    first, second = _significant(cited), _significant(known)
    if not first or not second or not _alike_scripts("".join(first), "".join(second)):
        return Likeness.UNKNOWN
    if is_preprint(cited) or is_preprint(known):
        return Likeness.UNKNOWN  # of the same work; a preprint may be published later
    names, others = _acronyms(cited), _acronyms(known)
    short_or_long = ((first, _forms(known)), (second, _forms(cited)))
    if names & others or any(_abbreviates(s, form) for s, long in short_or_long for form in long):
        return Likeness.SAME
    spelt = any(_segments(name, second) for name in names if len(second) > 1)
    spelt |= any(_segments(name, first) for name in others if len(first) > 1)
    return Likeness.SAME if spelt else Likeness.OTHER


def is_preprint(venue: str) -> bool:
    return not PREPRINTS.isdisjoint(words_of(venue))


def _significant(venue: str) -> list[str]:
    main = re.split(r"\s*(?:[:=]\s|\()", _COUNTRY.sub("", _SECTION.sub(r" \1", venue)))[0]
    words = words_of(main)
    return [w for n, w in enumerate(words, 1) if w not in _STOP or (w == "a" and n == len(words))]


def _forms(venue: str) -> Iterator[list[str]]:
    """Yield a venue as it is, and without what it is of: a society's town or country."""
    yield _significant(venue)
    *_, section = _significant(venue)
    for match in re.finditer(r"\s+of\s", venue):
        rest = _significant(venue[: match.start()])
        if len(_KINDS.union(rest)) - len(_KINDS) > 1:
            yield [*rest, section] if len(section) == 1 else rest


def _abbreviates(short: Sequence[str], long: Sequence[str]) -> bool:
    """Whether all words of one begin words of the other, in order; only "Journal" may be left out.

    "Nature" does not abbreviate "Nature Communications".
    """
    at, skipped = 0, list[str]()
    for word in long:
        if at < len(short) and _begins(short[at], word):
            at += 1
        else:
            skipped.append(word)
    if skipped and skipped[-1] == long[-1] and len(long[-1]) == 1:  # the letter of a section
        skipped.pop()
    return at == len(short) and _KINDS.issuperset(skipped)


def _begins(short: str, long: str) -> bool:
    """Whether a word abbreviates another: "j" for "journal", "intl" for "international"."""
    return long.startswith(short) or (
        len(short) > 2 and short[0] == long[0] and re.match(".*".join(short), long) is not None
    )


def _acronyms(venue: str) -> set[str]:
    """The acronyms in a venue: "NeurIPS", "AISTATS"."""
    names = {part.lower() for part in re.findall(r"[A-Za-z]+", venue) if _ACRONYM.match(part)}
    return names - _STOP


def _segments(letters: str, words: Sequence[str]) -> bool:
    """Whether letters are beginnings of words, of which some may be skipped."""
    if not letters:
        return True
    return any(
        _begins(letters[:n], word) and _segments(letters[n:], words[at + 1 :])
        for at, word in enumerate(words)
        for n in range(1, min(len(letters), len(word), 5) + 1)
    )
