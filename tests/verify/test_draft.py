"""What a reviewer sees of a draft."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import pincite
from pincite.notes import Note
from pincite.settings import load
from pincite.verbs.verify.render import DRAFT_SHOWN, Draft, draft_html, draft_lines, draft_of
from pincite.wiki.article import article_in

PAGE = "The mill at Tolne burned down in May 1934. Nobody was hurt. It was rebuilt in brick."
CITED = "<ref>{{cite web |url=https://mill.example/?utm_source=chatgpt.com |title=Mill}}</ref>"
BOOK = "<ref>{{cite book |title=Tolne Mills |isbn=978-0-306-40615-8}}</ref>"
TEXT = (
    f"The mill at Tolne burned down in May 1937.{CITED} Nobody was hurt at the mill.{CITED}\n\n"
    f"A second mill was built by the river.{BOOK}\n\n"
    "== History ==\nHolm wrote in 1911 that it was “the finest mill that was ever built here”."
)


@pytest.fixture
def draft(tmp_path: Path) -> Draft:
    place = tmp_path / "sources.jsonl"
    url = "https://mill.example/?utm_source=chatgpt.com"
    place.write_text(json.dumps({"url": url, "title": "Mill", "text": PAGE}))
    settings = load({"verify_uncited": True})
    record = pincite.verify(TEXT, sources=place, title="Tolne Mill", settings=settings).record
    return draft_of(record, TEXT)


def test_counts_of_a_draft(draft: Draft) -> None:
    assert draft.head.values == {"n": 3, "checked": 2, "failing": 1, "percent": 50}
    (unsupported,), references, uncited, traces = (items for _, items in draft.parts)
    assert "1937" in unsupported
    assert (len(references), bool(uncited)) == (3, True)
    assert traces == ("utm_source=chatgpt.com",)


def test_without_a_checked_citation_there_is_no_share() -> None:
    article = article_in("It opened.<ref>A book</ref>", title="Mill")
    found = draft_of(pincite.verify(article).record, article.source)
    assert found.head == Note("draft_unchecked", {"n": 1})


def test_it_fits_on_a_screen_and_escapes_its_text(draft: Draft) -> None:
    assert len(list(draft_lines(draft))) <= 2 + 4 * (DRAFT_SHOWN + 2)
    page = draft_html(replace(draft, title="<b>"))
    assert "<h1>&lt;b&gt;</h1>" in page
