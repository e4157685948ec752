"""The regular expressions and lists of words in `patterns.toml`."""

import re
import tomllib
from pathlib import Path

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_REFERENCE = re.compile(r"\{([a-z_]+)\}")


def patterns(table: str, **given: str) -> dict[str, re.Pattern[str]]:
    """Compile the patterns of a table, except those that are only parts of others ("_name").

    `given` are more that they may name.
    """
    known = dict(given)

    def earlier(match: re.Match[str]) -> str:
        return re.sub(r"\(\?P<\w+>", "(?:", known[match[1]])

    for name, pattern in _TABLES[table].items():
        known[name] = _REFERENCE.sub(earlier, "".join(pattern))
    whole = (name for name in _TABLES[table] if not name.startswith("_"))
    return {name: re.compile(known[name], re.IGNORECASE) for name in whole}


def words(table: str) -> dict[str, frozenset[str]]:
    return {name: frozenset(listed.split()) for name, listed in _TABLES[table].items()}
