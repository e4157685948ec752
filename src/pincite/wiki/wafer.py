"""Reads and writes WAFER records (Petroni et al. 2023, SIDE); builds collections of them.

A record is a line of JSON, a claim in its context and its true sources:
{"id": …, "input": "title [SEP] section [SEP] text … [CIT] text after",
 "output": [{"answer": url, "provenance": [{"url": …}]}], "meta": {…}}

A collection is built as SIDE built WAFER: citations whose page is stored, split by article;
featured articles for evaluation only; those tagged {{failed verification}} in separate files. No
article is in two splits. Nor is a cited page: a record whose page is cited in a split of higher
rank (test, dev, train) is dropped. The folder appears only when it is complete.
"""

import gzip
import hashlib
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError

from pincite.documents.collection import loose_key
from pincite.errors import InputError
from pincite.text.passages import passages
from pincite.text.sentences import sentences
from pincite.types import Article, Citation, Claim, Document
from pincite.wiki.article import normal_title
from pincite.wiki.templates import TABLE, edition, template_name

SEPARATOR = " [SEP] "
CITATION = "[CIT]"
FAILED = "failed verification"  # the tag's English name
FAILED_ANSWER = "{Failed verification}"  # WAFER's answer for a citation that editors tagged so
FEATURED = "featured article"
_EXPECTED = "Expected one WAFER record a line."
# KILT, the basis of WAFER, writes a heading path as "Section::::History.:Early life."
_SECTION = re.compile(r"\ASection::::")
_HEADINGS = re.compile(r"\.:|::")
_TEMPLATE = re.compile(r"\{\{\s*([^{}|<>\n]{2,60}?)\s*(?=[|}])")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|<nowiki>.*?(?:</nowiki>|\Z)", re.DOTALL | re.I)
# Parsoid's HTML keeps the template's name; rendered pages keep the star's position.
_STAR = re.compile(r"""mw-indicator-featured-star|"wt":"[Ff]eatured[ _]article""")
_FEATURED_NAMES = frozenset((FEATURED, *TABLE["articles"][FEATURED]))
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
    path: str | Path, on_bad: Callable[[InputError], None] | None = None
) -> Iterator[WaferRecord]:
    """Yield the records of a file (plain or .gz) in order; blank lines are skipped.

    `on_bad` is called with the error of each bad line, which is skipped; None raises it.

    Raises:
        InputError: the file is missing or a line is invalid; states file, line and field.
    """
    path = Path(path)
    number = 0
    try:
        with _open(path, "rt") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    record = _record(line)
                except (ValueError, RecursionError) as error:
                    what = InputError(f"{path}, line {number}: {_why(error)}. {_EXPECTED}")
                    if on_bad is None:
                        raise what from error
                    on_bad(what)
                    continue
                yield record
    except FileNotFoundError:
        message = f"no file {path}. Expected WAFER records as JSON lines, plain or .gz."
        raise InputError(message) from None
    except (UnicodeDecodeError, OSError, EOFError, zlib.error) as error:
        message = f"{path}, line {number}: {error}. {_EXPECTED}"
        raise InputError(message) from error


def _record(line: str) -> WaferRecord:
    given = json.loads(line)
    if not isinstance(given, dict) or not isinstance(given.get("meta") or {}, dict):
        message = "not an object"
        raise ValueError(message)
    meta = dict(given.get("meta") or {})
    known = {name: meta.pop(name) for name in _META if meta.get(name) is not None}
    fields = {
        "id": given.get("id"),
        "input": given.get("input"),
        "outputs": given.get("output") or (),
    }
    return _RECORD.validate_python({**fields, **known, "extra": meta})


def _why(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    return f"field {'.'.join(map(str, first['loc']))}: {first['msg']}"


def to_line(record: WaferRecord) -> str:
    known = {name: getattr(record, name) for name in _META}
    meta = {name: value for name, value in known.items() if value not in (None, False, ())}
    outputs = [
        {"answer": o.answer, "provenance": [_filled(asdict(page)) for page in o.provenance]}
        for o in record.outputs
    ]
    line = {
        "id": record.id,
        "input": record.input,
        "output": outputs,
        "meta": {**meta, **record.extra},
    }
    return json.dumps(line, ensure_ascii=False, default=sorted)  # a set of sentences, sorted


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _open(path: Path, mode: str) -> IO[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    return cast("IO[str]", opened(path, mode, encoding="utf-8"))


def claim_of(record: WaferRecord) -> Claim:
    """The claim of a record: the last sentence before [CIT]; the text before it is context.

    One, two or three parts separated by [SEP] are text, section and text, or title, section and
    text.

    Raises:
        InputError: more than three parts, or more than one [CIT].
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
    return Claim(
        record.id, text[last:].strip(), title, path, text[:last].strip(), after=after.strip()
    )


def records_in(article: Article) -> Iterator[WaferRecord]:
    """Yield the records of an article, one per claim, with the cited addresses.

    Citations tagged {{failed verification}} get their own record, since the claim's other citations
    do not fail. Claims whose citations have no address are skipped.
    """
    featured = is_featured(article)
    for claim in article.claims:
        tagged = [c for c in claim.citations if FAILED in c.tags]
        if FAILED in claim.tags and not tagged:  # the tag is in the sentence, not at a citation
            tagged = list(claim.citations)
        others = [c for c in claim.citations if c not in tagged]
        for citations, failed in ((others, False), (tagged, True)):
            if any(c.url for c in citations):
                yield _of_claim(claim, citations, article.language, featured, failed)


def is_featured(article: Article) -> bool:
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
        sentences=(*before, claim.words + CITATION),
        featured=featured,
        failed_verification=failed,
        extra={"wikipedia_section": " :: ".join(claim.section)},
    )


# ── a collection ──────────────────────

SPLITS = ("train", "dev", "fail-dev", "test", "fail-test")
_RANKS = {"train": 0, "dev": 1, "fail-dev": 1, "test": 2, "fail-test": 2}
LEFT_OUT, PAGES, CARD, COUNTS = "left-out", "corpus", "README.md", "counts.json"
NO_PAGE, SHARED = "no stored page", "page cited in another part"
_PAGES_REMEMBERED = 256  # articles cite some pages repeatedly

Find: TypeAlias = Callable[[str], Document | None]  # the stored page at an address
Tell: TypeAlias = Callable[[str, int, int | None], None]


@dataclass(slots=True)
class _Seen:
    """Facts about the evaluation splits that are needed to write the others."""

    cited: dict[bytes, int] = field(default_factory=dict)  # page → the highest rank that cites it
    claims: set[bytes] = field(default_factory=set)
    pages: set[str] = field(default_factory=set)  # ids of the pages written so far


def part_of(title: str, *, held_out: float, evaluation_only: bool) -> str:
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
    articles: Iterable[Article],
    folder: Path,
    find: Find | None = None,
    *,
    held_out: float = 0.1,
    tell: Tell = lambda *_: None,
) -> dict[str, Any]:
    """Write the collection to `folder` and return its counts.

    Args:
        articles: read in sequence.
        folder: must not exist, or be empty.
        find: returns the page at a cited address; None: no alignment, and nothing dropped.
        held_out: the share of articles for dev and test together.
        tell: called with the progress: step, done, total.

    Raises:
        InputError: the folder is not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not empty. Expected a new folder for the collection.")
    part = folder.with_name(f"{folder.name}.part")
    part.mkdir(parents=True, exist_ok=True)
    seen = _Seen()
    counts = _sorted(articles, part, find, seen, held_out, tell)
    counts["splits"] = {split: _filtered(part, split, seen, tell) for split in SPLITS}
    lost = sum(found.pop("left_out") for found in counts["splits"].values())
    counts["left_out"][SHARED] = lost
    counts |= {"pages": len(seen.pages), "held_out": held_out, "aligned": find is not None}
    (part / COUNTS).write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    (part / CARD).write_text(card(counts), encoding="utf-8")
    part.replace(folder)
    return counts


def _sorted(
    articles: Iterable[Article],
    part: Path,
    find: Find | None,
    seen: _Seen,
    held_out: float,
    tell: Tell,
) -> dict[str, Any]:
    """First pass: write each record to its split, unfiltered, and the pages."""
    counts: Counter[str] = Counter()
    pages = lru_cache(_PAGES_REMEMBERED)(find) if find else None
    with ExitStack() as stack:
        files = {name: _writer(stack, part / f"{name}.all.gz") for name in SPLITS}
        files[LEFT_OUT] = _writer(stack, part / f"{LEFT_OUT}.jsonl.gz")
        if find:
            files[PAGES] = _writer(stack, part / f"{PAGES}.jsonl.gz")
        for number, article in enumerate(articles, 1):
            records = list(records_in(article))
            only = any(r.featured or r.failed_verification for r in records)
            split = part_of(article.title, held_out=held_out, evaluation_only=only)
            counts["claims"] += len(article.claims)
            for record in records:
                counts["records"] += 1
                found = _aligned(record, pages, seen, files.get(PAGES))
                if found is None:
                    counts["no page"] += 1
                    files[LEFT_OUT].write(_left_out(record, NO_PAGE))
                    continue
                name = f"fail-{split}" if record.failed_verification else split
                if rank := _RANKS[name]:
                    for key in _cited(found):
                        seen.cited[key] = max(rank, seen.cited.get(key, 0))
                    seen.claims.add(_claimed(found))
                files[name].write(to_line(found) + "\n")
            tell("articles", number, None)
            counts["articles"] = number
    return {
        "articles": counts["articles"],
        "claims": counts["claims"],
        "records": counts["records"],
        "left_out": {NO_PAGE: counts["no page"]},
    }


def _aligned(
    record: WaferRecord, find: Find | None, seen: _Seen, written: IO[str] | None
) -> WaferRecord | None:
    if find is None:
        return record
    outputs = []
    for output in record.outputs:
        page = find(output.provenance[0].url)
        cut = passages(page) if page else []
        if page and cut:
            if written and page.doc_id not in seen.pages:
                seen.pages.add(page.doc_id)
                written.write(json.dumps(_page(page), ensure_ascii=False) + "\n")
            texts = (Provenance(p.url, p.passage_id, p.title, p.text) for p in cut)
            outputs.append(Output(output.answer, tuple(texts)))
    return replace(record, outputs=tuple(outputs)) if outputs else None


def _page(page: Document) -> dict[str, Any]:
    fields = ("url", "title", "text", "kind", "published", "fetched", "language")
    return {**page.meta, **_filled({name: getattr(page, name) for name in fields})}


def _filtered(part: Path, split: str, seen: _Seen, tell: Tell) -> dict[str, int]:
    """Second pass: drop records whose page is cited in a split of higher rank."""
    counts: Counter[str] = Counter()
    articles: set[bytes] = set()
    unfiltered = part / f"{split}.all.gz"
    with ExitStack() as stack:
        kept = _writer(stack, part / f"{split}.jsonl.gz")
        lost = _writer(stack, part / f"{LEFT_OUT}.jsonl.gz", "ab")
        for number, record in enumerate(read_records(unfiltered), 1):
            tell(split, number, None)
            if any(seen.cited.get(key, 0) > _RANKS[split] for key in _cited(record)):
                counts["left_out"] += 1
                lost.write(_left_out(record, SHARED))
                continue
            kept.write(to_line(record) + "\n")
            articles.add(_digest(record.wikipedia_title or ""))
            counts["records"] += 1
            counts["featured"] += record.featured
            counts["citations"] += len(record.outputs)
            texts = (p.text for output in record.outputs for p in output.provenance)
            counts["passages"] += sum(text is not None for text in texts)
            counts["also_in_evaluation"] += split == "train" and _claimed(record) in seen.claims
    unfiltered.unlink()
    names = ("records", "featured", "citations", "passages", "also_in_evaluation", "left_out")
    return {"articles": len(articles), **{name: counts[name] for name in names}}


def _cited(record: WaferRecord) -> Iterator[bytes]:
    return (_digest(loose_key(url)) for url in record.urls)


def _claimed(record: WaferRecord) -> bytes:
    return _digest(record.sentences[-1] if record.sentences else record.input)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _left_out(record: WaferRecord, why: str) -> str:
    return to_line(replace(record, extra={**record.extra, "left_out": why})) + "\n"


def _writer(stack: ExitStack, path: Path, mode: str = "wb") -> IO[str]:
    """Open a gzipped text file for writing; the same content gives the same bytes."""
    raw = stack.enter_context(path.open(mode))
    packed = stack.enter_context(gzip.GzipFile("", "wb", fileobj=raw, mtime=0))
    return stack.enter_context(io.TextIOWrapper(packed, encoding="utf-8"))


_CARD = """# A WAFER-like collection

Claims of Wikipedia articles with the pages that they cite, made by `pincite claims --out` as WAFER
was made (Petroni et al. 2023).

| split | records | articles | in featured articles | citations | passages |
|---|---|---|---|---|---|
{rows}

{articles} articles with {claims} claims gave {records} records with an address. {aligned}
Left out, with the reason in `meta.left_out` (`left-out.jsonl.gz`): {left_out}.

* **Splits** are by article, from a hash of its title; {share} % of articles are in dev and test.
  Featured articles and those with a tagged citation are never in train. No page is cited in two
  parts: test goes before dev, dev before train, and the other record is left out. {repeated} claims
  of train stand word for word in dev or test.
* **`fail-dev`, `fail-test`**: citations tagged {{{{failed verification}}}}; their answer is
  `{{Failed verification}}`. Others were not tagged, which does not mean that they were checked.
* **Fields**: `input` is `title [SEP] section [SEP] text [CIT] text after`. `output[].provenance[]`
  has `url` and, where a page was stored, `chunk_id`, `title` and `text` of each of its passages of
  about 100 words. `meta.featured` and `meta.failed_verification` are absent where false.
* **Licence**: the text of Wikipedia is CC BY-SA. The pages belong to their publishers: do not pass
  them on without their permission.

    pincite eval wafer FOLDER --split test
"""


def card(counts: Mapping[str, Any]) -> str:
    names: Sequence[str] = ("records", "articles", "featured", "citations", "passages")
    splits = counts["splits"].items()
    rows = [f"| {s} | " + " | ".join(f"{one[n]:,}" for n in names) + " |" for s, one in splits]
    aligned = f"{counts['pages']:,} stored pages were found for them (`corpus.jsonl.gz`)."
    return _CARD.format(
        rows="\n".join(rows),
        articles=f"{counts['articles']:,}",
        claims=f"{counts['claims']:,}",
        records=f"{counts['records']:,}",
        aligned=aligned if counts["aligned"] else "They were not aligned with pages.",
        left_out=", ".join(f"{n:,} ({why})" for why, n in counts["left_out"].items()),
        share=f"{100 * counts['held_out']:g}",
        repeated=counts["splits"]["train"]["also_in_evaluation"],
    )
