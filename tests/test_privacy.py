"""No verb looks up a name, or writes outside Pincite's folders, on its own or by a library."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.scans import as_bytes, scan

import pincite

ARTICLE = (
    "The mill of Varde closed in 1934.<ref>{{cite web |url=https://a.example/ |title=M}}</ref>"
)
PAGE = {"url": "https://a.example/", "title": "Mill", "text": "The mill of Varde closed in 1934."}
RUNS = {
    "verify": ["verify", "article.wiki", "--sources", "pages", "--corpus", "kb", "--json", "out"],
    "check": ["check", "The mill of Varde closed in 1934.", "--corpus", "kb", "--json", "out"],
    "ask": ["ask", "When did the mill of Varde close?", "--corpus", "kb", "--json", "out"],
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/pages.jsonl").write_text(json.dumps(PAGE))
    (tmp_path / "article.wiki").write_text(ARTICLE)
    for name in ("home", "cache", "data", "config", "tmp"):
        (tmp_path / name).mkdir()
    run(tmp_path, ["corpus", "add", "kb", "pages/pages.jsonl"])
    return tmp_path


def run(place: Path, arguments: list[str], *before: str) -> None:
    own = {
        "HOME": "home",
        "XDG_CACHE_HOME": "cache",
        "XDG_DATA_HOME": "data",
        "XDG_CONFIG_HOME": "config",
        "TMPDIR": "tmp",
    }
    environment = {key: value for key, value in os.environ.items() if key not in pincite.SILENCED}
    environment |= {key: str(place / folder) for key, folder in own.items()}
    command = [*before, sys.executable, "-m", "pincite", *arguments]
    found = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def traced(place: Path, arguments: list[str]) -> list[str]:
    """Return the calls of a run that reach for the network, loopback included."""
    calls = place / "calls"
    run(place, arguments, "strace", *"-f -qq -e trace=connect,sendto -o".split(), str(calls))
    lines = calls.read_text().splitlines()
    calls.unlink()
    return [line for line in lines if "AF_INET" in line]


def written(place: Path, *own: str) -> list[str]:
    """Return the files of a run outside its own and Pincite's folders."""
    files = (str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())
    own = (*own, "article.wiki", "pages/", "out", "kb/", "cache/pincite/", "data/pincite/")
    return [name for name in files if not name.startswith(own)]


def test_verbs_write_only_below_their_own_folders_and_reach_no_network(place: Path) -> None:
    for arguments in RUNS.values():
        if shutil.which("strace"):
            assert traced(place, arguments) == []
        else:
            run(place, arguments)
        assert written(place) == []


@pytest.mark.ocr
@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_reading_a_picture_reaches_and_writes_nothing_else(place: Path) -> None:
    picture = as_bytes(scan(["The mill of Varde closed in 1934 after a fire."]), "PNG")
    (place / "pages/picture.png").write_bytes(picture)
    assert traced(place, ["corpus", "add", "kb", "pages/picture.png"]) == []
    assert (place / "cache/pincite/scans.sqlite").is_file()
    assert written(place) == []
