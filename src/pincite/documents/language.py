"""Which language a text is in: what the page says, unless the words clearly say otherwise.

Templates copied from other sites leave `lang="en"` on German pages, so a confident detection wins.
py3langid's model (140 MB in memory) loads on first use, or in the background where `make_ready`
says that it will be used soon.
"""

import re
from dataclasses import replace
from functools import cache
from threading import Lock, Thread
from typing import Any

from pincite.text.sentences import n_words
from pincite.types import Document, Unchecked

MIN_WORDS = 20  # below, names and numbers decide
# py3langid's normalised probability. Of 4,175 English abstracts and answers (SciFact, MedQuAD) 998
# in 1,000 reach it with their first 400 characters, none is taken for another language; of 518 cut
# to 20 words, 98 % reach it.
MIN_PROB = 0.8
DETECTION_CHARS = 400  # about 65 words, 0.1 ms; the whole of a long text would take 10
_NOT_LANGUAGES = frozenset({"zxx", "und", "mul"})
_LOADING = Lock()
_CODE = re.compile(r"([a-zA-Z]{2})(?:[-_]|$)")


def language_of(text: str, declared: str | None = None) -> str | None:
    """ISO 639-1 code of `text`: detected if that is confident, else as `declared`, else `None`."""
    return detect(text) or code_of(declared)


def with_language(found: Document | Unchecked) -> Document | Unchecked:
    """A document as its reader declared its language, with the one that its words are in.

    Readers in a process of their own leave this to ours: the model is held once. What the front
    matter of a Markdown file says was written by hand, and stands.
    """
    if isinstance(found, Unchecked) or (found.kind == "markdown" and found.language):
        return found
    return replace(found, language=language_of(found.text, found.language))


def detect(text: str) -> str | None:
    """ISO 639-1 code, or `None` for texts that are too short or not clearly one language."""
    sample = text[:DETECTION_CHARS]
    if n_words(sample) < MIN_WORDS:
        return None
    code, prob = _identifier().classify(sample)
    return str(code) if prob >= MIN_PROB and code not in _NOT_LANGUAGES else None


def code_of(declared: str | None) -> str | None:
    """The two-letter code that a `lang` attribute or a field begins with.

    >>> code_of("pt-BR"), code_of("EN"), code_of("english"), code_of(None)
    ('pt', 'en', None, None)
    """
    match = _CODE.match((declared or "").strip())
    return match[1].lower() if match else None


def make_ready() -> None:
    """Load the model in a thread of its own: most of its 0.7 seconds are unpacking, off the GIL."""
    Thread(target=_identifier, name="pincite-language", daemon=True).start()


def _identifier() -> Any:
    with _LOADING:  # whoever needs it meanwhile waits, and loads nothing twice
        return _loaded()


@cache
def _loaded() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
