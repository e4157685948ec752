"""A WAFER-like collection from articles: aligned with stored pages, split by article, counted.

As SIDE built WAFER (Petroni et al. 2023, experimental data): citations whose page is stored, split
by article; featured articles for evaluation only; those tagged {{failed verification}} in files of
their own. No article stands in two parts. Nor does a cited page: a record whose page is cited in a
part of higher rank (test, dev, train) is left out. The folder appears when all of it is written.
"""

import gzip
import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, TypeAlias

from pincite.documents.collection import loose_key
from pincite.errors import InputError
from pincite.text.passages import passages
from pincite.types import Article, Document
from pincite.wiki.article import normal_title
from pincite.wiki.wafer import Output, Provenance, WaferRecord, read_records, records_in, to_line

SPLITS = ("train", "dev", "fail-dev", "test", "fail-test")
_RANKS = {"train": 0, "dev": 1, "fail-dev": 1, "test": 2, "fail-test": 2}
LEFT_OUT, PAGES, CARD, COUNTS = "left-out", "corpus", "README.md", "counts.json"
NO_PAGE, SHARED = "no stored page", "page cited in another part"
_PAGES_REMEMBERED = 256  # an article cites some pages again and again

Find: TypeAlias = Callable[[str], Document | None]  # the stored page at an address
Tell: TypeAlias = Callable[[str, int, int | None], None]


@dataclass(slots=True)
class _Seen:
    """What has to be known of the evaluation parts before the others can be written."""

    cited: dict[bytes, int] = field(default_factory=dict)  # page → the highest rank that cites it
    claims: set[bytes] = field(default_factory=set)
    pages: set[str] = field(default_factory=set)  # ids of the pages written so far


def part_of(title: str, *, held_out: float, evaluation_only: bool) -> str:
    """Train, dev or test, from the article's title alone: the same in every run and dump.

    Args:
        title: of the article.
        held_out: the share of articles in dev and test together.
        evaluation_only: never train, as SIDE keeps featured articles.
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
    """Write the collection to `folder` and give its counts.

    Args:
        articles: read one after the other.
        folder: must not exist, or be empty.
        find: gives the page at a cited address; None: nothing is aligned, and nothing left out.
        held_out: the share of articles for dev and test together.
        tell: hears what is done: what, how many, of how many.

    Raises:
        InputError: the folder holds something.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} holds something. Expected a new folder for the collection.")
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
    """First pass: each record to the file of its split, unfiltered; pages to theirs."""
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
                    _write(files[LEFT_OUT], _marked(record, NO_PAGE))
                    continue
                name = f"fail-{split}" if record.failed_verification else split
                _note(found, name, seen)
                _write(files[name], found)
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
    """The record with the passages of its pages; None if no page of it is stored."""
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
    """A page as `corpus add` reads it: the same document again."""
    fields = ("url", "title", "text", "kind", "published", "fetched", "language")
    known = {name: getattr(page, name) for name in fields}
    return {**page.meta, **{name: value for name, value in known.items() if value is not None}}


def _note(record: WaferRecord, split: str, seen: _Seen) -> None:
    if rank := _RANKS[split]:
        for key in _cited(record):
            seen.cited[key] = max(rank, seen.cited.get(key, 0))
        seen.claims.add(_claimed(record))


def _filtered(part: Path, split: str, seen: _Seen, tell: Tell) -> dict[str, int]:
    """Second pass: a split without the records whose page is cited in a part of higher rank."""
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
                _write(lost, _marked(record, SHARED))
                continue
            _write(kept, record)
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


def _marked(record: WaferRecord, why: str) -> WaferRecord:
    return replace(record, extra={**record.extra, "left_out": why})


def _write(file: IO[str], record: WaferRecord) -> None:
    file.write(to_line(record) + "\n")


def _writer(stack: ExitStack, path: Path, mode: str = "wb") -> IO[str]:
    """A packed text file; the same content gives the same bytes."""
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
    """The data card of a collection, in Markdown."""
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
