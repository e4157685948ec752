"""The translations are complete, and what the program reads is what the translators wrote."""

import re
from functools import partial

import ask_samples
import pytest
from check_samples import check_report

import make_locale
from pincite.notes import Language
from pincite.verbs.ask import render
from pincite.verbs.check import wording as check_wording
from pincite_server.rendering import LANGUAGES, language_of, translations

ENGLISH, GERMAN = (
    Language(texts.gettext, texts.ngettext) for texts in map(translations, ("en", "de"))
)
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


# ── Words ────────────────────────────────────────────────────────────────────────────────────────


def test_a_check_is_worded_in_each_language() -> None:
    for result in check_report().checks[0].results:
        for words in (
            partial(check_wording.sentence, result.weight, result.items, result.reading.kind),
            partial(check_wording.warning, result.weight, result.items),
        ):
            assert "%(" not in words()
            assert words(ENGLISH) == words()
            assert words(GERMAN) != words() or not words()
    assert check_wording.legend(0.2, GERMAN) != check_wording.legend(0.2)


def test_an_answer_is_worded_in_each_language() -> None:
    answers = ask_samples.everything().answers
    english, german = (render.views(answers, words) for words in (ENGLISH, GERMAN))
    assert render.views(answers) == english
    for one, other in zip(english, german, strict=True):
        for name in ("counts", "sentences"):
            assert one[name] != other[name] or not one[name]
        assert one["by"] != other["by"] or not one["by"]
