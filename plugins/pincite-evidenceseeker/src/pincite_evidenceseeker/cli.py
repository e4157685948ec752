"""`pincite config import`."""

import os
from pathlib import Path

import click

from pincite.cli import options
from pincite.cli.local import to_toml
from pincite_evidenceseeker.configuration import import_files


@click.command("import", short_help="Convert EvidenceSeeker's YAML FILES")
@click.argument("files", type=options.FilePath, nargs=-1, required=True)
@click.option("-o", "--output", type=options.OutFile, help="Write to this file. [stdout]")
@click.option("--prompts", type=options.OutFolder, help="Write the prompts to this folder.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def command(
    files: tuple[Path, ...], output: Path | None, prompts: Path | None, force: bool
) -> None:
    """Convert EvidenceSeeker's YAML FILES: preprocessing, confirmation, retrieval, application.

    Texts of the pages, examples and terms become files beside the settings.
    Options without a counterpart are listed with the reason. Keys are never copied: the list says
    which variable to set instead.
    """
    result = import_files(files)
    texts: dict[Path, str] = {}
    if prompts and result.prompts:
        texts = {prompts / name: text for name, text in result.prompts.items()}
        where = prompts.resolve()
        result.values["chat.prompts"] = (
            os.path.relpath(where, output.resolve().parent) if output else str(where)
        )
        result.values |= {"chat.prompt_language": "en", "check.passage_source": False}
        options.say('chat.prompt_language: "en"; these prompts name the language in English')
    elif result.prompts:
        options.say(f"{len(result.prompts)} prompts were left out: --prompts FOLDER keeps them.")
    pages = dict(result.files)
    if result.page_texts:
        pages["texts.toml"] = to_toml(result.page_texts, {})
    if output:
        texts |= {output.parent / name: text for name, text in pages.items()}
        result.values |= {f"server.{name}": value for name, value in result.server.items()}
    elif result.server:
        options.say("The texts and settings of the server were left out: -o FILE keeps them.")
    texts[output or Path("-")] = to_toml(result.values, {})
    for path in texts:
        if str(path) != "-" and path.exists() and not force:
            raise click.UsageError(f"{path} exists. Choose another name, or add --force.")
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        options.write(text, path)
        options.say(f"written: {path.resolve()}", str(path) == "-")
    for note in result.notes:
        options.say(": ".join(filter(None, note)))
