"""Hostile arguments, outputs and caches that cannot be written: one line, no traceback.

Every command is found from click's tree, so that a new one is tested too.
"""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import click
import pytest
from cli.check_runs import Run, prepare
from cli.test_cli import LEAVES, Main, at
from click.testing import CliRunner, Result

from pincite import errors
from pincite.cli import main, shell
from pincite.errors import PinciteWarning

NOT_UTF8, LONG = "x\udcff", "y" * 300
HOSTILE = (NOT_UTF8, LONG, ".", "file.txt", "file.txt/below")
# These would listen, wait or train: they get hostile paths and nothing that lets them begin.
BEGINS = ("serve", "worker", "mcp", "demo", "learn")


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command through `main`, in a folder with a file, an article and tiny models."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("PINCITE_SERVER_DATA", str(tmp_path / "server"))
    prepare(tmp_path, monkeypatch)
    Path("file.txt").write_text("The old bridge opened in 1911.\n")
    Path("article.wiki").write_text("It opened in 1911.<ref>{{cite book |title=A}}</ref>\n")
    Path("kb.jsonl").write_text(json.dumps({"url": "https://a.example/", "text": "It opened."}))

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(Main(), list(arguments), catch_exceptions=False)  # type: ignore[arg-type]

    return run


def refused_in_one_line(result: Result, given: object) -> None:
    """Done, or a message with an exit code that is neither a bug's nor a crash's."""
    assert result.exit_code in range(10), (given, result.exit_code, result.output)
    assert "Traceback" not in result.stderr, given
    assert not result.exit_code or result.output.strip(), given


def is_path(param: click.Parameter) -> bool:
    return isinstance(param.type, click.Path) or param.type.name == "address"


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_no_hostile_argument_ends_in_a_traceback(path: tuple[str, ...], call: Run) -> None:
    command = at(path)
    wanted = [param for param in command.params if isinstance(param, click.Argument)]
    if path[0] not in BEGINS or any(param.required for param in wanted):
        for hostile in HOSTILE:
            given = [*path, *(hostile for _ in wanted)]
            refused_in_one_line(call(*given), given)
    plain = ["file.txt" for param in wanted]
    for param in command.params:
        if isinstance(param, click.Option) and (is_path(param) or param.name in ("data", "note")):
            for hostile in HOSTILE:
                if path[0] in BEGINS and hostile in (".", NOT_UTF8):
                    continue  # a folder that can be used, or be made
                given = [*path, *plain, param.opts[0], hostile]
                refused_in_one_line(call(*given), given)


def test_a_bug_is_one_line_and_leaves_its_traceback_in_the_log(
    call: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise LookupError("a\x1b[31mb\nc")

    monkeypatch.setattr("pincite.wiki.article.read_articles", broken)
    result = call("claims", "article.wiki")
    assert (result.exit_code, result.stderr.count("\n")) == (shell.BUG, 1)
    assert "\x1b" not in result.stderr
    assert "LookupError" in (tmp_path / "cache" / "last-error.log").read_text()
    assert "Traceback" in call("claims", "article.wiki", "--debug").stderr


def test_a_contained_fault_is_one_line_and_stands_in_the_log(
    call: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(kind: type[Exception]) -> None:
        raise kind

    def articles(*_: object, **__: object) -> list[object]:
        for kind in (LookupError, ArithmeticError):
            errors.attempt(partial(fails, kind), lambda _: None)
        return []

    monkeypatch.setattr("pincite.wiki.article.read_articles", articles)
    result = call("claims", "article.wiki")
    assert (result.exit_code, result.stderr.count("\n")) == (0, 1)
    log = (tmp_path / "cache" / "last-error.log").read_text()
    assert {"LookupError", "ArithmeticError"} <= set(log.split())
    assert "Traceback" in call("claims", "article.wiki", "--debug").stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MemoryError(), shell.UNWRITTEN),
        (OSError(28, "No space left on device"), shell.UNWRITTEN),
        (PermissionError(13, "Permission denied", "f"), shell.UNUSABLE),
        (BrokenPipeError(32, "Broken pipe"), shell.UNUSABLE),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), shell.UNUSABLE),
        (RecursionError("too deep"), shell.BUG),
    ],
)
def test_what_the_system_refuses_has_an_exit_code_of_its_own(
    error: Exception, code: int, call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("pincite.wiki.article.read_articles", broken)
    result = call("claims", "article.wiki")
    assert (result.exit_code, result.stderr.count("\n")) == (code, 1)


PRINTING = [
    ("config", "show"),
    ("doctor",),
    ("cache", "show"),
    ("claims", "article.wiki"),
    ("check", "It opened.", "--corpus", "kb"),
    ("ask", "When did it open?", "--corpus", "kb", "--json", "-"),
    ("verify", "article.wiki", "--corpus", "kb"),
    ("corpus", "status", "kb"),
    ("corpus", "search", "kb", "opened"),
    ("--version",),
]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_or_closed_standard_output_is_one_line(
    call: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("corpus", "add", "kb", "kb.jsonl", "-q").exit_code == 0
    helps = [(*path, "--help") for path in LEAVES]
    for given in (*PRINTING, *helps):
        with Path("/dev/full").open("w") as full, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", full)
            patch.setattr(sys, "argv", ["pincite", *given])
            capsys.readouterr()
            with pytest.raises(SystemExit) as ended:
                main()
            error = capsys.readouterr().err
        assert (ended.value.code, error.count("pincite: ")) == (shell.UNWRITTEN, 1), given


def pincite(*arguments: str | bytes, **more: object) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "pincite", *arguments]
    return subprocess.run(command, capture_output=True, check=False, **more)  # type: ignore[call-overload,no-any-return]


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_streams_of_a_real_process(call: Run) -> None:
    assert call("corpus", "add", "kb", "kb.jsonl", "-q").exit_code == 0
    command = f"{sys.executable} -m pincite"
    closed = subprocess.run(f"{command} config show >&-", shell=True, capture_output=True)
    assert (closed.returncode, closed.stderr.count(b"\n")) == (shell.UNWRITTEN, 1)
    silent = subprocess.run(f"{command} config show 2>&- >&-", shell=True, capture_output=True)
    assert silent.returncode == shell.UNWRITTEN
    piped = f"set -o pipefail; {command} config show | true"
    quiet = subprocess.run(["bash", "-c", piped], capture_output=True, check=False)
    assert (quiet.returncode, quiet.stderr) == (0, b"")
    # UTF-8 in the locale C, where Python takes it for bytes; and bytes that are no UTF-8.
    locale = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0"}
    given = ("corpus", "search", "kb", "--by", "words", "--json")
    done = pincite(*given, "Öpened öpened".encode(), env=locale)
    assert (done.returncode, json.loads(done.stdout)["text"]) == (0, "It opened.")
    assert pincite(*given, b"\xff", env=locale).returncode == 2
    assert pincite("check", b"\xff", "--corpus", "kb").returncode == 2


def test_a_cache_that_cannot_be_written_is_a_warning(
    call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call("corpus", "add", "kb", "kb.jsonl", "-q").exit_code == 0
    monkeypatch.setenv("PINCITE_CACHE", "file.txt/below")
    for given in (("check", "It opened."), ("verify", "article.wiki")):
        with pytest.warns(PinciteWarning):
            assert call(*given, "--corpus", "kb").exit_code == 0
