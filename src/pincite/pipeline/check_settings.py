"""What a user can set of `pincite check`: the table `[check]` of `pincite.toml`.

Every option of EvidenceSeeker has its place here or among the other settings, with its default
where that is sensible. A key is never a setting: only the name of the variable that holds it is.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from pincite.core.filters import Filters
from pincite.errors import ConfigError
from pincite.models import chat
from pincite.pipeline import places

TABLE = "check"

StatementType = Literal["descriptive", "ascriptive", "normative"]
Search = Literal["hybrid", "window"]  # ours; the seed's dense search for sentence windows
Probability = Literal["verifier", "logprobs", "estimate"]
Guidance = Literal["json_schema", "regex", "grammar", "prompted"]
# Each is one call of a language model; a prompt's file and a step's model go by these names.
Step = Literal[
    "descriptive_analysis",
    "descriptive_list",
    "ascriptive_analysis",
    "ascriptive_list",
    "normative_analysis",
    "normative_list",
    "negation",
    "confirmation_analysis",
    "confirmation_choice",
]
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
# Keys of the usual hosts could be names of variables too, were they not this long.
_KEY_ITSELF = re.compile(r"(sk|pk|hf|gsk|xai|nvapi)_?[A-Za-z0-9]{16,}")


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """One model of one OpenAI-compatible server; the numbers are the seed's."""

    url: str = ""  # up to /v1
    model: str = ""  # as the server calls it
    key_variable: str = chat.KEY_VARIABLE  # the variable that holds the key, never the key
    max_tokens: int = 1024  # of a reply
    temperature: float = 0.2
    timeout: float = 260.0  # seconds for a whole reply
    context_window: int = 3900  # tokens of prompt and reply together

    def __post_init__(self) -> None:
        """Refuse values that mean nothing; a key in the place of its variable's name above all."""
        if self.url:
            chat.checked_url(self.url)
        name = self.key_variable
        if not _VARIABLE.fullmatch(name) or _KEY_ITSELF.fullmatch(name):
            raise ConfigError(
                "key_variable is no name of a variable; expected something like "
                f"{chat.KEY_VARIABLE}. The key itself is set in that variable, never here."
            )
        _at_least(self, ("max_tokens", "context_window"), 1)
        if not 0.0 <= self.temperature <= 2.0:
            raise ConfigError(f"temperature is {self.temperature}; expected 0 to 2.")
        if not 0.0 < self.timeout <= 86_400.0:
            raise ConfigError(f"timeout is {self.timeout}; expected seconds, at most a day.")


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """All settings of `check` with their defaults; complete and checked when constructed."""

    language: str = "en"  # of the prompts and of what the model writes; any, by its ISO 639-1 code
    # ── readings ──
    readings: int = 3  # at most so many of each statement type
    types: tuple[str, ...] = ("descriptive", "ascriptive", "normative")  # which are looked for
    ignore_statement_types: tuple[str, ...] = ("normative",)  # listed, never judged
    # ── retrieval ──
    search: Search = "hybrid"
    top_k: int = 8  # passages for each reading
    window: int = 3  # sentences on each side, for search "window"
    as_of: str = ""  # evidence published then or earlier: "2019", "2019-05", "2019-05-14"
    as_of_from: str = ""  # and then or later
    # ── confirmation ──
    probability: Probability = "verifier"  # where P(first option) comes from
    repetitions: int = 1  # of the multiple choice; "estimate" wants 30 or more
    guidance: Guidance = "json_schema"  # how the reply's form is asked for
    threshold: float = 0.2  # evidence counts if |DOC| is above it
    weak: float = 0.2  # a mean above it is weak confirmation
    confirmed: float = 0.4
    strong: float = 0.6
    # ── models ──
    model: str = ""  # a name of [check.models]; empty: no language model, the local verifier
    models: Mapping[str, ModelSettings] = field(default_factory=dict)
    steps: Mapping[str, str] = field(default_factory=dict)  # a step's model, if it has its own
    prompts: str = ""  # a folder whose files replace the shipped prompts
    # ── what a run may cost; 0: no limit ──
    max_calls: int = 0
    max_tokens: int = 0  # of all prompts and replies
    max_cost: float = 0.0  # in the currency of the two prices
    price_prompt: float = 0.0  # of a million tokens
    price_reply: float = 0.0
    concurrency: int = 8  # calls under way at once
    timeout: float = 900.0  # seconds for a statement
    # ── results ──
    template: str = ""  # a Jinja2 file for the Markdown; empty: the shipped one

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        _at_least(self, ("readings", "top_k", "repetitions", "concurrency"), 1)
        amounts = ("window", "max_calls", "max_tokens", "max_cost", "price_prompt", "price_reply")
        _at_least(self, amounts, 0)
        for name, choices in _CHOICES.items():
            _require_choice(name, getattr(self, name), choices)
        for name in ("types", "ignore_statement_types"):
            for each in getattr(self, name):
                _require_choice(name, each, StatementType)
        if not 0.0 <= self.threshold < 1.0:
            raise ConfigError(f"threshold is {self.threshold}; expected 0 to 1.")
        if not 0.0 <= self.weak < self.confirmed < self.strong < 1.0:
            levels = (self.weak, self.confirmed, self.strong)
            raise ConfigError(f"weak, confirmed, strong are {levels}; expected them to rise, to 1.")
        if not 0.0 < self.timeout <= 86_400.0:
            raise ConfigError(f"timeout is {self.timeout}; expected seconds, at most a day.")
        _ = self.filters
        self._check_models()

    def _check_models(self) -> None:
        """Every model that is named is described, and there is one where one is needed."""
        known = ", ".join(self.models) or "none"
        for step, name in {"model": self.model, **self.steps}.items():
            if step != "model":
                _require_choice("a key of [check.steps]", step, Step)
            if name and name not in self.models:
                raise ConfigError(
                    f"{step} is {name!r}; expected a name that [check.models] describes: {known}."
                )
        if self.probability != "verifier" and not self.model:
            raise ConfigError(
                f"probability is {self.probability!r}, which asks a language model, but model is "
                "empty; expected a name that [check.models] describes."
            )

    def model_of(self, step: str) -> ModelSettings | None:
        """The model that a step asks; None without a language model."""
        name = self.steps.get(step) or self.model
        return self.models[name] if name else None

    @property
    def prompts_folder(self) -> Path | None:
        """The folder whose files replace the shipped prompts; None: there is none."""
        return Path(self.prompts).expanduser() if self.prompts else None

    @property
    def filters(self) -> Filters:
        """Which documents may be evidence: those of the window of dates."""
        return Filters(published_from=self.as_of_from, published_to=self.as_of)


def load(options: Mapping[str, object], config: Path | None = None) -> CheckSettings:
    """The settings in force; as `settings.load`, of the table `[check]`.

    Raises:
        ConfigError: unknown key, wrong type, unreadable TOML; names the place.
    """
    found = places.placed(CheckSettings, options, config, TABLE)
    return CheckSettings(**{key: value for key, (value, _) in found.items()})


_CHOICES: dict[str, Any] = {"search": Search, "probability": Probability, "guidance": Guidance}


def _require_choice(name: str, value: object, choices: Any) -> None:
    if value not in get_args(choices):
        expected = " or ".join(map(repr, get_args(choices)))
        raise ConfigError(f"{name} is {value!r}; expected {expected}.")


def _at_least(settings: object, names: tuple[str, ...], least: int) -> None:
    for name in names:
        if getattr(settings, name) < least:
            raise ConfigError(f"{name} is {getattr(settings, name)}; expected {least} or more.")
