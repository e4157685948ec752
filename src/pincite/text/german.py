"""The parts of a German clause: the verb stands second in a main clause, last behind “dass”.

Closed classes of words, capitals and position say which word is the verb. In doubt there is none.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pincite.text import patterns, words_of
from pincite.text.languages import FUNCTION_WORDS, NEGATIONS

_IN, _ADVERBS, _STRONG, _PREFIXES, _SCOPED = (
    words_of("german", name) for name in "prepositions adverbs strong prefixes scoped".split()
)
INDICATIVE = dict(pair.split("/") for pair in words_of("german", "indirect"))
_CLOSED = FUNCTION_WORDS["de"] | _IN | _ADVERBS
_WHO = frozenset("er sie es wir ich man jemand niemand".split())
_MODAL = re.compile(r"(?:muss|müss|soll|d[aü]rf|will|woll|m[aö]g|möch)(?:t?en?)?")
_P = patterns(__file__, "german", modal=_MODAL.pattern)
_ARTICLE, _HELPER = _P["article"], _P["helper"]
_INFINITE = re.compile(r"[a-zäöüß]+(?:e[rl]?n|iert)|\w*ge\w+t|(?:be|ver|er|ent|zer)\w+t")
_FINITE = re.compile(rf"(?:be|ver|er|ent|zer|miss|ge|unter|über)?(?:{'|'.join(_STRONG)})(?:en)?")
_ENDED = re.compile(r"[a-zäöüß]{2,}(?:te?|e[rl]?n)")


@dataclass(frozen=True, slots=True)
class MainClause:
    """A German main clause by its fields: “Der Rat | lehnte | den Antrag | ab | , weil …”."""

    before: Sequence[str]
    verb: str
    middle: Sequence[str]
    bracket: Sequence[str]  # participles, infinitives, or the prefix of the verb
    tail: str = ""  # the clause behind a comma

    def __str__(self) -> str:
        return " ".join([*self.before, self.verb, *self.middle, *self.bracket]) + self.tail

    def verb_last(self) -> str:
        """The clause as it stands behind “dass”: “der Rat den Antrag ablehnte, weil …”."""
        first, *rest = self.before
        first = first.lower() if first.lower() in _CLOSED or _ARTICLE.fullmatch(first) else first
        space = " " if not self.bracket or _HELPER.fullmatch(self.verb) else ""
        end = f"{' '.join(self.bracket)}{space}{self.verb}".strip()
        return " ".join([first, *rest, *self.middle, end]) + self.tail

    def indicative(self) -> "MainClause":
        """The clause with “ist” for “sei”, and “hat getan” for “soll getan haben”."""
        if self.verb in ("soll", "sollen") and self.bracket[1:]:
            key = f"{self.verb}-{self.bracket[-1]}"
            return replace(self, verb=INDICATIVE.get(key, self.verb), bracket=self.bracket[:-1])
        return replace(self, verb=INDICATIVE.get(self.verb, self.verb))

    def second_half(self, second: str) -> str:
        """What follows “und”, with the subject and helper that it lacks; "" in doubt."""
        words, other, subject = second.split(), main_clause(second), self.before
        if other and (other.bracket or other.middle):
            return second
        scoped = ({subject[0].lower()} & _IN) | ({*self.middle} & NEGATIONS["de"])
        if _may_be_verb(words[0]) and words[1:]:
            words = [*subject, *words]
        elif self.bracket and _INFINITE.fullmatch(words[-1]) and words[0].isdigit():
            words = [*subject, self.verb, *words]
        return " ".join(words) if words[: len(subject)] == subject and not scoped else ""

    def negation(self) -> str:
        """The clause with “nicht”; "" if it is unclear where that stands, or what it denies."""
        words = [*" ".join(self.before).lower().split(), *self.middle]
        if words[0] in _IN or _MODAL.fullmatch(self.verb):
            return ""
        if not (_SCOPED | NEGATIONS["de"]).isdisjoint(words):
            return ""
        helper, middle = _HELPER.fullmatch(self.verb), ["", *self.middle]
        if helper and helper["is"] and not self.bracket:
            return "" if middle[-1:] == [""] or middle[1].startswith("ein") else self._with_not(0)
        bare = any(  # "kein Geld", "kein Haus"; "in Varde" may be what is denied
            word.startswith("ein")
            or word in _IN
            or (word[0].isupper() and not _ARTICLE.fullmatch(before))
            for before, word in pairwise(middle)
        )
        if bare or (self.middle and not self.bracket):
            return ""
        return self._with_not(len(self.middle))

    def _with_not(self, place: int) -> str:
        middle = [*self.middle[:place], "nicht", *self.middle[place:]]
        return str(replace(self, middle=middle))


def main_clause(text: str) -> MainClause | None:
    """Find the fields of a clause; None if it is unclear which word is the verb."""
    head, comma, tail = text.strip(" .").partition(", ")
    words = head.split()
    if (at := _second(words)) is None:
        return None
    end = len(words)
    if _HELPER.fullmatch(words[at]):
        while _INFINITE.fullmatch(words[end - 1]) and end - 1 > at:
            end -= 1
    elif words[-1] in _PREFIXES:
        end -= 1
    joined = next((n for n in range(at, end) if words[n] in ("und", "oder", "aber")), end)
    if any(map(_may_be_verb, words[joined:end])):
        return None  # a second clause
    return MainClause(words[:at], words[at], words[at + 1 : end], words[end:], comma + tail)


def main_order(clause: str) -> str:
    """A clause behind “dass”, or with its verb first, in the order of a main clause; "" in doubt.

    >>> main_order("die Zahl der Unfälle um 12 Prozent gesunken sei"), main_order("sank das Boot")
    ('die Zahl der Unfälle ist um 12 Prozent gesunken', 'das Boot sank')
    """
    first, *rest = clause.strip(" .").split() or [""]
    prefix, verb = "", first
    if not (first.islower() and _may_be_verb(first)):
        *rest, verb = first, *rest
        is_plain = _FINITE.fullmatch(verb)
        prefixes = [] if is_plain else [p for p in _PREFIXES if verb.startswith(p)]
        prefix = next((p for p in prefixes if _FINITE.fullmatch(verb.removeprefix(p))), "")
        if prefixes and not prefix:
            return ""  # "ablehnte", or "antwortete"?
    verb, end = verb.removeprefix(prefix), _phrase_end(rest, 0)
    if not end or not _may_be_verb(verb) or re.search(r", |[:;„“]", clause):
        return ""
    return " ".join([*rest[:end], INDICATIVE.get(verb, verb), *rest[end:], prefix]).strip()


def _second(words: Sequence[str]) -> int | None:
    """The place of the verb behind the first phrase of a main clause."""
    ready = False
    for n, word in enumerate(words):
        lower, opened = word.lower(), bool(n and _ARTICLE.fullmatch(words[n - 1]))
        if n and ready and _may_be_verb(word):
            return n
        if (opened and lower in _IN) or (ready and lower not in _CLOSED and word.islower()):
            return None  # "die in Varde gebaute Brücke"
        if lower in _WHO or not word.islower():
            ready = not (_ARTICLE.fullmatch(word) or lower in _IN or (opened and word.isdigit()))
        elif _ARTICLE.fullmatch(word) or lower in _IN or lower in ("und", "oder", "als", "wie"):
            ready = False
    return None


def _may_be_verb(word: str) -> bool:
    known = _HELPER.fullmatch(word) or word in INDICATIVE or _FINITE.fullmatch(word)
    return bool(known or (word not in _CLOSED and _ENDED.fullmatch(word)))


def _phrase_end(words: Sequence[str], n: int) -> int:
    """The end of the noun phrase that begins at `n`; 0 if there is none, or two in doubt."""
    words = [*words, "", ""]
    if words[n].lower() in _WHO:
        return n + 1
    n += bool(_ARTICLE.fullmatch(words[n]))
    while words[n].isdigit() or (words[n].islower() and words[n] not in _CLOSED):
        n += 1
    after = words[n + 1]
    if not words[n][:1].isupper() or after[:1].isupper():
        return 0  # "der Maler Holm", or "die Firma Geld"?
    of = after in ("von", "vom") or (_ARTICLE.fullmatch(after) and after.endswith(("er", "es")))
    return _phrase_end(words[:-2], n + 1 + (after == "von")) if of else n + 1
