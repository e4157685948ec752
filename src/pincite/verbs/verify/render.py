"""Renders the report as CSV, as wikitext to paste, and as one HTML page."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from itertools import dropwhile, groupby
from typing import Any, cast

from pincite import errors
from pincite.judgement.findings import contradicted_words
from pincite.notes import IN_ENGLISH, Language, Note, said
from pincite.references import outcomes
from pincite.report import cells, templates
from pincite.report.cells import REASONS, WORKS, why_excluded
from pincite.text import languages, tables
from pincite.text.clauses import Standing, standing
from pincite.text.hosts import host_of
from pincite.text.sentences import n_words, sentences
from pincite.types import (
    NO_WORK,
    CitationResult,
    Claim,
    CopyKind,
    Evidence,
    Failed,
    Finding,
    Label,
    Listing,
    Part,
    Reason,
    Span,
    Suggestion,
    Unchecked,
    Uncited,
    WorkStatus,
)
from pincite.verbs.verify import wording
from pincite.verbs.verify.report import (
    FLAGS,
    Report,
    Stage,
    by_reason,
    counting_rule,
    coverage_rows,
    lost_rows,
    stage_of,
)
from pincite.wiki import suggest
from pincite.wiki.suggest import Dates
from pincite.wiki.uncited import is_read

# ── CSV ──────────────────────────────────────────────────────────────────────────────────────────

# One row per citation. Counting `citation_reached` gives the coverage.
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

Value = str | float | None


def to_csv(report: Report) -> str:
    return cells.csv_text(COLUMNS, rows(report))


def to_csv_of(reports: Iterable[tuple[Report, Collection[int]]]) -> str:
    """Return some claims of several reports, by rank, as one table, the lowest score first."""
    table = [
        [report.title, *row] for report, ranks in reports for row in rows(report) if row[0] in ranks
    ]
    columns = ("article", *COLUMNS)
    score = columns.index("score")
    return cells.csv_text(columns, sorted(table, key=lambda row: cast("float", row[score])))


def rows(report: Report) -> Iterator[list[Value]]:
    """Yield the values of `COLUMNS`: a row per citation, uncited claim and uncited sentence."""
    table: list[dict[str, Value]] = []
    for rank, finding in enumerate(report.findings, 1):
        table += errors.shown(partial(_rows, report, rank), finding)
    table += [errors.shown_uncited(_uncited_row, item) for item in report.uncited or ()]
    for row in table:
        yield [row.get(column) for column in COLUMNS]


def _rows(report: Report, rank: int, finding: Finding) -> list[dict[str, Value]]:
    row = _claim_values(finding) | {
        "rank": rank,
        "label": wording.LOOKS[finding.label].label,
        "score": finding.score,
        "support": None if (share := finding.prob_supported) is None else cells.percent(share),
        "missing": _words(finding.missing),
        "verifiability": finding.verifiability and str(finding.verifiability),
    }
    if finding.label in FLAGS:
        row["advice"] = wording.flag_advice(report.flag_precision) or None
    if isinstance(opinion := finding.opinion, Failed):
        row["second_opinion"] = f"none: {opinion.detail}"
    elif opinion:
        row["second_opinion"] = wording.VERDICTS[opinion.verdict]
        row["second_opinion_model"] = opinion.model
        row["decided_by"] = str(finding.decided_by)
    return [row | _citation_values(each, finding) for each in finding.citations] or [row]


def _citation_values(result: CitationResult, finding: Finding) -> dict[str, Value]:
    citation, outcome, copy, changed = result.citation, result.outcome, result.copy, result.changed
    row: dict[str, Value] = {
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
        row |= {"unchecked_reason": str(outcome.reason), "unchecked_detail": outcome.detail}
        row["unchecked_because"] = REASONS[outcome.reason]
    else:
        row |= {"citation_score": outcome.score, "quote": outcome.quoted}
        row["reasons"] = "; ".join(outcome.reasons)
    if copy:
        place = copy.file if copy.kind is CopyKind.OWN else copy.url
        row |= {"copy": str(copy.kind), "copy_url": place, "copy_date": copy.date}
        row["not_live"] = str(result.not_live.reason) if result.not_live else None
    if copy and changed:
        row["changed"] = wording.LOOKS[changed.label].label
        row["changed_quote"] = changed.evidence.quoted
    return row


def _uncited_row(uncited: Uncited) -> dict[str, Value]:
    return _claim_values(uncited) | {
        "label": wording.NO_CITATION,
        "reasons": "; ".join(uncited.reasons),
        "citation_need": uncited.probability,
    }


def _claim_values(found: Finding | Uncited) -> dict[str, Value]:
    row: dict[str, Value] = {
        "claim_id": found.claim.claim_id,
        "section": " › ".join(found.claim.section),
        "claim": found.claim.text,
        "excluded": " | ".join(f"{each.url} ({each.bar})" for each in found.excluded) or None,
    }
    for suggestion in found.suggestions[:1]:
        evidence = suggestion.evidence
        row |= {
            "suggestion_url": evidence.passage.url,
            "suggestion_title": evidence.passage.title,
            "suggestion_score": evidence.score,
            "suggestion_quote": evidence.quoted,
            "suggestion_reliability": _reliability(suggestion.listing),
            "suggestion_place": wording.where(suggestion.place, Label.SUPPORTED) or None,
            "suggestion_corpus": suggestion.corpus or None,
        }
    return row


def _reliability(listing: Listing | None) -> str | None:
    return str(listing.reliability) if listing else None


def _words(parts: Sequence[Part]) -> str | None:
    return " | ".join(part.words for part in parts) or None


# ── Wikitext ─────────────────────────────────────────────────────────────────────────────────────

# Templates and verbatim quotes only, never prose for the article; every parameter is escaped.
# Lines that begin with `#` are for the editor and stay out of the article. The templates are those
# of English Wikipedia: other editors get no tag, and a reference without a template.
MAX_REASON_QUOTE = 200  # characters of the source in a tag: enough to find the place
# The page is probably gone for good.
GONE = (Reason.DEAD, Reason.SOFT_404, Reason.FRONT_PAGE, Reason.NO_HOST)
FAILED = (Label.NOT_SUPPORTED, Label.REFUTED, Label.PARTLY_SUPPORTED)


def to_wikitext(report: Report, today: date, wrong: Collection[str] = ()) -> str:
    """Return a block per claim that fails or has something to paste, then uncited sentences."""
    dates = Dates(today, report.date_format)
    findings = [
        f
        for f in report.findings
        if f.label in FAILED
        or f.suggestions
        or f.claim.disputed
        or any(archived(result, dates) for result in f.citations)
    ]
    blocks = [
        errors.shown(partial(_block, number=number, dates=dates, wrong=wrong), finding)
        for number, finding in enumerate(findings, 1)
    ]
    advice = wording.flag_advice(report.flag_precision) or wording.ADVICE
    n_claims = f"{len(blocks)} of {cells.n_of(report.n_claims, 'claim')}"
    if n_open := report.counts.labels[Label.UNCHECKED]:
        advice = f"{n_open} could not be checked. {advice}"

    blocks += [
        errors.shown_uncited(partial(_uncited_block, dates=dates), each)
        for each in report.uncited or ()
    ]
    cited = (result for finding in report.findings for result in finding.citations)
    works = {
        r.citation.reference: r for r in cited if r.work and (r.is_in_doubt or r.work.corrections)
    }
    blocks += [_work_block(result, report.language) for result in works.values()]
    n_claims += f", {cells.n_of(len(works), 'reference')}" if works else ""
    head = f"# {cells.one_line(report.title)}: {n_claims} to look at. {advice}\n"
    return "\n".join([head, *blocks])


def to_correct(result: CitationResult, language: str) -> str:
    """Return the corrected citation template, and the tag of a work that no longer stands."""
    work = result.work or NO_WORK
    name = TAGS.get(work.status, "") if is_read(language) and not work.is_marked else ""
    tag = suggest.template(name, doi=work.notice) if name else ""
    return " ".join(filter(None, (work.template, tag)))


# Templates of English Wikipedia that follow a citation; `doi` is the notice's.
TAGS = {
    WorkStatus.RETRACTED: "retracted",
    WorkStatus.WITHDRAWN: "retracted",
    WorkStatus.CONCERN: "expression of concern",
}


def _work_block(result: CitationResult, language: str) -> str:
    work, name = result.work or NO_WORK, cells.shortened(wording.name_of(result.citation), MAX_NAME)
    lines = [
        f"# {WORKS[work.status].sign} Reference, {WORKS[work.status].label}: {name}",
        *(f"# {cells.one_line(str(note))}" for note in result.reference_notes),
    ]
    for correction in work.corrections:
        lines.append(f"# − |{correction.parameter}={cells.one_line(correction.cited)}")
        lines.append(f"# + |{correction.parameter}={correction.known}")
    if work.status in TAGS and not is_read(language):
        lines.append(f"# {wording.NO_TAG}")
    return "\n".join(filter(None, [*lines, to_correct(result, language)])) + "\n"


def _uncited_block(uncited: Uncited, dates: Dates) -> str:
    lines = [
        f"# {wording.NO_CITATION}{_section(uncited.claim)}",
        f"# sentence: {cells.shortened(uncited.claim.text, 300)}",
        *(f"# {cells.one_line(reason)}" for reason in uncited.reasons),
        *to_paste(uncited, dates),
        *filter(None, (reference(each, dates) for each in uncited.suggestions[1:])),
    ]
    return "\n".join(lines) + "\n"


def _section(claim: Claim) -> str:
    return "".join(f" {'›' if n else '·'} {cells.one_line(h)}" for n, h in enumerate(claim.section))


def tag(finding: Finding, today: date) -> str | None:
    """Return the failed-verification tag; None if no checked source fails the claim."""
    checked = [r.outcome for r in finding.citations if isinstance(r.outcome, Evidence)]
    if finding.label not in FAILED or not checked or finding.claim.disputed:
        return None
    if finding.claim.language or any(result.other_copy for result in finding.citations):
        return None
    if finding.label is Label.PARTLY_SUPPORTED and not finding.missing:
        return None
    closest = max(checked, key=lambda evidence: evidence.score)
    lacks = wording.quoted(finding.missing, finding.claim.text) or "this"
    reason, where = f"The cited source does not seem to state {lacks}", "; closest passage: "
    if finding.label is Label.REFUTED:
        denied = wording.quoted(contradicted_words(finding.claim.text, closest))
        reason, where = f"The cited source seems to contradict {denied or lacks}", ": "
    if closest.quoted:
        reason += f"{where}“{cells.shortened(closest.quoted, MAX_REASON_QUOTE)}”"
    return suggest.template("failed verification", date=f"{today:%B %Y}", reason=reason)


MOST_AUTHORS = 3  # more are "et al."
# Probability of support from which a reference to a page is proposed; of twelve that reached only
# `decide.THRESHOLD`, eight were wrong.
PROPOSED_FROM = 0.5


def reference(suggestion: Suggestion, dates: Dates, language: str = "") -> str | None:
    """Return `<ref>{{cite web|…}}</ref>`; None without a web address, or if not likely enough.

    `language`: of the claim, if not English: then `<ref>[address title], date</ref>`.
    """
    passage = suggestion.evidence.passage
    likely = suggestion.evidence.prob_supported >= PROPOSED_FROM
    if not likely or not passage.url.startswith(("http://", "https://")):
        return None
    if language:
        title = suggest.escape_parameter(passage.title or passage.url)
        dated = ", ".join(filter(None, (suggestion.published, dates.today.isoformat())))
        return f"<ref>[{suggest.escape_url(passage.url)} {title}], {dated}</ref>"
    citation = suggest.template(
        "cite web",
        **_authors(suggestion.authors),
        url=passage.url,
        title=cells.one_line(suggestion.headline or passage.title) or passage.url,
        website=cells.one_line(suggestion.site) or host_of(passage.url).removeprefix("www."),
        date=dates.written(suggestion.published),
        access_date=dates.written(dates.today.isoformat()),
        quote=quoted_sentences(suggestion.evidence) or None,
    )
    return f"<ref>{citation}</ref>"


def _authors(names: Sequence[str]) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for n, name in enumerate(names[:MOST_AUTHORS], 1):
        family, comma, given = map(cells.one_line, name.partition(","))
        parameters |= {f"last{n}": family, f"first{n}": given} if comma else {f"author{n}": family}
    return parameters | ({"display_authors": "etal"} if len(names) > MOST_AUTHORS else {})


def quoted_sentences(evidence: Evidence) -> str:
    """Return the quote without headings before it; empty if that is no whole sentence of prose."""

    def is_prose(line: str) -> bool:
        is_clause = standing(line, evidence.passage.language or "en") is Standing.CLAUSE
        return is_clause and not _is_item(line) and bool(_SENTENCE_END.search(line))

    shown = excerpt(evidence.passage.text, evidence.quote)
    quoted = shown.quote.splitlines() if shown else []
    lines = list(dropwhile(lambda line: not is_prose(line), quoted))
    return cells.one_line(" ".join(lines)) if all(map(is_prose, lines)) else ""


def archived(result: CitationResult, dates: Dates) -> str | None:
    """Return parameters for an archived copy if the page changed, or is gone but marked live."""
    copy, citation, why = result.copy, result.citation, result.not_live
    if copy is None or copy.kind not in wording.ARCHIVED_KINDS or not cells.safe_link(copy.url):
        return None
    if result.changed:
        status = "deviated"
    elif why and why.reason in GONE and citation.url_status != "dead":
        status = "dead"
    else:
        return None
    known = citation.archive_url is not None and copy.kind is CopyKind.ARCHIVED
    url, date = (None, None) if known else (copy.url, dates.written(copy.date))
    return suggest.parameters(archive_url=url, archive_date=date, url_status=status)


def _block(finding: Finding, number: int, dates: Dates, wrong: Collection[str]) -> str:
    marked_wrong, sign = finding.claim.claim_id in wrong, wording.LOOKS[finding.label].sign
    lines: list[str | None] = [
        f"# {number}. {sign} {wording.verdict_by(finding)}{_section(finding.claim)}",
        f"# claim: {cells.shortened(finding.claim.text, 300)}",
        *(f"# {line}" for line in wording.about_claim(finding)),
        f"# {wording.MARKED_WRONG}" if marked_wrong else None,
    ]
    if lacks := wording.missing_of(finding):
        lines.append(f"# {lacks}")
    for n, result in enumerate(finding.citations if finding.label in FAILED else (), 1):
        of = f" {n} of {len(finding.citations)}" if len(finding.citations) > 1 else ""
        look = wording.LOOKS[result.label]
        lines.append(f"# reference{of}: {wording.name_of(result.citation)} ({look.label})")
        lines += [f"# {cells.one_line(str(each))}" for each in wording.reasons(result, finding)]
    if doubt := wording.unverifiable(finding):
        lines.append(f"# {doubt}")
    lines.append(None if marked_wrong else tag(finding, dates.today))
    for result in finding.citations:
        if not finding.claim.language and (parameters := archived(result, dates)):
            why = wording.what_changed(result) or wording.copy_read(result)
            lines += [f"# {wording.name_of(result.citation)}: {why}", parameters]
    language = finding.claim.language
    lines += [reference(suggestion, dates, language) for suggestion in finding.suggestions]
    return "\n".join(filter(None, lines)) + "\n"


# ── HTML ─────────────────────────────────────────────────────────────────────────────────────────

MAX_BEFORE = 160  # characters of context before a claim
MAX_NAME = 160  # characters of a source's name: some references are whole paragraphs


def to_html(report: Report, today: date | None = None, wrong: Collection[str] = ()) -> str:
    """Render the report as one self-contained page: no script, no request, everything escaped.

    `wrong`: ids of the claims whose verdicts the user marked as wrong.
    """
    dates = Dates(today or datetime.now(UTC).date(), report.date_format)
    pasted = partial(to_paste, dates=dates, wrong=wrong)
    shared = {**names(), "to_paste": pasted, "wrong": wrong, "language": "en", "report": report}
    macros: Any = templates.page("finding.html.j2").make_module(shared)
    entries = [
        errors.shown(partial(macros.entry, rank=rank), each)
        for rank, each in enumerate(report.findings, 1)
    ]
    pairs = list(zip(report.findings, entries, strict=True))
    return templates.page("report.html.j2").render(
        shared,
        counts=report.counts,
        cited=report.coverage.stages[Stage.CITED],
        n_judged=report.coverage.stages[Stage.JUDGED].uses,
        first=[entry for finding, entry in pairs if _to_look_at(finding)],
        sound=[entry for finding, entry in pairs if _is_sound(finding)],
        open=[
            {
                "why": _sentence(group.why),
                "steps": _sentence(group.steps),
                "entries": [entries[rank - 1] for rank, _ in group.findings],
                "n_better": sum(bool(finding.suggestions) for _, finding in group.findings),
            }
            for group in by_reason(enumerate(report.findings, 1))
        ],
        uncited=None
        if report.uncited is None
        else [errors.shown_uncited(macros.uncited, each) for each in report.uncited],
        stages=coverage_rows(report.coverage),
        counted=counting_rule(report.coverage),
        lost=lost_rows(report.coverage),
        advice=wording.flag_advice(report.flag_precision) or wording.ADVICE,
        css=templates.style("verify.css"),
    )


def names(language: Language = IN_ENGLISH) -> dict[str, Any]:
    """Return the names that the templates use."""
    translated: tuple[Callable[..., Any], ...] = (
        *(wording.copy_read, wording.second_opinion, wording.what_changed),
        *(wording.joined, wording.what_is_missing, wording.missing_of, wording.where),
        *(wording.unverifiable, wording.rests_on, wording.strength, why_excluded),
    )
    return {
        "words": wording,
        "wrong": (),
        **{function.__name__: partial(function, say=language.say) for function in translated},
        "shortened": cells.shortened,
        "excerpt": excerpt,
        "sentence": _sentence,
        "name_of": name_of,
        "detail_of": _detail,
        "end_of": _end,
        "language_named": languages.named,
        "has_parameters": lambda texts: any(text.startswith("|") for text in texts),
        "pieces": pieces,
        "unchecked": _unchecked,
        "shared_reasons": _shared_reasons,
        "to_look_at": _to_look_at,
        "WORKS": WORKS,
    }


def _is_sound(finding: Finding) -> bool:
    is_changed = finding.source_changed or finding.is_reference_in_doubt
    return finding.label is Label.SUPPORTED and not is_changed


def _to_look_at(finding: Finding) -> bool:
    is_read = finding.label is not Label.UNCHECKED or finding.is_reference_in_doubt
    return is_read and not _is_sound(finding)


def pieces(text: str, missing: Sequence[Part]) -> list[tuple[str, bool]]:
    """Split the text where its missing parts begin and end. The flag marks the missing ones."""
    split, end = [], 0
    for start, stop in sorted(part.span for part in missing):
        start, stop = max(start, end), max(stop, end)  # parts of different kinds may overlap
        split += [(text[end:start], False), (text[start:stop], True)]
        end = stop
    return [piece for piece in [*split, (text[end:], False)] if piece[0]]


def _shared_reasons(finding: Finding) -> tuple[Note, ...]:
    """Return the reasons common to all sources, which are shown once."""
    outcomes = [result.outcome for result in finding.citations]
    notes = [outcome.reasons_coded for outcome in outcomes if isinstance(outcome, Evidence)]
    if len(notes) < 2:
        return ()
    shared = [note for note in notes[0] if all(note in others for others in notes[1:])]
    return wording.unsaid(shared, finding.missing)


def _unchecked(finding: Finding) -> dict[str, list[CitationResult]]:
    groups: dict[str, list[CitationResult]] = {}
    for result in finding.citations:
        if isinstance(result.outcome, Unchecked):
            groups.setdefault(REASONS[result.outcome.reason], []).append(result)
    return groups


def _detail(result: CitationResult) -> str:
    assert isinstance(result.outcome, Unchecked)
    name, detail = name_of(result), cells.one_line(result.outcome.detail)
    return "" if detail in name or name in detail else detail


def name_of(result: CitationResult) -> str:
    return cells.shortened(wording.name_of(result.citation), MAX_NAME)


def to_paste(found: Finding | Uncited, dates: Dates, wrong: Collection[str] = ()) -> list[str]:
    texts: list[str | None] = []
    if isinstance(found, Finding):
        texts.append(None if found.claim.claim_id in wrong else tag(found, dates.today))
        cited = () if found.claim.language else found.citations
        texts += [archived(result, dates) for result in cited]
        texts += [to_correct(result, found.claim.language or "en") for result in found.citations]
    elif not found.claim.tags:  # else an editor already asked for a citation
        texts.append(suggest.template("citation needed", date=f"{dates.today:%B %Y}"))
    language = found.claim.language
    texts += [reference(each, dates, language) for each in found.suggestions[:1]]
    return list(filter(None, texts))


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]  # `str.capitalize` would lowercase the rest


def _end(text: str) -> str:
    last = text[-MAX_BEFORE:]
    return text if len(text) <= MAX_BEFORE else f"…{last.partition(' ')[2] or last}"


# ── The lines around a quote ─────────────────────────────────────────────────────────────────────

# Pages come with menus. Text around a quote is shown only if it reads as prose, and a quote that is
# itself a menu line is not evidence.
# Five lines: a line of the report has about 95 characters on a screen.
MAX_SHOWN = 450
MAX_QUOTE_BEFORE = 130  # limits the text before the quote, so that the highlight comes early
_PROSE = re.compile(r"[.!?…:;。！？：；][\"'”’»)\]」』）]*$")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’»)\]」』）]*$")
_LABELLED = re.compile(r"[^:]{2,40}: [^:]*\d[^:]*")  # "Journey time: 3 min"
_FEW_WORDS = 10  # a menu line has fewer
_MANY_LINES = 4  # this many short lines in a row are a menu or a list of headlines


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A quote with its surrounding text. `whole`: this is the entire passage."""

    head: str
    quote: str
    tail: str
    whole: bool


def excerpt(text: str, quote: Span | None) -> Excerpt | None:
    """Return the quote within at most about five lines; None if no quote can be shown."""
    if quote is None or quote.start == quote.end or in_menu(text, quote):
        return None
    first = max(text.rfind("\n", 0, quote.start), text.rfind("\r", 0, quote.start)) + 1
    last = text.find("\n", quote.end)
    before = [first + each.start for each in sentences(text[first : quote.start])]
    start = min((s for s in before if quote.start - s <= MAX_QUOTE_BEFORE), default=quote.start)
    if text[start].islower():  # the rest of an abbreviation is not a sentence: “sp. nov.”
        start = quote.start
    limit = max(quote.end, start + MAX_SHOWN)
    behind = sentences(text[quote.end : last if last >= 0 else None])
    ends = [quote.end + each.end for each in behind]
    end = max((each for each in ends if each <= limit), default=quote.end)
    return Excerpt(
        head=text[start : quote.start].lstrip(),
        quote=quote.of(text),
        tail=text[quote.end : end].rstrip(),
        whole=not text[:start].strip() and not text[end:].strip(),
    )


def in_menu(text: str, quote: Span) -> bool:
    """Whether the quote is in a run of short lines that are not sentences, such as a menu.

    Rows of a table do not count: they say which value belongs to which name.
    """
    lines = [Span(*match.span()) for match in re.finditer(r"[^\n\r]+", text) if match[0].strip()]
    quoted = {line for line in lines if line.overlaps(quote)}
    runs = [
        set(run)
        for are_items, run in groupby(lines, key=lambda line: _is_item(line.of(text)))
        if are_items
    ]
    return any(quoted and quoted <= run and len(run) >= _MANY_LINES for run in runs)


def _is_item(line: str) -> bool:
    line = line.strip()
    is_row = "|" in line or bool(tables.cells_of(line)) or bool(_LABELLED.fullmatch(line))
    is_short = n_words(line) < _FEW_WORDS and not is_row and not _PROSE.search(line)
    return is_short or line.startswith("#")  # a Markdown heading


# ── A draft on one screen: what a reviewer of new articles wants to know of its sources ──────────

DRAFT_SHOWN = 5  # items of each part: more do not fit on a screen
DRAFT_WIDTH = 110
_DENIED = (Label.NOT_SUPPORTED, Label.REFUTED)


@dataclass(frozen=True, slots=True)
class Draft:
    """The screen: what its citations are worth, and parts with a heading and their items."""

    title: str
    head: Note
    parts: tuple[tuple[Note, tuple[str, ...]], ...]


def draft_of(report: Report, source: str, say: Callable[[str], str] = str) -> Draft:
    """Sum up a report for a reviewer; `source`: the article's."""
    results = [(f, result) for f in report.findings for result in f.citations]
    checked = [(f, result) for f, result in results if isinstance(result.outcome, Evidence)]
    failing = [(f, r) for f, r in checked if r.label in _DENIED and f.label in _DENIED]
    faulty = {r.citation.definition: r.citation for _, r in results if r.citation.faults}
    faults = tuple(
        f"{wording.name_of(c)}: {'; '.join(said(fault.note, say) for fault in c.faults)}"
        for c in faulty.values()
    )
    claims = {
        f.claim.claim_id: f"{say(wording.LOOKS[f.label].label)}: {f.claim.text}" for f, _ in failing
    }
    parts = {
        "draft_unsupported": tuple(claims.values()),
        "draft_references": faults,
        "draft_uncited": tuple(each.claim.text for each in report.uncited or ()),
        "draft_traces": outcomes.traces(source),
    }
    head = Note("draft_unchecked", {"n": len(results)})
    if checked:
        counted = {"checked": len(checked), "failing": len(failing)}
        percent = {"percent": cells.percent(len(failing) / len(checked))}
        head = Note("draft_citations", {**head.values, **counted, **percent})
    return Draft(report.title, head, tuple((Note(code), items) for code, items in parts.items()))


def draft_lines(draft: Draft) -> Iterator[str]:
    """Lines for a terminal: one screen."""
    yield cells.one_line(draft.title)
    yield str(draft.head)
    for head, items in draft.parts:
        yield f"{len(items):4} {head}"
        yield from (f"       {cells.shortened(item, DRAFT_WIDTH)}" for item in items[:DRAFT_SHOWN])
        if len(items) > DRAFT_SHOWN:
            yield f"       … and {len(items) - DRAFT_SHOWN} more"


def draft_html(draft: Draft) -> str:
    values = {"layout": "file.html.j2", "css": templates.style()}
    return templates.page("draft.html.j2").render(draft=draft, report="", **values)
