"""`verify`: does the cited source bear the claim out, and if not, what would?

claim ─▶ its sources' passages ┐
claim ─▶ lexical + dense hits  ┴─▶ verifier, one flat batch ─▶ labels, group, suggestions
its clauses ─▶ best passages of its sources ─▶ verifier ─▶ what is missing of it
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from pincite.core import aggregation, cascade, parts, queries
from pincite.core.clauses import clauses
from pincite.core.copies import without_copies
from pincite.core.funnel import addresses
from pincite.core.fusion import JUDGED, Mode, at_most, fused, kept, shares
from pincite.core.passages import cited_passages
from pincite.pipeline.exclusions import WITHOUT_LIST, Exclusions
from pincite.protocols import Expander, Retriever, Verifier, WordRetriever
from pincite.types import (
    Article,
    Citation,
    CitationResult,
    Claim,
    Document,
    Evidence,
    Exclusion,
    Finding,
    Hit,
    Label,
    Part,
    Passage,
    Reason,
    Span,
    Suggestion,
    Unchecked,
)

RECONSIDERED = 2  # times k candidates are judged again in wider passages

SourceOf = Callable[[str], Document | Unchecked]  # url → the stored copy, or why there is none
DocumentsOf = Callable[[Sequence[str]], list[Document | None]]  # urls → the corpus's documents


@dataclass(frozen=True, slots=True)
class VerifyPipeline:
    """The parts that `verify` is made of; a retriever that is None is not asked."""

    verifier: Verifier
    source_of: SourceOf
    lexical: WordRetriever | None = None
    dense: Retriever | None = None
    documents_of: DocumentsOf | None = None
    languages: frozenset[str] = frozenset({"en"})  # that the verifier reads
    depth: int = 100
    fusion: Mode = "weighted"
    judged: int = JUDGED
    per_page: int = 0
    read: int = cascade.READ
    k: int = 3
    threshold: float = aggregation.THRESHOLD
    readout: aggregation.Readout = "parts"
    expander: Expander | None = None  # of the queries by words
    exclusions: Exclusions = WITHOUT_LIST  # what is never suggested, and why
    unfiltered: WordRetriever | None = None  # `lexical` with barred sites: names what they hide

    def findings(self, article: Article) -> Iterator[Finding]:
        """One finding for each claim, in the order of the article, as soon as it is known."""
        for claim in article.claims:
            yield self.finding(claim, article.timestamp)

    def finding(self, claim: Claim, written: str | None = None) -> Finding:
        """Everything about one claim: its sources and the candidates in one batch.

        `written`: when the article's text was there, an ISO date; see `pipeline.exclusions`.
        """
        sources = [self._source(citation) for citation in claim.citations]
        cited = [_passages(source) for source in sources]
        read = [cascade.worth_reading(claim.text, passages, self.read) for passages in cited]
        candidates, excluded = self._candidates(claim, written)
        hits = candidates[: self.judged]
        pairs = [
            (claim, passage)
            for group in [*read, [hit.passage for hit in hits]]
            for passage in group
        ]
        judged = iter(self.verifier.verify(pairs))
        evidence = [[next(judged) for _ in group] for group in read]
        lacking = [parts.missing_atoms(claim.text, passages) for passages in cited]
        results = self._results(claim, sources, lacking, evidence)
        together = self._together(claim, evidence)
        every = [passage for passages in cited for passage in passages]
        atoms = lacking[0] if len(cited) == 1 else parts.missing_atoms(claim.text, every)
        label = aggregation.group_label(results, together, self.threshold, atoms)
        of_group = parts.borne_out_by_any([result.clauses for result in results])
        found = Finding(
            claim=claim,
            citations=results,
            together=together,
            label=label,
            score=aggregation.group_score(results, together, self.readout),
            suggestions=(),
            missing=aggregation.missing(label, of_group, atoms),
            excluded=excluded,
        )
        of_hits = list(zip(candidates, shares(candidates), strict=True))
        best = {hit.passage.url: share for hit, share in reversed(of_hits)}  # each page's best
        return self._with_suggestions(found, list(judged), best)

    def _results(
        self,
        claim: Claim,
        sources: Sequence[Document | Unchecked],
        lacking: Sequence[Sequence[Part]],
        evidence: Sequence[Sequence[Evidence]],
    ) -> tuple[CitationResult, ...]:
        """Each citation alone: its best passage, its clauses, and what is missing."""
        results = []
        of_sources = zip(sources, lacking, evidence, self._clauses(claim, evidence), strict=True)
        for citation, of_source in zip(claim.citations, of_sources, strict=True):
            source, atoms, found, judged = of_source
            outcome = aggregation.speaking(found, self.threshold) or _why_not(source)
            label = aggregation.label_of(outcome, self.threshold, judged, atoms)
            missing = aggregation.missing(label, judged, atoms)
            listing = self.exclusions.listing_of(citation.url or citation.archive_url)
            result = CitationResult(citation, outcome, label, tuple(judged), missing, listing)
            results.append(result)
        return tuple(results)

    def _clauses(self, claim: Claim, evidence: Sequence[Sequence[Evidence]]) -> list[list[Part]]:
        """For each source the claim's clauses, judged in one batch; none of a claim of one."""
        found = clauses(claim.text)
        if len(found) < 2:
            return [[] for _ in evidence]
        best = [
            sorted(of_source, key=lambda e: -e.score)[: parts.BEST_PASSAGES]
            for of_source in evidence
        ]
        pairs = [
            (replace(claim, text=clause.text), judged.passage)
            for of_source in best
            for clause in found
            for judged in of_source
        ]
        answers = iter(self.verifier.verify(pairs))
        return [
            parts.judged(found, [_best_of(answers, len(s)) for _ in found], self.threshold)
            if s
            else []
            for s in best
        ]

    def _with_suggestions(
        self, finding: Finding, candidates: list[Evidence], shares_of: Mapping[str, float]
    ) -> Finding:
        """The finding with better sources: better for the whole claim, parts are not asked for."""
        if finding.label is not Label.SUPPORTED:
            candidates = [*candidates, *self._wider(finding.claim, candidates)]
        existing = aggregation.group_score(finding.citations, finding.together, "max")
        suggested = aggregation.suggestions(candidates, existing, self.k, self.threshold, shares_of)
        return replace(
            finding,
            suggestions=tuple(map(self._listed, self._from_stored_text(suggested))),
            n_candidates=len(candidates),
        )

    def _listed(self, suggestion: Suggestion) -> Suggestion:
        url = suggestion.evidence.passage.url
        return replace(suggestion, listing=self.exclusions.listing_of(url))

    def _source(self, citation: Citation) -> Document | Unchecked:
        """The cited page, else its archived copy, else the reason why there is neither."""
        found = addresses(citation)
        if not found:
            return Unchecked("", Reason.OFFLINE, _offline_detail(citation))
        reasons = []
        for address in found:  # the next one only if this one fails: it may be asked of the web
            source = self.source_of(address)
            if isinstance(source, Document):
                break
            reasons.append(source)
        else:
            return reasons[0]
        if source.language and source.language not in self.languages:
            detail = f"the page is in {source.language!r}, the model reads "
            return Unchecked(source.url, Reason.LANGUAGE, detail + ", ".join(self.languages))
        return source

    def _candidates(
        self, claim: Claim, written: str | None
    ) -> tuple[list[Hit], tuple[Exclusion, ...]]:
        """Both retrievers' hits as one list, without copies, cited pages and what is excluded."""
        lexical: list[Hit] = []
        dense: list[Hit] = []
        seen: list[Hit] = []
        if self.lexical:
            asked = (
                self.expander.expand([claim]) if self.expander else [queries.lexical_query(claim)]
            )
            (lexical,) = self.lexical.retrieve(asked, self.depth)
            if self.unfiltered:
                (seen,) = self.unfiltered.retrieve(asked, self.depth)
        if self.dense:
            (dense,) = self.dense.retrieve([queries.dense_query(claim)], self.depth)
        cited = {address for citation in claim.citations for address in addresses(citation)}
        merged = fused(lexical, dense, 2 * self.depth, self.fusion)
        others = kept(merged, lambda hit: hit.passage.url not in cited)
        allowed, excluded = self.exclusions.sifted(claim, others, seen, self.documents_of, written)
        candidates = without_copies(allowed)
        return at_most(self.per_page, candidates) if self.per_page else candidates, excluded

    def _together(self, claim: Claim, evidence: Sequence[Sequence[Evidence]]) -> Evidence | None:
        """A group's passages read as one text, one from each source: each may bear out a part."""
        read = [of_source for of_source in evidence if of_source]
        chosen = list(dict.fromkeys(aggregation.complementary(claim.text, read)))
        if len(chosen) < 2:
            return None
        text, title, about = (
            "\n".join(texts)
            for texts in zip(*((p.text, p.title, p.about) for p in chosen), strict=True)
        )
        joint = Passage("", "", title, text, Span(0, len(text)), about)
        (judged,) = self.verifier.verify([(claim, joint)])
        return judged

    def _wider(self, claim: Claim, candidates: Sequence[Evidence]) -> list[Evidence]:
        """The best candidates judged again as a cited source is: around the hit, in two widths.

        A corpus keeps each sentence in one passage, so evidence may be cut in two there.
        """
        if self.documents_of is None:
            return []
        best = sorted(candidates, key=lambda e: -e.score)[: RECONSIDERED * self.k]
        documents = self.documents_of([evidence.passage.url for evidence in best])
        windows = {
            window.passage_id: window
            for evidence, document in zip(best, documents, strict=True)
            if document
            for window in cited_passages(document)
            if window.span.start < evidence.passage.span.end
            and evidence.passage.span.start < window.span.end
        }
        return self.verifier.verify([(claim, window) for window in windows.values()])

    def _from_stored_text(self, suggested: Sequence[Suggestion]) -> list[Suggestion]:
        """Suggestions whose passage a plain comparison finds in the stored page, with its date."""
        if self.documents_of is None:
            return list(suggested)
        documents = self.documents_of([s.evidence.passage.url for s in suggested])
        return [
            replace(suggestion, published=document.published)
            for suggestion, document in zip(suggested, documents, strict=True)
            if document and _stands_in(suggestion.evidence.passage, document)
        ]


def _stands_in(passage: Passage, document: Document) -> bool:
    return passage.span.of(document.text) == passage.text


def _passages(source: Document | Unchecked) -> list[Passage]:
    return cited_passages(source) if isinstance(source, Document) else []


def _best_of(answers: Iterator[Evidence], n: int) -> Evidence:
    """The best of the next `n`, at least one."""
    return max(islice(answers, n), key=lambda evidence: evidence.score)


def _why_not(source: Document | Unchecked) -> Unchecked:
    """The reason behind a source that gave no evidence."""
    if isinstance(source, Unchecked):
        return source
    return Unchecked(source.url, Reason.EMPTY, "the stored copy has no sentences")


def _offline_detail(citation: Citation) -> str:
    name = citation.title or citation.text or citation.template or "no address is given"
    return f"{name}, ISBN {citation.isbn}" if citation.isbn else name
