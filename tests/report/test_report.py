import dataclasses
import io
import json
from datetime import date

import jsonschema
from make_schema import schema
from rich.console import Console
from samples import report
from syrupy.assertion import SnapshotAssertion

from pincite.report import csv, data, html, terminal, wikitext
from pincite.types import Evidence

TODAY = date(2026, 11, 21)


def test_the_published_schema_is_current() -> None:
    assert data.SCHEMA.read_text(encoding="utf-8") == schema()


def test_reports_are_valid_by_the_published_schema() -> None:
    published = json.loads(data.SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(published)
    jsonschema.validate(json.loads(data.to_json(report())), published)


def test_quote_spans_count_in_the_document() -> None:
    finding = json.loads(data.to_json(report()))["findings"][0]
    found = finding["citations"][0]["evidence"]
    start = found["quote_span"][0] - found["span"][0]
    assert found["passage"][start : start + len(found["quote"])] == found["quote"]


def test_counts_are_a_funnel() -> None:
    counts = data.counts(report())
    assert counts["labels"] == {
        "supported": 1,
        "not_supported": 1,
        "refuted": 0,
        "unchecked": 1,
    }
    assert counts["citations_checked"] == 2
    assert counts["citations_unchecked"] == {"dead": 1}


def test_a_stopped_run_says_so_everywhere() -> None:
    stopped = dataclasses.replace(report(), n_claims=9)
    assert not stopped.complete
    assert json.loads(data.to_json(stopped))["complete"] is False
    assert "stopped after 3 of 9" in html.to_html(stopped, TODAY)
    out = io.StringIO()
    terminal.print_report(stopped, Console(file=out, width=100))
    assert "stopped after 3" in out.getvalue()


def test_no_tag_where_nothing_fails() -> None:
    written = wikitext.to_wikitext(report(), TODAY)
    assert written.count("{{failed verification|date=November 2026|") == 1


def test_a_tag_quotes_the_source_verbatim() -> None:
    finding = report("The bridge opened in 1911.").findings[0]
    outcome = finding.citations[0].outcome
    assert isinstance(outcome, Evidence)
    assert outcome.quoted in (wikitext.tag(finding, TODAY) or "")


def test_snapshots(snapshot: SnapshotAssertion) -> None:
    out = io.StringIO()
    terminal.print_report(report("The bridge opened in 1911."), Console(file=out, width=90))
    assert out.getvalue() == snapshot(name="terminal")
    assert csv.to_csv(report("The bridge opened in 1911.")) == snapshot(name="csv")
    assert wikitext.to_wikitext(report("The bridge."), TODAY) == snapshot(name="wikitext")
    assert data.to_json(report("The bridge.")) == snapshot(name="json")
    assert html.to_html(report("The bridge."), TODAY) == snapshot(name="html")
