"""A Python that lacks what Windows lacks, for `test_portable`: imported at the start of a process.

Modules and functions of POSIX are gone, folders cannot be opened, nothing that is open or mapped
can be renamed or deleted, text files get CRLF, and texts without an encoding are ASCII. Libraries
that choose the system's means themselves are loaded before, and do here what they do on Linux.
"""

import asyncio  # noqa: F401 - as platformdirs
import builtins
import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import filelock  # noqa: F401
import platformdirs  # noqa: F401

MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog")
OF_OS = (
    *("fork", "forkpty", "getuid", "geteuid", "getgid", "getegid", "setsid", "setpgid", "killpg"),
    *("getpgid", "nice", "sysconf", "sched_getaffinity", "pread", "pwrite", "register_at_fork"),
    *("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_SYNC", "statvfs"),
    *("chown", "fchown", "fchmod", "mkfifo", "symlink"),
)
OF_SIGNAL = (
    *("SIGKILL", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGPROF", "SIGQUIT", "SIGCHLD"),
    *("setitimer", "getitimer", "ITIMER_PROF", "ITIMER_REAL", "alarm", "pause", "pthread_kill"),
)


def take_away() -> None:
    """Make this process such a one."""
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]  # so an import of it fails
    for owner, names in ((os, OF_OS), (signal, OF_SIGNAL)):
        for name in names:
            if hasattr(owner, name):
                delattr(owner, name)
    subprocess.Popen.kill = lambda self: self.send_signal(9)  # type: ignore[method-assign]
    shutil._use_fd_functions = False  # type: ignore[attr-defined]
    real_open = os.open

    def open_file(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if isinstance(path, (str, os.PathLike)) and Path(path).is_dir():
            raise PermissionError(13, "Permission denied: a folder", str(path))
        return real_open(path, flags, *rest, **named)

    os.open = open_file
    for name in ("unlink", "remove", "rmdir", "rename", "replace"):
        setattr(os, name, _only_closed(getattr(os, name), folders_give_way=name == "replace"))
    for module in (io, builtins):
        module.open = _with_crlf(module.open)  # type: ignore[attr-defined]


def _only_closed(act: Callable[..., None], *, folders_give_way: bool) -> Callable[..., None]:
    """`os.rename` and its like, for what no process of ours has open; never onto a folder."""

    def acted(path: Any, *rest: Any, **named: Any) -> None:
        for one in (path, *rest):
            there = Path(one).absolute()
            if found := next((x for x in _in_use() if Path(x).is_relative_to(there)), None):
                raise PermissionError(13, f"in use: {found}", str(path))
        if rest and Path(rest[0]).exists() and (Path(rest[0]).is_dir() or not folders_give_way):
            raise FileExistsError(17, "Cannot create a file when it exists", str(rest[0]))
        act(path, *rest, **named)

    return acted


def _in_use() -> set[str]:
    """Files that this process or a parent or child of it has open or mapped."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"PINCITE_CACHE=" + os.environ["PINCITE_CACHE"].encode() not in (
                (process / "environ").read_bytes().split(b"\0")
            ):
                continue
            maps = (process / "maps").read_text(encoding="utf-8", errors="replace")
            found |= {line.split(None, 5)[-1] for line in maps.splitlines() if "/" in line}
            found |= {os.readlink(each) for each in (process / "fd").iterdir()}  # noqa: PTH115
        except OSError:  # another's, or just ended
            continue
    return {os.fspath(each) for each in found if str(each).startswith("/")}


def _with_crlf(opened: Callable[..., Any]) -> Callable[..., Any]:
    def open_text(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if "b" not in mode and "+" not in mode and set(mode) & set("wax") and len(rest) < 3:
            named.setdefault("newline", "\r\n")
        return opened(file, mode, *rest, **named)

    return open_text
