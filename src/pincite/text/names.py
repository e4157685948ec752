"""Matches names across spellings, initials, acronyms and nationalities.

"Zubaidi" and "Zoubaidi", "WHO" and "World Health Organization", "French" and "France" match. "J. R.
Carver" is missing if the source mentions only Peter Carver.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise, takewhile

from pincite.text import LEXICON, list_of, pattern, syntax, words_of
from pincite.text import words as wording
from pincite.text.languages import CAPITALISED_NAMES, common
from pincite.text.quantities import values

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*\.?")
_CAPITALS = re.compile(r"[A-Z]{2,6}s?")
_INITIAL = re.compile(r"[A-Z]\.?")
_ROMAN = re.compile(r"[IVX]+")
_LITTLE, _TITLES = (words_of("names", name) for name in ("little", "titles"))
_SHORT_FORMS = dict(pair.split() for pair in LEXICON["names"]["short_forms"].split(","))
_SOUNDS = [pair.split() for pair in LEXICON["names"]["sounds"].split(",")]  # applied in this order
_DAYS = frozenset({*map(str.lower, wording.DAYS), "gregorian", "julian"})  # and calendars
_NATION = {
    word: nation.split()[0]
    for nation in LEXICON["names"]["nations"].split("/")
    for word in nation.split()
}
# Countries of two words, and their form in the people's name.
_OF_TWO_WORDS = {"United States": "us", "U.S.": "us", "United Kingdom": "britain"}
_ENDINGS = pattern(__name__, "endings")
_SHORTEST_STEM = 4  # minimum letters of a shared stem: "Peru", "Peruvian"
_SHORTEST = 4  # minimum letters of a name that may have another spelling
_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d",
                          "þ": "th", "ı": "i"})  # fmt: skip
_SHORTEST_ACRONYM = 3  # minimum letters: two are too likely to match by chance
_PART = re.compile(r"[^\W\d_]+")
_BREAK = re.compile(r"[^\w\s’'&-]")  # names do not extend past a comma or a full stop
_LONG = 7  # letters from which the last vowel may differ too: Mohammed, Muhammad


def missing(claim: str, source: str, language: str = "") -> list[str]:
    """Name words of `claim` that `source` has in no form, as written, in order.

    Empty if they are in two languages, which may write a name differently, or in one whose names
    are not marked by capitals. `language`: of the claim, used if its words do not tell.

    >>> missing("In Varde J. R. Carver met the WHO.", "The World Health Organization and Peter Carver")
    ['Varde', 'Carver']
    >>> missing("He met Zubaidi, a Peruvian.", "Zoubaidi of Peru")
    []
    """  # noqa: E501
    if common(claim, source, language) not in CAPITALISED_NAMES:
        return []
    measured = [value.span for value in values(claim)]  # "GW" is not a name
    wanted = [
        name
        for name in _names(claim)
        if name.lower() not in _DAYS and not _ROMAN.fullmatch(name)
        if not any(name in span.of(claim) for span in measured)
    ]
    absent = [name for name in wanted if not wording.is_named(name, source)]
    others = _others(claim, source) if wanted else []
    if not absent and not others:
        return []
    known, runs = _known(source), _runs(source)
    otherwise = {word for run in _runs(claim) if _short_form(run, known) for word in run}
    for country, nation in _OF_TWO_WORDS.items():
        if country in claim and nation in known.nations:
            otherwise.update(country.split())
    lacking = {
        name
        for name in absent
        if not _is_spelt(name, known)
        and name not in otherwise
        and not (name.isupper() and any(name.rstrip("s") in _acronym(run) for run in runs))
        and not _is_left_out(name, claim, source)
    }
    return [name for name in wanted if name in lacking or name in others]


def whole(claim: str, absent: Sequence[str]) -> list[str]:
    """Expand words from `missing` to the full names that contain them.

    Adjacent words form one name. If its last word is missing, the whole name is returned: not just
    "Group". A missing given name alone is returned alone, since the surname is present.

    >>> claim = "In Varde the World Bank Group chose Ann Lee, its Co-Chair."
    >>> whole(claim, ["Group", "Ann", "Co", "Chair"])
    ['World Bank Group', 'Ann', 'Co-Chair']
    """
    opening = _WORD.match(claim)  # "Tarn Energy was": no name in `_names`, unless a name follows
    first = {opening[0]} if opening and opening[0].lower() not in syntax.PARTICLES else set[str]()
    known = sorted({*_names(claim), *absent, *first}, key=len, reverse=True)
    word = rf"\b(?:{'|'.join(map(re.escape, known))})\b"
    found = list[str]()
    for run in re.finditer(rf"{word}(?:[ -]{word})*", claim):
        parts = list(re.finditer(word, run[0]))
        if parts and parts[-1][0] in absent:
            found.append(run[0])
        # Of "Varde Town Council", "Town" alone says nothing.
        elif beside := [*takewhile(lambda part: part[0] in absent, parts)]:
            found.append(run[0][beside[0].start() : beside[-1].end()])
    return list(dict.fromkeys(found))


def _names(claim: str) -> list[str]:
    """`wording.names`, and a nationality at the start of a sentence."""
    opening = _WORD.match(claim)
    nation = opening[0] if opening and opening[0].lower() in _NATION else ""
    return [*([nation] if nation else []), *wording.names(claim)]


def written_otherwise(claim: str, source: str) -> list[tuple[str, str]]:
    """Pairs of a claim's name and the source's form: a spelling, an acronym, or its long form.

    >>> written_otherwise("So Zubaidi left WHO.", "Zoubaidi: the World Health Organization's.")
    [('Zubaidi', 'Zoubaidi'), ('WHO', 'World Health Organization')]
    """
    found = []
    absent = [n for n in dict.fromkeys(_names(claim)) if not wording.is_named(n, source)]
    known = _known(source) if absent else None
    for name in absent:
        assert known
        if len(name) >= _SHORTEST and spelling(name) in known.spellings:
            same = (w for w in sorted(known.names) if spelling(w) == spelling(name))
            found.append((name, next(same)))
        elif _CAPITALS.fullmatch(name) and (long := long_form(name, source)):
            found.append((name, long))
    for run in _runs(claim):
        short, run = known and _short_form(run, known), run[run[0].lower() in _LITTLE :]
        if short and set(run) <= set(absent):
            written = re.search(r"\W+(?:\w+\W+){0,2}?".join(map(re.escape, run)), claim)
            found.append((written[0] if written else " ".join(run), short))
    return found


def is_in(name: str, text: str) -> bool:
    """Whether any word of a name is in a text, in any form."""
    known = _known(text)
    words = [match[0].rstrip(".") for match in _WORD.finditer(name)]
    return any(wording.is_named(word, text) or _is_spelt(word, known) for word in words)


class _Source:
    """The words of a source, indexed by the forms in which they are looked up."""

    def __init__(self, text: str) -> None:
        words = [match[0].rstrip(".") for match in _WORD.finditer(text)]
        words += [part for word in words if "-" in word for part in word.split("-") if part]
        upper = [word for word in words if word[0].isupper()]
        self.names = frozenset(upper)
        self.spellings = frozenset(spelling(w) for w in upper if len(w) >= _SHORTEST)
        self.nations = frozenset(_nation(word) for word in upper) | {
            nation for country, nation in _OF_TWO_WORDS.items() if country in text
        }
        self.capitals = frozenset(word.rstrip("s") for word in words if _CAPITALS.fullmatch(word))
        self.long_forms = frozenset(_SHORT_FORMS.get(word.lower(), word.lower()) for word in words)


_known = lru_cache(maxsize=2048)(_Source)  # a passage meets many claims


def _is_spelt(name: str, known: _Source) -> bool:
    if len(name) >= _SHORTEST and spelling(name) in known.spellings:
        return True
    plain = name.lower().rstrip(".")
    return _nation(name) in known.nations or _SHORT_FORMS.get(plain, plain) in known.long_forms


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
    if len(name) >= _LONG:
        single = re.sub(r"[ae](?=[^aeiou]*\Z)", "e", single)
    return single


def _nation(word: str) -> str:
    """A key shared by a country and its people: "peru" for Peru and Peruvian."""
    plain = word.lower().removesuffix("'s").removesuffix("’s")
    if plain in _NATION:
        return _NATION[plain]
    stem = _ENDINGS.sub("", plain)
    return stem if len(stem) >= _SHORTEST_STEM else plain


@lru_cache(maxsize=2048)
def _runs(text: str) -> tuple[tuple[str, ...], ...]:
    """Runs of capitalised words, without function words: (World, Health, …)."""
    runs: list[list[str]] = [[]]
    end = 0
    for match in _WORD.finditer(text):
        word = match[0].rstrip(".")
        together = text[end : match.start()].strip() in ("", "&")
        end = match.end()
        if word[0].isupper() and together:
            runs[-1].append(word)
        elif word[0].isupper():
            runs.append([word])
        elif not (together and word in _LITTLE):
            runs.append([])
    return tuple(tuple(run) for run in runs if len(run) > 1)


def long_form(acronym: str, source: str) -> str:
    """The words of a source that an acronym abbreviates; "" if there are none.

    >>> long_form("GBS", "It can cause Guillain-Barré syndrome."), long_form("GBS", "Great bogs.")
    ('Guillain-Barré syndrome', '')
    """
    letters = acronym.rstrip("s")
    if len(letters) < _SHORTEST_ACRONYM:
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


def _acronym(run: Sequence[str]) -> str:
    return "".join(word[0] for word in run if word.lower() not in _LITTLE).upper()


def _short_form(run: Sequence[str], known: _Source) -> str:
    """The acronym of a run of words in a source, with or without the letter of an "of"."""
    letters = _acronym(run)
    if letters in known.capitals or len(letters) < 2:
        return letters if letters in known.capitals else ""
    inside = re.compile("(?:O|O[T]|F|D)?".join(letters))  # of, of the, for, de
    return next((word for word in sorted(known.capitals) if inside.fullmatch(word)), "")


def _is_left_out(name: str, claim: str, source: str) -> bool:
    """Whether the source omits or shortens a given name before its surname."""
    for given, surname in _people(claim):
        if name not in given:
            continue
        theirs = [g for g, s in _people(source) if s == surname]
        if any(g[0][0] == name[0] and len(g[0]) == 1 for g in theirs):
            return True
        if _alone(surname, source, len(theirs)):
            return not theirs
    return False


def _alone(surname: str, source: str, n_with_given: int) -> bool:
    return len(re.findall(rf"\b{re.escape(surname)}\b", source)) > n_with_given


def _others(claim: str, source: str) -> list[str]:
    """Surnames in the claim that the source gives only to people with another initial."""
    found = []
    for given, surname in _people(claim):
        mine = {word[0] for word in given}
        theirs = [g for g, s in _people(source) if s == surname]
        if not theirs or _alone(surname, source, len(theirs)):
            continue
        if not any(mine & {word[0] for word in g} for g in theirs):
            found.append(surname)
    return found


@lru_cache(maxsize=2048)
def _people(text: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    """(given names or initials, surname) for each run of two to four capitalised words."""
    runs = (tuple(word for word in run if word.lower() not in _TITLES) for run in _runs(text))
    return tuple(
        (run[:-1], run[-1])
        for run in runs
        if 2 <= len(run) <= 4 and not _INITIAL.fullmatch(run[-1])
    )


# ── Lists of people ──────────────────────────────────────────────────────────────────────────────

ET_AL = re.compile(r"[\s,]+(?:et\s+al\.?|and\s+others)\s*$", re.IGNORECASE)
PARTICLES = frozenset(list_of(__name__, "particles"))
_AND = re.compile(r"\s+(?:and|&)\s+", re.IGNORECASE)
_GROUP_WORDS = frozenset(list_of(__name__, "group_words"))


def people(stated: str) -> list[str]:
    """Split a list of authors in any form, such as "Ida Holm, Per Berg and Li Wei", into names."""
    text = ET_AL.sub("", stated)
    listed = text.split(";")
    if len(listed) == 1 and not is_group(text):
        listed = []
        for part in _AND.split(text):
            pieces = [piece.strip() for piece in part.strip(", ").split(",")]
            # Commas separate names, or the parts of one: "Holm, Ida".
            listed += pieces if all(" " in piece for piece in pieces) else [part]
    return [name.strip() for name in listed if any(map(str.isalnum, name))]


def is_group(text: str) -> bool:
    """Whether words name a group: "University", or lower-case words other than particles."""
    words = re.findall(r"[^\W\d_]{2,}", text)
    small = {word for word in words if word.islower()} - PARTICLES - {"and"}
    return bool(small) or any(word.lower() in _GROUP_WORDS for word in words)
