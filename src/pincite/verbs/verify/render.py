"""Renders HTML pages: the report, and the summary of a draft for a reviewer of new articles."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, NamedTuple

from pincite import errors
from pincite.notes import IN_ENGLISH, Language, Note, said
from pincite.references.faults import traces
from pincite.report import cells, templates
from pincite.report.cells import REASONS, WORKS, why_excluded
from pincite.text import languages
from pincite.types import CitationResult, Evidence, Finding, Label, Part, Unchecked
from pincite.verbs.verify import wording
from pincite.verbs.verify.report import (
    FLAGS,
    Report,
    Stage,
    counting_rule,
    coverage_rows,
    lost_rows,
    unread_groups,
)
from pincite.verbs.verify.wikitext import to_paste
from pincite.wiki.suggest import Dates

MAX_BEFORE = 160  # characters of context before a claim
# Words for a finding, which templates call without a language.
TRANSLATED: tuple[Callable[..., Any], ...] = (
    wording.copy_read,
    wording.second_opinion,
    wording.what_changed,
    wording.joined,
    wording.what_is_missing,
    wording.missing_of,
    wording.where,
    wording.unverifiable,
    wording.rests_on,
    wording.strength,
    why_excluded,
)


def to_html(report: Report, today: date | None = None, wrong: Collection[str] = ()) -> str:
    """Render the report as one self-contained page: no script, no request, everything escaped.

    `wrong`: ids of the claims whose verdicts the user marked as wrong.
    """
    dates = Dates(today or datetime.now(UTC).date(), report.date_format)
    shared = names() | {
        "to_paste": partial(to_paste, dates=dates, wrong=wrong),
        "wrong": wrong,
        "language": "en",
        "report": report,
    }
    macros: Any = templates.page("finding.html.j2").make_module(shared)
    entries = [
        errors.shown(partial(macros.entry, rank=rank), finding)
        for rank, finding in enumerate(report.findings, 1)
    ]
    uncited = None
    if report.uncited is not None:
        uncited = [errors.shown_uncited(macros.uncited, item) for item in report.uncited]
    pairs = list(zip(report.findings, entries, strict=True))
    return templates.page("report.html.j2").render(
        shared,
        counts=report.counts,
        cited=report.coverage.stages[Stage.CITED],
        n_judged=report.coverage.stages[Stage.JUDGED].uses,
        first=[entry for finding, entry in pairs if _is_to_look_at(finding)],
        sound=[entry for finding, entry in pairs if _is_sound(finding)],
        open=[
            {
                "why": _sentence(group.why),
                "steps": _sentence(group.steps),
                "entries": [entries[rank - 1] for rank, _ in group.findings],
                "n_better": sum(bool(finding.suggestions) for _, finding in group.findings),
            }
            for group in unread_groups(enumerate(report.findings, 1))
        ],
        uncited=uncited,
        stages=coverage_rows(report.coverage),
        counted=counting_rule(report.coverage),
        lost=lost_rows(report.coverage),
        advice=report.advice or wording.ADVICE,
        css=templates.style("verify.css"),
    )


def names(language: Language = IN_ENGLISH) -> dict[str, Any]:
    """Return the names that the templates use."""
    return {
        **{function.__name__: partial(function, say=language.say) for function in TRANSLATED},
        "words": wording,
        "wrong": (),
        "short_name_of": wording.short_name_of,
        "language_named": languages.named,
        "shortened": cells.shorten,
        "excerpt": wording.excerpt,
        "sentence": _sentence,
        "detail_of": _detail,
        "end_of": _end,
        "has_parameters": _has_parameters,
        "pieces": pieces,
        "unchecked": _unchecked_by_reason,
        "shared_reasons": _shared_reasons,
        "to_look_at": _is_to_look_at,
        "WORKS": WORKS,
    }


def _is_sound(finding: Finding) -> bool:
    is_changed = finding.source_changed or finding.is_reference_in_doubt
    return finding.label is Label.SUPPORTED and not is_changed


def _is_to_look_at(finding: Finding) -> bool:
    is_read = finding.label is not Label.UNCHECKED or finding.is_reference_in_doubt
    return is_read and not _is_sound(finding)


class Piece(NamedTuple):
    """A piece of a claim's text."""

    text: str
    is_missing: bool


def pieces(text: str, missing: Sequence[Part]) -> list[Piece]:
    """Split the text where its missing parts begin and end."""
    split, end = list[Piece](), 0
    for start, stop in sorted(part.span for part in missing):
        start, stop = max(start, end), max(stop, end)  # parts of different kinds may overlap
        split += [Piece(text[end:start], False), Piece(text[start:stop], True)]
        end = stop
    return [piece for piece in [*split, Piece(text[end:], False)] if piece.text]


def _shared_reasons(finding: Finding) -> tuple[Note, ...]:
    """Return the reasons common to all sources, which are shown once."""
    outcomes = [result.outcome for result in finding.citations]
    reasons = [outcome.reasons_coded for outcome in outcomes if isinstance(outcome, Evidence)]
    if len(reasons) < 2:
        return ()
    first, *others = reasons
    shared = [note for note in first if all(note in of_source for of_source in others)]
    return wording.unsaid(shared, finding.missing)


def _unchecked_by_reason(finding: Finding) -> Mapping[str, Sequence[CitationResult]]:
    groups: dict[str, list[CitationResult]] = {}
    for result in finding.citations:
        if isinstance(result.outcome, Unchecked):
            groups.setdefault(REASONS[result.outcome.reason], []).append(result)
    return groups


def _detail(result: CitationResult) -> str:
    """Return the detail of why a source was not read, unless its name says it."""
    assert isinstance(result.outcome, Unchecked)
    name = wording.short_name_of(result.citation)
    detail = cells.one_line(result.outcome.detail)
    return "" if detail in name or name in detail else detail


def _has_parameters(texts: Sequence[str]) -> bool:
    return any(text.startswith("|") for text in texts)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]  # `str.capitalize` would lowercase the rest


def _end(text: str) -> str:
    """Return the end of the context before a claim, from the start of a word."""
    last = text[-MAX_BEFORE:]
    return text if len(text) <= MAX_BEFORE else f"…{last.partition(' ')[2] or last}"


DRAFT_SHOWN = 5  # items of each part: more do not fit on a screen
DRAFT_WIDTH = 110


class DraftPart(NamedTuple):
    """One kind of problem in a draft, and where it was found."""

    head: Note
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """What a reviewer sees of a draft: what its citations are worth, and what is wrong with it."""

    title: str
    head: Note
    parts: tuple[DraftPart, ...]


def draft_of(report: Report, source: str, say: Callable[[str], str] = str) -> Draft:
    """Sum up a report for a reviewer; `source`: the article's."""
    results = report.results
    n_checked = sum(isinstance(result.outcome, Evidence) for result in results)
    n_failing, claims = 0, dict[str, str]()
    for finding in report.findings:
        failing = [result for result in finding.citations if result.label in FLAGS]
        if failing and finding.label in FLAGS:
            n_failing += len(failing)
            label = say(wording.LOOKS[finding.label].label)
            claims[finding.claim.claim_id] = f"{label}: {finding.claim.text}"
    faulty = {r.citation.definition: r.citation for r in results if r.citation.faults}
    faults = (
        f"{wording.name_of(citation)}: {'; '.join(said(f.note, say) for f in citation.faults)}"
        for citation in faulty.values()
    )
    uncited = (sentence.claim.text for sentence in report.uncited or ())
    head = Note("draft_unchecked", {"n": len(results)})
    if n_checked:
        counts = {"n": len(results), "checked": n_checked, "failing": n_failing}
        percent = cells.percent(n_failing / n_checked)
        head = Note("draft_citations", {**counts, "percent": percent})
    return Draft(
        report.title,
        head,
        parts=(
            DraftPart(Note("draft_unsupported"), tuple(claims.values())),
            DraftPart(Note("draft_references"), tuple(faults)),
            DraftPart(Note("draft_uncited"), tuple(uncited)),
            DraftPart(Note("draft_traces"), traces(source)),
        ),
    )


def draft_lines(draft: Draft) -> Iterator[str]:
    """Yield lines for a terminal: one screen."""
    yield cells.one_line(draft.title)
    yield str(draft.head)
    for head, items in draft.parts:
        yield f"{len(items):4} {head}"
        yield from (f"       {cells.shorten(item, DRAFT_WIDTH)}" for item in items[:DRAFT_SHOWN])
        if len(items) > DRAFT_SHOWN:
            yield f"       … and {len(items) - DRAFT_SHOWN} more"


def draft_html(draft: Draft) -> str:
    return templates.page("draft.html.j2").render(
        draft=draft, layout="file.html.j2", report="", css=templates.style()
    )
