"""What a user can set about `check`: every option of EvidenceSeeker's that this program has too.

Its names are kept where they say what is meant; docs/check.md has the table of both.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pincite.errors import ConfigError
from pincite.judgement.confirmation import THRESHOLD, StatementType
from pincite.llm.chat_fields import GuidanceKind
from pincite.llm.replies import are_labels
from pincite.settings.values import Range
from pincite.text.hosts import host_of

Probabilities = Literal["logprobs", "estimate"]
_Count = Annotated[int, Range(1, 1000)]


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """`[check]`: how a statement is read, searched for and judged."""

    interpretation: Literal["rules", "model"] = "rules"  # who finds the readings of a statement
    # Who judges what a passage says about one.
    confirmation: Literal["verifier", "model"] = "verifier"
    # "words": BM25 alone; "windows": EvidenceSeeker's, by meaning, around sentences.
    retrieval: Literal["hybrid", "words", "windows"] = "hybrid"
    top_k: _Count = 8  # texts for a reading
    passage_words: _Count = 170  # of a text that is judged, around what was found: as in training
    window_size: Annotated[int, Range(0)] = 3  # sentences on either side, for retrieval "windows"
    ignore_statement_types: tuple[str, ...] = ("normative",)  # listed, not judged
    threshold: Annotated[float, Range(0, 1, "[)")] = THRESHOLD  # of |DOC|: not above it is silent
    count_copies: bool = False  # whether copies and overlapping windows count each
    probabilities: Probabilities = "logprobs"  # of a model's choice; "estimate": from repetitions
    repetitions: _Count = 1  # of the multiple choice
    guidance: GuidanceKind = "json"  # how a model is kept to an answer
    answer_labels: tuple[str, ...] = ("A", "B", "C")  # of the options: letters or digits
    label_delimiter: str = "."  # between a label and its option
    passage_source: bool = True  # a model also reads title, author and year of a passage
    top_logprobs: _Count = 5  # alternatives that the server is asked for
    template: str = ""  # of --markdown and of the result log; empty: the one that is shipped
    translation: tuple[str, ...] = ()  # "confirmed=bestätigt": texts that the template may name

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        _ = self.ignored_types
        _ = self.texts
        if not are_labels(self.answer_labels):
            raise ConfigError(
                f"check.answer_labels are {', '.join(self.answer_labels)}; expected three or more "
                "different single letters or digits."
            )

    @property
    def asks_a_model(self) -> bool:
        """Whether a language model's server is needed."""
        return "model" in (self.interpretation, self.confirmation)

    @property
    def texts(self) -> dict[str, str]:
        """The texts that a template may name."""
        pairs = [text.partition("=") for text in self.translation]
        for name, sign, _ in pairs:
            if not (name.strip() and sign):
                raise ConfigError(f"check.translation has {name!r}; expected NAME=TEXT.")
        return {name.strip(): text.strip() for name, _, text in pairs}

    @property
    def template_file(self) -> Path | None:
        """The template; None: the one that is shipped."""
        return Path(self.template).expanduser() if self.template else None

    @property
    def ignored_types(self) -> frozenset[StatementType]:
        """The types of readings that are listed and not judged."""
        known = [str(kind) for kind in StatementType]
        for name in self.ignore_statement_types:
            if name and name not in known:
                raise ConfigError(
                    f"check.ignore_statement_types has {name!r}; expected of: {', '.join(known)}."
                )
        return frozenset(StatementType(name) for name in self.ignore_statement_types if name)


@dataclass(frozen=True, slots=True)
class ClaimReviewSettings:
    """`[claimreview]`: who publishes the reviews of `check --claimreview`."""

    author: str = ""
    author_url: str = ""  # the author's site
    url: str = ""  # where the page of --html will be published

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        for name, given in (("author_url", self.author_url), ("url", self.url)):
            if given and not _is_web_address(given):
                raise ConfigError(
                    f"claimreview.{name} is {given!r}; expected an http:// or https:// address."
                )


def _is_web_address(url: str) -> bool:
    """Whether a browser could open it; host and scheme, and nothing that no address holds."""
    web = url.lower().startswith(("http://", "https://"))
    return web and bool(host_of(url)) and not re.search(r"[\s<>\"\\\x00-\x1f]", url)
