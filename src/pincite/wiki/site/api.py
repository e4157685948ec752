"""Asking a MediaWiki, with its manners: one request at a time, and waiting when it says so.

`ActionApi.query` gives the parsed reply or raises a `WikiError` that says what is wrong. The
HTTP is somebody else's (`Web`, see `web.fetch`): this room opens no connection.

Manners: https://www.mediawiki.org/wiki/API:Etiquette and /wiki/Manual:Maxlag_parameter. `maxlag=5`
lets the wiki refuse while its replicas lag behind: an error in a reply of status 200, so the wait
is here. A status of 429 or 5xx is waited for by whoever makes the connection.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

from pincite.errors import FetchError, PinciteError
from pincite.text.retry_after import seconds_to_wait
from pincite.wiki.site.addresses import Site

MAXLAG = 5  # seconds; the value that the wikis ask for
ATTEMPTS = 5
FIRST_WAIT = 5.0  # seconds, doubled each time; what Wikimedia's own `Retry-After` says for maxlag
LONGEST_WAIT = 120.0  # a wiki that asks for more is given up for now
MAX_CONTINUED = 1000  # requests of one listing: 500,000 members of a category
_BUSY = (429, 500, 502, 503, 504)
_LATER = frozenset({"maxlag", "ratelimited", "readonly"})


class Reply(Protocol):
    """What came back; header names are in lower case, the body is unpacked."""

    @property
    def status(self) -> int: ...  # noqa: D102
    @property
    def headers(self) -> Mapping[str, str]: ...  # noqa: D102
    @property
    def body(self) -> bytes: ...  # noqa: D102


class Web(Protocol):
    """One GET, made again while the host is busy. Raises FetchError where no reply came."""

    def get(  # noqa: D102
        self, url: str, *, accept: str = "*/*", headers: Mapping[str, str] | None = None
    ) -> Reply: ...


class WikiError(PinciteError):
    """The wiki did not answer as asked; `code` says how: `not_mediawiki`, `busy`, or its own."""

    exit_code = 9

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class ActionApi:
    """The Action API of one wiki. `get` is shared with other hosts; requests here are serial."""

    site: Site
    web: Web
    sleep: Callable[[float], None] = time.sleep
    tell: Callable[[str], None] = lambda message: None  # about waits, for a person
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def query(self, **parameters: object) -> dict[str, Any]:
        """The reply of one request; None values are left out.

        Raises:
            WikiError, FetchError
        """
        given = {key: str(value) for key, value in parameters.items() if value is not None}
        fixed = {"format": "json", "formatversion": "2", "maxlag": str(MAXLAG)}
        url = f"{self.site.api}?{urlencode({'action': 'query', **given, **fixed})}"
        with self._turn:
            return self._asked(url)

    def pages_of(self, **parameters: object) -> Iterator[dict[str, Any]]:
        """A listing, reply by reply, as far as the wiki says that there is more."""
        more: dict[str, object] = {}
        for _ in range(MAX_CONTINUED):
            reply = self.query(**{**parameters, **more})
            yield reply
            more = reply.get("continue") or {}
            if not isinstance(more, dict) or not more:
                return
        message = f"{self.site.host} never comes to the end of a listing; it was given up."
        raise WikiError(message, "endless")

    def html(self, revision_id: str) -> str:
        """The HTML of a revision, by the wiki's REST interface: an alternative to wikitext."""
        url = f"{self.site.base}{self.site.scripts}/rest.php/v1/revision/{revision_id}/html"
        with self._turn:
            reply = self._got(url, "text/html")
        if reply.status != 200:
            message = f"{self.site.host} gives no HTML of revision {revision_id}: {_status(reply)}"
            raise WikiError(message, "no_html")
        return reply.body.decode("utf-8", "replace")

    def _asked(self, url: str) -> dict[str, Any]:
        for attempt in range(ATTEMPTS):
            reply = self._got(url, "application/json")
            parsed = self._parsed(reply)
            error = parsed.get("error")
            if not isinstance(error, dict):
                return parsed
            code, info = str(error.get("code", "unknown")), str(error.get("info", ""))
            if code not in _LATER or attempt == ATTEMPTS - 1:
                raise self._error(code, info)
            self._wait(reply, attempt, _why(code))
        raise AssertionError

    def _got(self, url: str, accept: str) -> Reply:
        try:
            return self.web.get(url, accept=accept)
        except FetchError as error:
            error.args = (f"{self.site.host} was asked for an article: {error}",)
            raise

    def _wait(self, reply: Reply, attempt: int, why: str) -> None:
        asked = seconds_to_wait(reply.headers.get("retry-after", ""))
        seconds = FIRST_WAIT * 2**attempt if asked is None else asked
        if seconds > LONGEST_WAIT:
            message = (
                f"{self.site.host} {why} and asks to wait {seconds:.0f} seconds. Try again later: "
                "what was done is kept."
            )
            raise WikiError(message, "busy")
        self.tell(f"{self.site.host} {why}; waiting {seconds:.0f} s")
        self.sleep(seconds)

    def _parsed(self, reply: Reply) -> dict[str, Any]:
        """The reply as JSON of MediaWiki's form."""
        if reply.status in (401, 403, 451):
            message = f"{self.site.api} refuses: {_status(reply)}. It may want a contact: set one."
            raise WikiError(message, "refused")
        if reply.status in _BUSY:
            raise WikiError(f"{self.site.host} is busy: {_status(reply)}. Try again later.", "busy")
        try:
            parsed = json.loads(reply.body)
        except (ValueError, RecursionError):
            parsed = None
        known = {"query", "batchcomplete", "error", "continue"}
        if reply.status != 200 or not isinstance(parsed, dict) or not known & parsed.keys():
            message = (
                f"{self.site.api} is no interface of a MediaWiki ({_status(reply)}). Expected a "
                "wiki's address; if its scripts lie elsewhere, set wiki to their folder."
            )
            raise WikiError(message, "not_mediawiki")
        return parsed

    def _error(self, code: str, info: str) -> WikiError:
        said = re.sub(r"\s+", " ", info)[:300]
        if code in _LATER:
            message = f"{self.site.host} {_why(code)} and still was after {ATTEMPTS} attempts: "
            return WikiError(f"{message}{said} Try again later.", code)
        if code == "readapidenied":
            message = f"{self.site.host} lets only its members read. {said}"
            return WikiError(message, code)
        return WikiError(f"{self.site.host} answered with an error: {code}: {said}", code)


def _why(code: str) -> str:
    reasons = {"maxlag": "lags behind", "ratelimited": "asks for fewer requests"}
    return reasons.get(code, "is read-only for now")


def _status(reply: Reply) -> str:
    kind = reply.headers.get("content-type", "no type").partition(";")[0]
    return f"HTTP {reply.status}, {kind}, {len(reply.body)} bytes"
