"""Puts findings into words and quotes, the same for all formats; the words are in words.toml.

Pages come with menus. Text around a quote is shown only if it reads as prose, and a quote that is
itself a menu line is not evidence.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from pincite.judgement import decide
from pincite.judgement.findings import basis, judged_evidence, may_be_unverifiable
from pincite.library.exclusions import LABELS as LISTED
from pincite.notes import QUOTED, Note
from pincite.report import cells
from pincite.report.cells import Look, why_unchecked
from pincite.text import tables
from pincite.text.clauses import Standing, standing
from pincite.text.names import full_names
from pincite.text.page_numbers import is_time
from pincite.text.sentences import n_words, sentences
from pincite.text.words import is_heading, names, sentences_of, stated_terms, weighted_terms
from pincite.types import (
    Basis,
    Citation,
    CitationResult,
    CopyKind,
    DecidedBy,
    Effect,
    Evidence,
    Failed,
    Finding,
    Label,
    Listing,
    Opinion,
    Part,
    Place,
    Reason,
    Span,
    Unchecked,
    Verdict,
    WorkStatus,
)

Say = Callable[[str], str]  # translates a template

_WORDS: Mapping[str, Any] = tomllib.loads(
    Path(__file__).with_name("words.toml").read_text(encoding="utf-8")
)
LOOKS = {Label(name): Look(**look) for name, look in _WORDS["looks"].items()}
LEGEND = {Label(name): words for name, words in _WORDS["legend"].items()}
STEPS = {Reason(name): words for name, words in _WORDS["steps"].items()}
VERDICTS = {Verdict(name): words for name, words in _WORDS["verdicts"].items()}
READS = {
    (Label(label), Basis(basis)): words
    for label, by_basis in _WORDS["rests_on"].items()
    for basis, words in by_basis.items()
}
STRENGTHS = {Label(name): words for name, words in _WORDS["strengths"].items()}
STRENGTH = STRENGTHS[Label.NOT_SUPPORTED]
OPINIONS: Mapping[str, str] = _WORDS["opinions"]
MISSING: Mapping[str, str] = _WORDS["missing"]
JOINED: Mapping[str, str] = _WORDS["joined"]
UNCITED: Mapping[str, str] = _WORDS["uncited"]
UNVERIFIABLE: Mapping[str, str] = _WORDS["unverifiable"]
COVERAGE: Mapping[str, str] = _WORDS["coverage"]
READ: Mapping[str, Mapping[str, str]] = _WORDS["read"]
ARCHIVED: Mapping[str, str] = _WORDS["archived"]
CHANGED: Mapping[str, Mapping[str, str]] = _WORDS["changed"]
ON_PAGE: Mapping[str, str] = _WORDS["on_page"]
ELSEWHERE: Mapping[str, Mapping[str, str]] = _WORDS["elsewhere"]
SEVERAL: str = _WORDS["texts"]["several"]
NO_TAG: str = _WORDS["texts"]["no_tag"]
SORTED = "Worst first: by label, then by support."
ARCHIVED_KINDS = (CopyKind.ARCHIVED, CopyKind.WAYBACK)
ON_THE_WEB = (CopyKind.LIVE, *ARCHIVED_KINDS)  # copies that an address leads to
NOT_LIVE = "%(read)s; the page itself: %(why)s"
NOT_LIVE_STATUS = "%(read)s; the citation says url-status=%(status)s"
CHANGED_STEP = "read both; if the page has changed, set url-status=deviated in the citation"
ACCORDING_TO = "according to %(name)s"
ADVICE = "These are automatic suggestions: read the source before you tag or replace anything."
NO_CITATION = "no citation"
STALE_TAG = "the tag may be out of date: read the source"
MARKED_WRONG = "you marked this wrong"
NO_QUOTE = "no sentence of the closest passage is close enough to the claim to quote"
READ_FIRST = "Read the source before you tag."
ORDER = decide.WORST_FIRST  # in which verdicts are counted: those that need attention first
MAX_PART = 120  # characters of a missing part
MAX_NAME = 160  # characters of a source's name: some references are whole paragraphs
MAX_SHOWN = 450  # characters: five lines of the report, which have about 95 on a screen
MAX_QUOTE_BEFORE = 130  # of them before the quote, so that the highlight comes early
# Ends of prose and of a sentence, in European and East Asian scripts, with closing quotation marks
# and brackets.
_CLOSING = r"[\"'”’»)\]」』）]*$"
_PROSE_END = re.compile(rf"[.!?…:;。！？：；]{_CLOSING}")
_SENTENCE_END = re.compile(rf"[.!?…。！？]{_CLOSING}")
_LABELLED_VALUE = re.compile(r"[^:]{2,40}: [^:]*\d[^:]*")  # "Journey time: 3 min"
_FEW_WORDS = 10  # a menu line has fewer
_MANY_LINES = 4  # this many short lines in a row are a menu or a list of headlines


def labels_to_count(counts: Mapping[Label, int]) -> list[Label]:
    """Return the labels, in ORDER: "disputed" only where a model's opinion made it so."""
    return [label for label in ORDER if label is not Label.DISPUTED or counts[label]]


def verdict(label: Label) -> str:
    return f"{LOOKS[label].sign} {LOOKS[label].label}"


def verdict_by(finding: Finding, say: Say = str) -> str:
    """Return the label in words, and what it rests on."""
    label, basis = say(LOOKS[finding.label].label), rests_on(finding, say)
    return f"{label}, {basis}" if basis else label


def rests_on(finding: Finding, say: Say = str) -> str:
    """Say what the label rests on, or name the model that alone decided; may be empty."""
    if finding.decided_by is DecidedBy.PINCITE:
        words = READS.get((finding.label, basis(finding)))
        return say(words) if words else ""
    opinion, is_disputed = finding.opinion, finding.label is Label.DISPUTED
    if finding.decided_by is DecidedBy.MODEL and isinstance(opinion, Opinion) and not is_disputed:
        return say(ACCORDING_TO) % {"name": cells.one_line(opinion.model)}
    return ""


def strength(finding: Finding, say: Say = str) -> str:
    """Return the support in words; empty where that number is not the label's."""
    label, support = finding.label, finding.prob_supported
    if support is None or label not in STRENGTHS or finding.decided_by is DecidedBy.MODEL:
        return ""
    if any(decide.has(e, Effect.LIMITS, Effect.REFUSES) for e in judged_evidence(finding)):
        return ""  # beside such a witness the number is the rule's bound, not an estimate
    is_sure = label is Label.SUPPORTED and support >= decide.SURE
    return say(STRENGTH if is_sure else STRENGTHS[label]) % {"n": cells.percent(support)}


def where(place: Place | None, label: Label, say: Say = str) -> str:
    """Say where a quote is: "cited p. 12, found on p. 31"."""
    if place is None:
        return ""
    page = cells.one_line(place.page or "")
    spot = "printed" if place.printed else "counted"
    if not page or is_time(page):
        spot = "time" if page else "unknown"
    if not place.elsewhere:
        return say(ON_PAGE[spot]) % {"page": page} if page else ""
    is_found = label in (Label.SUPPORTED, Label.PARTLY_SUPPORTED)
    kind, _, number = cells.one_line(place.cited or "").partition(" ")
    cited = f"{say(kind)} {number}".strip()
    template = ELSEWHERE["found" if is_found else "closest"][spot]
    return say(template) % {"cited": cited, "page": page}


def copy_read(result: CitationResult, say: Say = str) -> str:
    """Say which copy was read, and why not the live page; empty if nothing was read."""
    copy, instead = result.copy, result.not_live
    if copy is None:
        return ""
    template = READ[copy.kind]["dated" if copy.date else "undated"]
    read = say(template) % {"date": (copy.date or "")[:10]}
    read += f": {copy.file}" if copy.file else ""
    if instead:
        return cells.one_line(say(NOT_LIVE) % {"read": read, "why": why_unchecked(instead, say)})
    status = result.citation.url_status
    if copy.kind is CopyKind.ARCHIVED and not result.changed and status not in (None, "live"):
        return cells.one_line(say(NOT_LIVE_STATUS) % {"read": read, "status": status})
    return cells.one_line(read)


def second_opinion(finding: Finding, say: Say = str) -> list[str]:
    opinion, own = finding.opinion, finding.prob_supported
    if opinion is None or (isinstance(opinion, Failed) and opinion.is_of_run):
        return []

    def phrase(key: str, **values: str | int) -> str:
        shown = {k: cells.one_line(v) if isinstance(v, str) else v for k, v in values.items()}
        return say(OPINIONS[key]) % shown

    if isinstance(opinion, Failed):
        return [phrase("failed", why=opinion.detail)]
    lines = [phrase("verdict", model=opinion.model, verdict=say(VERDICTS[opinion.verdict]))]
    if finding.decided_by is DecidedBy.MODEL and own is not None:
        key = "disputes" if finding.label is Label.DISPUTED else "disagrees"
        lines.append(phrase(key, support=cells.percent(own)))
    if opinion.why:
        lines.append(f"“{cells.one_line(opinion.why)}”")
    lines += [phrase("quoted", quote=quote) for quote in opinion.quotes]
    if opinion.missing:
        lines.append(phrase("lacks", words=", ".join(f"“{words}”" for words in opinion.missing)))
    if opinion.n_invented:
        lines.append(phrase("invented", n=opinion.n_invented))
    if not opinion.whole:
        lines.append(phrase("in_part"))
    return lines


def what_changed(result: CitationResult, say: Say = str) -> str:
    """Say how the source changed since it was cited; empty if no change was found."""
    if result.changed is None or result.copy is None:
        return ""
    date = (result.copy.date or "")[:10]
    copy = say(ARCHIVED["dated" if date else "undated"]) % {"date": date}
    share = "whole" if result.label is Label.SUPPORTED else "part"
    return cells.one_line(say(CHANGED[share][result.changed.label]) % {"copy": copy})


def reliability(listing: Listing | None) -> str:
    """Describe a list's rating of a site: "no consensus (politics)"; empty without a list."""
    if listing is None:
        return ""
    label = LISTED[listing.reliability] + (f" ({listing.scope})" if listing.scope else "")
    return cells.one_line("; ".join([label, *listing.others]))


def has_stale_tag(finding: Finding) -> bool:
    return finding.label is Label.SUPPORTED and finding.claim.disputed


def about_claim(finding: Finding) -> list[str]:
    claim, stale = finding.claim, f"; {STALE_TAG}" if has_stale_tag(finding) else ""
    tags = cells.one_line(", ".join(claim.tags))
    lines = [f"tagged by an editor: {tags}{stale}"] if tags else []
    if claim.unread:
        templates = ", ".join(map(cells.one_line, claim.unread))
        lines.append(f"[…] stands for {templates}: read the claim in the article")
    return lines


def what_is_missing(
    label: Label,
    missing: Sequence[Part],
    n_sources: int = 1,
    claim: str = "",
    say: Say = str,
) -> str:
    """Say which parts of a supported or partly supported claim lack support; empty if none."""
    has_several = n_sources > 1
    if label is Label.PARTLY_SUPPORTED and not missing and has_several:
        return say(MISSING["apart"])
    absent, denied = absent_and_denied(missing)
    parts_by_key = {
        "nowhere" if has_several else "absent": [p for p in absent if p.kind != "clause"],
        # Clauses are missing by the network alone.
        "read_nowhere" if has_several else "unread": [p for p in absent if p.kind == "clause"],
        "denied": denied,
    }
    quotes = {key: quote_parts(parts, claim, say) for key, parts in parts_by_key.items()}
    return "; ".join(say(MISSING[key]) % {"words": words} for key, words in quotes.items() if words)


def missing_of(finding: Finding, say: Say = str) -> str:
    n_sources, claim = len(finding.citations), finding.claim.text
    return what_is_missing(finding.label, finding.missing, n_sources, claim, say)


def joint_verdict(finding: Finding, say: Say = str) -> str:
    """Say how the sources' verdicts make the claim's, where that is not plain; else empty."""
    labels = {result.label for result in finding.citations}
    if finding.together is None:
        is_open = finding.label is Label.UNCHECKED and labels - {Label.UNCHECKED}
        return say(JOINED["open"]) if is_open else ""
    if len(finding.citations) == 1:
        return say(JOINED["earlier"])
    is_plain = Label.SUPPORTED in labels or finding.opinion is not None
    return say(JOINED["supported"]) if finding.label is Label.SUPPORTED and not is_plain else ""


def unverifiable(finding: Finding, say: Say = str) -> str:
    """Say that neither citation nor search supports the claim; empty if one does, or seems to."""
    if not may_be_unverifiable(finding):
        return ""
    return say(UNVERIFIABLE["cited" if finding.citations else "uncited"]) % {
        "n": finding.n_candidates
    }


def reasons(result: CitationResult, finding: Finding) -> tuple[Note, ...]:
    """Return the reasons for a citation's verdict, except parts listed as missing or found beside.

    Of two sources that state one date each, neither lacks the other's.
    """
    if isinstance(result.outcome, Unchecked):
        return ()
    lacking = _lacking(result.outcome)
    beside = {
        word
        for other in finding.citations
        if other is not result and isinstance(other.outcome, Evidence)
        for word in lacking - _lacking(other.outcome)
    }
    of_witnesses = [witness.note for witness in result.outcome.witnesses]
    shown = []
    for reason in unsaid_reasons(result.outcome.reasons_coded, result.missing or finding.missing):
        words = _words_of(reason)
        left = tuple(word for word in words if word not in beside)
        if reason in of_witnesses or left == words:
            shown.append(reason)
        elif left:
            shown.append(replace(reason, values={**reason.values, "words": left}))
    return tuple(shown)


def unsaid_reasons(reasons: Sequence[Note], missing: Sequence[Part]) -> tuple[Note, ...]:
    """Drop the reasons that name only words already listed as missing."""

    def is_new(reason: Note) -> bool:
        listed = [any(word in part.words for part in missing) for word in _words_of(reason)]
        return not listed or not all(listed)

    return tuple(filter(is_new, reasons))


def _lacking(evidence: Evidence) -> set[str]:
    return {*evidence.unstated, *evidence.unnamed}


def _words_of(reason: Note) -> tuple[str, ...]:
    words = reason.values.get("words")
    return words if isinstance(words, tuple) else ()


def also_read(evidence: Evidence, claim: str) -> list[str]:
    """Return the sentences read with a supporting quote that say what it lacks, in order."""
    passage, quote = evidence.passage, evidence.quote
    if not passage.pieces or not quote or evidence.prob_supported < decide.THRESHOLD:
        return []
    wanted = weighted_terms(claim)
    lacking = wanted.keys() - stated_terms(wanted, evidence.quoted)
    said = list[str]()
    for span in sentences_of(passage.text):
        sentence = span.of(passage.text)
        is_title = sentence == passage.title or is_heading(passage.text, span)
        if is_title or span.overlaps(quote):
            continue
        if new := stated_terms(lacking, sentence):
            said.append(sentence)
            lacking.difference_update(new)
    return said


def absent_and_denied(missing: Sequence[Part]) -> tuple[list[Part], list[Part]]:
    """Split the missing parts into absent ones and ones that a source seems to contradict."""

    def is_denied(part: Part) -> bool:
        is_refuted = part.evidence and part.evidence.prob_refuted >= decide.REFUTED_FROM
        return part.kind == "contradiction" or bool(is_refuted)

    return [part for part in missing if not is_denied(part)], list(filter(is_denied, missing))


def quote_parts(parts: Sequence[Part], claim: str = "", say: Say = str) -> str:
    """Quote the parts of a claim; of names only whole ones: not "World" of "World Bank"."""
    texts = dict.fromkeys(text for part in parts for text in _whole_names(part, claim))
    return ", ".join(say(QUOTED) % {"words": cells.shorten(text, MAX_PART)} for text in texts)


def _whole_names(part: Part, claim: str) -> list[str]:
    """Return a part's words; if a word beside them is a name too, the whole names with them."""
    if part.kind != "name" or part.span.of(claim) != part.words:
        return [part.words]
    before, after = claim[: part.span.start], claim[part.span.end :]
    beside = set(before.split(" ")[:-1][-1:])
    if after.startswith(" "):
        beside.update(after.split(" ")[1:2])
    if beside.isdisjoint(names(claim)):
        return [part.words]
    return [name for name in full_names(claim, [part.words]) if name != part.words]


def flag_advice(precision: Sequence[tuple[float, float]]) -> str:
    """Say how many flags are false alarms at the middle base rate; empty if not measured."""
    if not precision:
        return ""
    base_rate, share = sorted(precision)[(len(precision) - 1) // 2]
    one_in = f"1 in {1 / max(base_rate, 0.001):.0f}"
    # More digits would suggest more precision than the tests have.
    tenths = round(10 * (1 - share))
    n_false = {0: "fewer than 1 in 10", 10: "nearly all"}.get(tenths, f"about {tenths} in 10")
    return f"If {one_in} citations is bad, {n_false} flags will be false alarms. {READ_FIRST}"


def worst_work(finding: Finding) -> WorkStatus | None:
    """Return what is known of the worst of the cited works that are in doubt."""
    statuses = [r.work.status for r in finding.citations if r.work and r.is_in_doubt]
    return min(statuses, key=list(WorkStatus).index, default=None)


def name_of(citation: Citation) -> str:
    return cells.one_line(citation.title or citation.url or citation.text or citation.citation_id)


def short_name_of(citation: Citation) -> str:
    return cells.shorten(name_of(citation), MAX_NAME)


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
    start = _start_of(text, quote)
    end = _end_of(text, quote, limit=start + MAX_SHOWN)
    return Excerpt(
        head=text[start : quote.start].lstrip(),
        quote=quote.of(text),
        tail=text[quote.end : end].rstrip(),
        whole=not text[:start].strip() and not text[end:].strip(),
    )


def _start_of(text: str, quote: Span) -> int:
    """Return where the sentences before the quote begin that are shown with it."""
    line = max(text.rfind("\n", 0, quote.start), text.rfind("\r", 0, quote.start)) + 1
    starts = (line + sentence.start for sentence in sentences(text[line : quote.start]))
    near = (start for start in starts if quote.start - start <= MAX_QUOTE_BEFORE)
    start = min(near, default=quote.start)
    # The rest of an abbreviation is not a sentence: “sp. nov.”
    return quote.start if text[start].islower() else start


def _end_of(text: str, quote: Span, limit: int) -> int:
    """Return where the last sentence behind the quote ends that is within `limit`."""
    line_end = text.find("\n", quote.end)
    behind = sentences(text[quote.end : line_end if line_end >= 0 else None])
    ends = (quote.end + sentence.end for sentence in behind)
    return max((end for end in ends if end <= limit), default=quote.end)


def in_menu(text: str, quote: Span) -> bool:
    """Whether the quote is in a run of short lines that are not sentences, such as a menu.

    Rows of a table do not count: they say which value belongs to which name.
    """
    lines = [Span(*match.span()) for match in re.finditer(r"[^\n\r]+", text) if match[0].strip()]
    quoted = {line for line in lines if line.overlaps(quote)}
    for are_items, run in groupby(lines, key=lambda line: _is_item(line.of(text))):
        items = set(run)
        if are_items and len(items) >= _MANY_LINES and quoted and quoted <= items:
            return True
    return False


def is_prose(line: str, language: str) -> bool:
    """Whether a line is a whole sentence, or several, and no item of a menu."""
    is_sentence = standing(line, language) is Standing.CLAUSE and _SENTENCE_END.search(line)
    return bool(is_sentence) and not _is_item(line)


def _is_item(line: str) -> bool:
    """Whether a line is a heading, or so short that it may be one of a menu."""
    line = line.strip()
    if line.startswith("#"):  # a Markdown heading
        return True
    is_row = "|" in line or bool(tables.cells_of(line)) or bool(_LABELLED_VALUE.fullmatch(line))
    return n_words(line) < _FEW_WORDS and not is_row and not _PROSE_END.search(line)
