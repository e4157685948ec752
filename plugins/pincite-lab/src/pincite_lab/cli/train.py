"""`pincite train`: train your own models; `pincite learn`: a better verifier from feedback."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from pincite.cli import options, shell
from pincite.errors import ConfigError
from pincite.models import weights
from pincite.report.cells import one_line
from pincite.settings import schema
from pincite_lab.training import recipe as recipes
from pincite_lab.training.recipe import Run

SHOWN = 5  # claims per set whose verdict changed
SETTING = "models.verifier"


@click.group("train", short_help="train a model on your own data")
def command() -> None:
    """Train a verifier.

    Needs pincite[train]. Run the same command again to continue an interrupted run.
    """


@command.command("verifier")
@click.argument("data", type=options.FilePath)
@click.option(
    "--run",
    "folder",
    type=options.FilePath,
    default=Path("pincite-train"),
    show_default=True,
    help="Folder for the run's data, state, log and model.",
)
@click.option("--recipe", type=options.FilePath, default=recipes.SHIPPED, help="Recipe (TOML).")
@click.option(
    "--base",
    default=weights.RERANKER,
    show_default=True,
    help="Base model: name, folder or Hugging Face id.",
)
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto")
@click.option("--threads", default=0, help="Threads; 0: all cores. [0]")
@click.option("--dense/--no-dense", default=True, help="Search negatives by meaning too.")
@options.quiet_option
@click.option("--teacher", help="Trained model to imitate too: pincite-verifier or a run's folder.")
def verifier(recipe: Path, quiet: bool, **given: Any) -> None:
    """Train on DATA: a folder with a file NAME.jsonl.gz for each set of the recipe."""
    wanted = recipes.recipe_in(recipe)
    shell.require("train")
    from pincite_lab.training.verifier import train_verifier

    run = Run(recipe=wanted, **given)
    stopped = f"Stopped. {run.folder} contains the work so far."
    with (
        options.progress(quiet) as display,
        options.resumable(f"{stopped} Run the same command again to continue."),
    ):
        say = partial(options.say, quiet=quiet)
        model = train_verifier(run, display, say, _with_loss(display))
    options.say(f"The model is in {model}. Next: pincite train export {model} OUT", quiet)


def _with_loss(display: options.Display) -> Callable[[int, int, float], None]:
    return lambda done, total, loss: display("training", done, total, f"training, loss {loss:.3f}")


@command.command("export")
@click.argument("model", type=options.FilePath)
@click.argument("out", type=options.FilePath)
@click.option("--float", "floats", is_flag=True, help="Write float32, not int8.")
@click.option("--source", default="pincite train", help="Source of the model, for its card.")
@click.option("--licence", default="not stated", help="Licence of the weights, for the card.")
@options.quiet_option
def export(model: Path, out: Path, quiet: bool, **given: Any) -> None:
    """Export the trained MODEL to the folder OUT, for --verifier or a server."""
    shell.require("train")
    from pincite_lab.training.export import export as write

    write(model, out, **given)
    options.say(f"Use it: pincite verify ARTICLE --verifier {out}", quiet)


@click.command("learn", short_help="improve the verifier with your feedback")
@click.argument("files", type=options.FilePath, nargs=-1)
@click.option(
    "--guard",
    "guards",
    type=options.FilePath,
    multiple=True,
    help="Regression set: labelled rows. Repeatable. [rows made from the demos]",
)
@click.option("--base", default=weights.VERIFIER, show_default=True, help="Model to start from.")
@click.option("--undo", is_flag=True, help="Go back to the previous model.")
@click.option("--threads", default=0, help="Threads; 0: all cores. [0]")
@options.config_option
@options.json_option
@options.quiet_option
def learn(undo: bool, config: Path | None, as_json: bool, quiet: bool, **given: Any) -> None:
    """Train a verifier on feedback, compare it with the one in use, and keep the better one.

    FILES are rows from `pincite feedback export` or a server's /api/v1/feedback/export; by default,
    what `pincite feedback` kept here. A fifth of the documents is held back. The new verifier is
    used if its gain on them is certain (95 % interval above 0), unless a loss on the regression set
    is as certain. --undo goes back to the old one. Run the same command again to continue an
    interrupted run.

    Needs pincite[train].
    """
    if undo:
        _print_result(_undo(config), as_json, quiet)
        return
    shell.require("train")
    with options.progress(quiet) as display, options.resumable():
        result = _learn(display, config, **given)
    _print_result(result, as_json, quiet)


def _learn(
    display: options.Display,
    config: Path | None,
    *,
    files: Sequence[Path],
    guards: Sequence[Path],
    base: str,
    threads: int,
) -> dict[str, Any]:
    from pincite import runtime
    from pincite.documents.jsonl import read_labelled
    from pincite.models.verifier import CrossEncoderVerifier
    from pincite_lab.evaluation import claims
    from pincite_lab.training import learning

    file, is_set = _settings_file(config)  # can the setting be changed?
    settings = options.load_settings({"config": config})
    used = settings.models.verifier
    rows = _read_rows(files, settings.library.feedback_file)
    mark = learning.digest(rows, base)
    if _card(used).get(weights.LEARNED, {}).get("rows") == mark:
        return {"kept": False, "model": used, "why": "it has already learnt from these rows"}
    given = learning.begin(rows, base, threads)
    new = learning.learn(given, _with_loss(display))
    guard = [row for path in guards for row in read_labelled(path)] or learning.regression_rows()
    before = runtime.verifier(settings.models)
    after = CrossEncoderVerifier(new, threads=threads, judged=runtime.judgements_file())
    both, threshold = (before, after), settings.verify.threshold
    on_feedback = claims.compare(
        given.held_back, *both, threshold, lambda *n: display("held-back feedback", *n)
    )
    on_guard = claims.compare(guard, *both, threshold, lambda *n: display("regression set", *n))
    before.close()
    after.close()
    why = claims.objection(on_feedback, on_guard)
    result = {"kept": not why, "model": used, "why": why, "n_learnt": len(given.learnt)}
    result |= {"feedback": asdict(on_feedback), "guard": asdict(on_guard)}
    if why:
        return result
    about = {"before": used if is_set else None, "rows": mark}
    folder = learning.accept(given, about)
    schema.put(file, SETTING, str(folder))
    learning.remove_runs()
    return result | {"model": str(folder), "before": used, "config": str(file)}


def _settings_file(config: Path | None) -> tuple[Path, bool]:
    """Return the file that sets the verifier, or will; and whether it already does."""
    from pincite.settings import SHORT, Settings

    setting = schema.load_values(Settings, {}, config, short=SHORT).get(SETTING)
    if setting is None:
        return config or schema.usual_files()[0], False
    if not Path(setting.origin).is_file():
        raise ConfigError(
            f"The {setting.origin} sets the verifier, and would override the new one. Unset it "
            "and repeat the command."
        )
    return Path(setting.origin), True


def _card(verifier: str) -> Mapping[str, Any]:
    return {} if weights.server_of(verifier) else weights.read_card(weights.locate(verifier))


def _read_rows(files: Sequence[Path], feedback_file: str) -> list[Any]:
    """Return the rows of the files, or of the local feedback; the last of duplicates counts."""
    from pincite.documents.jsonl import LabelledClaim, read_labelled
    from pincite.library import feedback

    if files:
        labelled = [row for path in files for row in read_labelled(path)]
    else:
        with feedback.Opinions(feedback.file_of(feedback_file)) as opinions:
            rows = feedback.claims(opinions.all())
        names = ("id", "claim", "evidence", "label", "meta")
        labelled = [LabelledClaim(*(row[name] for name in names)) for row in rows]
    return list({(row.claim, row.evidence): row for row in labelled}.values())


def _undo(config: Path | None) -> dict[str, Any]:
    file, _ = _settings_file(config)
    used = options.load_settings({"config": config}).models.verifier
    card = _card(used)
    if weights.LEARNED not in card:
        raise ConfigError(f"The verifier in use, {used}, was not made by pincite learn.")
    before = card[weights.LEARNED]["before"]
    schema.put(file, SETTING, before)
    return {"undone": used, "model": before or weights.VERIFIER, "config": str(file)}


def _print_result(result: Mapping[str, Any], as_json: bool, quiet: bool) -> None:
    if as_json:
        options.print_json(result)
        return
    _print_comparisons(result)
    if result.get("why"):
        click.echo(f"Still in use: {result['model']}, because {result['why']}.")
        return
    click.echo(f"In use now: {result['model']}, as set in {result['config']}.")
    if "before" in result:
        options.say("To go back to the previous one: pincite learn --undo", quiet)


def _print_comparisons(result: Mapping[str, Any]) -> None:
    for name, what in (("feedback", "Held-back feedback"), ("guard", "Regression set")):
        if counts := result.get(name):
            gain, low, high = (f"{100 * x:+.1f}" for x in (counts["gain"], *counts["interval"]))
            click.echo(
                f"{what}, {counts['n']} rows of {counts['n_documents']} documents: "
                f"{counts['wrong_before']} wrong before, {counts['wrong_after']} now; "
                f"{counts['fixed']} corrected, {counts['broken']} newly wrong; gain {gain} points "
                f"(95 %: {low} to {high}); "
                f"AUROC {_figure(counts['auroc_before'])} → {_figure(counts['auroc_after'])}"
            )
            for change, claim in counts["examples"][:SHOWN]:
                click.echo(f"    {change}: {one_line(claim)}")
    if "feedback" in result and not result["feedback"]["shown"]:
        click.echo("No gain is shown. Keep the verifier in use; label passages of more documents.")


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
