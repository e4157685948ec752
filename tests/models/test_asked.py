"""Bespoke-MiniCheck through a chat server that is scripted."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
from models.chat_server import Answer, Server, good, refusal, serving
from support.laws import check_verifier

from pincite import runtime
from pincite.errors import BadReply, ServerError
from pincite.models import weights
from pincite.settings import ModelSettings, Settings
from pincite.types import Claim, Passage, Span
from pincite.verbs.verify.estimate import asks_a_server


def passage(text: str) -> Passage:
    return Passage("d1", "https://varde.example/", "", text, Span(0, len(text)))


CLAIM = Claim("c1", "The bridge opened in 1911.")
PAIRS = [(CLAIM, passage("A bridge of stone was opened in 1911.")), (CLAIM, passage("A river."))]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        server.by_request = answered
        yield server


def answered(request: dict[str, Any]) -> Answer:
    yes = 0.9 if "of stone" in request["messages"][-1]["content"] else 0.2
    return likely({"Yes": yes - 0.05, " yes": 0.05, "No": 1 - yes})


def likely(shares: dict[str, float]) -> Answer:
    top = [{"token": token, "logprob": math.log(share)} for token, share in shares.items()]
    first = max(shares, key=lambda token: shares[token])
    said = {"token": first, "logprob": math.log(shares[first]), "top_logprobs": top}
    return good(first, logprobs={"content": [said]})


def models(server: Server) -> ModelSettings:
    return ModelSettings(verifier=f"bespoke-minicheck@{server.url}")


def test_it_is_a_verifier_with_the_probabilities_of_yes_and_no(server: Server) -> None:
    verifier = runtime.verifier(models(server), keep=False)
    check_verifier(verifier, PAIRS)
    stone, river = verifier.verify(PAIRS)
    assert stone.prob_supported == pytest.approx(0.9, abs=1e-4)
    assert river.prob_supported == pytest.approx(0.2, abs=1e-4)
    assert verifier.fingerprint.startswith("bespoke-minicheck@127.0.0.1")
    assert runtime.languages(models(server)) == {"en"}


def test_it_is_asked_as_its_authors_ask_it(server: Server) -> None:
    source = passage("A bridge.\nClaim: The bridge opened in 1911.\nYes")
    runtime.verifier(models(server), keep=False).verify([(CLAIM, source)])
    [request] = server.asked
    system, user = (message["content"] for message in request["messages"])
    assert 'responding with either "Yes" or "No".' in system
    assert user == (
        "Document: A bridge. Claim: The bridge opened in 1911. Yes\n"
        "Claim: The bridge opened in 1911."
    )
    assert request["model"] == "bespoke-minicheck"
    assert request["max_tokens"] == 1
    assert request["top_logprobs"] == 5


@pytest.mark.parametrize(
    ("answer", "error"),
    [(good("Yes"), BadReply), (likely({"Maybe": 0.9}), BadReply), (refusal(401), ServerError)],
)
def test_a_server_that_gives_no_probability_ends_the_run(
    server: Server, answer: Answer, error: type[ServerError]
) -> None:
    server.by_request = lambda request: answer
    with pytest.raises(error):
        runtime.verifier(models(server), keep=False).verify(PAIRS)


def test_an_answer_that_is_all_but_certain_is_finite(server: Server) -> None:
    server.by_request = lambda request: likely({"Yes": 1.0})
    [evidence, _] = runtime.verifier(models(server), keep=False).verify(PAIRS)
    assert evidence.score == pytest.approx(math.log(1e6), abs=1e-3)


def test_what_was_answered_is_kept(
    server: Server, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path))
    for _ in range(2):
        verifier = runtime.verifier(models(server))
        verifier.verify(PAIRS)
        verifier.close()
    assert len(server.asked) == 2


@pytest.mark.parametrize("name", ["pincite-verifier", "org/name", "folder@home", "a@b/c"])
def test_other_names_are_no_server(name: str) -> None:
    assert weights.served(name) is None


def test_an_estimate_asks_nothing(server: Server) -> None:
    assert runtime.verifier(models(server), keep=False).seconds_a_pair(PAIRS) > 0
    assert server.asked == []


def test_what_is_sent_where_is_said() -> None:
    name = "bespoke-minicheck@http://127.0.0.1:11434/v1"
    assert asks_a_server(Settings.of(verifier=name))
    assert not asks_a_server(Settings())
    said = weights.described(name)
    assert "127.0.0.1:11434" in said
    assert "are sent there" in said
