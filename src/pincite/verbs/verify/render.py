"""Renders the report as an HTML page and as CSV, and sums up a draft for its reviewer."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, NamedTuple, cast

from pincite.judgement.findings import render_one, render_uncited
from pincite.notes import IN_ENGLISH, Language, Note, phrase
from pincite.references.faults import traces
from pincite.report import cells, templates
from pincite.report.cells import REASONS, WORKS, why_excluded
from pincite.text import languages
from pincite.types import (
    CitationResult,
    CopyKind,
    Evidence,
    Failed,
    Finding,
    Label,
    Listing,
    Part,
    Suggestion,
    Unchecked,
    Uncited,
)
from pincite.verbs.verify import wording
from pincite.verbs.verify.report import FLAGS, Report, Stage, stage_of, unread_groups
from pincite.verbs.verify.wikitext import to_paste
from pincite.wiki.suggest import Dates

MAX_BEFORE = 160  # characters of context before a claim
# Words for a finding, which templates call without a language.
TRANSLATED: tuple[Callable[..., Any], ...] = (
    wording.copy_read,
    wording.second_opinion,
    wording.what_changed,
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
        render_one(partial(macros.entry, rank=rank), finding)
        for rank, finding in enumerate(report.findings, 1)
    ]
    uncited = None
    if report.uncited is not None:
        uncited = [render_uncited(macros.uncited, item) for item in report.uncited]
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
        stages=report.coverage.stage_rows,
        counted=report.coverage.counting_rule,
        lost=report.coverage.lost_rows,
        advice=report.advice or wording.ADVICE,
        css=templates.style("verify.css"),
    )


def names(language: Language = IN_ENGLISH) -> dict[str, Any]:
    """Return the names that the templates use."""
    return {
        **{function.__name__: partial(function, say=language.say) for function in TRANSLATED},
        "joined": partial(wording.joint_verdict, say=language.say),
        "words": wording,
        "wrong": (),
        "short_name_of": wording.short_name_of,
        "language_named": languages.language_name,
        "shortened": cells.shorten,
        "excerpt": wording.excerpt,
        "sentence": _sentence,
        "detail_of": _detail,
        "end_of": _end,
        "has_parameters": lambda texts: any(text.startswith("|") for text in texts),
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
    return wording.unsaid_reasons(shared, finding.missing)


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
        f"{wording.name_of(citation)}: {'; '.join(phrase(f.note, say) for f in citation.faults)}"
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


# A row per citation, uncited claim and uncited sentence. Counting `citation_reached` gives the
# coverage.
COLUMNS = (
    "rank claim_id section claim label score citation_id citation_title citation_url "
    "citation_label citation_score unchecked_reason unchecked_detail quote reasons "
    "suggestion_url suggestion_title suggestion_score suggestion_quote "
    "missing citation_missing advice citation_reliability suggestion_reliability excluded "
    "citation_reached "
    "copy copy_url copy_date not_live changed changed_quote place suggestion_place "
    "second_opinion second_opinion_model decided_by suggestion_corpus citation_need verifiability "
    "support unchecked_because reference_status reference_notes"
).split()
Row = dict[str, str | float | None]  # a value for some of the columns


def to_csv(report: Report) -> str:
    return cells.csv_text(COLUMNS, rows(report))


def rows(report: Report) -> list[Sequence[object]]:
    """Return the values of `COLUMNS`."""
    return _in_columns(_table(report), COLUMNS)


def worst_to_csv(reports: Iterable[tuple[Report, Collection[int]]]) -> str:
    """Return the claims of these ranks in each report as one table, the lowest score first."""
    table: list[Row] = [
        {"article": report.title, **row}
        for report, ranks in reports
        for row in _table(report)
        if row.get("rank") in ranks
    ]
    table.sort(key=lambda row: cast("float", row["score"]))
    columns = ("article", *COLUMNS)
    return cells.csv_text(columns, _in_columns(table, columns))


def _in_columns(table: Iterable[Row], columns: Sequence[str]) -> list[Sequence[object]]:
    return [[row.get(column) for column in columns] for row in table]


def _table(report: Report) -> list[Row]:
    table: list[Row] = []
    for rank, finding in enumerate(report.findings, 1):
        table += render_one(partial(_rows_of, report, rank), finding)
    return table + [render_uncited(_uncited_row, item) for item in report.uncited or ()]


def _rows_of(report: Report, rank: int, finding: Finding) -> list[Row]:
    support, opinion = finding.prob_supported, finding.opinion
    row = _claim_values(finding) | {
        "rank": rank,
        "label": wording.LOOKS[finding.label].label,
        "score": finding.score,
        "support": None if support is None else cells.percent(support),
        "missing": _words(finding.missing),
        "verifiability": finding.verifiability and str(finding.verifiability),
    }
    if finding.label in FLAGS:
        row["advice"] = report.advice
    if isinstance(opinion, Failed):
        row["second_opinion"] = f"none: {opinion.detail}"
    elif opinion:
        row["second_opinion"] = wording.VERDICTS[opinion.verdict]
        row["second_opinion_model"] = opinion.model
        row["decided_by"] = str(finding.decided_by)
    return [row | _citation_values(result, finding) for result in finding.citations] or [row]


def _citation_values(result: CitationResult, finding: Finding) -> Row:
    citation, outcome, copy, changed = result.citation, result.outcome, result.copy, result.changed
    row: Row = {
        "citation_id": citation.citation_id,
        "citation_title": citation.title,
        "citation_url": citation.url,
        "citation_label": wording.LOOKS[result.label].label,
        "citation_missing": _words(result.missing),
        "citation_reliability": _reliability(result.listing),
        "citation_reached": str(stage_of(result, finding.label)),
        "place": wording.where(result.place, result.label) or None,
        "reference_status": str(result.work.status) if result.work else None,
        "reference_notes": " | ".join(map(str, result.reference_notes)) or None,
    }
    if isinstance(outcome, Unchecked):
        row["unchecked_reason"] = str(outcome.reason)
        row["unchecked_detail"] = outcome.detail
        row["unchecked_because"] = REASONS[outcome.reason]
    else:
        row["citation_score"] = outcome.score
        row["quote"] = outcome.quoted
        row["reasons"] = "; ".join(outcome.reasons)
    if copy:
        row["copy"] = str(copy.kind)
        row["copy_url"] = copy.file if copy.kind is CopyKind.OWN else copy.url
        row["copy_date"] = copy.date
        row["not_live"] = str(result.not_live.reason) if result.not_live else None
    if copy and changed:
        row["changed"] = wording.LOOKS[changed.label].label
        row["changed_quote"] = changed.evidence.quoted
    return row


def _uncited_row(uncited: Uncited) -> Row:
    return _claim_values(uncited) | {
        "label": wording.NO_CITATION,
        "reasons": "; ".join(uncited.reasons),
        "citation_need": uncited.probability,
    }


def _claim_values(item: Finding | Uncited) -> Row:
    excluded = (f"{exclusion.url} ({exclusion.bar})" for exclusion in item.excluded)
    row: Row = {
        "claim_id": item.claim.claim_id,
        "section": " › ".join(item.claim.section),
        "claim": item.claim.text,
        "excluded": " | ".join(excluded) or None,
    }
    return row | _suggestion_values(item.suggestions[0]) if item.suggestions else row


def _suggestion_values(suggestion: Suggestion) -> Row:
    evidence = suggestion.evidence
    return {
        "suggestion_url": evidence.passage.url,
        "suggestion_title": evidence.passage.title,
        "suggestion_score": evidence.score,
        "suggestion_quote": evidence.quoted,
        "suggestion_reliability": _reliability(suggestion.listing),
        "suggestion_place": wording.where(suggestion.place, Label.SUPPORTED) or None,
        "suggestion_corpus": suggestion.corpus or None,
    }


def _reliability(listing: Listing | None) -> str | None:
    return str(listing.reliability) if listing else None


def _words(parts: Sequence[Part]) -> str | None:
    return " | ".join(part.words for part in parts) or None
