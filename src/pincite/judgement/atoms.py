"""Atoms of a claim, its figures, names and quotations, and which of them a source states."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pincite.text import names, patterns, tables
from pincite.text.languages import common
from pincite.text.quantities import values
from pincite.text.sentences import merge_spans
from pincite.text.words import WORD, sentences_of
from pincite.text.words import names as names_in
from pincite.types import Claim, Evidence, Part, PartKind, Passage, Span

QUOTED_WORDS = 3  # a quotation with fewer words is a title or a term
# The sentence splitter takes seconds on hostile lines much longer than any claim.
_MAX_CHARS_FOR_NAMES = 5_000
_P = patterns(__file__, "atoms")


def atoms(claim: str) -> list[Part]:
    """Return the claim's figures, name words and quotations, in order, as not yet supported."""
    parts = [_atom("figure", value.span, claim) for value in values(claim) if not value.weak]
    known = set(names_in(claim)) if len(claim) <= _MAX_CHARS_FOR_NAMES else set()
    for match in WORD.finditer(claim):
        word = match[0].removesuffix("'s").removesuffix("’s")
        if word in known:
            parts.append(_atom("name", Span(match.start(), match.start() + len(word)), claim))
    for match in _P["quotation"].finditer(claim):
        span = Span(*match.span(match.lastindex or 0))
        if len(span.of(claim).split()) >= QUOTED_WORDS:
            parts.append(_atom("quotation", span, claim))
    return _sorted_parts(parts)


def unstated_atoms(claim: str, passages: Sequence[Passage], language: str = "") -> list[Part]:
    """Return the atoms that no passage states, in order, with like neighbours merged.

    Names and figures match in any of their forms, quotations word for word except for case, white
    space and punctuation, in one language only. A name within such a quotation is not repeated.
    Empty without passages. `language`: the claim's, if its words do not tell.
    """
    if not passages:
        return []
    source = "\n".join(dict.fromkeys(f"{passage.about}\n{passage.text}" for passage in passages))
    figures = {value.span for value in tables.unstated_values(claim, source, (language, None))}
    is_short = len(claim) <= _MAX_CHARS_FOR_NAMES
    name_words = set(names.missing(claim, source, language)) if is_short else set()
    compares_words = bool(common(claim, source, language))

    def is_unstated(atom: Part) -> bool:
        if atom.kind == "figure":
            return atom.span in figures
        if atom.kind == "name":
            return atom.words in name_words
        return compares_words and not any(_has_quotation(p.text, atom.words) for p in passages)

    unstated = [atom for atom in atoms(claim) if is_unstated(atom)]
    quotations = [part for part in unstated if part.kind == "quotation"]
    merged = [*_merge_parts(unstated, "figure", claim), *_merge_parts(unstated, "name", claim)]
    kept = [part for part in merged if part.kind == "figure" or not is_within(part, quotations)]
    return _sorted_parts([*kept, *quotations])


def is_within(part: Part, parts: Iterable[Part]) -> bool:
    return any(p.span.start <= part.span.start and part.span.end <= p.span.end for p in parts)


def beyond_quote(claim: Claim, evidence: Evidence) -> tuple[str, ...]:
    """Return the claim's figures and names that the passage has, but not in or beside its quote."""
    passage, quote = evidence.passage, evidence.quote
    if quote is None:
        return ()
    beside = passage
    if spans := sentences_of(passage.text):
        quoted = [n for n, span in enumerate(spans) if span.overlaps(quote)] or [0]
        near = spans[max(0, quoted[0] - 1) : quoted[-1] + 2]
        beside = replace(passage, text=passage.text[near[0].start : near[-1].end])
    nowhere = {part.words for part in unstated_atoms(claim.text, [passage], claim.language)}
    return tuple(
        part.words
        for part in unstated_atoms(claim.text, [beside], claim.language)
        if part.kind != "quotation"
        and part.words not in nowhere
        and (claim.own is None or part.span.overlaps(claim.own))
    )


def complementary(claim: str, evidence: Sequence[Sequence[Evidence]]) -> list[Passage]:
    """Choose one passage per source so that together they state as much of the claim as possible.

    Greedy, by the best scores: the passage that leaves the fewest figures and names unstated.
    """
    passages: list[Passage] = []

    def n_unstated(passage: Passage) -> int:
        source = "\n".join(f"{p.about}\n{p.text}" for p in (*passages, passage))
        return len(tables.unstated_values(claim, source)) + len(names.missing(claim, source))

    for of_source in sorted(evidence, key=lambda group: max(e.score for e in group), reverse=True):
        best = min(of_source, key=lambda e: (n_unstated(e.passage), -e.score))
        passages.append(best.passage)
    return passages


def _atom(kind: PartKind, span: Span, claim: str) -> Part:
    return Part(kind, span, span.of(claim), supported=False)


def _sorted_parts(parts: Iterable[Part]) -> list[Part]:
    return sorted(parts, key=lambda part: (part.span, part.kind))


def _merge_parts(parts: Sequence[Part], kind: PartKind, claim: str) -> list[Part]:
    """Merge the parts of one kind that only a comma, a space or the like separates."""

    def are_neighbours(before: Span, after: Span) -> bool:
        return _P[kind].fullmatch(claim, before.end, after.start) is not None

    spans = merge_spans([part.span for part in parts if part.kind == kind], are_neighbours)
    return [_atom(kind, span, claim) for span in spans]


def _has_quotation(text: str, quotation: str) -> bool:
    """Whether a text has a quotation word for word, but for what it leaves out."""
    words = f" {_plain_words(text)} "
    pieces = (piece for piece in _P["left_out"].split(quotation) if piece.strip())
    return all(f" {_plain_words(piece)} " in words for piece in pieces)


def _plain_words(text: str) -> str:
    return _P["not_words"].sub(" ", _P["apostrophe"].sub("", text.casefold())).strip()
