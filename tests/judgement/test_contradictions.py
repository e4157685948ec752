"""What speaks against a claim, and above all what does not."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from support.rows import each_row, rows

from pincite.judgement import decide
from pincite.judgement.contradictions import contradiction, discard_rebutted
from pincite.types import Claim, Evidence, Passage, Readout, Span, Witness

# `value-sealed.tsv` was written with `value-open.tsv` and held back: nothing is tuned to it.
CASES = Path(__file__).parents[1] / "cases/rules"
DENIED = rows("judgement/contradictions/denied")


def denied(claim: str, text: str, about: str = "", page: str = "") -> Witness | None:
    return contradiction(Claim.alone(claim), replace(Passage.alone(text), about=about), page)


def words_of(found: Witness | None) -> tuple[str, str]:
    return (found.claim, found.source) if found else ("", "")


@each_row("judgement/contradictions/denied")
def test_what_differs_in_one_place_is_shown(
    claim: str, passage: str, said: str, instead: str
) -> None:
    found = denied(claim, passage)
    assert words_of(found) == (said, instead)
    assert found
    assert found.sentence
    assert instead in found.sentence.of(passage)


@each_row("judgement/contradictions/worked_out")
def test_the_reason_shows_how_figures_were_worked_out(
    claim: str, passage: str, said: str, instead: str
) -> None:
    assert words_of(denied(claim, passage)) == (said, instead)


@each_row("judgement/contradictions/not_denied")
def test_what_lacks_a_detail_denies_nothing(claim: str, passage: str) -> None:
    assert denied(claim, passage) is None


@pytest.mark.parametrize(("claim", "passage", "said", "_"), DENIED[:3])
def test_what_the_page_says_elsewhere_is_not_denied(
    claim: str, passage: str, said: str, _: str
) -> None:
    assert denied(claim, passage, page=f"{passage} Some say {said}.") is None


def test_a_claim_is_never_denied_by_itself() -> None:
    for claim, passage, *_ in DENIED:
        for text in (claim, passage):
            assert denied(text, text) is None


@pytest.mark.parametrize("unit", ["1 ", "not ", "Ab ", "by Ab Cd ", "4 July 1911, ", "rose fell "])
def test_hostile_texts_take_linear_time(unit: str) -> None:
    started = time.process_time()
    denied(unit * 200, (unit * 30_000)[:30_000])
    assert time.process_time() - started < 10


def test_a_source_is_blamed_only_for_the_words_that_it_is_cited_for() -> None:
    claim = Claim.alone("Ada Holm was born in Varde in 1871, in a mill")
    passage = Passage.alone("Ada Holm was born in Varde in 1869.")
    first = len("Ada Holm was born in Varde in 1871")
    assert contradiction(replace(claim, own=Span(0, first)), passage)
    assert contradiction(replace(claim, own=Span(first, len(claim.text))), passage) is None


def test_a_verb_denied_of_another_subject_contradicts_nothing() -> None:
    claim = "Fine dust is related to asthma."
    title = "Fine dust and asthma in a coastal town"
    other = "Distance to the harbour was not related to asthma."
    assert denied(claim, other, title) is None
    assert denied(claim, "Fine dust was not related to asthma.", title)
    assert denied(claim, "We found that it was not related to asthma.", title) is None
    assert denied(claim, "It was not related to asthma.", title)


@pytest.mark.parametrize(("half", "least"), [("open", 20), ("sealed", 16)])
def test_rewordings_are_read_as_well_as_before(half: str, least: int) -> None:
    """Rows: the claim's value and the source's, empty where none differs; claim; passage."""
    right = 0
    for line in (CASES / f"value-{half}.tsv").read_text(encoding="utf-8").splitlines():
        mine, instead, claim, passage = line.split("\t")
        right += words_of(denied(claim, passage))[1].lower() == instead.lower()
        assert mine.lower() in claim.lower()
    assert right >= least


@pytest.mark.parametrize(("of", "least"), [("denied_subject", 4), ("denied_subject_held_back", 6)])
def test_what_is_said_of_a_denied_subject_contradicts(of: str, least: int) -> None:
    found = rows(f"judgement/contradictions/{of}")
    right = [bool(denied(claim, passage)) == bool(denies) for claim, passage, denies in found]
    assert sum(right) >= least


BORN = "Holm was born in Varde in 1903. Holm founded the glass works in 1951."
FOUNDED = "Holm was born in Varde in 1901, and he founded the glass works in 1950"


@pytest.mark.parametrize(
    ("page", "kept"),
    [
        (f"{BORN} Holm founded the glass works in 1950, as its books show.", False),
        (f"{BORN} Holm was born in Varde in 1901.", True),
        (BORN, True),
    ],
)
def test_a_contradiction_is_dropped_if_the_page_has_the_value(page: str, kept: bool) -> None:
    claim = Claim("c", FOUNDED, own=Span(FOUNDED.index("and he"), len(FOUNDED)))
    seen = contradiction(claim, Passage.alone(BORN))
    assert seen
    assert words_of(seen) == ("1950", "1951")
    read = Evidence(Passage.alone(BORN), 0.0, 0.0, 1.0, 0.0, readout=Readout(-2.2, 0.8))
    found = decide.weigh(replace(read, witnesses=(seen,)))
    after = discard_rebutted(claim, found, page)
    assert after.contradiction == (seen if kept else None)
    assert (after.prob_refuted > 0) is kept
