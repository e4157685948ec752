"""Words and signs for verdicts, reasons and copies, shared by all formats.

Sign and word always go together: colour alone never distinguishes verdicts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pincite.judgement import aggregation, decide
from pincite.library.exclusions import LABELS as LISTED
from pincite.notes import QUOTED, Note
from pincite.report import cells
from pincite.report.cells import Look, why_unchecked
from pincite.text.names import full_names
from pincite.text.page_numbers import is_time
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
    Unchecked,
    Verdict,
    WorkStatus,
)

LOOKS = {
    Label.SUPPORTED: Look("✓", "supported", "supported", "green"),
    Label.PARTLY_SUPPORTED: Look("◐", "partly supported", "partly_supported", "dark_orange"),
    Label.DISPUTED: Look("⚖", "disputed", "disputed", "magenta"),
    Label.NOT_SUPPORTED: Look("○", "not supported", "not_supported", "red"),
    Label.REFUTED: Look("✗", "contradicted?", "refuted", "bold red"),
    Label.UNCHECKED: Look("–", "could not check", "unchecked", "yellow"),
}
# What each label means, for first-time readers. A network assigns them: what it reads is no fact.
LEGEND = {
    Label.SUPPORTED: "the source reads like this: compare the quote",
    Label.PARTLY_SUPPORTED: "only part of it reads like the source, or the source qualifies it",
    Label.DISPUTED: "the language model finds it in the source, Pincite does not: read both",
    Label.NOT_SUPPORTED: "nothing in the source reads like it; it may be worded differently",
    Label.REFUTED: "the source seems to say something else",
    Label.UNCHECKED: "the source could not be read: no verdict",
}
SEVERAL = (
    "A claim with several sources is supported if one of them says it, or if they do when read "
    "together. If none does and one could not be read, there is no verdict."
)
SORTED = "Worst first: by label, then by support."
# What the user can do about a source that could not be read.
STEPS = {
    Reason.DEAD: "look for an archived copy; tag {{dead link}} if there is none",
    Reason.SOFT_404: "look for an archived copy; tag {{dead link}} if there is none",
    Reason.FRONT_PAGE: "look for the page's new address or an archived copy",
    Reason.LISTING: "look for the page's own address or an archived copy",
    Reason.NO_HOST: "look for an archived copy; the site may have moved",
    Reason.UNREACHABLE: "try again later; if it still fails, look for an archived copy",
    Reason.REDIRECTS: "open it in a browser, or look for an archived copy",
    Reason.UNSAFE_ADDRESS: "correct the address in the citation",
    Reason.NOT_ALLOWED: "if the site is yours, name it in web.private_hosts",
    Reason.ROBOTS: "open it in a browser, and attach a saved copy",
    Reason.REFUSED: "try again later, or open it in a browser and attach a saved copy",
    Reason.PAYWALL: "read it through a library, and attach your copy: pincite source attach",
    Reason.LOGIN: "log in to read it, and attach your copy",
    Reason.CONSENT: "open it in a browser, and attach a saved copy",
    Reason.OFFLINE: "attach the pages if you have them: pincite source attach",
    Reason.UNDEFINED: "add the reference to the article",
    Reason.NOT_SUPPLIED: "supply a saved copy, or allow fetching with --online",
    Reason.EMPTY: "open it in a browser, and attach its text",
    Reason.UNREADABLE_SCAN: "read it yourself, or attach a better scan (scans need pincite[ocr])",
    Reason.UNDECODABLE: "open it in a browser: the file may be damaged",
    Reason.ENCRYPTED: "attach a copy without a password",
    Reason.TOO_LARGE: "attach only the part that is cited",
    Reason.TRUNCATED: "try again later",
    Reason.TIMED_OUT: "try again later",
    Reason.UNSUPPORTED_TYPE: "open it yourself: Pincite cannot read video or audio",
    Reason.LANGUAGE: "add pincite[multilingual] (see pincite doctor), or ask a model: --judge",
    Reason.TITLE_ONLY: "attach the full text if you have it",
    Reason.WITHDRAWN: "find out why it was withdrawn before you keep the citation",
    Reason.USURPED: "look for an archived copy from before then",
    Reason.CIRCULAR: "cite what the copied article cites",
    Reason.INTERNAL_ERROR: "run it again with --debug, and report what it prints",
}
ARCHIVED_KINDS = (CopyKind.ARCHIVED, CopyKind.WAYBACK)
ON_THE_WEB = (CopyKind.LIVE, *ARCHIVED_KINDS)  # copies that an address leads to
COPIES = {
    CopyKind.LIVE: "the page itself",
    CopyKind.ARCHIVED: "archived copy",
    CopyKind.WAYBACK: "copy in the Wayback Machine",
    CopyKind.STORED: "stored copy",
    CopyKind.OWN: "your own copy",
    CopyKind.CORPUS: "copy in the corpus",
}
# Which copy was read, keyed by its kind and whether its date is known.
READ = {
    (kind, dated): words
    + ((" of %(date)s" if kind in ARCHIVED_KINDS else ", fetched %(date)s") if dated else "")
    for kind, words in COPIES.items()
    for dated in (True, False)
}
NOT_LIVE = "%(read)s; the page itself: %(why)s"
NOT_LIVE_STATUS = "%(read)s; the citation says url-status=%(status)s"
ARCHIVED = {True: "the archived copy of %(date)s", False: "the archived copy"}  # if it is dated
# How much the archived copy supports (True: the whole claim), and today's page by its label.
CHANGED = {
    (whole, label): f"%(copy)s supports {'' if whole else 'part of '}the claim, {today}"
    for whole in (True, False)
    for label, today in (
        (Label.PARTLY_SUPPORTED, "today's page only part of it"),
        (Label.NOT_SUPPORTED, "today's page does not"),
        (Label.REFUTED, "today's page seems to contradict it"),
    )
}
# Where a quote is: the page, keyed by whether its number is printed or counted in the file, or the
# time in a recording; and whether it was cited there.
TIME = "time"
ON_PAGE = {True: "p. %(page)s", False: "page %(page)s of the file", TIME: "at %(page)s"}
ELSEWHERE = {
    (found, printed): f"cited %(cited)s, {words} {place}"
    for found, words in ((True, "found"), (False, "closest words"))
    for printed, place in (
        (True, f"on {ON_PAGE[True]}"),
        (False, f"on {ON_PAGE[False]}"),
        (TIME, ON_PAGE[TIME]),
        (None, "elsewhere"),
    )
}
CHANGED_STEP = "read both; if the page has changed, set url-status=deviated in the citation"
VERDICTS = {
    Verdict.SUPPORTED: "supported",
    Verdict.PARTLY_SUPPORTED: "partly supported",
    Verdict.NOT_SUPPORTED: "not supported",
    Verdict.CONTRADICTED: "contradicted",
    Verdict.UNUSABLE: "not a usable source",
}
ACCORDING_TO = "according to %(name)s"
# What a label rests on.
READS = {
    (Label.SUPPORTED, Basis.NETWORK): "reads like it",
    (Label.SUPPORTED, Basis.NAMES): "reads like it, with its names and figures at the quote",
    (Label.PARTLY_SUPPORTED, Basis.NETWORK): "reads like part of it",
    (Label.PARTLY_SUPPORTED, Basis.QUALIFIED): "not stated as a fact",
    (Label.NOT_SUPPORTED, Basis.NETWORK): "does not read like it",
    (Label.NOT_SUPPORTED, Basis.NAMES): "does not read like it, but has its names and figures",
}
STRENGTH = "support %(n)d %%"
STRENGTHS = {
    Label.SUPPORTED: "support only %(n)d %%",  # below decide.SURE
    Label.PARTLY_SUPPORTED: "support for all of it %(n)d %%",
    Label.NOT_SUPPORTED: STRENGTH,
}
OPINIONS = {
    "verdict": "Second opinion from %(model)s: %(verdict)s",
    "failed": "No second opinion: %(why)s",
    "disagrees": (
        "The model decided; Pincite alone puts the support at %(support)d %%: check it yourself."
    ),
    "disputes": "Pincite alone puts the support at %(support)d %%: read both.",
    "quoted": "It points to “%(quote)s”.",
    "lacks": "It finds no support for %(words)s.",
    "invented": "Quotes found in no source were left out: %(n)d.",
    "in_part": "The sources are long: it read the passages closest to the claim.",
}
MISSING = {
    "absent": "the source does not mention %(words)s",
    "nowhere": "no source mentions %(words)s",
    "unread": "nothing in the source reads like %(words)s",
    "read_nowhere": "nothing in any source reads like %(words)s",
    "denied": "the source seems to contradict %(words)s",
    "apart": "each part was found in one of the sources, the whole in none",
}
# Why a claim's verdict differs from those of its sources.
JOINED = {
    "supported": "no source reads like all of it, together they do",
    "earlier": "read together with the sources of the words before it",
    "open": "no verdict, because the source that could not be read may say it",
}
# Keyed by whether the claim has a citation.
UNVERIFIABLE = {
    True: "the verifier finds it in no source cited and in none of %(n)d passages searched",
    False: "no source is cited, and the verifier finds it in none of %(n)d passages searched",
}
ADVICE = "These are automatic suggestions: read the source before you tag or replace anything."
NO_TAG = (
    "{{retracted}} is a template of English Wikipedia: say in the reference what became of the work"
)
NO_CITATION = "no citation"
STALE_TAG = "the tag may be out of date: read the source"
MARKED_WRONG = "you marked this wrong"
NO_QUOTE = "no sentence of the closest passage is close enough to the claim to quote"
UNCITED = {
    "title": "Sentences without a citation",
    "none": "No sentence without a citation is likely enough to need one.",
    "advice": (
        "A program's guess from the wording. The percentage estimates how likely such a sentence "
        "is to have a citation in Wikipedia. Facts that are obvious, or cited elsewhere in the "
        "article, need none."
    ),
}
READ_FIRST = "Read the source before you tag."
ORDER = decide.WORST_FIRST  # in which verdicts are counted: those that need attention first
MAX_PART = 120  # characters of a missing part


def counted(labels: Mapping[Label, int]) -> list[Label]:
    """Return the labels to count, in ORDER: "disputed" only where a model's opinion made it so."""
    return [label for label in ORDER if label is not Label.DISPUTED or labels[label]]


def verdict(label: Label) -> str:
    return f"{LOOKS[label].sign} {LOOKS[label].label}"


def verdict_by(finding: Finding, say: Callable[[str], str] = str) -> str:
    """Return the label in words, and what it rests on."""
    return ", ".join(filter(None, (say(LOOKS[finding.label].label), rests_on(finding, say))))


def rests_on(finding: Finding, say: Callable[[str], str] = str) -> str:
    """Say what the label rests on, or name the model that alone decided; may be empty."""
    opinion = finding.opinion
    if finding.decided_by is DecidedBy.PINCITE:
        words = READS.get((finding.label, aggregation.basis(finding)))
        return say(words) if words else ""
    alone = finding.decided_by is DecidedBy.MODEL and finding.label is not Label.DISPUTED
    if not alone or not isinstance(opinion, Opinion):
        return ""
    return say(ACCORDING_TO) % {"name": cells.one_line(opinion.model)}


def strength(finding: Finding, say: Callable[[str], str] = str) -> str:
    """Return the support in words; empty where that number is not the label's."""
    label, support = finding.label, finding.prob_supported
    # Beside such a witness it is the rule's bound, not an estimate.
    bound = any(decide.has(e, Effect.LIMITS, Effect.REFUSES) for e in aggregation.read_by(finding))
    if support is None or bound or label not in STRENGTHS or finding.decided_by is DecidedBy.MODEL:
        return ""
    sure = label is Label.SUPPORTED and support >= decide.SURE
    return say(STRENGTH if sure else STRENGTHS[label]) % {"n": cells.percent(support)}


def where(place: Place | None, label: Label, say: Callable[[str], str] = str) -> str:
    """Say where a quote is: "cited p. 12, found on p. 31"."""
    if place is None:
        return ""
    page = cells.one_line(place.page or "")
    kind = TIME if is_time(page) else place.printed
    if not place.elsewhere:
        return say(ON_PAGE[kind]) % {"page": page} if page else ""
    found = label in (Label.SUPPORTED, Label.PARTLY_SUPPORTED)
    template = ELSEWHERE[found, kind if page else None]
    kind_of, _, number = cells.one_line(place.cited or "").partition(" ")
    return say(template) % {"cited": f"{say(kind_of)} {number}".strip(), "page": page}


def copy_read(result: CitationResult, say: Callable[[str], str] = str) -> str:
    """Say which copy was read, and why not the live page; empty if nothing was read."""
    copy, instead = result.copy, result.not_live
    if copy is None:
        return ""
    read = say(READ[copy.kind, bool(copy.date)]) % {"date": (copy.date or "")[:10]}
    read += f": {copy.file}" if copy.file else ""
    if instead:
        return cells.one_line(say(NOT_LIVE) % {"read": read, "why": why_unchecked(instead, say)})
    status = result.citation.url_status
    if copy.kind is CopyKind.ARCHIVED and not result.changed and status not in (None, "live"):
        return cells.one_line(say(NOT_LIVE_STATUS) % {"read": read, "status": status})
    return cells.one_line(read)


def second_opinion(finding: Finding, say: Callable[[str], str] = str) -> list[str]:
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


def what_changed(result: CitationResult, say: Callable[[str], str] = str) -> str:
    """Say how the source changed since it was cited; empty if no change was found."""
    if result.changed is None or result.copy is None:
        return ""
    date = (result.copy.date or "")[:10]
    copy = say(ARCHIVED[bool(date)]) % {"date": date}
    template = say(CHANGED[result.label is Label.SUPPORTED, result.changed.label])
    return cells.one_line(template % {"copy": copy})


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
    say: Callable[[str], str] = str,
) -> str:
    """Say which parts of a supported or partly supported claim lack support; empty if none."""
    absent, denied = absent_and_denied(missing)
    atoms = [part for part in absent if part.kind != "clause"]
    clauses = [part for part in absent if part.kind == "clause"]  # by the network alone
    if label is Label.PARTLY_SUPPORTED and not missing and n_sources > 1:
        return say(MISSING["apart"])
    return "; ".join(
        say(MISSING[key]) % {"words": words}
        for key, parts in (
            ("nowhere" if n_sources > 1 else "absent", atoms),
            ("read_nowhere" if n_sources > 1 else "unread", clauses),
            ("denied", denied),
        )
        if (words := quoted(parts, claim, say))
    )


def missing_of(finding: Finding, say: Callable[[str], str] = str) -> str:
    n_sources, claim = len(finding.citations), finding.claim.text
    return what_is_missing(finding.label, finding.missing, n_sources, claim, say)


def joined(finding: Finding, say: Callable[[str], str] = str) -> str:
    """Say how the sources' verdicts make the claim's, where that is not plain; else empty."""
    labels = {result.label for result in finding.citations}
    if finding.together is None:
        is_open = finding.label is Label.UNCHECKED and labels != {Label.UNCHECKED}
        return say(JOINED["open"]) if is_open and labels else ""
    if len(finding.citations) == 1:
        return say(JOINED["earlier"])
    alone = Label.SUPPORTED in labels or finding.opinion is not None
    return "" if alone or finding.label is not Label.SUPPORTED else say(JOINED["supported"])


def unverifiable(finding: Finding, say: Callable[[str], str] = str) -> str:
    """Say that neither citation nor search supports the claim; empty if one does, or seems to."""
    if not aggregation.may_be_unverifiable(finding):
        return ""
    return say(UNVERIFIABLE[bool(finding.citations)]) % {"n": finding.n_candidates}


def reasons(result: CitationResult, finding: Finding) -> tuple[Note, ...]:
    """Return the reasons for a citation's verdict, except parts listed as missing or found beside.

    Of two sources that state one date each, neither lacks the other's.
    """
    if isinstance(result.outcome, Unchecked):
        return ()
    lacking = _lacking(result.outcome)
    outcomes = [each.outcome for each in finding.citations if each is not result]
    beside = {
        word
        for outcome in outcomes
        if isinstance(outcome, Evidence)
        for word in lacking - _lacking(outcome)
    }
    seen = [witness.note for witness in result.outcome.witnesses]
    found = list[Note]()
    for reason in unsaid(result.outcome.reasons_coded, result.missing or finding.missing):
        if reason not in seen and not beside.isdisjoint(words := _words_of(reason)):
            left = tuple(word for word in words if word not in beside)
            reason = replace(reason, values={**reason.values, "words": left})
            if not left:
                continue
        found.append(reason)
    return tuple(found)


def _lacking(evidence: Evidence) -> set[str]:
    return {*evidence.unstated, *evidence.unnamed}


def _words_of(reason: Note) -> tuple[str, ...]:
    words = reason.values.get("words")
    return words if isinstance(words, tuple) else ()


def also_read(evidence: Evidence, claim: str) -> list[str]:
    """Return the sentences read with a supporting quote that say what it lacks, in order."""
    text, quote, found = evidence.passage.text, evidence.quote, list[str]()
    if not (evidence.passage.pieces and quote and evidence.prob_supported >= decide.THRESHOLD):
        return found
    wanted = weighted_terms(claim)
    lacking = wanted.keys() - stated_terms(wanted, evidence.quoted)
    for span in sentences_of(text):
        sentence, said = span.of(text), stated_terms(lacking, span.of(text))
        is_title = sentence == evidence.passage.title or is_heading(text, span)
        if said and not (is_title or span.overlaps(quote)):
            found.append(sentence)
            lacking.difference_update(said)
    return found


def unsaid(reasons: Sequence[Note], missing: Sequence[Part]) -> tuple[Note, ...]:
    """Drop the reasons that name only words already listed as missing."""

    def is_new(reason: Note) -> bool:
        words = _words_of(reason)
        return not words or not all(any(word in p.words for p in missing) for word in words)

    return tuple(filter(is_new, reasons))


def absent_and_denied(missing: Sequence[Part]) -> tuple[list[Part], list[Part]]:
    """Split the missing parts into absent ones and ones that a source seems to contradict."""
    denied = [
        part
        for part in missing
        if part.kind == "contradiction"
        or (part.evidence and part.evidence.prob_refuted >= decide.REFUTED_FROM)
    ]
    return [part for part in missing if part not in denied], denied


def quoted(parts: Sequence[Part], claim: str = "", say: Callable[[str], str] = str) -> str:
    """Quote the parts of a claim; of names only whole ones: not "World" of "World Bank"."""
    texts = dict.fromkeys(text for part in parts for text in _whole(part, claim))
    return ", ".join(say(QUOTED) % {"words": cells.shortened(text, MAX_PART)} for text in texts)


def _whole(part: Part, claim: str) -> list[str]:
    if part.kind != "name" or part.span.of(claim) != part.words:
        return [part.words]
    before, after = claim[: part.span.start], claim[part.span.end :]
    beside = {*before.split(" ")[-2:-1], *after.split(" ")[1 if after[:1] == " " else 2 : 2]}
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
    """What is known of the worst of its works that are in doubt."""
    found = [r.work.status for r in finding.citations if r.work and r.is_in_doubt]
    return min(found, key=list(WorkStatus).index, default=None)


def name_of(citation: Citation) -> str:
    return cells.one_line(citation.title or citation.url or citation.text or citation.citation_id)
