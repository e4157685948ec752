"""A chat server's side of `check`: what a model would reply to each step, word by word."""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from models.chat_server import Answer, good

from pincite.llm.templates import SHIPPED

OPTIONS = (SHIPPED / "en" / "options.txt").read_text().splitlines()
STEPS = {
    "Here you look only for descriptive": "freetext_descriptive_analysis",
    "Here you look only for ascriptive": "freetext_ascriptive_analysis",
    "Here you look only for normative": "freetext_normative_analysis",
    "List the descriptive": "list_descriptive_statements",
    "List the ascriptive": "list_ascriptive_statements",
    "List the normative": "list_normative_statements",
    "Write its negation": "negate_claim",
    "Discuss in a few sentences": "freetext_confirmation_analysis",
    "Which of these is right?": "multiple_choice_confirmation_analysis",
}
_FENCED = re.compile(r"<data \w+>\n(.*?)\n</data \w+>", re.DOTALL)
_LABELLED = re.compile(r"^([A-Za-z0-9])\. (.+)$", re.MULTILINE)


def step_of(user: str) -> str:
    (step,) = {name for words, name in STEPS.items() if words in user}
    return step


def fenced_in(user: str) -> list[str]:
    """The texts of others in a prompt, in order."""
    return _FENCED.findall(user)


def unfenced(user: str) -> str:
    """A prompt with the texts of others as they would stand in it without marks."""
    return _FENCED.sub(lambda fence: fence[1], user)


def choice(
    request: Mapping[str, Any], shares: tuple[float, float, float], layout: str = "chat"
) -> Answer:
    """A choice with these probabilities of the three options, however they are labelled."""
    user = request["messages"][-1]["content"]
    labelled = [(label, OPTIONS.index(text)) for label, text in _LABELLED.findall(user)]
    likely = {label: shares[option] for label, option in labelled}
    best = max(likely, key=lambda label: likely[label])
    logs = {label: math.log(max(p, 1e-9)) for label, p in likely.items()}
    parts = ['{"', "answer", '":"', best, '"}']
    if layout == "none":
        return good("".join(parts))
    content = []
    for part in parts:
        top = logs if part == best else {part: 0.0}
        pairs = [{"token": token, "logprob": log} for token, log in top.items()]
        content.append({"token": part, "logprob": top[part], "top_logprobs": pairs})
    return good("".join(parts), logprobs={"content": content})


@dataclass
class Model:
    """Replies to every step; tests replace what they want otherwise."""

    readings: dict[str, list[str]] = field(
        default_factory=lambda: {
            "descriptive": ["The bridge is of stone."],
            "ascriptive": [],
            "normative": ["The bridge should be of stone."],
        }
    )
    # (passage, statement) → the probabilities of the options
    shares: Callable[[str, str], tuple[float, float, float]] = lambda passage, statement: (
        (0.9, 0.05, 0.05) if "not" not in statement else (0.1, 0.8, 0.1)
    )
    layout: str = "chat"
    instead: dict[str, Callable[[Mapping[str, Any]], Answer]] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    def __call__(self, request: dict[str, Any]) -> Answer:
        user = request["messages"][-1]["content"]
        step = step_of(user)
        self.seen.append(step)
        other = self.instead.get(step)
        return other(request) if other else self.usual(step, request)

    def usual(self, step: str, request: Mapping[str, Any]) -> Answer:
        texts = fenced_in(request["messages"][-1]["content"])
        if step.startswith("list_"):
            kind = step.split("_")[1]
            return good(json.dumps({"claims": self.readings[kind]}))
        if step == "negate_claim":
            said = texts[0].replace(" is ", " is not ").replace(" should ", " should not ")
            return good(json.dumps({"negation": said}))
        if step == "multiple_choice_confirmation_analysis":
            return choice(request, self.shares(texts[0], texts[1]), self.layout)
        return good(f"I have thought about it ({step}).")
