"""The file that `verify --html` writes, in a browser: no script, the finding at first sight."""

import dataclasses
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from samples import report
from server.browser.watched import opened_details, seen_in_all_looks

from pincite.types import Label
from pincite.verbs.verify import render

SEEN = """[...document.querySelectorAll(".finding")]
  .filter(each => each.checkVisibility()).map(each => each.id)"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A report in which every label and fold is there, twice."""
    found = report("The bridge opened in 1911.")
    sound = (dataclasses.replace(f, citations=()) for f in found.findings)
    more = [f for f in sound if f.label is Label.SUPPORTED]
    findings = tuple(f for f in (*found.findings, *more) for _ in range(2))
    path = tmp_path / "report.html"
    whole = dataclasses.replace(found, findings=findings, n_claims=len(findings))
    path.write_text(render.to_html(whole, date(2026, 11, 21)), encoding="utf-8")
    return path


@pytest.fixture
def opened(chromium: Browser, file: Path) -> Iterator[Page]:
    """It, in a browser; axe-core is let in past its policy."""
    context = chromium.new_context(bypass_csp=True)
    page = context.new_page()
    page.goto(file.as_uri())
    yield page
    context.close()


def test_it_can_be_read_and_a_tile_shows_its_claims_and_no_others(opened: Page) -> None:
    seen_in_all_looks(opened)
    for label in (Label.NOT_SUPPORTED, Label.PARTLY_SUPPORTED, Label.SUPPORTED, Label.UNCHECKED):
        tile = opened.locator(f"label:has(#show-{label})")
        tile.click()
        shown = opened.evaluate(SEEN)
        assert len(shown) == int(tile.locator("b").inner_text())
        for name in shown:
            assert str(label) in (opened.locator(f"#{name}").get_attribute("class") or "").split()
    opened.locator("label:has(#show-all)").click()
    assert "claim-1" in opened.evaluate(SEEN)
    opened_details(opened)
    seen_in_all_looks(opened)
