"""`pincite check`: check statements against a corpus."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.text import pasted
from pincite.text.dates import iso_date, stated_date
from pincite.verbs.check.report import CheckReport, Interpretation
from pincite.verbs.check.spoken import Occasion


@click.command(
    "check",
    cls=options.GroupedCommand,
    first="corpus file html_path json_path llm chat_url chat_model online search_url language",
)
@options.one_or_more("statement")
@options.corpus_option("The knowledge base.")
@click.option(
    "-i", "--interactive", is_flag=True, help="Edit the readings in $EDITOR before the search."
)
@click.option("--speaker", default="", help="Who said it: 'Ada Holm, mayor of Varde'.")
@click.option("--date", default="", help="When it was said: 2019-05-14, 2019-05 or 2019.")
@click.option("--place", default="", help="What “here” and “our town” mean.")
@click.option("--llm", is_flag=True, help="Have a model interpret and judge; needs --chat-url.")
@click.option("--trace", type=options.OutFile, help="Write a trace file, or resume from one.")
@options.quiet_option
@click.option("--limit", default=3, show_default=True, help="Passages to show for a reading.")
@click.option("--template", type=options.FilePath, help="Jinja2 template for --markdown.")
@options.output_options(
    json="Write JSON (- for stdout).",
    html="Write one HTML page.",
    csv="Write CSV, one row per passage.",
    markdown="Write Markdown.",
    yaml="Write YAML.",
    claimreview="Write JSON-LD; see [claimreview] in the settings.",
)
@options.setting_options(
    *("check.top_k", "check.threshold", "language", "chat.url", "chat.model"),
    *("models", "judge", "budget", "search", "filters"),
)
def command(
    statement: str | None,
    corpus: tuple[Path | str, ...],
    file: Path | None,
    interactive: bool,
    trace: Path | None,
    template: Path | None,
    limit: int,
    quiet: bool,
    speaker: str,
    date: str,
    place: str,
    **given: Any,
) -> None:
    """Check STATEMENT, or each statement in a file, against a corpus, web pages, or both.

    \b
    pincite check "Bridges are built of stone" --corpus kb/
    pincite check --file claims.txt --corpus kb/ --llm --chat-url http://localhost:8080/v1 \\
        --chat-model qwen3 --max-calls 500 --trace run.jsonl --html report.html
    pincite check "…" --online --search-url http://localhost:8888

    Each reading of a statement is judged separately: what supports it, what contradicts it, and how
    strongly. STATEMENT may contain several, one per line; a CSV or JSON lines file has the
    columns statement, speaker, date and place. Exit code 5: something could not be
    judged; running it again with the same --trace retries only that.
    """
    from pincite.report import templates
    from pincite.verbs.check import build, render

    outputs = options.pop_outputs(given)
    options.check_template(template, outputs["markdown"])
    if given.pop("llm"):
        given |= {"interpretation": "model", "confirmation": "model"}
    settings = options.load_settings(given)
    if template is None and (template := settings.check.template_file):
        templates.load(template)
    render.more_values(template)
    occasion = Occasion(speaker, _iso_date(date, "--date"), place)
    if file and not statement and file.suffix.lower() in (".csv", ".jsonl"):
        statements, occasions = _read_rows(file, occasion)
    else:
        statements = pasted.items(options.text_or_file(statement, file, "STATEMENT"))
        occasions = [occasion] * len(statements)
    if interactive and str(file) == "-":
        raise click.UsageError("--interactive needs a terminal, but --file - reads stdin.")
    with options.progress(quiet) as display:
        corpora = [*corpus] or settings.library.places
        with build.checking(settings, corpora, trace, partial(display, "asking")) as run:
            options.say(run.estimate, quiet or not run.estimate)
            edit = readings_editor(display.bars, settings.language, run.pipeline.interpretation)
            report = run.check(statements, display, edit if interactive else None, occasions)
    texts = settings.check.texts
    deliver(report, outputs, template=template, limit=limit, quiet=quiet, translation=texts)
    for path in render.log_checks(report, settings):
        options.say(f"log: {path}", quiet)
    if report.stopped:
        options.stop(f"Stopped after {len(report.checks)} of {len(statements)} statements.")
    if not report.complete:
        again = f" Run it again with --trace {trace} to retry only that." if trace else ""
        options.say(f"Something could not be judged; see the report.{again}")
        raise click.exceptions.Exit(options.PARTIAL)


def _read_rows(file: Path, occasion: Occasion) -> tuple[list[str], list[Occasion]]:
    """Read a table of statements; an empty cell is as the options say."""
    text = options.read_text(file)
    try:
        if file.suffix.lower() == ".csv":
            read: Iterable[Any] = csv.DictReader(io.StringIO(text, newline=""))
        else:  # a text in JSON may hold other line breaks, such as U+2028
            read = map(json.loads, filter(str.strip, text.split("\n")))
        rows = [{name: str(value or "").strip() for name, value in row.items()} for row in read]
        statements = [" ".join(row["statement"].split()) for row in rows]
    except (ValueError, KeyError, AttributeError) as error:
        raise click.UsageError(f"{file}: expected rows with a column “statement”.") from error
    names = ("speaker", "date", "place")
    given = [{name: row[name] for name in names if row.get(name)} for row in rows]
    for n, fields in enumerate(given, 1):
        if "date" in fields:
            fields["date"] = _iso_date(fields["date"], f"{file}, row {n}")
    return statements, [replace(occasion, **fields) for fields in given]


def _iso_date(text: str, place: str) -> str:
    """Read a date, also one with the day first: 20/07/2012, but not 05/06/2012."""
    date = iso_date(*text.split("-")) if re.fullmatch(r"\d{4}-\d\d", text) else stated_date(text)
    is_exact = date == text or not (len(date) == 4 or re.match(r"\d{4}-", text))
    if text and not (date and is_exact):
        raise click.BadParameter(
            f"{text!r}; expected 2019-05-14, 2019-05 or 2019.", param_hint=place
        )
    return date


def deliver(
    report: CheckReport,
    outputs: Mapping[str, Path | None],
    *,
    template: Path | None,
    limit: int,
    quiet: bool,
    translation: Mapping[str, str] | None = None,
) -> None:
    """Like `options.deliver`; then say what to know before publishing the ClaimReview."""
    from rich.console import Console

    from pincite.verbs.check import render, terminal

    writers: dict[str, Callable[[], str]] = {
        "json": report.to_json,
        "html": lambda: render.to_html(report),
        "csv": lambda: render.to_csv(report),
        "markdown": lambda: render.to_markdown(report, template, translation=translation),
        "yaml": lambda: render.to_yaml(report.to_values()),
        "claimreview": lambda: render.to_claimreview(report),
    }
    options.deliver(
        writers, outputs, lambda: terminal.print_report(report, Console(), limit), quiet
    )
    for hint in render.before_publishing(report) if outputs.get("claimreview") else ():
        options.say(hint, quiet)


def readings_editor(
    bars: Any, language: str, interpretation: Callable[[str, Occasion], Interpretation]
) -> Callable[[str, Occasion], Interpretation]:
    """Return a function that opens a statement's readings in an editor, one per line."""
    from pincite.verbs.check import readings

    def edit(statement: str, occasion: Occasion) -> Interpretation:
        original = interpretation(statement, occasion)
        known = {" ".join(reading.text.split()): reading for reading in original.readings}
        bars.stop()  # or the progress bar would be drawn over the editor
        text = click.edit("\n".join([f"# Readings of: {' '.join(statement.split())}", *known]))
        bars.start()
        lines = [" ".join(line.split()) for line in (text or "").splitlines()]
        lines = [line for line in lines if line and not line.startswith("#")]
        if text is None or lines == list(known):
            return original
        chosen = [known.get(line) or readings.user_reading(line, language) for line in lines]
        # The rules may have found no reading, but the user has written one.
        failures = tuple(f for f in original.failures if f.step != "statement" or not chosen)
        edited = tuple(readings.with_ids(chosen))
        return replace(original, readings=edited, by=f"{original.by} + user", failures=failures)

    return edit
