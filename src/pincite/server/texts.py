"""Texts of documents as a database and JSON take them."""


def whole(text: str) -> str:
    r"""The text with a "?" for what UTF-8 cannot write and databases refuse.

    >>> whole("tex\ud83d\0t")
    'tex??t'
    """
    return text.encode("utf-8", "replace").decode().replace("\0", "?")
