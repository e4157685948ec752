"""Text arguments of commands, and the one-line summaries of subcommands."""

import os
from contextlib import suppress
from typing import Any

import click


class _Text(click.types.StringParamType):
    """A text argument: a shell may pass bytes that are not UTF-8."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = super().convert(value, param, ctx)
        if not any("\udc80" <= sign <= "\udcff" for sign in text):  # of bytes, PEP 383
            return text
        with suppress(ValueError, OSError):
            if os.path.lexists(text):  # a file's name may be any bytes
                return text
        try:  # in the locale C, Python reads UTF-8 as surrogates
            return os.fsencode(text).decode("utf-8")
        except UnicodeError:
            self.fail("This text is not UTF-8.", param, ctx)


def with_texts(command: click.Command) -> click.Command:
    """Make `_Text` check text arguments of a command and its subcommands; add their summaries."""
    for param in command.params:
        if type(param.type) is click.types.StringParamType:
            param.type = _Text()
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            # Left to itself, click cuts a summary in mid-sentence.
            first = " ".join((subcommand.help or "").partition("\n\n")[0].split())
            subcommand.short_help = subcommand.short_help or first.partition(". ")[0].rstrip(".")
            with_texts(subcommand)
    return command
