"""Which copy of a page the Wayback Machine has nearest to a date: its availability service.

The Internet Archive answers 429 early and shuts out who goes on asking. So there is a pause of its
own between two questions, every answer is kept, "no copy" too, and after the first refusal nothing
more is asked in this run. Service: https://archive.org/help/wayback_api.php
"""

import json
import time
from collections.abc import Callable
from urllib.parse import urlencode

from pincite.errors import FetchError, FetchStopped
from pincite.text.hosts import WAYBACK_HOSTS, Snapshot, host_of, is_below, original_of, snapshot_at
from pincite.web.addresses import WAYBACK_API, WAYBACK_PAUSE, target_of
from pincite.web.cache import DAY, FetchCache, Kept
from pincite.web.fetch import Response, WebClient

_REFUSALS = (401, 403, 429)  # and 5xx; other statuses concern the one page


class Wayback:
    """Asks one page at a time; not for several threads."""

    def __init__(
        self,
        client: WebClient,
        cache: FetchCache,
        *,
        api: str = WAYBACK_API,
        pause: float = WAYBACK_PAUSE,
        asking: Callable[[str], None] = lambda url: None,
    ) -> None:
        """`api`: the service, here or of a mirror; `asking`: is told the page before a request."""
        self._client, self._cache, self._api, self._asking = client, cache, api, asking
        self._warnings: dict[str, None] = {}
        self._refused = False
        client.set_pause(host_of(api), pause)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Whose addresses are archived copies; each host stands for all below it."""
        return (host_of(self._api), *WAYBACK_HOSTS)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong so far, one message a kind."""
        return tuple(self._warnings)

    def nearest(self, url: str, near: str = "") -> Snapshot | None:
        """The copy nearest to a time; None where there is none, or nobody may ask any more.

        Args:
            url: of the page; an archive's prefix is left off.
            near: digits of a time, the year first; empty: the newest copy.
        """
        page = original_of(url, self.hosts).partition("#")[0]
        asked = {"url": page} | ({"timestamp": near} if near else {})
        key = f"{self._api}?{urlencode(asked)}"
        kept = self._cache.get(key)
        if not (kept and kept.fresh):
            kept = None if self._refused else self._answer(key, page)
        return self._snapshot(kept.body) if kept and kept.body else None

    def _answer(self, key: str, page: str) -> Kept | None:
        """The service's answer, kept; None if it is none, or must not be asked for."""
        try:
            target_of(page, self._client.rules.ports)
        except FetchError:  # an address that is never opened is told to nobody
            return None
        self._asking(page)
        try:
            reply = self._client.get(key, accept="application/json")
        except FetchStopped:
            raise
        except FetchError as error:
            self._give_up(str(error).rstrip("."))
            return None
        if why := _refused(reply):
            self._give_up(why)
            return None
        kept = self._kept(key, reply)
        self._cache.put(kept)
        return kept

    def _kept(self, key: str, reply: Response) -> Kept:
        """Answers that name a copy last as long as pages, the others as long as failures."""
        now, rules = time.time(), self._client.rules
        found = reply.status == 200 and self._snapshot(reply.body)
        days = rules.keep_days if found else rules.keep_failures_days
        body = reply.body if reply.status == 200 else b""
        return Kept(key, reply.url, reply.status, {}, body, fetched=now, expires=now + days * DAY)

    def _give_up(self, why: str) -> None:
        self._refused = True
        self._warnings[
            f"{host_of(self._api)} was not asked for archived copies any more: {why}. Try again "
            "later: what was found is kept."
        ] = None

    def _snapshot(self, body: bytes) -> Snapshot | None:
        """The copy that an answer names, if it came with status 200 and lies in the archive."""
        closest = _closest(body) or {}
        url, status = closest.get("url"), str(closest.get("status"))
        if closest.get("available") is not True or status != "200" or not isinstance(url, str):
            return None
        found = snapshot_at(url, self.hosts)
        if found and found.date and is_below(url, self.hosts):
            return found
        self._warnings[
            f"{host_of(self._api)} named a copy that is no address of the archive; it was not "
            f"opened: {url[:200]}"
        ] = None
        return None


def _refused(reply: Response) -> str:
    """What is wrong with an answer, beyond the page that it is about; empty if nothing is."""
    if reply.status in _REFUSALS or reply.status >= 500:
        return f"it answers {reply.status}"
    if reply.status == 200 and _closest(reply.body) is None:
        return "its answer is not of the form that it documents"
    return ""


def _closest(body: bytes) -> dict[str, object] | None:
    """The nearest copy in an answer, empty if there is none; None of what is no answer.

    >>> _closest(b'{"archived_snapshots": {}}'), _closest(b"<html>")
    ({}, None)
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    snapshots = answer.get("archived_snapshots") if isinstance(answer, dict) else None
    # An empty list is what a PHP service may make of an empty object.
    if not isinstance(snapshots, dict):
        return {} if snapshots == [] else None
    closest = snapshots.get("closest", {})
    return closest if isinstance(closest, dict) else None
