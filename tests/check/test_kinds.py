"""Which statements describe and which value."""

import pytest

from pincite.verbs.check.kinds import kind_of, without_speaker


@pytest.mark.parametrize(
    "statement",
    [
        "High expression of HOLM1 is associated with better outcomes in breast cancer.",
        "The causes of the fire are poorly understood.",
        "The two measures correlate poorly.",
        "The mill was badly damaged in 1911.",
        "Alcohol makes the symptoms worse.",
        "Survival was better with the drug.",
        "The reef is in good shape.",
        "The early models were wrong about the coast.",
        "The lens is too small to show the moons.",
        "The river is one of the most important borders.",
        "The town floods should it rain for a week.",
        "It must have been built in 1911.",
        "It should be noted that the bridge opened in 1911.",
        "The stone is acceptable for bridges.",
        "It is good for the skin.",
        "It is wrong to say that the mill was closed.",
        "It is important for the cell.",
    ],
)
def test_evaluative_words_may_describe(statement: str) -> None:
    assert kind_of(statement) == "descriptive"


@pytest.mark.parametrize(
    "statement",
    [
        "The mill is badly run.",
        "The works were managed poorly.",
        "The new law is a very bad idea.",
        "It was wrong that the mill closed.",
        "Closing the mill was wrong.",
        "It is wrong to close the mill.",
        "It is right to close the mill.",
        "It is better to close the mill than to sell it.",
        "It would be unacceptable to close the mill.",
        "It is fair that the owner pays.",
        "The toll is unethical.",
        "A tunnel would be better.",
        "The toll is far too high.",
        "Holm is the most important painter of Varde.",
        "Marrick was the worst mayor.",
        "The fine is unjust.",
    ],
)
def test_evaluations_are_opinions(statement: str) -> None:
    assert kind_of(statement) == "normative"


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("Die Maut ist zu hoch.", "normative"),
        ("Die Schließung war falsch.", "normative"),
        ("Das Überleben war mit dem Mittel besser als ohne.", "descriptive"),
        ("Der beste Läufer kam aus Varde.", "descriptive"),
        ("Die Linse ist zu klein, um die Monde zu zeigen.", "descriptive"),
    ],
)
def test_german_evaluative_words_may_describe(statement: str, kind: str) -> None:
    assert kind_of(statement, "de") == kind


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("Friends of Varde Pier must pay £10,000 of the costs.", "descriptive"),
        ("Yards must by law record their oil.", "descriptive"),
        ("The claimant must pay the council's costs.", "descriptive"),
        ("The town must act.", "normative"),
        ("The town ought to spend £10,000 on the pier.", "normative"),
        ("The town should pay £10,000.", "normative"),
    ],
)
def test_an_order_with_a_figure_is_a_fact(statement: str, kind: str) -> None:
    assert kind_of(statement) == kind


@pytest.mark.parametrize(
    ("statement", "speaker", "content"),
    [
        ("Mayor Oduya: Tarn was fined £18,000.", "Mayor Oduya", "Tarn was fined £18,000."),
        ("Lars Holt (Tarn): the yard closed.", "Lars Holt (Tarn)", "The yard closed."),
        ("Fact: the yard closed in May.", "", "The yard closed in May."),
        ("Myth: the yard closed in May.", "", "Myth: the yard closed in May."),
        ("Result: a tie.", "", "Result: a tie."),
        ("The yard closed at 10:30 in May.", "", "The yard closed at 10:30 in May."),
    ],
)
def test_the_speaker_before_a_colon(statement: str, speaker: str, content: str) -> None:
    assert without_speaker(statement) == (speaker, content)
