"""Shared by commands: options made from the settings, progress, and writing results."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import click

from pincite import codec, durable, errors
from pincite.cli import shell
from pincite.errors import PinciteError, usable
from pincite.settings import SHORT, Settings, load
from pincite.settings.schema import declared
from pincite.text import pasted

FilePath = click.Path(path_type=Path)
OutFile = click.Path(path_type=Path, dir_okay=False)
OutFolder = click.Path(path_type=Path, file_okay=False)
Command = Callable[..., Any]
# Entry points of `--on NAME`: each opens a `pincite.documents.inputs.Parallel` of N workers.
WORKERS = "pincite.workers"


def address(value: Path | str) -> Path | str:
    """Return a path, or an address such as `postgresql://host/database/name` or `s3://bucket/pages/`."""
    return value if isinstance(value, Path) or "://" in value else Path(value)


Address = click.types.FuncParamType(address)


def share(value: str) -> float:
    """Return the share that a percentage names.

    >>> share("10%")
    0.1
    """
    found = float(value.removesuffix("%")) / 100
    if not (value.endswith("%") and 0 < found <= 1):
        raise ValueError
    return found


Share = click.types.FuncParamType(share)
Share.name = "percentage, such as 10%,"

config_option = click.option("--config", type=FilePath, help="TOML settings file.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
quiet_option = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Show no progress or messages, nor results that go to files.",
)

# Options whose name is not the short name of their setting.
FLAGS = {
    "verify.k": "-k/--top-k",
    "check.top_k": "-k/--top-k",
    "check.threshold": "--threshold",
    "verify.uncited": "--uncited",
    "filters.published_from": "--from-date",
    "filters.published_to": "--to-date",
    "filters.exclude_hosts": "--not-domain",
    "filters.domains": "--domain",
    "filters.languages": "--source-language",
    "filters.kinds": "--kind",
    "judge.url": "--judge",
    "judge.every": "--judge-all",
    "web.online": "--online/--offline",
    "web.wayback": "--wayback/--no-wayback",
    "ask.include_retracted": "--include-retracted/--not-retracted",
    "jobs_at_once": "--jobs",  # of a server
}
GROUPS = {
    "models": ("models.verifier", "models.encoder", "models.threads", "retrieval.depth"),
    "search": ("web.online", "web.contact", "web.search_url", "library.reliability"),
    "web": (
        *("web.online", "web.contact", "web.search_url", "library.reliability", "web.wayback"),
        "verify.wiki",
    ),
    "judge": ("judge.url", "judge.model", "judge.every"),
    "budget": ("budget.max_calls", "budget.max_tokens", "budget.max_cost"),
    "filters": tuple(name for name in declared(Settings) if name.startswith("filters.")),
}
_SHORT_NAMES = {full: short for short, full in SHORT.items()}
# Headings of `--help`, and how the full names of the settings below each begin.
HEADINGS: Mapping[str, tuple[str, ...]] = {
    "Output": (),
    "Documents to search": ("filters.", "retrieval."),
    "Web": ("web.", "library.", "verify.wiki"),
    "Results": ("verify.", "check.", "ask."),
    "Language model": ("chat.", "judge.", "budget."),
    "Models on this machine": ("models.",),
}
COMMON, ALL_OPTIONS = "Common options", "pincite.all_options"


class GroupedCommand(click.Command):
    """Shows its most used options (`first`, by parameter); with --help-all the rest by heading."""

    def __init__(self, *args: Any, first: str, **more: Any) -> None:
        super().__init__(*args, **more)
        self._first = first.split()
        self.params.append(
            click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=self._help_all,
                help="Show all options and exit.",
            )
        )

    @staticmethod
    def _help_all(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            ctx.meta[ALL_OPTIONS] = True
            click.echo(ctx.get_help())
            ctx.exit()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {
            heading: [] for heading in (COMMON, *HEADINGS, "Other options")
        }
        named = {param.name: param for param in self.get_params(ctx)}
        for name in dict.fromkeys((*self._first, *named)):
            record = named[name].get_help_record(ctx)
            if record and isinstance(named[name], click.Option):
                rows[self._heading(name or "")].append(record)
        for heading, listed in rows.items():
            if listed and (heading == COMMON or ctx.meta.get(ALL_OPTIONS)):
                with formatter.section(heading):
                    formatter.write_dl(listed)

    def _heading(self, name: str) -> str:
        if name in self._first or name.startswith("help"):
            return COMMON
        if name.endswith("_path") or name == "template":
            return "Output"
        full = SHORT.get(name, "")
        found = (heading for heading, begins in HEADINGS.items() if full.startswith(begins))
        return next(found, "Other options")


def setting_options(*names: str, record: type = Settings) -> Callable[[Command], Command]:
    """Add an option for each of these settings and `GROUPS` of a record, and `--config`."""

    def add(command: Command) -> Command:
        settings = [full for name in names for full in GROUPS.get(name, (name,))]
        for name in reversed(settings):
            command = _option(name, record)(command)
        return config_option(command)

    return add


def _option(name: str, record: type) -> Callable[[Command], Command]:
    setting, short = declared(record)[name], _SHORT_NAMES.get(name, name)
    flag = FLAGS.get(name, f"--{short.replace('_', '-')}")
    flags = flag.split("/") if flag.startswith("-k") else [flag]
    kind: dict[str, Any] = {"help": setting.help}
    if setting.choices:
        kind["type"] = click.Choice(setting.choices)
    elif setting.kind is bool:
        kind |= {} if "/" in flag else {"is_flag": True}
    elif setting.kind in (str, int, float):
        kind["type"] = setting.kind
    if name == "models.encoder" or isinstance(setting.default, tuple):
        kind |= {"multiple": True, "metavar": "TEXT", "help": f"{setting.help} Repeatable."}
    elif setting.default and setting.kind is not bool and not name.startswith("models."):
        kind["help"] += f" [default: {setting.default}]"
    return click.option(*flags, short, default=None, **kind)


def load_settings(options: dict[str, Any]) -> Settings:
    config = options.pop("config", None)
    values = {name: value for name, value in options.items() if value != ()}
    if isinstance(encoders := values.get("encoder"), tuple):
        values |= {"encoder": encoders[0], "encoders": encoders[1:] or None}
    return load(values, config)


def corpus_option(help_text: str) -> Callable[[Command], Command]:
    return click.option(
        "--corpus",
        type=Address,
        multiple=True,
        metavar="[NAME=]FOLDER",
        help=f"{help_text} Repeatable. [library.corpora]",
    )


def output_options(**formats: str) -> Callable[[Command], Command]:
    """Add `--json FILE` and the like, each with its help; read by `pop_outputs`."""

    def add(command: Command) -> Command:
        for name, text in reversed(formats.items()):
            bare: Any = {"is_flag": False, "flag_value": "-"} if name == "json" else {}
            add_option = click.option(f"--{name}", f"{name}_path", type=OutFile, help=text, **bare)
            command = add_option(command)
        return command

    return add


def pop_outputs(options: dict[str, Any]) -> dict[str, Path | None]:
    """Pop the values of `output_options`; returns the path of each format."""
    names = [name for name in options if name.endswith("_path")]
    return {name.removesuffix("_path"): options.pop(name) for name in names}


def check_outputs(outputs: Mapping[str, Path | None], template: Path | None) -> None:
    """Check that the outputs can be written before any paid call is made."""
    if template and not outputs.get("markdown"):
        raise click.UsageError("--template needs --markdown.")
    for name, path in outputs.items():
        if path and str(path) != "-" and not path.resolve().parent.is_dir():
            raise click.UsageError(
                f"--{name} {path} cannot be written: expected a file in an existing folder."
            )
    if template:
        from pincite.report import templates

        templates.parsed(template)


def parallel_options(command: Command) -> Command:
    """Add `--on` and `--workers`: work in this process, or on a Ray cluster."""
    command = click.option(
        "--workers", type=click.IntRange(0), help="Workers with --on ray; 0: all cores. [0]"
    )(command)
    return click.option(
        "--on",
        type=click.Choice(["local", "ray"]),
        default="local",
        show_default=True,
        help="Run in this process or on Ray (at RAY_ADDRESS, or started here).",
    )(command)


@contextmanager
def parallel(on: Any, workers: int | None) -> Iterator[Any]:
    from pincite.documents.inputs import Parallel

    if on == "local":
        if workers:
            raise click.UsageError("--workers needs --on ray.")
        yield Parallel()
        return
    shell.require(on)
    (point,) = entry_points(group=WORKERS, name=on)
    with point.load()(workers or 0) as found:
        yield found


class Display:
    """Progress bars on stderr; call it with a task's name, steps done, and steps in all."""

    def __init__(self, quiet: bool) -> None:
        from rich import progress as bars
        from rich.console import Console

        self.bars = bars.Progress(
            bars.TextColumn("{task.description}", markup=False),
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TimeElapsedColumn(),
            bars.TextColumn("left:"),
            bars.TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=quiet or not sys.stderr.isatty(),
        )
        self._tasks: dict[str, Any] = {}

    def __call__(self, name: str, done: int, total: int | None, description: str = "") -> None:
        """Show a task's progress; a new name gets a new bar."""
        if name not in self._tasks:
            self._tasks[name] = self.bars.add_task(name, total=total)
        self.bars.update(
            self._tasks[name], completed=done, total=total, description=description or name
        )

    def hide(self, name: str) -> None:
        if name in self._tasks:
            self.bars.remove_task(self._tasks.pop(name))

    @property
    def is_shown(self) -> bool:
        return not self.bars.disable


@contextmanager
def progress(quiet: bool) -> Iterator[Display]:
    """Yield a progress display; it shows nothing if `quiet` or if stderr is not a terminal."""
    display = Display(quiet)
    with display.bars:
        yield display


def read_lines(path: Path, split: Callable[[str], list[str]] = pasted.lines) -> list[str]:
    """Return the lines of a file (- is stdin), without empty ones and comments (#).

    Raises:
        InputError: The file cannot be read.
    """
    with usable(path):
        text = sys.stdin.read() if str(path) == "-" else path.read_text("utf-8-sig", "replace")
    return split(text)


def one_or_more(name: str) -> Callable[[Command], Command]:
    """Add an argument, a statement or question, and `--file`; read by `text_or_lines`."""

    def add(command: Command) -> Command:
        text = f"File of {name}s, one per line (- for stdin)."
        command = click.option("--file", type=FilePath, help=text)(command)
        return click.argument(name, required=False)(command)

    return add


def text_or_lines(text: str | None, file: Path | None, what: str) -> list[str]:
    """Return the items of a text or a file; exactly one of the two is expected."""
    if (text is None) == (file is None):
        raise click.UsageError(f"Expected either a {what} or --file.")
    lines = read_lines(file, pasted.items_of_file) if file else pasted.items(text or "")
    if not any(lines):
        raise click.UsageError(f"There is no {what.lower()}.")
    return lines


def say(message: str, quiet: bool = False) -> None:
    """Print a message for the user on stderr."""
    if quiet:
        return
    if hasattr(sys.stderr, "rich_proxied_file"):  # bars are shown: click would write into them
        sys.stderr.write(f"{message}\n")
    else:
        click.echo(message, err=True)


def stop(message: str) -> None:
    """Print why a run ends early, and exit as after Ctrl-C."""
    say(message)
    raise click.exceptions.Exit(shell.STOPPED)


@contextmanager
def resumable(message: str = "Stopped. Run the same command again to continue.") -> Iterator[None]:
    """Turn Ctrl-C into a message that says how to resume."""
    try:
        yield
    except KeyboardInterrupt:
        stop(message)


def print_json(value: object, *, line: bool = False) -> None:
    """Print a record or plain values as valid JSON, whatever they contain."""
    click.echo(codec.to_json(value, None if line else 1), nl=False)


def write(text: str, path: Path | None) -> None:
    """Write to a file atomically, or to stdout; raises OSError with the path."""
    if path is None or str(path) == "-":
        click.echo(text, nl=False)
    else:
        durable.write_text(path, text)


def deliver(
    writers: Mapping[str, Callable[[], str]],
    outputs: Mapping[str, Path | None],
    show: Callable[[], None],
    quiet: bool,
) -> None:
    """Write the requested formats, or show the result.

    `show` prints to the terminal unless stdout carries data; if `quiet`, only without files.
    `outputs` has the path of each format; None: not wanted.

    Raises:
        PinciteError: A bug prevented a format; the others are written.
    """
    wanted = {name: path for name, path in outputs.items() if path is not None}
    piped = [name for name, path in wanted.items() if str(path) == "-"]
    failed: dict[str, str] = {}
    with durable.without_interrupt():
        for name, path in wanted.items():
            if name not in piped:
                text: Any = errors.attempted(writers[name], lambda why: why)
                if isinstance(text, str):
                    write(text, path)
                else:
                    failed[name] = text.detail
    for name in piped:  # a slow reader must not delay Ctrl-C
        write(writers[name](), None)
    if not piped and not (quiet and wanted):
        show()
    for name, path in wanted.items():
        if name not in piped and name not in failed:
            say(f"{name}: {path.resolve()}", quiet)
    if failed:
        named = ", ".join(f"{name} ({kind})" for name, kind in failed.items())
        raise PinciteError(f"Not written because of a bug: {named}. Try --debug.")
