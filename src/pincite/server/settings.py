"""Server settings: the table `[server]`, or `PINCITE_SERVER_…`, and the files that they name.

Precedence is that of all settings (`settings.schema`). What a single request may change of the
pipeline's settings is decided in `server.requests`, never here. The pages' own name, logo, notice
and examples (branding) are read once, when the server starts. Texts are text, not markup; the logo
travels inside the page, and in an image no script of an SVG runs.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import platformdirs

from pincite.errors import ConfigError
from pincite.server.logs import LogForm
from pincite.settings import schema
from pincite.settings.schema import Range, check, made

TABLE = "server"
_ORIGIN = re.compile(
    r"https://[a-z0-9.-]+(:[0-9]{1,5})?|http://(localhost|127\.0\.0\.1)(:[0-9]{1,5})?"
)
Mode = Literal["local", "server"]
_Many = Annotated[int, Range(0, 1_000_000)]
_Days = Annotated[float, Range(0, 36500)]
_Megabytes = Annotated[float, Range(0, 1_000_000_000)]


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """All of them with their defaults; complete and checked when constructed."""

    mode: Mode = "local"  # "local": one person on this machine, no login; "server": accounts
    host: str = "127.0.0.1"
    port: Annotated[int, Range(0, 65535)] = 8765
    hosts: tuple[str, ...] = ()  # further names that browsers may ask for: "pincite.example.org"
    data: str = ""  # folder of the database, corpora and uploads; empty: in the user's data folder
    database: str = ""  # postgresql+psycopg://user@host/name; empty: SQLite in the data folder
    secure_cookies: bool = True  # "server": browsers send them over https only
    address: str = ""  # as browsers see it: "https://pincite.example.org"; for links and logins
    corpora: tuple[str, ...] = ()  # FOLDER, address or NAME=…: kept elsewhere, for all to read
    wikis: tuple[str, ...] = ()  # origins whose user script may ask: "https://en.wikipedia.org"
    proxies: tuple[str, ...] = ()  # addresses of ours that tell who asks, in X-Forwarded-For
    # ── Who may come in ("server"; docs/accounts.md)
    oauth: str = ""  # a TOML file of providers of logins; empty: passwords only
    # Without a request, until one has to log in again.
    session_hours: Annotated[float, Range(0.01, 8760)] = 12.0
    session_days: Annotated[float, Range(0.01, 365)] = 14.0  # in all
    requests_a_minute: _Many = 600  # of an account or key; 0: as many as they like
    address_requests_a_minute: _Many = 3000  # of an address, where a whole office may sit; 0: any
    # Wrong passwords from an address in 15 minutes; 5 times that for a name.
    login_tries: Annotated[int, Range(1, 1000)] = 10
    # ── Examples in the forms (docs/pages.md)
    examples: str = ""  # a text file with a statement a line, to be tried
    questions: str = ""  # the same with questions
    audit_days: _Days = 365.0  # how long it is known who did what; 0: for ever
    models: tuple[str, ...] = ()  # of the chat server, that people may choose from
    # ── Jobs
    # Of the worker inside `serve`; 0: only separate `pincite worker`s.
    jobs_at_once: Annotated[int, Range(0, 64)] = 1
    # Jobs that may wait; more are refused for now (429).
    queue: Annotated[int, Range(1, 1_000_000)] = 100
    queue_each: _Many = 10  # of one account that may wait or run ("server"); 0: as the queue takes
    job_seconds: Annotated[float, Range(1, 10_000_000)] = 3600.0
    # Resident memory of a job's process.
    job_megabytes: Annotated[int, Range(100, 10_000_000)] = 4000
    keep_days: _Days = 90.0  # of finished jobs; 0: for ever
    # ── What is written to stderr
    log: LogForm = "text"  # "json": one object a line
    log_requests: bool = False  # a line for each, with its pattern, never what stood in the address
    # ── What comes in
    body_megabytes: Annotated[float, Range(0.01, 100_000)] = 20.0  # of a request
    # Of the files that are sent for a corpus at once.
    upload_megabytes: Annotated[float, Range(0.01, 1_000_000)] = 200.0
    # ── What is kept
    # With less, new jobs and files are refused (507); 0: never.
    disk_free_megabytes: _Megabytes = 500.0
    account_megabytes: _Megabytes = 0.0  # of an account's corpora and own copies ("server"); 0: any

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        check(self, TABLE)
        if self.mode == "local" and self.host not in ("127.0.0.1", "::1", "localhost"):
            raise ConfigError(
                f'server.host is {self.host!r}, and server.mode is "local", where everybody who '
                'reaches the server may do everything. Expected 127.0.0.1, or mode = "server".'
            )

        self._check_address()
        for origin in self.wikis:
            if not _ORIGIN.fullmatch(origin):
                raise ConfigError(
                    f"server.wikis holds {origin!r}; expected origins as browsers send them: "
                    '"https://en.wikipedia.org", without a path.'
                )

    def _check_address(self) -> None:
        parts = urlsplit(self.address)
        plain = not (parts.path.strip("/") or parts.query or parts.fragment or parts.username)
        if self.address and not (parts.scheme in ("http", "https") and parts.hostname and plain):
            raise ConfigError(
                f'server.address is {self.address!r}; expected "https://pincite.example.org".'
            )
        if self.oauth and not self.address:
            raise ConfigError(
                "server.oauth needs server.address too: providers send people back there."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Hosts that it answers to besides this machine's own."""
        own = urlsplit(self.address).hostname
        return (*self.hosts, *([own] if own else []))

    @property
    def folder(self) -> Path:
        """Where everything lies that is not in a database server."""
        if self.data:
            return Path(self.data).expanduser()
        return Path(platformdirs.user_data_dir("pincite")) / "server"

    @property
    def database_url(self) -> str:
        """As SQLAlchemy wants it."""
        return self.database or f"sqlite:///{self.folder / 'pincite.sqlite'}"


def load(options: Mapping[str, object], config: Path | None = None) -> ServerSettings:
    """The server's settings in force.

    Raises:
        ConfigError: unknown key, wrong type, unreadable TOML; names the place.
    """
    found = schema.placed(ServerSettings, options, config, table=TABLE)
    return made(ServerSettings, {name: value for name, (value, _) in found.items()})


MAX_TEXT = 100_000  # characters
MOST_EXAMPLES = 12


@dataclass(frozen=True, slots=True)
class Examples:
    """Example texts for the forms, in place of the demo's."""

    statements: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


def examples_of(settings: ServerSettings) -> Examples:
    """The examples that a server's settings name.

    Raises:
        ConfigError: a file cannot be read as text, or is too long.
    """
    return Examples(_lines("examples", settings.examples), _lines("questions", settings.questions))


def _lines(name: str, path: str) -> tuple[str, ...]:
    if not path:
        return ()
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"server.{name}: {path} cannot be read as text: {error}.") from error
    if not 0 < len(text) <= MAX_TEXT:
        raise ConfigError(
            f"server.{name}: {path} has {len(text):,} characters; expected 1 to {MAX_TEXT:,}."
        )
    lines = (" ".join(line.split()) for line in text.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))[:MOST_EXAMPLES]
