"""Recall and precision on Mozilla Readability's cases; skipped where the collection is absent."""

import gzip
import os
import re
from collections import Counter
from pathlib import Path
from statistics import mean

import pytest

from pincite.documents.body import Body
from pincite.documents.html import read_html
from pincite.documents.markup import parsed, visible
from pincite.types import Document

CASES = Path(os.environ.get("PINCITE_DATA", "/work/shared/data")) / "html"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CASES.is_dir(), reason=f"no collection at {CASES}"),
]


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))


def test_recall_and_f1() -> None:
    recalls, f1s = [], []
    for folder in sorted(CASES.iterdir()):
        found = read_html(Body("u", gzip.decompress((folder / "source.html.gz").read_bytes())))
        assert isinstance(found, Document), (folder.name, found)
        page = parsed(gzip.decompress((folder / "expected.html.gz").read_bytes()).decode())
        assert page is not None
        expected, got = words(visible(page, 0).text), words(found.text)
        common = (expected & got).total()
        recalls.append(common / max(1, expected.total()))
        f1s.append(2 * common / max(1, expected.total() + got.total()))
    assert mean(recalls) >= 0.95  # 0.955 on 2026-11-21, trafilatura 2.3.1
    assert mean(f1s) >= 0.95  # 0.958
