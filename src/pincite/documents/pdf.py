"""A PDF → its text, with the page of every character; read in a process of its own.

Decision hidden here: how the worker is started, bounded and understood. Whatever happens to it, the
caller gets a result in `Limits.pdf_seconds`.
"""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from pincite.core.page_numbers import LABELS, PAGES
from pincite.documents.body import Body, Limits
from pincite.documents.clean import one_line
from pincite.documents.language import language_of
from pincite.documents.pdf_layout import Line, running_text
from pincite.types import Document, Reason, Unchecked

# What word processors write into the title field when nobody does.
_NO_TITLE = re.compile(
    r"microsoft (word|powerpoint)\b|untitled|.*\.(docx?|indd|qxd|pdf|tex|dvi|rtf|odt)$|\W*$",
    re.IGNORECASE,
)


def read_pdf(body: Body) -> Document | Unchecked:
    """The text of a PDF, or why it cannot be had."""
    found = _from_worker(body)
    if isinstance(found, Unchecked):
        return found
    if "error" in found:
        return _refusal(body, found)
    text, starts = running_text([[Line(*line) for line in page] for page in found["pages"]])
    if not text:
        return Unchecked(body.url, Reason.EMPTY, f"no text layer in {len(starts)} pages: a scan?")
    return Document(
        url=body.url,
        title=_title(found["info"]),
        text=text,
        kind="pdf",
        fetched=body.fetched,
        language=language_of(text),
        meta={PAGES: json.dumps(starts), **_labels(found["labels"]), **_meta(found["info"])},
    )


def _from_worker(body: Body) -> dict[str, Any] | Unchecked:
    """What the worker says, or why it says nothing."""
    limits = body.limits
    # -P: no module of the current folder may stand in for one of ours.
    command = [sys.executable, "-P", "-m", "pincite.documents.pdf_worker", _allowed(limits)]
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and module
            command, input=body.data, capture_output=True, timeout=limits.pdf_seconds, check=False
        )
    except subprocess.TimeoutExpired:
        detail = f"the PDF was not read in {limits.pdf_seconds:g} s"
        return Unchecked(body.url, Reason.TIMED_OUT, detail)
    if done.returncode == 0:
        found: dict[str, Any] = json.loads(done.stdout)
        return found
    last_words = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    code = done.returncode
    how = signal.Signals(-code).name if code < 0 else f"status {code}"
    detail = f"the PDF reader ended with {how}: {''.join(last_words)}"
    return Unchecked(body.url, Reason.UNDECODABLE, detail.rstrip(": "))


def _allowed(limits: Limits) -> str:
    return json.dumps(
        {
            "pages": limits.pdf_pages,
            "chars": limits.max_chars,
            "memory": limits.pdf_memory,
            "seconds": limits.pdf_seconds,
        }
    )


def _refusal(body: Body, found: Mapping[str, Any]) -> Unchecked:
    limits, error = body.limits, found["error"]
    if error == "pages":
        detail = f"the PDF has {found['n_pages']} pages, the limit is {limits.pdf_pages}"
        return Unchecked(body.url, Reason.TOO_LARGE, detail)
    if error == "chars":
        detail = f"the PDF has more than {limits.max_chars} characters of text"
        return Unchecked(body.url, Reason.TOO_LARGE, detail)
    if error == "memory":
        detail = f"reading the PDF took more than {limits.pdf_memory / 1e9:g} GB of memory"
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
