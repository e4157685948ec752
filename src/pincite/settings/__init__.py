"""What a user can set, where it may be set, and what wins.

Precedence: option of the command > `PINCITE_…` variable > `pincite.toml` in the working folder >
`config.toml` in the user's settings folder > the default here (`settings.places`). Unknown keys are
errors. What only `check` needs stands in `settings.check`,
what concerns the web in `settings.web`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pincite.errors import ConfigError
from pincite.judgement import aggregation
from pincite.llm import chat
from pincite.models import weights
from pincite.retrieval import cascade
from pincite.retrieval.filters import Filters, condition
from pincite.retrieval.fusion import JUDGED, Mode
from pincite.settings import places
from pincite.settings.ask import ASK_CHOICES, AskSettings
from pincite.settings.check import CHOICES
from pincite.text.hosts import WIKIPEDIA_AND_MIRRORS

Expansion = Literal["none", "rm3", "titles", "server"]
Decoding = Literal["beam", "sample"]
Markup = Literal["wikitext", "html"]


@dataclass(frozen=True, slots=True)
class Settings(AskSettings):
    """All settings with their defaults; complete and checked when constructed."""

    encoder: str = weights.ENCODER  # a name, a folder or a Hugging Face id
    verifier: str = weights.VERIFIER
    depth: int = 100  # passages from each of the two retrievers; SIDE: 100 and 100
    fusion: Mode = "weighted"  # how their rankings become one
    judged: int = JUDGED  # of them together, the best that the verifier reads
    read: int = cascade.READ  # passages of a cited page that it reads, chosen by shared words
    k: int = 3  # suggestions for a claim
    threshold: float = aggregation.THRESHOLD  # probability of support that counts as supported
    readout: aggregation.Readout = "parts"  # how a page is scored: its parts too, or SIDE's "max"
    exclude_hosts: tuple[str, ...] = ()  # never suggested, besides Wikipedia and its mirrors
    per_page: int = 0  # candidates from one page; 0: no limit
    published_from: str = ""  # of suggestions: "2019", "2019-05", "2019-05-14"; inclusive
    published_to: str = ""
    undated: bool = False  # whether a date filter lets through what has no date
    domains: tuple[str, ...] = ()  # suggestions only from these hosts and what is below them
    source_languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()  # html, pdf, text, markdown, jsonl, tsv
    where: tuple[str, ...] = ()  # conditions on metadata: "section == news", "pages < 90"
    wiki: str = ""  # base address of the wiki that titles belong to; empty: Wikipedia in `language`
    article_markup: Markup = "wikitext"  # of articles from a wiki: or its HTML, templates expanded
    reliability: str = ""  # an imported list of sources; empty: the one called like the language
    language: str = "en"  # of articles that do not say
    threads: int = 0  # of the models; 0: all cores
    expansion: Expansion = "none"  # words that a claim's query gets besides its own
    titles: str = ""  # folder of `pincite train titles`, for expansion "titles"
    title_decoding: Decoding = "beam"  # how it writes: the likeliest title, or a drawn one
    chat_url: str = ""  # an OpenAI-compatible server, up to /v1, for expansion "server"
    chat_model: str = ""  # as that server calls it
    feedback_file: str = ""  # what `pincite feedback` keeps; empty: in the user's data folder
    own_copies: str = ""  # folder of what `pincite source attach` keeps; empty: ditto

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        for name in ("depth", "judged", "read", "k"):
            if not 1 <= getattr(self, name) <= 10_000:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected 1 to 10000.")
        if not 0 <= self.per_page <= 10_000:
            raise ConfigError(f"per_page is {self.per_page}; expected 0 (no limit) to 10000.")
        _ = self.filters
        if not 0.0 < self.threshold < 1.0:
            raise ConfigError(f"threshold is {self.threshold}; expected between 0 and 1.")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in get_args(choices):
                given = getattr(self, name)
                raise ConfigError(f"{name} is {given!r}; expected {places.either(choices)}.")
        if not 0 <= self.threads <= 1024:
            raise ConfigError(f"threads is {self.threads}; expected 0 (all cores) to 1024.")

        self._check_expansion()
        self.check_the_web()
        self.check_the_checks()
        self.check_the_asking()

    def _check_expansion(self) -> None:
        """What a way to expand queries needs is there."""
        if self.chat_url:
            chat.checked_url(self.chat_url)
        if self.expansion == "titles" and not self.titles:
            raise ConfigError(
                'expansion is "titles", but titles is empty; expected the folder of a model from: '
                "pincite train titles"
            )
        if self.expansion == "server" and not (self.chat_url and self.chat_model):
            raise ConfigError(
                'expansion is "server"; expected chat_url (as http://localhost:8080/v1) and '
                "chat_model too."
            )
        asks = self.asks_a_model or self.answer == "model"
        if asks and not (self.chat_url and self.chat_model):
            raise ConfigError(
                "a model is to interpret, to confirm or to answer; expected chat_url (as "
                "http://localhost:8080/v1) and chat_model too."
            )

    @property
    def excluded(self) -> tuple[str, ...]:
        """Every host that no suggestion may come from."""
        return (*WIKIPEDIA_AND_MIRRORS, *self.exclude_hosts)

    @property
    def filters(self) -> Filters:
        """Which documents may be suggested, besides the hosts above."""
        return Filters(
            published_from=self.published_from,
            published_to=self.published_to,
            undated=self.undated,
            domains=self.domains,
            languages=self.source_languages,
            kinds=self.kinds,
            where=tuple(map(condition, self.where)),
        )


_CHOICES: dict[str, Any] = {
    "readout": aggregation.Readout,
    "fusion": Mode,
    "expansion": Expansion,
    "title_decoding": Decoding,
    "article_markup": Markup,
    **CHOICES,
    **ASK_CHOICES,
}


def load(options: Mapping[str, object], config: Path | None = None) -> Settings:
    """The settings in force.

    Args:
        options: what the command line gave; None values are left to the other places.
        config: a TOML file instead of the usual two.

    Raises:
        ConfigError: unknown key, wrong type, unreadable TOML; names the place.
    """
    found = places.placed(Settings, options, config)
    return Settings(**{key: value for key, (value, _) in found.items()})
