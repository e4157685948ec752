"""Text processing: sentences, clauses, names, numbers, words and identifiers."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

LEXICON: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("lexicon.toml").read_text(encoding="utf-8")
)


def words_of(table: str, name: str) -> frozenset[str]:
    return frozenset(LEXICON[table][name].split())


def alternatives(table: str, name: str) -> str:
    """Return regular expressions, one a line, as one that matches any of them."""
    return "|".join(LEXICON[table][name].strip().splitlines())


@cache
def _rules(folder: str) -> Mapping[str, Mapping[str, Any]]:
    path = Path(__file__).parents[1] / folder / "patterns.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def entry(module: str, name: str) -> Any:
    """Return what the `patterns.toml` beside a module (its `__name__`) has for the module."""
    _, folder, section = module.split(".")
    return _rules(folder)[section][name]


def pattern(
    module: str, name: str, flags: int = 0, **parts: str | Iterable[str]
) -> re.Pattern[str]:
    """Compile a pattern of `patterns.toml`.

    Its lines are one unless it is verbose. <PART> stands for a part given as an expression or
    alternatives, or for the module's entry `part`.
    """

    def filled(name: str) -> str:
        return re.sub(r"<([A-Z_]+)>", lambda part: shown(part[1]), entry(module, name))

    def shown(part: str) -> str:
        value = parts.get(part)
        if value is None:
            return filled(part.lower())
        return value if isinstance(value, str) else "|".join(value)

    text = filled(name)
    return re.compile(text if flags & re.VERBOSE else text.replace("\n", ""), flags)


def list_of(module: str, name: str) -> list[str]:
    """Return the words of an entry of `patterns.toml`."""
    words: str = entry(module, name)
    return words.split()
