"""Every reason has words and an advice, and the page about the web shows both."""

from dataclasses import fields
from pathlib import Path

import pytest

from pincite.report.cells import REASONS
from pincite.settings import WebSettings
from pincite.types import Reason
from pincite.verbs.verify.wording import STEPS

PAGE = Path(__file__).parents[2] / "docs" / "web.md"


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_explained(reason: Reason) -> None:
    row = f"| `{reason.value}` | {REASONS[reason]} | {STEPS[reason]} |"
    assert row in PAGE.read_text(encoding="utf-8").splitlines()


def test_every_setting_of_the_web_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert not [field.name for field in fields(WebSettings) if f"`web.{field.name}" not in text]
