"""The chat client against llama.cpp's own server: the wire, and not what so small a model says."""

from dataclasses import replace

import pytest
from models.llamacpp_server import KEY, NAME, RealServer

from pincite.errors import ServerError, ServerRefused
from pincite.llm import templates
from pincite.llm.chat import ChatClient, Dialect, guidance_for
from pincite.llm.client import Key, Limits
from pincite.protocols import Completion, Prompt

pytestmark = [pytest.mark.train, pytest.mark.xdist_group("real_server")]
ASKED = Prompt("Is a bridge of stone? Answer with A for yes or B for no.", max_tokens=12)


def client(real_server: RealServer, dialect: Dialect = "llamacpp", key: str = KEY) -> ChatClient:
    limits = Limits(seconds=60, first_wait=0.01)
    return ChatClient(real_server.url, NAME, Key(key), limits, dialect)


def said(real_server: RealServer, prompt: Prompt, dialect: Dialect = "llamacpp") -> Completion:
    (reply,) = client(real_server, dialect).generate([prompt])
    assert isinstance(reply, Completion), reply
    return reply


def refused(asking: ChatClient, prompt: Prompt = ASKED) -> ServerError:
    (reply,) = asking.generate([prompt])
    assert isinstance(reply, ServerError), reply
    return reply


@pytest.mark.parametrize("dialect", ["llamacpp", "openai"])
def test_log_probabilities(real_server: RealServer, dialect: Dialect) -> None:
    reply = said(real_server, replace(ASKED, top_logprobs=4), dialect)
    assert "".join(token.token for token in reply.tokens).strip() == reply.text
    for token in reply.tokens:
        assert len(token.top) in (4, 5)  # the alternatives, and what was chosen if it is none
        assert token.token in dict(token.top)
        assert all(logprob <= 0 for _, logprob in token.top)


@pytest.mark.parametrize("kind", ["json", "grammar"])
def test_a_choice_is_one_of_the_labels(real_server: RealServer, kind: str) -> None:
    """As `check` asks: the answer's own token is found, though the server leaves a fence out."""
    rule = guidance_for("json" if kind == "json" else "grammar", "ABC")
    reply = said(real_server, replace(ASKED, guidance=rule, max_tokens=60, top_logprobs=20))
    chosen = templates.parse_label(reply.text, "ABC")
    assert chosen in ("A", "B", "C")
    whole = "".join(token.token for token in reply.tokens)
    assert templates.parse_label(whole, "ABC") == chosen


@pytest.mark.parametrize("key", ["", "sk-of-somebody-else"])
def test_a_wrong_key(real_server: RealServer, key: str) -> None:
    error = refused(client(real_server, key=key))
    assert isinstance(error, ServerRefused)
    assert error.lasting
    assert "(Invalid API Key). Set the server's key in the variable PINCITE_CHAT_KEY." in str(error)


def test_a_stream(real_server: RealServer) -> None:
    prompt = replace(ASKED, max_tokens=16)
    *pieces, whole = client(real_server).stream(prompt)
    assert isinstance(whole, Completion)
    assert "".join(map(str, pieces)) == whole.text
    assert len(pieces) > 3
    assert whole.n_reply_tokens
    assert whole.n_prompt_tokens
    assert whole == said(real_server, prompt)
