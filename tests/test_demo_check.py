"""The shipped knowledge base: its files, and its five statements with the real models."""

import csv
import json
from pathlib import Path

import pytest
from support.check_values import readings

from conftest import run_demo
from pincite.cli.demo import DEMO_CHECK
from pincite.documents.collection import collect
from pincite.retrieval.filters import Facts, condition
from pincite.types import Document

DOCUMENTS = DEMO_CHECK / "documents"


def documents() -> list[Document]:
    collection = collect([DOCUMENTS])
    found = [one for piece in collection.pieces for one in collection.read(piece)]
    assert collection.missing() == []
    assert all(isinstance(one, Document) for one in found), found
    return [one for one in found if isinstance(one, Document)]


def test_every_document_has_its_metadata() -> None:
    found = documents()
    assert len(found) == len({one.url for one in found}) == 30
    for one in found:
        assert one.url.startswith("https://")
        assert ".example/" in one.url
        assert one.published
        assert set(one.meta) >= {"author", "publisher", "licence"}
        assert one.title or one.kind == "text"
    table = (DOCUMENTS / "sources.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(table.splitlines()))
    assert {row["file"] for row in rows} | {"sources.csv"} == {p.name for p in DOCUMENTS.iterdir()}


def test_it_is_small() -> None:
    assert sum(p.stat().st_size for p in DEMO_CHECK.rglob("*") if p.is_file()) <= 60_000


def test_it_can_be_filtered() -> None:
    public = condition("licence == public record")
    chosen = [
        one
        for one in documents()
        if public.holds(Facts(one.url, one.title, one.kind, one.published, one.language, one.meta))
    ]
    assert {one.meta["publisher"] for one in chosen} == {
        "Hallin Town Council",
        "Orrest Town Council",
    }


@pytest.mark.models
@pytest.mark.xdist_group("demo")
def test_the_five_statements(tmp_path: Path) -> None:
    run_demo("--check", tmp_path, most_work=30)
    checks = json.loads((tmp_path / "check.json").read_text(encoding="utf-8"))["checks"]
    wanted = json.loads((DEMO_CHECK / "expected.json").read_text(encoding="utf-8"))["statements"]
    for one, check in zip(wanted, checks, strict=True):
        assert {reading["outcome"] for reading in check["readings"]} <= set(one["outcome"])
    first, third, fourth = (readings({"checks": [checks[n]]})[0]["evidence"] for n in (0, 2, 3))
    support = [e for e in first if e["side"] == "for"]
    assert len(support) >= 3
    assert all("2.14" in e["quote"] and e["quote"] in e["passage"] for e in support)
    assert {e["side"] for e in third} >= {"for", "against"}
    assert not fourth
