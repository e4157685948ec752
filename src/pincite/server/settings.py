"""What whoever runs a server can set: the table `[server]` of the settings, or `PINCITE_SERVER_…`.

Precedence is that of all settings (`settings.places`). What a single request may change of the
pipeline's settings is decided in `server.requests`, never here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import urlsplit

import platformdirs

from pincite.errors import ConfigError
from pincite.server.logs import LogForm
from pincite.settings import places

TABLE = "server"
Mode = Literal["local", "server"]


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """All of them with their defaults; complete and checked when constructed."""

    mode: Mode = "local"  # "local": one person on this machine, no login; "server": accounts
    host: str = "127.0.0.1"
    port: int = 8765
    hosts: tuple[str, ...] = ()  # further names that browsers may ask for: "pincite.example.org"
    data: str = ""  # folder of the database, corpora and uploads; empty: in the user's data folder
    database: str = ""  # postgresql+psycopg://user@host/name; empty: SQLite in the data folder
    secure_cookies: bool = True  # "server": browsers send them over https only
    address: str = ""  # as browsers see it: "https://pincite.example.org"; for links and logins
    proxies: tuple[str, ...] = ()  # addresses of ours that tell who asks, in X-Forwarded-For
    # Who may come in ("server"; docs/accounts.md)
    oauth: str = ""  # a TOML file of providers of logins; empty: passwords only
    session_hours: float = 12.0  # without a request, until one has to log in again
    session_days: float = 14.0  # in all
    requests_a_minute: int = 600  # of an account or key; 0: as many as they like
    address_requests_a_minute: int = 3000  # of an address, where a whole office may sit; 0: any
    login_tries: int = 10  # wrong passwords from an address in 15 minutes; 5 times that for a name
    consent: str = ""  # a text file that people agree to before they see anything; either mode
    gate_password: str = ""  # one for everybody, before accounts if there are any; hashed
    audit_days: float = 365.0  # how long it is known who did what; 0: for ever
    # Jobs
    jobs_at_once: int = 1  # of the worker inside `serve`; 0: only separate `pincite worker`s
    queue: int = 100  # jobs that may wait; more are refused for now (429)
    queue_each: int = 10  # of one account that may wait or run ("server"); 0: as the queue takes
    job_seconds: float = 3600.0
    job_megabytes: int = 4000  # resident memory of a job's process
    keep_days: float = 90.0  # of finished jobs; 0: for ever
    # What is written to stderr
    log: LogForm = "text"  # "json": one object a line
    log_requests: bool = False  # a line for each, with its pattern, never what stood in the address
    # What comes in
    body_megabytes: float = 20.0  # of a request
    upload_megabytes: float = 200.0  # of the files that are sent for a corpus at once
    # What is kept
    disk_free_megabytes: float = 500.0  # with less, new jobs and files are refused (507); 0: never
    account_megabytes: float = 0.0  # of an account's corpora and own copies ("server"); 0: any

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        if self.mode not in get_args(Mode):
            raise ConfigError(f"server.mode is {self.mode!r}; expected {places.either(Mode)}.")
        if self.log not in get_args(LogForm):
            raise ConfigError(f"server.log is {self.log!r}; expected {places.either(LogForm)}.")
        for name, low, high in (
            ("port", 0, 65535),
            ("jobs_at_once", 0, 64),
            ("queue", 1, 1_000_000),
            ("queue_each", 0, 1_000_000),
            ("job_seconds", 1, 1e7),
            ("job_megabytes", 100, 1e7),
            ("keep_days", 0, 36500),
            ("body_megabytes", 0.01, 1e5),
            ("upload_megabytes", 0.01, 1e6),
            ("disk_free_megabytes", 0, 1e9),
            ("account_megabytes", 0, 1e9),
            ("session_hours", 0.01, 8760),
            ("session_days", 0.01, 365),
            ("requests_a_minute", 0, 1_000_000),
            ("address_requests_a_minute", 0, 1_000_000),
            ("login_tries", 1, 1000),
            ("audit_days", 0, 36500),
        ):
            if not low <= getattr(self, name) <= high:
                given = getattr(self, name)
                raise ConfigError(f"server.{name} is {given}; expected {low:g} to {high:g}.")
        if self.mode == "local" and self.host not in ("127.0.0.1", "::1", "localhost"):
            raise ConfigError(
                f'server.host is {self.host!r}, and server.mode is "local", where everybody who '
                'reaches the server may do everything. Expected 127.0.0.1, or mode = "server".'
            )

        self._check_address()

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
    found = places.placed(ServerSettings, options, config, table=TABLE)
    return ServerSettings(**{key: value for key, (value, _) in found.items()})
