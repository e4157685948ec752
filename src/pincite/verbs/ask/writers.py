"""Who writes an answer: sentences taken from the sources, or a language model that reads them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise

from pincite.completions import Completion, Prompt
from pincite.errors import ServerError
from pincite.llm.calls import Calls, all_at_once, tokens_of
from pincite.llm.templates import Templates
from pincite.text.passages import passages
from pincite.text.prompt_quoting import abstract
from pincite.types import Failed, Span
from pincite.verbs.ask.literature import WHOLE
from pincite.verbs.ask.records import Reference

STEP, SUMMARISE = "answer_question", "summarise_passage"
CHAT_TOKENS = 64  # that a server puts around two messages: roles, and with some models a date
SUMMARY_TOKENS, NOTHING = 150, "NONE"  # of a summary; what the prompt asks for where there is none
SUMMARISED = 8  # passages of a long document, each of which is a call
LEAST = 400  # tokens of a reference that is worth giving: an abstract, or two passages
MOST_CHARS = 8  # of a token of running text
BETWEEN, GAP = "\n\n", "\n[…]\n"  # between references; where some of one is left out
NO_ROOM = (
    "ask.prompt_tokens = {} leaves no room for a reference beside the question and the prompt's "
    "own words. Raise it, or ask in fewer words."
)


@dataclass(frozen=True, slots=True)
class Written:
    """A piece of an answer, or how it ended."""

    text: str = ""
    cut: bool = False  # ended at its longest length
    failure: str = ""  # ended because the server did
    stopped: bool = False  # ended by Ctrl-C


@dataclass(frozen=True, slots=True)
class ModelWriter:
    """A language model that is given the question and the references (Verif.ai, §II-B)."""

    calls: Calls
    templates: Templates
    prompt_tokens: int = 6000  # of a prompt, all in all
    reply_tokens: int = 1000
    temperature: float = 0.0
    summaries: int = 0  # passages summarised at once before it writes; 0: it reads them themselves

    @property
    def fingerprint(self) -> str:
        """The model's."""
        return self.calls.model(STEP).fingerprint

    def write(self, question: str, references: Sequence[Reference]) -> Iterator[Written]:
        """The reply as it comes; its end says whether it was cut or failed."""
        if self.summaries:
            references = self._summarised(question, references)
        prompt = self.prompt(question, references)
        if prompt is None:
            yield Written(failure=NO_ROOM.format(self.prompt_tokens))
            return
        for piece in self.calls.stream(STEP, prompt):
            if isinstance(piece, str):
                yield Written(piece)
            elif isinstance(piece, ServerError):
                yield Written(failure=str(piece))
            elif isinstance(piece, Completion) and not piece.complete:
                yield Written(cut=True)

    def prompt(self, question: str, references: Sequence[Reference]) -> Prompt | None:
        """The question with what of the references has room, the most relevant first.

        All of it has at most `prompt_tokens`; None where that leaves room for no reference.
        """
        around = self.templates.filled(STEP, question=question, abstracts="")
        room = self.prompt_tokens - CHAT_TOKENS - tokens_of("\n".join(around))
        given = within_budget(references, room)
        if not given:
            return None
        system, user = self.templates.filled(STEP, question=question, abstracts=BETWEEN.join(given))
        return Prompt(user, system, self.reply_tokens, self.temperature)

    def _summarised(self, question: str, references: Sequence[Reference]) -> Sequence[Reference]:
        """References for the prompt alone, with what the model says of each passage as their text.

        Those of which it says that nothing bears on the question are left out, unless all are.
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
        """Empty where nothing bears on the question; the text itself where the model fails."""
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
    """A short text as a whole; of a long one the passages of most use, in its order."""
    document = reference.document
    if len(document.text) <= WHOLE:
        return [document.text] if document.text.strip() else []
    best = (reference.passages or passages(document))[:SUMMARISED]
    return [passage.text for passage in sorted(best, key=lambda each: each.span)]


def within_budget(references: Sequence[Reference], tokens: int) -> list[str]:
    """The first references as a prompt gives them, in at most `tokens` tokens together.

    Where not all have room, those that do share it, with `LEAST` tokens or more each: the shorter
    ones are whole, of the longer ones there are the passages of most use.
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
    """Tokens of the whole reference; of one that is far too long `tokens` and one more."""
    text = reference.document.text
    return tokens + 1 if len(text) > MOST_CHARS * tokens else tokens_of(_shown(reference, text))


def _share(costs: Sequence[int], total: int) -> int:
    """How much each may take of `total`, so that what the cheaper ones leave goes to the others."""
    for n, cost in zip(range(len(costs), 0, -1), sorted(costs), strict=True):
        if cost * n > total:
            return total // n
        total -= cost
    return max(costs)


def _excerpt(reference: Reference, tokens: int) -> str:
    """The passages of most use that have room, in the order of the text; empty if none has."""
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
    """The spans, with a sign where something between two is left out."""
    said = spans[0].of(text)
    for before, span in pairwise(spans):
        between = text[before.end : span.start]
        said += (GAP if between.strip() else between) + span.of(text)
    return said
