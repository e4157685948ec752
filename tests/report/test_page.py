"""The page: the finding first, each thing once, and every count of the same things."""

import dataclasses
import io
import re
from datetime import date

import pytest
from rich.console import Console
from samples import report

from pincite.notes import Note
from pincite.types import Article, Evidence, Finding, Label, Unchecked
from pincite.verbs.verify import render, terminal, wording, worklist
from pincite.verbs.verify.coverage import of_article
from pincite.verbs.verify.report import Report

TODAY = date(2026, 11, 21)
CLAIM = "The bridge opened in 1911."


def page(found: Report | None = None) -> str:
    return render.to_html(found or report(CLAIM), TODAY)


def on_terminal(found: Report) -> str:
    out = io.StringIO()
    terminal.print_report(found, Console(file=out, width=200))
    return out.getvalue()


def test_a_run_that_goes_on_tells_the_claims_that_need_an_editor() -> None:
    finding = report(CLAIM).findings[0]
    labelled = (dataclasses.replace(finding, label=label) for label in Label)
    told = {each.label: terminal.in_passing(each) for each in labelled}
    assert {label for label, line in told.items() if line} == {
        Label.REFUTED,
        Label.NOT_SUPPORTED,
        Label.PARTLY_SUPPORTED,
    }
    assert str(told[Label.REFUTED]) == f"{wording.verdict(Label.REFUTED)}  {CLAIM}"


def texts(found: Report) -> list[str]:
    """All that a person reads of a report; JSON is for programs."""
    return [page(found), on_terminal(found), render.to_csv(found), render.to_wikitext(found, TODAY)]


def of(findings: list[Finding]) -> Report:
    """A report of these findings alone."""
    claims = tuple(finding.claim for finding in findings)
    article = Article("Varde", "", claims, n_references=len(claims))
    return dataclasses.replace(
        report(CLAIM),
        findings=tuple(findings),
        n_claims=len(findings),
        coverage=of_article(article, findings),
        uncited=None,
    )


def labelled(label: Label) -> Finding:
    (found,) = (f for f in report(CLAIM).findings if f.label is label)
    return found


def test_the_first_finding_comes_before_coverage_and_sound_claims() -> None:
    sound = dataclasses.replace(labelled(Label.SUPPORTED), citations=())
    written = page(of([*report(CLAIM).findings, sound]))
    places = [
        written.index(f'id="{name}-title"') for name in ("first", "open", "sound", "coverage")
    ]
    assert places == sorted(places)
    assert places[0] < written.index('id="claim-1"') < places[1]


def test_sound_claims_and_coverage_are_folded() -> None:
    sound = dataclasses.replace(labelled(Label.SUPPORTED), citations=())
    written = page(of([sound]))
    assert '<details class="finding supported" id="claim-1">' in written
    assert '<details class="group"><summary><h2 id="coverage-title">' in written


def test_a_sound_claim_whose_source_changed_is_not_folded() -> None:
    changed = labelled(Label.SUPPORTED)
    assert changed.source_changed
    written = page(of([changed]))
    assert '<article class="finding supported" id="claim-1">' in written
    assert "1 claim (1 with a changed source)" in written


def test_each_tile_counts_what_its_filter_shows() -> None:
    findings = [f for f in report(CLAIM).findings for _ in range(3)]
    written = page(of(findings))
    for label in Label:
        shown = len(re.findall(rf'class="finding {label}(?: |")', written))
        tile = re.search(rf'id="show-{label}"[^>]*> <b>(\d+)</b>', written)
        assert shown == (int(tile[1]) if tile else 0)
    better = re.search(r'id="show-better"[^>]*> <b>(\d+)</b>', written)
    assert better
    assert int(better[1]) == written.count('with-better"')


def test_there_is_no_filter_for_what_there_is_not() -> None:
    written = page(of([labelled(Label.UNCHECKED)]))
    assert re.findall(r'id="show-(\w+)"', written) == ["all", "unchecked"]


def test_a_reason_that_many_share_is_said_once() -> None:
    open_ = [labelled(Label.UNCHECKED)] * 223
    for written in (page(of(open_)), on_terminal(of(open_))):
        assert "223 claims" in written
        assert written.lower().count("dead link: 223") + written.count("223 claims: dead link") == 1
        assert written.lower().count("dead link") <= 4  # its step and the citations' table name it


def test_a_reason_that_all_sources_share_is_said_once() -> None:
    found = labelled(Label.NOT_SUPPORTED)
    written = page(of([dataclasses.replace(found, citations=found.citations * 3)]))
    assert written.count("<li>each of its sources: the passage does not state “1913”</li>") == 1
    assert written.count("does not state “1913”") == 2  # and of the better source


def test_a_reason_is_left_out_that_names_what_is_named_as_missing() -> None:
    finding = labelled(Label.PARTLY_SUPPORTED)
    (result,) = finding.citations
    assert isinstance(result.outcome, Evidence)
    (part,) = finding.missing
    words = part.span.of(finding.claim.text).strip(" .")
    told = (
        Note("not_stated", {"words": (words,)}),
        Note("other_value", {"source": "1889", "claim": "1886"}),
    )
    outcome = dataclasses.replace(result.outcome, reasons_coded=told)
    again = dataclasses.replace(finding, citations=(dataclasses.replace(result, outcome=outcome),))
    for written in (page(of([again])), on_terminal(of([again]))):
        assert str(told[0]) not in written
        assert str(told[1]) in written


def test_where_nothing_was_judged_no_flag_is_advised_on() -> None:
    none = of([labelled(Label.UNCHECKED)])
    assert "false alarms when" not in on_terminal(none)
    assert '<p class="advice">' not in page(none)
    assert "no citation could be judged" in page(none)


@pytest.mark.parametrize("label", [*list(Label)[:3], Label.UNCHECKED])
def test_one_is_not_many(label: Label) -> None:
    for written in texts(of([labelled(label)])):
        assert not re.search(r"\b1 (claims|citations|sources|references|articles)\b", written)
        assert "(s)" not in written


def test_words_that_only_we_understood_are_gone() -> None:
    inside = re.compile(r"may say otherwise|likely fail|\bbears? |\bborne\b|left open")
    for label in (Label.REFUTED, *list(Label)[:3], Label.UNCHECKED):
        finding = labelled(Label.NOT_SUPPORTED if label is Label.REFUTED else label)
        found = of([dataclasses.replace(finding, label=label)])
        assert not [written for written in texts(found) if inside.search(written)]
        for written in (page(found), on_terminal(found), render.to_csv(found)):
            assert wording.LABELS[label] in written
    assert not inside.search(worklist.to_html(worklist.worklist([], 0)))


def test_labels_are_explained_where_they_are_shown() -> None:
    for written in (page(), on_terminal(report(CLAIM))):
        for meaning in wording.LEGEND.values():
            assert meaning[1:] in written


def test_flagged_means_the_same_in_every_format() -> None:
    found = of([labelled(Label.NOT_SUPPORTED), labelled(Label.PARTLY_SUPPORTED)])
    assert "2 claims (1 flagged, 1 partly supported)" in page(found)
    assert [",flagged," in line for line in render.to_csv(found).splitlines()[1:]] == [True, False]
    advised = [wording.READ_FIRST in line for line in render.to_csv(found).splitlines()[1:]]
    assert advised == [True, False]


def test_a_detail_that_is_the_name_is_not_said_twice() -> None:
    finding = labelled(Label.UNCHECKED)
    (result,) = finding.citations
    assert isinstance(result.outcome, Unchecked)
    assert result.outcome.detail == result.citation.title == CLAIM
    unread = page(of([finding])).partition('class="unread"')[2].partition("</p>")[0]
    assert unread.count(CLAIM) == 1
