"""Reads and writes WAFER records (Petroni et al. 2023, SIDE); builds collections of them.

A record is a line of JSON: a claim in context, and the sources that it cites:
{"id": …, "input": "title [SEP] section [SEP] text … [CIT] text after",
 "output": [{"answer": url, "provenance": [{"url": …}]}], "meta": {…}}
"""

import gzip
import hashlib
import io
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeAlias

from pydantic import ConfigDict, TypeAdapter, ValidationError

from pincite.documents import jsonl
from pincite.documents.collection import loose_key
from pincite.durable import read_stamp, silent, write_stamp
from pincite.errors import InputError
from pincite.protocols import Progress
from pincite.text.passages import passages
from pincite.text.sentences import sentences
from pincite.types import Article, Citation, Claim, Document
from pincite.wiki.article import normal_title
from pincite.wiki.templates import TABLE, edition, template_name

SEPARATOR = " [SEP] "
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
        found = [p.url for output in self.outputs for p in output.provenance]
        return tuple(dict.fromkeys(found))

    @property
    def failed(self) -> bool:
        """Whether its citation was tagged; SIDE's own files state this in the answer only."""
        return self.failed_verification or any(o.answer == FAILED_ANSWER for o in self.outputs)


_RECORD = TypeAdapter(WaferRecord)
_META = (
    *("wikipedia_title", "featured", "failed_verification"),
    *("label", "sentences", "supporting"),
)


def read_records(
    path: Path, on_bad: Callable[[InputError], None] | None = None
) -> Iterator[WaferRecord]:
    """Yield the records of a file in order; raises and skips as `jsonl.read_rows`."""
    return jsonl.read_rows(path, _parse, "one WAFER record per line", on_bad)


def _parse(line: bytes) -> WaferRecord:
    row = json.loads(line)
    if not isinstance(row, dict) or not isinstance(row.get("meta") or {}, dict):
        raise ValueError("not an object")
    meta = dict(row.get("meta") or {})
    known = {name: meta.pop(name) for name in _META if meta.get(name) is not None}
    fields = {"id": row.get("id"), "input": row.get("input"), "outputs": row.get("output") or ()}
    try:
        return _RECORD.validate_python({**fields, **known, "extra": meta})
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"field {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def to_line(record: WaferRecord) -> str:
    known = {name: getattr(record, name) for name in _META}
    line = {
        "id": record.id,
        "input": record.input,
        "output": [
            {"answer": o.answer, "provenance": [_filled(asdict(page)) for page in o.provenance]}
            for o in record.outputs
        ],
        "meta": {k: v for k, v in known.items() if v not in (None, False, ())} | {**record.extra},
    }
    return json.dumps(line, ensure_ascii=False, default=sorted)  # a set of sentences, sorted


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def claim_of(record: WaferRecord) -> Claim:
    """The claim of a record: the last sentence before [CIT]; the text before it is context.

    One, two or three parts separated by [SEP] are text, section and text, or title, section and
    text. Raises InputError for more parts, or more than one [CIT].
    """
    parts = [part.strip() for part in record.input.split(SEPARATOR.strip())]
    if len(parts) > 3 or record.input.count(CITATION) > 1:
        message = (
            f"record {record.id}: field 'input' has {len(parts)} parts and "
            f"{record.input.count(CITATION)} {CITATION} marks. Expected at most 3 parts separated "
            f"by {SEPARATOR.strip()} and one mark."
        )
        raise InputError(message)
    title, section, text = ["", "", *parts][-3:]
    text, _, after = text.partition(CITATION)
    text = text.rstrip()
    spans = sentences(text)
    last = spans[-1].start if spans else 0
    path = tuple(filter(None, (p.strip(" .:") for p in _HEADINGS.split(_SECTION.sub("", section)))))
    before, words = text[:last].strip(), text[last:].strip()
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
        extra=_filled(extra),
    )


# ── Collections ──────────────────────

SPLITS = ("train", "dev", "fail-dev", "test", "fail-test")
_RANKS = {"train": 0, "dev": 1, "fail-dev": 1, "test": 2, "fail-test": 2}
PAGES, COUNTS, _STATE = "corpus.jsonl.gz", "counts.json", "state.json"
_RESULT = "result"
# At most this many articles and characters lie between two states that a killed run continues from:
# 2 million characters of Wikipedia take 3.5 s, and a state 17 ms.
BATCH, BATCH_CHARS = 200, 2_000_000
_CACHED_PAGES = 256  # articles cite some pages repeatedly

Find: TypeAlias = Callable[[str], Document | None]  # the stored page at an address


def split_of(title: str, *, held_out: float, evaluation_only: bool) -> str:
    """Assign a split from the article's title alone: the same in every run and dump.

    `held_out` is the share of articles in dev and test together. With `evaluation_only` the split
    is never train, as for featured articles in SIDE.
    """
    place = int.from_bytes(_digest(normal_title(title))) / 2**64
    share = 1.0 if evaluation_only else held_out
    if place >= share:
        return "train"
    return "dev" if place < share / 2 else "test"


def build(
    articles: Iterable[Callable[[], Article]],
    folder: Path,
    find: Find | None = None,
    *,
    made_of: str = "",
    held_out: float = 0.1,
    tell: Progress = silent,
) -> dict[str, Any]:
    """Write the collection to `folder`, which must be new or empty, and return its counts.

    A run that was killed continues after its last batch of articles, if everything but `tell` is
    the same; the collection has the same bytes as without interruption.

    Args:
        articles: each reads one when called, in the same order in every run. Articles that are
            done are not read again.
        folder: beside it, `folder.part` keeps what is done.
        find: returns the page at a cited address; with None, records are not aligned and none is
            dropped for lack of a page.
        made_of: names the input, so that a run does not continue with another one.
        held_out: share of articles in dev and test together.
        tell: gets the step, the number done and the total.

    Raises:
        InputError: the folder is not empty, or a run with other arguments was interrupted.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not empty. Expected a new folder for the collection.")
    part = folder.with_name(f"{folder.name}.part")
    part.mkdir(parents=True, exist_ok=True)
    run = {"made_of": made_of, "held_out": held_out, "aligned": find is not None}
    counts = _resumed(part, run)
    ranks = _ranks_in(part)
    align = _Aligner(lru_cache(_CACHED_PAGES)(find), part, counts) if find else None
    remaining = islice(articles, counts["articles"], None)
    n_done = -1
    while n_done < counts["articles"]:
        n_done = counts["articles"]
        with ExitStack() as stack:
            files = {split: _writer(stack, part / _unfiltered(split)) for split in SPLITS}
            pages = _writer(stack, part / PAGES) if align else None
            n_chars = 0
            for read in islice(remaining, BATCH):
                article = read()
                n_chars += len(article.source)
                records = list(records_in(article))
                only = any(r.featured or r.failed_verification for r in records)
                split = split_of(article.title, held_out=held_out, evaluation_only=only)
                for record in records:
                    found = align(record, pages) if align and pages else record
                    if found is None:
                        counts["without_page"] += 1
                        continue
                    name = f"fail-{split}" if record.failed_verification else split
                    _add_ranks(ranks, name, found)
                    files[name].write(to_line(found) + "\n")
                counts["articles"] += 1
                counts["claims"] += len(article.claims)
                tell("articles", counts["articles"], None)
                if n_chars >= BATCH_CHARS:
                    break
        sizes = {path.name: path.stat().st_size for path in part.glob("*.gz")}
        write_stamp(part / _STATE, {"run": run, "counts": counts, "sizes": sizes})
    result = _collected(part, ranks, counts, tell) | {"held_out": held_out}
    (part / _RESULT / COUNTS).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (part / _RESULT).replace(folder)
    shutil.rmtree(part)
    return result


def _collected(
    part: Path, ranks: Mapping[bytes, int], counts: Counter[str], tell: Progress
) -> dict[str, Any]:
    """Write the files of the collection beside what it is made of, and return the counts."""
    result = part / _RESULT
    shutil.rmtree(result, ignore_errors=True)  # of an interrupted run
    result.mkdir()
    splits = {split: _without_shared(part, split, ranks, counts, tell) for split in SPLITS}
    if (part / PAGES).exists():
        try:
            os.link(part / PAGES, result / PAGES)
        except OSError:  # the file system has no links
            shutil.copyfile(part / PAGES, result / PAGES)
    return {**counts, "splits": splits}


def _unfiltered(split: str) -> str:
    return f"{split}.all.gz"


def _resumed(part: Path, run: Mapping[str, Any]) -> Counter[str]:
    """Return the counts of an interrupted run, and cut what it wrote after its last batch."""
    counts = Counter(articles=0, claims=0, pages=0, without_page=0, page_in_another_split=0)
    state = read_stamp(part / _STATE) or {"run": run, "counts": counts, "sizes": {}}
    if state["run"] != run:
        raise InputError(
            f"{part} is of an interrupted run with other arguments: {state['run']}. Expected "
            f"{dict(run)}. Repeat them to continue, or delete {part}."
        )
    for path in part.glob("*.gz"):
        if size := state["sizes"].get(path.name):
            os.truncate(path, size)
        else:
            path.unlink()
    return Counter(state["counts"])


def _add_ranks(ranks: dict[bytes, int], split: str, record: WaferRecord) -> None:
    if rank := _RANKS[split]:
        ranks |= {key: max(rank, ranks.get(key, 0)) for key in _page_keys(record)}


def _ranks_in(part: Path) -> dict[bytes, int]:
    """Return the highest rank above 0 of a split that cites a page, by page."""
    ranks: dict[bytes, int] = {}
    for split in filter(_RANKS.get, SPLITS):
        path = part / _unfiltered(split)
        for record in read_records(path) if path.exists() else ():
            _add_ranks(ranks, split, record)
    return ranks


class _Aligner:
    """Adds the passages of cited pages to records, and stores each page once."""

    def __init__(self, find: Find, part: Path, counts: Counter[str]) -> None:
        self.find, self.counts = find, counts
        self.written: set[str] = set()
        if (part / PAGES).exists():
            with gzip.open(part / PAGES, "rt", encoding="utf-8") as lines:
                rows = map(json.loads, lines)
                self.written = {
                    Document(row["url"], row["title"], row["text"]).doc_id for row in rows
                }

    def __call__(self, record: WaferRecord, pages: IO[str]) -> WaferRecord | None:
        """Return the aligned record; None if no cited page is found."""
        outputs = []
        for output in record.outputs:
            page = self.find(output.provenance[0].url)
            cut = passages(page) if page else []
            if page and cut:
                if page.doc_id not in self.written:
                    self.written.add(page.doc_id)
                    self.counts["pages"] += 1
                    fields = ("url", "title", "text", "kind", "published", "fetched", "language")
                    row = {**page.meta, **_filled({name: getattr(page, name) for name in fields})}
                    pages.write(json.dumps(row, ensure_ascii=False) + "\n")
                texts = (Provenance(p.url, p.passage_id, p.title, p.text) for p in cut)
                outputs.append(Output(output.answer, tuple(texts)))
        return replace(record, outputs=tuple(outputs)) if outputs else None


def _without_shared(
    part: Path, split: str, ranks: Mapping[bytes, int], counts: Counter[str], tell: Progress
) -> dict[str, int]:
    """Drop records whose page is cited in a split of higher rank; return the split's counts."""
    articles: set[bytes] = set()
    n_records = n_featured = 0
    with ExitStack() as stack:
        kept = _writer(stack, part / _RESULT / f"{split}.jsonl.gz")
        for number, record in enumerate(read_records(part / _unfiltered(split)), 1):
            tell(split, number, None)
            if any(ranks.get(key, 0) > _RANKS[split] for key in _page_keys(record)):
                counts["page_in_another_split"] += 1
                continue
            kept.write(to_line(record) + "\n")
            articles.add(_digest(record.wikipedia_title or ""))
            n_records += 1
            n_featured += record.featured
    return {"articles": len(articles), "records": n_records, "featured": n_featured}


def _page_keys(record: WaferRecord) -> list[bytes]:
    return [_digest(loose_key(url)) for url in record.urls]


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _writer(stack: ExitStack, path: Path) -> IO[str]:
    """Open a gzipped text file to append to; the same content gives the same bytes."""
    raw = stack.enter_context(path.open("ab"))
    packed = stack.enter_context(gzip.GzipFile("", "wb", fileobj=raw, mtime=0))
    return stack.enter_context(io.TextIOWrapper(packed, encoding="utf-8"))
