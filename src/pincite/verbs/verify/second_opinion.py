"""Asks an examined language model about the findings of `verify`.

findings ─▶ their sources' texts ─▶ model ─▶ one verdict of both
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pincite import errors
from pincite.judgement import decide
from pincite.llm.calls import Calls, run_concurrently
from pincite.llm.judge import Examiner, Judge
from pincite.types import (
    STOPPED,
    Article,
    Document,
    Failed,
    Finding,
    Label,
    Opinion,
    Unchecked,
    own_digest,
)
from pincite.verbs.verify.cited_copies import CitedCopies


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
        progress: Callable[[int, int], None],  # calls done, in total
    ) -> list[Finding]:
        """Decide with the model's opinions. After Ctrl-C, use those that arrived."""
        chosen = worth_asking(findings)[: self.most]
        decided = list(findings)
        if not chosen:
            return decided
        judge = self.examiner(article.language)
        opinions: Sequence[Opinion | Failed | None]  # None: the run was stopped before
        if isinstance(judge, Failed):
            opinions = [judge] * len(chosen)
        else:
            calls = [partial(self._opinion, judge, findings[n], article.timestamp) for n in chosen]
            opinions = run_concurrently(calls, self.at_once, self.calls, progress)
        for n, opinion in zip(chosen, opinions, strict=True):
            decided[n] = decide.with_opinion(findings[n], opinion or STOPPED)
        failures = [one.opinion for one in decided if isinstance(one.opinion, Failed)]
        self.calls.unanswered = Counter(why.detail for why in failures if why.is_of_run)
        return decided

    def _opinion(self, judge: Judge, finding: Finding, written: str | None) -> Opinion | Failed:
        def ask() -> Opinion | Failed:
            sources = self._sources(finding, written)
            if not sources:
                return Failed("source", "the sources must not be sent, or no longer exist")
            return judge.opinion(finding.claim, sources)

        return errors.attempt(ask, lambda why: why)

    def _sources(self, finding: Finding, written: str | None) -> list[Document]:
        """Return the documents read for the citations, except private copies: never sent."""
        documents: dict[str, Document] = {}
        for result in finding.citations:
            if isinstance(result.outcome, Unchecked) and not decide.is_foreign(result.outcome):
                continue
            read = self.copies.archived_copy if result.changed else self.copies.read
            cited = read(result.citation, written)
            document = cited.source if cited else None
            if isinstance(document, Document) and own_digest(document.url) is None:
                documents[document.doc_id] = document
        return list(documents.values())


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
