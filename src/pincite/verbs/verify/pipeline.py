"""`verify`: does the cited source support the claim, and if not, what would?

claim ─▶ its sources' passages ─▶ verifier ─▶ labels, group
its clauses ─▶ best passages of its sources ─▶ verifier ─▶ what is missing of it
pages that fail it ─▶ their archived copies ─▶ verifier ─▶ which of them changed since
claims that fail ─▶ `better_sources` ─▶ suggestions

`lacking`: what a source does not state (`absent`) or contradicts; `missing`: what of it is shown.

An error costs its own pair, source or suggestions or, at worst, the claim (`pincite.errors`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from pincite import errors
from pincite.documents.text import code_of
from pincite.judgement import decide
from pincite.judgement.atoms import beyond_quote, complementary, unstated_atoms
from pincite.judgement.contradictions import discard_rebutted
from pincite.judgement.findings import (
    contradicted_words,
    decide_on_claim,
    decide_on_source,
    not_read,
    without_verdict,
)
from pincite.judgement.provenance import with_retraction
from pincite.library.exclusions import WITHOUT_LIST, Exclusions, copied_from
from pincite.library.private_copies import mentions, names_of
from pincite.notes import Note
from pincite.protocols import Verifier
from pincite.retrieval import cascade
from pincite.retrieval.pinpoint import Aim, aim_of, alternatives, place_of
from pincite.text.clauses import clauses
from pincite.text.dates import stated_date
from pincite.text.languages import language_name
from pincite.text.page_numbers import UNREAD
from pincite.text.passages import cited_passages, whole
from pincite.text.sentences import sentences
from pincite.text.syntax import Clause
from pincite.text.words import overlap
from pincite.types import (
    GAP,
    Article,
    Changed,
    Citation,
    CitationResult,
    Claim,
    CopyKind,
    Document,
    Evidence,
    Failed,
    Finding,
    Label,
    Part,
    Passage,
    Reason,
    Span,
    Unchecked,
    Uncited,
)
from pincite.verbs.verify.better_sources import BetterSources
from pincite.verbs.verify.cited_copies import CitedCopies, CitedSource, only_quotes

# English wikis that use another language code.
_ENGLISH = {"simple": "en", "": "en"}
# What a quote must share with a claim (`overlap`: two words or a figure) if its passage is far
# from supporting it. Of 193 such quotes for SciFact and WiCE dev claims, 40 share less; the 19 that
# we read showed nothing of their claims ("### Select Language:").
LEAST_SHARED = 2.0
BEST_PASSAGES = 3  # of the whole claim, in which its clauses are judged
# How much of the claim a source supports; nothing under the other labels.
_SUPPORT = {Label.SUPPORTED: 2, Label.PARTLY_SUPPORTED: 1}


@dataclass(frozen=True, slots=True)
class ReadSource:
    """The source of one citation, cut into passages, with the evidence in them."""

    citation: Citation
    cited: CitedSource
    aim: Aim | None = None  # the place in it that the citation points to
    passages: Sequence[Passage] = ()
    evidence: Sequence[Evidence] = ()
    unjudged: Failed | None = None  # why some passages could not be judged

    @property
    def source(self) -> Document | Unchecked:
        return self.cited.source

    @property
    def unread(self) -> Failed | Unchecked | None:
        """Why a part of it was not judged, which may be the part that supports the claim."""
        if isinstance(self.source, Document) and UNREAD in self.source.meta:
            detail = self.source.meta[UNREAD]
            return Unchecked(self.source.url, Reason.UNREADABLE_SCAN, detail)
        return self.unjudged

    def as_failed(self, why: Failed | Unchecked) -> "ReadSource":
        if isinstance(why, Failed):
            why = not_read(self.citation.url or "", why)
        return ReadSource(self.citation, self.cited._replace(source=why))

    def with_evidence(self, claim: Claim, evidence: Sequence[Evidence]) -> "ReadSource":
        """Add the evidence; marks the source as failed if no passage could be judged."""
        judged = [each for each in evidence if not each.failed]
        failures = [each.failed for each in evidence if each.failed]
        if failures and not judged:
            return self.as_failed(failures[0])
        page = self.source.text if isinstance(self.source, Document) else ""
        return replace(
            self,
            evidence=[discard_rebutted(claim, each, page) for each in judged],
            unjudged=failures[0] if failures else None,
        )


@dataclass(frozen=True, slots=True)
class _Checked:
    """A citation with the source as read and its result."""

    read: ReadSource
    result: CitationResult


@dataclass(frozen=True, slots=True)
class VerifyPipeline:
    """The `verify` pipeline."""

    verifier: Verifier
    copies: CitedCopies
    better: BetterSources | None = None  # None: no better sources are searched
    languages: frozenset[str] = frozenset({"en"})  # that the verifier reads
    read: int = cascade.READ
    threshold: float = decide.THRESHOLD
    suggest: Literal["failing", "all"] = "failing"  # claims to search better sources for
    exclusions: Exclusions = WITHOUT_LIST  # what is known of the cited sites

    @property
    def warnings(self) -> tuple[str, ...]:
        online = self.better.online if self.better else None
        return (*(online.search.warnings if online else ()), *self.copies.warnings)

    def findings(self, article: Article) -> Iterator[Finding]:
        """Yield one finding per claim, in article order, as soon as it is known."""
        stated = article.language
        language = _ENGLISH.get(stated) or code_of(stated) or stated
        for claim in article.claims:
            if language in self.languages:
                yield self.finding(claim, article.timestamp)
            else:
                make = partial(self._unread_finding, claim, article.timestamp, language)
                yield errors.attempt(make, partial(without_verdict, claim))

    def finding(self, claim: Claim, written: str | None = None) -> Finding:
        """Check a claim's sources, then search better ones. `written`: date of the article."""
        make = partial(self._finding, claim, written)
        return errors.attempt(make, partial(without_verdict, claim))

    def _unread_finding(self, claim: Claim, written: str | None, language: str) -> Finding:
        """Return the finding on a claim in a language that the verifier does not read."""
        detail = f"the article is in {language_name(language)}"
        checked = []
        for citation in claim.citations:
            read = self._obtain(citation, written)
            if isinstance(read.source, Document):
                read = read.as_failed(Unchecked(read.source.url, Reason.LANGUAGE, detail))
            checked.append(self._check(claim, read))
        return self._group(claim, checked)

    def _finding(self, claim: Claim, written: str | None) -> Finding:
        sources = [self._obtain(citation, written) for citation in claim.citations]
        checked = self._check_all(claim, sources)
        finding = self._group(claim, checked)
        if finding.label is not Label.SUPPORTED:
            as_cited = self._as_cited(claim, checked, written)
            finding = self._group(claim, as_cited) if as_cited != checked else finding
            if claim.earlier and finding.label is not Label.SUPPORTED:
                finding = self._with_earlier(claim, as_cited, written, finding)
        is_failing = finding.label is not Label.SUPPORTED
        if self.better and (is_failing or claim.wants_source or self.suggest == "all"):
            search = partial(self.better.add_to, finding, written)
            finding = errors.attempt(search, lambda why: replace(finding, failed=why))
        return only_quotes(finding)

    def with_sources(self, uncited: Uncited, written: str | None = None) -> Uncited:
        """Add sources that could be cited for a sentence."""
        if self.better is None or "en" not in self.languages:
            return uncited
        finding = self.finding(uncited.claim, written)
        return replace(
            uncited,
            suggestions=finding.suggestions,
            n_candidates=finding.n_candidates,
            excluded=finding.excluded,
            failed=finding.failed,
        )

    def _obtain(self, citation: Citation, written: str | None) -> ReadSource:
        nothing = ReadSource(citation, CitedSource(Unchecked(citation.url or "", Reason.EMPTY)))
        return errors.attempt(
            lambda: self._cut(citation, self.copies.read(citation, written)), nothing.as_failed
        )

    def _cut(self, citation: Citation, cited: CitedSource) -> ReadSource:
        """Cut a source into passages, unless it copies Wikipedia or is in another language."""
        source = cited.source
        if isinstance(source, Unchecked):
            return ReadSource(citation, cited)
        why = None
        if origin := copied_from(source, citation.url or citation.archive_url or ""):
            why = Unchecked(source.url, Reason.CIRCULAR, origin)
        elif source.language and source.language not in self.languages:
            why = Unchecked(source.url, Reason.LANGUAGE, language_name(source.language))
        if why:
            return ReadSource(citation, cited._replace(source=why))
        if not source.published:
            source = replace(source, published=stated_date(citation.date or "") or None)
        cited = cited._replace(source=source)
        return ReadSource(citation, cited, aim_of(citation, source), cited_passages(source))

    def _verify(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Evidence]:
        return decide.verify_each(self.verifier.verify, pairs)

    def _judge_sources(self, claim: Claim, sources: Sequence[ReadSource]) -> list[ReadSource]:
        """Judge each source. If the verdict stays open, read everything worth reading."""
        pages = [
            cascade.Page(
                claim,
                cascade.with_covering(claim.text, source.passages),
                source.aim.spans if source.aim else (),
            )
            for source in sources
        ]
        is_open = partial(decide.is_open, threshold=self.threshold)
        evidence = cascade.read_pages(pages, self._verify, is_open, self.read)
        return [
            source.with_evidence(claim, of_source)
            for source, of_source in zip(sources, evidence, strict=True)
        ]

    def _fails(self, evidence: Sequence[Evidence]) -> bool:
        return all(each.prob_supported < self.threshold for each in evidence)

    def _judge_clauses(self, claim: Claim, sources: Sequence[ReadSource]) -> list[list[Part]]:
        """Judge the claim's clauses against each source, in one batch.

        Empty for a single clause, and for a source that clearly supports the whole claim.
        """
        parts: list[list[Part]] = [[] for _ in sources]
        own = [c for c in clauses(claim.text) if claim.own is None or c.span.overlaps(claim.own)]
        if len(own) < 2:
            return parts
        questions: list[tuple[int, Clause]] = []  # the place of a source, and what it may state
        pages = []
        for number, source in enumerate(sources):
            if source.evidence and not decide.is_sure(source.evidence, self.threshold):
                best = sorted(source.evidence, key=lambda each: each.score, reverse=True)
                passages = [each.passage for each in best[:BEST_PASSAGES]]
                alone = [replace(claim, text=clause.text, own=None) for clause in own]
                questions += [(number, clause) for clause in own]
                pages += [cascade.Page(stated, passages) for stated in alone]
        judged = cascade.read_pages(pages, self._verify, self._fails, first=1) if pages else []
        for (number, clause), evidence in zip(questions, judged, strict=True):
            if closest := decide.best(evidence):
                is_supported = closest.prob_supported >= self.threshold
                words = clause.span.of(claim.text)
                part = Part("clause", clause.span, words, is_supported, closest, clause.text)
                parts[number].append(part)
        return parts

    def _check_all(self, claim: Claim, sources: Sequence[ReadSource]) -> list[_Checked]:
        def check(batch: Sequence[ReadSource]) -> list[_Checked]:
            read = self._judge_sources(claim, batch)
            parts = self._judge_clauses(claim, read)
            return [self._check(claim, *pair) for pair in zip(read, parts, strict=True)]

        return errors.apply(
            check, sources, lambda source, why: self._check(claim, source.as_failed(why))
        )

    def _check(self, claim: Claim, read: ReadSource, parts: Sequence[Part] = ()) -> _Checked:
        """Decide on one citation; `parts`: the claim's clauses as judged in its source."""
        absent = _absent_atoms(claim, [read])
        outcome = self._outcome(read, parts, absent)
        lacking = (*absent, *contradicted_words(claim.text, outcome))
        verdict = decide_on_source(outcome, parts, lacking, self.threshold)
        fails = verdict.label not in _SUPPORT
        if fails and (why := read.unread):
            return self._check(claim, read.as_failed(why))
        source, citation = read.source, read.citation
        place, note = None, None
        if isinstance(outcome, Evidence) and isinstance(source, Document):
            if verdict.label is Label.NOT_SUPPORTED and self._is_unrelated(claim, outcome):
                outcome = replace(outcome, quote=None)
            else:
                place = place_of(outcome, source, read.aim, claim.text)
            if fails:
                note = _note_on_copy(read, source)
            elif words := beyond_quote(claim, outcome):
                note = Note("beyond_quote", {"words": words})
            if note:
                outcome = replace(outcome, notes=(*outcome.notes, note))
        result = CitationResult(
            citation=citation,
            outcome=with_retraction(outcome, source),
            label=verdict.label,
            clauses=tuple(parts),
            missing=verdict.missing,
            lacking=lacking,
            listing=self.exclusions.listing_of(citation.url or citation.archive_url),
            place=place,
            copy=read.cited.copy,
            not_live=read.cited.not_live,
            other_copy=note is not None and note.code == "other_copy",
        )
        return _Checked(read, result)

    def _outcome(
        self, read: ReadSource, parts: Sequence[Part], absent: Sequence[Part]
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
        label = decide.label_of(outcome, self.threshold, parts, absent)
        if label is Label.PARTLY_SUPPORTED and not outcome.quote:
            outcome = _quoting_a_part(read.evidence, parts) or outcome
        for other in alternatives(read.evidence, outcome, read.aim):
            if decide.label_of(other, self.threshold, parts, absent) is label:
                return other
        return outcome

    def _is_unrelated(self, claim: Claim, evidence: Evidence) -> bool:
        """Whether a passage is far from supporting a claim, and its quote shows nothing of it."""
        if not evidence.quote or evidence.contradiction:
            return False
        is_near = decide.is_near(evidence, self.threshold)
        return not is_near and overlap(claim.text, evidence.quoted) < LEAST_SHARED

    def _group(self, claim: Claim, checked: Sequence[_Checked]) -> Finding:
        results = tuple(each.result for each in checked)
        together = self._together(claim, [each.read.evidence for each in checked])
        if len(results) == 1:
            lacking = results[0].lacking
        else:  # what no source states, or one contradicts
            denied = [part for r in results for part in contradicted_words(claim.text, r.outcome)]
            lacking = (*_absent_atoms(claim, [each.read for each in checked]), *denied)
        verdict = decide_on_claim(claim.text, results, together, lacking, self.threshold)
        return Finding(
            claim=claim,
            citations=results,
            together=together,
            label=verdict.label,
            score=decide.group_score(results, together),
            suggestions=(),
            missing=verdict.missing,
            lacking=lacking,
        )

    def _together(self, claim: Claim, evidence: Sequence[Sequence[Evidence]]) -> Evidence | None:
        """Judge the sources' best passages as one text; None if one source clearly supports all."""
        read = [of_source for of_source in evidence if of_source]
        if len(read) < 2 or any(decide.is_sure(of_source, self.threshold) for of_source in read):
            return None
        chosen = list(dict.fromkeys(complementary(claim.text, read)))
        if len(chosen) < 2:
            return None
        (judged,) = self._verify([(claim, _as_one(chosen))])
        return None if judged.failed else judged

    def _with_earlier(
        self, claim: Claim, checked: Sequence[_Checked], written: str | None, finding: Finding
    ) -> Finding:
        """Add the sources of the preceding words if together they support the claim.

        In "It opened in 1911[1] after a year of work.[2]", the second source is cited for its own
        words only, and the first one has the year.
        """
        own = [each.read.evidence for each in checked if each.read.evidence]
        judged = errors.apply(
            lambda batch: self._judge_sources(claim, batch),
            [self._obtain(citation, written) for citation in claim.earlier],
            lambda source, why: source.as_failed(why),
        )
        earlier = [source.evidence for source in judged]
        together = self._together(claim, [*own, *earlier]) if own else None
        is_supported = together and decide.label_of(together, self.threshold) is Label.SUPPORTED
        if not is_supported or not all(map(self._fails, earlier)):
            return finding  # the earlier sources add nothing, or support the claim without its own
        results = tuple(
            replace(result, label=Label.PARTLY_SUPPORTED)
            if result.label is Label.NOT_SUPPORTED
            else result
            for result in finding.citations
        )
        return replace(
            finding,
            citations=results,
            together=together,
            label=Label.SUPPORTED,
            score=decide.group_score(results, together),
        )

    def _as_cited(
        self, claim: Claim, checked: Sequence[_Checked], written: str | None
    ) -> list[_Checked]:
        """Replace live pages that fail the claim by archived copies that support more of it.

        The editor cited what the page said then. A copy counts as older only if its passage is gone
        from today's page; otherwise the same page would be judged twice.
        """
        failing = [n for n, live in enumerate(checked) if _is_failing_live_page(live.result)]
        read = {n: self._read_archived(checked[n].result.citation, written) for n in failing}
        copies = {n: copy for n, copy in read.items() if copy}
        as_cited = list(checked)
        for n, archived in zip(copies, self._check_all(claim, [*copies.values()]), strict=True):
            if changed := _changed_page(checked[n], archived):
                as_cited[n] = replace(archived, result=replace(archived.result, changed=changed))
        return as_cited

    def _read_archived(self, citation: Citation, written: str | None) -> ReadSource | None:
        """Read the archived copy of a live page; None if it cannot be judged."""
        read_copy = partial(self.copies.archived_copy, citation, written)
        cited = errors.attempt(read_copy, lambda why: None)
        read = self._cut(citation, cited) if cited else None
        return read if read and isinstance(read.source, Document) else None


def _note_on_copy(read: ReadSource, source: Document) -> Note | None:
    """Return a note if a failing copy of the user's own may be one of another source."""
    citation, copy = read.citation, read.cited.copy
    if copy is None or copy.kind is not CopyKind.OWN or mentions(source, names_of(citation)):
        return None
    return Note("other_copy", {"title": citation.title or citation.text})


def _quoting_a_part(evidence: Sequence[Evidence], parts: Sequence[Part]) -> Evidence | None:
    """Return the evidence that a supported part was found in, quoting that part."""
    for part in reversed(parts):
        if part.supported and part.evidence and part.evidence.quote:
            for each in reversed(evidence):
                if each.passage == part.evidence.passage:
                    return replace(each, quote=part.evidence.quote)
    return None


def _as_one(passages: Sequence[Passage]) -> Passage:
    """Join passages of several sources, to be read as one text."""
    text = "\n".join(passage.text for passage in passages)
    languages = (p.language for p in passages if p.language not in ("en", None))
    recognised = [p.recognised for p in passages if p.recognised is not None]
    return Passage(
        doc_id="",
        url="",
        title="\n".join(passage.title for passage in passages),
        text=text,
        span=Span(0, len(text)),
        about="\n".join(passage.about for passage in passages),
        page="\n".join(passage.page or passage.text for passage in passages),
        language=next(languages, None),
        recognised=min(recognised, default=None),
        voice=passages[-1].voice,
    )


def _absent_atoms(claim: Claim, sources: Sequence[ReadSource]) -> list[Part]:
    """Return the figures and names that no source states, of the words that it is cited for."""
    documents = [read.source for read in sources if isinstance(read.source, Document)]
    passages = [passage for document in documents for passage in whole(document)]
    absent = unstated_atoms(claim.text, passages, claim.language)
    return [atom for atom in absent if claim.own is None or atom.span.overlaps(claim.own)]


def _is_failing_live_page(result: CitationResult) -> bool:
    """Whether a live page was judged and fails the claim: an archived copy may say more."""
    copy = result.copy
    if copy is None or not isinstance(result.outcome, Evidence):
        return False
    # The page of its DOI may be live too, but it is not a later version of this page.
    is_page = copy.kind is CopyKind.LIVE and copy.url == result.citation.url
    return is_page and result.label is not Label.SUPPORTED


def _changed_page(live: _Checked, archived: _Checked) -> Changed | None:
    """Return the live page if its archived copy supports more by words that are now gone."""
    result, page, older = live.result, live.read.source, archived.result
    if _SUPPORT.get(older.label, 0) <= _SUPPORT.get(result.label, 0):
        return None
    assert isinstance(older.outcome, Evidence)
    assert isinstance(page, Document)
    assert isinstance(result.outcome, Evidence)
    assert result.copy
    passage = older.outcome.passage.text.replace(GAP, "\n")
    live_text = " ".join(page.text.split())
    # A page that still has every sentence has not lost what supported the claim.
    if all(" ".join(span.of(passage).split()) in live_text for span in sentences(passage)):
        return None
    return Changed(result.copy, result.outcome, result.label)
