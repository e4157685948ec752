"""The work-list: risk first, the funnel summed, hostile titles shown and not obeyed."""

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest
from hostile import CASES, Page
from rich.console import Console
from samples import report

from pincite.verbs.verify import worklist
from pincite.verbs.verify.report import Stage


def row(text: str = "plain", url: str = "https://varde.example/", **changes: Any) -> worklist.Row:
    found = replace(report(text, url), **changes)
    return worklist.row_of(found, "a.html")


def on_terminal(found: worklist.WorkList) -> str:
    out = io.StringIO()
    worklist.print_list(found, Console(file=out, width=80))
    return out.getvalue()


def test_the_funnel_is_the_sum_in_every_format() -> None:
    found = worklist.WorkList.of([row(), row(), worklist.Row("Nowhere", problem="no page")], 3)
    uses = found.coverage.stages[Stage.JUDGED].uses
    assert uses == 6
    written = json.loads(worklist.to_json(found))
    assert (written["complete"], written["n_articles"]) == (True, 3)
    assert written["coverage"]["stages"]["judged"] == {"uses": 6, "sources": 2}
    assert written["articles"][2]["coverage"] is None
    listed = list(csv.DictReader(io.StringIO(worklist.to_csv(found))))
    assert sum(int(line["citations_judged"] or 0) for line in listed) == uses
    assert '<th scope="row">judged</th><td class="n">6</td>' in worklist.to_html(found)
    assert "dead link" in on_terminal(found)


def test_an_article_of_which_nothing_was_checked_is_not_listed_as_safe() -> None:
    open_ = replace(row(), title="Open", n_checked=0, risk=0.0)
    safe = replace(row(), title="Safe", risk=0.0)
    found = worklist.WorkList.of([worklist.Row("Nowhere", problem="no page"), open_, safe], 3)
    assert [each.title for each in found.rows] == ["Safe", "Open", "Nowhere"]
    for text in (worklist.to_html(found), on_terminal(found)):
        assert text.count(worklist.NOTHING_CHECKED) == 1


@pytest.mark.parametrize(("text", "url"), CASES)
def test_hostile_titles_stay_text(text: str, url: str) -> None:
    found = worklist.WorkList.of([row(text, url), worklist.Row(text, problem=text)], 2)
    page = Page(worklist.to_html(found))
    assert not {"script", "img"} & set(page.tags)
    assert all(link.startswith(("http://", "https://", "#", "a.html")) for link in page.links)
    assert not [c for c in on_terminal(found) if c in "\x1b\x07\u202e\u2066"]
    for line in csv.reader(io.StringIO(worklist.to_csv(found))):
        assert not line[0].startswith(("=", "+", "-", "@"))
    json.loads(worklist.to_json(found))
