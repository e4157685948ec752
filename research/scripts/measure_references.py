"""HALLMARK: invented and altered bibliography entries (MIT; PINCITE_SHARED names its folder).

pytest -o python_files=measure_*.py -m '' research/scripts/measure_references.py
"""

import gzip
import json
import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pincite.references import catalogue, read
from pincite.references.works import Work, ids_of
from pincite.references.matching import key_of
from pincite.references.outcomes import Outcome, Status, ask, decide, with_faults
from pincite.types import FaultKind

DATA = Path(os.environ.get("PINCITE_SHARED", "none"), "data", "references")
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="needs PINCITE_SHARED")
TODAY = date(2026, 11, 29)
INVENTED = {"plausible_fabrication", "chimeric_title", "hybrid_fabrication", "fabricated_doi"}
VENUE, PEOPLE = {"venue"}, {"authors", "other_work"}
# What names the alteration. An unknown DOI names an invented one.
REASONS = {
    "near_miss_title": {"title", "other_work"},
    "wrong_venue": VENUE,
    "nonexistent_venue": VENUE,
    "preprint_as_published": VENUE,
    "arxiv_version_mismatch": {"venue", "year"},
    "swapped_authors": PEOPLE,
    "placeholder_authors": PEOPLE,
    "partial_author_list": PEOPLE,
    "merged_citation": PEOPLE | VENUE,
    "future_date": {"year", FaultKind.FUTURE},
}
LEAST = 0.95
MOST_ACCUSED = 1 / 200


def rows(name: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def references(found: Sequence[dict[str, Any]], file: Path) -> dict[str, read.Reference]:
    """The entries as BibTeX, read back; one of 2,674 has an open brace and is left out."""
    texts = []
    for number, row in enumerate(found):
        fields = ", ".join(f"{name} = {{{value}}}" for name, value in row["fields"].items())
        balanced = fields.count("{") == fields.count("}")
        texts += [f"@{row['type']}{{e{number}, {fields}}}"] if balanced else []
    file.write_text("\n".join(texts), encoding="utf-8")
    return {each.citation.citation_id: each for each in read.read([file])}


def work(reference: read.Reference) -> Work:
    cited = reference.citation
    ids = dict(ids_of(cited))
    doi, pmid, arxiv = (ids.get(name, "") for name in ("doi", "pmid", "arxiv"))
    year = (int((cited.date or "0")[:4]),)
    kind = "preprint" if arxiv else ""
    return Work(
        *(cited.title or "", cited.authors, year, cited.publisher or "", doi, pmid),
        arxiv=arxiv,
        kind=kind,
    )


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> list[Work]:
    file = tmp_path_factory.mktemp("hallmark") / "catalogue.bib"
    return [work(each) for each in references(rows("catalogue"), file).values()]


@pytest.fixture(scope="module")
def entries(
    tmp_path_factory: pytest.TempPathFactory,
) -> list[tuple[dict[str, Any], read.Reference]]:
    found, file = rows("hallmark_dev"), tmp_path_factory.mktemp("hallmark") / "dev.bib"
    read_back = references(found, file)
    return [
        (row, read_back[f"e{number}"])
        for number, row in enumerate(found)
        if f"e{number}" in read_back
    ]


def outcomes(
    entries: Sequence[tuple[dict[str, Any], read.Reference]], works: Sequence[Work], file: Path
) -> Iterator[tuple[dict[str, Any], read.Reference, Outcome, set[str]]]:
    """Each entry, its outcome, and all that was named."""
    with closing(catalogue.Catalogue(file)) as place:
        place.add("hallmark", 1, works)
        for row, reference in entries:
            (cited,) = with_faults([reference.citation], TODAY)
            outcome = decide(cited, ask(cited, [place]), is_record=True)
            named = {str(each.field) for each in outcome.differences}
            named |= {str(fault.kind) for fault in cited.faults}
            named |= {str(outcome.status)} | ({"venue"} if outcome.unconfirmed else set())
            yield row, reference, outcome, named


class Known:
    """Tells whether a catalogue has a record of what was altered: only then can it be named."""

    def __init__(self, works: Sequence[Work]) -> None:
        self.titles = {key_of(each.title) for each in works}
        self.ids = {pair for each in works for pair in each.ids}

    def __call__(self, row: dict[str, Any], reference: read.Reference) -> bool:
        quoted = re.findall(r"'(.+?)'(?=[) ,(]|$)", row["why"])
        titles = {key_of(each) for each in (*quoted, reference.citation.title or "")}
        return not self.titles.isdisjoint(titles) or not self.ids.isdisjoint(
            ids_of(reference.citation)
        )


def accused(outcome: Outcome, named: set[str]) -> bool:
    faults = named & {str(kind) for kind in FaultKind}
    return outcome.status.accuses or outcome.status is Status.DIFFERS or bool(faults)


def test_with_the_whole_catalogue(
    entries: list[tuple[dict[str, Any], read.Reference]],
    works: list[Work],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    is_known = Known(works)
    by_kind: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row, reference, outcome, named in outcomes(entries, works, tmp_path / "w.sqlite"):
        kind = row["kind"] or "valid"
        counts = by_kind[kind]
        counts["n"] += 1
        counts["accused"] += accused(outcome, named)
        counts["doubted"] += accused(outcome, named) or outcome.status is Status.UNVERIFIED
        counts["known"] += is_known(row, reference)
        is_right = bool(REASONS.get(kind, set()) & named)
        counts["right"] += is_right
        counts["right of known"] += is_right and is_known(row, reference)
    with capsys.disabled():
        for kind, counts in sorted(by_kind.items()):
            print(f"{kind:24}", dict(counts))  # noqa: T201
    altered, invented = by_kind.keys() & REASONS.keys(), by_kind.keys() & INVENTED
    right = sum(by_kind[kind]["right of known"] for kind in altered)
    assert right >= LEAST * sum(by_kind[kind]["known"] for kind in altered)
    doubted = sum(by_kind[kind]["doubted"] for kind in invented)
    assert doubted >= LEAST * sum(by_kind[kind]["n"] for kind in invented)
    assert by_kind["valid"]["accused"] <= MOST_ACCUSED * by_kind["valid"]["n"]


@pytest.mark.parametrize("seed", range(3))
def test_with_half_of_the_catalogue(
    entries: list[tuple[dict[str, Any], read.Reference]],
    works: list[Work],
    tmp_path: Path,
    seed: int,
) -> None:
    half = random.Random(seed).sample(works, len(works) // 2)
    valid = [(row, reference) for row, reference in entries if row["label"] == "valid"]
    found = outcomes(valid, half, tmp_path / "w.sqlite")
    n_accused = sum(accused(outcome, named) for _, _, outcome, named in found)
    assert n_accused <= MOST_ACCUSED * len(valid)
