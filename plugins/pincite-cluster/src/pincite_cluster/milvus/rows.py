"""How documents and passages stand in Milvus's rows, and filters as expressions over them.

A document's row has a key made of its address and holds its *version*: a hash of all that it says.
A passage's key is made of both and its span, so the search gives all that ranking needs. A passage
counts only while the row of its document has its version: that row is written last and deleted
first, so what a kill leaves behind is never found.

What filters ask is hashed into whole numbers (*facets*): no text of a user or a page ever stands in
an expression. An expression lets through all that a filter accepts, and for comparisons of texts
(`<`, `>`) some more; the filter itself then decides about what was found.
"""

import base64
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b, sha256
from typing import Any, NamedTuple

from pincite.corpus.lexical import words_of
from pincite.corpus.store import content_hash, raw
from pincite.errors import CorpusError
from pincite.protocols import Floats
from pincite.retrieval.filters import Condition, Facts, Filters, fields_of, forms_of, number_of
from pincite.text.hosts import host_of
from pincite.text.languages import identify
from pincite.text.page_numbers import confidence_in
from pincite.types import Document, Passage, Span, about
from pincite_cluster.milvus.client import MAX_BYTES, MAX_FACETS

BLOCK_CHARACTERS = 10_000  # of text in a row: at most 54,000 bytes, however badly it compresses
KEY_DIGITS = 24  # 96 bits: of a billion addresses no two are taken for one
ELSEWHERE = "\0"  # stands for a passage's text that a row cannot hold: it is in the document
HEADS = "n_blocks >= 0"  # which rows are documents, and not further blocks of their texts
_TOO_MANY = 1  # the one facet of a document that has too many: no expression leaves it out
_FIELDS = ("version", "facts", "n_blocks", "n_passages")


class Head(NamedTuple):
    """A document without its text."""

    key: str
    version: str
    doc_id: str
    facts: Facts
    fetched: str | None
    n_blocks: int
    n_passages: int

    @property
    def about(self) -> str:
        return about(self.facts.title, self.facts.published, self.facts.meta)

    @property
    def blocks(self) -> list[str]:
        """The keys of the rows with its text behind the first block."""
        return block_keys(self.key, self.version, self.n_blocks)


class Found(NamedTuple):
    """A passage without its text."""

    key: str
    span: Span
    head: Head

    @property
    def doc_id(self) -> str:
        return self.head.doc_id

    @property
    def passage_id(self) -> str:
        return f"{self.head.doc_id}:{self.span.start}-{self.span.end}"

    def with_text(self, text: str) -> Passage:
        head = self.head
        known = head.doc_id, head.facts.url, head.facts.title, text, self.span, head.about
        language = identify(text, head.facts.language)
        recognised = confidence_in(head.facts.meta, self.span)
        return Passage(*known, language=language, recognised=recognised)


def key_of(url: str) -> str:
    return sha256(raw(url)).hexdigest()[:KEY_DIGITS]


def passage_key(key: str, version: str, span: Span) -> str:
    return f"{key}.{version}.{span.start}-{span.end}"


def parts_of(passage: str) -> tuple[str, str, Span]:
    """What a passage's key was made of."""
    key, version, span = passage.split(".")
    start, end = span.split("-")
    return key, version, Span(int(start), int(end))


def block_keys(key: str, version: str, n_blocks: int) -> list[str]:
    """The keys of the rows with a document's text behind its first block."""
    return [f"{key}.{version}.{n}" for n in range(1, n_blocks)]


def document_rows(document: Document, n_passages: int) -> list[dict[str, Any]]:
    """The rows of a document; the first, which makes the others count, is written last.

    Raises:
        CorpusError: what is known of it besides its text is longer than a row.
    """
    key, version = key_of(document.url), content_hash(document)
    facts = [document.doc_id, document.url, document.title, document.kind, document.published]
    facts += [document.fetched, document.language, dict(document.meta)]  # type: ignore[list-item]
    stated = _packed(json.dumps(facts))
    if len(stated) > MAX_BYTES:
        raise CorpusError(
            f"{document.url}: its title and metadata are longer than the {MAX_BYTES} bytes that "
            "Milvus keeps, packed. Nothing of this batch was kept."
        )
    size, text = BLOCK_CHARACTERS, document.text
    blocks = [_packed(text[at : at + size]) for at in range(0, len(text), size)] or [_packed("")]
    rest = {"version": version, "n_passages": n_passages, "unused": [1.0, 0.0]}
    head = {"id": key, "facts": stated, "text": blocks[0], "n_blocks": len(blocks), **rest}
    further = zip(block_keys(key, version, len(blocks)), blocks[1:], strict=True)
    others = [{"id": k, "facts": "", "text": b, "n_blocks": -1, **rest} for k, b in further]
    return [head, *others]


def head_of(row: Mapping[str, Any]) -> Head:
    """A document from its row, read with `head_fields`."""
    doc_id, *fields, fetched, language, meta = json.loads(_unpacked(row["facts"]))
    url, title, kind, published = fields
    facts = Facts(url, title, kind, published, language, meta)
    return Head(
        row["id"], row["version"], doc_id, facts, fetched, row["n_blocks"], row["n_passages"]
    )


def head_fields() -> list[str]:
    return ["id", *_FIELDS]


def document_of(head: Head, blocks: Sequence[str]) -> Document:
    """The document, of all its rows' texts in order."""
    facts = head.facts
    known = facts.kind, facts.published, head.fetched, facts.language, facts.meta
    return Document(facts.url, facts.title, "".join(map(_unpacked, blocks)), *known)


def passage_rows(
    document: Document, cut: Sequence[Passage], vectors: Floats | None
) -> Iterator[dict[str, Any]]:
    key, version = key_of(document.url), content_hash(document)
    facts = Facts.of(document)
    first_day, last_day = days_of(document.published)
    shared = {
        "document": key,
        "title": _words(document.title, identify(document.title, document.language)),
        "facets": facets_of(facts),
        "first_day": first_day,
        "last_day": last_day,
        "numbers": _numbers(facts),
    }
    for n, passage in enumerate(cut):
        own = {"text": _text(passage.text), "words": _words(passage.text, passage.language)}
        vector = {"vector": vectors[n].tolist()} if vectors is not None else {}
        yield {"id": passage_key(key, version, passage.span), **own, **shared, **vector}


def _words(text: str, language: str | None) -> str:
    """The words by which a text is found, as the embedded engine has them, with blanks between."""
    joined = " ".join(words_of(text, language)).encode("utf-8")
    return joined[:MAX_BYTES].decode("utf-8", "ignore")


def _text(text: str) -> str:
    try:
        fits = len(text.encode("utf-8")) <= MAX_BYTES and not text.startswith(ELSEWHERE)
    except UnicodeEncodeError:  # half a surrogate pair
        fits = False
    return text if fits else ELSEWHERE


def _packed(text: str) -> str:
    return base64.b64encode(zlib.compress(raw(text), 6)).decode("ascii")


def _unpacked(data: str) -> str:
    return zlib.decompress(base64.b64decode(data)).decode("utf-8", "surrogatepass")


# ── Filters ──────────────────────────────────────────────────────────────────────────────────────


def facets_of(facts: Facts) -> list[int]:
    """All that a filter may ask for by equality, as numbers, each once."""
    labels = host_of(facts.url).split(".")
    found = [_facet("host", ".".join(labels[i:])) for i in range(len(labels))]
    found.append(_facet("kind", facts.kind.lower()))
    found.append(_facet("language", (facts.language or "").split("-")[0].lower()))
    for field, value in fields_of(facts):
        found += [_facet("has", field), *([_facet("text", field)] * (_finite(value) is None))]
        found += [_facet("value", field, _form(form)) for form in forms_of(field, value)]
    distinct = list(dict.fromkeys(found))
    return distinct if len(distinct) <= MAX_FACETS else [_TOO_MANY]


def days_of(published: str | None) -> tuple[int, int]:
    """The first and the last day that a date may mean, as 20190514; -1 where it is not known.

    >>> days_of("2019-05")
    (20190500, 20190599)
    """
    date = Filters.date_in(published)
    if not date:
        return -1, -1
    digits = date.replace("-", "")
    return int(digits.ljust(8, "0")), int(digits.ljust(8, "9"))


def expression(filters: Filters) -> str:
    """What Milvus is to leave out before it ranks; empty where nothing is asked."""
    asked = [
        _any("kind", filters.kinds),
        _any("language", filters.languages),
        _any("host", filters.domains),
        f"not {_any('host', filters.not_domains)}" if filters.not_domains else "",
        _in_time(filters),
        *map(_condition, filters.where),
    ]
    if not any(asked):
        return ""
    all_of = " and ".join(f"({one})" for one in asked if one)
    return f"({all_of}) or array_contains(facets, {_TOO_MANY})"


def _any(what: str, values: Sequence[str]) -> str:
    return _contains([_facet(what, value) for value in values]) if values else ""


def _contains(facets: Sequence[int]) -> str:
    return f"array_contains_any(facets, {sorted(set(facets))})"


def _in_time(filters: Filters) -> str:
    bounds = []
    if filters.published_from:
        bounds.append(f"last_day >= {days_of(filters.published_from)[0]}")
    if filters.published_to:
        bounds.append(f"(first_day >= 0 and first_day <= {days_of(filters.published_to)[1]})")
    joined = " and ".join(bounds)
    return f"({joined}) or first_day == -1" if bounds and filters.undated else joined


def _condition(asked: Condition) -> str:
    """All documents that meet a condition, and perhaps more."""
    values = [_facet("value", asked.field, _form(value)) for value in asked.values]
    if asked.comparison in ("==", "in"):
        return _contains(values)
    if asked.comparison in ("!=", "not in"):
        return f"not {_contains(values)}"
    numbers = [_finite(value) for value in asked.values]
    if any(number is None for number in numbers):
        return _contains([_facet("has", asked.field)])
    path = f'numbers["{_number_key(asked.field)}"]'
    compared = [f"{path} {asked.comparison} {number!r}" for number in numbers]
    return " or ".join([*compared, _contains([_facet("text", asked.field)])])


def _numbers(facts: Facts) -> dict[str, float]:
    known = {_number_key(field): _finite(value) for field, value in fields_of(facts)}
    return {key: number for key, number in known.items() if number is not None}


def _number_key(field: str) -> str:
    return f"n{sha256(raw(field)).hexdigest()[:16]}"


def _form(value: str) -> str:
    """One writing of each number, so that 2 is 2.0; texts as they are."""
    number = number_of(value)
    return f"={value}" if number is None or math.isnan(number) else f"#{number + 0.0!r}"


def _finite(value: str) -> float | None:
    number = number_of(value)
    return number if number is not None and math.isfinite(number) else None


def _facet(*parts: str) -> int:
    """63 bits of a hash: no sign, and never the number that stands for too many."""
    digest = blake2b(raw("\0".join(parts)), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 1) | 2
