"""Finds a first, an only one or a superlative that the source says of less than the claim does.

"The first British tractor" does not support "the first tractor". What narrows it stands before the
noun, as its owner, or behind it: "the county's oldest inn", "the oldest inn in the county".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pincite.text import LEXICON, patterns
from pincite.text import words as wording
from pincite.text.languages import common
from pincite.text.syntax import PREPOSITIONS, may_be_finite
from pincite.types import Span, Witness, WitnessKind

_ENDS = PREPOSITIONS.union("to that which who whose with when since and or by as".split())
_P = patterns(__file__, "scope", ends="|".join(_ENDS - {"of"}))
_MOST_WORDS = 5  # of a noun with what is before it
_WIDE = frozenset(wording.roots(LEXICON["superlatives"]["wide"]))


@dataclass(frozen=True, slots=True)
class _Superlative:
    """A first, an only one or a superlative, and what narrows it; sets have roots."""

    span: Span
    word: str  # the root of "oldest"
    head: str  # the root of the noun; "": "the oldest in the county"
    narrows: frozenset[str]
    bounds: frozenset[str]  # what narrows it without adjectives, which say more of its kind
    names: frozenset[str]  # those of names
    is_of_nation: bool  # by an adjective, "Danish", which "Denmark's" may mean too


def narrower(claim: str, passage: str, page: str = "", title: str = "") -> Witness | None:
    """Return what a source says of less than a claim; None if a sentence of the page says all.

    English only. `title`: of the claim's article, whose words narrow the claim too.

    >>> narrower("It was the first tractor.", "It was the first British tractor.").source
    'the first British tractor'
    """
    if common(claim, passage) != "en":
        return None
    page, known = page or passage, frozenset(wording.roots(f"{claim} {title}"))
    for claimed in _superlatives(claim):
        same = [
            (stated, sentence)
            for sentence in (span.of(page) for span in wording.sentences_of(page))
            for stated in _superlatives(sentence)
            if stated.word == claimed.word and stated.head in (claimed.head, "")
        ]
        if same and all(_is_narrower(stated, claimed, known) for stated, _ in same):
            stated, sentence = same[0]
            start = passage.find(sentence)
            place = Span(start, start + len(sentence)) if start >= 0 else None
            words = claimed.span.of(claim), stated.span.of(sentence)
            return Witness(WitnessKind.NARROWER, *words, place)
    return None


def _is_narrower(source: _Superlative, claim: _Superlative, known: frozenset[str]) -> bool:
    lacks, own = source.narrows - known, claim.bounds - source.narrows
    if not own:
        return bool(lacks - _WIDE)
    if own <= claim.names:
        return bool(lacks & source.names) and source.is_of_nation == claim.is_of_nation
    return own.isdisjoint(claim.names) and bool(lacks) and lacks.isdisjoint(source.names)


def _superlatives(text: str) -> Iterator[_Superlative]:
    for match in _P["superlative"].finditer(text):
        # What is only named so need not be unique: "the first dose".
        nouns = list(_nouns(text, match.end()))
        end = nouns[-1].end() if nouns else match.end()
        behind = _P["behind"].match(text, end)
        owner = re.sub(r"['’]s?\Z", "", match["owner"]) if match["owner"][-1] in "s'’" else ""
        around = f"{owner} {behind['what'] if behind else ''}"
        narrows = " ".join([around, *(noun[1] for noun in nouns[:-1])])
        names = " ".join(re.findall(r"\b[A-Z][\w’'-]+", narrows))
        yield _Superlative(
            Span(match.start("owner"), behind.end() if behind else end),
            word=wording.stem(match["word"].split(" ")[-1]),
            head=wording.stem(nouns[-1][1]) if nouns else "",
            narrows=frozenset(wording.roots(narrows)),
            bounds=frozenset(wording.roots(f"{around} {names}")),
            names=frozenset(wording.roots(names)),
            is_of_nation=bool(_P["of_nation"].search(names)),
        )


def _nouns(text: str, start: int) -> Iterator[re.Match[str]]:
    """Yield the words from the end of a superlative to its noun."""
    before = ""
    for _ in range(_MOST_WORDS):
        word = _P["word"].match(text, start)
        if not word or word[1] in _ENDS:
            return
        after = _P["word"].match(text, word.end())
        if before and may_be_finite(word[1], before, after[1] if after else ""):
            return
        yield word
        before, start = word[1], word.end()
