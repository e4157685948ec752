"""What a user can set about the web. Nothing here reaches a private address: no setting can."""

from dataclasses import dataclass
from pathlib import Path

from pincite.errors import ConfigError
from pincite.models import weights
from pincite.text.hosts import host_of
from pincite.web.addresses import PORTS
from pincite.web.rules import WAYBACK_API, WAYBACK_PAUSE, WebRules

# A person's address, and where on the machine something lies: in no report, which others may read.
PRIVATE = frozenset({"contact", "own_copies", "web_cache"})
# How pages are asked for, not which copies count. How old a page of the cache may be is among them:
# a finished report is as old as it is.
MANNERS = frozenset({"web_pause", "web_at_once", "web_cache_days", "wayback_pause"})
_DEFAULT = WebRules()


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Settings of the fetcher with their defaults."""

    online: bool = False  # whether articles and cited pages may be fetched from the web
    contact: str = ""  # e-mail or web address that hosts are told, in the User-Agent
    web_ports: tuple[str, ...] = tuple(map(str, PORTS))
    web_proxies: bool = False  # whether HTTP_PROXY, HTTPS_PROXY and NO_PROXY are heeded
    web_pause: float = _DEFAULT.pause  # seconds between two requests to one host
    web_at_once: int = _DEFAULT.at_once  # hosts that are asked at the same time
    web_seconds: float = _DEFAULT.seconds  # for one page
    web_megabytes: float = _DEFAULT.body_bytes / 1e6  # of one page, unpacked
    web_cache: str = ""  # file of fetched pages; empty: in the user's cache folder
    web_cache_days: float = _DEFAULT.keep_days
    search_url: str = ""  # a SearXNG that may be sent claims, for better sources; needs online
    search_results: int = 5  # pages fetched of what it finds for a claim
    wayback: bool = False  # whether the Wayback Machine may be asked for copies; needs online
    wayback_api: str = WAYBACK_API  # its availability service
    wayback_pause: float = WAYBACK_PAUSE  # seconds between two questions

    def check_the_web(self) -> None:
        """Refuse values that mean nothing."""
        for name, low, high in (
            ("web_pause", 0.0, 3600.0),
            ("web_at_once", 1, 256),
            ("web_seconds", 1.0, 3600.0),
            ("web_megabytes", 0.1, 1000.0),
            ("web_cache_days", 0.0, 36500.0),
            ("search_results", 1, 20),
            ("wayback_pause", 0.0, 30.0),
        ):
            if not low <= getattr(self, name) <= high:
                given = getattr(self, name)
                raise ConfigError(f"{name} is {given}; expected {low:g} to {high:g}.")
        if not host_of(self.wayback_api) or "?" in self.wayback_api:
            given = self.wayback_api
            raise ConfigError(f"wayback_api is {given!r}; expected an address like {WAYBACK_API}")
        for port in self.web_ports:
            if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
                raise ConfigError(f"web_ports has {port!r}; expected 1 to 65535.")

    @property
    def web_rules(self) -> WebRules:
        """The limits and manners of the fetcher."""
        return WebRules(
            online=self.online,
            contact=self.contact,
            ports=tuple(map(int, self.web_ports)),
            environment_proxies=self.web_proxies,
            pause=self.web_pause,
            at_once=self.web_at_once,
            seconds=self.web_seconds,
            body_bytes=int(self.web_megabytes * 1e6),
            keep_days=self.web_cache_days,
        )

    @property
    def web_cache_file(self) -> Path:
        """Where fetched pages are kept."""
        if self.web_cache:
            return Path(self.web_cache).expanduser()
        return weights.cache_folder().parent / "web.sqlite"
