"""The records of WAFER (Petroni et al. 2023, SIDE): read, written, and made from articles.

A record is a line of JSON: a claim in context, and the sources that it cites:
{"id": …, "input": "title [SEP] section [SEP] text … [CIT] text after",
 "output": [{"answer": url, "provenance": [{"url": …}]}], "meta": {…}}
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from pincite.documents import jsonl
from pincite.errors import InputError
from pincite.text.sentences import sentences
from pincite.types import Article, Citation, Claim
from pincite.wiki.templates import TABLE, edition, template_name

SEPARATOR = "[SEP]"
CITATION = "[CIT]"
FAILED = "failed verification"  # the tag's English name
FAILED_ANSWER = "{Failed verification}"  # WAFER's answer for a citation with that tag
FEATURED = "featured article"
# KILT, the basis of WAFER, writes a heading path as "Section::::History.:Early life."
_SECTION = re.compile(r"\ASection::::")
_HEADINGS = re.compile(r"\.:|::")
_TEMPLATE = re.compile(r"\{\{\s*([^{}|<>\n]{2,60}?)\s*(?=[|}])")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|<nowiki>.*?(?:</nowiki>|\Z)", re.DOTALL | re.I)
# Parsoid's HTML keeps the template's name; rendered pages keep the star's position.
_STAR = re.compile(r"""mw-indicator-featured-star|"wt":"[Ff]eatured[ _]article""")
_FEATURED_NAMES = frozenset((FEATURED, *TABLE["articles"][FEATURED]))
_ORIGINS = ("prose", "list")  # of the claims that make records
_NUMBERS_AS_TEXT = ConfigDict(coerce_numbers_to_str=True)  # for ids


@dataclass(frozen=True, slots=True)
class Provenance:
    """One page that supports the claim."""

    __pydantic_config__ = _NUMBERS_AS_TEXT
    url: str
    chunk_id: str | None = None
    title: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """One answer: in WAFER the address that the article cites, or FAILED_ANSWER."""

    answer: str = ""
    provenance: tuple[Provenance, ...] = ()


@dataclass(frozen=True, slots=True)
class WaferRecord:
    """One line of a WAFER file. `extra` has the keys of `meta` without a field here."""

    __pydantic_config__ = _NUMBERS_AS_TEXT
    id: str
    input: str
    outputs: tuple[Output, ...] = ()
    wikipedia_title: str | None = None
    sentences: tuple[str, ...] = ()  # of the paragraph up to the mark; the last may contain [CIT]
    featured: bool = False
    failed_verification: bool = False
    supporting: tuple[frozenset[str], ...] = ()  # each set of sentences is sufficient
    label: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def urls(self) -> tuple[str, ...]:
        addresses = [p.url for output in self.outputs for p in output.provenance]
        return tuple(dict.fromkeys(addresses))

    @property
    def failed(self) -> bool:
        """Whether its citation was tagged; SIDE's own files state this in the answer only."""
        return self.failed_verification or any(o.answer == FAILED_ANSWER for o in self.outputs)


_RECORD = TypeAdapter(WaferRecord)
# The keys of `meta` that have a field of the same name.
_META = ("wikipedia_title", "featured", "failed_verification", "label", "sentences", "supporting")


def read_records(path: Path) -> Iterator[WaferRecord]:
    """Yield the records of a file in order; raises as `jsonl.read_rows`."""
    return jsonl.read_rows(path, _parse, "one WAFER record per line")


def _parse(line: bytes) -> WaferRecord:
    row = json.loads(line)
    if not isinstance(row, dict) or not isinstance(row.get("meta") or {}, dict):
        raise ValueError("not an object")
    meta = dict(row.get("meta") or {})
    fields = {name: meta.pop(name) for name in _META if meta.get(name) is not None}
    fields |= {"id": row.get("id"), "input": row.get("input"), "outputs": row.get("output") or ()}
    try:
        return _RECORD.validate_python({**fields, "extra": meta})
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"field {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def to_line(record: WaferRecord) -> str:
    fields = {name: getattr(record, name) for name in _META}
    stated = {name: value for name, value in fields.items() if value not in (None, False, ())}
    outputs = [
        {"answer": o.answer, "provenance": [_without_none(asdict(p)) for p in o.provenance]}
        for o in record.outputs
    ]
    meta = stated | {**record.extra}
    line = {"id": record.id, "input": record.input, "output": outputs, "meta": meta}
    return json.dumps(line, ensure_ascii=False, default=sorted)  # a set of sentences, sorted


def _without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def claim_of(record: WaferRecord) -> Claim:
    """Return the claim of a record: the last sentence before [CIT]; what precedes is context.

    Parts separated by [SEP] are the text, section and text, or title, section and text. Raises
    InputError for more parts, or more than one [CIT].
    """
    parts = [part.strip() for part in record.input.split(SEPARATOR)]
    n_marks = record.input.count(CITATION)
    if len(parts) > 3 or n_marks > 1:
        raise InputError(
            f"record {record.id}: field 'input' has {len(parts)} parts and {n_marks} {CITATION} "
            f"marks. Expected at most 3 parts separated by {SEPARATOR} and one mark."
        )
    title, section, text = ["", "", *parts][-3:]
    until_mark, _, after = text.partition(CITATION)
    until_mark = until_mark.rstrip()
    spans = sentences(until_mark)
    start = spans[-1].start if spans else 0
    before, words = until_mark[:start].strip(), until_mark[start:].strip()
    headings = [part.strip(" .:") for part in _HEADINGS.split(_SECTION.sub("", section))]
    path = tuple(filter(None, headings))
    return Claim(record.id, words, title, path, before, after=after.strip())


def records_in(article: Article) -> Iterator[WaferRecord]:
    """Yield the records of an article, one per claim, with the cited addresses.

    Citations tagged {{failed verification}} get their own record, since the claim's other citations
    do not fail. Claims whose citations have no address are skipped, and so are cells, parameters
    and captions: WAFER's are sentences of paragraphs and lists.
    """
    featured = is_featured(article)
    for claim in article.claims:
        if claim.origin not in _ORIGINS:
            continue
        tagged = [c for c in claim.citations if FAILED in c.tags]
        if FAILED in claim.tags and not tagged:  # the tag is in the sentence, not at a citation
            tagged = list(claim.citations)
        others = [c for c in claim.citations if c not in tagged]
        for citations, failed in ((others, False), (tagged, True)):
            if any(c.url for c in citations):
                yield _record_of(claim, citations, article, featured, failed)


def split_of(title: str) -> str:
    """The part of a collection that an article is in, always the same; WAFER splits by article."""
    number = int.from_bytes(hashlib.sha256(title.encode()).digest()[:4]) % 20
    return {0: "dev", 1: "test"}.get(number, "train")


def is_featured(article: Article) -> bool:
    if article.markup == "html":
        return bool(_STAR.search(article.source))
    names = edition(article.language).names
    used = map(template_name, _TEMPLATE.findall(_COMMENT.sub("", article.source)))
    return any(names.get(name, name) in _FEATURED_NAMES for name in used)


def _record_of(
    claim: Claim, citations: Sequence[Citation], article: Article, featured: bool, failed: bool
) -> WaferRecord:
    urls = dict.fromkeys(c.url for c in citations if c.url)
    before = [span.of(claim.before) for span in sentences(claim.before, article.language)]
    paragraph, offset = claim.mark or (None, None)
    extra = {
        "wikipedia_id": article.page_id,
        "wikipedia_section": " :: ".join(claim.section),
        "cit_paragraph_id": paragraph,  # of the blocks, headings included, as KILT counts
        "cit_offset": offset,
    }
    return WaferRecord(
        f"{claim.claim_id}-failed" if failed else claim.claim_id,
        claim.context,
        tuple(Output(FAILED_ANSWER if failed else url, (Provenance(url),)) for url in urls),
        wikipedia_title=claim.title,
        sentences=(*before, claim.words + CITATION),
        featured=featured,
        failed_verification=failed,
        extra=_without_none(extra),
    )


@dataclass(frozen=True, slots=True)
class Collection:
    """The claims of a split with the pages cited for them."""

    records: tuple[WaferRecord, ...]
    corpus_file: Path | None  # None: there is nothing to search
    failed: tuple[WaferRecord, ...] = ()  # tagged {{failed verification}}: not used for retrieval


def open_collection(folder: Path, split: str) -> Collection:
    """Read `SPLIT.jsonl` and find `corpus-SPLIT.jsonl` or `corpus.jsonl`, each plain or .gz.

    The optional `fail-SPLIT.jsonl` has the citations that were tagged as failing.

    Raises:
        InputError: A file is missing, a record is malformed, or there are none.
    """
    path, failures = jsonl.find(folder, split), jsonl.find(folder, f"fail-{split}")
    if path is None:
        raise InputError(f"{folder} has no {split}.jsonl; expected a WAFER-like collection.")
    records = [record for file in (path, failures) if file for record in read_records(file)]
    if not records:
        raise InputError(f"{folder} has no records in split {split!r}; expected WAFER JSON lines.")
    return Collection(
        tuple(record for record in records if not record.failed),
        jsonl.find(folder, f"corpus-{split}", "corpus"),
        tuple(record for record in records if record.failed),
    )
