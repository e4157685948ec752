"""Full text in JATS and NLM's older DTDs, as PMC, PLOS and other publishers give it away.

One article, or PMC's sets of them, packed or not. The text is the abstract and then the body as a
reader sees it (`jats_body`); references, reviewers' reports and translations in `sub-article` are
left out, so that nothing another article says is taken for this one's.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pincite.documents.body import Body, Limits, unusable
from pincite.documents.clean import cleaned
from pincite.documents.language import code_of
from pincite.documents.xml import records
from pincite.documents.xml.jats_body import blocks, text_blocks
from pincite.documents.xml.jats_front import address, identifiers, meta_of, published, title_of
from pincite.documents.xml.records import Broken, Record, local
from pincite.types import Document, Reason, Unchecked

_NAMES = ("article",)
RECORD = "jats record"  # what `confined.read_here` calls `read_record`
_ROOTS = frozenset({"article", "pmc-articleset", "OAI-PMH"})
# DocBook has articles too; only these have journals.
_JOURNAL = re.compile(rb"//NLM//DTD|\bJATS\b|<(journal-meta|article-meta)[\s>]")
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def is_article(head: bytes) -> bool:
    """Whether a file that begins like this holds articles in JATS."""
    return records.root_of(head) in _ROOTS and bool(_JOURNAL.search(head))


def bodies(path: Path, limits: Limits) -> Iterator[Body | Unchecked]:
    """The records of a file; of a broken one, why there is none."""
    for record in records.records(path, _NAMES, limits):
        where = path.resolve().as_uri()
        if record.number > 1:
            where += f"#{record.number}"
        if record.broken:
            yield _broken(record, where, record.broken)
        else:
            yield Body(where, record.data, limits=limits)


def read_record(body: Body) -> Document | Unchecked:
    """The article in a record of a file, at the address that it states for itself."""
    return _read(Record(1, "article", body.data), body.url, body.limits, stated=True)


def read_jats(body: Body) -> Document | Unchecked:
    """The first article in a body, at the body's own address."""
    for record in records.records_in(body.data, _NAMES, body.limits):
        return _read(record, body.url, body.limits, stated=False)
    return Unchecked(body.url, Reason.UNDECODABLE, "there is no article in it")


def _read(record: Record, where: str, limits: Limits, *, stated: bool) -> Document | Unchecked:
    """The article, at the address that it states for itself if that is wanted."""
    try:
        return _document(records.parsed(record), where, limits, stated=stated)
    except (Broken, RecursionError) as error:
        return _broken(record, where, str(error))


def _broken(record: Record, where: str, why: str) -> Unchecked:
    return Unchecked(where, Reason.TOO_LARGE if record.is_large else Reason.UNDECODABLE, why)


def _document(article: Any, where: str, limits: Limits, *, stated: bool) -> Document | Unchecked:
    parts = {local(child): child for child in article}
    front = parts.get("front")
    ids = identifiers(front)
    url = (address(ids) if stated else "") or where
    abstract = list(_abstracts(front))
    body = [*text_blocks(parts.get("body")), *text_blocks(parts.get("floats-group"))]
    back = list(text_blocks(parts.get("back")))
    text = cleaned("\n\n".join(_without_repeats([*abstract, *body, *back])))
    title = title_of(front)
    if not text and title:
        return Unchecked(url, Reason.TITLE_ONLY, "the article has no text")
    if fault := unusable(text, url, "the article", limits):
        return fault
    meta = {**ids, **meta_of(article, front)}
    meta["coverage"] = "full text" if body else "abstract"
    return Document(
        url=url,
        title=title,
        text=text,
        kind="jats",
        published=published(front),
        language=code_of(article.get(_XML_LANG)) or "en",
        meta={name: value for name, value in meta.items() if value},
    )


def _abstracts(front: Any) -> Iterator[str]:
    """The abstract, then summaries for other readers and in other languages, named as such."""
    if front is None:
        return
    found = [e for e in front.iter() if local(e) in ("abstract", "trans-abstract")]
    for element in sorted(found, key=lambda e: bool(_kind(e)) + 2 * (local(e) != "abstract")):
        inside = list(blocks(element))
        titled = any(local(child) == "title" for child in element)
        if inside and _kind(element) and not titled:
            yield _kind(element)
        yield from inside


def _kind(abstract: Any) -> str:
    """What a reader must know of an abstract that is not the main one."""
    kind = (abstract.get("abstract-type") or "").replace("-", " ")
    if kind in ("toc", "teaser", "web summary", "short"):  # as the table of contents has it
        kind = "summary"
    language = abstract.get(_XML_LANG, "") if local(abstract) == "trans-abstract" else ""
    named = kind.capitalize() or ("Abstract" if language else "")
    return f"{named} ({language})" if language else named


def _without_repeats(parts: list[str]) -> Iterator[str]:
    """The blocks without one that says the same as the one before it."""
    before = ""
    for part in parts:
        if part != before:
            yield part
        before = part
