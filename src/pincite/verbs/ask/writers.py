"""Answers written by a language model from the references."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from pincite.errors import NotAsked, ServerError
from pincite.llm.calls import CHAT_TOKENS, Calls, tokens_of
from pincite.llm.templates import Templates, fenced_abstract
from pincite.protocols import Completion, Prompt
from pincite.text.passages import passages
from pincite.types import Span
from pincite.verbs.ask.report import Reference

STEP = "answer_question"
LEAST = 400  # minimum tokens per reference: an abstract, or two passages
MOST_CHARS = 8  # per token of running text
BETWEEN, GAP = "\n\n", "\n[…]\n"  # between references; in place of omitted text


@dataclass(frozen=True, slots=True)
class ModelWriter:
    """A language model that gets the question and the references (Verif.ai, §II-B)."""

    calls: Calls
    templates: Templates
    prompt_tokens: int = 6000  # of the whole prompt
    reply_tokens: int = 1000
    temperature: float = 0.0

    @property
    def fingerprint(self) -> str:
        return self.calls.model(STEP).fingerprint

    def write(
        self, question: str, references: Sequence[Reference]
    ) -> Iterator[str | Completion | ServerError]:
        """Stream the reply, then the whole `Completion` or the error that ended it."""
        if prompt := self.prompt(question, references):
            yield from self.calls.stream(STEP, prompt)
        else:
            yield NotAsked(
                f"ask.prompt_tokens = {self.prompt_tokens} leaves no room for a reference beside "
                "the question and the prompt itself. Raise it, or ask in fewer words."
            )

    def prompt(self, question: str, references: Sequence[Reference]) -> Prompt | None:
        """Fill the prompt with the best references that fit; None if none does."""
        around = self.templates.fill(STEP, question=question, abstracts="")
        room = self.prompt_tokens - CHAT_TOKENS - tokens_of("\n".join(around))
        excerpts = within_budget(references, room)
        if not excerpts:
            return None
        system, user = self.templates.fill(
            STEP, question=question, abstracts=BETWEEN.join(excerpts)
        )
        return Prompt(user, system, self.reply_tokens, self.temperature)


def within_budget(references: Sequence[Reference], tokens: int) -> list[str]:
    """Return the first references that fit into `tokens` tokens, formatted for a prompt.

    They share the tokens, with at least `LEAST` each; longer ones are cut to their best passages.
    """

    def cost(reference: Reference) -> int:
        text = reference.document.text
        # Text that is far too long is not counted.
        too_long = len(text) > MOST_CHARS * tokens
        return tokens + 1 if too_long else tokens_of(_fence(reference, text))

    costs = list(map(cost, references))
    sums = accumulate(min(cost, LEAST) for cost in costs)
    n = max(1, sum(total <= tokens for total in sums))
    excerpts, left = list[str](), tokens
    for place, reference in enumerate(references[:n]):
        room = _share(costs[place:n], left)
        text = reference.document.text
        shown = _fence(reference, text) if costs[place] <= room else _excerpt(reference, room)
        if shown:
            excerpts.append(shown)
            left -= tokens_of(shown + BETWEEN)
    return excerpts


def _fence(reference: Reference, text: str) -> str:
    return fenced_abstract(reference.number, reference.ref_id, reference.document.title, text)


def _share(costs: Sequence[int], total: int) -> int:
    """Return the equal share of each in `total`; cheaper ones leave their rest to the others."""
    for n, cost in zip(range(len(costs), 0, -1), sorted(costs), strict=True):
        if cost * n > total:
            return total // n
        total -= cost
    return max(costs)


def _excerpt(reference: Reference, tokens: int) -> str:
    """Return the best passages that fit, in text order; empty if none does."""
    document, chosen = reference.document, list[Span]()
    left = tokens - tokens_of(_fence(reference, ""))
    for passage in reference.passages or passages(document):
        left -= (cost := tokens_of(passage.text + GAP))
        if left >= 0:
            chosen.append(passage.span)
        else:
            left += cost
    while chosen:
        shown = _fence(reference, excerpt(document.text, sorted(chosen)))
        if tokens_of(shown) <= tokens:
            return shown
        chosen.pop()
    return ""


def excerpt(text: str, spans: Sequence[Span]) -> str:
    result = spans[0].of(text)
    for before, span in pairwise(spans):
        between = text[before.end : span.start]
        result += (GAP if between.strip() else between) + span.of(text)
    return result
