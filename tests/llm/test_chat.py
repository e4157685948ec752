"""The chat client against a server on this machine that says what each test wants."""

import gzip
import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.chat_server import Answer, Server, good, refusal, serving
from support.laws import check_generator
from support.rows import each_row

from pincite import runtime
from pincite.errors import (
    BadReply,
    ConfigError,
    ServerBusy,
    ServerError,
    ServerRefused,
    ServerUnreachable,
)
from pincite.llm.chat import ChatClient, Dialect, Streamed, guidance_fields
from pincite.llm.client import Key, Limits
from pincite.protocols import Completion, Guidance, Prompt, TokenChoice
from pincite.settings import ChatSettings

KEY = "sk-very-secret"
FAST = Limits(seconds=5, first_wait=0.01, longest_wait=0.5, reply_bytes=10_000)
ASKED = Prompt("What is it?", "You guess.", max_tokens=9)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


def ask(server: Server, limits: Limits = FAST, key: str = KEY) -> Completion | ServerError:
    (reply,) = ChatClient(server.url, "tiny", Key(key), limits).generate([ASKED])
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


def test_the_laws_of_a_generator(server: Server) -> None:
    server.by_prompt = lambda text: good(text[::-1])
    check_generator(ChatClient(server.url, "tiny", Key(KEY), FAST), [Prompt(t) for t in "abcdef"])


def test_thoughts_are_not_part_of_the_reply(server: Server) -> None:
    server.answers = [good("<think>Hm,\na bridge?</think>\nA mill")]
    assert ask(server) == Completion("A mill", True, 7, 2)
    server.answers = [good("<think>too long</think>", finish_reason="length")]
    assert "It was cut off: raise max_tokens" in failed(server, BadReply)


def test_too_many_requests_then_a_good_reply(server: Server) -> None:
    server.answers = [Answer(429, headers={"Retry-After": "0.3"}), good()]
    assert isinstance(ask(server), Completion)
    assert server.times[1] - server.times[0] >= 0.3


NO_COMPLETIONS = (
    b"", b"not json", b"[" * 5000, b"[]", b"null", b'{"choices": []}', b'{"choices": [{}]}',
    b'{"choices": [{"message": {"content": null}}]}', b'{"choices": [{"message": null}]}',
    b'{"choices": [{"message": {"content": "  "}}]}', b"\xff\xfe",
)  # fmt: skip
COMPRESSED = Answer(body=gzip.compress(good().body), headers={"Content-Encoding": "gzip"})


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (refusal(401, f"Incorrect key: {KEY}"), ServerRefused, "(Incorrect key: [key]). Set the"),
        (refusal(402), ServerRefused, "no credit left"),
        (refusal(403), ServerRefused, "may not use this model"),
        (refusal(404, "no model 'tiny'"), ServerRefused, "(no model 'tiny'). Check chat.url"),
        (refusal(429, code="insufficient_quota"), ServerRefused, "no credit left"),
        (Answer(302, headers={"Location": "http://127.0.0.1:1/"}), ServerRefused, "Redirects are"),
        (
            Answer(418, b"I am\x1b[31m a\nteapot"),
            ServerRefused,
            "answered 418 (I am [31m a teapot)",
        ),
        (
            Answer(400, b'{"error": "%s"}' % (b"too long " * 99)),
            ServerRefused,
            "too long to…). See",
        ),
        (Answer(429, headers={"Retry-After": "3600"}), ServerBusy, "answered 429"),
        (refusal(500, "out of memory"), ServerBusy, "answered 500 (out of memory). Send less"),
        (good("x" * 20_000), BadReply, "more than 10,000 bytes"),
        (COMPRESSED, BadReply, "The reply"),
        *((Answer(body=body), BadReply, "The reply") for body in NO_COMPLETIONS),
    ],
)
def test_a_failed_request_says_why_and_only_a_failing_server_is_asked_again(
    server: Server, answer: Answer, kind: type[ServerError], said: str
) -> None:
    server.answers = [answer]
    assert said in failed(server, kind)
    assert len(server.asked) == (FAST.attempts if answer.status == 500 else 1)


def test_a_permanent_refusal_stops_the_remaining_requests(server: Server) -> None:
    server.answers = [refusal(401)]
    limits = Limits(at_once=1)
    replies = ChatClient(server.url, "tiny", Key(), limits).generate([ASKED] * 5)
    assert [type(reply) for reply in replies] == [ServerRefused] * 5
    assert len(server.asked) == 1


def test_a_refused_prompt_does_not_stop_the_others(server: Server) -> None:
    server.by_prompt = lambda text: refusal(400) if text == "b" else good(text)
    client = ChatClient(server.url, "tiny", Key(), FAST)
    replies = client.generate([Prompt(t) for t in "abc"])
    assert [getattr(reply, "text", "") for reply in replies] == ["a", "", "c"]


def test_rejected_fields_are_omitted(server: Server) -> None:
    def picky(request: dict[str, Any]) -> Answer:
        wrong = [field for field in ("max_tokens", "temperature") if field in request]
        return refusal(400, "unsupported", param=wrong[0]) if wrong else good()

    server.by_request = picky
    client = ChatClient(server.url, "tiny", Key(), FAST)
    assert [type(reply) for reply in client.generate([ASKED] * 8)] == [Completion] * 8
    assert server.asked[-1]["max_completion_tokens"] == 9
    assert not {"max_tokens", "temperature"} & set(server.asked[-1])


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
def test_a_slow_reply_times_out(server: Server, answer: Answer) -> None:
    server.answers = [answer]
    began = time.monotonic()
    assert "no complete reply within 0.4 s" in failed(
        server, ServerUnreachable, Limits(seconds=0.4)
    )
    assert time.monotonic() - began < 3
    assert len(server.asked) == 1


def test_concurrent_requests_are_limited(server: Server) -> None:
    def slow(text: str) -> Answer:
        return Answer(body=good(text).body, pause=0.05)

    server.by_prompt = slow
    client = ChatClient(server.url, "tiny", Key(), Limits(at_once=2))
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
    client = runtime.clients(ChatSettings(url=server.url, model="tiny"))[""]
    client.generate([ASKED])
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(client) + client.fingerprint
    assert client.fingerprint == f"tiny@{server.url.removeprefix('http://').removesuffix('/v1')}"


@each_row("llm/chat/invalid_addresses_are_refused")
def test_invalid_addresses_are_refused(url: str) -> None:
    with pytest.raises(ConfigError, match=r"chat\.url") as raised:
        ChatClient(url, "tiny")
    assert "secret" not in str(raised.value)


def test_invalid_keys_and_models() -> None:
    with pytest.raises(ConfigError, match=r"chat\.model is empty"):
        ChatClient("http://a.example/v1", "")
    with pytest.raises(ConfigError, match="characters that are not valid in a key"):
        ChatClient("http://a.example/v1", "tiny", Key("a\nb"))


def test_ctrl_c_ends_all_waiting(server: Server) -> None:
    server.answers = [Answer(body=b"{}", pause=20)]
    client = ChatClient(server.url, "tiny", Key(), Limits(seconds=30))
    began = time.monotonic()
    server.when_asked(1, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        client.generate([ASKED] * 6)
    assert time.monotonic() - began < 15, "the server pauses for 20 seconds"
    assert len(server.asked) <= 4


# ── Log probabilities and guided replies ─────────────────────────────────────────────────────────

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
OTHERS_ONLY = {
    "content": [{"token": "B", "logprob": -0.2, "top_logprobs": [{"token": "A", "logprob": -1.7}]}]
}
FOUND = (TokenChoice("B", (("B", -0.2), ("A", -1.7))),)


def asked(server: Server, prompt: Prompt, dialect: Dialect = "openai") -> Completion:
    (reply,) = ChatClient(server.url, "tiny", Key(KEY), FAST, dialect).generate([prompt])
    assert isinstance(reply, Completion), reply
    return reply


@pytest.mark.parametrize(
    ("dialect", "name"), [("vllm", "repetition_penalty"), ("llamacpp", "repeat_penalty")]
)
def test_a_repetition_penalty_is_sent_if_set(server: Server, dialect: Dialect, name: str) -> None:
    server.answers = [good("B")] * 2
    client = ChatClient(server.url, "tiny", Key(KEY), FAST, dialect, 1.1)
    client.generate([Prompt("A or B?")])
    assert server.asked[0][name] == 1.1
    asked(server, Prompt("A or B?"), dialect)
    assert name not in server.asked[1]
    assert client.fingerprint != ChatClient(server.url, "tiny", Key(KEY), FAST, dialect).fingerprint


@pytest.mark.parametrize("layout", [CHAT, OTHERS_ONLY])
def test_log_probabilities_include_the_chosen_token(server: Server, layout: dict[str, Any]) -> None:
    server.answers = [good("B", logprobs=layout)]
    assert asked(server, Prompt("A or B?", top_logprobs=5)).tokens == FOUND
    assert server.asked[0]["logprobs"] is True
    assert server.asked[0]["top_logprobs"] == 5


@each_row("llm/chat/unreadable_log_probabilities_are_dropped")
def test_unreadable_log_probabilities_are_dropped(server: Server, broken: object) -> None:
    server.answers = [good("B", logprobs=broken)]
    reply = asked(server, Prompt("A or B?", top_logprobs=5))
    assert (reply.text, reply.tokens) == ("B", ())


@each_row("llm/chat/guidance_fields_of_each_server")
def test_guidance_fields_of_each_server(
    server: Server, dialect: Dialect, kind: str, fields: dict[str, Any]
) -> None:
    asked(server, Prompt("A or B?", guidance=RULES[kind]), dialect)
    assert {name: server.asked[0].get(name) for name in fields} == fields


def test_unenforced_guidance_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match=r"'regex'.*'openai'.*one of: json, prompted"):
        guidance_fields(RULES["regex"], "openai")
    assert guidance_fields(None, "openai") == {}


def test_a_reply_that_repeats_the_key(server: Server) -> None:
    tokens = [{"token": token, "logprob": -1} for token in ("sk-very", "-secret")]
    server.answers = [good(f"Your key is {KEY}.", logprobs={"content": tokens})]
    reply = asked(server, Prompt("What is my key?", top_logprobs=1))
    assert (reply.text, reply.tokens) == ("Your key is [key].", ())


def test_a_client_is_stopped_from_another_thread(server: Server) -> None:
    server.answers = [Answer(body=b"x" * 300, pieces=300, pause=0.1)]
    client = ChatClient(server.url, "tiny", Key(KEY), Limits(seconds=60))
    server.when_asked(2, client.stop)
    replies = client.generate([Prompt("one"), Prompt("two")])
    assert all(isinstance(reply, ServerUnreachable) for reply in replies)
    (later,) = client.generate([Prompt("three")])
    assert "was stopped" in str(later)
    assert len(server.asked) == 2


# ── Replies in pieces ────────────────────────────────────────────────────────────────────────────

EVENTS = {"Content-Type": "text/event-stream"}


def event(given: object) -> bytes:
    return f"data: {given if isinstance(given, str) else json.dumps(given)}\n\n".encode()


def piece(text: str | None, **more: Any) -> bytes:
    return event({"choices": [{"index": 0, "delta": {"content": text}, **more}]})


END = event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
USAGE = event({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})
DONE = event("[DONE]")


def streamed(*parts: bytes, **more: Any) -> Answer:
    return Answer(body=b"".join(parts), headers=EVENTS, **more)


def got(server: Server, limits: Limits = FAST) -> tuple[list[str], Completion | ServerError]:
    """The pieces, and what ended them."""
    client = ChatClient(server.url, "tiny", Key(KEY), limits)
    *pieces, last = client.stream(Prompt("What is it?"))
    assert not isinstance(last, str)
    assert KEY not in f"{pieces} {last}"
    return [str(each) for each in pieces], last


def test_pieces_then_the_whole(server: Server) -> None:
    first = event({"choices": [{"delta": {"role": "assistant", "content": None}}]})
    comment, ping = b": waiting\n\n", b"event: ping\ndata: {}\n\n"
    server.answers = [
        streamed(
            first, comment, piece("\n A"), ping, piece(" bridge\n"), END, USAGE, DONE, pieces=9
        )
    ]
    assert got(server) == (["A", " bridge"], Completion("A bridge", True, 7, 2))
    assert server.asked[0]["stream"] is True
    assert server.asked[0]["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    ("answer", "pieces", "whole"),
    [
        (
            streamed(piece("A bri", finish_reason="length"), DONE),
            ["A bri"],
            Completion("A bri", False),
        ),
        (streamed(piece("A"), END), ["A"], Completion("A")),  # without [DONE]
        (good("A bridge"), ["A bridge"], Completion("A bridge", True, 7, 2)),  # it does not stream
    ],
)
def test_other_ends_of_a_stream(
    server: Server, answer: Answer, pieces: list[str], whole: Completion
) -> None:
    server.answers = [answer]
    assert got(server) == (pieces, whole)


def broken_off(*parts: object) -> Answer:
    return streamed(
        piece("A"), *(part if isinstance(part, bytes) else event(part) for part in parts)
    )


NO_TEXT = streamed(piece("<think>Hm", finish_reason="length"), DONE)
NO_KEY = {"error": {"message": f"no {KEY}", "code": 401}}


@pytest.mark.parametrize(
    ("answer", "pieces", "kind", "said"),
    [
        (broken_off("{broken"), ["A"], BadReply, "not a chat completion: {broken"),
        (broken_off({"choices": [{"delta": 3}]}), ["A"], BadReply, "not a chat completion"),
        (broken_off(), ["A"], ServerUnreachable, "broke off in the middle of its reply"),
        (broken_off(NO_KEY), ["A"], ServerRefused, "answered 401 (no [key]). Set the server's key"),
        (
            broken_off(b"event: error\n", {"error": {"message": "gone"}}),
            ["A"],
            ServerBusy,
            "answered 500 (gone)",
        ),
        (broken_off(b"data: " + b"x" * 20_000), ["A"], BadReply, "more than 10,000 bytes"),
        (refusal(401, f"Wrong key {KEY}"), [], ServerRefused, "(Wrong key [key])"),
        (streamed(END, DONE), [], BadReply, "has no text"),
        (NO_TEXT, [], BadReply, "raise max_tokens"),
        (replace(COMPRESSED, body=b"", headers=COMPRESSED.headers | EVENTS), [], BadReply, "compr"),
        (Answer(body=b"Hello"), [], BadReply, "not a chat completion: Hello"),
    ],
)
def test_pieces_before_an_error_are_kept_and_not_asked_for_again(
    server: Server, answer: Answer, pieces: list[str], kind: type[ServerError], said: str
) -> None:
    server.answers = [answer]
    before, error = got(server)
    assert (before, type(error)) == (pieces, kind)
    assert said in str(error)
    assert len(server.asked) == 1


def test_a_stream_is_retried_before_its_first_piece(server: Server) -> None:
    busy = streamed(event({"error": {"message": "loading", "code": 503}}))
    server.answers = [refusal(503), busy, streamed(piece("A"), END, DONE)]
    assert got(server) == (["A"], Completion("A"))
    assert len(server.asked) == 3


def test_a_stream_has_one_time_limit(server: Server) -> None:
    server.answers = [streamed(*[piece("A ")] * 50, pieces=50, pause=0.05)]
    pieces, error = got(server, Limits(seconds=0.5))
    assert isinstance(error, ServerUnreachable)
    assert "no complete reply within 0.5 s" in str(error)
    assert len(pieces) < 20


def test_closing_it_ends_the_request(server: Server) -> None:
    server.answers = [streamed(*[piece("A ")] * 90, pieces=90, pause=0.05)]
    stream = ChatClient(server.url, "tiny", Key(KEY), FAST).stream(Prompt("What is it?"))
    assert isinstance(stream, Iterator)
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    server.answers = [streamed(piece("B"), END)]
    assert got(server)[0] == ["B"]


@given(
    st.sampled_from(["", "<think>Hm </think", "<think>a < b</think>\n\n", "\n<think>no end"]),
    st.text(st.sampled_from(f"{KEY[:6]} <>th\n") | st.just("x"), max_size=30),
    st.booleans(),
    st.lists(st.integers(1, 9), min_size=1, max_size=8),
)
def test_chunk_boundaries_do_not_matter(
    before: str, text: str, has_key: bool, sizes: list[int]
) -> None:
    """The pieces together are the reply without thoughts and key, in any cut."""
    sent = before + (text + KEY + text if has_key else text)
    whole, cut, at, n = Streamed(KEY), "", 0, 0
    while at < len(sent):
        size = sizes[n % len(sizes)]
        cut += whole.add({"choices": [{"delta": {"content": sent[at : at + size]}}]})
        at, n = at + size, n + 1
    cut += whole.new_text(whole=True)
    assert KEY not in cut
    at_once = Streamed(KEY)
    shown = at_once.add({"choices": [{"delta": {"content": sent}}]})
    assert cut == shown + at_once.new_text(whole=True)
    if "no end" in before or before.endswith("</think"):
        assert "Hm" not in cut
