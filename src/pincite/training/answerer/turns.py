"""Lessons as tokens, as a server would lay the same messages before the model.

Whoever serves the model applies the chat template of its tokenizer, so training does too. A base
without one gets a plain one, which is written beside the weights and so goes with them.
"""

from dataclasses import dataclass
from typing import Any

from pincite.training.answerer.lessons import Lesson

PLAIN = (
    "{{ bos_token }}{% for m in messages %}{{ m['content'] }}"
    "{% if m['role'] == 'assistant' %}{{ eos_token }}{% else %}\n\n{% endif %}{% endfor %}"
)
IGNORED = -100  # of torch's cross-entropy: no loss there


@dataclass(frozen=True, slots=True)
class Turns:
    """How the two messages of a prompt and its reply become tokens."""

    tokenizer: Any
    merged: bool  # the template takes no system message: it stands before the user's

    @classmethod
    def of(cls, tokenizer: Any) -> "Turns":
        """With the tokenizer's own template, or `PLAIN`, which it then has."""
        if not tokenizer.chat_template:
            tokenizer.chat_template = PLAIN
        return cls(tokenizer, not _takes_system(tokenizer))

    def pieces(self, lesson: Lesson) -> tuple[list[int], list[int]]:
        """Token ids of the prompt, and those of the answer with what ends it."""
        prompt = self._laid(lesson, answered=False)
        whole = self._laid(lesson, answered=True)
        # A template that rewrites what went before an answer is no guide to how answers end.
        clean = whole.startswith(prompt)
        reply = whole[len(prompt) :] if clean else lesson.answer + self.tokenizer.eos_token
        asked, said = self._ids(prompt), self._ids(reply)
        both = self._ids(prompt + reply)
        if both[: len(asked)] == asked:  # else a token would straddle the border
            said = both[len(asked) :]
        if not set(said) & set(self.tokenizer.all_special_ids):
            said.append(self.tokenizer.eos_token_id)
        return asked, said

    def n_tokens(self, lesson: Lesson) -> int:
        """Of prompt and answer together."""
        return sum(map(len, self.pieces(lesson)))

    @property
    def control(self) -> frozenset[str]:
        """The tokens that are no text; one in a page would forge a turn."""
        added = self.tokenizer.added_tokens_decoder.values()
        special = {token.content for token in added if token.special}
        return frozenset(special | set(self.tokenizer.all_special_tokens))

    def _laid(self, lesson: Lesson, *, answered: bool) -> str:
        messages = [{"role": "system", "content": lesson.system}]
        messages += [{"role": "user", "content": lesson.user}]
        if self.merged:
            messages = [{"role": "user", "content": f"{lesson.system}\n\n{lesson.user}"}]
        if answered:
            messages += [{"role": "assistant", "content": lesson.answer}]
        return _rendered(self.tokenizer, messages, open_reply=not answered)

    def _ids(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])


def _takes_system(tokenizer: Any) -> bool:
    """Whether a system message is heard: some templates refuse it, others leave it out."""
    messages = [{"role": "system", "content": "HEARD"}, {"role": "user", "content": "Yes?"}]
    try:
        return "HEARD" in _rendered(tokenizer, messages, open_reply=True)
    except Exception:  # whatever the template's own code raises
        return False


def _rendered(tokenizer: Any, messages: list[dict[str, str]], *, open_reply: bool) -> str:
    text: str = tokenizer.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=open_reply
    )
    return text
