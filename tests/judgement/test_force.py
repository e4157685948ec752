"""What a source reports, plans, hedges or denies, and a claim states as fact."""

import time
from pathlib import Path

import pytest
from support.rows import each_row

from pincite.judgement.decide import label_of, log_odds
from pincite.judgement.force import weaker
from pincite.models.verifier import _evidence
from pincite.types import Claim, Label, Passage, Readout, Span

# `force-sealed.tsv` was written with `force-open.tsv` and held back: nothing is tuned to it.
CASES = Path(__file__).parents[1] / "cases/rules"
# claim, passage, words of the source that the reason shows
ONLY_AS = [
    # denials and allegations
    ("Ragna Thorel took money from the ferry company.",
     "Ragna Thorel denied having taken money from the ferry company.", "denied having taken"),
    ("The notary forged the deeds of Skarn.",
     "The notary allegedly forged the deeds of Skarn, a court heard.", "allegedly forged"),
    ("Per Ostby forged the deeds of Skarn.",
     "Per Ostby was charged with forging the deeds of Skarn.", "charged with forging"),
    ("Ada Lind stole the crown of Marrow.",
     "A jury acquitted Ada Lind of stealing the crown of Marrow.",
     "acquitted Ada Lind of stealing"),
    ("Ada Lind stole the crown of Marrow.",
     "Ada Lind is suspected of having stolen the crown of Marrow.",
     "suspected of having stolen"),
    ("Ada Lind poisoned the well at Gelm.",
     "Rumours that Ada Lind poisoned the well at Gelm reached the king.", "Rumours that"),
    ("Ada Lind poisoned the well at Gelm.",
     "According to prosecutors, Ada Lind is alleged to have poisoned the well at Gelm.",
     "alleged to have poisoned"),
    ("The oak of Tolk is a thousand years old.",
     "It is a myth that the oak of Tolk is a thousand years old.", "myth that"),
    ("The oak of Tolk was planted by monks.",
     "The theory that the oak of Tolk was planted by monks has been disproved.", "theory that"),
    ("Copper bracelets relieve arthritis.",
     "There is no evidence that copper bracelets relieve arthritis.", "no evidence that"),
    ("The signal came from the lighthouse.",
     "Investigators could not confirm that the signal came from the lighthouse.",
     "could not confirm that"),
    ("Bats guided the miners out of the shaft.",
     "A blog states that bats guided the miners out of the shaft. This is untrue.",
     "This is untrue"),
    ("Bats guided the miners out of the shaft.",
     "The Gazette wrote that bats guided the miners out of the shaft. It later retracted the "
     "story.",
     "later retracted the story"),
    ("Bread makes hair curly.", "Myth: Bread makes hair curly. Fact: hair is curly by birth.",
     "Myth:"),
    ("Bread makes hair curly.", "Many people wrongly believe that bread makes hair curly.",
     "wrongly believe that"),
    # plans and conditions
    ("A tramway connects Elm Hill and the docks.",
     "The proposed tramway would connect Elm Hill and the docks.", "proposed tramway"),
    ("The chapel of Skarn was restored after the fire.",
     "Plans to restore the chapel of Skarn after the fire came to nothing.", "Plans to restore"),
    ("Ines Dahl moved the museum to Varde.",
     "In 2004 Ines Dahl had hoped to move the museum to Varde.", "hoped to move"),
    ("The council demolished the gasworks.",
     "The council considered demolishing the gasworks.", "considered demolishing"),
    ("A second dam was built at Korr.", "It was proposed to build a second dam at Korr.",
     "proposed to build"),
    ("The mine at Korr closes in June.",
     "If the mine at Korr closes in June, two hundred men will lose their work.", "If"),
    ("The mine at Korr closed in June.",
     "Unless prices rise, the owners have threatened to close the mine at Korr in June.",
     "threatened to close"),
    # possibility
    ("Willow bark relieves headaches.", "Willow bark may relieve headaches.", "may relieve"),
    ("Willow bark relieves headaches.", "Willow bark might also relieve headaches.",
     "might also relieve"),
    ("The bronze horse was cast in Oslo.", "The bronze horse was possibly cast in Oslo.",
     "possibly cast"),
    ("The bronze horse was cast in Oslo.",
     "It is not known whether the bronze horse was cast in Oslo.", "not known whether"),
    # no one, neither
    ("The crew abandoned the trawler.", "None of the crew abandoned the trawler.", "None of"),
    ("Residents repaired the sea wall at Tolk.",
     "Nobody repaired the sea wall at Tolk.", "Nobody repaired"),
    ("The organ was moved to Gelm.", "Neither the organ nor the bell was moved to Gelm.",
     "Neither"),
    # prizes
    ("Lotte Brun won the Heron Medal.", "Lotte Brun was shortlisted for the Heron Medal.",
     "shortlisted for"),
    ("Lotte Brun was elected mayor of Gelm.", "Lotte Brun ran for mayor of Gelm.", "ran for"),
]  # fmt: skip
AS_FACT = [
    # the word is about something else, or in another clause
    ("Ragna Thorel closed the ferry company.",
     "Ragna Thorel, who denied taking bribes, closed the ferry company."),
    ("Ragna Thorel left Skarn in 1990.", "Accused of fraud, Ragna Thorel left Skarn in 1990."),
    ("Per Ostby resigned in 2010.", "Per Ostby was accused of forgery and resigned in 2010."),
    ("Per Ostby was denied entry to the fort.", "Per Ostby was denied entry to the fort."),
    ("The guards turned Per Ostby away from the fort.",
     "The guards denied Per Ostby entry and turned him away from the fort."),
    ("Brask is a city with wide canals.", "Brask is a planned city with wide canals."),
    ("The fair opened in May 1990.", "The fair opened in May 1990."),
    ("Karl May wrote the ballad.", "Karl May wrote the ballad in three days."),
    ("The lake lowers the summer heat.",
     "The lake lowers the summer heat, although it may freeze in winter."),
    ("The bridge was rebuilt after the flood.",
     "The bridge was rebuilt after the flood, and plans to rebuild the mill were abandoned."),
    ("The dam at Korr holds 3,000 litres.", "The dam at Korr holds 3,000 litres, almost full."),
    ("Almost 500 sheep drowned at Korr.", "At Korr 497 sheep drowned."),
    ("Some 500 sheep drowned at Korr.", "Nearly 500 sheep drowned at Korr."),
    ("Profits of the mill doubled.", "Profits of the mill nearly doubled."),
    ("Lotte Brun won the regatta of Marrow.",
     "Lotte Brun won the regatta of Marrow and almost won the one of Gelm."),
    ("Lotte Brun won the Heron Medal.",
     "Lotte Brun, nominated for the Heron Medal in 2001, won it a year later."),
    ("Lotte Brun won the Heron Medal.",
     "Lotte Brun was nominated for the Heron Medal. She won the medal in May."),
    ("Nobody lived on the island of Tolk.", "Nobody lived on the island of Tolk."),
    ("The crew abandoned the trawler.",
     "The crew abandoned the trawler because none of the pumps worked."),
    ("The organ was moved to Gelm.",
     "The organ was moved to Gelm, but neither the bell nor the clock was."),
    ("Willow bark eases headaches.", "If taken early, willow bark eases headaches."),
    ("Noise causes deafness.", "Noise causes deafness and is associated with poor sleep."),
    # the qualifier is denied, or is an everyday attribution
    ("Ada Lind stole the crown of Marrow.",
     "Ada Lind did not deny that she stole the crown of Marrow."),
    ("Ada Lind stole the crown of Marrow.",
     "Ada Lind was found guilty of stealing the crown of Marrow."),
    ("Ada Lind stole the crown of Marrow.",
     "Ada Lind was convicted of stealing the crown of Marrow, police said."),
    ("Ada Lind stole the crown of Marrow.",
     "According to the Gazette, Ada Lind stole the crown of Marrow."),
    ("Ada Lind stole the crown of Marrow.", "Police said that Ada Lind stole the crown of Marrow."),
    ("Two men robbed the mill.", "The sheriff reported that two men robbed the mill."),
    ("There is a plan for a dam at Korr.", "Plans to build a dam at Korr were shown."),
    # the claim qualifies it too
    ("Ada Lind was accused of stealing the crown.", "Ada Lind was accused of stealing the crown."),
    ("Ada Lind reportedly stole the crown.", "Ada Lind allegedly stole the crown."),
    ("Ada Lind denied that she stole the crown.", "Ada Lind denied stealing the crown."),
    ("Willow bark might relieve headaches.", "Willow bark may relieve headaches."),
    ("A tramway to the docks is planned.", "The proposed tramway would run to the docks."),
    ("Tom Veld was the director of the Gelm Observatory.",
     "Tom Veld, the former director of the Gelm Observatory, moved to Oslo."),
    ("Tom Veld is a former director of the observatory.",
     "Tom Veld, the former director of the observatory, moved to Oslo."),
    ("Tom Veld is deputy mayor of Gelm.", "Tom Veld is the deputy mayor of Gelm."),
    ("Copper bracelets do not relieve arthritis.",
     "There is no evidence that copper bracelets relieve arthritis."),
    ("It is a myth that bread makes hair curly.", "It is a myth that bread makes hair curly."),
    # the page states it elsewhere
    ("Ada Lind stole the crown of Marrow.",
     "Ada Lind was accused of stealing the crown of Marrow. In 1990 she was found guilty."),
    ("Ada Lind stole the crown of Marrow.",
     "Ada Lind was accused of stealing the crown of Marrow. She confessed that she stole it."),
    ("The chapel of Skarn was restored after the fire.",
     "Plans to restore the chapel of Skarn after the fire were made. It was restored in 1931."),
    ("A second dam was built at Korr.",
     "It was proposed to build a second dam at Korr. The dam was completed in 1955."),
    ("Willow bark relieves headaches.",
     "Willow bark may relieve headaches. In our trial, willow bark relieved headaches."),
    # words that look like qualifiers, or govern something else than the predicate
    ("The trade in amber was banned by the duke.",
     "The guild sought to lift a 1710 ban on the trade in amber."),
    ("The kiln stays stable for hours.", "The kiln shows no evidence of wear after 500 hours."),
    ("Two in three Varders own a boat.", "The mayor claims that two in three Varders own a boat."),
    ("Her aunt had to hide the paint.",
     "She drew so much that her aunt would have to hide the paint."),
    ("Korr is a Dane.", "Korr is a former Danish rower."),
    ("The ferry docked at Tolk.", "The ferry was trying to find the pier when it docked at Tolk."),
    ("The harbour has a pink lamp.", "If the lamp is pink, the harbour is shut."),
    ("The treaty of Gelm was signed at Tolk.",
     "The treaty of Gelm was not signed there, but at Tolk."),
    ("The lamp of Tolk was lit in 1891.", "The lamp of Tolk was not lit before 1891."),
    ("Ink stains cloth.", "The rumour that ink never stains cloth proved wrong."),
    # two sentences about two things
    ("The spire of Tolk is 90 m high.", "The spire of Tolk is 90 m high. The nave may be older."),
    ("Ines Dahl moved the museum to Varde.",
     "Ines Dahl moved the museum to Varde. She hoped to sell the old house."),
    ("Norrgas sued the harbour board.", "Norrgas, with two former clerks, sued the harbour board."),
    ("La tour de Gelm ne penche pas.", "La tour de Gelm ne penche pas."),
    ("Der Turm von Gelm ist offen.", "Der Turm von Gelm ist offen, die Glocke aber läutet nie."),
    ("白峰塔は春に公開されている。", "白峰塔は春に公開されているが、冬は公開されていない。"),
    ("The tower of Gelm leans.", "La tour de Gelm ne penche pas."),
]  # fmt: skip


@pytest.mark.parametrize(("claim", "passage", "words"), ONLY_AS)
def test_statement_that_source_only_qualifies(claim: str, passage: str, words: str) -> None:
    found = weaker(claim, passage)
    assert found is not None
    assert words in found.source
    assert found.source.split("…")[0].strip() in passage


@each_row("judgement/force/clause_that_denies_a_claim_in_its_own_language")
def test_clause_that_denies_a_claim_in_its_own_language(
    claim: str, passage: str, clause: str
) -> None:
    found = weaker(claim, passage)
    assert found is not None
    assert found.source == clause


@pytest.mark.parametrize(("claim", "passage"), AS_FACT)
def test_statement_that_source_makes(claim: str, passage: str) -> None:
    assert weaker(claim, passage) is None


def test_page_that_states_it_elsewhere() -> None:
    claim, passage = "Willow bark relieves headaches.", "Willow bark may relieve headaches."
    page = f"{passage}\n\nIn a later trial, willow bark clearly relieved headaches."
    assert weaker(claim, passage, page=passage) is not None
    assert weaker(claim, passage, page=page) is None


@pytest.mark.parametrize(
    ("text", "probability", "label", "kinds"),
    [
        ("Willow bark may relieve headaches.", 0.9, Label.PARTLY_SUPPORTED, ["stated_only_as"]),
        ("Willow bark may relieve headaches.", 0.1, Label.NOT_SUPPORTED, []),
        ("Willow bark does relieve headaches.", 0.9, Label.SUPPORTED, []),
    ],
)
def test_label_of_qualified_evidence(
    text: str, probability: float, label: Label, kinds: list[str]
) -> None:
    passage = Passage("d", "", "", text, Span(0, len(text)))
    readout = Readout(log_odds(probability))
    found = _evidence((Claim.alone("Willow bark relieves headaches."), passage), readout, None, ())
    assert label_of(found) is label
    assert [witness.kind for witness in found.witnesses] == kinds


def test_hostile_text_takes_no_time() -> None:
    claim, text = "Willow bark relieves headaches.", "may that accused of if " * 4_000
    began = time.perf_counter()
    weaker(claim, text)
    weaker(claim, "Willow bark may relieve headaches. " * 2_000)
    assert time.perf_counter() - began < 5


def rewordings(half: str) -> list[bool]:
    """Whether each row of a set is read as its first column says: weaker, or the same."""
    rows = (CASES / f"force-{half}.tsv").read_text(encoding="utf-8").splitlines()
    read = [line.split("\t") for line in rows]
    return [(weaker(claim, text) is not None) == (want == "weaker") for want, claim, text in read]


@pytest.mark.parametrize(("half", "least"), [("open", 14), ("sealed", 17)])
def test_rewordings_are_read_as_well_as_before(half: str, least: int) -> None:
    assert sum(rewordings(half)) >= least
