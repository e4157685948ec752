import dataclasses
import math
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.judgement import aggregation, decide
from pincite.judgement.contradictions import contradiction
from pincite.types import (
    Citation,
    CitationResult,
    Claim,
    Effect,
    Evidence,
    Finding,
    Label,
    Part,
    PartKind,
    Passage,
    Readout,
    Reason,
    Span,
    Unchecked,
    Witness,
    WitnessKind,
)

DEAD = Unchecked("https://gone.example/", Reason.DEAD, "HTTP 404")


def evidence(score: float, refuted: float = 0.0, url: str = "https://a.example/") -> Evidence:
    supported = 1 / (1 + math.exp(-score))
    passage = Passage("d", url, "T", "text", Span(0, 4))
    return Evidence(passage, supported, refuted, 1 - supported - refuted, score)


def result(outcome: Evidence | Unchecked) -> CitationResult:
    citation = Citation("r1", Span(0, 1), Span(0, 1))
    return CitationResult(citation, outcome, decide.label_of(outcome))


def finding(label: Label, score: float | None, text: str = "c") -> Finding:
    return Finding(Claim(text, text), (), None, label, score, ())


@pytest.mark.parametrize(
    ("outcome", "label"),
    [
        (evidence(-0.84), Label.SUPPORTED),
        (evidence(-0.86), Label.NOT_SUPPORTED),
        (evidence(-2.0, refuted=0.6), Label.REFUTED),
        (DEAD, Label.UNCHECKED),
    ],
)
def test_labels(outcome: Evidence | Unchecked, label: Label) -> None:
    assert decide.label_of(outcome) is label


WITNESSES = st.lists(st.sampled_from(WitnessKind).map(Witness), max_size=3).map(tuple)


@given(support=st.floats(-9, 9), share=st.floats(0, 1), witnesses=WITNESSES)
def test_what_is_seen_only_lowers_support_and_is_needed_to_contradict(
    support: float, share: float, witnesses: tuple[Witness, ...]
) -> None:
    readout = Readout(support, share)
    found = decide.weighed(replace(evidence(0.0), readout=readout, witnesses=witnesses))
    total = found.prob_supported + found.prob_refuted + found.prob_neutral
    assert total == pytest.approx(1)
    assert decide.weighed(found) == found
    assert found.readout is readout
    assert found.score <= support
    assert (found.prob_refuted > 0) <= decide.has(found, Effect.CONTRADICTS)
    if decide.has(found, Effect.REFUSES):
        assert decide.label_of(found) in (Label.NOT_SUPPORTED, Label.REFUTED)
    bare = decide.without(found, *WitnessKind)
    assert (bare.score, bare.prob_refuted) == (support, 0.0)


@each_row("judgement/aggregation/what_more_reading_may_change")
def test_what_more_reading_may_change(
    probabilities: list[float], refuted: float, is_open: bool
) -> None:
    found = [evidence(decide.log_odds(p), refuted) for p in probabilities]
    assert decide.is_open(found) is is_open


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.booleans())
def test_what_is_sure_is_supported_whatever_it_lacks(
    p: float, threshold: float, a_figure: bool
) -> None:
    found = evidence(decide.log_odds(p))
    lacking = replace(atom(0), kind="figure" if a_figure else "name")
    if a_figure:
        found = replace(found, unstated=("1911",))
    if decide.is_sure([found], threshold):
        assert decide.label_of(found, threshold, [], [lacking]) is Label.SUPPORTED


@pytest.mark.parametrize(
    ("outcomes", "together", "label", "score"),
    [
        ((-3.0, 1.0), None, Label.SUPPORTED, 1.0),
        ((-1.0, -1.5), 0.5, Label.SUPPORTED, 0.5),
        ((-3.0, None), None, Label.UNCHECKED, -3.0),
        ((None,), None, Label.UNCHECKED, None),
        ((), None, Label.UNCHECKED, None),
    ],
)
def test_groups(
    outcomes: tuple[float | None, ...], together: float | None, label: Label, score: float | None
) -> None:
    """One supporting source is enough; one that is unchecked leaves a failing group open."""
    group = [result(DEAD if each is None else evidence(each)) for each in outcomes]
    read = None if together is None else evidence(together)
    assert decide.group_label(group, read) is label
    assert decide.group_score(group, read) == score


def test_the_worst_come_first_and_a_tag_raises_what_no_source_supports() -> None:
    findings = [
        finding(Label.SUPPORTED, 3.0),
        finding(Label.UNCHECKED, None),
        finding(Label.PARTLY_SUPPORTED, -4.0),
        finding(Label.NOT_SUPPORTED, -1.0),
        finding(Label.REFUTED, -2.0),
        finding(Label.SUPPORTED, 0.5),
    ]
    scores = [f.score for f in aggregation.ranked(findings)]
    assert scores == [-2.0, -1.0, -4.0, None, 0.5, 3.0]
    tagged = replace(findings[0].claim, tags=("failed verification",))
    findings[:2] = (replace(each, claim=tagged) for each in findings[:2])
    scores = [f.score for f in aggregation.ranked(findings)]
    assert scores == [None, -2.0, -1.0, -4.0, 3.0, 0.5]


def test_suggestions_outrank_support_and_come_from_different_pages() -> None:
    candidates = [
        evidence(2.0, url="https://x.example/1"),
        evidence(3.0, url="https://x.example/1"),
        evidence(2.5, url="https://y.example/"),
        evidence(0.4, url="https://z.example/"),
        evidence(-1.0, url="https://w.example/"),
    ]
    found = aggregation.suggestions(candidates, existing=0.5, k=3)
    assert [s.evidence.score for s in found] == [3.0, 2.5]
    assert [s.gain for s in found] == [2.5, 2.0]


SAID = Witness(WitnessKind.VALUE, "1886", "1889", Span(0, 9))


@pytest.mark.parametrize(
    ("supported", "refuted", "named", "label"),
    [
        (0.43, 0.57, SAID, Label.REFUTED),
        (0.31, 0.68, None, Label.REFUTED),
        (0.55, 0.44, SAID, Label.PARTLY_SUPPORTED),
        (0.90, 0.06, SAID, Label.PARTLY_SUPPORTED),
        (0.55, 0.10, None, Label.SUPPORTED),
        (0.35, 0.30, None, Label.SUPPORTED),
        (0.10, 0.30, SAID, Label.NOT_SUPPORTED),
    ],
)
def test_a_claim_whose_contradiction_is_named_or_likelier_is_not_supported(
    supported: float, refuted: float, named: Witness | None, label: Label
) -> None:
    found = dataclasses.replace(
        evidence(0.0),
        prob_supported=supported,
        prob_refuted=refuted,
        witnesses=(named,) if named else (),
    )
    assert decide.label_of(found) is label


def test_contradicted_words_are_named_in_the_claim() -> None:
    text = "It opened in 1886."
    denied = dataclasses.replace(evidence(0.5, refuted=0.3), witnesses=(SAID,))
    (part,) = aggregation.contradicted(text, denied)
    assert (part.kind, part.span.of(text)) == ("contradiction", "1886")
    assert aggregation.missing(Label.PARTLY_SUPPORTED, [], [part, atom(13)]) == (part,)
    elsewhere = replace(SAID, claim="1886 opened")  # stems that do not stand together
    (part,) = aggregation.contradicted(text, replace(denied, witnesses=(elsewhere,)))
    assert part.span.of(text) == text
    assert aggregation.contradicted(text, evidence(0.5)) == []
    assert aggregation.contradicted(text, DEAD) == []


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
        ([of(painted), of(label=Label.SUPPORTED)], [painted], []),
        ([of(whole), of()], [whole], []),
        ([of(whole), of(label=Label.SUPPORTED)], [whole], []),
    ]
    for results, lacking, expected in lists:
        for label in (Label.PARTLY_SUPPORTED, Label.SUPPORTED):
            missing = aggregation.missing_of_group(text, label, results, lacking)
            assert missing == tuple(expected)


def test_what_is_unlikely_or_contradicts_is_no_better_source() -> None:
    unlikely = evidence(decide.log_odds(0.39), url="https://x.example/")
    assert aggregation.suggestions([unlikely], existing=None, k=3) == []
    good = evidence(2.0, url="https://y.example/")
    against = dataclasses.replace(evidence(-2.0, url=good.passage.url), witnesses=(SAID,))
    assert aggregation.suggestions([good, against], existing=None, k=3) == []
    assert len(aggregation.suggestions([good], existing=None, k=3)) == 1


def clause(start: int, score: float) -> Part:
    judged = evidence(score)
    return Part("clause", Span(start, start + 9), "c", judged.prob_supported >= 0.55, judged)


def atom(start: int) -> Part:
    return Part("figure", Span(start, start + 4), "1911", supported=False)


BOTH, NONE, ALL = (
    [clause(0, 2), clause(10, -2)],
    [clause(0, -2), clause(10, -2)],
    [clause(0, 2)] * 2,
)


@pytest.mark.parametrize(
    ("outcome", "clauses", "label"),
    [
        (evidence(-1.0), BOTH, Label.PARTLY_SUPPORTED),
        (evidence(-2.0, refuted=0.6), BOTH, Label.PARTLY_SUPPORTED),
        (evidence(-1.0), NONE, Label.NOT_SUPPORTED),
        (evidence(-1.0), ALL, Label.NOT_SUPPORTED),
        (evidence(-2.0, refuted=0.6), NONE, Label.REFUTED),
        (evidence(1.0), BOTH, Label.SUPPORTED),
        (evidence(1.0), NONE, Label.SUPPORTED),
        (DEAD, [], Label.UNCHECKED),
    ],
)
def test_the_whole_decides_first_then_the_clauses(
    outcome: Evidence | Unchecked, clauses: list[Part], label: Label
) -> None:
    assert decide.label_of(outcome, 0.55, clauses) is label


def test_missing_clauses_swallow_their_atoms_and_others_are_named() -> None:
    inside, outside = atom(12), atom(3)
    found = aggregation.missing(Label.PARTLY_SUPPORTED, BOTH, [outside, inside])
    assert found == (outside, BOTH[1])
    assert aggregation.missing(Label.SUPPORTED, BOTH, [outside, inside]) == (outside, inside)
    for label in (Label.NOT_SUPPORTED, Label.REFUTED, Label.UNCHECKED):
        assert aggregation.missing(label, BOTH, [outside, inside]) == ()


def of(score: float, clauses: list[Part]) -> CitationResult:
    outcome = evidence(score)
    label = decide.label_of(outcome, 0.55, clauses)
    return dataclasses.replace(result(outcome), label=label, clauses=tuple(clauses))


def test_passages_of_a_group_are_chosen_to_complete_each_other() -> None:
    claim = "It closed in 1952 and was reopened by Ingrid Holm in 1973."

    def judged(text: str, score: float) -> Evidence:
        return dataclasses.replace(
            evidence(score), passage=Passage("d", "u", "", text, Span(0, len(text)))
        )

    first = [judged("Reopened by Ingrid Holm in 1973.", 1.0)]
    second = [judged("The reopening of 1973.", 0.5), judged("It closed in 1952.", -2.0)]
    chosen = aggregation.complementary(claim, [second, first])
    assert [p.text for p in chosen] == ["Reopened by Ingrid Holm in 1973.", "It closed in 1952."]
    assert aggregation.complementary(claim, []) == []


def test_a_passage_that_denies_speaks_where_none_supports() -> None:
    unrelated, denying = evidence(-1.0, refuted=0.1), evidence(-3.0, refuted=0.9)
    assert decide.deciding_evidence([unrelated, denying]) is denying
    assert decide.deciding_evidence([evidence(2.0), denying]).score == 2.0  # type: ignore[union-attr]
    assert decide.deciding_evidence([unrelated, evidence(-3.0, refuted=0.3)]) is unrelated
    assert decide.deciding_evidence([]) is None


def test_a_network_alone_denies_nothing_that_the_page_nearly_supports() -> None:
    read_so = (Witness(WitnessKind.NETWORK),)
    by_network = dataclasses.replace(evidence(-3.0, refuted=0.9), witnesses=read_so)
    by_rule = evidence(-3.0, refuted=0.8)
    far, near = evidence(-2.5), evidence(-1.85)
    assert decide.deciding_evidence([far, by_network]) is by_network
    assert decide.deciding_evidence([near, by_network]) is near
    assert decide.deciding_evidence([near, by_network, by_rule]) is by_rule
    assert decide.denying([near, by_network]) is near
    assert decide.denying([]) is None
    # What counts is how the network reads a passage, not what rules make of it.
    lowered = dataclasses.replace(far, readout=Readout(-2.5, network=-1.0))
    raised = dataclasses.replace(near, readout=Readout(-1.85, network=-4.0))
    assert decide.deciding_evidence([lowered, by_network]) is lowered
    assert decide.deciding_evidence([raised, by_network]) is by_network


def test_how_well_it_was_found_counts_beside_the_score() -> None:
    first = evidence(2.0, url="https://first.example/")
    tenth = evidence(2.5, url="https://tenth.example/")
    priors = {"https://first.example/": 6.5, "https://tenth.example/": 5.2}
    by_score = aggregation.suggestions([first, tenth], None, 2)
    by_both = aggregation.suggestions([first, tenth], None, 2, priors=priors)
    assert [s.evidence for s in by_score] == [tenth, first]
    assert [s.evidence for s in by_both] == [first, tenth]


def test_a_figure_that_nowhere_stands_makes_an_unsure_claim_partly_supported() -> None:
    year = Part("figure", Span(0, 4), "1886", supported=False, evidence=None)
    assert decide.label_of(evidence(-0.3), atoms=[year]) is Label.PARTLY_SUPPORTED
    assert decide.label_of(evidence(-0.3)) is Label.SUPPORTED
    assert decide.label_of(evidence(0.3), atoms=[year]) is Label.PARTLY_SUPPORTED
    assert decide.label_of(evidence(0.3), atoms=[replace(year, kind="name")]) is Label.SUPPORTED
    assert decide.label_of(evidence(1.5), atoms=[year]) is Label.SUPPORTED
    assert aggregation.missing(Label.PARTLY_SUPPORTED, [], [year]) == (year,)
    both = [result(evidence(-3.0)), result(evidence(-3.0))]
    assert decide.group_label(both, evidence(-0.3), atoms=[year]) is Label.PARTLY_SUPPORTED


@each_row("judgement/aggregation/bayes_by_hand")
def test_bayes_by_hand(rates: tuple[float, float] | None, shares: list[float]) -> None:
    found = [share for _, share in aggregation.precisions(rates)]
    assert found == pytest.approx(shares, abs=1e-4)


CLAIM = (
    "On 14 May 1886 the engineer Ingrid Holm told the Varde Post that “the line will never pay”."
)


def passage(text: str, about: str = "") -> Passage:
    return Passage("d", "https://a.example/", "T", text, Span(0, len(text)), about)


def missing(claim: str, *texts: str) -> list[tuple[str, str]]:
    found = aggregation.missing_atoms(claim, [passage(text) for text in texts])
    assert all(part.span.of(claim) == part.words and not part.supported for part in found)
    return [(part.kind, part.words) for part in found]


def test_atoms_of_every_kind() -> None:
    assert [(a.kind, a.words) for a in aggregation.atoms(CLAIM)] == [
        ("figure", "14 May 1886"),
        *(("name", "Ingrid"), ("name", "Holm"), ("name", "Varde"), ("name", "Post")),
        ("quotation", "the line will never pay"),
    ]


def test_neighbours_that_are_missing_are_one_part() -> None:
    assert missing(CLAIM, "Nothing of it.") == [
        ("figure", "14 May 1886"),
        ("name", "Ingrid Holm"),
        ("name", "Varde Post"),
        ("quotation", "the line will never pay"),
    ]


def test_only_what_no_passage_states_is_missing() -> None:
    texts = ("In May 1886 Holm spoke.", "The Varde paper said: “The line will\nnever  pay.”")
    assert missing(CLAIM, *texts) == [("figure", "14 May 1886"), ("name", "Post")]


def test_what_is_known_of_the_page_counts_as_stated() -> None:
    found = aggregation.missing_atoms(
        "It was sold by Holm in 1911.", [passage("Sold.", "By Holm · 1911")]
    )
    assert found == []


@each_row("judgement/aggregation/quotations_are_compared_word_for_word")
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


@each_row("judgement/aggregation/names_and_quotations_are_not_sought_across_languages")
def test_names_and_quotations_are_not_sought_across_languages(
    claim: str, language: str, missing: list[str]
) -> None:
    text = "“That was all for today,” said the mayor of the town. The line was 1,230 m long."
    found = aggregation.missing_atoms(claim, [passage(text)], language)
    assert sorted(part.words for part in found) == missing


@given(st.text(max_size=120), st.text(max_size=120))
def test_missing_atoms_are_spans_of_the_claim_in_order(claim: str, source: str) -> None:
    found = aggregation.missing_atoms(claim, [passage(source)])
    assert [part.span for part in found] == sorted(part.span for part in found)
    assert all(part.span.of(claim) == part.words for part in found)
    assert aggregation.missing_atoms(claim, [passage(claim)]) == []


@pytest.mark.parametrize(
    "unit", ["“", '"a b c" ', "[", "“a b c [” ", "14 ", "Ab ", "a of 1, ", "…"]
)
def test_hostile_claims_take_linear_time(unit: str) -> None:
    claim = (unit * 30_000)[:30_000]
    started = time.process_time()
    aggregation.atoms(claim)
    aggregation.missing_atoms(claim, [passage("Nothing of it.")])
    assert time.process_time() - started < 20  # 1; quadratic: minutes


def test_an_item_that_stands_in_the_passage_is_not_missing() -> None:
    text = "The ferry calls at Gram under the cliff."
    read = Evidence(Passage("d", "", "", text, Span(0, len(text))), 0.1, 0.0, 0.9, -2.0)
    for start, end, words, is_missing in (
        (30, 34, "Gram", False),
        (30, 35, "Varde", True),
        (0, 16, "It calls at Gram", True),
    ):
        part = Part("clause", Span(start, end), words, False, read)
        assert bool(aggregation.missing(Label.PARTLY_SUPPORTED, [part], [])) is is_missing


BORN = "Holm was born in Varde in 1903. Holm founded the glass works in 1951."
FOUNDED = "Holm was born in Varde in 1901, and he founded the glass works in 1950"
OWN = Span(FOUNDED.index("and he"), len(FOUNDED))


@pytest.mark.parametrize(
    ("page", "kept"),
    [
        (f"{BORN} Holm founded the glass works in 1950, as its books show.", False),
        (f"{BORN} Holm was born in Varde in 1901.", True),
        (BORN, True),
    ],
)
def test_a_contradiction_of_the_cited_words_is_dropped_if_the_page_has_their_value(
    page: str, kept: bool
) -> None:
    claim = Claim("c", FOUNDED, own=OWN)
    passage = Passage("d", "", "Holm", BORN, Span(0, len(BORN)))
    seen = contradiction(FOUNDED, BORN, covered=OWN)
    assert seen
    assert (seen.source, seen.claim) == ("1951", "1950")
    found = decide.weighed(
        Evidence(passage, 0.0, 0.0, 1.0, 0.0, readout=Readout(-2.2, 0.8), witnesses=(seen,))
    )
    after = aggregation.discard_rebutted(claim, found, page)
    assert after.contradiction == (seen if kept else None)
    assert (after.prob_refuted > 0) is kept


def test_what_only_stands_far_from_the_quote_is_named() -> None:
    text = "Holm led the mill. It had 90 looms. Rain fell. The mill burnt in 1911. It was rebuilt."
    claim = Claim("", "Holm led the mill of 90 looms until it burnt in 1911 and again in 1950.")
    quoted = Span(0, len("Holm led the mill."))
    passage = Passage("d", "", "", text, Span(0, len(text)))
    found = Evidence(passage, 0.9, 0.0, 0.1, 2.0, quoted)
    assert aggregation.beyond_quote(claim, found) == ("1911",)
    assert aggregation.beyond_quote(claim, replace(found, quote=None)) == ()
    own = replace(claim, own=Span(0, claim.text.index(" until")))
    assert aggregation.beyond_quote(own, found) == ()
