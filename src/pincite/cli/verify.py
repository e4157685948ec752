"""`pincite verify`: an article's citations, worst first, with better sources."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.types import Article, Finding, Report


@click.command("verify", short_help="check an article's citations, worst first")
@click.argument("article")
@click.option("--corpus", type=options.FilePath, help="Corpus that better sources come from.")
@click.option("--sources", type=options.FilePath, help="Folder with copies of the cited pages.")
@click.option("--title", help="Which page of a dump; the title of a wikitext file.")
@click.option("--limit", type=int, help="Rows of the table on the terminal.")
@click.option("--json", "json_path", type=options.FilePath, help="Write JSON here (- stdout).")
@click.option("--csv", "csv_path", type=options.FilePath, help="Write CSV here (- stdout).")
@click.option("--html", "html_path", type=options.FilePath, help="Write one HTML page here.")
@click.option("--wikitext", "wikitext_path", type=options.FilePath, help="Write tags and refs.")
@click.option(
    "--fail-on",
    type=click.Choice(["not_supported", "refuted", "partly_supported", "unchecked"]),
    multiple=True,
    help="Exit with 1 if a claim has this verdict; may be given several times.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress, no table.")
@options.expansion_options
@options.settings_options
@options.filter_options
def command(
    article: str, corpus: Path | None, sources: Path | None, title: str | None, **given: Any
) -> None:
    """Check the citations of ARTICLE: a wikitext file, an HTML page, a dump, or - for stdin.

    \b
    pincite verify article.wiki --sources pages/ --corpus corpus/ --html report.html
    pincite verify dump.xml.bz2 --title "Joe Hipp" --corpus corpus/ --json -
    """
    from pincite.pipeline import build
    from pincite.wiki.article import read_articles

    outputs = {key: given.pop(f"{key}_path") for key in ("json", "csv", "html", "wikitext")}
    fail_on, quiet, limit = given.pop("fail_on"), given.pop("quiet"), given.pop("limit")
    settings = options.settings_of(given)
    page = next(iter(read_articles(article, title=title, language=settings.language)))
    with build.verifying(settings, corpus, sources) as run:
        findings, interrupted = judged(run, page, quiet)
        report = build.report_of(page, findings, settings, run)
    deliver(report, outputs, limit=limit, quiet=quiet)
    if interrupted:
        options.say(
            f"Stopped after {len(findings)} of {len(page.claims)} claims. What was judged is "
            "kept: the same command goes on from here."
        )
        raise click.exceptions.Exit(130)
    if any(finding.label in fail_on for finding in report.findings):
        raise click.exceptions.Exit(1)


def judged(run: Any, page: Article, quiet: bool) -> tuple[list[Finding], bool]:
    """The findings, and whether Ctrl-C cut them short."""
    findings: list[Finding] = []
    with options.progress(quiet) as shown:
        task = shown.add_task("checking claims", total=len(page.claims))
        try:
            for finding in run.pipeline.findings(page):
                findings.append(finding)
                shown.advance(task)
        except KeyboardInterrupt:
            return findings, True
    return findings, False


def deliver(
    report: Report, outputs: dict[str, Path | None], *, limit: int | None, quiet: bool
) -> None:
    """Write the asked-for formats; the table goes to the terminal unless stdout carries data."""
    from rich.console import Console

    from pincite.report import csv, data, html, terminal, wikitext

    today = datetime.now(UTC).date()
    writers = {
        "json": lambda: data.to_json(report),
        "csv": lambda: csv.to_csv(report),
        "html": lambda: html.to_html(report, today),
        "wikitext": lambda: wikitext.to_wikitext(report, today),
    }
    for name, path in outputs.items():
        if path is not None:
            options.write(writers[name](), path)
    to_stdout = any(str(path) == "-" for path in outputs.values())
    if not quiet and not to_stdout:
        terminal.print_report(report, Console(), limit)
    for name, path in outputs.items():
        if path is not None and str(path) != "-":
            options.say(f"{name}: {path.resolve()}", quiet)
