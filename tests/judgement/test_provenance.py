"""The kind of a source by what its page states, its retraction, and whom a reading is about."""

import pytest
from support.rows import each_row

from pincite.judgement.provenance import (
    Retraction,
    is_about,
    named_speaker,
    retraction_of,
    source_of,
    with_retraction,
)
from pincite.types import Document, Evidence, Passage, Reason, Span, Unchecked
from pincite.verbs.check.pipeline import candidate


@each_row("judgement/provenance/kind_follows_what_the_page_states")
def test_kind_follows_what_the_page_states(
    url: str, text: str, meta: dict[str, str], kind: str
) -> None:
    assert source_of(Document(url, "", text, meta=meta)).kind == kind


@each_row("judgement/provenance/a_reading_is_about_a_publisher")
def test_a_reading_is_about_a_publisher(reading: str, name: str, about: bool) -> None:
    assert is_about(reading, name) is about


@each_row("judgement/provenance/a_speakers_name")
def test_a_speakers_name(words: str, name: str) -> None:
    assert named_speaker(words) == name


@each_row("judgement/provenance/records_are_primary_sources")
def test_records_are_primary_sources(title: str, text: str, primary: bool) -> None:
    assert source_of(Document("https://a.example/", title, text)).primary is primary


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
        ("Retracted paper on almonds divides a town", Retraction.UNKNOWN),
        ("Expressions of concern in nursing talk", Retraction.UNKNOWN),
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


def test_a_retracted_source_is_noted_and_is_no_evidence_for_a_reading() -> None:
    retracted, sound = (Document("u", f"{mark}Almond oil", BODY) for mark in ("RETRACTED: ", ""))
    passage = Passage("d", "u", "t", BODY, Span(0, len(BODY)))
    evidence = Evidence(passage, 0.8, 0.1, 0.1, 2.0)
    noted = with_retraction(evidence, retracted)
    assert [note.code for note in noted.reasons_coded] == ["source_retracted"]
    assert with_retraction(evidence, sound) == evidence
    gone = Unchecked("u", Reason.DEAD)
    assert with_retraction(gone, retracted) is gone
    assert candidate(retracted, passage).lost
    assert not candidate(sound, passage).lost
