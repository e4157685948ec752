"""WAFER (Petroni et al. 2023, SIDE): its records, and measures on collections of them.

A record is a line of JSON: a claim in context, and the sources that it cites:
{"id": …, "input": "title [SEP] section [SEP] text … [CIT] text after",
 "output": [{"answer": url, "provenance": [{"url": …}]}], "meta": {…}}

Measured is, as in KILT (Petroni et al. 2021): *page*, by its best passage; *evidence*, a passage
with a sentence that annotators marked; *answer in context*, a passage of any page with an answer's
words, or with all sentences of a marked set where answers are addresses.
"""

import hashlib
import json
import math
import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError

from pincite.corpus.protocol import Corpus
from pincite.documents import jsonl
from pincite.documents.jsonl import LabelledClaim
from pincite.errors import InputError
from pincite.protocols import Query, Verifier, WordRetriever
from pincite.retrieval import fusion
from pincite.settings import RetrievalSettings
from pincite.text.passages import passages
from pincite.text.sentences import sentences
from pincite.types import Article, Citation, Claim, Document, Hit, Passage
from pincite.wiki.templates import TABLE, edition, template_name
from pincite_lab.evaluation import claims, measures
from pincite_lab.evaluation.claims import FAILS, CutRow, Predictions, cut

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
_META = ("wikipedia_title", "featured", "failed_verification", "label", "sentences", "supporting")


def read_records(path: Path) -> Iterator[WaferRecord]:
    """Yield the records of a file in order; raises as `jsonl.read_rows`."""
    return jsonl.read_rows(path, _parse, "one WAFER record per line")


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
            {"answer": o.answer, "provenance": [_without_none(asdict(p)) for p in o.provenance]}
            for o in record.outputs
        ],
        "meta": {k: v for k, v in known.items() if v not in (None, False, ())} | {**record.extra},
    }
    return json.dumps(line, ensure_ascii=False, default=sorted)  # a set of sentences, sorted


def _without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def claim_of(record: WaferRecord) -> Claim:
    """The claim of a record: the last sentence before [CIT]; the text before it is context.

    One, two or three parts separated by [SEP] are text, section and text, or title, section and
    text. Raises InputError for more parts, or more than one [CIT].
    """
    parts = [part.strip() for part in record.input.split(SEPARATOR)]
    n_marks = record.input.count(CITATION)
    if len(parts) > 3 or n_marks > 1:
        raise InputError(
            f"record {record.id}: field 'input' has {len(parts)} parts and {n_marks} {CITATION} "
            f"marks. Expected at most 3 parts separated by {SEPARATOR} and one mark."
        )
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


# Measures

SYSTEMS = ("side", "sparse", "dense", *fusion.MODES, "verified")
QUERIES_AT_ONCE = 64
_ADDRESS = re.compile(r"\w+://|\{")  # nor is "{Failed verification}" an answer
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)

RECALL = 0.15  # SIDE reports the precision at this recall
_LABELS = {"supported": "support", "partially_supported": "partial", "not_supported": "not_support"}

Tell = Callable[[str, int, int], None]  # what, done, in all
Pages = Callable[[Sequence[str]], Sequence[Document | None]]
Runs = dict[str, list[list[Hit]]]  # hits for each claim, by system


@dataclass(frozen=True, slots=True)
class Collection:
    """The claims of a split with the pages cited for them."""

    records: tuple[WaferRecord, ...]
    corpus_file: Path | None  # None: there is nothing to search
    failed: tuple[WaferRecord, ...] = ()  # tagged {{failed verification}}: not used for retrieval

    @property
    def claims(self) -> list[Claim]:
        return [claim_of(record) for record in self.records]


def open_collection(folder: Path, split: str) -> Collection:
    """Read `SPLIT.jsonl` and find `corpus-SPLIT.jsonl` or `corpus.jsonl`, each plain or .gz.

    The optional `fail-SPLIT.jsonl` has the citations that were tagged as failing.

    Raises:
        InputError: A file is missing or a record is malformed.
    """
    path, failures = jsonl.find(folder, split), jsonl.find(folder, f"fail-{split}")
    if path is None:
        raise InputError(f"{folder} has no {split}.jsonl; expected a WAFER-like collection.")
    records = [one for file in (path, failures) if file for one in read_records(file)]
    if not records:
        raise InputError(f"{folder} has no records in split {split!r}; expected WAFER JSON lines.")
    return Collection(
        tuple(record for record in records if not record.failed),
        jsonl.find(folder, f"corpus-{split}", "corpus"),
        tuple(record for record in records if record.failed),
    )


def evaluate(
    collection: Collection,
    corpus: Corpus,
    verifier: Verifier,
    retrieval: RetrievalSettings,
    tell: Tell = lambda what, done, total: None,
) -> dict[str, Any]:
    """Return all measures: `{"page": {"sparse": {…}, …}, "evidence": {…}, …}`.

    As in `verify`, sparse and dense return `depth` passages each, which are fused in every mode;
    "verified" is the chosen mode with its first `judged` passages reordered by the verifier.
    """
    runs = _retrieve(collection.claims, corpus, retrieval.depth, tell)
    hits = runs[retrieval.fusion]
    runs["verified"] = _rerank(collection.claims, hits, verifier, retrieval.judged, tell)
    result = levels(collection.records, corpus, runs)
    is_featured = [record.featured for record in collection.records]
    if any(is_featured):
        parts = {"featured": is_featured, "others": [not flag for flag in is_featured]}
        result["by_featured"] = {
            name: levels(
                list(compress(collection.records, part)),
                corpus,
                {system: list(compress(run, part)) for system, run in runs.items()},
            )
            for name, part in parts.items()
        }
    return result


def levels(records: Sequence[WaferRecord], corpus: Corpus, runs: Runs) -> dict[str, Any]:
    pages = {str(n): dict.fromkeys(sorted(record.urls), 1) for n, record in enumerate(records)}
    marked = {
        str(n): dict.fromkeys(_evidence_of(record, corpus), 1)
        for n, record in enumerate(records)
        if record.supporting
    }
    in_corpus = {query: grades for query, grades in marked.items() if grades}
    systems = [system for system in SYSTEMS if system in runs]

    def rank(system: str, field: str) -> dict[str, list[str]]:
        return {
            str(n): list(dict.fromkeys(getattr(hit.passage, field) for hit in hits))
            for n, hits in enumerate(runs[system])
        }

    return {
        "page": {s: measures.ranking_measures(pages, rank(s, "url")) for s in systems},
        "evidence": {
            "n": len(in_corpus),
            "n_without_marks": len(records) - len(marked),
            "n_not_in_corpus": len(marked) - len(in_corpus),
            **{s: measures.ranking_measures(in_corpus, rank(s, "passage_id")) for s in systems},
        },
        "answer_in_context": in_context(records, {s: runs[s] for s in systems}),
    }


def in_context(records: Sequence[WaferRecord], runs: Runs) -> dict[str, Any]:
    """Return the share of claims with an answer in their first k passages, by system and k.

    `n` is the number of claims that have an answer; if it is 0, there are no systems.
    """
    wanted = {n: answers for n, record in enumerate(records) if (answers := _answers(record))}
    shares: dict[str, Any] = {"n": len(wanted)}
    for system, run in runs.items() if wanted else ():
        ranks = [_rank_of_answer(answers, run[n]) for n, answers in wanted.items()]
        shares[system] = {
            f"AiC@{k}": round(sum(rank <= k for rank in ranks) / len(ranks), 4)
            for k in measures.CUTOFFS
        }
    return shares


def _answers(record: WaferRecord) -> list[list[str]]:
    """Return sets of texts that must all be in a passage: marked sentences, or answers in words."""
    if record.supporting:
        return [[_normal(sentence) for sentence in group] for group in record.supporting]
    words = (_normal(o.answer) for o in record.outputs if not _ADDRESS.match(o.answer))
    return [[answer] for answer in words if answer]


def _rank_of_answer(answers: list[list[str]], hits: Sequence[Hit]) -> float:
    for rank, hit in enumerate(hits, 1):
        text = f" {_normal(hit.passage.text)} "
        if any(all(f" {one} " in text for one in answer) for answer in answers):
            return rank
    return math.inf


@cache
def _normal(text: str) -> str:
    """Normalise answers like KILT: lower case, no punctuation, no articles, single spaces."""
    bare = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def _retrieve(claims: Sequence[Claim], corpus: Corpus, depth: int, tell: Tell) -> Runs:
    ways: dict[str, tuple[WordRetriever, Callable[[Claim], Query]]] = {
        "side": (corpus.lexical(), fusion.side_query),
        "sparse": (corpus.lexical(), fusion.lexical_query),
        "dense": (corpus.dense(), fusion.dense_query),
    }
    runs: Runs = {}
    for name, (retriever, query_of) in ways.items():
        runs[name] = []
        for start in range(0, len(claims), QUERIES_AT_ONCE):
            batch = [query_of(claim) for claim in claims[start : start + QUERIES_AT_ONCE]]
            runs[name] += retriever.retrieve(batch, depth)
            tell(name, len(runs[name]), len(claims))
    both = list(zip(runs["sparse"], runs["dense"], strict=True))
    for mode in fusion.MODES:
        runs[mode] = [fusion.fuse(*hits, 2 * depth, mode) for hits in both]
    return runs


def _rerank(
    claims: Sequence[Claim], fused: list[list[Hit]], verifier: Verifier, judged: int, tell: Tell
) -> list[list[Hit]]:
    """Reorder the first `judged` hits like `verify`; the rest follow."""
    ranked = []
    for claim, hits in zip(claims, fused, strict=True):
        read, rest = hits[:judged], [(-math.inf, hit) for hit in hits[judged:]]
        evidence = verifier.verify([(claim, hit.passage) for hit in read])
        scored = [
            (fusion.with_prior(support.score, share), hit)
            for support, share, hit in zip(evidence, fusion.shares(hits), read, strict=False)
        ]
        scored.sort(key=lambda pair: (-pair[0], pair[1].rank))
        ranked.append(
            [Hit(hit.passage, score, rank) for rank, (score, hit) in enumerate(scored + rest, 1)]
        )
        tell("verified", len(ranked), len(claims))
    return ranked


def _evidence_of(record: WaferRecord, corpus: Corpus) -> Iterator[str]:
    """Yield ids of the passages of the cited pages that hold a supporting sentence."""
    wanted = [_flat(sentence) for sentences in record.supporting for sentence in sentences]
    documents: list[Document | None] = corpus.get(record.urls)
    cut: list[Passage] = [p for document in documents if document for p in passages(document)]
    for passage in cut:
        text = _flat(passage.text)
        if any(sentence in text for sentence in wanted if sentence):
            yield passage.passage_id


def _flat(text: str) -> str:
    return " ".join(text.split())


# Citations tagged {{failed verification}} against those of featured articles.


def contrast_of(records: Sequence[WaferRecord]) -> tuple[str, list[tuple[WaferRecord, str]]]:
    """Return the name of the contrast to failing citations, and the labelled records.

    The contrast is featured articles, as in SIDE; without them the labelled records, or else all
    untagged ones. The list is empty if nothing fails or nothing else is left.
    """
    labelled = [(r, "not_support" if r.failed else _LABELS.get(r.label or "", "")) for r in records]
    ways = {
        "featured": [(r, label if r.failed else "support") for r, label in labelled
                     if r.failed or r.featured],
        "labelled": [(r, label) for r, label in labelled if label],
        "others": [(r, label if r.failed else "support") for r, label in labelled],
    }  # fmt: skip
    for name, rows in ways.items():
        if {"support", "not_support"} <= {label for _, label in rows}:
            return name, rows
    return "", []


def measure(
    records: Sequence[WaferRecord], pages: Pages | None, verifier: Verifier | None, tell: Tell
) -> dict[str, Any] | None:
    """Figure 2c: AUROC, average precision and curve of each system; None without a contrast.

    `records` are those of a split and of its failed part. `pages` returns the stored pages at
    addresses; without it or `verifier`, only the addresses are scored.
    """
    against, labelled = contrast_of(records)
    rows = [_row(record, label, pages) for record, label in labelled]
    systems = [claims.by_url_depth()]
    if verifier and pages:
        systems = [claims.by_verifier(verifier), *systems, claims.by_first_passages(verifier)]
        rows = [row for row in rows if row.row.evidence]
    if not {"support", "not_support"} <= {row.row.label for row in rows}:
        return None
    predictions = claims.predict_rows("failed verification", rows, systems, tell)
    measured_by_name = {one.name: failing(predictions, one.name) for one in systems}
    return {
        "against": against,
        "labels": dict(Counter(row.row.label for row in rows)),
        "n_without_page": len(labelled) - len(rows),
        "systems": {name: values for name, (values, _) in measured_by_name.items()},
        "curves": {name: points for name, (_, points) in measured_by_name.items() if points},
    }


def failing(predictions: Predictions, name: str) -> tuple[dict[str, Any], list[dict[str, float]]]:
    """Measure how well a system's low values find failures; partly supported rows do not fail.

    Also returns the points of precision and recall (SIDE, fig. 2c).
    """
    scores = predictions.systems[name]
    known = ~np.isnan(scores.values)
    fails = np.isin([row.label for row in predictions.rows], FAILS)[known]
    doubts = -claims.finite(scores.values[known])
    points = measures.precision_recall(fails, -doubts)
    reached = (point["precision"] for point in points if point["recall"] >= RECALL)
    found_by = measures.binary_measures(fails, doubts)
    of_system = {
        "n": int(known.sum()),
        "n_failed": int(fails.sum()),
        "auroc": found_by["auroc"],
        "auroc_interval": measures.auroc_interval(fails, doubts),
        "average_precision": found_by["average_precision"],
        "precision_at_recall": next(reached, None),
    }
    return of_system, points


def _row(record: WaferRecord, label: str, pages: Pages | None) -> CutRow:
    stored = pages(record.urls) if pages else ()
    texts = [page.text for page in stored if page] or [
        p.text for output in record.outputs for p in output.provenance if p.text
    ]
    meta = {"urls": list(record.urls)}
    return cut(LabelledClaim(record.id, claim_of(record).text, "\n\n".join(texts), label, meta))
