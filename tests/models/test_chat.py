"""The chat client against a real server on this machine that says what each test wants."""

import json
import os
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from models.chat_server import Answer, Server, good, refusal, serving
from support.laws import check_generator

from pincite.completions import Completion, Prompt
from pincite.errors import (
    BadReply,
    ConfigError,
    ServerBusy,
    ServerError,
    ServerRefused,
    ServerUnreachable,
)
from pincite.llm.chat import ChatClient
from pincite.llm.client import Limits

KEY = "sk-very-secret"
FAST = Limits(seconds=5, first_wait=0.01, longest_wait=0.5, reply_bytes=10_000)
ASKED = Prompt("What is it?", "You guess.", max_tokens=9)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


def ask(server: Server, limits: Limits = FAST, key: str = KEY) -> Completion | ServerError:
    (reply,) = ChatClient(server.url, "tiny", key, limits).generate([ASKED])
    return reply


def failed(server: Server, kind: type[ServerError], limits: Limits = FAST) -> str:
    reply = ask(server, limits)
    assert isinstance(reply, kind), reply
    assert KEY not in str(reply)
    return str(reply)


def test_a_good_reply(server: Server) -> None:
    assert ask(server) == Completion("A bridge", True, 7, 2)
    assert server.paths == ["/v1/chat/completions"]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert server.asked == [
        {
            "model": "tiny",
            "messages": [
                {"role": "system", "content": "You guess."},
                {"role": "user", "content": "What is it?"},
            ],
            "stream": False,
            "max_tokens": 9,
            "temperature": 0.0,
            "seed": 13,
        }
    ]


def test_without_a_key_none_is_sent(server: Server) -> None:
    ask(server, key="")
    assert "authorization" not in server.headers[0]


def test_the_laws_of_a_generator(server: Server) -> None:
    server.by_prompt = lambda text: good(text[::-1])
    check_generator(ChatClient(server.url, "tiny", KEY, FAST), [Prompt(t) for t in "abcdef"])


def test_what_a_model_thinks_is_no_reply(server: Server) -> None:
    server.answers = [good("<think>Hm,\na bridge?</think>\nA mill")]
    assert ask(server) == Completion("A mill", True, 7, 2)
    server.answers = [good("<think>too long</think>", finish_reason="length")]
    assert "It was cut: raise max_tokens" in failed(server, BadReply)


def test_too_many_requests_then_a_good_reply(server: Server) -> None:
    server.answers = [Answer(429, headers={"Retry-After": "0.3"}), good()]
    assert isinstance(ask(server), Completion)
    assert server.times[1] - server.times[0] >= 0.3


def test_retry_after_may_be_a_date(server: Server) -> None:
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    server.answers = [Answer(503, headers={"Retry-After": past}), good()]
    assert isinstance(ask(server), Completion)
    server.answers = [Answer(503, headers={"Retry-After": "tomorrow"}), good()]
    assert isinstance(ask(server), Completion)


def test_a_server_that_asks_for_too_much_patience_is_not_waited_for(server: Server) -> None:
    server.answers = [Answer(429, headers={"Retry-After": "3600"})]
    assert "answered 429" in failed(server, ServerBusy)
    assert len(server.asked) == 1


def test_a_failing_server_is_asked_so_many_times(server: Server) -> None:
    server.answers = [refusal(500, "out of memory")]
    assert "answered 500 (out of memory). Ask for less" in failed(server, ServerBusy)
    assert len(server.asked) == FAST.attempts


@pytest.mark.parametrize(
    ("answer", "advice"),
    [
        (refusal(401, f"Incorrect API key: {KEY}"), "(Incorrect API key: [key]). Set the server's"),
        (refusal(402), "no credit left"),
        (refusal(403), "may not use this model"),
        (refusal(404, "no model 'tiny'"), "(no model 'tiny'). Check chat.url"),
        (refusal(429, "You have no quota", code="insufficient_quota"), "no credit left"),
        (Answer(302, headers={"Location": "http://127.0.0.1:1/"}), "Redirects are not followed"),
        (Answer(418, b"I am\x1b[31m a\nteapot"), "answered 418 (I am [31m a teapot)"),
        (Answer(400, json.dumps({"error": "too long " * 99}).encode()), "too long to…). See"),
    ],
)
def test_a_refusal_says_what_to_do_and_is_not_repeated(
    server: Server, answer: Answer, advice: str
) -> None:
    server.answers = [answer]
    assert advice in failed(server, ServerRefused)
    assert len(server.asked) == 1


def test_after_a_lasting_refusal_the_rest_is_not_sent(server: Server) -> None:
    server.answers = [refusal(401)]
    limits = Limits(at_once=1)
    replies = ChatClient(server.url, "tiny", "", limits).generate([ASKED] * 5)
    assert [type(reply) for reply in replies] == [ServerRefused] * 5
    assert len(server.asked) == 1


def test_a_refused_prompt_does_not_stop_the_others(server: Server) -> None:
    server.by_prompt = lambda text: refusal(400) if text == "b" else good(text)
    client = ChatClient(server.url, "tiny", "", FAST)
    replies = client.generate([Prompt(t) for t in "abc"])
    assert [getattr(reply, "text", "") for reply in replies] == ["a", "", "c"]


def test_fields_that_a_model_does_not_take_are_left_out(server: Server) -> None:
    def picky(request: dict[str, Any]) -> Answer:
        wrong = [field for field in ("max_tokens", "temperature") if field in request]
        return refusal(400, "unsupported", param=wrong[0]) if wrong else good()

    server.by_request = picky
    client = ChatClient(server.url, "tiny", "", FAST)
    assert [type(reply) for reply in client.generate([ASKED] * 8)] == [Completion] * 8
    assert server.asked[-1]["max_completion_tokens"] == 9
    assert not {"max_tokens", "temperature"} & set(server.asked[-1])


@pytest.mark.parametrize(
    "body",
    [
        b"", b"not json", b"[" * 5000, b"[]", b"null", b'{"choices": []}', b'{"choices": [{}]}',
        b'{"choices": [{"message": {"content": null}}]}', b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": "  "}}]}', b"\xff\xfe",
    ],
)  # fmt: skip
def test_what_is_no_chat_completion(server: Server, body: bytes) -> None:
    server.answers = [Answer(body=body)]
    assert "The reply" in failed(server, BadReply)
    assert len(server.asked) == 1


def test_a_reply_that_is_too_large(server: Server) -> None:
    server.answers = [good("x" * 20_000)]
    assert "more than 10,000 bytes" in failed(server, BadReply)


def test_a_reply_in_another_encoding_is_not_unpacked(server: Server) -> None:
    import gzip

    packed = gzip.compress(good().body)
    server.answers = [Answer(body=packed, headers={"Content-Encoding": "gzip"})]
    failed(server, BadReply)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(body=b"{}", pause=5),
        Answer(body=b"x" * 400, pause=0.05, pieces=400),
        Answer(body=b"x" * 400, pause=0.05, pieces=400, headers={"Content-Length": ""}),
        Answer(before_headers=0.05),
    ],
    ids=["silent", "slow body", "slow body of unknown length", "slow headers"],
)
def test_a_reply_has_its_time_and_no_more(server: Server, answer: Answer) -> None:
    server.answers = [answer]
    began = time.monotonic()
    assert "no whole reply within 0.4 s" in failed(server, ServerUnreachable, Limits(seconds=0.4))
    assert time.monotonic() - began < 3
    assert len(server.asked) == 1


def test_where_nobody_answers() -> None:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    (reply,) = ChatClient(url, "tiny", KEY, FAST).generate([ASKED])
    assert isinstance(reply, ServerUnreachable)
    assert "Is the server running there?" in str(reply)


def test_not_more_requests_at_once_than_allowed(server: Server) -> None:
    def slow(text: str) -> Answer:
        return Answer(body=good(text).body, pause=0.05)

    server.by_prompt = slow
    client = ChatClient(server.url, "tiny", "", Limits(at_once=2))
    replies = client.generate([Prompt(str(n)) for n in range(7)])
    assert [getattr(reply, "text", None) for reply in replies] == [str(n) for n in range(7)]
    assert server.most_busy == 2


def test_proxies_of_the_environment_are_ignored(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert isinstance(ask(server), Completion)


def test_the_key_comes_from_the_environment_and_is_never_shown(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINCITE_CHAT_KEY", f"  {KEY}\n")
    client = ChatClient.from_environment(server.url, "tiny", FAST)
    client.generate([ASKED])
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(client) + client.fingerprint
    assert client.fingerprint == f"tiny@{server.url.removeprefix('http://').removesuffix('/v1')}"


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8080", "ftp://a.example/", "http://", "http://[::1/v1", "",
        "http://me:secret@a.example/v1", "http://a.example/v1?key=secret",
    ],
)  # fmt: skip
def test_addresses_that_are_refused(url: str) -> None:
    with pytest.raises(ConfigError, match=r"chat\.url") as raised:
        ChatClient(url, "tiny")
    assert "secret" not in str(raised.value)


def test_a_key_or_model_that_cannot_be_one() -> None:
    with pytest.raises(ConfigError, match=r"chat\.model is empty"):
        ChatClient("http://a.example/v1", "")
    with pytest.raises(ConfigError, match="characters that no key has"):
        ChatClient("http://a.example/v1", "tiny", "a\nb")


def test_ctrl_c_ends_all_waiting_at_once(server: Server) -> None:
    server.answers = [Answer(body=b"{}", pause=20)]
    client = ChatClient(server.url, "tiny", "", Limits(seconds=30))
    began = time.monotonic()
    server.when_asked(1, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        client.generate([ASKED] * 6)
    assert time.monotonic() - began < 5
    assert len(server.asked) <= 4
