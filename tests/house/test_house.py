"""House rules that a reader would otherwise have to check by eye."""

import ast
import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
EVERYTHING = [*SOURCES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "tools").rglob("*.py")]
HEAVY = {
    *("torch transformers peft onnx onnxruntime tokenizers faiss tantivy trafilatura".split()),
    *("pypdfium2 rensa warcio lxml numpy sklearn ir_measures rich jinja2 py3langid".split()),
    *("httpx2", "httpcore2", "protego", "yaml", "fastapi", "sqlalchemy", "pydantic", "uvicorn"),
    *("mcp", "pandas", "IPython"),
    "ray",
}
# One foreign library, one file: elsewhere it is spoken of in Pincite's own terms. Training is made
# of torch and its kin, so they have that room ("training/"), and of all other files only those that
# run a model as it was trained: our title generators, and the public verifiers.
HOMES = {
    "torch": {"training/", "models/titles.py", "models/transformer.py"},
    "transformers": {"training/", "models/titles.py", "models/transformer.py"},
    "safetensors": {"training/", "models/transformer.py"},
    "peft": {"training/answerer/adapters.py"},
    "onnx": {"training/"},
    "onnxruntime": {"models/session.py", "training/bert_onnx.py"},
    "tokenizers": {"models/session.py", "training/network.py"},
    "huggingface_hub": {"models/weights.py"},
    "httpx2": {"llm/chat_wire.py"},
    "httpcore2": {"web/wire.py"},
    "idna": {"web/addresses.py"},
    "protego": {"web/robots.py"},
    "tantivy": {"corpus/lexical.py"},
    "faiss": {"corpus/dense.py"},
    "filelock": {"corpus/lock.py"},
    "publicsuffixlist": {"judgement/reliability.py"},
    "rensa": {"retrieval/copies.py"},
    "sentencex": {"text/sentences.py"},
    "trafilatura": {"documents/html/page.py"},
    "pypdfium2": {"documents/pdf/worker.py"},
    "yaml": {"settings/seed_yaml.py", "report/yaml_text.py"},
    "ray": {"library/parallel.py"},
    "lxml": {"documents/html/markup.py", "documents/xml/records.py", "wiki/dump.py"},
    "warcio": {"documents/warc.py"},
    "py3langid": {"documents/language.py"},
    "jinja2": {"report/templates.py"},
    "sklearn": {"evaluation/measures.py"},
    "ir_measures": {"evaluation/measures.py"},
    "matplotlib": {"evaluation/plots.py"},
    "statsmodels": {"evaluation/agreement.py"},
    "krippendorff": {"evaluation/agreement.py"},
    # The server is made of these, as training is of torch.
    "fastapi": {"server/"},
    "starlette": {"server/"},
    "pydantic": {"server/", "contract/codec.py"},
    "sqlalchemy": {"server/"},
    "alembic": {"server/"},
    "argon2": {"server/people/passwords.py"},
    "authlib": {"server/people/oauth.py"},
    "uvicorn": {"server/serving.py"},
    "mcp": {"mcp/server.py"},
    "mcp_types": {"mcp/server.py"},
    "pandas": {"api.py"},
    "IPython": {"notebook.py"},
    "langchain_core": {"adapters/langchain.py"},
    "prometheus_client": {"server/operation/metrics.py"},
    "python_multipart": {"server/library/multipart.py"},
}


# One worker reads all sources, once.
one_worker = pytest.mark.xdist_group("house_sources")


@functools.cache
def names_in(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """First names of the modules that a file imports, anywhere in it; plain names that it calls."""
    found: set[str] = set()
    called: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func.id)
    return frozenset(found), frozenset(called)


def imported(path: Path) -> frozenset[str]:
    return names_in(path)[0]


def test_no_file_is_over_500_lines() -> None:
    long = [p for p in EVERYTHING if len(p.read_text(encoding="utf-8").splitlines()) > 500]
    assert long == []


@pytest.mark.parametrize("module", ["pincite", "pincite.types", "pincite.cli", "pincite.errors"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, json, {module}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(json.loads(done.stdout))
    assert done.stderr == ""


@one_worker
@pytest.mark.parametrize("library", HOMES)
def test_a_foreign_library_has_one_home(library: str) -> None:
    package = ROOT / "src" / "pincite"
    users = {str(p.relative_to(package)) for p in SOURCES if library in imported(p)}
    rooms = {home for home in HOMES[library] if home.endswith("/")}
    in_rooms = {user for user in users if any(user.startswith(room) for room in rooms)}
    assert users - in_rooms == HOMES[library] - rooms
    assert rooms == {room for room in rooms if any(user.startswith(room) for user in in_rooms)}


@one_worker
def test_no_pickle_no_eval() -> None:
    assert [p for p in SOURCES if imported(p) & {"pickle", "marshal", "shelve", "dill"}] == []
    assert [p for p in SOURCES if names_in(p)[1] & {"eval", "exec", "__import__"}] == []


def test_there_is_no_utils_module() -> None:
    assert not [p for p in SOURCES if p.stem in ("utils", "helpers", "misc", "common")]


def test_everything_shipped_is_in_the_package() -> None:
    package = ROOT / "src" / "pincite"
    pages = "report.html.j2 report.css check.html.j2 check.css check.md.j2 ask.html.j2 ask.css"
    for name in f"{pages} ask.md.j2".split():
        assert (package / "report" / name).is_file()
    for name in ("verbs/verify/report", "verbs/check/check", "verbs/ask/ask"):
        assert (package / f"{name}.schema.json").is_file()
    for name in ("en/options.txt", "de/negate_claim.txt", "de/answer_question.txt"):
        assert (package / "llm" / "prompts" / name).is_file()
    assert (package / "demo" / "article.wiki").is_file()
    assert (package / "demo_check" / "documents" / "sources.csv").is_file()
    shipped = package / "models" / "weights_data" / "pincite-verifier"
    for name in ("model.onnx", "tokenizer.json", "pincite.json", "calibration.json", "README.md"):
        assert (shipped / name).is_file()


VERBS = ("verify", "check", "ask")


@pytest.fixture
def without(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """The package without the folder of a verb, as an environment that finds it first."""

    def made(verb: str) -> dict[str, str]:
        package, copy = ROOT / "src" / "pincite", tmp_path / "pincite"
        (copy / "verbs").mkdir(parents=True)
        for folder, entries in ((copy, package), (copy / "verbs", package / "verbs")):
            for entry in entries.iterdir():
                if entry.name not in ("verbs", verb):
                    (folder / entry.name).symlink_to(entry)
        return {**os.environ, "PYTHONPATH": str(tmp_path)}

    return made


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_can_be_deleted(verb: str, without: Callable[[str], dict[str, str]]) -> None:
    others = [
        ".".join(path.with_suffix("").relative_to(ROOT / "src").parts)
        for other in VERBS
        for path in (ROOT / "src" / "pincite" / "verbs" / other).glob("*.py")
        if other != verb and path.stem != "__init__"
    ]
    code = f"import importlib; list(map(importlib.import_module, {others})); import pincite.verbs"
    code += f"; from importlib.util import find_spec; assert not find_spec('pincite.verbs.{verb}')"
    subprocess.run([sys.executable, "-c", code], check=True, env=without(verb))


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_the_others_pass_their_tests(verb: str, without: Callable[[str], dict[str, str]]) -> None:
    folders = [str(ROOT / "tests" / other) for other in VERBS if other != verb]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *folders]
    command += ["--ignore", str(ROOT / "tests/verify/test_planted.py")]  # of several verbs
    done = subprocess.run(
        command, cwd=ROOT, env=without(verb), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]
