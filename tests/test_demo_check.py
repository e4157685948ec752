"""The five statements about the shipped knowledge base, with the real models."""

import json
from pathlib import Path

import pytest
from support.check_values import readings

from conftest import run_demo
from pincite.cli.demo import DEMO_CHECK


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
