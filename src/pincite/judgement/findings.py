"""The verdict on a citation and on a claim: its label, and the parts of the claim that are missing.

Parts are clauses, which the verifier judges, and atoms (figures, names and quotations), which a
rule looks for in the source: a model may overlook one wrong year in a long sentence, a rule does
not. A finding keeps all that its verdict follows from, so that it can be decided again at another
threshold, be ranked among the others, and say what it rests on.
"""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial
from typing import NamedTuple, TypeVar

from pincite import errors
from pincite.judgement import decide
from pincite.text import names, patterns, tables
from pincite.text.languages import common
from pincite.text.quantities import values as values_of
from pincite.text.sentences import joined
from pincite.text.words import WORD, content_words, missing_words, sentences_of
from pincite.text.words import names as names_in
from pincite.types import (
    Basis,
    CitationResult,
    Claim,
    Effect,
    Evidence,
    Failed,
    Finding,
    Label,
    Part,
    PartKind,
    Passage,
    Reason,
    Span,
    Unchecked,
    Uncited,
    Verifiability,
    WitnessKind,
)

T = TypeVar("T")
QUOTED_WORDS = 3  # a quotation with fewer words is a title or a term
_LIST_ITEM = 2  # words of a clause that may be an item of a list
# The sentence splitter takes seconds on hostile lines much longer than any claim.
_MAX_CHARS_FOR_NAMES = 5_000
_P = patterns(__file__, "findings")
# Share of a claim's words that a quote lacks which seems to verify it.
FEW_MISSING = 0.25
# Shares of failing citations for which to show advice, from careful to doubtful articles. An
# article's share is not known in advance, so readers pick what fits.
BASE_RATES = (0.02, 0.05, 0.20)


def atoms(claim: str) -> list[Part]:
    """Return the claim's figures, name words and quotations, in order, as not yet supported."""
    parts = [_atom("figure", value.span, claim) for value in values_of(claim) if not value.weak]
    known = set(names_in(claim)) if len(claim) <= _MAX_CHARS_FOR_NAMES else set()
    for match in WORD.finditer(claim):
        word = match[0].removesuffix("'s").removesuffix("’s")
        if word in known:
            parts.append(_atom("name", Span(match.start(), match.start() + len(word)), claim))
    for match in _P["quotation"].finditer(claim):
        span = Span(*match.span(match.lastindex or 0))
        if len(span.of(claim).split()) >= QUOTED_WORDS:
            parts.append(_atom("quotation", span, claim))
    return _in_order(parts)


def missing_atoms(claim: str, passages: Sequence[Passage], language: str = "") -> list[Part]:
    """Return the atoms that no passage states, in order, with like neighbours merged.

    Names and figures match in any of their forms, quotations word for word except for case, white
    space and punctuation, in one language only. A name within a missing quotation is not repeated.
    Without passages, nothing is called missing. `language`: the claim's, if its words do not tell.
    """
    if not passages:
        return []
    source = "\n".join(dict.fromkeys(f"{passage.about}\n{passage.text}" for passage in passages))
    unstated = {value.span for value in tables.unstated(claim, source, (language, None))}
    is_short = len(claim) <= _MAX_CHARS_FOR_NAMES
    unnamed = set(names.missing(claim, source, language)) if is_short else set()
    compares_words = bool(common(claim, source, language))

    def is_missing(atom: Part) -> bool:
        if atom.kind == "figure":
            return atom.span in unstated
        if atom.kind == "name":
            return atom.words in unnamed
        return compares_words and not any(_has_quotation(p.text, atom.words) for p in passages)

    missing = [atom for atom in atoms(claim) if is_missing(atom)]
    figures = _merge_neighbours(missing, "figure", claim)
    quotations = [part for part in missing if part.kind == "quotation"]
    unquoted = [
        part
        for part in _merge_neighbours(missing, "name", claim)
        if not _is_within(part, quotations)
    ]
    return _in_order([*figures, *unquoted, *quotations])


def contradicted_words(claim: str, outcome: Evidence | Unchecked) -> list[Part]:
    """Return the words of the claim that the evidence contradicts; the whole claim if unknown."""
    if isinstance(outcome, Unchecked) or not decide.has(outcome, Effect.CONTRADICTS):
        return []
    words = outcome.contradiction.claim if outcome.contradiction else ""
    start = claim.find(words) if words else -1
    span = Span(0, len(claim)) if start < 0 else Span(start, start + len(words))
    return [_atom("contradiction", span, claim)]


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
    absent = {part.words for part in missing_atoms(claim.text, [passage], claim.language)}
    return tuple(
        part.words
        for part in missing_atoms(claim.text, [beside], claim.language)
        if part.kind != "quotation"
        and part.words not in absent
        and (claim.own is None or part.span.overlaps(claim.own))
    )


def complementary(claim: str, evidence: Sequence[Sequence[Evidence]]) -> list[Passage]:
    """Choose one passage per source so that together they cover as much of the claim as possible.

    Greedy, by the best scores: the passage that leaves the fewest figures and names missing.
    """
    passages: list[Passage] = []

    def n_missing(passage: Passage) -> int:
        source = "\n".join(f"{p.about}\n{p.text}" for p in (*passages, passage))
        return len(tables.unstated(claim, source)) + len(names.missing(claim, source))

    for of_source in sorted(evidence, key=lambda found: max(e.score for e in found), reverse=True):
        best = min(of_source, key=lambda e: (n_missing(e.passage), -e.score))
        passages.append(best.passage)
    return passages


def missing_parts(
    label: Label, clauses: Sequence[Part], lacking: Sequence[Part]
) -> tuple[Part, ...]:
    """Return the parts to name as missing from one source, in claim order.

    Partly supported: contradicted words, unsupported clauses, and missing atoms of the other
    clauses. Supported: missing atoms. Otherwise nothing is named.
    """
    if label not in (Label.SUPPORTED, Label.PARTLY_SUPPORTED):
        return ()
    named = [part for part in lacking if part.kind == "contradiction"]
    if label is Label.PARTLY_SUPPORTED:
        named += [clause for clause in clauses if not clause.supported and not _is_stated(clause)]
    others = [part for part in lacking if not _is_within(part, named)]
    return tuple(sorted([*named, *others], key=lambda part: part.span))


def missing_from_all(
    claim: str, label: Label, results: Sequence[CitationResult], lacking: Sequence[Part]
) -> tuple[Part, ...]:
    """Return the parts to name as missing from all sources together.

    What one of them contradicts and another has is not missing.
    """
    own_atoms = atoms(claim)

    def is_had(part: Part) -> bool:
        if part.words == claim:  # which words are contradicted is unknown
            return True
        return any(_has(result, part, claim, own_atoms) for result in results)

    lost = [part for part in lacking if part.kind != "contradiction" or not is_had(part)]
    return missing_parts(label, _best_supported(result.clauses for result in results), lost)


def _has(result: CitationResult, part: Part, claim: str, own_atoms: Sequence[Part]) -> bool:
    """Whether a source has a contradicted part: it supports the claim, or states these atoms."""
    if result.label is Label.SUPPORTED:
        return True
    if isinstance(result.outcome, Unchecked):
        return False
    absent = [other.span for other in result.lacking if other.words != claim]
    is_atom = any(atom.span.overlaps(part.span) for atom in own_atoms)
    return is_atom and not any(span.overlaps(part.span) for span in absent)


def _best_supported(sources: Iterable[Sequence[Part]]) -> list[Part]:
    """Choose each clause of a claim from the source that supports it best."""
    return [
        max(same, key=lambda part: part.evidence.score if part.evidence else -math.inf)
        for same in zip(*(clauses for clauses in sources if clauses), strict=True)
    ]


def _is_stated(clause: Part) -> bool:
    """Whether a clause of one or two words (a list item) occurs in the passage judged for it.

    If the network does not find "he taught in Gram" supported, "Gram" may still be there.
    """
    if clause.evidence is None or len(clause.words.split()) > _LIST_ITEM:
        return False
    wanted = set(content_words(clause.words))
    return bool(wanted) and wanted.issubset(content_words(clause.evidence.passage.text))


@dataclass(frozen=True, slots=True)
class LabelledParts:
    """A label, and the parts of the claim to name as missing under it, in the claim's order."""

    label: Label
    missing: tuple[Part, ...]


def decide_on_source(
    outcome: Evidence | Unchecked,
    clauses: Sequence[Part],
    lacking: Sequence[Part],
    threshold: float,
) -> LabelledParts:
    """Decide on one source by its best passage, the claim's clauses, and the atoms it lacks."""
    label = decide.label_of(outcome, threshold, clauses, lacking)
    return LabelledParts(label, missing_parts(label, clauses, lacking))


def decide_on_claim(
    claim: str,
    results: Sequence[CitationResult],
    together: Evidence | None,
    lacking: Sequence[Part],
    threshold: float,
) -> LabelledParts:
    """Decide on all sources of a claim; `lacking`: the atoms that none of them states."""
    label = decide.group_label(results, together, threshold, lacking)
    return LabelledParts(label, missing_from_all(claim, label, results, lacking))


def relabel(finding: Finding, threshold: float) -> Finding:
    """Decide a finding as if at `threshold`, without judging or searching again."""
    results = tuple(_relabel_citation(result, threshold) for result in finding.citations)
    verdict = decide_on_claim(
        finding.claim.text, results, finding.together, finding.lacking, threshold
    )
    own = replace(finding, citations=results, label=verdict.label, missing=verdict.missing)
    return decide.with_opinion(own, finding.opinion)


def _relabel_citation(result: CitationResult, threshold: float) -> CitationResult:
    clauses = tuple(
        replace(clause, supported=clause.evidence.prob_supported >= threshold)
        for clause in result.clauses
        if clause.evidence
    )
    verdict = decide_on_source(result.outcome, clauses, result.lacking, threshold)
    return replace(result, label=verdict.label, clauses=clauses, missing=verdict.missing)


def judged_evidence(finding: Finding) -> list[Evidence]:
    """Return the evidence of all sources together, if any, and of each."""
    outcomes = [finding.together, *(result.outcome for result in finding.citations)]
    return [outcome for outcome in outcomes if isinstance(outcome, Evidence)]


def basis(finding: Finding) -> Basis:
    """Return what a reader can see that the label rests on."""
    claim, label, evidence = finding.claim, finding.label, judged_evidence(finding)
    if label in (Label.DISPUTED, Label.UNCHECKED):
        return Basis.SHOWN
    if label is Label.PARTLY_SUPPORTED and any(decide.has(e, Effect.LIMITS) for e in evidence):
        return Basis.QUALIFIED
    if label is not Label.SUPPORTED and _is_fault_shown(finding, evidence):
        return Basis.SHOWN
    complete = [e for e in evidence if not missing_atoms(claim.text, [e.passage], claim.language)]
    has_names = bool(complete and atoms(claim.text))
    if label is Label.SUPPORTED:
        is_at_quote = any(e.quote and not beyond_quote(claim, e) for e in complete)
        return Basis.NAMES if has_names and is_at_quote else Basis.NETWORK
    return Basis.NAMES if has_names and label is Label.NOT_SUPPORTED else Basis.NETWORK


def _is_fault_shown(finding: Finding, evidence: Sequence[Evidence]) -> bool:
    """Whether a rule shows what is wrong: what differs or, unless it is refuted, is missing."""
    witnesses = (witness for e in evidence for witness in e.witnesses)
    if any(witness.kind is not WitnessKind.NETWORK for witness in witnesses):
        return True
    lacks = any(e.unstated or e.unnamed for e in evidence) or any(
        part.kind != "clause" for part in (*finding.missing, *finding.lacking)
    )
    return lacks and finding.label is not Label.REFUTED


def may_be_unverifiable(finding: Finding) -> bool:
    """Whether neither citation nor search supports the claim, and no passage has nearly all of it.

    A passage has its words in one or more sentences: "no source" beside them would mislead.
    """
    if finding.verifiability is not Verifiability.DOUBTFUL:
        return False
    outcomes = (result.outcome for result in finding.citations)
    return not any(
        missing_words(finding.claim.text, outcome.passage.text) < FEW_MISSING
        for outcome in outcomes
        if isinstance(outcome, Evidence)
    )


class _Group(IntEnum):
    """Findings are listed in this order."""

    FLAG = 0
    REJECTED = 1  # a flag that the user calls wrong
    WORK_IN_DOUBT = 2
    UNREAD = 3
    SUPPORTED = 4


class _Rank(NamedTuple):
    """The sort key of a finding: False and lower numbers come first."""

    group: _Group
    is_untagged: bool  # no editor doubts the claim's sources
    label: int  # place in `decide.WORST_FIRST`
    is_up_to_date: bool  # supported by a source that has not changed
    score: float


def rank_findings(findings: Sequence[Finding], wrong: Collection[str] = ()) -> list[Finding]:
    """Rank findings worst first: by label, then by score; ties keep article order.

    A tag of an editor raises the rank of a claim unless its source supports it. The claims in
    `wrong`, whose flags the user rejects, follow the other flags. Then come claims with a cited
    work in doubt. Supported ones whose source changed precede the others.
    """

    def rank(finding: Finding) -> _Rank:
        is_supported = finding.label is Label.SUPPORTED
        return _Rank(
            group=_group(finding, is_rejected=finding.claim.claim_id in wrong),
            is_untagged=not finding.claim.disputed,
            label=decide.WORST_FIRST.index(finding.label),
            is_up_to_date=is_supported and not finding.source_changed,
            score=finding.score or 0.0,
        )

    return sorted(findings, key=rank)


def _group(finding: Finding, *, is_rejected: bool) -> _Group:
    if finding.label is Label.SUPPORTED:
        group = _Group.SUPPORTED
    elif is_rejected:
        return _Group.REJECTED
    elif finding.label is Label.UNCHECKED and not finding.claim.disputed:
        group = _Group.UNREAD
    else:
        return _Group.FLAG
    return _Group.WORK_IN_DOUBT if finding.is_reference_in_doubt else group


def flag_precisions(rates: tuple[float, float] | None) -> tuple[tuple[float, float], ...]:
    """Return (base rate, share of flags that are right) for each of `BASE_RATES`.

    A verifier is tested on sets where half of the pairs fail; in an article few do. Rates that do
    not depend on that share carry over, precision does not:
    P(fails | flag) = b·caught / (b·caught + (1 − b)·false_alarms), by Bayes' theorem; on base rates
    in detection, Axelsson 2000 (ACM TISSEC 3(3)).

    Args:
        rates: shares of failing citations that are caught, and of sound ones that are flagged;
            None: unknown.
    """
    if rates is None or not any(rates):
        return ()
    caught, false_alarms = rates
    return tuple((b, b * caught / (b * caught + (1 - b) * false_alarms)) for b in BASE_RATES)


def _atom(kind: PartKind, span: Span, claim: str) -> Part:
    return Part(kind, span, span.of(claim), supported=False)


def _in_order(parts: Iterable[Part]) -> list[Part]:
    return sorted(parts, key=lambda part: (part.span, part.kind))


def _is_within(part: Part, others: Sequence[Part]) -> bool:
    return any(o.span.start <= part.span.start and part.span.end <= o.span.end for o in others)


def _merge_neighbours(parts: Sequence[Part], kind: PartKind, claim: str) -> list[Part]:
    """Merge the parts of one kind that only a comma, a space or the like separates."""

    def are_neighbours(one: Span, other: Span) -> bool:
        return _P[kind].fullmatch(claim, one.end, other.start) is not None

    spans = joined([part.span for part in parts if part.kind == kind], are_neighbours)
    return [_atom(kind, span, claim) for span in spans]


def _has_quotation(text: str, quotation: str) -> bool:
    """Whether a text has a quotation word for word, but for what it leaves out."""
    words = f" {_plain_words(text)} "
    pieces = (piece for piece in _P["left_out"].split(quotation) if piece.strip())
    return all(f" {_plain_words(piece)} " in words for piece in pieces)


def _plain_words(text: str) -> str:
    return _P["not_words"].sub(" ", _P["apostrophe"].sub("", text.casefold())).strip()


# ── Findings that met a bug ───────────────────────────────────────────────────────────────────────


def not_read(url: str, why: Failed) -> Unchecked:
    return Unchecked(url, Reason.INTERNAL_ERROR, why.detail)


def without_verdict(claim: Claim, why: Failed) -> Finding:
    """Return a claim without a verdict: each of its citations could not be checked."""
    results = tuple(
        CitationResult(each, not_read(each.url or "", why), Label.UNCHECKED)
        for each in claim.citations
    )
    return Finding(claim, results, None, Label.UNCHECKED, None, (), failed=why)


def rendered(render: Callable[[Finding], T], finding: Finding) -> T:
    """Render a finding; if that raises, render the claim without a verdict."""
    return errors.attempt(
        lambda: render(finding), lambda why: render(without_verdict(finding.claim, why))
    )


def rendered_uncited(render: Callable[[Uncited], T], uncited: Uncited) -> T:
    """Render an uncited sentence; if that raises, render it without its sources."""
    bare = partial(replace, uncited, suggestions=(), excluded=(), reasons_coded=())
    return errors.attempt(lambda: render(uncited), lambda why: render(bare(failed=why)))
