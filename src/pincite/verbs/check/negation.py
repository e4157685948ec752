"""Negations by rule: "not" beside the verb where it negates the whole, else "it is not the case".

"All bridges are closed" is denied by "Not all bridges are closed", "X says Y" by "X does not say
Y", and "may" by no "may not".
"""

import re

from pincite.text import syntax, words_of
from pincite.text.coordination import shared
from pincite.text.finite import Finite, finite_verb, is_plural, lemmas
from pincite.text.sentences import sentences
from pincite.verbs.check.kinds import ascription

_NOT_SO = {"en": "It is not the case that ", "de": "Es trifft nicht zu: "}
_QUANTIFIERS, _OTHERS, _AMOUNTS = (
    words_of("readings", name) for name in ("quantifiers", "undeniable", "amounts")
)
_UNDENIABLE = _QUANTIFIERS | _OTHERS
_NO_NAMES = syntax.PARTICLES | _UNDENIABLE | _AMOUNTS
_BOUND = frozenset("may might must shall".split())  # "may not" does not deny "may"
_OPENINGS = (  # of a sentence with one verb and no other negation
    (re.compile(r"Not (?=(?:all|every|everyone|everybody|each)\b)"), ""),
    (
        re.compile(r"(?=(?:All|Every|Everyone|Everybody)\b)(?!Every (?:second|third|other|\d))"),
        "Not ",
    ),
    (re.compile(r"Some of\b"), "None of"),
    (re.compile(r"Some(?= \w)"), "No"),
    (re.compile(r"(?:Nobody|No one)\b"), "Somebody"),
    (re.compile(r"Nothing\b"), "Something"),
    (re.compile(r"No(?= \w)"), "Some"),
    (re.compile(r"There (is|are|was|were) no\b"), r"There \1 some"),
)
_WORD = re.compile(r"[a-z]+(?:[’']t)?")
_CAUSE = re.compile(r"\b(?:because|due|owing|thanks)\b")
_HALVES = re.compile(r"[,;] (?:but|and) ")
_COMMA = re.compile(r",(?! [A-Z\d]|\d)")
_BETWEEN = re.compile(r"\bbetween .+? and\b|\bboth .+? and\b")


def negation(text: str, language: str = "en") -> str:
    """Negate a text; "" in a language that these rules do not cover.

    Where “not” could mean something else (“may not”, two clauses), the whole is negated. In
    “X believes Y”, the believing is negated.

    >>> negation("The bridge was built in 1911."), negation("All bridges were closed.")
    ('The bridge was not built in 1911.', 'Not all bridges were closed.')
    """
    if language not in _NOT_SO or not text:
        return ""
    if language != "en":
        return _NOT_SO[language] + text
    said = ascription(text)
    if said and said.beside:
        speaker, end = said.speaker, "." if text.rstrip().endswith(".") else ""
        saying = f"{speaker[:1].upper()}{speaker[1:]} did not say that"
        return f"{saying} {lowered(said.content)}{end}"
    # What is said or reported is not touched.
    scope = len(text)
    if said and said.content in text:
        scope = text.index(said.content) if said.content else scope
    if " that " in text:
        scope = min(scope, text.index(" that "))
    denied = None
    if len(sentences(text)) == 1 and not _HALVES.search(text):
        denied = _denied_opening(text, scope) or _denied_verb(text, scope, saying=bool(said))
    return denied or _NOT_SO["en"] + lowered(text)


def _denied_opening(text: str, scope: int) -> str | None:
    """Exchange "all" and "not all", "no" and "some" at the beginning."""
    for pattern, instead in _OPENINGS:
        match = pattern.match(text)
        if match is None:
            continue
        rest = text[match.end() :]
        verb = finite_verb(text[:scope])
        if instead == "No" and verb and text[match.end() : verb.start].isspace():
            return None  # "Some say": there is no "No say"
        words = set(_WORD.findall(rest[: max(0, scope - match.end())]))
        others = words & (_UNDENIABLE | (syntax.SUBORDINATORS - {"that"}))
        if others - _QUANTIFIERS.intersection(_WORD.findall(text[:12])) or "n't" in rest:
            return None
        if instead == "Not ":
            return instead + rest[:1].lower() + rest[1:]
        return match.expand(instead) + rest if instead else rest[:1].upper() + rest[1:]
    return None


def _denied_verb(text: str, scope: int, *, saying: bool) -> str | None:
    """Put "not" beside the verb, or remove it; None where that would not deny the whole."""
    verb = finite_verb(text[:scope])
    if (
        verb is None
        or verb.word in _BOUND
        or verb.start >= scope
        or not _is_denied_by_not(text, verb, scope)
    ):
        return None
    before, after = text[: verb.start], text[verb.end :]
    if verb.base and before.endswith((" do ", " does ", " did ")):
        return None  # a slip: "does shows"
    if verb.base and before.endswith(" never "):
        return before.removesuffix("never ") + text[verb.start :] if verb.form == "past" else None
    removed = re.match(r" (?:not|never)\b", after)
    skipped = removed.end() if removed else 0
    clause = _BETWEEN.sub("", after[skipped : max(0, scope - verb.end)])
    quantified = {"and", "or", "but"} if saying else _UNDENIABLE  # "denies all charges"
    if quantified.intersection(_WORD.findall(clause)):
        return None
    if removed or verb.word.endswith("n't") or verb.word == "cannot":
        helper = "can" if verb.word in ("cannot", "can't") else verb.word.removesuffix("n't")
        return (
            None
            if verb.base or helper in ("ca", "wo")
            else _affirmed(before, helper, after[skipped:])
        )
    if not verb.base:
        return f"{before}{'cannot' if verb.word == 'can' else f'{verb.word} not'}{after}"
    do = {"third": "does", "base": "do", "past": "did"}[verb.form]
    manner = re.search(r"(?: \w+ly)+ $", before)  # "falsely claims": "does not falsely claim"
    at = manner.start() + 1 if manner else len(before)
    return f"{before[:at]}{do} not {before[at:]}{verb.base}{after}"


def _affirmed(before: str, helper: str, rest: str) -> str | None:
    """A sentence without its "not": "did" and "does" go into the verb."""
    if helper not in ("do", "does", "did"):
        return f"{before}{helper}{rest}"
    match = re.match(r" ([a-z]+)", rest)
    if match is None or "VERB" not in lemmas(match[1]):
        return None
    from lemminflect import getInflection  # here: it loads another dictionary of 1 MB

    form = match[1]
    if helper == "does":
        form = syntax.third_person(form)
    elif helper == "did":
        form = getInflection(form, "VBD")[0]
    return f"{before}{form}{rest[match.end() :]}"


def _is_denied_by_not(text: str, verb: Finite, scope: int) -> bool:
    before, after = text[: verb.start], text[verb.end : max(scope, verb.end)]
    opening, _, subject_text = before.rpartition(", ")
    subject = subject_text.lower().split()
    if opening and opening.lower().split()[0] not in syntax.PREPOSITIONS:
        return False  # "Sadly, it closed"
    counted = subject and (subject[0] in ("a", "an") or subject[0][0].isdigit())
    if not subject or counted or _AMOUNTS.intersection(subject):
        return False  # "two were not" leaves open whether others were
    undeniable = (_UNDENIABLE - {"and"}).intersection(before.lower().split())
    if undeniable - ({"never"} if subject[-1] == "never" else set()):
        return False
    if "and" in subject and shared(text):
        return False
    others = syntax.SUBORDINATORS.intersection(_WORD.findall(after)) - {"that", "once"}
    joined = _COMMA.search(after) or _CAUSE.search(after) or ";" in after
    return not (others or joined)


def lowered(text: str) -> str:
    """Lower the first letter, as after "that", unless the word may be a name."""
    first, *_ = (*text.split(), "")
    word = first.lower().rstrip(",")
    nouns = lemmas(word).get("NOUN", ()) if word.isalpha() else ()
    plural = bool(nouns) and is_plural(word) and word not in nouns  # names are rarely plural
    common = word in _NO_NAMES or plural or syntax.is_adverb(word)
    if word == "i" or not (common or _COMMON.fullmatch(first)):
        return text
    return text[:1].lower() + text[1:]


_COMMON = re.compile(  # endings of words that are hardly ever names
    r"[A-Z][a-z]+(?:tions?|ments?|ness|ities|ity|isms?|ists?|ings?|ances?|ences?|ships?|ures?|ogy"
    r"|gies|ical|ally|ous|ive|able|ible|less|ful)"
)
