"""Rules that find where a source contradicts a claim, in words that a reader can check.

A missing detail is not a contradiction. A passage contradicts a claim only if one of its sentences
says the same about the same thing and differs in one place: another value of the same kind
("source: 1889 · claim: 1886"), a negation of the same predicate, a word of the opposite meaning,
another name in the same place. `research/refutation.md` has the rules' precision.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from pincite.judgement import decide
from pincite.judgement.comparable import (
    NEGATION,
    ClaimClause,
    Denial,
    SourceText,
    dates_in,
    denials,
    has_other_baseline,
    is_of_same_time,
    is_on_topic,
)
from pincite.judgement.degrees import find_other_change, find_other_rank
from pincite.judgement.other_values import find_other_value
from pincite.text import antonyms, names, patterns, quantities, syntax
from pincite.text.clauses import clauses
from pincite.text.finite import finite_verb
from pincite.text.languages import NEGATIONS, common
from pincite.text.quantities import values as values_of
from pincite.text.sentences import n_words
from pincite.text.words import STEM, WORD, content_terms, denies, is_negated, roots, sentences_of
from pincite.types import Claim, Evidence, Passage, Span, Witness, WitnessKind

_LEAST_REST = 0.8  # the share of the clause's other words that the sentence must have
_MOST_UNSAID = 0.2  # the share of a claim that a text may lack beside an opposite word, read alone
_MOST_DENIED = 0.6  # the share of a denial's words that must be stated, besides the first
_QUOTED_WORDS = 3  # the most that are quoted of what is denied
_QUOTED_CHARS = 60  # beyond, only the first word is
# Outside English:
_LEAST_DENIED = 2  # content words of the claim that a clause must share to deny it
_SHARE_DENIED = 0.5  # the share of the claim's content words
_LONGEST_DENIAL = 20  # the most words of the clause
_ONCE_CHARS = 30  # before a preposition, in which a verb says that its name can only be one
_TAKES_OBJECT = frozenset({"gained", "lost", "won"})  # "lost the election" beside "gained 4 seats"
_P = patterns(__file__, "contradictions")


def contradiction(claim: Claim, passage: Passage, page: str = "") -> Witness | None:
    """Return the first contradiction of the claim in the passage; None if there is none.

    In other languages than English only values are compared, and nothing across languages. `page`:
    all of it, which may state the claim elsewhere; "": the passage alone counts.
    """
    return next((witness for _, witness in contradictions(claim, passage, page)), None)


def contradictions(claim: Claim, passage: Passage, page: str = "") -> Iterator[tuple[str, Witness]]:
    """Yield each rule's name with what it finds; the arguments are those of `contradiction`."""
    language = common(claim.text, passage.text, claim.language)
    if language != "en" and (language not in NEGATIONS or is_negated(claim.text)):
        return
    source = SourceText.of(passage, page, language)
    covered = claim.own.of(claim.text) if claim.own else claim.text
    for text in _clauses(claim.text):
        clause = ClaimClause(text, claim.text, covered)
        for rule in _rules_for(text, language):
            witness = rule.find(clause, source)
            if witness and (claim.own is None or _tokens(witness.claim) <= _tokens(covered)):
                yield rule.name, witness


def discard_rebutted(claim: Claim, evidence: Evidence, page: str) -> Evidence:
    """Drop a contradiction that the whole page rebuts: it has the claim's value or name."""
    seen = evidence.contradiction
    if seen is None or seen == contradiction(claim, evidence.passage, page):
        return evidence
    return decide.without(evidence, seen.kind)


def denied_in(language: str, claim: str, passage: str) -> Witness | None:
    """Return the clause outside English that has a negation and most of the claim's words.

    It is found for none of the 801 supported claims of `multilingual` (train and dev) that are in
    one language with their passages.
    """
    wanted = _terms(claim, language)
    if len(wanted) < _LEAST_DENIED or denies(claim, language):
        return None
    least = max(_LEAST_DENIED, _SHARE_DENIED * len(wanted))
    most_stated, most_denied, denial = 0, 0, None
    for span in sentences_of(passage):
        for clause in map(str.strip, _P["comma"].split(span.of(passage))):
            shared = len(wanted & _terms(clause, language))
            if not denies(clause, language):
                most_stated = max(most_stated, shared)
            elif shared >= least and shared > most_denied and n_words(clause) <= _LONGEST_DENIAL:
                most_denied, denial = shared, Witness(WitnessKind.WEAKER, "", clause, span)
    return denial if most_denied > most_stated else None


def _terms(text: str, language: str) -> frozenset[str]:
    stems = frozenset(term[:STEM] for term in content_terms(text, language))
    return stems - NEGATIONS[language]


@lru_cache(maxsize=256)
def _clauses(claim: str) -> list[str]:
    texts = [clause.text for clause in clauses(claim)]
    return texts if len(texts) > 1 else [claim]


def _tokens(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


class _Contrast(NamedTuple):
    """What a claim and a sentence of its source say instead of each other."""

    claimed: str
    stated: str


def _find_negation(clause: ClaimClause, source: SourceText) -> Witness | None:
    """Find a sentence that denies what the clause states, or states what it denies."""
    claim_denies = bool(denials(clause.text))
    for span, sentence in source.sentences:
        is_contrary = claim_denies != bool(denials(sentence))
        if not (is_contrary and _may_be_denied(clause.text, sentence, source)):
            continue
        rest = clause.text
        if claim_denies:
            contrast = _stated_though_denied(rest, sentence)
        else:
            contrast = _denied_though_stated(rest, sentence)
            # Of "it fell because …", a source may deny the fall without the reason.
            rest = rest if _P["reason"].search(sentence) else _P["reason"].sub("", rest)
        if contrast and is_on_topic(NEGATION.sub(" ", rest), sentence, source, _LEAST_REST):
            return Witness(WitnessKind.DENIAL, contrast.claimed, contrast.stated, span)
    return None


def _stated_though_denied(clause: str, sentence: str) -> _Contrast | None:
    denial = _denial_of(sentence, denials(clause))
    return _Contrast(denial.words, _words_denied(denial, sentence)) if denial else None


def _denied_though_stated(clause: str, sentence: str) -> _Contrast | None:
    denial = _denial_of(clause, denials(sentence))
    if denial is None or _is_of_another(denial, sentence, clause):
        return None
    return _Contrast(_words_denied(denial, clause), denial.words)


def _may_be_denied(clause: str, sentence: str, source: SourceText) -> bool:
    """Whether a negation in one of two texts may deny the other whole."""
    if any(_P["half_denied"].search(text) for text in (clause, sentence)):
        return False
    if len({bool(_P["compared"].search(text)) for text in (clause, sentence)}) > 1:
        return False
    # "Not in 1886" allows "in 1889".
    unstated = quantities.unstated_values(clause, f"{source.about}\n{sentence}")
    return not unstated and _states_what_is_denied(clause, sentence)


def _states_what_is_denied(clause: str, sentence: str) -> bool:
    """Whether a sentence's subject or verb is in what a clause denies of its subject.

    >>> _states_what_is_denied("No home in Varde was flooded.", "The homes were flooded.")
    True
    >>> _states_what_is_denied("No home in Varde was flooded.", "The river rose.")
    False
    """
    negation, verb, stated = NEGATION.search(clause), finite_verb(clause), finite_verb(sentence)
    if not (negation and verb and stated):
        return True
    if negation.start() > verb.start or sentence.startswith("There "):
        return True
    subject = _without_phrases(clause[negation.end() : verb.start])  # "home"
    # "were flooded": an auxiliary alone says nothing.
    participle = WORD.search(sentence, stated.end) if stated.form == "auxiliary" else None
    opening = sentence[: participle.end() if participle else stated.end]
    denied = {*roots(subject), *roots(clause[verb.start :])}
    return not denied.isdisjoint(roots(opening))


def _without_phrases(noun: str) -> str:
    """Cut what follows a preposition: "home in Varde" is a home."""
    starts = (word.start() for word in WORD.finditer(noun) if word[0] in syntax.PREPOSITIONS)
    return noun[: next(starts, None)]


def _denial_of(stated: str, candidates: Sequence[Denial]) -> Denial | None:
    """Return the first denial whose first word a text states, with most of the rest."""
    known = set(roots(stated))
    for denial in candidates:
        n_stated = sum(root in known for root in denial.roots)
        if denial.roots[0] in known and n_stated >= _MOST_DENIED * len(denial.roots):
            return denial
    return None


def _words_denied(denial: Denial, text: str) -> str:
    """Return the words of a text from the first that a denial denies to the third."""
    denied = [
        word for word in WORD.finditer(text) if not set(denial.roots).isdisjoint(roots(word[0]))
    ]
    quoted = text[denied[0].start() : denied[:_QUOTED_WORDS][-1].end()]
    return quoted if len(quoted) <= _QUOTED_CHARS else denied[0][0]


def _is_of_another(denial: Denial, sentence: str, clause: str) -> bool:
    """Whether a verb is denied of a subject that the clause does not name.

    "Distance to a road was not related to asthma" does not deny that "dust is related to asthma".
    """
    if not _P["denied_verb"].match(denial.words):
        return False  # "no association between …": the subject follows
    subject = set(roots(sentence[: sentence.find(denial.words)]))
    return bool(subject) and subject.isdisjoint(roots(clause))


def _find_opposite(clause: ClaimClause, source: SourceText) -> Witness | None:
    """Find a sentence that says the same with a word of the opposite meaning."""
    text = clause.text
    for span, sentence in source.sentences:
        comparison = antonyms.compare(text, sentence)
        if comparison is None or comparison.agrees:
            continue
        word, opposite = comparison.word, comparison.other
        may_both_be_true = antonyms.are_events(word) and not dates_in(text)  # opened, then closed
        if may_both_be_true or not _is_of_same_thing(text, sentence, opposite, source):
            continue
        rest = re.sub(rf"\b{re.escape(word)}\b", " ", text, flags=re.IGNORECASE)
        if is_on_topic(rest, sentence, source, _LEAST_REST):
            return Witness(WitnessKind.VALUE, word, opposite, span)
    return None


def _is_of_same_thing(text: str, sentence: str, opposite: str, source: SourceText) -> bool:
    """Whether an opposite is said of what the clause is about, then, and not denied."""
    # "Port Beach exceeds the limit" is not denied of another beach.
    if names.missing(text, source.with_context(sentence)):
        return False
    if bool(denials(text)) != bool(denials(sentence)):
        return False
    if opposite in _TAKES_OBJECT:
        after = re.split(rf"(?i)\b{re.escape(opposite)}\b", sentence)[-1]
        if not set(roots(after)[:1]) <= set(roots(text)):
            return False
    return is_of_same_time(text, sentence, source)


def contrary_by_word(claim: str, text: str, about: str) -> Witness | None:
    """Return a word of the claim whose opposite a text has, read alone, beside nearly all else.

    The text has the claim's subject in full. Both compare, or the opposite reverses a sentence.

    >>> contrary_by_word("Sales of tin rose in May.", "In May, sales of tin fell.", "").source
    'fell'
    """
    own, verb = set(roots(claim)), finite_verb(claim)
    known = set(roots(f"{about}\n{text}"))
    subject = set(roots(claim[: verb.start])) if verb else own
    if not subject <= known or has_other_baseline(claim, text):
        return None
    compares = " than" in claim and " than" in text
    for word, opposite in antonyms.contrasts(claim, text):
        unsaid = own - known - set(roots(word))
        reverses = compares or antonyms.reverses_sentence(word)
        if reverses and not is_negated(claim) and len(unsaid) <= _MOST_UNSAID * len(own):
            return Witness(WitnessKind.VALUE, word, opposite, Span(0, len(text)))
    return None


def _find_other_name(clause: ClaimClause, source: SourceText) -> Witness | None:
    """Find another name after the same preposition, if the page lacks the clause's."""
    missing = set(names.missing(clause.text, source.page))
    slots = [
        (slot, name)
        for slot, name in (_exclusive_slots(clause.text) if missing else ())
        if not missing.isdisjoint(WORD.findall(name))
    ]
    if len(slots) != 1:
        return None
    slot, name = slots[0]
    rest = clause.text.replace(name, " ")
    for span, sentence in source.sentences:
        others = [
            other
            for of_other, other in _exclusive_slots(sentence)
            if of_other == slot and not names.is_in(other, clause.claim)
        ]
        if len(others) == 1 and is_on_topic(rest, sentence, source, _LEAST_REST):
            return Witness(WitnessKind.VALUE, name, others[0], span)
    return None


def _exclusive_slots(text: str) -> Iterator[tuple[str, str]]:
    """Yield prepositions with their names, where one name excludes another."""
    for match in _P["slotted"].finditer(text):
        slot, end = match["slot"], match.end("slot")
        is_exclusive = slot == "by" or _P["once"].search(text, max(0, end - _ONCE_CHARS), end)
        if is_exclusive and not values_of(match["name"]):
            yield slot, match["name"].rstrip(".,'’")


class _Rule(NamedTuple):
    name: str
    find: Callable[[ClaimClause, SourceText], Witness | None]


# In the order in which they are tried.
_VALUE = _Rule("value", find_other_value)
_OF_EITHER = (
    _Rule("rank", find_other_rank),
    _Rule("negation", _find_negation),
    _Rule("contrary", _find_opposite),
)
_RULES = (_VALUE, _Rule("change", find_other_change), *_OF_EITHER, _Rule("name", _find_other_name))


def _rules_for(clause: str, language: str) -> Sequence[_Rule]:
    if language != "en":
        return (_VALUE,)
    # A negated claim is not contradicted by naming someone else, nor by another value.
    return _OF_EITHER if denials(clause) else _RULES
