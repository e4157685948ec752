"""“X and Y did it” as “X did it” and “Y did it”: subjects, objects and qualities joined by “and”.

Nothing is split where the parts may be meant together ("met", "between"), where a word may belong
to one part or both ("old men and women"), or under a negation or a count.
"""

import re

from pincite.text import alternatives, syntax
from pincite.text.finite import Finite, finite_verb, is_plural, lemmas

MAX_WORDS = 4  # of a part
_TOGETHER = re.compile(rf"\b(?:{alternatives('coordination', 'together')})\b", re.IGNORECASE)
_SCOPE = re.compile(rf"\b(?:{alternatives('coordination', 'scope')})\b|n[’']t\b", re.IGNORECASE)
_COLOURS = frozenset("black white red green blue yellow brown grey gray orange".split())
_PAIR = re.compile(r"(?:[Bb]oth )?\b(?P<a>[^,;:]+?) and (?P<b>[^,;:]+)")
_BOTH = re.compile(r"(?<= and )(.+? (?:are|were|have|had|will|can|do|did)) both\b")
_THAN = re.compile(r"(?P<stem>.+ than )(?P<a>[^,;:]+?) and (?P<b>[^,;:]+)")
_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does"}


def shared(text: str) -> list[str]:
    """Give each part what it shares with the other; empty unless that is certainly meant.

    >>> shared("Tin and lead are toxic."), shared("Holm and Berg met.")
    (['Tin is toxic', 'lead is toxic'], [])
    """
    text = text.strip(" .")
    text = _BOTH.sub(r"\1", text)
    if len(re.findall(r"\band\b", text)) != 1 or _TOGETHER.search(text):
        return []
    verb = finite_verb(text)
    if verb is None:
        return []
    if match := _THAN.fullmatch(text):
        pair = match["a"], match["b"]
        return [match["stem"] + each for each in pair] if _alike(*pair) else []
    if _SCOPE.search(text):
        return []
    if " and " in text[: verb.start]:
        return _by_subject(text, verb)
    if predicates := _by_predicate(text, verb):
        return predicates
    match = _PAIR.fullmatch(text[verb.end :].strip())
    return _by_end(text[: verb.end], verb, match) if match else []


def _by_subject(text: str, verb: Finite) -> list[str]:
    match = _PAIR.fullmatch(text[: verb.start].strip())
    rest = text[verb.end :]
    first, *_ = [*(w for w in rest.split() if not syntax.is_adverb(w)), ""]
    if match is None or not _alike(match["a"], match["b"]):
        return []
    if verb.form == "auxiliary" and not (_is_quality(first) or first in syntax.PREPOSITIONS):
        return []  # "are metals", "can meet"
    if verb.form not in ("auxiliary", "base"):
        return []  # "founded the bank"
    singular = syntax.third_person(verb.base) if verb.base else _SINGULAR.get(verb.word, "")
    parts = (match["a"][:1].upper() + match["a"][1:], match["b"])
    if not singular:
        return []
    return [f"{part} {verb.word if is_plural(part) else singular}{rest}" for part in parts]


def _by_predicate(text: str, verb: Finite) -> list[str]:
    """“X does this and does that”, where the word after "and" is certainly a verb."""
    subject, (left, _, right) = text[: verb.start], text.partition(" and ")
    second = finite_verb(subject + right)
    if second is None or second.start != len(subject) or len(right.split()) < 2:
        return []
    participle = second.form == "past" and not verb.base  # "was built and sold"
    noun = "NOUN" in lemmas(second.word) and right.split()[1] not in syntax.DETERMINERS
    return [] if participle or noun else [left.removesuffix(","), subject + right]


def _by_end(head: str, verb: Finite, match: re.Match[str]) -> list[str]:
    a, b = match["a"], match["b"]
    both_qualities = _is_quality(a.split()[-1]) and _is_quality(b.split()[-1])
    if verb.form == "auxiliary":
        coloured = {a, b} <= _COLOURS
        copula = verb.word in syntax.BE and both_qualities and not coloured
        fits = copula and max(len(a.split()), len(b.split())) <= 2
    else:
        fits = _alike(a, b) and not _is_quality(a)
    return [f"{head} {part}" for part in (a, b)] if fits else []


def _alike(a: str, b: str) -> bool:
    """Whether two noun phrases are alike, so that no word belongs to both."""
    first, second = a.split(), b.split()
    if max(len(first), len(second)) > MAX_WORDS or not (first and second):
        return False
    if syntax.PREPOSITIONS & {*map(str.lower, first), *second} or finite_verb(b):
        return False
    determined = [each[0].lower() in syntax.DETERMINERS for each in (first, second)]
    named = [all(word[:1].isupper() for word in each) for each in (first, second)]
    bare = [len(each) == 1 for each in (first, second)]
    bare[1] = bare[1] or (bare[0] and all("NOUN" not in lemmas(word) for word in second[:-1]))
    return all(determined) or (
        not any(determined)
        and (all(named) or all(n or s for n, s in zip(named, bare, strict=True)))
    )


def _is_quality(word: str) -> bool:
    return "ADJ" in lemmas(word) or syntax.is_participle(word)
