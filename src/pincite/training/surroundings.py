"""What stands around a passage: its page's title, boilerplate, and the page's own headline.

Web pages bring menus and notices along; the verifier puts a page's title before a passage that
lacks a name of the claim (`text.alike.headed`); and what a page says first or last is mostly
supported by the rest of it.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pincite.documents.lines.labelled import LabelledClaim
from pincite.text import words
from pincite.text.sentences import sentences

MIN_SENTENCES = 5  # of evidence that is a page: less has no headline and rest
MIN_WORDS, MAX_WORDS = 6, 35  # of a headline
OTHERS = 30  # pages looked at for the headline that comes closest
_TITLE_LINE = re.compile(r"^(?:\(meta data\) )?title: (.+)", re.IGNORECASE)
_TOPICS = "News Sport Culture Science Health Travel Business Opinion Video Archive".split()
_NOTICES = (
    "We use cookies to improve your experience. Accept all Manage choices",
    "Skip to main content",
    "Share this page Print E-mail",
    "Sign in or create an account to save this article.",
    "Sign up for our newsletter and never miss a story.",
    "Advertisement",
    "All rights reserved. Terms of use Privacy policy Contact us",
    "You have two free articles left this month.",
    "This page was last updated three days ago.",
    "Figure 2: overview (click to enlarge). Photo: staff",
    "Year | Total | Change\n2001 | 412 | +3\n2002 | 398 | -14",
    "Read more: the stories of the week",
)


def title_of(row: LabelledClaim) -> str:
    """The title of the evidence's page, where the set gives one; else nothing."""
    known = [row.meta.get("page"), row.meta.get("article")]
    known += [row.meta.get("title")] if "doc_id" in row.meta else []  # else it is the claim's page
    found = next((title for title in known if isinstance(title, str) and title), "")
    first = _TITLE_LINE.match(row.evidence)
    return found or (first[1].strip() if first else "")


def titled(row: LabelledClaim, passages: Sequence[str]) -> tuple[str, ...]:
    """The passages of a row, each after its page's title unless that stands there."""
    title = title_of(row)
    return tuple(p if not title or title in p else f"{title}. {p}" for p in passages)


def dirtied(passage: str, chance: random.Random) -> str:
    """The passage between a menu or a notice and another."""
    menu = chance.choice((" | ", "\n", " ")).join(chance.sample(_TOPICS, chance.randint(4, 7)))
    around = chance.sample([menu, *_NOTICES], 3)
    n_before = chance.randint(0, 3)
    return "\n".join([*around[:n_before], passage, *around[n_before:]])


def headlines(
    rows: Sequence[LabelledClaim], share: float, chance: random.Random
) -> Iterator[tuple[LabelledClaim, str]]:
    """Claims that pages make of themselves, each with the rest of its page and another's claim.

    The other's shares most words with the rest, of some that chance brings.
    """
    pages = {row.evidence: row for row in rows}.values()
    found = [made for row in pages if (made := _headline(row, chance))]
    for row in found:
        if chance.random() >= share:
            continue
        said = set(words.content_words(row.evidence))
        others = [one.claim for one in chance.sample(found, min(OTHERS, len(found)))]
        wrong = [claim for claim in others if claim != row.claim and claim not in row.evidence]
        if wrong:
            yield row, max(wrong, key=lambda claim: len(said & set(words.content_words(claim))))


def _headline(row: LabelledClaim, chance: random.Random) -> LabelledClaim | None:
    """The first or last sentence of a page, or its title, as a claim about the rest."""
    spans = sentences(row.evidence, "en")
    if len(spans) < MIN_SENTENCES:
        return None
    first, last = spans[0], spans[-1]
    choices = [
        (first.of(row.evidence), row.evidence[first.end :]),
        (last.of(row.evidence), row.evidence[: last.start]),
        (title_of(row), row.evidence),
    ]
    suited = [
        (claim, rest)
        for claim, rest in choices
        if MIN_WORDS <= len(claim.split()) <= MAX_WORDS and claim.lstrip()[0].isupper()
    ]
    if not suited:
        return None
    claim, rest = chance.choice(suited)
    return replace(row, claim=claim.strip(), evidence=rest.strip(), label="support", meta={})
