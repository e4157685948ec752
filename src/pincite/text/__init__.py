"""Text processing: sentences, clauses, names, numbers, words and identifiers."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

LEXICON: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("lexicon.toml").read_text(encoding="utf-8")
)


def words_of(table: str, name: str) -> frozenset[str]:
    return frozenset(LEXICON[table][name].split())


def alternatives(table: str, name: str) -> str:
    """Return regular expressions, one a line, as one that matches any of them."""
    return "|".join(LEXICON[table][name].strip().splitlines())
