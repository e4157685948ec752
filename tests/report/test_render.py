"""The report of `verify` in every format: terminal, CSV, wikitext, HTML."""

import csv as spreadsheet
import html
import io
import json
import math
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import mwparserfromhell
import pytest
from hostile import CASES
from rich.console import Console
from samples import report
from support.rows import each_row
from syrupy.assertion import SnapshotAssertion

from pincite.cli.verify import deliver
from pincite.errors import PinciteError
from pincite.judgement import findings as decided
from pincite.notes import Note
from pincite.report import cells
from pincite.types import (
    Article,
    Basis,
    CitationResult,
    CitedWork,
    Copy,
    CopyKind,
    Correction,
    DecidedBy,
    Evidence,
    Fault,
    FaultKind,
    Finding,
    Label,
    Part,
    Passage,
    Reason,
    Span,
    Suggestion,
    Unchecked,
    Verifiability,
    Witness,
    WitnessKind,
    WorkStatus,
)
from pincite.verbs.verify import render, terminal, wikitext, wording
from pincite.verbs.verify.report import Report, coverage_of
from pincite.verbs.verify.wording import MAX_SHOWN, excerpt, in_menu
from pincite.wiki.suggest import DateFormat, Dates

TODAY = date(2026, 11, 21)
LINK = re.compile(r'<a href="([^"]*)"[^>]*>([^<]*)</a>')


def on_terminal(found: Report, width: int = 200) -> str:
    out = io.StringIO()
    terminal.print_report(found, Console(file=out, width=width))
    return out.getvalue()


CLAIM = "The mill opened in 1911 & closed <in> 1952."
CLOSED = Span(26, 42)


def partly() -> Finding:
    """The finding of which a part is missing."""
    (found,) = (f for f in report(CLAIM).findings if f.label is Label.PARTLY_SUPPORTED)
    (part,) = found.missing
    (result,) = found.citations
    missing = (replace(part, span=CLOSED, words=CLOSED.of(CLAIM)),)
    results = (replace(result, missing=missing),)
    return replace(found, citations=results, missing=missing)


def only(finding: Finding) -> Report:
    return replace(report(CLAIM), findings=(finding,), n_claims=1)


def test_every_format_says_how_the_sources_make_the_verdict() -> None:
    found = partly()
    (one,) = found.citations
    assert isinstance(one.outcome, Evidence)
    other = replace(one, citation=replace(one.citation, citation_id="r9"))
    whole = replace(other, label=Label.SUPPORTED)
    unread = replace(other, outcome=Unchecked("", Reason.DEAD, ""), label=Label.UNCHECKED)
    together, supported, unchecked = one.outcome, Label.SUPPORTED, Label.UNCHECKED
    cases = [
        ("supported", (one, other), together, supported),
        ("earlier", (one,), together, supported),
        ("", (one, whole), together, supported),
        ("", (one, other), together, Label.PARTLY_SUPPORTED),
        ("open", (one, unread), None, unchecked),
        ("", (one, whole), None, supported),
        ("", (unread, unread), None, unchecked),
        ("", (), None, unchecked),
    ]
    for key, citations, read, label in cases:
        each = replace(found, citations=citations, together=read, label=label)
        said = wording.joint_verdict(each)
        assert said == wording.JOINED.get(key, "")
        assert said in on_terminal(only(each))
        assert said[1:] in render.to_html(only(each), TODAY)


@each_row("report/render/rests_on")
def test_every_format_says_what_the_label_rests_on_and_how_strong_it_is(
    claim: str,
    source: str,
    label: str,
    witness: str | None,
    support: float,
    basis: str,
    strength: str,
) -> None:
    found = partly()
    (one,) = found.citations
    assert isinstance(one.outcome, Evidence)
    read = replace(
        one.outcome,
        passage=replace(one.outcome.passage, text=source, title=""),
        quote=Span(0, len(source)),
        witnesses=(Witness(WitnessKind(witness)),) if witness else (),
        unstated=(),
        prob_supported=support,
        score=math.log(support / (1 - support)),
    )
    result = replace(one, outcome=read, label=Label(label), missing=(), clauses=())
    of = replace(found.claim, text=claim, tags=("failed verification",))
    each = replace(found, claim=of, citations=(result,), label=result.label, missing=())
    each = replace(each, score=read.score)
    assert decided.basis(each) is Basis(basis)
    words = wording.READS.get((each.label, Basis(basis)), "")
    assert wording.rests_on(each) == words
    assert wording.rests_on(replace(each, decided_by=DecidedBy.BOTH)) == ""
    assert words in on_terminal(only(each))
    assert wording.verdict_by(each) in wikitext.to_wikitext(only(each), TODAY)
    html = render.to_html(only(each), TODAY)
    assert (f"<span>{words}</span>" in html) is bool(words)
    text = {"": "", "plain": wording.STRENGTH, "own": wording.STRENGTHS.get(each.label, "")}
    assert wording.strength(each) == (text[strength] and text[strength] % {"n": 100 * support})
    assert wording.strength(each) in html
    assert wording.strength(replace(each, decided_by=DecidedBy.MODEL)) == ""


def test_a_clause_a_figure_and_a_denied_part_are_missing_in_different_words() -> None:
    (clause,) = partly().missing
    assert clause.evidence is not None
    denied = replace(clause.evidence, prob_refuted=0.7, prob_neutral=0.1)
    parts = (clause, replace(clause, kind="figure"), replace(clause, evidence=denied))
    assert len({wording.what_is_missing(Label.PARTLY_SUPPORTED, [part]) for part in parts}) == 3
    assert not wording.what_is_missing(Label.PARTLY_SUPPORTED, [])
    assert wording.what_is_missing(Label.PARTLY_SUPPORTED, [], 2)  # split among two sources


def test_advice_is_in_every_format_and_nowhere_if_it_is_not_known() -> None:
    for sample, there in ((report(), True), (replace(report(), flag_precision=()), False)):
        written = [
            *(on_terminal(sample, 300), render.to_csv(sample), sample.to_json()),
            *(render.to_html(sample, TODAY), wikitext.to_wikitext(sample, TODAY)),
        ]
        assert [text.count(wording.READ_FIRST) for text in written] == [there] * 5


def csv_rows(shown: Report) -> list[dict[str, str]]:
    return list(spreadsheet.DictReader(io.StringIO(render.to_csv(shown))))


@pytest.mark.parametrize("number", [0, 2])  # a source that was judged, one that was not read
def test_faults_of_a_reference_are_in_every_format(number: int) -> None:
    fault = Fault(FaultKind.CHATBOT, "<b>turn0search0")
    finding = report().findings[number]
    result = finding.citations[0]
    cited = replace(result, citation=replace(result.citation, faults=(fault,)))
    shown = replace(report(), findings=(replace(finding, citations=(cited,)),))
    assert fault.message in " ".join(on_terminal(shown).split())
    assert csv_rows(shown)[0]["reference_notes"] == fault.message
    assert html.escape(fault.words) in page(shown)
    assert fault.words not in page(shown)
    (written,) = json.loads(shown.to_json())["findings"][0]["citations"][0]["faults"]
    assert written["message"] == fault.message


WORK = CitedWork(
    WorkStatus.RETRACTED,
    (Note("work_retracted", {"about": " (<i>2016)"}),),
    "10.1000/n|x",
    (Correction("year", "2004\n# x", "2014"),),
    "{{cite journal|year=2014}}",
)


def with_work(work: CitedWork, number: int) -> Report:
    finding = report().findings[number]
    cited = replace(finding.citations[0], work=work)
    return replace(report(), findings=(replace(finding, citations=(cited,)),))


@pytest.mark.parametrize("number", [0, 2])  # a source that was judged, one that was not read
def test_a_retracted_work_is_shown_above_the_verdict(number: int) -> None:
    shown = with_work(WORK, number)
    look = cells.WORKS[WorkStatus.RETRACTED]
    label, said = wording.LOOKS[shown.findings[0].label].label, str(WORK.notes[0])
    screen = " ".join(on_terminal(shown).split())
    assert screen.index(said) < screen.index("⇒")
    text = page(shown)
    assert look.label in text.partition('class="claim"')[0].rpartition("<article")[2]
    assert html.escape(said) in text
    row = csv_rows(shown)[0]
    assert (row["reference_status"], row["reference_notes"]) == ("retracted", said)
    assert "with-reference" in text
    assert shown.counts.with_reference_notes == 1
    assert label in text


@pytest.mark.parametrize(("language", "tagged"), [("en", True), ("de", False)])
def test_a_correction_is_pasted_with_its_changes(language: str, tagged: bool) -> None:
    shown = replace(with_work(WORK, 0), language=language)
    lines = wikitext.to_wikitext(shown, TODAY).splitlines()
    assert "# − |year=2004 # x" in lines
    assert "# + |year=2014" in lines
    tag = " {{retracted|doi=10.1000/n{{!}}x}}" if tagged else ""
    assert f"{WORK.template}{tag}" in lines
    assert (f"# {wording.NO_TAG}" in lines) is not tagged


@pytest.mark.parametrize("only", ["references", "not_supported"])
def test_the_terminal_shows_only_what_is_asked_for(only: str) -> None:
    plain, noted = labelled(Label.NOT_SUPPORTED), with_work(WORK, 2).findings[0]
    shown = replace(report(), findings=(plain, noted), warnings_coded=())
    out = io.StringIO()
    terminal.print_report(shown, Console(file=out, width=200), only=[only])
    assert out.getvalue().count("⇒") == 1
    assert (str(WORK.notes[0]) in out.getvalue().partition("⇒")[0]) is (only == "references")


def test_a_claim_whose_work_is_in_doubt_stands_between_flags_and_the_unread() -> None:
    doubtful, plain = with_work(WORK, 2).findings[0], report().findings[2]
    flag, sound = labelled(Label.NOT_SUPPORTED), labelled(Label.SUPPORTED)
    ranked = decided.rank_findings([sound, plain, doubtful, flag])
    assert ranked == [flag, doubtful, plain, sound]


def lacks(result: CitationResult, *words: str) -> CitationResult:
    assert isinstance(result.outcome, Evidence)
    outcome = replace(result.outcome, unstated=words, unnamed=(), unsupported=(), witnesses=())
    return replace(result, outcome=outcome, missing=())


def test_what_a_source_lacks_is_no_reason_where_another_source_states_it() -> None:
    found = replace(partly(), missing=())
    (one,) = found.citations
    first, second = lacks(one, "1913"), lacks(one, "1911")
    both = replace(found, citations=(first, second))
    assert [wording.reasons(each, both) for each in both.citations] == [(), ()]
    first, second = lacks(one, "1913", "1950"), lacks(one, "1911", "1950")
    both = replace(found, citations=(first, second))
    (reason,) = wording.reasons(second, both)
    assert reason.values["words"] == ("1950",)  # which nobody states


def test_wikitext_names_each_reference_of_a_sentence() -> None:
    found = replace(partly(), label=Label.NOT_SUPPORTED)
    (one,) = found.citations
    other = replace(one, citation=replace(one.citation, citation_id="r9", title="Second"))
    lines = wikitext.to_wikitext(only(replace(found, citations=(one, other))), TODAY).splitlines()
    named = [line for line in lines if line.startswith("# reference")]
    assert len(named) == 2
    assert wording.name_of(one.citation) in named[0]
    assert "2 of 2: Second" in named[1]


def test_snapshots(snapshot: SnapshotAssertion) -> None:
    assert on_terminal(report("The bridge opened in 1911."), 90) == snapshot(name="terminal")
    assert render.to_csv(report("The bridge opened in 1911.")) == snapshot(name="csv")
    assert wikitext.to_wikitext(report("The bridge."), TODAY) == snapshot(name="wikitext")
    assert report("The bridge.").to_json() == snapshot(name="json")
    assert render.to_html(report("The bridge."), TODAY) == snapshot(name="html")


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
    assert lost["citations"][0]["unchecked"]["reason"] == Reason.INTERNAL_ERROR
    tables = [list(render.rows(each)) for each in (whole, bad)]
    assert len(tables[0]) == len(tables[1])
    out = [io.StringIO(), io.StringIO()]
    for each, stream in zip((whole, bad), out, strict=True):
        terminal.print_report(each, Console(file=stream, width=90))
    pages = [render.to_html(each, TODAY).count("<article") for each in (whole, bad)]
    blocks = [wikitext.to_wikitext(each, TODAY).count("# claim:") for each in (whole, bad)]
    assert (pages[0], blocks[0]) == (pages[1], blocks[1])


def test_a_format_that_cannot_be_made_costs_itself(tmp_path: Path) -> None:
    """Without a title the wikitext has no head; the JSON does not need one."""
    untitled = replace(report("The bridge."), title=None)  # type: ignore[arg-type]
    paths: dict[str, Path | None] = {name: tmp_path / name for name in ("wikitext", "json")}
    with pytest.raises(PinciteError, match="wikitext"):
        deliver(untitled, paths, quiet=True)
    assert [path.name for path in tmp_path.iterdir()] == ["json"]


BRIDGE = "The bridge opened in 1911."


def page(found: Report | None = None) -> str:
    return render.to_html(found or report(BRIDGE), TODAY)


def of(findings: list[Finding]) -> Report:
    """A report of these findings alone."""
    claims = tuple(finding.claim for finding in findings)
    article = Article("Varde", "", claims, n_references=len(claims))
    return replace(
        report(BRIDGE),
        findings=tuple(findings),
        n_claims=len(findings),
        coverage=coverage_of(article, findings),
        uncited=None,
    )


def labelled(label: Label) -> Finding:
    (found,) = (f for f in report(BRIDGE).findings if f.label is label)
    return found


def test_a_reason_that_all_sources_share_is_said_once() -> None:
    found = labelled(Label.NOT_SUPPORTED)
    written = page(of([replace(found, citations=found.citations * 3)]))
    assert written.count("<li>each of its sources: the passage does not state “1913”</li>") == 1
    assert written.count("does not state “1913”") == 2  # and of the better source


def test_a_reason_is_left_out_that_names_what_is_named_as_missing() -> None:
    finding = labelled(Label.PARTLY_SUPPORTED)
    (result,) = finding.citations
    assert isinstance(result.outcome, Evidence)
    (part,) = finding.missing
    words = part.span.of(finding.claim.text).strip(" .")
    seen = Witness(WitnessKind.VALUE, "1886", "1889")
    outcome = replace(result.outcome, unstated=(words,), witnesses=(seen,))
    told = (Note("not_stated", {"words": (words,)}), seen.note)
    again = replace(finding, citations=(replace(result, outcome=outcome),))
    for written in (page(of([again])), on_terminal(of([again]))):
        assert str(told[0]) not in written
        assert str(told[1]) in written


@pytest.mark.parametrize(("text", "url"), CASES)
def test_wikitext_holds_exactly_the_templates_that_were_meant(text: str, url: str) -> None:
    written = wikitext.to_wikitext(report(text, url), TODAY)
    pasted = "\n".join(line for line in written.splitlines() if not line.startswith("#"))
    code = mwparserfromhell.parse(pasted)
    names = {str(template.name).strip() for template in code.filter_templates()}
    assert names <= {"failed verification", "citation needed", "cite web", "!"}
    cites = [t for t in code.filter_templates() if t.name == "cite web"]
    assert [str(tag.tag) for tag in code.filter_tags()] == ["ref"] * len(cites)
    assert cites
    assert not code.filter_wikilinks()
    known = {"url", "title", "website", "date", "access-date", "quote"}
    assert {str(parameter.name) for cite in cites for parameter in cite.params} <= known
    assert "~~~" not in pasted


@pytest.mark.parametrize(("text", "url"), CASES)
def test_on_another_wiki_no_english_template_is_pasted(text: str, url: str) -> None:
    found = Report.from_json(replace(report(text, url), language="de").to_json())
    assert {finding.claim.language for finding in found.findings} == {"de"}
    found = replace(found, uncited=None)
    written = wikitext.to_wikitext(found, TODAY)
    pasted = "\n".join(line for line in written.splitlines() if not line.startswith("#"))
    code = mwparserfromhell.parse(pasted)
    assert {str(template.name) for template in code.filter_templates()} <= {"!"}
    references = code.filter_tags(matches=lambda tag: tag.tag == "ref")
    assert references
    assert len(code.filter_external_links()) == len(references)
    assert not code.filter_wikilinks()


MENU = "Skip to content\nHarbour\nSwing bridge shut for greasing\nCrab pots taken\nSport\nWeather"
TEXT = "The mill opened in 1911. It burned in 1952. Nobody was hurt."


def span_of(text: str, quote: str) -> Span:
    start = text.index(quote)
    return Span(start, start + len(quote))


def test_what_is_shown_is_verbatim_and_in_order() -> None:
    text = f"{MENU}\n\n{TEXT}\n{MENU}"
    found = excerpt(text, span_of(text, "It burned in 1952."))
    assert found is not None
    assert f"{found.head}{found.quote}{found.tail}" == TEXT
    assert not found.whole


@pytest.mark.parametrize("n_words", [3, 40, 400])
def test_the_lines_around_a_quote_are_few(n_words: int) -> None:
    sentence = f"It {'burned ' * n_words}in 1952."
    text = " ".join([*["The tall mill stood on the hill."] * 60, sentence, *[TEXT] * 60])
    found = excerpt(text, span_of(text, sentence))
    assert found is not None
    assert found.quote == sentence
    shown = len(found.head) + len(found.quote) + len(found.tail)
    assert shown <= max(MAX_SHOWN, len(sentence) + len("The tall mill stood on the hill. ") * 4)


@pytest.mark.parametrize(
    ("text", "line", "is_quoted"),
    [
        (MENU, "Swing bridge shut for greasing", False),
        ("News\nSport: all\nTravel\nMusic\nFilm", "Travel", False),
        ("Data\nLength of line: 612 m\nCars: 2\nSpeed: 4 m/s\nTime: 3 min", "Cars: 2", True),
        ("Town | 2011\nVarde | 4,587\nHolm | 611\nIto | 902", "Varde | 4,587", True),
    ],
)
def test_a_line_of_a_menu_is_no_quote(text: str, line: str, is_quoted: bool) -> None:
    assert in_menu(text, span_of(text, line)) is not is_quoted
    assert (excerpt(text, span_of(text, line)) is not None) is is_quoted


def test_a_stored_copy_is_named_without_a_link_to_the_live_page() -> None:
    found = partly()
    (result,) = found.citations
    copy = Copy(CopyKind.STORED, "https://wexmoor.example/story", file="our-story.html")
    page = render.to_html(only(replace(found, citations=(replace(result, copy=copy),))), TODAY)
    links = {html.unescape(text): href for href, text in LINK.findall(page)}
    assert links["https://wexmoor.example/story"] == "https://wexmoor.example/story"
    assert not any("our-story.html" in text for text in links)
    assert "our-story.html" in page


def test_a_claim_marked_wrong_has_no_tag_and_comes_after_the_other_flags() -> None:
    first, second, *others = report(CLAIM).findings
    first = replace(first, claim=replace(first.claim, claim_id="c1"))
    findings = (first, second, *others)
    assert wikitext.tag(first, TODAY)
    assert (
        wikitext.to_paste(first, Dates(TODAY), {"c1"}) == wikitext.to_paste(first, Dates(TODAY))[1:]
    )
    ranked = decided.rank_findings(findings, {"c1"})
    assert ranked[1] == first
    assert decided.rank_findings(ranked) == list(findings)
    marked = replace(report(CLAIM), findings=findings)
    for text in (
        render.to_html(marked, TODAY, {"c1"}),
        wikitext.to_wikitext(marked, TODAY, {"c1"}),
    ):
        assert wording.MARKED_WRONG[1:] in text


def test_a_tag_on_a_supported_claim_does_not_raise_its_rank() -> None:
    *others, supported = report(CLAIM).findings
    tagged = replace(supported.claim, tags=("failed verification",))
    stale = replace(supported, claim=tagged, citations=partly().citations)
    assert decided.rank_findings((stale, *others))[-1] == stale
    assert wording.STALE_TAG in render.to_html(only(stale), TODAY)
    assert wording.STALE_TAG in wikitext.to_wikitext(only(stale), TODAY)


def test_pieces_of_names_are_not_called_missing() -> None:
    claim = "In Varde the World Bank chose Ann Lee."

    def missing(word: str) -> str:
        start = claim.index(word)
        part = Part("name", Span(start, start + len(word)), word, supported=False)
        return wording.what_is_missing(Label.PARTLY_SUPPORTED, [part], claim=claim)

    assert missing("World") == ""
    assert "“World Bank”" in missing("Bank")
    assert "“Varde”" in missing("Varde")


def test_a_claim_is_not_called_unverifiable_beside_a_quote_with_its_words() -> None:
    weak = report("The mill opened in 1911.").findings[0]
    doubtful = replace(weak, suggestions=(), n_candidates=21)
    assert doubtful.verifiability is Verifiability.DOUBTFUL
    uncited = replace(doubtful, citations=())
    assert wording.unverifiable(doubtful) == ""
    assert "21" in wording.unverifiable(uncited)
    assert only(doubtful).counts.may_be_unverifiable == 0
    assert only(uncited).counts.may_be_unverifiable == 1


QUOTES = Path(__file__).parents[1] / "cases" / "quotes"


@pytest.mark.parametrize("row", json.loads((QUOTES / "written.json").read_text()))
def test_a_reference_quotes_whole_sentences(row: dict[str, str]) -> None:
    quote = span_of(row["text"], row["quote"])
    language = "de" if "Die " in row["text"] else "en"
    passage = Passage("d", "u", "t", row["text"], Span(0, len(row["text"])), language=language)
    assert wikitext.quoted_prose(Evidence(passage, 0.9, 0.0, 0.1, 2.0, quote)) == row["is"]


def referred(**changed: Any) -> Suggestion:
    text = "The mill opened in 1911."
    passage = Passage("d", "https://www.varde.example/a", "Mill", text, Span(0, len(text)))
    strong = Evidence(passage, 0.9, 0.0, 0.1, 2.0, Span(0, len(text)))
    return replace(Suggestion(strong, "2004-05-14", 1.0), **changed)


def cited(suggestion: Suggestion, dates: DateFormat = "dmy") -> dict[str, str]:
    code = mwparserfromhell.parse(wikitext.reference(suggestion, Dates(TODAY, dates)))
    (cite,) = code.filter_templates()
    return {str(each.name): str(each.value) for each in cite.params}


def test_a_reference_is_ready_to_save() -> None:
    assert cited(referred(headline="The mill", site="Varde Post", authors=("Ida Holm",))) == {
        "author1": "Ida Holm",
        "url": "https://www.varde.example/a",
        "title": "The mill",
        "website": "Varde Post",
        "date": "14 May 2004",
        "access-date": "21 November 2026",
        "quote": "The mill opened in 1911.",
    }


def test_a_reference_has_the_articles_dates_and_the_host_of_a_nameless_site() -> None:
    found = cited(referred(), "mdy")
    assert (found["date"], found["access-date"]) == ("May 14, 2004", "November 21, 2026")
    assert found["website"] == "varde.example"


def test_catalogue_names_are_split_and_many_are_cut() -> None:
    found = cited(referred(authors=("Holm, Ida M.", "Jo Berg", "Ito", "Li Wei")))
    names = {"last1": "Holm", "first1": "Ida M.", "author2": "Jo Berg", "author3": "Ito"}
    assert found | names | {"display-authors": "etal"} == found
    assert "author4" not in found
