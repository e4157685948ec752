"""Ages of those studied, read by rules."""

from dataclasses import replace

import pytest
from support.rows import each_row

from pincite.types import Document
from pincite.verbs.ask.abstracts import ages, fits

TRIAL = Document(
    "https://a.example/1",
    "Lactobacillus against colds in nursing home residents",
    "METHODS: We assigned 640 residents over 65 years of age of 21 nursing homes to Lactobacillus.",
)


@each_row("ask/ages/ages")
def test_ages(words: str, expected: tuple[float, float] | None) -> None:
    found = ages(words)
    assert found == (pytest.approx(expected) if expected else None)


def test_a_study_of_all_ages_is_no_study_of_one() -> None:
    adults = replace(TRIAL, title="Tea in adults", text="We gave tea to 80 adults.")
    assert fits("Does it help older people?", adults) is None
    working = replace(TRIAL, title="Tea", text="We gave tea to 80 adults aged 18 to 50 years.")
    assert fits("Does it help older people?", working) is False


def test_a_study_fits_if_most_of_its_ages_were_asked_for() -> None:
    assert fits("Does it help older people?", TRIAL) is True
    assert fits("Does it help children?", TRIAL) is False
    assert fits("Does it help?", TRIAL) is None
