"""Changing the readings of a statement on a terminal, before anything is searched."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from pincite.report.cells import one_line
from pincite.verbs.check import readings
from pincite.verbs.check.records import Interpretation, Reading

HELP = "Enter: go on · -N: strike out · N TEXT: reword · + TEXT: add"


def edited(bar: Any, language: str) -> Callable[[str, Interpretation], Interpretation]:
    """A function that shows an interpretation and gives what a person made of it."""

    def ask(statement: str, found: Interpretation) -> Interpretation:
        bar.stop()  # else the progress is drawn over what is typed
        kept = list(found.readings)
        while True:
            click.echo(f"\n{one_line(statement)}", err=True)
            for number, reading in enumerate(kept, 1):
                click.echo(f"{number:3}  {one_line(reading.text)}  ({reading.kind})", err=True)
            line = click.prompt(HELP, default="", show_default=False, err=True).strip()
            if not line:
                break
            if not _apply(line, kept, language):
                click.echo(f"“{one_line(line)}” was not understood.", err=True)
        bar.start()
        if tuple(kept) == found.readings:
            return found
        # That rules found no reading is settled by one of a person.
        failures = tuple(f for f in found.failures if f.step != "statement" or not kept)
        mine = tuple(readings.numbered(kept))
        return replace(found, readings=mine, by=f"{found.by} + user", failures=failures)

    return ask


def _apply(line: str, kept: list[Reading], language: str) -> bool:
    """Change the list as a line says; whether it was understood."""
    head, _, text = line.partition(" ")
    if head == "+" and text.strip():
        kept.append(readings.of_user(text, language))
        return True
    number = head.lstrip("-")
    if not number.isdecimal() or not 1 <= int(number) <= len(kept):
        return False
    if head.startswith("-") and not text.strip():
        del kept[int(number) - 1]
        return True
    if head == number and text.strip():
        kept[int(number) - 1] = readings.of_user(text, language)
        return True
    return False
