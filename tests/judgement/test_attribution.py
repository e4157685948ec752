"""Whose words and deeds a source states."""

from dataclasses import replace

from support.rows import each_row, rows

from pincite.judgement.attribution import (
    ascribes,
    misattribution,
    said_by_another,
)
from pincite.judgement.other_values import value_of_another
from pincite.types import Claim, Passage


def judged(claim: str, source: str, article: str, page: str = "") -> str:
    passage = replace(Passage.alone(source), page=page or source)
    about = article if claim.startswith(("He ", "She ", "His ", "It ")) else ""
    found = misattribution(Claim("", claim, article, about=about), passage)
    return f"{found.kind}: {found.other}" if found else ""


@each_row("judgement/attribution/of_another")
def test_what_a_source_says_of_another_is_found(
    claim: str, source: str, code: str, other: str, article: str
) -> None:
    assert judged(claim, source, article) == f"{code}: {other}"


@each_row("judgement/attribution/value_of_another")
def test_a_value_that_is_given_for_another_is_found(
    claim: str, passage: str, source: str | None
) -> None:
    found = value_of_another(claim, passage)
    assert (found.source if found else None) == source


@each_row("judgement/attribution/of_the_same")
def test_what_a_source_says_of_the_same_is_not_another_s(
    claim: str, source: str, article: str
) -> None:
    assert judged(claim, source, article) == ""


@each_row("judgement/attribution/said_by_another")
def test_words_belong_to_who_says_them(claim: str, page: str, code: str, other: str) -> None:
    found = said_by_another(claim, Passage.alone(page))
    assert (found.kind if found else "", found.other if found else "") == (code, other)


@each_row("judgement/attribution/ascribes")
def test_a_text_ascribes_by_whole_words(text: str, expected: bool) -> None:
    assert ascribes(text) is expected


def test_another_sentence_of_the_page_may_state_the_claim() -> None:
    claim, source, *_ = rows("judgement/attribution/of_another")[0]
    page = "Later Tarnow Steel acquired what was left of Velbert Mining."
    assert not judged(claim, source, "", f"{source} {page}")


def test_a_pronoun_may_stand_for_a_name_in_the_sentence_before() -> None:
    claim = Claim("", "He was born in Tolga.", "Aron Pihl", about="Aron Pihl")
    passage = Passage.alone("Jonas Kvist was born in Tolga in 1840.")
    assert misattribution(claim, passage)
    assert not misattribution(replace(claim, before="Jonas Kvist was his rival."), passage)
    assert not misattribution(claim, replace(passage, title="Pihl and his time"))


def test_a_subject_is_no_pattern() -> None:
    claim = Claim("", "He wrote it.", r"A\1", about=r"A\1")
    found = misattribution(claim, Passage.alone("Mira Lund wrote it."))
    assert found
    assert found.claim == r"A\1"
