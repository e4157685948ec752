"""Article addresses: a golden table, what is refused, and laws over made-up ones."""

from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pincite.errors import InputError
from pincite.wiki import addresses
from pincite.wiki.addresses import LANGUAGES, ArticleAddress, Site, parse_address, wikipedia

HOME = wikipedia("en")
TABLE = Path(__file__).parents[1] / "cases" / "article_addresses.tsv"
ROWS = [line.split("\t") for line in TABLE.read_text("utf-8").splitlines() if line[0] != "#"]
LETTERS = st.characters(whitelist_categories=("L", "N"), max_codepoint=0xFFFF)
TITLES = st.text(st.one_of(LETTERS, st.sampled_from(" -'().,!?&+=/$")), min_size=1, max_size=40)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip())
def test_addresses_name_site_title_and_revision(row: list[str]) -> None:
    typed, base, *fields = row
    found = parse_address(typed, HOME)
    title, revision, page, section = (field or None for field in fields)
    assert (found.site.base, found.title) == (base, title)
    assert (found.revision_id, found.page_id, found.section or None) == (revision, page, section)


@pytest.mark.parametrize(
    "typed",
    [
        *("", "   ", "[[]]", "[[a]] and [[b]]", "#Section", "a|b", "{{template}}", "<script>"),
        *("a%20b", "../etc/passwd", "a/../b", "x" * 256, "x" * 5000, "javascript:alert(1)"),
        *("file:///etc/passwd", "ftp://en.wikipedia.org/wiki/X", "gopher://x/", "https://"),
        *("https:///wiki/X", "http://[::1/wiki/X", "https://w.wiki/abc", "Special:Search"),
        "https://user:secret@en.wikipedia.org/wiki/X",
        "https://en.wikipedia.org:99999/wiki/X",
        *(f"https://en.wikipedia.org/{path}" for path in ("", "wiki/", "w/index.php")),
        *(f"https://en.wikipedia.org/?{query}" for query in ("oldid=abc", "curid=-1", "curid=0")),
        *(f"https://en.wikipedia.org/wiki/{title}" for title in ("A%00b", "%FF%FE")),
        "https://en.wikipedia.org/wiki/Special:Random",
    ],
)
def test_other_addresses_are_refused_without_their_password(typed: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_address(typed, HOME)
    assert "secret" not in str(caught.value)


def test_another_wiki_by_its_scripts() -> None:
    home = addresses.site_at("https://wiki.example.org/mediawiki/")
    assert home.api == "https://wiki.example.org/mediawiki/api.php"
    found = parse_address("de:Berlin", home)  # what the prefix means there, only that wiki knows
    assert (found.site, found.title) == (home, "de:Berlin")
    assert parse_address("https://wiki.example.org/wiki/X", home).site == home
    root = parse_address("https://wiki.example.org/index.php?title=A", HOME).site
    assert root.api == "https://wiki.example.org/api.php"
    assert addresses.site_at("en.wikipedia.org").api == "https://en.wikipedia.org/w/api.php"


def test_addresses_that_lead_back() -> None:
    assert HOME.page("AC/DC & co?") == "https://en.wikipedia.org/wiki/AC/DC_%26_co%3F"
    assert HOME.revision("12") == "https://en.wikipedia.org/w/index.php?oldid=12"
    assert str(ArticleAddress(HOME, "A", "12")) == "revision 12 (en.wikipedia.org)"
    with pytest.raises(InputError):
        ArticleAddress(HOME)
    with pytest.raises(InputError):
        wikipedia("xx")


@given(TITLES, st.sampled_from(sorted(LANGUAGES)))
def test_every_way_to_name_a_title_names_it(title: str, language: str) -> None:
    try:
        plain = addresses.normal(title)
    except InputError:
        assume(False)
    assert addresses.normal(plain) == plain == addresses.normal(plain.replace(" ", "_"))
    assume(not plain.startswith(":"))
    assume("//" not in plain)  # inside an address it may be one slash
    site = wikipedia(language)
    encoded = quote(plain.replace(" ", "_"), safe="")
    ways = [
        site.page(plain),
        f"https://{language}.m.wikipedia.org/wiki/{encoded}",
        f"https://{language}.wikipedia.org/w/index.php?title={encoded}",
        f"[[{language}:{plain}|label]]",
        f"[[:w:{language}:{plain}]]",
        f"https://{language}.wikipedia.org/wiki/{encoded}#top",
    ]
    assert {(a.site, a.title) for a in (parse_address(w, HOME) for w in ways)} == {(site, plain)}
    assert parse_address(site.page(plain) + "?oldid=9", HOME).revision_id == "9"


@given(st.text(max_size=80))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    for typed in (text, f"https://en.wikipedia.org/{text}", f"[[{text}]]", f"//x.org/wiki/{text}"):
        try:
            found = parse_address(typed, HOME)
        except InputError:
            continue
        assert found.site.base.startswith(("https://", "http://"))
        assert found.title or found.revision_id or found.page_id
        assert "@" not in found.site.host
        assert isinstance(found.site, Site)
