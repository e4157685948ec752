"""`pincite learn`: a verifier that learnt from feedback, used only if it is the better one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import click

from pincite.cli import extras, options
from pincite.errors import ConfigError
from pincite.models import weights
from pincite.report.cells import one_line
from pincite.settings import schema

SHOWN = 5  # claims whose verdict changed, of each kind of rows
SETTING = "models.verifier"


@click.command("learn", short_help="a better verifier from your feedback")
@click.argument("files", type=options.FilePath, nargs=-1)
@click.option(
    "--guard",
    "guards",
    type=options.FilePath,
    multiple=True,
    help="Regression set: labelled rows; repeatable. [rows made from the demos]",
)
@click.option("--base", default=weights.VERIFIER, show_default=True, help="What it starts from.")
@click.option("--undo", is_flag=True, help="Use the model of before again.")
@click.option("--threads", default=0, help="Threads; 0: all cores. [0]")
@options.config_option
@options.json_option
@options.quiet_option
def command(
    files: tuple[Path, ...],
    guards: tuple[Path, ...],
    base: str,
    undo: bool,
    threads: int,
    config: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Train a verifier on feedback, compare it with the one in use, and use the better one.

    FILES are rows as `pincite feedback export` or a server's /api/v1/feedback/export writes them;
    without any, what `pincite feedback` kept here. A fifth of the claims is held back: the new
    verifier is taken if it mends more of their mistakes than it makes, and reads the guard's rows
    as well as before (AUROC within 0.005). The old one stays, and --undo returns to it. A run that
    was stopped or killed goes on when the same command is given again.

    Needs pip install 'pincite[train]'.
    """
    if undo:
        _answer(_undone(config), as_json, quiet)
        return
    extras.require("train")
    with options.progress(quiet) as shown:
        try:
            told = _learned(files, guards, (base, threads), config, options.teller(shown))
        except KeyboardInterrupt:
            options.say("Stopped. The same command goes on.")
            raise click.exceptions.Exit(130) from None
    _answer(told, as_json, quiet)


def _learned(
    files: Sequence[Path],
    guards: Sequence[Path],
    how: tuple[str, int],
    config: Path | None,
    tell: Callable[..., None],
) -> dict[str, Any]:
    from pincite import runtime
    from pincite.documents.jsonl import read_labelled
    from pincite.evaluation import regression
    from pincite.models.verifier import CrossEncoderVerifier
    from pincite.training import learning

    place = _place(config)  # before hours of work: whether the model can be put into use at all
    settings = options.settings_of({"config": config})
    used = settings.models.verifier
    rows = _rows(files, settings.library.feedback_file)
    card = {} if weights.served(used) else weights.read_card(weights.locate(used))
    mark = learning.digest(rows, how[0])
    if card.get(weights.LEARNED, {}).get("rows") == mark:
        return {"kept": False, "model": used, "why": "it has learnt from these rows already"}
    given = learning.begin(rows, *how)
    new = learning.learn(given, lambda *n: tell("training", *n[:2], f"training, loss {n[2]:.3f}"))
    guard = [row for path in guards for row in read_labelled(path)] or learning.regression_rows()
    before = runtime.verifier(settings.models)
    after = CrossEncoderVerifier(new, threads=how[1], judged=runtime.judgements_file())
    both, threshold = (before, after), settings.verify.threshold
    on_feedback = regression.compared(
        given.held_back, *both, threshold, lambda *n: tell("held-back feedback", *n)
    )
    on_guard = regression.compared(guard, *both, threshold, lambda *n: tell("guard", *n))
    before.close()
    after.close()
    why = regression.refused(on_feedback, on_guard)
    told = {
        "kept": not why,
        "model": used,
        "why": why,
        "n_learnt": len(given.learnt),
        "feedback": asdict(on_feedback),
        "guard": asdict(on_guard),
    }
    if why:
        return told
    about = {"before": used if place.is_set else None, "rows": mark}
    folder = learning.accept(given, about)
    schema.put(place.file, SETTING, str(folder))
    learning.remove_runs()
    return told | {"model": str(folder), "before": used, "config": str(place.file)}


class _Place(NamedTuple):
    """The file in which the verifier is set, or is to be, and whether it is."""

    file: Path
    is_set: bool


def _place(config: Path | None) -> _Place:
    from pincite.settings import SHORT, Settings

    origin = schema.placed(Settings, {}, config, short=SHORT).get(SETTING)
    if origin is None:
        return _Place(config or schema.usual_files()[0], False)
    if not Path(origin.origin).is_file():
        raise ConfigError(
            f"The {origin.origin} says which verifier is used, and would win over what is learnt. "
            "Unset it and repeat the command."
        )
    return _Place(Path(origin.origin), True)


def _rows(files: Sequence[Path], kept: str) -> list[Any]:
    """The rows of the files, or of what was said here; of several on one thing the last counts."""
    from pincite.documents.jsonl import LabelledClaim, read_labelled
    from pincite.library import feedback

    if files:
        found = [row for path in files for row in read_labelled(path)]
    else:
        with feedback.Opinions(feedback.file_of(kept)) as opinions:
            said = feedback.claims(opinions.all())
        found = [
            LabelledClaim(str(r["id"]), str(r["claim"]), str(r["evidence"]), str(r["label"]))
            for r in said
        ]
    return list({(row.claim, row.evidence): row for row in found}.values())


def _undone(config: Path | None) -> dict[str, Any]:

    place = _place(config)
    used = options.settings_of({"config": config}).models.verifier
    card = {} if weights.served(used) else weights.read_card(weights.locate(used))
    if weights.LEARNED not in card:
        raise ConfigError(f"The verifier in use, {used}, is none that pincite learn made.")
    before = card[weights.LEARNED]["before"]
    schema.put(place.file, SETTING, before)
    return {"undone": used, "model": before or weights.VERIFIER, "config": str(place.file)}


def _answer(told: Mapping[str, Any], as_json: bool, quiet: bool) -> None:
    if as_json:
        options.print_json(told)
        return
    for name, what in (("feedback", "Held-back feedback"), ("guard", "Guard")):
        if found := told.get(name):
            click.echo(
                f"{what}, {found['n']} rows: {found['wrong_before']} wrong before, "
                f"{found['wrong_after']} now; {found['mended']} mended, {found['broken']} newly "
                f"wrong; AUROC {_figure(found['auroc_before'])} → {_figure(found['auroc_after'])}"
            )
            for change, claim in found["examples"][:SHOWN]:
                click.echo(f"    {change}: {one_line(claim)}")
    if told.get("why"):
        click.echo(f"Still in use: {told['model']}, since {told['why']}.")
        return
    click.echo(f"In use now: {told['model']}, as {told['config']} says.")
    if "before" in told:
        options.say("Back to the one before: pincite learn --undo", quiet)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
