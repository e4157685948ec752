"""A log of results: each in a file of its own, in a folder, if wanted in a git repository.

The files are called as EvidenceSeeker calls them, by day and id: `2026_11_23_ab12….yaml` and `.md`.
A result with an id that is there already is written over, wherever it lies.
"""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pincite.errors import ConfigError
from pincite.settings import ResultsSettings

# Of the date of a result: the folder that it lies in (EvidenceSeeker, `SubdirConstruction`).
FOLDERS = {
    "": "",
    "daily": "%Y_%m_%d",
    "weekly": "y%Y_w%W",
    "monthly": "y%Y_m%m",
    "yearly": "y%Y",
}
GIT_SECONDS = 60.0  # for a push over a slow line


@dataclass(frozen=True, slots=True)
class ResultLog:
    """Where results are kept."""

    folder: Path
    by: str = ""
    git: str = ""  # "commit", "push"

    def keep(self, uid: str, created: str, texts: Mapping[str, str]) -> list[Path]:
        """Write the texts of a result, by their ending; where they are.

        Args:
            uid: hex digits or letters, of this result alone.
            created: ISO date or timestamp.
            texts: "yaml" and "md", or others.

        Raises:
            ConfigError: a file cannot be written, or git refuses; what was written stays.
        """
        day = datetime.fromisoformat(created)
        stem = f"{day:%Y_%m_%d}_{uid}"
        usual = self.folder / day.strftime(FOLDERS[self.by])
        written, is_new = [], True
        for ending, text in texts.items():
            name = f"{stem}.{ending}"
            path = next(iter(sorted(self.folder.rglob(name))), usual / name)
            is_new = is_new and not path.exists()
            _write(path, text)
            written.append(path)
        if self.git:
            self._into_git(f"{'Upload new' if is_new else 'Update'} result ({uid})", written)
        return written

    def _into_git(self, message: str, paths: Sequence[Path]) -> None:
        named = ["--", *(str(path.resolve()) for path in paths)]
        self._run("add", *named)
        if self._run("diff", "--cached", "--name-only", *named):
            self._run("commit", "--quiet", "-m", message, *named)
        if self.git == "push":
            self._run("push", "--quiet")

    def _run(self, *arguments: str) -> str:
        """What git prints; the person's own git, with the credentials that it has."""
        command = ["git", "-C", str(self.folder), *arguments]
        try:
            done = subprocess.run(  # noqa: S603 - our own words and our own files
                command, capture_output=True, encoding="utf-8", timeout=GIT_SECONDS, check=True
            )
        except subprocess.CalledProcessError as error:
            said = (error.stderr or error.stdout).strip()[-300:]
            raise ConfigError(f"results.git: git {arguments[0]} failed: {said}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ConfigError(f"results.git: git {arguments[0]} failed: {error}") from error
        return done.stdout.strip()


def log_of(settings: ResultsSettings) -> ResultLog | None:
    """The log of the settings; None: there is none."""
    if not settings.folder:
        return None
    return ResultLog(Path(settings.folder).expanduser(), settings.by, settings.git)


def _write(path: Path, text: str) -> None:
    beside = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8", errors="replace")
        beside.replace(path)
    except OSError as error:
        raise ConfigError(f"results.folder: {path} cannot be written: {error.strerror}") from error
