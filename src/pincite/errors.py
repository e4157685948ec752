"""The error tree: callers catch as much or as little as they want.

    PinciteError
    ├─ ConfigError     an unknown key or a bad value; the message lists the valid ones
    ├─ InputError      an input that is missing or cannot be read; names file and line
    ├─ MissingModel    weights that were not found; names the command that fetches them
    ├─ MissingExtra    a library that is not installed; names the extra (also an ImportError)
    ├─ CorpusError     a folder that is not a corpus, is damaged, or is locked by a writer
    │  ├─ StaleCorpus  a corpus built with another encoder or passage rule than the current ones
    │  └─ CorpusInUse  another process is writing it; retry later
    ├─ FetchError      a page that could not be fetched: its `url`, and `status` if it has one
    │  ├─ FetchingIsOff      the web is not enabled: `web.online` or --online
    │  ├─ UnsafeAddress      not a public web address: scheme, port, password, private network
    │  ├─ NoSuchHost         its name does not resolve
    │  ├─ HostUnreachable    no connection, or no HTTP in the reply
    │  │  └─ UntrustedHost   its certificate cannot be trusted
    │  ├─ HostBusy           the host asked for a longer pause than we wait
    │  ├─ FetchTimedOut      it took longer than allowed, in total or between two chunks
    │  ├─ BodyTooLarge       more bytes than allowed, compressed or decompressed
    │  ├─ BodyCut            the connection ended before the page did
    │  ├─ BadEncoding        a body that cannot be decompressed
    │  ├─ RedirectedTooOften a loop, or too many
    │  ├─ RobotsForbid       the host's robots.txt excludes the page
    │  └─ FetchStopped       the run was stopped
    └─ ServerError     a language model's server gave no usable answer
       ├─ ServerRefused      permanent refusal: key, credit, address, request
       ├─ ServerBusy         temporary: too many requests, or an internal failure
       ├─ ServerUnreachable  no answer, or not in time
       ├─ BadReply           an unusable reply
       └─ NotAsked           no request was sent: budget spent, or run stopped

A source that cannot be checked is *not* an error but a result, `pincite.types.Unchecked`.
Every message says what happened, what was expected and what to do.
"""


class PinciteError(Exception):
    """An error that Pincite expects; the command line prints it without a traceback."""

    exit_code = 70


class ConfigError(PinciteError):
    """Invalid option or setting."""

    exit_code = 2


class PinciteWarning(UserWarning):
    """A feature does not work as configured, and the run continues without it."""


class InputError(PinciteError):
    """An input file is missing, or nothing in it can be read."""

    exit_code = 3


class MissingModel(PinciteError):
    """The loader found model weights in none of its places."""

    exit_code = 6


class MissingExtra(PinciteError, ImportError):
    """A feature needs a library that is not installed with the chosen extras."""

    exit_code = 6


class CorpusError(PinciteError):
    """A corpus folder is missing, damaged, or locked by another writer."""

    exit_code = 7


class StaleCorpus(CorpusError):
    """The corpus was built with other weights or rules than it is opened with."""


class CorpusInUse(CorpusError):
    """Another process is writing the corpus."""


class FetchError(PinciteError):
    """A page could not be fetched.

    `status`: the HTTP status, None without a reply. `of_host`: every page of the host would fail
    alike.
    """

    exit_code = 9

    def __init__(
        self, message: str, url: str = "", status: int | None = None, *, of_host: bool = False
    ) -> None:
        super().__init__(message)
        self.url, self.status, self.of_host = url, status, of_host


class FetchingIsOff(FetchError):
    """Fetching from the web is not enabled."""

    exit_code = 2


class UnsafeAddress(FetchError):
    """Not a public web address; Pincite never connects to it."""


class NoSuchHost(FetchError):
    """The host's name does not resolve, or not in time."""


class HostUnreachable(FetchError):
    """No connection, or a reply that is not HTTP."""


class UntrustedHost(HostUnreachable):
    """The host's certificate is not its own, has expired, or has an unknown issuer."""


class HostBusy(FetchError):
    """The host asked for a longer pause than we wait."""


class FetchTimedOut(FetchError):
    """The page took longer than allowed, in total or between two chunks."""


class BodyTooLarge(FetchError):
    """The page is larger than allowed, or decompresses to far more than was sent."""


class BodyCut(FetchError):
    """The connection ended before the page did."""


class BadEncoding(FetchError):
    """The body cannot be decompressed as its headers say."""


class RedirectedTooOften(FetchError):
    """Redirects form a loop, or there are too many."""


class RobotsForbid(FetchError):
    """The host's robots.txt forbids programs to fetch this page."""


class FetchStopped(FetchError):
    """The run was stopped before the page arrived."""


class ServerError(PinciteError):
    """A language model's server gave no usable answer.

    `status`: HTTP status; None without a reply.
    """

    exit_code = 8

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class ServerRefused(ServerError):
    """Permanent refusal of the key, account, address or request; do not retry."""

    @property
    def lasting(self) -> bool:
        """Whether every other request would be refused too."""
        return self.status not in (400, 413, 422)


class ServerBusy(ServerError):
    """The server is overloaded or failing, even after the last retry."""


class ServerUnreachable(ServerError):
    """No connection, or no complete reply in time."""


class BadReply(ServerError):
    """The reply is too large, or is not what was requested: no text, no vectors."""


class NotAsked(ServerError):
    """The request was not sent: the user's budget is spent, or the run was stopped."""
