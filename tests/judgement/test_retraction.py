"""A retraction that only a title or the page itself tells; and texts that are none."""

import pytest

from pincite.judgement.provenance import Retraction, retraction_of, with_retraction
from pincite.types import Document, Evidence, Passage, Reason, Span, Unchecked
from pincite.verbs.check.pipeline import candidate

BODY = "Almond oil shortened the sleep of 40 adults.\n\nThey were followed for a year."


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("RETRACTED: Almond oil and sleep", Retraction.YES),
        ("[Retracted] Almond oil and sleep", Retraction.YES),
        ("Almond oil and sleep (Retracted article. See vol. 3, p. 4, 2015)", Retraction.YES),
        ("WITHDRAWN: Almond oil for sleep", Retraction.YES),
        ("Retraction Note to: Almond oil and sleep", Retraction.YES),
        ("Notice of Retraction: Almond oil", Retraction.YES),
        ("Statement of Retraction", Retraction.YES),
        ("Partial Retraction: Almond oil and sleep", Retraction.PARTLY),
        ("Expression of concern: Almond oil and sleep", Retraction.CONCERN),
        ("Editorial Expression of Concern", Retraction.CONCERN),
        ("Retraction of the iris in calves", Retraction.UNKNOWN),
        ("Retracted tongues: a study of frogs", Retraction.UNKNOWN),
        ("Why papers are retracted: a survey", Retraction.UNKNOWN),
        ("Retracted paper on almonds divides a town", Retraction.UNKNOWN),
        ("Expressions of concern in nursing talk", Retraction.UNKNOWN),
        ("Almond oil and sleep", Retraction.UNKNOWN),
    ],
)
def test_what_a_title_says(title: str, expected: Retraction) -> None:
    assert retraction_of(Document("u", title, BODY)) is expected


@pytest.mark.parametrize(
    ("beginning", "expected"),
    [
        ("This article has been retracted.", Retraction.YES),
        ("This article on almond oil has been retracted at its authors' wish.", Retraction.YES),
        ("This paper (Holm 2011) was formally retracted on 5 May 2014.", Retraction.YES),
        ("The following article from Sleep, “Almond oil”, has been retracted.", Retraction.YES),
        ("The authors have withdrawn this manuscript.", Retraction.YES),
        ("RETRACTED ARTICLE", Retraction.YES),
        ("Expression of Concern", Retraction.CONCERN),
        ("The study was retracted in 2014, its journal said.", Retraction.UNKNOWN),
        ("This article examines why papers were retracted.", Retraction.UNKNOWN),
        ("This paper examines why the tax was withdrawn.", Retraction.UNKNOWN),
        ("The senator retracted the statement.", Retraction.UNKNOWN),
    ],
)
def test_what_a_page_says_at_its_beginning(beginning: str, expected: Retraction) -> None:
    assert retraction_of(Document("u", "Almond oil", f"{beginning}\n\n{BODY}")) is expected
    late = Document("u", "Almond oil", f"{BODY * 50}\n\n{beginning}")
    assert retraction_of(late) is Retraction.UNKNOWN


def test_metadata_counts_beside_the_title() -> None:
    def told(title: str, stated: str) -> Retraction:
        return retraction_of(Document("u", title, BODY, meta={"retracted": stated}))

    assert told("Almond oil", "expression of concern") is Retraction.CONCERN
    assert told("RETRACTED: Almond oil", "no") is Retraction.YES
    assert told("Almond oil", "no") is Retraction.NO


def test_evidence_of_a_retracted_source_carries_a_note() -> None:
    document = Document("u", "RETRACTED: Almond oil", BODY)
    passage = Passage("d", "u", "t", BODY, Span(0, len(BODY)))
    evidence = Evidence(passage, 0.8, 0.1, 0.1, 2.0)
    found = with_retraction(evidence, document)
    assert isinstance(found, Evidence)
    assert [note.code for note in found.reasons_coded] == ["source_retracted"]
    assert with_retraction(evidence, Document("u", "Almond oil", BODY)) == evidence
    gone = Unchecked("u", Reason.DEAD)
    assert with_retraction(gone, document) is gone


def test_a_retracted_source_is_no_evidence_for_a_reading() -> None:
    passage = Passage("d", "u", "t", BODY, Span(0, len(BODY)))
    assert candidate(Document("u", "RETRACTED: Almond oil", BODY), passage).lost
    assert not candidate(Document("u", "Almond oil", BODY), passage).lost
