"""The translations are complete, and what the program reads is what the translators wrote."""

import re

import pytest

import make_locale
from pincite_server.languages import LANGUAGES, language_of

OTHERS = [name for name in LANGUAGES if name != "en"]


@pytest.mark.parametrize("language", OTHERS)
def test_everything_is_translated(language: str) -> None:
    catalog = make_locale.translated(language)
    assert not make_locale.untranslated(catalog)
    # `make locale` would write the same files again.
    path = make_locale.file_of(language)
    assert path.read_bytes() == make_locale.as_po(catalog)
    assert path.with_suffix(".mo").read_bytes() == make_locale.as_mo(catalog)


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_same_places_and_no_markup(language: str) -> None:
    place = re.compile(r"%\(\w+\)[sd]|%%")
    for message in make_locale.translated(language):
        if not message.id:
            continue
        texts = [message.string] if isinstance(message.string, str) else [*(message.string or [])]
        wanted = message.id if isinstance(message.id, str) else message.id[-1]
        for text in texts:
            assert sorted(place.findall(text)) == sorted(place.findall(wanted)), text
            assert "<" not in text  # a page would take it for markup
            assert "<" not in wanted


def test_the_language_is_the_chosen_or_the_browsers() -> None:
    from starlette.requests import Request

    def asked(**headers: str) -> str:
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        return language_of(Request({"type": "http", "headers": raw}))

    assert asked() == "en"
    assert asked(**{"accept-language": "fr, de-AT;q=0.8, en;q=0.5"}) == "de"
    assert asked(**{"accept-language": "en-GB, de"}) == "en"
    assert asked(**{"accept-language": "de", "cookie": "pincite_language=en"}) == "en"
    assert asked(**{"accept-language": "fr;q=x, ;;, *", "cookie": "pincite_language=xx"}) == "en"
