"""No text of a page, an article or a model becomes markup, a formula or a control character."""

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import ask_samples
import pytest
from check_samples import check_report
from hostile import CASES, Page
from markdown_it import MarkdownIt
from rich.console import Console
from samples import report

from pincite.types import Label
from pincite.verbs.ask import render as ask_render
from pincite.verbs.ask import terminal as ask_terminal
from pincite.verbs.check import render as check_render
from pincite.verbs.check import terminal as check_terminal
from pincite.verbs.verify import render, terminal

ALLOWED = set(
    "html head meta title style body header main section article nav footer div p span h1 h2 h3 h4 "
    "h5 ul ol li dl dt dd table thead tbody tr th td a strong b i sup bdi del ins mark blockquote "
    "pre details summary fieldset legend label input svg rect".split()
)
HOMES = ("https://pubmed.ncbi.nlm.nih.gov/", "https://doi.org/", "https://pmc.ncbi")


def answer_report(text: str, url: str) -> Any:
    return ask_samples.answer_report(ask_samples.hostile(text, url), note=text)


def page_of_verify(found: Any) -> str:
    return render.to_html(found, date(2026, 11, 21))


@pytest.mark.parametrize(("text", "url"), CASES)
@pytest.mark.parametrize(
    ("sample", "to_html"),
    [
        (report, page_of_verify),
        (check_report, check_render.to_html),
        (answer_report, ask_render.to_html),
    ],
    ids=["verify", "check", "ask"],
)
def test_html_shows_the_text_and_gains_no_element(
    sample: Callable[..., Any], to_html: Callable[[Any], str], text: str, url: str
) -> None:
    page = Page(to_html(sample(text, url)))
    assert set(page.tags) <= ALLOWED
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert set(page.all("type")) <= {"radio"}
    assert all(link.startswith(("http://", "https://", "#")) for link in page.links)
    if "\n" not in text and "\ud800" not in text:
        assert text in page.text


@pytest.mark.parametrize(("text", "url"), CASES)
@pytest.mark.parametrize(
    ("sample", "to_markdown"),
    [(check_report, check_render.to_markdown), (answer_report, ask_render.to_markdown)],
    ids=["check", "ask"],
)
def test_markdown_gains_no_element(
    sample: Callable[..., Any], to_markdown: Callable[[Any], str], text: str, url: str
) -> None:
    page = Page(MarkdownIt("commonmark").render(to_markdown(sample(text, url))))
    assert set(page.tags) <= {"h1", "h2", "p", "em", "strong", "ul", "ol", "li", "a"}
    assert all(link.startswith(HOMES) for link in page.links)


@pytest.mark.parametrize(("text", "url"), CASES)
@pytest.mark.parametrize(
    ("sample", "table"),
    [(report, render), (check_report, check_render)],
    ids=["verify", "check"],
)
def test_csv_has_whole_rows_and_no_formula(
    sample: Callable[..., Any], table: Any, text: str, url: str
) -> None:
    rows = list(csv.reader(io.StringIO(table.to_csv(sample(text, url)))))
    assert {len(row) for row in rows} == {len(table.COLUMNS)}
    for value in (value for row in rows[1:] for value in row):
        is_number = value.replace(".", "").replace("-", "").isdigit()
        assert is_number or not value.startswith(("=", "+", "-", "@", "\t", "\r"))


@pytest.mark.parametrize(("text", "url"), CASES)
@pytest.mark.parametrize("width", [30, 300])
def test_a_terminal_gets_no_control_character_and_no_markup(
    text: str, url: str, width: int
) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=False)
    terminal.print_report(report(text, url), console)
    for finding in report(text, url).findings:
        console.print(terminal.progress_line(replace(finding, label=Label.NOT_SUPPORTED)))
    once, answers = check_report(text, url), answer_report(text, url)
    twice = replace(once, checks=once.checks * 2)
    check_terminal.print_report(twice, console)  # with an overview
    ask_terminal.print_report(replace(answers, answers=answers.answers * 2), console)
    sentence = ask_terminal.sentence_line(answers.answers[0].sentences[0]).plain
    for shown in (out.getvalue(), sentence):
        assert not [c for c in shown if (ord(c) < 32 and c != "\n") or c in "\u202e\u2066"]
    if text.startswith("[red]") and width == 300:
        n_shown = out.getvalue().count("not markup")
        assert out.getvalue().count("[red]not markup[/red]") == n_shown > 3
