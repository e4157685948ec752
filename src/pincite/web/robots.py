"""What hosts ask programs to leave alone: robots.txt by RFC 9309, read once a day and host.

The one file that knows protego.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pincite.errors import (
    BadEncoding,
    BodyCut,
    BodyTooLarge,
    FetchError,
    RedirectedTooOften,
    RobotsForbid,
    UnsafeAddress,
)
from pincite.web.addresses import Target

if TYPE_CHECKING:
    from protego import Protego

AGENT = "pincite"  # the name that a robots.txt can address
MAX_CHARS = 500 * 1024  # RFC 9309, 2.5: what must be read at least, and no more is
# A file that is not served as one is "unavailable" (2.3.1.3), which allows everything.
_NO_FILE = (BodyTooLarge, BodyCut, BadEncoding, RedirectedTooOften, UnsafeAddress)

Reply = tuple[int, bytes]  # status and body
Read = Callable[[str], Reply]  # address of a robots.txt → what is there; raises FetchError


@dataclass(frozen=True, slots=True)
class Wishes:
    """Of one host. `closed` says why nothing may be fetched; empty if `rules` decide."""

    rules: "Protego | None"
    closed: str = ""

    def allow(self, url: str) -> bool:
        """Whether this program may fetch an address of the host."""
        return not self.closed and (self.rules is None or self.rules.can_fetch(url, AGENT))

    @property
    def delay(self) -> float:
        """Seconds between requests that the host asks for; 0 if it does not say."""
        return (self.rules.crawl_delay(AGENT) or 0.0) if self.rules else 0.0


class Robots:
    """The wishes of the hosts that were asked; `check` is what `WebClient.get` wants."""

    def __init__(self, read: Read, set_pause: Callable[[str, float], None]) -> None:
        """`set_pause` is told of each host that asks for a delay."""
        self._read, self._set_pause = read, set_pause
        self._known: dict[str, Wishes] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def check(self, target: Target) -> None:
        """Look whether a page may be fetched.

        Raises:
            RobotsForbid: its host asks programs to leave it alone, or cannot say now.
            FetchError: the host cannot be reached at all.
        """
        wishes = self._wishes(target)
        if wishes.allow(target.url):
            return
        host = target.authority
        why = wishes.closed or f"the robots.txt of {host} asks programs to leave this page alone"
        raise RobotsForbid(f"{target.url} is not fetched: {why}.", target.url)

    def _wishes(self, target: Target) -> Wishes:
        origin = f"{target.scheme}://{target.authority}"
        with self._lock:
            lock = self._locks.setdefault(origin, threading.Lock())
        with lock:  # asked once, however many pages of the host are waiting
            if origin not in self._known:
                self._known[origin] = wishes = self._asked(f"{origin}/robots.txt")
                if wishes.delay > 0:
                    self._set_pause(target.host, wishes.delay)
            return self._known[origin]

    def _asked(self, url: str) -> Wishes:
        try:
            status, body = self._read(url)
        except _NO_FILE:
            return Wishes(None)
        except FetchError as error:
            if error.status is None:
                raise
            return Wishes(None, f"{url} answers {error.status}, which asks to stay away")
        if status == 429 or status >= 500:  # 2.3.1.4; a host that is busy has said nothing yet
            return Wishes(None, f"{url} answers {status}, which asks to stay away")
        return Wishes(rules_of(body) if 200 <= status < 300 else None)


def rules_of(body: bytes) -> "Protego":
    """The rules in a robots.txt, whatever bytes it holds."""
    from protego import Protego

    text = body[:MAX_CHARS].decode("utf-8-sig", "replace")
    return Protego.parse(text)
