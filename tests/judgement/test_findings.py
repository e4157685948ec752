import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.judged import BOTH, DEAD, SAID, atom, evidence, result
from support.rows import each_row

from pincite.judgement.atoms import atoms, beyond_quote, complementary, unstated_atoms
from pincite.judgement.findings import (
    contradicted_words,
    flag_precisions,
    missing_from_all,
    missing_parts,
    rank_findings,
)
from pincite.types import (
    CitationResult,
    Claim,
    Evidence,
    Finding,
    Label,
    Part,
    PartKind,
    Passage,
    Span,
)


def test_contradicted_words_are_named_in_the_claim() -> None:
    text = "It opened in 1886."
    denied = replace(evidence(0.5, refuted=0.3), witnesses=(SAID,))
    (part,) = contradicted_words(text, denied)
    assert (part.kind, part.span.of(text)) == ("contradiction", "1886")
    assert missing_parts(Label.PARTLY_SUPPORTED, [], [part, atom(13)]) == (part,)
    elsewhere = replace(SAID, claim="1886 opened")  # stems that do not stand together
    (part,) = contradicted_words(text, replace(denied, witnesses=(elsewhere,)))
    assert part.span.of(text) == text
    assert contradicted_words(text, evidence(0.5)) == []
    assert contradicted_words(text, DEAD) == []


def test_what_one_source_contradicts_and_another_states_is_not_missing_of_both() -> None:
    text = "It opened in 1886 with 24 seats and was painted."

    def words(kind: PartKind, words: str) -> Part:
        start = text.index(words)
        return Part(kind, Span(start, start + len(words)), words, supported=False)

    def of(*lacking: Part, label: Label = Label.PARTLY_SUPPORTED) -> CitationResult:
        return replace(result(evidence(0.0)), label=label, lacking=lacking)

    year, seats, painted = (words("contradiction", each) for each in ("1886", "24", "painted"))
    whole, no_seats = words("contradiction", text), words("figure", "24 seats")
    lists: list[tuple[list[CitationResult], list[Part], list[Part]]] = [
        ([of(year), of(seats)], [year, seats], []),
        ([of(year), of(year, seats)], [year, seats], [year]),
        ([of(seats), of(no_seats)], [seats], [seats]),
        ([of(seats), of(whole)], [seats], []),
        ([of(year), result(DEAD)], [year], [year]),
        ([of(painted), of()], [painted], [painted]),  # no value or name: cannot be looked up
        ([of(whole), of(label=Label.SUPPORTED)], [whole], []),
    ]
    for results, lacking, expected in lists:
        for label in (Label.PARTLY_SUPPORTED, Label.SUPPORTED):
            missing = missing_from_all(text, label, results, lacking)
            assert missing == tuple(expected)


def test_missing_clauses_swallow_their_atoms_and_others_are_named() -> None:
    inside, outside = atom(12), atom(3)
    found = missing_parts(Label.PARTLY_SUPPORTED, BOTH, [outside, inside])
    assert found == (outside, BOTH[1])
    assert missing_parts(Label.SUPPORTED, BOTH, [outside, inside]) == (outside, inside)
    for label in (Label.NOT_SUPPORTED, Label.REFUTED, Label.UNCHECKED):
        assert missing_parts(label, BOTH, [outside, inside]) == ()


def test_passages_of_a_group_are_chosen_to_complete_each_other() -> None:
    claim = "It closed in 1952 and was reopened by Ingrid Holm in 1973."

    def judged(text: str, score: float) -> Evidence:
        return replace(evidence(score), passage=Passage.alone(text))

    first = [judged("Reopened by Ingrid Holm in 1973.", 1.0)]
    second = [judged("The reopening of 1973.", 0.5), judged("It closed in 1952.", -2.0)]
    chosen = complementary(claim, [second, first])
    assert [p.text for p in chosen] == ["Reopened by Ingrid Holm in 1973.", "It closed in 1952."]
    assert complementary(claim, []) == []


CLAIM = (
    "On 14 May 1886 the engineer Ingrid Holm told the Varde Post that “the line will never pay”."
)


def passage(text: str, about: str = "") -> Passage:
    return replace(Passage.alone(text), about=about)


def missing(claim: str, *texts: str) -> list[tuple[str, str]]:
    found = unstated_atoms(claim, [passage(text) for text in texts])
    assert all(part.span.of(claim) == part.words and not part.supported for part in found)
    return [(part.kind, part.words) for part in found]


def test_only_what_no_passage_states_is_missing_and_neighbours_are_one_part() -> None:
    assert missing(CLAIM, "Nothing of it.") == [
        ("figure", "14 May 1886"),
        ("name", "Ingrid Holm"),
        ("name", "Varde Post"),
        ("quotation", "the line will never pay"),
    ]
    texts = ("In May 1886 Holm spoke.", "The Varde paper said: “The line will\nnever  pay.”")
    assert missing(CLAIM, *texts) == [("figure", "14 May 1886"), ("name", "Post")]
    assert not unstated_atoms("It was sold by Holm in 1911.", [passage("Sold.", "By Holm · 1911")])


@each_row("judgement/findings/quotations_are_compared_word_for_word")
def test_quotations_are_compared_word_for_word(quotation: str, text: str, stated: bool) -> None:
    assert missing(f"He wrote {quotation}.", text) == (
        [] if stated else [("quotation", quotation[1:-1])]
    )


def test_a_name_within_a_missing_quotation_is_not_told_again() -> None:
    said = "He wrote “the Varde line will never pay” to Holm."
    assert missing(said, "He wrote a letter.") == [
        ("quotation", "the Varde line will never pay"),
        ("name", "Holm"),
    ]


@each_row("judgement/findings/names_and_quotations_are_not_sought_across_languages")
def test_names_and_quotations_are_not_sought_across_languages(
    claim: str, language: str, missing: list[str]
) -> None:
    text = "“That was all for today,” said the mayor of the town. The line was 1,230 m long."
    found = unstated_atoms(claim, [passage(text)], language)
    assert sorted(part.words for part in found) == missing


@given(st.text(max_size=120), st.text(max_size=120))
def test_unstated_atoms_are_spans_of_the_claim_in_order(claim: str, source: str) -> None:
    found = unstated_atoms(claim, [passage(source)])
    assert [part.span for part in found] == sorted(part.span for part in found)
    assert all(part.span.of(claim) == part.words for part in found)
    assert unstated_atoms(claim, [passage(claim)]) == []


@pytest.mark.parametrize(
    "unit", ["“", '"a b c" ', "[", "“a b c [” ", "14 ", "Ab ", "a of 1, ", "…"]
)
def test_hostile_claims_take_linear_time(unit: str) -> None:
    claim = (unit * 30_000)[:30_000]
    started = time.process_time()
    atoms(claim)
    unstated_atoms(claim, [passage("Nothing of it.")])
    assert time.process_time() - started < 20  # 1; quadratic: minutes


def test_an_item_that_stands_in_the_passage_is_not_missing() -> None:
    passage = Passage.alone("The ferry calls at Gram under the cliff.")
    read = replace(evidence(-2.0), passage=passage)
    for start, end, words, is_missing in (
        (30, 34, "Gram", False),
        (30, 35, "Varde", True),
        (0, 16, "It calls at Gram", True),
    ):
        part = Part("clause", Span(start, end), words, False, read)
        assert bool(missing_parts(Label.PARTLY_SUPPORTED, [part], [])) is is_missing


def test_what_only_stands_far_from_the_quote_is_named() -> None:
    text = "Holm led the mill. It had 90 looms. Rain fell. The mill burnt in 1911. It was rebuilt."
    claim = Claim("", "Holm led the mill of 90 looms until it burnt in 1911 and again in 1950.")
    quoted = Span(0, len("Holm led the mill."))
    found = replace(evidence(2.0), passage=Passage.alone(text), quote=quoted)
    assert beyond_quote(claim, found) == ("1911",)
    assert beyond_quote(claim, replace(found, quote=None)) == ()
    own = replace(claim, own=Span(0, claim.text.index(" until")))
    assert beyond_quote(own, found) == ()


def finding(label: Label, score: float | None, text: str = "c") -> Finding:
    return Finding(Claim(text, text), (), None, label, score, ())


def test_the_worst_come_first_and_a_tag_raises_what_no_source_supports() -> None:
    findings = [
        finding(Label.SUPPORTED, 3.0),
        finding(Label.UNCHECKED, None),
        finding(Label.PARTLY_SUPPORTED, -4.0),
        finding(Label.NOT_SUPPORTED, -1.0),
        finding(Label.REFUTED, -2.0),
        finding(Label.SUPPORTED, 0.5),
    ]
    scores = [f.score for f in rank_findings(findings)]
    assert scores == [-2.0, -1.0, -4.0, None, 0.5, 3.0]
    tagged = replace(findings[0].claim, tags=("failed verification",))
    findings[:2] = (replace(each, claim=tagged) for each in findings[:2])
    scores = [f.score for f in rank_findings(findings)]
    assert scores == [None, -2.0, -1.0, -4.0, 3.0, 0.5]


@each_row("judgement/findings/bayes_by_hand")
def test_bayes_by_hand(rates: tuple[float, float] | None, shares: list[float]) -> None:
    found = [share for _, share in flag_precisions(rates)]
    assert found == pytest.approx(shares, abs=1e-4)
