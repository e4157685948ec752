"""Whose words and deeds a source states."""

from dataclasses import replace

import pytest

from pincite.judgement.attribution import misattributed
from pincite.types import Claim, Passage, Span

# claim, source, code of the reason, name in the source, article
OF_ANOTHER = [
    ("Tarnow Steel acquired Velbert Mining in 1994.",
     "In 1994 Velbert Mining acquired Tarnow Steel.", "roles_swapped", "Velbert Mining", ""),
    ("Velbert Mining was acquired by Tarnow Steel.",
     "Tarnow Steel was acquired by Velbert Mining in 1994.", "roles_swapped", "Velbert Mining", ""),
    ("Henrik Dahl succeeded Rosa Vinter as director.",
     "As director, Rosa Vinter succeeded Henrik Dahl, who retired.", "roles_swapped", "Rosa Vinter",
     ""),
    ("Orlevik defeated Granby 4–2.", "Granby defeated Orlevik 4–2 on Sunday.", "roles_swapped",
     "Granby", ""),
    ("The Senne is longer than the Dyle.", "At 103 km the Dyle is longer than the Senne.",
     "roles_swapped", "Dyle", ""),
    ("Marit Solheim mentored Jonas Kvist.", "Jonas Kvist mentored Marit Solheim at the academy.",
     "roles_swapped", "Jonas Kvist", ""),
    ("Corvane lent Delmar two million crowns.", "Delmar lent Corvane two million crowns.",
     "roles_swapped", "Delmar", ""),
    ("Aron Pihl interviewed Lena Korsmo.", "Lena Korsmo interviewed Aron Pihl on the radio.",
     "roles_swapped", "Lena Korsmo", ""),
    ("Delmar supplied Corvane with engines.",
     "Corvane supplied Delmar with engines, and Delmar paid in steel.", "roles_swapped", "Corvane",
     ""),
    ("Orlevik beat Granby 4–2.", "Granby beat Orlevik 4–2.", "roles_swapped", "Granby", ""),
    ("Brekke is north of Tolga.", "Tolga lies north of Brekke.", "roles_swapped", "Tolga", ""),
    ("The old lock is wider than the new lock.", "The new lock is wider than the old lock.",
     "roles_swapped", "new lock", ""),
    ("The duke deposed the bishop.", "The bishop deposed the duke in 1340.", "roles_swapped",
     "bishop", ""),
    ("He was born in Tolga in 1840.", "Jonas Kvist was born in Tolga in 1840.", "about_another",
     "Jonas Kvist", "Aron Pihl"),
    ("She became a judge in 1980.", "Marit Solheim became a judge in 1980.", "about_another",
     "Marit Solheim", "Lena Korsmo"),
    ("His father was a tanner.", "The father of Jonas Kvist was a tanner.", "about_another",
     "Jonas Kvist", "Aron Pihl"),
    ("In 1901 he moved to Turin.", "Jonas Kvist moved to Turin in 1901.", "about_another",
     "Jonas Kvist", "Aron Pihl"),
]  # fmt: skip
OF_THE_SAME = [
    ("Tarnow Steel acquired Velbert Mining in 1994.",
     "In 1994 Tarnow Steel acquired its supplier Velbert Mining.", ""),
    ("Tarnow Steel acquired Velbert Mining in 1994.",
     "Velbert Mining was acquired by Tarnow Steel in 1994.", ""),
    ("Henrik Dahl succeeded Rosa Vinter as director.",
     "Rosa Vinter was succeeded by Henrik Dahl as director.", ""),
    ("Henrik Dahl married Rosa Vinter in 1950.", "Rosa Vinter married Henrik Dahl in 1950.", ""),
    ("Orlevik played Granby in the final.", "Granby played Orlevik in the final.", ""),
    ("Orlevik defeated Granby 4–2.", "Granby lost to Orlevik, who defeated them 4–2.", ""),
    ("The Senne is longer than the Dyle.", "The Dyle is shorter than the Senne.", ""),
    ("Brekke lies east of Tolga.", "Tolga lies west of Brekke.", ""),
    ("Brekke lies east of Tolga.", "East of Tolga lies Brekke.", ""),
    ("Marit Solheim mentored Jonas Kvist.",
     "Jonas Kvist, whom Marit Solheim mentored, won the prize.", ""),
    ("Marit Solheim mentored Jonas Kvist.", "Jonas Kvist says that Marit Solheim mentored him.",
     ""),
    ("Corvane lent Delmar two million crowns.",
     "Delmar repaid Corvane, and Corvane lent Delmar two million crowns again.", ""),
    ("Aron Pihl interviewed Lena Korsmo.",
     "Lena Korsmo was interviewed by the journalist Aron Pihl.", ""),
    ("The old lock is wider than the new lock.", "The new lock is narrower than the old lock.",
     ""),
    ("The duke met the bishop.", "The bishop met the duke in 1340.", ""),
    ("No duke had deposed a bishop before Aron Pihl did.",
     "Aron Pihl, who deposed the bishop, became the first duke to be fined.", ""),
    ("Dorna borders Feltre.", "Feltre borders Dorna in the north.", ""),
    ("Corvane merged with Delmar.", "Delmar merged with Corvane in 2001.", ""),
    ("Lena Korsmo met Aron Pihl in Turin.", "Aron Pihl met Lena Korsmo in Turin.", ""),
    ("Jonas Kvist taught Marit Solheim.",
     "Marit Solheim studied under Jonas Kvist, who taught her and her sister Greta Solheim.", ""),
    ("Orlevik defeated Granby.", "Granby defeated Orlevik, after Orlevik defeated Granby in May.",
     ""),
    ("Brekke has 95 inhabitants.", "Tolga has 310 inhabitants and Brekke 95.", ""),
    ("In Brekke 5 houses burned down.", "In Tolga 18 houses burned down, in Brekke 5.", ""),
    ("Fever occurred in 14 patients of the control arm.",
     "Fever occurred in 31 patients of the vaccine arm and in 14 of the control arm.", ""),
    ("There were 9 relapses in the drug group.",
     "There were 22 relapses in the placebo group and 9 in the drug group.", ""),
    ("There were 22 relapses in the drug group.",
     "There were 22 relapses in the placebo group and 9 in the drug group. "
     "The drug group had 22 later.",
     ""),
    ("Jonas Kvist was born in 1920.", "Marit Solheim was born in 1911, Jonas Kvist in 1920.", ""),
    ("Marit Solheim was born in 1911 and Jonas Kvist in 1920.",
     "Jonas Kvist was born in 1920 and Marit Solheim in 1911.", ""),
    ("Corvane paid 4 million crowns and Delmar 7 million.",
     "Delmar paid 7 million crowns, Corvane 4 million.", ""),
    ("Corvane employs 640 people.", "Corvane, which bought Delmar in 1990, employs 640 people.",
     ""),
    ("Corvane employs 640 people.",
     "Corvane and Delmar together made 12 ships; Corvane employs 640 people and Delmar 80.", ""),
    ("Turnout was 48 % in Granby.", "Turnout was 61 % in Orlevik and 48 % in Granby.", ""),
    ("Aron Pihl (born 1880) was a painter.",
     "The painters Aron Pihl (born 1880) and Lena Korsmo (born 1885) lived here.", ""),
    ("Aron Pihl scored 14 points.",
     "Aron Pihl scored 14 points and had 6 rebounds, and Jonas Kvist added 9 points.", ""),
    ("Norvik finished second.", "Norvik finished second and Orlevik third.", ""),
    ("In 1990 and 1994 Granby won the cup.",
     "Granby won the cup in 1990 and Orlevik in 1992, but in 1994 Granby won again.", ""),
    ("Granby and Orlevik have 900 inhabitants together.",
     "Granby has 600 inhabitants and Orlevik 300; together they have 900.", ""),
    ("Granby has 600 inhabitants, twice as many as Orlevik.",
     "Granby has 600 inhabitants and Orlevik 300.", ""),
    ("Lena Korsmo won the second prize.",
     "Aron Pihl won the first prize, Lena Korsmo the second prize.", ""),
    ("Jonas Kvist plays the viola.", "Marit Solheim plays the cello and Jonas Kvist the viola.",
     ""),
    ("Jonas Kvist plays in the quartet.",
     "In the quartet Marit Solheim plays the cello and Jonas Kvist the viola.", ""),
    ("Aron Pihl composed the opera.",
     "Aron Pihl composed the opera, while Lena Korsmo wrote the libretto.", ""),
    ("Aron Pihl worked on the opera with Lena Korsmo, who wrote the libretto.",
     "Aron Pihl composed the opera, while Lena Korsmo wrote the libretto.", ""),
    ("Lena Korsmo paid for the chapel.",
     "Aron Pihl drew the plans; it was Lena Korsmo who paid for the chapel.", ""),
    ("Aron Pihl restored the ceiling.",
     "The ceiling was painted by Lena Korsmo and restored by Aron Pihl.", ""),
    ("Aron Pihl painted the ceiling.", "The ceiling was painted by Lena Korsmo and Aron Pihl.", ""),
    ("Aron Pihl painted the ceiling.",
     "The ceiling was painted by Lena Korsmo and her pupil Aron Pihl.", ""),
    ("Aron Pihl painted the ceiling.", "Lena Korsmo painted the walls and Aron Pihl the ceiling.",
     ""),
    ("Jonas Kvist said the plan was reckless.",
     "\"The plan is reckless,\" said Jonas Kvist. Marit Solheim disagreed.", ""),
    ("Marit Solheim and Jonas Kvist founded Corvane.",
     "Corvane was founded by Jonas Kvist and Marit Solheim.", ""),
    ("Marit Solheim built the dam.",
     "Marit Solheim's firm built the dam and Jonas Kvist paid for it.", ""),
    ("Granby hosted the games.", "Granby hosted the games after Orlevik withdrew.", ""),
    ("Granby hosted the games.", "After Orlevik withdrew, Granby hosted the games.", ""),
    ("Marit Solheim was arrested with Jonas Kvist.",
     "Marit Solheim was arrested in March, and Jonas Kvist was arrested with her.", ""),
    ("Marit Solheim founded a school in Tolga.",
     "Marit Solheim moved to Tolga, where she founded a school, and Jonas Kvist became its head.",
     ""),
    ("He was born in Tolga in 1840.", "Aron Pihl was born in Tolga in 1840.", "Aron Pihl"),
    ("He was born in Tolga in 1840.", "Pihl, A. Born in Tolga in 1840.", "Aron Pihl"),
    ("She became a judge in 1980.", "She became a judge in 1980.", "Lena Korsmo"),
    ("She became a judge in 1980.", "The lawyer became a judge in 1980.", "Lena Korsmo"),
    ("In 1901 he moved to Turin.", "In 1901 the painter moved to Turin.", "Aron Pihl"),
    ("He died in Brekke.", "On Monday Muhamad Zoubaidi died in Brekke.", "Mohammed Zubaidi"),
    ("It opened in 1901.", "The Kvist Bridge opened in 1901.", "Pihl Bridge"),
    ("He played for Granby.",
     "Granby signed the striker in 1901, and he played for Granby until 1909.", "Aron Pihl"),
    ("He was praised by Jonas Kvist.", "Jonas Kvist praised the young painter in a review.",
     "Aron Pihl"),
    ("He studied in Turin with Jonas Kvist.", "Jonas Kvist studied in Turin.", "Aron Pihl"),
]  # fmt: skip


def judged(claim: str, source: str, article: str, page: str = "") -> str:
    passage = Passage("", "", "", source, Span(0, len(source)), page=page or source)
    about = article if claim.startswith(("He ", "She ", "His ", "It ")) else ""
    found = misattributed(Claim("", claim, article, about=about), passage)
    return f"{found.kind}: {found.other}" if found else ""


@pytest.mark.parametrize(("claim", "source", "code", "other", "article"), OF_ANOTHER)
def test_what_a_source_says_of_another_is_found(
    claim: str, source: str, code: str, other: str, article: str
) -> None:
    assert judged(claim, source, article) == f"{code}: {other}"


@pytest.mark.parametrize(("claim", "source", "article"), OF_THE_SAME)
def test_what_a_source_says_of_the_same_is_not_another_s(
    claim: str, source: str, article: str
) -> None:
    assert judged(claim, source, article) == ""


def test_another_sentence_of_the_page_may_state_the_claim() -> None:
    claim, source, *_ = OF_ANOTHER[0]
    page = "Later Tarnow Steel acquired what was left of Velbert Mining."
    assert judged(claim, source, "")
    assert not judged(claim, source, "", f"{source} {page}")


def test_a_pronoun_may_stand_for_a_name_in_the_sentence_before() -> None:
    source = "Jonas Kvist was born in Tolga in 1840."
    claim = Claim("", "He was born in Tolga.", "Aron Pihl", about="Aron Pihl")
    passage = Passage("", "", "", source, Span(0, len(source)))
    assert misattributed(claim, passage)
    assert not misattributed(replace(claim, before="Jonas Kvist was his rival."), passage)
    assert not misattributed(claim, replace(passage, title="Pihl and his time"))


def test_another_language_is_not_read() -> None:
    assert not judged("Berg verklagte Holm im Jahr 1990.", "Holm verklagte Berg im Jahr 1990.", "")


def test_a_subject_is_no_pattern() -> None:
    passage = Passage("s", "", "", "Mira Lund wrote it.", Span(0, 19))
    found = misattributed(Claim("", "He wrote it.", r"A\1", about=r"A\1"), passage)
    assert found
    assert found.claim == r"A\1"
