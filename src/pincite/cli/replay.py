"""`pincite replay`: a check made anew from its trace, without any model."""

import math
from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.cli.check import OUTPUTS, deliver, output_options

ROUNDING = 2e-4  # records have four decimals, and a mean of two may differ by two in the last


@click.command("replay", short_help="a check made anew from its trace, without a model")
@click.argument("trace", type=options.FilePath)
@output_options
@click.pass_context
def command(ctx: click.Context, /, trace: Path, **given: Any) -> None:
    """Compute the results of the last run in TRACE again, from the recorded replies up.

    Exit code 0: the same as was reported, or nothing was; 1: something differs.
    """
    from pincite.contract.codec import values_of
    from pincite.verbs.check import data
    from pincite.verbs.check.trace import read_trace, replayed

    outputs = {name: given.pop(f"{name}_path") for name in OUTPUTS}
    found = read_trace(trace)
    recorded, report = found.report, replayed(found)
    deliver(report, outputs, **given)
    if recorded is None:
        options.say("The run was stopped before its report: there is nothing to compare with.")
        return
    before = values_of(data.record_of(data.report_of(recorded)).checks)
    same = _agree(values_of(data.record_of(report).checks), before)
    options.say(
        "The same results as were reported." if same else "These results are not what was reported."
    )
    ctx.exit(0 if same else 1)


def _agree(one: Any, other: Any) -> bool:
    """Whether two values as JSON has them are the same, numbers but for their rounding."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_agree(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_agree, one, other))
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=0, abs_tol=ROUNDING)
    return bool(one == other)
