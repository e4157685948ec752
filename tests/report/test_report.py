import csv as spreadsheet
import dataclasses
import io
import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import jsonschema
import pytest
from rich.console import Console
from samples import report
from syrupy.assertion import SnapshotAssertion

from pincite.cli.verify import deliver
from pincite.errors import PinciteError
from pincite.judgement import aggregation
from pincite.types import Evidence, Finding, Label, Part, Place, Reason, Span
from pincite.verbs.verify import render, terminal, wording
from pincite.verbs.verify.report import SCHEMA, Report

TODAY = date(2026, 11, 21)


def test_reports_are_valid_by_the_published_schema() -> None:
    published = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(published)
    jsonschema.validate(json.loads(report().to_json()), published)


def test_counts_are_a_funnel() -> None:
    counts = report().counts
    assert counts.labels == {
        "supported": 1,
        "partly_supported": 1,
        "not_supported": 1,
        "refuted": 0,
        "unchecked": 1,
    }
    assert counts.citations_checked == 3
    assert counts.citations_unchecked == {"dead": 1}


def test_a_stopped_run_says_so_everywhere() -> None:
    stopped = dataclasses.replace(report(), n_claims=9)
    assert not stopped.complete
    assert json.loads(stopped.to_json())["complete"] is False
    assert "stopped after 4 of 9" in render.to_html(stopped, TODAY)
    out = io.StringIO()
    terminal.print_report(stopped, Console(file=out, width=100))
    assert "stopped after 4" in out.getvalue()


def test_no_tag_where_nothing_fails() -> None:
    written = render.to_wikitext(report(), TODAY)
    assert written.count("{{failed verification|date=November 2026|") == 2


def test_a_tag_quotes_the_source_verbatim() -> None:
    finding = report("The bridge opened in 1911.").findings[0]
    outcome = finding.citations[0].outcome
    assert isinstance(outcome, Evidence)
    assert outcome.quoted in (render.tag(finding, TODAY) or "")


CLAIM = "The mill opened in 1911 & closed <in> 1952."
CLOSED = Span(26, 42)


def partly() -> Finding:
    """The finding of which a part is missing."""
    (found,) = (f for f in report(CLAIM).findings if f.label is Label.PARTLY_SUPPORTED)
    (part,) = found.missing
    (result,) = found.citations
    missing = (dataclasses.replace(part, span=CLOSED, words=CLOSED.of(CLAIM)),)
    results = (dataclasses.replace(result, missing=missing),)
    return dataclasses.replace(found, citations=results, missing=missing)


def only(finding: Finding) -> Report:
    return dataclasses.replace(report(CLAIM), findings=(finding,), n_claims=1)


def test_the_sample_is_in_the_order_of_the_ranking() -> None:
    findings = report().findings
    assert aggregation.ranked(findings) == list(findings)


def test_the_missing_part_is_marked_in_the_claim_and_escaped() -> None:
    page = render.to_html(only(partly()), TODAY)
    marked = '<mark class="missing">closed &lt;in&gt; 1952</mark>'
    assert f"<strong>The mill opened in 1911 &amp; {marked}.</strong>" in page
    assert "Nothing was found for “closed &lt;in&gt; 1952”." in page


def test_overlapping_missing_parts_keep_the_claim_whole() -> None:
    found = partly()
    year = Part("figure", Span(38, 42), "1952", supported=False)
    wide = dataclasses.replace(found, missing=(*found.missing, year, year))
    page = render.to_html(only(wide), TODAY)
    assert '<mark class="missing">closed &lt;in&gt; 1952</mark>.</strong>' in page


def test_the_missing_part_is_named_in_every_format() -> None:
    sample = only(partly())
    found = json.loads(sample.to_json())["findings"][0]
    assert [part["words"] for part in found["missing"]] == ["closed <in> 1952"]
    assert [part["supported"] for part in found["citations"][0]["clauses"]] == [True, False]
    assert render.to_csv(sample).splitlines()[1].count("closed <in> 1952,closed <in> 1952") == 1
    assert "does not seem to state “closed &lt;in&gt; 1952”" in render.to_wikitext(sample, TODAY)
    out = io.StringIO()
    terminal.print_report(sample, Console(file=out, width=200))
    assert "nothing was found for “closed <in> 1952”" in out.getvalue()


def test_a_part_that_is_denied_is_not_called_missing() -> None:
    (part,) = partly().missing
    assert part.evidence is not None
    denied = dataclasses.replace(part.evidence, prob_refuted=0.7, prob_neutral=0.1)
    said = wording.what_is_missing(
        Label.PARTLY_SUPPORTED, [dataclasses.replace(part, evidence=denied)]
    )
    assert said == "the source seems to contradict “closed <in> 1952”"


def test_parts_found_in_different_sources_lack_nothing_that_could_be_tagged() -> None:
    found = dataclasses.replace(partly(), missing=())
    said = wording.what_is_missing(found.label, found.missing)
    assert "the whole in none" in said
    assert render.tag(found, TODAY) is None


def test_advice_says_how_often_flags_are_false_alarms() -> None:
    advice = wording.flag_advice([(0.02, 0.12), (0.05, 0.22), (0.2, 0.67)])
    assert advice == (
        "Expect 8 of 10 flags to be false alarms when 1 in 20 citations is bad. "
        "Read the source before you tag."
    )
    assert wording.flag_advice([(0.1, 0.02)]).startswith("Expect nearly all flags to be false")
    assert wording.flag_advice([(0.5, 0.99)]).startswith("Expect fewer than 1 of 10 flags to be")
    assert wording.other_rates([(0.05, 0.22)]) == ""


def test_advice_is_in_every_format_and_nowhere_if_it_is_not_known() -> None:
    for sample, there in (
        (report(), True),
        (dataclasses.replace(report(), flag_precision=()), False),
    ):
        out = io.StringIO()
        terminal.print_report(sample, Console(file=out, width=300))
        written = [
            *(out.getvalue(), render.to_csv(sample), sample.to_json()),
            *(render.to_html(sample, TODAY), render.to_wikitext(sample, TODAY)),
        ]
        assert [wording.READ_FIRST in text for text in written] == [there] * 5
        assert [text.count(wording.READ_FIRST) for text in written] == [there] * 5


def test_sentences_without_a_citation_in_every_format() -> None:
    shown = dataclasses.replace(report("The bridge is the largest."), findings=(), n_claims=0)
    out = io.StringIO()
    terminal.print_report(shown, Console(file=out, width=120))
    tagged, other = list(csv_rows(shown))
    assert (tagged["label"], tagged["citation_need"]) == ("no citation", "0.3")
    assert other["suggestion_url"] == "https://better.example/a?b=1&c=2"
    pasted = render.to_wikitext(shown, TODAY)
    assert pasted.count("{{citation needed|") == 1  # the other one has it
    assert "https://better.example/a?b=1&c=2" in pasted
    for text in (out.getvalue(), render.to_html(shown, TODAY), pasted):
        assert "an editor asked for a citation" in text
        assert "a quotation: “The bridge is the largest.”" in text


def test_that_none_was_found_is_said_and_that_none_was_looked_for_is_not() -> None:
    for uncited, said in (((), True), (None, False)):
        shown, out = dataclasses.replace(report(), uncited=uncited), io.StringIO()
        terminal.print_report(shown, Console(file=out, width=120))
        page = render.to_html(shown, TODAY)
        assert [wording.UNCITED["title"] in text for text in (out.getvalue(), page)] == [said] * 2


def test_csv_says_where_what_could_be_cited_was_found() -> None:
    """Of a sentence without a citation as of a claim with one."""
    shown = report()
    assert shown.uncited
    bare, cited = shown.uncited[1], shown.findings[0]
    found = [dataclasses.replace(each.suggestions[0], corpus="Press", place=Place("31"))
             for each in (bare, cited)]  # fmt: skip
    shown = dataclasses.replace(
        shown,
        findings=(dataclasses.replace(cited, suggestions=(found[1],)),),
        uncited=(dataclasses.replace(bare, suggestions=(found[0],)),),
    )
    rows = csv_rows(shown)
    assert {row["suggestion_corpus"] for row in rows} == {"Press"}
    assert {row["suggestion_place"] for row in rows} == {
        wording.where(Place("31"), Label.SUPPORTED)
    }
    assert rows[-1]["label"] == wording.NO_CITATION


def csv_rows(shown: Report) -> list[dict[str, str]]:
    return list(spreadsheet.DictReader(io.StringIO(render.to_csv(shown))))


def test_snapshots(snapshot: SnapshotAssertion) -> None:
    out = io.StringIO()
    terminal.print_report(report("The bridge opened in 1911."), Console(file=out, width=90))
    assert out.getvalue() == snapshot(name="terminal")
    assert render.to_csv(report("The bridge opened in 1911.")) == snapshot(name="csv")
    assert render.to_wikitext(report("The bridge."), TODAY) == snapshot(name="wikitext")
    assert report("The bridge.").to_json() == snapshot(name="json")
    assert render.to_html(report("The bridge."), TODAY) == snapshot(name="html")


# ── What cannot be shown costs itself ────────────────────────────────────────────────────────────


def broken() -> Report:
    """The sample report, whose first finding has a passage that no renderer can show."""
    whole = report("The bridge.")
    first = next(
        n for n, f in enumerate(whole.findings) if isinstance(f.citations[0].outcome, Evidence)
    )
    (cited, *others), findings = whole.findings[first].citations, list(whole.findings)
    bad = replace(cited, outcome=replace(cited.outcome, passage=None), listing=object())  # type: ignore[arg-type]
    findings[first] = replace(findings[first], citations=(bad, *others), missing=(None,))  # type: ignore[arg-type]
    return replace(whole, findings=tuple(findings))


def test_a_finding_that_cannot_be_shown_costs_itself() -> None:
    whole, bad = report("The bridge."), broken()
    (lost,) = [each for each in bad.to_values()["findings"] if each["failed"]]
    assert lost["citations"][0]["outcome"]["reason"] == Reason.INTERNAL_ERROR
    rows = [list(render.csv_rows(each)) for each in (whole, bad)]
    assert len(rows[0]) == len(rows[1])
    out = [io.StringIO(), io.StringIO()]
    for each, stream in zip((whole, bad), out, strict=True):
        terminal.print_report(each, Console(file=stream, width=90))
    pages = [render.to_html(each, TODAY).count("<article") for each in (whole, bad)]
    blocks = [render.to_wikitext(each, TODAY).count("# claim:") for each in (whole, bad)]
    assert (pages[0], blocks[0]) == (pages[1], blocks[1])


def test_a_format_that_cannot_be_made_costs_itself(tmp_path: Path) -> None:
    """Without a title the wikitext has no head; the JSON does not need one."""
    untitled = replace(report("The bridge."), title=None)  # type: ignore[arg-type]
    paths: dict[str, Path | None] = {name: tmp_path / name for name in ("wikitext", "json")}
    with pytest.raises(PinciteError, match="wikitext"):
        deliver(untitled, paths, limit=None, quiet=True)
    assert [path.name for path in tmp_path.iterdir()] == ["json"]
