"""A draft on one screen: what a reviewer of new articles wants to know of its sources."""

from collections.abc import Iterator
from dataclasses import dataclass

from pincite.references import hygiene
from pincite.report import cells, templates
from pincite.types import Article, Evidence, Finding, Label
from pincite.verbs.verify import wording
from pincite.verbs.verify.report import Report

SHOWN = 5  # items of each part: more do not fit on a screen
WIDTH = 110
_FAILS = (Label.NOT_SUPPORTED, Label.REFUTED)


@dataclass(frozen=True, slots=True)
class Part:
    """A line with its number, and the first of its items."""

    head: str
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """The parts of the screen, and the share of checked citations that fail."""

    title: str
    n_citations: int
    n_checked: int
    n_failing: int
    parts: tuple[Part, ...]

    @property
    def share(self) -> float | None:
        """None: nothing could be checked."""
        return self.n_failing / self.n_checked if self.n_checked else None


def draft_of(report: Report, article: Article) -> Draft:
    """Sum up a report for a reviewer; `article`: the one that it is on."""
    results = [(f, result) for f in report.findings for result in f.citations]
    checked = [(f, result) for f, result in results if isinstance(result.outcome, Evidence)]
    failing = [(f, r) for f, r in checked if r.label in _FAILS and f.label in _FAILS]
    faulty = {r.citation.definition: r.citation for _, r in results if r.citation.faults}
    faults = tuple(
        f"{wording.name_of(c)}: {'; '.join(fault.message for fault in c.faults)}"
        for c in faulty.values()
    )
    claims = {f.claim.claim_id: _of_claim(f) for f, _ in failing}
    uncited = tuple(each.claim.text for each in report.uncited or ())
    parts = (
        Part("claims that their sources do not support", tuple(claims.values())),
        Part("references that do not hold", faults),
        Part("sentences without a source", uncited),
        Part("traces of a chatbot", hygiene.traces(article.source)),
    )
    return Draft(report.title, len(results), len(checked), len(failing), parts)


def _of_claim(finding: Finding) -> str:
    return f"{wording.LOOKS[finding.label].label}: {finding.claim.text}"


def head(draft: Draft) -> str:
    share = "none could be checked"
    if draft.share is not None:
        n = cells.n_of(draft.n_checked, "citation")
        share = f"{draft.n_failing} of {n} that could be checked fail ({draft.share:.0%})"
    return f"{cells.n_of(draft.n_citations, 'citation')}; {share}"


def lines(draft: Draft) -> Iterator[str]:
    """Lines for a terminal: one screen."""
    yield cells.one_line(draft.title)
    yield head(draft)
    for part in draft.parts:
        yield f"{len(part.items):4} {part.head}"
        yield from (f"       {cells.shortened(item, WIDTH)}" for item in part.items[:SHOWN])
        if len(part.items) > SHOWN:
            yield f"       … and {len(part.items) - SHOWN} more"


def to_html(draft: Draft) -> str:
    css = templates.style()
    return templates.page("draft.html.j2").render(draft=draft, head=head(draft), css=css)
