"""`pincite reliability`, `source` and `feedback`: what the user keeps."""

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any

import click

from pincite import codec
from pincite.cli import options
from pincite.documents.jsonl import LABELS
from pincite.errors import InputError
from pincite.library import exclusions, private_copies
from pincite.library import reliability as lists
from pincite.library.exclusions import LABELS as RATINGS
from pincite.library.feedback import (
    THUMBS,
    Opinions,
    Words,
    claims,
    file_of,
    opinion_on,
    plain,
    read_result,
)
from pincite.report.cells import REASONS, n_of, one_line, shorten
from pincite.settings import Settings
from pincite.types import Unchecked
from pincite.verbs.verify import articles, wording
from pincite.verbs.verify.report import Report

lines_option = click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")


@click.group("reliability")
def reliability() -> None:
    """Manage lists of how a community rates sources, which label reports and suggestions.

    Pincite includes none. `verify` uses the list named after the article's language, or the setting
    `reliability`.
    """


@reliability.command("import")
@click.argument("file", type=options.FilePath)
@click.option("--name", default="en", show_default=True, help="Name of the list.")
def import_list(file: Path, name: str) -> None:
    """Import FILE: rows of a wiki's perennial sources, or a plain list of sites and labels.

    \b
    pincite reliability import perennial-sources.jsonl.gz
    pincite reliability import our-list.csv --name house
    """
    imported, kept = lists.import_list(file, name)
    click.echo(f"{imported.n_rows} entries read, {len(imported.entries)} sites: {kept}")
    counts = Counter(entry.reliability for entry in imported.entries)
    for rating, words in RATINGS.items():
        if counts[rating]:
            click.echo(f"{counts[rating]:6} {words}")
    if names := imported.without_place:
        unmatched = f"{len(names)} entries name no site and cannot be matched"
        options.say(f"{unmatched}: {'; '.join(names)}")


@reliability.command("show")
@click.argument("urls", nargs=-1)
@click.option("--name", default="en", show_default=True, help="Name of the list.")
@lines_option
def show_listed(urls: tuple[str, ...], name: str, as_json: bool) -> None:
    """Print what the list says about each of URLS; without any, print the imported lists."""
    if not urls:
        for imported in exclusions.imported_lists():
            click.echo(lists.load_list(imported).fingerprint)
        return
    rules = lists.load_list(name).rules
    for url in urls:
        listing = rules.listing_of(url if "://" in url else f"https://{url}")
        if as_json:
            options.print_json({"url": url, **codec.values_of(listing)}, line=True)
            continue
        entry = f"{listing.name} ({listing.place})" if listing.name else listing.place
        rating = " · ".join(filter(None, (wording.reliability(listing), one_line(entry))))
        click.echo(f"{one_line(url)}\n  {rating}")
        if listing.link:
            click.echo(f"  {one_line(listing.link)}")


@click.group("source")
def source() -> None:
    """Attach your own copies of cited sources: pincite source attach REF FILE.

    REF names a source as citations do: an address, a DOI (10.…), a PMID or an ISBN. Or it is a
    citation in an article (article.wiki#r7) or report, for sources that have none of these. For a
    copy that is attached already, its id or file name in `pincite source list` also works. Copies
    are kept in a folder that only you can read (own_copies in the settings). `pincite verify` reads
    them first; reports contain only short quotes of them.

    \b
    pincite source attach 10.1000/182 paper.pdf
    pincite source attach 978-0-306-40615-7 chapter.pdf --pages 120-135
    pincite source attach r7 book.txt --report report.json
    """


def _ref_options(command: options.Command) -> options.Command:
    text = "Report (verify --json) that REF is cited in."
    report = click.option("--report", type=options.FilePath, help=text)
    return click.argument("ref")(report(options.config_option(command)))


@source.command("attach")
@_ref_options
@click.argument("file", type=options.FilePath)
@click.option("--pages", help="Printed numbers of the first and last page: 120-135.")
def attach(ref: str, file: Path, pages: str | None, **given: Any) -> None:
    """Keep FILE (PDF, text, HTML, Word, Markdown) as your copy of REF.

    A source can have several files, such as chapters: with --pages, the one that has the cited
    pages is read.
    """
    named, copies = _source(ref, **given)
    printed = private_copies.parse_pages(pages) if pages else None
    attached = private_copies.attach(copies, named, file, printed)
    if isinstance(attached, Unchecked):
        why = one_line(attached.detail) or REASONS[attached.reason]
        step = wording.STEPS[attached.reason]
        raise InputError(f"{file} was not attached: {why}. {step[0].upper()}{step[1:]}.")
    copy = attached.copy
    options.say(f"attached to {one_line(copy.ref)}: {_describe(copy)}")
    if attached.doubt:
        undo = f"pincite source remove {copy.ident}"
        options.say(f"{one_line(copy.name)} {attached.doubt}; attached anyway; undo with: {undo}")


@source.command("list")
@lines_option
@options.config_option
def list_copies(as_json: bool, config: Path | None) -> None:
    """Print the id, name and source of all copies, oldest first."""
    attached = _copies(options.load_settings({"config": config})).all()
    for copy in attached:
        _print_copy(copy, as_json)
    if not attached:
        options.say("No copies are attached. Attach one with: pincite source attach REF FILE")


@source.command("show")
@_ref_options
@lines_option
def show_copies(ref: str, as_json: bool, **given: Any) -> None:
    """Print what is attached to REF, its identifiers, and its path."""
    copies, attached = _attached_copies(ref, given)
    for copy in attached:
        _print_copy(copy, as_json)
        if not as_json:
            click.echo(f"    {', '.join(copy.keys)}")
            click.echo(f"    {copies.path_of(copy)}")


@source.command("remove")
@_ref_options
def remove(ref: str, **given: Any) -> None:
    """Detach REF: one copy by its id or file name, or all copies of a source.

    A file that no other source uses is deleted.
    """
    copies, attached = _attached_copies(ref, given)
    copies.remove(attached)
    for copy in attached:
        options.say(f"removed: {_line_of(copy)}")


def _source(
    ref: str, report: Path | None, config: Path | None
) -> tuple[private_copies.Named, private_copies.OwnCopies]:
    """Return the source that REF names, directly or as a citation, and the store of copies."""
    settings = options.load_settings({"config": config})
    copies = _copies(settings)
    if report:
        cited = (result.citation for result in Report.from_file(report).results)
        return private_copies.cited_source(cited, ref, report.name), copies
    path, mark, number = ref.rpartition("#")
    if mark and "://" not in ref and articles.is_file(path):
        private_copies.citation_id(number)
        page = articles.open_article(path, None, settings, options.say)
        citations = (citation for claim in page.claims for citation in claim.citations)
        return private_copies.cited_source(citations, number, Path(path).name), copies
    if known := copies.copies_called(ref):
        return private_copies.Named(known[0].ref, known[0].keys), copies
    return private_copies.named_source(ref), copies


def _attached_copies(
    ref: str, given: dict[str, Any]
) -> tuple[private_copies.OwnCopies, list[private_copies.OwnCopy]]:
    named, copies = _source(ref, **given)
    attached = copies.copies_called(ref) or copies.of(named.keys)
    if not attached:
        raise InputError(f"Nothing is attached to {named.ref}. pincite source list shows all.")
    return copies, attached


def _copies(settings: Settings) -> private_copies.OwnCopies:
    return private_copies.OwnCopies(private_copies.folder_of(settings.library.own_copies))


def _print_copy(copy: private_copies.OwnCopy, as_json: bool) -> None:
    if as_json:
        row = {"id": copy.ident, **dataclasses.asdict(copy)}
        row.pop("copy_id")
        options.print_json(row, line=True)
    else:
        click.echo(_line_of(copy))


def _line_of(copy: private_copies.OwnCopy) -> str:
    return f"{copy.ident:4} {one_line(copy.name)}: {one_line(copy.ref)}, {_describe(copy)}"


def _describe(copy: private_copies.OwnCopy) -> str:
    """Describe what was read: "31 pages (pp. 120–150), 12,420 words, English"."""
    from pincite.text.languages import language_name

    pages = n_of(copy.n_pages, "page") if copy.n_pages else ""
    if copy.pages:
        first, last = copy.pages
        printed = f"p. {first}" if first == last else f"pp. {first}–{last}"
        pages = f"{pages} ({printed})" if pages else printed
    language = language_name(copy.language).partition(" (")[0] if copy.language else ""
    return ", ".join(filter(None, (pages, f"{copy.n_words:,} words", language)))


class _Feedback(click.Group):
    """Makes `pincite feedback RESULT --up` short for `pincite feedback add RESULT --up`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = ["add", *args]
        return super().parse_args(ctx, args)


@click.group("feedback", cls=_Feedback)
def feedback() -> None:
    """Say whether a result is right: pincite feedback RESULT.json --up.

    Opinions are kept on this machine, with the statement and passage that they are about. They can
    be exported for `pincite eval` and `pincite train`.
    """


@feedback.command("add")
@click.argument("result", type=options.FilePath)
@click.option("--up", "given", flag_value="up", help="It is right.")
@click.option("--down", "given", flag_value="down", help="It is wrong.")
@click.option("--label", help="The right label: support, refute, nei, … or confirmed, …")
@click.option("--item", "item_id", help="Id of a claim or reading, or of its evidence.")
@click.option("--note", default="", help="Why, in your own words.")
@click.option("--correction", default="", help="What it should say.")
@click.option("--by", "who", default="", help="Your name, if you want it kept.")
@options.config_option
def add(
    result: Path,
    given: str | None,
    label: str | None,
    item_id: str | None,
    config: Path | None,
    **words: str,
) -> None:
    """Record your opinion of RESULT, a JSON file of `pincite verify`, `check` or `ask`.

    It is about the whole result, or one item: a claim with a citation (CLAIM or CLAIM/r3), a
    suggestion (CLAIM/s1), a reading (1.r2: the second of the first statement) or its evidence
    (1.r2/e1), an answer (1), a sentence of it (1.s2), or a sentence with one reference (1.s2/r3).
    Labels of a passage: support, refute, nei, partial, not_support. Labels of a reading: confirmed,
    disconfirmed, inconclusive.
    """
    if (given is None) == (label is None):
        raise click.UsageError("Expected one of --up, --down and --label LABEL.")
    rated = read_result(result)
    item = rated.chosen(item_id, passage=label in LABELS) if item_id else None
    stated = given or label or ""
    with _open_opinions(config) as opinions:
        opinions.add(opinion_on(result.read_bytes(), rated, stated, item, Words(**words)))
    options.say(f"kept: {stated} for {item.item_id if item else result}")
    settings = options.load_settings({"config": config})
    if settings.results.folder and rated.kind == "check" and item is None and given:
        from pincite.verbs.check import render
        from pincite.verbs.check.report import CheckReport

        report = CheckReport.from_json(result.read_bytes())
        for path in render.log_checks(report, settings, THUMBS[given]):
            options.say(f"log: {path}")


@feedback.command("list")
@lines_option
@options.config_option
def list_opinions(as_json: bool, config: Path | None) -> None:
    """Print all opinions, oldest first."""
    with _open_opinions(config) as opinions:
        kept = opinions.all()
    for one in kept:
        if as_json:
            options.print_json(plain(one), line=True)
            continue
        what = one_line(one.statement) or f"{one.kind} result {one.result}"
        click.echo(f"{one.created}  {one.given:12} {one.item_id:20} {shorten(what, 80)}")
        for text in (one.note, one.correction and f"→ {one.correction}", one.who):
            if text:
                click.echo(f"    {one_line(text)}")


@feedback.command("export")
@click.argument("output", type=options.OutFile)
@options.config_option
def export(output: Path, config: Path | None) -> None:
    """Write the opinions on passages to OUTPUT as JSON lines, for eval claims and learn.

    If several concern one passage, the last counts. --down alone makes no row.
    """
    with _open_opinions(config) as opinions:
        kept = opinions.all()
    rows = claims(kept)
    options.write("".join(codec.to_json(row, None) for row in rows), output)
    options.say(f"{len(rows)} rows from {len(kept)} opinions.")


def _open_opinions(config: Path | None) -> Opinions:
    return Opinions(file_of(options.load_settings({"config": config}).library.feedback_file))
