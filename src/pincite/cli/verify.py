"""`pincite verify`: an article's citations, worst first, with better sources; or those of many."""

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.types import Article, Finding, Report


@click.command("verify", short_help="check an article's citations, worst first")
@click.argument("article", required=False)
@click.option("--corpus", type=options.FilePath, help="Corpus that better sources come from.")
@click.option("--sources", type=options.FilePath, help="Folder with copies of the cited pages.")
@click.option("--title", help="Which page of a dump; the title of a wikitext file.")
@click.option("--titles", "titles_path", type=options.FilePath, help="Articles, one a line.")
@click.option("--category", help="The articles of this category of the wiki.")
@click.option("--out", type=options.FilePath, help="Folder for the reports of many articles.")
@click.option("--limit", type=int, help="Rows of the table on the terminal.")
@click.option("--show-excluded", is_flag=True, help="Which pages were found and left out, and why.")
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
@options.web_options
@options.expansion_options
@options.settings_options
@options.filter_options
def command(
    article: str | None,
    corpus: Path | None,
    sources: Path | None,
    title: str | None,
    **given: Any,
) -> None:
    """Check the citations of ARTICLE: a file, or with --online a title or address.

    A file is wikitext, an HTML page, a dump, or - for stdin; a title is an article of Wikipedia or
    of the wiki that is set, an address any form of link to it.

    \b
    pincite verify article.wiki --sources pages/ --corpus corpus/ --html report.html
    pincite verify dump.xml.bz2 --title "Joe Hipp" --corpus corpus/ --json -
    pincite verify "Joe Hipp" --online --html report.html
    pincite verify --titles list.txt --online --out reports/

    Many articles (--titles, --category) leave a report each and a work-list in --out, the riskiest
    first; the same command goes on where it stopped.
    """
    from pincite.pipeline import build

    outputs = {key: given.pop(f"{key}_path") for key in ("json", "csv", "html", "wikitext")}
    fail_on, quiet, limit = given.pop("fail_on"), given.pop("quiet"), given.pop("limit")
    titles, category, out = (given.pop(key) for key in ("titles_path", "category", "out"))
    excluded = given.pop("show_excluded")
    asked = given["wayback"]
    settings = options.settings_of(given)
    if asked and not settings.online:
        raise click.UsageError("--wayback asks archive.org: it needs --online.")
    if titles or category:
        from pincite.cli.many import check_many

        if article or not out:
            raise click.UsageError("Expected --out FOLDER, and no ARTICLE beside a list of them.")
        check_many(settings, titles, category, out, corpus=corpus, sources=sources, quiet=quiet)
        return
    if not article:
        raise click.UsageError("Expected an ARTICLE, --titles FILE or --category NAME.")
    page = opened(article, title, settings, quiet)
    settings = dataclasses.replace(settings, language=page.language)
    with (
        options.progress(quiet) as shown,
        build.verifying(settings, corpus, sources, own_copies=True, fetching=fetched(shown)) as run,
    ):
        run.prepare(page)
        findings, interrupted = judged(run, page, shown)
        report = build.report_of(page, findings, settings, run)
    deliver(report, outputs, limit=limit, quiet=quiet, excluded=excluded)
    if interrupted:
        options.say(
            f"Stopped after {len(findings)} of {len(page.claims)} claims. What was judged is "
            "kept: the same command goes on from here."
        )
        raise click.exceptions.Exit(130)
    if any(finding.label in fail_on for finding in report.findings):
        raise click.exceptions.Exit(1)


def opened(article: str, title: str | None, settings: Any, quiet: bool) -> Article:
    """The article of a file, else of a wiki; its revision is told."""
    from pincite.pipeline import articles
    from pincite.wiki.article import read_articles

    if articles.is_file(article):
        return next(iter(read_articles(article, title=title, language=settings.language)))
    return articles.article_at(article, settings, lambda line: options.say(line, quiet))


def fetched(shown: Any) -> Callable[[Any], None]:
    """Progress of fetching: which address, and how many are left."""
    from pincite.core.archives import snapshot_at
    from pincite.core.hosts import host_of
    from pincite.report.wording import one_line

    tell = options.teller(shown)

    def step(now: Any) -> None:
        copy = snapshot_at(now.url)
        host = one_line(host_of(copy.page if copy else now.url))
        if now.state == "sought":
            tell("fetching", now.n_done, now.n_urls, f"looking for an archived copy: {host}")
        elif copy and now.state != "kept":
            when = f" of {copy.date}" if copy.date else ""
            tell("fetching", now.n_done, now.n_urls, f"fetching {host} (archived copy{when})")
        elif now.n_urls > 1:  # one alone is a page that was asked for again
            tell("fetching", now.n_done, now.n_urls, f"fetching {host}")

    return step


def judged(run: Any, page: Article, shown: Any) -> tuple[list[Finding], bool]:
    """The findings, and whether Ctrl-C cut them short."""
    findings: list[Finding] = []
    task = shown.add_task("checking claims", total=len(page.claims))
    try:
        for finding in run.pipeline.findings(page):
            findings.append(finding)
            shown.advance(task)
    except KeyboardInterrupt:
        return findings, True
    return findings, False


def deliver(
    report: Report,
    outputs: dict[str, Path | None],
    *,
    limit: int | None,
    quiet: bool,
    excluded: bool = False,
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
        terminal.print_report(report, Console(), limit, excluded=excluded)
    for name, path in outputs.items():
        if path is not None and str(path) != "-":
            options.say(f"{name}: {path.resolve()}", quiet)
