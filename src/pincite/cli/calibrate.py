"""`pincite calibrate judge`: how far a language model's verdicts can be trusted, measured here."""

from pathlib import Path
from typing import Any

import click

from pincite.cli import extras, options


@click.group("calibrate", short_help="measure how far a language model can be trusted")
def command() -> None:
    """Measures on labelled rows; needs the extra: pip install 'pincite[eval]'."""


@command.command("judge")
@click.option(
    "--claims",
    "files",
    type=options.FilePath,
    multiple=True,
    required=True,
    help="Rows with id, evidence, claim and label, JSON lines; repeatable.",
)
@click.option("--judge-verdicts", "recorded", type=options.FilePath, help="Instead of a server.")
@options.json_option
@options.quiet_option
@options.judge_options
@options.budget_options
@options.settings_options
def judge(
    files: tuple[Path, ...], recorded: Path | None, as_json: bool, quiet: bool, **given: Any
) -> None:
    """Ask a model about labelled rows, and keep what each of its verdicts is worth.

    From then on `verify --judge` with a model of this name counts its verdicts by that. The rows
    may be what people said of your own results: pincite feedback export rows.jsonl

    \b
    pincite calibrate judge --claims rows.jsonl --judge http://localhost:8080/v1 \\
        --judge-model qwen3
    """
    extras.require("eval")
    from pincite.evaluation import claims as claims_
    from pincite.evaluation import judges, tables
    from pincite.evaluation.scorers import ByVerifier
    from pincite.library import judges as kept
    from pincite.verbs.verify import build

    settings = options.settings_of(given)
    if not settings.judge.model:
        raise click.UsageError("Expected --judge-model, and --judge URL or --judge-verdicts FILE.")
    known = read_or_asked(settings, recorded, files, quiet)
    with build.verifying(settings, None, None) as run, options.progress(quiet) as shown:
        tell, ours = options.teller(shown), ByVerifier(run.pipeline.verifier)
        rows = [
            row
            for file in files
            for row in judges.both(
                claims_.predict(file, [ours], lambda name, *n, f=file.name: tell(f, *n)), known
            )
        ]
    if not rows:
        raise click.ClickException("None of the rows has a verdict: nothing was measured.")
    where = kept.file_of(settings.library.judges)
    names = tuple(file.name for file in files)
    measured = kept.keep(where, settings.judge.model, rows, settings.verify.threshold, names)
    if as_json:
        options.print_json(measured)
        return
    click.echo(tables.judge_table(measured))
    options.say(f"kept in {where}", quiet)


def read_or_asked(
    settings: Any, recorded: Path | None, files: tuple[Path, ...], quiet: bool
) -> dict[str, Any]:
    """The model's verdicts on the rows of files: recorded ones, or asked for now."""
    from pincite import runtime
    from pincite.documents.jsonl import read_labelled
    from pincite.evaluation import judges

    if recorded:
        return judges.read_verdicts(recorded)
    if not settings.judge.url:
        raise click.UsageError("Expected --judge URL, or recorded verdicts: --judge-verdicts FILE.")
    rows = [row for file in files for row in read_labelled(file)]
    with runtime.judge(settings) as judge, options.progress(quiet) as shown:
        tell = options.teller(shown)
        found, failed = judges.asked(
            judge, rows, settings.judge.at_once, lambda *n: tell("asking", *n)
        )
        used = judge.calls.usage
    reasons = "".join(f"; {n} without: {why}" for why, n in sorted(failed.items()))
    options.say(
        f"{len(found)} verdicts{reasons}. {used.n_calls} calls, {used.n_reused} replies known "
        f"already, {used.n_prompt_tokens + used.n_reply_tokens:,} tokens.",
        quiet,
    )
    return found
