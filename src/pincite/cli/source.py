"""`pincite source`: your own copies of paid papers and books, which stay on your machine."""

from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.errors import InputError
from pincite.types import Unchecked

config_option = click.option("--config", type=options.FilePath, help="A TOML file with settings.")
article_option = click.option(
    "--article", help="REF is a citation of it: a file, title or address."
)
report_option = click.option(
    "--report", type=options.FilePath, help="REF is a citation of this report, from verify --json."
)


@click.group("source", short_help="your own copies of paid papers and books")
def command() -> None:
    """Attach your own copies of cited sources: pincite source attach REF FILE.

    REF is a source as citations name it: an address, a DOI (10.…), a PMID, an ISBN; or a citation
    of an article (article.wiki#r7) or report, which may have none of these, as old books.
    Copies are kept in a folder that only you can read (own_copies in the settings). `pincite
    verify` reads them before everything else; reports hold short quotes of them and no more.

    \b
    pincite source attach 10.1000/182 paper.pdf
    pincite source attach 978-0-306-40615-7 chapter.pdf --pages 120-135
    pincite source attach r7 book.txt --report report.json
    """


@command.command("attach")
@click.argument("ref")
@click.argument("file", type=options.FilePath)
@click.option("--pages", help="Numbers printed on its first and last page, as 120-135.")
@article_option
@report_option
@options.web_options
@config_option
def attach(ref: str, file: Path, pages: str | None, **given: Any) -> None:
    """Keep FILE (PDF, text, HTML, Word, Markdown) as your copy of REF.

    Several files may be attached to one source, as chapters: the pages that a citation names
    choose among those that were attached with --pages.
    """
    from pincite.library import private_copies
    from pincite.report.cells import one_line
    from pincite.report.reasons import REASONS
    from pincite.verbs.verify.wording import STEPS

    settings = options.settings_of({k: v for k, v in given.items() if k not in _PLACES})
    source = _named(ref, given, settings)
    printed = private_copies.printed_pages(pages) if pages else None
    kept = private_copies.attach(_copies(settings), source, file, printed)
    if isinstance(kept, Unchecked):
        why = one_line(kept.detail) or REASONS[kept.reason]
        step = STEPS[kept.reason]
        raise InputError(f"{file} was not attached: {why}. {step[0].upper()}{step[1:]}.")
    options.say(f"attached to {one_line(kept.ref)}: {_found(kept)}")


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
@config_option
def list_(as_json: bool, config: Path | None) -> None:
    """Every copy, oldest first."""
    for copy in _copies(options.settings_of({"config": config})).all():
        _print(copy, as_json)


@command.command("show")
@click.argument("ref")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
@article_option
@report_option
@options.web_options
@config_option
def show(ref: str, as_json: bool, **given: Any) -> None:
    """What is attached to REF, by what it is known, and where it lies."""
    copies, found = _attached(ref, given)
    for copy in found:
        _print(copy, as_json)
        if not as_json:
            click.echo(f"    {', '.join(copy.keys)}")
            click.echo(f"    {copies.path_of(copy)}")


@command.command("remove")
@click.argument("ref")
@click.option("--file", "digest", help="Only the file whose SHA-256 begins so.")
@article_option
@report_option
@options.web_options
@config_option
def remove(ref: str, digest: str | None, **given: Any) -> None:
    """Forget what is attached to REF; a file that no other source has is deleted."""
    copies, found = _attached(ref, given)
    chosen = [copy for copy in found if copy.sha256.startswith(digest or "")]
    if not chosen:
        raise InputError(f"{ref} has no file whose SHA-256 begins with {digest!r}.")
    copies.remove(chosen)
    for copy in chosen:
        options.say(f"removed: {_line(copy)}")


_PLACES = ("article", "report")


def _named(ref: str, given: dict[str, Any], settings: Any) -> Any:
    """The source that REF names, by itself or as a citation."""
    from pincite.library import private_copies
    from pincite.verbs.verify import articles

    article, report = (given.get(place) for place in _PLACES)
    if article and report:
        raise click.UsageError("Expected one of --article and --report.")
    if report:
        return private_copies.in_report(report, ref)
    path, mark, number = ref.rpartition("#")
    if not article and mark and "://" not in ref and articles.is_file(path):
        article, ref = path, number
    if not article:
        return private_copies.named(ref)
    private_copies.citation_id(ref)
    page = articles.opened(article, None, settings, options.say)
    return private_copies.in_article(
        page, ref, Path(article).name if articles.is_file(article) else article
    )


def _attached(ref: str, given: dict[str, Any]) -> tuple[Any, Any]:
    """The store, and what it has of REF: at least one copy."""
    settings = options.settings_of({k: v for k, v in given.items() if k not in _PLACES})
    source, copies = _named(ref, given, settings), _copies(settings)
    found = copies.of(source.keys)
    if not found:
        raise InputError(f"Nothing is attached to {source.ref}. pincite source list shows all.")
    return copies, found


def _copies(settings: Any) -> Any:
    from pincite.library.private_copies import OwnCopies, folder_of

    return OwnCopies(folder_of(settings.library.own_copies))


def _print(copy: Any, as_json: bool) -> None:
    import dataclasses

    if as_json:
        row = dataclasses.asdict(copy)
        row.pop("copy_id")
        options.print_json(row, line=True)
    else:
        click.echo(_line(copy))


def _line(copy: Any) -> str:
    from pincite.report.cells import one_line

    return f"{copy.sha256[:12]}  {one_line(copy.ref)}: {one_line(copy.name)}, {_found(copy)}"


def _found(copy: Any) -> str:
    """What was read: "31 pages (pp. 120–150), 12,420 words, in en"."""
    pages = f"{copy.n_pages} page{'s' * (copy.n_pages != 1)}" if copy.n_pages else ""
    if copy.pages:
        printed = f"pp. {copy.pages[0]}–{copy.pages[1]}"
        pages = f"{pages} ({printed})" if pages else printed
    language = "English" if copy.language == "en" else f"language {copy.language}"
    words = f"{copy.n_words:,} words"
    return ", ".join(part for part in (pages, words, language if copy.language else "") if part)
