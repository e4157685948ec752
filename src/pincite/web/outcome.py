"""What became of an address: errors and replies of the web as one of our reasons.

Pure functions. What a page's text gives away is `documents.outcome`'s business; here stands what
its status and its redirects do.
"""

import re
from urllib.parse import urlsplit

from pincite.documents.outcome import of_status
from pincite.errors import (
    BadEncoding,
    BodyCut,
    BodyTooLarge,
    FetchError,
    FetchingIsOff,
    FetchTimedOut,
    HostBusy,
    HostUnreachable,
    NoSuchHost,
    RedirectedTooOften,
    RobotsForbid,
    UnsafeAddress,
)
from pincite.text.hosts import original_of
from pincite.types import Reason, Unchecked

REASONS: dict[type[FetchError], Reason] = {
    FetchingIsOff: Reason.NOT_SUPPLIED,
    UnsafeAddress: Reason.UNSAFE_ADDRESS,
    NoSuchHost: Reason.NO_HOST,
    HostUnreachable: Reason.UNREACHABLE,  # UntrustedHost too
    HostBusy: Reason.REFUSED,
    FetchTimedOut: Reason.TIMED_OUT,
    BodyTooLarge: Reason.TOO_LARGE,
    BodyCut: Reason.TRUNCATED,
    BadEncoding: Reason.UNDECODABLE,
    RedirectedTooOften: Reason.REDIRECTS,
    RobotsForbid: Reason.ROBOTS,
}
# May be otherwise in an hour; the rest is kept for a day.
PASSING = frozenset({Reason.REFUSED, Reason.UNREACHABLE, Reason.TIMED_OUT, Reason.TRUNCATED})

_FRONT = re.compile(r"/?|/(index|default|home)(\.\w{2,5})?/?|/[a-z]{2}([-_][a-z]{2})?/?", re.I)
_LOGIN = re.compile(
    r"[/.](log-?in|log-?on|sign-?in|sso|saml2?|oauth2?|authorize|anmelden|connexion|idp)\b", re.I
)
_CONSENT = re.compile(r"^consent\.|/(cookie-?)?consent(-wall)?(/|\b)|/cookie-?wall\b", re.I)


def of_error(url: str, error: FetchError) -> Unchecked:
    """The result for a page that did not come.

    >>> of_error("http://a.example/", NoSuchHost("a.example has no address.")).reason
    <Reason.NO_HOST: 'no_host'>
    """
    reason = next((REASONS[kind] for kind in type(error).__mro__ if kind in REASONS), None)
    said = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(error))
    return Unchecked(url, reason or Reason.UNREACHABLE, said.rstrip("."))


def of_reply(url: str, status: int, final_url: str, redirected: bool) -> Unchecked | None:
    """The result that status and redirects alone decide; None if the page is worth reading.

    >>> of_reply("http://a.example/x/y", 200, "http://a.example/", True).reason
    <Reason.FRONT_PAGE: 'front_page'>
    """
    if status in (204, 205):
        return Unchecked(url, Reason.EMPTY, f"HTTP {status}: an answer without a page")
    if status == 206:
        return Unchecked(url, Reason.TRUNCATED, "HTTP 206: a part was sent, all was asked for")
    if 300 <= status < 400:
        detail = f"HTTP {status}: a redirect that leads nowhere"
        return Unchecked(url, Reason.UNREACHABLE, detail)
    return of_status(url, status) or (_led_away(url, final_url) if redirected else None)


def _led_away(url: str, final_url: str) -> Unchecked | None:
    """A redirect to a page that stands for all those that are not there, or not for us."""
    cited, final = urlsplit(original_of(url)), urlsplit(original_of(final_url))
    came, went = f"{cited.netloc}{cited.path}", f"{final.netloc}{final.path}"
    detail = f"it leads to {final_url}"
    if _CONSENT.search(went) and not _CONSENT.search(came):
        return Unchecked(url, Reason.CONSENT, detail)
    if _LOGIN.search(went) and not _LOGIN.search(came):
        return Unchecked(url, Reason.LOGIN, detail)
    if _is_front(final.path, final.query) and not _is_front(cited.path, cited.query):
        return Unchecked(url, Reason.FRONT_PAGE, detail)
    return None


def _is_front(path: str, query: str) -> bool:
    return not query and _FRONT.fullmatch(path) is not None
