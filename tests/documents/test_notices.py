"""Pages that are not the page, and real pages that resemble them: in eleven languages."""

from collections import Counter

import pytest
from support.nature import pages_of
from support.rows import each_row
from support.web_pages import Page, pages

from pincite.documents import html
from pincite.documents.body import DEFAULT_LIMITS, Body
from pincite.documents.notices import Look, find_notice, has_statement
from pincite.types import COPY_OF, Document, Reason

pytestmark = pytest.mark.xdist_group("notices")  # one process: the fixtures are slow

REASONS = {
    "teaser": Reason.PAYWALL,
    "gone": Reason.SOFT_404,
    "parked": Reason.USURPED,
    "consent": Reason.CONSENT,
    "login": Reason.LOGIN,
    "blocked": Reason.REFUSED,
    "front": Reason.FRONT_PAGE,
    "shell": Reason.EMPTY,
    "archive": Reason.NOT_SUPPLIED,
    "listing": Reason.LISTING,
}
# Floors of recall on texts that trained no weight; 2026-11-27: 0.73 (front) to 1.00.
FLOORS = {"parked": 0.6, "front": 0.65, "login": 0.8, "gone": 0.8, "archive": 0.8}


def read(page: Page) -> Document | Reason:
    body = Body(page.url, page.source.encode(), "text/html; charset=utf-8", None, DEFAULT_LIMITS)
    found = html.read_html(body)
    return found if isinstance(found, Document) else found.reason


@pytest.fixture(scope="module")
def readings() -> list[tuple[Page, Document | Reason]]:
    return [(p, read(p)) for p in pages() if p.held_out or p.kind == "document"]


def test_every_real_page_is_read(readings: list[tuple[Page, Document | Reason]]) -> None:
    real = [(page, found) for page, found in readings if page.kind == "document"]
    assert len(real) > 200
    assert [(p.url, p.frame, found) for p, found in real if not isinstance(found, Document)] == []


def test_most_notices_of_every_kind_are_recognised(
    readings: list[tuple[Page, Document | Reason]],
) -> None:
    held_out = [(page, found) for page, found in readings if page.held_out]
    n = Counter(page.kind for page, _ in held_out)
    right = Counter(page.kind for page, found in held_out if found == REASONS.get(page.kind))
    for kind in REASONS:
        assert right[kind] / n[kind] >= FLOORS.get(kind, 0.9), kind


def test_a_statement_outweighs_every_cue() -> None:
    text = "Page not found.\nThe band was formed in Varde by Ida Holm in 2003."
    assert has_statement(text)
    assert find_notice(Look("Page not found", "Page not found", text)) is None
    assert find_notice(Look("Page not found", "Page not found", "Page not found."))


def test_lists_are_expected_at_the_address_of_a_search() -> None:
    look = Look("Search results", "Search results", "38 items found", 0.8, 9)
    found = find_notice(look)
    assert found
    assert found.kind == "listing"
    expected = Look("Search results", "Search results", "38 items found", 0.8, 9, may_list=False)
    assert find_notice(expected) is None


def test_what_a_parked_page_advertises_is_no_statement() -> None:
    text = "This domain is for sale!\nRelated searches: Varde 1911 harbour fair, used cars."
    assert has_statement(text)
    assert find_notice(Look("varde-herald.example", "varde-herald.example", text))
    assert find_notice(Look("The Varde Herald", "The Varde Herald", text)) is None


def test_the_year_in_a_path_is_no_statement() -> None:
    text = "The requested URL /news/2004/tram.html was not found on this server."
    found = find_notice(Look("Error", "", text))
    assert found
    assert found.kind == "gone"


def outcomes(group: str, held_back: bool) -> list[str]:
    """Of each page: "refused", "copy" of Wikipedia, or "read"."""
    found = []
    for page in pages_of(group):
        if page.held_back is held_back:
            data = page.source.encode()
            read = html.read_html(Body(page.url, data, "text/html", None, DEFAULT_LIMITS))
            if isinstance(read, Document):
                found.append("copy" if COPY_OF in read.meta else "read")
            else:
                found.append("refused")
    return found


@pytest.mark.parametrize(
    ("group", "outcome", "known", "held_back"),
    [("errors", "refused", 18, 14), ("mirrors", "copy", 10, 10)],
)
def test_most_errors_and_copies_of_wikipedia_are_recognised(
    group: str, outcome: str, known: int, held_back: int
) -> None:
    assert outcomes(group, False).count(outcome) >= known
    assert outcomes(group, True).count(outcome) >= held_back


def test_at_most_one_honest_page_in_forty_is_refused() -> None:
    found = [
        outcome
        for group in ("neighbours", "wikilike")
        for held_back in (False, True)
        for outcome in outcomes(group, held_back)
    ]
    assert len(found) == 60
    assert len(found) - found.count("read") <= 1


@each_row("documents/notices/a_headline_about_this_page_outweighs_why_it_is_gone")
def test_a_headline_about_this_page_outweighs_why_it_is_gone(
    headline: str, text: str, gone: bool
) -> None:
    found = find_notice(Look(headline, headline, f"{headline}\n{text}"))
    assert (found is not None) is gone


def test_a_first_sentence_about_this_page_is_a_notice_without_a_headline() -> None:
    text = "The file you requested could not be found. If you think this is a mistake, write to us."
    found = find_notice(Look("Error", "", text))
    assert found
    assert found.kind == "gone"
