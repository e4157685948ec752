"""Where the processor time of a command goes: python research/scripts/profile_stages.py NAME [pincite …]

Without a command, NAME is one of COMMANDS. py-spy samples every thread that runs; a sample counts
for the first of STAGES that its stack names. Processes that a command starts are sampled too.
`build/profile/NAME.stacks` holds the stacks, as programs that draw flame graphs read them, and
NAME.svg is one of Pincite's own functions. Nothing that was kept of earlier runs is used.
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
DEMO = Path(weights.__file__).parents[1] / "demo" / "verify"
COMMANDS = {
    "demo": ["demo"],
    "check": ["demo", "--check"],
    "ask": ["demo", "--ask"],
    "corpus-add": ["corpus", "add", "{scratch}/kb", str(DEMO / "corpus")],
}
OWN, NETWORK = "pincite/", "(onnxruntime/"  # frames that are drawn
NARROWEST, LETTERS = 0.004, 150  # share of the width that is drawn; letters that fit into all of it
# The first that fits names a sample, so what calls others stands behind them.
STAGES = {
    "network": ("_output (pincite/models/session.py",),
    "tokens": ("pincite/models/session.py",),
    "rules of a pair": (
        "pincite/models/weights.py",
        "pincite/judgement/contradictions.py",
        "pincite/judgement/other_values.py",
    ),
    "claims in the source's words": ("pincite/text/paraphrase.py",),
    "quotes and reasons": ("_evidence (pincite/models/verifier.py",),
    "what a page lacks": ("pincite/judgement/findings.py",),
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
    draw(lines, OUT / f"{name}.svg")
    print(json.dumps({name: stages(lines)}, indent=1), flush=True)


def stages(lines: Iterable[str]) -> dict[str, object]:
    """Seconds by stage, the largest first, from collapsed stacks: frames; then how many samples."""
    seconds: Counter[str] = Counter()
    for line in lines:
        stack, n = line.rsplit(" ", 1)
        seconds[_stage(stack)] += int(n)
    known = {stage: round(n / RATE, 1) for stage, n in seconds.most_common()}
    return {"seconds": round(seconds.total() / RATE, 1), **known}


def draw(lines: Iterable[str], path: Path) -> None:
    """A flame graph (Gregg 2016) with the callers on top: width is time, a row is a call deeper.

    Of other packages only the network has frames; what they do counts for who called them.
    """
    from matplotlib import pyplot

    times: Counter[tuple[str, ...]] = Counter()
    for line in lines:
        stack, samples = line.rsplit(" ", 1)
        calls = tuple(f.split(" (")[0] for f in stack.split(";") if f"({OWN}" in f or NETWORK in f)
        times[calls or ("imports and other threads",)] += int(samples)
    spans: dict[tuple[str, ...], tuple[int, int]] = {}  # of each chain of calls
    at = 0
    for calls, n in sorted(times.items()):
        for depth in range(1, len(calls) + 1):
            first, _ = spans.get(calls[:depth], (at, 0))
            spans[calls[:depth]] = (first, at + n)
        at += n
    wide = {c: (a, b) for c, (a, b) in spans.items() if b - a > NARROWEST * at}
    depths = max(map(len, wide))
    figure, axes = pyplot.subplots(figsize=(12, 0.24 * depths + 0.4), layout="constrained")
    for place, (calls, (first, last)) in enumerate(wide.items()):
        colour = pyplot.colormaps["YlOrBr"](0.2 + 0.3 * (place % 3) / 2)
        axes.barh(len(calls), last - first, 0.96, first, color=colour)
        shown = calls[-1][: max(0, int(LETTERS * (last - first) / at))]
        axes.text(first, len(calls), f" {shown}", va="center", size=7, clip_on=True)
    axes.set(xlim=(0, at), ylim=(depths + 0.6, 0.4), yticks=[], xticks=[])
    axes.set_xlabel(f"{at / RATE:.1f} s, of all threads together")
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _stage(stack: str) -> str:
    return next((s for s, cues in STAGES.items() if any(c in stack for c in cues)), "other")


if __name__ == "__main__":
    main()
