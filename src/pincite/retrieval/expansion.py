"""Ways to give a claim's query by words more words than the claim has: `protocols.Expander`s.

A title is a guess. Where it fails the claim is searched without one, which is counted and said
once; it never ends a run.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pincite.errors import ServerError, ServerRefused
from pincite.protocols import Generator, Query, TitleWriter, WordRetriever
from pincite.retrieval import queries, relevance_feedback, titles
from pincite.types import Claim

GIVE_UP = 5  # failures of a server in a row, each after several attempts: it is not there


@dataclass(frozen=True, slots=True)
class WithFeedback:
    """RM3: the words that the first passages of a first search have in common."""

    retriever: WordRetriever
    terms: relevance_feedback.Terms
    how: relevance_feedback.Feedback = field(default_factory=relevance_feedback.Feedback)
    fingerprint: str = "rm3"
    warnings: tuple[str, ...] = ()

    def expand(self, claims: Sequence[Claim]) -> list[Query]:
        """The claims' queries with those words; as they were where nothing is found."""
        asked = [queries.lexical_query(claim) for claim in claims]
        found = self.retriever.retrieve(asked, self.how.passages)
        return [
            relevance_feedback.rm3(query, hits, self.terms, self.how)
            for query, hits in zip(asked, found, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class WithTitles:
    """The best title that a writer guesses for the page to be found."""

    writer: TitleWriter

    @property
    def fingerprint(self) -> str:
        """The writer's."""
        return f"titles by {self.writer.fingerprint}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """The writer's."""
        return self.writer.warnings

    def expand(self, claims: Sequence[Claim]) -> list[Query]:
        """The claims' queries with a title each; without one where none could be written."""
        written = self.writer.titles([titles.context_of(claim) for claim in claims])
        return [
            queries.lexical_query(claim, next(iter(found), ""))
            for claim, found in zip(claims, written, strict=True)
        ]


@dataclass(slots=True)
class AskedTitles:
    """A `TitleWriter` that asks a language model.

    After a refusal that lasts, or `GIVE_UP` failures in a row, it asks no more: a run over many
    claims would otherwise wait for each of them.
    """

    generator: Generator
    _failed: int = field(default=0, init=False)
    _in_a_row: int = field(default=0, init=False)
    _first: str = field(default="", init=False)
    _gave_up: bool = field(default=False, init=False)

    @property
    def fingerprint(self) -> str:
        """The model's."""
        return self.generator.fingerprint

    @property
    def warnings(self) -> tuple[str, ...]:
        """How many claims are searched without a title, and why the first of them was."""
        if not self._failed:
            return ()
        ends = " The server was asked no more." if self._gave_up else ""
        count = "1 claim was" if self._failed == 1 else f"{self._failed} claims were"
        return (f"{count} searched without a guessed title: {self._first}{ends}",)

    def titles(self, contexts: Sequence[str]) -> list[list[str]]:
        """At most one title each."""
        if self._gave_up:
            self._failed += len(contexts)
            return [[] for _ in contexts]
        replies = self.generator.generate([titles.prompt_for(context) for context in contexts])
        found = []
        for reply in replies:
            title = "" if isinstance(reply, ServerError) else titles.cleaned(reply.text)
            found.append([title] if title else [])
            if title:
                self._in_a_row = 0
            else:
                self._note(reply if isinstance(reply, ServerError) else None)
        return found

    def _note(self, error: ServerError | None) -> None:
        """`error`: None where the server replied, but with no title."""
        self._failed += 1
        self._first = self._first or str(error or "the model's reply held no title.")
        self._in_a_row = self._in_a_row + 1 if error else 0
        refused = isinstance(error, ServerRefused) and error.lasting
        self._gave_up = self._gave_up or refused or self._in_a_row >= GIVE_UP
