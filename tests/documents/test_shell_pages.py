"""Pages in place of the page: parked, blocked, gone, consent, sign-in; and real ones like them."""

import pytest
from support.found import document, refusal

from pincite.documents.read import read_bytes
from pincite.types import Document, Reason, Unchecked

LEGAL = "Our lawyers ask us not to show this page in the European Union."


def page(title: str, *paragraphs: str, extra: str = "") -> bytes:
    body = "".join(f"<p>{text}</p>" for text in paragraphs)
    return (
        f"<!DOCTYPE html><html><head><title>{title}</title></head>"
        f"<body><main><h1>{title}</h1>{body}</main>{extra}</body></html>"
    ).encode()


def outcome(title: str, *paragraphs: str, extra: str = "") -> Document | Unchecked:
    return read_bytes(
        page(title, *paragraphs, extra=extra), url="https://e.org/a", content_type="text/html"
    )


PASSWORD = '<form><input name="u"><input type="password" name="p"></form>'
SCRIPTS = "<script>var app = 1</script>" * 3

SHELLS: list[tuple[Reason, tuple[str, ...]]] = [
    # parked
    (
        Reason.USURPED,
        ("vardeposten.example", "This domain is for sale.", "Varde mill - Varde news"),
    ),
    (
        Reason.USURPED,
        ("varde-mill.example", "The domain varde-mill.example is available for sale."),
    ),
    (Reason.USURPED, ("Mill", "This domain name has expired. Are you the owner? Contact support.")),
    (Reason.USURPED, ("Welcome", "This site is parked with Registrar Inc. Related searches: mill")),
    (Reason.USURPED, ("varde.example", "Buy this domain!", "Mill of Varde 1911", "Cheap flights")),
    (Reason.USURPED, ("Account suspended", "This account has been suspended. Contact your host.")),
    (Reason.USURPED, ("Welcome to nginx!", "If you see this page, the web server is working.")),
    (Reason.USURPED, ("mill.example", "Diese Domain steht zum Verkauf", "Mühle Varde 1911")),
    # blocked and down
    (Reason.REFUSED, ("451", "Unavailable due to legal reasons", LEGAL)),
    (Reason.REFUSED, ("Varde Post", "This content is not available in your region.")),
    (
        Reason.REFUSED,
        ("Varde Post", "Our site is currently unavailable in most European countries."),
    ),
    (Reason.REFUSED, ("Be right back", "We are down for scheduled maintenance. Please try again.")),
    (Reason.REFUSED, ("503 Service Unavailable", "The server cannot handle the request now.")),
    (Reason.REFUSED, ("Access Denied", "You don't have permission to access this server.")),
    (Reason.REFUSED, ("Error", "Error establishing a database connection")),
    # captcha
    (Reason.REFUSED, ("Just a moment...", "Checking your browser. This may take a few seconds.")),
    (Reason.REFUSED, ("Security check", "Please complete the captcha to go on to varde.example.")),
    (Reason.REFUSED, ("Are you human?", "Verify you are human by completing the action below.")),
    (
        Reason.REFUSED,
        ("Attention Required! | Shield", "Sorry, you have been blocked from this site."),
    ),
    # gone
    (Reason.SOFT_404, ("404 Not Found", "The requested URL was not found on this server.")),
    (Reason.SOFT_404, ("Varde Post | Page not found", "Try the search, or go to the front page.")),
    (Reason.SOFT_404, ("Oops!", "We can't find that page. It may have been moved or deleted.")),
    (Reason.SOFT_404, ("Error 404", "Sorry, that page does not exist on our site any more.")),
    (Reason.SOFT_404, ("Varde Post", "The article you are looking for is no longer available.")),
    (Reason.SOFT_404, ("Seite nicht gefunden", "Die gesuchte Seite wurde leider verschoben.")),
    (Reason.SOFT_404, ("Page introuvable", "Retournez à l'accueil du site.")),
    (
        Reason.SOFT_404,
        ("Search results for 'mill 1911'", "Your search for mill 1911 gave 0 results."),
    ),
    # consent
    (
        Reason.CONSENT,
        ("Before you continue", "We use cookies. Accept all cookies or manage consent."),
    ),
    (
        Reason.CONSENT,
        (
            "Your privacy",
            "We and our partners store cookies on your device and process your data. Our partners "
            "use them to show advertising on this site and to measure it. You may accept all "
            "cookies, or manage your consent for each purpose in the settings. Your privacy "
            "choices are kept for a year, and you may change your settings at any time.",
        ),
    ),
    # sign-in
    (Reason.LOGIN, ("Sign in", "Enter your email address to continue to Varde Library.")),
    (Reason.LOGIN, ("Varde Forum", "You must be logged in to view this page.")),
    (Reason.LOGIN, ("Log in | Varde University", "Use your university account.")),
    (Reason.LOGIN, ("Members", "Please log in to access the archive of this site.")),
    # forwarding
    (Reason.NOT_SUPPLIED, ("Redirecting", "Redirecting to https://varde.example/new.")),
    (Reason.NOT_SUPPLIED, ("301 Moved Permanently", "The document has moved here.")),
]


@pytest.mark.parametrize(("reason", "words"), SHELLS, ids=[words[0] for _, words in SHELLS])
def test_a_page_in_place_of_the_page(reason: Reason, words: tuple[str, ...]) -> None:
    assert refusal(outcome(*words)).reason is reason


def test_a_password_field_beside_hardly_a_word() -> None:
    found = refusal(outcome("Varde Library", "Welcome to our archive.", extra=PASSWORD))
    assert found.reason is Reason.LOGIN


def test_a_page_that_scripts_draw() -> None:
    assert refusal(outcome("Varde Post", "Loading", extra=SCRIPTS)).reason is Reason.EMPTY


MILL = "The mill at Varde was built in 1911 by the miller Ida Holm."
REAL: list[tuple[str, ...]] = [
    ("404 – Chronicle", "In the year 404 the harbour of Varde froze for nine weeks."),
    ("Error 404", "Error 404 is a play by Ida Holm. It was first staged in Varde in 2003."),
    ("Error 404: how links die", "Half of all citations in court rulings lead nowhere by now."),
    ("404 tram", "The tram was bought in 1953. It carried three thousand people a day."),
    ("Page Not Found (film)", "The film was shot in Varde in the winter of 2009."),
    ("Not found", "Not Found is the third novel of Ida Holm, printed in Varde in 1988."),
    ("The lost document", "The document was not found until 1874, when the church was repaired."),
    ("Domain for sale", "The old royal domain at Varde was sold to a timber merchant in 1874."),
    ("This domain is for sale: a history", "Trade in names began in 1994 with a ruling in Ohio."),
    ("Access denied", "The council denied reporters entry to the mill in May 1911.", MILL),
    (
        "Maintenance",
        "The bridge is closed for maintenance until June, the council decided in 1911.",
    ),
    ("Under maintenance", "The railway keeps forty engines in the shed at Varde."),
    ("Captcha", "The captcha was invented in 2003 by four people in Pittsburgh.", MILL),
    ("Verify you are human", "An exhibition of that name opened in Varde in 2021.", MILL),
    ("Consent", "The law of 1911 asked parents for consent before a child could work in a mill."),
    ("Cookies", "Cookies were baked in Varde from 1911 on. The recipe came from Utrecht.", MILL),
    ("Sign in", "The sign in the window of the mill dated from before the fire of 1911."),
    ("Login", "Login is a village of forty houses in the hills above Varde."),
    ("Redirecting the river", "The river was led round the town in 1874 by Karl Moor's engineers."),
    ("Search results for a lost ship", "Divers mapped the wreck near Varde in 2011."),
    ("Unavailable", "The second volume was withdrawn by the printer in 1911.", MILL),
    ("Welcome to Varde", MILL),
    ("Oops! A history", "The word was first printed in a Chicago newspaper in 1922."),
]


@pytest.mark.parametrize("words", REAL, ids=[words[0] for words in REAL])
@pytest.mark.parametrize("extra", ["", SCRIPTS, PASSWORD, "<p>Sign in to your account</p>"])
def test_a_real_page_like_them_is_read(words: tuple[str, ...], extra: str) -> None:
    found = document(outcome(*words, extra=extra))
    assert words[1].split(".")[0] in found.text


BANNERS = [
    '<div id="wm-ipp-base"><p>25 captures</p><p>05 Jan 2013 - 12 May 2021</p></div>',
    '<div id="wm-ipp-print">The Wayback Machine - https://web.archive.org/web/2013/http://e.org/</div>',
    "<p>The Wayback Machine - https://web.archive.org/web/20130105000000/http://e.org/a</p>",
    "<p>This is an archived copy of http://e.org/a, captured on 5 January 2013.</p>",
    "<p>You are viewing an archived web page, collected at the request of Varde Library.</p>",
    "<p>This snapshot, taken on 05/01/2013, shows web content acquired for preservation.</p>",
    '<div id="_wb_plain_banner">This is an archived page from Saturday, 5 January 2013.</div>',
    "<p>12 captures</p><p>05 Jan 2013 - 12 May 2021</p><p>About this capture</p>",
]


@pytest.mark.parametrize("banner", BANNERS)
def test_the_banner_of_a_web_archive_is_no_text(banner: str) -> None:
    source = page("The mill", MILL, "It burnt down in 1944 and was never built again by anybody.")
    found = read_bytes(
        source.replace(b"<body>", b"<body>" + banner.encode()), url="u", content_type="text/html"
    )
    assert isinstance(found, Document)
    for word in ("captur", "archive", "Wayback", "snapshot", "2013"):
        assert word not in found.text


def test_a_page_about_archives_keeps_its_lines() -> None:
    lines = (
        "Share",
        "History",
        "The Wayback Machine was opened to the public in October 2001.",
        MILL,
    )
    found = document(outcome("Archives", *lines))
    assert lines[2] in found.text
