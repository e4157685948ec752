"""Own copies leave no more in a finding than their quotes."""

from dataclasses import replace

from pincite.types import (
    GAP,
    OWN_SCHEME,
    Citation,
    CitationResult,
    Claim,
    Evidence,
    Finding,
    Label,
    Part,
    Passage,
    Span,
)
from pincite.verbs.verify.cited_copies import MAX_OWN_QUOTE, only_quotes

OWN = f"{OWN_SCHEME}{'a' * 64}"
CLAIM = Claim("c", "The bridge opened.")


def evidence(url: str, before: str, quote: str) -> Evidence:
    text = f"{before}{quote} After it."
    passage = Passage("d", url, "T", text, Span(100, 100 + len(text)), about="about")
    return Evidence(passage, 0.8, 0.1, 0.1, 1.0, Span(len(before), len(before) + len(quote)))


def finding(*found: Evidence) -> Finding:
    parts = [Part("clause", Span(0, 3), "The", True, e) for e in found]
    results = tuple(
        CitationResult(Citation("r", Span(0, 1), Span(0, 1)), e, Label.SUPPORTED, (part,), (part,))
        for e, part in zip(found, parts, strict=True)
    )
    return Finding(CLAIM, results, found[0], Label.SUPPORTED, 1.0, (), missing=(parts[0],))


def first(finding: Finding) -> Evidence:
    outcome = finding.citations[0].outcome
    assert isinstance(outcome, Evidence)
    return outcome


def test_what_surrounds_a_quote_is_gone_everywhere() -> None:
    before = finding(evidence(OWN, "CANARY. ", "It opened."))
    assert "CANARY" in repr(before)
    after = only_quotes(before)
    assert "CANARY" not in repr(after)
    assert "After it" not in repr(after)
    outcome = first(after)
    assert (outcome.quoted, outcome.passage.span) == ("It opened.", Span(108, 118))


def test_sentences_read_together_with_a_quote_are_gone_too() -> None:
    found = evidence(OWN, f"CANARY.{GAP}", "It opened.")
    pieces = (Span(100, 107), Span(300, 321))
    together = replace(found, passage=replace(found.passage, span=Span(100, 321), pieces=pieces))
    outcome = first(only_quotes(finding(together)))
    assert (outcome.quoted, outcome.quote_span) == ("It opened.", Span(300, 310))
    assert (outcome.passage.text, outcome.passage.pieces) == ("It opened.", ())


def test_a_long_quote_is_cut_between_words() -> None:
    words = "word " * 100 + "END"
    outcome = first(only_quotes(finding(evidence(OWN, "", words))))
    assert outcome.quoted == outcome.passage.text == ("word " * 60).strip()
    assert len(outcome.quoted) <= MAX_OWN_QUOTE
    solid = first(only_quotes(finding(evidence(OWN, "", "x" * 1000))))
    assert len(solid.quoted) == MAX_OWN_QUOTE


def test_no_quote_no_words() -> None:
    bare = replace(evidence(OWN, "CANARY ", "x"), quote=None)
    outcome = first(only_quotes(finding(bare)))
    assert (outcome.passage.text, outcome.quote) == ("", None)


def test_other_sources_are_as_they_were() -> None:
    other = evidence("https://a.example/", "B. ", "It.")
    mixed = only_quotes(finding(other, evidence(OWN, "CANARY ", "It.")))
    assert "CANARY" not in repr(mixed)
    assert first(mixed) == other
