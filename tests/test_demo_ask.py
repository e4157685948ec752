"""The shipped abstracts: their file, and the three questions with the real models."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from pincite.cli import cli, options
from pincite.cli.demo import DEMO_ASK, differences
from pincite.documents.collection import collected
from pincite.judgement.references import ReferenceVerdict, Standing, Support
from pincite.notes import as_written
from pincite.text.citation_marks import Sentence
from pincite.types import Document, Reason, Span, Unchecked
from pincite.verbs.ask.report import Answer, Checked, Reference, Searched

ABSTRACTS = DEMO_ASK / "abstracts.xml"


def records() -> list[Document | Unchecked]:
    collection = collected([ABSTRACTS])
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


def test_what_became_of_papers_is_told() -> None:
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


WANTED = {"says": {"7": ["fell"]}, "retracted": ["8"]}


def answered(*left_out: str, standing: Standing = Standing.VERBATIM) -> Answer:
    document = Document("https://a.example/", "A", "It fell.")
    sentence = Sentence(Span(0, 7), "It fell.")
    checked = Checked(
        sentence, (ReferenceVerdict(Support.VERBATIM, written="1", number=1),), standing
    )
    return Answer(
        "Did it?",
        "It fell.",
        (checked,),
        (Reference(1, "7", document),),
        "x",
        Searched("", 1, "dense"),
        left_out=tuple(Reference(0, each, document) for each in left_out),
    )


def test_differences_are_named() -> None:
    good = answered("8")
    assert list(differences(good, WANTED)) == []
    assert len(list(differences(good, {"abstains": True}))) == 1
    assert len(list(differences(good, {"says": {"7": ["rose"], "8": ["fell"]}}))) == 2
    assert len(list(differences(answered(), WANTED))) == 1
    unsure = answered("8", standing=Standing.NO_EVIDENCE)
    assert len(list(differences(unsure, WANTED))) == 1
    why = as_written("nothing")
    silent = replace(good, sentences=(), references=(), left_out=(), abstained_coded=why)
    assert list(differences(silent, {"abstains": True})) == []
    assert len(list(differences(silent, WANTED))) == 3


@pytest.mark.models
@pytest.mark.xdist_group("demo")
def test_the_three_questions(tmp_path: Path) -> None:
    before = os.times()
    command = [sys.executable, "-m", "pincite", "demo", "--ask", "--out", str(tmp_path)]
    fresh = os.environ | {"PINCITE_CACHE": str(tmp_path / "cache")}  # nothing is known beforehand
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, timeout=240, env=fresh
    )
    assert done.returncode == 0, done.stderr
    # Work, not time, which others take too: 30 s on two cores.
    after = os.times()
    assert after.children_user - before.children_user < 60
    answers = json.loads((tmp_path / "ask.json").read_text(encoding="utf-8"))["answers"]
    assert len(answers) == 3
    assert [bool(one["abstained"]) for one in answers] == [False, False, True]
    assert "RETRACTED" in done.stdout
    page = (tmp_path / "ask.html").read_text(encoding="utf-8")
    assert "early descent does not shorten" in page
    assert "Early descent shortens" in page
