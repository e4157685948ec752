"""Messages as data: a code with values, worded when displayed.

A report holds notes together with their English text, whose wordings are in `notes.toml`. To show
one in another language, translate its wording and fill in the values; no code parses the resulting
sentences.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

Value: TypeAlias = str | int | tuple[str, ...]  # a tuple of words is quoted one by one
QUOTED = "“%(words)s”"
AS_WRITTEN = "as_written"  # for a text that has no code
ENGLISH: Mapping[str, str] = {
    AS_WRITTEN: "%(text)s",
    **tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")),
}


@dataclass(frozen=True, slots=True)
class Language:
    """The translations into a language: of plain texts, and of plural forms (one, many, count)."""

    say: Callable[[str], str]
    plural: Callable[[str, str, int], str]


IN_ENGLISH = Language(str, lambda singular, plural, n: singular if n == 1 else plural)


@dataclass(frozen=True, slots=True)
class Note:
    """A message for a person."""

    code: str
    values: Mapping[str, Value] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return phrase(self)


def phrase(note: Note, say: Callable[[str], str] = str) -> str:
    """Word the note; `say` may translate its template from `ENGLISH`."""

    def text_of(value: Value) -> str:
        if isinstance(value, tuple):
            return ", ".join(say(QUOTED) % {"words": words} for words in value)
        return str(value)

    values = {name: text_of(value) for name, value in note.values.items()}
    try:
        wording = ENGLISH[note.code]
        return (wording if note.code == AS_WRITTEN else say(wording)) % values
    except KeyError:  # from another version's report, or a value is missing
        return ": ".join([note.code, *values.values()])


def texts(notes: Iterable[Note]) -> tuple[str, ...]:
    return tuple(map(str, notes))


def as_written(*written: str) -> tuple[Note, ...]:
    """Wrap texts that have no code; empty ones are dropped."""
    return tuple(Note(AS_WRITTEN, {"text": text}) for text in written if text)
