"""Which findings editors see by default, and what is stored of them."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from support.rows import each_row, rows

from pincite.types import (
    Citation,
    CitationResult,
    Claim,
    Document,
    Evidence,
    Fault,
    FaultKind,
    Finding,
    Label,
    Passage,
    Readout,
    Reason,
    Span,
    Unchecked,
    Witness,
    WitnessKind,
)
from pincite_watch.gate import PUBLISHED, Measured, Record, record_of
from pincite_watch.shown import reasons, worklist

URL = "https://mill.example/"
TEXT = "The mill burned down in 1934. It was rebuilt in 1936."
SENTENCE = Span(0, 29)
WITNESSES = {
    "value": Witness(WitnessKind.VALUE, "1937", "1934", SENTENCE),
    "value in another copy": Witness(WitnessKind.VALUE, "1937", "1934", SENTENCE),
    "value elsewhere": Witness(WitnessKind.VALUE, "1937", "1936", SENTENCE),
    "denial": Witness(WitnessKind.DENIAL, "burned down", "never burned", SENTENCE),
    "network": Witness(WitnessKind.NETWORK),
}
# How an article may itself say that what it cites was retracted.
KNOWN: dict[str, dict[str, Any]] = {
    "retracted, marked": {"tags": ("retracted",)},
    "retracted, of concern": {"tags": ("expression of concern",)},
    "retracted, titled": {"title": "Retraction: Mills"},
    "retracted, in doubt": {"tags": ("failed verification",)},
}
SAYS = {"retracted, stated": "The journal retracted it in 1937."}
HALVES = ("shown", "shown_held_back")


def evidence(passage: Passage, quote: Span, network: float | None, *seen: Witness) -> Evidence:
    readout = Readout(-3.0, 0.9, network)
    return Evidence(passage, 0.1, 0.8, 0.1, -2.0, quote=quote, readout=readout, witnesses=seen)


def record(label: str, what: str) -> Record:
    page = Document(URL, "RETRACTED: Mills" if what.startswith("retracted") else "Mills", TEXT)
    faults = (Fault(FaultKind(what), "1"),) if what in set(FaultKind) else ()
    citation = Citation("r1", Span(0, 1), Span(0, 1), url=URL, faults=faults, name="mill")
    citation = replace(citation, **KNOWN.get(what, {}))
    seen = (WITNESSES[what],) if what in WITNESSES else ()
    passage = Passage("p", URL, "Mills", TEXT, Span(0, len(TEXT)))
    outcome: Evidence | Unchecked = evidence(passage, SENTENCE, -3.0, *seen)
    source: Document | Unchecked = page
    if what in set(Reason):
        outcome = source = Unchecked(URL, Reason(what))
    is_other = what == "value in another copy"
    result = CitationResult(citation, outcome, Label(label), other_copy=is_other)
    claim = Claim("0", SAYS.get(what, "The mill burned down in 1937."))
    finding = Finding(claim, (result,), None, Label(label), -2.0, ())
    return record_of(finding, [source], date(2026, 1, 1))


@each_row("watch/gate/kinds")
def test_what_is_published(label: str, what: str, kind: str, published: bool) -> None:
    found = record(label, what)
    assert (found.kind, found.kind in PUBLISHED) == (kind, published)
    assert (found.source_url, found.ref_name, found.label) == (URL, "mill", label)


@pytest.mark.parametrize("row", [row for half in HALVES for row in rows(f"watch/gate/{half}")])
def test_a_value_is_shown_if_the_sentence_says_the_rest_and_the_network_agrees(
    row: tuple[Any, ...],
) -> None:
    _, claim, sentence, mine, theirs, network, kind = row
    span = Span(0, len(sentence))
    seen = Witness(WitnessKind.VALUE, mine, theirs, span)
    read = evidence(Passage("p", URL, "", sentence, span), span, network, seen)
    citation = Citation("r1", Span(0, 1), Span(0, 1), url=URL)
    result = CitationResult(citation, read, Label.REFUTED)
    finding = Finding(Claim("0", claim), (result,), None, Label.REFUTED, -2.0, ())
    assert record_of(finding, [Document(URL, "", sentence)], date(2026, 1, 1)).kind == kind


@pytest.mark.parametrize(
    ("measured", "precise"),
    [((90, 100), True), ((89, 100, 0, 9_000), False), ((0, 0, 0, 9_000), True),
     ((0, 0, 1, 9_000), False), ((0, 0, 0, 90), False), ((), False)],
)  # fmt: skip
def test_a_kind_is_precise_by_its_figures(measured: tuple[int, ...], precise: bool) -> None:
    assert Measured(*measured).is_precise is precise


@pytest.mark.parametrize("what", ["value", "soft_404", "isbn_invalid", "retracted"])
def test_what_is_published_says_why(what: str) -> None:
    labels = {"value": "refuted", "soft_404": "unchecked"}
    found = record(labels.get(what, "supported"), what).values()
    assert reasons(found)


class Row:
    """A row of the table, with text from outside that tries to be markup."""

    title, kind, claim = "A|B]]", "other_date", "x || y\n|-\n{{evil}} [[z]]"
    private = False

    def __init__(self, url: str) -> None:
        self.record: dict[str, Any] = record("refuted", "value").values() | {"source_url": url}


@pytest.mark.parametrize("url", [URL, "javascript:1", "https://a.example/]|-|}"])
def test_text_from_outside_cannot_leave_its_cell(url: str) -> None:
    lines = worklist([Row(url)]).splitlines()
    assert len(lines) == 5
    assert lines[3].count("||") == 3
    assert "{{evil}}" not in lines[3]
    assert "{{!}}" not in lines[3]  # MediaWiki reads it as a pipe of the table
