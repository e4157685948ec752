"""Reads web pages that a browser saved as one file (MHTML: .mhtml, .mht)."""

import contextlib
import re
from dataclasses import replace
from email import message_from_bytes
from email.utils import parsedate_to_datetime

from pincite.documents.body import Body
from pincite.documents.html import read_html
from pincite.types import Document, Reason, Unchecked

_LOCATION = re.compile(
    rb"^(?:snapshot-)?content-location:\s*(https?://[!-~]+)", re.IGNORECASE | re.MULTILINE
)


def read_mhtml(body: Body) -> Document | Unchecked:
    """Read the page itself, not its frames; the date of saving is when it was fetched."""
    message = message_from_bytes(body.data)
    page = next((part for part in message.walk() if part.get_content_type() == "text/html"), None)
    data = page.get_payload(decode=True) if page is not None else None
    if page is None or not isinstance(data, bytes):
        return Unchecked(body.url, Reason.UNDECODABLE, "no web page in the MHTML file")
    fetched = body.fetched
    with contextlib.suppress(ValueError):
        fetched = fetched or parsedate_to_datetime(str(message["Date"])).date().isoformat()
    content_type = f"text/html; charset={page.get_content_charset('')}"
    return read_html(replace(body, data=data, content_type=content_type, fetched=fetched))


def address_in(head: bytes) -> str:
    """The address that the file states: of the snapshot (Chrome), or of its first part."""
    found = _LOCATION.search(head)
    return found[1].decode("ascii", "replace") if found else ""
