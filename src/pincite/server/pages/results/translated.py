"""Sentences of reports, said again in the language of whoever reads.

A report is written once, in English, and may be older than this program. What it says beside its
tables are sentences with words and figures of an article in them. Those that a template of today
would have given are known by it, and said again by the template's translation; all else stays.
"""

import re
from collections.abc import Callable
from functools import cache

from pincite.models import verifier
from pincite.verbs.ask import answer_check, pipeline, repair
from pincite.verbs.ask import build as build_ask
from pincite.verbs.ask import wording as ask_wording
from pincite.verbs.check import build as build_check
from pincite.verbs.verify import build, wording

SENTENCES: tuple[str, ...] = tuple(
    dict.fromkeys(
        (
            *verifier.SENTENCES,
            *pipeline.SENTENCES,
            *answer_check.SENTENCES,
            *repair.SENTENCES,
            *ask_wording.SENTENCES,
            *wording.SENTENCES,
            *build_ask.SENTENCES,
            *build_check.SENTENCES,
            build.UNDATED,
        )
    )
)
MOST = 2_000  # characters: a sentence is shorter, and finding its values takes the square of them
_PLACE = re.compile(r"(“?)%\((\w+)\)s")


def said(text: str, translate: Callable[[str], str]) -> str:
    """The sentence, or several with semicolons between them; empty if it is not known.

    >>> said("source: 9 · claim: 8", lambda known: "%(claim)s – %(source)s")
    '8 – 9'
    >>> said("something else", lambda known: known)
    ''
    """
    found = _one(text, translate)
    if not found and "; " in text:
        parts = [_one(part, translate) for part in text.split("; ")]
        found = "; ".join(parts) if all(parts) else ""
    return found


def _one(text: str, translate: Callable[[str], str]) -> str:
    for pattern, template in _patterns() if len(text) <= MOST else ():
        if match := pattern.fullmatch(text):
            return translate(template) % match.groupdict()
    return ""


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Those with most words of their own first: “p. 3 of the file” is no page “3 of the file”."""
    ordered = sorted(SENTENCES, key=lambda template: -len(_PLACE.sub("", template)))
    return tuple((_pattern(template), template) for template in ordered)


def _pattern(template: str) -> re.Pattern[str]:
    """A value in quotes has none of these quotes in it: else two values would be one."""
    pieces, end = [], 0
    for place in _PLACE.finditer(template):
        value = "[^“”]+" if place[1] else ".+"
        pieces += [re.escape(template[end : place.start(2) - 2]), f"(?P<{place[2]}>{value})"]
        end = place.end()
    return re.compile("".join((*pieces, re.escape(template[end:]))), re.DOTALL)
