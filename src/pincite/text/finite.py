"""The finite verb of an English clause, and what its pronouns and descriptions stand for.

lemminflect's dictionary says which words may be verbs; agreement with the subject and the
neighbouring words say which of them is. In doubt there is none.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from pincite.text import patterns, syntax, words_of
from pincite.text.words import sentences_of
from pincite.types import Span

Form = Literal["auxiliary", "third", "base", "past"]
Token = tuple[str, int]  # a word or mark, and where it starts

_TOKEN = re.compile(r"\w[\w’'-]*|[^\w\s]")
_SET_OFF = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|[“\"][^“”\"]*[”\"]")
_HAVE = frozenset("has have had".split())
_DO = frozenset("do does did".split())
_BE_OR_MODAL, _PLURALS, _THINGS = (
    words_of("verb_phrases", name) for name in ("be_or_modal", "plurals", "things")
)
NOT = frozenset("not never cannot".split())
_SHARES = frozenset("half third quarter fifth tenth majority minority".split())
_NO_PLURALS = re.compile(r"(?:ss|us|is|news|series|species)$")
_NO_VERB_AFTER = words_of("verb_phrases", "no_verb_after") | syntax.PREPOSITIONS
_CLAUSE_OPENERS = syntax.SUBORDINATORS - {"once"}
_SINCE = frozenset("after before until till since".split())
_PRONOUN = re.compile(r"(?:It|He|She|They)\b")
_NEW_CLAUSE = frozenset(", ; : and or but".split())
_LONGEST = 1_000  # characters of a sentence; longer ones are lists
_NARROWS = frozenset("of that which who whose where".split())
_NO_PHRASE = syntax.PARTICLES | syntax.AUXILIARIES | _BE_OR_MODAL | {"and", "or", "but", "who"}
_CAPITAL = r"[A-ZÀ-Þ][\w’'-]*\w"
NAME = (
    rf"(?!(?i:{'|'.join(syntax.PARTICLES)})\b){_CAPITAL}(?: (?:(?:of|de|von|van|du) )?{_CAPITAL})*"
)
_LOWER = r"(?=(?P<kind>[a-z-]+(?: [a-z-]+){0,3}))"
_P = patterns(__file__, "finite", name=NAME, lower=_LOWER)
_BEFORE = re.compile(r"(?:\A|by )[Tt]he (?P<kind>[a-z-]+(?: [a-z-]+){0,2}),? \Z")
_THE = re.compile(rf"\b[Tt]he {_LOWER}")


@dataclass(frozen=True, slots=True)
class Finite:
    """A finite verb: its place, its infinitive ("" for an auxiliary) and form."""

    start: int
    end: int
    word: str
    base: str
    form: Form


@lru_cache(maxsize=20_000)
def lemmas(word: str) -> dict[str, tuple[str, ...]]:
    """Return a lower-case word's dictionary entries: `{"VERB": ("leak",), "NOUN": ("leak",)}`."""
    from lemminflect import getAllLemmas  # here: it loads a dictionary of 1 MB

    return dict(getAllLemmas(word))


def is_plural(phrase: str) -> bool:
    """Whether a noun phrase takes a plural verb: "the mills of Varde", "tin and lead"."""
    words = [m[0].lower() for m in _TOKEN.finditer(phrase)]
    of = words.index("of") if "of" in words else 0
    if of and words[of - 1].rstrip("s") in _SHARES:
        words = words[of + 1 :]  # "a third of the bridges need repair"
    words = words[: next((n for n, w in enumerate(words) if n and w in syntax.PREPOSITIONS), None)]
    if "and" in words:
        return not words[0].endswith("ing")  # "combining A and B is": one thing
    while len(words) > 1 and words[-1] not in _PLURALS and "NOUN" not in lemmas(words[-1]):
        if "VERB" not in lemmas(words[-1]):
            break
        words.pop()  # "patients treated with …"
    head = words[-1] if words else ""
    if head in _PLURALS:
        return True
    if not head.endswith("s") or _NO_PLURALS.search(head) or head[-2:] in ("’s", "'s"):
        return False
    return head not in lemmas(head).get("NOUN", ())  # "politics" is its own singular


def finite_verb(text: str) -> Finite | None:
    """Find the finite verb of the first clause; None if there is none, or several may be it.

    >>> [(v.word, v.base, v.form) for v in map(finite_verb, ("The dam leaks.", "Tin is cheap."))]
    [('leaks', 'leak', 'third'), ('is', '', 'auxiliary')]
    """
    bare = _SET_OFF.sub(lambda match: " " * len(match[0]), text)
    tokens = [(m[0], m.start()) for m in _TOKEN.finditer(bare)]
    tokens = tokens[_past_adverbial(tokens) :]
    if tokens and tokens[0][0].lower() in _CLAUSE_OPENERS - {"that"}:
        return None
    candidates = list(_candidates(tokens, text))
    if not candidates:
        return None
    than = next((n for n, (word, _) in enumerate(tokens) if word == "than"), len(tokens))
    # "Fewer than we were promised": a verb behind "than" counts only if there is no other.
    candidates = [(n, verb) for n, verb in candidates if n < than] or candidates
    (at, first), *others = candidates
    if first.word in _HAVE and _may_own(tokens, at + 1):
        return None
    if first.form == "auxiliary" or not others:
        return first
    for place, verb in others:
        if verb.form == "auxiliary":
            return verb if _is_subject(tokens, at, first, place) else None
    if first.form == "past":
        is_sure = syntax.is_sure(first.word, _word(tokens, at + 1))
        return first if is_sure else None  # "patients treated with lindol live longer"
    return _first_or_second(tokens, at, first, *others[0])


def _is_subject(tokens: Sequence[Token], at: int, first: Finite, helper: int) -> bool:
    """Whether a word before an auxiliary is part of its subject: "the mill built in 1802 was"."""
    is_near = helper == at + 1 or _word(tokens, at + 1) in syntax.PREPOSITIONS
    if is_near and _may_be_noun(first.word):
        return True  # "the dam gates in Varde are old", not "the study shows tea is good"
    is_timed = any(word in _SINCE for word, _ in tokens[at:helper])  # "after it was signed"
    return first.form == "past" and syntax.is_participle(first.word) and not is_timed


def _first_or_second(
    tokens: Sequence[Token], at: int, first: Finite, place: int, second: Finite
) -> Finite | None:
    """Return which of two words is the verb where the first may be a noun; None in doubt."""
    if not _may_be_noun(first.word):
        return first
    if _word(tokens, at + 1) in syntax.PREPOSITIONS:
        differs = second.form == "base" and not _may_be_noun(second.word)
        return None if differs else first  # "test results from the valley differ"
    if place != at + 1:
        return first
    following = _word(tokens, place + 1)
    if not following.isalnum() or following.lower() in syntax.PREPOSITIONS:
        return first
    # "stone bridges span the river"; not "stone bridges spanned it", "causes increased risk"
    is_certain = second.form != "past" and not _may_be_noun(second.word)
    return second if is_certain else None


class Referent(NamedTuple):
    """A pronoun or description, and what it may stand for: certain if that is one name."""

    span: Span
    sentence: Span
    names: tuple[str, ...]  # the likeliest first; "": something without a name

    @property
    def name(self) -> str:
        return self.names[0] if len(self.names) == 1 else ""


class _Known(NamedTuple):
    """A thing that a text has introduced; "": without a name."""

    name: str
    noun: str
    modifiers: frozenset[str]


@lru_cache(maxsize=64)
def referents(text: str) -> tuple[Referent, ...]:
    """Find what "It" at the start of a sentence, "the canal" or "the elder brother" stand for.

    A pronoun stands for the subject of the nearest sentence before it that does not open so; a
    description for the names before it that have its noun, or were introduced by it.

    >>> referents("Varde Mill was sold. It was never a barn.")[0].name
    'Varde Mill'
    """
    result, before, known = list[Referent](), "", dict[_Known, None]()
    for span in sentences_of(text):
        sentence = span.of(text)
        if len(sentence) > _LONGEST:
            continue
        if pronoun := _PRONOUN.match(sentence):
            if names := _subjects(before, pronoun[0]):
                result.append(Referent(Span(span.start, span.start + pronoun.end()), span, names))
        else:
            before = sentence
        for at, names in _descriptions(sentence, known):
            result.append(Referent(at.moved(span.start), span, names))
        known.update(dict.fromkeys(_introductions(sentence)))
    return tuple(result)


def _subjects(sentence: str, pronoun: str) -> tuple[str, ...]:
    """Return what a pronoun may stand for by the sentence before; empty if unknown."""
    if not (verb := finite_verb(sentence)):
        return ()
    subject = sentence[: verb.start].strip()
    others = [m["name"] for m in _P["named"].finditer(sentence, verb.end) if not m["place"]]
    may_be_noun = " " not in subject and _may_be_noun(subject.lower())
    is_name = _P["named"].fullmatch(subject) and not may_be_noun
    return (subject, *others) if is_name and pronoun != "They" else (subject, "")


@lru_cache(maxsize=256)  # asked for several times while a pair is judged
def referents_in(passage: str, page: str) -> tuple[Referent, ...]:
    """Return the referents of a page that are in one of its passages."""
    page, result = page or passage, list[Referent]()
    for span, sentence, names in referents(page):
        at = passage.find(sentence.of(page))
        if at >= 0:
            by = at - sentence.start
            result.append(Referent(span.moved(by), sentence.moved(by), names))
    return tuple(result)


def _descriptions(sentence: str, known: Iterable[_Known]) -> Iterator[tuple[Span, tuple[str, ...]]]:
    for match in _THE.finditer(sentence):
        words = match["kind"].split(" ")
        for n, word in enumerate(words):
            end = match.start("kind") + len(" ".join(words[: n + 1]))
            same = [k.name for k in known if k.noun == word and k.modifiers.issuperset(words[:n])]
            if any(same) and not _goes_on(sentence, end):
                names = sorted(_distinct(same), key=bool, reverse=True)
                yield Span(match.start(), end), tuple(names)
                break


def _distinct(names: Iterable[str]) -> list[str]:
    """Return the longest form of each name; "Holm" and "Ada Holm" are forms of one."""
    by_words = dict[frozenset[str], str]()
    for name in names:
        words = frozenset(name.removeprefix("the ").split(" "))
        if words in by_words or not any(words <= other or other <= words for other in by_words):
            by_words[words] = max(name, by_words.get(words, ""), key=len)
    return list(by_words.values())


def _goes_on(sentence: str, end: int) -> bool:
    """Whether words behind a noun narrow it, or make another one: "canal of Corinth", "boat"."""
    word, after = [*_TOKEN.findall(sentence, end)[:2], "", ""][:2]
    if word in syntax.PREPOSITIONS | _NARROWS:
        return word in _NARROWS or not after[:1].isdigit()
    if not word[:1].isalpha() or word in syntax.AUXILIARIES | _BE_OR_MODAL | {"and", "or", "but"}:
        return False
    is_verb = word.endswith(("s", "ed")) or syntax.may_be_past(word)
    return word != word.lower() or not ("VERB" in lemmas(word) and is_verb)


def _introductions(sentence: str) -> Iterator[_Known]:
    """Yield names with a noun in them or beside them, and what has such a noun and no name."""
    taken = list[range]()
    for match in _P["named"].finditer(sentence):
        words = match["name"].split(" ")
        name = f"the {match['name']}" if match["the"] else match["name"]
        if len(words) > 1:
            noun = next(filter(_may_be_noun, (words[-1].lower(), words[0].lower())), "")
            yield _Known(name, noun, frozenset())
        is_subject = not sentence[: match.start()].strip(" ,")
        beside = _P["beside"].match(sentence, match.end())
        if not beside or (beside["is"] and not is_subject):
            beside = _BEFORE.search(sentence, 0, match.start("name"))
        if beside:
            yield _Known(name, *_noun(beside["kind"]))
            taken.append(range(*beside.span()))
    for match in _P["unnamed"].finditer(sentence):
        is_new = match["det"].lower() != "the"
        noun, modifiers = _noun(match["kind"])
        behind = match["kind"].partition(noun)[2].split()
        narrowed = modifiers or _NARROWS.intersection(behind[:1])
        if (is_new or narrowed) and not any(match.start() in other for other in taken):
            yield _Known("", noun, modifiers)


def _noun(phrase: str) -> tuple[str, frozenset[str]]:
    """Return the noun of a phrase, and the words before it: "company", {"shipping"}."""
    words = phrase.lower().split(" ")
    ends = (
        n
        for n, word in enumerate(words)
        if n and (word in _NO_PHRASE or (syntax.is_participle(word) or word.endswith("ing")))
        if n > 1 or _may_be_noun(words[0])
    )
    words = words[: next(ends, len(words))]
    return words[-1], frozenset(words[:-1])


def _candidates(tokens: Sequence[Token], text: str) -> Iterator[tuple[int, Finite]]:
    """Yield the words that may be the verb, with their numbers, up to where a clause begins."""
    start = tokens[0][1] if tokens else 0
    has_one = False
    for n, (word, place) in enumerate(tokens):
        lower = word.lower().replace("’", "'")
        if (n and lower in _CLAUSE_OPENERS) or (has_one and lower in _NEW_CLAUSE):
            return
        if verb := _finite_at(tokens, n, text[start:place]):
            has_one = True
            yield n, verb
            if verb.form == "auxiliary":
                return


def _finite_at(tokens: Sequence[Token], n: int, subject: str) -> Finite | None:
    (word, place), before, after = tokens[n], _word(tokens, n - 1).lower(), _word(tokens, n + 1)
    lower, end = word.lower().replace("’", "'"), place + len(word)
    is_coordinated = before in ("and", "or")  # "the damp and prolonged winter"
    if not n or is_coordinated or before in _NO_VERB_AFTER or word != word.lower():
        return None
    helps = lower in _HAVE | _DO and _helps(tokens, n)
    if helps or lower in _BE_OR_MODAL or lower.endswith("n't"):
        return Finite(place, end, lower, "", "auxiliary")
    lexical = _lexical(lower, before, subject)
    if lexical is None or (after == "of" and _may_be_noun(lower)):
        return None
    base, form = lexical
    is_passive = form == "past" and after == "by" and syntax.is_participle(lower)
    return None if is_passive else Finite(place, end, lower, base, form)


def _lexical(word: str, before: str, subject: str) -> tuple[str, Form] | None:
    """Return infinitive and form of a word that may be a finite verb after this subject."""
    known = lemmas(word).get("VERB", ())
    if not known or word.endswith("ing") or word in syntax.PARTICIPLES or "’" in before[-2:]:
        return None
    if before.endswith("'s") or ("ADJ" in lemmas(before) and "NOUN" not in lemmas(before)):
        return None
    base, plural = known[0], is_plural(subject)
    singular = before in _THINGS or not plural
    if word == base:
        both = before in _PLURALS or (plural and before not in _THINGS)
        return (base, "base") if both else None
    if word in ("has", syntax.third_person(base)):
        return (base, "third") if singular else None
    if "ADJ" in lemmas(word) and not before.isalnum():
        return None
    return base, "past"


def _helps(tokens: Sequence[Token], n: int) -> bool:
    """Whether "has" or "does" is followed by the verb that it helps."""
    place = n + 1
    while syntax.is_adverb(_word(tokens, place)) or _word(tokens, place) in NOT:
        place += 1
    word, own = _word(tokens, place), tokens[n][0].lower()
    if own in _DO:
        return word in lemmas(word).get("VERB", ())
    return word == "been" or syntax.is_participle(word)


def _may_own(tokens: Sequence[Token], n: int) -> bool:
    """Whether the words after "has" may be a thing: "increased risk", "reduced costs"."""
    while syntax.is_adverb(_word(tokens, n)):
        n += 1
    word = _word(tokens, n)
    adjective = syntax.is_participle(word) and "ADJ" in lemmas(word)
    return adjective and _may_be_noun(_word(tokens, n + 1))


def _past_adverbial(tokens: Sequence[Token]) -> int:
    """Skip "In 1911," and "Later," before the subject."""
    first = _word(tokens, 0).lower()
    if first not in syntax.PREPOSITIONS and not syntax.is_adverb(first):
        return 0
    comma = next((n for n, (word, _) in enumerate(tokens) if word == ","), None)
    return 0 if comma is None else comma + 1


def _may_be_noun(word: str) -> bool:
    return "NOUN" in lemmas(word)


def _word(tokens: Sequence[Token], n: int) -> str:
    return tokens[n][0] if 0 <= n < len(tokens) else ""
