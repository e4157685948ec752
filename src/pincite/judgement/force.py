"""Compares the force of a claim with that of the source: stated, or only planned, alleged, past.

"She was accused of forging the deed" does not support "she forged the deed". A frame counts only if
it governs the claim's own predicate in the sentence that states it, the claim is not hedged itself,
and no other sentence of the page states it without such words. A figure or name that the page takes
back is not stated either.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter

from pincite.judgement import frames
from pincite.judgement.attribution import ascribes, subject_name
from pincite.judgement.contradictions import denied_in
from pincite.judgement.frames import (
    SHOWN,
    Frame,
    Kind,
    Sentence,
    allegations,
    find_correction,
    is_figure,
    roots,
    terms_in,
)
from pincite.text import languages, patterns, syntax
from pincite.text import words as wording
from pincite.text.changes import is_superlative
from pincite.text.clauses import clauses
from pincite.text.context import referents
from pincite.text.figures import figures
from pincite.text.finite import finite_verb, lemmas
from pincite.text.languages import common
from pincite.text.sentences import n_words
from pincite.text.words import WORD, stem
from pincite.types import OPINION, Claim, Passage, Span, Witness, WitnessKind

_LONGEST = 60  # words of a sentence; longer ones are lists
# Share of a clause's content words that its sentence (with the page's names) must have, and of the
# shared ones that the frame must govern if the clause's predicate is unknown.
_SHARE, _GOVERNED = 0.5, 0.75
_FEWER = 2  # words that another statement may lack: "She confessed that she stole it"
_HEDGED = frames.compile_words(frames.WORDS["hedged"])
_WAS = frozenset(("was", "were", "had", "did"))
_P = patterns(__file__, "force", prepositions="|".join(syntax.PREPOSITIONS))


def weaker(claim: Claim, passage: Passage) -> Witness | None:
    """Return where a passage only weakens a claim; None if it states it, or not even that.

    Outside English, a claim is only ever denied.
    """
    text, page, voice = claim.text, passage.page or passage.text, passage.voice
    language = common(text, passage.text)
    if language in languages.NEGATIONS:
        return denied_in(language, text, passage.text)
    if language != "en":
        return None
    is_ascribed = ascribes(text)
    if voice.is_opinion and not (is_ascribed or voice.is_in(text) or figures(text)):
        return Witness(WitnessKind.WEAKER, "", OPINION)
    if correction := find_correction(text, passage.text, page):
        return correction
    source = _Source(passage.text, passage.about, page, {} if is_ascribed else allegations(page))
    is_hedged = bool(_HEDGED.search(text))
    for span, clause in clauses(text):
        is_cited = claim.own is None or span.overlaps(claim.own)
        if is_cited and (limit := _limit(_clause(clause, is_hedged), source)):
            return limit
    return None


@dataclass(frozen=True, slots=True)
class _Source:
    passage: str
    about: str
    page: str
    openers: Mapping[str, str]  # sentences that go on with an allegation, and the words before


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause of the claim."""

    text: str
    roots: frozenset[str]
    own: frozenset[str]  # roots that are no names
    predicate: str  # the root of its verb, or of the noun behind "is"; "": unknown
    weakening: Sequence[Frame]


@dataclass(frozen=True, slots=True)
class _Limit:
    """The words by which a sentence weakens a clause."""

    words: str
    kind: Kind


def _limit(clause: _Clause, source: _Source) -> Witness | None:
    """Return what weakens a clause in the nearest sentence, unless the page states it as well."""
    nearest = max(_limits(clause, source), key=itemgetter(0), default=None)
    if nearest is None:
        return None
    n_shared, weakened, limit = nearest
    own = clause.own & roots(weakened.text)
    for sentence in frames.sentences(source.page):
        if _is_settled(sentence.text, clause, limit.kind, own):
            return None
        has_words = _has_words(sentence.text, clause, n_shared, own)
        if has_words and not _limit_in(sentence, clause, source):
            return None
    return Witness(WitnessKind.WEAKER, "", limit.words, weakened.span)


def _limits(clause: _Clause, source: _Source) -> Iterator[tuple[int, Sentence, _Limit]]:
    """Yield how many words of a clause a sentence shares that weakens it, the sentence, and how."""
    known = clause.roots & (roots(source.about) | (roots(source.page) - clause.own))
    subjects = {referent.sentence: referent.names[0] for referent in referents(source.passage)}
    for sentence in frames.sentences(source.passage):
        shared = clause.roots & roots(f"{subjects.get(sentence.span, '')} {sentence.text}")
        is_near = len(shared) >= min(2, len(clause.roots)) or any(map(is_figure, shared))
        has_most = len(shared | known) >= _SHARE * len(clause.roots)
        if is_near and has_most and (limit := _limit_in(sentence, clause, source)):
            yield len(shared), sentence, limit


def _limit_in(sentence: Sentence, clause: _Clause, source: _Source) -> _Limit | None:
    """Return what weakens the clause in a sentence, by frames or as a part of an allegation."""
    if n_words(sentence.text) > _LONGEST or sentence.text.endswith("?"):
        return None
    for frame in clause.weakening:
        if frame.reach == "follows":
            if match := frame.words.match(sentence.following):
                return _Limit(match[0][:SHOWN], frame.kind)
        elif frame.kind.may_weaken(sentence):
            for match in frame.words.finditer(sentence.text):
                if words := _weakening(clause, frame, match):
                    return _Limit(words, frame.kind)
    opener = source.openers.get(sentence.text)
    return _Limit(opener, frames.ALLEGATION) if opener else None


def _is_settled(sentence: str, clause: _Clause, kind: Kind, own: frozenset[str]) -> bool:
    """Whether a sentence says that what is open came true. `own`: as for `_has_words`."""
    if not (kind.settled and kind.settled.search(sentence)) or _is_of_other(clause, sentence):
        return False
    topic = (own if kind.settled_by_words else clause.roots) - {clause.predicate}
    find_pronoun = _P["pronoun"].match if kind.settled_by_words else _P["pronoun"].search
    return not topic or not topic.isdisjoint(roots(sentence)) or bool(find_pronoun(sentence))


def _has_words(sentence: str, clause: _Clause, most: int, own: frozenset[str]) -> bool:
    """Whether a sentence has as many words of a clause as the one that is weakened.

    `own`: the words of the clause in that sentence; `most`: how many with names.
    """
    shared = clause.roots & roots(sentence)
    if not own & shared >= {root for root in own if is_figure(root)}:
        return False
    if clause.predicate in clause.own & shared:
        least = len(own) - _FEWER
        if not _P["pronoun"].match(sentence):
            least = max(least, min(2, len(own)))  # not the predicate alone, of another subject
        has_enough = len(clause.own & shared) >= least
    else:
        has_enough = len(shared) >= most
    return has_enough and not _is_of_other(clause, sentence)


def _is_of_other(clause: _Clause, sentence: str) -> bool:
    """Whether a clause and a sentence have the names of two people as their subjects."""
    other = subject_name(sentence)
    return " " in other and bool(subject_name(clause.text)) and not roots(other) & clause.roots


@lru_cache(maxsize=1024)  # a claim meets many passages
def _clause(text: str, is_hedged: bool) -> _Clause:
    verb = _predicate(text)
    of_names = {root for name in wording.names(text) for root in roots(name)}
    # A claim that says itself "may" or "planned" is not weakened by these.
    own_kinds = {
        frame.kind.name
        for frame in frames.FRAMES
        if frame.kind.governs != "infinitive" and frame.words.search(text)
    }
    weakening = [
        frame
        for frame in frames.FRAMES
        if frame.kind.name not in own_kinds
        and (frame.kind.of_amount or not is_hedged)
        and _IS_CLAIM[frame.kind.claims](text)
        and (frame.kind.beside is None or frame.kind.beside.search(text))
    ]
    predicate = stem(verb[0]) if verb else ""
    return _Clause(text, roots(text), roots(text) - of_names, predicate, weakening)


def _predicate(text: str) -> re.Match[str] | None:
    """Return a clause's verb, or the noun behind its "is"."""
    if complement := _P["complement"].search(text):
        return WORD.match(text, complement.start("head"))
    finite = finite_verb(text)
    verb = WORD.match(text, finite.start) if finite and finite.form != "auxiliary" else None
    words = list(WORD.finditer(text))
    for before, word, after in zip(words, words[1:], [*words[2:], None], strict=False):
        behind = after[0] if after else ""
        if verb and word.start() >= verb.start():
            break  # "patients" may be one, too
        if syntax.may_be_finite(word[0], before[0], behind) and word[0] not in syntax.AUXILIARIES:
            return word
    return verb


def _is_present(text: str) -> bool:
    is_past = any(word in _WAS or syntax.may_be_past(word) for word in text.split())
    return bool(_P["now"].search(text)) or not is_past


def _has_superlative(text: str) -> bool:
    return any(
        word in ("most", "least") or (word.endswith(("est", "worst")) and is_superlative(word))
        for word in text.split()
    )


_IS_CLAIM: Mapping[frames.Claims, Callable[[str], bool]] = {
    "any": lambda text: True,
    "present": _is_present,
    "not future": lambda text: "will" not in text.split(),
    "superlative": _has_superlative,
    "unique": lambda text: _has_superlative(text) or bool(_P["unique"].search(text)),
}


_DONE = frozenset(map(stem, frames.WORDS["done"].split()))
_UNDONE_BY = frozenset(frames.WORDS["undone_by"].split())


@dataclass(frozen=True, slots=True)
class _Governed:
    """The terms of a clause that are in a frame's scope in a sentence, at least one, in order."""

    sentence: str
    scope: Span
    terms: Sequence[frames.Term]

    @property
    def roots(self) -> frozenset[str]:
        return frozenset(term.root for term in self.terms)

    @property
    def is_word(self) -> bool:
        return self.terms[0].span == self.scope

    def outside(self) -> frozenset[str]:
        """Return the roots before the first and behind the last of the terms."""
        start, end = self.terms[0].span.start, self.terms[-1].span.end
        return roots(f"{self.sentence[:start]} {self.sentence[end:]}")


def _weakening(clause: _Clause, frame: Frame, match: re.Match[str]) -> str:
    """Return the words of a frame, up to the predicate that it governs; "" if it governs none."""
    sentence, start = match.string, match.start()
    if frame.kind.governs == "infinitive":
        start = _start_of_undone(sentence[:start])
    if start < 0 or frame.not_after.search(sentence[:start]):
        return ""
    scope = frame.scope(match)
    terms = [term for term in terms_in(sentence, scope) if term.root in clause.roots]
    if not terms or not _governs(clause, frame.kind, _Governed(sentence, scope, terms)):
        return ""
    last = next((term for term in terms if term.root == clause.predicate), terms[0])
    start, end = min(start, scope.start), max(match.end(), last.span.end)
    if end - start > SHOWN:
        end = match.end()
    return sentence[start:end].strip()[-SHOWN:]


def _governs(clause: _Clause, kind: Kind, governed: _Governed) -> bool:
    """Whether what a frame governs is the clause, not only some of its words."""
    if kind.beside:
        verb = kind.beside.search(clause.text)
        objects = roots(clause.text[verb.end() :]) if verb else frozenset()
        return len(objects & governed.roots) > len(objects) / 2
    if kind.claims == "present" and not _is_no_longer(clause, governed):
        return False
    own = clause.own & roots(governed.sentence)
    free = (clause.own & governed.roots) - governed.outside()
    has_figure, has_predicate = any(map(is_figure, free)), clause.predicate in free
    match kind.governs:
        case "past":
            return (has_predicate or not clause.predicate) and _was_so(clause, governed)
        case "infinitive":
            return has_predicate
        case "value" if not has_figure:
            complement = _P["complement"].search(clause.text)  # "is the mayor"
            is_action = not complement or syntax.is_participle(complement["head"])
            return has_predicate and clause.predicate in own and is_action
    if clause.predicate in own:
        return has_predicate
    if governed.is_word:
        return bool(free)
    least = max(1, (_SHARE if has_figure else _GOVERNED) * len(own))
    return len(free) >= least and not any(map(is_figure, own - free))


def _is_no_longer(clause: _Clause, governed: _Governed) -> bool:
    """Whether half of a clause's words in a sentence are governed, and no verb there is present."""
    n_shared = len(clause.roots & roots(governed.sentence))
    is_half = governed.is_word or 2 * len(governed.roots) >= n_shared
    return is_half and not _P["now"].search(governed.scope.of(governed.sentence))


def _was_so(clause: _Clause, governed: _Governed) -> bool:
    """Whether what a claim says in the present is in the past tense: "chaired", "was the mayor"."""
    claimed = terms_in(clause.text, Span(0, len(clause.text)))
    verbs = [term.span.of(clause.text) for term in claimed if term.root == clause.predicate]
    if _P["perfect"].search(clause.text) or any(map(syntax.may_be_past, verbs)):
        return False
    sentence, scope = governed.sentence, governed.scope
    if not clause.predicate:
        return bool(_P["has"].search(clause.text) and _P["had"].search(scope.of(sentence)))
    places = [term.span for term in governed.terms if term.root == clause.predicate]
    return any(
        syntax.may_be_past(place.of(sentence))
        or _P["were"].search(sentence[scope.start : place.start])
        for place in places
    )


def _start_of_undone(before: str) -> int:
    """Return where the word that governs "to" starts; -1 if it says that it was done."""
    governor = _P["governor"].search(before)
    if governor is None:
        return -1
    word = governor["word"].lower()
    kinds = lemmas(word)
    is_third_person = word.endswith("s") and "NOUN" not in kinds
    may_be_verb = is_third_person or syntax.is_participle(word) or syntax.may_be_past(word)
    is_undone = may_be_verb and stem(word) not in _DONE and "VERB" in kinds
    return governor.start() if is_undone or word in _UNDONE_BY else -1
