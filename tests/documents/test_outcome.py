import pytest

from pincite.documents.outcome import TEASER_WORDS, Markup, of_page, of_status
from pincite.types import Reason

WORD = "word "
URL = "https://example.org/a"


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (404, Reason.DEAD),
        (410, Reason.DEAD),
        (401, Reason.REFUSED),
        (403, Reason.REFUSED),
        (429, Reason.REFUSED),
        (451, Reason.REFUSED),
        (500, Reason.REFUSED),
        (503, Reason.REFUSED),
        (999, Reason.REFUSED),
        (402, Reason.PAYWALL),
        (301, Reason.NOT_SUPPLIED),
        (200, None),
        (None, None),
    ],
)
def test_status(status: int | None, reason: Reason | None) -> None:
    outcome = of_status(URL, status)
    assert (outcome.reason if outcome else None) == reason
    assert outcome is None or outcome.detail.startswith(f"HTTP {status}")


@pytest.mark.parametrize(
    "phrase",
    [
        "Subscribe to continue reading",
        "Log in to continue reading.",
        "This article is for subscribers only",
        "This story is available to members. Subscribe to read the full story",
        "To continue reading this article, please subscribe",
        "You have reached your limit of free articles",
        "Already a subscriber? Sign in",
        "Cet article est réservé aux abonnés",
        "Il vous reste 72.4% de cet article à lire",
        "Contenido exclusivo para suscriptores",
    ],
)
def test_a_teaser_with_a_paywall_phrase(phrase: str) -> None:
    teaser = WORD * 80
    outcome = of_page(URL, teaser, teaser, Markup(visible=f"{teaser}\n{phrase}"))
    assert outcome is not None
    assert outcome.reason is Reason.PAYWALL
    assert "“" in outcome.detail


@pytest.mark.parametrize("n_words", [TEASER_WORDS + 1, 2_000])
def test_a_full_article_with_every_sign_of_a_paywall_is_read(n_words: int) -> None:
    article = WORD * n_words
    visible = f"{article} Subscribe to continue reading. Already a subscriber? Accept all cookies"
    signs = Markup("A bridge", visible, 40, not_free=True, paywall_class="paywall")
    assert of_page(URL, article, article, signs) is None


def test_a_teaser_on_a_page_full_of_headlines() -> None:
    teaser, page = WORD * 40, WORD * 400 + "Subscribe to continue reading"
    outcome = of_page(URL, page, teaser, Markup(visible=page))
    assert outcome is not None
    assert outcome.reason is Reason.PAYWALL


def test_a_hint_in_the_margin_of_a_large_page_is_no_paywall() -> None:
    article, page = WORD * 150, WORD * 900 + "Already a subscriber? Sign in"
    assert of_page(URL, article, article, Markup(visible=page)) is None


@pytest.mark.parametrize(
    ("text", "signs", "reason"),
    [
        (WORD * 90, Markup(not_free=True), Reason.PAYWALL),
        (WORD * 90, Markup(paywall_class="paywall"), Reason.PAYWALL),
        (WORD * 150, Markup(paywall_class="paywall"), None),
        ("Checking your browser before you enter", Markup(n_scripts=2), Reason.REFUSED),
        ("Sorry.", Markup("Page not found | Example"), Reason.SOFT_404),
        ("Sorry.", Markup("404: this is not it"), Reason.SOFT_404),
        ("Before you continue, choose your cookies", Markup(), Reason.CONSENT),
        ("Loading the app now", Markup(n_scripts=3), Reason.EMPTY),
        (WORD * 60, Markup(visible="Please enable JavaScript", n_scripts=3), Reason.EMPTY),
        ("", Markup(), Reason.EMPTY),
        ("A short but honest page.", Markup("The Not Found Collective"), None),
        (WORD * 120, Markup("Page not found: a novel"), None),
    ],
)
def test_pages_that_are_no_source(text: str, signs: Markup, reason: Reason | None) -> None:
    outcome = of_page(URL, text, text, signs)
    assert (outcome.reason if outcome else None) == reason


def test_the_detail_counts_the_words() -> None:
    outcome = of_page(URL, "one two three", "", Markup(n_scripts=1))
    assert outcome is not None
    assert outcome.detail == "a page drawn by scripts: 3 words without them"
