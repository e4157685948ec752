"""What a user can set, where it may be set, and what wins.

Precedence: option of the command > `PINCITE_…` variable > `pincite.toml` in the working folder >
`config.toml` in the user's settings folder > the default here (`settings.places`). Unknown keys are
errors. Each record below is a table of the file; its fields' types hold their ranges.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from pincite.errors import ConfigError
from pincite.llm.chat import checked_guidance
from pincite.settings import places, values
from pincite.settings.tables import (
    AskSettings,
    BudgetSettings,
    ChatSettings,
    CheckSettings,
    ClaimReviewSettings,
    EmbeddingsSettings,
    FilterSettings,
    JudgeSettings,
    ModelSettings,
    RetrievalSettings,
    VerifySettings,
    WebSettings,
)

# A person's address, and where on the machine something lies: in no report, which others may read.
PRIVATE = frozenset(
    "web.contact web.cache library.own_copies library.judges library.corpora check.template "
    "results.folder".split()
)
# How pages are asked for, not which copies count. How old a page of the cache may be is among them:
# a finished report is as old as it is.
MANNERS = frozenset({"web.pause", "web.at_once", "web.cache_days", "web.wayback_pause"})


@dataclass(frozen=True, slots=True)
class LibrarySettings:
    """`[library]`: what is kept for you on this machine, besides corpora."""

    reliability: str = ""  # an imported list of sources; empty: the one called like the language
    feedback_file: str = ""  # what `pincite feedback` keeps; empty: in the user's data folder
    own_copies: str = ""  # folder of what `pincite source attach` keeps; empty: ditto
    judges: str = ""  # what `pincite calibrate judge` measured; empty: ditto
    corpora: tuple[str, ...] = ()  # FOLDER, address or NAME=…: searched where none is named

    @property
    def places(self) -> list[Path | str]:
        """The corpora as they are opened: folders, and addresses as they are."""
        return [given if "://" in given else Path(given).expanduser() for given in self.corpora]


@dataclass(frozen=True, slots=True)
class ResultsSettings:
    """`[results]`: a log of all checks."""

    folder: str = ""  # where each check is kept as YAML; empty: no log
    by: Literal["", "daily", "weekly", "monthly", "yearly"] = ""  # folders within it
    markdown: bool = True  # whether it is kept as Markdown too, by `check.template`
    git: Literal["", "commit", "push"] = ""  # what is done where the folder is a git repository


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings with their defaults, by concern; complete and checked when constructed.

    >>> settings = Settings.of(depth=50, web_pause=2)
    >>> settings.retrieval.depth, settings.web.pause, settings.replace(depth=20).retrieval.depth
    (50, 2.0, 20)
    """

    language: str = "en"  # of articles, statements and questions that do not say
    models: ModelSettings = field(default_factory=ModelSettings)
    embeddings: EmbeddingsSettings = field(default_factory=EmbeddingsSettings)
    retrieval: RetrievalSettings = field(default_factory=RetrievalSettings)
    filters: FilterSettings = field(default_factory=FilterSettings)
    verify: VerifySettings = field(default_factory=VerifySettings)
    check: CheckSettings = field(default_factory=CheckSettings)
    ask: AskSettings = field(default_factory=AskSettings)
    chat: ChatSettings = field(default_factory=ChatSettings)
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    web: WebSettings = field(default_factory=WebSettings)
    claimreview: ClaimReviewSettings = field(default_factory=ClaimReviewSettings)
    library: LibrarySettings = field(default_factory=LibrarySettings)
    results: ResultsSettings = field(default_factory=ResultsSettings)

    def __post_init__(self) -> None:
        """Refuse values that mean nothing, and what does not go together."""
        values.check(self)
        if self.check.confirmation == "model":
            checked_guidance(self.check.guidance, self.chat.dialect)
        if self.chat.url and self.chat.model:
            return
        if self.check.asks_a_model or self.ask.answer == "model":
            what = "a model is to interpret, to confirm or to answer"
            wanted = "chat.url (as http://localhost:8080/v1) and chat.model too"
            raise ConfigError(f"{what}; expected {wanted}.")

    @classmethod
    def of(cls, **given: Any) -> "Settings":
        """The defaults with some values, by the short names of options: `depth=50`.

        Raises:
            ConfigError: unknown name, wrong type or range.
        """
        return cls().replace(**given)

    def replace(self, **given: Any) -> "Settings":
        """The same with other values, by short name; raises as `of`."""
        changed = places.checked(Settings, given, "Settings", SHORT)
        return values.made(Settings, {**values.flat(self), **changed})


_PREFIXED = {
    "chat": "url model dialect at_once seconds",
    "judge": "url model dialect every low high source_tokens guided at_once seconds",
    "embeddings": "query_prefix passage_prefix batch at_once seconds",
    "claimreview": "author author_url url",
    "web": "ports proxies pause at_once seconds megabytes cache cache_days",
    "results": "folder by markdown git",
}
_SHORTER = {
    "check.threshold": "confirmation_threshold",
    "filters.languages": "source_languages",
    "verify.uncited": "verify_uncited",  # `ask` has one of its own
} | {
    f"{table}.{leaf}": f"{table}_{leaf}"
    for table, leaves in _PREFIXED.items()
    for leaf in leaves.split()
}
# The full name of each short one, which options, requests and `Settings.of` have.
SHORT: Mapping[str, str] = MappingProxyType(
    {_SHORTER.get(name, name.rpartition(".")[2]): name for name in values.types_of(Settings)}
)


def load(options: Mapping[str, object], config: Path | None = None) -> Settings:
    """The settings in force.

    Args:
        options: what the command line gave, by short name; None values are left to the other
            places.
        config: a TOML file instead of the usual two.

    Raises:
        ConfigError: unknown key, wrong type or range, unreadable TOML; names the place.
    """
    found = places.placed(Settings, options, config, short=SHORT)
    return values.made(Settings, {name: value for name, (value, _) in found.items()})


def recorded(settings: Settings) -> dict[str, Any]:
    """The settings by full name, as reports keep them, without private ones."""
    return {name: v for name, v in values.flat(settings).items() if name not in PRIVATE}
