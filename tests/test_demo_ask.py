"""The shipped abstracts: their file, and the three questions with the real models."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from conftest import run_demo
from pincite.cli import cli, options
from pincite.cli.demo import DEMO_ASK
from pincite.documents.collection import collect
from pincite.types import Document, Reason, Unchecked
from pincite.verbs.ask.report import Reference

ABSTRACTS = DEMO_ASK / "abstracts.xml"


def records() -> list[Document | Unchecked]:
    collection = collect([ABSTRACTS])
    found = [one for piece in collection.pieces for one in collection.read(piece)]
    assert collection.missing() == []
    return found


def documents() -> dict[str, Document]:
    return {one.meta["pmid"]: one for one in records() if isinstance(one, Document)}


def test_every_record_but_one_has_an_abstract_and_its_metadata() -> None:
    found = documents()
    assert len(found) == 59
    assert [one.reason for one in records() if isinstance(one, Unchecked)] == [Reason.TITLE_ONLY]
    for pmid, one in found.items():
        assert pmid.startswith("990000")
        assert one.title
        assert one.published
        assert 80 <= len(one.text.partition("\n\nAbstract (")[0].split()) <= 180
        assert set(one.meta) >= {"authors", "journal", "mesh", "keywords", "publication_type"}


def test_retraction_status_of_papers() -> None:
    status = {
        pmid: str(Reference(1, pmid, one).retraction)
        for pmid, one in documents().items()
        if one.meta["retracted"] != "no"
    }
    assert status == {
        "99000002": "yes",
        "99000003": "yes",
        "99000013": "corrected",
        "99000056": "expression_of_concern",
    }


def test_it_is_small() -> None:
    assert sum(p.stat().st_size for p in DEMO_ASK.rglob("*") if p.is_file()) <= 200_000


@pytest.mark.parametrize("what", [(), ("--check",), ("--ask",)])
def test_demos_run_on_the_shipped_defaults(
    what: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for being offline: a user's own corpus has no settings made for it either."""
    asked: list[set[str]] = []

    class Asked(Exception):
        pass

    def settings_of(given: dict[str, object]) -> None:
        asked.append(set(given))
        raise Asked

    monkeypatch.setattr(options, "load_settings", settings_of)
    with pytest.raises(Asked):
        CliRunner().invoke(cli, ["demo", *what, "--out", str(tmp_path)], catch_exceptions=False)
    assert len(asked) == 1
    assert asked[0] <= {"online"}


@pytest.mark.models
@pytest.mark.xdist_group("demo")
def test_the_three_questions(tmp_path: Path) -> None:
    printed = run_demo("--ask", tmp_path, most_work=60)  # 30 s on two cores
    answers = json.loads((tmp_path / "ask.json").read_text(encoding="utf-8"))["answers"]
    wanted = json.loads((DEMO_ASK / "expected.json").read_text(encoding="utf-8"))["questions"]
    for one, answer in zip(wanted, answers, strict=True):
        assert bool(answer["abstained"]) == one.get("abstains", False)
        assert {s["standing"] for s in answer["sentences"]} <= {"verbatim", "supported"}
        ids = {r["number"]: r["ref_id"] for r in answer["references"]}
        said = {(ids[v["number"]], s["text"]) for s in answer["sentences"] for v in s["verdicts"]}
        for pmid, ways in one.get("says", {}).items():
            assert any(way in text for way in ways for ref, text in said if ref == pmid), pmid
        left_out = {reference["ref_id"] for reference in answer["left_out"]}
        assert left_out >= set(one.get("retracted", ()))
    assert [bool(one["abstained"]) for one in answers] == [False, False, True]
    assert "RETRACTED" in printed
    page = (tmp_path / "ask.html").read_text(encoding="utf-8")
    assert "early descent does not shorten" in page
    assert "Early descent shortens" in page
