"""Why a page was not read, or why a page that was found is not used, in words."""

from collections.abc import Callable

from pincite.report import cells
from pincite.types import Bar, Exclusion, Reason, Unchecked

REASONS = {
    Reason.DEAD: "dead link",
    Reason.SOFT_404: "a page that says it was not found",
    Reason.FRONT_PAGE: "leads to the site's front page now",
    Reason.NO_HOST: "the site does not exist",
    Reason.UNREACHABLE: "the site cannot be reached",
    Reason.REDIRECTS: "redirects that lead nowhere",
    Reason.UNSAFE_ADDRESS: "not a public web address",
    Reason.ROBOTS: "the site asks programs to stay away",
    Reason.REFUSED: "access refused, try again later",
    Reason.PAYWALL: "behind a paywall",
    Reason.LOGIN: "behind a login",
    Reason.CONSENT: "behind a question about cookies",
    Reason.OFFLINE: "offline source",
    Reason.NOT_SUPPLIED: "no stored copy",
    Reason.EMPTY: "no text in the copy",
    Reason.UNDECODABLE: "the copy cannot be decoded",
    Reason.ENCRYPTED: "the PDF asks for a password",
    Reason.TOO_LARGE: "too large",
    Reason.TRUNCATED: "broke off before its end",
    Reason.TIMED_OUT: "took too long to read",
    Reason.UNSUPPORTED_TYPE: "not a kind of file that can be read",
    Reason.LANGUAGE: "in a language the model does not read",
    Reason.TITLE_ONLY: "a record without an abstract",
    Reason.WITHDRAWN: "withdrawn by its publisher",
    Reason.USURPED: "its address is in other hands",
    Reason.INTERNAL_ERROR: "a fault of this program",
}
BARS = {
    Bar.WIKI: "Wikipedia or a mirror",
    Bar.SITE: "excluded by the settings",
    Bar.DEPRECATED: "deprecated",
    Bar.BLACKLISTED: "blacklisted",
    Bar.COPY: "copies the article",
    Bar.FILTER: "left out by a filter",
}


def why_unchecked(outcome: Unchecked, say: Callable[[str], str] = str) -> str:
    """Return the reason in words, translated by `say`, with any detail."""
    words = say(REASONS[outcome.reason])
    return f"{words} ({outcome.detail})" if outcome.detail else words


def why_excluded(left_out: Exclusion, say: Callable[[str], str] = str) -> str:
    """Return the reason in words, translated by `say`, with any detail."""
    words, detail = say(BARS[left_out.bar]), left_out.detail
    return cells.one_line(f"{words}: {detail}" if detail else words)
