"""Notes of reports on a German page: which have German words, and what becomes of their values."""

import re

import pytest

from pincite import notes
from pincite.notes import ENGLISH, Note, as_written
from pincite_server.languages import translations

GERMAN = translations("de").gettext
VALUES = ["31", "p. 12", "<b>%(x)s</b> 50 %", "a; b", "line\nbreak", "{n} \\1", "\ud800"]
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


# ── Pages ────────────────────────────────────────────────────────────────────────────────────────
