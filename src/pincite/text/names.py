"""Finds the names of a claim that a source lacks, whatever form the source gives them.

"Zubaidi" and "Zoubaidi", "WHO" and "World Health Organization", "French" and "France" match. "J. R.
Carver" is missing if the source mentions only Peter Carver.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile

from pincite.text import LEXICON, patterns, syntax, words_of
from pincite.text import words as wording
from pincite.text.languages import CAPITALISED_NAMES, common
from pincite.text.quantities import values

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*\.?")
_ACRONYM = re.compile(r"[A-Z]{2,6}s?")
_INITIAL = re.compile(r"[A-Z]\.?")
_ROMAN = re.compile(r"[IVX]+")
# Words within a name, such as "of", and words before one, such as "King".
_LITTLE, _TITLES = (words_of("names", name) for name in ("little", "titles"))
_LONG_FORMS = dict(pair.split() for pair in LEXICON["names"]["short_forms"].split(","))
_SOUNDS = [pair.split() for pair in LEXICON["names"]["sounds"].split(",")]  # applied in this order
_DAYS = frozenset({*map(str.lower, wording.DAYS), "gregorian", "julian"})  # and calendars
_NATION = {
    word: nation.split()[0]
    for nation in LEXICON["names"]["nations"].split("/")
    for word in nation.split()
}
# Countries of two words, and their form in `_NATION`.
_OF_TWO_WORDS = {"United States": "us", "U.S.": "us", "United Kingdom": "britain"}
_ENDINGS = patterns(__file__, "names")["endings"]
_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d",
                          "þ": "th", "ı": "i"})  # fmt: skip
# Minimum letters: of a stem that a country shares with its people ("Peru", "Peruvian"); of a name
# that may have another spelling, and of one whose last vowel may differ too ("Mohammed",
# "Muhammad"); and of an acronym, since two letters are too likely to match by chance.
_MIN_STEM, _MIN_SPELLING, _MIN_LAST_VOWEL, _MIN_ACRONYM = 4, 4, 7, 3
_PART = re.compile(r"[^\W\d_]+")
_BREAK = re.compile(r"[^\w\s’'&-]")  # names do not extend past a comma or a full stop
_LETTER_OF_LITTLE = "(?:O|O[T]|F|D)?"  # "of", "of the", "for", "de" in an acronym
_MOST_WORDS = 4  # of a person's name


@dataclass(frozen=True, slots=True)
class _Person:
    """A run of two to four capitalised words, which may name a person."""

    given: Sequence[str]  # names or initials
    surname: str


@dataclass(frozen=True, slots=True)
class _Index:
    """The names of a source by the forms in which they are looked up."""

    names: frozenset[str]
    spellings: frozenset[str]
    nations: frozenset[str]
    acronyms: frozenset[str]
    long_forms: frozenset[str]  # of all words, in lower case
    initials: frozenset[str]  # of its runs of capitalised words


def missing(claim: str, source: str, language: str = "") -> list[str]:
    """Name words of `claim` that `source` has in no form, as written, in order.

    Empty if they are in two languages, which may write a name differently, or in one whose names
    are not marked by capitals. `language`: of the claim, used if its words do not tell.

    >>> missing("In Varde J. R. Carver met the WHO.", "The World Health Organization and Peter Carver")
    ['Varde', 'Carver']
    """  # noqa: E501
    if common(claim, source, language) not in CAPITALISED_NAMES:
        return []
    measured = [value.span.of(claim) for value in values(claim)]  # "GW" is not a name
    wanted = [
        name
        for name in _names(claim)
        if name.lower() not in _DAYS and not _ROMAN.fullmatch(name)
        if not any(name in words for words in measured)
    ]
    absent = [name for name in wanted if not wording.is_named(name, source)]
    of_others = _surnames_of_others(claim, source) if wanted else []
    if not absent and not of_others:
        return []
    index = _index(source)
    abbreviated = {word for run in _runs(claim) if _short_form(run, index) for word in run}
    for country, nation in _OF_TWO_WORDS.items():
        if country in claim and nation in index.nations:
            abbreviated.update(country.split())
    lacking = {
        name
        for name in absent
        if not _is_spelt(name, index)
        and name not in abbreviated
        and not (name.isupper() and any(name.rstrip("s") in run for run in index.initials))
        and not _is_left_out(name, claim, source)
    }
    return [name for name in wanted if name in lacking or name in of_others]


def full_names(claim: str, absent: Sequence[str]) -> list[str]:
    """Expand words from `missing` to the full names that contain them.

    Adjacent words form one name. If its last word is missing, the whole name is returned: not just
    "Group". A missing given name alone is returned alone, since the surname is present.

    >>> claim = "In Varde the World Bank Group chose Ann Lee, its Co-Chair."
    >>> full_names(claim, ["Group", "Ann", "Co", "Chair"])
    ['World Bank Group', 'Ann', 'Co-Chair']
    """
    known = {*_names(claim), *absent}
    opening = _WORD.match(claim)  # "Tarn Energy was": no name in `_names`, unless a name follows
    if opening and opening[0].lower() not in syntax.PARTICLES:
        known.add(opening[0])
    word = rf"\b(?:{'|'.join(map(re.escape, sorted(known, key=len, reverse=True)))})\b"
    expanded = list[str]()
    for run in re.finditer(rf"{word}(?:[ -]{word})*", claim):
        parts = list(re.finditer(word, run[0]))
        # Of "Varde Town Council", "Town" alone says nothing.
        leading = list(takewhile(lambda part: part[0] in absent, parts))
        if parts and parts[-1][0] in absent:
            expanded.append(run[0])
        elif leading:
            expanded.append(run[0][leading[0].start() : leading[-1].end()])
    return list(dict.fromkeys(expanded))


def _names(claim: str) -> list[str]:
    """`wording.names`, and a nationality at the start of a sentence."""
    opening = _WORD.match(claim)
    nation = [opening[0]] if opening and opening[0].lower() in _NATION else []
    return [*nation, *wording.names(claim)]


def written_otherwise(claim: str, source: str) -> list[tuple[str, str]]:
    """Pairs of a claim's name and the source's form: a spelling, an acronym, or its long form.

    >>> written_otherwise("So Zubaidi left WHO.", "Zoubaidi: the World Health Organization's.")
    [('Zubaidi', 'Zoubaidi'), ('WHO', 'World Health Organization')]
    """
    absent = [n for n in dict.fromkeys(_names(claim)) if not wording.is_named(n, source)]
    if not absent:
        return []
    index, pairs = _index(source), list[tuple[str, str]]()
    for name in absent:
        if len(name) >= _MIN_SPELLING and spelling(name) in index.spellings:
            same = (w for w in sorted(index.names) if spelling(w) == spelling(name))
            pairs.append((name, next(same)))
        elif _ACRONYM.fullmatch(name) and (long := long_form(name, source)):
            pairs.append((name, long))
    for run in _runs(claim):
        acronym = _short_form(run, index)
        words = run[1:] if run[0].lower() in _LITTLE else run
        if acronym and set(words) <= set(absent):
            written = re.search(r"\W+(?:\w+\W+){0,2}?".join(map(re.escape, words)), claim)
            pairs.append((written[0] if written else " ".join(words), acronym))
    return pairs


def is_in(name: str, text: str) -> bool:
    """Whether any word of a name is in a text, in any form."""
    index = _index(text)
    words = [match[0].rstrip(".") for match in _WORD.finditer(name)]
    return any(wording.is_named(word, text) or _is_spelt(word, index) for word in words)


@lru_cache(maxsize=2048)  # a passage meets many claims
def _index(text: str) -> _Index:
    words = [match[0].rstrip(".") for match in _WORD.finditer(text)]
    words += [part for word in words if "-" in word for part in word.split("-") if part]
    upper = [word for word in words if word[0].isupper()]
    of_two_words = {nation for country, nation in _OF_TWO_WORDS.items() if country in text}
    return _Index(
        names=frozenset(upper),
        spellings=frozenset(spelling(word) for word in upper if len(word) >= _MIN_SPELLING),
        nations=frozenset(map(_nation, upper)) | of_two_words,
        acronyms=frozenset(word.rstrip("s") for word in words if _ACRONYM.fullmatch(word)),
        long_forms=frozenset(_LONG_FORMS.get(word.lower(), word.lower()) for word in words),
        initials=frozenset(map(_initials, _runs(text))),
    )


def _is_spelt(name: str, index: _Index) -> bool:
    """Whether a source has a name in another spelling, as a nationality, or its long form."""
    if len(name) >= _MIN_SPELLING and spelling(name) in index.spellings:
        return True
    plain = name.lower().rstrip(".")
    return _nation(name) in index.nations or _LONG_FORMS.get(plain, plain) in index.long_forms


@lru_cache(maxsize=16384)
def spelling(name: str) -> str:
    """A key that is equal for spellings of one name.

    >>> spelling("Mohammed") == spelling("Muhammad"), spelling("Hansen") == spelling("Hanson")
    (True, False)
    """
    folded = unicodedata.normalize("NFKD", name.lower().translate(_LETTERS))
    plain = "".join(char for char in folded if char.isalpha() and not unicodedata.combining(char))
    for written, sound in _SOUNDS:
        plain = plain.replace(written, sound)
    single = plain[:1] + "".join(b for a, b in pairwise(plain) if a != b)
    return re.sub(r"[ae](?=[^aeiou]*\Z)", "e", single) if len(name) >= _MIN_LAST_VOWEL else single


def _nation(word: str) -> str:
    """A key shared by a country and its people: "peru" for Peru and Peruvian."""
    plain = word.lower().removesuffix("'s").removesuffix("’s")
    if plain in _NATION:
        return _NATION[plain]
    stem = _ENDINGS.sub("", plain)
    return stem if len(stem) >= _MIN_STEM else plain


@lru_cache(maxsize=2048)
def _runs(text: str) -> tuple[tuple[str, ...], ...]:
    """Runs of two or more capitalised words, without little words: (World, Health, …)."""
    runs: list[list[str]] = [[]]
    end = 0
    for match in _WORD.finditer(text):
        word = match[0].rstrip(".")
        adjoins = text[end : match.start()].strip() in ("", "&")
        end = match.end()
        if word[0].isupper() and adjoins:
            runs[-1].append(word)
        elif word[0].isupper():
            runs.append([word])
        elif not (adjoins and word in _LITTLE):
            runs.append([])
    return tuple(tuple(run) for run in runs if len(run) > 1)


def long_form(acronym: str, source: str) -> str:
    """The words of a source that an acronym abbreviates; "" if there are none.

    >>> long_form("GBS", "It can cause Guillain-Barré syndrome."), long_form("GBS", "Great bogs.")
    ('Guillain-Barré syndrome', '')
    """
    letters = acronym.rstrip("s")
    if len(letters) < _MIN_ACRONYM:
        return ""
    parts = [m for m in _PART.finditer(source) if m[0].lower() not in _LITTLE]
    initials = "".join(m[0][0].upper()[0] for m in parts)  # the capital of "ﬁ" is two letters
    at = initials.find(letters)
    while at >= 0:
        first, last = parts[at], parts[at + len(letters) - 1]
        words = source[first.start() : last.end()]
        if first[0][0].isupper() and not _BREAK.search(words):
            return words
        at = initials.find(letters, at + 1)
    return ""


def _initials(run: Sequence[str]) -> str:
    return "".join(word[0] for word in run if word.lower() not in _LITTLE).upper()


def _short_form(run: Sequence[str], index: _Index) -> str:
    """The acronym of a run of words in a source, with or without the letter of an "of"; or ""."""
    letters = _initials(run)
    if letters in index.acronyms:
        return letters
    if len(letters) < 2:
        return ""
    pattern = re.compile(_LETTER_OF_LITTLE.join(letters))
    return next((word for word in sorted(index.acronyms) if pattern.fullmatch(word)), "")


def _is_left_out(name: str, claim: str, source: str) -> bool:
    """Whether the source omits or shortens a given name before its surname."""
    persons = (person for person in _people(claim) if name in person.given)
    return any(_may_lack_given(name, person, source) for person in persons)


def _may_lack_given(name: str, person: _Person, source: str) -> bool:
    """Whether a source has a person's surname alone, or with an initial for this given name."""
    namesakes = _namesakes(person, source)
    if not namesakes:
        return _stands_alone(person.surname, source, 0)
    # "P. Carver" and "J. P. Carver" may be John Peter Carver.
    place = person.given.index(name)
    return any(name[0] in (other.given[0], *other.given[place:][:1]) for other in namesakes)


def _surnames_of_others(claim: str, source: str) -> list[str]:
    """Surnames in the claim that the source gives only to people with another initial."""
    surnames = []
    for person in _people(claim):
        namesakes = _namesakes(person, source)
        # "Karl and Anders Lund" are both Lunds.
        first, last = re.escape(person.given[0]), re.escape(person.surname)
        shared = rf"\b{first}(?:, [^\W\d_]+)*,? (?:and|&) (?:[^\W\d_]+\.? )+{last}\b"
        stands_alone = _stands_alone(person.surname, source, len(namesakes))
        if not namesakes or stands_alone or re.search(shared, source):
            continue
        initials = {word[0] for word in person.given}
        if all(initials.isdisjoint(word[0] for word in other.given) for other in namesakes):
            surnames.append(person.surname)
    return surnames


def _namesakes(person: _Person, source: str) -> list[_Person]:
    return [other for other in _people(source) if other.surname == person.surname]


def _stands_alone(surname: str, source: str, n_with_given: int) -> bool:
    """Whether the source also has a surname without a given name."""
    return len(re.findall(rf"\b{re.escape(surname)}\b", source)) > n_with_given


@lru_cache(maxsize=2048)
def _people(text: str) -> tuple[_Person, ...]:
    runs = (tuple(word for word in run if word.lower() not in _TITLES) for run in _runs(text))
    return tuple(
        _Person(run[:-1], run[-1])
        for run in runs
        if 2 <= len(run) <= _MOST_WORDS and not _INITIAL.fullmatch(run[-1])
    )
