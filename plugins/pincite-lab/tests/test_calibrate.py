"""The fitting of the calibration, on numbers whose answer is known."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from calibrate import extended, flags, platt, surest_refutation, text_of, translated
from scipy.special import expit


def test_platt_finds_the_scale_that_made_the_labels() -> None:
    chance = np.random.default_rng(3)
    scores = chance.normal(0, 3, 20_000).astype(np.float32)
    labels = chance.random(20_000) < expit(0.5 * scores - 1)
    slope, shift = platt(scores, labels, np.full(20_000, 1 / 20_000))
    assert slope == pytest.approx(0.5, abs=0.03)
    assert shift == pytest.approx(-1, abs=0.1)


def test_flags_count_failing_and_sound_rows_below_each_threshold_and_half_a_row() -> None:
    p = np.array([0.05, 0.3, 0.6, 0.9, 0.1])
    labels = ["not_support", "not_support", "support", "support", "partial"]
    found = {threshold: (caught, false) for threshold, caught, false in flags(p, labels)}
    none, one, two = 0.1667, 0.5, 0.8333  # (0, 1, 2 and a half) of (2 and one)
    assert found[0.02] == (none, none)
    assert found[0.2] == (one, none)
    assert found[0.7] == (two, one)
    assert list(found) == sorted(found)


def test_another_passage_that_supports_speaks_against_a_refutation() -> None:
    alone, beside = np.array([[-3.0, 4.0]], np.float32), np.array([[1.0, 0.0]], np.float32)
    x, owner = np.vstack([alone, alone, beside]), np.array([0, 1, 1])
    sure = np.full(3, 9.0, np.float32)
    first, second = surest_refutation(x, sure, owner, 2)
    assert first - second == pytest.approx(2.5 + 1.0, abs=1e-4)  # -3 counts as -2.5
    less_sure = np.array([0.5, 9.0, 9.0], np.float32)
    assert surest_refutation(x, less_sure, owner, 2).tolist() == pytest.approx([0.5, second])


def write_rows(folder: Path, n_texts: int) -> Path:
    """Rows of texts that occur in English and German, as claim and as evidence."""
    words = {"en": "The bridge number {} is old.", "de": "Die Brücke mit der Nummer {} ist alt."}
    rows = [
        {
            "id": f"set:{n:04}:S1:{claim}-{source}",
            "claim": words[claim].format(n),
            "evidence": words[source].format(n),
            "label": "support",
            "meta": {"lang_claim": claim, "lang_passage": source},
        }
        for n in range(n_texts)
        for claim, source in (("de", "de"), ("en", "de"), ("de", "en"))
    ]
    path = folder / "set.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_translated_row_is_held_back_with_its_english_original(tmp_path: Path) -> None:
    held = translated(write_rows(tmp_path, 60), 17)
    texts = [text_of(row) for row, _ in held]
    assert 0 < len(held) < 90
    assert {texts.count(text) for text in texts} == {3}
    assert len({(text_of(row), fits) for row, fits in held}) == len(set(texts))
    assert {fits for _, fits in held} == {True, False}


def test_wrong_evidence_is_no_translation_of_the_right_one(tmp_path: Path) -> None:
    rows = [row for row, _ in translated(write_rows(tmp_path, 60), 17)]
    by_id = {row.row_id: row for row in rows}
    made = [row for row in extended(rows)[len(rows) :] if row.label == "nei"]
    assert made
    for row in made:
        original = by_id[row.row_id]
        assert row.evidence.startswith("The") == original.evidence.startswith("The")
        assert re.findall(r"\d+", row.evidence) != re.findall(r"\d+", original.evidence)
