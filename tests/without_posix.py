"""A Python that lacks what Windows lacks, for `test_portable`: imported at the start of a process.

Modules and functions of POSIX are gone, and folders cannot be opened. Libraries that choose the
system's means themselves are loaded before, and do here what they do on Linux.
"""

import asyncio  # noqa: F401 - as platformdirs
import os
import shutil
import signal
import subprocess
import sys
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
