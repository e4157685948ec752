"""House rules that a reader would otherwise have to check by eye."""

import ast
import functools
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *ROOT.glob("plugins/*/src/**/*.py")])
HEAVY = {
    *("torch transformers onnx onnxruntime tokenizers faiss tantivy trafilatura".split()),
    *("pypdfium2 rensa warcio lxml numpy sklearn ir_measures rich jinja2 py3langid".split()),
    *("httpx2", "httpcore2", "protego", "yaml", "fastapi", "sqlalchemy", "pydantic", "uvicorn"),
    *("mcp", "pandas", "IPython"),
    "ray",
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


LIGHT = "pincite pincite.types pincite.cli pincite.errors pincite.documents.collection".split()


@pytest.mark.parametrize("module", [*LIGHT, "pincite.corpus.engines", "pincite.corpus.maintenance"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, json, {module}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = HEAVY - {"numpy"} if "corpus" in module else HEAVY
    assert not heavy & set(json.loads(done.stdout))
    assert done.stderr == ""


@one_worker
def test_no_pickle_no_eval() -> None:
    assert [p for p in SOURCES if imported(p) & {"pickle", "marshal", "shelve", "dill"}] == []
    assert [p for p in SOURCES if names_in(p)[1] & {"eval", "exec", "__import__"}] == []


@one_worker
def test_a_plugin_is_imported_only_where_it_is_required() -> None:
    plugins = {path.name: path.parents[1] for path in ROOT.glob("plugins/*/src/pincite_*")}
    assert "pincite_server" in plugins
    for path in SOURCES:
        folder = next((f for f in plugins.values() if path.is_relative_to(f)), ROOT)
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        required = {name.replace("-", "_") for name in project["dependencies"]}
        others = {name for name, place in plugins.items() if place != folder}
        assert imported(path) & others <= required, path
