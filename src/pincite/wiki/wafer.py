"""WAFER records (Petroni et al., SIDE): JSON lines of a claim in its context and its true sources.

{"id": …, "input": "title [SEP] section [SEP] text … [CIT] text after",
 "output": [{"answer": url, "provenance": [{"url": …}]}], "meta": {…}}
"""

import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from pincite.errors import InputError
from pincite.text.sentences import sentences
from pincite.types import Article, Citation, Claim
from pincite.wiki.templates import TABLE, edition, template_name

SEPARATOR = " [SEP] "
CITATION = "[CIT]"
FAILED = "failed verification"  # the tag, by its English name
FAILED_ANSWER = "{Failed verification}"  # WAFER's answer of a citation that people tagged so
FEATURED = "featured article"
_EXPECTED = "Expected one WAFER record a line."
# KILT, on which WAFER stands, writes a heading path as "Section::::History.:Early life."
_SECTION = re.compile(r"\ASection::::")
_HEADINGS = re.compile(r"\.:|::")
_TEMPLATE = re.compile(r"\{\{\s*([^{}|<>\n]{2,60}?)\s*(?=[|}])")
_COMMENT = re.compile(r"<!--.*?-->|<nowiki>.*?</nowiki>", re.DOTALL | re.IGNORECASE)
# Parsoid's HTML keeps the template's name, every page that MediaWiki draws the star's place.
_STAR = re.compile(r"""mw-indicator-featured-star|"wt":"[Ff]eatured[ _]article""")
_FEATURED_NAMES = frozenset((FEATURED, *TABLE["articles"][FEATURED]))


@dataclass(frozen=True, slots=True)
class Provenance:
    """One page that supports the claim."""

    url: str
    chunk_id: str | None = None
    title: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """One answer: in WAFER the address that the article cites, or FAILED_ANSWER."""

    answer: str
    provenance: tuple[Provenance, ...] = ()


@dataclass(frozen=True, slots=True)
class WaferRecord:
    """One line of a WAFER file. `extra` holds the keys of `meta` that have no field here."""

    id: str
    input: str
    outputs: tuple[Output, ...] = ()
    wikipedia_id: str | None = None
    wikipedia_title: str | None = None
    wikipedia_section: str | None = None
    cit_paragraph_id: int | None = None
    cit_offset: int | None = None
    sentences: tuple[str, ...] = ()  # of the paragraph up to the mark; the last may hold [CIT]
    featured: bool = False
    failed_verification: bool = False
    supporting: tuple[frozenset[str], ...] = ()  # each set of sentences is enough
    label: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses of all answers' provenance, in order, each once."""
        found = [p.url for output in self.outputs for p in output.provenance]
        return tuple(dict.fromkeys(found))

    @property
    def failed(self) -> bool:
        """Whether people tagged its citation; SIDE's own files say so in the answer alone."""
        return self.failed_verification or any(o.answer == FAILED_ANSWER for o in self.outputs)


_KNOWN = {
    "wikipedia_id": str,
    "wikipedia_title": str,
    "wikipedia_section": str,
    "cit_paragraph_id": int,
    "cit_offset": int,
    "featured": bool,
    "failed_verification": bool,
    "label": str,
}


def read_records(
    path: str | Path, on_bad: Callable[[InputError], None] | None = None
) -> Iterator[WaferRecord]:
    """The records of a file (plain or .gz) in order; blank lines are skipped.

    Args:
        path: the file.
        on_bad: hears of each line that is no record, which is then skipped; None: it is raised.

    Raises:
        InputError: the file is missing or a line is no record; names file, line and field.
    """
    path = Path(path)
    number = 0
    try:
        with _open(path, "rt") as lines:
            for number, line in enumerate(lines, 1):  # named in the message below
                if not line.strip():
                    continue
                try:
                    record = _record(_json(line))
                except _BadField as error:
                    if on_bad is None:
                        raise
                    on_bad(InputError(f"{path}, line {number}: {error}. {_EXPECTED}"))
                    continue
                yield record
    except FileNotFoundError:
        message = f"no file {path}. Expected WAFER records as JSON lines, plain or .gz."
        raise InputError(message) from None
    except (_BadField, UnicodeDecodeError, OSError, EOFError) as error:
        message = f"{path}, line {number}: {error}. {_EXPECTED}"
        raise InputError(message) from error


def write_records(records: Iterable[WaferRecord], path: str | Path) -> None:
    """Write `records` as JSON lines, compressed if the name ends in .gz."""
    with _open(Path(path), "wt") as file:
        for record in records:
            file.write(to_line(record) + "\n")


def to_line(record: WaferRecord) -> str:
    """A record as one line of JSON, without the line break."""
    return json.dumps(_object(record), ensure_ascii=False)


def claim_of(record: WaferRecord) -> Claim:
    """The claim of a record: the last sentence before [CIT]; what stands before is context.

    One, two or three parts parted by [SEP] are read as text, section and text, or title, section
    and text.

    Raises:
        InputError: more than three parts, or more than one [CIT].
    """
    title, section, text, after = _parts(record)
    spans = sentences(text)
    last = spans[-1].start if spans else 0
    path = tuple(filter(None, (p.strip(" .:") for p in _HEADINGS.split(_SECTION.sub("", section)))))
    return Claim(record.id, text[last:].strip(), title, path, text[:last].strip(), after=after)


def records_in(article: Article) -> Iterator[WaferRecord]:
    """The records of an article: one a claim, with the addresses that it cites.

    Citations tagged {{failed verification}} have a record of their own, since the others of the
    same claim do not fail. A claim whose citations have no address has none.
    """
    featured = is_featured(article)
    for claim in article.claims:
        tagged = [c for c in claim.citations if FAILED in c.tags]
        if FAILED in claim.tags and not tagged:  # the tag stands in the sentence, at no citation
            tagged = list(claim.citations)
        others = [c for c in claim.citations if c not in tagged]
        for citations, failed in ((others, False), (tagged, True)):
            if any(c.url for c in citations):
                yield _of_claim(claim, citations, article.language, featured, failed)


def is_featured(article: Article) -> bool:
    """Whether its template says that the wiki's community chose it as one of its best."""
    if article.markup == "html":
        return bool(_STAR.search(article.source))
    names = edition(article.language).names
    used = map(template_name, _TEMPLATE.findall(_COMMENT.sub("", article.source)))
    return any(names.get(name, name) in _FEATURED_NAMES for name in used)


def _of_claim(
    claim: Claim, citations: Sequence[Citation], language: str, featured: bool, failed: bool
) -> WaferRecord:
    urls = dict.fromkeys(c.url for c in citations if c.url)
    before = [span.of(claim.before) for span in sentences(claim.before, language)]
    given = [Output(FAILED_ANSWER if failed else url, (Provenance(url),)) for url in urls]
    return WaferRecord(
        f"{claim.claim_id}-failed" if failed else claim.claim_id,
        claim.context,
        tuple(given),
        wikipedia_title=claim.title,
        wikipedia_section=" :: ".join(claim.section),
        sentences=(*before, claim.words + CITATION),
        featured=featured,
        failed_verification=failed,
    )


class _BadField(ValueError):
    """What is wrong with a line; the reader adds file and line."""


def _open(path: Path, mode: str) -> IO[str]:
    if path.suffix == ".gz":
        return cast("IO[str]", gzip.open(path, mode, encoding="utf-8"))
    return cast("IO[str]", path.open(mode, encoding="utf-8"))


def _json(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        message = f"not JSON ({error})"
        raise _BadField(message) from error
    return dict(_typed(found, dict, "the line"))


def _typed(value: Any, kind: type, name: str) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        message = f"field {name!r} is {value!r:.80}, not {kind.__name__}"
        raise _BadField(message)
    return value


def _record(line: dict[str, Any]) -> WaferRecord:
    meta = dict(_typed(line.get("meta") or {}, dict, "meta"))
    known = {
        name: _typed(meta.pop(name), kind, f"meta.{name}")
        for name, kind in _KNOWN.items()
        if meta.get(name) is not None
    }
    identity = line.get("id")
    return WaferRecord(
        id=str(identity) if isinstance(identity, int) else _typed(identity, str, "id"),
        input=_typed(line.get("input"), str, "input"),
        outputs=tuple(_output(each) for each in _typed(line.get("output") or [], list, "output")),
        sentences=_strings(meta.pop("sentences", None), "meta.sentences"),
        supporting=tuple(
            frozenset(_strings(each, "meta.supporting"))
            for each in _typed(meta.pop("supporting", None) or [], list, "meta.supporting")
        ),
        extra=meta,
        **known,
    )


def _strings(value: Any, name: str) -> tuple[str, ...]:
    return tuple(_typed(each, str, name) for each in _typed(value or [], list, name))


def _output(given: Any) -> Output:
    given = _typed(given, dict, "output[]")
    pages = _typed(given.get("provenance") or [], list, "output[].provenance")
    return Output(_typed(given.get("answer", ""), str, "output[].answer"), tuple(map(_page, pages)))


def _page(given: Any) -> Provenance:
    given = _typed(given, dict, "output[].provenance[]")
    optional = {
        name: str(given[name])
        for name in ("chunk_id", "title", "text")
        if given.get(name) is not None
    }
    return Provenance(_typed(given.get("url"), str, "output[].provenance[].url"), **optional)


def _object(record: WaferRecord) -> dict[str, Any]:
    known = {name: getattr(record, name) for name in _KNOWN}
    meta = {name: value for name, value in known.items() if value not in (None, False)}
    if record.sentences:
        meta["sentences"] = list(record.sentences)
    if record.supporting:
        meta["supporting"] = [sorted(each) for each in record.supporting]
    outputs = [
        {"answer": o.answer, "provenance": [_page_object(p) for p in o.provenance]}
        for o in record.outputs
    ]
    return {
        "id": record.id,
        "input": record.input,
        "output": outputs,
        "meta": {**meta, **record.extra},
    }


def _page_object(page: Provenance) -> dict[str, str]:
    fields = {"url": page.url, "chunk_id": page.chunk_id, "title": page.title, "text": page.text}
    return {name: value for name, value in fields.items() if value is not None}


def _parts(record: WaferRecord) -> tuple[str, str, str, str]:
    """Title, section, the text before [CIT] and the text after; missing parts are empty."""
    parts = [part.strip() for part in record.input.split(SEPARATOR.strip())]
    marks = record.input.count(CITATION)
    if len(parts) > 3 or marks > 1:
        message = (
            f"record {record.id}: field 'input' has {len(parts)} parts and {marks} {CITATION} "
            f"marks. Expected at most 3 parts parted by {SEPARATOR.strip()} and one mark."
        )
        raise InputError(message)
    title, section, text = ["", "", *parts][-3:]
    before, _, after = text.partition(CITATION)
    return title, section, before.rstrip(), after.strip()
