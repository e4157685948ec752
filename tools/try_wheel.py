"""Build the wheel and use it as somebody does who types `pip install pincite`: make wheel

In an environment of its own, with what the core needs and no extra, on this Python and on every
newer one at hand: help, a demo, and what a command says whose extra is missing. Needs a package
index; the commands themselves run without a network where that can be arranged (tools/offline.sh).
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13")
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")
LIMIT_MB = 95  # PyPI takes files up to 100 MB
MISSING = 6  # exit code
BRINGS = {
    **dict.fromkeys(("serve", "worker", "server check"), "pincite-server"),
    **dict.fromkeys(("eval scifact nowhere", "train verifier nowhere"), "pincite-lab"),
    "config import nowhere": "pincite-evidenceseeker",
}


def main() -> None:
    """Build, then try on each Python; the first that goes wrong ends it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--keep", type=Path, help="Folder that the wheel is left in.")
    parser.add_argument("--first", action="store_true", help="Only on the oldest Python at hand.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pincite-wheel-") as scratch:
        wheel = built(given.keep or Path(scratch) / "wheel")
        for n, python in enumerate(islice(pythons(), 1 if given.first else None)):
            tried(python, wheel, Path(scratch) / f"python{n}")


def built(folder: Path) -> Path:
    """The wheel of this working tree, of a size that the package index takes."""
    _run([sys.executable, *PIP, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)])
    (wheel,) = folder.glob("*.whl")
    size = wheel.stat().st_size / 1e6
    print(f"{wheel.name}: {size:.1f} MB")
    if size >= LIMIT_MB:
        sys.exit(f"{wheel.name} has {size:.1f} MB; below {LIMIT_MB} are wanted.")
    return wheel


def pythons() -> Iterator[Path]:
    """One of each version that is on the path or pyenv's and starts, the oldest first."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in VERSIONS:
        on_path = shutil.which(f"python{version}")
        places = [*([Path(on_path)] if on_path else []), *pyenv.glob(f"{version}.*/bin/python")]
        found = next((place for place in places if _starts(place)), None)
        if found:
            yield found
        else:
            print(f"python{version} is not at hand: left out")


def tried(python: Path, wheel: Path, folder: Path) -> None:
    """Install the wheel for one Python and run it; the folder is removed."""
    begun = time.perf_counter()
    environment = folder / "environment"
    _run([str(python), "-m", "venv", str(environment)])
    tested = ["--constraint", str(ROOT / "constraints.txt")]
    _run([str(environment / "bin" / "python"), *PIP, "install", *tested, str(wheel)])
    installed = time.perf_counter()
    for words in ("--help", "demo --check --quiet"):
        expect(folder, words, 0)
    for words, plugin in BRINGS.items():
        expect(folder, words, MISSING, plugin)
    took = f"installed in {installed - begun:.0f} s, tried in {time.perf_counter() - installed:.0f}"
    print(f"{python}: {took} s: all as expected")
    shutil.rmtree(folder)


def expect(folder: Path, words: str, code: int, said: str = "") -> None:
    """Run `pincite` with these words in the folder; say all and stop where it ends otherwise."""
    places = {"HOME": str(folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    pincite = folder / "environment" / "bin" / "pincite"
    done = subprocess.run(
        [str(ROOT / "tools" / "offline.sh"), str(pincite), *words.split()],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=places,  # of nothing else: no PYTHONPATH leads to the source
    )
    told = done.stdout + done.stderr
    if done.returncode != code or said not in told or "Traceback (most recent" in told:
        wanted = f"{code} and {said!r}" if said else str(code)
        sys.exit(f"pincite {words}: expected {wanted}, got {done.returncode}:\n{told}")


def _starts(python: Path) -> bool:
    """Whether it is a Python: pyenv leaves a script for each that it has, chosen or not."""
    done = subprocess.run([python, "-c", ""], capture_output=True, check=False)
    return done.returncode == 0


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
