"""The parts of a claim, the ranking of findings, and better sources.

A source may support a part of a claim: then the missing parts are named. Parts are clauses, which
the verifier judges, and atoms (figures, names and quotations), which a rule looks for in the
source: a model may overlook one wrong year in a long sentence, a rule does not.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from pincite.judgement import decide
from pincite.judgement.contradictions import contradiction
from pincite.judgement.decide import THRESHOLD, refutes
from pincite.text import names, tables, words
from pincite.text.languages import common
from pincite.text.quantities import values as values_of
from pincite.types import (
    Basis,
    CitationResult,
    Claim,
    Effect,
    Evidence,
    Finding,
    Label,
    Part,
    PartKind,
    Passage,
    Span,
    Suggestion,
    Unchecked,
    Verifiability,
    WitnessKind,
)

# Probability of support from which a page is shown as a better source, and from which a reference
# to it is proposed. Of twelve that reached only THRESHOLD, eight were wrong.
SUGGESTED_FROM, PROPOSED_FROM = 0.4, 0.5

# Share of a claim's words that a quote lacks which seems to verify it.
FEW_MISSING = 0.25


def discard_rebutted(claim: Claim, evidence: Evidence, page: str) -> Evidence:
    """Drop a contradiction found by a rule if another passage has the claim's value or name."""
    seen, passage = evidence.contradiction, evidence.passage
    if not seen or seen == contradiction(
        claim.text, passage.text, passage.about, page, claim.own, claim.language
    ):
        return evidence
    return decide.without(evidence, seen.kind)


def contradicted(claim: str, outcome: Evidence | Unchecked) -> list[Part]:
    """Return the words of the claim that the evidence contradicts; the whole claim if unknown."""
    if isinstance(outcome, Unchecked) or not decide.has(outcome, Effect.CONTRADICTS):
        return []
    words = outcome.contradiction.claim if outcome.contradiction else ""
    start = claim.find(words) if words else -1
    span = Span(0, len(claim)) if start < 0 else Span(start, start + len(words))
    return [_atom("contradiction", span, claim)]


def missing(label: Label, clauses: Sequence[Part], atoms: Sequence[Part]) -> tuple[Part, ...]:
    """Return the parts to name as missing under a verdict, in claim order.

    Partly supported: contradicted words, unsupported clauses, and missing atoms of the other
    clauses. Supported: missing atoms. Otherwise nothing is named.
    """
    if label not in (Label.SUPPORTED, Label.PARTLY_SUPPORTED):
        return ()
    named = [atom for atom in atoms if atom.kind == "contradiction"]
    if label is Label.PARTLY_SUPPORTED:
        named += [each for each in clauses if not each.supported and not _is_stated(each)]
    known = list(named)
    named += [atom for atom in atoms if not _is_within(atom, known)]
    return tuple(sorted(named, key=lambda part: part.span))


def missing_of_group(
    claim: str, label: Label, results: Sequence[CitationResult], lacking: Sequence[Part]
) -> tuple[Part, ...]:
    """Return the parts to name as missing of all sources together.

    What one of them contradicts and another has is not missing.
    """

    def has(result: CitationResult, part: Part) -> bool:
        if isinstance(result.outcome, Unchecked) or part.words == claim:  # which words is unknown
            return result.label is Label.SUPPORTED
        lacks = [other.span for other in result.lacking if other.words != claim]
        is_atom = any(atom.span.overlaps(part.span) for atom in atoms(claim))
        stated = is_atom and not any(span.overlaps(part.span) for span in lacks)
        return stated or result.label is Label.SUPPORTED

    def is_had(part: Part) -> bool:
        # All of it is not missing where all sources together support it, at least in part.
        return part.words == claim or any(has(result, part) for result in results)

    clauses = _choose_clauses([result.clauses for result in results])
    lost = [part for part in lacking if part.kind != "contradiction" or not is_had(part)]
    return missing(label, clauses, lost)


def complementary(claim: str, evidence: Sequence[Sequence[Evidence]]) -> list[Passage]:
    """Choose one passage per source so that together they cover as much of the claim as possible.

    Greedy, by the best scores: the passage that leaves the fewest figures and names missing.
    """
    passages: list[Passage] = []

    def order(evidence: Evidence) -> tuple[int, float]:
        source = "\n".join(f"{p.about}\n{p.text}" for p in (*passages, evidence.passage))
        n_missing = len(tables.unstated(claim, source)) + len(names.missing(claim, source))
        return n_missing, -evidence.score

    for of_source in sorted(evidence, key=lambda found: -max(e.score for e in found)):
        chosen = min(of_source, key=order)
        passages.append(chosen.passage)
    return passages


def may_be_unverifiable(finding: Finding) -> bool:
    """Whether neither citation nor search supports the claim, and no passage has nearly all of it.

    A passage has its words in one or more sentences: "no source" beside them would mislead.
    """
    if finding.verifiability is not Verifiability.DOUBTFUL:
        return False
    read = [r.outcome.passage.text for r in finding.citations if isinstance(r.outcome, Evidence)]
    claim = finding.claim.text
    return not any(words.missing_words(claim, text) < FEW_MISSING for text in read)


def ranked(findings: Sequence[Finding], wrong: Collection[str] = ()) -> list[Finding]:
    """Rank findings worst first: by label, then by score; ties keep article order.

    A tag of an editor raises the rank of a claim unless its source supports it. The claims in
    `wrong`, whose flags the user rejects, follow the other flags. Then come claims with a cited
    work in doubt. Supported ones whose source changed precede the others.
    """

    def key(finding: Finding) -> tuple[int, bool, int, bool, float]:
        claim, label = finding.claim, finding.label
        is_supported = label is Label.SUPPORTED
        is_unread = label is Label.UNCHECKED and not claim.disputed
        group = 4 if is_supported else 1 if claim.claim_id in wrong else 3 if is_unread else 0
        group = 2 if group > 2 and finding.is_reference_in_doubt else group
        last = is_supported and not finding.source_changed
        place = decide.WORST_FIRST.index(label)
        return group, not claim.disputed, place, last, finding.score or 0.0

    return sorted(findings, key=key)


def suggestions(
    candidates: Sequence[Evidence],
    existing: float | None,
    k: int,
    threshold: float = THRESHOLD,
    priors: Mapping[str, float] = MappingProxyType({}),
) -> list[Suggestion]:
    """Return up to `k` candidates that support the claim and outrank the existing citation.

    Args:
        candidates: evidence from the corpus; only the best passage of a page counts.
        existing: score of the existing citation; None if it could not be checked.
        k: maximum number, best first.
        threshold: probability of support that a suggestion needs, at least SUGGESTED_FROM (SIDE
            needs only the rank). Pages that contradict the claim are never suggested.
        priors: log-odds of each page by its search, by url, added to those of the evidence; a page
            that is not in it gets the best.
    """
    best = max(priors.values(), default=0.0)

    def order(evidence: Evidence) -> float:
        return -evidence.score - priors.get(evidence.passage.url, best)

    floor = -math.inf if existing is None else existing
    least = max(threshold, SUGGESTED_FROM)
    against = {e.passage.url for e in candidates if e.contradiction or refutes(e)}
    outranking: dict[str, Suggestion] = {}
    for evidence in sorted(candidates, key=order):
        fits = evidence.prob_supported >= least and evidence.score > floor
        if fits and evidence.passage.url not in against:
            gain = evidence.score - (existing or 0.0)
            outranking.setdefault(evidence.passage.url, Suggestion(evidence, None, gain))
    return list(outranking.values())[:k]


# ── The parts of a claim ─────────────────────────────────────────────────────────────────────────

QUOTED_WORDS = 3  # a quotation with fewer words is a title or a term
_ITEM = 2  # words
BEST_PASSAGES = 3  # of the whole claim, in which its clauses are judged
_QUOTATION = re.compile(r"“([^“”]*)”|\"([^\"]*)\"|«([^«»]*)»")
_NOT_WORDS = re.compile(r"[\W_]+")
_LEFT_OUT = re.compile(r"\[[^\[\]]*\]|\.{3}|…")  # "[sic]", "[…]", "...": not words of the source
_BETWEEN: dict[PartKind, re.Pattern[str]] = {  # what may separate neighbours
    "figure": re.compile(r",? |[-–/]| of "),
    "name": re.compile(r"[ -]"),
    "quotation": re.compile(r"(?!)"),
}
# The sentence splitter takes seconds on hostile lines much longer than any claim.
_MAX_CHARS_FOR_NAMES = 5_000


def atoms(claim: str) -> list[Part]:
    """Return the claim's figures, name words and quotations, in order, as not yet supported."""
    found = [_atom("figure", value.span, claim) for value in values_of(claim) if not value.weak]
    known = set(words.names(claim)) if len(claim) <= _MAX_CHARS_FOR_NAMES else set()
    for match in words.WORD.finditer(claim):
        word = match[0].removesuffix("'s").removesuffix("’s")
        if word in known:
            span = Span(match.start(), match.start() + len(word))
            found.append(_atom("name", span, claim))
    for match in _QUOTATION.finditer(claim):
        span = Span(*match.span(match.lastindex or 0))
        if len(span.of(claim).split()) >= QUOTED_WORDS:
            found.append(_atom("quotation", span, claim))
    return sorted(found, key=lambda atom: (atom.span, atom.kind))


def missing_atoms(claim: str, passages: Sequence[Passage], language: str = "") -> list[Part]:
    """Return the atoms that no passage states, in order, with like neighbours merged.

    Names and figures match in any of their forms, quotations word for word except for case, white
    space and punctuation, in one language only. A name within a missing quotation is not repeated.
    Without passages, nothing is called missing. `language`: the claim's, if its words do not tell.
    """
    if not passages:
        return []
    source = "\n".join(dict.fromkeys(f"{each.about}\n{each.text}" for each in passages))
    absent = {value.span for value in tables.unstated(claim, source, (language, None))}
    short, across = len(claim) <= _MAX_CHARS_FOR_NAMES, not common(claim, source, language)
    unnamed = set(names.missing(claim, source, language)) if short else set()

    def lacks(atom: Part) -> bool:
        if atom.kind == "quotation":
            return not across and not any(_stands_in(atom.words, p.text) for p in passages)
        return atom.span in absent if atom.kind == "figure" else atom.words in unnamed

    lacking = [atom for atom in atoms(claim) if lacks(atom)]
    found = [
        _atom(kind, span, claim)
        for kind, between in _BETWEEN.items()
        for span in _join([atom.span for atom in lacking if atom.kind == kind], claim, between)
    ]
    quoted = [atom for atom in found if atom.kind == "quotation"]
    named_once = [atom for atom in found if atom.kind != "name" or not _is_within(atom, quoted)]
    return sorted(named_once, key=lambda atom: (atom.span, atom.kind))


def beyond_quote(claim: Claim, evidence: Evidence) -> tuple[str, ...]:
    """Return the claim's figures and names that the passage has, but not in or beside its quote."""
    passage, quote = evidence.passage, evidence.quote
    if quote is None:
        return ()
    spans = words.sentences_of(passage.text)
    quoted = [n for n, span in enumerate(spans) if span.overlaps(quote)] or [0]
    near = spans[max(0, quoted[0] - 1) : quoted[-1] + 2]
    beside = replace(passage, text=passage.text[near[0].start : near[-1].end]) if near else passage
    lacks = {part.words for part in missing_atoms(claim.text, [passage], claim.language)}
    return tuple(
        part.words
        for part in missing_atoms(claim.text, [beside], claim.language)
        if part.kind != "quotation" and part.words not in lacks
        if claim.own is None or part.span.overlaps(claim.own)
    )


def read_by(finding: Finding) -> list[Evidence]:
    """Return the evidence of all sources together, if any, and of each."""
    outcomes = [finding.together, *(result.outcome for result in finding.citations)]
    return [outcome for outcome in outcomes if isinstance(outcome, Evidence)]


def basis(finding: Finding) -> Basis:
    """Return what a reader can see that the label rests on."""
    claim, label, read = finding.claim, finding.label, read_by(finding)
    if label in (Label.DISPUTED, Label.UNCHECKED):
        return Basis.SHOWN
    named = [e for e in read if not missing_atoms(claim.text, [e.passage], claim.language)]
    has_names = bool(named and atoms(claim.text))
    if label is Label.SUPPORTED:
        at_quote = has_names and any(e.quote and not beyond_quote(claim, e) for e in named)
        return Basis.NAMES if at_quote else Basis.NETWORK
    if label is Label.PARTLY_SUPPORTED and any(decide.has(e, Effect.LIMITS) for e in read):
        return Basis.QUALIFIED
    parts = [part for parts in (finding.missing, finding.lacking) for part in parts]
    seen = any(witness.kind is not WitnessKind.NETWORK for e in read for witness in e.witnesses)
    lacks = any(e.unstated or e.unnamed for e in read) or any(p.kind != "clause" for p in parts)
    if seen or (lacks and label is not Label.REFUTED):
        return Basis.SHOWN
    return Basis.NAMES if has_names and label is Label.NOT_SUPPORTED else Basis.NETWORK


def _is_stated(part: Part) -> bool:
    """Whether a clause of one or two words (a list item) occurs in the passage judged for it.

    If the network does not find "he taught in Gram" supported, "Gram" may still be there.
    """
    if part.evidence is None or len(part.words.split()) > _ITEM:
        return False
    wanted = set(words.content_words(part.words))
    return bool(wanted) and wanted <= set(words.content_words(part.evidence.passage.text))


def _is_within(part: Part, others: Sequence[Part]) -> bool:
    return any(o.span.start <= part.span.start and part.span.end <= o.span.end for o in others)


def _choose_clauses(sources: Iterable[Sequence[Part]]) -> list[Part]:
    """Choose each clause of a group from the source that supports it best."""
    return [
        max(same, key=lambda part: part.evidence.score if part.evidence else -math.inf)
        for same in zip(*(clauses for clauses in sources if clauses), strict=True)
    ]


def _atom(kind: PartKind, span: Span, claim: str) -> Part:
    return Part(kind, span, span.of(claim), supported=False)


def _stands_in(quotation: str, text: str) -> bool:
    whole = f" {_plain(text)} "
    return all(
        f" {_plain(piece)} " in whole for piece in _LEFT_OUT.split(quotation) if piece.strip()
    )


def _plain(text: str) -> str:
    return _NOT_WORDS.sub(" ", text.casefold().replace("’", "").replace("'", "")).strip()


def _join(spans: Sequence[Span], text: str, between: re.Pattern[str]) -> list[Span]:
    joined: list[Span] = []
    for span in spans:
        if joined and between.fullmatch(text, joined[-1].end, span.start):
            joined[-1] = Span(joined[-1].start, span.end)
        else:
            joined.append(span)
    return joined


def relabel(finding: Finding, threshold: float) -> Finding:
    """Decide a finding as if at `threshold`, without judging or searching again."""
    results = tuple(_relabel_citation(result, threshold) for result in finding.citations)
    label = decide.group_label(results, finding.together, threshold, finding.lacking)
    lacks = missing_of_group(finding.claim.text, label, results, finding.lacking)
    own = replace(finding, citations=results, label=label, missing=lacks)
    return decide.with_opinion(own, finding.opinion)


def _relabel_citation(result: CitationResult, threshold: float) -> CitationResult:
    clauses = tuple(
        replace(each, supported=each.evidence.prob_supported >= threshold)
        for each in result.clauses
        if each.evidence
    )
    label = decide.label_of(result.outcome, threshold, clauses, result.lacking)
    lacks = missing(label, clauses, result.lacking)
    return replace(result, label=label, clauses=clauses, missing=lacks)


# ── What a flag is worth ─────────────────────────────────────────────────────────────────────────

# A verifier is tested on sets where half of the pairs fail; in an article few do. Rates that do not
# depend on that share (failures caught, false alarms) carry over, precision does not.

# Shares of failing citations for which to show advice, from careful to doubtful articles. An
# article's share is not known in advance, so readers pick what fits.
BASE_RATES = (0.02, 0.05, 0.20)


def precisions(rates: tuple[float, float] | None) -> tuple[tuple[float, float], ...]:
    """Return (base rate, share of flags that are right) for each of `BASE_RATES`.

    P(fails | flag) = b·caught / (b·caught + (1 − b)·false_alarms), by Bayes' theorem; on base rates
    in detection, Axelsson 2000 (ACM TISSEC 3(3)). `rates`: (caught, false alarms); None: unknown.
    """
    if rates is None or not any(rates):
        return ()
    caught, false_alarms = rates
    return tuple((b, b * caught / (b * caught + (1 - b) * false_alarms)) for b in BASE_RATES)
