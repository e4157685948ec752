"""Claims cut into clauses: what is cut, what stays whole, and what holds for every text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.text.clauses import MAX_CLAUSES, clauses

# A claim, and below it the texts of its clauses.
CUT = """
Holm was born in Varde and studied in Oslo.
    Holm was born in Varde / Holm studied in Oslo
In 1923, Berg left the firm and later founded a rival brewery in Aalby.
    In 1923, Berg left the firm / Berg later founded a rival brewery in Aalby
The keepers' cottages beside it were sold to a trust and reopened as a hostel in 2006.
    The keepers' cottages beside it were sold to a trust /
    The keepers' cottages beside it reopened as a hostel in 2006
The line closed for 19 months and cost the trust £412,000 to repair.
    The line closed for 19 months / The line cost the trust £412,000 to repair
Mary Holm and Jo Berg married in 1950 and moved to Lund.
    Mary Holm and Jo Berg married in 1950 / Mary Holm and Jo Berg moved to Lund
Ada Lind (1812–1871), a chart-maker, lived here and died in Lund.
    Ada Lind (1812–1871), a chart-maker, lived here / Ada Lind died in Lund
The house was begun in 1700 and given to the town.
    The house was begun in 1700 / The house was given to the town
The mill was built in 1801 and designed by Jo Lund.
    The mill was built in 1801 / The mill was designed by Jo Lund
The flag has been adopted by the town and used on its boats.
    The flag has been adopted by the town / The flag has been used on its boats
Lind was later jailed for fraud and released in April 2010.
    Lind was later jailed for fraud / Lind was released in April 2010
The album sold well; it reached number two and stayed in the chart for nine weeks.
    The album sold well / it reached number two / it stayed in the chart for nine weeks
The line closed in 1952, and volunteers reopened the first two miles in 1973.
    The line closed in 1952 / volunteers reopened the first two miles in 1973
The club won the cup in 1956, but the stadium burned down in 1957.
    The club won the cup in 1956 / the stadium burned down in 1957
The council approved the plan, while opponents appealed to the court.
    The council approved the plan / opponents appealed to the court
He moved to Oslo, where he worked as a baker.
    He moved to Oslo / he worked as a baker
Berg, who was born in Aalby, studied law in Lund.
    Berg was born in Aalby / Berg studied law in Lund
The swing bridge, which replaced a ferry, was opened in 1998 by Ana Cork.
    The swing bridge replaced a ferry / The swing bridge was opened in 1998 by Ana Cork
The fair was started by the teacher Morwen Hale, who led it until 1999.
    The fair was started by the teacher Morwen Hale / Morwen Hale led it until 1999
The river crosses a moor, which was drained in 1820.
    The river crosses a moor / the moor was drained in 1820
The panels of the shell were replaced, which required a scan of the shell.
    The panels of the shell were replaced, which required a scan of the shell.
The town has a mill, a church and a school.
    The town has a mill / The town has a church / The town has a school
He toured Norway, Sweden, and Denmark.
    He toured Norway / He toured Sweden / He toured Denmark
It exported coal, slate and salt.
    It exported coal / It exported slate / It exported salt
He said "the mill was closed and the town died" and left the hall.
    He said "the mill was closed and the town died" / He left the hall
Lind is a coach and served as a guard when Holm left the team.
    Lind is a coach / Lind served as a guard when Holm left the team
The debt has doubled since 1911, and bus fares have risen by a third.
    The debt has doubled since 1911 / bus fares have risen by a third
It opened in 1911. It was closed in 1950.
    It opened in 1911 / It was closed in 1950
"""


def read_cut() -> list[tuple[str, list[str]]]:
    rows: list[tuple[str, str]] = []
    for line in CUT.strip().splitlines():
        if line.startswith(" "):
            rows[-1] = rows[-1][0], f"{rows[-1][1]} {line.strip()}"
        else:
            rows.append((line, ""))
    return [(claim, parts.strip().split(" / ")) for claim, parts in rows]


WHOLE = """
The bridge opened in 1911.
It is a small and abandoned mine in Varde.
He was trained and experienced in law.
Water was pumped and filtered at the works.
The red and limited edition sold 400 copies.
The bridge designed by Holm and opened in 1911 was closed.
He lived in a house built in 1901 and sold in 1952.
When Holm left Varde and moved to Oslo, the bridge closed.
After Holm died in 1911, the bridge was sold and rebuilt in steel.
Holm said that the bridge was closed and rebuilt in steel.
The line ran between Aalby, Varde and Lund.
The towns are Lund; Varde; Aalby.
There was a fire in 1901 and destroyed the hall.
She played the flute, and the album, recorded in Oslo, was sold in Japan.
He bought the mill, the farm, and the house built in 1901.
The station (opened in 1911 and closed in 1950) has a museum.
She was the daughter of the mayor of Varde, who died in 1911.
It closed in May, which was cold.
He met Holm in Varde, Denmark, and Oslo, Norway.
Salt and vinegar
The council paid for children called idle and sent to the farm.
The paper says that Ms. Holm was a vice president.
It opened in 1911. Closed now.
She was the third woman to win it, and the first woman to be awarded the medal.
and studied in Oslo.
He wrote "the bridge was sold and moved to Oslo.
""".strip().splitlines()


@pytest.mark.parametrize(("claim", "texts"), read_cut())
def test_cut(claim: str, texts: list[str]) -> None:
    assert [clause.text for clause in clauses(claim)] == texts


@pytest.mark.parametrize("claim", WHOLE)
def test_uncertain_sentences_stay_whole(claim: str) -> None:
    (found,) = clauses(claim)
    assert found.text == found.span.of(claim) == claim


def test_spans_leave_conjunctions_and_full_stops_out() -> None:
    claim = "Berg, who was born in Aalby, studied law in Lund."
    assert [c.span.of(claim) for c in clauses(claim)] == [
        "Berg, who was born in Aalby",
        "studied law in Lund",
    ]


def test_too_many_clauses_are_a_list_and_stay_together() -> None:
    claim = " ".join(f"It was closed in {year}." for year in range(1900, 1901 + MAX_CLAUSES))
    assert len(clauses(claim)) == 1


_WORDS = (
    "Holm the bridge it was were opened built and but , ; who which where while in by 1911 Varde "
    'a an ( ) “ ” " . later sold became has coal that had been closed given'
).split()


@given(st.lists(st.sampled_from(_WORDS), max_size=40).map(" ".join) | st.text(max_size=200))
def test_spans_are_ordered_and_apart_in_any_text(claim: str) -> None:
    found = clauses(claim)
    assert 1 <= len(found) <= MAX_CLAUSES
    end = 0
    for clause in found:
        assert end <= clause.span.start <= clause.span.end <= len(claim)
        end = clause.span.end
        assert clause.text.strip() or not claim.strip()
    if len(found) == 1:
        assert found[0].text == found[0].span.of(claim) == claim


@pytest.mark.parametrize(
    "unit", ["and ", ", and was ", "was ", "a, ", "(", '"', "; it was", ", who was ", "Holm was. "]
)
def test_hostile_texts_take_no_time(unit: str) -> None:
    for length in (1_400, 100_000):
        claim = (unit * length)[:length]
        started = time.process_time()
        clauses(claim)
        assert time.process_time() - started < 2  # milliseconds, on a busy machine too
