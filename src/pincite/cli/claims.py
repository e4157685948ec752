"""`pincite claims`: an article's claims with their citations."""

import dataclasses

import click

from pincite.cli import options
from pincite.report.cells import one_line
from pincite.types import Claim
from pincite.verbs.verify.wording import name_of


@click.command("claims")
@click.argument("file")
@click.option("--title", help="Page to check in a dump, or the title of a wikitext file's article.")
@click.option("--language", help="Language of the article, if it declares none: en, de, ja, …")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines, one per claim.")
@options.quiet_option
def command(file: str, title: str | None, language: str | None, as_json: bool, quiet: bool) -> None:
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
            _print(claim)
    for warning in article.warnings:
        options.say(f"{one_line(article.title)}: {one_line(warning)}", quiet)


def _mark_part(claim: Claim) -> str:
    """Return the sentence with the judged part in brackets, unless that is all of it."""
    sentence, part = claim.sentence, claim.part
    if part is None or not any(map(str.isalnum, sentence[: part.start] + sentence[part.end :])):
        return one_line(claim.text)
    return one_line(f"{sentence[: part.start]}⟦{claim.words}⟧{sentence[part.end :]}")


def _print(claim: Claim) -> None:
    place = " › ".join((claim.title, *claim.section))
    where = f" [{claim.span.start}–{claim.span.end}]" if claim.span else ""
    click.secho(one_line(f"{place}{where}"), dim=True)
    click.echo(f"  {_mark_part(claim)}")
    for citation in claim.citations:
        address = f" <{one_line(citation.url)}>" if citation.url else ""
        click.echo(f"    {citation.citation_id} {name_of(citation)}{address}")
    for tag in claim.tags:
        click.echo(f"    tagged: {tag}")
