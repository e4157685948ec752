"""Text processing: sentences, clauses, names, numbers, words and identifiers."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

LEXICON: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("lexicon.toml").read_text(encoding="utf-8")
)
_REFERENCE = re.compile(r"\{([a-z_]+)(?:\.([a-z_]+))?\}")
_NAMED_GROUP = re.compile(r"\(\?P<\w+>")


def words_of(table: str, name: str) -> frozenset[str]:
    return frozenset(LEXICON[table][name].split())


def alternatives(table: str, name: str) -> str:
    """Return regular expressions, one a line, as one that matches any of them."""
    return "|".join(LEXICON[table][name].strip().splitlines())


@cache
def tables_beside(module: str) -> Mapping[str, Any]:
    """Return the `patterns.toml` beside a module, which is given by its `__file__`."""
    return tomllib.loads(Path(module).with_name("patterns.toml").read_text(encoding="utf-8"))


def patterns(
    module: str, table: str, flags: re.RegexFlag = re.NOFLAG, **given: str
) -> dict[str, re.Pattern[str]]:
    """Compile a table of the `patterns.toml` beside a module.

    Lines are alternatives, and a list is joined. `{name}` stands for an earlier pattern of the
    table, without the names of its groups, or for one of `given`; `{table.name}` for words of the
    lexicon. A pattern that is only part of others begins with "_", and keeps its groups there.
    """
    parts, listed = dict(given), tables_beside(module)[table]

    def part(reference: re.Match[str]) -> str:
        source, words = reference.groups()
        return "|".join(LEXICON[source][words].split()) if words else parts[source]

    compiled = {}
    for name, listing in listed.items():
        lines = listing.strip("\n").splitlines() if isinstance(listing, str) else ["".join(listing)]
        parts[name] = text = _REFERENCE.sub(part, "|".join(lines))
        if not name.startswith("_"):
            compiled[name] = re.compile(text, flags)
            parts[name] = _NAMED_GROUP.sub("(?:", text)
    return compiled


def word_lists(module: str, table: str) -> dict[str, frozenset[str]]:
    """Return the lists of words of a table of the `patterns.toml` beside a module."""
    return {name: frozenset(words.split()) for name, words in tables_beside(module)[table].items()}
