"""What the fetcher may do, for how long and how often: every limit in one place."""

from dataclasses import dataclass

from pincite.web.addresses import PORTS


@dataclass(frozen=True, slots=True)
class WebRules:
    """Manners and limits. Complete when constructed; `online` is false unless a user says so."""

    online: bool = False
    contact: str = ""  # an e-mail or web address, for the administrators of the hosts
    ports: tuple[int, ...] = PORTS
    environment_proxies: bool = False  # whether HTTP_PROXY and its kin are heeded
    # Manners. A second between requests is what archives and small sites ask for.
    pause: float = 1.0  # seconds between the end of a request and the next to the same host
    longest_crawl_delay: float = 30.0  # of robots.txt; more is taken for this
    at_once: int = 64  # hosts; each has one connection, and threads that wait cost little
    attempts: int = 3  # where a host is busy, failing or unreachable
    first_wait: float = 1.0  # seconds before the second attempt, doubled each time
    longest_wait: float = 60.0  # a host that asks for more counts as busy for now
    redirects: int = 5
    # Limits of one request.
    connect_seconds: float = 10.0
    idle_seconds: float = 15.0  # without a byte
    seconds: float = 60.0  # for everything from the name to the last byte
    body_bytes: int = 10_000_000  # after unpacking: a long PDF; most pages have 100 kB
    ratio: int = 200  # unpacked to packed: text reaches 20, a bomb 1000
    header_bytes: int = 32_000
    headers: int = 200
    # Days that the cache keeps pages and failures.
    keep_days: float = 30.0
    keep_failures_days: float = 1.0


DEFAULT_RULES = WebRules()

# The Wayback Machine's availability service, and the seconds between two questions to it. Its
# limits are not published; 15 requests a minute is what is known of another of its services
# (https://github.com/internetarchive/wayback/issues/274).
WAYBACK_API = "https://archive.org/wayback/available"
WAYBACK_PAUSE = 4.0
