"""What commands share: options, many of them made from the settings, progress, and output."""

import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import click

from pincite import codec, durable, errors
from pincite.cli import shell
from pincite.errors import PinciteError, usable
from pincite.settings import SHORT, Settings, load
from pincite.settings.schema import settings_of
from pincite.types import Failed

FilePath = click.Path(path_type=Path)
OutFile = click.Path(path_type=Path, dir_okay=False)
OutFolder = click.Path(path_type=Path, file_okay=False)
Command = Callable[..., Any]
# Entry points of `--on NAME`: each opens a `pincite.documents.inputs.Parallel` of N workers.
WORKERS = "pincite.workers"
# Exit codes, as the others in `pincite.cli`.
PARTIAL = 5  # something failed; the rest of the result is valid
STOPPED = 130  # as after Ctrl-C


def address(value: Path | str) -> Path | str:
    """Return a path, or an address such as `postgresql://host/database/name` or `s3://bucket/pages/`."""
    return value if isinstance(value, Path) or "://" in value else Path(value)


Address = click.types.FuncParamType(address)


def share(value: str) -> float:
    """Return the share that a percentage names.

    >>> share("10%")
    0.1
    """
    part = float(value.removesuffix("%")) / 100
    if not (value.endswith("%") and 0 < part <= 1):
        raise ValueError
    return part


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

_DATA: Mapping[str, Any] = tomllib.loads(
    Path(__file__).with_name("options.toml").read_text(encoding="utf-8")
)
FLAGS: Mapping[str, str] = _DATA["flags"]
GROUPS: Mapping[str, Sequence[str]] = {
    **_DATA["groups"],
    "filters": [name for name in settings_of(Settings) if name.startswith("filters.")],
}
HEADINGS = {heading: tuple(begins) for heading, begins in _DATA["headings"].items()}
_SHORT_NAMES = {full: short for short, full in SHORT.items()}
COMMON, OTHER = "Common options", "Other options"  # headings too
ALL_OPTIONS = "pincite.all_options"  # key in click's `meta`: --help-all was given


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
        params = {param.name or "": param for param in self.get_params(ctx)}
        records: dict[str, list[tuple[str, str]]] = {
            heading: [] for heading in (COMMON, *HEADINGS, OTHER)
        }
        for name in dict.fromkeys((*self._first, *params)):
            record = params[name].get_help_record(ctx)
            if record and isinstance(params[name], click.Option):
                records[self._heading(name)].append(record)
        shown = records if ctx.meta.get(ALL_OPTIONS) else {COMMON: records[COMMON]}
        for heading, rows in shown.items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)

    def _heading(self, name: str) -> str:
        if name in self._first or name.startswith("help"):
            return COMMON
        if name.endswith("_path") or name == "template":
            return "Output"
        setting = SHORT.get(name, "")
        fitting = (heading for heading, begins in HEADINGS.items() if setting.startswith(begins))
        return next(fitting, OTHER)


def setting_options(*names: str, record: type = Settings) -> Callable[[Command], Command]:
    """Add an option for each of these settings and `GROUPS` of a record, and `--config`."""

    def add(command: Command) -> Command:
        settings = [full for name in names for full in GROUPS.get(name, (name,))]
        for name in reversed(settings):
            command = _option(name, record)(command)
        return config_option(command)

    return add


def _option(name: str, record: type) -> Callable[[Command], Command]:
    """Return the option of a setting; the settings' own default applies if it is not given."""
    setting, short = settings_of(record)[name], _SHORT_NAMES.get(name, name)
    flag = FLAGS.get(name, f"--{short.replace('_', '-')}")
    is_switch = setting.kind is bool
    declarations = flag.split("/") if flag.startswith("-k") else [flag]
    attributes: dict[str, Any] = {"help": setting.help}
    if setting.choices:
        attributes["type"] = click.Choice(setting.choices)
    elif is_switch and "/" not in flag:
        attributes["is_flag"] = True
    elif setting.kind in (str, int, float):
        attributes["type"] = setting.kind
    if name == "models.encoder" or isinstance(setting.default, tuple):
        attributes |= {"multiple": True, "metavar": "TEXT", "help": f"{setting.help} Repeatable."}
    elif setting.default and not is_switch and not name.startswith("models."):
        attributes["help"] += f" [default: {setting.default}]"
    return click.option(*declarations, short, default=None, **attributes)


def load_settings(options: dict[str, Any]) -> Settings:
    """Load the settings, overridden by the options that were given; removes `config` from them."""
    config = options.pop("config", None)
    values = {name: value for name, value in options.items() if value != ()}
    encoders = values.get("encoder")
    if isinstance(encoders, tuple):  # the first is that of the settings, the others are more
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
            # Without a FILE, JSON goes to stdout.
            optional: Any = {"is_flag": False, "flag_value": "-"} if name == "json" else {}
            declarations = (f"--{name}", f"{name}_path")
            command = click.option(*declarations, type=OutFile, help=text, **optional)(command)
        return command

    return add


def pop_outputs(options: dict[str, Any]) -> dict[str, Path | None]:
    """Pop the path of each format of `output_options`, checked before any long or paid work."""
    names = [name for name in options if name.endswith("_path")]
    outputs: dict[str, Path | None]
    outputs = {name.removesuffix("_path"): options.pop(name) for name in names}
    for name, path in outputs.items():
        if path and str(path) != "-" and not path.resolve().parent.is_dir():
            raise click.UsageError(
                f"--{name} {path} cannot be written: expected a file in an existing folder."
            )
    return outputs


def check_template(template: Path | None, markdown: Path | None) -> None:
    from pincite.report import templates

    if template and not markdown:
        raise click.UsageError("--template needs --markdown.")
    if template:
        templates.load(template)


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
def parallel(on: str, workers: int | None) -> Iterator[Any]:
    """Yield a `pincite.documents.inputs.Parallel`, as `parallel_options` ask for."""
    from pincite.documents.inputs import Parallel

    if on == "local":
        if workers:
            raise click.UsageError("--workers needs --on ray.")
        yield Parallel()
        return
    shell.require(on)
    (point,) = entry_points(group=WORKERS, name=on)
    with point.load()(workers or 0) as remote:
        yield remote


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


def read_text(path: Path) -> str:
    """Return the text of a file; - is stdin. Raises InputError: It cannot be read."""
    with usable(path):
        return sys.stdin.read() if str(path) == "-" else path.read_text("utf-8-sig", "replace")


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file, without empty ones and comments (#)."""
    lines = (" ".join(line.split()) for line in read_text(path).splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def one_or_more(name: str) -> Callable[[Command], Command]:
    """Add an argument, a statement or question, and `--file`; read by `text_or_file`."""

    def add(command: Command) -> Command:
        text = f"File of {name}s, one per line (- for stdin)."
        command = click.option("--file", type=FilePath, help=text)(command)
        return click.argument(name, required=False)(command)

    return add


def text_or_file(text: str | None, file: Path | None, name: str) -> str:
    """Return a text, or that of a file without comments (#); exactly one of the two is expected."""
    if (text is None) == (file is None):
        raise click.UsageError(f"Expected either a {name} or --file.")
    lines = read_text(file).splitlines() if file else (text or "").splitlines()
    kept = "\n".join("" if file and line.startswith("#") else line for line in lines)
    if not re.search(r"\w", kept):
        raise click.UsageError(f"There is no {name.lower()}.")
    return kept


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
    raise click.exceptions.Exit(STOPPED)


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
    files = {name: path for name, path in wanted.items() if name not in piped}
    failures: dict[str, str] = {}  # format → kind of error
    with durable.without_interrupt():
        for name, path in files.items():
            text: Any = errors.attempt(writers[name], lambda why: why)
            if isinstance(text, Failed):
                failures[name] = text.detail
            else:
                write(text, path)
    for name in piped:  # a slow reader must not delay Ctrl-C
        write(writers[name](), None)
    if not piped and not (quiet and wanted):
        show()
    for name, path in files.items():
        if name not in failures:
            say(f"{name}: {path.resolve()}", quiet)
    if failures:
        lost = ", ".join(f"{name} ({kind})" for name, kind in failures.items())
        raise PinciteError(f"Not written because of a bug: {lost}. Try --debug.")
