import json
import shlex
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from pincite import errors
from pincite.errors import install_command

Record = Callable[[object], None]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Record:
    """Set what the installer recorded about Pincite (PEP 610); None: it came from an index."""

    class Recorded(metadata.Distribution):
        def __init__(self, record: object) -> None:
            self.record = record

        def read_text(self, filename: str) -> str | None:
            if filename != "direct_url.json" or self.record is None:
                return None
            return self.record if isinstance(self.record, str) else json.dumps(self.record)

        def locate_file(self, path: object) -> Path:
            return Path(str(path))

    def record(found: object) -> None:
        monkeypatch.setattr(metadata, "distribution", lambda name: Recorded(found))

    return record


def arguments(extra: str = "") -> list[str]:
    python, *rest = shlex.split(install_command(extra))
    assert Path(python).absolute() == Path(sys.executable)
    assert rest[:3] == ["-m", "pip", "install"]
    return rest[3:]


def test_an_extra_of_a_release_is_installed_by_name(installed: Record) -> None:
    installed(None)
    assert arguments("ocr") == ["pincite[ocr]"]
    assert arguments("ray") == ["pincite-cluster[ray]"]
    assert arguments() == ["--force-reinstall", "pincite"]


def test_an_extra_of_a_clone_is_installed_from_the_clone(installed: Record, tmp_path: Path) -> None:
    clone = tmp_path / "my clone"
    for plugin in ("pincite-server", "pincite-study", "pincite-cluster"):
        (clone / "plugins" / plugin).mkdir(parents=True)
    installed({"dir_info": {"editable": True}, "url": clone.as_uri()})
    assert arguments("ocr") == ["-e", f"{clone}[ocr]"]
    assert arguments("train,ocr") == ["-e", f"{clone}[train,ocr]"]
    server = ["-e", f"{clone}/plugins/pincite-server"]  # on no index yet
    assert arguments("study") == [*server, "-e", f"{clone}/plugins/pincite-study"]
    assert arguments("ray") == ["-e", f"{clone}/plugins/pincite-cluster[ray]"]


def test_an_extra_that_the_clone_builds_is_made(installed: Record, tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("help:\n\ttrue\n\nmultilingual: $(X)\n\ttrue\n")
    installed({"dir_info": {"editable": True}, "url": tmp_path.as_uri()})
    assert install_command("multilingual") == f"make -C {tmp_path} multilingual"
    assert arguments("ocr") == ["-e", f"{tmp_path}[ocr]"]


def test_an_extra_of_a_wheel_is_installed_from_the_wheel_and_those_beside_it(
    installed: Record, tmp_path: Path
) -> None:
    wheel = tmp_path / "pincite-0.1.0-py3-none-any.whl"
    installed({"archive_info": {}, "url": wheel.as_uri()})
    assert arguments("ocr") == ["--find-links", f"{tmp_path}", f"{wheel}[ocr]"]
    assert arguments("ray") == ["--find-links", f"{tmp_path}", "pincite-cluster[ray]"]


def test_an_extra_of_a_repository_is_installed_from_its_commit(installed: Record) -> None:
    url = "https://git.example/pincite.git"
    installed({"vcs_info": {"vcs": "git", "commit_id": "abc1"}, "url": url})
    assert arguments("ocr") == [f"pincite[ocr] @ git+{url}@abc1"]
    part = "#subdirectory=plugins/pincite-cluster"
    assert arguments("ray") == [f"pincite-cluster[ray] @ git+{url}@abc1{part}"]


@pytest.mark.parametrize("record", ["", "{", "[]", {"url": 3}])
def test_a_damaged_record_counts_as_a_release(installed: Record, record: object) -> None:
    installed(record)
    assert arguments("ocr") == ["pincite[ocr]"]


def test_without_pip_uv_installs_into_this_python(
    installed: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(None)
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "executable", "/opt/uv/python")
    assert install_command("ocr") == "uv pip install --python /opt/uv/python 'pincite[ocr]'"
