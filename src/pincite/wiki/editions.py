"""What the templates of each Wikipedia mean: `templates.toml`, looked up by language.

Every other module knows English names only. A local template is read as the English one that does
the same, a local parameter as the English one that means the same.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

TABLE: Mapping[str, Any] = tomllib.loads(
    Path(__file__).with_name("templates.toml").read_text(encoding="utf-8")
)
FILE, CATEGORY = (frozenset(TABLE["namespaces"][name]) for name in ("file", "category"))
_DIGITS = "0123456789"
_SUBSTITUTED = ("template:", "safesubst:", "subst:", "подст:")


@dataclass(frozen=True, slots=True)
class Edition:
    """The templates of one language; names are in lower case."""

    names: Mapping[str, str] = field(default_factory=dict)  # of templates: local → English
    parameters: Mapping[str, str] = field(default_factory=dict)  # local → English, without number
    shown: Mapping[str, str] = field(default_factory=dict)  # local template → what a reader sees
    variants: bool = False  # whether -{zh-hans:…; zh-hant:…}- is one word in two scripts

    def parameter(self, template: str, name: str) -> str:
        """The English name of a parameter of the local `template`.

        >>> edition("de").parameter("literatur", "Titel"), edition("es").parameter("", "nombre2")
        ('title', 'first2')
        """
        if not self.parameters:
            return name
        lower = name.lower()
        base = lower.rstrip(_DIGITS)
        for key, number in ((lower, ""), (base, lower[len(base) :])):
            for known in (f"{template}:{key}", key):
                if known in self.parameters:
                    return self.parameters[known] + number
        return lower


ENGLISH = Edition()


@cache
def edition(language: str) -> Edition:
    """The edition in `language`; of one that is not in the table, the English templates."""
    given = TABLE["languages"].get(language, {})
    names, parameters, shown = (
        _turned(given.get(key, {})) for key in ("names", "parameters", "shown")
    )
    return Edition(names, parameters, shown, given.get("variants", False))


def _turned(given: Mapping[str, list[str]]) -> dict[str, str]:
    return {local: ours for ours, locals_ in given.items() for local in locals_}


def template_name(raw: str) -> str:
    """A template's name as the tables spell it.

    >>> template_name(" Template:Cite_web ")
    'cite web'
    """
    name = " ".join(raw.replace("_", " ").split()).lower()
    for prefix in _SUBSTITUTED:
        name = name.removeprefix(prefix)
    return name.strip()
