"""The demo, with the real models, against what a careful editor would say of each claim."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pincite.cli.demo import DEMO
from pincite.errors import MissingModel
from pincite.models import weights

pytestmark = [pytest.mark.models, pytest.mark.xdist_group("demo")]
FAILED = {"not_supported", "refuted", "partly_supported"}


def plain(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().lower()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    try:
        weights.locate(weights.VERIFIER)
    except MissingModel as error:
        pytest.fail(f"{error} (make test does it)")
    out = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "pincite", "demo", "--out", str(out), "-q"]
    fresh = os.environ | {"PINCITE_CACHE": str(out / "cache")}  # nothing is known beforehand
    subprocess.run(command, check=True, cwd=out, timeout=900, env=fresh)
    assert (out / "report.html").stat().st_size > 20_000
    found: dict[str, object] = json.loads((out / "report.json").read_text(encoding="utf-8"))
    shutil.rmtree(out)
    return found


@pytest.fixture(scope="module")
def rows(report: dict[str, Any]) -> list[tuple[dict, dict]]:  # type: ignore[type-arg]
    """(what was expected, what was found), in the order of the ranking."""
    expected = json.loads((DEMO / "expected.json").read_text(encoding="utf-8"))["claims"]
    pairs = []
    for finding in report["findings"]:
        claim = plain(finding["claim"])
        (match,) = (e for e in expected if claim.startswith(plain(e["starts"])))
        pairs.append((match, finding))
    assert len(pairs) == len(expected)
    return pairs


def test_planted_failures_rank_first(rows: list[tuple[dict, dict]]) -> None:  # type: ignore[type-arg]
    """All are called failures, wholly or in part; at most one sound claim stands among them."""
    places = [n for n, (expected, _) in enumerate(rows) if expected["expect"] == "fails"]
    assert all(rows[n][1]["label"] in FAILED for n in places)
    assert max(places) <= len(places)
    (contradicted,) = (expected for expected, found in rows if found["label"] == "refuted")
    assert contradicted["kind"] == "wrong person"


def test_partly_supported_claims_name_what_is_missing(rows: list[tuple[dict, dict]]) -> None:  # type: ignore[type-arg]
    """In the claim's own words, at the place where it says them."""
    for _, found in rows:
        if found["label"] == "partly_supported":
            assert found["missing"]
        for part in found["missing"]:
            start, end = part["span"]
            assert found["claim"][start:end] == part["words"]
            assert found["label"] in ("partly_supported", "supported")


def test_sound_claims_are_called_supported(rows: list[tuple[dict, dict]]) -> None:  # type: ignore[type-arg]
    """But for one, whose "ten years earlier" the source gives as a year."""
    labels = [found["label"] for expected, found in rows if expected["expect"] == "supported"]
    assert labels.count("supported") >= len(labels) - 1


def test_each_could_not_check_shows_its_reason(rows: list[tuple[dict, dict]]) -> None:  # type: ignore[type-arg]
    unchecked = [(e, f) for e, f in rows if e["expect"] == "unchecked"]
    assert {f["label"] for _, f in unchecked} == {"unchecked"}
    for expected, found in unchecked:
        assert [c["unchecked"]["reason"] for c in found["citations"]] == [expected["reason"]]
    assert [f["label"] for _, f in rows].count("unchecked") == len(unchecked)


def test_the_planted_better_sources_come_first(rows: list[tuple[dict, dict]]) -> None:  # type: ignore[type-arg]
    better = [(e["better"], f) for e, f in rows if e.get("better")]
    assert len(better) == 11
    for url, found in better:
        assert found["suggestions"][0]["url"] == url


def test_wikipedia_and_mirrors_are_never_suggested(report: dict[str, object]) -> None:
    findings = report["findings"]
    assert isinstance(findings, list)
    suggested = json.dumps([finding["suggestions"] for finding in findings])
    assert not re.search(r'"url": "[^"]*(wikipedia|wikiwand)', suggested)
    left_out = [page for finding in findings for page in finding["excluded"]]
    assert {page["reason"] for page in left_out} == {"wiki"}
    assert all(re.search("wikipedia|wikiwand", page["url"]) for page in left_out)


def test_quotes_are_verbatim(report: dict[str, list[dict[str, object]]]) -> None:
    text = json.dumps(report)
    assert text.count('"quote": "') > 20
    for finding in report["findings"]:
        for suggestion in finding["suggestions"]:  # type: ignore[attr-defined]
            evidence = suggestion["evidence"]
            assert evidence["quote"] in evidence["passage"]


def test_the_readme_shows_the_first_finding(report: dict[str, Any]) -> None:
    """But for the passage that is quoted: which of a page that says nothing is best is a toss."""
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    shown = readme.partition("```text\n")[2].partition("```")[0]
    block = plain(re.sub(r"support \d+ %", "", shown))  # it stands between two lines of the claim
    finding = report["findings"][0]
    better = finding["suggestions"][0]
    for text in (finding["claim"], better["title"], better["url"], better["evidence"]["quote"]):
        assert plain(text) in block
