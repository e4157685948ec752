"""Rows as searches: what is asked, the passages of the right document, and others that were found.

As in DPR (Karpukhin et al. 2020) every passage of another claim's document is a negative within a
batch; a search therefore says which documents are none for it: all that somebody laid beside its
claim, whatever they said of them.
"""

import gzip
import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pincite.corpus.intake import passage_text
from pincite.documents.lines import jsonl
from pincite.documents.lines.labelled import LabelledClaim, read_labelled
from pincite.errors import InputError
from pincite.retrieval import queries
from pincite.training.groups import cut
from pincite.training.recipe import EncoderRecipe, SetRecipe
from pincite.types import Claim, Document, Passage, Span
from pincite.wiki.wafer import WaferRecord, claim_of, read_records

Found = tuple[str, str]  # a document's key, a passage of it
# Retrieved passages of a claim that the teacher is asked about; of all 36 it would take hours.
JUDGED = 8


@dataclass(frozen=True, slots=True)
class Search:
    """What one step sees of one row."""

    set_name: str
    row_id: str
    text: str
    title: str
    section: tuple[str, ...]
    before: str
    documents: tuple[str, ...]  # keys; the first is that of `passages`, and none is a negative
    passages: tuple[str, ...]  # of the right document; which of them is to be found is latent
    negatives: tuple[Found, ...] = ()
    scores: tuple[float, ...] = ()  # the teacher's of passages, then negatives; () without one
    weight: float = 1.0

    @property
    def claim(self) -> Claim:
        """What is asked, for `retrieval.queries`."""
        return Claim(self.row_id, self.text, self.title, self.section, self.before)


def key_of(evidence: str) -> str:
    """The key of a document: 16 hex digits of its text's SHA-256."""
    return hashlib.sha256(evidence.encode()).hexdigest()[:16]


def read_either(path: Path, on_bad: Callable[[InputError], None]) -> Iterator[LabelledClaim]:
    """The rows of a claims file, or of WAFER-like records with their pages' texts.

    Records are told by the field `input` of their first line. The text of a cited page stands in
    the record, or in `corpus-NAME.jsonl` or `corpus.jsonl` (plain or .gz) beside the file.
    """
    yield from _cited(path, on_bad) if is_wafer(path) else read_labelled(path, on_bad)


_UNKNOWN = Document("", "", "")


def is_wafer(path: Path) -> bool:
    """Whether the file (plain or .gz) holds WAFER-like records."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as lines:
            first = json.loads(next((line for line in lines if line.strip()), b"{}"))
    except (OSError, EOFError, ValueError, RecursionError):
        return False  # `read_labelled` says what is wrong with it
    return isinstance(first, dict) and "input" in first


def _cited(path: Path, on_bad: Callable[[InputError], None]) -> Iterator[LabelledClaim]:
    """A row for each page that a record cites and whose text is known."""
    for record, claim, cited in cited_by_records(path, on_bad):
        found = {text: title for text, title in cited if text}
        if not claim.text or not found:
            lack = "no cited page with a text" if claim.text else "an empty claim"
            on_bad(InputError(f"{path}: record {record.id} has {lack}; expected both."))
            continue
        asked = {"title": claim.title, "section": list(claim.section), "before": claim.before}
        for text, title in found.items():
            meta = {"context": {**asked, "page": title}}
            yield LabelledClaim(record.id, claim.text, text, "support", meta)


def cited_by_records(
    path: Path, on_bad: Callable[[InputError], None]
) -> Iterator[tuple[WaferRecord, Claim, list[tuple[str, str]]]]:
    """Records with their claim, and text and title of each page they cite; "" for what is unknown.

    What a record does not say stands in the file of pages beside it.
    """
    pages = _pages_beside(path, on_bad)
    for record in read_records(path, on_bad):
        try:
            claim = claim_of(record)
        except InputError as error:
            on_bad(error)
            continue
        cited = []
        for page in (page for output in record.outputs for page in output.provenance):
            known = pages.get(page.url, _UNKNOWN)
            cited.append((page.text or known.text, page.title or known.title))
        yield record, claim, cited


def _pages_beside(path: Path, on_bad: Callable[[InputError], None]) -> dict[str, Document]:
    """The pages in `corpus-NAME.jsonl` or `corpus.jsonl` beside a file of records, by address."""
    name = path.name.removesuffix(".gz").removesuffix(".jsonl")
    places = [path.with_name(f"{stem}.jsonl{end}")
              for stem in (f"corpus-{name}", "corpus") for end in (".gz", "")]  # fmt: skip
    place = next((place for place in places if place.exists()), None)
    pages: dict[str, Document] = {}
    for found in jsonl.documents(place) if place else ():
        if isinstance(found, Document):
            pages[found.url] = found
        else:
            on_bad(InputError(f"{place}: {found.detail}."))
    return pages


def context_of(row: LabelledClaim) -> tuple[str, tuple[str, ...], str, str]:
    """Article's title, section, text before and the page's title, from `meta.context`."""
    given = row.meta.get("context")
    given = given if isinstance(given, dict) else {}
    words = [value if isinstance(value := given.get(key), str) else ""
             for key in ("title", "before", "page")]  # fmt: skip
    section = given.get("section") or []
    path = tuple(map(str, section)) if isinstance(section, list) else (str(section),)
    return words[0], path, words[1], words[2]


def asked_of(row: LabelledClaim) -> str:
    """The row's query for both rankings: its article's title stands in for "it" and "he"."""
    title, _, _, _ = context_of(row)
    return queries.dense_query(Claim(row.row_id, row.claim, title))


def documents_by_query(rows: Sequence[LabelledClaim]) -> dict[str, tuple[str, ...]]:
    """Query → the keys of all documents that a row lays beside it."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        found.setdefault(asked_of(row), {})[key_of(row.evidence)] = None
    return {query: tuple(keys) for query, keys in found.items()}


@dataclass(frozen=True, slots=True)
class Sources:
    """What searches are made with besides the rows of their set."""

    documents: Mapping[str, tuple[str, ...]]  # query → documents that are no negatives
    found: Mapping[str, Sequence[Found]]  # query → passages of others, best first
    judge: Callable[[Sequence[tuple[str, str]]], Sequence[float]] | None = None  # (claim, passage)


def searches_of(
    rows: Sequence[LabelledClaim], wanted: SetRecipe, recipe: EncoderRecipe, sources: Sources
) -> Iterator[Search]:
    """A search a visit of each row whose evidence is to be found; negatives are drawn anew."""
    chance = random.Random(f"{recipe.seed} {wanted.name} drawn")  # noqa: S311
    sought = ("support", "partial", "refute") if recipe.refuted else ("support", "partial")
    for row in rows:
        if row.label not in sought:
            continue
        query, own = asked_of(row), key_of(row.evidence)
        title, section, before, page = context_of(row)
        passages = tuple(_shown(page, text) for text in cut(row, recipe.max_passages).latent)
        found = list(sources.found.get(query, ()))
        if sources.judge:
            found = chance.sample(found, min(JUDGED, len(found)))
        scored = _scored(row.claim, passages, found, sources)
        keys = tuple(dict.fromkeys((own, *sources.documents[query])))
        for _ in range(wanted.visits):
            drawn = _drawn(passages, found, scored, recipe, chance)
            scores = tuple(scored[text] for text in (*passages, *(t for _, t in drawn)) if scored)
            yield Search(
                wanted.name, row.row_id, row.claim, title, section, before,
                keys, passages, drawn, scores, wanted.weight,
            )  # fmt: skip


def _shown(page: str, text: str) -> str:
    """A passage as an index has it encoded."""
    return passage_text(Passage("", "", page, text, Span(0, len(text))))


def _scored(
    claim: str, passages: Sequence[str], found: Sequence[Found], sources: Sources
) -> dict[str, float]:
    """What the teacher says of each passage; nothing without one."""
    if sources.judge is None:
        return {}
    texts = list(dict.fromkeys([*passages, *(text for _, text in found)]))
    return dict(zip(texts, sources.judge([(claim, text) for text in texts]), strict=True))


def _drawn(
    passages: Sequence[str],
    found: Sequence[Found],
    scored: Mapping[str, float],
    recipe: EncoderRecipe,
    chance: random.Random,
) -> tuple[Found, ...]:
    """Some that were found, by chance, and those that the teacher ranks highest among them.

    What it ranks above the best of the right document is likely right itself and is left out
    (Qu et al. 2021, RocketQA, §4.2: denoised hard negatives).
    """
    if scored:
        bar = max(scored[text] for text in passages)
        found = [each for each in found if scored[each[1]] < bar]
    confusing = sorted(found, key=lambda each: -scored.get(each[1], 0.0))
    chosen = confusing[: recipe.confusing if scored else 0]
    rest = [each for each in found if each not in chosen]
    return (*chosen, *chance.sample(rest, min(recipe.negatives, len(rest))))


def read_searches(path: Path) -> list[Search]:
    """What `groups.write_groups` wrote of searches."""
    with path.open(encoding="utf-8") as lines:
        return [_search(json.loads(line)) for line in lines]


def _search(value: dict[str, Any]) -> Search:
    for key in ("section", "documents", "passages", "scores"):
        value[key] = tuple(value[key])
    value["negatives"] = tuple((key, text) for key, text in value["negatives"])
    return Search(**value)
