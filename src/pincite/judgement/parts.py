"""The parts of a claim that can be checked one by one: clauses by the verifier, atoms by rule.

An atom is a figure or date, a name, or a quotation; what counts is whether any passage of the
source states it. A model may overlook one wrong year in a long sentence, a rule does not.
"""

import re
from collections.abc import Iterable, Sequence

from pincite.text import names, quantities, words
from pincite.text.quantities import values as values_of
from pincite.text.syntax import Clause
from pincite.types import Evidence, Part, PartKind, Passage, Span

QUOTED_WORDS = 3  # fewer in quotation marks are a title or a term, not a quotation
_ITEM = 2  # words
BEST_PASSAGES = 3  # of the whole claim's, in which its clauses are judged
_QUOTATION = re.compile(r"“([^“”]*)”|\"([^\"]*)\"|«([^«»]*)»")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_NOT_WORDS = re.compile(r"[\W_]+")
_LEFT_OUT = re.compile(r"\[[^\[\]]*\]|\.{3}|…")  # "[sic]", "[…]", "...": not the source's words
_BETWEEN: dict[PartKind, re.Pattern[str]] = {  # what may stand between neighbours
    "figure": re.compile(r",? |[-–/]| of "),
    "name": re.compile(r"[ -]"),
    "quotation": re.compile(r"(?!)"),
}
# The splitter of sentences takes seconds for hostile lines much longer than any claim.
_MAX_CHARS_FOR_NAMES = 5_000


def atoms(claim: str) -> list[Part]:
    """Figures, name words and quotations of the claim, in order, each not yet supported.

    >>> [(a.kind, a.words) for a in atoms("In 1911 the engineer Holm said “it will never fall”.")]
    [('figure', '1911'), ('name', 'Holm'), ('quotation', 'it will never fall')]
    """
    found = [_atom("figure", value.span, claim) for value in values_of(claim) if not value.weak]
    known = set(_names(claim))
    found += [_atom("name", span, claim) for word, span in _words(claim) if word in known]
    found += [_atom("quotation", span, claim) for span in _quotations(claim)]
    return sorted(found, key=lambda atom: (atom.span, atom.kind))


def missing_atoms(claim: str, passages: Sequence[Passage]) -> list[Part]:
    """The atoms that no passage states, in order; neighbours of one kind as one part.

    A name and a figure are stated in any of their forms, a quotation word for word but for case,
    white space and punctuation. A name within a missing quotation is not told again. No
    passages: nothing was looked at, so nothing is called missing.
    """
    if not passages:
        return []
    lacking = _unstated(claim, [f"{passage.about}\n{passage.text}" for passage in passages])
    lacking += [
        atom
        for atom in atoms(claim)
        if atom.kind == "quotation" and not any(_stands_in(atom.words, p.text) for p in passages)
    ]
    found = [
        _atom(kind, span, claim)
        for kind, between in _BETWEEN.items()
        for span in _joined([atom.span for atom in lacking if atom.kind == kind], claim, between)
    ]
    quoted = [atom.span for atom in found if atom.kind == "quotation"]
    told_once = [
        atom
        for atom in found
        if atom.kind != "name" or not any(within(atom.span, span) for span in quoted)
    ]
    return sorted(told_once, key=lambda atom: (atom.span, atom.kind))


def stands(part: Part) -> bool:
    """Whether a clause of one or two words, an item of a list, stands in what was read for it.

    A network that does not find "he taught in Gram" supported says nothing on "Gram".
    """
    if part.evidence is None or len(part.words.split()) > _ITEM:
        return False
    known = words.content_words(part.evidence.passage.text)
    return bool(said := words.content_words(part.words)) and set(said) <= set(known)


def within(inner: Span, outer: Span) -> bool:
    """Whether a span lies in another one."""
    return outer.start <= inner.start and inner.end <= outer.end


def _unstated(claim: str, sources: Sequence[str]) -> list[Part]:
    source = "\n".join(dict.fromkeys(sources))
    absent = {value.span for value in quantities.unstated(claim, source)}
    unnamed = set(names.missing(claim, source)) if len(claim) <= _MAX_CHARS_FOR_NAMES else set()
    return [
        atom
        for atom in atoms(claim)
        if (atom.kind == "figure" and atom.span in absent)
        or (atom.kind == "name" and atom.words in unnamed)
    ]


def judged(
    claim: str, clauses: Sequence[Clause], best: Sequence[Evidence], threshold: float
) -> list[Part]:
    """Each clause as a part, with the best evidence for it; supported from `threshold` on."""
    return [
        Part(
            kind="clause",
            span=clause.span,
            words=clause.span.of(claim),
            supported=evidence.prob_supported >= threshold,
            evidence=evidence,
            text=clause.text,
        )
        for clause, evidence in zip(clauses, best, strict=True)
    ]


def borne_out_by_any(sources: Iterable[Sequence[Part]]) -> list[Part]:
    """A group's clauses: for each the part of the source that supports it best.

    Args:
        sources: for each source its clauses, in the same order; sources without any are left out.
    """
    return [
        max(same, key=lambda part: part.evidence.score if part.evidence else float("-inf"))
        for same in zip(*(clauses for clauses in sources if clauses), strict=True)
    ]


def _names(claim: str) -> list[str]:
    return words.names(claim) if len(claim) <= _MAX_CHARS_FOR_NAMES else []


def _atom(kind: PartKind, span: Span, claim: str) -> Part:
    return Part(kind, span, span.of(claim), supported=False)


def _words(text: str) -> list[tuple[str, Span]]:
    found = ((m[0].removesuffix("'s").removesuffix("’s"), m.start()) for m in _WORD.finditer(text))
    return [(word, Span(start, start + len(word))) for word, start in found]


def _quotations(text: str) -> list[Span]:
    found = (Span(*match.span(match.lastindex or 0)) for match in _QUOTATION.finditer(text))
    return [span for span in found if len(span.of(text).split()) >= QUOTED_WORDS]


def _stands_in(quotation: str, text: str) -> bool:
    whole = f" {_plain(text)} "
    return all(
        f" {_plain(piece)} " in whole for piece in _LEFT_OUT.split(quotation) if piece.strip()
    )


def _plain(text: str) -> str:
    return _NOT_WORDS.sub(" ", text.casefold().replace("’", "").replace("'", "")).strip()


def _joined(spans: Sequence[Span], text: str, between: re.Pattern[str]) -> list[Span]:
    joined: list[Span] = []
    for span in spans:
        if joined and between.fullmatch(text, joined[-1].end, span.start):
            joined[-1] = Span(joined[-1].start, span.end)
        else:
            joined.append(span)
    return joined
