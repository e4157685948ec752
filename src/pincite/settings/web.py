"""What a user can set about the web. Nothing here reaches a private address: no setting can."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pincite.errors import ConfigError
from pincite.models import weights
from pincite.settings.values import Range
from pincite.text.hosts import host_of
from pincite.web.addresses import PORTS
from pincite.web.rules import WAYBACK_API, WAYBACK_PAUSE, WebRules

_DEFAULT = WebRules()


@dataclass(frozen=True, slots=True)
class WebSettings:
    """`[web]`: what may be fetched, and how."""

    online: bool = False  # whether anything may be fetched from the web
    contact: str = ""  # e-mail or web address that hosts are told, in the User-Agent
    ports: tuple[str, ...] = tuple(map(str, PORTS))
    proxies: bool = False  # whether HTTP_PROXY, HTTPS_PROXY and NO_PROXY are heeded
    # Seconds between two requests to one host, and how many hosts are asked at the same time.
    pause: Annotated[float, Range(0, 3600)] = _DEFAULT.pause
    at_once: Annotated[int, Range(1, 256)] = _DEFAULT.at_once
    seconds: Annotated[float, Range(1, 3600)] = _DEFAULT.seconds  # for one page
    megabytes: Annotated[float, Range(0.1, 1000)] = _DEFAULT.body_bytes / 1e6  # of it, unpacked
    cache: str = ""  # file of fetched pages; empty: in the user's cache folder
    cache_days: Annotated[float, Range(0, 36500)] = _DEFAULT.keep_days
    search_url: str = ""  # a SearXNG that may be sent claims, to find sources; needs online
    search_results: Annotated[int, Range(1, 20)] = 5  # pages fetched of what it finds for a claim
    wayback: bool = False  # whether the Wayback Machine may be asked for copies; needs online
    wayback_api: str = WAYBACK_API  # its availability service
    wayback_pause: Annotated[float, Range(0, 30)] = WAYBACK_PAUSE  # seconds between two questions

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        if not host_of(self.wayback_api) or "?" in self.wayback_api:
            given = self.wayback_api
            raise ConfigError(
                f"web.wayback_api is {given!r}; expected an address like {WAYBACK_API}"
            )
        for port in self.ports:
            if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
                raise ConfigError(f"web.ports has {port!r}; expected 1 to 65535.")

    @property
    def rules(self) -> WebRules:
        """The limits and manners of the fetcher."""
        return WebRules(
            online=self.online,
            contact=self.contact,
            ports=tuple(map(int, self.ports)),
            environment_proxies=self.proxies,
            pause=self.pause,
            at_once=self.at_once,
            seconds=self.seconds,
            body_bytes=int(self.megabytes * 1e6),
            keep_days=self.cache_days,
        )

    @property
    def cache_file(self) -> Path:
        """Where fetched pages are kept."""
        if self.cache:
            return Path(self.cache).expanduser()
        return weights.cache_folder().parent / "web.sqlite"
