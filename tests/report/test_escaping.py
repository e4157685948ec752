"""Hostile titles, quotes and addresses, in every output format."""

import csv as csv_module
import dataclasses
import io
import json
from datetime import date

import mwparserfromhell
import pytest
from hostile import CASES, Page
from rich.console import Console
from samples import report

from pincite.types import Label
from pincite.verbs.verify import render, terminal

TODAY = date(2026, 11, 21)
ALLOWED = {
    *("html head meta title style body a header p h1 h2 h3 h4 strong ul li b main section").split(),
    *("table thead tbody tr th td").split(),
    *("fieldset legend label input nav ol").split(),
    *("article span div blockquote mark i details summary pre footer dl dt dd").split(),
}


@pytest.mark.parametrize(("text", "url"), CASES)
def test_html_shows_the_text_and_gains_no_element(text: str, url: str) -> None:
    page = Page()
    page.feed(render.to_html(report(text, url), TODAY))
    assert page.tags <= ALLOWED
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert {value for name, value in page.attributes if name == "type"} == {"radio"}
    links = [value for name, value in page.attributes if name in ("href", "src")]
    assert all(link.startswith(("http://", "https://", "#")) for link in links)
    if "\n" not in text and "\ud800" not in text:
        assert text in page.text


@pytest.mark.parametrize(("text", "url"), CASES)
def test_wikitext_holds_exactly_the_templates_that_were_meant(text: str, url: str) -> None:
    written = render.to_wikitext(report(text, url), TODAY)
    pasted = "\n".join(line for line in written.splitlines() if not line.startswith("#"))
    code = mwparserfromhell.parse(pasted)
    names = {str(template.name).strip() for template in code.filter_templates()}
    assert names <= {"failed verification", "citation needed", "cite web", "!"}
    cites = [t for t in code.filter_templates() if t.name == "cite web"]
    assert [str(tag.tag) for tag in code.filter_tags()] == ["ref"] * len(cites)
    assert cites
    assert not code.filter_wikilinks()
    known = {"url", "title", "date", "access-date", "quote"}
    assert {str(parameter.name) for cite in cites for parameter in cite.params} <= known
    assert "~~~" not in pasted


@pytest.mark.parametrize(("text", "url"), CASES)
def test_csv_has_whole_rows_and_no_formula(text: str, url: str) -> None:
    rows = list(csv_module.reader(io.StringIO(render.to_csv(report(text, url)))))
    assert {len(row) for row in rows} == {len(render.CSV_COLUMNS)}
    numeric = {render.CSV_COLUMNS.index(name) for name in render.CSV_COLUMNS if "score" in name}
    for row in rows[1:]:
        for column, cell in enumerate(row):
            assert column in numeric or not cell.startswith(("=", "+", "-", "@", "\t"))


@pytest.mark.parametrize(("text", "url"), CASES)
def test_json_round_trips(text: str, url: str) -> None:
    written = report(text, url).to_json()
    assert json.loads(written)["findings"][0]["claim"]["text"] == text
    written.encode("utf-8")


@pytest.mark.parametrize(("text", "url"), CASES)
def test_the_terminal_gets_no_control_character_and_no_markup(text: str, url: str) -> None:
    out = io.StringIO()
    console = Console(file=out, width=300, force_terminal=False)
    terminal.print_report(report(text, url), console)
    for finding in report(text, url).findings:
        console.print(terminal.in_passing(dataclasses.replace(finding, label=Label.NOT_SUPPORTED)))
    shown = out.getvalue()
    assert not [c for c in shown if c in "\x1b\x07\u202e\u2066\r"]
    if text.startswith("[red]"):
        assert "[red]not markup[/red]" in shown
