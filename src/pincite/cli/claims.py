"""`pincite claims`: an article's claims with their citations."""

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pincite.cli import options
from pincite.report.cells import one_line
from pincite.types import Article, Claim, Document
from pincite.verbs.verify.wording import name_of

if TYPE_CHECKING:
    from pincite.wiki.article import PageText


@click.command("claims")
@click.argument("file")
@click.option("--title", help="Page to check in a dump, or the title of a wikitext file's article.")
@click.option("--language", help="Language of the article, if it declares none: en, de, ja, …")
@click.option("--all", "every", is_flag=True, help="Print every page of a dump.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines, one per claim.")
@click.option("--wafer", is_flag=True, help="Print WAFER records of claims that cite an address.")
@click.option("--out", type=options.OutFolder, help="Write a WAFER-like collection of all pages.")
@click.option(
    "--align",
    type=options.Address,
    multiple=True,
    help="With --out: corpus or folder with the cited pages. Repeatable.",
)
@options.quiet_option
def command(
    file: str,
    title: str | None,
    language: str | None,
    every: bool,
    as_json: bool,
    wafer: bool,
    out: Path | None,
    align: tuple[Path | str, ...],
    quiet: bool,
) -> None:
    """Print the claims of FILE: wikitext, HTML, a manuscript, a dump, or - for stdin."""
    from pincite.wiki.article import read_articles
    from pincite.wiki.wafer import records_in, to_line

    if align and not out:
        raise click.UsageError("--align needs --out FOLDER.")
    if out:
        if title:
            raise click.UsageError("--out includes all pages: leave out --title.")
        _collect(file, language, out, align, quiet)
        return
    articles = read_articles(file, title=title, language=language)
    for number, article in enumerate(articles):
        if number and not every:
            break
        if wafer:
            for record in records_in(article):
                click.echo(to_line(record))
        for claim in () if wafer else article.claims:
            if as_json:
                row = {"revision_id": article.revision_id, "context": claim.context}
                options.print_json({**row, **dataclasses.asdict(claim)}, line=True)
            else:
                _print(claim)
        for warning in article.warnings:
            options.say(f"{one_line(article.title)}: {one_line(warning)}", quiet)


def _collect(
    file: str,
    language: str | None,
    out: Path,
    align: Sequence[Path | str],
    quiet: bool,
) -> None:
    from pincite.wiki import wafer
    from pincite.wiki.article import parse_page, read_pages_of

    def read(page: "PageText") -> Article:
        return parse_page(dataclasses.replace(page, language=language or page.language))

    path = Path(file)
    size = path.stat().st_size if path.is_file() else None
    with ExitStack() as stack, options.progress(quiet) as display:
        places = [_finder(folder, stack) for folder in align]

        def find(url: str) -> Document | None:
            return next(filter(None, (place(url) for place in places)), None)

        wanted = find if places else None
        counts = wafer.build(
            (partial(read, page) for page in read_pages_of(file, None)),
            out,
            wanted,
            made_of=f"{path.name}, {size} bytes, {sorted(map(str, align))}",
            tell=display,
        )
    options.print_json(counts)


def _finder(folder: Path | str, stack: ExitStack) -> Callable[[str], Document | None]:
    """Return a function that finds the page at an address, in a corpus or among stored pages."""
    from pincite.corpus import engines
    from pincite.documents.collection import open_sources, variants

    if engines.exists(folder):
        corpus = stack.enter_context(engines.open(folder, None))
        return lambda url: next(filter(None, corpus.get(variants(url))), None)
    stored = open_sources(Path(folder))

    def get(url: str) -> Document | None:
        found = stored.get(url)
        return found if isinstance(found, Document) else None

    return get


def _marked(claim: Claim) -> str:
    """Return the sentence with the judged part in brackets, unless that is all of it."""
    sentence, part = claim.sentence, claim.part
    if part is None or not any(map(str.isalnum, sentence[: part.start] + sentence[part.end :])):
        return one_line(claim.text)
    return one_line(f"{sentence[: part.start]}⟦{claim.words}⟧{sentence[part.end :]}")


def _print(claim: Claim) -> None:
    place = " › ".join((claim.title, *claim.section))
    where = f" [{claim.span.start}–{claim.span.end}]" if claim.span else ""
    click.secho(one_line(f"{place}{where}"), dim=True)
    click.echo(f"  {_marked(claim)}")
    for citation in claim.citations:
        address = f" <{one_line(citation.url)}>" if citation.url else ""
        click.echo(f"    {citation.citation_id} {name_of(citation)}{address}")
    for tag in claim.tags:
        click.echo(f"    tagged: {tag}")
