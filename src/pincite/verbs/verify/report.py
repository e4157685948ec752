"""The report of `verify` and its JSON."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pincite import codec, errors
from pincite.codec import Probability
from pincite.judgement import aggregation
from pincite.notes import Note
from pincite.types import Doc, Failed, Finding, Label, Reason, Unchecked, Uncited, written
from pincite.verbs.verify import wording
from pincite.verbs.verify.coverage import Coverage
from pincite.wiki.suggest import DateFormat
from pincite.wiki.uncited import is_read

SCHEMA = Path(__file__).parent / "report.schema.json"


def could_not_be_checked(why: Failed) -> str:
    return f"it could not be checked: {why.detail}"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many references, claims and verdicts."""

    references: int
    claims: int
    judged: int  # claims; fewer than `claims` if the run was stopped
    labels: Mapping[Label, int]
    citations_checked: int
    citations_unchecked: Mapping[Reason, int]
    with_suggestion: int
    may_be_unverifiable: int
    with_reference_notes: Annotated[int, Doc("claims with a reference that needs a look")]
    uncited_before: Annotated[int, Doc("sentences not judged: the next reference is not theirs")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(codec.JsonReport):
    """The findings of one article, worst first, with all that is needed to repeat them."""

    schema_version: Literal["5"] = "5"
    title: str
    language: str
    date_format: Annotated[DateFormat, Doc("of most dates in the article")] = "iso"
    revision_id: str | None
    url: Annotated[str | None, Doc("of this very revision, if it came from a wiki")] = None
    findings: tuple[Finding, ...]  # in the order of `aggregation.ranked`
    n_claims: Annotated[int, Doc("of the article; more than findings if the run was stopped")]
    n_references: int
    coverage: Coverage
    flag_precision: Annotated[
        tuple[tuple[Probability, Probability], ...],
        Doc("share of citations that fail, share of flags that were then right in tests"),
    ] = ()
    uncited: Annotated[
        tuple[Uncited, ...] | None, Doc("tagged ones first; null: they were not looked for")
    ] = None
    stopped: Annotated[bool, Doc("by Ctrl-C")] = False
    warnings_coded: tuple[Note, ...]
    settings: Mapping[str, str | float | int | bool | None]
    versions: Annotated[Mapping[str, str], Doc("of pincite, verifier, encoder, corpus")]
    created: Annotated[str, Doc("ISO timestamp, UTC")]

    @property
    @written
    def complete(self) -> bool:
        """Whether every claim was judged and, if requested, uncited sentences were looked for."""
        if self.stopped:
            return False
        wanted = self.settings.get("verify.uncited") and is_read(self.language)
        return len(self.findings) == self.n_claims and not (wanted and self.uncited is None)

    @property
    @written
    def advice(self) -> str | None:
        """How many flags are false alarms; None if not measured."""
        return wording.flag_advice(self.flag_precision) or None

    @property
    @written
    def counts(self) -> Counts:
        """How many references, claims and verdicts."""
        labels = Counter(finding.label for finding in self.findings)
        outcomes = [result.outcome for finding in self.findings for result in finding.citations]
        reasons = Counter(o.reason for o in outcomes if isinstance(o, Unchecked))
        return Counts(
            references=self.n_references,
            claims=self.n_claims,
            judged=len(self.findings),
            labels={label: labels[label] for label in Label},
            citations_checked=len(outcomes) - reasons.total(),
            citations_unchecked=dict(sorted(reasons.items())),
            with_suggestion=sum(bool(finding.suggestions) for finding in self.findings),
            may_be_unverifiable=sum(map(aggregation.may_be_unverifiable, self.findings)),
            with_reference_notes=sum(finding.has_reference_notes for finding in self.findings),
            uncited_before=sum(len(finding.claim.uncited_before) for finding in self.findings),
        )

    def writers(self) -> Mapping[str, Callable[[Any], Any]]:
        write = partial(codec.values_of, digits=codec.DIGITS)
        return {
            "findings": lambda all_: [errors.shown(write, each) for each in all_],
            "uncited": lambda all_: (
                None if all_ is None else [errors.shown_uncited(write, each) for each in all_]
            ),
        }

    def as_read(self) -> "Report":
        """Restore each claim's citations and language, which the JSON has elsewhere."""
        language = "" if is_read(self.language) else self.language
        findings = [
            replace(
                f,
                claim=replace(
                    f.claim, citations=tuple(r.citation for r in f.citations), language=language
                ),
            )
            for f in self.findings
        ]
        return replace(self, findings=tuple(findings))
