"""Readings by rule: what a statement says, who is said to say it, what it values."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.verbs.check.kinds import ascription, kind_of, negation, without_speaker
from pincite.verbs.check.readings import interpret_by_rules, readings, user_reading

CASES = Path(__file__).parents[1] / "cases" / "check"
KINDS = {"D": "descriptive", "A": "ascriptive", "N": "normative", "?": ""}  # ?: no reading


def found(statement: str, language: str = "en") -> list[tuple[str, str]]:
    return [(str(reading.kind), reading.text) for reading in readings(statement, language)]


@each_row("check/readings/readings_of")
def test_the_readings_of_a_statement(
    statement: str, language: str, readings: list[list[str]]
) -> None:
    assert list(map(list, found(statement, language))) == readings


@each_row("check/readings/a_verb_of_saying_alone_is_not_an_ascription")
def test_a_verb_of_saying_alone_is_not_an_ascription(statement: str, kinds: str) -> None:
    assert [kind for kind, _ in found(statement)] == kinds.split()


@each_row("check/kinds/kinds")
def test_evaluative_words_may_describe(statement: str, kind: str, language: str) -> None:
    assert kind_of(statement, language) == kind


@each_row("check/kinds/the_speaker_before_a_colon")
def test_the_speaker_before_a_colon(statement: str, speaker: str, content: str) -> None:
    assert without_speaker(statement) == (speaker, content)


@each_row("check/negation/negation")
def test_negation(text: str, denied: str, language: str) -> None:
    assert negation(text, language) == denied


def test_it_after_what_someone_said_is_what_they_spoke_of() -> None:
    texts = [text for _, text in found("The mayor said that crime fell, but it rose.")]
    assert "crime rose" in texts
    assert "The mayor rose" not in texts


def test_german_content_whose_order_is_in_doubt_is_a_failure() -> None:
    texts = [f"Die Studie {verb}, dass Moos Blei bindet." for verb in ("zeigt", "hofft")]
    unread, wish = (interpret_by_rules(text, "de") for text in texts)
    assert [len(each.readings) for each in (unread, wish)] == [1, 1]
    assert [bool(each.failures) for each in (unread, wish)] == [True, False]


def test_short_german_statements_are_read_as_german_without_a_setting() -> None:
    texts = ["Bienen können rotes Licht sehen.", "Selmouth Academy beat Garwick in the final."]
    denials = [interpret_by_rules(text).readings[0].negation for text in texts]
    assert [each.startswith("Es ") for each in denials] == [True, False]


def test_other_languages_have_only_the_statement() -> None:
    (reading,) = readings("Le pont a été ouvert en 1911.", "fr")
    assert (reading.reading_id, reading.kind, reading.origin) == ("r1", "descriptive", "statement")
    assert reading.negation == ""


@pytest.mark.parametrize("nothing", ["", "1911", "When was the mill closed?”"])
def test_what_states_nothing_has_no_reading(nothing: str) -> None:
    assert interpret_by_rules(nothing).readings == ()


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
    assert ascription(text, language) is None or text


def expected(name: str) -> Iterator[list[tuple[str, str, list[str]]]]:
    """For each statement of a file: kind, text and accepted negations of each reading."""
    of_one: list[tuple[str, str, list[str]]] = []
    for line in (CASES / f"{name}.txt").read_text("utf-8").splitlines():
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if text.startswith("not "):
            of_one[-1][2].append(text[4:])
            continue
        if line == text and of_one:
            yield of_one
            of_one = []
        of_one.append((KINDS[text[0]], text[2:], []))
    yield of_one


def bare(text: str) -> str:
    return text.strip(" .").casefold()


@pytest.mark.parametrize(
    ("name", "language", "least_exact", "least_right"),
    [  # of 66, 20 and 20 statements, and of 113, 34 and 34 negations
        ("readings", "en", 65, 111),
        ("readings_de", "de", 19, 33),
        ("readings_de_held_back", "de", 19, 33),
    ],
)
def test_the_readings_that_a_careful_person_expects(
    name: str, language: str, least_exact: int, least_right: int
) -> None:
    exact = n_right = 0
    for of_one in expected(name):
        wanted = {(kind, bare(text)): negations for kind, text, negations in of_one if kind}
        shown = interpret_by_rules(of_one[0][1], language).readings
        kinds_and_texts = {(str(r.kind), bare(r.text)) for r in shown}
        exact += kinds_and_texts == wanted.keys()
        assert kinds_and_texts <= wanted.keys()
        for reading in shown:
            accepted = wanted[str(reading.kind), bare(reading.text)]
            whole = [f"It is not the case that {reading.text}"] if language == "en" else []
            n_right += bare(reading.negation) in map(bare, [*whole, *accepted])
    assert exact >= least_exact
    assert n_right >= least_right
