"""“X and Y did it” as “X did it” and “Y did it”: subjects, objects and qualities joined by “and”.

Nothing is split where the parts may be meant together ("met", "between"), where a word may belong
to one part or both ("old men and women"), or under a negation or a count.
"""

import re

from pincite.text import patterns, syntax
from pincite.text.finite import Finite, finite_verb, is_plural, lemmas

MAX_WORDS = 4  # of a part
_P = patterns(__file__, "coordination")
_COLOURS = frozenset("black white red green blue yellow brown grey gray orange".split())
_PAIR = re.compile(r"(?:[Bb]oth )?\b(?P<a>[^,;:]+?) and (?P<b>[^,;:]+)")
_BOTH = re.compile(r"(?<= and )(.+? (?:are|were|have|had|will|can|do|did)) both\b")
_THAN = re.compile(r"(?P<stem>.+ than )(?P<a>[^,;:]+?) and (?P<b>[^,;:]+)")
_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does"}


def distribute(text: str) -> list[str]:
    """Give each part what it shares with the other; empty unless that is certainly meant.

    >>> distribute("Tin and lead are toxic."), distribute("Holm and Berg met.")
    (['Tin is toxic', 'lead is toxic'], [])
    """
    text = _BOTH.sub(r"\1", text.strip(" ."))
    if len(re.findall(r"\band\b", text)) != 1 or _P["together"].search(text):
        return []
    verb = finite_verb(text)
    if verb is None:
        return []
    if match := _THAN.fullmatch(text):
        pair = match["a"], match["b"]
        return [match["stem"] + part for part in pair] if _are_alike(*pair) else []
    if _P["scope"].search(text):
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
    if match is None or not _are_alike(match["a"], match["b"]):
        return []
    if verb.form == "auxiliary" and not (_is_quality(first) or first in syntax.PREPOSITIONS):
        return []  # "are metals", "can meet"
    if verb.form not in ("auxiliary", "base"):
        return []  # "founded the bank"
    singular = syntax.third_person(verb.base) if verb.base else _SINGULAR.get(verb.word, "")
    if not singular:
        return []
    parts = (match["a"][:1].upper() + match["a"][1:], match["b"])
    return [f"{part} {verb.word if is_plural(part) else singular}{rest}" for part in parts]


def _by_predicate(text: str, verb: Finite) -> list[str]:
    """“X does this and does that”, where the word after "and" is certainly a verb."""
    subject, (left, _, right) = text[: verb.start], text.partition(" and ")
    second = finite_verb(subject + right)
    if second is None or second.start != len(subject) or len(right.split()) < 2:
        return []
    may_be_participle = second.form == "past" and not verb.base  # "was built and sold"
    may_be_noun = "NOUN" in lemmas(second.word) and right.split()[1] not in syntax.DETERMINERS
    if may_be_participle or may_be_noun:
        return []
    return [left.removesuffix(","), subject + right]


def _by_end(head: str, verb: Finite, match: re.Match[str]) -> list[str]:
    """“X is tall and old” or “X has tin and lead”; `match`: the two ends, `head` what is before."""
    a, b = match["a"], match["b"]
    if verb.form == "auxiliary":
        are_qualities = all(_is_quality(end.split()[-1]) for end in (a, b))
        are_short = max(len(a.split()), len(b.split())) <= 2
        fits = verb.word in syntax.BE and are_qualities and are_short and not {a, b} <= _COLOURS
    else:
        fits = _are_alike(a, b) and not _is_quality(a)
    return [f"{head} {end}" for end in (a, b)] if fits else []


def _are_alike(a: str, b: str) -> bool:
    """Whether two noun phrases are alike, so that no word belongs to both."""
    first, second = a.split(), b.split()
    if max(len(first), len(second)) > MAX_WORDS or not (first and second):
        return False
    if syntax.PREPOSITIONS & {*map(str.lower, first), *second} or finite_verb(b):
        return False
    determined = [words[0].lower() in syntax.DETERMINERS for words in (first, second)]
    if any(determined):
        return all(determined)
    is_bare = len(first) == 1
    is_second_bare = len(second) == 1 or (
        is_bare and all("NOUN" not in lemmas(word) for word in second[:-1])
    )
    return (is_bare or _is_name(first)) and (is_second_bare or _is_name(second))


def _is_name(words: list[str]) -> bool:
    return all(word[:1].isupper() for word in words)


def _is_quality(word: str) -> bool:
    return "ADJ" in lemmas(word) or syntax.is_participle(word)
