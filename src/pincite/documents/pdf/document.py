"""A PDF → its text, with the page of every character; what pdfium finds becomes a document."""

import json
import re
from collections.abc import Mapping
from typing import Any

from pincite.documents.body import Body
from pincite.documents.clean import one_line
from pincite.documents.pdf import worker
from pincite.documents.pdf.layout import Line, in_columns, running_text
from pincite.text.page_numbers import LABELS, PAGES
from pincite.types import Document, Reason, Unchecked

# What word processors write into the title field when nobody does.
_NO_TITLE = re.compile(
    r"microsoft (word|powerpoint)\b|untitled|.*\.(docx?|indd|qxd|pdf|tex|dvi|rtf|odt)$|\W*$",
    re.IGNORECASE,
)


def read_pdf(body: Body) -> Document | Unchecked:
    """The text of a PDF, or why it cannot be had."""
    found = worker.read(body.data, body.limits.pdf_pages, body.limits.max_chars)
    if "error" in found:
        return _refusal(body, found)
    pages = [in_columns([[Line(*p) for p in line] for line in page]) for page in found["pages"]]
    text, starts = running_text(pages)
    if not text:
        return Unchecked(body.url, Reason.EMPTY, f"no text layer in {len(starts)} pages: a scan?")
    return Document(
        url=body.url,
        title=_title(found["info"]),
        text=text,
        kind="pdf",
        fetched=body.fetched,
        meta={PAGES: json.dumps(starts), **_labels(found["labels"]), **_meta(found["info"])},
    )


def _refusal(body: Body, found: Mapping[str, Any]) -> Unchecked:
    limits, error = body.limits, found["error"]
    if error == "pages":
        detail = f"the PDF has {found['n_pages']} pages, the limit is {limits.pdf_pages}"
        return Unchecked(body.url, Reason.TOO_LARGE, detail)
    if error == "chars":
        detail = f"the PDF has more than {limits.max_chars} characters of text"
        return Unchecked(body.url, Reason.TOO_LARGE, detail)
    if error == "password":
        return Unchecked(body.url, Reason.ENCRYPTED, "the PDF asks for a password")
    return Unchecked(body.url, Reason.UNDECODABLE, f"no readable PDF: {found.get('detail', error)}")


def _title(info: Mapping[str, str]) -> str:
    title = one_line(info.get("Title"))
    return "" if _NO_TITLE.match(title) else title


def _labels(labels: list[str]) -> dict[str, str]:
    """What is printed on the pages, as the file says; nothing if it names two pages alike."""
    known = [one_line(label) for label in labels]
    counted = [str(number) for number in range(1, len(known) + 1)]
    says = all(known) and len(set(known)) == len(known) and known != counted
    return {LABELS: json.dumps(known)} if says else {}


def _meta(info: Mapping[str, str]) -> dict[str, str]:
    """Author and day of creation; the day a file was made is not the day a text was published."""
    created = re.match(r"(?:D:)?(\d{4})(\d\d)(\d\d)", info.get("CreationDate") or "")
    fields = {
        "author": one_line(info.get("Author")),
        "created": "-".join(created.groups()) if created else "",
    }
    return {name: value for name, value in fields.items() if value}
