"""The languages of the pages: English in the code, translations in `locale/`.

`tools/make_locale.py` compiles them.
"""

import gettext
import re
from functools import cache
from pathlib import Path

from fastapi import Request

from pincite_server import plugins

LOCALE = Path(__file__).parent / "locale"
LANGUAGES = {"en": "English", "de": "Deutsch"}  # in their own languages
LANGUAGE = "pincite_language"


@cache
def translations(language: str) -> gettext.NullTranslations:
    if language == "en":
        return gettext.NullTranslations()
    texts = gettext.translation("pincite", LOCALE, [language])
    for folder in plugins.folders("locale"):
        texts.add_fallback(gettext.translation("pincite", folder, [language], fallback=True))
    return texts


def language_of(request: Request) -> str:
    """The language that the visitor chose, else the browser's first that we support."""
    accepted = request.headers.get("accept-language", "").lower().split(",")
    codes = [re.split("[-;]", each.strip())[0] for each in accepted]
    chosen = request.cookies.get(LANGUAGE, "")
    return next((each for each in (chosen, *codes) if each in LANGUAGES), "en")
