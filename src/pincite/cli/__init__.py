"""The command line: one short file per verb; parse, call the pipeline, print.

Data goes to stdout, everything else to stderr. Exit codes: 0 done · 1 findings reached --fail-on,
`corpus verify` found a fault, or `replay` a difference · 2 usage or settings · 3 input not found or
unreadable, or a path that cannot be used · 4 an output that cannot be written (disk full, standard
output closed), or out of memory · 5 a check in which something failed · 6 model or extra missing ·
7 corpus missing, damaged or locked · 9 a wiki could not be reached · 70 a bug · 130 interrupted.
"""

import importlib
import sys
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import click

from pincite.cli import edge, extras

VERBS = {
    "verify": "check an article's citations, worst first",
    "check": "what a knowledge base says for and against a statement",
    "ask": "answer a question, every sentence verified",
    "replay": "recompute a check from its trace, without a model",
    "source": "your own copies of paid papers and books",
    "claims": "print an article's claims with their citations",
    "corpus": "make and search a corpus of sources",
    "eval": "measure retrieval and verification on a collection",
    "calibrate": "measure how far a language model can be trusted",
    "train": "train a verifier, an encoder or an answerer",
    "feedback": "say what you think of a result, and export it",
    "learn": "a better verifier from your feedback",
    "config": "what is set, and where",
    "models": "where the models are, and fetching others",
    "reliability": "a wiki's list of good and bad sources",
    "serve": "web pages and an HTTP API",
    "mcp": "the verbs as tools for language-model agents",
    "worker": "run a server's jobs",
    "server": "a server's accounts, backups and checks",
    "cache": "fetched pages and judged pairs that are kept",
    "doctor": "is everything there, and what may leave this machine",
    "demo": "see it work on a shipped article, offline",
}

# Where a verb stands whose module is called otherwise: the module, and its command there.
PLACES = {
    **{verb: ("server", verb) for verb in ("serve", "worker", "mcp", "server")},
    **{verb: ("local", verb) for verb in ("models", "cache", "doctor")},
    **{verb: ("library", verb) for verb in ("reliability", "source", "feedback")},
    "replay": ("check", "replay"),
}
PLUGINS = ("study",)  # extras that bring a command of this name
GROUP = "pincite.commands"  # of entry points: other distributions' commands, by their names


class _Verbs(click.Group):
    """Loads a verb's module when the verb is called: `pincite --help` stays fast."""

    def invoke(self, ctx: click.Context) -> Any:
        """As click's, which would end every broken pipe, also one between processes, in silence."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise edge.BrokenPipe from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*VERBS, *_added()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            point = _added().get(cmd_name)
            if point is None and cmd_name in PLUGINS:
                extras.require(cmd_name)
            return edge.with_texts(point.load()) if point else None
        place, name = PLACES.get(cmd_name, (cmd_name, "command"))
        module = importlib.import_module(f"pincite.cli.{place}")
        return edge.with_texts(getattr(module, name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            commands = {name: self.get_command(ctx, name) for name in _added()}
            added = [(name, each.get_short_help_str()) for name, each in commands.items() if each]
            formatter.write_dl([*VERBS.items(), *added])


def _added() -> dict[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=GROUP))}


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pincite")
@click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks too.")
def cli() -> None:
    """Does the source support the statement, and which would?

    \b
    Start here:  pincite demo
    An article:  pincite verify article.wiki --sources pages/ --corpus corpus/
    """


def main() -> None:
    """Run; every error is one line with a next step, see `pincite.cli.edge`."""
    # Outside its standalone mode click returns the code that a verb gave to `Exit`.
    edge.run(lambda arguments: cli.main(arguments, standalone_mode=False), sys.argv[1:])
