"""The only door to the web: one polite and suspicious GET, used for pages and for APIs alike.

    client = WebClient(WebRules(online=True, contact="me@example.org"))
    reply = client.get("https://example.org/a", accept="text/html")

`get` follows redirects (each looked at like the first address), keeps one connection and a pause
per host, heeds `Retry-After`, tries again where that helps, and stops at every limit of the rules.
A reply of any status is a `Response`; what never became one is a `FetchError`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pincite.documents.fetch_addresses import Resolve, system_resolver
from pincite.documents.fetch_rules import DEFAULT_RULES, WebRules

__all__ = ["DEFAULT_RULES", "Response", "WebClient", "WebRules"]


@dataclass(frozen=True, slots=True)
class Response:
    """A whole reply. `url` is where it came from, after redirects."""

    status: int
    url: str
    headers: Mapping[str, str]  # names in lower case; several of one name joined by ", "
    body: bytes
    redirects: tuple[str, ...] = ()  # addresses on the way, the first asked first
    notes: tuple[str, ...] = field(default=())  # for a person: "left https for http"


class WebClient:
    """Fetches. Safe to use from several threads; close it, or use it as a context manager."""

    def __init__(
        self,
        rules: WebRules = DEFAULT_RULES,
        *,
        resolve: Resolve = system_resolver,
        allow: Collection[str] = frozenset(),
    ) -> None:
        """`allow`: addresses that may be connected to although they are not public: tests only."""
        self.rules, self._resolve, self._allow = rules, resolve, frozenset(allow)

    def get(
        self, url: str, *, accept: str = "*/*", headers: Mapping[str, str] | None = None
    ) -> Response:
        """The reply to a GET.

        Raises:
            FetchingIsOff: the rules do not say `online`.
            FetchError: nothing, or nothing usable, came back; see `pincite.errors`.
        """
        raise NotImplementedError
