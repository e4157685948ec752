"""What a user can set about `ask`, besides models, server, budget and prompts."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pincite.judgement.references import CONTRADICTED_FROM, SUPPORTED_FROM
from pincite.settings.values import Range, Share

WrittenBy = Literal["extract", "model"]
Uncited = Literal["label", "neighbour"]
_Count = Annotated[int, Range(1, 1_000_000)]

# Log-odds of the best document below which nothing relevant was found. Of 150 PubMedQA questions
# 92 % have their own paper above it, and 7 % the likest other one. (Of 100 with the first round's
# network, at 1.0: 97 answered with their paper in the corpus, 27 without.) research/experiments.md.
LEAST_RELEVANCE = 0.6
LEAST_ANSWER = -2.0  # below it few sentences answer: chosen on half of the labelled sentences


@dataclass(frozen=True, slots=True)
class AskSettings:
    """`[ask]`: which papers an answer is written from, by whom, and what of it stays."""

    answer: WrittenBy = "extract"  # who writes it: sentences of the sources, or a model
    documents: _Count = 10  # that it is written from (Verif.ai: 10)
    sentences: _Count = 5  # of an extracted answer, at most
    rerank: bool = True  # whether the verifier's network reads what the search found
    exact_first: bool = True  # quoted phrases and all words of a question before likeness
    least_relevance: float = LEAST_RELEVANCE  # log-odds of the best document; below: no answer
    least_answer: float = LEAST_ANSWER  # log-odds that a sentence answers it; below: not quoted
    include_retracted: bool = False  # whether retracted papers are read, and marked as such
    supported_from: Share = SUPPORTED_FROM  # probability from which a reference supports
    contradicted_from: Share = CONTRADICTED_FROM
    uncited: Uncited = "label"  # sentences without a reference; "neighbour": Verif.ai's rule
    repair: bool = False  # whether what is not supported is rewritten or struck out
    prompt_tokens: _Count = 6000  # of a prompt for a model, all in all
    answer_tokens: _Count = 1000  # of its answer (Verif.ai: 1000)
    summaries: bool = False  # whether a model condenses each passage first: a call for each
