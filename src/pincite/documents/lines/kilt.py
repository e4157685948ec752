"""KILT's knowledge source: English Wikipedia of August 2019, one JSON object with a page a line.

`{"wikipedia_id": …, "wikipedia_title": …, "text": [paragraph, …], "history": {"url": …}, …}`. The
first paragraph is the title; headings are written "Section::::History.:Early life.", items of lists
"BULLET::::- …". A heading becomes a paragraph with its own words, an item a line. The address is
that of the revision (`history.url`), else `https://en.wikipedia.org/?curid=` and the page's id.

Source: Petroni et al. 2021, KILT, and the README of facebookresearch/KILT.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeGuard

from pincite.documents.body import DEFAULT_LIMITS, Limits, unusable
from pincite.documents.clean import cleaned, one_line
from pincite.documents.language import language_of
from pincite.documents.lines import jsonl
from pincite.types import Document, Reason, Unchecked

_HEADING, _ITEM = "Section::::", "BULLET::::"
_BETWEEN_HEADINGS = re.compile(r"\.:|::+")


def documents(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Document | Unchecked]:
    """A page a line, or what is wrong with the line."""
    return of_lines(jsonl.lines(path, limits), path, limits)


def of_lines(
    lines: Iterable[jsonl.Line], path: Path, limits: Limits
) -> Iterator[Document | Unchecked]:
    """What `documents` gives, of these lines alone."""
    for line in lines:
        record = jsonl.record_of(line, path, limits)
        if isinstance(record, Unchecked):
            yield record
        else:
            yield _page(record, jsonl.place(line, path), limits)


def url_of(record: Mapping[str, Any]) -> str:
    """The address of a page; empty if it has none."""
    return _url(record, _revision(record))


def is_page(record: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a page of KILT."""
    return "wikipedia_title" in record and isinstance(record.get("text"), list)


def _page(record: Mapping[str, Any], where: str, limits: Limits) -> Document | Unchecked:
    title = one_line(jsonl.field_of(record, "wikipedia_title"))
    revision = _revision(record)
    url, paragraphs = _url(record, revision), record.get("text")
    if not url or not _are_paragraphs(paragraphs):
        missing = "text, a list of paragraphs" if url else "wikipedia_id or history.url"
        return Unchecked(url or where, Reason.UNDECODABLE, f"{where}: no {missing}")
    text = text_of(paragraphs, title)
    if fault := unusable(text, url, where, limits):
        return fault
    known = ((name, jsonl.field_of(record, name)) for name in ("wikipedia_id", "categories"))
    return Document(
        url=url,
        title=title,
        text=text,
        kind="jsonl",
        fetched=jsonl.field_of(revision, "timestamp"),
        language=language_of(text, "en"),
        meta={name: one_line(value) for name, value in known if value},
    )


def _revision(record: Mapping[str, Any]) -> Mapping[str, Any]:
    return record["history"] if isinstance(record.get("history"), dict) else {}


def _url(record: Mapping[str, Any], revision: Mapping[str, Any]) -> str:
    page_id = jsonl.field_of(record, "wikipedia_id")
    by_id = f"https://en.wikipedia.org/?curid={page_id}" if page_id else ""
    return one_line(jsonl.field_of(revision, "url") or by_id)


def _are_paragraphs(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(paragraph, str) for paragraph in value)


def text_of(paragraphs: Sequence[str], title: str) -> str:
    r"""The paragraphs as one text, without KILT's marks and without the title at the top.

    >>> text_of(["Varde", "A town.", "Section::::History.:Bridges.", "BULLET::::- Old"], "Varde")
    'A town.\n\nBridges\n\n- Old'
    """
    lines = [one_line(paragraph) for paragraph in paragraphs]
    if lines and lines[0] == title:
        del lines[0]
    lines = [line for line in lines if line.removeprefix(_ITEM)]
    within = (a.startswith(_ITEM) and b.startswith(_ITEM) for a, b in pairwise(lines))
    gaps = ["", *("\n" if both else "\n\n" for both in within)]
    return cleaned("".join(gap + _unmarked(line) for gap, line in zip(gaps, lines, strict=False)))


def _unmarked(line: str) -> str:
    if line.startswith(_HEADING):
        headings = _BETWEEN_HEADINGS.split(line.removeprefix(_HEADING))
        return next((h for h in reversed(headings) if h.strip()), "").removesuffix(".")
    return line.removeprefix(_ITEM)
