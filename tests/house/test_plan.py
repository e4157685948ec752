"""The plan in figures: what was measured comes back, and more never needs less."""

from dataclasses import replace

import plan
import pytest

MEASURED = plan.Plan(1e6, 1, 0.999, 8, memory=24, cores=2)


def test_at_the_size_that_was_measured_the_figures_are_those_measured() -> None:
    assert MEASURED.query_ms(1) == pytest.approx(22.3 + 10.7)
    assert MEASURED.on_disk / 1e6 == 407 + 780 + 115 + 398
    assert MEASURED.nodes == 1
    at_the_first = plan.WORDS_MS * (13_955 / 1_000_675) ** plan.WORDS_POWER
    assert at_the_first == pytest.approx(plan.WORDS_MS * 1.8 / 21)


@pytest.mark.parametrize(
    "more", [{"passages": 9e8}, {"rate": 200}, {"memory": 0.5}, {"cores": 1, "rate": 60}]
)
def test_more_work_or_smaller_nodes_need_more_nodes(more: dict[str, float]) -> None:
    needed = replace(MEASURED, **more)  # type: ignore[arg-type]
    assert needed.nodes > MEASURED.nodes
    assert needed.rate * needed.query_ms(needed.nodes) / 1_000 <= plan.FREE * needed.cores
    assert needed.in_memory <= plan.FREE * needed.memory * 1e9 * needed.nodes


def test_codes_of_one_bit_hold_more_in_the_same_memory() -> None:
    small = replace(MEASURED, bits=1)
    assert small.in_memory < MEASURED.in_memory
    assert small.on_disk > MEASURED.on_disk


@pytest.mark.parametrize("wrong", [{"bits": 4}, {"recall": 1.0}, {"passages": 0}])
def test_what_was_not_measured_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="bits is one of"):
        replace(MEASURED, **wrong)  # type: ignore[arg-type]


def test_the_document_shows_what_the_tool_prints() -> None:
    from pathlib import Path

    page = Path(__file__).parents[2] / "docs" / "scale.md"
    side = plan.SIDE["passages"], 1, 0.992
    node = plan.SIDE["memory"], 32
    plans = [
        plan.Plan(*side, 8, *node),
        plan.Plan(*side, 1, *node),
        plan.Plan(*side, 8, *node, plan.SIDE["nodes"]),
    ]
    assert plan.table(plans) in page.read_text(encoding="utf-8")
