"""`pincite verify`: an article's citations, worst first, with better sources; or those of many."""

from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.cli.verify.run import deliver, fetched, judged, said, told, uncited


@click.command("verify", short_help="check an article's citations, worst first")
@click.argument("article", required=False)
@options.corpus_option("Corpus that better sources come from")
@click.option("--sources", type=options.FilePath, help="Folder with copies of the cited pages.")
@click.option(
    "--suggest",
    type=click.Choice(["failing", "all"]),
    help="Claims that better sources are sought for. [failing]",
)
@click.option(
    "--uncited",
    "verify_uncited",
    is_flag=True,
    default=None,
    help="Also find sentences that need a citation and have none.",
)
@click.option("--title", help="Which page of a dump; the title of a wikitext file.")
@click.option("--language", help="Of the article, if not as it says: en, de, ja, …")
@click.option("--titles", "titles_path", type=options.FilePath, help="Articles, one a line.")
@click.option("--category", help="The articles of this category of the wiki.")
@click.option(
    "--dump",
    type=options.Address,
    help="A dump, every article of which is checked; s3:// and the like too.",
)
@click.option("--out", type=options.OutFolder, help="Folder for the reports of many articles.")
@click.option("--limit", type=int, help="Rows of the table on the terminal.")
@click.option("--show-excluded", is_flag=True, help="Which pages were found and left out, and why.")
@click.option("--json", "json_path", type=options.OutFile, help="Write JSON here (- stdout).")
@click.option("--csv", "csv_path", type=options.OutFile, help="Write CSV here (- stdout).")
@click.option("--html", "html_path", type=options.OutFile, help="Write one HTML page here.")
@click.option("--wikitext", "wikitext_path", type=options.OutFile, help="Write tags and refs.")
@click.option(
    "--fail-on",
    type=click.Choice(["not_supported", "refuted", "partly_supported", "unchecked"]),
    multiple=True,
    help="Exit with 1 if a claim has this verdict; may be given several times.",
)
@click.option("--estimate", is_flag=True, help="Say what would be done and how long; do nothing.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no table.")
@options.web_options
@options.judge_options
@options.budget_options
@options.settings_options
@options.filter_options
@options.parallel_options
def command(
    article: str | None,
    corpus: tuple[Path | str, ...],
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
    pincite verify --dump dump.xml.bz2 --sources pages/ --out reports/ --on ray

    Many articles (--titles, --category, --dump) leave a report each and a work-list in --out, the
    riskiest first; the same command goes on where it stopped, after Ctrl-C too.
    """
    from pincite.verbs.verify import articles, build

    outputs = {key: given.pop(f"{key}_path") for key in ("json", "csv", "html", "wikitext")}
    fail_on, quiet, limit = given.pop("fail_on"), given.pop("quiet"), given.pop("limit")
    titles, category, out = (given.pop(key) for key in ("titles_path", "category", "out"))
    excluded, estimate = given.pop("show_excluded"), given.pop("estimate")
    dump, on, workers = (given.pop(key) for key in ("dump", "on", "workers"))
    asked = given["wayback"]
    settings = options.settings_of(given)
    if asked and not settings.web.online:
        raise click.UsageError("--wayback asks archive.org: it needs --online.")
    corpora = [*corpus] or settings.library.places or None
    dump = dump and _here(dump, quiet)
    _check_spreading(on, dump, settings)
    if titles or category or dump:
        from pincite.cli.verify.batch import Batch

        if article or not (out or estimate):
            raise click.UsageError("Expected --out FOLDER, and no ARTICLE beside a list of them.")
        batch = Batch(settings, titles, category, corpora, sources, quiet, dump)
        if estimate:
            told(batch.estimate(), settings, outputs["json"])
        else:
            batch.check(out, on, workers)
        return
    if not article:
        raise click.UsageError("Expected an ARTICLE, --titles FILE or --category NAME.")
    page = articles.opened(
        article,
        title,
        settings,
        lambda line: options.say(line, quiet),
        language=given.get("language"),
    )
    settings = settings.replace(language=page.language)
    with (
        options.progress(quiet) as shown,
        build.verifying(
            settings, corpora, sources, own_copies=True, fetching=fetched(shown)
        ) as run,
    ):
        if estimate:
            told(run.estimate(page), settings, outputs["json"])
            return
        findings, interrupted = judged(
            run, page, shown, first=lambda: said(run, page, settings, quiet)
        )
        found = None if interrupted else uncited(run, page, shown)
        report = build.report_of(page, findings, settings, run, found)
        interrupted = interrupted or not report.complete
    deliver(report, outputs, limit=limit, quiet=quiet, excluded=excluded)
    if interrupted and report.complete:
        options.say("Stopped while a second opinion was asked. The same command goes on from here.")
        raise click.exceptions.Exit(130)
    if interrupted:
        options.say(
            f"Stopped after {len(findings)} of {len(page.claims)} claims. What was judged is "
            "kept: the same command goes on from here."
        )
        raise click.exceptions.Exit(130)
    if any(finding.label in fail_on for finding in report.findings):
        raise click.exceptions.Exit(1)


def _here(dump: Path | str, quiet: bool) -> Path:
    """The dump, copied if it lies elsewhere."""
    from pincite.library import spool
    from pincite.models import weights

    with options.progress(quiet) as shown:
        folder = weights.cache_folder().parent / "spool"
        return spool.local([dump], folder, options.teller(shown)).paths[0]


def _check_spreading(on: str, dump: Path | None, settings: Any) -> None:
    """Refuse what workers cannot do."""
    if on != "local" and (not dump or settings.web.online or settings.judge.url):
        raise click.UsageError(
            "--on ray is for --dump, without --online and --judge: what is asked of hosts and "
            "servers is paced and counted by one process."
        )
