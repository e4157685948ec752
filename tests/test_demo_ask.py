"""The demos' settings, and the three questions about the shipped abstracts with the real models."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from conftest import run_demo
from pincite.cli import cli, options
from pincite.cli.demo import DEMO_ASK


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
