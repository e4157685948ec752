"""The command line: one short file per verb; parse, call the pipeline, print.

Data goes to stdout, everything else to stderr. Exit codes: 0 done · 1 findings reached --fail-on,
`corpus verify` found a fault, or `replay` a difference · 2 usage or settings · 3 input not found or
unreadable · 5 a check in which something failed · 6 model or extra missing · 7 corpus missing,
damaged or locked · 9 a wiki could not be reached · 70 a bug · 130 interrupted.
"""

import importlib
import io
import sys
import warnings
from typing import TextIO

import click

from pincite.cli import extras
from pincite.errors import OldName, PinciteError

VERBS = {
    "verify": "check an article's citations, worst first",
    "check": "what a knowledge base says for and against a statement",
    "ask": "answer a question, every sentence verified",
    "replay": "a check made anew from its trace, without a model",
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
    "study": "let people compare citations, blind",
    "serve": "web pages and an HTTP API",
    "mcp": "the verbs as tools for language-model agents",
    "worker": "run a server's jobs",
    "server": "a server's accounts, backups and checks",
    "cache": "fetched pages and judged pairs that are kept",
    "doctor": "is everything there, and what may leave this machine",
    "demo": "see it work on a shipped article, offline",
}


class _Verbs(click.Group):
    """Loads a verb's module when the verb is called: `pincite --help` stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        package = "server." if cmd_name in ("serve", "worker", "mcp") else ""
        module = importlib.import_module(f"pincite.cli.{package}{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pincite")
def cli() -> None:
    """Does the source support the statement, and which would?

    \b
    Start here:  pincite demo
    An article:  pincite verify article.wiki --sources pages/ --corpus corpus/
    """


def _pipe_utf8(stream: TextIO | None) -> None:
    """What is piped is UTF-8, as files are; Windows would take the encoding of its region."""
    # No stream without a console, and another kind where a program that calls us captures it.
    if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
        stream.reconfigure(encoding="utf-8")


def main() -> None:
    """Run; expected errors print one message without traceback, bugs keep theirs."""
    for stream in (sys.stdin, sys.stdout):
        _pipe_utf8(stream)
    python_s = warnings.formatwarning
    warnings.formatwarning = lambda said, kind, *where: (
        f"pincite: {said}\n" if kind is OldName else python_s(said, kind, *where)
    )
    try:
        # Outside its standalone mode click returns the code that a verb gave to `Exit`.
        sys.exit(cli.main(standalone_mode=False))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except PinciteError as error:
        click.echo(f"pincite: {error}", err=True)
        sys.exit(error.exit_code)
    except ImportError as error:
        if (absent := extras.missing(error)) is None:
            raise
        click.echo(f"pincite: {absent}", err=True)
        sys.exit(absent.exit_code)
    except BrokenPipeError:  # `pincite … | head`: the reader has seen enough
        sys.stderr.close()
        sys.exit(0)
    except (click.Abort, KeyboardInterrupt):
        click.echo("pincite: stopped; what was committed stays.", err=True)
        sys.exit(130)
