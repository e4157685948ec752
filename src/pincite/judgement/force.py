"""Compares the force of a claim with that of the source: stated, or only planned, alleged, past.

"She was accused of forging the deed" does not support "she forged the deed". A frame counts only if
it governs the claim's own predicate in the sentence that states it, the claim is not hedged itself,
and no other sentence of the page states it without such words. A figure or name that the page takes
back is not stated either.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pincite.judgement import frames
from pincite.judgement.attribution import ascribes, subject_name
from pincite.judgement.frames import Frame, Kind
from pincite.text import languages, patterns, syntax
from pincite.text import words as wording
from pincite.text.changes import is_superlative
from pincite.text.clauses import clauses
from pincite.text.context import referents
from pincite.text.figures import figures
from pincite.text.finite import finite_verb, lemmas
from pincite.text.languages import common
from pincite.text.quantities import conflict, values
from pincite.text.sentences import n_words
from pincite.text.words import WORD, stem
from pincite.types import OPINION, Span, Voice, Witness, WitnessKind

_LONGEST = 60  # words of a sentence; longer ones are lists
_SHOWN = 60  # characters of the source in a reason
# Share of a clause's content words that its sentence (with the page's names) must have, and of the
# shared ones that the frame must govern if the clause's predicate is unknown.
_SHARE, _GOVERNED = 0.5, 0.75
_FEWER = 2  # words that another statement may lack: "She confessed that she stole it"
_COUNTS = frozenset(("number", "percent"))  # kinds of figures that are no dates
_HEDGED = frames.compiled(frames.WORDS["hedged"])
_WAS = frozenset(("was", "were", "had", "did"))
_MOST_CORRECTIONS = 20  # of a page
# Content words that a clause must share to deny a claim outside English, and its most words.
_LEAST, _MOST = 2, 20
_P = patterns(__file__, "force", prepositions="|".join(syntax.PREPOSITIONS))


def weaker(
    claim: str,
    passage: str,
    about: str = "",
    page: str = "",
    covered: Span | None = None,
    voice: Voice | None = None,
) -> Witness | None:
    """Return where a passage only weakens a claim; None if it states it, or not even that.

    Args:
        claim: the statement; outside English, it is only ever denied.
        passage: the text to check.
        about: title and date of the page.
        page: the whole page, which may state the claim elsewhere; "": not known.
        covered: the words of the claim that the passage is cited for; None: all.
        voice: who speaks on the page; None: not known.
    """
    page = page or passage
    language = common(claim, passage)
    if language in languages.NEGATIONS:
        return _denial(claim, passage, language)
    if language != "en":
        return None
    is_ascribed = ascribes(claim)
    if voice and voice.is_opinion and not (is_ascribed or voice.is_in(claim) or figures(claim)):
        return Witness(WitnessKind.WEAKER, "", OPINION)
    if correction := _correction_of(claim, passage, page):
        return correction
    source = _Source(passage, about, page, {} if is_ascribed else _reported(page))
    is_hedged = bool(_HEDGED.search(claim))
    for span, text in clauses(claim):
        is_covered = covered is None or span.overlaps(covered)
        if is_covered and (limit := _limit(_clause(text, is_hedged), source)):
            return limit
    return None


@dataclass(frozen=True, slots=True)
class _Source:
    passage: str
    about: str
    page: str
    reported: Mapping[str, str]  # sentences that go on with an allegation, and the words before


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause of the claim."""

    text: str
    roots: frozenset[str]
    own: frozenset[str]  # roots that are no names
    predicate: str  # the root of its verb, or of the noun behind "is"; "": unknown
    frames: Sequence[Frame]  # that would weaken it


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a text, and the words of the next one."""

    span: Span
    text: str
    following: str


@dataclass(frozen=True, slots=True)
class _Limit:
    """The words by which a sentence weakens a clause."""

    words: str
    kind: Kind


def _limit(clause: _Clause, source: _Source) -> Witness | None:
    """Return what weakens a clause in the nearest sentence, unless the page states it as well."""
    known = clause.roots & (_roots(source.about) | (_roots(source.page) - clause.own))
    subjects = {each.sentence: each.names[0] for each in referents(source.passage)}
    most, nearest = 0, None
    for sentence in _sentences(source.passage):
        subject = subjects.get(sentence.span, "")
        shared = clause.roots & _roots(f"{subject} {sentence.text}")
        is_near = len(shared) >= min(2, len(clause.roots)) or any(map(_is_figure, shared))
        if not is_near or len(shared | known) < _SHARE * len(clause.roots):
            continue
        limit = _limit_in(sentence, clause, source)
        if limit and (nearest is None or len(shared) > most):
            most, nearest = len(shared), (sentence, limit)
    if nearest is None:
        return None
    weakened, limit = nearest
    own = clause.own & _roots(weakened.text)
    for sentence in _sentences(source.page):
        if _is_settled(sentence.text, clause, limit.kind, own):
            return None
        if _has_words(sentence.text, clause, most, own) and not _limit_in(sentence, clause, source):
            return None
    return Witness(WitnessKind.WEAKER, "", limit.words, weakened.span)


def _sentences(text: str) -> list[_Sentence]:
    spans = wording.sentences_of(text)
    words = [span.of(text) for span in spans]
    following = [*words[1:], ""]
    return [_Sentence(*each) for each in zip(spans, words, following, strict=False)]


def _limit_in(sentence: _Sentence, clause: _Clause, source: _Source) -> _Limit | None:
    """Return what weakens the clause in a sentence, by frames or as a part of an allegation."""
    if n_words(sentence.text) > _LONGEST or sentence.text.endswith("?"):
        return None
    for frame in clause.frames:
        if frame.reach == "follows":
            if match := frame.words.match(sentence.following):
                return _Limit(match[0][:_SHOWN], frame.kind)
        elif frame.kind.may_weaken(sentence.text, sentence.following):
            for match in frame.words.finditer(sentence.text):
                if words := _weakening(clause, frame, match):
                    return _Limit(words, frame.kind)
    opener = source.reported.get(sentence.text)
    return _Limit(opener, _ALLEGED[0].kind) if opener else None


def _is_settled(sentence: str, clause: _Clause, kind: Kind, own: frozenset[str]) -> bool:
    """Whether a sentence says that what is open came true. `own`: as for `_has_words`."""
    if not (kind.settled and kind.settled.search(sentence)) or _is_of_other(clause, sentence):
        return False
    topic = (own if kind.settled_by_words else clause.roots) - {clause.predicate}
    find_pronoun = _P["pronoun"].match if kind.settled_by_words else _P["pronoun"].search
    return not topic or not topic.isdisjoint(_roots(sentence)) or bool(find_pronoun(sentence))


def _has_words(sentence: str, clause: _Clause, most: int, own: frozenset[str]) -> bool:
    """Whether a sentence has as many words of a clause as the one that is weakened.

    `own`: the words of the clause in that sentence; `most`: how many with names.
    """
    shared = clause.roots & _roots(sentence)
    if not own & shared >= {root for root in own if _is_figure(root)}:
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
    return " " in other and bool(subject_name(clause.text)) and not _roots(other) & clause.roots


@lru_cache(maxsize=1024)  # a claim meets many passages
def _clause(text: str, is_hedged: bool) -> _Clause:
    roots, verb = _roots(text), _predicate(text)
    names = {root for name in wording.names(text) for root in _roots(name)}
    # A claim that says itself "may" or "planned" is not weakened by these.
    said = {
        frame.kind.name
        for frame in frames.FRAMES
        if frame.kind.governs != "infinitive" and frame.words.search(text)
    }
    weakening = [
        frame
        for frame in frames.FRAMES
        if frame.kind.name not in said
        and (frame.kind.of_amount or not is_hedged)
        and _IS_CLAIM[frame.kind.claims](text)
        and (frame.kind.beside is None or frame.kind.beside.search(text))
    ]
    return _Clause(text, roots, roots - names, stem(verb[0]) if verb else "", weakening)


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
class _Term:
    """A word or a figure in a text."""

    root: str
    span: Span


@dataclass(frozen=True, slots=True)
class _Governed:
    """The terms of a clause that are in a frame's scope in a sentence, at least one, in order."""

    sentence: str
    scope: Span
    terms: Sequence[_Term]

    @property
    def roots(self) -> frozenset[str]:
        return frozenset(term.root for term in self.terms)

    @property
    def is_word(self) -> bool:
        return self.terms[0].span == self.scope

    def outside(self) -> frozenset[str]:
        """Return the roots before the first and behind the last of the terms."""
        start, end = self.terms[0].span.start, self.terms[-1].span.end
        return _roots(f"{self.sentence[:start]} {self.sentence[end:]}")


def _weakening(clause: _Clause, frame: Frame, match: re.Match[str]) -> str:
    """Return the words of a frame, up to the predicate that it governs; "" if it governs none."""
    sentence, start = match.string, match.start()
    if frame.kind.governs == "infinitive":
        start = _start_of_undone(sentence[:start])
    if start < 0 or frame.not_after.search(sentence[:start]):
        return ""
    scope = frame.scope(match)
    terms = [term for term in _terms_in(sentence, scope) if term.root in clause.roots]
    if not terms or not _governs(clause, frame.kind, _Governed(sentence, scope, terms)):
        return ""
    last = next((term for term in terms if term.root == clause.predicate), terms[0])
    start, end = min(start, scope.start), max(match.end(), last.span.end)
    if end - start > _SHOWN:
        end = match.end()
    return sentence[start:end].strip()[-_SHOWN:]


def _governs(clause: _Clause, kind: Kind, governed: _Governed) -> bool:
    """Whether what a frame governs is the clause, not only some of its words."""
    if kind.beside:
        verb = kind.beside.search(clause.text)
        objects = _roots(clause.text[verb.end() :]) if verb else frozenset()
        return len(objects & governed.roots) > len(objects) / 2
    stated = _roots(governed.sentence)
    if kind.claims == "present":
        half = governed.is_word or 2 * len(governed.roots) >= len(clause.roots & stated)
        if not half or _P["now"].search(governed.scope.of(governed.sentence)):
            return False
    own = clause.own & stated
    free = (clause.own & governed.roots) - governed.outside()
    if kind.governs == "past":
        return clause.predicate in ("", *free) and _was_so(clause, governed)
    if kind.governs == "infinitive":
        return clause.predicate in free
    has_figure = any(map(_is_figure, free))
    lacks_value = kind.governs == "value" and not has_figure
    if lacks_value and _is_said_to_be(clause.text):
        return False
    if clause.predicate in own:
        return clause.predicate in free
    if lacks_value:
        return False
    if governed.is_word:
        return bool(free)
    if any(map(_is_figure, own - free)):
        return False
    return len(free) >= max(1, (_SHARE if has_figure else _GOVERNED) * len(own))


def _is_said_to_be(text: str) -> bool:
    """Whether a clause says what something is, not what it does: "is the mayor"."""
    complement = _P["complement"].search(text)
    return bool(complement and not syntax.is_participle(complement["head"]))


def _was_so(clause: _Clause, governed: _Governed) -> bool:
    """Whether what a claim says in the present is in the past tense: "chaired", "was the mayor"."""
    claimed = _terms_in(clause.text, Span(0, len(clause.text)))
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


def _terms_in(text: str, scope: Span) -> list[_Term]:
    words = [_Term(stem(word[0]), Span(*word.span())) for word in WORD.finditer(text, *scope)]
    counts = [
        _Term(f"{figure.value:g}", figure.span)
        for figure in figures(text)
        if figure.kind in _COUNTS
        and scope.start <= figure.span.start
        and figure.span.end <= scope.end
    ]
    return sorted([*words, *counts], key=lambda term: term.span.start)


def _is_figure(root: str) -> bool:
    return root[0].isdigit()


@lru_cache(maxsize=4096)
def _roots(text: str) -> frozenset[str]:
    """Return the stems of the content words, and the figures that are no dates."""
    counts = (f"{figure.value:g}" for figure in figures(text) if figure.kind in _COUNTS)
    return frozenset([*wording.roots(text), *counts])


_ALLEGED = [
    frame
    for frame in frames.FRAMES
    if frame.kind.name == "allegation" and frame.reach != "precedes"
]
_SPEAKS, _GOES_ON, _DISPUTED = (
    re.compile(frames.with_classes(frames.WORDS[name]))
    for name in ("speaks", "goes_on", "disputed")
)


@lru_cache(maxsize=64)
def _reported(page: str) -> Mapping[str, str]:
    """Return the sentences from an allegation up to what "it" or "the group" says, and its words.

    In the past perfect, they go on too. What anyone says is alleged where there is a dispute.
    """
    reported = dict[str, str]()
    for paragraph in page.split("\n"):
        is_disputed = bool(_DISPUTED.search(paragraph))
        opener, waiting = "", list[str]()
        for span in wording.sentences_of(paragraph):
            sentence = span.of(paragraph)
            speaks = bool(_SPEAKS.search(sentence))
            is_alleged = any(frame.words.search(sentence) for frame in _ALLEGED)
            if opener and _GOES_ON.search(sentence):
                reported |= dict.fromkeys([*waiting, sentence], opener)
                waiting = []
            elif is_alleged or (is_disputed and speaks):
                opener, waiting = sentence[:_SHOWN], []
            elif speaks:
                opener, waiting = "", []
            elif opener:
                waiting.append(sentence)
    return reported


@dataclass(frozen=True, slots=True)
class _Correction:
    """What a page takes back, the words that show it, and whether the page wrote that itself."""

    scope: Span
    shown: Span
    is_own: bool


def _correction_of(claim: str, passage: str, page: str) -> Witness | None:
    """Return where the page corrects the claim's figure or name, if it has it nowhere else."""
    names = set() if figures(claim) else {*wording.names(claim), *subject_name(claim).split()}
    # "At first, 40 were counted": the claim says so itself.
    is_first = any(
        frame.words.search(claim) for frame in frames.CORRECTIONS if not frame.kind.is_own
    )
    for correction in _corrections(page):
        if (correction.is_own or not is_first) and _takes_back(correction, claim, names, page):
            words = correction.shown.of(page)
            at = passage.find(words)
            place = Span(at, at + len(words)) if at >= 0 else None
            return Witness(WitnessKind.WEAKER, "", words[:_SHOWN], place)
    return None


def _takes_back(correction: _Correction, claim: str, names: set[str], page: str) -> bool:
    """Whether a correction has a figure, else a name, else all words, that the rest lacks."""
    scope, roots = correction.scope, _roots(claim)
    corrected, rest = scope.of(page), f"{page[: scope.start]} {page[scope.end :]}"
    if wanted := _keys(claim):
        return not (wanted & _keys(corrected)) <= _keys(rest)
    if any(name in corrected and name not in rest for name in names):
        return True
    return correction.is_own and roots <= _roots(corrected) and not roots <= _roots(rest)


def _keys(text: str) -> set[tuple[str, float]]:
    return {figure.key for figure in figures(text)}


@lru_cache(maxsize=64)  # each passage of a page is read with the page
def _corrections(page: str) -> list[_Correction]:
    corrections = list[_Correction]()
    for sentence in _sentences(page):
        for frame in frames.CORRECTIONS:
            is_said = frame.kind.may_weaken(sentence.text, sentence.following)
            for match in frame.words.finditer(sentence.text):
                scope = frame.scope(match)
                if is_said or (frame.kind.is_own and _has_rival(scope, sentence)):
                    at = sentence.span.start
                    shown = Span(at + match.start(), sentence.span.end)
                    corrections.append(_Correction(scope.moved(at), shown, frame.kind.is_own))
    return corrections[:_MOST_CORRECTIONS]


def _has_rival(scope: Span, sentence: _Sentence) -> bool:
    """Whether the clause behind a scope repeats it with another value: "It cost 41 million"."""
    stated, rest = scope.of(sentence.text), f"{sentence.text[scope.end :]} {sentence.following}"
    if rest.startswith(","):
        return False
    clause = _P["clause_end"].split(rest.strip(" ;,"))[0]
    words = {root for root in _roots(clause) if not _is_figure(root)}
    if 2 * len(words & _roots(stated)) < max(1, len(words)):
        return False
    return any(conflict(value, other) for value in values(stated) for other in values(clause))


def _denial(claim: str, passage: str, language: str) -> Witness | None:
    """Return the clause outside English that has a negation and most of the claim's words.

    It is found for none of the 801 supported claims of `multilingual` (train and dev) that are in
    one language with their passages.
    """
    wanted = _terms(claim, language)
    if len(wanted) < _LEAST or wording.denies(claim, language):
        return None
    least = max(_LEAST, _SHARE * len(wanted))
    most_stated, most_denied, denial = 0, 0, None
    for span in wording.sentences_of(passage):
        for clause in map(str.strip, _P["comma"].split(span.of(passage))):
            shared = len(wanted & _terms(clause, language))
            if not wording.denies(clause, language):
                most_stated = max(most_stated, shared)
            elif shared >= least and shared > most_denied and n_words(clause) <= _MOST:
                most_denied, denial = shared, Witness(WitnessKind.WEAKER, "", clause, span)
    return denial if most_denied > most_stated else None


def _terms(text: str, language: str) -> frozenset[str]:
    terms = wording.content_terms(text, language)
    return frozenset(term[: wording.STEM] for term in terms) - languages.NEGATIONS[language]
