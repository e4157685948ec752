"""The statements inside a statement, by rule: what else must be true, or is said to be, if it is.

Each rule returns the parts that it is certain of, and the first that finds some decides. What a
condition or a negation governs is no part: "if A, B" states neither A nor B.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from pincite.text import syntax, words_of
from pincite.text.clauses import clauses
from pincite.text.coordination import shared
from pincite.text.figures import MONTHS
from pincite.text.finite import NOT, Finite, finite_verb, is_plural, lemmas, main_clause, main_order
from pincite.types import StatementType
from pincite.verbs.check.kinds import LONGEST, MARKS, ascription, kind_of, negation

# Between a fact and an opinion: "Nobody died, and the mayor should resign", "… and should resign".
_BESIDE = re.compile(
    r"(?:, (?:and|but|so|which)|[;:.]) "
    r"|,? (?:and|but) (?=(?:\w+ly )?(?:should|must|ought|shouldn't|mustn't)\b)"
)
_BARE_AND = re.compile(r",?\s+(?:and|but)\s+")
_UND = re.compile(r",? (?:und|aber) |; ")
_GENDERS = {"er": "der|den|dem", "sie": "die", "es": "das"}
_IT_RAINS = re.compile(r"(?i:es) (?:regne|schnei|g[ia]b)")
_PRONOUN = re.compile(r"(?:he|she|it|they)\b", re.IGNORECASE)
_QUOTE = re.compile(r"[“\"]")
_CONDITION = re.compile(
    r"\b(?:if|unless|when|whenever|provided|as long as|in case|would|lest|wenn|falls|würden?)\b",
    re.I,
)
_NOT = re.compile(
    r"\b(?:not|never|no|nobody|hardly|cannot|nicht|kein\w*|nie|niemand)\b|n[’']t\b", re.IGNORECASE
)
_JOINED = "although|even though|though|whereas"
_CONCEDED = re.compile(rf"\b(?:{_JOINED}|while|obwohl|während)\b", re.IGNORECASE)
_REASONS = {
    "en": (
        re.compile(
            r"(?P<a>.+?)(?:,?(?: simply| just| mainly| partly)? because|, since"
            rf"|,? (?:{_JOINED}|while)) (?!of\b)(?P<b>.+)"
        ),
        re.compile(rf"(?i:because|since|while|{_JOINED}) (?!of\b)(?P<b>[^,]+), (?P<a>.+)"),
    ),
    "de": (
        re.compile(r"(?P<a>[^,]+), (?:weil|obwohl|da|während) (?P<b>[^,]+)"),
        re.compile(r"(?:Weil|Obwohl|Da|Während) (?P<b>[^,]+), (?P<a>[^,]+)"),
    ),
}
_VERDICT = {
    "en": re.compile(
        r"It (?:is|was)(?: \w+ly| just)*(?P<no> not| never)?(?: \w+ly)* "
        r"(?P<what>true|false|untrue|a myth|a lie|a fact|the case|correct|incorrect)"
        r" that (?P<b>.+)"
    ),
    "de": re.compile(
        r"Es (?:ist|stimmt|trifft)(?P<no> nicht)?"
        r"(?: zu| (?P<what>wahr|unwahr|eine Lüge|ein Mythos))?, dass (?P<b>.+)"
    ),
}
_FALSE = {"false", "untrue", "a myth", "a lie", "incorrect", "unwahr", "eine Lüge", "ein Mythos"}
# What is valued as "a scandal that …" is taken to have happened.
_VALUED_FACT = re.compile(
    r"It (?:is|was)(?: \w+)? (?:a (?:scandal|shame|pity|disgrace|mistake|tragedy|blessing|relief)"
    r"|scandalous|shameful|disgraceful|outrageous|regrettable|unfair|unjust|wrong|sad|good|bad"
    r"|unacceptable|deplorable|wonderful|terrible|appalling) that (?P<b>.+)"
)
_VALUES, _FEELINGS = ("|".join(words_of("readings", name)) for name in ("valuing", "feelings"))
_FEELING = re.compile(rf"(?i:{_FEELINGS}), (?P<b>.+)")
_VALUING = re.compile(rf"(?<=\w )(?:{_VALUES}) (?=\w)")
_TIMED = re.compile(r"(?P<a>.+?),? (?:since|when|after|before) (?P<b>.+)")
_TIMED_FIRST = re.compile(r"(?:Since|When|After|Before) (.+)")
_OTHERS = re.compile(r"\b(?:it|he|she|they|them|him|her|their|its|his)\b", re.IGNORECASE)
_AND_IT = re.compile(r"(.+?), and ((?:it|they|he|she)\b .+)")
_ONLY = re.compile(r"Only (?!if\b|when\b|by\b|in\b|after\b|then\b|a few\b)(?P<b>.+)")
_NEITHER = re.compile(r"Neither (?P<a>[^,]+?) nor (?P<b>[^,]+)")
_OBJECTS = frozenset("it them him us me".split())  # "the mayor sold it"
_EXPLETIVE = frozenset("rain snow turn seem appear take happen become get follow".split())
_NO_OTHER_THING = syntax.PREPOSITIONS | {month.lower() for month in MONTHS}
_BEFORE_NOUN = syntax.DETERMINERS | {"of", "in", "with", "by", "for"}


def parts(text: str, language: str = "en") -> list[str]:
    """Return the statements directly inside a text; empty if it joins and ascribes nothing.

    >>> parts("We should ban lindol because it causes blindness.")
    ['lindol causes blindness']
    """
    if len(text) > LONGEST:
        return []
    if (said := ascription(text, language)) is not None:
        name = _without_pronoun if language == "en" else _resolve_german
        content = name(said.content, said.speaker) if said.content else None
        if content and said.denied:
            content = negation(content, language)
        return [content] if content else []
    return _apply_rules(text, language)[0]


def conjuncts(text: str, language: str = "en") -> list[str]:
    """Return the parts of which each must hold, and that are all of a text; else nothing.

    Of what is said with its background ("since Y opened"), what is said is the only one.
    """
    if len(text) > LONGEST or ascription(text, language) is not None:
        return []
    found, rule = _apply_rules(text, language)
    if rule is _background:
        return found[:1]
    n_clauses = len(_PIECES.findall(text))
    return found if rule in _EXHAUSTIVE and len(found) > max(1, n_clauses) else []


def _apply_rules(text: str, language: str) -> tuple[list[str], "_Rule | None"]:
    """Return the parts that the first rule finds which finds any, and that rule."""
    bare = text.strip(MARKS) if text.count('"') % 2 == 0 else text
    for rule in _RULES.get(language, ()):
        if found := rule(bare):
            return found, rule
    return [], None


def _verdict(text: str, language: str = "en") -> list[str]:
    """“It is not true that Y” says that Y is not so."""
    match = _VERDICT[language].fullmatch(text)
    content = match and (match["b"] if language == "en" else main_order(match["b"]))
    if match is None or not content:
        return []
    false = match["what"] in _FALSE
    return [negation(_sentence(content), language) if false != bool(match["no"]) else content]


def _valued_fact(text: str) -> list[str]:
    match = _VALUED_FACT.fullmatch(text) or _FEELING.fullmatch(text)
    return [match["b"]] if match and finite_verb(match["b"]) else []


def _reason(text: str, language: str = "en") -> list[str]:
    """“A because B” and “A although B” state both; only B if A is a demand or a valuation."""
    matches = (pattern.fullmatch(text) for pattern in _REASONS[language])
    match = next(filter(None, matches), None)
    if match is None or _CONDITION.search(text):
        return []
    main, reason = match.group("a", "b")
    resolve: Callable[[str, str], str | None] = _resolve_pronoun
    if language == "de":
        main = main if match.start("a") == 0 else main_order(main)
        reason, resolve = main_order(reason), _resolve_german
    if _NOT.search(main) and not _CONCEDED.search(text):
        return []  # "not because": which is denied?
    is_valued = kind_of(main, language) is StatementType.NORMATIVE
    stated = [None if is_valued else resolve(main, reason), resolve(reason, main)]
    if match.start("a") > 0:
        stated.reverse()
    return [clause for clause in stated if clause]


def _resolve_pronoun(clause: str, other: str) -> str | None:
    """A clause whose "it" is replaced by what the other clause names; None if that is unclear."""
    if finite_verb(clause) is None:
        return None
    verb = finite_verb(other)
    name = other[: verb.start].rpartition(", ")[2].strip() if verb else ""
    if verb and name.lower() in ("we", "you", "one", "i", "people", "everyone", "everybody"):
        name = other[verb.end :].strip().partition(" ")[2]  # "we should ban X": X
    return _without_pronoun(clause, name)


def _resolve_german(clause: str, other: str) -> str:
    """A clause whose “es” is what alone in the other clause has this gender; "" if unclear."""
    pronoun, _, rest = clause.partition(" ")
    article = _GENDERS.get(pronoun.lower())
    if article is None or _IT_RAINS.match(clause):
        return clause
    nouns = re.findall(rf"\b(?i:{article}) (\S+)", other)
    if not nouns and other.istitle():
        return f"{other} {rest}"
    return f"{article[:3]} {nouns[0]} {rest}" if len(nouns) == 1 else ""


def _german_halves(text: str) -> list[str]:
    """“X wurde A und tat B” and “X tat A, und Y tat B” as two statements, or the fact of them."""
    for match in () if _CONDITION.search(text) or _QUOTE.search(text) else _UND.finditer(text):
        first = text[: match.start()]
        left = main_clause(first)
        if left and not left.tail and (second := left.shared(text[match.end() :])):
            halves = [first, second]
            facts = [x for x in halves if kind_of(x, "de") is StatementType.DESCRIPTIVE]
            return facts or halves
    return []


def _without_pronoun(clause: str, name: str) -> str | None:
    """Replace an opening "it", "they" or "he" by the name; None if it means something else."""
    if not _PRONOUN.match(clause):
        return clause
    pronoun, _, rest = clause.partition(" ")
    words = name.lower().split()
    unclear = not words or syntax.PREPOSITIONS.intersection(words) or len(words) > 5
    last = words[-1] if words else ""  # "Holm has", "Berg falsely"
    if unclear or words[0] in syntax.PRONOUNS or last in syntax.AUXILIARIES or last.endswith("ly"):
        return None
    if pronoun.lower() in ("he", "she") and not name[:1].isupper():
        return None
    fits = name.istitle() or is_plural(name) == (pronoun.lower() == "they")
    return f"{name} {rest}" if fits else None


def _fact_beside_opinion(text: str) -> list[str]:
    """“Nobody died, and the mayor should resign” states that nobody died."""
    if _CONDITION.search(text) or _QUOTE.search(text):
        return []
    for match in _BESIDE.finditer(text):
        left, right = text[: match.start()], text[match.end() :]
        has_subject = finite_verb(right) is not None and "which" not in match[0]
        if not has_subject:
            right = f"It {right}"
        kinds = (kind_of(left), kind_of(right))
        if set(kinds) != {StatementType.DESCRIPTIVE, StatementType.NORMATIVE}:
            continue
        is_left = kinds[0] is StatementType.DESCRIPTIVE
        if finite_verb(left) and finite_verb(right) and (has_subject or is_left):
            fact = left if is_left else _resolve_pronoun(right, left)
            return [_sentence(fact)] if fact else []
    return []


def _without_value(text: str) -> list[str]:
    """“The disgraceful tax raised three million” states that the tax did."""
    match = _VALUING.search(text)
    if match is None or finite_verb(text) is None:
        return []
    before, word = text[: match.start()], match[0].strip()
    last = before.split()[-1].lower()
    if not word.endswith("ly") and not (last in _BEFORE_NOUN or re.search(r"[’']s?$", last)):
        return []
    fact = re.sub(r"\b([Aa])n?$", r"\1", before.rstrip()) + " " + text[match.end() :]
    fact = re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", fact)
    return [fact] if kind_of(fact) is StatementType.DESCRIPTIVE else []


def _neither(text: str) -> list[str]:
    match = _NEITHER.fullmatch(text)
    verb = finite_verb(match["b"]) if match else None
    if match is None or verb is None:
        return []
    return [negation(f"{match['a']} {match['b'][verb.start :]}"), negation(match["b"])]


def _only(text: str) -> list[str]:
    match = _ONLY.fullmatch(text)
    return [_sentence(match["b"])] if match and finite_verb(match["b"]) else []


def _sentence(clause: str) -> str:
    return clause[:1].upper() + clause[1:]


def _but(text: str) -> list[str]:
    """“X claims that Y, but Z”: the second half is not what X claims."""
    a, _, b = text.partition(", but ")
    if not b and (match := _AND_IT.fullmatch(text)):
        a, b = match.groups()
    if not (finite_verb(a) and finite_verb(b)) or _CONDITION.search(text) or _QUOTE.search(text):
        return []
    said = ascription(a)
    of_content = said and said.content and re.match(r"(?:it|they)\b", b)
    second = _resolve_pronoun(b, said.content if said and of_content else a)
    return [a, second] if second else [a]


def _background(text: str) -> list[str]:
    """“X fell since Y opened” states that X fell; that Y opened is its background."""
    pairs = [(match["a"], match["b"]) for match in _TIMED.finditer(text)]
    if match := _TIMED_FIRST.fullmatch(text):
        words, inner = match[1].split(" "), syntax.PREPOSITIONS | syntax.DETERMINERS | {"of", "and"}
        comma = [n for n, word in enumerate(words, 1) if word.endswith(",")][:1]
        cuts = comma or [n for n in range(2, len(words)) if inner.isdisjoint(words[n - 1 : n + 1])]
        pairs = [(" ".join(words[n:]), " ".join(words[:n]).rstrip(",")) for n in cuts]
    for main, other in pairs:
        verb, past = finite_verb(main), finite_verb(other)
        if verb is None or past is None or _OTHERS.search(other, past.start):
            continue
        is_whole = main[verb.end :].strip(" .") and main[: verb.start].strip()
        is_past = past.form == "past" or past.word in ("was", "were", "had")
        is_cut = not match or "," in match[1] or other[past.end :].strip()
        if is_whole and is_past and is_cut and kind_of(main) is StatementType.DESCRIPTIVE:
            named = _resolve_pronoun(other, main)
            return [_sentence(clause) for clause in (main, named) if clause]
    return []


def _clauses(text: str) -> list[str]:
    """“X did this and did that” as two statements, unless a condition may govern both."""
    if _CONDITION.search(text):
        return []
    pieces = [clause.text for clause in clauses(text)]
    if len(pieces) < 2:
        return _halves(text) or shared(text)
    named = [_resolve_pronoun(piece, pieces[0]) if n else piece for n, piece in enumerate(pieces)]
    return [
        each or piece
        for each, piece in zip(named, pieces, strict=True)
        if each or not _PRONOUN.match(piece)
    ]


def _halves(text: str) -> list[str]:
    """Split at the first “and” or “but” between two that are clearly sentences."""
    if syntax.SUBORDINATORS.intersection(text.lower().split()) or _QUOTE.search(text):
        return []
    for match in _BARE_AND.finditer(text):
        left, right = text[: match.start()], text[match.end() :]
        verb = finite_verb(left)
        if verb is None or "," in left or _is_of_noun(left, verb):
            continue
        is_closed = _is_closed(left, verb)
        if _surely_a_sentence(right, after_closed=is_closed):
            return [left, right]
        if (
            is_closed
            and _refers(right, left[: verb.start])
            and (named := _resolve_pronoun(right, left))
        ):
            return [left, named]
    return []


def _is_of_noun(text: str, verb: Finite) -> bool:
    """Whether the verb may be a participle: "the mill built in 1802" and the tower were sold."""
    after = (text[verb.end :].split() or [""])[0].lower()
    return verb.word in syntax.TRANSITIVE and (not after or after in syntax.PREPOSITIONS)


def _refers(clause: str, name: str) -> bool:
    """Whether a clause certainly begins with a pronoun for this subject: not "it rained"."""
    verb, words = finite_verb(clause), name.lower().split()
    if not _PRONOUN.match(clause) or verb is None or not words or " to " in clause:
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


_Rule: TypeAlias = Callable[[str], list[str]]
_german_verdict, _german_reason = (partial(rule, language="de") for rule in (_verdict, _reason))
_RULES: dict[str, tuple[_Rule, ...]] = {
    "en": (
        *(_verdict, _valued_fact, _background, _reason, _fact_beside_opinion, _without_value),
        *(_neither, _only, _but, _clauses),
    ),
    "de": (_german_verdict, _german_reason, _german_halves),
}
# Rules whose parts together say what the text says.
_EXHAUSTIVE = (_neither, _but, _clauses, _reason, _german_reason, _german_halves)
_PIECES = re.compile(r"; |, (?:and|but) (?=it\b|they\b|he\b|she\b)")
