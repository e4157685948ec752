"""Translations: they are complete, and notes of reports keep their values in German."""

import re
from pathlib import Path

import pytest
from starlette.requests import Request

import make_locale
from pincite import notes
from pincite.notes import ENGLISH, Note, as_written
from pincite_server.languages import LANGUAGES, language_of, translations

GERMAN = translations("de").gettext
VALUES = ["31", "p. 12", "<b>%(x)s</b> 50 %", "a; b", "line\nbreak", "{n} \\1", "\ud800"]
OTHERS = [name for name in LANGUAGES if name != "en"]
CODES = sorted(set(ENGLISH) - {notes.AS_WRITTEN})


def german(note: Note) -> str:
    return notes.phrase(note, GERMAN)


def places(template: str) -> set[str]:
    return set(re.findall(r"%\((\w+)\)s", template))


@pytest.mark.parametrize("code", CODES)
def test_each_code_has_german_words_for_the_same_values(code: str) -> None:
    english, translated = ENGLISH[code], GERMAN(ENGLISH[code])
    assert places(translated) == places(english)
    only_values = "%(file)s: %(problem)s"
    assert (translated != english) == (english != only_values)
    for value in VALUES:
        values = {name: f"{value}{n}" for n, name in enumerate(sorted(places(english)))}
        for say in (str, GERMAN):
            words = notes.phrase(Note(code, values), say)
            assert all(each in words for each in values.values()), words


def test_several_words_are_quoted_as_the_language_quotes() -> None:
    note = Note("not_stated", {"words": ("1913", "May")})
    assert str(note) == "the passage does not state “1913”, “May”"
    assert german(note).endswith(": „1913“, „May“")


def test_a_text_without_a_code_stays_as_it_is() -> None:
    for text in ("%(x)s", "no document is relevant enough to the question", "\ud800"):
        (note,) = as_written(text)
        assert german(note) == str(note) == text


@pytest.mark.parametrize("folder", [make_locale.SERVER, *make_locale.PLUGINS])
@pytest.mark.parametrize("language", OTHERS)
def test_everything_is_translated(language: str, folder: Path) -> None:
    catalog = make_locale.translated(language, folder)
    assert not make_locale.untranslated(catalog)
    # `make locale` would write the same files again.
    path = make_locale.file_of(language, folder)
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
    def asked(**headers: str) -> str:
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        return language_of(Request({"type": "http", "headers": raw}))

    assert asked() == "en"
    assert asked(**{"accept-language": "fr, de-AT;q=0.8, en;q=0.5"}) == "de"
    assert asked(**{"accept-language": "en-GB, de"}) == "en"
    assert asked(**{"accept-language": "de", "cookie": "pincite_language=en"}) == "en"
    assert asked(**{"accept-language": "fr;q=x, ;;, *", "cookie": "pincite_language=xx"}) == "en"
