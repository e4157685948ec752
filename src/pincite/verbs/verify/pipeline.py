"""`verify`: does the cited source support the claim, and if not, what would?

claim ─▶ its sources' passages ─▶ verifier ─▶ labels, group
claims that fail ─▶ lexical + dense hits ─▶ verifier ─▶ suggestions
its clauses ─▶ best passages of its sources ─▶ verifier ─▶ what is missing of it
pages that fail it ─▶ their archived copies, judged alike ─▶ which of them changed since
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, NamedTuple

from pincite.documents.language import code_of
from pincite.judgement import aggregation, changes, own, parts
from pincite.judgement.funnel import addresses
from pincite.library.exclusions import WITHOUT_LIST, Exclusions
from pincite.library.web_pages import WebCandidates
from pincite.protocols import DocumentsOf, Verifier, WordRetriever
from pincite.retrieval import cascade, pinpoint, queries
from pincite.retrieval.copies import without_copies
from pincite.retrieval.fusion import JUDGED, at_most, kept, shares
from pincite.retrieval.retrievers import Asked, Fused
from pincite.text.clauses import clauses
from pincite.text.passages import cited_passages, whole
from pincite.types import (
    Article,
    Changed,
    Citation,
    CitationResult,
    Claim,
    CopyKind,
    Document,
    Evidence,
    Exclusion,
    Finding,
    Hit,
    Label,
    Part,
    Passage,
    Place,
    Reason,
    Span,
    Suggestion,
    Unchecked,
    Uncited,
)
from pincite.verbs.verify.cited_copies import CitedCopies, CitedSource

# What wikis in English call their language.
_ENGLISH = {"simple": "en", "": "en"}
RECONSIDERED = 2  # times k candidates are judged again in wider passages
WIDER_AT_FIRST = 2  # of each one's, while they leave it open more
CANDIDATES_AT_FIRST = 20  # the others are read only if none of these surely supports the claim


class _Checked(NamedTuple):
    """One citation, with what its label was made of."""

    source: Document | Unchecked
    evidence: list[Evidence]
    lacking: list[Part]
    result: CitationResult


@dataclass(frozen=True, slots=True)
class VerifyPipeline:
    """The parts that `verify` is made of; one that is None is not asked."""

    verifier: Verifier
    copies: CitedCopies
    search: Fused | None = None
    documents_of: DocumentsOf | None = None
    languages: frozenset[str] = frozenset({"en"})  # that the verifier reads
    depth: int = 100  # hits of either search
    judged: int = JUDGED
    per_page: int = 0
    read: int = cascade.READ
    k: int = 3
    threshold: float = aggregation.THRESHOLD
    readout: aggregation.Readout = "parts"
    suggest: Literal["failing", "all"] = "failing"  # claims that better sources are sought for
    exclusions: Exclusions = WITHOUT_LIST  # what is never suggested, and why
    unfiltered: WordRetriever | None = None  # by words, with barred sites: names what they hide
    online: WebCandidates | None = None  # asked where a claim's own sources fail it

    def findings(self, article: Article) -> Iterator[Finding]:
        """One finding for each claim, in the order of the article, as soon as it is known."""
        given = article.language
        language = _ENGLISH.get(given) or code_of(given) or given
        for claim in article.claims:
            if language in self.languages:
                yield self.finding(claim, article.timestamp)
            else:
                yield self._unread(claim, article.timestamp, language)

    def _unread(self, claim: Claim, written: str | None, language: str) -> Finding:
        """A finding on a claim that the model cannot read: nothing is judged or suggested."""
        detail = f"the article is in {language!r}, the model reads {', '.join(self.languages)}"
        found = [self.copies.read(citation, written) for citation in claim.citations]
        sources = [
            each._replace(source=Unchecked(each.source.url, Reason.LANGUAGE, detail))
            if isinstance(each.source, Document)
            else each
            for each in found
        ]
        checked = self._checked(claim, claim.citations, sources, [[] for _ in sources])
        return own.only_quotes(self._group(claim, checked))

    def finding(self, claim: Claim, written: str | None = None) -> Finding:
        """Everything about one claim: first its sources, then, where they fail it, better ones.

        `written`: when the article's text was there, an ISO date; see `library.exclusions`.
        """
        sources = [self._source(citation, written) for citation in claim.citations]
        evidence = self._evidence(claim, claim.citations, sources)
        checked = self._checked(claim, claim.citations, sources, evidence)
        found = self._group(claim, checked)
        if found.label is not Label.SUPPORTED:
            as_cited = self._as_cited(claim, checked, written)
            found = self._group(claim, as_cited) if as_cited != checked else found
        if found.label is Label.SUPPORTED and self.suggest == "failing":
            return own.only_quotes(found)
        candidates, excluded = self._candidates(claim, written)
        hits = [hit.passage for hit in candidates[: self.judged]]
        judged = self._judged(claim, hits)
        best = _best_shares(candidates)
        if self.online and found.label is not Label.SUPPORTED:
            more, barred = self._from_the_web(claim, written)
            judged += self.verifier.verify([(claim, hit.passage) for hit in more])
            best |= _best_shares(more)
            excluded = (*excluded, *barred)
        found = self._with_suggestions(replace(found, excluded=excluded), judged, best)
        return own.only_quotes(found)

    def supplied(self, uncited: Uncited, written: str | None = None) -> Uncited:
        """A sentence without a citation with sources that could be cited for it."""
        if not (self.search or self.online) or "en" not in self.languages:
            return uncited
        found = self.finding(uncited.claim, written)
        return replace(
            uncited,
            suggestions=found.suggestions,
            n_candidates=found.n_candidates,
            excluded=found.excluded,
        )

    def _evidence(
        self,
        claim: Claim,
        citations: Sequence[Citation],
        sources: Sequence[CitedSource],
    ) -> list[list[Evidence]]:
        """What each source says; all of it that is worth reading where the verdict is open."""
        pages = []
        for citation, found in zip(citations, sources, strict=True):
            aim, passages = _aim(citation, found.source), _passages(found.source)
            pages.append(cascade.Page(claim, passages, aim.spans if aim else ()))
        of_sources = cascade.read(pages, self.verifier.verify, self._is_open, self.read)
        return [
            [aggregation.settled(claim.text, each, _text(found.source)) for each in of_source]
            for of_source, found in zip(of_sources, sources, strict=True)
        ]

    def _is_open(self, evidence: Sequence[Evidence]) -> bool:
        return aggregation.is_open(evidence, self.threshold)

    def _group(self, claim: Claim, checked: Sequence[_Checked]) -> Finding:
        """The finding on a claim from its citations alone and together; no suggestions yet."""
        results = tuple(each.result for each in checked)
        together = self._together(claim, [each.evidence for each in checked])
        every = [text for each in checked for text in _whole(each.source)]
        atoms = checked[0].lacking if len(checked) == 1 else parts.missing_atoms(claim.text, every)
        label = aggregation.group_label(results, together, self.threshold, atoms)
        of_group = parts.borne_out_by_any([result.clauses for result in results])
        return Finding(
            claim=claim,
            citations=results,
            together=together,
            label=label,
            score=aggregation.group_score(results, together, self.readout),
            suggestions=(),
            missing=aggregation.missing(label, of_group, atoms),
        )

    def _checked(
        self,
        claim: Claim,
        citations: Sequence[Citation],
        sources: Sequence[CitedSource],
        evidence: Sequence[list[Evidence]],
    ) -> list[_Checked]:
        """Each citation alone: its best passage, its clauses, and what is missing."""
        checked = []
        of_sources = zip(citations, sources, evidence, self._clauses(claim, evidence), strict=True)
        for citation, read, found, judged in of_sources:
            atoms = parts.missing_atoms(claim.text, _whole(read.source))
            aim = _aim(citation, read.source)
            outcome = self._outcome(read.source, found, judged, atoms, aim)
            label = aggregation.label_of(outcome, self.threshold, judged, atoms)
            result = CitationResult(
                citation=citation,
                outcome=outcome,
                label=label,
                clauses=tuple(judged),
                missing=aggregation.missing(label, judged, atoms),
                listing=self.exclusions.listing_of(citation.url or citation.archive_url),
                place=_place(outcome, read.source, aim),
                copy=read.copy,
                not_live=read.not_live,
            )
            checked.append(_Checked(read.source, found, atoms, result))
        return checked

    def _as_cited(
        self, claim: Claim, checked: Sequence[_Checked], written: str | None
    ) -> list[_Checked]:
        """Pages of today that fail the claim, replaced by archived copies that support more.

        The editor cited what the page said then. Only a copy whose passage is gone from today's
        page counts as older: else it is the page itself, judged twice.
        """
        as_cited = list(checked)
        older = {
            number: archived
            for number, each in enumerate(checked)
            if _may_have_changed(each.result)
            and (archived := self._archived(each.result.citation, written))
        }
        if not older:
            return as_cited
        sources = list(older.values())
        citations = [checked[number].result.citation for number in older]
        evidence = self._evidence(claim, citations, sources)
        judged = self._checked(claim, citations, sources, evidence)
        for number, then in zip(older, judged, strict=True):
            if changed := _changed(checked[number], then):
                as_cited[number] = then._replace(result=replace(then.result, changed=changed))
        return as_cited

    def _archived(self, citation: Citation, written: str | None) -> CitedSource | None:
        """The archived copy of a page that was read; None if it cannot be judged."""
        found = self.copies.archived(citation, written)
        return found if found and isinstance(self._readable(found).source, Document) else None

    def _outcome(
        self,
        source: Document | Unchecked,
        found: Sequence[Evidence],
        judged: Sequence[Part],
        atoms: Sequence[Part],
        aim: pinpoint.Aim | None,
    ) -> Evidence | Unchecked:
        """What speaks for a source: of nearly equal passages one that the citation points at."""
        outcome = aggregation.speaking(found, self.threshold)
        if outcome is None:
            return _why_not(source)
        label = aggregation.label_of(outcome, self.threshold, judged, atoms)
        for other in pinpoint.preferred(found, outcome, aim):
            if aggregation.label_of(other, self.threshold, judged, atoms) is label:
                return other
        return outcome

    def _clauses(self, claim: Claim, evidence: Sequence[Sequence[Evidence]]) -> list[list[Part]]:
        """For each source the claim's clauses, judged in one batch; none of a claim of one.

        None either where the whole claim is surely supported: there clauses change no verdict.
        """
        found = clauses(claim.text)
        if len(found) < 2:
            return [[] for _ in evidence]
        best = [
            sorted(of_source, key=lambda e: -e.score)[: parts.BEST_PASSAGES]
            if not aggregation.is_sure(of_source, self.threshold)
            else []
            for of_source in evidence
        ]
        asked = [replace(claim, text=clause.text) for clause in found]
        pages = [
            cascade.Page(clause, [judged.passage for judged in of_source])
            for of_source in best
            for clause in asked
            if of_source
        ]
        answers = cascade.read(pages, self.verifier.verify, self._fails, first=1)
        strongest = filter(None, map(aggregation.best, answers))
        return [
            parts.judged(found, list(islice(strongest, len(found))), self.threshold) if s else []
            for s in best
        ]

    def _fails(self, evidence: Sequence[Evidence]) -> bool:
        return all(each.prob_supported < self.threshold for each in evidence)

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

    def _source(self, citation: Citation, written: str | None) -> CitedSource:
        """What was read for a citation, else the reason why nothing was."""
        return self._readable(self.copies.read(citation, written))

    def _readable(self, found: CitedSource) -> CitedSource:
        """The same, unless the model does not know its language."""
        source = found.source
        if isinstance(source, Unchecked) or not source.language:
            return found
        if source.language in self.languages:
            return found
        detail = f"the page is in {source.language!r}, the model reads "
        why = Unchecked(source.url, Reason.LANGUAGE, detail + ", ".join(self.languages))
        return found._replace(source=why)

    def _candidates(
        self, claim: Claim, written: str | None
    ) -> tuple[list[Hit], tuple[Exclusion, ...]]:
        """Both retrievers' hits as one list, without copies, cited pages and what is excluded."""
        if self.search is None:
            return [], ()
        words = queries.lexical_query(claim)
        asked = Asked(words, queries.dense_query(claim))
        (found,) = self.search.retrieve([asked], 2 * self.depth)
        seen = self.unfiltered.retrieve([words], self.depth)[0] if self.unfiltered else []
        cited = {address for citation in claim.citations for address in addresses(citation)}
        others = kept(found, lambda hit: hit.passage.url not in cited)
        allowed, excluded = self.exclusions.sifted(claim, others, seen, self.documents_of, written)
        candidates = without_copies(allowed)
        return at_most(self.per_page, candidates) if self.per_page else candidates, excluded

    def _from_the_web(
        self, claim: Claim, written: str | None
    ) -> tuple[list[Hit], tuple[Exclusion, ...]]:
        """What a search engine finds for a claim, under the rules of a corpus's candidates."""
        assert self.online
        cited = {address for citation in claim.citations for address in addresses(citation)}
        found = self.online.of(claim, cited, self.exclusions)
        allowed, copies = self.exclusions.sifted(claim, found.hits, (), self.online.get, written)
        return without_copies(allowed), (*found.excluded, *copies)

    def documents(self, urls: Sequence[str]) -> list[Document | None]:
        """Candidates' documents: of the corpus, else of the web."""
        none: list[Document | None] = [None] * len(urls)
        stored = self.documents_of(urls) if self.documents_of else none
        found = self.online.get(urls) if self.online else none
        return [first or other for first, other in zip(stored, found, strict=True)]

    def _together(self, claim: Claim, evidence: Sequence[Sequence[Evidence]]) -> Evidence | None:
        """A group's passages read as one text, one from each source: each may support a part.

        None where one of the sources surely supports all of it.
        """
        read = [of_source for of_source in evidence if of_source]
        if len(read) < 2 or any(aggregation.is_sure(found, self.threshold) for found in read):
            return None
        chosen = list(dict.fromkeys(aggregation.complementary(claim.text, read)))
        if len(chosen) < 2:
            return None
        text, title, about, page = (
            "\n".join(texts)
            for texts in zip(
                *((p.text, p.title, p.about, p.page or p.text) for p in chosen), strict=True
            )
        )
        joint = Passage("", "", title, text, Span(0, len(text)), about, page)
        (judged,) = self.verifier.verify([(claim, joint)])
        return judged

    def _judged(self, claim: Claim, hits: Sequence[Passage]) -> list[Evidence]:
        """The best hits judged; all of them where none of those surely supports the claim."""
        first = CANDIDATES_AT_FIRST
        judged = self.verifier.verify([(claim, passage) for passage in hits[:first]])
        if not aggregation.is_sure(judged, self.threshold):
            judged += self.verifier.verify([(claim, passage) for passage in hits[first:]])
        return judged

    def _wider(self, claim: Claim, candidates: Sequence[Evidence]) -> list[Evidence]:
        """The best candidates judged again as a cited source is: around the hit, in two widths.

        A corpus keeps each sentence in one passage, so evidence may be cut in two there.
        """
        if not (self.documents_of or self.online):
            return []
        best = sorted(candidates, key=lambda e: -e.score)[: RECONSIDERED * self.k]
        documents = self.documents([evidence.passage.url for evidence in best])
        pages = [
            cascade.Page(claim, _around(evidence.passage, document))
            for evidence, document in zip(best, documents, strict=True)
            if document
        ]
        found = cascade.read(pages, self.verifier.verify, self._is_open, first=WIDER_AT_FIRST)
        return list({each.passage.passage_id: each for page in found for each in page}.values())

    def _from_stored_text(self, suggested: Sequence[Suggestion]) -> list[Suggestion]:
        """Suggestions whose passage a plain comparison finds in the stored page, with its date."""
        if not (self.documents_of or self.online):
            return list(suggested)
        documents = self.documents([s.evidence.passage.url for s in suggested])
        return [
            replace(
                suggestion,
                published=document.published,
                place=pinpoint.place_of(suggestion.evidence, document, None),
                corpus=document.corpus,
            )
            for suggestion, document in zip(suggested, documents, strict=True)
            if document and _stands_in(suggestion.evidence.passage, document)
        ]


def _best_shares(hits: Sequence[Hit]) -> dict[str, float]:
    """Of each page the share of its best hit."""
    of_hits = list(zip(hits, shares(hits), strict=True))
    return {hit.passage.url: share for hit, share in reversed(of_hits)}


def _around(hit: Passage, document: Document) -> list[Passage]:
    return [wide for wide in cited_passages(document) if wide.span.overlaps(hit.span)]


def _stands_in(passage: Passage, document: Document) -> bool:
    return passage.span.of(document.text) == passage.text


def _passages(source: Document | Unchecked) -> list[Passage]:
    return cited_passages(source) if isinstance(source, Document) else []


def _whole(source: Document | Unchecked) -> list[Passage]:
    return whole(source) if isinstance(source, Document) else []


def _text(source: Document | Unchecked) -> str:
    return source.text if isinstance(source, Document) else ""


def _aim(citation: Citation, source: Document | Unchecked) -> pinpoint.Aim | None:
    return pinpoint.aim_of(citation, source) if isinstance(source, Document) else None


def _place(
    outcome: Evidence | Unchecked, source: Document | Unchecked, aim: pinpoint.Aim | None
) -> Place | None:
    if isinstance(outcome, Evidence) and isinstance(source, Document):
        return pinpoint.place_of(outcome, source, aim)
    return None


def _why_not(source: Document | Unchecked) -> Unchecked:
    """The reason behind a source that gave no evidence."""
    if isinstance(source, Unchecked):
        return source
    return Unchecked(source.url, Reason.EMPTY, "the stored copy has no sentences")


def _may_have_changed(result: CitationResult) -> bool:
    """Whether an archived copy may say more: the page itself was read, and does not say all."""
    copy = result.copy
    # The page of its DOI may be live too; it is no later version of this one.
    live = copy and copy.kind is CopyKind.LIVE and copy.url == result.citation.url
    return (
        bool(live) and isinstance(result.outcome, Evidence) and result.label is not Label.SUPPORTED
    )


def _changed(today: _Checked, archived: _Checked) -> Changed | None:
    """Today's page, if the archived copy bears more out, by what is no longer there."""
    now, then = today.result, archived.result
    if not isinstance(then.outcome, Evidence) or not changes.bears_more(then.label, now.label):
        return None
    assert isinstance(today.source, Document)
    if changes.still_stands(then.outcome.passage.text, today.source.text):
        return None
    assert isinstance(now.outcome, Evidence)
    assert now.copy
    return Changed(now.copy, now.outcome, now.label)
