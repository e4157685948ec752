"""`pincite claims`: what an article claims, and which citations stand behind each claim."""

import dataclasses
import json

import click

from pincite.cli import options
from pincite.report.cells import one_line
from pincite.types import Article, Claim
from pincite.verbs.verify.wording import name_of


@click.command("claims", short_help="print an article's claims with their citations")
@click.argument("file")
@click.option("--title", help="Which page of a dump; the title of a wikitext file.")
@click.option("--language", help="Of the article, if not as it says: en, de, ja, …")
@click.option("--all", "every", is_flag=True, help="Every page of a dump.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a claim and line.")
@click.option("--wafer", is_flag=True, help="WAFER records (JSONL) of claims with an address.")
@click.option("-q", "--quiet", is_flag=True, help="No warnings.")
def command(
    file: str,
    title: str | None,
    language: str | None,
    every: bool,
    as_json: bool,
    wafer: bool,
    quiet: bool,
) -> None:
    """Print the claims of FILE: wikitext, HTML, a dump (.xml, .bz2, .gz), or - for stdin."""
    from pincite.wiki.article import read_articles
    from pincite.wiki.wafer import record_of, to_line

    for number, article in enumerate(read_articles(file, title=title, language=language)):
        if number and not every:
            break
        for claim in article.claims:
            if wafer:
                if any(citation.url for citation in claim.citations):
                    click.echo(to_line(record_of(claim, language=article.language)))
            elif as_json:
                click.echo(json.dumps(_as_dict(article, claim), ensure_ascii=False))
            else:
                _print(claim)
        for warning in article.warnings:
            options.say(f"{one_line(article.title)}: {one_line(warning)}", quiet)


def _as_dict(article: Article, claim: Claim) -> dict[str, object]:
    fields = dataclasses.asdict(claim)
    return {"revision_id": article.revision_id, "context": claim.context, **fields}


def _marked(claim: Claim) -> str:
    """The whole sentence, with what is judged of it between brackets if that is only a part."""
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
