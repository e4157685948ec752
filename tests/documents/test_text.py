"""Bytes to characters to clean text, its language, and the readers of text and Markdown."""

import time
import unicodedata
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.found import document, refusal
from support.rows import each_row, text_of

from pincite.documents import plain, text
from pincite.documents.body import Body
from pincite.documents.read import read_bytes
from pincite.documents.text import clean_text, decode, detect, language_of, one_line
from pincite.text.page_numbers import number_at
from pincite.types import Document, Reason, Unchecked


@given(st.text(st.characters(), max_size=200))
def test_cleaned_is_idempotent(text: str) -> None:
    once = clean_text(text)
    assert clean_text(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in once if c != "\n")
    assert once == once.strip()
    assert all(line == line.strip(" ") for line in once.split("\n"))
    assert once.splitlines() == (once.split("\n") if once else [])


@each_row("documents/text/cleaned")
def test_cleaned_text_has_one_kind_of_space_and_line(raw: str, expected: str) -> None:
    assert clean_text(raw) == expected
    assert one_line(f" {raw}\n") == " ".join(expected.split())


def test_marks_without_end_do_not_take_quadratic_time() -> None:
    start = time.process_time()
    found = clean_text("a" + "\u0327\u0301\u0316" * 100_000)
    assert time.process_time() - start < 2
    assert len(found) <= text.MAX_MARKS + 1


SENTENCE = "Die Brücke über den Fluß wurde im März eröffnet, und die Straße führt hinüber. " * 3


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        *((name, None) for name in "utf-8 utf-8-sig utf-16 utf-32 cp1252".split()),
        ("utf-8", "iso-8859-1"),  # the label lies, the bytes do not
        ("cp1252", "windows-1252"),
        ("latin-1", "no-such-charset"),
        ("latin-1", "utf-8"),
    ],
)
def test_the_right_characters_come_out(encoding: str, declared: str | None) -> None:
    assert decode(SENTENCE.encode(encoding), declared) == SENTENCE


@each_row("documents/text/labels_mean_what_they_mean_to_browsers")
def test_labels_mean_what_they_mean_to_browsers(text: str, encoding: str, label: str) -> None:
    assert decode(text.encode(encoding), label) == text


# Old pages state no encoding, or the one of another language.
OLD = [
    ("cp1250", "Stary tramwaj w Łęgowie jeździł od 1911 roku. Dziś jego zajezdnię zajmuje muzeum."),
    (
        "iso8859-2",
        "Stará tramvaj v Lhotě jezdila od roku 1911. Většina vozů byla zničena za války.",
    ),
    ("koi8-r", "Старый трамвай ходил по городу с 1911 года. Сегодня в его депо работает музей."),
    ("cp1251", "Старый трамвай ходил по городу с 1911 года. Сегодня в его депо работает музей."),
    ("cp932", "古い路面電車は一九一一年から町を走っていた。今、その車庫は博物館である。"),
    ("gb18030", "旧电车从一九一一年起在城里行驶。如今它的车库是一座博物馆。"),
    ("cp1254", "Eski tramvay 1911'den beri şehirde çalışıyordu. Bugün deposunda bir müze var."),
    (
        "mac-roman",
        "Le vieux tramway roulait à travers la ville dès 1911, et le dépôt fut fermé en été.",
    ),
    (
        "cp1252",
        "“It was never late,” said Zoë Holm, who runs the museum – “the town’s people know.”",
    ),
]


@pytest.mark.parametrize(("encoding", "text"), OLD)
@pytest.mark.parametrize("label", [None, "windows-1251", "iso-8859-1"])
def test_old_pages_are_read_whatever_they_state(
    encoding: str, text: str, label: str | None
) -> None:
    page = f"<html><meta charset='us-ascii'><p>{text}</p><script>if (a < b) c();</script></html>"
    assert decode(page.encode(encoding), label) == page


@pytest.mark.parametrize(("encoding", "text"), OLD)
def test_a_likely_label_is_kept(encoding: str, text: str) -> None:
    label = {"mac-roman": "macintosh", "cp932": "shift_jis"}.get(encoding, encoding)
    for start in range(0, 40, 7):
        part = text[start : start + 30]
        assert decode(part.encode(encoding), "no-such", label) == part


def test_a_stray_byte_does_not_turn_utf8_into_something_else() -> None:
    assert decode(SENTENCE.encode()[:-1] + b"\xc3") == SENTENCE[:-1] + "\ufffd"


@pytest.mark.parametrize("label", ["rot13", "idna", "unicode_escape", "zlib", "\0", "", "x" * 9999])
def test_unknown_labels_are_ignored(label: str) -> None:
    assert decode(b"plain \\N{text}", label) == "plain \\N{text}"


def test_a_label_of_browsers_that_python_lacks_is_windows_1252() -> None:
    assert decode("Zoë’s mill".encode("cp1252"), "x-user-defined") == "Zoë’s mill"


def test_bytes_that_are_not_text() -> None:
    assert decode(bytes(range(256)) * 20) is None
    assert decode(b"\x00\x01\x02\x03" * 100) is None
    assert decode(b"") == ""


@given(st.binary(max_size=300), st.sampled_from([None, "utf-16", "shift_jis", "gb18030", "hz"]))
def test_any_bytes_are_read_or_refused(data: bytes, label: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert decode(data, label) is None or isinstance(decode(data, label), str)


# ── Language ─────────────────────────────────────────────────────────────────────────────────────

GERMAN = (
    "Der Ausschuss hat am Dienstag beschlossen, dass die neue Brücke gebaut wird, und die Stadt "
    "zahlt dafür mehr, als im vergangenen Jahr geplant worden war."
)
CHINESE = (
    "委员会星期二开会讨论新桥的计划并投票赞成市政府将支付比去年计划更多的费用居民们对此感到满意。"
)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (GERMAN, "de"),
        ("The committee met on Tuesday to discuss the plans for a new bridge. " * 3, "en"),
        (CHINESE, "zh"),
        ("Too short to tell.", None),
        ("1 2 3 4 " * 20, None),
        ("", None),
    ],
)
def test_the_language_of_a_text_is_detected_or_unknown(text: str, code: str | None) -> None:
    assert detect(text) == code


def test_confident_words_outweigh_the_declared_language() -> None:
    assert language_of(GERMAN, "en-US") == "de"
    assert language_of("Too short", "fr-CA") == "fr"
    assert language_of("Too short", None) is None


# ── Plain text and Markdown ──────────────────────────────────────────────────────────────────────

MARKDOWN = text_of("documents/text/page.md")


def test_plain_text_keeps_its_lines() -> None:
    data = "One line\r\nand anöther".encode("cp1252")
    found = document(plain.read_text(Body("u", data, "text/plain")))
    assert (found.text, found.title, found.kind) == ("One line\nand anöther", "", "text")


def test_markdown_without_its_marks() -> None:
    found = document(plain.read_markdown(Body("u", MARKDOWN.encode())))
    assert found.title == "The harbour bridge"
    assert (found.published, found.language, found.kind) == ("2011-03-04", "en", "markdown")
    assert found.meta == {"author": "Eva Lund"}
    sentence = "It was opened in 1931 by the mayor & others.[^1] A lamp"
    lines = found.text.split("\n")
    assert {"The harbour bridge", sentence, "412 metres"} <= set(lines)
    assert any(line.startswith("1950 | 312") for line in lines)
    assert not set("*`#>~") & set(found.text)
    assert document(plain.read_markdown(Body("u", b"Intro.\n\n## A **bold** title\n"))).title == (
        "A bold title"
    )


@pytest.mark.parametrize("source", ["> " * 20_000, "*a " * 50_000, "- " * 10_000, "x" * 1_100_000])
def test_hostile_markdown_is_read_or_refused(source: str) -> None:
    assert isinstance(plain.read_markdown(Body("u", source.encode())), Document | Unchecked)


def test_wrapped_lines_are_joined_and_lists_stay_lines() -> None:
    wrapped = [
        "The breakwater was drawn by the harbour's own engineer and was built in",
        "squared stone between 1841 and 1847, at a cost that nobody wrote down",
        "until the accounts were found.",
    ]
    rest = ["- north arm: 210 metres", "- south arm: 90 metres", "", "A new paragraph."]
    raw = "\n".join([*wrapped, *rest])
    found = document(read_bytes(raw.encode(), url="https://varde.example/notes.txt"))
    assert found.text.split("\n") == [" ".join(wrapped), *rest]


def test_poems_keep_their_lines() -> None:
    poem = "The sea is old,\nthe wind is cold,\nand nothing sold"
    assert document(read_bytes(poem.encode(), url="https://varde.example/poem.txt")).text == poem


def test_a_text_is_dated_by_its_head_and_a_table_is_not() -> None:
    line = "Loch Times, 12 October 2026"
    assert document(plain.read_markdown(Body("u", f"# Ferry\n\n{line}\n".encode()))).published
    assert document(plain.document_of(Body("u", b""), "csv", f"day\n{line}")).published is None


@pytest.mark.parametrize(
    ("stated", "published"),
    [("0101-01-01T00:00:00+00:00", None), ("2020-99-99", "2020"), ("2020-05", "2020-05")],
)
def test_a_stated_date_is_a_day_month_or_year(stated: str, published: str | None) -> None:
    found = plain.read_markdown(Body("u", f"---\ndate: {stated}\n---\nIt rang.\n".encode()))
    assert document(found).published == published


def test_words_struck_out_in_markdown_are_no_text() -> None:
    found = read_bytes(
        b"Lake Sill is ~~81 *or* 82~~ 86 metres deep.", url="https://a.example/a.md",
        content_type="text/markdown",
    )  # fmt: skip
    assert document(found).text == "Lake Sill is 86 metres deep."


# ── Subtitles ─────────────────────────────────────────────────────────────────────────────────────

VTT = text_of("documents/subtitles/talk.vtt")
SRT = text_of("documents/subtitles/talk.srt")
ROLLING = text_of("documents/subtitles/rolling.vtt")


def subtitles(source: str, url: str = "https://e.org/film", encoding: str = "utf-8") -> Document:
    return document(read_bytes(source.encode(encoding), url=url))


def at(found: Document, words: str) -> str:
    place = number_at(found, found.text.index(words))
    assert place
    return place.label


def test_webvtt_has_speakers_and_times() -> None:
    found = subtitles(VTT)
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
    found = subtitles(SRT.replace("\n", "\r\n"), url, encoding)
    assert found.text == "The tram opened in 1931, with 1,200 riders. 1960 was its last year."
    assert [at(found, words) for words in ("The", "riders", "1960")] == [
        "00:00:01",
        "00:00:03",
        "00:00:06",
    ]


def test_captions_that_roll_up_are_read_once() -> None:
    found = subtitles(ROLLING)
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
    words = subtitles(captions).text.split()
    assert " ".join(words) == "It was the the best tram and a very very old one"


def test_captions_without_full_stops_are_cut_into_lines() -> None:
    captions = "\n\n".join(
        f"00:00:{n:02}.000 --> 00:00:{n:02}.900\nthe tram number {n} went to the harbour"
        for n in range(30)
    )
    lines = subtitles(f"WEBVTT\n\n{captions}").text.split("\n")
    assert len(lines) > 5
    assert max(len(line.split()) for line in lines) < 40


@each_row("documents/subtitles/transcripts_with_times")
def test_transcripts_with_times(source: str) -> None:
    found = subtitles(source, "file:///talk.txt")
    assert found.text.lower() == "the tram opened in 1931 and closed in 1960"
    assert (at(found, "1931"), at(found, "1960")) == ("00:00:04", "01:02:11")


def test_a_schedule_is_no_transcript() -> None:
    assert (
        subtitles("08:00 Breakfast\n09:30 Tram tour\n12:00 Lunch\n", "file:///day.txt").kind
        == "text"
    )


def test_a_file_without_captions_is_empty() -> None:
    assert refusal(read_bytes(b"WEBVTT\n\nNOTE none\n", url="u")).reason is Reason.EMPTY
