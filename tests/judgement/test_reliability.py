"""Which entry an address falls under: subdomains, country domains, paths, spellings, archives."""

from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row

from pincite.library.reliability import UNLISTED, Entry, ReliabilityList, place_of
from pincite.types import Reliability

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
LIST = ReliabilityList(tuple(Entry(place, label, place) for place, label in PLACES.items()))


@each_row("judgement/reliability/matches")
def test_matches(url: str, place: str | None) -> None:
    found = LIST.listing_of(url)
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
    assert (general.link, general.others) == (
        "https://w.example/1",
        ("politics: generally unreliable",),
    )
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
        assert LIST.listing_of(url).reliability in Reliability
    assert ReliabilityList(()).listing_of(text) == UNLISTED
    place = place_of(text)
    assert place is None or place_of(place) == place
