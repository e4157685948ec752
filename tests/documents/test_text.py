import pytest
from support.found import document, refusal

from pincite.documents.body import Body
from pincite.documents.read import read_bytes
from pincite.documents.text import read_markdown, read_text
from pincite.types import Document, Reason, Unchecked

MARKDOWN = """---
title: "The harbour bridge"
date: 2011-03-04T08:00
author: Eva Lund
lang: en-GB
---
# The *harbour* bridge

It was **opened** in [1931](https://example.org "title") by
the `mayor` & others.[^1] ![A lamp](lamp.png)

- 412 metres
- one ~~two~~ tram line

| Year | Trams |
|------|-------|
| 1950 | 312   |

> Quoted words.

    code stays
"""


def test_plain_text_keeps_its_lines() -> None:
    found = document(read_text(Body("u", "One line\r\nand anöther".encode("cp1252"), "text/plain")))
    assert (found.text, found.title, found.kind) == ("One line\nand anöther", "", "text")


def test_the_bar_of_an_archive_is_not_text() -> None:
    page = (
        b"The Wayback Machine - https://web.archive.org/web/2018/http://a.example/\nA mill burnt."
    )
    assert document(read_text(Body("u", page))).text == "A mill burnt."


def test_markdown_without_its_marks() -> None:
    found = document(read_markdown(Body("u", MARKDOWN.encode())))
    assert found.title == "The harbour bridge"
    assert (found.published, found.language, found.kind) == ("2011-03-04", "en", "markdown")
    assert found.meta == {"author": "Eva Lund"}
    lines = found.text.split("\n")
    assert "The harbour bridge" in lines
    assert "It was opened in 1931 by the mayor & others.[^1] A lamp" in lines
    assert "412 metres" in lines
    assert any(line.startswith("1950 | 312") for line in lines)
    assert not set("*`#>~") & set(found.text)


def test_the_first_heading_is_the_title() -> None:
    found = document(read_markdown(Body("u", b"Intro.\n\n## A **bold** title\n")))
    assert found.title == "A bold title"


@pytest.mark.parametrize("read", [read_text, read_markdown])
@pytest.mark.parametrize(
    ("data", "reason"), [(b" \n\0\t", Reason.EMPTY), (b"\x00\x01\x02\x03" * 50, Reason.UNDECODABLE)]
)
def test_reasons(read: object, data: bytes, reason: Reason) -> None:
    assert callable(read)
    assert refusal(read(Body("u", data))).reason is reason


@pytest.mark.parametrize(
    "source", ["> " * 20_000, "[" * 50_000, "*a " * 50_000, "- " * 10_000, "x" * 1_100_000]
)
def test_hostile_markdown(source: str) -> None:
    assert isinstance(read_markdown(Body("u", source.encode())), Document | Unchecked)


def test_wrapped_lines_are_joined_and_lists_stay_lines() -> None:
    raw = (
        "The breakwater was drawn by the harbour's own engineer and was built in\n"
        "squared stone between 1841 and 1847, at a cost that nobody wrote down\n"
        "until the accounts were found.\n"
        "- north arm: 210 metres\n"
        "- south arm: 90 metres\n"
        "\n"
        "A new paragraph.\n"
    )
    found = document(read_bytes(raw.encode(), url="https://varde.example/notes.txt"))
    assert found.text.split("\n") == [
        "The breakwater was drawn by the harbour's own engineer and was built in squared stone "
        "between 1841 and 1847, at a cost that nobody wrote down until the accounts were found.",
        "- north arm: 210 metres",
        "- south arm: 90 metres",
        "",
        "A new paragraph.",
    ]


def test_a_poem_and_long_lines_are_left_alone() -> None:
    poem = "The sea is old,\nthe wind is cold,\nand nothing sold"
    assert document(read_bytes(poem.encode(), url="https://varde.example/poem.txt")).text == poem
