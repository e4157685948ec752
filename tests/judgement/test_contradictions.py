"""What speaks against a claim, and above all what does not."""

import time
from pathlib import Path

import pytest

from pincite.judgement.contradictions import contradiction
from pincite.types import Span

# `value-sealed.tsv` was written with `value-open.tsv` and held back: nothing is tuned to it.
CASES = Path(__file__).parents[1] / "cases/rules"
DENIED = [
    ("The bridge opened in 1886.", "The bridge opened in 1889. It rained.", "1886", "1889"),
    ("The hall has 45 rooms.", "The hall has 52 rooms.", "45", "52"),
    ("The canal is 5 km long.", "The canal is 5 miles long.", "5 km", "5 miles"),
    # A part is no more than the whole.
    ("The hall of Gram has 45 large rooms.", "The hall of Gram has 31 rooms: 9 old.", "45", "31"),
    ("The fair drew over 900 guests on Sunday.", "Sunday drew 880 to the fair, fewer than the 900 "
     "guests hoped for.", "over 900", "fewer than the 900"),
    ("The mill was built by Ingrid Holm.", "The mill was built by Peter Carver.", "Ingrid Holm",
     "Peter Carver"),
    ("Holm was born in Varde.", "Holm was born in Gram.", "Varde", "Gram"),
    ("Sales of salt rose in May.", "In May sales of salt fell.", "rose", "fell"),
    ("The drug reduced mortality.", "The drug did not reduce mortality.", "reduced mortality",
     "not reduce mortality"),
    ("The mill opened in 1913.", "The mill, 21 m high, opened in 1931 and was last mended in 2009.",
     "1913", "1931"),
    ("The mill reopened earlier than planned.", "The mill reopened a week later than planned.",
     "earlier", "later"),
    ("Costs of salt were higher than in 2019.", "Costs of salt were lower than in 2019.", "higher",
     "lower"),
    ("The quarry of Gram was closed in 1911.", "The quarry of Gram was opened in 1911.", "closed",
     "opened"),
    ("The pond of Gram is shallow.", "The pond of Gram is deep.", "shallow", "deep"),
    ("The alarm of the mill is enabled at night.", "The alarm of the mill is disabled at night.",
     "enabled", "disabled"),
    ("The barn of Gram was used as a school.",
     "The barn of Gram was built by Ada Reed. It was never used as a school.", "used as a school",
     "never used as a school"),
    ("The board blamed the driver for ignoring the signals.",
     "The board does not find that the driver is to blame.", "blamed the driver",
     "not find that the driver is to blame"),
]  # fmt: skip
NOT_DENIED = [
    ("Tepe 1.240 metre yüksekliktedir.", "Tepe 1240 metre yüksekliktedir."),
    ("The ridge is 1.240 metres high.", "The ridge is 1,240 metres high."),
    ("It opened in 1886.", "The bridge burnt in 1901."),  # another thing happened then
    ("The bridge opened in 1886.", "The bridge opened on 4 July 1886."),
    ("The bridge opened on 4 July 1886.", "The bridge opened in 1886."),  # it says less
    ("About 400,000 people came to the fair.", "In all 396,400 people came to the fair."),
    ("It is 16 km from Varde to Gram.", "From Varde to Gram it is 10 miles."),
    ("Holm led the mill for ten years.", "Holm led the mill from 1911 to 1921."),
    ("Trains ran to Gram until 1971.", "No trains have run to Gram since 1972."),
    ("The roosts went up by eight.", "The roosts went up from three to eleven."),
    ("No woman had led the choir before Holm.", "Holm was the first woman to lead the choir."),
    ("The museum is open on Sundays.", "The museum is not only open on Sundays."),
    ("Holm won the cup in 1911.", "Carver won the cup in 1912."),  # another person
    ("Holm got help from Norway.", "Holm got help from Sweden."),  # from both, perhaps
    ("The fair had 77 stalls.", "The fair had 8 tents."),
    ("The hall of Gram has 45 large rooms.", "The hall of Gram has 31 small rooms."),
    ("The hall of Gram has 20 large rooms.", "The hall of Gram has 31 rooms."),
    ("The hall has more than 20 rooms.", "The hall of Gram has 31 rooms."),
    ("The hall has fewer than 90 rooms.", "The hall of Gram has 31 rooms."),
    ("The hall has 45 rooms.", "The hall of Gram has at least 31 rooms."),
    ("Sales rose and then fell.", "Sales fell."),
    ("The mill was not built by Ingrid Holm.", "The mill was built by Peter Carver."),
    ("The bridge did not open in 1886.", "The bridge opened in 1889."),
    ("Costs of salt were higher than in 2019.", "Costs of salt were lower than in 2018."),
    ("The fair in Varde ended later than planned.", "In Varde the fair was earlier than in Gram."),
    ("The drug does not raise the risk.", "We examined whether the drug raised the risk."),
    ("The bridge opened in 1886.", "Did the bridge open in 1889?"),
    ("Its use is linked to cancer.", "No link of its use to 8 of the 10 kinds of cancer."),
    ("Kings and Dogs are not both rock bands.", "Kings is a rock band."),
    (
        "The mark was seen in 12 moths and in no control with wing rot.",
        "The mark was seen in 12 moths and in none of 30 controls with wing rot.",
    ),
    ("Guests drank the water in May.", "No guest who drank the water in May fell ill."),
    ("The bridge may have a toll gate.", "The bridge may or may not have a toll gate."),
    (
        "Relapses of mill fever were lower with tansyl than with rest.",
        "There were no relapses of mill fever with tansyl and seven with rest.",
    ),
    (
        "Most visitors have light symptoms or no symptoms.",
        "The symptoms of most visitors are light.",
    ),
    (
        "Growth does not differ between barley and oats.",
        "Growth rose in the barley and oats groups.",
    ),
    ("The mill stands if the dam does not break.", "The mill stands and its dam breaks."),
    # Two events of one thing.
    ("The quarry of Gram was closed in 1911.", "The quarry of Gram was opened in 1877."),
    ("The quarry of Gram was closed.", "The quarry of Gram was opened in 1877."),
    ("The choir of Gram shrank after 1911.", "The choir of Gram grew until 1911."),
    ("Holm won the race of 1911.", "Holm lost the race of 1909."),
    ("Sales of salt rose in June.", "Sales of salt fell in March."),
    ("Ada Holm, a miller, died in Gram in 1930.", "Ada Holm, the miller of Gram, 1911"),
    ("The tower of Gram was painted in 1911.", "The tower of Gram was built in 1877."),
    # The same in other words.
    ("The dam of Gram was built in 1991.", "The dam of Gram was not built until 1991."),
    ("The dam of Gram was not built until 1991.", "The dam of Gram was built in 1991."),
    ("The coldest night of Gram had −31 °C.", "The coldest night of Gram had –31 °C."),
    ("The mast of Gram is between 70 and 90 metres high.", "The mast of Gram is 82 metres high."),
    ("The mast of Gram is 82 metres high.", "The mast of Gram is 70 to 90 metres high."),
    ("Sales of salt rose by 5 %.", "Sales of salt rose by 7 percentage points."),
    ("Gram is younger than Varde.", "Varde is older than Gram."),
    ("The mill was used as a school.", "The barn of Gram was sold. It was never used as a school."),
    ("The board blamed Reed for sleeping.", "The board did not blame Reed for speeding."),
    ("The average speed is 5 m/s.", "Trains\nSpeed: 4.5 m/s\nSeats: 40"),
    ("Moor won't sell the mill.", "Moor lost the mill."),  # no "won"
]


@pytest.mark.parametrize(("claim", "passage", "said", "instead"), DENIED)
def test_what_differs_in_one_place_is_shown(
    claim: str, passage: str, said: str, instead: str
) -> None:
    found = contradiction(claim, passage)
    assert found
    assert found.sentence
    assert (found.claim, found.source) == (said, instead)
    assert instead in found.sentence.of(passage)


@pytest.mark.parametrize(("claim", "passage"), NOT_DENIED)
def test_what_lacks_a_detail_denies_nothing(claim: str, passage: str) -> None:
    assert contradiction(claim, passage) is None


@pytest.mark.parametrize(("claim", "passage", "said", "instead"), DENIED[:3])
def test_what_the_page_says_elsewhere_is_not_denied(
    claim: str, passage: str, said: str, instead: str
) -> None:
    assert contradiction(claim, passage, page=f"{passage} Some say {said}.") is None


def test_a_claim_is_never_denied_by_itself() -> None:
    for claim, passage, *_ in DENIED:
        for text in (claim, passage):
            assert contradiction(text, text) is None


@pytest.mark.parametrize("unit", ["1 ", "not ", "Ab ", "by Ab Cd ", "4 July 1911, ", "rose fell "])
def test_hostile_texts_take_linear_time(unit: str) -> None:
    started = time.process_time()
    contradiction(unit * 200, (unit * 30_000)[:30_000])
    assert time.process_time() - started < 10


def test_a_source_is_blamed_only_for_the_words_that_it_is_cited_for() -> None:
    claim = "Ada Holm was born in Varde in 1871, in a mill"
    passage = "Ada Holm was born in Varde in 1869."
    first = len("Ada Holm was born in Varde in 1871")
    assert contradiction(claim, passage, covered=Span(0, first))
    assert contradiction(claim, passage, covered=Span(first, len(claim))) is None


def test_a_verb_denied_of_another_subject_contradicts_nothing() -> None:
    claim = "Fine dust is related to asthma."
    title = "Fine dust and asthma in a coastal town"
    other = "Distance to the harbour was not related to asthma."
    assert contradiction(claim, other, title) is None
    assert contradiction(claim, "Fine dust was not related to asthma.", title)
    assert contradiction(claim, "We found that it was not related to asthma.", title) is None
    assert contradiction(claim, "It was not related to asthma.", title)


def test_verbs_that_say_the_same_govern_one_value() -> None:
    claim = "The brass band of Varde won its third national medal."
    found = contradiction(claim, claim.replace("won its third", "earned its seventh"))
    assert found
    assert (found.claim, found.source) == ("third", "seventh")


@pytest.mark.parametrize(("half", "least"), [("open", 20), ("sealed", 16)])
def test_rewordings_are_read_as_well_as_before(half: str, least: int) -> None:
    """Rows: the claim's value and the source's, empty where none differs; claim; passage."""
    right = 0
    for line in (CASES / f"value-{half}.tsv").read_text(encoding="utf-8").splitlines():
        mine, instead, claim, passage = line.split("\t")
        found = contradiction(claim, passage)
        right += (found.source if found else "").lower() == instead.lower()
        assert mine.lower() in claim.lower()
    assert right >= least
