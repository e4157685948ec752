"""Answers written by a language model from the references."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise

from pincite.completions import Completion, Prompt
from pincite.errors import ServerError
from pincite.llm.calls import CHAT_TOKENS, Calls, all_at_once, tokens_of
from pincite.llm.templates import Templates
from pincite.text.passages import passages
from pincite.text.prompt_quoting import abstract
from pincite.types import Failed, Span
from pincite.verbs.ask.report import WHOLE, Reference

STEP, SUMMARISE = "answer_question", "summarise_passage"
SUMMARY_TOKENS, NOTHING = 150, "NONE"  # of a summary; its text if nothing is relevant
SUMMARISED = 8  # passages of a long document; each one is a call
LEAST = 400  # minimum tokens per reference: an abstract, or two passages
MOST_CHARS = 8  # per token of running text
BETWEEN, GAP = "\n\n", "\n[…]\n"  # between references; in place of omitted text


@dataclass(frozen=True, slots=True)
class Written:
    """A piece of an answer, or how it ended."""

    text: str = ""
    cut: bool = False  # reached the length limit
    failure: str = ""  # the server failed
    stopped: bool = False  # by Ctrl-C


@dataclass(frozen=True, slots=True)
class ModelWriter:
    """A language model that gets the question and the references (Verif.ai, §II-B)."""

    calls: Calls
    templates: Templates
    prompt_tokens: int = 6000  # of the whole prompt
    reply_tokens: int = 1000
    temperature: float = 0.0
    summaries: int = 0  # passages summarised concurrently before writing; 0: no summaries

    @property
    def fingerprint(self) -> str:
        return self.calls.model(STEP).fingerprint

    def write(self, question: str, references: Sequence[Reference]) -> Iterator[Written]:
        """Stream the reply; the last item says whether it was cut or failed."""
        if self.summaries:
            references = self._summarised(question, references)
        prompt = self.prompt(question, references)
        if prompt is None:
            yield Written(
                failure=f"ask.prompt_tokens = {self.prompt_tokens} leaves no room for a reference "
                "beside the question and the prompt itself. Raise it, or ask in fewer words."
            )
            return
        for piece in self.calls.stream(STEP, prompt):
            if isinstance(piece, str):
                yield Written(piece)
            elif isinstance(piece, ServerError):
                yield Written(failure=str(piece))
            elif isinstance(piece, Completion) and not piece.complete:
                yield Written(cut=True)

    def prompt(self, question: str, references: Sequence[Reference]) -> Prompt | None:
        """Fill the prompt with the references that fit, most relevant first.

        It has at most `prompt_tokens`. None if that leaves no room for a reference.
        """
        around = self.templates.filled(STEP, question=question, abstracts="")
        room = self.prompt_tokens - CHAT_TOKENS - tokens_of("\n".join(around))
        given = within_budget(references, room)
        if not given:
            return None
        system, user = self.templates.filled(STEP, question=question, abstracts=BETWEEN.join(given))
        return Prompt(user, system, self.reply_tokens, self.temperature)

    def _summarised(self, question: str, references: Sequence[Reference]) -> Sequence[Reference]:
        """Replace the references' texts by the model's summaries of their passages.

        References without anything relevant are dropped, unless none has anything.
        """
        texts = [(r.number, text) for r in references for text in _to_summarise(r)]
        tasks = [partial(self._summary, question, text) for _, text in texts]
        said = all_at_once(tasks, self.summaries, self.calls)
        if self.calls.stopped:
            raise KeyboardInterrupt
        found = dict[int, list[str]]()
        for (number, _), summary in zip(texts, said, strict=True):
            found.setdefault(number, []).extend([summary] if summary else [])
        short = [
            replace(r, document=replace(r.document, text=GAP.join(found[r.number])), passages=())
            for r in references
            if found.get(r.number)
        ]
        return short or references

    def _summary(self, question: str, text: str) -> str:
        """Summarise a text: empty if nothing is relevant, the text itself if the model fails."""
        system, user = self.templates.filled(SUMMARISE, question=question, evidence_item=text)
        if tokens_of(system + user) + CHAT_TOKENS > self.prompt_tokens:
            return text

        def read(reply: Completion) -> str | None:
            said = " ".join(reply.text.split())
            return said if reply.complete and said else None

        prompt = Prompt(user, system, SUMMARY_TOKENS)
        said = self.calls.read(SUMMARISE, prompt, {"question": question}, read)
        if isinstance(said, Failed):
            return text
        return "" if said.strip(" .\"'*").upper() == NOTHING else said


def _to_summarise(reference: Reference) -> list[str]:
    """Return a short text as a whole; of a long one, the best passages in text order."""
    document = reference.document
    if len(document.text) <= WHOLE:
        return [document.text] if document.text.strip() else []
    best = (reference.passages or passages(document))[:SUMMARISED]
    return [passage.text for passage in sorted(best, key=lambda each: each.span)]


def within_budget(references: Sequence[Reference], tokens: int) -> list[str]:
    """Return the first references that fit into `tokens` tokens, formatted for a prompt.

    If not all fit, those that do share the tokens, with at least `LEAST` each: shorter ones are
    whole, longer ones are cut to their best passages.
    """
    costs = [_cost(each, tokens) for each in references]
    sums = accumulate(min(cost, LEAST) for cost in costs)
    n = max(1, sum(total <= tokens for total in sums))
    given, left = list[str](), tokens
    for place, reference in enumerate(references[:n]):
        room = _share(costs[place:n], left)
        text = reference.document.text
        shown = _shown(reference, text) if costs[place] <= room else _excerpt(reference, room)
        if shown:
            given.append(shown)
            left -= tokens_of(shown + BETWEEN)
    return given


def _shown(reference: Reference, text: str) -> str:
    return abstract(reference.number, reference.ref_id, reference.document.title, text)


def _cost(reference: Reference, tokens: int) -> int:
    """Count the tokens of the whole reference; `tokens` + 1 for one that is far too long."""
    text = reference.document.text
    return tokens + 1 if len(text) > MOST_CHARS * tokens else tokens_of(_shown(reference, text))


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
    left = tokens - tokens_of(_shown(reference, ""))
    for passage in reference.passages or passages(document):
        left -= (cost := tokens_of(passage.text + GAP))
        if left >= 0:
            chosen.append(passage.span)
        else:
            left += cost
    while chosen:
        shown = _shown(reference, excerpt(document.text, sorted(chosen)))
        if tokens_of(shown) <= tokens:
            return shown
        chosen.pop()
    return ""


def excerpt(text: str, spans: Sequence[Span]) -> str:
    said = spans[0].of(text)
    for before, span in pairwise(spans):
        between = text[before.end : span.start]
        said += (GAP if between.strip() else between) + span.of(text)
    return said
