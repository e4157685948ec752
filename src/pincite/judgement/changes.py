"""Did a source change since it was cited? Two copies of it, compared by what they support."""

from pincite.text.sentences import sentences
from pincite.types import Label

_ORDER = (Label.SUPPORTED, Label.PARTLY_SUPPORTED)  # all else supports nothing


def bears_more(label: Label, other: Label) -> bool:
    """Whether a copy with `label` bears more of the claim out than one with `other`.

    >>> bears_more(Label.SUPPORTED, Label.PARTLY_SUPPORTED)
    True
    >>> bears_more(Label.NOT_SUPPORTED, Label.REFUTED)
    False
    """
    return _rank(label) < _rank(other)


def still_stands(passage: str, text: str) -> bool:
    r"""Whether every sentence of a passage stands in a text, line breaks aside.

    A page that still holds them has not lost what bore the claim out, whatever else moved on it.

    >>> still_stands("It opened in 1911.", "News. It opened\nin 1911. More.")
    True
    >>> still_stands("It opened in 1911.", "It opened in 1913.")
    False
    """
    whole = _one_line(text)
    return all(_one_line(span.of(passage)) in whole for span in sentences(passage))


def _rank(label: Label) -> int:
    return _ORDER.index(label) if label in _ORDER else len(_ORDER)


def _one_line(text: str) -> str:
    return " ".join(text.split())
