"""Where the processor time of a command goes: python tools/profile_stages.py NAME [pincite …]

Without a command, NAME is one of COMMANDS. py-spy samples every thread that runs; a sample counts
for the first of STAGES that its stack names. Processes that a command starts are sampled too.
`build/profile/NAME.stacks` holds the stacks, as programs that draw flame graphs read them. Nothing
that was kept of earlier runs is used.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from pincite.models import weights

RATE = 100  # samples a second
OUT = Path("build/profile")
DEMO = Path(weights.__file__).parents[1] / "demo"
COMMANDS = {
    "demo": ["demo"],
    "check": ["demo", "--check"],
    "ask": ["demo", "--ask"],
    "corpus-add": ["corpus", "add", "{scratch}/kb", str(DEMO / "corpus")],
}
# The first that fits names a sample, so what calls others stands behind them.
STAGES = {
    "network": ("_output (pincite/models/session.py",),
    "tokens": ("pincite/models/session.py",),
    "rules of a pair": ("pincite/models/calibration.py", "pincite/judgement/witness.py"),
    "claims in the source's words": ("pincite/text/alike.py",),
    "quotes and reasons": ("_evidence (pincite/models/verifier.py",),
    "what a page lacks": ("pincite/judgement/parts.py",),
    "choice of passages": ("pincite/retrieval/cascade.py",),
    "cutting": ("pincite/text/passages.py", "pincite/text/sentences.py"),
    "search and indexes": ("pincite/corpus/",),
    "reading": ("pincite/documents/", "pincite/wiki/"),
    "reports": ("pincite/report/", "pincite/contract/", "jinja2/"),
    "imports": ("<frozen importlib",),
}


def main() -> None:
    """Profile what was asked, or all of COMMANDS."""
    if len(sys.argv) > 2:
        profiled(sys.argv[1], sys.argv[2:])
        return
    for name in sys.argv[1:] or COMMANDS:
        profiled(name, COMMANDS[name])


def profiled(name: str, command: Iterable[str]) -> None:
    """Run one command with a cache of its own, and print its stages."""
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        given = [sys.executable, "-m", "pincite", *(c.format(scratch=scratch) for c in command)]
        raw = Path(scratch) / "stacks"
        environment = {**os.environ, "PINCITE_CACHE": f"{scratch}/cache"}
        spy = [shutil.which("py-spy") or str(Path(sys.executable).with_name("py-spy")), "record"]
        spy += ["-r", str(RATE), "--subprocesses", "-f", "raw", "-o", str(raw), "--", *given]
        subprocess.run(spy, check=True, env=environment, cwd=scratch, stdout=subprocess.DEVNULL)
        lines = raw.read_text(encoding="utf-8").splitlines()
    (OUT / f"{name}.stacks").write_text("\n".join(lines), encoding="utf-8")
    print(json.dumps({name: stages(lines)}, indent=1), flush=True)


def stages(lines: Iterable[str]) -> dict[str, object]:
    """Seconds by stage, the largest first, from collapsed stacks: frames; then how many samples."""
    seconds: Counter[str] = Counter()
    for line in lines:
        stack, n = line.rsplit(" ", 1)
        seconds[_stage(stack)] += int(n)
    known = {stage: round(n / RATE, 1) for stage, n in seconds.most_common()}
    return {"seconds": round(seconds.total() / RATE, 1), **known}


def _stage(stack: str) -> str:
    return next((s for s, cues in STAGES.items() if any(c in stack for c in cues)), "other")


if __name__ == "__main__":
    main()
