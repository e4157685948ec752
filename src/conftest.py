"""Doctests read and write nothing of whoever runs them."""

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """A module without an example is not imported to look for one: some need torch."""
    if collection_path.suffix != ".py":
        return None
    return True if ">>>" not in collection_path.read_text(encoding="utf-8") else None


@pytest.fixture(autouse=True)
def _folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
