"""`pincite reliability`: lists of good and bad sources, imported from a wiki's own."""

from collections import Counter
from pathlib import Path

import click

from pincite.cli import options


@click.group("reliability", short_help="a wiki's list of good and bad sources")
def command() -> None:
    """Lists of how a community judges sources: labels in reports, and what is never suggested.

    Pincite ships none. `verify` uses the list that is called like the article's language, or the
    one that `reliability` names.
    """


@command.command("import")
@click.argument("file", type=options.FilePath)
@click.option("--name", default="en", show_default=True, help="What the list is called here.")
@click.option("--wiki", help="The wiki that its links lead to. [the Wikipedia called NAME, or en]")
def import_(file: Path, name: str, wiki: str | None) -> None:
    """Import FILE: rows of a wiki's perennial sources, or a plain list of sites and labels.

    \b
    pincite reliability import perennial-sources.jsonl.gz
    pincite reliability import our-list.csv --name house
    """
    from pincite.judgement.reliability import LABELS
    from pincite.library import reliability
    from pincite.wiki.site.addresses import site_at, wikipedia
    from pincite.wiki.site.prefixes import LANGUAGES

    site = site_at(wiki) if wiki else wikipedia(name if name in LANGUAGES else "en")
    found, kept = reliability.import_list(file, name, site)
    click.echo(f"{found.n_rows} entries read, {len(found.entries)} sites: {kept}")
    counted = Counter(entry.reliability for entry in found.entries)
    for label, words in LABELS.items():
        if counted[label]:
            click.echo(f"{counted[label]:6} {words}")
    if found.without_place:
        n, named = len(found.without_place), "; ".join(found.without_place)
        options.say(f"{n} name no site and cannot be matched: {named}")


@command.command("show")
@click.argument("urls", nargs=-1, required=True)
@click.option("--name", default="en", show_default=True, help="Which list.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
def show(urls: tuple[str, ...], name: str, as_json: bool) -> None:
    """What the list says of each of URLS: label, what matched, and the discussion."""
    from rich.console import Console

    from pincite.contract.codec import values_of
    from pincite.library import reliability
    from pincite.verbs.verify import data, terminal

    rules = reliability.load(name).rules
    found = [(url, rules.listing_of(url if "://" in url else f"https://{url}")) for url in urls]
    if not as_json:
        Console().print(terminal.listed(found), soft_wrap=True, end="")
        return
    for url, listing in found:
        row = {"url": url, **(values_of(data.listing(listing)) or {})}
        options.print_json(row, line=True)


@command.command("list")
def list_() -> None:
    """The lists that were imported."""
    from pincite.library import reliability

    for name in reliability.imported():
        click.echo(reliability.load(name).fingerprint)
