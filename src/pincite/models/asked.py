"""Bespoke-MiniCheck through a chat server: asked as its authors ask it, yes or no.

Source: SYSTEM_PROMPT, USER_PROMPT and get_support_prob of github.com/Liyan06/MiniCheck.
"""

import math
from collections.abc import Sequence

import numpy as np

from pincite.completions import Completion, Prompt
from pincite.errors import BadReply, ServerError
from pincite.protocols import Floats, Generator

SYSTEM = (
    "Determine whether the provided claim is consistent with the corresponding document. "
    "Consistency in this context implies that all information presented in the claim is "
    "substantiated by the document. If not, it should be considered inconsistent. Please assess "
    'the claim\'s consistency with the document by responding with either "Yes" or "No".'
)
TOP = 5  # tokens whose probability is asked for
LEAST = 1e-6  # probability of the answer that is not among them


class AskedMiniCheck:
    """One logit a pair, from the probabilities of "Yes" and "No" as the reply's first token."""

    width = 1
    seconds = 0.2  # a pair, on one GPU: docs.bespokelabs.ai/models/bespoke-minicheck

    def __init__(self, server: Generator) -> None:
        self._server = server
        self.fingerprint = server.fingerprint

    def logits(self, rows: Sequence[tuple[str, str]]) -> Floats:
        """(n_rows, 1) for (claim, document).

        Raises:
            ServerError: the server fails, or does not say how likely its reply is.
        """
        replies = self._server.generate([_prompt(*row) for row in rows])
        return np.array([_log_odds(reply) for reply in replies], dtype=np.float32).reshape(-1, 1)


def _prompt(claim: str, document: str) -> Prompt:
    """On one line each: no line of a source can pass for the claim."""
    user = f"Document: {' '.join(document.split())}\nClaim: {' '.join(claim.split())}"
    return Prompt(user, SYSTEM, max_tokens=1, top_logprobs=TOP)


def _log_odds(reply: Completion | ServerError) -> float:
    if isinstance(reply, ServerError):
        raise reply
    shares = {"yes": 0.0, "no": 0.0}
    for token, log in reply.tokens[0].top if reply.tokens else ():
        if (word := token.strip().lower()) in shares:
            shares[word] += math.exp(log)
    if not any(shares.values()):
        raise BadReply(
            f"The server replied {reply.text[:40]!r} without the probability of Yes or No; "
            "expected Bespoke-MiniCheck on a server that sends log probabilities, as vLLM and "
            "llama.cpp do."
        )
    return math.log(max(LEAST, shares["yes"])) - math.log(max(LEAST, shares["no"]))
