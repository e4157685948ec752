"""Another distribution's command is one of `pincite`, by its entry point."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from pincite.cli import cli

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
