"""The statements inside a statement, by rule: what else must be true, or is said to be, if it is.

Each rule returns the parts that it is certain of, and the first that finds some decides. What a
condition or a negation governs is no part: "if A, B" states neither A nor B.
"""

import re
from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import partial
from typing import TypeAlias

from pincite.text import patterns, syntax
from pincite.text.clauses import clauses
from pincite.text.figures import MONTHS
from pincite.text.finite import NOT, Finite, finite_verb, is_plural, lemmas
from pincite.text.german import main_clause, main_order
from pincite.types import StatementType
from pincite.verbs.check.kinds import LONGEST, MARKS, ascription, kind_of, negation

_P = patterns(__file__, "parts")
_REASONS, _VERDICT = patterns(__file__, "reasons"), patterns(__file__, "verdicts")
_FALSE = {"false", "untrue", "a myth", "a lie", "incorrect", "unwahr", "eine Lüge", "ein Mythos"}
# By a German pronoun, the articles of the nouns that it may stand for.
_GENDERS = {"er": "der|den|dem", "sie": "die", "es": "das"}
_OBJECTS = frozenset("it them him us me".split())  # "the mayor sold it"
_EXPLETIVE = frozenset("rain snow turn seem appear take happen become get follow".split())
_NO_OTHER_THING = syntax.PREPOSITIONS | {month.lower() for month in MONTHS}
_INNER = syntax.PREPOSITIONS | syntax.DETERMINERS | {"of", "and"}  # words within a phrase
_BEFORE_NOUN = syntax.DETERMINERS | {"of", "in", "with", "by", "for"}


class _Cover(Enum):
    """What the parts that a rule finds say of the whole text."""

    SOME = auto()
    ALL = auto()  # the text holds if and only if each part does
    MAIN = auto()  # the first part is what is said, the others are its background


_Rule: TypeAlias = tuple[Callable[[str], list[str]], _Cover]


def parts(text: str, language: str = "en") -> list[str]:
    """Return the statements directly inside a text; empty if it joins and ascribes nothing.

    >>> parts("We should ban lindol because it causes blindness.")
    ['lindol causes blindness']
    """
    if len(text) > LONGEST:
        return []
    said = ascription(text, language)
    if said is None:
        return _split(text, language)[0]
    resolve = _without_pronoun if language == "en" else _resolve_german
    content = resolve(said.content, said.speaker) if said.content else None
    if content and said.denied:
        content = negation(content, language)
    return [content] if content else []


def conjuncts(text: str, language: str = "en") -> list[str]:
    """Return the parts of which each must hold, and that are all of a text; else nothing.

    Of what is said with its background ("since Y opened"), what is said is the only one.
    """
    if len(text) > LONGEST or ascription(text, language) is not None:
        return []
    parts, cover = _split(text, language)
    if cover is _Cover.MAIN:
        return parts[:1]
    n_clauses = len(_P["clause_begins"].findall(text))
    is_complete = cover is _Cover.ALL and len(parts) > max(1, n_clauses)
    return parts if is_complete else []


def _split(text: str, language: str) -> tuple[list[str], _Cover]:
    """Return the parts of a text by the first rule that finds some, and what they cover."""
    bare = text.strip(MARKS) if text.count('"') % 2 == 0 else text
    for find, cover in _RULES.get(language, ()):
        if parts := find(bare):
            return parts, cover
    return [], _Cover.SOME


def _verdict(text: str, language: str = "en") -> list[str]:
    """“It is not true that Y” says that Y is not so."""
    match = _VERDICT[language].fullmatch(text)
    if match is None:
        return []
    content = match["content"] if language == "en" else main_order(match["content"])
    is_affirmed = (match["what"] in _FALSE) == bool(match["no"])
    if not content or is_affirmed:
        return [content] if content else []
    return [negation(_capitalise(content), language)]


def _valued_fact(text: str) -> list[str]:
    """“It is a scandal that Y” and “Sadly, Y” state that Y."""
    match = _P["valued_fact"].fullmatch(text) or _P["feeling"].fullmatch(text)
    return [match["fact"]] if match and finite_verb(match["fact"]) else []


def _reason(text: str, language: str = "en") -> list[str]:
    """“A because B” and “A although B” state both; only B if A is a demand or a valuation."""
    match = _REASONS[language].fullmatch(text) or _REASONS[f"{language}_first"].fullmatch(text)
    if match is None or _P["condition"].search(text):
        return []
    main, reason = match["main"], match["reason"]
    is_main_first = match.start("main") == 0
    resolve: Callable[[str, str], str | None] = _resolve_pronoun
    if language == "de":
        resolve, reason = _resolve_german, main_order(reason)
        main = main if is_main_first else main_order(main)
    if _P["not"].search(main) and not _P["conceded"].search(text):
        return []  # "not because": which is denied?
    is_valued = kind_of(main, language) is StatementType.NORMATIVE
    own = None if is_valued else resolve(main, reason)
    stated = [own, resolve(reason, main)] if is_main_first else [resolve(reason, main), own]
    return [clause for clause in stated if clause]


def _fact_beside_opinion(text: str) -> list[str]:
    """“Nobody died, and the mayor should resign” states that nobody died."""
    if _P["condition"].search(text) or _P["quote"].search(text):
        return []
    for match in _P["beside"].finditer(text):
        left, right = text[: match.start()], text[match.end() :]
        has_subject = finite_verb(right) is not None and "which" not in match[0]
        if not has_subject:
            right = f"It {right}"
        kinds = kind_of(left), kind_of(right)
        if {*kinds} != {StatementType.DESCRIPTIVE, StatementType.NORMATIVE}:
            continue
        is_left = kinds[0] is StatementType.DESCRIPTIVE
        if finite_verb(left) and finite_verb(right) and (has_subject or is_left):
            stated = left if is_left else _resolve_pronoun(right, left)
            return [_capitalise(stated)] if stated else []
    return []


def _without_value(text: str) -> list[str]:
    """“The disgraceful tax raised three million” states that the tax did."""
    match = _P["valuing"].search(text)
    if match is None or finite_verb(text) is None:
        return []
    before, word = text[: match.start()], match[0].strip()
    last = before.split()[-1].lower()
    if not word.endswith("ly") and not (last in _BEFORE_NOUN or re.search(r"[’']s?$", last)):
        return []
    without_n = re.sub(r"\b([Aa])n?$", r"\1", before.rstrip())
    fact = re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", f"{without_n} {text[match.end() :]}")
    return [fact] if kind_of(fact) is StatementType.DESCRIPTIVE else []


def _neither(text: str) -> list[str]:
    """“Neither A nor B opened” states that A did not, and that B did not."""
    match = _P["neither"].fullmatch(text)
    verb = finite_verb(match["other"]) if match else None
    if match is None or verb is None:
        return []
    one, other = match["one"], match["other"]
    return [negation(f"{one} {other[verb.start :]}"), negation(other)]


def _only(text: str) -> list[str]:
    """“Only A opened” states that A opened."""
    match = _P["only"].fullmatch(text)
    return [_capitalise(match["fact"])] if match and finite_verb(match["fact"]) else []


def _but(text: str) -> list[str]:
    """“X claims that Y, but Z”: the second half is not what X claims."""
    first, _, second = text.partition(", but ")
    if not second and (match := _P["and_it"].fullmatch(text)):
        first, second = match.groups()
    if not (finite_verb(first) and finite_verb(second)):
        return []
    if _P["condition"].search(text) or _P["quote"].search(text):
        return []
    said, topic = ascription(first), first
    if said and said.content and re.match(r"(?:it|they)\b", second):
        topic = said.content
    named = _resolve_pronoun(second, topic)
    return [first, named] if named else [first]


def _background(text: str) -> list[str]:
    """“X fell since Y opened” states that X fell; that Y opened is its background."""
    for main, background in _timed_clauses(text):
        verb, past = finite_verb(main), finite_verb(background)
        if verb is None or past is None or _P["pronoun_within"].search(background, past.start):
            continue
        is_whole = main[verb.end :].strip(" .") and main[: verb.start].strip()
        is_past = past.form == "past" or past.word in ("was", "were", "had")
        if is_whole and is_past and kind_of(main) is StatementType.DESCRIPTIVE:
            named = _resolve_pronoun(background, main)
            return [_capitalise(clause) for clause in (main, named) if clause]
    return []


def _timed_clauses(text: str) -> Iterator[tuple[str, str]]:
    """Yield what may be the main clause of a text, with the clause that dates it."""
    first = _P["timed_first"].fullmatch(text)
    if first is None:
        for match in _P["timed"].finditer(text):
            yield match["main"], match["background"]
        return
    words = first[1].split(" ")
    for n, word in enumerate(words, 1):
        if word.endswith(","):
            yield " ".join(words[n:]), " ".join(words[:n]).rstrip(",")
            return
    for n in range(2, len(words)):  # without a comma, it may end behind any phrase
        background = " ".join(words[:n])
        verb = finite_verb(background)
        if verb and background[verb.end :].strip() and _INNER.isdisjoint(words[n - 1 : n + 1]):
            yield " ".join(words[n:]), background


# ── Joined clauses ───────────────────────────────────────────────────────────────────────────────


def _clauses(text: str) -> list[str]:
    """“X did this and did that” as two statements, unless a condition may govern both."""
    if _P["condition"].search(text):
        return []
    first, *others = (clause.text for clause in clauses(text))
    if not others:
        return _halves(text) or distribute(text)
    result = [first]
    for other in others:
        named = _resolve_pronoun(other, first)
        if named or not _P["pronoun"].match(other):
            result.append(named or other)
    return result


def _halves(text: str) -> list[str]:
    """Split at the first “and” or “but” between two that are clearly sentences."""
    if syntax.SUBORDINATORS.intersection(text.lower().split()) or _P["quote"].search(text):
        return []
    for match in _P["bare_and"].finditer(text):
        left, right = text[: match.start()], text[match.end() :]
        verb = finite_verb(left)
        if verb is None or "," in left or _is_of_noun(left, verb):
            continue
        is_closed = _is_closed(left, verb)
        if _surely_a_sentence(right, after_closed=is_closed):
            return [left, right]
        if is_closed and _refers(right, left[: verb.start]):
            named = _resolve_pronoun(right, left)
            if named:
                return [left, named]
    return []


def _is_of_noun(text: str, verb: Finite) -> bool:
    """Whether the verb may be a participle: "the mill built in 1802" and the tower were sold."""
    after = (text[verb.end :].split() or [""])[0].lower()
    return verb.word in syntax.TRANSITIVE and (not after or after in syntax.PREPOSITIONS)


def _refers(clause: str, name: str) -> bool:
    """Whether a clause certainly begins with a pronoun for this subject: not "it rained"."""
    verb, words = finite_verb(clause), name.lower().split()
    if not _P["pronoun"].match(clause) or verb is None or not words or " to " in clause:
        return False
    if words[0] not in ("the", "this", "that") and not name.istitle():
        return False  # "no mill opened in 1911 and it rained"
    after = next((w for w in clause[verb.end :].split() if not syntax.is_adverb(w)), "")
    if verb.form == "auxiliary":
        return syntax.is_participle(after.strip("."))
    return verb.base not in _EXPLETIVE


def _is_closed(text: str, verb: Finite) -> bool:
    """Whether nothing behind the verb can be meant by “it” or joined to another thing."""
    others = text[: verb.start].split()[1:]
    named = others and others[-1][:1].isupper() and not others[0][:1].isupper()
    if named or syntax.PRONOUNS.intersection(others) or {"the", "a"}.intersection(others):
        return False  # "the bridge Holm built in 1890", "the bridge they built"
    rest = [w for w in text[verb.end :].split() if not (syntax.is_adverb(w) or w in NOT | {"been"})]
    if verb.form == "auxiliary" and rest and {"ADJ", "VERB"}.intersection(lemmas(rest[0])):
        rest = rest[1:]  # "was completed", "is old"
    return all(word.lower() in _NO_OTHER_THING or word[0].isdigit() for word in rest)


def _surely_a_sentence(text: str, *, after_closed: bool) -> bool:
    """Whether the text begins with a named subject and a verb that is no participle.

    Behind a closed clause, “the tram opened in 1971” is no other thing that is meant.
    """
    verb = finite_verb(text)
    subject = text[: verb.start].split() if verb else []
    if verb is None or not subject or {"and", "but"}.intersection(subject):
        return False
    if verb.word in ("are", "were", "have") and not is_plural(" ".join(subject)):
        return False
    named = subject[0][:1].isupper() and subject[0].lower() not in syntax.PRONOUNS
    after = (text[verb.end :].split() or [""])[0]
    sure = verb.form == "auxiliary" or syntax.is_sure(verb.word, after) or after in _OBJECTS
    is_aux = verb.word in syntax.AUXILIARIES
    bare = after_closed and is_aux and syntax.PARTICLES.isdisjoint(subject)
    return (sure or after_closed) and (named or bare or subject[0].lower() in syntax.DETERMINERS)


# ── Pronouns ─────────────────────────────────────────────────────────────────────────────────────


def _resolve_pronoun(clause: str, other: str) -> str | None:
    """Replace an opening "it" by what the other clause names; None if that is unclear."""
    if finite_verb(clause) is None:
        return None
    verb = finite_verb(other)
    name = other[: verb.start].rpartition(", ")[2].strip() if verb else ""
    if verb and name.lower() in ("we", "you", "one", "i", "people", "everyone", "everybody"):
        name = other[verb.end :].strip().partition(" ")[2]  # "we should ban X": X
    return _without_pronoun(clause, name)


def _without_pronoun(clause: str, name: str) -> str | None:
    """Replace an opening "it", "they" or "he" by the name; None if it means something else."""
    if not _P["pronoun"].match(clause):
        return clause
    pronoun, _, rest = clause.partition(" ")
    words = name.lower().split()
    if not words or len(words) > 5 or words[0] in syntax.PRONOUNS:
        return None
    if syntax.PREPOSITIONS.intersection(words):
        return None
    if words[-1] in syntax.AUXILIARIES or words[-1].endswith("ly"):
        return None  # "Holm has", "Berg falsely"
    if pronoun.lower() in ("he", "she") and not name[:1].isupper():
        return None
    fits = name.istitle() or is_plural(name) == (pronoun.lower() == "they")
    return f"{name} {rest}" if fits else None


def _capitalise(clause: str) -> str:
    return clause[:1].upper() + clause[1:]


# ── German ───────────────────────────────────────────────────────────────────────────────────────


def _resolve_german(clause: str, other: str) -> str | None:
    """Replace an opening “es” by what alone in the other clause has its gender; None if unclear."""
    pronoun, _, rest = clause.partition(" ")
    articles = _GENDERS.get(pronoun.lower())
    if articles is None or _P["it_rains"].match(clause):
        return clause
    nouns = re.findall(rf"\b(?i:{articles}) (\S+)", other)
    if not nouns and other.istitle():
        return f"{other} {rest}"
    return f"{articles[:3]} {nouns[0]} {rest}" if len(nouns) == 1 else None


def _german_halves(text: str) -> list[str]:
    """“X wurde A und tat B” and “X tat A, und Y tat B” as two statements, or the fact of them."""
    if _P["condition"].search(text) or _P["quote"].search(text):
        return []
    for match in _P["und"].finditer(text):
        first = text[: match.start()]
        clause = main_clause(first)
        second = clause.second_half(text[match.end() :]) if clause and not clause.tail else ""
        if second:
            halves = [first, second]
            facts = [half for half in halves if kind_of(half, "de") is StatementType.DESCRIPTIVE]
            return facts or halves
    return []


# The first rule that finds parts decides.
_RULES: dict[str, tuple[_Rule, ...]] = {
    "en": (
        (_verdict, _Cover.SOME),
        (_valued_fact, _Cover.SOME),
        (_background, _Cover.MAIN),
        (_reason, _Cover.ALL),
        (_fact_beside_opinion, _Cover.SOME),
        (_without_value, _Cover.SOME),
        (_neither, _Cover.ALL),
        (_only, _Cover.SOME),
        (_but, _Cover.ALL),
        (_clauses, _Cover.ALL),
    ),
    "de": (
        (partial(_verdict, language="de"), _Cover.SOME),
        (partial(_reason, language="de"), _Cover.ALL),
        (_german_halves, _Cover.ALL),
    ),
}


# ── “X and Y did it” as “X did it” and “Y did it”: parts joined by “and” ──────────────────────────
#
# Nothing is split where the parts may be meant together ("met", "between"), where a word may belong
# to one part or both ("old men and women"), or under a negation or a count.

_MOST_WORDS = 4  # of a part
_COORDINATION = patterns(__file__, "coordination")
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
    if len(re.findall(r"\band\b", text)) != 1 or _COORDINATION["together"].search(text):
        return []
    verb = finite_verb(text)
    if verb is None:
        return []
    if match := _THAN.fullmatch(text):
        pair = match["a"], match["b"]
        return [match["stem"] + part for part in pair] if _are_alike(*pair) else []
    if _COORDINATION["scope"].search(text):
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
    if max(len(first), len(second)) > _MOST_WORDS or not (first and second):
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
