"""Readers' labels of one kind of mistake, for trying out `pincite learn` on it.

    python research/scripts/datelines.py labels.jsonl new.jsonl
    pincite learn labels.jsonl
    pincite eval claims new.jsonl

A newspaper's dateline ("HOLM, 3 May — …") says where and when a report was written, not where and
when the thing happened. 200 rows each; seven of ten are such mistakes, three are claims that the
report does support. The second file has other events in other words. All is invented.
"""

import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROWS = 200
TOWNS = (
    "Holm Varde Gram Nesby Tofte Skov Brenn Aaby Lund Olst Marrick Kesslow Dunmoor Averley Orrest "
    "Tarnsea Halby Venn Skarholt Ulvik Braddon Ostrava Lindrath Felby Corran Wexholm Tilby Norrick "
    "Sandvad Elmstead"
).split()
MONTHS = (
    "January February March April May June July August September October November December"
).split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
# The share of the rows; the first two are the mistakes.
KINDS = {"wrong place": 0.4, "wrong date": 0.3, "place": 0.1, "date": 0.1, "event": 0.1}
LINES = (
    "{T}, {d} {m} — ", "{t}, {d} {m} {y} (NPA) — ", "{T} ({d} {m}) – ", "{t}, {m} {d}. ",
    "{T}, {d} {m} {y} - ", "From our correspondent in {t}, {d} {m}. ",
)  # fmt: skip


class Event(NamedTuple):
    """What happened: as a claim, as the report tells it, and how the report goes on."""

    claim: str
    told: str
    more: str


LABELLED = (
    Event("A paint factory burned down", "A paint factory{where} burned down {when}",
          "Two firemen were hurt, police said."),
    Event("The ferry sank",
          "The ferry sank in rough water{where} {when} with eleven people on board",
          "All of them were saved, the coast guard said."),
    Event("A bank was robbed",
          "Three masked men robbed a bank{where} {when} and fled in a grey van",
          "No shots were fired."),
    Event("The dockers went on strike", "Dockers{where} went on strike {when} over the new rota",
          "The owners called the walkout a breach of contract."),
    Event("The new swimming hall was opened",
          "The new swimming hall{where} was opened {when} before some two hundred guests",
          "It cost nine million crowns."),
    Event("A coach carrying pensioners overturned",
          "A coach carrying pensioners overturned{where} {when}",
          "The driver was taken to hospital with a broken arm."),
    Event("The treaty on fishing rights was signed",
          "Ministers signed the treaty on fishing rights{where} {when}",
          "It takes effect next year."),
    Event("A bear was seen in a school yard", "A bear was seen in a school yard{where} {when}",
          "Hunters drove it back into the forest."),
    Event("The old town hall collapsed",
          "The old town hall{where} collapsed {when} after weeks of rain",
          "The building had been empty since the summer."),
    Event("Thousands marched against the new toll",
          "Thousands marched against the new toll{where} {when}",
          "The march ended without arrests."),
    Event("The choir gave its last concert", "The choir gave its last concert{where} {when}",
          "Most of its singers are over seventy."),
    Event("A gas main exploded",
          "A gas main exploded{where} {when} and blew out windows in four streets",
          "Engineers blamed a worn valve."),
)  # fmt: skip
NEW = (
    Event("The chess tournament was won by Petra Quill",
          "Petra Quill won the chess tournament{where} {when}", "She lost no game."),
    Event("A goods train ran off the rails", "A goods train ran off the rails{where} {when}",
          "The line stayed shut for nine hours."),
    Event("The bishop consecrated a new church",
          "The bishop consecrated a new church{where} {when}",
          "Its tower is to be finished later."),
    Event("A flood destroyed the tannery", "Flood water destroyed the tannery{where} {when}",
          "Its owner does not mean to rebuild it."),
    Event("The painter Ole Brandt died",
          "The painter Ole Brandt died{where} {when} after a long illness",
          "He leaves two daughters."),
    Event("The shipyard launched its largest tanker",
          "The shipyard{where} launched its largest tanker {when}",
          "It was ordered four years ago."),
    Event("A court acquitted the three brokers",
          "A court{where} acquitted the three brokers {when}",
          "The prosecutor said she would appeal."),
    Event("The football club lost the final",
          "The football club lost the final{where} {when} by two goals to one",
          "Its coach resigned in the dressing room."),
)  # fmt: skip


def main() -> None:
    """Write both files."""
    for path, seed, events in zip(sys.argv[1:3], (1, 2), (LABELLED, NEW), strict=True):
        rows = labels(ROWS, seed, events)
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        Path(path).write_text(text, encoding="utf-8")


def labels(n: int, seed: int, events: Sequence[Event]) -> list[dict[str, object]]:
    """n rows of claims files; the seed decides places, dates and events."""
    chance = random.Random(seed)  # noqa: S311 - a sample, not a secret
    kinds = [kind for kind, share in KINDS.items() for _ in range(round(n * share))]
    chance.shuffle(kinds)
    return [row(number, kind, events, chance) for number, kind in enumerate(kinds)]


def row(
    number: int, kind: str, events: Sequence[Event], chance: random.Random
) -> dict[str, object]:
    """A report written in one town about another, and a claim about it."""
    event = chance.choice(events)
    written, happened = chance.sample(TOWNS, 2)
    day, other = chance.sample(range(2, 28), 2)
    month, year = chance.choice(MONTHS), chance.randint(1921, 2019)
    line = chance.choice(LINES).format(T=written.upper(), t=written, d=day, m=month, y=year)
    where = chance.choice((" in ", " at ", " near ")) + happened
    days = [f"on {chance.choice(DAYS)}" for _ in range(2)]
    when = chance.choice((days[0], "last week", "the night before last", f"{days[1]} night"))
    said = {
        "wrong place": f"{event.claim} in {written}.",
        "wrong date": f"{event.claim} on {day} {month}.",
        "place": f"{event.claim} in {happened}.",
        "date": f"{event.claim} on {other} {month}.",
        "event": f"{event.claim}.",
    }[kind]
    if kind == "place":
        where = f" in {happened}"
    if kind == "wrong date":
        where = chance.choice((where, ""))
    if kind == "date":
        when = f"on {other} {month}"
    label = "not_support" if kind.startswith("wrong") else "support"
    evidence = f"{line}{event.told.format(where=where, when=when)}. {event.more}"
    about = {"id": f"dateline-{number}", "claim": said, "evidence": evidence}
    return about | {"label": label, "meta": {"kind": kind}}


if __name__ == "__main__":
    main()
