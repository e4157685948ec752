"""`verify`: does the cited source support the claim, and if not, what would?

claim ─▶ its sources' passages ─▶ verifier ─▶ labels, group
claims that fail ─▶ lexical + dense hits ─▶ verifier ─▶ suggestions
its clauses ─▶ best passages of its sources ─▶ verifier ─▶ what is missing of it
pages that fail it ─▶ their archived copies ─▶ verifier ─▶ which of them changed since
findings ─▶ their sources' texts ─▶ examined language model ─▶ one verdict of both

An error costs its own pair, source or suggestions or, at worst, the claim (`pincite.errors`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product, starmap
from typing import Literal, NamedTuple

from pincite import errors
from pincite.documents.text import code_of
from pincite.judgement import aggregation, decide, references
from pincite.library.exclusions import WITHOUT_LIST, Exclusions, copied_from
from pincite.library.private_copies import citation_keys, document_keys, mentions, names_of
from pincite.library.web_pages import WebCandidates
from pincite.llm.calls import Calls, run_concurrently
from pincite.llm.judge import Examiner, Judge
from pincite.notes import Note
from pincite.protocols import DocumentsOf, Verifier, WordRetriever
from pincite.retrieval import cascade, fusion
from pincite.text import quantities, tables
from pincite.text.clauses import clauses
from pincite.text.dates import stated_date
from pincite.text.hosts import host_of
from pincite.text.identifiers import split_authors, work_key
from pincite.text.languages import named
from pincite.text.page_numbers import UNREAD
from pincite.text.passages import cited_passages, whole
from pincite.text.sentences import sentences
from pincite.text.words import shared
from pincite.types import (
    GAP,
    HEADLINE,
    STOPPED,
    WEBSITE,
    Article,
    Changed,
    Citation,
    CitationResult,
    Claim,
    CopyKind,
    Document,
    Evidence,
    Exclusion,
    Failed,
    Finding,
    FoundBy,
    Hit,
    Label,
    Opinion,
    Part,
    Passage,
    Reason,
    Span,
    Suggestion,
    Unchecked,
    Uncited,
    own_digest,
)
from pincite.verbs.verify.cited_copies import CitedCopies, CitedSource
from pincite.verbs.verify.report import addresses

# English wikis that use another language code.
_ENGLISH = {"simple": "en", "": "en"}
RECONSIDERED = 2  # times k candidates whose pages are read, not only the passages found
# What a quote must share with a claim (`words.shared`: two words or a figure) if its passage is far
# from supporting it. Of 193 such quotes for SciFact and WiCE dev claims, 40 share less; the 19 that
# we read showed nothing of their claims ("### Select Language:").
LEAST_SHARED = 2.0
CANDIDATES_AT_FIRST = 20  # the rest are read only if none of these clearly supports the claim


class ReadSource(NamedTuple):
    """The source of one citation, cut into passages, with the evidence in them."""

    citation: Citation
    cited: CitedSource
    aim: cascade.Aim | None = None  # the place in it that the citation points to
    passages: Sequence[Passage] = ()
    evidence: Sequence[Evidence] = ()
    unjudged: Failed | None = None  # why some passages could not be judged

    @property
    def source(self) -> Document | Unchecked:
        return self.cited.source

    def as_failed(self, why: Failed | Unchecked) -> "ReadSource":
        if isinstance(why, Failed):
            why = errors.unchecked(self.citation.url or "", why)
        return ReadSource(self.citation, self.cited._replace(source=why))

    def with_evidence(self, claim: Claim, evidence: Sequence[Evidence]) -> "ReadSource":
        """Add the evidence; marks the source as failed if no passage could be judged."""
        judged = [each for each in evidence if not each.failed]
        failures = [each.failed for each in evidence if each.failed]
        if failures and not judged:
            return self.as_failed(failures[0])
        text = self.source.text if isinstance(self.source, Document) else ""
        return self._replace(
            evidence=[aggregation.discard_rebutted(claim, each, text) for each in judged],
            unjudged=failures[0] if failures else None,
        )


class _Checked(NamedTuple):
    """A citation with the source as read and its result."""

    read: ReadSource
    result: CitationResult


@dataclass(frozen=True, slots=True)
class VerifyPipeline:
    """The `verify` pipeline. Parts that are None are not used."""

    verifier: Verifier
    copies: CitedCopies
    search: fusion.Fused | None = None
    documents_of: DocumentsOf | None = None
    languages: frozenset[str] = frozenset({"en"})  # that the verifier reads
    depth: int = 100  # hits per retriever
    judged: int = fusion.JUDGED
    read: int = cascade.READ
    k: int = 3
    threshold: float = decide.THRESHOLD
    suggest: Literal["failing", "all"] = "failing"  # claims to search better sources for
    exclusions: Exclusions = WITHOUT_LIST  # what is never suggested, and why
    unfiltered: WordRetriever | None = None  # also finds excluded pages, so that they can be listed
    online: WebCandidates | None = None  # used if a claim's own sources fail it

    @property
    def warnings(self) -> tuple[str, ...]:
        of_search = self.online.search.warnings if self.online else ()
        return (*of_search, *self.copies.warnings)

    def findings(self, article: Article) -> Iterator[Finding]:
        """Yield one finding per claim, in article order, as soon as it is known."""
        stated = article.language
        language = _ENGLISH.get(stated) or code_of(stated) or stated
        detail = f"the article is in {named(language)}"
        for claim in article.claims:
            if language in self.languages:
                yield self.finding(claim, article.timestamp)
                continue
            sources = [self._obtain(each, article.timestamp) for each in claim.citations]
            unread = [
                each.as_failed(Unchecked(each.source.url, Reason.LANGUAGE, detail))
                if isinstance(each.source, Document)
                else each
                for each in sources
            ]
            yield self._group(claim, [self._check(claim, each) for each in unread])

    def finding(self, claim: Claim, written: str | None = None) -> Finding:
        """Check a claim's sources, then search better ones. `written`: date of the article."""
        return errors.attempted(
            lambda: self._finding(claim, written), lambda why: errors.bare(claim, why)
        )

    def _finding(self, claim: Claim, written: str | None) -> Finding:
        sources = [self._obtain(citation, written) for citation in claim.citations]
        checked = self._check_all(claim, sources)
        found = self._group(claim, checked)
        if found.label is not Label.SUPPORTED:
            as_cited = self._as_cited(claim, checked, written)
            found = self._group(claim, as_cited) if as_cited != checked else found
            if claim.earlier and found.label is not Label.SUPPORTED:
                found = self._with_earlier(claim, as_cited, written, found)
        if found.label is not Label.SUPPORTED or claim.wants_source or self.suggest == "all":
            found = errors.attempted(
                lambda: self._with_better_sources(found, written),
                lambda why: replace(found, failed=why),
            )
        return only_quotes(found)

    def with_sources(self, uncited: Uncited, written: str | None = None) -> Uncited:
        """Add sources that could be cited for a sentence."""
        if not (self.search or self.online) or "en" not in self.languages:
            return uncited
        found = self.finding(uncited.claim, written)
        return replace(
            uncited,
            suggestions=found.suggestions,
            n_candidates=found.n_candidates,
            excluded=found.excluded,
            failed=found.failed,
        )

    # ── Its sources ──────────────────────────────────────────────────────────────────────────────

    def _obtain(self, citation: Citation, written: str | None) -> ReadSource:
        nothing = ReadSource(citation, CitedSource(Unchecked(citation.url or "", Reason.EMPTY)))
        return errors.attempted(
            lambda: self._cut(citation, self.copies.read(citation, written)), nothing.as_failed
        )

    def _cut(self, citation: Citation, found: CitedSource) -> ReadSource:
        """Cut a source into passages, unless it copies Wikipedia or is in another language."""
        source = found.source
        if isinstance(source, Unchecked):
            return ReadSource(citation, found)
        why = None
        if origin := copied_from(source, citation.url or citation.archive_url or ""):
            why = Unchecked(source.url, Reason.CIRCULAR, origin)
        elif source.language and source.language not in self.languages:
            why = Unchecked(source.url, Reason.LANGUAGE, named(source.language))
        if why:
            return ReadSource(citation, found._replace(source=why))
        if not source.published:
            source = replace(source, published=stated_date(citation.date or "") or None)
        found = found._replace(source=source)
        aim = cascade.aim_of(citation, source)
        return ReadSource(citation, found, aim, cited_passages(source))

    def _verify(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Evidence]:
        return errors.verified(self.verifier.verify, pairs)

    def _judge_sources(self, claim: Claim, sources: Sequence[ReadSource]) -> list[ReadSource]:
        """Judge each source. If the verdict stays open, read everything worth reading."""
        pages = [
            cascade.Page(
                claim,
                cascade.with_covering(claim.text, each.passages),
                each.aim.spans if each.aim else (),
            )
            for each in sources
        ]
        found = cascade.read(pages, self._verify, self._is_open, self.read)
        return [
            source.with_evidence(claim, evidence)
            for source, evidence in zip(sources, found, strict=True)
        ]

    def _is_open(self, evidence: Sequence[Evidence]) -> bool:
        return decide.is_open(evidence, self.threshold)

    def _fails(self, evidence: Sequence[Evidence]) -> bool:
        return all(each.prob_supported < self.threshold for each in evidence)

    def _group(self, claim: Claim, checked: Sequence[_Checked]) -> Finding:
        results = tuple(each.result for each in checked)
        together = self._together(claim, [each.read.evidence for each in checked])
        if len(checked) == 1:
            atoms = list(checked[0].result.lacking)
        else:
            atoms = _missing_atoms(claim, [each.read for each in checked])
            for result in results:
                atoms += aggregation.contradicted(claim.text, result.outcome)
        label = decide.group_label(results, together, self.threshold, atoms)
        return Finding(
            claim=claim,
            citations=results,
            together=together,
            label=label,
            score=decide.group_score(results, together),
            suggestions=(),
            missing=aggregation.missing_of_group(claim.text, label, results, atoms),
            lacking=tuple(atoms),
        )

    def _with_earlier(
        self, claim: Claim, checked: Sequence[_Checked], written: str | None, alone: Finding
    ) -> Finding:
        """Add the sources of the preceding words if together they support the claim.

        In "It opened in 1911[1] after a year of work.[2]", the second source is cited for its own
        words only, and the first one has the year.
        """
        obtained = [self._obtain(citation, written) for citation in claim.earlier]
        judged = errors.each(
            partial(self._judge_sources, claim), obtained, lambda source, why: source.as_failed(why)
        )
        before = [read.evidence for read in judged]
        own_evidence = [each.read.evidence for each in checked if each.read.evidence]
        together = self._together(claim, [*own_evidence, *before]) if own_evidence else None
        if together is None or not all(map(self._fails, before)):
            return alone  # the earlier sources add nothing
        if decide.label_of(together, self.threshold) is not Label.SUPPORTED:
            return alone
        results = tuple(
            replace(result, label=Label.PARTLY_SUPPORTED)
            if result.label is Label.NOT_SUPPORTED
            else result
            for result in alone.citations
        )
        return replace(
            alone,
            citations=results,
            together=together,
            label=Label.SUPPORTED,
            score=decide.group_score(results, together),
        )

    def _check_all(self, claim: Claim, sources: Sequence[ReadSource]) -> list[_Checked]:
        def checked(some: Sequence[ReadSource]) -> list[_Checked]:
            read = self._judge_sources(claim, some)
            return list(map(partial(self._check, claim), read, self._clauses(claim, read)))

        return errors.each(
            checked, sources, lambda source, why: self._check(claim, source.as_failed(why))
        )

    def _check(self, claim: Claim, read: ReadSource, judged: Sequence[Part] = ()) -> _Checked:
        atoms = _missing_atoms(claim, [read])
        outcome = self._outcome(read, judged, atoms)
        atoms += aggregation.contradicted(claim.text, outcome)
        label = decide.label_of(outcome, self.threshold, judged, atoms)
        fails = label not in (Label.SUPPORTED, Label.PARTLY_SUPPORTED)
        if fails and isinstance(read.source, Document) and UNREAD in read.source.meta:
            # The pages that could not be read may be the ones that support the claim.
            detail = read.source.meta[UNREAD]
            why = Unchecked(read.source.url, Reason.UNREADABLE_SCAN, detail)
            return self._check(claim, read.as_failed(why))
        if fails and read.unjudged:
            # The passages that could not be judged may be the ones that support the claim.
            return self._check(claim, read.as_failed(read.unjudged))
        source, citation, place, other_copy = read.source, read.citation, None, False
        if isinstance(outcome, Evidence) and isinstance(source, Document):
            unrelated = shared(claim.text, outcome.quoted) < LEAST_SHARED
            far = label is Label.NOT_SUPPORTED and not decide.is_near(outcome, self.threshold)
            if outcome.quote and unrelated and far and not outcome.contradiction:
                outcome = replace(outcome, quote=None)
            else:
                place = cascade.place_of(outcome, source, read.aim, claim.text)
            copy = read.cited.copy
            is_own = copy is not None and copy.kind is CopyKind.OWN
            other_copy = fails and is_own and not mentions(source, names_of(citation))
            if other_copy:
                note = Note("other_copy", {"title": citation.title or citation.text})
                outcome = replace(outcome, notes=(*outcome.notes, note))
            if not fails and (words := aggregation.beyond_quote(claim, outcome)):
                note = Note("beyond_quote", {"words": words})
                outcome = replace(outcome, notes=(*outcome.notes, note))
        result = CitationResult(
            citation=citation,
            outcome=references.with_retraction(outcome, source),
            label=label,
            clauses=tuple(judged),
            missing=aggregation.missing(label, judged, atoms),
            lacking=tuple(atoms),
            listing=self.exclusions.listing_of(citation.url or citation.archive_url),
            place=place,
            copy=read.cited.copy,
            not_live=read.cited.not_live,
            other_copy=other_copy,
        )
        return _Checked(read, result)

    def _as_cited(
        self, claim: Claim, checked: Sequence[_Checked], written: str | None
    ) -> list[_Checked]:
        """Replace live pages that fail the claim by archived copies that support more of it.

        The editor cited what the page said then. A copy counts as older only if its passage is gone
        from today's page; otherwise the same page would be judged twice.
        """
        as_cited = list(checked)
        older = {
            number: archived
            for number, each in enumerate(checked)
            if _may_have_changed(each.result)
            and (archived := self._archived(each.result.citation, written))
        }
        judged = self._check_all(claim, list(older.values()))
        for number, then in zip(older, judged, strict=True):
            if changed := _changed(checked[number], then):
                as_cited[number] = then._replace(result=replace(then.result, changed=changed))
        return as_cited

    def _archived(self, citation: Citation, written: str | None) -> ReadSource | None:
        """Read the archived copy of a live page; None if it cannot be judged."""
        found = errors.attempted(lambda: self.copies.archived(citation, written), lambda why: None)
        read = self._cut(citation, found) if found else None
        return read if read and isinstance(read.source, Document) else None

    def _outcome(
        self, read: ReadSource, judged: Sequence[Part], atoms: Sequence[Part]
    ) -> Evidence | Unchecked:
        """Choose the evidence that decides on a source.

        Of nearly equal passages, prefer one that the citation points to; for a partly supported
        claim, prefer one that states the supported part.
        """
        if isinstance(read.source, Unchecked):
            return read.source
        outcome = decide.deciding_evidence(read.evidence, self.threshold)
        if outcome is None:
            return Unchecked(read.source.url, Reason.EMPTY, "the stored copy has no sentences")
        label = decide.label_of(outcome, self.threshold, judged, atoms)
        if label is Label.PARTLY_SUPPORTED and not outcome.quote:
            for supported in [part.evidence for part in judged if part.supported]:
                for each in read.evidence:
                    if supported and supported.quote and each.passage == supported.passage:
                        outcome = replace(each, quote=supported.quote)
        for other in cascade.preferred(read.evidence, outcome, read.aim):
            if decide.label_of(other, self.threshold, judged, atoms) is label:
                return other
        return outcome

    def _clauses(self, claim: Claim, sources: Sequence[ReadSource]) -> list[list[Part]]:
        """Judge the claim's clauses against each source, in one batch.

        Empty for a single clause, and for a source that clearly supports the whole claim.
        """
        parts = [
            clause
            for clause in clauses(claim.text)
            if claim.own is None or clause.span.overlaps(claim.own)
        ]
        found: list[list[Part]] = [[] for _ in sources]
        if len(parts) < 2:
            return found
        pages, places = [], []
        for of_source, read in zip(found, sources, strict=True):
            if decide.is_sure(read.evidence, self.threshold):
                continue
            best = sorted(read.evidence, key=lambda e: -e.score)[: aggregation.BEST_PASSAGES]
            for clause in parts if best else ():
                asked = replace(claim, text=clause.text, own=None)
                pages.append(cascade.Page(asked, [each.passage for each in best]))
                places.append((of_source, clause))
        judged = cascade.read(pages, self._verify, self._fails, first=1)
        for (of_source, clause), evidence in zip(places, judged, strict=True):
            if strongest := decide.best(evidence):
                supported = strongest.prob_supported >= self.threshold
                words = clause.span.of(claim.text)
                of_source.append(
                    Part("clause", clause.span, words, supported, strongest, clause.text)
                )
        return found

    def _together(self, claim: Claim, evidence: Sequence[Sequence[Evidence]]) -> Evidence | None:
        """Judge the sources' best passages as one text; None if one source clearly supports all."""
        read = [of_source for of_source in evidence if of_source]
        if len(read) < 2 or any(decide.is_sure(found, self.threshold) for found in read):
            return None
        chosen = list(dict.fromkeys(aggregation.complementary(claim.text, read)))
        if len(chosen) < 2:
            return None
        fields = [(p.text, p.title, p.about, p.page or p.text) for p in chosen]
        text, title, about, page = map("\n".join, zip(*fields, strict=True))
        foreign = (p.language for p in chosen if p.language not in ("en", None))
        sure = min((p.recognised for p in chosen if p.recognised is not None), default=None)
        whole_of = Span(0, len(text))
        joint = Passage("", "", title, text, whole_of, about, page, next(foreign, None), sure)
        joint = replace(joint, voice=chosen[-1].voice)
        (judged,) = self._verify([(claim, joint)])
        return None if judged.failed else judged

    # ── Better sources ───────────────────────────────────────────────────────────────────────────

    def _with_better_sources(self, found: Finding, written: str | None) -> Finding:
        claim, failing = found.claim, found.label is not Label.SUPPORTED
        hits, excluded = self._candidates(claim, written)
        passages = [hit.passage for hit in hits[: self.judged]]
        judged = self._verify([(claim, each) for each in passages[:CANDIDATES_AT_FIRST]])
        if not decide.is_sure(judged, self.threshold):
            judged += self._verify([(claim, each) for each in passages[CANDIDATES_AT_FIRST:]])
        priors = _priors(hits)
        if self.online and failing:
            searched = self.online.of(claim, _cited_addresses(claim), self.exclusions)
            allowed, copies = self.exclusions.split(
                claim, searched.hits, (), self.online.get, written
            )
            more = fusion.without_copies(allowed)
            judged += self._verify([(claim, hit.passage) for hit in more])
            priors |= _priors(more)
            excluded = (*excluded, *searched.excluded, *copies)
        if failing:
            judged += self._wider(claim, judged)
        judged = [each for each in judged if not each.failed]
        ordered = aggregation.suggestions(
            judged,
            existing=decide.group_score(found.citations, found.together),
            k=RECONSIDERED * self.k,  # the quotes of some do not show why
            threshold=self.threshold,
            priors=priors,
        )
        stored = self._from_stored_text(claim, ordered)
        shown = [each for each in stored if self._shows_why(claim, each.evidence)][: self.k]
        shown = [replace(each, found_by=_found_by(hits, each.url)) for each in shown]
        return replace(found, suggestions=tuple(shown), n_candidates=len(judged), excluded=excluded)

    def _shows_why(self, claim: Claim, evidence: Evidence) -> bool:
        """Whether the quote states the claim's values and names, or supports it by itself.

        A quote that contradicts the claim, or has another value, does not.
        """
        if not evidence.quoted:
            return False
        alone = replace(evidence.passage, text=evidence.quoted, page="", pieces=())
        (read,) = self._verify([(claim, alone)])
        absent = tables.unstated(claim.text, f"{alone.about}\n{alone.text}", (claim.language, None))
        rivals = product(quantities.values(alone.text), absent)
        if read.contradiction or decide.refutes(read) or any(starmap(quantities.conflict, rivals)):
            return False
        lacking = aggregation.missing_atoms(claim.text, [alone], claim.language)
        stated = not lacking and bool(aggregation.atoms(claim.text))
        return stated or read.prob_supported >= aggregation.SUGGESTED_FROM

    def _candidates(
        self, claim: Claim, written: str | None
    ) -> tuple[list[Hit], tuple[Exclusion, ...]]:
        if self.search is None:
            return [], ()
        query = fusion.lexical_query(claim)
        (found,) = self.search.retrieve(
            [fusion.HybridQuery(query, fusion.dense_query(claim))], 2 * self.depth
        )
        seen = self.unfiltered.retrieve([query], self.depth)[0] if self.unfiltered else []
        cited = _cited_addresses(claim)
        others = fusion.kept(found, lambda hit: hit.passage.url not in cited)
        allowed, excluded = self.exclusions.split(claim, others, seen, self.documents_of, written)
        return fusion.without_copies(allowed), excluded

    def documents(self, urls: Sequence[str]) -> list[Document | None]:
        none: list[Document | None] = [None] * len(urls)
        stored = self.documents_of(urls) if self.documents_of else none
        found = self.online.get(urls) if self.online else none
        return [first or other for first, other in zip(stored, found, strict=True)]

    def _wider(self, claim: Claim, candidates: Sequence[Evidence]) -> list[Evidence]:
        """Judge more of the best candidates' pages: corpus passages may cut evidence."""
        best = sorted(candidates, key=lambda e: -e.score)[: RECONSIDERED * self.k]
        hits = [evidence.passage for evidence in best]
        pages = [
            cascade.Page(
                claim,
                cascade.with_covering(
                    claim.text, [p for p in cited_passages(document) if p.span.overlaps(hit.span)]
                ),
            )
            for hit, document in zip(hits, self.documents([hit.url for hit in hits]), strict=True)
            if document
        ]
        found = cascade.read(pages, self._verify, self._is_open, first=1)
        return list({each.passage.passage_id: each for page in found for each in page}.values())

    def _from_stored_text(self, claim: Claim, suggested: Sequence[Suggestion]) -> list[Suggestion]:
        """Keep the suggestions whose passage is found verbatim in the stored page; add its date.

        The cited work itself, which may be stored at another address, is none.
        """
        cited = set[str]()
        for each in claim.citations:
            work = (each.title or "", each.url or "", each.authors, each.publisher or "")
            cited |= {*citation_keys(each), *_work_keys(*work)}
        urls = [suggestion.evidence.passage.url for suggestion in suggested]
        found = []
        for suggestion, document in zip(suggested, self.documents(urls), strict=True):
            passage = suggestion.evidence.passage
            if document is None or not passage.stands_in(document.text):
                continue
            meta = document.meta
            headline = meta.get(HEADLINE, document.title)
            sites = map(meta.get, ("journal", WEBSITE, "site", "publisher"))
            site = next(filter(None, sites), "")
            authors = tuple(split_authors(meta.get("authors") or meta.get("author") or ""))
            works = _work_keys(headline, document.url, authors, site)
            if not cited.isdisjoint(document_keys(document) | works):
                continue
            if references.retraction_of(document) is references.Retraction.YES:
                continue
            found.append(
                replace(
                    suggestion,
                    published=document.published,
                    headline=headline,
                    site=site,
                    authors=authors,
                    place=cascade.place_of(suggestion.evidence, document, None),
                    corpus=document.corpus,
                    listing=self.exclusions.listing_of(passage.url),
                )
            )
        return found


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """Asks an examined language model about findings; `decide` makes one verdict of both."""

    examiner: Examiner
    copies: CitedCopies
    most: int | None = 100  # findings to ask about; None: all
    at_once: int = 4

    @property
    def calls(self) -> Calls:
        return self.examiner.judge.calls

    def on(
        self,
        article: Article,
        findings: Sequence[Finding],
        progress: Callable[[int, int], None] | None = None,  # calls done, in total
    ) -> list[Finding]:
        """Decide with the model's opinions. After Ctrl-C, use those that arrived."""
        chosen = worth_asking(findings)[: self.most]
        found = list(findings)
        if not chosen:
            return found
        judge = self.examiner(article.language)
        if isinstance(judge, Failed):
            opinions: Sequence[Opinion | Failed | None] = [judge] * len(chosen)
        else:
            asking = [partial(self._opinion, judge, found[n], article.timestamp) for n in chosen]
            opinions = run_concurrently(asking, self.at_once, self.calls, progress)
        for n, opinion in zip(chosen, opinions, strict=True):
            found[n] = decide.with_opinion(found[n], opinion or STOPPED)
        failed = [each.opinion for each in found if isinstance(each.opinion, Failed)]
        self.calls.unanswered = Counter(each.detail for each in failed if each.is_of_run)
        return found

    def _opinion(self, judge: Judge, finding: Finding, written: str | None) -> Opinion | Failed:
        def ask() -> Opinion | Failed:
            sources = self._sources(finding, written)
            if not sources:
                return Failed("source", "the sources must not be sent, or no longer exist")
            return judge.opinion(finding.claim, sources)

        return errors.attempted(ask, lambda why: why)

    def _sources(self, finding: Finding, written: str | None) -> list[Document]:
        """Return the documents read for the citations, except private copies: never sent."""
        found: list[Document] = []
        for result in finding.citations:
            if isinstance(result.outcome, Unchecked) and not decide.is_foreign(result.outcome):
                continue
            read = self.copies.archived if result.changed else self.copies.read
            source = read(result.citation, written)
            document = source.source if source else None
            if isinstance(document, Document) and own_digest(document.url) is None:
                found.append(document)
        return list({document.doc_id: document for document in found}.values())


def worth_asking(findings: Sequence[Finding]) -> list[int]:
    """Return the indices of the findings that could be read, the likeliest to change first.

    That is the probability that ours is wrong: of support if we find none, else of its contrary.
    """

    def change(n: int) -> float:
        own = findings[n].prob_supported
        if own is None:  # in a language that only the model reads
            return 1.0
        return 1 - own if findings[n].label in (Label.SUPPORTED, Label.PARTLY_SUPPORTED) else own

    readable = [
        n
        for n, finding in enumerate(findings)
        if finding.score is not None or any(decide.is_foreign(r.outcome) for r in finding.citations)
    ]
    return sorted(readable, key=change, reverse=True)


def _missing_atoms(claim: Claim, sources: Sequence[ReadSource]) -> list[Part]:
    """Return the missing parts of the words that the claim's own citations cover."""
    documents = [each.source for each in sources if isinstance(each.source, Document)]
    passages = [passage for document in documents for passage in whole(document)]
    atoms = aggregation.missing_atoms(claim.text, passages, claim.language)
    return [atom for atom in atoms if claim.own is None or atom.span.overlaps(claim.own)]


def _work_keys(title: str, url: str, authors: Sequence[str], site: str) -> frozenset[str]:
    """Return keys of a work: its title with each author, its publisher or its host."""
    whole_names = (re.sub(r"^www\.|\W", "", name) for name in (site, host_of(url)))
    return frozenset(key for name in (*authors, *whole_names) if (key := work_key(title, [name])))


def _cited_addresses(claim: Claim) -> set[str]:
    return {address for citation in claim.citations for address in addresses(citation)}


def _found_by(hits: Sequence[Hit], url: str) -> FoundBy:
    """Which searches found passages of a page."""
    ways = {hit.found_by for hit in hits if hit.passage.url == url}
    return ways.pop() if len(ways) == 1 else "both" if ways else ""


def _priors(hits: Sequence[Hit]) -> dict[str, float]:
    of_hits = list(zip(hits, fusion.shares(hits), strict=True))
    return {hit.passage.url: fusion.with_prior(0.0, share) for hit, share in reversed(of_hits)}


def _may_have_changed(result: CitationResult) -> bool:
    """Whether an archived copy may say more: the live page was judged and does not say it all."""
    copy = result.copy
    # The page of its DOI may be live too, but it is not a later version of this page.
    live = copy and copy.kind is CopyKind.LIVE and copy.url == result.citation.url
    failing = isinstance(result.outcome, Evidence) and result.label is not Label.SUPPORTED
    return bool(live) and failing


def _changed(today: _Checked, archived: _Checked) -> Changed | None:
    """Return today's page if the archived copy supports more by words that are now gone."""
    now, then, page = today.result, archived.result, today.read.source
    order = (Label.SUPPORTED, Label.PARTLY_SUPPORTED)
    supports_more = then.label in order[: order.index(now.label) if now.label in order else None]
    if not isinstance(then.outcome, Evidence) or not supports_more:
        return None
    assert isinstance(page, Document)
    assert isinstance(now.outcome, Evidence)
    assert now.copy
    passage = then.outcome.passage.text.replace(GAP, "\n")
    today_text = " ".join(page.text.split())
    # A page that still has every sentence has not lost what supported the claim.
    if all(" ".join(span.of(passage).split()) in today_text for span in sentences(passage)):
        return None
    return Changed(now.copy, now.outcome, now.label)


# ── A user's own copies ──────────────────────────────────────────────────────────────────────────

# Own copies are used for judging and are never shared. A finding keeps only a short quote of one
# and its SHA-256. The context of the quote is removed from the finding itself, so that no report
# format can leak it.
MAX_OWN_QUOTE = 300  # characters


def only_quotes(finding: Finding) -> Finding:
    """Reduce own copies to their quotes; other findings are returned unchanged."""

    def is_own(result: CitationResult) -> bool:
        return isinstance(result.outcome, Evidence) and bool(own_digest(result.outcome.passage.url))

    def quotes(parts: Sequence[Part]) -> tuple[Part, ...]:
        return tuple(
            replace(part, evidence=part.evidence and _quote_of(part.evidence)) for part in parts
        )

    if not any(map(is_own, finding.citations)):
        return finding
    results = [
        replace(
            result,
            outcome=_quote_of(result.outcome),
            clauses=quotes(result.clauses),
            missing=quotes(result.missing),
        )
        if is_own(result) and isinstance(result.outcome, Evidence)
        else result
        for result in finding.citations
    ]
    return replace(
        finding,
        citations=tuple(results),
        together=finding.together and _quote_of(finding.together),
        missing=quotes(finding.missing),
    )


def _quote_of(evidence: Evidence) -> Evidence:
    """Reduce the passage to its quote, cut between words."""
    start, words = cascade.quoted_span(evidence).start, evidence.quoted
    if len(words) > MAX_OWN_QUOTE:
        cut = words[: MAX_OWN_QUOTE + 1]
        words = (cut.rsplit(None, 1)[0] if " " in cut else cut)[:MAX_OWN_QUOTE]
    span = Span(start, start + len(words))
    passage = replace(evidence.passage, text=words, span=span, about="", pieces=())
    return replace(evidence, passage=passage, quote=Span(0, len(words)) if words else None)
