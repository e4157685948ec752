"""`pincite feedback`: what you think of a result, kept here and exported as rows."""

from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.contract import codec

config_option = click.option("--config", type=options.FilePath, help="A TOML file with settings.")


class _Feedback(click.Group):
    """`pincite feedback RESULT --up` is short for `pincite feedback add RESULT --up`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = ["add", *args]
        return super().parse_args(ctx, args)


@click.group("feedback", cls=_Feedback, short_help="say what you think of a result, and export it")
def command() -> None:
    """Say whether a result is right: pincite feedback RESULT.json --up.

    Opinions are kept on this machine, with the statement and the passage that they are about, and
    can be exported as rows that `pincite eval` measures with and `pincite train` learns from.
    """


@command.command("add")
@click.argument("result", type=options.FilePath)
@click.option("--up", "given", flag_value="up", help="It is right.")
@click.option("--down", "given", flag_value="down", help="It is wrong.")
@click.option(
    "--label", help="What is right: support, refute, nei, … or confirmed, … of a reading."
)
@click.option("--item", "item_id", help="A claim's or a reading's id, or one of its evidence.")
@click.option("--note", default="", help="Why, in your words.")
@click.option("--correction", default="", help="What should stand there instead.")
@click.option("--by", "who", default="", help="Your name, if you want it kept.")
@config_option
def add(
    result: Path,
    given: str | None,
    label: str | None,
    item_id: str | None,
    config: Path | None,
    **words: str,
) -> None:
    """Keep what you think of RESULT, a JSON file of `pincite verify`, `check` or `ask`.

    Of the whole of it, or of one item: a claim with one citation (CLAIM or CLAIM/r3), a suggestion
    (CLAIM/s1), a reading (1.r2: the second of the first statement) or its evidence (1.r2/e1), an
    answer (1), a sentence of it (1.s2) or that with one reference (1.s2/r3). With a label of a
    passage, 1.s2 is its only reference.
    Labels of a passage: support, refute, nei, partial, not_support; of a reading: confirmed,
    disconfirmed, inconclusive.
    """
    from pincite.documents.lines.labelled import LABELS
    from pincite.library.feedback import Words, opinion
    from pincite.library.rated_results import read_result

    if (given is None) == (label is None):
        raise click.UsageError("Expected one of --up, --down and --label LABEL.")
    found = read_result(result)
    item = found.chosen(item_id, passage=label in LABELS) if item_id else None
    with _opened(config) as kept:
        kept.add(opinion(result.read_bytes(), found, given or label or "", item, Words(**words)))
    options.say(f"kept: {given or label} of {item.item_id if item else result}")


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
@config_option
def list_(as_json: bool, config: Path | None) -> None:
    """Everything that was said, oldest first."""
    from pincite.library.feedback import plain
    from pincite.report.cells import one_line, shortened

    with _opened(config) as kept:
        found = kept.all()
    for each in found:
        if as_json:
            options.print_json(plain(each), line=True)
            continue
        what = one_line(each.statement) or f"{each.kind} result {each.result}"
        click.echo(f"{each.created}  {each.given:12} {each.item_id:20} {shortened(what, 80)}")
        for text in (each.note, each.correction and f"→ {each.correction}", each.who):
            if text:
                click.echo(f"    {one_line(text)}")


@command.command("suggest")
@click.argument("results", type=options.FilePath, nargs=-1, required=True)
@click.option(
    "-n", "n", type=click.IntRange(1), default=20, show_default=True, help="At most so many."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
@config_option
def suggest(results: tuple[Path, ...], n: int, as_json: bool, config: Path | None) -> None:
    """Of RESULTS, files as `feedback add` takes them, the passages whose labels would teach most.

    Those that the verifier is least sure of, a source at a time; what was labelled is left out.
    """
    from pincite import runtime
    from pincite.library import feedback
    from pincite.library.rated_results import read_result
    from pincite.report.cells import one_line, shortened

    settings = options.settings_of({"config": config})
    with _opened(config) as kept:
        known = {each.about for each in kept.all()}
    items = [(str(path), item) for path in results for item in read_result(path).items]
    items = [(path, i) for path, i in items if i.passage and (i.statement, i.passage) not in known]
    verifier = runtime.verifier(settings.models)
    found = feedback.most_telling([i for _, i in items], verifier, settings.verify.threshold)[:n]
    verifier.close()
    for at, share in found:
        path, item = items[at]
        if as_json:
            row = {"result": path, "item": item.item_id, "prob_supported": round(share, 4)}
            options.print_json(row | {"statement": item.statement, "url": item.url}, line=True)
            continue
        click.echo(f"{share:.2f}  {shortened(one_line(item.statement), 90)}  {item.url}")
        click.echo(f"      pincite feedback {path} --item {item.item_id} --label LABEL")


@command.command("export")
@click.option(
    "--format",
    "form",
    type=click.Choice(["claims", "scifact", "readings", "answers", "statements"]),
    default="claims",
    show_default=True,
    help="Which rows; statements is readings' old name.",
)
@click.argument("output", type=options.OutFile)
@config_option
def export(form: str, output: Path, config: Path | None) -> None:
    """Write what was said to OUTPUT as JSON lines; of several words on one thing the last counts.

    claims: rows of `pincite eval claims`, `pincite train verifier` and `pincite learn`; a thumb
    down says that something is wrong, not what is right, and makes none. scifact: SciFact's claims,
    and its corpus beside them as OUTPUT.corpus.jsonl. readings: for `pincite eval check`. answers:
    what was said of answers and their sentences, with corrections; `pincite train rows` makes an
    answerer's data of them.
    """
    from pincite.library import feedback

    with _opened(config) as kept:
        found = kept.all()
    if form == "scifact":
        rows, corpus = feedback.scifact(found)
        _write(corpus, output.with_name(f"{output.name.removesuffix('.jsonl')}.corpus.jsonl"))
    else:
        makers = {"claims": feedback.claims, "answers": feedback.answers}
        rows = makers.get(form, feedback.statements)(found)
    _write(rows, output)
    options.say(f"{len(rows)} rows from {len(found)} opinions.")


def _write(rows: list[dict[str, object]], path: Path) -> None:
    options.write("".join(codec.to_json(row, None) for row in rows), path)


def _opened(config: Path | None) -> Any:
    from pincite.library.feedback import Opinions, file_of

    return Opinions(file_of(options.settings_of({"config": config}).library.feedback_file))
