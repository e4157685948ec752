"""Renders numbers, dates and measures of ten languages in English, which `quantities` reads.

"3,5 Millionen", "12 мая 2019 года" and "约三百万人" become "3.5 million", "12 May 2019" and "about
3 million". All other words are blanked, so that none is taken for an English one. Words that may
mean something else are unsure: in a source they may state a value, in a claim they are none.
"""

from functools import lru_cache

from pincite.text.figures import Piece, Rendering, fold
from pincite.types import Span
from pincite_multilingual import cjk, european
from pincite_multilingual.words import CJK, LANGUAGES, Meaning, mask_letters, words_of

__all__ = ["LANGUAGES", "in_english"]


@lru_cache(maxsize=4096)  # a claim meets hundreds of passages, a passage many claims
def in_english(text: str, language: str) -> Rendering:
    """Render a text in one of `LANGUAGES`; empty for any other language.

    >>> in_english("Im März 2019 waren es 3,5 Millionen.", "de").text
    'qq March 2019 qqqqq qq 3.5 million.'
    """
    if language not in LANGUAGES:
        return Rendering("")
    words, is_cjk = words_of(language), language in CJK
    meaning_of = cjk.meaning if is_cjk else european.meaning
    rendered, pieces = "", list[Piece]()
    for match in words.pattern.finditer(fold(text)):
        meaning = meaning_of(match, words)
        english, is_unsure = meaning or Meaning(mask_letters(match[0]))
        if meaning and is_cjk:  # no spaces separate words there
            english = f"{english} " if rendered.endswith(" ") else f" {english} "
        pieces.append(Piece(len(rendered), Span(*match.span()), is_unsure))
        rendered += english
    return Rendering(rendered, pieces)
