"""`pincite study` from a report's file to figures."""

import csv
import json
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from samples import report

from pincite.cli import cli
from pincite.documents.collection import open_sources
from pincite.errors import InputError
from pincite.text.passages import cited_passages
from pincite.types import Document, Evidence
from pincite_server.database import Database
from pincite_study.preferences import Amount
from pincite_study.rating import Answered, RatingStore
from pincite_study.studies import StudyStore

URL = "https://a.example/bridge"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of a server, and a report beside it."""
    (tmp_path / "report.json").write_text(report("plain").to_json())
    return tmp_path / "data"


def study(data: Path, *arguments: str, status: int = 0) -> Result:
    verb, *rest = arguments
    done = CliRunner().invoke(cli, ["study", verb, *rest, "--data", str(data)])
    assert done.exit_code == status, done.output
    return done


def created(data: Path) -> str:
    done = study(data, "create", str(data.parent / "report.json"), "--name", "Plain ones")
    found = re.search(r"^(\S{22})  Plain ones  \(open\)$", done.stdout, re.MULTILINE)
    assert found
    return found[1]


def opened(data: Path) -> closing[Database]:
    return closing(Database(f"sqlite:///{data / 'pincite.sqlite'}"))


def rate(data: Path, study_id: str, answer: Callable[[bool], Answered]) -> None:
    """Three raters answer the first item; `answer` is given whether the baseline is on the left."""
    with opened(data) as database:
        ratings = RatingStore(database)
        for _ in range(3):
            rater, _ = ratings.join(study_id)
            task = ratings.next(rater)
            assert task
            ratings.answer(rater, 1, answer(task.baseline_first), 2.0)


def test_from_a_report_to_figures(data: Path, tmp_path: Path) -> None:
    study_id = created(data)
    rate(data, study_id, lambda baseline_first: Answered("b" if baseline_first else "a"))
    assert "3 of 3 ratings by 3 raters of 1 statements" in study(data, "show", study_id).stdout
    assert "3/3  Plain ones" in study(data, "list").stdout
    out = [tmp_path / name for name in ("r.json", "r.html", "r.csv")]
    given = [each for path in out for each in (f"--{path.suffix[1:]}", str(path))]
    done = study(data, "report", study_id, *given)
    assert re.search(r"suggested citation +3  100% \(44%–100%\) +1  100%", done.stdout)
    assert json.loads(out[0].read_text())["majorities"]["suggested"]["n"] == 1
    assert "<table" in out[1].read_text()
    assert len(out[2].read_text().splitlines()) == 4
    study(data, "delete", study_id, "--rater", "2", "--yes")
    with opened(data) as database:
        assert StudyStore(database).get(study_id).n_ratings == 2  # type: ignore[union-attr]
    study(data, "close", study_id)


def test_passages_of_the_pages_in_a_folder(data: Path, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    sentences = " ".join(f"Sentence {n} says {'more ' * 15}of it." for n in range(30))
    page = f'<link rel="canonical" href="{URL}"><title>A</title><p>The bridge opened. {sentences}'
    (pages / "a.html").write_text(f"<!doctype html><html><body>{page}</body></html>")
    document = open_sources(pages).get(URL)
    assert isinstance(document, Document)
    path = tmp_path / "read.json"
    finding = report("plain").findings[0]
    chosen = Evidence(cited_passages(document)[0], 0.2, 0.1, 0.7, -1.0)
    cited = replace(finding.citations[0].citation, url=URL)
    result = replace(finding.citations[0], citation=cited, outcome=chosen, copy=None)
    read = replace(finding, citations=(result,), suggestions=())
    path.write_text(replace(report("plain"), findings=(read,)).to_json())
    options = ("--compare", "passages", "--sources", str(pages))
    study_id = study(data, "create", str(path), *options).stdout.split()[0]
    done = study(data, "report", study_id)
    assert "chosen passage against random passage: 0 to 0 majorities" in done.stdout
    assert "suggested" not in done.stdout
    exported = tmp_path / "ratings.csv"
    study(data, "report", study_id, "--csv", str(exported))
    assert "random_side" in exported.read_text()
    both = study(data, "create", str(path), str(data.parent / "report.json"), *options)
    assert "Left out: 3 citations whose source's text was not at hand, 0 whose" in both.stderr
    none = study(data, "create", str(path), "--compare", "passages", status=1)
    assert "whole text is at hand" in str(none.exception)


def rated(data: Path, evidence: Amount) -> str:
    """A study whose three raters found this much evidence in the existing citation."""
    study_id = created(data)
    sides: tuple[Amount, Amount] = (evidence, "enough")
    rate(data, study_id, lambda first: Answered("neither", *sides[:: 1 if first else -1]))
    return study_id


def test_an_audit_has_the_citations_without_evidence_and_counts_why(data: Path) -> None:
    study_id, sheet = rated(data, "none"), data.parent / "audit.csv"
    study(data, "audit", study_id, "--sheet", str(sheet))
    (row,) = csv.DictReader(sheet.read_text().splitlines())
    assert (row["item"], row["found"]) == ("1", "")
    empty = study(data, "audit", study_id, "--filled", str(sheet), status=1)
    assert "Nothing is filled in" in str(empty.exception)
    lines = sheet.read_text().splitlines()
    sheet.write_text(f"{lines[0]}\n{lines[1].removesuffix(',,')},Paywall,\n")
    done = study(data, "audit", study_id, "--filled", str(sheet)).stdout
    assert re.search(r"behind a paywall +1  100% \(21%–100%\) +3.2%", done)
    sheet.write_text(sheet.read_text().replace("Paywall", "=1"))
    wrong = study(data, "audit", study_id, "--filled", str(sheet), status=1)
    assert "Row 2" in str(wrong.exception)


def test_an_audit_needs_citations_without_evidence(data: Path) -> None:
    study_id = rated(data, "partial")
    none = study(data, "audit", study_id, "--sheet", str(data.parent / "a.csv"), status=1)
    assert isinstance(none.exception, InputError)
    assert study(data, "audit", study_id, status=2)


def test_links_and_deletion(data: Path) -> None:
    study_id = created(data)
    first = study(data, "show", study_id).stdout
    assert study(data, "link", study_id).stdout != first
    assert "link:" not in study(data, "link", study_id, "--revoke").stdout
    study(data, "delete", study_id, "--yes")
    assert study(data, "list").stdout == ""


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema_version": "1"}'])
def test_what_is_no_report_is_refused(data: Path, text: str) -> None:
    path = data.parent / "bad.json"
    path.write_text(text)
    done = study(data, "create", str(path), status=1)
    assert "bad.json" in str(done.exception)


def test_a_study_that_is_not_there(data: Path) -> None:
    assert "There is no study" in str(study(data, "show", "x", status=1).exception)
