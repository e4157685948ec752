"""A knowledge base from files to opinions and measures, through every verb that touches it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.check_runs import prepare
from click.testing import CliRunner, Result
from support.check_values import readings

from pincite.cli import cli

STATEMENT = "The old bridge opened in 1911."
LABELLED = [
    {"statement": STATEMENT, "label": "confirmed", "type": "descriptive"},
    {"statement": "The town should open a bridge.", "label": "not_judged", "type": "normative"},
    {"statement": "The bridge opened in 1913.", "label": "disconfirmed", "date": "2000"},
]
KEY = "sk-planted-0123456789abcdef"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("PINCITE_CHAT_KEY", KEY)
    prepare(tmp_path, monkeypatch)
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "bridge.md").write_text("# The bridge\n\nThe old bridge by the town opened in 1911.\n")
    (docs / "river.txt").write_text("The old river was by a town. A bridge opened in 1913.\n")
    (docs / "sources.csv").write_text(
        "file,url,date,publisher\nbridge.md,https://e.org/b,1999-05-01,Gazette\n"
        "river.txt,https://e.org/r,2010,Office\n"
    )

    def call(*arguments: str, code: int = 0) -> Result:
        result = CliRunner().invoke(cli, list(arguments), catch_exceptions=False)
        assert result.exit_code == code, result.output
        return result

    call("corpus", "update", "kb", "docs")
    return call


def test_filters_that_let_nothing_through_are_told_of(run: Callable[..., Result]) -> None:
    nothing = ("--where", "publishr == Gazette")
    assert "filters let through" in run("corpus", "search", "kb", "bridge", *nothing).stderr
    run("check", STATEMENT, "--corpus", "kb", *nothing, "--json", "out.json", "-q")
    (warning,) = json.loads(Path("out.json").read_text())["warnings"]
    assert "the filters let none through" in warning


def test_metadata_stands_in_a_check_and_filters_it(run: Callable[..., Result]) -> None:
    arguments = ("check", STATEMENT, "--corpus", "kb", "--where", "publisher == Gazette")
    run(*arguments, "--json", "out.json", "-q")
    (reading,) = readings(json.loads(Path("out.json").read_text()))
    assert [one["url"] for one in reading["evidence"]] == ["https://e.org/b"]
    assert reading["evidence"][0]["meta"]["publisher"] == "Gazette"
    assert reading["evidence"][0]["published"] == "1999-05-01"


def test_labelled_statements_are_measured(run: Callable[..., Result]) -> None:
    Path("labelled.jsonl").write_text("\n".join(map(json.dumps, LABELLED)))
    arguments = ("eval", "check", "kb", "labelled.jsonl", "-q")
    found = json.loads(run(*arguments, "--json", "--html", "page.html").stdout)
    assert (found["n"], set(found["by_type"])) == (3, {"descriptive", "normative"})
    assert [row["statement"] for row in found["rows"]] == [one["statement"] for one in LABELLED]
    assert found["rows"][1]["said"] == "not_judged"
    assert found["versions"]["corpus"]
    assert "Calibration" in Path("page.html").read_text() or not found["reliability"]
    assert "accuracy" in run(*arguments).stdout


def test_no_output_holds_a_key(run: Callable[..., Result], tmp_path: Path) -> None:
    Path("labelled.jsonl").write_text("\n".join(map(json.dumps, LABELLED)))
    said = [
        run("check", STATEMENT, "--corpus", "kb", "--json", "out.json", "--trace", "t.jsonl"),
        run("eval", "check", "kb", "labelled.jsonl", "--json", "--html", "page.html"),
        run("feedback", "out.json", "--up", "--note", "good"),
        run("feedback", "list", "--json"),
        run("config", "show", "--json"),
        run("corpus", "update", "kb", "docs", "--json"),
    ]
    assert not [result for result in said if KEY in result.output]
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "feedback.sqlite" for path in written)
    assert not [path for path in written if KEY.encode() in path.read_bytes()]
