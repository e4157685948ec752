"""Answers made of sentences of the sources."""

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from support.rows import each_row

from pincite.settings import LEAST_ANSWER
from pincite.types import Document, Span
from pincite.verbs.ask import extract
from pincite.verbs.ask.abstracts import Part, label_of, parts
from pincite.verbs.ask.extract import choose, repeats
from pincite.verbs.ask.questions import reader, subject
from pincite.verbs.ask.quotable import WEIGHTS, Quotable, can_stand_alone, depth, sentences_of
from pincite.verbs.ask.report import Reference


def quotable(text: str, answers: float, source: int = 0, place: int = 0) -> Quotable:
    """A sentence with these log-odds, as far as its text has no part in them."""
    plain = Quotable(text, source, Span(place, place))
    return replace(plain, relevance=(answers - plain.answers) / WEIGHTS["relevance"])


HERE = Span(0, 0)
PAIN = "Pain fell by 12% in the treated group."
NAUSEA = "Nausea was rare among all patients seen."
BIRDS = "Birds sang in the park every morning."


def test_sentences_are_ranked_and_poor_ones_left_out() -> None:
    given = [quotable(PAIN, 1.0, source=1), quotable(NAUSEA, 2.0, place=3), quotable(BIRDS, -4.0)]
    for order in permutations(given):
        assert [each.text for each in choose(order, 5)] == [NAUSEA, PAIN]
    assert [each.text for each in choose(given, 1)] == [NAUSEA]


def test_an_answer_is_not_padded() -> None:
    far = [quotable(PAIN, 4.0), quotable(NAUSEA, 4.0 - extract.BEHIND - 0.1)]
    assert [each.text for each in choose(far, 5)] == [PAIN]
    assert choose([quotable(BIRDS, LEAST_ANSWER - 0.1)], 5) == []


def test_a_sentence_that_repeats_another_is_left_out() -> None:
    one = quotable(PAIN, 2.0)
    other = quotable("In the treated group, pain fell by 12%.", 1.0, source=1)
    assert choose([other, one], 5) == [one]


def test_new_information_ranks_before_repetition() -> None:
    first = quotable("Pain fell in women treated with tea.", 2.0)
    same = quotable("Pain fell in women treated with tea by 12% after a year.", 1.5)
    new = quotable(NAUSEA, 1.4)
    assert [each.text for each in choose([first, same, new], 3)][1] == new.text


@pytest.mark.parametrize("name", ["relevance", "likeness", "of_document", "depth"])
def test_each_signal_raises_the_score(name: str) -> None:
    given: dict[str, Any] = dict.fromkeys(("relevance", "likeness", "of_document", "depth"), 0.5)
    more = given | {name: 0.9}
    assert Quotable(PAIN, 0, HERE, **more).answers > Quotable(PAIN, 0, HERE, **given).answers


def test_conclusions_rank_before_methods_and_findings_before_wishes() -> None:
    concludes, does = (Quotable(PAIN, 0, HERE, 1.0, part=p) for p in (Part.CONCLUSION, Part.METHOD))
    wish = Quotable("Further studies of pain in the treated group are needed.", 0, HERE, 1.0)
    assert concludes.answers > does.answers
    assert Quotable(PAIN, 0, HERE, 1.0).answers > wish.answers


def test_a_source_without_the_questions_subject_scores_low() -> None:
    def lacking(question: str, text: str) -> float:
        return extract.lacking(question, Reference(1, "1", Document("u", "", text)))

    question = "Does coffee cause pain in adults?"
    named = lacking(question, "Coffee and pain: three cups were given to adults each day.")
    other = lacking(question, "Fibroblasts and their effect on the pain of adults.")
    assert (named, other) == pytest.approx((0, 1 / 3))
    assert lacking("How many did the tram carry?", "The tram carried two million.") == 0
    answers, elsewhere = (Quotable(PAIN, 0, HERE, 4.0, 0.5, lacks=each) for each in (named, other))
    assert answers.answers - elsewhere.answers > 1


def test_the_end_of_a_short_text_counts_and_no_place_in_a_long_one() -> None:
    assert depth(0, 400) == depth(399, 400) == depth(0, 1)
    assert depth(0, 10) < depth(5, 10) <= depth(9, 10)


@pytest.mark.parametrize(
    "label", ["Main results: ", "MAIN RESULTS ", "Results. ", "Results—", "Results\n"]
)
def test_a_section_has_the_part_of_its_label(label: str) -> None:
    said, after = "Tram drivers of both towns slept well.", "Cyclists of both towns slept badly."
    document = Document("u", "", f"Methods – We rode. {label}{said} {after}", language="en")
    found = sentences_of(0, Reference(1, "1", document), 1)
    assert [(each.text, each.part) for each in found] == [(said, Part.RESULT), (after, Part.RESULT)]
    assert [each.span.of(document.text) for each in found] == [said, after]


@pytest.mark.parametrize(
    "sentence",
    ["Pain  fell.", "DNA–RNA pairs were rare.", "The results—though mixed—were kept.", "It was: 3"],
)
def test_what_only_looks_like_a_label_is_none(sentence: str) -> None:
    assert label_of(sentence) == ""


def test_place_tells_background_and_conclusion_in_an_abstract_without_labels() -> None:
    abstract = [
        "Recent trials have suggested that tea lowers pain.",
        "We aimed to test tea in adults with gout.",
        "Forty adults were enrolled in two towns.",
        "Pain fell in 12 of 20 treated adults (p = 0.03).",
        "Tea has no place in the care of gout.",
    ]
    found = [Part.BACKGROUND, Part.AIM, Part.METHOD, Part.RESULT, Part.CONCLUSION]
    assert parts(abstract) == found
    assert parts([each.replace(" ", "  ", 1) for each in abstract]) == found
    assert parts(abstract, whole=False)[0] is Part.OTHER
    asides = ["Sleep was better in the treated group.", "Both groups were seen in winter."]
    assert parts([*abstract[:4], *asides, abstract[4]])[4:] == [Part.RESULT] * 2 + found[4:]
    assert parts([*abstract[:4], *asides])[4:] == [Part.CONCLUSION] * 2
    wish = "Further trials are needed."  # in the present, but not what was found
    assert parts([*abstract[:4], *asides, wish])[4:] == [Part.CONCLUSION] * 3
    report = ["In 2022 the tram carried 2.14 million.", "A tram ran.", "Our staff grew to 93."]
    assert Part.CONCLUSION not in parts([*report, "Two trams were painted.", "We ordered more."])


def test_a_conclusion_stands_for_what_its_document_says() -> None:
    conclusion = quoted("Tea lowers pain in adults with gout.", 0, 90, part=Part.CONCLUSION)
    row = quoted("Pain fell in 12 of 20 treated adults (p = 0.03).", 0, 50, part=Part.RESULT)
    other = quoted("In Lunde, 30 of 40 adults who drank tea felt better.", 1, 50, part=Part.RESULT)
    assert choose([row, conclusion, other], 4) == [conclusion, other]
    assert choose([row, other], 4) == [row, other]


def test_sentences_of_a_document_stand_in_its_order() -> None:
    first = quoted("Tea lowers pain in adults with gout.", 0, 10, part=Part.CONCLUSION)
    exception = quoted("However, coffee raised it.", 0, 50, relevance=5, part=Part.CONCLUSION)
    assert choose([exception, first], 4) == [first, exception]
    later = replace(first, span=Span(90, 90))
    assert choose([exception, later], 4) == [later]  # what it continues was not chosen
    assert choose([exception], 4) == [exception]


def quoted(text: str, source: int, place: int, relevance: float = 4.5, **more: Any) -> Quotable:
    return Quotable(text, source, Span(place, place), relevance, 0.8, 2.0, 0.7, **more)


def test_contradictions_are_not_repetitions() -> None:
    assert not repeats("Pain fell by 12% in women.", "Pain fell by 21% in women.")
    assert not repeats("Pain fell in treated women.", "Pain never fell in treated women.")


@each_row("ask/extract/which_sentences_can_stand_alone")
def test_which_sentences_can_stand_alone(text: str, alone: bool, is_last: bool) -> None:
    assert can_stand_alone(text, is_last=is_last) is alone


def finding(source: int, agrees: bool | None, answers: float, fits: bool | None = None) -> Quotable:
    """A conclusion that scores about `answers`, in words of its own."""
    text = f"The trial number {source} found that {'abcdefgh'[source] * 9} changed the outcome."
    found = Quotable(text, source, HERE, part=Part.CONCLUSION, agrees=agrees, fits=fits)
    return replace(found, relevance=(answers - found.answers) / WEIGHTS["relevance"])


def test_where_studies_disagree_both_sides_are_quoted() -> None:
    far = LEAST_ANSWER - extract.OTHER_SIDE / 2
    yes, no, unclear = finding(0, True, 3), finding(1, False, far), finding(2, None, far)
    assert {c.source for c in choose([yes, no, unclear], 4)} == {0, 1}
    assert {c.source for c in choose([yes, replace(no, agrees=True)], 4)} == {0}
    crowded = choose([no, *(finding(n, True, 3) for n in range(2, 7))], 4)
    assert (1 in {c.source for c in crowded}, len(crowded)) == (True, 4)


def test_the_other_side_is_not_taken_from_other_ages() -> None:
    yes, no = finding(0, True, 3, fits=True), finding(1, False, 0, fits=False)
    assert {c.source for c in choose([yes, no], 4)} == {0}


def test_studies_with_the_ages_asked_for_come_first() -> None:
    other, fitting = finding(0, None, 3), finding(1, None, 2, fits=True)
    assert [c.source for c in choose([other, fitting], 4)] == [1, 0]


QUESTION = "Does Lactovia reuteri reduce crying in infants?"


def sides(text: str, title: str = "", **meta: str) -> list[bool | None]:
    """Return what each sentence of a study finds of the question."""
    document = Document("https://a.example/1", title, text, language="en", meta=meta)
    paper = Reference(1, "1", document)
    sentences = extract.for_question(QUESTION, paper, sentences_of(0, paper, 1))
    sided = extract.with_sides(reader(QUESTION), subject(QUESTION), paper, sentences)
    return [each.agrees for each in sided]


@each_row("ask/extract/a_study_has_a_side_if_it_names_what_is_asked")
def test_a_study_has_a_side_if_it_names_what_is_asked(
    title: str, conclusion: str, expected: bool | None
) -> None:
    text = f"METHODS: We gave drops to 90 infants with colic. CONCLUSIONS: {conclusion}"
    assert sides(text, title)[-1] is expected


def test_only_results_that_name_the_intervention_and_sound_studies_have_a_side() -> None:
    text = "RESULTS: The diet of the mothers did not explain the fall in crying of the infants."
    assert sides(text, "Sleep in a trial of Lactovia reuteri") == [None]
    text = "CONCLUSIONS: Lactovia reuteri reduced crying of infants."
    assert (sides(text), sides(text, retracted="yes")) == ([True], [None])


def test_a_sentence_with_a_pronoun_is_quoted_with_the_one_before() -> None:
    text = f"{PAIN} It rose in 9 women who took none. Of these, two left.\n\nThey were older."
    document = Document("u", "Tea", text, "text")
    found = sentences_of(0, Reference(1, "1", document), 5)
    assert [each.span.of(text) for each in found] == [PAIN, text[: text.index(" Of")]]
    assert len(choose([replace(each, relevance=20.0) for each in found], 5)) == 1
