"""Options that several verbs share, and the console on which people read."""

import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import click

from pincite.contract import codec
from pincite.settings import Settings, load

FilePath = click.Path(path_type=Path)
OutFile = click.Path(path_type=Path, dir_okay=False)
OutFolder = click.Path(path_type=Path, file_okay=False)


class _Address(click.ParamType[Path | str]):
    """A path, or an address like `milvus://host:19530/name` or `s3://bucket/pages/`."""

    name = "address"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path | str:
        """A folder as a path, an address as it is; NAME=… stays before either."""
        return value if isinstance(value, Path) or "://" in value else Path(value)


Address = _Address()
Command = Callable[..., Any]

# Options that every way to measure has.
config_option = click.option("--config", type=FilePath, help="A TOML file with settings.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress.")
keep_option = click.option(
    "--keep", is_flag=True, help="Keep judged pairs: a stopped run goes on, pairs/s says nothing."
)


def corpus_option(help_text: str) -> Callable[[Command], Command]:
    """`--corpus`, which may be given several times."""
    return click.option(
        "--corpus",
        type=Address,
        multiple=True,
        metavar="[NAME=]FOLDER",
        help=f"{help_text}; may be given several times. [library.corpora]",
    )


def corpora_of(given: tuple[Path | str, ...], settings: Settings) -> list[Path | str]:
    """The corpora to search: those given, else those of the settings; refused if there is none."""
    if found := [*given] or settings.library.places:
        return found
    raise click.UsageError("Expected --corpus FOLDER, or library.corpora in the settings.")


def settings_options(command: Command) -> Command:
    """`--config`, and an option for each setting that a run may want to change."""
    return added(command, [*_models(), *_of_verify(), _threads()])


def model_options(command: Command) -> Command:
    """The same for verbs that know neither suggestions nor a threshold of support."""
    return added(command, [*_models(), _threads()])


def _models() -> list[Any]:
    return [
        config_option,
        click.option(
            "--verifier", help="Name, folder or Hugging Face id of the verifier, or NAME@URL."
        ),
        click.option(
            "--encoder",
            multiple=True,
            metavar="TEXT",
            help="Name, folder or Hugging Face id of the encoder, or NAME@URL; repeatable.",
        ),
        click.option("--depth", type=int, help="Passages from each retriever. [100]"),
    ]


def _of_verify() -> list[Any]:
    return [
        click.option("-k", "--k", type=int, help="Suggestions for a claim. [3]"),
        click.option("--threshold", type=float, help="Probability that counts. [0.3]"),
    ]


def _threads() -> Any:
    return click.option("--threads", type=int, help="Threads of the models; 0: all cores. [0]")


def added(command: Command, options: Sequence[Any]) -> Command:
    """The command with these options, listed in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def search_options(command: Command) -> Command:
    """What may be asked of the web, in whose name, and which of its sources are used."""
    return added(
        command,
        [
            click.option(
                "--online/--offline",
                default=None,
                help="Whether anything may be fetched from the web. [offline]",
            ),
            click.option("--contact", help="E-mail or address that hosts are told."),
            click.option(
                "--search-url",
                help="With --online: a SearXNG that may be sent claims, to find sources.",
            ),
            click.option("--reliability", help="Imported list of sources; none: without. [en]"),
        ],
    )


def web_options(command: Command) -> Command:
    """The same for articles: where they come from, and copies of what they cite."""
    return added(
        search_options(command),
        [
            click.option("--wiki", help="Base address of the wiki of titles. [Wikipedia]"),
            click.option(
                "--wayback/--no-wayback",
                default=None,
                help="With --online: the Wayback Machine may be asked for copies. [no]",
            ),
            click.option(
                "--article-markup",
                type=click.Choice(["wikitext", "html"]),
                help="What an article of a wiki is read from. [wikitext]",
            ),
        ],
    )


def judge_options(command: Command) -> Command:
    """A second opinion: which server is asked, and of what."""
    return added(
        command,
        [
            click.option(
                "--judge", "judge_url", metavar="URL", help="Server that gives a second opinion."
            ),
            click.option("--judge-model", help="Model of that server."),
            click.option(
                "--judge-all",
                "judge_every",
                is_flag=True,
                default=None,
                help="Ask it of every claim, not only where we are unsure.",
            ),
        ],
    )


def budget_options(command: Command) -> Command:
    """How much may be asked of a language model."""
    return added(
        command,
        [
            click.option("--max-calls", type=int, help="Most calls of a model; 0: no limit. [0]"),
            click.option("--max-tokens", type=int, help="Most tokens, prompts and replies. [0]"),
            click.option("--max-cost", type=float, help="Most, with prices in the settings. [0]"),
        ],
    )


def filter_options(command: Command) -> Command:
    """An option for each setting that says which documents of a corpus may be found."""
    several: dict[str, Any] = {"multiple": True, "metavar": "TEXT"}
    return added(
        command,
        [
            click.option("--from-date", "published_from", help="Published then or later: 2019-05."),
            click.option("--to-date", "published_to", help="Published then or earlier."),
            click.option(
                "--undated",
                is_flag=True,
                default=None,
                help="Pages without a date too, though a date is asked for.",
            ),
            click.option("--domain", "domains", **several, help="Only this site; repeatable."),
            click.option("--not-domain", "exclude_hosts", **several, help="Not this site."),
            click.option("--source-language", "source_languages", **several, help="en, de, …"),
            click.option("--kind", "kinds", **several, help="html, pdf, text, …"),
            click.option("--where", **several, help="On metadata: 'section in news, sport'."),
        ],
    )


def parallel_options(command: Command) -> Command:
    """Where the work is done: in this process, or by the workers of a Ray cluster."""
    return added(
        command,
        [
            click.option(
                "--on",
                type=click.Choice(["local", "ray"]),
                default="local",
                show_default=True,
                help="Who does the work: this process, or Ray (RAY_ADDRESS, else started here).",
            ),
            click.option(
                "--workers", type=click.IntRange(0), help="With --on ray; 0: all cores. [0]"
            ),
        ],
    )


@contextmanager
def parallel(on: Any, workers: int | None) -> Iterator[Any]:
    """What `parallel_options` chose, ready to work."""
    from pincite.cli import extras
    from pincite.library.parallel import opened

    if on == "local" and workers:
        raise click.UsageError("--workers counts Ray's: it needs --on ray.")
    if on == "ray":
        extras.require("ray")
    with opened(on, workers or 0) as found:
        yield found


def settings_of(options: dict[str, Any]) -> Settings:
    """The settings in force, from what the options above collected."""
    config = options.pop("config", None)
    given = {name: value for name, value in options.items() if value != ()}
    if isinstance(encoders := given.get("encoder"), tuple):
        given |= {"encoder": encoders[0], "encoders": encoders[1:] or None}
    return load(given, config)


def progress(quiet: bool) -> Any:
    """A progress display on stderr; silent where stderr is no terminal, or on request."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=quiet or not sys.stderr.isatty(),
    )


def teller(shown: Any) -> Callable[..., None]:
    """Progress by name: `tell(name, done, total, description)`; a name new to it gets a line."""
    tasks: dict[str, Any] = {}

    def tell(name: str, done: int, total: int | None, description: str = "") -> None:
        if name not in tasks:
            tasks[name] = shown.add_task(name, total=total)
        shown.update(tasks[name], completed=done, total=total, description=description or name)

    return tell


def lines_of(path: Path) -> list[str]:
    """The lines of a file (- is stdin) that say something; comments begin with #.

    Raises:
        InputError: the file cannot be read.
    """
    from pincite.errors import InputError

    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text("utf-8", "replace")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    kept = (" ".join(line.split()) for line in text.splitlines())
    return [line for line in kept if line and not line.startswith("#")]


def say(message: str, quiet: bool = False) -> None:
    """A line for the person, on stderr."""
    if quiet:
        return
    if hasattr(sys.stderr, "rich_proxied_file"):  # bars are shown: click would write into them
        sys.stderr.write(f"{message}\n")
    else:
        click.echo(message, err=True)


def print_json(value: object, *, line: bool = False) -> None:
    """A record or plain values on stdout as JSON, valid whatever they hold."""
    click.echo(codec.to_json(value, None if line else 1), nl=False)


def write(text: str, path: Path | None) -> None:
    """To a file, written beside and renamed, or to stdout; raises OSError with the path."""
    if path is None or str(path) == "-":
        click.echo(text, nl=False)
        return
    beside = path.with_name(path.name + ".part")
    try:
        beside.write_text(text, encoding="utf-8", errors="replace")
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise OSError(error.errno, error.strerror, str(path)) from error


def deliver(
    writers: Mapping[str, Callable[[], str]],
    outputs: Mapping[str, Path | None],
    show: Callable[[], None],
    quiet: bool,
) -> None:
    """Write the formats asked for; `show` prints to the terminal unless stdout carries data.

    Args:
        writers: what makes each format.
        outputs: where each one goes; None: it is not wanted.
        show: prints the report for a person.
        quiet: print nothing.

    Raises:
        PinciteError: a format could not be made, by a fault of the program; the others are there.
    """
    from pincite import containment
    from pincite.errors import PinciteError

    wanted = {name: path for name, path in outputs.items() if path is not None}
    piped = [name for name, path in wanted.items() if str(path) == "-"]
    failed: dict[str, str] = {}

    with held_back():
        for name, path in wanted.items():
            if name not in piped:
                text: Any = containment.attempted(writers[name], lambda why: why)
                if isinstance(text, str):
                    write(text, path)
                else:
                    failed[name] = text.detail
    for name in piped:  # a reader that waits must not keep Ctrl-C waiting
        write(writers[name](), None)
    if not quiet and not piped:
        show()
    for name, path in wanted.items():
        if name not in piped and name not in failed:
            say(f"{name}: {path.resolve()}", quiet)
    if failed:
        said = ", ".join(f"{name} ({kind})" for name, kind in failed.items())
        raise PinciteError(f"Not written, by a fault of the program: {said}. Try --debug.")


@contextmanager
def held_back() -> Iterator[None]:
    """Ctrl-C takes effect when the body is done. For the main thread, and for short bodies.

    Raises:
        KeyboardInterrupt: at the end, if it was pressed meanwhile.
    """
    pressed = False

    def note(_signal: int, _frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # ignored, as for jobs in the background
        yield
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
