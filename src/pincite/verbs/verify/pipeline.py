"""`verify`: does the cited source support the claim, and if not, what would?

claim ─▶ its sources' passages ─▶ verifier ─▶ labels, group
its clauses ─▶ best passages of its sources ─▶ verifier ─▶ what is missing of it
pages that fail it ─▶ their archived copies ─▶ verifier ─▶ which of them changed since
claims that fail ─▶ `better_sources` ─▶ suggestions

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
        judged = [one for one in evidence if not one.failed]
        failures = [one.failed for one in evidence if one.failed]
        if failures and not judged:
            return self.as_failed(failures[0])
        page = self.source.text if isinstance(self.source, Document) else ""
        return replace(
            self,
            evidence=[discard_rebutted(claim, one, page) for one in judged],
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
        detail = f"the article is in {language_name(language)}"
        for claim in article.claims:
            if language in self.languages:
                yield self.finding(claim, article.timestamp)
                continue
            checked = []
            for citation in claim.citations:
                read = self._obtain(citation, article.timestamp)
                if isinstance(read.source, Document):
                    read = read.as_failed(Unchecked(read.source.url, Reason.LANGUAGE, detail))
                checked.append(self._check(claim, read))
            yield self._group(claim, checked)

    def finding(self, claim: Claim, written: str | None = None) -> Finding:
        """Check a claim's sources, then search better ones. `written`: date of the article."""
        return errors.attempt(
            lambda: self._finding(claim, written), lambda why: without_verdict(claim, why)
        )

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
        return all(one.prob_supported < self.threshold for one in evidence)

    def _judge_clauses(self, claim: Claim, sources: Sequence[ReadSource]) -> list[list[Part]]:
        """Judge the claim's clauses against each source, in one batch.

        Empty for a single clause, and for a source that clearly supports the whole claim.
        """
        parts: list[list[Part]] = [[] for _ in sources]
        own = [c for c in clauses(claim.text) if claim.own is None or c.span.overlaps(claim.own)]
        if len(own) < 2:
            return parts
        asked: list[tuple[list[Part], Clause]] = []
        pages = []
        for of_source, source in zip(parts, sources, strict=True):
            if source.evidence and not decide.is_sure(source.evidence, self.threshold):
                ranked = sorted(source.evidence, key=lambda one: one.score, reverse=True)
                passages = [one.passage for one in ranked[:BEST_PASSAGES]]
                asked += [(of_source, clause) for clause in own]
                claims = [replace(claim, text=clause.text, own=None) for clause in own]
                pages += [cascade.Page(stated, passages) for stated in claims]
        judged = cascade.read_pages(pages, self._verify, self._fails, first=1) if pages else []
        for (of_source, clause), evidence in zip(asked, judged, strict=True):
            if best := decide.best(evidence):
                is_supported = best.prob_supported >= self.threshold
                words = clause.span.of(claim.text)
                part = Part("clause", clause.span, words, is_supported, best, clause.text)
                of_source.append(part)
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
        absent = _missing_atoms(claim, [read])
        outcome = self._outcome(read, parts, absent)
        lacking = (*absent, *contradicted_words(claim.text, outcome))
        verdict = decide_on_source(outcome, parts, lacking, self.threshold)
        fails = verdict.label not in _SUPPORT
        if fails and (why := read.unread):
            return self._check(claim, read.as_failed(why))
        source, citation, copy = read.source, read.citation, read.cited.copy
        place, note = None, None
        if isinstance(outcome, Evidence) and isinstance(source, Document):
            if verdict.label is Label.NOT_SUPPORTED and self._is_unrelated(claim, outcome):
                outcome = replace(outcome, quote=None)
            else:
                place = place_of(outcome, source, read.aim, claim.text)
            is_own = copy is not None and copy.kind is CopyKind.OWN
            if fails and is_own and not mentions(source, names_of(citation)):
                note = Note("other_copy", {"title": citation.title or citation.text})
            elif not fails and (words := beyond_quote(claim, outcome)):
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
            copy=copy,
            not_live=read.cited.not_live,
            other_copy=fails and note is not None,
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
        results = tuple(one.result for one in checked)
        together = self._together(claim, [one.read.evidence for one in checked])
        lacking = results[0].lacking if len(results) == 1 else _missing_from(claim, checked)
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
        self, claim: Claim, checked: Sequence[_Checked], written: str | None, alone: Finding
    ) -> Finding:
        """Add the sources of the preceding words if together they support the claim.

        In "It opened in 1911[1] after a year of work.[2]", the second source is cited for its own
        words only, and the first one has the year.
        """
        own = [one.read.evidence for one in checked if one.read.evidence]
        judged = errors.apply(
            lambda batch: self._judge_sources(claim, batch),
            [self._obtain(citation, written) for citation in claim.earlier],
            lambda source, why: source.as_failed(why),
        )
        earlier = [source.evidence for source in judged]
        together = self._together(claim, [*own, *earlier]) if own else None
        is_supported = together and decide.label_of(together, self.threshold) is Label.SUPPORTED
        if not is_supported or not all(map(self._fails, earlier)):
            return alone  # the earlier sources add nothing, or support the claim without its own
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

    def _as_cited(
        self, claim: Claim, checked: Sequence[_Checked], written: str | None
    ) -> list[_Checked]:
        """Replace live pages that fail the claim by archived copies that support more of it.

        The editor cited what the page said then. A copy counts as older only if its passage is gone
        from today's page; otherwise the same page would be judged twice.
        """
        failing = [n for n, today in enumerate(checked) if _is_live(today)]
        read = {n: self._read_archived(checked[n].result.citation, written) for n in failing}
        archived = {n: copy for n, copy in read.items() if copy}
        as_cited = list(checked)
        for n, then in zip(archived, self._check_all(claim, [*archived.values()]), strict=True):
            if changed := _changed_page(checked[n], then):
                as_cited[n] = replace(then, result=replace(then.result, changed=changed))
        return as_cited

    def _read_archived(self, citation: Citation, written: str | None) -> ReadSource | None:
        """Read the archived copy of a live page; None if it cannot be judged."""
        read_copy = partial(self.copies.archived_copy, citation, written)
        cited = errors.attempt(read_copy, lambda why: None)
        read = self._cut(citation, cited) if cited else None
        return read if read and isinstance(read.source, Document) else None


def _quoting_a_part(evidence: Sequence[Evidence], parts: Sequence[Part]) -> Evidence | None:
    """Return the evidence that a supported part was found in, quoting that part."""
    for part in reversed(parts):
        quoted = part.evidence if part.supported else None
        for one in reversed(evidence):
            if quoted and quoted.quote and one.passage == quoted.passage:
                return replace(one, quote=quoted.quote)
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


def _missing_from(claim: Claim, checked: Sequence[_Checked]) -> tuple[Part, ...]:
    """Return the parts that no source states, and those that one contradicts."""
    absent = _missing_atoms(claim, [one.read for one in checked])
    for one in checked:
        absent += contradicted_words(claim.text, one.result.outcome)
    return tuple(absent)


def _missing_atoms(claim: Claim, sources: Sequence[ReadSource]) -> list[Part]:
    """Return the missing parts of the words that the claim's own citations cover."""
    documents = [one.source for one in sources if isinstance(one.source, Document)]
    passages = [passage for document in documents for passage in whole(document)]
    absent = unstated_atoms(claim.text, passages, claim.language)
    return [atom for atom in absent if claim.own is None or atom.span.overlaps(claim.own)]


def _is_live(checked: _Checked) -> bool:
    """Whether a live page was judged and fails the claim: an archived copy may say more."""
    result, copy = checked.result, checked.result.copy
    if copy is None or not isinstance(result.outcome, Evidence):
        return False
    # The page of its DOI may be live too, but it is not a later version of this page.
    is_page = copy.kind is CopyKind.LIVE and copy.url == result.citation.url
    return is_page and result.label is not Label.SUPPORTED


def _changed_page(today: _Checked, archived: _Checked) -> Changed | None:
    """Return today's page if the archived copy supports more by words that are now gone."""
    now, then, page = today.result, archived.result, today.read.source
    if _SUPPORT.get(then.label, 0) <= _SUPPORT.get(now.label, 0):
        return None
    assert isinstance(then.outcome, Evidence)
    assert isinstance(page, Document)
    assert isinstance(now.outcome, Evidence)
    assert now.copy
    passage = then.outcome.passage.text.replace(GAP, "\n")
    today_text = " ".join(page.text.split())
    # A page that still has every sentence has not lost what supported the claim.
    if all(" ".join(span.of(passage).split()) in today_text for span in sentences(passage)):
        return None
    return Changed(now.copy, now.outcome, now.label)
