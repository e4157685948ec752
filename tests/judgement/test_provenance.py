"""The kind of a source by what its page states, and whom a reading is about."""

import pytest

from pincite.judgement.provenance import Source, is_about, named_speaker, source_of
from pincite.types import Document


@pytest.mark.parametrize(
    ("url", "text", "meta", "kind"),
    [
        ("https://a.example/", "The mill closed.", {}, "unknown"),
        ("https://daily-gazette.example/", "The mill closed.", {"site": "Gazette"}, "unknown"),
        ("https://a.example/", "x", {"type": "NewsArticle"}, "press"),
        ("https://a.example/", "x", {"type": "Report; NewsMediaOrganization"}, "press"),
        ("https://www.varde.gov.uk/x", "x", {"type": "NewsArticle"}, "official"),
        ("https://gov.example/", "x", {}, "unknown"),
        ("https://www.service.gouv.fr/", "x", {}, "official"),
        ("https://www.admin.ch/x", "x", {}, "official"),
        ("https://a.example/", "x", {"type": "BlogPosting"}, "blog"),
        ("https://mill.substack.com/p/1", "x", {}, "blog"),
        ("https://a.example/", "x", {"doi": "10.5555/1"}, "study"),
        ("https://a.example/", "Press release\nThe mill closed.", {}, "press_release"),
        ("https://a.example/", "Pressemitteilung Nr. 12\nDie Mühle", {}, "press_release"),
        ("https://a.example/press-releases/12", "x", {}, "press_release"),
        ("file:///a/b.txt", "x", {"type": "press release"}, "press_release"),
        ("https://a.example/", "In a press release the town said so.", {}, "unknown"),
        ("https://a.example/", "Press release rules change.", {}, "unknown"),
        ("", "Press release, 4 May 2021, Lindvik Council", {}, "press_release"),
    ],
)
def test_kind_follows_what_the_page_states(
    url: str, text: str, meta: dict[str, str], kind: str
) -> None:
    assert source_of(Document(url, "", text, meta=meta)).kind == kind


@pytest.mark.parametrize(
    ("reading", "name", "about"),
    [
        ("Varde General Hospital meets the target.", "Varde General Hospital", True),
        ("Council votes to freeze tax.", "Varde Borough Council", True),
        ("Varde's council froze tax.", "Varde Borough Council", True),
        ("Lindvik Council froze tax.", "Varde Borough Council", False),
        ("Crime fell in Varde.", "Varde Borough Council", False),
        ("Crime fell.", "", False),
        ("Acme paid no tax.", "Acme Ltd", True),
        ("Crime in Varde fell.", "Varde", False),
    ],
)
def test_a_reading_is_about_a_publisher(reading: str, name: str, about: bool) -> None:
    assert is_about(reading, name) is about


def test_ascribed_words_and_own_publications_are_not_independent() -> None:
    assert Source().independent
    assert not Source(speaker="Mayor Ada Holm").independent
    assert not Source(own=True).independent


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("The mayor", "the mayor"),
        ("A resident", "a resident"),
        ("Ada Holm on Tuesday", "Ada Holm"),
    ],
)
def test_a_speakers_name(words: str, name: str) -> None:
    assert named_speaker(words) == name


@pytest.mark.parametrize(
    ("title", "text", "primary"),
    [
        ("Minutes of the meeting of 14 March", "The council resolved to sell.", True),
        ("", "Register of members' interests\n\nHolm: none.", True),
        ("", "Press release\n\nThe agreement is good.", False),
        ("Our yard", "A few minutes from the harbour.", False),
    ],
)
def test_records_are_primary_sources(title: str, text: str, primary: bool) -> None:
    assert source_of(Document("https://a.example/", title, text)).primary is primary
