"""Compares the force of a claim with that of its source: stated, or only planned, alleged, past.

"She was accused of forging the deed" does not support "she forged the deed". A sentence weakens a
clause if a frame (`frames`) governs the clause there, the claim is not hedged itself, and no other
sentence of the page states it without such words. An allegation goes on in the sentences that "it"
or "the group" says after it. A figure or name that the page takes back is not stated either.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from pincite.judgement import frames
from pincite.judgement.attribution import ascribes, subject_name
from pincite.judgement.contradictions import denied_in
from pincite.judgement.frames import SHOWN, Clause, Sentence, Weakening, is_figure, roots
from pincite.text import languages, patterns
from pincite.text import words as wording
from pincite.text.clauses import clauses
from pincite.text.context import referents
from pincite.text.figures import figures
from pincite.text.languages import common
from pincite.text.quantities import conflict, values
from pincite.text.sentences import n_words
from pincite.types import OPINION, Claim, Passage, Span, Witness, WitnessKind

_LONGEST = 60  # words of a sentence; longer ones are lists
_LEAST_KNOWN = 0.5  # share of a clause's words that its sentence, with the page's names, must have
_LEAST_SHARED = 2  # words of a clause that its sentence must have, unless a figure is among them
_MOST_LACKING = 2  # words that another statement may lack: "She confessed that she stole it"
_MOST_CORRECTIONS = 20  # of a page
_HEDGED = frames.compile_words(frames.WORDS["hedged"])
_P = patterns(__file__, "force")


def find_weakening(claim: Claim, passage: Passage) -> Witness | None:
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
    openers = {} if is_ascribed else allegations(page)
    source = _Source(passage.text, passage.about, page, openers)
    is_hedged = bool(_HEDGED.search(text))
    for span, clause_text in clauses(text):
        if claim.own is None or span.overlaps(claim.own):
            clause = frames.read_clause(clause_text, is_hedged)
            weakened = _nearest_weakened(clause, source)
            if weakened and not _is_stated_elsewhere(clause, weakened, source):
                words = weakened.weakening.words
                return Witness(WitnessKind.WEAKER, "", words, weakened.sentence.span)
    return None


@dataclass(frozen=True, slots=True)
class _Source:
    passage: str
    about: str
    page: str
    openers: Mapping[str, str]  # sentences that go on with an allegation, and the words before


@dataclass(frozen=True, slots=True)
class _Weakened:
    """A sentence that weakens a clause."""

    sentence: Sentence
    weakening: Weakening
    n_shared: int  # words of the clause that it has, with what its pronoun stands for
    shared: frozenset[str]  # the words themselves, without names


def _nearest_weakened(clause: Clause, source: _Source) -> _Weakened | None:
    """Return the first sentence of those with most of a clause's words that weaken it."""
    weakened = list[_Weakened]()
    names_of_page = roots(source.page) - clause.without_names
    known = clause.content & (roots(source.about) | names_of_page)
    subjects = {referent.sentence: referent.names[0] for referent in referents(source.passage)}
    for sentence in frames.sentences(source.passage):
        subject = subjects.get(sentence.span, "")
        shared = clause.content & roots(f"{subject} {sentence.text}")
        least_shared = min(_LEAST_SHARED, len(clause.content))
        is_near = len(shared) >= least_shared or any(map(is_figure, shared))
        has_most = len(shared | known) >= _LEAST_KNOWN * len(clause.content)
        if is_near and has_most and (weakening := _weakening_of(sentence, clause, source)):
            without_names = clause.without_names & roots(sentence.text)
            weakened.append(_Weakened(sentence, weakening, len(shared), without_names))
    return max(weakened, key=lambda one: one.n_shared, default=None)


def _weakening_of(sentence: Sentence, clause: Clause, source: _Source) -> Weakening | None:
    """Return what weakens a clause in a sentence: a frame, or an allegation that goes on."""
    if _is_question(sentence) or n_words(sentence.text) > _LONGEST:
        return None
    if weakening := frames.weakening_in(sentence, clause):
        return weakening
    opener = source.openers.get(sentence.text)
    return Weakening(opener, _ALLEGATION) if opener else None


def _is_question(sentence: Sentence) -> bool:
    return sentence.text.endswith("?")


# ── Does the page state the clause elsewhere? ────────────────────────────────────────────────────


def _is_stated_elsewhere(clause: Clause, weakened: _Weakened, source: _Source) -> bool:
    """Whether a sentence of the page states what another weakens, or says that it came true.

    A long one may, though what weakens a clause is not looked for there: contracts have few others.
    """
    for sentence in frames.sentences(source.page):
        if _is_question(sentence):
            continue
        if _is_settled(sentence.text, clause, weakened):
            return True
        is_stated = _has_as_much(sentence.text, clause, weakened)
        if is_stated and not _weakening_of(sentence, clause, source):
            return True
    return False


def _is_settled(sentence: str, clause: Clause, weakened: _Weakened) -> bool:
    """Whether a sentence says that what is open came true: "The bridge was opened in May"."""
    kind = weakened.weakening.kind
    if not (kind.settled and kind.settled.search(sentence)) or _is_of_other(clause, sentence):
        return False
    topic = (weakened.shared if kind.settled_by_words else clause.content) - {clause.predicate}
    find_pronoun = _P["pronoun"].match if kind.settled_by_words else _P["pronoun"].search
    return not topic or not topic.isdisjoint(roots(sentence)) or bool(find_pronoun(sentence))


def _has_as_much(sentence: str, clause: Clause, weakened: _Weakened) -> bool:
    """Whether a sentence has as many words of a clause as the one that is weakened."""
    shared = clause.content & roots(sentence)
    figures_of_weakened = {root for root in weakened.shared if is_figure(root)}
    if not figures_of_weakened <= shared or _is_of_other(clause, sentence):
        return False
    without_names = clause.without_names & shared
    if clause.predicate not in without_names:
        return len(shared) >= weakened.n_shared
    least = len(weakened.shared) - _MOST_LACKING
    if not _P["pronoun"].match(sentence):
        # Not the predicate alone, which may be of another subject.
        least = max(least, min(2, len(weakened.shared)))
    return len(without_names) >= least


def _is_of_other(clause: Clause, sentence: str) -> bool:
    """Whether a clause and a sentence have the names of two people as their subjects."""
    other = subject_name(sentence)
    return " " in other and bool(subject_name(clause.text)) and not roots(other) & clause.content


# ── Allegations that go on ───────────────────────────────────────────────────────────────────────

_ALLEGED = [
    frame
    for frame in frames.FRAMES
    if frame.kind.name == "allegation" and frame.reach != "precedes"
]
_ALLEGATION = _ALLEGED[0].kind
_SPEAKS, _GOES_ON, _DISPUTED = (
    re.compile(frames.with_classes(frames.WORDS[name]))
    for name in ("speaks", "goes_on", "disputed")
)


@lru_cache(maxsize=64)
def allegations(page: str) -> Mapping[str, str]:
    """Return the sentences in which an allegation goes on, with the words that began it.

    In the past perfect, they go on too. What anyone says is alleged where there is a dispute.
    """
    openers = dict[str, str]()
    for paragraph in page.split("\n"):
        is_disputed = bool(_DISPUTED.search(paragraph))
        opener, waiting = "", list[str]()
        for span in wording.sentences_of(paragraph):
            sentence = span.of(paragraph)
            speaks = bool(_SPEAKS.search(sentence))
            is_alleged = any(frame.words.search(sentence) for frame in _ALLEGED)
            if opener and _GOES_ON.search(sentence):
                openers |= dict.fromkeys([*waiting, sentence], opener)
                waiting = []
            elif is_alleged or (is_disputed and speaks):
                opener, waiting = sentence[:SHOWN], []
            elif speaks:
                opener, waiting = "", []
            elif opener:
                waiting.append(sentence)
    return openers


# ── What a page takes back: "An earlier version gave 1877 as the year." ───────────────────────────


@dataclass(frozen=True, slots=True)
class _Correction:
    """What a page takes back, the words that show it, and whether the page wrote that itself."""

    scope: Span
    shown: Span
    is_own: bool


def find_correction(claim: str, passage: str, page: str) -> Witness | None:
    """Return where a page corrects a claim's figure or name, if it has it nowhere else."""
    # "At first, 40 were counted": the claim says so itself.
    is_first = any(
        frame.words.search(claim) for frame in frames.CORRECTIONS if not frame.kind.is_own
    )
    for correction in _corrections(page):
        if (correction.is_own or not is_first) and _takes_back(correction, claim, page):
            words = correction.shown.of(page)
            at = passage.find(words)
            place = Span(at, at + len(words)) if at >= 0 else None
            return Witness(WitnessKind.WEAKER, "", words[:SHOWN], place)
    return None


def _takes_back(correction: _Correction, claim: str, page: str) -> bool:
    """Whether a correction has a figure, else a name, else all words, that the rest lacks."""
    scope = correction.scope
    withdrawn, rest = scope.of(page), f"{page[: scope.start]} {page[scope.end :]}"
    if claimed := _figure_keys(claim):
        claimed_and_withdrawn = claimed & _figure_keys(withdrawn)
        return not claimed_and_withdrawn <= _figure_keys(rest)
    names = {*wording.names(claim), *subject_name(claim).split()}
    if any(name in withdrawn and name not in rest for name in names):
        return True
    is_withdrawn, is_in_rest = roots(claim) <= roots(withdrawn), roots(claim) <= roots(rest)
    return correction.is_own and is_withdrawn and not is_in_rest


def _figure_keys(text: str) -> set[tuple[str, float]]:
    return {figure.key for figure in figures(text)}


@lru_cache(maxsize=64)  # each passage of a page is read with the page
def _corrections(page: str) -> list[_Correction]:
    corrections = list[_Correction]()
    for sentence in frames.sentences(page):
        at = sentence.span.start
        for frame in frames.CORRECTIONS:
            is_own, is_marked = frame.kind.is_own, frame.kind.may_weaken(sentence)
            for match in frame.words.finditer(sentence.text):
                scope = frame.scope(match)
                if is_marked or (is_own and _has_rival(scope, sentence)):
                    shown = Span(at + match.start(), sentence.span.end)
                    corrections.append(_Correction(scope.moved(at), shown, is_own))
    return corrections[:_MOST_CORRECTIONS]


def _has_rival(scope: Span, sentence: Sentence) -> bool:
    """Whether the clause behind a scope repeats it with another value: "It cost 41 million"."""
    stated, rest = scope.of(sentence.text), f"{sentence.text[scope.end :]} {sentence.following}"
    if rest.startswith(","):
        return False
    clause = _P["clause_end"].split(rest.strip(" ;,"))[0]
    words = {root for root in roots(clause) if not is_figure(root)}
    if 2 * len(words & roots(stated)) < max(1, len(words)):
        return False
    return any(conflict(value, other) for value in values(stated) for other in values(clause))
