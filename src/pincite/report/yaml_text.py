"""JSON values as readable YAML."""

import functools
import math
import re
from typing import Any

# YAML 1.1 reads y and n as booleans; PyYAML does not, and would not quote them.
_BARE_KEY = re.compile(r"(?![yn]$)[a-z]\w*", re.ASCII | re.IGNORECASE)


def to_yaml(value: Any) -> str:
    """Return the values as a YAML document, every text on one line.

    Texts are quoted, so that none can become a number, a date, a tag or another document in any
    version of YAML.

    >>> print(to_yaml({"a": [1, {"b": "no"}], "c": {}}), end="")
    a:
    - 1
    - b: "no"
    c: {}
    """
    import yaml

    text: str = yaml.dump(
        value, Dumper=_dumper(), allow_unicode=True, sort_keys=False, width=math.inf
    )
    return text.removesuffix("...\n")  # added after a bare number


@functools.cache
def _dumper() -> Any:
    import yaml

    # In Python, not in C: libyaml takes UTF-8, which cannot encode lone surrogates.
    class Dumper(yaml.SafeDumper):
        """Repeats duplicate values instead of using aliases."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style='"')

    def mapping(dumper: Any, value: dict[str, Any]) -> Any:
        node = dumper.represent_dict(value)
        for key, _ in node.value:
            key.style = None if _BARE_KEY.fullmatch(key.value) else '"'
        return node

    Dumper.add_representer(str, text)
    Dumper.add_representer(dict, mapping)
    return Dumper
