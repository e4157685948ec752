"""The record of `verify`: what was found of an article's citations."""

from collections.abc import Mapping
from dataclasses import dataclass

from pincite.judgement.funnel import Funnel
from pincite.notes import Note, texts
from pincite.types import Finding, Uncited
from pincite.wiki.uncited import is_read


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of one article, worst first, with all that is needed to repeat them."""

    title: str
    language: str
    revision_id: str | None
    findings: tuple[Finding, ...]  # ranked: `pincite.judgement.aggregation.ranked`
    n_claims: int  # of the article; more than `findings` if the run was stopped
    n_references: int
    warnings_coded: tuple[Note, ...]
    settings: Mapping[str, str | float | int | bool | None]
    versions: Mapping[str, str]  # pincite, verifier, encoder, corpus
    created: str  # ISO timestamp, UTC
    funnel: Funnel
    # (share of citations that fail, share of flags that are then right); empty if not known
    flag_precision: tuple[tuple[float, float], ...] = ()
    url: str | None = None  # of this very revision, if it came from a wiki
    # Sentences that need a citation and have none, those that editors tagged first; None: they were
    # not looked for.
    uncited: tuple[Uncited, ...] | None = None
    stopped: bool = False  # by Ctrl-C, be it while second opinions were asked

    @property
    def warnings(self) -> tuple[str, ...]:
        """In English."""
        return texts(self.warnings_coded)

    @property
    def complete(self) -> bool:
        """Whether every claim of the article was judged, and all that was asked for looked for."""
        if self.stopped:
            return False
        wanted = self.settings.get("verify.uncited") and is_read(self.language)
        return len(self.findings) == self.n_claims and not (wanted and self.uncited is None)
