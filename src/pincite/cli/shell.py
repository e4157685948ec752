"""Runs the command line for a shell: arguments, streams, errors and exit codes.

Commands let errors through; here each becomes one line with a next step, and an exit code.
`--debug` shows the traceback. The traceback of a bug is also written to a file.
"""

import errno
import io
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import click

from pincite.errors import MissingExtra, PinciteError, PinciteWarning, install_command

UNUSABLE, UNWRITTEN, BUG, STOPPED = 3, 4, 70, 130  # exit codes
MAX_MESSAGE = 300  # characters of an error that is not ours
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
_NEXT_STEPS = {
    errno.ENOENT: "Check the path.",
    errno.EISDIR: "Expected a file there, not a folder.",
    errno.ENOTDIR: "A part of the path is a file; expected a folder.",
    errno.EEXIST: "Expected a folder, or a new name.",
    errno.ENAMETOOLONG: "Expected a shorter path.",
    errno.EACCES: "Check its permissions.",
    errno.EPERM: "Check its permissions.",
    errno.EMFILE: "Raise the limit of open files: ulimit -n 4096",
    errno.EADDRINUSE: "Another program listens there: choose another --port.",
    errno.EROFS: "Choose a writable location.",
} | dict.fromkeys(
    (errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
    "Finished work is kept. Free some disk space and run the command again.",
)


class BrokenPipe(Exception):
    """Carries a BrokenPipeError past click."""


class _ErrorLog(logging.Handler):
    """Writes the tracebacks of failed items to a file, not to the terminal."""

    message = ""  # names the file

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1]:
            self.message = _write_log(record.exc_info[1], append=bool(self.message))


def run(command: Callable[[list[str]], int | None], arguments: Sequence[str]) -> NoReturn:
    """Run `command` on the arguments and exit; every error becomes one line on stderr."""
    _prepare_streams()
    default_format = warnings.formatwarning
    warnings.formatwarning = lambda message, kind, *where: (
        f"pincite: {message}\n" if kind is PinciteWarning else default_format(message, kind, *where)
    )
    debug, error_log = "--debug" in arguments, _ErrorLog()
    log, handler = logging.getLogger("pincite"), logging.StreamHandler() if debug else error_log
    log.addHandler(handler)
    try:
        code = command([argument for argument in arguments if argument != "--debug"])
        if error_log.message:
            _print_error(f"some items are missing because of a bug. {error_log.message}")
        if sys.stdout is not None:
            sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        if debug and not isinstance(error, click.exceptions.Exit):
            traceback.print_exc()
        code = _exit_code(error)
    finally:
        log.removeHandler(handler)
        warnings.formatwarning = default_format
    sys.exit(code)


def _exit_code(error: BaseException) -> int:
    """Print an error, and return its exit code."""
    if isinstance(error, BrokenPipe) and error.__cause__:
        error = error.__cause__
    if isinstance(error, OSError) and _output_failed(error):
        if isinstance(error, BrokenPipeError):  # `pincite … | head`: the reader has enough
            return 0
        _print_error(f"standard output cannot be written: {error.strerror}.")
        return UNWRITTEN
    if isinstance(error, click.ClickException):
        with suppress(OSError):
            error.show()
        return error.exit_code
    if isinstance(error, click.Abort | KeyboardInterrupt):
        _print_error("stopped; everything committed so far is kept.")
        return STOPPED
    message, code = _describe(error)
    _print_error(message)
    return code


def _describe(error: BaseException) -> tuple[str, int]:
    """Return the message and the exit code with which an error ends the program."""
    if isinstance(error, ImportError) and (missing := missing_extra_of(error)):
        error = missing
    if isinstance(error, PinciteError):
        return str(error), error.exit_code
    if isinstance(error, MemoryError):
        return "out of memory. Try a smaller input, or close other programs.", UNWRITTEN
    if isinstance(error, OSError):
        names = dict.fromkeys(str(name) for name in (error.filename, error.filename2) if name)
        what = f"{', '.join(names)}: " if names else ""
        step = _NEXT_STEPS.get(error.errno or 0) or _write_log(error)
        why = error.strerror or _one_line(error) or error.__class__.__name__
        return f"{what}{why}. {step}", UNWRITTEN if error.errno in _FULL else UNUSABLE
    if isinstance(error, UnicodeError):
        why, code = "text that is not UTF-8", UNUSABLE
    elif error.__class__.__module__ == "sqlite3":
        why, code = "a database cannot be used", UNWRITTEN
    else:
        why, code = f"a bug: {error.__class__.__name__}", BUG
    return f"{why}: {_one_line(error)}. {_write_log(error)}", code


def _one_line(error: BaseException) -> str:
    printable = "".join(c for c in " ".join(str(error).split()) if c.isprintable())
    return printable[:MAX_MESSAGE].rstrip(".")


def _write_log(error: BaseException, *, append: bool = False) -> str:
    """Write the traceback to a file, appending if `append`; returns the file's place as text."""
    from pincite.models.weights import cache_folder

    try:
        path = cache_folder().parent / "last-error.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(traceback.format_exception(error))
        with path.open("a" if append else "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except (OSError, RuntimeError):
        return "Details: repeat the command with --debug."
    return f"Details: {path}, or --debug."


def _print_error(message: str) -> None:
    with suppress(OSError):  # stderr may be full too
        click.echo(f"pincite: {message}", err=True)


def _output_failed(error: OSError) -> bool:
    """Whether stdout or stderr cannot be written; if so, drop the remaining output.

    Such an error has no file name, so the writing module decides.
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    writer = Path(frames[-1].f_code.co_filename) if frames else Path()
    if error.filename or not (writer.parent.name in ("click", "rich") or writer == Path(__file__)):
        return False
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True


def _prepare_streams() -> None:
    """Make piped text UTF-8, and keep odd characters and closed streams from ending a run.

    A closed stream's descriptor is reopened; otherwise the next opened file would get it and
    receive what is printed. Writing to a closed stdout is an error when it is flushed.
    """
    nowhere = os.devnull
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(nowhere, os.O_RDONLY), encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(nowhere, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(nowhere, os.O_WRONLY), "w", encoding="utf-8")
    for stream, errors in ((sys.stdin, "replace"), (sys.stdout, "backslashreplace")):
        # A calling program may have replaced the stream to capture it.
        if isinstance(stream, io.TextIOWrapper):
            # Windows would use its regional encoding for pipes.
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors=errors)


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


# ── Extras: libraries that are installed only if their commands are used ──────────────────────────

# The libraries of each extra, by import name. Every module imports one of these before their
# dependencies.
LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "server": tuple(
        "pincite_server argon2 authlib fastapi prometheus_client psycopg python_multipart "
        "sqlalchemy starlette uvicorn".split()
    ),
    "mcp": ("pincite_mcp", "mcp"),
    "lab": ("pincite_lab", "ir_measures", "sklearn"),
    "train": ("onnx", "safetensors", "torch", "transformers"),
    "ocr": ("PIL", "rapidocr"),
    "ray": ("pincite_cluster", "ray"),
    "postgres": ("pincite_cluster", "psycopg"),
    "multilingual": ("pincite_multilingual", "sentencepiece"),
    "study": ("pincite_study", "krippendorff", "statsmodels"),
    "watch": ("pincite_watch",),
    "evidenceseeker": ("pincite_evidenceseeker",),
}


def missing_extra_of(error: ImportError) -> MissingExtra | None:
    """Return what to install after a failed import; None if no extra provides it or it is there."""
    library = (error.name or "").partition(".")[0]
    extra = next((name for name, known in LIBRARIES.items() if library in known), None)
    # Installing the extra would not repair a library that is installed but broken.
    return _missing_extra(extra, [library]) if extra and find_spec(library) is None else None


def require(extra: str) -> None:
    """Raise MissingExtra if an extra is not installed; called before long runs."""
    if absent := [library for library in LIBRARIES[extra] if find_spec(library) is None]:
        raise _missing_extra(extra, absent)
    if extra == "train":
        # Before torch is loaded. Spin-waiting threads took 2.6 times the processor time of a step
        # on two cores with other work beside it, without any gain.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def _missing_extra(extra: str, libraries: Sequence[str]) -> MissingExtra:
    are = "is" if len(libraries) == 1 else "are"
    return MissingExtra(
        f"{', '.join(libraries)} {are} not installed. Install with: {install_command(extra)}"
    )
