"""Without its extras Pincite says what to install, whatever command is called."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from cli.test_cli import LEAVES, at

from pincite.cli import shell
from pincite.errors import install_command

pytestmark = pytest.mark.xdist_group("extras")  # one process: the fixtures are slow

ROOT = Path(__file__).parents[2]
# Runs each command of the list on stdin as `pincite` would, with the extras out of reach.
WITHOUT = """
import contextlib, importlib.machinery, io, json, sys, traceback

class Without(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            return None
        return super().find_spec(name, path, target)

blocked, commands = json.load(sys.stdin)
sys.meta_path = [
    Without if finder is importlib.machinery.PathFinder else finder for finder in sys.meta_path
]
sys.stdin = io.StringIO()
from pincite.cli import main
results = []
for arguments in commands:
    sys.argv = ["pincite", *arguments]
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as end:
            code = end.code
        except BaseException:
            code = "crashed"
            traceback.print_exc()
    results.append([code, said.getvalue()])
print(json.dumps(results))
"""
# What needs an extra by all that is below it.
NEEDS = dict.fromkeys(("init", "serve", "worker", "server"), "server")
NEEDS |= dict.fromkeys(("train", "learn", "eval", "calibrate", "wafer"), "lab")
NEEDS |= {"mcp": "mcp", "study": "study", "watch": "watch", "config import": "evidenceseeker"}
RUNS = {"demo"}  # to its end, for some time; without arguments it asks for no extra's work


def least(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        if not parameter.required:
            continue
        if isinstance(parameter, click.Option):
            yield parameter.opts[0]
        kind = parameter.type
        value = kind.choices[0] if isinstance(kind, click.Choice) else "1"
        yield from [value] * max(1, parameter.nargs)


COMMANDS = [(*path, *least(at(path))) for path in LEAVES if path[0] not in RUNS]


def extra_of(words: tuple[str, ...]) -> str | None:
    return NEEDS.get(" ".join(words[:2]), NEEDS.get(words[0]))


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], tuple[object, str]]:
    """How each command ends without the extras, in an empty folder with files called 1."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "1").write_text("{}")
    blocked = sorted({name for names in shell.LIBRARIES.values() for name in names})
    places = {
        "PINCITE_CACHE": str(folder / "cache"),
        "PINCITE_LIBRARY_OWN_COPIES": str(folder / "own"),
    }
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        input=json.dumps([blocked, COMMANDS]),
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env=os.environ | places | {"HOME": str(folder)},
    )
    results = json.loads(done.stdout.splitlines()[-1])
    return {words: (code, said) for words, (code, said) in zip(COMMANDS, results, strict=True)}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_without_its_extra(
    words: tuple[str, ...], ends: dict[tuple[str, ...], tuple[object, str]]
) -> None:
    code, said = ends[words]
    assert "Traceback" not in said
    assert code != "crashed"
    if extra := extra_of(words):
        assert (code, install_command(extra) in said) == (6, True), said
    elif words != ("doctor",):  # 6 where pincite-multilingual is installed: its library is blocked
        assert code != 6


def test_every_library_of_an_extra_is_known() -> None:
    declared: dict[str, list[str]] = {}
    for folder in (ROOT, ROOT / "plugins" / "pincite-cluster"):
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        declared |= project["optional-dependencies"]
    assert declared.keys() == shell.LIBRARIES.keys()
    provided = importlib.metadata.packages_distributions()
    for extra, requirements in declared.items():
        for requirement in requirements:
            name = re.split(r"[\[><=]", requirement)[0]
            modules = [module for module, by in provided.items() if name in by]
            modules = modules or [name.replace("-", "_")]  # not installed here
            assert set(modules) & set(shell.LIBRARIES[extra]), requirement


@pytest.mark.parametrize("name", ["lxml", "pydantic"])
def test_a_library_of_no_extra_or_that_is_there_and_broken_is_a_bug(name: str) -> None:
    assert shell.missing_extra_of(ImportError("cannot import name 'Nothing'", name=name)) is None
