"""Articles from a wiki on this machine: every answer that a wiki may give, and its manners."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.rows import each_row
from support.wiki_server import Canned, Wiki, WikiPage, api_error, serving

from pincite.errors import ConfigError, FetchError, InputError
from pincite.settings import Settings
from pincite.verbs.verify import articles
from pincite.web.fetch import Response, WebClient, WebRules
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
    KEY_VARIABLE,
    ActionApi,
    Page,
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
        category={"Bridges": ["Varde Bridge", "Old Bridge", "Locked", "Hidden", "Nowhere"]},
    )


@pytest.fixture
def wiki() -> Iterator[Wiki]:
    with serving(a_wiki()) as found:
        yield found


@pytest.fixture
def web(wiki: Wiki) -> Iterator[WebClient]:
    ports = (9, int(wiki.url.rpartition(":")[2]))
    rules = WebRules(online=True, ports=ports, pause=0.0, attempts=1, seconds=2.0)
    with WebClient(rules, allow={"127.0.0.1"}) as client:
        yield client


@pytest.fixture
def waited() -> list[float]:
    return []


@pytest.fixture
def api(wiki: Wiki, web: WebClient, waited: list[float]) -> ActionApi:
    return ActionApi(Site(wiki.url), web, sleep=waited.append)


def page(api: ActionApi, typed: str) -> Page:
    return fetch_page(api, parse_address(typed, api.site))


def error(api: ActionApi, typed: str) -> WikiError:
    with pytest.raises(WikiError) as caught:
        page(api, typed)
    return caught.value


def test_a_title_becomes_a_revision(api: ActionApi, wiki: Wiki) -> None:
    found = page(api, "varde_Bridge")
    assert (found.title, found.revision_id) == ("Varde Bridge", "11")
    assert (found.timestamp, found.language) == ("2026-01-01T00:00:00Z", "en")
    assert found.notes == ()
    article = article_of(found)
    assert article.url == f"{wiki.url}/w/index.php?oldid=11"
    assert article.revision_id == "11"
    assert [claim.text for claim in article.claims] == ["The bridge opened in 1911."]
    assert wiki.asked[0]["maxlag"] == "5"
    assert wiki.asked[0]["formatversion"] == "2"


@pytest.mark.parametrize(
    ("typed", "revision", "note"),
    [
        ("/w/index.php?curid=1", "11", ""),
        ("/wiki/Varde_Bridge?oldid=10", "10", "an old revision: the newest is 11"),
        ("/wiki/Old_Bridge", "11", "'Old Bridge' is a redirect to 'Varde Bridge'"),
        ("/w/index.php?oldid=20", "20", "'Old Bridge' is a redirect: "),
        ("/w/index.php?title=Former_name&oldid=10", "10", "revision 10 belongs to 'Varde Bridge'"),
        ("/wiki/Locked", "40", "'Locked' is protected: only sysop may edit it"),
    ],
)
def test_what_happened_to_a_page_is_noted(
    api: ActionApi, typed: str, revision: str, note: str
) -> None:
    found = page(api, f"{api.site.base}{typed}")
    assert found.revision_id == revision
    assert bool(found.notes) is bool(note)
    assert next(iter(found.notes), "").startswith(note)


def test_a_disambiguation_lists_its_pages(api: ActionApi) -> None:
    found = error(api, "Mercury")
    assert found.code == "disambiguation"
    assert str(found).endswith("It lists: Mercury (planet); Mercury (god).")


def test_a_missing_page_lists_similar_titles(api: ActionApi, wiki: Wiki) -> None:
    found = error(api, "Varda Bridge")
    assert (found.code, str(found)[-29:]) == ("missing", "Similar titles: Varde Bridge.")
    assert error(api, f"{wiki.url}/?curid=99").code == "missing"
    wiki.asked.clear()
    assert "Varde Bridge" in str(error(api, "VARDE bridge"))  # no title begins so
    assert [asked.get("list") for asked in wiki.asked] == [None, "prefixsearch", "search"]


@each_row("wiki/api/other_refusals")
def test_refusals_of_a_wiki_have_a_code(api: ActionApi, typed: str, code: str) -> None:
    assert error(api, typed).code == code


def test_lag_is_retried(wiki: Wiki, web: WebClient, waited: list[float]) -> None:
    messages: list[str] = []
    api = ActionApi(Site(wiki.url), web, waited.append, messages.append)
    wiki.first = [api_error("maxlag", "Waiting for db1: 6 seconds lagged", after="7")]
    wiki.first += [api_error("maxlag"), api_error("ratelimited", after="3")]
    assert page(api, "Varde Bridge").revision_id == "11"
    assert waited == [7.0, 10.0, 3.0]
    assert messages[0].endswith("lags behind; waiting 7 s")


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
        (Canned(404, b"{}"), "not_mediawiki", "HTTP 404"),
        (Canned(403, b"no"), "refused", "refuses"),
        (Canned(200, b'{"query": 7}'), "not_mediawiki", "form"),
        (Canned(200, b'{"query": {"pages": [{"title": "A"}]}}'), "not_mediawiki", "no text"),
    ],
)
def test_errors_of_a_wiki(api: ActionApi, wiki: Wiki, canned: Canned, code: str, says: str) -> None:
    wiki.first = [canned] * ATTEMPTS
    found = error(api, "Varde Bridge")
    assert found.code == code
    assert says in str(found)


def test_no_reply_at_all(wiki: Wiki, web: WebClient) -> None:
    wiki.first = [Canned(200, b"{}", pause=3.0)]
    for site in (Site(wiki.url), Site("http://127.0.0.1:9")):
        with pytest.raises(FetchError, match="while requesting an article"):
            fetch_page(ActionApi(site, web), ArticleAddress(site, "A"))


def test_a_category_is_read_to_its_end(api: ActionApi, wiki: Wiki) -> None:
    assert members(api, "Bridges") == wiki.category["Bridges"]
    assert members(api, "Nothing") == []
    assert [a.get("cmcontinue") for a in wiki.asked] == [None, "2", "4", None]
    endless = b'{"query": {"categorymembers": []}, "continue": {"cmcontinue": "0"}}'
    wiki.first = [Canned(200, endless)] * 1001
    with pytest.raises(WikiError, match="endless listing"):
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


class Members:
    """A wiki that only members can read."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        self.forms: list[dict[str, str]] = []
        self.result = "Success"
        self.session = "s2"

    def get(
        self, url: str, *, accept: str = "*/*", headers: Mapping[str, str] | None = None
    ) -> Response:
        self.headers.append(dict(headers or {}))
        found: dict[str, Any] = {"query": {"pages": []}}
        cookie = (headers or {}).get("cookie", "")
        if not headers or (cookie and self.session not in cookie):
            found = {"error": {"code": "readapidenied", "info": "You need read permission."}}
        return Response(200, "", {}, json.dumps(found).encode())

    def post(
        self, url: str, form: Mapping[str, str], *, headers: Mapping[str, str] | None = None
    ) -> Response:
        self.forms.append(dict(form))
        self.headers.append(dict(headers or {}))
        cookies = "session=s1; expires=Tue, 01 Dec 2026 10:00:00 GMT; path=/, seen=1; HttpOnly"
        found: dict[str, Any] = {"query": {"tokens": {"logintoken": "t+\\"}}}
        if form["action"] == "login":
            cookies, found = f"session={self.session}; path=/", {"login": {"result": self.result}}
        return Response(200, "", {"set-cookie": cookies}, json.dumps(found).encode())


def test_a_bot_password_logs_in_once() -> None:
    web = Members()
    api = ActionApi(site_at("https://w.example/w"), web, key="Ada@pincite:secret")
    api.query(titles="A")
    api.query(titles="B")
    assert [form["action"] for form in web.forms] == ["query", "login"]
    assert (web.forms[1]["lgname"], web.forms[1]["lgpassword"]) == ("Ada@pincite", "secret")
    assert web.headers[1] == {"cookie": "session=s1; seen=1"}
    assert web.headers[2:] == [{"cookie": "session=s2; seen=1"}] * 2
    web.session = "s3"  # the first has ended
    api.query(titles="C")
    assert [form["action"] for form in web.forms] == ["query", "login"] * 2


def test_a_refused_login_does_not_show_the_password() -> None:
    web = Members()
    web.result = "Failed"
    api = ActionApi(site_at("https://w.example/w"), web, key="Ada@pincite:secret")
    with pytest.raises(WikiError, check=lambda error: error.code == "login") as caught:
        api.query(titles="A")
    assert "secret" not in f"{caught.value}{api!r}"


def test_a_wiki_for_members_without_a_key_names_the_variable() -> None:
    with pytest.raises(WikiError, match=KEY_VARIABLE) as caught:
        ActionApi(site_at("https://w.example/w"), Members()).query(titles="A")
    assert caught.value.code == "readapidenied"


@each_row("wiki/api/the_key_goes_to_the_wiki_of_the_settings_only")
def test_the_key_goes_to_the_wiki_of_the_settings_only(
    wiki: str, address: str, hosts: tuple[str, ...], sent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "token")
    given = Settings.of(wiki=wiki, private_hosts=hosts)
    web = Members()
    api = articles.api_of(site_at(address), web, given, print)
    with nullcontext() if sent else pytest.raises(WikiError):
        api.query(titles="A")
    assert web.headers == [{"authorization": "Bearer token"} if sent else {}]


def test_the_key_is_not_sent_unencrypted_to_a_public_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "token")
    with pytest.raises(ConfigError, match=KEY_VARIABLE):
        articles.api_of(
            site_at("http://w.example"), Members(), Settings.of(wiki="http://w.example"), print
        )


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
def test_malformed_replies_are_wiki_errors(reply: object) -> None:
    class Says:
        def get(self, *_: object, **__: object) -> Response:
            return Response(200, "", {}, json.dumps({"query": reply}).encode())

        post = get

    home = site_at("https://w.example/w")
    api = ActionApi(home, Says(), sleep=lambda _: None)
    with contextlib.suppress(WikiError):
        fetch_page(api, ArticleAddress(home, "A"))
