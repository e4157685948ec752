"""Server settings (the table `[server]`, or variables `PINCITE_SERVER_…`) and example texts.

Precedence is as for all settings (`settings.schema`). `server.requests` declares which pipeline
settings a request can change.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pincite import settings as pipeline_settings
from pincite.durable import data_path
from pincite.errors import ConfigError
from pincite.settings import schema
from pincite.settings.schema import PATH, Range, build, check
from pincite.text import pasted

TABLE = "server"
LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?")
Mode = Literal["local", "server"]
Start = Literal["verify", "check", "ask"]
LogForm = Literal["text", "json"]
Registration = Literal["closed", "invitation", "open"]
_Many = Annotated[int, Range(0, 1_000_000)]
_Days = Annotated[float, Range(0, 36500)]
_Megabytes = Annotated[float, Range(0, 1_000_000_000)]
_Texts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The settings of a server with their defaults, validated on construction."""

    mode: Annotated[
        Mode, "One user on this machine without a login (local), or accounts (server)."
    ] = "local"
    host: Annotated[str, "Address to listen on."] = "127.0.0.1"
    port: Annotated[int, Range(0, 65535), "Port to listen on; 0: any free one."] = 8765
    hosts: Annotated[_Texts, "Other host names of the server: pincite.example.org."] = ()
    data: Annotated[str, PATH, "Folder for the database, corpora and uploads."] = ""
    database: Annotated[
        str, "Database: postgresql+psycopg://… or mariadb+pymysql://…. [SQLite in `data`]"
    ] = ""
    secure_cookies: Annotated[bool, "Send cookies over https only."] = True
    address: Annotated[str, "Public address, for links and logins: https://pincite.example.org"] = (
        ""
    )
    corpora: Annotated[_Texts, PATH, "Corpora that every user may read: [NAME=]FOLDER."] = ()
    wikis: Annotated[_Texts, "Origins of the user script: https://en.wikipedia.org"] = ()
    proxies: Annotated[_Texts, "Addresses of proxies whose X-Forwarded-For is trusted."] = ()
    # ── Accounts (docs/accounts.md)
    oauth: Annotated[str, PATH, "A TOML file of login providers; empty: passwords only."] = ""
    session_hours: Annotated[float, Range(0.01, 8760), "Idle hours until a logout."] = 12.0
    session_days: Annotated[float, Range(0.01, 365), "Days until a logout."] = 14.0
    # A whole office may share one address.
    requests_a_minute: Annotated[_Many, "Limit per IP address; 0: none."] = 3000
    login_tries: Annotated[
        int,
        Range(1, 1000),
        "Wrong passwords from an address in 15 minutes; five times as many for an account.",
    ] = 10
    registration: Annotated[Registration, "Who can create an account."] = "closed"
    shared_account: Annotated[str, "Account that visitors log in to by its password alone."] = ""
    consent: Annotated[str, PATH, "Markdown file to accept first; NAME.de.md in German."] = ""
    # ── Texts of the pages (docs/pages.md)
    start: Annotated[Start, "The form that visitors see first."] = "verify"
    texts: Annotated[str, PATH, "A TOML file with titles, introductions and notes."] = ""
    examples: Annotated[str, PATH, "A text file of example statements, one per line."] = ""
    questions: Annotated[str, PATH, "A text file of example questions, one per line."] = ""
    models: Annotated[_Texts, "Models of the chat server that users may choose."] = ()
    # ── Jobs
    jobs_at_once: Annotated[
        int, Range(0, 64), "Jobs to run at once; 0: only in `pincite worker`."
    ] = 1
    queue: Annotated[int, Range(1, 1_000_000), "Jobs that can wait; others get a 429."] = 100
    queue_each: Annotated[_Many, "Waiting or running jobs per account; 0: no limit."] = 10
    job_seconds: Annotated[float, Range(1, 10_000_000), "Time limit of a job."] = 3600.0
    job_megabytes: Annotated[int, Range(100, 10_000_000), "Memory limit of a job's process."] = 4000
    keep_days: Annotated[_Days, "Days that finished jobs are kept; 0: for ever."] = 90.0
    # ── Logging to stderr
    log: Annotated[LogForm, "Format of the log, text or JSON lines."] = "text"
    log_requests: Annotated[bool, "Log the pattern of each request, never its parameters."] = False
    # ── Sizes
    body_megabytes: Annotated[float, Range(0.01, 100_000), "Largest request."] = 20.0
    upload_megabytes: Annotated[
        float, Range(0.01, 1_000_000), "Largest upload of files for a corpus."
    ] = 200.0
    disk_free_megabytes: Annotated[
        _Megabytes, "Free disk space below which jobs and files are refused (507); 0: never."
    ] = 500.0
    account_megabytes: Annotated[
        _Megabytes, "Storage for an account's corpora and copies; 0: no limit."
    ] = 0.0

    def __post_init__(self) -> None:
        check(self, TABLE)
        if self.mode == "local" and self.host not in LOCAL_NAMES:
            raise ConfigError(
                f"server.host is {self.host!r}, but in local mode anyone who can reach the server "
                'can do anything. Use 127.0.0.1, or set server.mode = "server".'
            )
        for name in ("shared_account", "consent", "registration"):
            if self.mode == "local" and getattr(self, name) not in ("", "closed"):
                raise ConfigError(f'server.{name} needs server.mode = "server".')
        parts = urlsplit(self.address)
        plain = not (parts.path.strip("/") or parts.query or parts.fragment or parts.username)
        if self.address and not (parts.scheme in ("http", "https") and parts.hostname and plain):
            expected = 'expected "https://pincite.example.org".'
            raise ConfigError(f"server.address is {self.address!r}; {expected}")
        if self.oauth and not self.address:
            what = "to which providers send users back"
            raise ConfigError(f"server.oauth needs server.address, {what}.")
        if wrong := [origin for origin in self.wikis if not _ORIGIN.fullmatch(origin)]:
            expected = 'expected an origin: "https://en.wikipedia.org".'
            raise ConfigError(f"server.wikis has {wrong[0]!r}; {expected}")

    @property
    def names(self) -> tuple[str, ...]:
        """Host names that the server accepts besides loopback names."""
        own = urlsplit(self.address).hostname
        return (*self.hosts, *([own] if own else []))

    @property
    def public_address(self) -> str:
        """`address`, or else the most likely one, for links."""
        name = self.names[0] if self.names else "localhost"
        likely = f"https://{name}" if self.secure_cookies else f"http://{name}:{self.port}"
        return self.address.rstrip("/") or likely

    @property
    def folder(self) -> Path:
        return data_path("server", self.data).absolute()  # documents have file: addresses

    @property
    def database_url(self) -> str:
        return self.database or f"sqlite:///{self.folder / 'pincite.sqlite'}"


def load(options: Mapping[str, object], config: Path | None = None) -> ServerSettings:
    """Load server settings from options, environment, file and defaults. Raises ConfigError."""
    pipeline_settings.load({}, config)  # every command reports what would stop `pincite serve`
    values = schema.load_values(ServerSettings, options, config, table=TABLE)
    return build(ServerSettings, {name: value for name, (value, _) in values.items()})


MAX_EXAMPLES = 12


def read_examples(path: str) -> tuple[str, ...]:
    """The example texts of a file, one per line; none without a file. Raises ConfigError."""
    return tuple(pasted.lines(read_text(path))[:MAX_EXAMPLES]) if path else ()


def read_text(path: str) -> str:
    """A file that the settings name. Raises ConfigError: it cannot be read as text."""
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as text: {error}.") from error
