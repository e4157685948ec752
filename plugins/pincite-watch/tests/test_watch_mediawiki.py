"""What a real MediaWiki says of its changes (pytest -m wiki)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import mediawiki
from support.mediawiki import MediaWiki

from pincite.web.fetch import WebClient, WebRules
from pincite.wiki.addresses import ArticleAddress, site_at
from pincite.wiki.api import ActionApi, fetch_page
from pincite_watch.lists import changes

pytestmark = [
    pytest.mark.wiki,
    pytest.mark.xdist_group("mediawiki"),
    pytest.mark.skipif(not mediawiki.is_installed(), reason=mediawiki.MISSING),
]


@pytest.fixture
def wiki(tmp_path: Path) -> Iterator[MediaWiki]:
    found = MediaWiki(tmp_path)
    yield found
    found.stop()


@pytest.fixture
def api(wiki: MediaWiki) -> Iterator[ActionApi]:
    port = int(wiki.url.rpartition(":")[2])
    with WebClient(WebRules(online=True, ports=(port,), pause=0), allow={"127.0.0.1"}) as web:
        yield ActionApi(site_at(f"{wiki.url}/w"), web)


def test_moves_without_redirects_are_followed_and_no_change_comes_twice(
    wiki: MediaWiki, api: ActionApi
) -> None:
    wiki.edit("Mill", "It burned down.")
    wiki.edit("Weir", "It is old.")
    page_id = wiki.call(action="query", titles="Mill")["query"]["pages"][0]["pageid"]
    for title in ("Mill", "Weir"):
        wiki.move(title, f"{title} (new)", noredirect=1)
    wiki.edit("Mill", "Another one.")
    *_, found = changes(api, "2026-01-01T00:00:00Z", (0,))
    assert set(found.moves) == {("Mill", "Mill (new)"), ("Weir", "Weir (new)")}
    assert {"Mill (new)", "Weir (new)", "Mill"} <= {title for title, _ in found.new}
    assert [each.titles for each in changes(api, found.read_to, (0,))] == [()]
    wiki.edit("Mill", "Another one, rebuilt.")
    assert [each.titles for each in changes(api, found.read_to, (0,))] == [("Mill",)]
    moved = fetch_page(api, ArticleAddress(api.site, page_id=str(page_id)))
    assert (moved.title, moved.namespace) == ("Mill (new)", 0)
