"""The languages that the pages speak, and which of them somebody reads.

English is what the code says; the others lie in `locale/`, made by `tools/make_locale.py`.
"""

import gettext
from functools import cache
from pathlib import Path

from fastapi import Request

FOLDER = Path(__file__).parents[1] / "locale"
LANGUAGES = {"en": "English", "de": "Deutsch"}  # each in its own words
COOKIE = "pincite_language"


@cache
def translations(language: str) -> gettext.NullTranslations:
    """The texts of a language."""
    if language == "en":
        return gettext.NullTranslations()
    return gettext.translation("pincite", FOLDER, [language])


def language_of(request: Request) -> str:
    """What somebody chose, else the first that their browser asks for and that we have."""
    chosen = request.cookies.get(COOKIE, "")
    if chosen in LANGUAGES:
        return chosen
    wanted = []
    for part in request.headers.get("accept-language", "")[:500].split(","):
        name, _, weight = part.strip().partition(";")
        wanted.append((-_weight(weight), name.partition("-")[0].lower()))
    known = [each for each in wanted if each[0] < 0 and each[1] in LANGUAGES]
    return min(known, key=lambda each: each[0])[1] if known else "en"


def _weight(text: str) -> float:
    try:
        return float(text.strip().removeprefix("q=") or 1)
    except ValueError:
        return 0.0
