"""The kind of a source by what its page states, and whom a reading is about."""

from support.rows import each_row

from pincite.judgement.provenance import Source, is_about, named_speaker, source_of
from pincite.types import Document


@each_row("judgement/provenance/kind_follows_what_the_page_states")
def test_kind_follows_what_the_page_states(
    url: str, text: str, meta: dict[str, str], kind: str
) -> None:
    assert source_of(Document(url, "", text, meta=meta)).kind == kind


@each_row("judgement/provenance/a_reading_is_about_a_publisher")
def test_a_reading_is_about_a_publisher(reading: str, name: str, about: bool) -> None:
    assert is_about(reading, name) is about


def test_ascribed_words_and_own_publications_are_not_independent() -> None:
    assert Source().independent
    assert not Source(speaker="Mayor Ada Holm").independent
    assert not Source(own=True).independent


@each_row("judgement/provenance/a_speakers_name")
def test_a_speakers_name(words: str, name: str) -> None:
    assert named_speaker(words) == name


@each_row("judgement/provenance/records_are_primary_sources")
def test_records_are_primary_sources(title: str, text: str, primary: bool) -> None:
    assert source_of(Document("https://a.example/", title, text)).primary is primary
