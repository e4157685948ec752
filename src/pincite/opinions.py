"""A second opinion: what a language model says of a claim beside its sources."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What a model may answer."""

    SUPPORTED = "supported"
    PARTLY_SUPPORTED = "partly_supported"
    NOT_SUPPORTED = "not_supported"
    CONTRADICTED = "contradicted"
    UNUSABLE = "unusable"  # a login form, an error page, another text: nothing can be said


@dataclass(frozen=True, slots=True)
class Opinion:
    """A model's verdict on a claim, and what a plain program found of its reasons."""

    verdict: Verdict
    model: str  # "name@host": which server read the text
    quotes: tuple[str, ...] = ()  # as the sources have them; what they have not is left out
    missing: tuple[str, ...] = ()  # words of the claim that the sources lack, as the claim has them
    why: str = ""  # one sentence of the model's; text of others
    n_invented: int = 0  # quotes that no source has
    whole: bool = True  # False: the sources were too long, and it read their best passages
    log_ratio: float = 0.0  # what the verdict adds to our log-odds of support
