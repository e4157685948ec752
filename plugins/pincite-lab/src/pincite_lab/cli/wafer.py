"""`pincite wafer`: records and collections as SIDE built them, from articles and dumps."""

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import click

from pincite.cli import options
from pincite.corpus import engines
from pincite.documents.collection import open_sources, variants
from pincite.types import Article, Document
from pincite.wiki.article import PageText, parse_page, read_articles, read_pages_of
from pincite_lab.wafer import collection


@click.command("wafer", short_help="build a collection as SIDE built WAFER")
@click.argument("file")
@click.option("--language", help="Language of the articles, if they declare none: en, de, ja, …")
@click.option("--out", type=options.OutFolder, help="Write a WAFER-like collection of all pages.")
@click.option(
    "--align",
    type=options.Address,
    multiple=True,
    help="With --out: corpus or folder with the cited pages. Repeatable.",
)
@options.quiet_option
def command(
    file: str, language: str | None, out: Path | None, align: tuple[Path | str, ...], quiet: bool
) -> None:
    """Print WAFER records of FILE's claims that cite an address, or build a collection.

    FILE is what `pincite claims` reads: wikitext, HTML, a manuscript, a dump, or - for stdin.
    """
    if align and not out:
        raise click.UsageError("--align needs --out FOLDER.")
    if out:
        _collect(file, language, out, align, quiet)
        return
    for article in read_articles(file, language=language):
        for record in collection.records_in(article):
            click.echo(collection.to_line(record))


def _collect(
    file: str,
    language: str | None,
    out: Path,
    align: Sequence[Path | str],
    quiet: bool,
) -> None:
    def read(page: PageText) -> Article:
        return parse_page(dataclasses.replace(page, language=language or page.language))

    path = Path(file)
    size = path.stat().st_size if path.is_file() else None
    with ExitStack() as stack, options.progress(quiet) as display:
        places = [_finder(folder, stack) for folder in align]

        def find(url: str) -> Document | None:
            return next(filter(None, (place(url) for place in places)), None)

        wanted = find if places else None
        counts = collection.build(
            (partial(read, page) for page in read_pages_of(file, None)),
            out,
            wanted,
            made_of=f"{path.name}, {size} bytes, {sorted(map(str, align))}",
            tell=display,
        )
    options.print_json(counts)


def _finder(folder: Path | str, stack: ExitStack) -> Callable[[str], Document | None]:
    """Return a function that finds the page at an address, in a corpus or among stored pages."""
    if engines.exists(folder):
        corpus = stack.enter_context(engines.open(folder, None))
        return lambda url: next(filter(None, corpus.get(variants(url))), None)
    stored = open_sources(Path(folder))

    def get(url: str) -> Document | None:
        found = stored.get(url)
        return found if isinstance(found, Document) else None

    return get
