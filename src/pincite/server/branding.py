"""What whoever runs a server puts on its pages: a name, a logo, a notice and examples of their own.

Read once, when the server starts. Texts are text, not markup; the logo travels inside the page, and
in an image no script of an SVG runs.
"""

import base64
import re
from dataclasses import dataclass
from pathlib import Path

from pincite.errors import ConfigError
from pincite.server.settings import ServerSettings

MAX_TEXT = 100_000  # characters
MAX_LOGO = 200_000  # bytes; it is part of each page
MOST_EXAMPLES = 12
LOGOS = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Branding:
    """All of it; empty: the pages' own."""

    title: str = ""  # in place of the program's name
    logo: str = ""  # a data: URL
    notice: tuple[str, ...] = ()  # paragraphs above each form
    examples: tuple[str, ...] = ()  # statements
    questions: tuple[str, ...] = ()


def branding_of(settings: ServerSettings) -> Branding:
    """That of a server.

    Raises:
        ConfigError: a file cannot be read, or is not what it should be.
    """
    return Branding(
        " ".join(settings.title.split()),
        _logo(settings.logo),
        paragraphs(text_of("notice", settings.notice)),
        _lines("examples", settings.examples),
        _lines("questions", settings.questions),
    )


def text_of(name: str, path: str) -> str:
    """The text of the file that a setting names; empty where it names none."""
    if not path:
        return ""
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"server.{name}: {path} cannot be read as text: {error}.") from error
    if not 0 < len(text) <= MAX_TEXT:
        raise ConfigError(f"server.{name}: {path} has {len(text):,} characters; expected some.")
    return text


def paragraphs(text: str) -> tuple[str, ...]:
    r"""The parts between empty lines.

    >>> paragraphs("One,\nstill one.\n\n  \nTwo.\n")
    ('One,\nstill one.', 'Two.')
    """
    parts = re.split(r"\n\s*\n", text)
    return tuple(part.strip() for part in parts if part.strip())


def _lines(name: str, path: str) -> tuple[str, ...]:
    lines = (" ".join(line.split()) for line in text_of(name, path).splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))[:MOST_EXAMPLES]


def _logo(path: str) -> str:
    if not path:
        return ""
    file = Path(path).expanduser()
    kind = LOGOS.get(file.suffix.lower())
    if kind is None:
        raise ConfigError(f"server.logo is {path!r}; expected a file called {', '.join(LOGOS)}.")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"server.logo: {path} cannot be read: {error.strerror}.") from error
    if len(content) > MAX_LOGO:
        raise ConfigError(f"server.logo has {len(content):,} bytes; expected at most {MAX_LOGO:,}.")
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
