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
_REFERENCE = re.compile(r"\{([a-z_]+)(?:\.([a-z_]+))?\}")


def words_of(table: str, name: str) -> frozenset[str]:
    return frozenset(LEXICON[table][name].split())


def alternatives(table: str, name: str) -> str:
    """Return regular expressions, one a line, as one that matches any of them."""
    return "|".join(LEXICON[table][name].strip().splitlines())


@cache
def tables_in(folder: Path) -> Mapping[str, Any]:
    return tomllib.loads((folder / "patterns.toml").read_text(encoding="utf-8"))


def patterns(
    module: str, table: str, flags: re.RegexFlag = re.NOFLAG, **given: str
) -> dict[str, re.Pattern[str]]:
    """Compile a table of the `patterns.toml` beside a module.

    Lines are alternatives, and a list is joined. `{name}` stands for an earlier pattern of the
    table or one of `given`, without the names of its groups; `{table.name}` for words of the
    lexicon. A pattern that is only part of others begins with "_".
    """
    known, listed = dict(given), tables_in(Path(module).parent)[table]

    def named(match: re.Match[str]) -> str:
        table, name = match.groups()
        if name:
            return "|".join(LEXICON[table][name].split())
        return re.sub(r"\(\?P<\w+>", "(?:", known[table])

    for name, pattern in listed.items():
        lines = pattern.strip("\n").splitlines() if isinstance(pattern, str) else ()
        whole = "|".join(lines) or "".join(pattern)
        known[name] = _REFERENCE.sub(named, whole)
    return {name: re.compile(known[name], flags) for name in listed if name[0] != "_"}


def word_lists(module: str, table: str) -> dict[str, frozenset[str]]:
    """Return the lists of words of a table of the `patterns.toml` beside a module."""
    listed = tables_in(Path(module).parent)[table]
    return {name: frozenset(words.split()) for name, words in listed.items()}


def entry(module: str, name: str) -> Any:
    """Return what the `patterns.toml` beside a module (its `__name__`) has for the module."""
    _, folder, section = module.split(".")
    return tables_in(Path(__file__).parents[1] / folder)[section][name]


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
