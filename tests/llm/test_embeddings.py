"""An encoder on a server: what is sent, what of a reply is believed, and a corpus built with it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from models.chat_server import Answer, Server, refusal, serving
from support.check_values import readings
from support.laws import FakeEncoder, check_encoder

from pincite.cli import cli
from pincite.corpus.engines import EmbeddedCorpus
from pincite.errors import BadReply, ServerRefused, ServerUnreachable, StaleCorpus
from pincite.llm.client import EMBEDDING_LIMITS, EMBEDDINGS_KEY_VARIABLE, Key, ServedEncoder
from pincite.types import Document

KEY = "sk-planted-0123456789abcdef"
FAST = replace(EMBEDDING_LIMITS, seconds=5, first_wait=0.01, longest_wait=0.5, attempts=3)
TEXTS = [f"The bridge number {n} of Varde" for n in range(7)]


def vectors_of(texts: list[str], dim: int = 8) -> list[list[float]]:
    """What the scripted model makes of texts: not of length one, which a client sees to."""
    found: list[list[float]] = (3 * FakeEncoder(dim).encode(texts, "query")).tolist()
    return found


def openai(request: dict[str, Any]) -> Answer:
    """In another order than asked, as the indexes say."""
    rows = [{"index": n, "embedding": v} for n, v in enumerate(vectors_of(request["input"]))]
    return Answer(body=json.dumps({"data": rows[::-1], "model": "m"}).encode())


def tei(request: dict[str, Any]) -> Answer:
    return Answer(body=json.dumps(vectors_of(request["inputs"])).encode())


def replying(*rows: Any) -> Callable[[dict[str, Any]], Answer]:
    return lambda request: Answer(body=json.dumps({"data": rows}).encode())


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        found.by_request = openai
        yield found


def encoder(server: Server, **more: Any) -> ServedEncoder:
    key = Key(KEY, EMBEDDINGS_KEY_VARIABLE)
    return ServedEncoder("e5", server.url, key, limits=more.pop("limits", FAST), **more)


def test_a_served_encoder_keeps_the_laws(server: Server) -> None:
    check_encoder(encoder(server))


def test_requests_and_order_of_vectors(server: Server) -> None:
    found = encoder(server, prefixes=("query: ", "passage: "), batch=3).encode(TEXTS, "passage")
    assert sorted(len(request["input"]) for request in server.asked) == [1, 3, 3]
    assert {request["model"] for request in server.asked} == {"e5"}
    sent = [text for request in server.asked for text in request["input"]]
    assert sorted(sent) == sorted(f"passage: {text}" for text in TEXTS)
    assert set(server.paths) == {"/v1/embeddings"}
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    expected = FakeEncoder(8).encode([f"passage: {text}" for text in TEXTS], "passage")
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_an_embed_endpoint_is_asked_in_the_form_of_tei(server: Server) -> None:
    server.by_request = tei
    url = server.url.removesuffix("/v1") + "/embed"
    found = ServedEncoder("bge", url, limits=FAST).encode(TEXTS, "query")
    np.testing.assert_allclose(found, FakeEncoder(8).encode(TEXTS, "query"), atol=1e-6)
    assert server.paths == ["/embed"]
    assert server.asked[0] == {"inputs": TEXTS, "normalize": True, "truncate": True}
    assert "authorization" not in server.headers[0]


def test_the_fingerprint_has_the_model_without_its_address(server: Server) -> None:
    plain = encoder(server)
    assert plain.fingerprint == "e5@server"
    assert ServedEncoder("e5", "http://other.example/v1").fingerprint == plain.fingerprint
    assert encoder(server, prefixes=("query: ", "")).fingerprint.startswith("e5@server-")
    assert not server.asked, "nothing is asked for a fingerprint"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (replying(), "0 vectors for 1 texts"),
        (replying(*[{"embedding": [1.0]}] * 2), "2 vectors for 1 texts"),
        (replying({"index": 1, "embedding": [1.0]}), r"indexes \[1\]"),
        (replying({"index": 0, "embedding": "AAAA"}), "not a list of numbers"),
        (replying({"index": 0, "embedding": []}), "not a list of numbers"),
        (replying({"index": 0, "embedding": [1.0, None]}), "not a list of numbers"),
        (replying({"index": 0, "embedding": [1.0, True]}), "not a list of numbers"),
        (replying({"index": 0, "embedding": [1.0, float("nan")]}), "not finite"),
        (replying({"index": 0, "embedding": [1.0, float("inf")]}), "not finite"),
        (replying({"index": 0, "embedding": [0.0, 0.0]}), "no length"),
        (lambda _: Answer(body=b'{"choices": []}'), "expected a vector"),
        (lambda _: Answer(body=b"<html>"), "<html>"),
        (lambda _: Answer(body=b"[" * 99_999), "expected a vector"),
    ],
)
def test_a_bad_reply_is_not_asked_for_again(
    server: Server, answer: Callable[[dict[str, Any]], Answer], said: str
) -> None:
    server.by_request = answer
    with pytest.raises(BadReply, match=said) as raised:
        encoder(server).encode(["one"], "query")
    assert KEY not in str(raised.value)
    assert len(server.asked) == 1, "a bad reply would be one again"


def test_vectors_of_different_lengths(server: Server) -> None:
    mixed = [{"index": n, "embedding": [1.0] * (n + 1)} for n in range(2)]
    server.by_request = replying(*mixed)
    with pytest.raises(BadReply, match="of 1 and of 2 numbers"):
        encoder(server).encode(["one", "two"], "query")
    growing = iter([4, 5])
    server.by_request = lambda _: replying({"embedding": [1.0] * next(growing)})({})
    of_two = encoder(server)
    of_two.encode(["one"], "query")
    with pytest.raises(BadReply, match="of 4 and of 5 numbers"):
        of_two.encode(["two"], "query")


def test_halves_of_a_rejected_batch_have_vectors_of_one_length(server: Server) -> None:
    def by_length(request: dict[str, Any]) -> Answer:
        texts = request["input"]
        if len(texts) > 1:
            return refusal(413)
        return replying({"embedding": [1.0] * len(texts[0])})({})

    server.by_request = by_length
    with pytest.raises(BadReply, match="of 3 and of 4 numbers"):
        encoder(server).encode(["one", "four"], "query")


def test_a_busy_server_is_retried_and_a_refusal_is_not(server: Server) -> None:
    busy = iter([refusal(429), refusal(503)])
    server.by_request = lambda request: next(busy, None) or openai(request)
    assert encoder(server).encode(["one"], "query").shape == (1, 8)
    assert len(server.asked) == 3
    server.by_request = lambda _: refusal(401, f"no such key: {KEY}")
    with pytest.raises(ServerRefused, match=r"no such key: \[key\].*PINCITE_EMBEDDINGS_KEY"):
        encoder(server).encode(TEXTS, "query")
    assert len(server.asked) == 4


def test_rejected_batches_are_halved(server: Server) -> None:
    """Too many texts in a batch; then a text that is too long, which loses its end."""

    def small(request: dict[str, Any]) -> Answer:
        if len(request["input"]) > 2:
            return refusal(422, "batch size 7 > maximum allowed batch size 2")
        if any(len(text) > 300 for text in request["input"]):
            return refusal(400, "maximum context length is 300")
        return openai(request)

    server.by_request = small
    expected = FakeEncoder(8).encode([*TEXTS, "a " * 128], "query")
    found = encoder(server).encode([*TEXTS, "a " * 512], "query")
    np.testing.assert_allclose(found, expected, atol=1e-6)
    server.by_request = lambda _: refusal(400, "no")
    n_before = len(server.asked)
    with pytest.raises(ServerRefused, match="answered 400"):
        encoder(server).encode(TEXTS, "query")
    assert len(server.asked) - n_before <= 4, "a refusal of everything is soon believed"


# ── In a corpus ──────────────────────────────────────────────────────────────────────────────────


def pages(n: int, start: int = 0) -> list[Document]:
    numbers = range(start, start + n)
    return [Document(f"https://a.example/{i}", f"P{i}", f"Bridge {i} of Varde.") for i in numbers]


def test_a_lost_connection_loses_nothing_that_was_committed(server: Server, tmp_path: Path) -> None:
    with EmbeddedCorpus.create(tmp_path / "kb", encoder(server)) as corpus:
        corpus.add(pages(3))
        server.by_request = lambda _: Answer(
            body=b"{}", headers={"Content-Length": "999"}
        )  # breaks off
        with pytest.raises(ServerUnreachable, match="broke off"):
            corpus.add(pages(3, start=3))
        assert corpus.status().n_documents == 3
    server.by_request = openai
    with EmbeddedCorpus.open(tmp_path / "kb", encoder(server), write=True) as corpus:
        assert corpus.add(pages(6)) == 3
        (hits,) = corpus.dense().retrieve(["P5 Bridge 5 of Varde."], 1)
        assert hits[0].passage.url == "https://a.example/5"


def test_another_model_under_the_same_name_is_refused(server: Server, tmp_path: Path) -> None:
    with EmbeddedCorpus.create(tmp_path / "kb", encoder(server)) as corpus:
        corpus.add(pages(2))

    def of_other_texts(request: dict[str, Any]) -> Answer:
        return openai({"input": [text[::-1] for text in request["input"]]})

    def wider(request: dict[str, Any]) -> Answer:
        rows = [{"index": n, "embedding": [1.0] * 9} for n in range(len(request["input"]))]
        return replying(*rows)({})

    for another in (of_other_texts, wider):
        server.by_request = another
        with EmbeddedCorpus.open(tmp_path / "kb", encoder(server), write=True) as corpus:
            with pytest.raises(StaleCorpus, match="different model under that name"):
                corpus.dense().retrieve(["bridge"], 1)
            with pytest.raises(StaleCorpus, match="different model under that name"):
                corpus.add(pages(1, start=9))
            assert corpus.lexical().retrieve(["bridge"], 1)[0], "words need no encoder"
    server.by_request = openai
    with pytest.raises(StaleCorpus, match=r"'e5@server'.*'e5@server-"):
        EmbeddedCorpus.open(tmp_path / "kb", encoder(server, prefixes=("q: ", "p: ")))


@pytest.fixture
def run(
    server: Server, tmp_path: Path, tiny_verifier: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PINCITE_EMBEDDINGS_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    Path("pincite.toml").write_text(
        f"models.encoder = 'e5@{server.url}'\nmodels.verifier = '{tiny_verifier}'\n"
        "embeddings.passage_prefix = 'passage: '\n"
    )
    lines = [{"url": d.url, "title": d.title, "text": d.text} for d in pages(3)]
    Path("kb.jsonl").write_text("\n".join(map(json.dumps, lines)))

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(cli, list(arguments))

    return call


def test_a_corpus_from_the_command_line(server: Server, run: Callable[..., Result]) -> None:
    added = run("corpus", "add", "kb", "kb.jsonl")
    assert added.exit_code == 0, added.output
    sent = {text for request in server.asked for text in request["input"]}
    assert "passage: P1\nBridge 1 of Varde." in sent
    status = json.loads(run("corpus", "status", "kb", "--json").stdout)
    assert status["encoder"].startswith("e5@server-")
    assert server.url not in json.dumps(status)
    found = run("corpus", "search", "kb", "bridge 2", "--by", "meaning", "--json").stdout
    assert len(found.splitlines()) == 3
    checked = run("check", "Bridge 2 is in Varde.", "--corpus", "kb", "--json", "-", "-q")
    assert checked.exit_code == 0, checked.output
    assert readings(json.loads(checked.stdout))[0]["evidence"]
    assert KEY not in checked.output
