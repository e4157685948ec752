import json
from collections import Counter

import pytest
from evaluation.invented import BRIDGE, WordVerifier, cut_row

from pincite.errors import InputError
from pincite.evaluation import swaps, tables
from pincite.evaluation.scorers import CutRow
from pincite.text.perturbations import KINDS


def supported(n: int) -> list[CutRow]:
    places = ["Varde", "Esbjerg", "Ribe", "Tarm", "Skjern"]
    return [
        cut_row(
            f"The bridge of {places[i % 5]} was opened in 19{10 + i} with {5 + i} arches.",
            f"In {places[i % 5]} the bridge was opened in 19{10 + i}. It has {5 + i} arches.",
        )
        for i in range(n)
    ]


def test_kinds_are_equal_in_number_and_chance_is_seeded() -> None:
    chosen = swaps.swaps(supported(20), 40)
    assert Counter(one.swap.kind for one in chosen) == dict.fromkeys(KINDS, 10)
    assert chosen == swaps.swaps(supported(20), 40)
    assert chosen != swaps.swaps(supported(21), 40)
    for one in chosen:
        assert one.swap.text != one.row.row.claim


def test_other_kinds_fill_up_where_one_offers_no_place() -> None:
    rows = [cut_row(f"The mill was closed in 19{i}.", f"Closed in 19{i}.") for i in range(10, 20)]
    found = Counter(one.swap.kind for one in swaps.swaps(rows, 14))
    assert found == {"date": 7, "negation": 7}


def test_rows_are_changed_again_where_once_is_too_little() -> None:
    rows = [cut_row(f"The mill was closed in 19{i}.", f"Closed in 19{i}.") for i in range(10, 20)]
    once, often = swaps.swaps(rows, 20), swaps.swaps(rows, 1000)
    assert often[:20] == once
    assert Counter(one.swap.kind for one in once) == {"date": 10, "negation": 10}
    assert 20 < len(often) <= 10 * (swaps.ROUNDS + 1)
    assert len({(one.row.row.row_id, one.swap.text) for one in often}) == len(often)


def test_what_may_be_true_is_left_out() -> None:
    every_number = " ".join(map(str, range(200)))
    row = cut_row("It cost 40 crowns.", f"{BRIDGE} {every_number}")
    with pytest.raises(InputError, match="None of 1 supported rows can be changed"):
        swaps.swaps([row], 10)
    rows = [
        cut_row("Later the bridge of Varde", "Varde and Ribe share a bridge."),
        cut_row("Later the bridge of Ribe", "The bridge of Ribe."),
    ]
    assert [one.swap.text for one in swaps.swaps(rows, 10)] == ["Later the bridge of Varde"]


def test_only_supported_rows_are_changed() -> None:
    rows = [
        cut_row("It was opened in 1911.", label=label) for label in ("refute", "nei", "partial")
    ]
    with pytest.raises(InputError, match="None of 0 supported rows"):
        swaps.swaps(rows, 10)


def test_shares_by_kind(words: WordVerifier) -> None:
    heard: list[tuple[int, int]] = []
    chosen = swaps.swaps(supported(20), 40)
    judged = swaps.judge(chosen, words, lambda *told: heard.append(told))
    assert heard == [(32, 40), (40, 40)]
    result = swaps.measured(judged, 0.55)
    kinds = result["by_kind"]
    assert result["all"]["n"] == 40
    # This verifier sees names and figures and is blind to "not": negations tie.
    assert [kinds[kind]["lower"] for kind in KINDS] == [1.0, 1.0, 1.0, 0.0]
    assert result["all"]["lower"] == 0.75
    assert kinds["number"]["label_changes"] == 1.0
    assert kinds["negation"]["lower_interval"] == [0.0, 0.2775]
    assert kinds["number"]["original_supported"] == 1.0
    failed = swaps.failures(judged, 3)
    assert [one["kind"] for one in failed] == ["negation"] * 3
    assert len(swaps.failures(judged, 0)) == 0
    json.dumps(result | {"failures": failed}, allow_nan=False)
    shown = tables.swaps_table(result | {"failures": failed})
    assert "0.750 [0.598, 0.858]" in shown
    assert failed[0]["changed"] in shown


def test_a_kind_without_swaps_is_not_applicable(words: WordVerifier) -> None:
    judged = swaps.judge(swaps.swaps([cut_row("It was old.", "It was old.")], 5), words)
    result = swaps.measured(judged, 0.55)
    assert result["by_kind"]["name"]["lower"] is None
    assert "n/a" in tables.swaps_table(result)
