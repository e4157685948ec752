"""Jinja2, for pages and for Markdown that a user may lay out.

Every value on a page is escaped (autoescape is on for the whole environment). Templates of a user
run in a sandbox, and what they print of a value cannot become markup.
"""

import re
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from pincite.errors import ConfigError
from pincite.report.wording import one_line

FOLDER = Path(__file__).parent
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!$])")


@cache
def page(name: str) -> Template:
    """A shipped page by the name of its file."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template(name)


@cache
def style(*more: str) -> Markup:
    """The style sheet of all pages, and those of one page behind it."""
    names = ("report.css", *more)
    text = "".join((FOLDER / name).read_text(encoding="utf-8") for name in names)
    return Markup(text)  # noqa: S704 - our files


def markdown(path: Path | None, values: dict[str, object], *, shipped: str = "check.md.j2") -> str:
    """A Markdown template filled in; None: the one that is shipped under that name.

    Raises:
        ConfigError: the template cannot be read, or asks for what there is not or may not be.
    """
    place = path or FOLDER / shipped
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        finalize=_plain,
        autoescape=False,  # this is Markdown: `_plain` escapes every value for it
        trim_blocks=True,
        lstrip_blocks=True,
    )
    try:
        text = place.read_text(encoding="utf-8")
        return environment.from_string(text).render(values)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{place} cannot be read as a template: {error}") from error
    except (TemplateError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise ConfigError(f"{place} cannot be filled in: {error}") from error


def _plain(value: object) -> object:
    """A value as Markdown shows it: no text of a page becomes a heading, a link or HTML."""
    return _MARKDOWN.sub(r"\\\1", one_line(value)) if isinstance(value, str) else value
