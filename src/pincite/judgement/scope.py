"""Finds a first, an only one or a superlative that the source says of less than the claim does.

"The first British tractor" does not support "the first tractor". What narrows it stands before the
noun, as its owner, or behind it: "the county's oldest inn", "the oldest inn in the county".
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from pincite.text import words as wording
from pincite.text.languages import common
from pincite.text.syntax import PREPOSITIONS, may_be_finite
from pincite.types import Span, Witness, WitnessKind

_SUPERLATIVE = re.compile(
    r"(?:\b(?:is|are|was|were|be|been|became|becomes?|becoming|remain(?:s|ed)?|as)(?: [a-z]+)?|,)\s"
    r"(?P<owner>\bthe|\b(?:its|their|his|her)|(?:[A-Z][\w’'-]+ )?[\w’'-]+(?:['’]s|s['’]))\s"
    r"(?P<word>first|last|only|[a-z]{2,}est|(?:most|least) [a-z]+)(?=[\s-])(?P<joint>-[a-z]+)?",
)
_WORD = re.compile(r"\s([A-Za-z][\w’'-]*)")
_ENDS = PREPOSITIONS.union("to that which who whose with when since and or by as".split())
_BEHIND = re.compile(
    r"\s(?:in|of|outside|within)"
    rf"(?P<what>(?: (?!(?:{'|'.join(_ENDS - {'of'})})\b)[\w’'-]+){{1,5}})"
)
_OF_NATION = re.compile(r"(?:i?sh|ese|an|ch|ic|qi)\b")
_MOST_WORDS = 5  # of a noun with what is before it
# Behind "in the …", these say nothing, or stand for a name that the context has.
_WIDE = frozenset(
    wording.roots(
        "world history time kind type sort class market life town city village country county"
        " island parish borough province region area district nation state continent planet club"
        " company season year century group place series whole entire"
    )
)


class _Unique(NamedTuple):
    span: Span
    word: str  # the root of "oldest"
    head: str  # the root of the noun; "": "the oldest in the county"
    narrows: frozenset[str]  # roots of what narrows it
    bounds: frozenset[str]  # without adjectives, which say more of its kind
    named: frozenset[str]  # those of names
    is_of_nation: bool  # by an adjective, "Danish", which "Denmark's" may mean too


def narrower(claim: str, passage: str, page: str = "", title: str = "") -> Witness | None:
    """Return what a source says of less than a claim; None if a sentence of the page says all.

    English only. `title`: of the claim's article, whose words narrow the claim too.

    >>> narrower("It was the first tractor.", "It was the first British tractor.").source
    'the first British tractor'
    """
    if common(claim, passage) != "en":
        return None
    whole, known = page or passage, frozenset(wording.roots(f"{claim} {title}"))
    for wanted in _unique(claim):
        same = [
            (each, sentence)
            for sentence in (span.of(whole) for span in wording.sentences_of(whole))
            for each in _unique(sentence)
            if each.word == wanted.word and each.head in (wanted.head, "")
        ]
        if same and all(_is_narrower(each, wanted, known) for each, _ in same):
            (each, sentence), *_ = same
            start = passage.find(sentence)
            shown = Span(start, start + len(sentence)) if start >= 0 else None
            words = wanted.span.of(claim), each.span.of(sentence)
            return Witness(WitnessKind.NARROWER, *words, shown)
    return None


def _is_narrower(source: _Unique, claim: _Unique, known: frozenset[str]) -> bool:
    lacks, own = source.narrows - known, claim.bounds - source.narrows
    if not own:
        return bool(lacks - _WIDE)
    if own <= claim.named:
        return bool(lacks & source.named) and source.is_of_nation == claim.is_of_nation
    return own.isdisjoint(claim.named) and bool(lacks) and lacks.isdisjoint(source.named)


def _unique(text: str) -> Iterator[_Unique]:
    for match in _SUPERLATIVE.finditer(text):
        # What is only named so need not be unique: "the first dose".
        nouns = list(_nouns(text, match.end()))
        end = nouns[-1].end() if nouns else match.end()
        behind = _BEHIND.match(text, end)
        owner = re.sub(r"['’]s?\Z", "", match["owner"]) if match["owner"][-1] in "s'’" else ""
        before = [noun[1] for noun in nouns[:-1]]
        around = f"{owner} {behind['what'] if behind else ''}"
        narrows = f"{around} {' '.join(before)}"
        names = " ".join(re.findall(r"\b[A-Z][\w’'-]+", narrows))
        yield _Unique(
            Span(match.start("owner"), behind.end() if behind else end),
            wording.stem(match["word"].split(" ")[-1]),
            wording.stem(nouns[-1][1]) if nouns else "",
            frozenset(wording.roots(narrows)),
            frozenset(wording.roots(f"{around} {names}")),
            frozenset(wording.roots(names)),
            bool(_OF_NATION.search(names)),
        )


def _nouns(text: str, start: int) -> Iterator[re.Match[str]]:
    """Yield the words from a superlative to its noun."""
    before = ""
    for _ in range(_MOST_WORDS):
        word = _WORD.match(text, start)
        if not word or word[1] in _ENDS:
            return
        after = _WORD.match(text, word.end())
        if before and may_be_finite(word[1], before, after[1] if after else ""):
            return
        yield word
        before, start = word[1], word.end()
