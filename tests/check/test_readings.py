"""Readings by rule: what a statement says, who is said to say it, what it values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.text.languages import identify
from pincite.verbs.check.readings import (
    content_of,
    is_question,
    kind_of,
    negation,
    readings,
    user_reading,
)


def found(statement: str, language: str = "en") -> list[tuple[str, str]]:
    return [(str(reading.kind), reading.text) for reading in readings(statement, language)]


def test_a_plain_statement_is_its_own_reading() -> None:
    (reading,) = readings("The ferry crosses the sound twice a day.")
    assert (reading.reading_id, reading.kind, reading.origin) == ("r1", "descriptive", "statement")


@pytest.mark.parametrize(
    "statement",
    [
        "The mayor believes the harbour was built in 1911",
        "The mayor believes that the harbour was built in 1911.",
        "According to the mayor, the harbour was built in 1911.",
        "The mayor: “the harbour was built in 1911.”",
        "“the harbour was built in 1911”, said the mayor.",
    ],
)
def test_ascribed_content_is_a_reading(statement: str) -> None:
    assert found(statement) == [
        ("ascriptive", statement),
        ("descriptive", "the harbour was built in 1911"),
    ]


@pytest.mark.parametrize(
    ("statement", "kinds"),
    [
        ("The company reported losses of three million.", "descriptive"),
        ("The man who said so is old.", "descriptive"),
        ("It was announced twice.", "descriptive"),
        ("The mayor denies all charges.", "ascriptive"),
        ("The mayor does not believe that the mill burnt down.", "ascriptive"),
        ("Critics say the mill was closed.", "ascriptive descriptive"),
        ("The mayor said “the mill burnt down”.", "ascriptive descriptive"),
    ],
)
def test_a_verb_of_saying_alone_is_not_an_ascription(statement: str, kinds: str) -> None:
    assert [kind for kind, _ in found(statement)] == kinds.split()


def test_a_valuation() -> None:
    assert found("The council should close the mill.") == [
        ("normative", "The council should close the mill.")
    ]
    assert kind_of("It must have been built in 1911.") == "descriptive"
    kinds = [kind for kind, _ in found("Holm says that the council should close the mill.")]
    assert kinds == ["ascriptive", "normative"]


def test_two_statements_in_one() -> None:
    assert found("Holm was born in Varde and studied in Oslo.") == [
        ("descriptive", "Holm was born in Varde and studied in Oslo."),
        ("descriptive", "Holm was born in Varde"),
        ("descriptive", "Holm studied in Oslo"),
    ]


@pytest.mark.parametrize(
    ("statement", "parts"),
    [
        (
            "The tram opened in 1998 and the depot was built in 1999.",
            ["The tram opened in 1998", "the depot was built in 1999"],
        ),
        (
            "The town and the mill were sold and the road was moved.",
            ["The town and the mill were sold", "the road was moved"],
        ),
        ("The mill and the farm were sold.", []),
        ("He visited the church and the school built in 1901.", []),
        ("The tram opened in 1998 and it was closed in 1999.", []),
        ("The firm sold the mill and the farm which was built.", []),
    ],
)
def test_two_sentences_joined_by_and(statement: str, parts: list[str]) -> None:
    assert [text for _, text in found(statement)] == [statement, *parts]


@pytest.mark.parametrize(
    ("statement", "language", "fact"),
    [
        ("The mill closed in 1934 and should stand.", "en", "The mill closed in 1934"),
        ("Die Mühle schloss 1934 und sollte stehen.", "de", "Die Mühle schloss 1934"),
    ],
)
def test_a_fact_is_separated_from_a_demand(statement: str, language: str, fact: str) -> None:
    assert found(statement, language) == [("normative", statement), ("descriptive", fact)]


def test_a_quotation_at_the_end_keeps_both_of_its_marks() -> None:
    statement = 'The mayor said that the tram is "the best of all".'
    assert found(statement)[1] == ("descriptive", 'the tram is "the best of all"')


def test_many_say_is_an_ascription() -> None:
    kinds = [kind for kind, _ in found("Many say that the mill was closed.")]
    assert kinds == ["ascriptive", "descriptive"]
    assert [kind for kind, _ in found("The report that day was long.")] == ["descriptive"]


def test_questions() -> None:
    assert is_question("When was the mill closed?”")
    assert not is_question("The mill was closed.")
    assert not is_question("")


def test_german_is_seen_by_its_small_words() -> None:
    assert identify("Die Straßenbahn von Orrest fuhr 2022 für alle.") == "de"
    assert identify("The von Trapp family of Köln and Düren left.") != "de"
    assert identify("Le pont a été ouvert en 1911.") != "de"


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("Der Bürgermeister behauptet, dass die Brücke 1911 eröffnet wurde.", "ascriptive"),
        ("Laut Stadtrat wurde die Brücke 1911 eröffnet.", "ascriptive"),
        ("Die Brücke sollte geschlossen werden.", "normative"),
        ("Die Brücke wurde 1911 eröffnet.", "descriptive"),
    ],
)
def test_german(statement: str, kind: str) -> None:
    (reading,) = readings(statement, "de")
    assert reading.kind == kind
    assert reading.negation == f"Es trifft nicht zu: {statement}"


def test_other_languages_have_only_the_statement() -> None:
    (reading,) = readings("Le pont a été ouvert en 1911.", "fr")
    assert (reading.kind, reading.negation) == ("descriptive", "")


@pytest.mark.parametrize("nothing", ["", "  ", "1911", "?!"])
def test_no_words_no_reading(nothing: str) -> None:
    assert readings(nothing) == []


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("The bridge is old.", "The bridge is not old."),
        ("The bridge was not built in 1911.", "The bridge was built in 1911."),
        ("Trains can cross it.", "Trains cannot cross it."),
        ("The town had built a bridge.", "The town had not built a bridge."),
        ("Holm believes that the dam is safe.", "Holm does not believe that the dam is safe."),
        ("Experts say the dam is safe.", "Experts do not say the dam is safe."),
        ("Holm denied all charges.", "Holm did not deny all charges."),
        ("Holm has claimed that it fell.", "Holm has not claimed that it fell."),
        ("Holm does not believe that it fell.", "Holm believes that it fell."),
        ("Holm never said that it fell.", "Holm said that it fell."),
        (
            "Nobody says that the dam is safe.",
            "It is not the case that nobody says that the dam is safe.",
        ),
        ("It was announced that the mill closed.", "It was not announced that the mill closed."),
        (
            "The study shows tea is good.",
            "It is not the case that the study shows tea is good.",
        ),
        ("Coffee causes cancer.", "Coffee does not cause cancer."),
        ("Coffee does not cause cancer.", "Coffee causes cancer."),
        ("Vaccines cause autism.", "Vaccines do not cause autism."),
        ("Two mills were closed.", "It is not the case that two mills were closed."),
        ("A mill was closed.", "It is not the case that a mill was closed."),
        ("One in four is ill.", "It is not the case that one in four is ill."),
        ("The mill was hardly used.", "It is not the case that the mill was hardly used."),
        (
            "Articles in journals sold well in May.",
            "It is not the case that articles in journals sold well in May.",
        ),
        ("It is wrong to lie.", "It is not wrong to lie."),
        ("The town had two bridges.", "It is not the case that the town had two bridges."),
        ("Holm opened it.", "It is not the case that Holm opened it."),
        ("All trains were late.", "It is not the case that all trains were late."),
        ("No train was late.", "It is not the case that no train was late."),
        (
            "The dam was built in 1963 and the lake holds much.",
            "It is not the case that the dam was built in 1963 and the lake holds much.",
        ),
        (
            "The bridge was built when the mill was closed.",
            "It is not the case that the bridge was built when the mill was closed.",
        ),
    ],
)
def test_negation(text: str, denied: str) -> None:
    assert negation(text) == denied


def test_a_reading_by_the_user() -> None:
    reading = user_reading("  The mill  is closed. ")
    assert (reading.text, reading.origin) == ("The mill is closed.", "user")
    assert reading.negation == "The mill is not closed."


@given(st.text(max_size=200), st.sampled_from(["en", "de", "fr"]))
def test_any_text_can_be_read(text: str, language: str) -> None:
    of_text = readings(text, language)
    assert [r.reading_id for r in of_text] == [f"r{n}" for n in range(1, len(of_text) + 1)]
    assert all(r.text and kind_of(r.text, language) == r.kind for r in of_text)
    assert all(r.negation != r.text for r in of_text)
    assert content_of(text, language) is None or text


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
