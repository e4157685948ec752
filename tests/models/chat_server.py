"""A chat server on this machine that says what a test wants, and remembers what it was asked."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    """What the server sends: status, headers, the body in pieces with a pause before each."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0
    pieces: int = 1
    before_headers: float = 0.0  # seconds between the letters of the status line


def good(text: str = "A bridge", **more: Any) -> Answer:
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"} | more
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    return Answer(body=json.dumps({"choices": [choice], "usage": usage}).encode())


def refusal(status: int, message: str = "no", **more: Any) -> Answer:
    return Answer(status, json.dumps({"error": {"message": message, **more}}).encode())


@dataclass
class Server:
    """Answers in order, the last one again and again; remembers what it was asked."""

    url: str = ""
    answers: list[Answer] = field(default_factory=lambda: [good()])
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    by_prompt: Callable[[str], Answer] | None = None
    by_request: Callable[[dict[str, Any]], Answer] | None = None
    under_way: set[BaseHTTPRequestHandler] = field(default_factory=set)
    most_busy: int = 0
    end: Callable[[], None] = lambda: None  # nobody listens from then on

    def when_asked(self, n: int, act: Callable[[], None]) -> None:
        """Do something in another thread once `n` requests are there."""

        def wait() -> None:
            while len(self.asked) < n:
                time.sleep(0.01)
            act()

        threading.Thread(target=wait, daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler) -> Answer:
        size = int(handler.headers.get("content-length", 0))
        request = json.loads(handler.rfile.read(size))
        with self.lock:
            self.asked.append(request)
            self.headers.append({k.lower(): v for k, v in handler.headers.items()})
            self.paths.append(handler.path)
            self.times.append(time.monotonic())
            if self.by_request:
                return self.by_request(request)
            if self.by_prompt:
                return self.by_prompt(request["messages"][-1]["content"])
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Handler(BaseHTTPRequestHandler):
    state: Server

    def do_POST(self) -> None:
        state = self.state
        answer = state.answer(self)
        with state.lock:
            state.under_way.add(self)
            state.most_busy = max(state.most_busy, len(state.under_way))
        try:
            self.send(answer)
        except OSError:
            self.close_connection = True  # the client went away, as it should
        finally:
            self.over()

    def over(self) -> None:
        with self.state.lock:
            self.state.under_way.discard(self)

    def send(self, answer: Answer) -> None:
        if answer.before_headers:
            for letter in "HTTP/1.1 200 OK\r\nX-Slow: " + "x" * 200:
                self.wfile.write(letter.encode())
                self.wfile.flush()
                time.sleep(answer.before_headers)
        self.send_response(answer.status)
        for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        size = len(answer.body)
        step = -(-size // answer.pieces) or 1
        for start in range(0, size, step):
            time.sleep(answer.pause)
            if start + step >= size:
                self.over()  # before the client hears the end, which may ask again at once
            self.wfile.write(answer.body[start : start + step])
            self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Http(ThreadingHTTPServer):
    request_queue_size = 128  # of 5, the usual, a client with many calls at once waits for seconds


@contextmanager
def serving(port: int = 0) -> Iterator[Server]:
    """A server that runs until the block ends, at a free port or at this one."""
    state = Server()
    bound = type("Bound", (Handler,), {"state": state})
    with Http(("127.0.0.1", port), bound) as http:
        http.daemon_threads = True
        thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        state.url = f"http://127.0.0.1:{http.server_address[1]}/v1"

        def end() -> None:
            http.shutdown()
            http.server_close()

        state.end = end
        yield state
        end()
        thread.join()
