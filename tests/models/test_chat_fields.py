"""Log probabilities and guided replies, over the wire of a server on this machine."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from models.chat_server import Answer, Server, good, serving

from pincite.completions import Completion, Guidance, Prompt, TokenChoice
from pincite.errors import ConfigError, ServerUnreachable
from pincite.llm.chat import ChatClient, Dialect, guided
from pincite.llm.client import Limits

KEY = "sk-very-secret"
FAST = Limits(seconds=5, first_wait=0.01)
SCHEMA = {"type": "object", "properties": {"answer": {"enum": ["A", "B"]}}}
RULES = {
    "json": Guidance("json", json.dumps(SCHEMA)),
    "regex": Guidance("regex", "[AB]"),
    "grammar": Guidance("grammar", 'root ::= "A" | "B"'),
}
CHAT = {
    "content": [
        {
            "token": "B",
            "logprob": -0.2,
            "bytes": None,
            "top_logprobs": [{"token": "B", "logprob": -0.2}, {"token": "A", "logprob": -1.7}],
        }
    ]
}
LEGACY = {"tokens": ["B"], "token_logprobs": [-0.2], "top_logprobs": [{"B": -0.2, "A": -1.7}]}
OTHERS_ONLY = {"tokens": ["B"], "token_logprobs": [-0.2], "top_logprobs": [{"A": -1.7}]}
FOUND = (TokenChoice("B", (("B", -0.2), ("A", -1.7))),)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


def asked(server: Server, prompt: Prompt, dialect: Dialect = "openai") -> Completion:
    (reply,) = ChatClient(server.url, "tiny", KEY, FAST, dialect).generate([prompt])
    assert isinstance(reply, Completion), reply
    return reply


@pytest.mark.parametrize("layout", [CHAT, LEGACY, OTHERS_ONLY])
def test_both_layouts_of_log_probabilities(server: Server, layout: dict[str, Any]) -> None:
    server.answers = [good("B", logprobs=layout)]
    assert asked(server, Prompt("A or B?", top_logprobs=5)).tokens == FOUND
    assert server.asked[0]["logprobs"] is True
    assert server.asked[0]["top_logprobs"] == 5


@pytest.mark.parametrize(
    "broken",
    [
        None,
        3,
        {},
        {"content": None},
        {"content": [{"logprob": -1}]},
        {"content": [{"token": "B", "top_logprobs": [{"token": "B", "logprob": "NaN"}]}]},
        {"tokens": ["B"], "top_logprobs": [{}, {}]},
        {"tokens": ["B"], "top_logprobs": [["B"]]},
    ],
)
def test_what_cannot_be_read_is_not_there(server: Server, broken: object) -> None:
    server.answers = [good("B", logprobs=broken)]
    reply = asked(server, Prompt("A or B?", top_logprobs=5))
    assert (reply.text, reply.tokens) == ("B", ())


@pytest.mark.parametrize(
    ("dialect", "kind", "fields"),
    [
        (
            "openai",
            "json",
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True},
                }
            },
        ),
        ("tgi", "json", {"response_format": {"type": "json", "value": SCHEMA}}),
        ("tgi", "regex", {"response_format": {"type": "regex", "value": "[AB]"}}),
        ("nim", "json", {"nvext": {"guided_json": SCHEMA}}),
        ("llamacpp", "grammar", {"grammar": 'root ::= "A" | "B"'}),
        ("vllm", "regex", {"guided_regex": "[AB]", "structured_outputs": {"regex": "[AB]"}}),
    ],
)
def test_guidance_as_each_server_wants_it(
    server: Server, dialect: Dialect, kind: str, fields: dict[str, Any]
) -> None:
    asked(server, Prompt("A or B?", guidance=RULES[kind]), dialect)
    assert {name: server.asked[0].get(name) for name in fields} == fields


def test_what_a_server_cannot_enforce_is_said_at_once() -> None:
    with pytest.raises(ConfigError, match=r"'regex'.*'openai'.*one of: json, prompted"):
        guided(RULES["regex"], "openai")
    assert guided(None, "openai") == {}


def test_a_reply_that_repeats_the_key(server: Server) -> None:
    layout = {"tokens": ["sk-very", "-secret"], "token_logprobs": [-1, -1]}
    server.answers = [good(f"Your key is {KEY}.", logprobs=layout)]
    reply = asked(server, Prompt("What is my key?", top_logprobs=1))
    assert (reply.text, reply.tokens) == ("Your key is [key].", ())


def test_a_client_is_stopped_from_another_thread(server: Server) -> None:
    server.answers = [Answer(body=b"x" * 300, pieces=300, pause=0.1)]
    client = ChatClient(server.url, "tiny", KEY, Limits(seconds=60))
    server.when_asked(2, client.stop)
    replies = client.generate([Prompt("one"), Prompt("two")])
    assert all(isinstance(reply, ServerUnreachable) for reply in replies)
    (later,) = client.generate([Prompt("three")])
    assert "was stopped" in str(later)
    assert len(server.asked) == 2
