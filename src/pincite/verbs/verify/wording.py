"""Puts findings into words, the same for all formats. The tables of words are in words.toml."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pincite.judgement import aggregation, decide
from pincite.library.exclusions import LABELS as LISTED
from pincite.notes import QUOTED, Note
from pincite.report import cells
from pincite.report.cells import Look, why_unchecked
from pincite.text.names import whole
from pincite.text.page_numbers import is_time
from pincite.text.words import is_heading, names, sentences_of, stated, terms
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
        words = READS.get((finding.label, aggregation.basis(finding)))
        return say(words) if words else ""
    if finding.decided_by is not DecidedBy.MODEL or finding.label is Label.DISPUTED:
        return ""
    opinion = finding.opinion
    if not isinstance(opinion, Opinion):
        return ""
    return say(ACCORDING_TO) % {"name": cells.one_line(opinion.model)}


def strength(finding: Finding, say: Say = str) -> str:
    """Return the support in words; empty where that number is not the label's."""
    label, support = finding.label, finding.prob_supported
    if support is None or label not in STRENGTHS or finding.decided_by is DecidedBy.MODEL:
        return ""
    if any(decide.has(e, Effect.LIMITS, Effect.REFUSES) for e in aggregation.read_by(finding)):
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

    def worded(key: str, **values: str | int) -> str:
        shown = {k: cells.one_line(v) if isinstance(v, str) else v for k, v in values.items()}
        return say(OPINIONS[key]) % shown

    if isinstance(opinion, Failed):
        return [worded("failed", why=opinion.detail)]
    lines = [worded("verdict", model=opinion.model, verdict=say(VERDICTS[opinion.verdict]))]
    if finding.decided_by is DecidedBy.MODEL and own is not None:
        key = "disputes" if finding.label is Label.DISPUTED else "disagrees"
        lines.append(worded(key, support=cells.percent(own)))
    if opinion.why:
        lines.append(f"“{cells.one_line(opinion.why)}”")
    lines += [worded("quoted", quote=quote) for quote in opinion.quotes]
    if opinion.missing:
        lines.append(worded("lacks", words=", ".join(f"“{words}”" for words in opinion.missing)))
    if opinion.n_invented:
        lines.append(worded("invented", n=opinion.n_invented))
    if not opinion.whole:
        lines.append(worded("in_part"))
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
    quotes = {key: quoted(parts, claim, say) for key, parts in parts_by_key.items()}
    return "; ".join(say(MISSING[key]) % {"words": words} for key, words in quotes.items() if words)


def missing_of(finding: Finding, say: Say = str) -> str:
    n_sources, claim = len(finding.citations), finding.claim.text
    return what_is_missing(finding.label, finding.missing, n_sources, claim, say)


def joined(finding: Finding, say: Say = str) -> str:
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
    if not aggregation.may_be_unverifiable(finding):
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
    for reason in unsaid(result.outcome.reasons_coded, result.missing or finding.missing):
        words = _words_of(reason)
        left = tuple(word for word in words if word not in beside)
        if reason in of_witnesses or left == words:
            shown.append(reason)
        elif left:
            shown.append(replace(reason, values={**reason.values, "words": left}))
    return tuple(shown)


def unsaid(reasons: Sequence[Note], missing: Sequence[Part]) -> tuple[Note, ...]:
    """Drop the reasons that name only words already listed as missing."""

    def is_listed(word: str) -> bool:
        return any(word in part.words for part in missing)

    def is_new(reason: Note) -> bool:
        words = _words_of(reason)
        return not words or not all(map(is_listed, words))

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
    lacking = set(terms(claim)).difference(stated(terms(claim), evidence.quoted))
    sentences = list[str]()
    for span in sentences_of(passage.text):
        sentence = span.of(passage.text)
        is_title = sentence == passage.title or is_heading(passage.text, span)
        if is_title or span.overlaps(quote):
            continue
        if new := stated(lacking, sentence):
            sentences.append(sentence)
            lacking.difference_update(new)
    return sentences


def absent_and_denied(missing: Sequence[Part]) -> tuple[list[Part], list[Part]]:
    """Split the missing parts into absent ones and ones that a source seems to contradict."""
    denied = [part for part in missing if _is_denied(part)]
    return [part for part in missing if part not in denied], denied


def _is_denied(part: Part) -> bool:
    if part.kind == "contradiction":
        return True
    return part.evidence is not None and part.evidence.prob_refuted >= decide.REFUTED_FROM


def quoted(parts: Sequence[Part], claim: str = "", say: Say = str) -> str:
    """Quote the parts of a claim; of names only whole ones: not "World" of "World Bank"."""
    texts = dict.fromkeys(text for part in parts for text in _whole_names(part, claim))
    return ", ".join(say(QUOTED) % {"words": cells.shortened(text, MAX_PART)} for text in texts)


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
    return [name for name in whole(claim, [part.words]) if name != part.words]


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
    return cells.shortened(name_of(citation), MAX_NAME)
