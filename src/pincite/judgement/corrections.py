"""Where a page takes back a figure or a name: "An earlier version gave 1877 as the year."."""

from dataclasses import dataclass
from functools import lru_cache

from pincite.judgement.attribution import subject_name
from pincite.judgement.frames import CORRECTIONS, SHOWN, Sentence, is_figure, roots, sentences
from pincite.text import patterns
from pincite.text import words as wording
from pincite.text.figures import figures
from pincite.text.quantities import conflict, values
from pincite.types import Span, Witness, WitnessKind

_MOST = 20  # of a page
_P = patterns(__file__, "corrections")


@dataclass(frozen=True, slots=True)
class _Correction:
    """What a page takes back, the words that show it, and whether the page wrote that itself."""

    scope: Span
    shown: Span
    is_own: bool


def find_correction(claim: str, passage: str, page: str) -> Witness | None:
    """Return where a page corrects a claim's figure or name, if it has it nowhere else."""
    # "At first, 40 were counted": the claim says so itself.
    is_first = any(frame.words.search(claim) for frame in CORRECTIONS if not frame.kind.is_own)
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
    if wanted := _keys(claim):
        return not (wanted & _keys(withdrawn)) <= _keys(rest)
    names = {*wording.names(claim), *subject_name(claim).split()}
    if any(name in withdrawn and name not in rest for name in names):
        return True
    has_all = [roots(claim) <= roots(text) for text in (withdrawn, rest)]
    return correction.is_own and has_all == [True, False]


def _keys(text: str) -> set[tuple[str, float]]:
    return {figure.key for figure in figures(text)}


@lru_cache(maxsize=64)  # each passage of a page is read with the page
def _corrections(page: str) -> list[_Correction]:
    corrections = list[_Correction]()
    for sentence in sentences(page):
        at = sentence.span.start
        for frame in CORRECTIONS:
            is_own, is_marked = frame.kind.is_own, frame.kind.may_weaken(sentence)
            for match in frame.words.finditer(sentence.text):
                scope = frame.scope(match)
                if is_marked or (is_own and _has_rival(scope, sentence)):
                    shown = Span(at + match.start(), sentence.span.end)
                    corrections.append(_Correction(scope.moved(at), shown, is_own))
    return corrections[:_MOST]


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
