"""`pincite replay`: a check made anew from its trace, without any model."""

from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.cli.check import OUTPUTS, deliver, output_options


@click.command("replay", short_help="a check made anew from its trace, without a model")
@click.argument("trace", type=options.FilePath)
@output_options
@click.pass_context
def command(ctx: click.Context, /, trace: Path, **given: Any) -> None:
    """Compute the results of the last run in TRACE again, from the recorded replies up.

    Exit code 0: the same as was reported, or nothing was; 1: something differs.
    """
    from pincite.verbs.check import data
    from pincite.verbs.check.trace import read_trace, replayed

    outputs = {name: given.pop(f"{name}_path") for name in OUTPUTS}
    found = read_trace(trace)
    recorded, report = found.report, replayed(found)
    deliver(report, outputs, **given)
    if recorded is None:
        options.say("The run was stopped before its report: there is nothing to compare with.")
        return
    before = data.record_of(data.report_of(recorded))  # an older one as it is written today
    same = data.record_of(report).checks == before.checks
    options.say(
        "The same results as were reported." if same else "These results are not what was reported."
    )
    ctx.exit(0 if same else 1)
