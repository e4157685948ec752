"""What a user can set about a language model's server, its prompts, and what it may cost."""

import difflib
from dataclasses import dataclass
from typing import Annotated, Literal

from pincite.errors import ConfigError
from pincite.llm import chat
from pincite.llm.calls import Budget
from pincite.llm.chat_fields import Dialect
from pincite.llm.client import checked_url
from pincite.llm.templates import VARIABLES
from pincite.settings.values import Range

MOST_TOKENS = 100_000  # of one reply; more is a slip of the keyboard
_Limit = Annotated[int, Range(0, zero="no limit")]
_Price = Annotated[float, Range(0)]


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """`[chat]`: an OpenAI-compatible server, for whatever a model is to do."""

    url: str = ""  # of the server, up to /v1
    model: str = ""  # as that server calls it
    dialect: Dialect = "openai"  # the kind of server
    at_once: Annotated[int, Range(1, 1000)] = 16  # requests under way
    seconds: Annotated[float, Range(0, ends="(]")] = 260.0  # for one whole reply
    temperature: Annotated[float, Range(0)] = 0.2  # of all steps
    prompts: str = ""  # folder of prompts that replace the shipped ones of the same name
    prompt_language: Literal["en", "de"] = "en"  # of the shipped prompts
    step_models: tuple[str, ...] = ()  # "negate_claim=qwen3": steps with another model
    step_tokens: tuple[str, ...] = ()  # "negate_claim=300": steps with another limit of the reply

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        if self.url:
            checked_url(self.url, "chat.url", chat.KEY_VARIABLE)
        _ = self.models_of_steps
        _ = self.tokens_of_steps

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
                    f"chat.step_tokens has {tokens!r} for {step}; expected 1 to {MOST_TOKENS:,}."
                )
        return {step: int(tokens) for step, tokens in given.items()}


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """`[judge]`: a language model's second opinion on what our verifier found."""

    url: str = ""  # of an OpenAI-compatible server, up to /v1; empty: none is asked
    model: str = ""  # as that server calls it
    dialect: Dialect = "openai"  # the kind of server
    every: bool = False  # whether it is asked of all claims, not only where we are unsure
    # Unsure: our probability of support lies between these. Beyond them a verdict that adds as
    # much as a good model's does (`judgement.fusion`) would not change ours at the threshold 0.3.
    low: Annotated[float, Range(0, 1)] = 0.1
    high: Annotated[float, Range(0, 1)] = 0.7
    source_tokens: Annotated[int, Range(200, 1_000_000)] = 6000  # of the sources in a prompt
    guided: bool = True  # whether the server is to keep replies to their JSON Schema
    at_once: Annotated[int, Range(1, 1000)] = 4  # requests under way
    seconds: Annotated[float, Range(0, ends="(]")] = 260.0  # for one whole reply

    @property
    def band(self) -> tuple[float, float]:
        """Our probabilities of support in which it is asked."""
        return self.low, self.high

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        if self.url:
            checked_url(self.url, "judge.url", chat.JUDGE_KEY_VARIABLE)
        if self.url and not self.model:
            raise ConfigError("judge.url is set; expected judge.model too.")
        if self.low > self.high:
            raise ConfigError(f"judge.low is {self.low}; expected at most judge.high, {self.high}.")


@dataclass(frozen=True, slots=True)
class EmbeddingsSettings:
    """`[embeddings]`: how a server is asked for vectors, where an encoder is given as NAME@URL."""

    # What some models want before each text: of E5, "query: " and "passage: ".
    query_prefix: str = ""
    passage_prefix: str = ""
    batch: Annotated[int, Range(1, 2048)] = 32  # texts of a request; TEI takes 32 unless told more
    at_once: Annotated[int, Range(1, 1000)] = 4  # requests under way
    seconds: Annotated[float, Range(0, ends="(]")] = 260.0  # for one whole reply


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """`[budget]`: what a run may ask of the server."""

    max_calls: _Limit = 0
    max_tokens: _Limit = 0  # prompts and replies together
    max_cost: Annotated[float, Range(0, zero="no limit")] = 0.0  # in the currency of the prices
    price_prompt: _Price = 0.0  # for a million tokens
    price_reply: _Price = 0.0

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        if self.max_cost and not (self.price_prompt or self.price_reply):
            raise ConfigError(
                "budget.max_cost is set; expected price_prompt or price_reply too, for a million "
                "tokens."
            )

    @property
    def limits(self) -> Budget:
        """As the calls of a run take them."""
        return Budget(
            self.max_calls, self.max_tokens, self.max_cost, self.price_prompt, self.price_reply
        )


def _by_step(setting: str, texts: tuple[str, ...], what: str) -> dict[str, str]:
    """What each text says of a step, as "step=value"."""
    pairs = [text.partition("=") for text in texts]
    for step, _, value in pairs:
        if step.strip() not in VARIABLES or not value.strip():
            close = difflib.get_close_matches(step.strip(), VARIABLES, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ConfigError(
                f"chat.{setting} has {step!r}; expected step={what}, with a step of: "
                f"{', '.join(VARIABLES)}.{hint}"
            )
    return {step.strip(): value.strip() for step, _, value in pairs}
