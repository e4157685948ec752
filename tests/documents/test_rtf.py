"""RTF files: code pages, Unicode, tables, fields, and what readers do not see."""

import time

from support.found import document, refusal
from support.rows import each_row

from pincite.documents.read import read_bytes
from pincite.types import Document, Reason

URL = "https://e.org/report"


def read(rtf: str | bytes) -> Document:
    data = rtf.encode("latin-1") if isinstance(rtf, str) else rtf
    return document(read_bytes(data, url=URL, content_type="application/rtf"))


def test_characters_title_and_author() -> None:
    found = read(
        r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fswiss Arial;}}{\colortbl;\red0\green0;}"
        r"{\info{\title The caf\'e9 {\u321 ?}}{\author Ines Holm}}"
        r"{\header Draft}\pard The \b caf\'e9\b0  of \uc1\u321?\'f3d\u378\'9f\par"
        "\n"
        r"cost \'80\u8239?40 \emdash  in \'93May\'94. \u-10179?\u-8704?\par}"
    )
    assert found.text == "The café of Łódź\ncost € 40 — in “May”. 😀"
    assert (found.title, found.kind, found.meta) == ("The café Ł", "rtf", {"author": "Ines Holm"})


@each_row("documents/rtf/code_pages")
def test_characters_of_every_code_page_are_read(head: str, body: str, expected: str) -> None:
    assert read(rf"{{\rtf1{head} {body}\par}}").text == expected


def test_tables_links_and_hidden_text() -> None:
    found = read(
        r"{\rtf1\ansi\ansicpg1252 \trowd Year\cell Riders\cell\row 1911\cell 1,200\cell\row\pard "
        r'See {\field{\*\fldinst{HYPERLINK "https://e.org/a"}}{\fldrslt{the site}}} today.\par '
        r"{\rtlch\fcs1 \af0 \ltrch \v\insrsid7 secret }{\deleted old }{\*\comment x}Open | closed"
        r"{\pict\pngblip " + "89504e47\n" * 100 + r"}\par}"
    )
    assert found.text == ("Year | Riders\n1911 | 1,200\nSee the site today.\nOpen | closed")


def test_pictures_take_no_time() -> None:
    start = time.process_time()
    big = rb"{\rtf1 {\pict " + b"0123456789abcdef\n" * 500_000 + rb"}It opened in 1911.\par}"
    assert read(big).text == "It opened in 1911."
    assert time.process_time() - start < 5


def test_a_file_without_words_is_empty() -> None:
    found = read_bytes(rb"{\rtf1\ansi{\info{\title x}}}", url=URL)
    assert refusal(found).reason is Reason.EMPTY
