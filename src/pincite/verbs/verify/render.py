"""Renders the report as CSV, as wikitext to paste, and as one HTML page.

A finding that fails to render does not affect the others: `containment.shown` puts its bare claim
in its place.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

from pincite import containment
from pincite.judgement import aggregation, fusion
from pincite.notes import IN_ENGLISH, Language, Note
from pincite.report import cells, templates
from pincite.report.reasons import REASONS, why_excluded
from pincite.text.sentences import sentences
from pincite.types import (
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
)
from pincite.verbs.verify import coverage, wording
from pincite.verbs.verify.coverage import FLAGS, Stage
from pincite.verbs.verify.report import Report
from pincite.wiki import suggest

# ── CSV ──────────────────────────────────────────────────────────────────────────────────────────

# One row per citation. Counting `citation_reached` gives the coverage.
COLUMNS = (
    "rank claim_id section claim label score citation_id citation_title citation_url "
    "citation_label citation_score unchecked_reason unchecked_detail quote reasons "
    "suggestion_url suggestion_title suggestion_score suggestion_quote "
    "missing citation_missing advice citation_reliability suggestion_reliability excluded "
    "citation_reached "
    "copy copy_url copy_date not_live changed changed_quote place suggestion_place "
    "second_opinion second_opinion_model disagrees suggestion_corpus citation_need"
).split()

Value = str | float | None


def to_csv(report: Report) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows(report):
        writer.writerow([cells.cell(value) for value in row])
    return out.getvalue()


def rows(report: Report) -> Iterator[list[Value]]:
    """Yield the values of `COLUMNS`, one row per citation.

    A claim without citations has one row. So does an uncited sentence, with its probability in the
    last column.
    """
    found: list[dict[str, Value]] = []
    for rank, finding in enumerate(report.findings, 1):
        found += containment.shown(partial(_rows, report, rank), finding)
    found += [containment.shown_uncited(_uncited_row, each) for each in report.uncited or ()]
    for row in found:
        yield [row.get(column) for column in COLUMNS]


def _rows(report: Report, rank: int, finding: Finding) -> list[dict[str, Value]]:
    claim, said = finding.claim, finding.opinion
    of_claim: dict[str, Value] = {
        **_of_claim(claim),
        **_of_suggestions(finding),
        "rank": rank,
        "label": wording.LABELS[finding.label],
        "score": finding.score,
        "missing": _words(finding.missing),
    }
    if finding.label in FLAGS:
        of_claim["advice"] = wording.flag_advice(report.flag_precision) or None
    if isinstance(said, Failed):
        of_claim["second_opinion"] = f"none: {said.detail}"
    elif said:
        of_claim["second_opinion"] = wording.VERDICTS[said.verdict]
        of_claim["second_opinion_model"] = said.model
        of_claim["disagrees"] = "yes" if fusion.disagree(finding) else "no"
    return [of_claim | _of_citation(each, finding) for each in finding.citations] or [of_claim]


def _of_citation(result: CitationResult, finding: Finding) -> dict[str, Value]:
    citation, outcome, copy, changed = result.citation, result.outcome, result.copy, result.changed
    row: dict[str, Value] = {
        "citation_id": citation.citation_id,
        "citation_title": citation.title,
        "citation_url": citation.url,
        "citation_label": wording.LABELS[result.label],
        "citation_missing": _words(result.missing),
        "citation_reliability": _reliability(result.listing),
        "citation_reached": str(coverage.stage(result, finding.label)),
        "place": wording.where(result.place, result.label) or None,
    }
    if isinstance(outcome, Unchecked):
        row |= {"unchecked_reason": str(outcome.reason), "unchecked_detail": outcome.detail}
    else:
        row |= {"citation_score": outcome.score, "quote": outcome.quoted}
        row["reasons"] = "; ".join(outcome.reasons)
    if copy:
        row |= {"copy": str(copy.kind), "copy_url": copy.url, "copy_date": copy.date}
        row["not_live"] = str(result.not_live.reason) if result.not_live else None
    if copy and changed:
        row |= {"changed": wording.LABELS[changed.label], "changed_quote": changed.evidence.quoted}
    return row


def _uncited_row(uncited: Uncited) -> dict[str, Value]:
    return {
        **_of_claim(uncited.claim),
        **_of_suggestions(uncited),
        "label": wording.NO_CITATION,
        "reasons": "; ".join(uncited.reasons),
        "citation_need": uncited.probability,
    }


def _of_claim(claim: Claim) -> dict[str, Value]:
    section = " › ".join(claim.section)
    return {"claim_id": claim.claim_id, "section": section, "claim": claim.text}


def _of_suggestions(found: Finding | Uncited) -> dict[str, Value]:
    row: dict[str, Value] = {
        "excluded": " | ".join(f"{each.url} ({each.bar})" for each in found.excluded) or None
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
# Lines that begin with `#` are for the editor and stay out of the article.
MAX_REASON_QUOTE = 200  # characters of the source in a tag: enough to find the place
# The page is probably gone for good.
GONE = (Reason.DEAD, Reason.SOFT_404, Reason.FRONT_PAGE, Reason.NO_HOST)
FAILED = (Label.NOT_SUPPORTED, Label.REFUTED, Label.PARTLY_SUPPORTED)


def to_wikitext(report: Report, today: date) -> str:
    """Return a block for each claim that fails or has something to paste, worst first.

    Sentences that need a citation follow.
    """
    findings = [
        f
        for f in report.findings
        if f.label in FAILED or f.suggestions or f.claim.disputed or any(map(archived, f.citations))
    ]
    blocks = [
        containment.shown(partial(_block, number=number, today=today), finding)
        for number, finding in enumerate(findings, 1)
    ]
    advice = wording.flag_advice(report.flag_precision) or wording.ADVICE
    n_claims = f"{len(blocks)} of {cells.n_of(report.n_claims, 'claim')}"
    head = f"# {cells.one_line(report.title)}: {n_claims} with something to do. {advice}\n"
    head += f"# {coverage.line(report.coverage)}\n"
    blocks += [
        containment.shown_uncited(partial(_uncited_block, today=today), each)
        for each in report.uncited or ()
    ]
    return "\n".join([head, *blocks])


def tag_uncited(uncited: Uncited, today: date) -> str | None:
    """Return the tag that asks for a citation; None if an editor already added one."""
    if uncited.claim.tags:
        return None
    return suggest.citation_needed(month_year=f"{today:%B %Y}")


def _uncited_block(uncited: Uncited, today: date) -> str:
    claim = uncited.claim
    section = " › ".join(cells.one_line(heading) for heading in claim.section)
    lines = [
        f"# {wording.NO_CITATION}{' · ' + section if section else ''}",
        f"# sentence: {cells.shortened(claim.text, 300)}",
        *(f"# {cells.one_line(reason)}" for reason in uncited.reasons),
    ]
    found = [tag_uncited(uncited, today), *(reference(s, today) for s in uncited.suggestions)]
    return "\n".join([*lines, *filter(None, found)]) + "\n"


def tag(finding: Finding, today: date) -> str | None:
    """Return the failed-verification tag; None if no checked source fails the claim."""
    checked = [r.outcome for r in finding.citations if isinstance(r.outcome, Evidence)]
    if finding.label not in FAILED or not checked or finding.claim.disputed:
        return None
    if finding.label is Label.PARTLY_SUPPORTED and not finding.missing:
        return None
    closest = max(checked, key=lambda evidence: evidence.score)
    reason = f"The cited source does not seem to state {_what(finding)}"
    if closest.quoted:
        reason += f"; closest passage: “{cells.shortened(closest.quoted, MAX_REASON_QUOTE)}”"
    return suggest.failed_verification(month_year=f"{today:%B %Y}", reason=reason)


def _what(finding: Finding) -> str:
    """Return the missing parts in the claim's own words, or "this" if the whole claim fails."""
    words = [part.words for part in finding.missing]
    return ", ".join(f"“{cells.shortened(w, wording.MAX_PART)}”" for w in words) or "this"


def reference(suggestion: Suggestion, today: date) -> str | None:
    """Return `<ref>{{cite web|…}}</ref>`; None without a web address, or if not likely enough."""
    passage = suggestion.evidence.passage
    likely = suggestion.evidence.prob_supported >= aggregation.PROPOSED_FROM
    if not likely or not passage.url.startswith(("http://", "https://")):
        return None
    return suggest.reference(
        suggest.cite_web(
            url=passage.url,
            title=cells.one_line(passage.title) or passage.url,
            date=suggestion.published,
            access_date=today.isoformat(),
            quote=cells.one_line(suggestion.evidence.quoted) or None,
        )
    )


def archived(result: CitationResult) -> str | None:
    """Return template parameters that name the archived copy; None if they are not needed.

    They are needed if the page changed, or is gone while the citation still calls it live.
    """
    copy, citation, why = result.copy, result.citation, result.not_live
    if copy is None or copy.kind not in (CopyKind.ARCHIVED, CopyKind.WAYBACK):
        return None
    if result.changed:
        status = "deviated"
    elif why and why.reason in GONE and citation.url_status != "dead":
        status = "dead"
    else:
        return None
    if not copy.url.startswith(("http://", "https://")):
        return None
    known = citation.archive_url is not None and copy.kind is CopyKind.ARCHIVED
    return suggest.archive_parameters(
        url=None if known else copy.url, date=None if known else copy.date, status=status
    )


def _block(finding: Finding, number: int, today: date) -> str:
    section = " › ".join(cells.one_line(heading) for heading in finding.claim.section)
    lines = [
        f"# {number}. {wording.verdict(finding.label)}{' · ' + section if section else ''}",
        f"# claim: {cells.shortened(finding.claim.text, 300)}",
        *(f"# {line}" for line in wording.about_claim(finding.claim)),
    ]
    lacks = wording.what_is_missing(finding.label, finding.missing)
    if lacks:
        lines.append(f"# {lacks}")
    tagged = tag(finding, today)
    if tagged:
        lines.append(tagged)
    for result in finding.citations:
        if of_copy := archived(result):
            said = wording.what_changed(result) or wording.copy_read(result)
            lines += [f"# {wording.name_of(result.citation)}: {said}", of_copy]
    found = [reference(suggestion, today) for suggestion in finding.suggestions]
    lines += [text for text in found if text]
    return "\n".join(lines) + "\n"


# ── HTML ─────────────────────────────────────────────────────────────────────────────────────────

MAX_BEFORE = 160  # characters of context before a claim
MAX_NAME = 160  # characters of a source's name: some references are whole paragraphs


def to_html(report: Report, today: date | None = None) -> str:
    """Render the report as one self-contained page: no script, no request, everything escaped.

    The page's content-security policy forbids scripts and requests. The filter uses radio buttons
    and CSS.
    """
    today = today or datetime.now(UTC).date()
    shared = {**names(), "to_paste": partial(to_paste, today=today)}
    macros: Any = templates.page("finding.html.j2").make_module(shared)
    entries = [
        containment.shown(partial(macros.entry, rank=rank), each)
        for rank, each in enumerate(report.findings, 1)
    ]
    found = list(zip(report.findings, entries, strict=True))
    first = [finding for finding in report.findings if _to_look_at(finding)]
    return templates.page("report.html.j2").render(
        shared,
        report=report,
        counts=report.counts,
        cited=report.coverage.stages[Stage.CITED],
        n_judged=report.coverage.stages[Stage.JUDGED].uses,
        first=[entry for finding, entry in found if _to_look_at(finding)],
        first_words=_first_words(first),
        sound=[
            entry
            for finding, entry in found
            if finding.label is Label.SUPPORTED and not finding.source_changed
        ],
        open=[
            {
                "why": _sentence(group.why),
                "steps": _sentence(group.steps),
                "entries": [entries[rank - 1] for rank, _ in group.findings],
                "n_better": sum(bool(finding.suggestions) for _, finding in group.findings),
            }
            for group in coverage.by_reason(report.findings)
        ],
        uncited=None
        if report.uncited is None
        else [containment.shown_uncited(macros.uncited, each) for each in report.uncited],
        columns=coverage.columns(report.coverage),
        counted=coverage.counted(report.coverage),
        lost=coverage.lost(report.coverage),
        advice=wording.flag_advice(report.flag_precision) or wording.ADVICE,
        css=templates.style("verify.css"),
    )


def names(language: Language = IN_ENGLISH) -> dict[str, Any]:
    return {
        "words": wording,
        "copy_read": partial(wording.copy_read, say=language.say),
        "second_opinion": partial(wording.second_opinion, say=language.say),
        "what_changed": partial(wording.what_changed, say=language.say),
        "what_is_missing": partial(wording.what_is_missing, say=language.say),
        "where": partial(wording.where, say=language.say),
        "why_excluded": partial(why_excluded, say=language.say),
        "shortened": cells.shortened,
        "excerpt": excerpt,
        "sentence": _sentence,
        "name_of": name_of,
        "detail_of": _detail,
        "end_of": _end,
        "pieces": pieces,
        "unchecked": _unchecked,
        "shared_reasons": _shared_reasons,
        "to_look_at": _to_look_at,
    }


def _to_look_at(finding: Finding) -> bool:
    if finding.label is Label.SUPPORTED:
        return finding.source_changed
    return finding.label is not Label.UNCHECKED


def _first_words(first: Sequence[Finding]) -> str:
    flagged = sum(finding.label in FLAGS for finding in first)
    partly = sum(finding.label is Label.PARTLY_SUPPORTED for finding in first)
    changed = len(first) - flagged - partly
    counts = (
        (flagged, "flagged"),
        (partly, "partly supported"),
        (changed, "with a changed source"),
    )
    said = [f"{n} {words}" for n, words in counts if n]
    return f"{cells.n_of(len(first), 'claim')} ({', '.join(said)})" if said else ""


def pieces(text: str, missing: Sequence[Part]) -> list[tuple[str, bool]]:
    """Split the text at the edges of its missing parts. The flag marks the missing ones."""
    found, end = [], 0
    for start, stop in sorted(part.span for part in missing):
        start, stop = max(start, end), max(stop, end)  # parts of different kinds may overlap
        found += [(text[end:start], False), (text[start:stop], True)]
        end = stop
    return [piece for piece in [*found, (text[end:], False)] if piece[0]]


def _shared_reasons(finding: Finding) -> tuple[Note, ...]:
    """Return the reasons common to all sources, which are shown once."""
    outcomes = [result.outcome for result in finding.citations]
    found = [outcome.reasons_coded for outcome in outcomes if isinstance(outcome, Evidence)]
    if len(found) < 2:
        return ()
    shared = [reason for reason in found[0] if all(reason in other for other in found[1:])]
    return wording.unsaid(shared, finding.missing)


def _unchecked(finding: Finding) -> dict[str, list[CitationResult]]:
    groups: dict[str, list[CitationResult]] = {}
    for result in finding.citations:
        if isinstance(result.outcome, Unchecked):
            groups.setdefault(REASONS[result.outcome.reason], []).append(result)
    return groups


def _detail(result: CitationResult) -> str:
    """Return more on why it could not be checked; empty if the name already says it."""
    assert isinstance(result.outcome, Unchecked)
    name, detail = name_of(result), cells.one_line(result.outcome.detail)
    return "" if detail in name or name in detail else detail


def name_of(result: CitationResult) -> str:
    return cells.shortened(wording.name_of(result.citation), MAX_NAME)


def to_paste(found: Finding | Uncited, today: date) -> list[str]:
    if isinstance(found, Uncited):
        texts = [tag_uncited(found, today)]
    else:
        texts = [tag(found, today), *map(archived, found.citations)]
    texts += [reference(suggestion, today) for suggestion in found.suggestions[:1]]
    return [text for text in texts if text]


def _sentence(words: str) -> str:
    """Capitalise the first letter only, unlike `str.capitalize`.

    >>> _sentence("the PDF asks for a password")
    'The PDF asks for a password'
    """
    return words[:1].upper() + words[1:]


def _end(text: str) -> str:
    return text if len(text) <= MAX_BEFORE else "…" + text[-MAX_BEFORE:].partition(" ")[2]


# ── The lines around a quote ─────────────────────────────────────────────────────────────────────

# Pages come with menus. Text around a quote is shown only if it reads as prose, and a quote that is
# itself a menu line is no evidence.
NO_QUOTE = "no single sentence says this"  # the passage as a whole may still say it
# Five lines: a line of the report has about 95 characters on a screen.
MAX_SHOWN = 450
MAX_QUOTE_BEFORE = 130  # limits the text before the quote, so that the highlight comes early
_PROSE = re.compile(r"[.!?…:;][\"'”’»)\]]*$")
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
    r"""Return the quote within at most about five lines; None if no quote can be shown.

    >>> text = "Home\nNews\nThe mill opened in 1911. It burned in 1952.\nLog in"
    >>> found = excerpt(text, Span(10, 34))
    >>> found.head, found.quote, found.tail
    ('', 'The mill opened in 1911.', ' It burned in 1952.')
    """
    if quote is None or quote.start == quote.end or in_menu(text, quote):
        return None
    first, last = _paragraph(text, quote)
    start = _from_sentence(text, Span(first, quote.start))
    room = max(0, MAX_SHOWN - (quote.end - start))
    end = _to_sentence(text, Span(quote.end, last), room)
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
    lines = _lines(text)
    places = [n for n, line in enumerate(lines) if line.overlaps(quote)]
    if not places or not all(_is_item(lines[n].of(text)) for n in places):
        return False
    first, last = places[0], places[-1]
    while first > 0 and _is_item(lines[first - 1].of(text)):
        first -= 1
    while last + 1 < len(lines) and _is_item(lines[last + 1].of(text)):
        last += 1
    return last - first + 1 >= _MANY_LINES


def _is_item(line: str) -> bool:
    line = line.strip()
    if line.startswith("#"):  # a Markdown heading
        return True
    return len(line.split()) < _FEW_WORDS and "|" not in line and not _PROSE.search(line)


def _lines(text: str) -> list[Span]:
    found = [Span(*match.span()) for match in re.finditer(r"[^\n\r]+", text)]
    return [line for line in found if line.of(text).strip()]


def _paragraph(text: str, quote: Span) -> tuple[int, int]:
    first = max(text.rfind("\n", 0, quote.start), text.rfind("\r", 0, quote.start)) + 1
    last = text.find("\n", quote.end)
    return first, len(text) if last < 0 else last


def _from_sentence(text: str, span: Span) -> int:
    """Return where to start so that only whole sentences precede the quote."""
    start = span.end
    for sentence in reversed(sentences(span.of(text))):
        if span.end - (span.start + sentence.start) > MAX_QUOTE_BEFORE:
            break
        start = span.start + sentence.start
    # The rest of an abbreviation is not a sentence: “sp. nov.”
    return span.end if text[start : start + 1].islower() else start


def _to_sentence(text: str, span: Span, room: int) -> int:
    """Return where to stop so that only whole sentences of at most `room` characters follow."""
    end = span.start
    for sentence in sentences(span.of(text)):
        if sentence.end > room:
            break
        end = span.start + sentence.end
    return end
