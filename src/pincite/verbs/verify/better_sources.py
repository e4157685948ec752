"""Searches better sources for a claim: corpus and web, judged by the verifier.

claim ─▶ hits by words and meaning ─▶ verifier ─▶ those that outrank its own sources
best hits ─▶ more of their pages ─▶ verifier ─▶ suggestions whose quote shows why
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from pincite.judgement import decide
from pincite.judgement.atoms import atoms, unstated_atoms
from pincite.judgement.provenance import Retraction, retraction_of
from pincite.library.exclusions import WITHOUT_LIST, Exclusions
from pincite.library.private_copies import citation_keys, document_keys
from pincite.protocols import DocumentsOf, Verifier, WordRetriever
from pincite.retrieval import cascade, fusion
from pincite.retrieval.copies import without_copies
from pincite.retrieval.pinpoint import place_of
from pincite.text import quantities, tables
from pincite.text.hosts import host_of
from pincite.text.identifiers import split_authors, work_key
from pincite.text.passages import cited_passages
from pincite.types import (
    HEADLINE,
    WEBSITE,
    Claim,
    Document,
    Evidence,
    Exclusion,
    Finding,
    FoundBy,
    Hit,
    Label,
    Passage,
    Suggestion,
)
from pincite.verbs.verify.report import addresses

if TYPE_CHECKING:
    from pincite.library.web_pages import WebCandidates

# Probability of support from which a page is shown as a better source. Of twelve that reached only
# `decide.THRESHOLD`, eight were wrong.
SUGGESTED_FROM = 0.4
JUDGED_FIRST = 20  # candidates; the rest are judged only if none of these clearly supports
# Times `k`: candidates whose pages are read on, and suggestions of which the quotes are checked.
RECONSIDERED = 2


@dataclass(frozen=True, slots=True)
class BetterSources:
    """Finds pages that support a claim better than its own sources. None: not searched."""

    verifier: Verifier
    search: fusion.Fused | None = None
    documents_of: DocumentsOf | None = None  # the corpus that is searched
    depth: int = 100  # hits per retriever
    judged: int = fusion.JUDGED
    k: int = 3  # suggestions per claim
    threshold: float = decide.THRESHOLD
    exclusions: Exclusions = WITHOUT_LIST  # what is never suggested, and why
    unfiltered: WordRetriever | None = None  # also finds excluded pages, so that they can be listed
    online: "WebCandidates | None" = None  # used if a claim's own sources fail it

    def add_to(self, finding: Finding, written: str | None) -> Finding:
        """Add suggestions to a finding. `written`: date of the article."""
        claim, is_failing = finding.claim, finding.label is not Label.SUPPORTED
        hits, excluded = self._search_corpus(claim, written)
        passages = [hit.passage for hit in hits[: self.judged]]
        candidates = self._judge(claim, passages[:JUDGED_FIRST])
        if not decide.is_sure(candidates, self.threshold):
            candidates += self._judge(claim, passages[JUDGED_FIRST:])
        priors = _priors(hits)
        if self.online and is_failing:
            web = self.online.of(claim, _cited_addresses(claim), self.exclusions)
            allowed, copies = self.exclusions.split(claim, web.hits, (), self.online.get, written)
            pages = without_copies(allowed)
            candidates += self._judge(claim, [hit.passage for hit in pages])
            priors |= _priors(pages)
            excluded = (*excluded, *web.excluded, *copies)
        if is_failing:
            candidates += self._read_on(claim, candidates)
        candidates = [evidence for evidence in candidates if not evidence.failed]
        existing = decide.group_score(finding.citations, finding.together)
        chosen = outranking(candidates, existing, self.threshold, priors)
        suggestions = [
            replace(suggestion, found_by=_found_by(hits, suggestion.url))
            for suggestion in self._in_stored_pages(claim, chosen[: RECONSIDERED * self.k])
            if self._shows_why(claim, suggestion.evidence)
        ]
        return replace(
            finding,
            suggestions=tuple(suggestions[: self.k]),
            n_candidates=len(candidates),
            excluded=excluded,
        )

    def documents(self, urls: Sequence[str]) -> list[Document | None]:
        """Return the stored documents, else the pages from the web, in order."""
        unknown: list[Document | None] = [None] * len(urls)
        stored = self.documents_of(urls) if self.documents_of else unknown
        fetched = self.online.get(urls) if self.online else unknown
        return [first or other for first, other in zip(stored, fetched, strict=True)]

    def _search_corpus(
        self, claim: Claim, written: str | None
    ) -> tuple[list[Hit], tuple[Exclusion, ...]]:
        if self.search is None:
            return [], ()
        query = fusion.lexical_query(claim)
        hybrid = fusion.HybridQuery(query, fusion.dense_query(claim))
        (hits,) = self.search.retrieve([hybrid], 2 * self.depth)
        seen = self.unfiltered.retrieve([query], self.depth)[0] if self.unfiltered else []
        cited = _cited_addresses(claim)
        others = fusion.filter_hits(hits, lambda hit: hit.passage.url not in cited)
        allowed, excluded = self.exclusions.split(claim, others, seen, self.documents_of, written)
        return without_copies(allowed), excluded

    def _judge(self, claim: Claim, passages: Sequence[Passage]) -> list[Evidence]:
        return decide.verify_each(self.verifier.verify, [(claim, passage) for passage in passages])

    def _read_on(self, claim: Claim, candidates: Sequence[Evidence]) -> list[Evidence]:
        """Judge more of the best candidates' pages: the corpus's passages may cut evidence."""
        best = sorted(candidates, key=lambda evidence: evidence.score, reverse=True)
        hits = [evidence.passage for evidence in best[: RECONSIDERED * self.k]]
        pages = []
        for hit, document in zip(hits, self.documents([hit.url for hit in hits]), strict=True):
            if document:
                near = [p for p in cited_passages(document) if p.span.overlaps(hit.span)]
                pages.append(cascade.Page(claim, cascade.with_covering(claim.text, near)))
        verify = partial(decide.verify_each, self.verifier.verify)
        is_open = partial(decide.is_open, threshold=self.threshold)
        read = cascade.read_pages(pages, verify, is_open, first=1)
        by_passage = {one.passage.passage_id: one for of_page in read for one in of_page}
        return list(by_passage.values())

    def _in_stored_pages(self, claim: Claim, suggested: Sequence[Suggestion]) -> list[Suggestion]:
        """Keep the suggestions whose passage is found verbatim in the stored page; add its facts.

        The cited work itself, which may be stored at another address, and retracted works are none.
        """
        cited = set[str]()
        for citation in claim.citations:
            title, url, publisher = citation.title, citation.url, citation.publisher
            cited.update(citation_keys(citation))
            cited |= _work_keys(title or "", url or "", citation.authors, publisher or "")
        urls = [suggestion.url for suggestion in suggested]
        return [
            self._with_facts(suggestion, document)
            for suggestion, document in zip(suggested, self.documents(urls), strict=True)
            if document is not None
            and suggestion.evidence.passage.stands_in(document.text)
            and cited.isdisjoint(_keys_of(document))
            and retraction_of(document) is not Retraction.YES
        ]

    def _with_facts(self, suggestion: Suggestion, document: Document) -> Suggestion:
        return replace(
            suggestion,
            published=document.published,
            headline=document.meta.get(HEADLINE, document.title),
            site=_site(document),
            authors=_authors(document),
            place=place_of(suggestion.evidence, document, None),
            corpus=document.corpus,
            listing=self.exclusions.listing_of(suggestion.url),
        )

    def _shows_why(self, claim: Claim, evidence: Evidence) -> bool:
        """Whether the quote states the claim's values and names, or supports it by itself.

        A quote that contradicts the claim, or has another value, does not.
        """
        if not evidence.quoted:
            return False
        alone = replace(evidence.passage, text=evidence.quoted, page="", pieces=())
        (judged,) = self._judge(claim, [alone])
        if judged.contradiction or decide.refutes(judged):
            return False
        source = f"{alone.about}\n{alone.text}"
        absent = tables.unstated_values(claim.text, source, (claim.language, None))
        for value in quantities.values(alone.text):
            if any(quantities.conflict(value, claimed) for claimed in absent):
                return False
        if judged.prob_supported >= SUGGESTED_FROM:
            return True
        is_complete = not unstated_atoms(claim.text, [alone], claim.language)
        return is_complete and bool(atoms(claim.text))


def outranking(
    candidates: Sequence[Evidence],
    existing: float | None,
    threshold: float,
    priors: Mapping[str, float],
) -> list[Suggestion]:
    """Return the candidates that support the claim and outrank its citations, best first.

    Only the best passage of a page counts, and pages that contradict the claim do not. Unlike in
    SIDE, a suggestion needs a probability of support, `threshold` or SUGGESTED_FROM. `existing` is
    the score of the citations; None: they could not be checked. `priors`, the log-odds of each page
    by its search, are added to those of the evidence; a page that is not in it gets the best.
    """
    best_prior = max(priors.values(), default=0.0)
    least = max(threshold, SUGGESTED_FROM)
    floor = -math.inf if existing is None else existing
    against = {e.passage.url for e in candidates if e.contradiction or decide.refutes(e)}

    def order(evidence: Evidence) -> float:
        return evidence.score + priors.get(evidence.passage.url, best_prior)

    by_page: dict[str, Suggestion] = {}
    for evidence in sorted(candidates, key=order, reverse=True):
        is_better = evidence.prob_supported >= least and evidence.score > floor
        if is_better and evidence.passage.url not in against:
            gain = evidence.score - (existing or 0.0)
            by_page.setdefault(evidence.passage.url, Suggestion(evidence, None, gain))
    return list(by_page.values())


def _cited_addresses(claim: Claim) -> set[str]:
    return {address for citation in claim.citations for address in addresses(citation)}


def _found_by(hits: Sequence[Hit], url: str) -> FoundBy:
    """Which searches found passages of a page."""
    ways = {hit.found_by for hit in hits if hit.passage.url == url}
    if len(ways) > 1:
        return "both"
    return ways.pop() if ways else ""


def _priors(hits: Sequence[Hit]) -> dict[str, float]:
    """Return the log-odds of each page by its best hit, by url."""
    priors: dict[str, float] = {}
    for hit, share in zip(hits, fusion.shares(hits), strict=True):
        priors.setdefault(hit.passage.url, fusion.with_prior(0.0, share))
    return priors


def _site(document: Document) -> str:
    names = (document.meta.get(key) for key in ("journal", WEBSITE, "site", "publisher"))
    return next(filter(None, names), "")


def _authors(document: Document) -> tuple[str, ...]:
    return tuple(split_authors(document.meta.get("authors") or document.meta.get("author") or ""))


def _keys_of(document: Document) -> frozenset[str]:
    """Return what identifies a document as a work: its identifiers, and its title with names."""
    title = document.meta.get(HEADLINE, document.title)
    by_title = _work_keys(title, document.url, _authors(document), _site(document))
    return document_keys(document) | by_title


def _work_keys(title: str, url: str, authors: Sequence[str], site: str) -> frozenset[str]:
    """Return keys of a work: its title with each author, its publisher or its host."""
    sites = [re.sub(r"^www\.|\W", "", name) for name in (site, host_of(url))]
    keys = (work_key(title, [name]) for name in (*authors, *sites))
    return frozenset(key for key in keys if key)
