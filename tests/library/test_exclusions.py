"""What is never suggested, and that every page that is left out has its reason."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.library.exclusions import WITHOUT_LIST, Exclusions, copied_from
from pincite.library.reliability import UNLISTED, Entry, ReliabilityList, place_of
from pincite.types import COPY_OF, Bar, Citation, Claim, Document, Hit, Passage, Reliability, Span

BEFORE = "The Varde Bridge is a road bridge over the river in the west of the town of Varde."
TEXT = "It was built by the county between 1909 and 1911 and has been widened twice since then."
OTHER = "The ferry stopped when the bridge across the river was finished by the county in 1911."
LIST = ReliabilityList(
    (
        Entry("bad.example.org", Reliability.DEPRECATED, "Bad News"),
        Entry("spam.example.net", Reliability.BLACKLISTED, "Spam"),
        Entry("half.example.com/bad", Reliability.DEPRECATED, "Half"),
        Entry("good.example.com", Reliability.RELIABLE, "Good"),
    )
)
RULES = Exclusions(("own.example",), LIST)


def claim(access_date: str | None = None, before: str = BEFORE) -> Claim:
    cited = Citation(
        "r1", Span(0, 1), Span(0, 1), url="https://a.example/", access_date=access_date
    )
    return Claim("c", TEXT, "Varde Bridge", before=before, citations=(cited,))


def hits(*pages: tuple[str, str]) -> list[Hit]:
    return [
        Hit(Passage(f"{rank:016x}", url, "Title", text, Span(0, len(text))), 1.0, rank)
        for rank, (url, text) in enumerate(pages, 1)
    ]


@each_row("library/exclusions/sites")
def test_excluded_sites_are_no_sources(url: str, bar: Bar | None) -> None:
    kept, excluded = RULES.split(claim(), hits((url, OTHER)), (), None, None)
    assert [e.bar for e in excluded] == ([bar] if bar else [])
    assert len(kept) == (0 if bar else 1)


def test_reasons_of_what_an_index_left_out_already() -> None:
    seen = hits(("https://bad.example.org/1", OTHER), ("https://x.example/", OTHER))
    kept, excluded = RULES.split(claim(), hits(("https://x.example/", OTHER)), seen, None, None)
    assert [hit.passage.url for hit in kept] == ["https://x.example/"]
    assert [(e.url, e.detail) for e in excluded] == [
        ("https://bad.example.org/1", "Bad News: deprecated")
    ]
    assert {"own.example", "bad.example.org", "spam.example.net"} <= set(RULES.hosts())
    assert "half.example.com" not in RULES.hosts()


def copied(
    published: str | None, written: str | None, access_date: str | None = None, text: str = ""
) -> bool:
    url = "https://copy.example/"
    page = text or f"Travel tips. {BEFORE} {TEXT} Book now."

    def documents(urls: Sequence[str]) -> list[Document | None]:
        return [Document(u, "Copy", page, published=published) for u in urls]

    given = hits((url, page), ("https://x.example/", OTHER))
    kept, excluded = WITHOUT_LIST.split(claim(access_date), given, (), documents, written)
    assert [hit.rank for hit in kept] == list(range(1, len(kept) + 1))
    assert [e.bar for e in excluded] == [Bar.COPY] * (2 - len(kept))
    return bool(excluded)


@each_row("library/exclusions/pages_that_copy_the_article")
def test_pages_that_copy_the_article(
    published: str | None, written: str | None, access_date: str | None, is_copy: bool
) -> None:
    assert copied(published, written, access_date) is is_copy


def test_a_copy_may_be_changed_and_cut_but_a_source_tells_it_in_its_own_words() -> None:
    changed = f"{BEFORE} {TEXT}".replace("west", "east")
    assert copied("2024", "2020-01-01", text=changed)
    assert not copied("2024", "2020-01-01", text=f"{OTHER} {TEXT}")


def test_a_copy_in_two_passages_of_its_page() -> None:
    url = "https://copy.example/"
    given = hits((url, BEFORE + " It was"), (url, TEXT))
    _, excluded = WITHOUT_LIST.split(claim(), given, (), None, None)
    assert [e.url for e in excluded] == [url]


def test_a_short_paragraph_says_nothing() -> None:
    given = hits(("https://copy.example/", TEXT))
    assert WITHOUT_LIST.split(claim(before=""), given, (), None, None)[1] == ()


def test_a_page_that_says_that_it_copies_wikipedia_is_not_suggested() -> None:
    article = "https://en.wikipedia.org/wiki/X"
    pages = {
        "https://copy.example/": Document("https://copy.example/", "", "", meta={COPY_OF: article}),
        "https://x.example/": Document("https://x.example/", "", ""),
    }
    given = hits(*((url, OTHER) for url in pages))
    kept, excluded = WITHOUT_LIST.split(
        claim(), given, (), lambda urls: list(map(pages.get, urls)), None
    )
    assert [hit.passage.url for hit in kept] == ["https://x.example/"]
    assert [(e.url, e.bar, e.detail) for e in excluded] == [
        ("https://copy.example/", Bar.WIKI, article)
    ]


@each_row("library/exclusions/pages_of_wikipedia_and_known_copies")
def test_pages_of_wikipedia_and_known_copies(url: str, cited: str, copied: bool) -> None:
    assert bool(copied_from(Document(url, "", ""), cited)) is copied


R = Reliability
PLACES = {
    "daily.example.com": R.DEPRECATED,
    "example.com": R.RELIABLE,
    "example.com/blogs": R.UNRELIABLE,
    "example.com/blogs/staff": R.RELIABLE,
    "example.com/space/ufo*": R.UNRELIABLE,
    "example.co.uk": R.NO_CONSENSUS,
    "example.com.au": R.UNRELIABLE,
    "blogspot.com": R.UNRELIABLE,
    "good.blogspot.com": R.RELIABLE,
    "press.org/uk/daily": R.DEPRECATED,
    "spam.net": R.BLACKLISTED,
    "xn--mnchen-3ya.de": R.RELIABLE,
    "xn--e1afmkfd.xn--p1ai": R.DEPRECATED,
    "93.184.216.34": R.UNRELIABLE,
    "kawasaki.jp": R.DEPRECATED,  # a public suffix by rule: no list may speak for it
}
LISTED = ReliabilityList(tuple(Entry(place, label, place) for place, label in PLACES.items()))


@each_row("judgement/reliability/matches")
def test_matches(url: str, place: str | None) -> None:
    found = LISTED.listing_of(url)
    assert found.place == (place or "")
    assert found.reliability is (PLACES[place] if place else R.UNLISTED)


@each_row("judgement/reliability/places")
def test_places(text: str, place: str | None) -> None:
    assert place_of(text) == place


def test_entries_that_differ_about_one_place() -> None:
    rules = ReliabilityList(
        (
            Entry("a.org", R.RELIABLE, "A", "", "https://w.example/1"),
            Entry("a.org", R.UNRELIABLE, "A", "politics"),
            Entry("b.org", R.RELIABLE, "B", "pre-2013"),
            Entry("b.org", R.UNRELIABLE, "B", "2013–present"),
            Entry("c.org", R.DEPRECATED, "C"),
            Entry("c.org", R.BLACKLISTED, "C", "shop"),
            Entry("d.org", R.UNRELIABLE, "D", "sport"),
            Entry("d.org", R.UNRELIABLE, "D"),
        )
    )
    general = rules.listing_of("https://a.org/")
    assert (general.reliability, general.scope) == (R.RELIABLE, "")
    assert general.link == "https://w.example/1"
    assert general.others == ("politics: generally unreliable",)
    mixed = rules.listing_of("https://b.org/")
    assert mixed.reliability is R.MIXED
    assert mixed.others == ("pre-2013: generally reliable", "2013–present: generally unreliable")
    assert rules.listing_of("https://c.org/").reliability is R.BLACKLISTED
    assert rules.listing_of("https://d.org/").scope == ""


def test_hosts_that_an_index_can_leave_out() -> None:
    rules = ReliabilityList(
        (
            Entry("bad.org", R.DEPRECATED),
            Entry("bad.org/worse", R.BLACKLISTED),
            Entry("half.org", R.DEPRECATED),
            Entry("half.org/good", R.RELIABLE),
            Entry("mother.org", R.DEPRECATED),
            Entry("child.mother.org", R.RELIABLE),
            Entry("path.org/bad", R.DEPRECATED),
            Entry("fine.org", R.RELIABLE),
        )
    )
    assert rules.barred_hosts() == {"bad.org"}


@given(st.text(max_size=60))
def test_any_text_can_be_asked(text: str) -> None:
    for url in (text, f"https://{text}/", f"https://example.com/{text}"):
        assert LISTED.listing_of(url).reliability in Reliability
    assert ReliabilityList(()).listing_of(text) == UNLISTED
    place = place_of(text)
    assert place is None or place_of(place) == place
