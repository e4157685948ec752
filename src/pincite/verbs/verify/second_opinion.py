"""`verify --judge`: a language model's second opinion on the findings that it may change.

findings ─▶ those we are unsure of, worst first ─▶ their sources' texts ─▶ model ─▶ both together
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pincite.judgement import fusion, own
from pincite.llm.concurrency import all_at_once
from pincite.llm.judge import Judge
from pincite.opinions import Opinion
from pincite.types import Article, Document, Failed, Finding, Unchecked
from pincite.verbs.verify.cited_copies import CitedCopies

Tell = Callable[[int, int], None]  # opinions asked for, and of how many


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """Asks a model about findings, and makes one verdict of both opinions."""

    judge: Judge
    copies: CitedCopies
    threshold: float
    band: tuple[float, float]  # of our probability of support, in which it is asked
    every: bool = False
    at_once: int = 4

    @property
    def stopped(self) -> bool:
        """Whether Ctrl-C ended the asking."""
        return self.judge.calls.stopped

    def on(
        self, article: Article, findings: Sequence[Finding], tell: Tell | None = None
    ) -> list[Finding]:
        """The findings, those with an opinion by what both say. After Ctrl-C those it had."""
        chosen = fusion.worth_asking(findings, self.band, every=self.every)
        asking = [partial(self._opinion, findings[n], article.timestamp) for n in chosen]
        opinions = all_at_once(asking, self.at_once, self.judge.calls, tell)
        found = list(findings)
        for n, opinion in zip(chosen, opinions, strict=True):
            said = opinion or Failed("stopped", "the run was stopped")
            found[n] = fusion.fused(findings[n], said, self.threshold)
        return found

    def _opinion(self, finding: Finding, written: str | None) -> Opinion | Failed:
        sources = self._sources(finding, written)
        if not sources:
            return Failed("source", "the sources may not be sent, or are not there any more")
        return self.judge.opinion(finding.claim, sources)

    def _sources(self, finding: Finding, written: str | None) -> list[Document]:
        """What was read for the claim's citations; never a paid copy, which stays here."""
        found: list[Document] = []
        for result in finding.citations:
            if isinstance(result.outcome, Unchecked) and not fusion.is_foreign(result.outcome):
                continue
            read = self.copies.archived if result.changed else self.copies.read
            source = read(result.citation, written)
            document = source.source if source else None
            if isinstance(document, Document) and own.digest_of(document.url) is None:
                found.append(document)
        return list({document.doc_id: document for document in found}.values())
