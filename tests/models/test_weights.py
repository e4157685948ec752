"""Where models are found, and how they come from a server that speaks the hub's protocol."""

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from support.rows import each_row

from pincite.errors import ConfigError, MissingModel, install_command
from pincite.models import weights


def test_a_folder_is_found_by_its_path_or_in_the_cache_by_its_name(
    tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert weights.locate(str(tiny_encoder)) == tiny_encoder
    monkeypatch.setattr(weights, "cache_folder", lambda: tiny_encoder.parent)
    assert weights.locate(tiny_encoder.name) == tiny_encoder


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("nothing", "pincite models fetch ORGANISATION/NAME"),
        ("org/name", "pincite models fetch org/name"),
        ("bespokelabs/Bespoke-MiniCheck-7B", "bespoke-minicheck@http"),
        ("ibm-granite/granite-guardian-3.3-8b", "NAME@URL"),
        (weights.RERANKER, "make reranker"),
        (weights.ENCODER, re.escape(install_command())),
        (weights.MULTILINGUAL, re.escape(install_command("multilingual"))),
    ],
)
def test_a_missing_model_names_the_command_to_run(
    name: str, command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path))
    monkeypatch.setattr(weights, "PACKAGE", tmp_path)
    monkeypatch.setattr(weights, "entry_points", lambda group, name: [])
    with pytest.raises(MissingModel, match=command):
        weights.locate(name)


def test_other_packages_bring_models(tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("elsewhere", "somewhere:FOLDER", weights.GROUP)
    monkeypatch.setattr(EntryPoint, "load", lambda self: tiny_encoder)
    monkeypatch.setattr(weights, "entry_points", lambda group, name: [point])
    assert weights.locate("elsewhere") == tiny_encoder


@pytest.mark.parametrize("model", [weights.ENCODER, weights.VERIFIER])
def test_the_default_models_are_in_the_package(model: str) -> None:
    folder = weights.locate(model)
    assert folder.is_relative_to(weights.PACKAGE)
    assert (folder / "README.md").is_file()
    assert sum(path.stat().st_size for path in folder.iterdir()) < 40e6


def test_the_fingerprint_tells_weights_apart(tiny_encoder: Path, tiny_verifier: Path) -> None:
    first = weights.fingerprint(tiny_encoder)
    assert first.startswith("tiny-encoder@")
    assert len(first.split("@")[1]) == 12
    assert first.split("@")[1] != weights.fingerprint(tiny_verifier).split("@")[1]


def test_only_hub_ids_are_fetched() -> None:
    with pytest.raises(ConfigError, match="ORGANISATION/NAME"):
        weights.fetch("../somewhere")


# ── The hub ───────────────────────────────────────────────────────────────────────────────────────

REPOSITORY = "varde/tiny-encoder"
MINICHECK = "lytang/MiniCheck-RoBERTa-Large"
HHEM = "vectara/hallucination_evaluation_model"
COMMIT = "0" * 40


class Hub(BaseHTTPRequestHandler):
    files: dict[str, dict[str, bytes]]  # by repository and name

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        repository, _, name = self.path.removeprefix("/").partition("/resolve/main/")
        repository = "/".join(repository.removeprefix("api/models/").split("/")[:2])
        files = self.files.get(repository, {})
        if self.path.startswith("/api/models/") and files:
            named = [{"rfilename": name} for name in files]
            self._send(json.dumps({"id": repository, "siblings": named}).encode(), body)
        elif name in files:
            self._send(files[name], body)
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.end_headers()

    def _send(self, content: bytes, body: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def endpoint(tiny_encoder: Path) -> Iterator[str]:
    about = {
        "tokenizer.json": (tiny_encoder / "tokenizer.json").read_bytes(),
        "config.json": b"{}",
        "README.md": b"A card.",
    }
    Hub.files = {
        REPOSITORY: {**about, "onnx/model.onnx": (tiny_encoder / "model.onnx").read_bytes()},
        MINICHECK: {**about, "model.safetensors": b"weights", "modeling.py": b"raise SystemExit"},
        HHEM: {"config.json": b"{}", "model.safetensors": b"weights"},
        "google/flan-t5-base": {**about, "model.safetensors": b"of no use here"},
        "lytang/MiniCheck-DeBERTa-v3-Large": {**about, "pytorch_model.bin": b"a pickle"},
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def pincite(home: Path, endpoint: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(home / "hf"),
        "PINCITE_CACHE": str(home / "cache"),
    }
    command = [sys.executable, "-m", "pincite", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=home)


def fetched(home: Path, endpoint: str, model: str) -> Path:
    done = pincite(home, endpoint, "models", "fetch", model)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def test_a_hub_model_is_fetched_and_then_found(tmp_path: Path, endpoint: str) -> None:
    (tmp_path / "pincite.toml").write_text(f"models.encoder = '{REPOSITORY}'")
    before = pincite(tmp_path, endpoint, "doctor")
    assert before.returncode == 6
    assert f"pincite models fetch {REPOSITORY}" in before.stdout
    folder = fetched(tmp_path, endpoint, REPOSITORY)
    assert folder == tmp_path / "cache" / "models" / REPOSITORY
    assert (folder / "model.onnx").read_bytes() == Hub.files[REPOSITORY]["onnx/model.onnx"]
    assert "tiny-encoder@" in pincite(tmp_path, endpoint, "doctor").stdout


@each_row("models/hub/an_encoder_is_used_as_its_repository_says")
def test_an_encoder_is_used_as_its_repository_says(
    tmp_path: Path,
    endpoint: str,
    repository: str,
    pooling: str,
    prompts: dict[str, str],
    prefix: dict[str, str],
) -> None:
    modes = {f"pooling_mode_{each}": each == pooling for each in ("cls_token", "mean_tokens")}
    said = {
        "1_Pooling/config.json": {"word_embedding_dimension": 32, **modes},
        "sentence_bert_config.json": {"max_seq_length": 128},
        "config_sentence_transformers.json": {"prompts": prompts},
    }
    about = {name: json.dumps(values).encode() for name, values in said.items()}
    Hub.files[repository] = Hub.files[REPOSITORY] | about
    card = json.loads((fetched(tmp_path, endpoint, repository) / "pincite.json").read_text())
    assert card == {"pooling": pooling.partition("_")[0], "prefix": prefix, "max_tokens": 128}
    added = pincite(
        tmp_path, endpoint, "corpus", "add", "kb", str(tmp_path / "hf"), "--encoder", repository
    )
    assert added.returncode == 5, added.stderr  # some of the hub's files are no documents


def test_an_encoder_that_pools_otherwise_is_refused(tmp_path: Path, endpoint: str) -> None:
    pooling = {"pooling_mode_lasttoken": True, "pooling_mode_mean_tokens": False}
    about = {"1_Pooling/config.json": json.dumps(pooling).encode()}
    Hub.files["varde/last"] = Hub.files[REPOSITORY] | about
    failed = pincite(tmp_path, endpoint, "models", "fetch", "varde/last")
    assert failed.returncode == 6
    assert "pools by pooling_mode_lasttoken" in failed.stderr
    assert "NAME@URL" in failed.stderr


@pytest.mark.parametrize("reachable", [True, False], ids=["broken", "no-network"])
def test_a_hub_that_does_not_answer(tmp_path: Path, endpoint: str, reachable: bool) -> None:
    """One message: what happened, what was expected, what to do; and no half-full folder."""
    Hub.files["varde/broken"] = {"onnx/model.onnx": b"network", "config.json": b"not JSON"}
    nobody = "http://127.0.0.1:9"
    failed = pincite(tmp_path, endpoint if reachable else nobody, "models", "fetch", "varde/broken")
    assert failed.returncode == 6
    (line,) = failed.stderr.splitlines()
    assert line.startswith("pincite: varde/broken could not be fetched")
    assert "Expected a network" in line
    assert str(tmp_path / "cache" / "models" / "varde" / "broken") in line
    assert not (tmp_path / "cache").exists()


def test_a_public_verifier_is_fetched_as_safetensors_and_nothing_else_of_it(
    tmp_path: Path, endpoint: str
) -> None:
    names = {path.name for path in fetched(tmp_path, endpoint, MINICHECK).iterdir()}
    assert names - {".cache"} == {"config.json", "tokenizer.json", "model.safetensors"}
    made_of = fetched(tmp_path, endpoint, HHEM) / "foundation"
    names = {path.name for path in made_of.glob("*.*") if path.is_file()}
    assert names == {"config.json", "tokenizer.json"}
    (tmp_path / "pincite.toml").write_text(f"models.verifier = '{MINICHECK}'")
    assert "MiniCheck-RoBERTa-Large@" in pincite(tmp_path, endpoint, "doctor").stdout


def test_of_a_public_verifier_the_onnx_file_that_was_measured_is_fetched(
    tmp_path: Path, endpoint: str
) -> None:
    names = ["onnx/model.onnx", "onnx/model_quantized.onnx", "model.safetensors"]
    files = {name: name.encode() for name in names}
    Hub.files["cross-encoder/nli-deberta-v3-base"] = {"config.json": b"{}", **files}
    folder = fetched(tmp_path, endpoint, "cross-encoder/nli-deberta-v3-base")
    assert {path.name for path in folder.iterdir()} == {"config.json", "model.onnx"}
    assert (folder / "model.onnx").read_bytes() == b"onnx/model.onnx"
