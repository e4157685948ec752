"""Subtitles and transcripts: running text, speakers, repeated lines, and times."""

import pytest
from support.found import document, refusal
from support.rows import each_row, text_of

from pincite.documents.read import read_bytes
from pincite.text.page_numbers import number_at
from pincite.types import Document, Reason

VTT = text_of("documents/subtitles/talk.vtt")
SRT = text_of("documents/subtitles/talk.srt")
ROLLING = text_of("documents/subtitles/rolling.vtt")


def read(source: str, url: str = "https://e.org/film", encoding: str = "utf-8") -> Document:
    return document(read_bytes(source.encode(encoding), url=url))


def at(found: Document, words: str) -> str:
    place = number_at(found, found.text.index(words))
    assert place
    return place.label


def test_webvtt_has_speakers_and_times() -> None:
    found = read(VTT)
    assert found.text == (
        "Maren Holt: The tram opened in 1931, and it closed in 1960 & never reopened.\n"
        "Ole Brand: Why did it close? The old green tram"
    )
    places = [at(found, words) for words in ("opened", "closed", "Why", "green")]
    assert places == ["00:12:31", "00:12:34", "00:13:05", "01:02:03"]
    assert (found.kind, found.language) == ("subtitles", "en")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("url", ["https://e.org/film", "file:///film.srt"])
def test_srt_is_read_in_any_encoding(encoding: str, url: str) -> None:
    found = read(SRT.replace("\n", "\r\n"), url, encoding)
    assert found.text == "The tram opened in 1931, with 1,200 riders. 1960 was its last year."
    assert [at(found, words) for words in ("The", "riders", "1960")] == [
        "00:00:01",
        "00:00:03",
        "00:00:06",
    ]


def test_captions_that_roll_up_are_read_once() -> None:
    found = read(ROLLING)
    assert found.text == "the tram opened in nineteen thirty-one and closed later"
    assert [at(found, words) for words in ("tram", "nineteen", "later")] == [
        "00:00:00",
        "00:00:02",
        "00:00:04",
    ]


def test_words_repeated_by_chance_are_kept() -> None:
    captions = "\n\n".join(
        f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{text}"
        for n, text in enumerate(["It was the", "the best tram", "and a very very", "old one"], 1)
    )
    words = read(captions).text.split()
    assert " ".join(words) == "It was the the best tram and a very very old one"


def test_captions_without_full_stops_are_cut_into_lines() -> None:
    captions = "\n\n".join(
        f"00:00:{n:02}.000 --> 00:00:{n:02}.900\nthe tram number {n} went to the harbour"
        for n in range(30)
    )
    lines = read(f"WEBVTT\n\n{captions}").text.split("\n")
    assert len(lines) > 5
    assert max(len(line.split()) for line in lines) < 40


@each_row("documents/subtitles/transcripts_with_times")
def test_transcripts_with_times(source: str) -> None:
    found = read(source, "file:///talk.txt")
    assert found.text.lower() == "the tram opened in 1931 and closed in 1960"
    assert (at(found, "1931"), at(found, "1960")) == ("00:00:04", "01:02:11")


def test_a_schedule_is_no_transcript() -> None:
    assert read("08:00 Breakfast\n09:30 Tram tour\n12:00 Lunch\n", "file:///day.txt").kind == "text"


def test_a_file_without_captions_is_empty() -> None:
    assert refusal(read_bytes(b"WEBVTT\n\nNOTE none\n", url="u")).reason is Reason.EMPTY
