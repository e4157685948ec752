"""What a reader found, narrowed to a document or to a refusal."""

from pincite.types import Document, Unchecked


def document(found: object) -> Document:
    assert isinstance(found, Document), found
    return found


def refusal(found: object) -> Unchecked:
    assert isinstance(found, Unchecked), found
    return found
