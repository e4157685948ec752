"""`pincite claims`, `references` and `works`: what articles cite, and whether it exists."""

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from pincite import codec
from pincite.cli import options
from pincite.errors import InputError
from pincite.references import imports, online, read, report
from pincite.references.catalogue import Catalogue, CorpusRecords
from pincite.references.outcomes import Service, Source, Status
from pincite.references.works import users_catalogue
from pincite.report.cells import one_line
from pincite.types import Claim
from pincite.verbs.verify.wording import name_of

catalogue_option = click.option(
    "--catalogue",
    "place",
    type=options.FilePath,
    default=users_catalogue,
    show_default="in the user's data folder",
    help="Catalogue of works, as `pincite works import` writes it.",
)


@click.command("claims")
@click.argument("file")
@click.option("--title", help="Page to check in a dump, or the title of a wikitext file's article.")
@click.option("--language", help="Language of the article, if it declares none: en, de, ja, …")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines, one per claim.")
@options.quiet_option
def claims(file: str, title: str | None, language: str | None, as_json: bool, quiet: bool) -> None:
    """Print the claims of FILE: wikitext, HTML, a manuscript, a dump, or - for stdin."""
    from pincite.wiki.article import read_articles

    article = next(iter(read_articles(file, title=title, language=language)), None)
    if article is None:
        return
    for claim in article.claims:
        if as_json:
            row = {"revision_id": article.revision_id, "context": claim.context}
            options.print_json({**row, **dataclasses.asdict(claim)}, line=True)
        else:
            _print_claim(claim)
    for warning in article.warnings:
        options.say(f"{one_line(article.title)}: {one_line(warning)}", quiet)


def _mark_part(claim: Claim) -> str:
    """Return the sentence with the judged part in brackets, unless that is all of it."""
    sentence, part = claim.sentence, claim.part
    if part is None or not any(map(str.isalnum, sentence[: part.start] + sentence[part.end :])):
        return one_line(claim.text)
    return one_line(f"{sentence[: part.start]}⟦{claim.words}⟧{sentence[part.end :]}")


def _print_claim(claim: Claim) -> None:
    place = " › ".join((claim.title, *claim.section))
    where = f" [{claim.span.start}–{claim.span.end}]" if claim.span else ""
    click.secho(one_line(f"{place}{where}"), dim=True)
    click.echo(f"  {_mark_part(claim)}")
    for citation in claim.citations:
        address = f" <{one_line(citation.url)}>" if citation.url else ""
        click.echo(f"    {citation.citation_id} {name_of(citation)}{address}")
    for tag in claim.tags:
        click.echo(f"    tagged: {tag}")


@click.command("references")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=options.FilePath)
@catalogue_option
@options.corpus_option("Corpus of records to look them up in too.")
@options.setting_options("web.online", "web.contact")
@options.output_options(
    json="Write JSON (- for stdout).",
    csv="Write CSV.",
    bibtex="Write the references as BibTeX, corrected from the records found.",
    ris="Write them as RIS.",
    csl="Write them as CSL-JSON.",
)
@click.option(
    "--fail-on",
    type=click.Choice([str(status) for status in Status]),
    metavar="OUTCOME",
    multiple=True,
    help=f"Exit with code 1 if a reference has this outcome: {', '.join(Status)}. Repeatable.",
)
@options.quiet_option
def references(
    files: tuple[Path, ...],
    place: Path,
    corpus: tuple[Path | str, ...],
    fail_on: tuple[str, ...],
    quiet: bool,
    **given: Any,
) -> None:
    """Check whether the references in FILE exist, are described rightly, and still stand.

    A file is an article (wikitext or HTML), BibTeX, RIS, CSL-JSON or .nbib, or has a list of
    references: a text, Word or PDF file. They are looked up in the catalogue, and with --online in
    Crossref and other services. None has all works: one that is in none may well exist.

    \b
    pincite works import crossref.jsonl retraction_watch.csv
    pincite references paper.bib --csv references.csv
    pincite references article.wiki --online --contact me@example.org --json -
    """
    outputs = options.pop_outputs(given)
    settings = options.load_settings(given)
    listed = read.read(files)
    with ExitStack() as stack, options.progress(quiet) as display:
        sources, services = list[Source](), list[Service]()
        if place.is_file():
            sources.append(stack.enter_context(closing(Catalogue(place))))
        if corpus:
            from pincite.corpora import open_corpora

            found_in = stack.enter_context(open_corpora(settings, [*corpus]))
            sources.append(CorpusRecords(found_in.get, found_in.lexical()))
        if settings.web.online:
            services = stack.enter_context(online.open_services(settings.references, settings.web))
        if not sources and not services:
            options.say("There is no catalogue yet: pincite works import FILE...", quiet)
        checked = report.check(listed, sources, datetime.now(UTC).date(), display, services)
    _deliver(checked, outputs, quiet)
    if checked.stopped:
        options.stop(
            f"Stopped after {len(checked.results)} of {checked.n_references} references. Run the "
            "same command again to continue."
        )
    if any(result.outcome.status in fail_on for result in checked.results):
        raise click.exceptions.Exit(1)


def _deliver(checks: report.ReferencesReport, outputs: dict[str, Path | None], quiet: bool) -> None:
    writers: dict[str, Callable[[], str]] = {
        "json": lambda: codec.to_json(checks),
        "csv": lambda: report.to_csv(checks),
        **{name: partial(_bibliography, checks, name) for name in ("bibtex", "ris", "csl")},
    }
    options.deliver(writers, outputs, lambda: report.print_report(checks, Console()), quiet)


def _bibliography(checks: report.ReferencesReport, kind: str) -> str:
    """Format the references, corrected from the records found; `kind`: bibtex, ris or csl."""
    from pincite.report import bibliography

    entries = []
    for result in checks.results:
        item = report.csl_item(result)
        item["author"] = [bibliography.csl_name(name) for name in item.get("author", ())]
        has_more_authors = item.pop("more", False)
        note = "RETRACTED" if item.get("status") else ""
        entries.append(bibliography.Entry(item, note, has_more_authors))
    if kind == "csl":
        return bibliography.csl_json([entry.item for entry in entries])
    if kind == "bibtex":
        return "\n".join(map(bibliography.bibtex, entries))
    return "".join(map(bibliography.ris, entries))


@click.group("works")
def works() -> None:
    """Manage the catalogue of works in which references are looked up."""


@works.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=options.FilePath)
@catalogue_option
@options.quiet_option
def import_works(files: tuple[Path, ...], place: Path, quiet: bool) -> None:
    """Add the records in FILE to the catalogue.

    A file has Crossref's or OpenAlex's works as JSON lines, is one of Crossref's public data
    files, of PubMed or DBLP, or Retraction Watch's CSV; each may be gzipped.

    \b
    pincite works import crossref.jsonl.gz pubmed26n0001.xml.gz retraction_watch.csv
    """
    with closing(Catalogue(place)) as records, options.resumable():
        for file in files:
            if not file.is_file():
                raise InputError(f"{file} is no file. Expected records of works.")
            status = file.stat()
            with options.progress(quiet) as display:
                counted = records.add(
                    str(file.resolve()),
                    f"{status.st_size} {status.st_mtime_ns}",
                    imports.read(file),
                    lambda done: display("importing records", done, None),
                )
            broken = f", {counted.broken:,} that could not be read" if counted.broken else ""
            line = f"{file.name}: {counted.works:,} works, {counted.notices:,} notices{broken}"
            options.say(line, quiet)
        options.say(f"The catalogue has {len(records):,} works: {place.resolve()}", quiet)
