"""How long a server asks to be left alone: the header `Retry-After` (RFC 9110, §10.2.3)."""

import re
import time
from datetime import UTC
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"\d+(\.\d+)?", re.ASCII)  # whole ones, says the RFC; some send fractions
_LONGEST = 1e9  # seconds: 31 years, for what has more digits than sense


def seconds_to_wait(retry_after: str, now: float | None = None) -> float | None:
    """The seconds that the header's value asks for, at least 0; None where it says nothing.

    Args:
        retry_after: seconds, or the date until when to wait.
        now: in seconds since 1970; by default what the clock says.

    >>> seconds_to_wait("120"), seconds_to_wait("Thu, 01 Jan 1970 00:01:00 GMT", 50.0)
    (120.0, 10.0)
    >>> seconds_to_wait("soon") is None
    True
    """
    text = retry_after.strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), _LONGEST)
    try:
        until = parsedate_to_datetime(text)
        # A date without a zone is Greenwich's, as all of HTTP are, not of this machine's zone.
        seconds = until.replace(tzinfo=until.tzinfo or UTC).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, seconds - (time.time() if now is None else now))
