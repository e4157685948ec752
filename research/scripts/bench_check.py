"""Time of `check` with a language model, one call after another and as many at once as is usual.

The server is one on this machine that replies after a fixed time, so that what is measured is how
well waiting is shared, and not a model: 3 readings, 8 passages each, 100 ms a call. Both ways take
turns, so that what else the machine does meanwhile falls on both.

    python research/scripts/bench_check.py [--rounds 3] [--milliseconds 100]
"""

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pincite.corpus.engines import EmbeddedCorpus
from pincite.models import weights
from pincite.models.session import OnnxEncoder
from pincite.settings import Settings, load
from pincite.types import Document
from pincite.verbs.check import build

READINGS = ["The mill closed in 1934.", "The mill was sold.", "The mill stood by the river."]
STATEMENT = "The mill closed and was sold."
N_PAGES = 40


def reply_to(request: dict[str, Any]) -> dict[str, Any]:
    """What a model might say: it can be told from what the reply must look like."""
    rule = json.dumps(request.get("response_format", ""))
    logprobs: dict[str, Any] | None = None
    if '"claims"' in rule:
        first = "descriptive" in request["messages"][-1]["content"]
        text = json.dumps({"claims": READINGS if first else []})
    elif '"negation"' in rule:
        (denied,) = (each for each in READINGS if each in request["messages"][-1]["content"])
        text = json.dumps({"negation": f"It is not so that {denied}"})
    elif '"answer"' in rule:
        top = [{"token": token, "logprob": -1.1} for token in "ABC"]
        parts = ['{"answer": "', "B", '"}']
        text = "".join(parts)
        content = [{"token": part, "logprob": -0.1, "top_logprobs": top} for part in parts]
        logprobs = {"content": content}
    else:
        text = "The text says something about it."
    choice = {"message": {"content": text}, "finish_reason": "stop", "logprobs": logprobs}
    return {"choices": [choice], "usage": {"prompt_tokens": 400, "completion_tokens": 40}}


@contextmanager
def serving(seconds: float) -> Iterator[str]:
    """The address of a server that takes so long for each reply."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            body = json.dumps(reply_to(request)).encode()
            time.sleep(seconds)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_address[1]}/v1"
        http.shutdown()


def write_corpus(folder: Path) -> None:
    """Invented pages that all have words of the readings."""
    texts = [
        f"The mill number {n} stood by the river {n * 7 % 40}. It closed in {1900 + n} and was "
        f"sold to the family of house {n * 3}."
        for n in range(N_PAGES)
    ]
    pages = [Document(f"https://p{n}.example/", "A mill", text) for n, text in enumerate(texts)]
    with EmbeddedCorpus.create(folder, OnnxEncoder(weights.locate(weights.ENCODER))) as corpus:
        corpus.add(pages)


def measured(settings: Settings, corpus: Path) -> tuple[float, int]:
    """Seconds from the statement to its results, and calls."""
    with build.checking(settings, corpus, keep=False) as run:
        began = time.perf_counter()
        check = run.pipeline.check(STATEMENT)
        seconds = time.perf_counter() - began
        assert run.calls
        n_judged = [len(result.items) for result in check.results]
        assert n_judged == [8, 8, 8], f"expected 3 readings of 8 passages, got {n_judged}"
        assert run.calls[0].usage.n_failed == run.calls[0].usage.n_unreadable == 0
        return seconds, run.calls[0].usage.n_calls


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--milliseconds", type=float, default=100)
    given = parser.parse_args()
    usual = Settings().chat.at_once
    seconds: dict[int, list[float]] = {1: [], usual: []}
    with tempfile.TemporaryDirectory() as folder, serving(given.milliseconds / 1000) as url:
        corpus = Path(folder) / "kb"
        write_corpus(corpus)
        asked = {"chat_url": url, "chat_model": "none", "interpretation": "model"}
        for _ in range(given.rounds):
            for at_once, times in seconds.items():
                settings = load({**asked, "confirmation": "model", "chat_at_once": at_once})
                took, n_calls = measured(settings, corpus)
                times.append(took)
                print(f"{at_once:3} at once: {n_calls} calls in {took:.2f} s", file=sys.stderr)
    serial, together = (statistics.median(times) for times in seconds.values())
    print(f"{n_calls} calls of {given.milliseconds:g} ms, median of {given.rounds} rounds")
    print(f"one after another   {serial:6.2f} s   {1000 * serial / n_calls:.0f} ms a call")
    print(f"{usual} at once          {together:6.2f} s   1/{serial / together:.1f} of it")


if __name__ == "__main__":
    main()
