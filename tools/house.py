"""How big the project is: counts of files, lines and modules, and ceilings that only go down.

    python tools/house.py --check    fail where a count is above its ceiling in tools/house.json
    python tools/house.py --lower    bring each ceiling down to its count

Only an issue raises a ceiling, as it states: `"lines in src": [61000, "issue 70"]`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
CEILINGS = Path(__file__).with_suffix(".json")
DEMO, VERBS = SRC / "pincite" / "demo", ("verify", "check", "ask")
POST = "modules of server in one POST /api/v1/verify"
TEXT = "The mill is old.<ref>{{cite book |title=Mills}}</ref>"
MODULES = sorted(SRC.rglob("*.py"))


def lines(paths: Iterator[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


RUN = """import sys
from pincite.cli import cli
cli(sys.argv[1:], standalone_mode=False)
print(*(module.__file__ for name, module in sys.modules.items() if name.startswith("pincite.")))
"""
HOMES = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")


def modules_in_runs() -> dict[str, int]:
    """Modules of `pincite` with code that a run of each verb loads, without a model or the web."""
    runs = {
        "corpus": ["corpus", "add", "corpus", f"{DEMO}/check/documents"],
        "verify": ["verify", f"{DEMO}/verify/article.wiki", "--sources", f"{DEMO}/verify/sources"],
        "check": ["check", "Mills grind corn.", "--corpus", "corpus"],
        "ask": ["ask", "What do mills grind?", "--corpus", "corpus"],
    }
    loaded = {}
    with tempfile.TemporaryDirectory() as folder:
        variables = os.environ | dict.fromkeys(HOMES, folder)
        for verb, words in runs.items():
            command = [sys.executable, "-c", RUN, *words, "--quiet"]
            printed = subprocess.check_output(command, cwd=folder, env=variables, text=True)
            files = printed.splitlines()[-1].split()
            loaded[verb] = sum(len(Path(file).read_text().splitlines()) > 1 for file in files)
    return {f"modules that a run of {verb} loads": loaded[verb] for verb in VERBS}


def modules_in_post() -> int:
    """Modules of `pincite_server` of which a function runs while one verification is queued."""
    from fastapi.testclient import TestClient

    from pincite.settings import Settings
    from pincite_server.app import create_app
    from pincite_server.settings import ServerSettings
    from pincite_server.site import open_site

    ran: set[str] = set()
    counting = False

    def note(frame: FrameType, event: str, _: object) -> None:
        if counting and event == "call":
            ran.add(str(frame.f_globals.get("__name__")))

    threading.setprofile(note)
    try:
        with tempfile.TemporaryDirectory() as folder:
            site = open_site(ServerSettings(data=folder), Settings())
            with TestClient(create_app(site), "http://127.0.0.1") as client:
                counting = True
                reply = client.post("/api/v1/verify", json={"text": TEXT, "title": "Mill"})
                counting = False
            site.database.close()
    finally:
        threading.setprofile(None)
    if reply.status_code != 202:
        raise SystemExit(f"POST /api/v1/verify: {reply.status_code} {reply.text}")
    return len({name for name in ran if name.startswith("pincite_server")})


def counts() -> dict[str, int]:
    """What has a ceiling, by name."""
    pages = (ROOT / "docs").glob("*.md")
    src, tests = lines(iter(MODULES)), lines((ROOT / "tests").rglob("*.py"))
    return {
        "files in src": len(MODULES),
        "lines in src": src,
        "lines in src, plugins included": src + lines(ROOT.glob("plugins/*/src/**/*.py")),
        "lines in tests": tests,
        "lines in tests, plugins included": tests + lines(ROOT.glob("plugins/*/tests/**/*.py")),
        "scripts in tools": len([*(ROOT / "tools").glob("*.py")]),
        "lines in tools": lines((ROOT / "tools").glob("*.py")),
        "words in docs": sum(len(page.read_text(encoding="utf-8").split()) for page in pages),
        **modules_in_runs(),
        POST: modules_in_post(),
    }


def limit_of(entry: Any) -> tuple[int, str]:
    """Return the ceiling of an entry of `house.json`, and the issue that raised it or ""."""
    return tuple(entry) if isinstance(entry, list) else (entry, "")


def main() -> None:
    """Print the table; with an option also compare it with the ceilings, or lower them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail above a ceiling")
    parser.add_argument("--lower", action="store_true", help="write lower ceilings")
    given = parser.parse_args()
    entries: dict[str, Any] = json.loads(CEILINGS.read_text(encoding="utf-8"))
    found = counts()
    limits = {name: limit_of(entries.get(name, count)) for name, count in found.items()}
    for name, count in found.items():
        print(f"{name:<45} {count:>7,} of {limits[name][0]:>7,}")
    if given.lower:
        low = {name: (min(found[name], most), issue) for name, (most, issue) in limits.items()}
        written = {name: [most, issue] if issue else most for name, (most, issue) in low.items()}
        CEILINGS.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")
    if given.check and (over := [name for name in found if found[name] > limits[name][0]]):
        sys.exit(f"above the ceiling: {', '.join(over)}")


if __name__ == "__main__":
    main()
