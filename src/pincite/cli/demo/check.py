"""`pincite demo --check`: five statements against a shipped knowledge base."""

import json
import tempfile
from pathlib import Path

import click

from pincite.cli import demo, options


def run(out: Path, quiet: bool) -> None:
    """The knowledge base, the five statements, and whether they have the results they should."""
    from pincite.cli.check import OUTPUTS, deliver
    from pincite.verbs.check import build

    settings = options.settings_of({})
    expected = (demo.DEMO_CHECK / "expected.json").read_text(encoding="utf-8")
    wanted = json.loads(expected)["statements"]
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pincite-demo-") as scratch:
        folder = Path(scratch) / "corpus"
        options.say("1/2 indexing the knowledge base …", quiet)
        demo.index(folder, settings, quiet, demo.DEMO_CHECK / "documents")
        options.say("2/2 checking five statements …", quiet)
        with build.checking(settings, folder, keep=False) as ready:
            checks = [ready.pipeline.check(one["statement"]) for one in wanted]
            report = build.report_of(checks, len(checks), settings, ready)
    outputs: dict[str, Path | None] = dict.fromkeys(OUTPUTS)
    outputs |= {"json": out / "check.json", "html": out / "check.html"}
    deliver(report, outputs, template=None, limit=3, quiet=quiet)
    found = [{str(r.weight.outcome) for r in check.results} for check in checks]
    others = [
        f"{one['case']}: expected {' or '.join(one['outcome'])}, found {', '.join(sorted(said))}"
        for one, said in zip(wanted, found, strict=True)
        if not said <= set(one["outcome"])
    ]
    for line in others:
        options.say(line)
    if others:
        raise click.exceptions.Exit(1)
    options.say("All five have the results that were expected.", quiet)
