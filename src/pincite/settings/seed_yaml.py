"""YAML files of other people. The one file that knows PyYAML.

Read with its safe loader: no objects, only text, numbers, dates, lists and tables. Aliases, by
which a few lines can become gigabytes, are few in honest files and bounded here. An error names the
line and does not quote it: keys stand in such files.
"""

from typing import Any

import yaml

from pincite.errors import ConfigError

MAX_CHARS = 1_000_000  # EvidenceSeeker's files with all prompts have some 20,000
# Aliases of aliases multiply: with 30 of them at best 3 ** 10 = 59,049 values.
MAX_ALIASES = 30


def parsed(text: str, place: str) -> Any:
    """The value in a YAML text.

    Raises:
        ConfigError: it is no YAML, asks for objects, is too large, or has too many aliases.
    """
    if len(text) > MAX_CHARS:
        raise ConfigError(f"{place} has {len(text)} characters; expected at most {MAX_CHARS}.")
    try:
        aliases = sum(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text))
        if aliases > MAX_ALIASES:
            raise ConfigError(f"{place} has {aliases} aliases; expected at most {MAX_ALIASES}.")
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{place}{line} cannot be read as YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{place} is no YAML ({type(error).__name__}).") from None
