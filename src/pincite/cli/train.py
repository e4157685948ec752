"""`pincite train`: train models of one's own, and export what `verify` runs."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from pincite.cli import extras, options
from pincite.models.weights import ENCODER, RERANKER
from pincite.training import recipe as recipes
from pincite.training.recipe import MAX_BAD

Train = Callable[[Callable[..., None], Callable[[str], None], Callable[..., None]], Path]

EXPORT = "pincite train export {model} OUT"

quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress, no messages.")


def run_options(
    folder: str, base: str | None, recipe: Path, *, dense: bool = True
) -> Callable[[options.Command], Any]:
    """What every run is told, with these defaults; `dense`: whether it searches negatives."""
    given = [
        click.argument("data", type=options.FilePath),
        click.option("--run", "folder", type=options.FilePath, default=Path(folder),
                     show_default=True, help="What it reads, state, log and model are kept here."),
        click.option("--recipe", type=options.FilePath, default=recipe, help="A TOML file."),
        click.option("--base", help="Name, folder or Hugging Face id.",  # None counts as given
                     **({"default": base, "show_default": True} if base else {"required": True})),
        click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto"),
        click.option("--max-bad-rows", "max_bad", default=MAX_BAD, show_default=True,
                     help="Bad rows of one file that are skipped before the run is refused."),
        click.option("--threads", default=0, help="Threads; 0: all cores. [0]"),
        *([click.option("--dense/--no-dense", default=True,
                        help="Search negatives by meaning too.")] if dense else []),
        quiet_option,
    ]  # fmt: skip

    def add(command: options.Command) -> Any:
        for option in reversed(given):
            command = option(command)
        return command

    return add


@click.group("train", short_help="train a verifier, an encoder or an answerer")
def command() -> None:
    """Train a verifier, an encoder or an answerer.

    Needs pip install 'pincite[train]'.
    """


@command.command("verifier")
@run_options("pincite-train", RERANKER, recipes.SHIPPED)
@click.option(
    "--teacher",
    help="A trained model to imitate too: pincite-verifier, or the folder model of another run.",
)
@click.option(
    "--extra",
    "files",
    type=options.FilePath,
    multiple=True,
    help="Rows of your own too: what pincite feedback export wrote. Repeatable.",
)
@click.option(
    "--extra-visits",
    "visits",
    type=click.IntRange(1),
    default=recipes.Extra().visits,
    show_default=True,
    help="How often they are seen.",
)
@click.option(
    "--extra-weight",
    "weight",
    type=click.FloatRange(0, min_open=True),
    default=recipes.Extra().weight,
    show_default=True,
    help="Of their losses.",
)
def verifier(
    recipe: Path, quiet: bool, files: tuple[Path, ...], visits: int, weight: float, **given: Any
) -> None:
    """Train on DATA: a folder with a file NAME.jsonl.gz for each set of the recipe.

    A run that was stopped or killed goes on when the same command is given again.
    """
    wanted = recipes.read_recipe(recipe)
    extras.require("train")
    from pincite.training.recipe import Run
    from pincite.training.verifier import train_verifier

    run = Run(recipe=wanted, extra=recipes.Extra(files, visits, weight), **given)
    _train(lambda *told: train_verifier(run, *told), run.folder, quiet, EXPORT)


@command.command("encoder")
@run_options("pincite-train-encoder", ENCODER, recipes.ENCODER)
def encoder(recipe: Path, quiet: bool, **given: Any) -> None:
    """Train on DATA: files NAME.jsonl.gz of claims with evidence, or of WAFER-like records.

    A run that was stopped or killed goes on when the same command is given again.
    """
    wanted = recipes.recipe_in(recipe, recipes.EncoderRecipe)
    extras.require("train")
    from pincite.training.encoder import train_encoder
    from pincite.training.recipe import Run

    run = Run(recipe=wanted, **given)
    _train(lambda *told: train_encoder(run, *told), run.folder, quiet, EXPORT)


@command.command("answerer")
@run_options("pincite-train-answerer", None, recipes.ANSWERER, dense=False)
@click.option("--qlora", is_flag=True, help="The base in 4 bits (nf4): a quarter of the memory.")
def answerer(recipe: Path, quiet: bool, qlora: bool, **given: Any) -> None:
    """Train an adapter on DATA: questions, abstracts and answers with references.

    DATA is a file of JSON lines, or a folder of them. The base is any causal language model.
    A run that was stopped or killed goes on when the same command is given again.
    """
    wanted = recipes.recipe_in(recipe, recipes.AnswererRecipe)
    extras.require("train")
    from pincite.training.answerer import train_answerer
    from pincite.training.recipe import Run

    run = Run(recipe=replace(wanted, precision="nf4") if qlora else wanted, **given)
    _train(lambda *told: train_answerer(run, *told), run.folder, quiet, f"{EXPORT} --merge")


@command.command("rows")
@click.argument("reports", nargs=-1, required=True, type=options.FilePath)
@click.option(
    "--out",
    type=options.FilePath,
    default=Path("pincite-rows"),
    show_default=True,
    help="Folder of the rows and their card.",
)
@click.option(
    "--least-verified",
    type=click.FloatRange(0, 1),
    default=1.0,
    show_default=True,
    help="Share of an answer's sentences that must be; the others are left out of it.",
)
@click.option("--extracts/--no-extracts", default=True, help="Answers that no model wrote too.")
@options.config_option
def rows(reports: tuple[Path, ...], out: Path, config: Path | None, **given: Any) -> None:
    """Turn verified answers into rows for `train answerer`: the REPORTS of pincite ask --json.

    The folder OUT gets train.jsonl, dev.jsonl and test.jsonl, without a question or a set of
    references in two of them, and a card. Corrections that pincite feedback keeps take the place
    of what they correct; what was called wrong is left out.
    """
    from pincite.library.feedback import Opinions, file_of
    from pincite.training.answer_rows import RowMaker

    with Opinions(file_of(options.settings_of({"config": config}).library.feedback_file)) as kept:
        made = RowMaker(kept.all(), **given)
    for path in reports:
        made.add(path)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in made.files().items():
        options.write(text, out / name)
    for why, count in sorted(made.left_out.items()):
        options.say(f"left out: {count} {why}")
    options.say(f"{len(made.rows)} rows of {made.n_answers} answers in {out}.")


def _train(train: Train, folder: Path, quiet: bool, then: str) -> None:
    """Go through a run with its progress shown; Ctrl-C says how to go on, the end what is next."""
    with options.progress(quiet) as shown:
        tell = options.teller(shown)

        def progress(done: int, total: int, loss: float) -> None:
            tell("training", done, total, f"training, loss {loss:.3f}")

        try:
            model = train(tell, lambda text: options.say(text, quiet), progress)
        except KeyboardInterrupt:
            options.say(f"Stopped. {folder} keeps what was done: the same command goes on.")
            raise click.exceptions.Exit(130) from None
    options.say(f"The model is in {model}. Next: {then.format(model=model)}", quiet)


@command.command("export")
@click.argument("model", type=options.FilePath)
@click.argument("out", type=options.FilePath)
@click.option("--float", "floats", is_flag=True, help="float32, not int8 or as the base is.")
@click.option("--merge", is_flag=True, help="Of an answerer: the base with the adapter worked in.")
@click.option("--source", default="pincite train", help="What it comes from (card).")
@click.option("--licence", default="not stated", help="Licence of the weights (card).")
@quiet_option
def export(model: Path, out: Path, quiet: bool, **given: Any) -> None:
    """Turn the trained MODEL into the folder OUT: for `--verifier`, `--encoder` or a server."""
    extras.require("train")
    from pincite.training.export import export as write

    use = {
        "verifier": f"pincite verify ARTICLE --verifier {out}",
        "encoder": f"pincite corpus add CORPUS PAGES --encoder {out}",
        "answerer": "docs/training.md says how to serve it",
    }[write(model, out, **given)]
    options.say(f"Use it: {use}", quiet)
