"""Words and signs for verdicts, reasons and copies, shared by all formats.

Sign and word always go together: colour alone never distinguishes verdicts.
"""

from collections.abc import Callable, Sequence

from pincite.judgement import aggregation, fusion
from pincite.judgement.reliability import LABELS as LISTED
from pincite.notes import Note
from pincite.report import cells
from pincite.report.reasons import why_unchecked
from pincite.types import (
    Citation,
    CitationResult,
    Claim,
    CopyKind,
    Failed,
    Finding,
    Label,
    Listing,
    Part,
    Place,
    Reason,
    Unchecked,
    Verdict,
    own_digest,
)

SIGNS = {
    Label.SUPPORTED: "✓",
    Label.PARTLY_SUPPORTED: "◐",
    Label.NOT_SUPPORTED: "○",
    Label.REFUTED: "✗",
    Label.UNCHECKED: "–",
}
LABELS = {
    Label.SUPPORTED: "supported",
    Label.PARTLY_SUPPORTED: "partly supported",
    Label.NOT_SUPPORTED: "not supported",
    Label.REFUTED: "contradicted?",
    Label.UNCHECKED: "could not check",
}
# What each label means, for first-time readers. A model assigns them, so no label is a fact.
LEGEND = {
    Label.SUPPORTED: "the source says this",
    Label.PARTLY_SUPPORTED: "one part was found in the source, another was not",
    Label.NOT_SUPPORTED: "likely not supported: not found in the source",
    Label.REFUTED: "the source seems to say something else",
    Label.UNCHECKED: "the source could not be read: no verdict",
}
# What the user can do about a source that could not be read.
STEPS = {
    Reason.DEAD: "look for an archived copy; tag {{dead link}} if there is none",
    Reason.SOFT_404: "look for an archived copy; tag {{dead link}} if there is none",
    Reason.FRONT_PAGE: "look for the page's new address or an archived copy",
    Reason.NO_HOST: "look for an archived copy; the site may have moved",
    Reason.UNREACHABLE: "try again later; if it stays so, look for an archived copy",
    Reason.REDIRECTS: "open it in a browser, or look for an archived copy",
    Reason.UNSAFE_ADDRESS: "correct the address in the citation",
    Reason.ROBOTS: "open it in a browser, and hand in a saved copy",
    Reason.REFUSED: "try again later, or open it in a browser and hand in a saved copy",
    Reason.PAYWALL: "read it through a library, and attach your copy: pincite source attach",
    Reason.LOGIN: "read it with an account, and hand in your copy",
    Reason.CONSENT: "open it in a browser, and hand in a saved copy",
    Reason.OFFLINE: "attach the pages if you have them: pincite source attach",
    Reason.NOT_SUPPLIED: "hand in a saved copy, or allow fetching with --online",
    Reason.EMPTY: "open it in a browser, and hand in a saved copy as text",
    Reason.UNDECODABLE: "open it in a browser: the file may be damaged",
    Reason.ENCRYPTED: "hand in a copy without a password",
    Reason.TOO_LARGE: "hand in the part that is cited",
    Reason.TRUNCATED: "try again later",
    Reason.TIMED_OUT: "try again later",
    Reason.UNSUPPORTED_TYPE: "open it yourself: the program reads text, not pictures or sound",
    Reason.LANGUAGE: "ask someone who reads the language",
    Reason.TITLE_ONLY: "hand in the full text if you have it",
    Reason.WITHDRAWN: "look why it was withdrawn before you keep the citation",
    Reason.USURPED: "look for an archived copy from before",
    Reason.INTERNAL_ERROR: "run it again with --debug, and report what it prints",
}
COPIES = {
    CopyKind.LIVE: "the page itself",
    CopyKind.ARCHIVED: "archived copy",
    CopyKind.WAYBACK: "copy in the Wayback Machine",
    CopyKind.STORED: "stored copy",
    CopyKind.OWN: "your own copy",
    CopyKind.CORPUS: "copy in the corpus",
}
_ARCHIVED = (CopyKind.ARCHIVED, CopyKind.WAYBACK)


def _read(kind: CopyKind, dated: bool) -> str:
    """An own copy has no link, so its SHA-256 prefix is shown."""
    words = COPIES[kind] + (" (SHA-256 %(digest)s…)" if kind is CopyKind.OWN else "")
    when = " of %(date)s" if kind in _ARCHIVED else ", fetched %(date)s"
    return words + (when if dated else "")


# Which copy was read, keyed by its kind and whether its date is known.
READ = {(kind, dated): _read(kind, dated) for kind in CopyKind for dated in (True, False)}
NOT_LIVE = "%(read)s; the page itself: %(why)s"
NOT_LIVE_STATUS = "%(read)s; the citation says url-status=%(status)s"
# How much of the claim the archived copy supports, and how much less today's page does. Keyed by
# whether the copy is dated.
ARCHIVED = {True: "the archived copy of %(date)s", False: "the archived copy"}  # if it is dated
_THEN = {
    True: "%(copy)s supports the claim",
    False: "%(copy)s supports a part of the claim",
}
_TODAY = {
    Label.PARTLY_SUPPORTED: "today's page only a part of it",
    Label.NOT_SUPPORTED: "today's page does not",
    Label.REFUTED: "today's page seems to contradict it",
}
CHANGED = {
    (whole, label): f"{then}, {today}"
    for whole, then in _THEN.items()
    for label, today in _TODAY.items()
}
# Where a quote is: the page, keyed by whether its number is printed or counted in the file, and
# whether it was cited there.
ON_PAGE = {True: "p. %(page)s", False: "p. %(page)s of the file"}
ELSEWHERE = {
    (found, printed): f"cited %(cited)s, {words} {place}"
    for found, words in ((True, "found"), (False, "closest words"))
    for printed, place in (
        (True, f"on {ON_PAGE[True]}"),
        (False, f"on {ON_PAGE[False]}"),
        (None, "elsewhere"),
    )
}
CHANGED_STEP = "read both; if so, set url-status=deviated in the citation"
VERDICTS = {
    Verdict.SUPPORTED: "supported",
    Verdict.PARTLY_SUPPORTED: "partly supported",
    Verdict.NOT_SUPPORTED: "not supported",
    Verdict.CONTRADICTED: "contradicted",
    Verdict.UNUSABLE: "this text is no source",
}
OPINIONS = {
    "said": "Second opinion of %(model)s: %(verdict)s",
    "failed": "No second opinion: %(why)s",
    "disagrees": "Our own reading differs (support %(support)d %%): look for yourself.",
    "quoted": "It points to “%(quote)s”.",
    "lacks": "It misses %(words)s.",
    "invented": "Quotes that no source has were left out: %(n)d.",
    "in_part": "The sources are long: it read the passages closest to the claim.",
}
MISSING = {
    "absent": "nothing was found for %(words)s",
    "denied": "the source seems to contradict %(words)s",
    "apart": "each part was found in one of the sources, the whole in none",
}
ADVICE = "A suggestion by a program: read the source before you tag or replace anything."
NO_CITATION = "no citation"
UNCITED = {
    "title": "Sentences without a citation",
    "none": "No sentence was found that needs a citation and has none.",
    "advice": (
        "A program's guess from how sentences are worded. The percentage estimates how likely such "
        "a sentence has a citation in Wikipedia. What is obvious, or cited elsewhere in the "
        "article, needs none."
    ),
}
READ_FIRST = "Read the source before you tag."
# The order in which verdicts are counted: those that need attention first.
ORDER = aggregation.ORDER
MAX_PART = 120  # characters of a missing part


def verdict(label: Label) -> str:
    """Sign and word.

    >>> verdict(Label.SUPPORTED)
    '✓ supported'
    """
    return f"{SIGNS[label]} {LABELS[label]}"


def where(place: Place | None, label: Label, say: Callable[[str], str] = str) -> str:
    """Say where a quote is in its source, and where it was cited if that differs.

    `say` may translate the texts of `ON_PAGE` and `ELSEWHERE`.

    >>> where(Place("31", printed=True, cited="p. 12", elsewhere=True), Label.SUPPORTED)
    'cited p. 12, found on p. 31'
    """
    if place is None:
        return ""
    page = cells.one_line(place.page or "")
    if not place.elsewhere:
        return say(ON_PAGE[place.printed]) % {"page": page} if page else ""
    found = label in (Label.SUPPORTED, Label.PARTLY_SUPPORTED)
    said = ELSEWHERE[found, place.printed if page else None]
    return say(said) % {"cited": cells.one_line(place.cited or ""), "page": page}


def copy_read(result: CitationResult, say: Callable[[str], str] = str) -> str:
    """Say which copy was read, and why not the live page; empty if nothing was read.

    `say` may translate the texts of `READ`, `NOT_LIVE`, `NOT_LIVE_STATUS` and `report.reasons`.
    """
    copy, instead = result.copy, result.not_live
    if copy is None:
        return ""
    digest = " + ".join(one[:12] for one in (own_digest(copy.url) or "").split("+"))
    known = {"date": (copy.date or "")[:10], "digest": digest}
    read = say(READ[copy.kind, bool(copy.date)]) % known
    if instead:
        return cells.one_line(say(NOT_LIVE) % {"read": read, "why": why_unchecked(instead, say)})
    status = result.citation.url_status
    if copy.kind is CopyKind.ARCHIVED and not result.changed and status not in (None, "live"):
        return cells.one_line(say(NOT_LIVE_STATUS) % {"read": read, "status": status})
    return cells.one_line(read)


def second_opinion(finding: Finding, say: Callable[[str], str] = str) -> tuple[str, ...]:
    said = finding.opinion
    if said is None:
        return ()
    if isinstance(said, Failed):
        return (say(OPINIONS["failed"]) % {"why": cells.one_line(said.detail)},)
    values = {"model": cells.one_line(said.model), "verdict": say(VERDICTS[said.verdict])}
    lines = [say(OPINIONS["said"]) % values]
    own = fusion.own_support(finding)
    if fusion.disagree(finding) and own is not None:
        lines.append(say(OPINIONS["disagrees"]) % {"support": cells.percent(own)})
    if said.why:
        lines.append(f"“{cells.one_line(said.why)}”")
    lines += [say(OPINIONS["quoted"]) % {"quote": cells.one_line(quote)} for quote in said.quotes]
    if said.missing:
        quoted = ", ".join(f"“{cells.one_line(words)}”" for words in said.missing)
        lines.append(say(OPINIONS["lacks"]) % {"words": quoted})
    if said.n_invented:
        lines.append(say(OPINIONS["invented"]) % {"n": said.n_invented})
    if not said.whole:
        lines.append(say(OPINIONS["in_part"]))
    return tuple(lines)


def what_changed(result: CitationResult, say: Callable[[str], str] = str) -> str:
    """Say how the source changed since it was cited; empty if no change was found.

    `say` may translate the texts of `CHANGED` and `ARCHIVED`.
    """
    if result.changed is None or result.copy is None:
        return ""
    date = (result.copy.date or "")[:10]
    copy = say(ARCHIVED[bool(date)]) % {"date": date}
    said = say(CHANGED[result.label is Label.SUPPORTED, result.changed.label])
    return cells.one_line(said % {"copy": copy})


def reliability(listing: Listing | None) -> str:
    """Describe a list's rating of a site; empty without a list.

    >>> from pincite.types import Reliability
    >>> reliability(Listing(Reliability.NO_CONSENSUS, "Daily Example", scope="politics"))
    'no consensus (politics)'
    """
    if listing is None:
        return ""
    label = LISTED[listing.reliability]
    scope = f" ({listing.scope})" if listing.scope else ""
    others = f"; {'; '.join(listing.others)}" if listing.others else ""
    return cells.one_line(f"{label}{scope}{others}")


def about_claim(claim: Claim) -> list[str]:
    lines = [f"tagged by an editor: {cells.one_line(', '.join(claim.tags))}"] if claim.tags else []
    if claim.unread:
        templates = ", ".join(map(cells.one_line, claim.unread))
        lines.append(f"[…] stands for {templates}: read the claim in the article")
    return lines


def what_is_missing(label: Label, missing: Sequence[Part], say: Callable[[str], str] = str) -> str:
    """Say which parts of a supported or partly supported claim lack support; empty if none.

    >>> from pincite.types import Span
    >>> part = Part("figure", Span(10, 14), "1911", supported=False)
    >>> what_is_missing(Label.SUPPORTED, [part])
    'nothing was found for “1911”'
    """
    absent, denied = absent_and_denied(missing)
    found = []
    if absent:
        found.append(say(MISSING["absent"]) % {"words": _quoted(absent)})
    if denied:
        found.append(say(MISSING["denied"]) % {"words": _quoted(denied)})
    if label is Label.PARTLY_SUPPORTED and not found:
        return say(MISSING["apart"])
    return "; ".join(found)


def reasons(result: CitationResult, finding: Finding) -> tuple[Note, ...]:
    """Return the reasons for a citation's verdict, except parts already listed as missing."""
    if isinstance(result.outcome, Unchecked):
        return ()
    return unsaid(result.outcome.reasons_coded, result.missing or finding.missing)


def unsaid(reasons: Sequence[Note], missing: Sequence[Part]) -> tuple[Note, ...]:
    """Drop the reasons that name only words already listed as missing.

    >>> from pincite.types import Span
    >>> part = Part("figure", Span(10, 14), "1911", supported=False)
    >>> absent = Note("not_stated", {"words": ("1911",)})
    >>> other = Note("other_value", {"source": "1913", "claim": "1911"})
    >>> unsaid([absent, other], [part]) == (other,)
    True
    """
    named = [part.words for part in missing]

    def is_named(reason: Note) -> bool:
        words = reason.values.get("words")
        several = words if isinstance(words, tuple) else ()
        return bool(several) and all(any(word in part for part in named) for word in several)

    return tuple(reason for reason in reasons if not is_named(reason))


def absent_and_denied(missing: Sequence[Part]) -> tuple[list[Part], list[Part]]:
    """Split the missing parts into absent ones and ones that a source seems to contradict."""
    denied = [
        part
        for part in missing
        if part.kind == "contradiction"
        or (part.evidence and part.evidence.prob_refuted >= aggregation.REFUTED_FROM)
    ]
    return [part for part in missing if part not in denied], denied


def _quoted(parts: Sequence[Part]) -> str:
    return ", ".join(f"“{cells.shortened(part.words, MAX_PART)}”" for part in parts)


def flag_advice(precision: Sequence[tuple[float, float]]) -> str:
    """Say how many flags are false alarms at the middle base rate; empty if not measured.

    Args:
        precision: (share of citations that fail, share of flags that are right), as in a Report.

    >>> flag_advice([(0.02, 0.12), (0.05, 0.28), (0.2, 0.67)])[:73]
    'Expect 7 of 10 flags to be false alarms when 1 in 20 citations is bad. Re'
    """
    if not precision:
        return ""
    base_rate, share = sorted(precision)[(len(precision) - 1) // 2]
    one_in = f"1 in {1 / max(base_rate, 0.001):.0f}"
    expected = f"Expect {_tenths(1 - share)} flags to be false alarms"
    return f"{expected} when {one_in} citations is bad. {READ_FIRST}"


def _tenths(share: float) -> str:
    """Round to tenths: more digits would suggest more precision than the tests have."""
    tenths = round(10 * share)
    if tenths == 0:
        return "fewer than 1 of 10"
    return "nearly all" if tenths == 10 else f"{tenths} of 10"


def name_of(citation: Citation) -> str:
    return cells.one_line(citation.title or citation.url or citation.text or citation.citation_id)
