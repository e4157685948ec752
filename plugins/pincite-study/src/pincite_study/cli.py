"""`pincite study`: do people prefer the suggested citations, without knowing which they are."""

import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pincite.cli import options
from pincite.report.cells import one_line

if TYPE_CHECKING:
    from pincite_study.making import Stores
    from pincite_study.studies import Study


def _with_stores(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that name the server's database, and pass its stores to the command."""

    @click.option("--data", help="Folder of the server's database.")
    @click.option("--config", type=options.FilePath, help="The server's TOML file.")
    @wraps(command)
    def run(data: str | None, config: Path | None, **given: Any) -> None:
        from pincite_study import making as study_making

        with study_making.open_stores({"data": data} if data else {}, config) as stores:
            command(stores, **given)

    return run


@click.group("study", short_help="let people compare citations, passages or answers, blind")
def command() -> None:
    r"""Let people say which of two sources or answers is better, without telling which is which.

    \b
    pincite study create report.json --name "Harbour towns"
    pincite serve                        # raters open the link that `create` printed
    pincite study report STUDY

    A study is stored in the database of `pincite serve`: give the same --data or --config.
    """


@command.command("create")
@click.argument("results", nargs=-1, required=True)
@click.option(
    "--compare",
    type=click.Choice(["citations", "passages", "answers"]),
    default="citations",
    help="Citation and suggestion, two passages of a source, or whole answers. [citations]",
)
@click.option("--name", help="What raters and lists call it. [the first article]")
@click.option(
    "--sample", type=click.Choice(["low-scores", "random"]), help="[low-scores; random for answers]"
)
@click.option(
    "--worst",
    type=options.Share,
    metavar="PERCENT",
    help="Share of the lowest scores to take, such as 10%.",
)
@click.option("-n", "--n", type=click.IntRange(1), help="Maximum items. [all]")
@click.option("--per-item", type=click.IntRange(1, 100), default=3, help="Ratings per item. [3]")
@click.option(
    "--seed", type=int, default=0, help="Random seed of the sample, the orders and the sides. [0]"
)
@click.option("--consent", type=options.FilePath, help="File with the text that raters agree to.")
@click.option(
    "--sources", type=options.FilePath, help="Folder of cited pages, to show raters whole texts."
)
@click.option(
    "--corpus", type=options.FilePath, help="Corpus of the suggestions, to show raters whole texts."
)
@_with_stores
def create(stores: "Stores", results: tuple[str, ...], **given: Any) -> None:
    """Create a study of RESULTS: JSON files of `pincite verify` or `ask`, or ids of server jobs.

    citations: raters compare each checked citation that has a suggestion with that suggestion.
    passages, a control: they compare the passage that the verifier chose with a random one of the
    same source. low-scores takes the citations that the verifier thinks most likely to fail, lowest
    first, or with --worst that share of all; random takes any. Raters see whole texts where both
    are available; passages need them. A job stores them; for a file, name the folders.

    answers: RESULTS are reports of `pincite ask` on the same questions, by different models or
    settings; the answers of the first are compared with those of each other report.
    """
    from pincite_study import making as study_making
    from pincite_study import report as study_report
    from pincite_study.studies import default_sample

    if given["worst"] and "random" in (given["sample"], default_sample(given["compare"])):
        raise click.UsageError("--worst takes the lowest scores: no answers, no --sample random.")
    made = study_making.create_study(stores, results, study_making.Making(**given))
    options.say(f"{made.n_items} statements, {made.per_item} ratings of each wanted.")
    if left_out := study_report.left_out(made.n_without_text, made.n_one_passage, made.compare):
        options.say(left_out)
    _show(made)


@command.command("list")
@_with_stores
def list_(stores: "Stores") -> None:
    """List all studies, newest first."""
    for study in stores.studies.newest(None, 1000):
        state = "closed" if study.closed else "open"
        count = f"{study.n_ratings}/{study.wanted}"
        click.echo(f"{study.study_id}  {state:6} {count:>9}  {one_line(study.name)}")


@command.command("show")
@click.argument("study")
@_with_stores
def show(stores: "Stores", study: str) -> None:
    """Show a study's progress and its invitation link."""
    _show(stores.study(study))


@command.command("link")
@click.argument("study")
@click.option("--revoke", is_flag=True, help="Revoke the link without creating a new one.")
@_with_stores
def link(stores: "Stores", study: str, revoke: bool) -> None:
    """Create a new invitation link; the previous one stops working."""
    stores.studies.relink(stores.study(study).study_id, revoke=revoke)
    _show(stores.study(study))


@command.command("close")
@click.argument("study")
@_with_stores
def close(stores: "Stores", study: str) -> None:
    """Close a study to further answers."""
    stores.studies.close(stores.study(study).study_id)
    _show(stores.study(study))


@command.command("delete")
@click.argument("study")
@click.option("--rater", type=int, help="Only this rater, by number, with their answers.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@_with_stores
def delete(stores: "Stores", study: str, rater: int | None, yes: bool) -> None:
    """Delete a study with all its ratings, or one rater who asks for it."""
    record = stores.study(study)
    what = f"rater {rater} of" if rater is not None else "all of"
    if not yes:
        click.confirm(f"Delete {what} {one_line(record.name)!r}?", abort=True, err=True)
    if rater is None:
        stores.studies.delete(record.study_id)
    elif not stores.studies.forget(record.study_id, rater):
        raise click.UsageError(f"The study has no rater {rater}.")
    options.say("deleted")


@command.command("report")
@click.argument("study")
@click.option("--json", "values", type=options.OutFile, help="Write the report as JSON.")
@click.option("--html", type=options.OutFile, help="Write it as one HTML page.")
@click.option("--csv", type=options.OutFile, help="Write the ratings as a table.")
@_with_stores
def report(stores: "Stores", study: str, **wanted: Path | None) -> None:
    """Report what raters preferred, by how much, and whether they agree."""
    from pincite_study import report as study_report

    record = stores.study(study)
    counted = study_report.report_of(stores.studies, record)
    if wanted["csv"]:
        options.write(study_report.as_csv(stores.studies, record), wanted["csv"])
    if wanted["values"]:
        text = json.dumps(counted, ensure_ascii=False, indent=2)
        options.write(f"{text}\n", wanted["values"])
    if wanted["html"]:
        options.write(study_report.as_page(counted), wanted["html"])
    if str(wanted["values"]) != "-":
        click.echo(study_report.as_text(counted), nl=False)


@command.command("audit")
@click.argument("study")
@click.option("--sheet", type=options.OutFile, help="Write the citations to audit (CSV).")
@click.option("--filled", type=options.FilePath, help="The sheet as an auditor filled it in.")
@_with_stores
def audit(stores: "Stores", study: str, sheet: Path | None, filled: Path | None) -> None:
    r"""Why did raters find no evidence: audit whole sources, as SIDE's authors did (table 1).

    \b
    pincite study audit STUDY --sheet audit.csv
    pincite study audit STUDY --filled audit.csv

    The sheet has the citations in which a majority found no evidence. Open each source and fill in
    the column `found`: none, partial, one passage, several passages, not in text or paywall.
    """
    from pincite_study import audit as study_audit
    from pincite_study import making as study_making

    if bool(sheet) == bool(filled):
        raise click.UsageError("Give either --sheet FILE or --filled FILE.")
    record = stores.study(study)
    if sheet:
        options.write(study_audit.audit_sheet(stores.studies, record), sheet)
    if filled:
        click.echo(study_audit.count_audit(study_making.text_of(filled)), nl=False)


def _show(study: "Study") -> None:
    state = "closed" if study.closed else "open"
    click.echo(f"{study.study_id}  {one_line(study.name)}  ({state})")
    click.echo(
        f"{study.n_ratings} of {study.wanted} ratings by {study.n_raters} raters "
        f"of {study.n_items} statements"
    )
    if study.token:
        click.echo(f"link: /studies/{study.token}   (append it to the address of `pincite serve`)")
