"""`pincite check --llm` and EvidenceSeeker: the same statements, documents, encoder and server.

    python research/scripts/compare_seed.py ours --out ours.json
    python research/scripts/compare_seed.py theirs --python OTHER_VENV/bin/python --out theirs.json

OTHER_VENV has EvidenceSeeker; `compare_seed_theirs.py` beside this file runs there. Both sides talk
to one server on loopback, which writes down each call. It answers from a script, 0.1 s a call, or
hands the calls on to a real server (--upstream, --model). For EvidenceSeeker it embeds too, with
our encoder, as a Text Embeddings Inference server does.

A scripted server shows calls, time and failures. It says nothing of how good the answers are.
"""

import argparse
import contextlib
import json
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2

from pincite import runtime
from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.update import ingest
from pincite.errors import PinciteError
from pincite.models import weights
from pincite.settings import Settings
from pincite.verbs.check import build as build_check

DEMO = Path(weights.__file__).parents[1] / "demo" / "check"
DOCUMENTS = DEMO / "documents"
THEIRS = Path(__file__).with_name("compare_seed_theirs.py")
MOST_CALLS = 50_000  # then the server answers no more
NOT = "It is not the case that "
SUPPORTS = re.compile(
    r"^(\w)\W{0,2} .*(?:(?:enough|sufficient) evidence to support| stützt )", re.M
)
NEITHER = re.compile(r"^(\w)\W{0,2} .*(?:neither supports nor contradicts| weder )", re.M)


def main() -> None:
    """Run one side and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("side", choices=["ours", "theirs"])
    parser.add_argument("--python", type=Path, help="the interpreter that has EvidenceSeeker")
    parser.add_argument("--out", type=Path, help="results and calls as JSON")
    parser.add_argument("--repetitions", type=int, default=30)
    parser.add_argument("--probabilities", default="estimate", choices=["estimate", "logprobs"])
    parser.add_argument("--guidance", default="json")
    parser.add_argument("--backend", default="openai", help="EvidenceSeeker's backend_type")
    parser.add_argument("--retrieval", default="hybrid", choices=["hybrid", "windows"])
    parser.add_argument("--at-once", type=int, default=16, help="ours: requests under way")
    parser.add_argument("--max-calls", type=int, default=0, help="ours: then the rest is left")
    parser.add_argument("--top-k", type=int, default=8)
    parser.add_argument("--statements", type=int, default=5, help="the first so many")
    parser.add_argument("--latency", type=float, default=0.1, help="of the scripted server")
    parser.add_argument("--compact", action="store_true", help='it writes {"answer":"A"}')
    parser.add_argument("--layout", default="legacy", choices=["chat", "legacy"])
    parser.add_argument("--unreadable", type=int, default=0, help="its N-th choice is prose")
    parser.add_argument("--upstream", default="", help="a real server, up to /v1")
    parser.add_argument("--model", default="scripted")
    parser.add_argument("--cap", type=int, default=0, help="most tokens of a reply, both sides")
    parser.add_argument("--mend", action="store_true", help="EvidenceSeeker's schema as OpenAI's")
    parser.add_argument("--seconds", type=float, default=1800, help="most, for EvidenceSeeker")
    given = parser.parse_args()
    listed = json.loads((DEMO / "expected.json").read_text(encoding="utf-8"))["statements"]
    statements = [one["statement"] for one in listed][: given.statements]
    with serving(Server(given, statements)) as server:
        run = ours if given.side == "ours" else theirs
        runs = run(given, statements, server)
        found = {"options": vars(given), "runs": runs, "calls": [asdict(c) for c in server.calls]}
    print(json.dumps(summary(runs, server.calls), indent=1, ensure_ascii=False))
    if given.out:
        given.out.write_text(json.dumps(found, indent=1, default=str), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Call:
    """One chat completion, as the server saw it."""

    started: float
    seconds: float
    status: int
    at_once: int  # calls under way when it came, with itself
    n_prompt: int = 0  # tokens; of the scripted server characters / 4
    n_reply: int = 0


class Server(ThreadingHTTPServer):
    """Answers chat completions and embeddings on a free port of loopback, and counts."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, given: argparse.Namespace, statements: Sequence[str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.given = given
        self.script = Script(statements, given)
        self.encoder = runtime.encoder(Settings())
        self.calls: list[Call] = []
        self.requests: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._under_way = 0

    @property
    def url(self) -> str:
        """Without `/v1`."""
        return f"http://127.0.0.1:{self.server_port}"

    def chat(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """A completion, scripted or from upstream; written down."""
        with self._lock:
            self._under_way += 1
            self.requests.append(request)
            at_once, n_calls = self._under_way, len(self.calls)
        started = time.time()
        status: int = 503
        reply: dict[str, Any] = {"error": {"message": "enough calls"}}
        try:
            if n_calls < MOST_CALLS:
                status, reply = self._answered(request)
        finally:
            usage = reply.get("usage") or {}
            n_prompt, n_reply = (int(usage.get(f"{x}_tokens", 0)) for x in ("prompt", "completion"))
            with self._lock:
                self._under_way -= 1
                seconds = round(time.time() - started, 4)
                self.calls.append(Call(started, seconds, status, at_once, n_prompt, n_reply))
        return status, reply

    def _answered(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if not self.given.upstream:
            time.sleep(self.given.latency)
            return 200, self.script.reply(request)
        wanted = request.get("response_format") or {}
        if self.given.mend and wanted.get("type") == "json_schema" and "schema" in wanted:
            wanted = {"name": "reply", "schema": wanted["schema"]}
            request["response_format"] = {"type": "json_schema", "json_schema": wanted}
        if self.given.cap:
            request["max_tokens"] = min(request.get("max_tokens") or self.given.cap, self.given.cap)
        address = f"{self.given.upstream}/chat/completions"
        answer = httpx2.post(address, json=request, timeout=600, trust_env=False)
        return answer.status_code, answer.json()


class Handler(BaseHTTPRequestHandler):
    """`/v1/chat/completions` and `/embed`."""

    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply: Any
        if self.path == "/embed":
            status, reply = 200, self.server.encoder.encode(body["inputs"], "passage").tolist()
        else:
            status, reply = self.server.chat(body)
        content = json.dumps(reply).encode()
        with contextlib.suppress(ConnectionError):  # a client that no longer waits
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on the terminal."""


@contextlib.contextmanager
def serving(server: Server) -> Iterator[Server]:
    """The server answers until the end of the block."""
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class Script:
    """Fixed replies: two readings a descriptive statement, and every text supports each reading."""

    def __init__(self, statements: Sequence[str], given: argparse.Namespace) -> None:
        self._readings = {s: [s, f"According to the records, {s}"] for s in statements}
        self._given = given
        self._n_choices = 0
        self._lock = threading.Lock()

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        """A chat completion."""
        asked = "\n".join(message["content"] for message in request["messages"])
        fields = fields_of(request.get("response_format") or {})
        content, label = "The text was read, and this is what there is to say of it.", ""
        if "claims" in fields:
            content = self._json("claims", self._listed(request["messages"][-1]["content"]))
        elif "answer" in fields:
            content, label = self._choice(asked)
        elif "negation" in fields:
            content = self._json("negation", NOT + self._reading(asked))
        elif not fields and SUPPORTS.search(asked) and NEITHER.search(asked):
            content = self._choice(asked)[1]
        elif "clearly states the negation" in asked:  # EvidenceSeeker's prompt
            content = NOT + self._reading(asked)
        choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
        choice["message"] = {"role": "assistant", "content": content}
        if request.get("logprobs"):
            choice["logprobs"] = self._logprobs(content, label)
        sizes = {"prompt_tokens": len(asked) // 4, "completion_tokens": len(content) // 4}
        sizes["total_tokens"] = sum(sizes.values())
        head = {"id": "scripted", "object": "chat.completion", "created": 0, "model": "scripted"}
        return {**head, "choices": [choice], "usage": sizes}

    def _json(self, field: str, value: Any) -> str:
        return json.dumps({field: value}, separators=(",", ":") if self._given.compact else None)

    def _reading(self, asked: str) -> str:
        """The longest known reading that the prompt holds."""
        known = [text for texts in self._readings.values() for text in texts]
        return max((text for text in known if text in asked), key=len, default="")

    def _listed(self, asked: str) -> list[str]:
        """The readings, if the prompt asks for the type that the statement has."""
        kinds = ("descriptive", "ascriptive", "normative")
        kind = max(kinds, key=lambda word: asked.lower().count(word))
        statement = next((s for s in self._readings if s in asked), "")
        if "should" in statement:
            return [statement] if kind == "normative" else []
        return self._readings.get(statement, []) if kind == "descriptive" else []

    def _choice(self, asked: str) -> tuple[str, str]:
        with self._lock:
            self._n_choices += 1
            unreadable = self._n_choices == self._given.unreadable
        if unreadable:
            return "That is hard to say.", ""
        found = (NEITHER if NOT in asked else SUPPORTS).search(asked)
        label = found[1] if found else "?"
        return self._json("answer", label), label

    def _logprobs(self, content: str, label: str) -> dict[str, Any]:
        """The chosen label 0.9, the two others 0.05 each; everything else is certain."""
        before, _, after = content.rpartition(f'"{label}"') if label else (content, "", "")
        quoted = [before + '"', label, '"' + after] if label else [content]
        tops = [
            {x: -0.105 if x == label else -3.0 for x in ("ABC" if label in "ABC" else "XYZ")}
            if part == label
            else {part: 0.0}
            for part in quoted
        ]
        pairs = list(zip(quoted, tops, strict=True))
        if self._given.layout == "legacy":
            own = [top[part] for part, top in pairs]
            return {"tokens": quoted, "token_logprobs": own, "top_logprobs": tops}
        content_of = [
            {
                "token": part,
                "logprob": top[part],
                "bytes": None,
                "top_logprobs": [
                    {"token": x, "logprob": value, "bytes": None} for x, value in top.items()
                ],
            }
            for part, top in pairs
        ]
        return {"content": content_of}


def fields_of(wanted: dict[str, Any]) -> dict[str, Any]:
    """The properties of the schema that a request asks for, in either place."""
    schema = wanted.get("schema") or wanted.get("value") or {}
    schema = (wanted.get("json_schema") or {}).get("schema") or schema
    found: dict[str, Any] = schema.get("properties", {})
    return found


def ours(given: argparse.Namespace, statements: Sequence[str], server: Server) -> dict[str, Any]:
    """`pincite check --llm`, through the parts that the command is made of."""
    settings = Settings.of(
        interpretation="model",
        confirmation="model",
        chat_url=f"{server.url}/v1",
        chat_model=given.model,
        probabilities=given.probabilities,
        repetitions=given.repetitions,
        guidance=given.guidance,
        retrieval=given.retrieval,
        top_k=given.top_k,
        chat_at_once=given.at_once,
        max_calls=given.max_calls,
    )
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        corpus, started = Path(folder) / "kb", time.time()
        with EmbeddedCorpus.create(corpus, runtime.encoder(settings)) as made:
            ingest(made, [DOCUMENTS])
        indexed = time.time() - started
        for statement in statements:
            started = time.time()
            with build_check.checking(settings, corpus, keep=False) as run:
                ready, error, results = time.time(), "", []
                try:
                    check = run.pipeline.check(statement)
                    results = [
                        {
                            "text": each.reading.text,
                            "kind": str(each.reading.kind),
                            "result": str(each.weight.outcome),
                            "doc": each.weight.doc,
                            "n": each.weight.n_texts,
                            "failed": [
                                asdict(i.outcome) for i in each.items if hasattr(i.outcome, "step")
                            ],
                        }
                        for each in check.results
                    ]
                    error = "; ".join(f.detail for f in check.failures)
                except PinciteError as failure:
                    error = f"{type(failure).__name__}: {failure}"
                usage = asdict(run.calls[0].usage) if run.calls else {}
            one = {"statement": statement, "loaded": ready - started, "started": ready}
            one |= {"ended": time.time(), "error": error, "results": results, "usage": usage}
            runs.append(one)
    return {"indexed": indexed, "statements": runs}


def theirs(given: argparse.Namespace, statements: Sequence[str], server: Server) -> dict[str, Any]:
    """EvidenceSeeker in its own environment, through its Python interface."""
    if given.python is None:
        raise SystemExit("theirs needs --python: the interpreter that has EvidenceSeeker")
    with tempfile.TemporaryDirectory() as folder:
        told = {
            "url": server.url,
            "model": given.model,
            "backend": given.backend,
            "guidance": given.guidance,
            "probabilities": given.probabilities,
            "repetitions": given.repetitions,
            "top_k": given.top_k,
            "documents": [str(p) for p in sorted(DOCUMENTS.iterdir()) if p.suffix != ".csv"],
            "index": folder,
            "statements": list(statements),
        }
        out, err = finished([given.python, THEIRS], json.dumps(told), given.seconds)
    lines = [json.loads(x[8:]) for x in out.splitlines() if x.startswith("RESULT: ")]
    if given.out:
        given.out.with_suffix(".log").write_text(err, encoding="utf-8")
    if not lines:
        raise SystemExit(err[-2000:])
    return {**lines[0], "statements": lines[1:]}


def finished(command: Sequence[str | Path], told: str, seconds: float) -> tuple[str, str]:
    """What a program printed on both streams, also if its time ran out."""
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        try:
            return process.communicate(told, timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            return out, f"{err}\nstopped after {seconds:g} s"


def summary(runs: dict[str, Any], calls: Sequence[Call]) -> dict[str, Any]:
    """Calls and time, a statement and in all."""
    rows = []
    for one in runs["statements"]:
        within = [call for call in calls if one["started"] <= call.started <= one["ended"]]
        rows.append(
            {
                "statement": one["statement"],
                "seconds": round(one["ended"] - one["started"], 2),
                "calls": len(within),
                "bad_status": sum(call.status != 200 for call in within),
                "most_at_once": max((call.at_once for call in within), default=0),
                "prompt_tokens": sum(call.n_prompt for call in within),
                "reply_tokens": sum(call.n_reply for call in within),
                "error": one["error"][-300:],
                "results": [
                    f"{r['result']} ({r['doc']}, {r['n']} texts, {len(r.get('failed', []))} failed)"
                    for r in one["results"]
                ],
            }
        )
    total = {
        key: round(sum(row[key] for row in rows), 2)
        for key in ("seconds", "calls", "bad_status", "prompt_tokens", "reply_tokens")
    }
    return {"indexed": round(runs["indexed"], 2), "statements": rows, "total": total}


if __name__ == "__main__":
    main()
