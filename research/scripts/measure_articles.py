"""106 real articles of 2016, read whole: coverage and round trips.

The articles lie outside of the project (see shared/data/README.md); set PINCITE_SHARED to the
folder, or keep it beside the checkout.

    pytest -o python_files=measure_*.py -m '' research/scripts/measure_articles.py
"""

import gzip
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.articles import parse_article

from pincite.types import Article, Claim
from pincite.wiki.article import read_articles

SHARED = Path(os.environ.get("PINCITE_SHARED", Path(__file__).parents[3] / "shared"))
ARTICLES = SHARED / "data/wikipedia/articles-2016.jsonl.gz"
DUMP = SHARED / "data/wikipedia/pages-articles-2016.xml.bz2"

pytestmark = pytest.mark.skipif(
    not ARTICLES.exists(), reason=f"no articles at {ARTICLES}; set PINCITE_SHARED to read them"
)

# Reference uses, counted without our parser, where no reference list or comment can hide some.
REF = re.compile(r"<ref\b[^<>]*>|\{\{\s*sfnp?\s*\|", re.IGNORECASE)
HIDING = re.compile(r"<!--|<nowiki|<references\b[^>/]*>|refs\s*=|\{\{\s*r\s*\|", re.IGNORECASE)


@dataclass
class Reading:
    article: Article
    covered: set[str] = field(default_factory=set)  # uses with a claim
    round_trip: set[str] = field(default_factory=set)  # whose words stand in the claim's span


def words_in_order(claim: Claim, source: str) -> bool:
    """Whether the claim's letters stand in its span in their order, entities and links aside."""
    assert claim.span is not None
    letters = iter(claim.span.of(source).lower())
    return all(char in letters for char in claim.text.lower() if char.isalnum() and char.isascii())


def rendered(claim: Claim, source: str) -> bool:
    """Whether templates or labels gave some of the words, so that the span holds their source."""
    return claim.span is not None and ("{{" in claim.span.of(source) or claim.origin != "prose")


@pytest.fixture(scope="module")
def readings() -> list[Reading]:
    found = []
    with gzip.open(ARTICLES, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            reading = Reading(article := parse_article(row["wikitext"], row["title"]))
            for claim in article.claims:
                uses = {c.citation_id.split(".")[0] for c in claim.citations}
                reading.covered |= uses
                if words_in_order(claim, article.source) or rendered(claim, article.source):
                    reading.round_trip |= uses
            found.append(reading)
    return found


def test_coverage(readings: list[Reading]) -> None:
    uses = sum(r.article.n_references for r in readings)
    assert len(readings) == 106
    # The others stand in cells and values that are no sentences.
    assert sum(len(r.covered) for r in readings) >= 0.96 * uses
    assert sum(len(r.round_trip) for r in readings) >= 0.96 * uses


def test_no_reference_is_lost(readings: list[Reading]) -> None:
    plain = [r.article for r in readings if not HIDING.search(r.article.source)]
    assert len(plain) > 5
    assert {
        a.title: a.n_references - len(REF.findall(a.source))
        for a in plain
        if a.n_references < len(REF.findall(a.source))
    } == {}


def test_no_debris_of_markup(readings: list[Reading]) -> None:
    claims = [claim for r in readings for claim in r.article.claims]
    debris = [c.text for c in claims if re.search(r"\{\{|\}\}|<ref|</ref|\[\[|\]\]|'''", c.text)]
    assert len(debris) <= 0.002 * len(claims)


@pytest.mark.skipif(not DUMP.exists(), reason=f"no dump at {DUMP}")
def test_a_title_from_the_dump() -> None:
    (article,) = read_articles(DUMP, title="abacus")
    assert article.title == "Abacus"
    assert article.n_references > 40
