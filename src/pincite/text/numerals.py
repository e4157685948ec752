"""Numbers, dates and measures of other languages in English, which a plugin renders.

Without one (pincite-multilingual) only English is read: so is the verifier's network.
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import NamedTuple

from pincite.types import Span

GROUP = "pincite.numerals"  # entry points: a module with `LANGUAGES` and `in_english`


class Rendering(NamedTuple):
    """A text in English, and the place and the certainty of each of its pieces."""

    text: str
    starts: Sequence[int]  # of the pieces, in `text`
    pieces: Sequence[tuple[Span, bool]]  # their place in the original; whether they are unsure

    def original(self, found: Span) -> tuple[Span, bool]:
        """The place in the original of a span of `text`, and whether it is unsure."""
        first, last = (bisect_right(self.starts, at) - 1 for at in (found.start, found.end - 1))
        places, unsure = zip(*self.pieces[first : last + 1], strict=True)
        return Span(places[0].start, places[-1].end), any(unsure)


@cache
def renderer() -> ModuleType | None:
    return next((point.load() for point in entry_points(group=GROUP)), None)


def is_read(language: str | None) -> bool:
    """Whether numbers in a text of this language can be read."""
    plugin = renderer() if language and language != "en" else None
    return language == "en" or (plugin is not None and language in plugin.LANGUAGES)


def in_english(text: str, language: str) -> Rendering:
    """Render a text in English, all other words blanked; empty if its language is not read."""
    plugin = renderer()
    rendering: Rendering = plugin.in_english(text, language) if plugin else Rendering("", (), ())
    return rendering
