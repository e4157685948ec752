"""Parse a language model's reply: a list of statements, or one of several labelled options.

An unreadable reply gives None, never a zero.
"""

import json
import math
import re
import string
from collections.abc import Iterator, Sequence
from typing import Any

from pincite.protocols import Completion, TokenChoice
from pincite.types import Span

ENOUGH = 0.5  # minimum total probability of the labels at the answer's token
_MOST_OBJECTS = 200  # places in a reply that are tried as the start of JSON
_OPENING = re.compile(r"[\[{]")
_DECODER = json.JSONDecoder()
_BULLET = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.)])\s+(?P<text>\S.*)$", re.MULTILINE)
_AROUND = "\"'“”„ \t\n`*_.([{:"  # may precede a label within its token
_ANSWER = (
    r"[\"']?\b(?:final\s+)?(?:answer|antwort|option|choice)\b[\"'*`]*"
    r"\s*(?:is|ist|lautet)?\s*[:=]?\s*"
)


def first_json(text: str) -> Any:
    r"""Return the first JSON object or array in a text; None if there is none.

    >>> first_json('Sure! ```json\n{"answer":"B"}\n``` I hope that helps.')
    {'answer': 'B'}
    """
    return next(_jsons(text), None)


def _jsons(text: str) -> Iterator[Any]:
    start, tried = 0, 0
    while (match := _OPENING.search(text, start)) and tried < _MOST_OBJECTS:
        tried += 1
        try:
            value, start = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            start = match.start() + 1
            continue
        yield value


def parse_list(text: str, key: str = "claims") -> list[str] | None:
    """Return the distinct statements that a reply lists, in order; None if it lists none.

    Reads an object with the key or with one list, an array, or bulleted or numbered lines.
    """
    for value in _jsons(text):
        texts = _strings(value, key)
        if texts is not None:
            return _each_once(texts)
    bullets = [match["text"] for match in _BULLET.finditer(text)]
    return _each_once(bullets) if bullets else None


def _strings(value: Any, key: str) -> list[str] | None:
    if isinstance(value, dict):
        lists = [v for v in value.values() if isinstance(v, list)]
        value = value.get(key, lists[0] if len(lists) == 1 else None)
    if not isinstance(value, list):
        return None
    texts = [_text_of(each) for each in value]
    return None if None in texts else [text for text in texts if text is not None]


def _text_of(value: Any) -> str | None:
    """Return a statement, also from an object with one text: {"claim": "…"}."""
    if isinstance(value, dict):
        texts = [v for v in value.values() if isinstance(v, str)]
        return texts[0] if len(texts) == 1 else None
    return value if isinstance(value, str) else None


def _each_once(texts: Sequence[str]) -> list[str]:
    distinct: dict[str, str] = {}
    for text in texts:
        stripped = " ".join(text.split()).strip("*_` ")
        if any(map(str.isalpha, stripped)):  # a small model repeats the "…" of the prompt
            distinct.setdefault(stripped.casefold(), stripped)
    return list(distinct.values())


def parse_statement(text: str, key: str, *, plain: bool = False) -> str | None:
    """Return the only statement of a reply: an object's text or, if `plain`, the reply's line."""
    value = first_json(text)
    if isinstance(value, dict):
        content = value.get(key, value)
        statement = content if isinstance(content, str) else _text_of(content)
        return " ".join(statement.split()) or None if statement else None
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[0].strip('"“”„*` ') or None if plain and len(lines) == 1 else None


# ── Multiple choice ──────────────────────────────────────────────────────────────────────────────


def find_label(text: str, labels: Sequence[str]) -> Span | None:
    """Find where a reply names its choice; None if it names none, or several."""
    one = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    # Match "Answer" in any case, but the label exactly: "Answer: a bridge" does not choose "A".
    named = rf"(?i:{_ANSWER})[\"'“(*`\[]*\s*(?P<label>{one})(?!\w|['’]\w)"
    # "A" and "B. Neither", but not "A bridge was".
    first = rf"\A\W*(?P<label>{one})(?!\w|['’]\w)(?!\s+\w+\s+\w)"
    for pattern in (named, first):
        spans = [Span(*match.span("label")) for match in re.finditer(pattern, text)]
        if spans:
            return spans[0] if len({span.of(text) for span in spans}) == 1 else None
    return None


def parse_label(text: str, labels: Sequence[str]) -> str | None:
    """Return the label that a reply chooses; None if it is unreadable."""
    place = find_label(text, labels)
    return place.of(text) if place else None


def label_probabilities(reply: Completion, labels: Sequence[str]) -> dict[str, float] | None:
    """Return each label's probability as the answer, from the alternatives of its token.

    Tokens for the same label ("B", " B") are summed. None if the reply has no log
    probabilities or no answer, or if the labels sum to less than `ENOUGH`.
    """
    whole = "".join(choice.token for choice in reply.tokens)
    thoughts = re.match(r"\s*<think>.*?</think>", whole, re.DOTALL)
    n_thoughts = thoughts.end() if thoughts else 0
    place = find_label(whole[n_thoughts:], labels)
    if place is None:
        return None
    at, start = place.start + n_thoughts, 0
    for choice in reply.tokens:
        if start <= at < start + len(choice.token):
            return _shares(choice, choice.token[: at - start], labels)
        start += len(choice.token)
    return None


def _shares(choice: TokenChoice, before: str, labels: Sequence[str]) -> dict[str, float] | None:
    shares = dict.fromkeys(labels, 0.0)
    for token, logprob in dict([*choice.top]).items():
        label = _label_of(token, before, labels)
        if label is not None and math.isfinite(logprob):
            shares[label] += math.exp(min(0.0, logprob))
    if sum(shares.values()) < ENOUGH:
        return None
    # The server rounds: three tokens at -0.0 would sum to more than one.
    return {label: min(1.0, share) for label, share in shares.items()}


def _label_of(token: str, before: str, labels: Sequence[str]) -> str | None:
    """Return the label that a token begins with, after `before` or after punctuation."""
    for rest in (token.removeprefix(before), token.lstrip(_AROUND)):
        for label in sorted(labels, key=len, reverse=True):
            if rest.startswith(label) and not rest[len(label) : len(label) + 1].isalnum():
                return label
    return None


def are_labels(labels: Sequence[str]) -> bool:
    """Whether these are three or more distinct single ASCII letters or digits."""
    allowed = set(string.ascii_letters + string.digits)
    return len(set(labels)) == len(labels) >= 3 and set(labels) <= allowed
