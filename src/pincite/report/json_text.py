"""Values as the JSON text of a report."""

import json
import re
from collections.abc import Mapping
from typing import Any

_HALF_PAIRS = re.compile("[\ud800-\udfff]")


def dumped(values: Mapping[str, Any]) -> str:
    """Indented JSON with a line break at its end."""
    text = json.dumps(values, ensure_ascii=False, indent=1)
    # UTF-8 has no half surrogate pairs; JSON's escape for them reads back as what it was.
    return _HALF_PAIRS.sub(lambda half: f"\\u{ord(half[0]):04x}", text) + "\n"
