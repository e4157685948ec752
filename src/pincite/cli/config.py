"""`pincite config`: what is set, where it was set, and EvidenceSeeker's settings as ours."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from pincite.cli import options


@click.group("config", short_help="what is set, and where")
def command() -> None:
    """An option wins over a variable, that over pincite.toml here, that over the user's file."""


@command.command("show")
@click.option("--origin", is_flag=True, help="Where each value comes from.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@options.config_option
def show(origin: bool, as_json: bool, config: Path | None) -> None:
    """Each setting with its value, as the commands would find it; of a secret whether it is set."""
    from pincite.llm.chat import EMBEDDINGS_KEY_VARIABLE, JUDGE_KEY_VARIABLE, KEY_VARIABLE
    from pincite.settings import SHORT, Settings, schema

    found = schema.placed(Settings, {}, config, short=SHORT)
    given = schema.flat(schema.made(Settings, {name: each.value for name, each in found.items()}))
    origins = {name: found[name].origin if name in found else schema.DEFAULT for name in given}
    keys = {
        variable: "set" if os.environ.get(variable, "").strip() else "not set"
        for variable in (KEY_VARIABLE, JUDGE_KEY_VARIABLE, EMBEDDINGS_KEY_VARIABLE)
    }
    if as_json:
        rows = {name: {"value": value, "origin": origins[name]} for name, value in given.items()}
        for name, key in keys.items():
            rows[name] = {"value": key, "origin": f"variable {name}"}
        options.print_json(rows)
    else:
        said = "".join(f"\n# {name} is {key}" for name, key in keys.items())
        click.echo(f"{_toml(given, origins if origin else {})}{said}")


def _toml(given: Mapping[str, Any], origins: Mapping[str, str]) -> str:
    """Settings as a file: strings, numbers and lists are written as in JSON, but for DEL."""
    from pincite.settings import Settings, schema

    lines, table = "", ""
    known = [name for name in schema.declared(Settings) if name in given]
    for name in dict.fromkeys((*known, *given)):  # then those of other tables
        at, _, leaf = name.rpartition(".")
        lines += f"\n[{at}]\n" if at != table else ""
        lines += f"{leaf} = {json.dumps(given[name], ensure_ascii=False)}"
        lines += f"  # {origins[name]}\n" if name in origins else "\n"
        table = at
    return lines.lstrip("\n").replace("\x7f", "\\u007f")


@command.command("path")
def path() -> None:
    """The files that settings are read from, the weaker first."""
    from pincite.settings.schema import usual_files

    for file in usual_files():
        click.echo(f"{file.resolve()}{'' if file.is_file() else '  (not there)'}")


@command.command("import")
@click.argument("files", type=options.FilePath, nargs=-1, required=True)
@click.option("-o", "--output", type=options.OutFile, help="Write it here, not to stdout.")
@click.option("--prompts", type=options.OutFolder, help="Write the prompts into this folder.")
@click.option("--texts", type=options.OutFolder, help="The same for an application's texts.")
@click.option("--force", is_flag=True, help="Write over files that are there.")
def import_(
    files: tuple[Path, ...],
    output: Path | None,
    prompts: Path | None,
    texts: Path | None,
    force: bool,
) -> None:
    """EvidenceSeeker's YAML FILES (preprocessing, confirmation, retrieval) as a pincite.toml.

    That of its demo application stands for all: it names the other three.

    What has no counterpart is listed with the reason. Keys are never copied: the list says which
    variable to set instead.
    """
    import dataclasses

    from pincite.settings.evidenceseeker import imported

    result = imported(files)
    if prompts:
        # Theirs name the language in English ("German"), whichever it is, and the texts alone.
        values = {
            **result.values,
            "chat.prompts": str(prompts.resolve()),
            "chat.prompt_language": "en",
            "check.passage_source": False,
        }
        result = dataclasses.replace(result, values=values)
    written = {prompts / name: text for name, text in result.prompts.items()} if prompts else {}
    named = {n: v for n, v in result.values.items() if isinstance(v, str) and v in result.texts}
    if texts:
        written |= {texts / name: text for name, text in result.texts.items()}
    places = {name: str((texts / file).resolve()) for name, file in named.items() if texts}
    kept = {name: value for name, value in result.values.items() if name not in named}
    result = dataclasses.replace(result, values={**kept, **places})
    there = [path for path in (*([output] if output else ()), *written) if path.exists()]
    if there and not force:
        raise click.UsageError(f"{there[0]} is there already; expected a new name, or --force.")
    for folder in filter(None, (prompts, texts)):
        folder.mkdir(parents=True, exist_ok=True)
    for path, text in written.items():
        options.write(text, path)
    options.write(_toml(result.values, {}), output)
    if result.prompts and not prompts:
        options.say(f"{len(result.prompts)} prompts were left out: --prompts FOLDER keeps them.")
    if result.texts and not texts:
        options.say(f"{', '.join(result.texts)} were left out: --texts FOLDER keeps them.")
    for note in result.notes:
        options.say(": ".join(part for part in note if part))
    for path in (*([output] if output else ()), *written):
        options.say(f"written: {path.resolve()}", str(path) == "-")
