"""Make a release ready, and tag it: python tools/release.py 0.1.0 [--tag]

It has to be the version of pyproject.toml, have a section of its own in CHANGELOG.md, and stand on
a clean main. Then wheels and source packages are built into dist/, with SHA256SUMS. With --tag the
commit is tagged; pushing the tag (`git push origin v0.1.0`) lets .github/workflows/release.yml
test, build, sign and publish. Nothing is pushed from here.
"""

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("version")
    parser.add_argument("--tag", action="store_true", help="Tag the commit too.")
    given = parser.parse_args()
    if wrong := faults(given.version):
        sys.exit("\n".join(wrong))
    shutil.rmtree(DIST, ignore_errors=True)
    for folder in (ROOT, *sorted((ROOT / "plugins").iterdir())):
        command = [sys.executable, "-m", "build", "--outdir", str(DIST), str(folder)]
        subprocess.run(command, check=True)
    (DIST / "SHA256SUMS").write_text(sums(DIST), encoding="ascii")
    print((DIST / "SHA256SUMS").read_text(encoding="ascii"), end="")
    if given.tag:
        _git("tag", "--annotate", f"v{given.version}", "--message", f"Pincite {given.version}")
        print(f"Tagged. To publish: git push origin v{given.version}")


def faults(version: str) -> list[str]:
    """What keeps this version from being released; each says what to do."""
    found = []
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if stated["project"]["version"] != version:
        found.append(
            f"pyproject.toml says {stated['project']['version']}; expected {version}: change it."
        )
    if notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version) is None:
        found.append(f"CHANGELOG.md has no “## {version} - DATE”: name what changed.")
    if _git("status", "--porcelain"):
        found.append("Something is not committed: commit it, or put it away.")
    if _git("branch", "--show-current") != "main":
        found.append("This is not main: releases are made from there.")
    return found


def notes(changelog: str, version: str) -> str | None:
    """The section of a version, without its heading; None: there is none, or it is empty.

    >>> notes("# Changelog\\n\\n## 0.1.0 - 2026-12-01\\n\\nAll.\\n\\n## 0.0.1 - 2026\\n", "0.1.0")
    'All.'
    """
    head = rf"^## \[?{re.escape(version)}\]? - \d{{4}}-\d\d-\d\d\n"
    found = re.search(rf"{head}(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return (found[1].strip() or None) if found else None


def sums(folder: Path) -> str:
    """A line for each file, as `sha256sum --check` reads them, by name."""
    files = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files
    )


def _git(*words: str) -> str:
    git = shutil.which("git") or sys.exit("git is not installed.")
    done = subprocess.run([git, *words], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


if __name__ == "__main__":
    main()
