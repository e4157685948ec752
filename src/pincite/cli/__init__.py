"""The command line: one module per group of commands; parse, call the runner, print.

Results go to stdout, everything else to stderr. Exit codes: 0 done · 1 a finding of --fail-on, or a
damaged corpus · 2 usage or settings · 3 an unusable input or path · 4 an output that cannot be
written (disk full, stdout closed), or out of memory · 5 a check in which something failed · 6 a
model or an extra is missing · 7 a corpus is missing, damaged or locked · 9 a wiki could not be
reached · 70 a bug · 130 interrupted.
"""

import importlib
import sys
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import click

from pincite.cli import shell

VERBS = {
    "Check": {
        "verify": "check the citations of a Wikipedia article, worst first",
        "check": "check one statement against a knowledge base",
        "ask": "answer a question, verifying every sentence",
        "references": "check whether references exist, and still stand",
        "demo": "try it on a bundled article, offline",
        "claims": "print an article's claims with their citations",
        "feedback": "rate results, and export the ratings",
    },
    "Documents": {
        "corpus": "build and search a corpus of sources",
        "source": "manage your own copies of paid papers and books",
        "works": "import records of works, to look references up in",
        "reliability": "import a wiki's list of good and bad sources",
        "cache": "show or clear fetched pages and judged pairs",
    },
    "Installation": {
        "doctor": "check the installation, and show what may leave this machine",
        "config": "show settings and where they are set",
        "models": "download models",
        "judges": "list the language models that were examined as judges",
    },
    "Server": {
        "init": "make a folder to serve: settings, page texts, corpus",
        "serve": "serve web pages and an HTTP API",
        "worker": "run a server's jobs",
        "server": "manage a server's accounts, and check it",
        "mcp": "offer Pincite's tools to language-model agents",
    },
}
SERVER = ("init", "serve", "worker", "server")
OTHERS = (*SERVER, "mcp")  # commands of plugins that are listed with ours
KNOWN = [name for listed in VERBS.values() for name in listed if name not in OTHERS]

# Commands in a module of another name: the module, and the command.
PLACES = {
    **{verb: ("local", verb) for verb in ("config", "models", "judges", "cache", "doctor")},
    **{verb: ("references", verb) for verb in ("claims", "references", "works")},
    **{verb: ("library", verb) for verb in ("reliability", "source", "feedback")},
}
# Commands of plugins: the extra that brings each.
PLUGINS = {
    **{name: name for name in ("study", "watch", "mcp")},
    **dict.fromkeys(SERVER, "server"),
    **dict.fromkeys(("eval", "calibrate", "train", "learn", "wafer"), "lab"),
}
GROUP = "pincite.commands"  # entry points of other distributions' commands


class _Verbs(click.Group):
    """Imports a command's module when the command is called, so that `pincite --help` is fast."""

    def invoke(self, ctx: click.Context) -> Any:
        """Like click's, which would silently exit on every broken pipe, even between processes."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise shell.BrokenPipe from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*KNOWN, *_plugin_commands()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in KNOWN:
            point = _plugin_commands().get(cmd_name)
            if point is None and cmd_name in PLUGINS:
                shell.require(PLUGINS[cmd_name])
            return shell.with_texts(point.load()) if point else None
        place, name = PLACES.get(cmd_name, (cmd_name, "command"))
        module = importlib.import_module(f"pincite.cli.{place}")
        return shell.with_texts(getattr(module, name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, listed in VERBS.items():
            with formatter.section(heading):
                formatter.write_dl([*listed.items()])
        others = sorted(_plugin_commands().keys() - set(OTHERS))
        commands = [command for name in others if (command := self.get_command(ctx, name))]
        if added := [(str(command.name), command.get_short_help_str(60)) for command in commands]:
            with formatter.section("Laboratory and plugins"):
                formatter.write_dl(added)


def _plugin_commands() -> dict[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=GROUP))}


FIRST = """\
Pincite checks whether a source supports a statement, and finds a better source.
Three commands to try:

  pincite demo                                   check a sample article, offline
  pincite serve --demo                           the same in your browser
  pincite verify article.wiki --sources pages/   check your own article against
                                                 the pages that you saved

pincite --help lists all commands."""


@click.group(
    cls=_Verbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="pincite")
@click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks.")
@click.pass_context
def cli(context: click.Context) -> None:
    """Check whether a source supports a statement, and find a better source.

    \b
    Start here:  pincite demo
    An article:  pincite verify article.wiki --sources pages/ --corpus corpus/
    """
    if context.invoked_subcommand is None:
        click.echo(FIRST)


def main() -> None:
    # Without its standalone mode, click returns the code that a command gave to `Exit`.
    shell.run(lambda arguments: cli.main(arguments, standalone_mode=False), sys.argv[1:])
