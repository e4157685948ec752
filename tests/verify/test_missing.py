"""Of a claim with several sources, only what none of them has is listed as missing.

`rows.jsonl` was used while the rules were written, `held_back.jsonl` and `beside.jsonl` were not.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import pincite
from pincite.types import Finding, Label
from pincite.verbs.verify import wording

CASES = Path(__file__).parents[1] / "cases" / "missing"
ROWS = [
    pytest.param(
        row := json.loads(line),
        id=f"{name}-{n}",
        marks=[pytest.mark.xfail(reason=row["open"])] if "open" in row else [],
    )
    for name in ("rows", "held_back", "beside")
    for n, line in enumerate((CASES / f"{name}.jsonl").read_text().splitlines(), 1)
]


def findings(row: dict[str, Any], folder: Path) -> list[Finding]:
    article = re.sub(
        r"\[(\d)\]", r"<ref>{{cite web|url=https://s\1.example/|title=Source}}</ref>", row["claim"]
    )
    pages = (
        json.dumps({"url": f"https://s{n}.example/", "title": "Source", "text": text})
        for n, text in enumerate(row["sources"], 1)
    )
    (folder / "pages.jsonl").write_text("\n".join(pages))
    (folder / "article.wiki").write_text(article)
    return [*pincite.verify(folder / "article.wiki", sources=folder).results]


@pytest.mark.models
@pytest.mark.xdist_group("demo")
@pytest.mark.parametrize("row", ROWS)
def test_only_what_no_source_has_is_missing(row: dict[str, Any], tmp_path: Path) -> None:
    found = findings(row, tmp_path)
    listed = [part.words for finding in found for part in finding.missing]
    assert [words for words in row["stated"] if any(words in part for part in listed)] == []
    reasons = [
        str(reason.values.get("words"))
        for finding in found
        for result in finding.citations
        for reason in wording.reasons(result, finding)
    ]
    assert [words for words in row["stated"] if any(words in each for each in reasons)] == []
    if {finding.label for finding in found} <= {Label.SUPPORTED, Label.PARTLY_SUPPORTED}:
        lost = [words for words in row["missing"] if not any(words in part for part in listed)]
        assert lost == []
