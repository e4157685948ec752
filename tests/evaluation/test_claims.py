import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation.invented import WordVerifier

from pincite.errors import InputError
from pincite.evaluation import claims, plots, tables
from pincite.evaluation.scorers import Bm25, ByVerifier, Unavailable, UrlDepth

Write = Callable[..., Path]

TRUE = "The stone bridge of Varde opened in 1911."
ROWS = [
    (TRUE, "support"),
    ("The bridge has three arches.", "support"),
    ("The bridge of Varde opened in 1950.", "refute"),
    ("A railway crosses the island twice.", "nei"),
]
WICE = [
    (TRUE, "support", "The old stone bridge of Varde opened in 1911."),
    ("The bridge has three arches.", "support"),
    ("The bridge opened in 1911 with a parade of horses.", "partial"),
    ("Trams rolled through distant suburbs.", "not_support"),
]


def measured(path: Path, *scorers: Any) -> dict[str, Any]:
    return claims.measured(claims.predict(path, scorers), 0.55)


def test_systems_stand_in_one_table(write: Write, words: WordVerifier) -> None:
    heard: list[tuple[str, int, int]] = []
    predictions = claims.predict(
        write(ROWS), [ByVerifier(words), Bm25(), UrlDepth()], lambda *told: heard.append(told)
    )
    result = claims.measured(predictions, 0.55)
    assert heard == [("pincite", 4, 4), ("BM25", 4, 4), ("URL depth", 4, 4)]
    ours, bm25, depth = result["systems"]
    assert result["labels"]["support"] == 2
    assert ours["auroc"] == 1.0
    assert ours["accuracy"] == 1.0
    assert ours["pairs"] == 4
    assert [bm25[key] for key in ("macro_f1", "ece", "balanced_accuracy")] == [None] * 3
    assert (depth["n"], depth["auroc"]) == (0, None)
    json.dumps(result, allow_nan=False)


def test_a_row_without_address_is_left_out_for_url_depth_alone(write: Write) -> None:
    rows = [
        ("A.", "support", "x", {"url": "https://a.example/1/2"}),
        ("B.", "nei", "x", {"url": "https://a.example/"}),
        ("C.", "nei", "x"),
    ]
    depth, bm25 = measured(write(rows), UrlDepth(), Bm25())["systems"]
    assert (depth["n"], depth["auroc"]) == (2, 1.0)
    assert bm25["n"] == 3


def test_evidence_without_words_ranks_last(write: Write, words: WordVerifier) -> None:
    rows = [(TRUE, "support"), (TRUE, "nei", " "), ("Trams rolled far.", "nei")]
    predictions = claims.predict(write(rows), [ByVerifier(words)])
    assert claims.measured(predictions, 0.55)["systems"][0]["auroc"] == 1.0
    empty = claims.lines(predictions, "pincite")[1]
    assert (empty["id"], empty["prob_supported"], empty["score"]) == ("r1", None, None)


def test_unanimous_and_mixed_apart(write: Write, words: WordVerifier) -> None:
    ours = measured(write(WICE), ByVerifier(words))["systems"][0]
    parts = ours["by_projection"]
    assert (parts["unanimous"]["n"], parts["mixed"]["n"]) == (3, 3)
    assert parts["unanimous"]["auroc"] == ours["auroc_without_partial"]
    assert parts["unanimous"]["auroc_interval"] == [1.0, 1.0]
    assert ours["macro_f1"] is None  # labels that are not of the three
    assert measured(write(ROWS), ByVerifier(words))["systems"][0]["by_projection"] is None


def test_curves_count_partial_as_holding_or_leave_it_out(write: Write, words: WordVerifier) -> None:
    found = claims.curves(claims.predict(write(WICE), [ByVerifier(words), UrlDepth()]))
    assert list(found) == ["partial holds", "partial left out"]
    assert list(found["partial holds"]) == ["pincite"]  # nothing is known of addresses
    assert [one["pincite"][0]["precision"] for one in found.values()] == [1.0, 1.0]
    assert [one["pincite"][-1]["precision"] for one in found.values()] == [0.25, 0.3333]
    assert list(claims.curves(claims.predict(write(ROWS), [Bm25()]))) == ["all"]


def test_one_class_is_not_applicable_and_no_crash(
    write: Write, words: WordVerifier, tmp_path: Path
) -> None:
    predictions = claims.predict(write([(TRUE, "support")] * 2), [ByVerifier(words), Bm25()])
    result = claims.measured(predictions, 0.55)
    assert result["systems"][0]["auroc"] is None
    assert tables.claims_table([result]).count("n/a") == 18
    plots.precision_recall(tmp_path / "p.png", {"dev": claims.curves(predictions)})
    plots.reliability(tmp_path / "r.png", {"dev": []})
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_not_available_is_said_in_the_table(write: Write) -> None:
    result = measured(write(ROWS), Bm25(), Unavailable("big", "not available: make models"))
    assert "big" in tables.claims_table([result])
    assert "not available: make models" in tables.claims_table([result])


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_an_empty_file_is_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "empty.jsonl").write_text(content)
    with pytest.raises(InputError, match=r"empty\.jsonl has no rows; expected JSON lines"):
        claims.read_rows(tmp_path / "empty.jsonl")


def test_a_bad_row_is_named(write: Write) -> None:
    path = write([(TRUE, "support"), (TRUE, "perhaps")])
    with pytest.raises(InputError, match=r"line 2: label is 'perhaps'"):
        claims.read_rows(path)


def test_a_plot_that_cannot_be_written_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        plots.reliability(tmp_path / "nowhere" / "r.png", {})


def test_scores_are_of_the_best_passage(write: Write, words: WordVerifier) -> None:
    predictions = claims.predict(write(ROWS), [ByVerifier(words)])
    rows = claims.lines(predictions, "pincite")
    assert [row["label"] for row in rows] == ["support", "support", "refute", "nei"]
    scores = predictions.systems["pincite"]
    assert np.array_equal([row["score"] for row in rows], scores.values)  # type: ignore[union-attr]
