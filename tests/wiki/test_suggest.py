"""Wikitext that we suggest: whatever goes in, exactly one template comes out."""

import html

import mwparserfromhell
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mwparserfromhell.nodes import Template
from support.articles import parse_article
from support.rows import each_row

from pincite.wiki.suggest import correct_template, escape_parameter, escape_url, template

PIECES = [
    "{{", "}}", "{", "}", "[[", "]]", "[", "]", "|", "=", "<ref>", "</ref>", "<nowiki>",
    "</nowiki>", "<!--", "-->", "<", ">", "&", "&lt;", "&#60;", "amp;", "\n", "\n* ",
    "\n== H ==", "~~~~", "~~~", "'''", "''", "'", "__TOC__", "__NOTOC__", "*", "#", ":", ";",
    "http://a.example", "{{!}}", "{|", "|}", "ISBN 0000000000", "mailto:a@b.example", "----",
    "\0", "\u202e", "\ud800", "é", "漢", " ", "a", "#REDIRECT", "{{{1}}}", "{{subst:x}}",
    "<script>", '"', "%7C", "\x7f",
]  # fmt: skip
hostile = st.lists(st.sampled_from(PIECES), max_size=15).map("".join) | st.text(max_size=60)


def check(text: str, name: str, keys: set[str]) -> None:
    code = mwparserfromhell.parse(text)
    (outer,) = code.nodes
    assert isinstance(outer, Template)
    assert str(outer.name) == name
    assert {str(p.name) for p in outer.params} == keys
    assert {str(t.name) for t in code.filter_templates()} <= {name, "!"}
    assert not code.filter_tags()
    assert not code.filter_wikilinks()
    assert not code.filter_arguments()
    assert not code.filter_comments()
    url = str(outer.get("url").value) if "url" in keys else ""
    links = [str(link) for link in code.filter_external_links()]
    # A link in running text ends before these; the template makes a link in brackets of it.
    assert [url.removeprefix(link).strip(".,;:!?)") for link in links] == [""] * ("url" in keys)
    assert "\n" not in text
    assert "~~~" not in text
    assert "__" not in text


@given(hostile, hostile, hostile, hostile)
def test_any_parameters_give_one_template(title: str, quote: str, path: str, date: str) -> None:
    url = "http://a.example/" + path
    text = template("cite web", url=url, title="t" + title, access_date="1" + date, quote=quote)
    quoted = {"quote"} if quote else set()
    check(text, "cite web", {"url", "title", "access-date"} | quoted)


@given(hostile)
def test_a_reader_sees_the_text(text: str) -> None:
    shown = html.unescape(escape_parameter(text).replace("{{!}}", "&#124;"))
    kept = "".join(c if c.isprintable() else " " for c in text)
    assert shown == " ".join(kept.split())


@given(hostile)
def test_our_own_parser_reads_the_title_back(title: str) -> None:
    cite = template("cite web", url="http://a.example/", title="t" + title)
    (claim,) = parse_article(f"It is old.<ref>{cite}</ref>", "T").claims
    (citation,) = claim.citations
    kept = "".join(c if c.isprintable() else " " for c in "t" + title)
    assert citation.title == " ".join(kept.split())


def test_plain_text_stays_readable_and_unknown_fields_stay_out() -> None:
    title = 'Mei\'s hall (1931): 50% larger, a-b; c/d & e, #1 "best"'
    text = template("cite web", url="https://a.example/x?a=1&b=2", title=title, date=None)
    assert text == f"{{{{cite web|url=https://a.example/x?a=1&b=2|title={title}}}}}"


@each_row("wiki/suggest/urls")
def test_addresses_are_escaped_for_templates(url: str, expected: str) -> None:
    assert escape_url(url) == expected


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "ftp://a.example", "", "http://", "//a.example"]
)
def test_only_web_addresses(url: str) -> None:
    with pytest.raises(ValueError, match="expected http:// or https://"):
        escape_url(url)


@each_row("wiki/suggest/corrected")
def test_only_parameters_that_differ_are_corrected(
    source: str, language: str, known: dict[str, str],
    parameters: tuple[tuple[str, str, str], ...], template: str,
) -> None:  # fmt: skip
    changes, text = correct_template(source, language, "Mills", known)
    assert [(c.parameter, c.cited, c.known) for c in changes] == [*parameters]
    assert text == template
