"""Makes a spoken statement stand alone, by rules for English.

What only addresses the listener is left out ("Look, let me be clear: …"), and "I", "our council",
"last year" and "here" become what its speaker, date and place say.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Annotated

from pincite.text import patterns, syntax, words_of
from pincite.text.context import relative_times
from pincite.text.finite import NOT, finite_verb, is_plural, lemmas
from pincite.types import Doc, Span
from pincite.verbs.check.quotes import QUOTATION

_CALLS, _FACTS, _PLACES, _HOPES, _FELT, _LISTENER, _ASKING, _JOINING, _POINTING = (
    words_of("spoken", name)
    for name in "calls facts places hopes felt listener asking joining pointing".split()
)
_SHORTEST_STATEMENT = 3  # words
_P = patterns(__file__, "spoken", auxiliaries="|".join(syntax.AUXILIARIES))


@dataclass(frozen=True, slots=True)
class Occasion:
    """Who said a statement, when and where; empty if unknown."""

    speaker: Annotated[str, Doc("given, or named before a colon, as in “Mayor Holm: …”")] = ""
    date: Annotated[str, Doc("of the statement: 2019-05-14, 2019-05 or 2019")] = ""
    place: Annotated[str, Doc("that “here” and “our town” mean")] = ""


UNKNOWN = Occasion()
_LONG = {"m": " am", "re": " are", "ve": " have", "ll": " will"}
_SHORT_NOT = {"ca": "cannot", "wo": "will not", "sha": "shall not"}
_AGREES = {"am": "is", "are": "is", "were": "was", "have": "has", "do": "does"}
_LEFT = {"speaker": _P["speaker_left"], "place": _P["there"]}
_ANY_DAY = "2000-01-01"


def alone(text: str, occasion: Occasion) -> tuple[str, tuple[str, ...]]:
    """Return the statement without the words to the listener, and what of its occasion it lacks.

    >>> alone("Look, our council froze tax.", Occasion("Ada Holm, mayor of Varde"))
    ("Varde's council froze tax.", ())
    >>> alone("I can tell you that we opened it last year.", Occasion())
    ('We opened it last year.', ('speaker', 'date'))
    """
    text, dated = _write_dates(_plain(text), occasion.date)
    text = _resolve_words(text, occasion)
    lacks = [name for name, words in _LEFT.items() if words.search(text)]
    return text[:1].upper() + text[1:], (*lacks, *(() if dated else ("date",)))


def without_tag(text: str) -> str:
    """A statement without the question behind it: "The mill has closed, hasn't it?"."""
    stated = _P["tag_question"].sub(".", text)
    asks = text.partition(" ")[0].lower() in syntax.AUXILIARIES  # "Is the mill closed, Holm?"
    return stated if finite_verb(stated) and not asks else text


def _plain(text: str) -> str:
    """Drop openings and closings that say nothing but that something is being said."""
    text = _P["lets"].sub(lambda match: f"{match[1]} us", _P["its"].sub(r"\1 is", text))
    text = _P["contracted"].sub(lambda match: match[1] + _LONG[match[2].lower()], text)
    if not QUOTATION.search(text):
        text = _P["negated"].sub(lambda m: _SHORT_NOT.get(m[1].lower(), f"{m[1]} not"), text)
    if asked := _P["asked"].match(text):
        answer = text[asked.end() :]
        verb = finite_verb(answer)
        if verb and answer[verb.end :].strip(" .!"):
            return _plain(answer)
    for shell in ("shell_before", "shell_behind"):
        match = _P[shell].fullmatch(text)
        if match and _is_shell(match["what"], match["mark"], match["rest"]):
            rest = match["rest"]
            return _plain(rest if text.endswith(rest) else f"{rest.rstrip(' ,')}.")
    return text.partition(" ")[2] if text.startswith(("And ", "But ", "So ")) else text


def _is_shell(opening: str, mark: str, rest: str) -> bool:
    """Whether words beside a statement only address the listener; `mark`: "" behind it."""
    spoken = re.sub(rf"(?i)\A(?:(?:{'|'.join(_JOINING)}) )+|['’]s\b", "", opening)
    words = spoken.lower().split()
    if not mark and spoken != opening and (_comments(spoken) or _commands(spoken)):
        return True
    named = any(word[:1].isupper() and word != "I" for word in spoken.split()[1:])
    going_on = bool(mark) and rest.split(maxsplit=1)[0].lower() in _JOINING
    if named or going_on or not words or len(rest.split()) < _SHORTEST_STATEMENT:
        return False
    if mark != " that" and _CALLS.issuperset(words):
        return True
    if words[0] == "what" and mark == " that":  # "what nobody tells you is that"
        return words[-1] in ("is", "was") and _HOPES.isdisjoint(words)
    if mark == ":" and words[0] in _POINTING and words[1:2] == ["is"]:  # "it is simple: "
        return finite_verb(rest) is not None
    if words[0] in ("the", "that", "this", "it"):  # "the truth is", "that is a fact"
        return not _FACTS.isdisjoint(words) and (words[-1] == "is" or words[-1] in _FACTS)
    return _addresses_listener(spoken, words, mark)


def _addresses_listener(clause: str, words: Sequence[str], mark: str) -> bool:
    """Whether a clause speaks to the listener now: "I can tell you", "let me be clear"."""
    verb = finite_verb(clause)
    if words[:2] == ["i", "will"] and not _LISTENER.isdisjoint(words[2:]):
        return True
    if verb and (verb.form == "past" or verb.word in ("was", "were", "had", "have", "will")):
        return False
    if words[0] != "let" and not _HOPES.union(NOT).isdisjoint(words[1:]):
        return False
    if not mark and words[-1] not in ("that", "it", *_LISTENER, verb and verb.word):
        return False  # behind it: "…, I can tell you", "…, and I for one welcome that"
    if words[0] == "i" and mark in (":", ""):
        return True  # "I'm thrilled: we won"
    commands = mark != " that" and words[0] in lemmas(words[0]).get("VERB", ())
    return not _LISTENER.isdisjoint(words) and (words[0] in _ASKING or commands)


def _comments(clause: str) -> bool:
    """Whether a clause only says how people take what was said: "people can feel it"."""
    *words, last = clause.lower().rstrip(" .!").split() or [""]
    verb = finite_verb(clause)
    subject = clause[: verb.start].lower().split() if verb else []
    anyone = is_plural(" ".join(subject)) or " ".join(subject).startswith("every")
    known = syntax.DETERMINERS.isdisjoint(subject) and syntax.PRONOUNS.isdisjoint(subject)
    return bool(subject) and anyone and known and last in _POINTING and not _FELT.isdisjoint(words)


def _commands(clause: str) -> bool:
    """Whether a clause without a subject calls on the listener: "don't tell me", "think again"."""
    first, *others = clause.lower().split()
    verb = finite_verb(clause)
    forbids = (first, *others[:1]) == ("do", "not")
    return forbids or first == "let" or (verb is None and first in lemmas(first).get("VERB", ()))


def _write_dates(text: str, date: str) -> tuple[str, bool]:
    """Write out "last year" by the date; also whether nothing of the kind is left."""
    times = relative_times(text, date or _ANY_DAY)
    known = [time for time in times if not time.span.of(text).endswith(" ago")]
    for span, meant in reversed(known if date else ()):
        before = text[: span.start].rstrip().rpartition(" ")[2].lower()
        if given := _P["preposed"].match(span.of(text)):
            lead = given[0]
        elif before in syntax.PREPOSITIONS - syntax.SUBORDINATORS or _is_noun(text, span):
            lead = ""  # not behind "because": "because this year it …"
        else:
            lead = "on " if meant[0].isdigit() and " " in meant else "in "
        text = f"{text[: span.start]}{lead}{meant}{text[span.end :]}"
    return text, bool(date) or not known


def _is_noun(text: str, time: Span) -> bool:
    """Whether "last year" is a subject or an owner: "last year was dry", "last year's budget"."""
    rest = text[time.end :]
    opens = not text[: time.start].strip() or text[: time.start].endswith(", ")
    verb = finite_verb(f"It {rest.strip()}") if opens else None
    return rest.startswith(("'s", "’s")) or bool(verb and verb.start == len("It "))


@dataclass(frozen=True, slots=True)
class _Meant:
    """What the words of a speaker mean; "" if unknown. No backslashes: they become patterns."""

    name: str  # "I"
    group: str  # "we": the body that the speaker is of
    place: str  # "here"
    owner: str  # "our": "our pupils" belong to the place that the body is of

    @classmethod
    def on(cls, occasion: Occasion) -> "_Meant":
        speaker, stated_place = (
            words.replace("\\", "") for words in (occasion.speaker, occasion.place)
        )
        name, _, office = map(str.strip, speaker.partition(","))
        organisation = _P["organisation"].search(office)
        group = organisation[1] if organisation else stated_place
        before = " ".join(takewhile(lambda word: word.lower() not in _PLACES, group.split()))
        place = stated_place or ("" if before == group and " " in group else before)
        return cls(name, group, place, place if place and place in group else group)


def _resolve_words(text: str, occasion: Occasion) -> str:
    """Name who "I" and "we" are, and where "here" is, as far as it is known."""
    meant = _Meant.on(occasion)
    nouns = {noun for word in text.lower().split() for noun in lemmas(word).get("NOUN", ())}
    compares_places = bool(meant.place) and not _PLACES.isdisjoint(nouns)
    if place := meant.place:
        text = _P["there"].sub(lambda m: place if m[0][0] in "OoTt" else f"in {place}", text)
    text = _P["doer"].sub(lambda match: _with_doer(match, meant, compares_places), text)
    group, owner, name = meant.group, meant.owner, meant.name
    kind = re.escape(group.rpartition(" ")[2].lower())  # "our council": Varde Borough Council
    for pattern, words in (
        (rf"\b(?:[Oo]ur|[Tt]his) {kind}\b", group if " " in group else ""),
        (rf"(?<={re.escape(group)} )(?P<between>[^,;:]*?)\bour\b", group and r"\g<between>its"),
        (r"\b[Oo]ur\b", owner and f"{owner}'s"),
        (r"\bus\b", group),
        (r"\b[Mm]y\b", name and f"{name}'s"),
        (r"\bme\b", name),
    ):
        text = re.sub(pattern, words, text) if words else text
    return text


def _with_doer(match: re.Match[str], meant: _Meant, compares_places: bool) -> str:
    """Return "Varde Council has" for "we have", "it has" if it is named before."""
    pronoun, adverbs, verb = match.groups()
    before = match.string[: match.start()]
    if pronoun == "I":
        doer = meant.name
    elif compares_places and before.endswith(("than ", " as ")):
        doer = meant.place
    else:
        doer = meant.group
    if not doer:
        return match[0]
    is_joined = before.endswith(("and ", "but ", "or ", ", ", "; ", ". "))
    if pronoun != "I" and not is_joined and _P["we"].search(before):
        doer = "it"
    is_base = verb in lemmas(verb).get("VERB", ()) and verb not in syntax.AUXILIARIES
    verb = _AGREES.get(verb) or (syntax.third_person(verb) if is_base else verb)
    return f"{doer}{adverbs} {verb}"
