"""Replies in pieces: from a server on this machine, cut wherever it hurts."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.chat_server import Answer, Server, good, refusal, serving

from pincite.completions import Completion, Prompt
from pincite.errors import BadReply, ServerBusy, ServerError, ServerRefused, ServerUnreachable
from pincite.llm.chat import ChatClient, Streamed
from pincite.llm.client import Limits

KEY = "sk-very-secret"
FAST = Limits(seconds=5, first_wait=0.01, longest_wait=0.5, reply_bytes=10_000)
EVENTS = {"Content-Type": "text/event-stream"}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


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
    client = ChatClient(server.url, "tiny", KEY, limits)
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


def test_a_reply_that_was_cut_says_so(server: Server) -> None:
    server.answers = [streamed(piece("A bri", finish_reason="length"), DONE)]
    assert got(server) == (["A bri"], Completion("A bri", False))


def test_a_server_that_says_no_done(server: Server) -> None:
    server.answers = [streamed(piece("A"), END)]
    assert got(server) == (["A"], Completion("A"))


def test_a_server_that_does_not_stream(server: Server) -> None:
    server.answers = [good("A bridge")]
    assert got(server) == (["A bridge"], Completion("A bridge", True, 7, 2))


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (streamed(piece("A"), event("{broken")), BadReply, "no JSON: {broken"),
        (streamed(piece("A"), event("[]")), BadReply, "no chat completion"),
        (streamed(piece("A"), event({"choices": 3})), BadReply, "no chat completion"),
        (streamed(piece("A"), event({"choices": [{"delta": 3}]})), BadReply, "no chat completion"),
        (streamed(piece("A")), ServerUnreachable, "broke off in the middle of its reply"),
        (
            Answer(body=piece("A"), headers={**EVENTS, "Content-Length": "900"}),
            ServerUnreachable,
            "broke off in the middle of its reply",
        ),
        (
            streamed(piece("A"), event({"error": {"message": f"no {KEY}", "code": 401}})),
            ServerRefused,
            "answered 401 (no [key]). Set the server's key",
        ),
        (streamed(piece("A"), event({"error": "out of memory"})), ServerBusy, "(out of memory)"),
        (
            streamed(piece("A"), b"event: error\n", event({"error": {"message": "gone"}})),
            ServerBusy,
            "answered 500 (gone)",
        ),
        (streamed(piece("A"), piece("x" * 20_000)), BadReply, "more than 10,000 bytes"),
        (streamed(piece("A"), *[piece("x" * 200)] * 60), BadReply, "more than 10,000 bytes"),
        (streamed(piece("A"), b"data: " + b"x" * 20_000), BadReply, "more than 10,000 bytes"),
    ],
)
def test_what_came_before_an_error_stays(
    server: Server, answer: Answer, kind: type[ServerError], said: str
) -> None:
    server.answers = [answer]
    pieces, error = got(server)
    assert pieces[0] == "A"
    assert isinstance(error, kind)
    assert said in str(error)
    assert len(server.asked) == 1, "what was shown is not asked for again"


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (refusal(401, f"Wrong key {KEY}"), ServerRefused, "(Wrong key [key])"),
        (streamed(END, DONE), BadReply, "holds no text"),
        (streamed(piece("<think>Hm", finish_reason="length"), DONE), BadReply, "raise max_tokens"),
        (Answer(body=b"", headers={**EVENTS, "Content-Encoding": "gzip"}), BadReply, "compressed"),
        (Answer(body=b"Hello"), BadReply, "no chat completion: Hello"),
    ],
)
def test_an_error_without_a_piece(
    server: Server, answer: Answer, kind: type[ServerError], said: str
) -> None:
    server.answers = [answer]
    pieces, error = got(server)
    assert (pieces, type(error)) == ([], kind)
    assert said in str(error)


def test_before_the_first_piece_it_is_asked_again(server: Server) -> None:
    busy = streamed(event({"error": {"message": "loading", "code": 503}}))
    server.answers = [refusal(503), busy, streamed(piece("A"), END, DONE)]
    assert got(server) == (["A"], Completion("A"))
    assert len(server.asked) == 3


def test_a_field_that_it_does_not_take_is_left_out(server: Server) -> None:
    server.answers = [refusal(400, "no", param="stream_options"), streamed(piece("A"), END)]
    assert got(server) == (["A"], Completion("A"))
    assert "stream_options" not in server.asked[1]


def test_the_whole_reply_has_one_limit_of_time(server: Server) -> None:
    server.answers = [streamed(*[piece("A ")] * 50, pieces=50, pause=0.05)]
    pieces, error = got(server, Limits(seconds=0.5))
    assert isinstance(error, ServerUnreachable)
    assert "no whole reply within 0.5 s" in str(error)
    assert len(pieces) < 20


def test_stopped_from_another_thread(server: Server) -> None:
    server.answers = [streamed(*[piece("A ")] * 50, pieces=50, pause=0.05)]
    client = ChatClient(server.url, "tiny", KEY, FAST)
    stream = client.stream(Prompt("What is it?"))
    next(stream)
    client.stop()
    assert isinstance(list(stream)[-1], ServerUnreachable)


def test_closing_it_ends_the_request(server: Server) -> None:
    server.answers = [streamed(*[piece("A ")] * 90, pieces=90, pause=0.05)]
    stream = ChatClient(server.url, "tiny", KEY, FAST).stream(Prompt("What is it?"))
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
def test_wherever_it_is_cut(before: str, text: str, has_key: bool, sizes: list[int]) -> None:
    """The pieces together are the reply without thoughts and key, in any cut."""
    sent = before + (text + KEY + text if has_key else text)
    whole, cut, at, n = Streamed(KEY), "", 0, 0
    while at < len(sent):
        size = sizes[n % len(sizes)]
        cut += whole.add({"choices": [{"delta": {"content": sent[at : at + size]}}]})
        at, n = at + size, n + 1
    cut += whole.done()
    assert KEY not in cut
    at_once = Streamed(KEY)
    all_of_it = at_once.add({"choices": [{"delta": {"content": sent}}]}) + at_once.done()
    assert cut == all_of_it
    if "no end" in before or before.endswith("</think"):
        assert "Hm" not in cut
