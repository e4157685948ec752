"""`pincite train`: train a verifier of one's own, and turn it into what `verify` runs."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.errors import MissingExtra
from pincite.models.weights import RERANKER
from pincite.training.prepare import MAX_BAD
from pincite.training.recipe import SHIPPED, read_recipe

quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress, no messages.")


@click.group("train", short_help="train a verifier on claims with evidence")
def command() -> None:
    """Train and export a verifier; needs the extra: pip install 'pincite[train]'."""


@command.command("verifier")
@click.argument("data", type=options.FilePath)
@click.option("--run", "folder", type=options.FilePath, default=Path("pincite-train"),
              show_default=True, help="Groups, state, log and model are kept here.")  # fmt: skip
@click.option("--recipe", type=options.FilePath, default=SHIPPED, help="A TOML file.")
@click.option(
    "--base", default=RERANKER, show_default=True, help="Name, folder or Hugging Face id."
)
@click.option("--teacher", type=options.FilePath, help="A trained model that is imitated too.")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto")
@click.option("--max-bad-rows", "max_bad", default=MAX_BAD, show_default=True,
              help="Bad rows of one file that are skipped before the run is refused.")  # fmt: skip
@click.option("--threads", default=0, help="Threads; 0: all cores. [0]")
@click.option("--dense/--no-dense", default=True, help="Search negatives by meaning too.")
@quiet_option
def verifier(recipe: Path, quiet: bool, **given: Any) -> None:
    """Train on DATA: a folder with a file NAME.jsonl.gz for each set of the recipe.

    A run that was stopped or killed goes on when the same command is given again.
    """
    wanted = read_recipe(recipe)
    _require_extra()
    from pincite.training.run import Run, train_verifier

    run = Run(recipe=wanted, **given)
    with options.progress(quiet) as shown:
        tell = options.teller(shown)

        def progress(done: int, total: int, loss: float) -> None:
            tell("training", done, total, f"training, loss {loss:.3f}")

        try:
            model = train_verifier(run, tell, lambda text: options.say(text, quiet), progress)
        except KeyboardInterrupt:
            options.say(f"Stopped. {run.folder} keeps what was done: the same command goes on.")
            raise click.exceptions.Exit(130) from None
    options.say(f"The model is in {model}. Next: pincite train export {model} OUT", quiet)


@command.command("export")
@click.argument("model", type=options.FilePath)
@click.argument("out", type=options.FilePath)
@click.option("--float", "floats", is_flag=True, help="Keep float32 instead of int8.")
@click.option("--source", default="pincite train verifier", help="What it comes from (card).")
@click.option("--licence", default="not stated", help="Licence of the weights (card).")
@quiet_option
def export(model: Path, out: Path, quiet: bool, **given: Any) -> None:
    """Turn the trained MODEL into the folder OUT, which `--verifier OUT` then uses."""
    _require_extra()
    from pincite.training.export import export as write

    write(model, out, **given)
    options.say(f"Use it: pincite verify ARTICLE --verifier {out}", quiet)


@command.command("shrink")
@click.argument("model", type=options.FilePath)
@click.argument("out", type=options.FilePath)
@click.option("--layers", default=6, show_default=True, help="How many are kept.")
@quiet_option
def shrink(model: Path, out: Path, layers: int, quiet: bool) -> None:
    """Write a student OUT with fewer layers than the trained MODEL; train it with --teacher."""
    _require_extra()
    from pincite.training.shrink import shrink as write

    kept = ", ".join(map(str, write(model, out, layers)))
    options.say(
        f"Layers {kept} are kept. Next: pincite train verifier DATA --base {out} --teacher {model}",
        quiet,
    )


def _require_extra() -> None:
    libraries = ("torch", "transformers", "safetensors", "onnx")
    if absent := [name for name in libraries if find_spec(name) is None]:
        raise MissingExtra(f"Training needs {', '.join(absent)}: pip install 'pincite[train]'")
