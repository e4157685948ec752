"""`pincite check`: statements against a knowledge base; `pincite replay`: the same from a trace."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.verbs.check.records import CheckReport, Interpretation, Reading

OUTPUTS = ("json", "html", "csv", "markdown", "yaml", "claimreview")
HELP = "Enter: go on · -N: strike out · N TEXT: reword · + TEXT: add"  # on readings
PARTIAL = 5  # exit code: something failed, the rest is there
# How long a model will be asked is said by its first replies: nothing else knows its speed.
_SHARE = 1 / 8  # of a statement's calls: fewer say little of the rest
_FEWEST = 16  # calls; fewer are soon over
_SHORT = 10.0  # seconds that need no announcement


def output_options(command: Any) -> Any:
    """An option for each format, and what belongs to them; `replay` has them too."""
    return options.added(
        command,
        [
            click.option("--json", "json_path", type=options.OutFile, help="JSON (- stdout)."),
            click.option("--html", "html_path", type=options.OutFile, help="One HTML page."),
            click.option("--csv", "csv_path", type=options.OutFile, help="A row a passage."),
            click.option("--markdown", "markdown_path", type=options.OutFile, help="Markdown."),
            click.option("--yaml", "yaml_path", type=options.OutFile, help="YAML."),
            click.option(
                "--claimreview",
                "claimreview_path",
                type=options.OutFile,
                help="JSON-LD; see [claimreview] in the settings.",
            ),
            click.option("--template", type=options.FilePath, help="Jinja2 for --markdown."),
            click.option("--limit", default=3, show_default=True, help="Passages shown a side."),
            click.option("-q", "--quiet", is_flag=True, help="No progress, no table."),
        ],
    )


@click.command("check", short_help="what a knowledge base says for and against a statement")
@click.argument("statement", required=False)
@options.corpus_option("The knowledge base")
@click.option("--file", "file", type=options.FilePath, help="Statements, one a line (- stdin).")
@click.option("-i", "--interactive", is_flag=True, help="Change the readings before the search.")
@click.option("--llm", is_flag=True, help="A model interprets and confirms: --chat-url.")
@options.judge_options
@options.budget_options
@click.option("--top-k", type=int, help="Passages per reading. [8]")
@click.option("--confirmation-threshold", type=float, help="Degree that counts. [0.2]")
@click.option("--as-of", metavar="DATE", help="Only what was published by then: --to-date.")
@click.option("--language", help="Of the statements: en, de, … [en]")
@click.option("--trace", type=options.OutFile, help="Write a trace file, or resume from one.")
@output_options
@click.option("--chat-url", help="Server of the model: it gets statements and passages.")
@click.option("--chat-model", help="Model of that server.")
@options.model_options
@options.search_options
@options.filter_options
def command(
    statement: str | None,
    corpus: tuple[Path | str, ...],
    file: Path | None,
    interactive: bool,
    trace: Path | None,
    **given: Any,
) -> None:
    """Weigh STATEMENT, or each of a file, against a corpus, pages of the web, or both.

    \b
    pincite check "Bridges are built of stone" --corpus kb/
    pincite check --file claims.txt --corpus kb/ --llm --chat-url http://localhost:8080/v1 \\
        --chat-model qwen3 --max-calls 500 --trace run.jsonl --html report.html
    pincite check "…" --online --search-url http://localhost:8888

    Each reading of a statement is judged on its own: what speaks for it, what against, how much.
    Exit code 5: something could not be judged; the same command with the same --trace asks for the
    rest only.
    """
    from pincite.report import templates
    from pincite.verbs.check import build, exports

    outputs = {name: given.pop(f"{name}_path") for name in OUTPUTS}
    shown: dict[str, Any] = {name: given.pop(name) for name in ("template", "limit", "quiet")}
    refuse_lost_work(outputs, shown["template"])
    if given.pop("llm"):
        given |= {"interpretation": "model", "confirmation": "model"}
    given["published_to"] = given.pop("as_of") or given["published_to"]
    settings = options.settings_of(given)
    corpora = [*corpus] or settings.library.places
    if shown["template"] is None and (own := settings.check.template_file):
        shown["template"] = own
        templates.parsed(own)
    statements = _statements(statement, file)
    if interactive and str(file) == "-":
        raise click.UsageError("--interactive asks on stdin, which --file - has read.")
    with options.progress(shown["quiet"]) as bar:
        tell = options.teller(bar)
        time_left = TimeLeft(options.say, several=len(statements) > 1)

        def judged(done: int, total: int) -> None:
            tell("asking", done, total)
            asks = settings.check.asks_a_model
            if asks and bar.disable and not shown["quiet"]:  # the bar tells it too
                time_left(done, total)

        with build.checking(settings, corpora, trace, judged) as run:
            options.say(run.estimate, shown["quiet"] or not run.estimate)
            asker = edited(bar, settings.language, run.pipeline.interpretation)
            report = run.check(statements, tell, asker if interactive else None)
    deliver(report, outputs, **shown, translation=settings.check.texts)
    for path in exports.log_checks(report, settings):
        options.say(f"log: {path}", shown["quiet"])
    if report.stopped:
        options.say(f"Stopped after {len(report.checks)} of {len(statements)} statements.")
        raise click.exceptions.Exit(130)
    if not report.complete:
        again = f" The same command asks for the rest only, with --trace {trace}." if trace else ""
        options.say(f"Something could not be judged; the report says what.{again}")
        raise click.exceptions.Exit(PARTIAL)


def _statements(statement: str | None, file: Path | None) -> list[str]:
    if (statement is None) == (file is None):
        raise click.UsageError("Give a STATEMENT or --file, one of them.")
    kept = options.lines_of(file) if file else [" ".join((statement or "").split())]
    if not any(kept):
        raise click.UsageError("There is no statement to check.")
    return kept


def refuse_lost_work(outputs: dict[str, Path | None], template: Path | None) -> None:
    """What could not be written would else be found out after all calls are paid for."""
    if template and outputs["markdown"] is None:
        raise click.UsageError("--template lays out --markdown: give that too.")
    for name, path in outputs.items():
        if path and str(path) != "-" and not path.resolve().parent.is_dir():
            raise click.UsageError(
                f"--{name} {path} cannot be written: expected a file in a folder that is there."
            )
    if template:
        from pincite.report import templates

        templates.parsed(template)


def deliver(
    report: CheckReport,
    outputs: dict[str, Path | None],
    *,
    template: Path | None,
    limit: int,
    quiet: bool,
    translation: Mapping[str, str] | None = None,
) -> None:
    """As `options.deliver`; then what a ClaimReview lacks."""
    from rich.console import Console

    from pincite.contract.codec import values_of
    from pincite.report import yaml_text
    from pincite.verbs.check import data, exports, html, terminal

    writers: dict[str, Callable[[], str]] = {
        "json": lambda: data.to_json(report),
        "html": lambda: html.to_html(report),
        "csv": lambda: exports.to_csv(report),
        "markdown": lambda: exports.to_markdown(report, template, translation=translation),
        "yaml": lambda: yaml_text.to_yaml(values_of(data.record_of(report))),
        "claimreview": lambda: exports.to_claimreview(report),
    }
    options.deliver(
        writers, outputs, lambda: terminal.print_report(report, Console(), limit), quiet
    )
    if outputs["claimreview"] is not None and (hint := exports.lacking(report)):
        options.say(hint, quiet)


def edited(
    bar: Any, language: str, interpretation: Callable[[str], Interpretation]
) -> Callable[[str], Interpretation]:
    """A function that shows a statement's interpretation and gives what a person made of it."""
    from pincite.report import cells
    from pincite.verbs.check import readings

    def ask(statement: str) -> Interpretation:
        found = interpretation(statement)
        bar.stop()  # else the progress is drawn over what is typed
        kept = list(found.readings)
        while True:
            click.echo(f"\n{cells.one_line(statement)}", err=True)
            for number, reading in enumerate(kept, 1):
                click.echo(
                    f"{number:3}  {cells.one_line(reading.text)}  ({reading.kind})", err=True
                )
            line = click.prompt(HELP, default="", show_default=False, err=True).strip()
            if not line:
                break
            if not _apply(line, kept, language):
                click.echo(f"“{cells.one_line(line)}” was not understood.", err=True)
        bar.start()
        if tuple(kept) == found.readings:
            return found
        # That rules found no reading is settled by one of a person.
        failures = tuple(f for f in found.failures if f.step != "statement" or not kept)
        mine = tuple(readings.numbered(kept))
        return replace(found, readings=mine, by=f"{found.by} + user", failures=failures)

    return ask


def _apply(line: str, kept: list[Reading], language: str) -> bool:
    """Change the list as a line says; whether it was understood."""
    from pincite.verbs.check import readings

    head, _, text = line.partition(" ")
    if head == "+" and text.strip():
        kept.append(readings.of_user(text, language))
        return True
    number = head.lstrip("-")
    if not number.isdecimal() or not 1 <= int(number) <= len(kept):
        return False
    if head.startswith("-") and not text.strip():
        del kept[int(number) - 1]
        return True
    if head == number and text.strip():
        kept[int(number) - 1] = readings.of_user(text, language)
        return True
    return False


class TimeLeft:
    """Told how many calls are done; says once how long the others will take."""

    def __init__(self, say: Callable[[str], None], *, several: bool) -> None:
        """`several`: there are other statements too."""
        self._say: Callable[[str], None] | None = say
        self._several = several
        self._began, self._total = 0.0, 0

    def __call__(self, done: int, total: int) -> None:
        """`done` of `total` calls of one step have been answered."""
        now = time.monotonic()
        if done == 0 or total != self._total:
            self._began, self._total = now, total
        if not self._say or not done or done < total * _SHARE or total < _FEWEST:
            return
        each = (now - self._began) / done
        if each * total >= _SHORT:
            left = _told(each * (total - done))
            of_all = f"; {_told(each * total)} each for others like it" if self._several else ""
            self._say(f"{done} of {total} calls are done, about {left} left{of_all}.")
        self._say = None


def _told(seconds: float) -> str:
    """A length of time, roughly.

    >>> _told(41.7), _told(200), _told(9000)
    ('42 s', '3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


ROUNDING = 2e-4  # records have four decimals, and a mean of two may differ by two in the last


@click.command("replay", short_help="recompute a check from its trace, without a model")
@click.argument("trace", type=options.FilePath)
@output_options
@click.pass_context
def replay(ctx: click.Context, /, trace: Path, **given: Any) -> None:
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
