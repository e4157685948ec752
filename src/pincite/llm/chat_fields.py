"""Fields of a chat request that servers name differently, and the log probabilities they send back.

All speak OpenAI's chat completions, but a schema or a grammar that a reply must keep to stands in
another field on each, and log probabilities come in two layouts: that of chat completions, which
llama.cpp's server was seen to send, and that of the older text completions, which TGI and NIM send
here too by what is written of them.
"""

import json
import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

from pincite.completions import Guidance, TokenChoice
from pincite.errors import ConfigError

GuidanceKind = Literal["json", "regex", "grammar", "prompted"]
Dialect = Literal["openai", "vllm", "llamacpp", "tgi", "nim"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
# What each server can enforce. "llamacpp", and "json" of "openai", were tried on llama.cpp's server
# (tests/models/test_real_server.py). A regex it refuses in TGI's form and passes over in silence in
# vLLM's. "vllm", "tgi", "nim" and OpenAI's own server are written from their documentation (read in
# 2026-11) and have not been tried on a real one.
ENFORCED = {
    "openai": ("json",),
    "vllm": ("json", "regex", "grammar"),
    "llamacpp": ("json", "grammar"),
    "tgi": ("json", "regex"),
    "nim": ("json", "regex", "grammar"),
}


def checked_guidance(kind: str, dialect: str) -> None:
    """Refuse what a server cannot enforce; "prompted" asks for nothing.

    Raises:
        ConfigError: names what the server takes.
    """
    if kind != "prompted" and kind not in ENFORCED[dialect]:
        can = ", ".join((*ENFORCED[dialect], "prompted"))
        raise ConfigError(
            f"check.guidance is {kind!r}, which a server of the kind {dialect!r} (chat.dialect) "
            f"does not enforce; expected one of: {can}."
        )


def guided(guidance: Guidance | None, dialect: str) -> dict[str, Any]:
    """The fields that make a server keep to the rule; none without one.

    >>> guided(Guidance("regex", "[AB]"), "tgi")
    {'response_format': {'type': 'regex', 'value': '[AB]'}}
    """
    if guidance is None:
        return {}
    checked_guidance(guidance.kind, dialect)
    rule = json.loads(guidance.rule) if guidance.kind == "json" else guidance.rule
    if dialect == "tgi":
        return {"response_format": {"type": guidance.kind, "value": rule}}
    if dialect == "nim":
        return {"nvext": {f"guided_{guidance.kind}": rule}}
    if guidance.kind == "json":
        schema = {"name": "reply", "schema": rule, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    if dialect == "llamacpp":
        return {"grammar": rule}
    # vLLM renamed the field in 2025; it ignores the name that it does not know.
    return {f"guided_{guidance.kind}": rule, "structured_outputs": {guidance.kind: rule}}


def tokens_of(choice: dict[str, Any]) -> tuple[TokenChoice, ...]:
    """The reply's tokens with their alternatives, from either layout; empty if there are none.

    Chat: `{"content": [{"token", "logprob", "top_logprobs": [{"token", "logprob"}]}]}`. Legacy:
    `{"tokens": […], "token_logprobs": […], "top_logprobs": [{token: logprob}]}`.
    """
    given = choice.get("logprobs")
    if not isinstance(given, dict):
        return ()
    try:
        if isinstance(given.get("content"), list):
            return tuple(map(_of_chat, given["content"]))
        if isinstance(given.get("tokens"), list):
            return _of_completion(given)
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()  # what cannot be read is as good as not sent
    return ()


def _of_chat(entry: dict[str, Any]) -> TokenChoice:
    top = [(str(each["token"]), _log(each["logprob"])) for each in entry.get("top_logprobs") or ()]
    return _with_itself(str(entry["token"]), entry.get("logprob"), top)


def _of_completion(given: dict[str, Any]) -> tuple[TokenChoice, ...]:
    tokens = given["tokens"]
    own = given.get("token_logprobs") or [None] * len(tokens)
    tops = given.get("top_logprobs") or [None] * len(tokens)
    return tuple(
        _with_itself(str(token), logprob, [(str(t), _log(lp)) for t, lp in (top or {}).items()])
        for token, logprob, top in zip(tokens, own, tops, strict=True)
    )


def _with_itself(token: str, logprob: Any, top: list[tuple[str, float]]) -> TokenChoice:
    """The alternatives with the token among them; some servers list only the others."""
    if logprob is not None and token not in dict(top):
        top = [(token, _log(logprob)), *top]
    return TokenChoice(token, tuple(top))


def _log(value: Any) -> float:
    number = float(value)
    if math.isnan(number):
        raise ValueError("a log probability is not a number")
    return number


def guidance_for(kind: GuidanceKind, labels: Sequence[str]) -> Guidance | None:
    """The rule that a reply with one of these labels keeps to; None where it is only asked for."""
    if kind == "json":
        schema = {
            "type": "object",
            "properties": {"answer": {"type": "string", "enum": list(labels)}},
            "required": ["answer"],
            "additionalProperties": False,
        }
        return Guidance("json", json.dumps(schema))
    if kind == "regex":
        return Guidance("regex", f"({'|'.join(labels)})")
    if kind == "grammar":
        return Guidance("grammar", f"root ::= {' | '.join(json.dumps(label) for label in labels)}")
    return None
