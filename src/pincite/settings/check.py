"""What a user can set about `check`: every option of EvidenceSeeker's that this program has too.

Its names are kept where they say what is meant; docs/check.md has the table of both.
"""

import difflib
import re
from dataclasses import dataclass
from typing import Any, Literal

from pincite.errors import ConfigError
from pincite.judgement.confirmation import THRESHOLD, StatementType
from pincite.llm.chat_fields import Dialect, GuidanceKind, checked_guidance
from pincite.llm.replies import are_labels
from pincite.llm.templates import VARIABLES
from pincite.settings.web import WebSettings
from pincite.text.hosts import host_of
from pincite.text.passages import WIDE_WORDS

By = Literal["rules", "model"]
Probabilities = Literal["logprobs", "estimate"]
JudgedBy = Literal["verifier", "model"]
Retrieval = Literal["hybrid", "words", "windows"]
PromptLanguage = Literal["en", "de"]
MOST_TOKENS = 100_000  # of one reply; more is a slip of the keyboard
CHOICES: dict[str, Any] = {
    "interpretation": By,
    "confirmation": JudgedBy,
    "retrieval": Retrieval,
    "probabilities": Probabilities,
    "guidance": GuidanceKind,
    "prompt_language": PromptLanguage,
    "chat_dialect": Dialect,
}


@dataclass(frozen=True, slots=True)
class CheckSettings(WebSettings):
    """Settings of `check` with their defaults; the part of `Settings` that other verbs leave."""

    interpretation: By = "rules"  # who finds the readings of a statement
    confirmation: JudgedBy = "verifier"  # who judges what a passage says about one
    # "words": BM25 alone; "windows": EvidenceSeeker's, by meaning, around sentences.
    retrieval: Retrieval = "hybrid"
    top_k: int = 8  # texts for a reading
    passage_words: int = WIDE_WORDS  # of a text that is judged, around what was found
    window_size: int = 3  # sentences on either side, for retrieval "windows"
    ignore_statement_types: tuple[str, ...] = ("normative",)  # listed, not judged
    confirmation_threshold: float = THRESHOLD  # of |DOC|: what is not above is silent
    count_copies: bool = False  # whether copies and overlapping windows count each
    probabilities: Probabilities = "logprobs"  # of a model's choice; "estimate": from repetitions
    repetitions: int = 1  # of the multiple choice
    guidance: GuidanceKind = "json"  # how a model is kept to an answer
    answer_labels: tuple[str, ...] = ("A", "B", "C")  # of the options: letters or digits
    top_logprobs: int = 5  # alternatives that the server is asked for
    temperature: float = 0.2  # of all steps
    prompts: str = ""  # folder of prompts that replace the shipped ones of the same name
    prompt_language: PromptLanguage = "en"  # of the shipped prompts
    step_models: tuple[str, ...] = ()  # "negate_claim=qwen3": steps with another model
    step_tokens: tuple[str, ...] = ()  # "negate_claim=300": steps with another limit of the reply
    chat_dialect: Dialect = "openai"  # the kind of server at chat_url
    chat_at_once: int = 16  # requests under way
    chat_seconds: float = 260.0  # for one whole reply
    max_calls: int = 0  # of a run; 0: no limit
    max_tokens: int = 0  # of a run, prompts and replies together; 0: no limit
    max_cost: float = 0.0  # of a run, in the currency of the prices; 0: no limit
    price_prompt: float = 0.0  # for a million tokens
    price_reply: float = 0.0
    claimreview_author: str = ""  # who publishes the reviews of --claimreview
    claimreview_author_url: str = ""  # the author's site
    claimreview_url: str = ""  # where the page of --html will be published

    def check_the_checks(self) -> None:
        """Refuse values that mean nothing."""
        for name in ("top_k", "passage_words", "repetitions", "chat_at_once", "top_logprobs"):
            if not 1 <= getattr(self, name) <= 1_000:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected 1 to 1000.")
        for name in ("window_size", "max_calls", "max_tokens"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected 0 or more.")
        for name in ("max_cost", "price_prompt", "price_reply", "temperature"):
            if not 0.0 <= getattr(self, name) < float("inf"):
                raise ConfigError(f"{name} is {getattr(self, name)}; expected 0 or more.")
        if not 0.0 <= self.confirmation_threshold < 1.0:
            given = self.confirmation_threshold
            raise ConfigError(f"confirmation_threshold is {given}; expected 0 to below 1.")
        if not self.chat_seconds > 0:
            raise ConfigError(f"chat_seconds is {self.chat_seconds}; expected more than 0.")
        if self.max_cost and not (self.price_prompt or self.price_reply):
            raise ConfigError(
                "max_cost is set; expected price_prompt or price_reply too, for a million tokens."
            )
        _ = self.ignored_types
        _ = self.models_of_steps
        _ = self.tokens_of_steps
        self._check_choice()
        self._check_addresses()

    def _check_addresses(self) -> None:
        for name in ("claimreview_author_url", "claimreview_url"):
            given = getattr(self, name)
            if given and not _is_web_address(given):
                raise ConfigError(f"{name} is {given!r}; expected an http:// or https:// address.")

    def _check_choice(self) -> None:
        if not are_labels(self.answer_labels):
            raise ConfigError(
                f"answer_labels are {', '.join(self.answer_labels)}; expected three or more "
                "different single letters or digits."
            )
        if self.confirmation == "model":
            checked_guidance(self.guidance, self.chat_dialect)

    @property
    def asks_a_model(self) -> bool:
        """Whether a language model's server is needed."""
        return "model" in (self.interpretation, self.confirmation)

    @property
    def ignored_types(self) -> frozenset[StatementType]:
        """The types of readings that are listed and not judged."""
        known = [str(kind) for kind in StatementType]
        for name in self.ignore_statement_types:
            if name and name not in known:
                raise ConfigError(
                    f"ignore_statement_types has {name!r}; expected of: {', '.join(known)}."
                )
        return frozenset(StatementType(name) for name in self.ignore_statement_types if name)

    @property
    def models_of_steps(self) -> dict[str, str]:
        """The models of the steps that have one of their own."""
        return _by_step("step_models", self.step_models, "model")

    @property
    def tokens_of_steps(self) -> dict[str, int]:
        """Most tokens of a reply, of the steps that have a limit of their own."""
        given = _by_step("step_tokens", self.step_tokens, "tokens")
        for step, tokens in given.items():
            if not (tokens.isascii() and tokens.isdigit() and 1 <= int(tokens) <= MOST_TOKENS):
                raise ConfigError(
                    f"step_tokens has {tokens!r} for {step}; expected 1 to {MOST_TOKENS:,}."
                )
        return {step: int(tokens) for step, tokens in given.items()}


def _by_step(setting: str, texts: tuple[str, ...], what: str) -> dict[str, str]:
    """What each text says of a step, as "step=value"."""
    pairs = [text.partition("=") for text in texts]
    for step, _, value in pairs:
        if step.strip() not in VARIABLES or not value.strip():
            close = difflib.get_close_matches(step.strip(), VARIABLES, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ConfigError(
                f"{setting} has {step!r}; expected step={what}, with a step of: "
                f"{', '.join(VARIABLES)}.{hint}"
            )
    return {step.strip(): value.strip() for step, _, value in pairs}


def _is_web_address(url: str) -> bool:
    """Whether a browser could open it; host and scheme, and nothing that no address holds."""
    web = url.lower().startswith(("http://", "https://"))
    return web and bool(host_of(url)) and not re.search(r"[\s<>\"\\\x00-\x1f]", url)
