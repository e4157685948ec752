"""What running `pincite verify` shows: estimates, progress, and the report in its formats."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from pincite import containment
from pincite.cli import options
from pincite.errors import PinciteError
from pincite.types import Article, Failed, Finding, Uncited
from pincite.verbs.verify.records import Report

HOST_WIDTH = 40  # characters of the progress line: longer names would push the bar off it


def told(plan: Any, settings: Any, json_path: Path | None) -> None:
    """An estimate that was asked for: on stdout, or as JSON where that is wanted."""
    from pincite.verbs.verify import estimate

    if json_path:
        options.write(estimate.to_json(plan, settings), json_path)
        return
    for line in estimate.lines(plan, settings):
        click.echo(line)


def said(run: Any, page: Article, settings: Any, quiet: bool) -> None:
    """An estimate before a run that asks anyone for anything; a quiet one makes none.

    It reads every source, and where all are at hand the first findings come sooner than it would.
    """
    from pincite.verbs.verify import estimate

    if quiet or not (settings.web.online or run.second or estimate.asks_a_server(settings)):
        return
    for line in estimate.lines(run.estimate(page), settings):
        options.say(f"  {line}")


def fetched(shown: Any) -> Callable[[Any], None]:
    """Progress of fetching: which host, and how many addresses are left."""
    from pincite.report.cells import one_line
    from pincite.text.hosts import host_of, snapshot_at

    tasks: list[Any] = []

    def step(now: Any) -> None:
        if now.state == "kept" and now.n_urls == 1:  # one page alone was looked at again
            return
        if not tasks:
            tasks.append(shown.add_task("fetching", total=None))
        copy = snapshot_at(now.url)
        what = f"fetching {one_line(host_of(copy.page if copy else now.url))}"[:HOST_WIDTH]
        if now.state == "sought":
            what = what.replace("fetching", "looking for an archived copy:", 1)
        elif copy:
            what += f" (archived copy{f' of {copy.date}' if copy.date else ''})"
        ended = now.n_done == now.n_urls
        shown.update(
            tasks[0],
            completed=now.n_done,
            total=now.n_urls,
            description=what,
            visible=not ended,
        )
        if ended:  # what is fetched next is another article's, or one page that was missing
            shown.reset(tasks[0], visible=False)

    return step


def judged(
    run: Any,
    page: Article,
    shown: Any,
    first: Callable[[], None] = lambda: None,
    *,
    in_passing: bool = True,
) -> tuple[list[Finding], bool]:
    """The findings, and whether Ctrl-C cut them short, be it while the sources were fetched.

    `first` is done before; Ctrl-C may come then too. `in_passing`: beside the progress, each claim
    that needs an editor is told as soon as it is known.
    """
    from pincite.verbs.verify import terminal

    findings: list[Finding] = []
    try:
        first()
        run.prepare(page)
        task = shown.add_task("checking claims", total=len(page.claims))
        for finding in run.pipeline.findings(page):
            findings.append(finding)
            if in_passing and not shown.disable and (line := terminal.in_passing(finding)):
                shown.console.print(line, no_wrap=True, overflow="ellipsis")
            shown.advance(task)
        shown.remove_task(task)
    except KeyboardInterrupt:
        return findings, True
    if run.second is None:
        return findings, False
    tell = options.teller(shown)
    found = run.second.on(page, findings, lambda *n: tell("second opinions", *n))
    return found, run.second.stopped


def uncited(run: Any, page: Article, shown: Any) -> tuple[Uncited, ...] | None:
    """The sentences that need a citation; None if nobody asked for them, and after Ctrl-C."""
    from pincite.verbs.verify.build import uncited_in

    tell = options.teller(shown)
    try:
        return uncited_in(run, page, lambda *n: tell("sentences without a citation", *n))
    except KeyboardInterrupt:
        return None


def deliver(
    report: Report,
    outputs: dict[str, Path | None],
    *,
    limit: int | None,
    quiet: bool,
    excluded: bool = False,
) -> None:
    """Write the asked-for formats; the table goes to the terminal unless stdout carries data."""
    from rich.console import Console

    from pincite.verbs.verify import csv, data, html, terminal, wikitext

    today = datetime.now(UTC).date()
    writers = {
        "json": lambda: data.to_json(report),
        "csv": lambda: csv.to_csv(report),
        "html": lambda: html.to_html(report, today),
        "wikitext": lambda: wikitext.to_wikitext(report, today),
    }
    piped = [name for name, path in outputs.items() if str(path) == "-"]
    failed = {}
    with options.held_back():
        for name, path in outputs.items():
            if path is not None and name not in piped:
                text: str | Failed = containment.attempted(writers[name], lambda why: why)
                if isinstance(text, str):
                    options.write(text, path)
                else:
                    failed[name] = text.detail
    for name in piped:  # a reader that waits must not keep Ctrl-C waiting
        options.write(writers[name](), None)
    if not quiet and not piped:
        terminal.print_report(report, Console(), limit, excluded=excluded)
    for name, path in outputs.items():
        if path is not None and name not in piped and name not in failed:
            options.say(f"{name}: {path.resolve()}", quiet)
    if failed:
        said = ", ".join(f"{name} ({kind})" for name, kind in failed.items())
        raise PinciteError(f"Not written, by a fault of the program: {said}. Try --debug.")
