"""Negations by rule: "not" beside the verb of a plain sentence, else "it is not the case that".

German: “nicht”, else “es trifft nicht zu, dass …”; with a colon if the verb is in doubt.
"""

import re

from pincite.text import syntax, words_of
from pincite.text.finite import INDICATIVE, finite_verb, main_clause

_NOT_SO = {"en": "It is not the case that ", "de": "Es trifft nicht zu: "}
# Where "not" might deny less than the whole: "all", "because", "may not"; before it, "two" too.
_UNPLAIN = frozenset("may might must shall cannot due owing thanks , ; :".split()).union(
    syntax.SUBORDINATORS - {"that"},
    *(words_of("readings", name) for name in ("quantifiers", "undeniable")),
)
_UNPLAIN_BEFORE = _UNPLAIN | words_of("readings", "amounts") | frozenset("a an do does did".split())
_GERMAN_QUOTE = re.compile(r"[„“\"”:;?]")
_SUBORDINATE = re.compile(  # also “sagt, die Steuer sei …”
    rf", (?:(?:dass|ob|weil|obwohl|da|wenn)\b|.* (?:{'|'.join(INDICATIVE)})\b)[^,]*"
)
_WORD = re.compile(r"[a-z]+(?:[’']t)?|\d+|[,;:]")


def negation(text: str, language: str = "en") -> str:
    """Negate a text; "" in a language that these rules do not cover.

    >>> negation("The bridge was built in 1911."), negation("All bridges were closed.")
    ('The bridge was not built in 1911.', 'It is not the case that all bridges were closed.')
    """
    if language not in _NOT_SO or not text:
        return ""
    if language == "de":
        return _german(text)
    first = text.split(maxsplit=1)[0].lower() if text.split() else ""
    known = first in (syntax.PARTICLES | syntax.DETERMINERS | _UNPLAIN_BEFORE) - {"i"}
    whole = text[:1].lower() + text[1:] if known else text
    return _plain(text) or _NOT_SO["en"] + whole


def _german(text: str) -> str:
    clause = None if _GERMAN_QUOTE.search(text) else main_clause(text)
    if clause is None or (clause.tail and not _SUBORDINATE.fullmatch(clause.tail)):
        return _NOT_SO["de"] + text
    plain = "" if "weil" in clause.tail else clause.denied()
    return (plain or f"Es trifft nicht zu, dass {clause.verb_last()}") + "." * text.endswith(".")


def _plain(text: str) -> str:
    own = text.partition(" that ")[0]
    verb = finite_verb(own)
    if verb is None:
        return ""
    before, after = text[: verb.start], text[verb.end :]
    ahead = _WORD.findall(before.lower())
    unplain = _UNPLAIN.intersection(_WORD.findall(own[verb.start :].lower()))
    counted_or_so = _UNPLAIN_BEFORE.intersection(ahead) or any(
        word.isdigit() or word.endswith("ly") for word in ahead
    )
    if not ahead or unplain or counted_or_so:
        return ""
    if verb.base:
        do = {"third": "does", "base": "do", "past": "did"}[verb.form]
        return f"{before}{do} not {verb.base}{after}"
    deny = "cannot" if verb.word == "can" else f"{verb.word} not"
    return "" if verb.word.endswith("n't") else f"{before}{deny}{after}"
