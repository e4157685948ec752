"""Say in words why a page was not read, was found but not used, or what it was judged by."""

from collections.abc import Callable, Mapping

from pincite.report import cells
from pincite.report.cells import Look
from pincite.text.languages import named
from pincite.types import Bar, Evidence, Exclusion, Reason, Unchecked, WorkStatus

WORKS: Mapping[WorkStatus, Look] = {
    WorkStatus.OTHER_WORK: Look("✗", "identifier of another work", "refuted", "bold red"),
    WorkStatus.IMPOSSIBLE: Look("✗", "impossible identifier", "refuted", "bold red"),
    WorkStatus.RETRACTED: Look("✗", "retracted", "refuted", "bold red"),
    WorkStatus.WITHDRAWN: Look("✗", "withdrawn", "refuted", "bold red"),
    WorkStatus.PARTLY_RETRACTED: Look("◐", "partly retracted", "partly_supported", "yellow"),
    WorkStatus.CONCERN: Look("◐", "expression of concern", "partly_supported", "yellow"),
    WorkStatus.DIFFERS: Look("◐", "differs from the record", "partly_supported", "yellow"),
    WorkStatus.UNVERIFIED: Look("?", "not verified", "unchecked", "yellow"),
    WorkStatus.UNCHECKED: Look("–", "could not be looked up", "unchecked", "dim"),
    WorkStatus.SUPERSEDED: Look("✓", "superseded", "supported", "green"),
    WorkStatus.CORRECTED: Look("✓", "corrected", "supported", "green"),
    WorkStatus.AGREES: Look("✓", "agrees with the record", "supported", "green"),
}
REASONS = {
    Reason.DEAD: "dead link",
    Reason.SOFT_404: "the page says it was not found",
    Reason.FRONT_PAGE: "now leads to the site's front page",
    Reason.LISTING: "a list of pages instead of the page",
    Reason.NO_HOST: "the site does not exist",
    Reason.UNREACHABLE: "the site cannot be reached",
    Reason.REDIRECTS: "its redirects lead nowhere",
    Reason.UNSAFE_ADDRESS: "not a web address",
    Reason.NOT_ALLOWED: "on a private network or an unusual port",
    Reason.ROBOTS: "the site disallows automated access",
    Reason.REFUSED: "access refused, try again later",
    Reason.PAYWALL: "behind a paywall",
    Reason.LOGIN: "behind a login",
    Reason.CONSENT: "behind a cookie-consent page",
    Reason.OFFLINE: "no web address (book or print)",
    Reason.UNDEFINED: "not in the list of references",
    Reason.NOT_SUPPLIED: "no stored copy",
    Reason.EMPTY: "no text in the copy",
    Reason.UNREADABLE_SCAN: "unreadable scan",
    Reason.UNDECODABLE: "the copy cannot be decoded",
    Reason.ENCRYPTED: "the PDF is password-protected",
    Reason.TOO_LARGE: "too large",
    Reason.TRUNCATED: "the download ended early",
    Reason.TIMED_OUT: "took too long to read",
    Reason.UNSUPPORTED_TYPE: "unsupported file type",
    Reason.LANGUAGE: "in a language the model does not read",
    Reason.TITLE_ONLY: "a record without an abstract",
    Reason.WITHDRAWN: "withdrawn by its publisher",
    Reason.USURPED: "the domain has changed hands",
    Reason.CIRCULAR: "circular: a copy of Wikipedia",
    Reason.INTERNAL_ERROR: "a bug in Pincite",
}
BARS = {
    Bar.WIKI: "Wikipedia or a mirror",
    Bar.SITE: "excluded by the settings",
    Bar.DEPRECATED: "deprecated",
    Bar.BLACKLISTED: "blacklisted",
    Bar.COPY: "copies the article",
    Bar.FILTER: "excluded by a filter",
}


def why_unchecked(outcome: Unchecked, say: Callable[[str], str] = str) -> str:
    """Return the reason in words, translated by `say`, with any detail."""
    words = say(REASONS[outcome.reason])
    return f"{words} ({outcome.detail})" if outcome.detail else words


def why_excluded(left_out: Exclusion, say: Callable[[str], str] = str) -> str:
    """Return the reason in words, translated by `say`, with any detail."""
    words, detail = say(BARS[left_out.bar]), left_out.detail
    return cells.one_line(f"{words}: {detail}" if detail else words)


def judged_in(evidence: Evidence, language: str) -> str:
    """Name a passage's language if it is not `language`, and the network for other languages."""
    code = evidence.passage.language
    words = [f"language: {named(code)}"] if code and code != language else []
    if evidence.verifier:
        words.append(f"judged by {evidence.verifier.partition('@')[0]}")
    return ", ".join(words)
