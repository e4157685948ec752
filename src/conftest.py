"""Doctests read and write nothing of whoever runs them."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
