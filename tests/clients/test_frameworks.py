"""Data frames of reports."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest
from ask_samples import everything
from check_samples import check_report
from samples import report as verify_report

import pincite
from pincite.api import Report
from pincite.corpus.protocol import Corpus
from pincite.verbs.ask import render as ask_render
from pincite.verbs.check import render as check_render
from pincite.verbs.verify import render as verify_table


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[Corpus]:
    with pincite.open_corpus(tmp_path / "kb", write=True) as found:
        texts = ["The old bridge is of wood.", "The market is held on Tuesdays."]
        found.add(
            [pincite.Document(f"https://{n}.example/", "Varde", t) for n, t in enumerate(texts)]
        )
        yield found


@pytest.mark.parametrize(
    ("record", "columns", "n_rows"),
    [
        (verify_report(), verify_table.COLUMNS, len(list(verify_table.rows(verify_report())))),
        (check_report(), check_render.COLUMNS, len(list(check_render.rows(check_report())))),
        (everything(), ask_render.COLUMNS, len(list(ask_render.rows(everything())))),
    ],
    ids=["verify", "check", "ask"],
)
def test_a_frame_has_the_rows_of_the_table(record: Any, columns: list[str], n_rows: int) -> None:
    frame = Report(record, ()).to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == columns
    assert len(frame) == n_rows > 0


def test_a_row_is_a_sentence_or_says_why_there_is_none() -> None:
    report = everything()
    frame = Report(report, ()).to_frame()
    for answer in report.answers:
        rows = frame[frame["question"] == answer.question]
        texts = [each.sentence.text for each in answer.sentences]
        assert set(texts) <= set(rows["sentence"].dropna())
        if not texts:
            assert answer.abstained in set(rows["abstained"].dropna())


def test_a_frame_keeps_numbers_and_leaves_texts_alone(corpus: Corpus) -> None:
    frame = pincite.check("=The old bridge is of wood.", corpus).to_frame()
    assert frame["statement"][0].startswith("=")  # in a spreadsheet it would be a formula
    assert frame["doc"].dtype == float
