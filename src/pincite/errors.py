"""The error tree, of which callers catch as much or as little as they want.

    PinciteError
    ├─ ConfigError, InputError, MissingModel, MissingExtra (also an ImportError)
    ├─ CorpusError: StaleCorpus, CorpusInUse
    ├─ FetchError: FetchingIsOff, UntrustedHost, FetchStopped
    └─ ServerError: ServerRefused, ServerBusy, ServerUnreachable, BadReply, NotAsked

A source that cannot be checked is *not* an error but a result, `pincite.types.Unchecked`.
Every message says what happened, what was expected and what to do.

A bug in this program is not a finding about a source, and costs only the item that met it: `apply`
and `attempt` log the traceback and return a result that names the kind of error. Expected errors
pass through, and so does Ctrl-C.
"""

import json
import logging
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from pincite.types import Failed, Reason


class PinciteError(Exception):
    """An error that Pincite expects; the command line prints it without a traceback."""

    exit_code = 70


class ConfigError(PinciteError):
    """An option or setting is invalid; the message lists the valid ones."""

    exit_code = 2


class PinciteWarning(UserWarning):
    """A feature does not work as configured, and the run continues without it."""


class InputError(PinciteError):
    """An input is missing or cannot be read; the message names file and line."""

    exit_code = 3


@contextmanager
def usable(path: Path, use: str = "read", kind: type[PinciteError] = InputError) -> Iterator[None]:
    """Raise `kind` for an OSError inside: "PATH cannot be `use`: the reason"."""
    try:
        yield
    except OSError as error:
        raise kind(f"{path} cannot be {use}: {error.strerror or error}.") from error


class MissingModel(PinciteError):
    """Model weights were not found; the message names the command that fetches them."""

    exit_code = 6


class MissingExtra(PinciteError, ImportError):
    """A library is not installed; the message names the extra that brings it."""

    exit_code = 6


# The distributions that bring these extras: a whole one each, or an extra of pincite-cluster.
_WHOLE = ("evidenceseeker", "lab", "mcp", "multilingual", "server", "study", "watch")
PLUGINS = {name: f"pincite-{name}" for name in _WHOLE}
PLUGINS |= dict.fromkeys(("postgres", "ray"), "pincite-cluster")


def install_command(extra: str = "", *, repair: bool = False) -> str:
    """Return the command that adds or repairs an extra; without one, that repairs Pincite.

    pip records where a package that is of no index came from (PEP 610, direct_url.json).
    """
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.request import url2pathname

    try:
        record = json.loads(distribution("pincite").read_text("direct_url.json") or "{}")
        url, commit = str(record.get("url", "")), record.get("vcs_info")
    except (PackageNotFoundError, ValueError, AttributeError):
        record, url, commit = {}, "", None
    extras = f"[{extra}]" if extra and extra not in _WHOLE else ""
    wanted = [] if extra and not repair else ["--force-reinstall"]
    plugin = PLUGINS.get(extra)
    parts = [PLUGINS["server"], plugin] if extra in ("study", "watch") else [plugin]
    if commit:
        for part in parts:
            folder = f"#subdirectory=plugins/{part}" if part else ""
            source = f"{commit['vcs']}+{url}@{commit['commit_id']}{folder}"
            wanted.append(f"{part or 'pincite'}{extras} @ {source}")
    elif url.startswith("file://"):
        path = url2pathname(url.removeprefix("file://"))
        makefile = Path(path, "Makefile")
        if extra and makefile.is_file() and f"\n{extra}:" in makefile.read_text("utf-8"):
            return shlex.join(["make", "-C", path, extra])
        editable = record.get("dir_info", {}).get("editable")
        wanted += [] if editable else ["--find-links", str(Path(path).parent)]
        for part in parts:
            place = Path(path, "plugins", part) if part else Path(path)
            given = place if not part or place.is_dir() else part
            wanted += [*(["-e"] if editable else []), f"{given}{extras}"]
    else:
        wanted.append(f"{plugin or 'pincite'}{extras}")
    pip = [sys.executable, "-m", "pip", "install"]
    if find_spec("pip") is None:
        pip = ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*pip, *wanted])


class CorpusError(PinciteError):
    """A corpus folder is missing, damaged, or locked by another writer."""

    exit_code = 7


class StaleCorpus(CorpusError):
    """The corpus was built with other weights or rules than it is opened with."""


class CorpusInUse(CorpusError):
    """Another process is writing the corpus; retry later."""


class FetchError(PinciteError):
    """A page could not be fetched.

    `status`: HTTP; None without a reply. `of_host`: all pages of the host would fail alike.
    """

    exit_code = 9
    reason = Reason.UNREACHABLE

    def __init__(
        self,
        message: str,
        url: str = "",
        reason: Reason | None = None,
        status: int | None = None,
        *,
        of_host: bool = False,
    ) -> None:
        super().__init__(message)
        self.url, self.status, self.of_host = url, status, of_host
        self.reason = reason or self.reason


class FetchingIsOff(FetchError):
    """Fetching from the web is not enabled."""

    exit_code = 2
    reason = Reason.NOT_SUPPLIED


class UntrustedHost(FetchError):
    """The host's certificate is not its own, has expired, or has an unknown issuer."""


class FetchStopped(FetchError):
    """The run was stopped before the page arrived."""


class ServerError(PinciteError):
    """A language model's server gave no usable answer. `status`: HTTP; None without a reply."""

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


# ── Bugs ──────────────────────────────────────────────────────────────────────────────────────────

S = TypeVar("S")
T = TypeVar("T")
LOG = logging.getLogger("pincite")
EXPECTED = (PinciteError, ImportError)


def apply(
    make: Callable[[Sequence[S]], Sequence[T]], items: Sequence[S], failed: Callable[[S, Failed], T]
) -> list[T]:
    """Call `make` on a batch, halved until failing items are alone; `failed` makes theirs."""
    try:
        return list(make(items))
    except EXPECTED:
        raise
    except Exception as error:
        if len(items) < 2:
            return [failed(item, log_failure(error)) for item in items]
    half = len(items) // 2
    return apply(make, items[:half], failed) + apply(make, items[half:], failed)


def attempt(make: Callable[[], T], failed: Callable[[Failed], T]) -> T:
    """Return what `make` returns; if it raises, what `failed` returns."""
    (made,) = apply(lambda _: [make()], [None], lambda _, why: failed(why))
    return made


def log_failure(error: Exception) -> Failed:
    LOG.error("One item could not be processed; the others were.", exc_info=error)
    return Failed("internal", type(error).__name__)
