"""`pincite feedback`, from real report files to rows that the other verbs read."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import samples
from cli.check_runs import invoke
from support.rows import text_of

from pincite.documents.jsonl import read_labelled
from pincite.errors import ConfigError, InputError, PinciteError
from pincite.library.feedback import Opinions, read_result

TRAM = "It rained. The tram runs to the harbour. It is red."
CHECK = text_of("cli/feedback/check.json")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    report = samples.report().to_values()
    for number, finding in enumerate(report["findings"]):
        finding["claim_id"] = f"c{number}"  # those of the sample are all one
    (tmp_path / "report.json").write_text(json.dumps(report), encoding="utf-8")
    (tmp_path / "check.json").write_text(CHECK, encoding="utf-8")
    return tmp_path


run = partial(invoke, "feedback")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_from_opinions_to_rows(home: Path) -> None:
    items = read_result(home / "report.json").items
    cited = next(item for item in items if item.said == "not_supported")
    other = next(item for item in items if item.item_id.endswith("/s1"))
    run("report.json", "--up")
    run("report.json", "--down", "--item", cited.item_id)
    run("--label", "refute", "report.json", "--item", other.item_id, "--note", "wrong\nyear")
    run("check.json", "--up", "--item", "1.r1/e1")
    run("check.json", "--up", "--item", "1.r1/e2")
    run("check.json", "--label", "confirmed", "--item", "1.r1")
    assert (home / "data" / "pincite" / "feedback.sqlite").exists()

    listed = [json.loads(line) for line in run("list", "--json").stdout.splitlines()]
    assert [one["given"] for one in listed] == [
        *("up", "down", "refute", "up", "up", "confirmed"),
    ]
    assert listed[0]["item_id"] == ""
    assert listed[1]["versions"] == dict(read_result(home / "report.json").versions)
    assert listed[1]["result"] == listed[0]["result"] != listed[3]["result"]
    assert "wrong year" in run("list").stdout

    run("export", "claims.jsonl")
    labelled = list(read_labelled(home / "claims.jsonl"))  # strict: as eval and train read them
    assert [(row.claim, row.label) for row in labelled] == [
        (other.statement, "refute"),
        ("The tram runs to the harbour today.", "support"),
        ("The tram runs to the harbour today.", "nei"),
    ]
    assert labelled[1].evidence == TRAM


def test_the_last_word_counts(home: Path) -> None:
    for label in ("support", "nei"):
        run("check.json", "--label", label, "--item", "1.r1/e1")
    run("export", "a.jsonl")
    assert [row["label"] for row in rows(home / "a.jsonl")] == ["nei"]
    run("check.json", "--down", "--item", "1.r1/e1")
    run("export", "a.jsonl")
    assert rows(home / "a.jsonl") == []


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["check.json", "--up", "--item", "1.r9"], InputError),
        (["check.json", "--label", "support", "--item", "1.r1"], InputError),  # which passage?
        (["check.json", "--label", "confirmed", "--item", "1.r1/e1"], ConfigError),
        (["check.json", "--label", "support"], ConfigError),
        (["none.json", "--up"], InputError),
        (["other.json", "--up"], InputError),
        (["broken.json", "--up"], InputError),
        (["odd.json", "--up"], InputError),
    ],
)
def test_what_cannot_be_kept_is_refused(
    home: Path, arguments: list[str], kind: type[PinciteError]
) -> None:
    (home / "other.json").write_text("[]")
    (home / "broken.json").write_text("{")
    (home / "odd.json").write_text('{"findings": [{}]}')
    with pytest.raises(kind):
        run(*arguments)


@pytest.mark.parametrize("arguments", [["check.json"], ["check.json", "--up", "--label", "nei"]])
def test_one_word_at_a_time(home: Path, arguments: list[str]) -> None:
    run(*arguments, code=2)


def test_a_claim_with_several_citations_wants_one_of_them_named(home: Path) -> None:
    result = read_result(home / "report.json")
    claims = [item.item_id.partition("/")[0] for item in result.items]
    suggested = next(claim for claim in claims if claims.count(claim) > 1)
    assert result.chosen(suggested).item_id == f"{suggested}/r1"  # not its better source, /s1
    second = replace(result.chosen(suggested), item_id=f"{suggested}/r2")
    with pytest.raises(InputError, match="is the start of several items"):
        replace(result, items=(*result.items, second)).chosen(suggested)


def test_opinions_of_another_version_are_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as file, file:
        file.execute("CREATE TABLE opinions (key INTEGER PRIMARY KEY, opinion TEXT)")
        file.execute("INSERT INTO opinions (opinion) VALUES ('{\"mood\": 1}')")
    with pytest.raises(InputError, match=r"library\.feedback_file"):
        Opinions(tmp_path / "x.sqlite").all()


def test_a_file_that_is_something_else_is_left_alone(home: Path) -> None:
    (home / "pincite.toml").write_text("library.feedback_file = 'x.sqlite'")
    (home / "x.sqlite").write_bytes(b"precious " * 100)
    with pytest.raises(InputError, match=r"Set library\.feedback_file to"):
        run("check.json", "--up")
    assert (home / "x.sqlite").read_bytes() == b"precious " * 100
