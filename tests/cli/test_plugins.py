"""What other distributions add by entry points: commands, and workers."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli.check_runs import Run
from click.testing import CliRunner

from pincite.cli import cli, options, shell
from pincite.documents.inputs import Parallel
from pincite.errors import MissingExtra, install_command

MODULE = '''
import click

@click.command()
def command() -> None:
    """Mix paint."""
    click.echo("green")
'''


def test_a_plugins_command_is_listed_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pincite_paint.py").write_text(MODULE)
    about = tmp_path / "pincite_paint-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: pincite-paint\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[pincite.commands]\npaint = pincite_paint:command\n")
    before = CliRunner().invoke(cli, ["paint"])
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "Mix paint." in CliRunner().invoke(cli, ["--help"]).output
    assert CliRunner().invoke(cli, ["paint"]).output == "green\n"
    assert before.exit_code == 2


SPREAD = ("corpus", "add", "other", "kb.jsonl", "--on", "ray")


def test_a_plugins_workers_do_bulk_work(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    @contextmanager
    def opened(workers: int) -> Iterator[Parallel]:
        asked.append(workers)
        yield Parallel()

    point = SimpleNamespace(load=lambda: opened)
    monkeypatch.setattr(options, "entry_points", lambda group, name: [point])
    monkeypatch.setattr(shell, "find_spec", lambda library: library)
    run(*SPREAD)
    run(*SPREAD, "--workers", "3")
    assert asked == [0, 3]


def test_workers_of_a_missing_plugin_are_an_extra_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "find_spec", lambda library: None)
    with pytest.raises(MissingExtra, match=re.escape(install_command("ray"))):
        run(*SPREAD)
    assert not Path("other").exists()
