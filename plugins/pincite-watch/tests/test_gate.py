"""Which findings editors see by default, and what is stored of them."""

from datetime import date
from typing import Any

import pytest
from support.rows import each_row

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
    Reason,
    Span,
    Unchecked,
    Witness,
    WitnessKind,
)
from pincite_watch.gate import PUBLISHED, Record, record_of
from pincite_watch.shown import reasons, worklist

URL = "https://mill.example/"
TEXT = "The mill burned down in 1934. It was rebuilt in 1936."
WITNESSES = {
    "value": Witness(WitnessKind.VALUE, "1937", "1934"),
    "value in another copy": Witness(WitnessKind.VALUE, "1937", "1934"),
    "value elsewhere": Witness(WitnessKind.VALUE, "1937", "1936"),
    "denial": Witness(WitnessKind.DENIAL, "burned down", "never burned"),
    "network": Witness(WitnessKind.NETWORK),
}


def record(label: str, what: str) -> Record:
    page = Document(URL, "RETRACTED: Mills" if what == "retracted" else "Mills", TEXT)
    faults = (Fault(FaultKind(what), "1"),) if what in set(FaultKind) else ()
    citation = Citation("r1", Span(0, 1), Span(0, 1), url=URL, faults=faults, name="mill")
    seen = (WITNESSES[what],) if what in WITNESSES else ()
    passage = Passage("p", URL, "Mills", TEXT, Span(0, len(TEXT)))
    outcome: Evidence | Unchecked = Evidence(
        passage, 0.1, 0.8, 0.1, -2.0, quote=Span(0, 29), witnesses=seen
    )
    source: Document | Unchecked = page
    if what in set(Reason):
        outcome = source = Unchecked(URL, Reason(what))
    is_other = what == "value in another copy"
    result = CitationResult(citation, outcome, Label(label), other_copy=is_other)
    finding = Finding(
        Claim("0", "It burned down in 1937."), (result,), None, Label(label), -2.0, ()
    )
    return record_of(finding, [source], date(2026, 1, 1))


@each_row("watch/gate/kinds")
def test_what_is_published(label: str, what: str, kind: str, published: bool) -> None:
    found = record(label, what)
    assert (found.kind, found.kind in PUBLISHED) == (kind, published)
    assert (found.source_url, found.ref_name, found.label) == (URL, "mill", label)


@pytest.mark.parametrize("what", ["value", "soft_404", "isbn_invalid", "retracted"])
def test_what_is_published_says_why(what: str) -> None:
    labels = {"value": "refuted", "soft_404": "unchecked"}
    found = record(labels.get(what, "supported"), what).values()
    assert reasons(found)


class Row:
    """A row of the table, with text from outside that tries to be markup."""

    title, kind, claim = "A|B]]", "other_value", "x || y\n|-\n{{evil}} [[z]]"
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
