"""`pincite config`: what is set, where it was set, and EvidenceSeeker's settings as ours."""

import json
from pathlib import Path

import click

from pincite.cli import options

config_option = click.option("--config", type=options.FilePath, help="A TOML file with settings.")


@click.group("config", short_help="what is set, and where")
def command() -> None:
    """An option wins over a variable, that over pincite.toml here, that over the user's file."""


@command.command("show")
@click.option("--origin", is_flag=True, help="Where each value comes from.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@config_option
def show(origin: bool, as_json: bool, config: Path | None) -> None:
    """Each setting with its value, as the commands would find it; of a secret whether it is set."""
    from pincite.settings.shown import rows

    found = rows(config)
    if as_json:
        values = {row.name: {"value": row.value, "origin": row.origin} for row in found}
        click.echo(json.dumps(values, ensure_ascii=False, indent=1))
        return
    width = max(len(row.name) for row in found)
    for row in found:
        value = json.dumps(row.value, ensure_ascii=False)
        click.echo(f"{row.name:{width}}  {value}" + (f"  # {row.origin}" if origin else ""))


@command.command("path")
def path() -> None:
    """The files that settings are read from, the weaker first."""
    from pincite.settings.places import usual_files

    for file in usual_files():
        click.echo(f"{file.resolve()}{'' if file.is_file() else '  (not there)'}")


@command.command("import")
@click.argument("files", type=options.FilePath, nargs=-1, required=True)
@click.option("-o", "--output", type=options.FilePath, help="Write it here, not to stdout.")
@click.option("--prompts", type=options.FilePath, help="Write the prompts into this folder.")
@click.option("--force", is_flag=True, help="Write over files that are there.")
def import_(
    files: tuple[Path, ...], output: Path | None, prompts: Path | None, force: bool
) -> None:
    """EvidenceSeeker's YAML FILES (preprocessing, confirmation, retrieval) as a pincite.toml.

    What has no counterpart is listed with the reason. Keys are never copied: the list says which
    variable to set instead.
    """
    import dataclasses

    from pincite.settings.seed_config import imported

    result = imported(files)
    if prompts:
        values = {**result.values, "prompts": str(prompts.resolve())}
        result = dataclasses.replace(result, values=values)
    written = {prompts / name: text for name, text in result.prompts.items()} if prompts else {}
    there = [path for path in (*([output] if output else ()), *written) if path.exists()]
    if there and not force:
        raise click.UsageError(f"{there[0]} is there already; expected a new name, or --force.")
    if prompts:
        prompts.mkdir(parents=True, exist_ok=True)
    for path, text in written.items():
        options.write(text, path)
    options.write(result.toml, output)
    if result.prompts and not prompts:
        options.say(f"{len(result.prompts)} prompts were left out: --prompts FOLDER keeps them.")
    for note in result.notes:
        options.say(": ".join(part for part in note if part))
    for path in (*([output] if output else ()), *written):
        options.say(f"written: {path.resolve()}", str(path) == "-")
