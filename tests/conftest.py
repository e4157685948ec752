"""Fixtures for all tests: no network, a cache of their own, tiny real models."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from models import llamacpp_server
from models.llamacpp_server import RealServer

WIDTH, LAYERS, HEADS, POSITIONS = 32, 2, 4, 128
WORDS = (
    "[PAD] [UNK] [CLS] [SEP] the bridge opened in 1911 1913 river town old a was it . , by".split()
)
HERE = Path(__file__).parent

# A property is a matter of what holds, never of how fast: the machine may be busy.
settings.register_profile("pincite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pincite")


# They kill and limit processes, or take permissions and links away, by means that Windows lacks.
OF_POSIX = {
    *("corpus/test_full_disk.py", "corpus/test_crash.py"),
    *("corpus/test_maintenance.py", "library/test_private_copies.py", "check/test_results_log.py"),
    *("corpus/test_package.py", "documents/test_collection.py", "documents/test_sandbox.py"),
    *("settings/test_settings.py", "test_portable.py"),
}


# Folders whose tests all bear a marker. A run without it does not import them.
ROOMS = {"mcp": HERE / "clients"}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """True for a folder whose marker the run leaves out; else whatever others say."""
    wanted: str = config.option.markexpr
    left_out = [room for marker, room in ROOMS.items() if f"not {marker}" in wanted]
    left_out += [HERE / name for name in OF_POSIX if find_spec("fcntl") is None]
    return True if collection_path in left_out else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A folder's marker on all that lies in it."""
    for item in items:
        for marker, room in ROOMS.items():
            if item.path.is_relative_to(room):
                item.add_marker(marker)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes by their argument: gzip puts the time into them, and two workers would disagree."""
    return argname if isinstance(val, bytes) else None


def pytest_configure() -> None:
    """A shell starts what runs in its background deaf to Ctrl-C, which some tests press."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Processes that tests start import `support` too.
    paths = (str(HERE), os.environ.get("PYTHONPATH"))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that reaches for the network fails, whatever machine it runs on."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to connect to {address}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def _no_lists_of_the_user(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What whoever runs the tests has imported must not change them."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.getbasetemp() / "no-data"))


@pytest.fixture(autouse=True)
def _no_multilingual_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is installed here must not change what others test."""
    monkeypatch.setattr("pincite.models.weights.multilingual_verifier", lambda: None)
    monkeypatch.setattr("pincite.text.figures.renderer", lambda: None)


def tiny_weights(seed: int = 0, labels: int = 0) -> dict[str, np.ndarray]:
    """A BERT body with random weights under Hugging Face's names."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.3, shape).astype(np.float32)

    weights = {
        "embeddings.word_embeddings.weight": normal(len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": normal(POSITIONS, WIDTH),
        "embeddings.token_type_embeddings.weight": normal(2, WIDTH),
    }
    linear = {"attention.self.query": (WIDTH, WIDTH), "attention.self.key": (WIDTH, WIDTH)}
    linear |= {"attention.self.value": (WIDTH, WIDTH), "attention.output.dense": (WIDTH, WIDTH)}
    linear |= {"intermediate.dense": (64, WIDTH), "output.dense": (WIDTH, 64)}
    names = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        names += [prefix + "attention.output.LayerNorm", prefix + "output.LayerNorm"]
        for name, shape in linear.items():
            weights[f"{prefix}{name}.weight"] = normal(*shape)
            weights[f"{prefix}{name}.bias"] = normal(shape[0])
    for name in names:
        weights[f"{name}.weight"] = np.ones(WIDTH, dtype=np.float32)
        weights[f"{name}.bias"] = np.zeros(WIDTH, dtype=np.float32)
    if labels:
        weights |= {"pooler.dense.weight": normal(WIDTH, WIDTH), "pooler.dense.bias": normal(WIDTH)}
        weights |= {"classifier.weight": normal(labels, WIDTH)}
        weights |= {"classifier.bias": normal(labels)}
    return weights


def run_demo(verb: str, folder: Path, most_work: float) -> str:
    """Run a demo with an empty cache. `most_work`: in seconds of a core, not by the clock."""
    before = os.times().children_user
    command = [sys.executable, "-m", "pincite", "demo", verb, "--out", str(folder)]
    fresh = os.environ | {"PINCITE_CACHE": str(folder / "cache")}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, timeout=240, env=fresh
    )
    assert done.returncode == 0, done.stderr
    assert os.times().children_user - before < most_work
    return done.stdout


def save_tokenizer(tokenizer: Any, folder: Path) -> None:
    from tokenizers import processors

    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))


def write_model(folder: Path, *, labels: int) -> Path:
    """A model folder as `pincite.models` loads it: float network and word-level tokenizer."""
    import onnx
    from tokenizers import Tokenizer, models, pre_tokenizers

    from pincite_lab.training.bert_onnx import build

    folder.mkdir(parents=True)
    onnx.save(build(tiny_weights(labels=labels), HEADS, head=labels > 0), folder / "model.onnx")
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    save_tokenizer(tokenizer, folder)
    (folder / "pincite.json").write_text('{"max_tokens": 64}')
    return folder


@pytest.fixture(scope="session")
def real_server() -> Iterator[RealServer]:
    """llama.cpp's, for tests of the group "real_server", which one worker runs."""
    if not llamacpp_server.model_file():
        pytest.skip(llamacpp_server.MISSING)
    with llamacpp_server.running() as server:
        yield server


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny-encoder", labels=0)


@pytest.fixture(scope="session")
def tiny_verifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny-verifier", labels=3)


@pytest.fixture(scope="session")
def tiny_reranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny-reranker", labels=1)
