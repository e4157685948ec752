"""Answers made of sentences of the sources."""

from pincite.core.extract import Quotable, can_stand_alone, chosen, repeats


def quotable(text: str, relevance: float, source: int = 0, place: int = 0) -> Quotable:
    return Quotable(text, source, place, relevance)


def test_the_most_relevant_come_in_the_order_of_their_sources() -> None:
    found = chosen(
        [
            quotable("Pain fell by 12% in the treated group.", 1.0, source=1),
            quotable("Nausea was rare among all patients seen.", 2.0, source=0, place=3),
            quotable("Birds sang in the park every morning.", -4.0, source=0, place=1),
        ],
        most=5,
        least_relevance=0.0,
    )
    assert [each.text[:4] for each in found] == ["Naus", "Pain"]


def test_at_most_so_many() -> None:
    words = ("pain", "nausea", "fever", "sleep")
    seen = [quotable(f"Much less {w} was seen.", 1.0 + n) for n, w in enumerate(words)]
    found = chosen(seen, 2, 0.0)
    assert {each.relevance for each in found} == {3.0, 4.0}


def test_a_sentence_that_repeats_another_is_left_out() -> None:
    one = quotable("Pain fell by 12% in the treated group.", 2.0)
    other = quotable("In the treated group, pain fell by 12%.", 1.0, source=1)
    assert chosen([other, one], 5, 0.0) == [one]


def test_contradictions_are_no_repetitions() -> None:
    assert not repeats("Pain fell by 12% in women.", "Pain fell by 21% in women.")
    assert not repeats("Pain fell in treated women.", "Pain never fell in treated women.")


def test_what_points_back_or_is_no_sentence_cannot_stand_alone() -> None:
    assert not can_stand_alone("This was seen in all of the treated groups.")
    assert not can_stand_alone("Methods and materials of the present trial")
    assert not can_stand_alone("")
    assert can_stand_alone("Pain fell by 12% in the treated group.")


def test_what_a_study_set_out_to_do_answers_nothing() -> None:
    for text in (
        "The aim of this study was to evaluate safety in adults.",
        "Our primary objective was to compare both doses in adults.",
        "We hypothesised that the dose lowers pain in adults.",
        "In this study, we examined whether the dose lowers pain.",
    ):
        assert not can_stand_alone(text)
    assert can_stand_alone("We found less pain in the treated group.")
    assert can_stand_alone("Goals were scored by fewer of the tired players.")
