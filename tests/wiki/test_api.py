"""Articles from a wiki on this machine: every answer that a wiki may give, and its manners."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.wiki_server import Canned, Got, PlainWeb, Wiki, WikiPage, api_error, serving

from pincite.errors import FetchError, InputError
from pincite.wiki.addresses import (
    ArticleAddress,
    Site,
    addresses_in,
    category_at,
    parse_address,
    site_at,
    wikipedia,
)
from pincite.wiki.api import (
    ATTEMPTS,
    ActionApi,
    NoPage,
    Page,
    Refused,
    WikiError,
    article_of,
    fetch_page,
    latest,
    members,
)

TEXT = "The bridge opened in 1911.<ref>{{cite web |url=https://a.example/ |title=A}}</ref>"
LIST = "'''Mercury''' may be:\n* [[Mercury (planet)]], a planet\n* the god [[Mercury (god)|M]]\n"


def a_wiki() -> Wiki:
    return Wiki(
        pages=[
            WikiPage(1, "Varde Bridge", [(10, "old text"), (11, TEXT)]),
            WikiPage(2, "Old Bridge", [(20, "#REDIRECT [[Varde Bridge]]")], "Varde Bridge"),
            WikiPage(3, "Mercury", [(30, LIST)], disambiguation=True),
            WikiPage(4, "Locked", [(40, TEXT)], protected="sysop"),
            WikiPage(5, "Hidden", [(50, None), (51, TEXT)]),
            WikiPage(6, "Script.js", [(60, "x()")], model="javascript"),
        ],
        moved={"Former name": "Varde Bridge"},
        deleted={"Gone thing"},
        category={"Bridges": ["Varde Bridge", "Old Bridge", "Locked", "Hidden", "Nowhere"]},
    )


@pytest.fixture
def wiki() -> Iterator[Wiki]:
    with serving(a_wiki()) as found:
        yield found


@pytest.fixture
def waited() -> list[float]:
    return []


@pytest.fixture
def api(wiki: Wiki, waited: list[float]) -> ActionApi:
    return ActionApi(Site(wiki.url), PlainWeb(), sleep=waited.append)


def page(api: ActionApi, typed: str) -> Page:
    found = fetch_page(api, parse_address(typed, api.site))
    assert isinstance(found, Page), found
    return found


def refused(api: ActionApi, typed: str) -> Refused:
    found = fetch_page(api, parse_address(typed, api.site))
    assert isinstance(found, Refused), found
    return found


def test_a_title_becomes_a_revision(api: ActionApi, wiki: Wiki) -> None:
    found = page(api, "varde_Bridge")
    assert (found.title, found.revision_id, found.page_id) == ("Varde Bridge", "11", "1")
    assert (found.timestamp, found.language) == ("2026-01-01T00:00:00Z", "en")
    assert found.notes == ()
    assert found.url == f"{wiki.url}/w/index.php?oldid=11"
    article = article_of(found)
    assert article.revision_id == "11"
    assert [claim.text for claim in article.claims] == ["The bridge opened in 1911."]
    assert wiki.asked[0]["maxlag"] == "5"
    assert wiki.asked[0]["formatversion"] == "2"
    assert wiki.headers[0]["accept-encoding"] == "gzip"


def test_by_page_id_and_by_revision(api: ActionApi, wiki: Wiki) -> None:
    assert page(api, f"{wiki.url}/w/index.php?curid=1").revision_id == "11"
    old = page(api, f"{wiki.url}/wiki/Varde_Bridge?oldid=10")
    assert (old.revision_id, old.wikitext) == ("10", "old text")
    assert old.notes == ("an old revision: the newest is 11",)


def test_a_redirect_is_told(api: ActionApi, wiki: Wiki) -> None:
    found = page(api, "Old Bridge")
    assert found.revision_id == "11"
    assert found.notes == ("'Old Bridge' is a redirect to 'Varde Bridge'",)
    itself = page(api, "Special:PermanentLink/20")
    assert itself.title == "Old Bridge"
    assert "redirect" in itself.notes[0]


def test_a_moved_page_is_told(api: ActionApi, wiki: Wiki) -> None:
    found = page(api, f"{wiki.url}/w/index.php?title=Former_name&oldid=10")
    assert found.notes[0] == "revision 10 belongs to 'Varde Bridge': 'Former name' was moved"
    gone = refused(api, "Former name")
    assert gone.reason is NoPage.MISSING
    assert "moved to 'Varde Bridge' on 2025-02-03" in gone.message


def test_a_protected_page_is_read(api: ActionApi) -> None:
    assert page(api, "Locked").notes == ("'Locked' is protected: only sysop may edit it",)


def test_a_disambiguation_lists_its_pages(api: ActionApi) -> None:
    found = refused(api, "Mercury")
    assert found.reason is NoPage.DISAMBIGUATION
    assert found.choices == ("Mercury (planet)", "Mercury (god)")
    assert str(found).endswith("It lists: Mercury (planet); Mercury (god).")


def test_a_missing_page_names_the_nearest(api: ActionApi, wiki: Wiki) -> None:
    found = refused(api, "Varda Bridge")
    assert (found.reason, found.choices) == (NoPage.MISSING, ("Varde Bridge",))
    assert "deleted on 2025-04-05" in refused(api, "Gone thing").message
    assert refused(api, f"{wiki.url}/?curid=99").reason is NoPage.MISSING


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("Special:PermanentLink/999", NoPage.MISSING_REVISION),
        ("Special:PermanentLink/50", NoPage.HIDDEN),
        ("Script.js", NoPage.NOT_WIKITEXT),
        ("Xx:Elsewhere", NoPage.INTERWIKI),
        ("A::b", NoPage.INVALID),
    ],
)
def test_other_refusals(api: ActionApi, typed: str, reason: NoPage) -> None:
    assert refused(api, typed).reason is reason


def test_lag_is_waited_for(api: ActionApi, wiki: Wiki, waited: list[float]) -> None:
    told: list[str] = []
    api.tell = told.append
    wiki.first = [api_error("maxlag", "Waiting for db1: 6 seconds lagged", after="7")]
    wiki.first += [api_error("maxlag"), api_error("ratelimited", after="3")]
    assert page(api, "Varde Bridge").revision_id == "11"
    assert waited == [7.0, 10.0, 3.0]
    assert told[0].endswith("lags behind; waiting 7 s")


@pytest.mark.parametrize(
    ("canned", "code", "says"),
    [
        (api_error("maxlag"), "maxlag", "lags behind after"),
        (api_error("readonly", "Locked for maintenance"), "readonly", "read-only"),
        (Canned(429, b""), "busy", "Try again later"),
        (Canned(503, b""), "busy", "HTTP 503"),
        (api_error("maxlag", after="9999"), "busy", "asks to wait 9999 seconds"),
        (api_error("readapidenied"), "readapidenied", "by its members"),
        (api_error("internal_api_error_X", "boom"), "internal_api_error_X", "boom"),
        (Canned(200, b"<html>Welcome</html>"), "not_mediawiki", "not a MediaWiki"),
        (Canned(200, b'{"hello": 1}'), "not_mediawiki", "not a MediaWiki"),
        (Canned(200, b"[" * 100_000), "not_mediawiki", "not a MediaWiki"),
        (Canned(200, b"\xff\xfe"), "not_mediawiki", "not a MediaWiki"),
        (Canned(404, b"{}"), "not_mediawiki", "HTTP 404"),
        (Canned(403, b"no"), "refused", "refuses"),
        (Canned(200, b'{"query": {"pages": {"1": {}}}}'), "not_mediawiki", "no page"),
        (Canned(200, b'{"query": {"pages": [{"revisions": [7]}]}}'), "not_mediawiki", "form"),
        (Canned(200, b'{"query": 7}'), "not_mediawiki", "form"),
        (Canned(200, b'{"query": {"pages": [{"title": "A"}]}}'), "not_mediawiki", "no text"),
    ],
)
def test_what_is_wrong_with_the_wiki(
    api: ActionApi, wiki: Wiki, canned: Canned, code: str, says: str
) -> None:
    wiki.first = [canned] * ATTEMPTS
    found = refused(api, "Varde Bridge")
    assert (found.reason, found.code) == (NoPage.WIKI, code)
    assert says in found.message


def test_no_reply_at_all(wiki: Wiki) -> None:
    address = ArticleAddress(Site(wiki.url), "Varde Bridge")
    wiki.first = [Canned(200, b"{}", pause=1.0)]
    with pytest.raises(FetchError, match="while requesting an article"):
        fetch_page(ActionApi(address.site, PlainWeb(seconds=0.05)), address)
    closed = Site("http://127.0.0.1:9")
    with pytest.raises(FetchError):
        fetch_page(ActionApi(closed, PlainWeb()), ArticleAddress(closed, "A"))


def test_one_request_at_a_time(api: ActionApi, wiki: Wiki) -> None:
    wiki.first = [Canned(200, b'{"batchcomplete": true}', pause=0.02) for _ in range(6)]
    threads = [threading.Thread(target=api.query, kwargs={"titles": "A"}) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wiki.most_busy == 1


def test_html_of_a_revision(api: ActionApi, wiki: Wiki) -> None:
    wiki.html["11"] = "<p>Text.</p>"
    assert api.html("11") == "<p>Text.</p>"
    with pytest.raises(WikiError, match="gives no HTML of revision 12"):
        api.html("12")


def test_a_category_is_read_to_its_end(api: ActionApi, wiki: Wiki) -> None:
    assert members(api, "Bridges") == wiki.category["Bridges"]
    assert members(api, "Nothing") == []
    assert [a.get("cmcontinue") for a in wiki.asked] == [None, "2", "4", None]
    endless = b'{"query": {"categorymembers": []}, "continue": {"cmcontinue": "0"}}'
    wiki.first = [Canned(200, endless)] * 1001
    with pytest.raises(WikiError, match="without end"):
        members(api, "Bridges")


def test_newest_revisions_in_one_request(api: ActionApi, wiki: Wiki) -> None:
    titles = ["Varde Bridge", "old Bridge", "Nowhere"]
    found = latest(api, titles)
    assert found == {"Varde Bridge": "11", "old Bridge": "11", "Nowhere": None}
    assert len(wiki.asked) == 1
    assert len(latest(api, [f"T{i}" for i in range(120)])) == 120
    assert len(wiki.asked) == 4
    long = [f"Мост через реку в городе {'длинный ' * 8}{i}" for i in range(50)]
    assert list(latest(api, long)) == long
    assert max(len(asked["titles"].encode()) * 3 for asked in wiki.asked[4:]) < 5000
    assert len(wiki.asked) > 9


def test_categories_and_lists_as_people_write_them() -> None:
    home = wikipedia("en")
    for typed in ("Boxers", "Category:Boxers", "[[:Category:Boxers]]", "category: Boxers"):
        assert category_at(typed, home) == (home, "Boxers")
    url = "https://de.wikipedia.org/wiki/Kategorie:Boxer"
    assert category_at(url, home) == (wikipedia("de"), "Boxer")
    with pytest.raises(InputError):
        category_at("Special:PermanentLink/3", home)
    found = addresses_in(["* [[A|b]]", "A", "https://en.wikipedia.org/wiki/A", "# de:B"], home)
    assert [str(a) for a in found] == ["A (en.wikipedia.org)", "B (de.wikipedia.org)"]
    with pytest.raises(InputError, match="title 2 of the list"):
        addresses_in(["A", "<b>"], home)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from("query pages revisions slots main title revid redirects error".split()),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=200)
@given(JSON)
def test_no_reply_breaks_it(reply: object) -> None:
    import json

    class Says:
        def get(self, *_: object, **__: object) -> Got:
            return Got(200, {}, json.dumps({"query": reply}).encode())

    home = site_at("https://w.example/w")
    api = ActionApi(home, Says(), sleep=lambda _: None)
    assert isinstance(fetch_page(api, ArticleAddress(home, "A")), (Page, Refused))
