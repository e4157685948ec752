"""What holds for any text at all, hostile ones included."""

import re
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Literal

import mwparserfromhell
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.articles import parse_article

from pincite.text.clauses import MIN_WORDS, Standing, standing
from pincite.types import Article, Span
from pincite.wiki.flat import Flat
from pincite.wiki.html import read_html
from pincite.wiki.wikitext import read_wikitext
from pincite.wiki.wikitext_tree import Kind, Node, parse

PIECES = [
    "{{", "}}", "[[", "]]", "[http://a.example x", "]", "|", "||", "\n", "\n\n", "{|", "|}",
    "|-", "!", "!!", "|+", "==", "== H ==", "'''", "''''", "<ref>", "</ref>", '<ref name="a">',
    "<ref name=a />", "<references>", "</references>", "<!--", "-->", "<nowiki>", "</nowiki>",
    "<br>", "<table>", "<tr>", "<td>", "</table>", "*", "** ", ":", ";",
    "{{cite web|url=http://a.example|title=T}}", "{{cn}}", "{{sfn|A|2000}}", "{{efn|",
    "{{convert|5|km}}", "{{Infobox|a=", "&nbsp;", "&amp;", "&#xD800;", "[[File:a|thumb|",
    "<gallery>", "</gallery>", "A dog ran. ", "b ", "1990", ". ", "x<sup>2</sup>", "\0",
    "\ud800", "é", "漢字。", "http://a.example/x ", "{{reflist|refs=", "{{quote|", "<b", "=",
]  # fmt: skip
FOREIGN = [
    "{{Internetquelle|url=http://a.example|titel=T", "|autor=A, B", "|monat=x", "{{cn|",
    "{{refnec|",
    "{{Webarchiv|url=http://a.example|wayback=20130501", "{{Toter Link|url=http://a.example", "}-",
    "-{zh-hans:", ";zh-hant:", "-{H|", "{{formatnum:", "{{cita|R 1999|p. 3}}", "{{Cita libro|cid=R",
    "。」", "「あれ。", "{{R|a}}", "{{要出典}}", "{{note|texte=", "__目次強制__", "{{citation|",
]  # fmt: skip
HTML_PIECES = [
    "<p>", "</p>", "<ul>", "<li>", "</ul>", "<h2>", "</h2>", "<table>", "<tr>", "<td>", "<th>",
    "</table>", '<sup class="reference"><a href="#cite_note-1">[1]</a></sup>',
    '<li id="cite_note-1">', "</li>",
    '<sup class="noprint Inline-Template">[citation needed]</sup>', "<div class=navbox>",
    "</div>", "<!--", "-->", "<script>", "</script>", "<a href='", "&amp;", "&#0;",
    "A dog ran. ", "\n", "<br>", "<cite id=CITEREFx>", "</cite>", '"', "<", ">", "\ud800", "\0",
    '<span class="Z3988" title="rft.date=1">',
]  # fmt: skip
wikitext = st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=200)
foreign = st.lists(st.sampled_from([*PIECES, *FOREIGN]), max_size=40).map("".join)
pages = st.lists(st.sampled_from(HTML_PIECES), max_size=40).map("".join) | st.text(max_size=200)


def descendants(nodes: list[Node]) -> Iterator[Node]:
    """Every node of the tree in the order of the source, parents before children."""
    for node in nodes:
        yield node
        for part in node.parts:
            yield from descendants(part)


def check_flat(flat: Flat, source: str) -> None:
    for block in flat.blocks:
        assert len(block.text) == len(block.starts) == len(block.ends)
        for char, start, end in zip(block.text, block.starts, block.ends, strict=True):
            assert 0 <= start <= end <= len(source)
            if end - start == 1 and not char.isspace() and source[start] not in "&\ud800":
                assert source[start] == char
        for mark in block.marks:
            assert 0 <= mark.position <= len(block.text)
            assert 0 <= mark.span.start < mark.span.end <= len(source)


def check_article(article: Article) -> None:
    source = article.source
    ids = [claim.claim_id for claim in article.claims]
    assert len(ids) == len(set(ids))
    starts = []
    for claim in article.claims:
        assert claim.text.strip()
        assert claim.part is not None
        assert claim.text.endswith(claim.words)
        assert claim.words in claim.sentence
        assert claim.span is not None
        assert 0 <= claim.span.start < claim.span.end <= len(source)
        starts.append(claim.span.start)
        for citation in claim.citations:
            assert source[citation.span.start : citation.span.end]
            assert source[citation.definition.start : citation.definition.end]
        assert claim.citations or "citation needed" in claim.tags
    assert starts == sorted(starts)


@given(wikitext)
def test_any_wikitext_gives_an_article(source: str) -> None:
    check_article(parse_article(source, "T"))
    check_flat(read_wikitext(source), source)


@given(foreign, st.sampled_from(["de", "fr", "it", "ja", "zh"]))
def test_any_wikitext_of_another_wikipedia_gives_an_article(source: str, language: str) -> None:
    check_article(parse_article(source, "T", language=language))


@given(wikitext)
def test_the_tree_covers_the_source(source: str) -> None:
    nodes, _ = parse(source)
    assert "".join(source[n.start : n.end] for n in nodes) == source
    for node in descendants(nodes):
        children = [child for part in node.parts for child in part]
        assert all(node.start <= c.start <= c.end <= node.end for c in children)


@given(pages)
def test_any_html_gives_an_article(source: str) -> None:
    check_article(parse_article(source, "T", markup="html"))
    check_flat(read_html(source), source)


@given(
    st.lists(st.sampled_from(["The dog ran. ", "It was, ", "in 1990 ", "<ref>x</ref>", "(so) "]))
)
def test_prose_claims_are_in_their_span(parts: list[str]) -> None:
    source = "".join(parts)
    for claim in parse_article(source, "T").claims:
        assert claim.span is not None
        plain = source[claim.span.start : claim.span.end].replace("<ref>x</ref>", "")
        assert "".join(claim.words.split()) == "".join(plain.split())


SENTENCES = [
    "The dog ran", " and [[a cat|the cat]] slept", " with ''two [[ball]]s''", ", which barked",
    " in {{convert|5|km}}", " ({{lang|xx|so}} it is said)", " and ended the '''day''' asleep",
    "<ref>x</ref>", "<ref>x</ref>", ". ", ", ", " [http://a.example the page]", " St. John", ": ",
    "<small>small</small>", " {{nowrap|No. 5}}", "It was", " of 1990", "Alba", "; it is red",
]  # fmt: skip
prose = st.lists(st.sampled_from(SENTENCES), max_size=14).map("".join)


def inline(source: str) -> Iterator[Span]:
    """The links and templates of `source`."""
    for node in descendants(parse(source)[0]):
        if node.kind in (Kind.LINK, Kind.EXTERNAL, Kind.TEMPLATE):
            yield node.span


@given(prose)
def test_laws_of_claims_in_prose(source: str) -> None:
    for claim in parse_article(source, "T").claims:
        assert claim.span is not None
        for start, end in inline(source):  # no span ends in a link or a template
            assert not start < claim.span.start < end
            assert not start < claim.span.end < end
        # Spans have both quotes or none.
        assert claim.span.of(source).count("'''") % 2 == 0
        assert claim.span.of(source).replace("'''", "").count("''") % 2 == 0
        # No claim is a short fragment if it has a neighbour.
        words, of_sentence = (re.findall(r"\w+", text) for text in (claim.text, claim.sentence))
        if len(words) < MIN_WORDS and len(of_sentence) > len(words):
            assert standing(claim.text) is not Standing.FRAGMENT


BRACKETS = [
    "{{a|b=1}}", "[[L|x]]", "<ref>r</ref>", "word ", "{{b|{{c}}}}", "<!-- c -->", "\n", "'' ",
]  # fmt: skip


@settings(max_examples=200)
@given(st.lists(st.sampled_from(BRACKETS), max_size=20).map("".join))
def test_brackets_as_mwparserfromhell_sees_them(source: str) -> None:
    theirs = mwparserfromhell.parse(source, skip_style_tags=True)
    ours = list(descendants(parse(source)[0]))
    assert sum(n.kind is Kind.TEMPLATE for n in ours) == len(theirs.filter_templates())
    assert sum(n.kind is Kind.LINK for n in ours) == len(theirs.filter_wikilinks())
    references = theirs.filter_tags(matches=lambda tag: str(tag.tag) == "ref")
    assert sum(n.kind is Kind.EXTENSION for n in ours) == len(references)


HOSTILE = {
    "100,000 nested braces": "{{" * 100_000 + "}}" * 100_000,
    "100,000 open braces": "{{a|" * 100_000,
    "open links": "[[a|" * 30_000,
    "open references": "The mill burnt.<ref> " * 4_000,
    "references that close at the end": "<ref>" * 10_000 + "</ref>" * 10_000,
    "open attributes": '<ref name="' * 20_000,
    "open tags": "<b " * 40_000,
    "open tables": "{|\n" * 20_000 + "|a<ref>x</ref>",
    "nested lists": "*" * 50_000 + "a<ref>x</ref>\n" * 10,
    "quotes": "'" * 50_000,
    "open comment": "A.<ref>x</ref><!-- " * 10_000,
    "open verbatim tags": "<nowiki><math><pre>" * 10_000,
    "headings": "== \n" * 20_000,
    "ampersands": "&amp" * 30_000,
    "mixed": "{{a|[[b|<ref>{{" * 5_000,
    "nul bytes": "A dog\0 ran.<ref>x\0</ref>\0" * 100,
    "surrogates": "A dog\ud800 ran.<ref name='\udfff'>x</ref>" * 100,
    "many references": "A dog ran.<ref>x</ref>\n" * 3_000,
    "one long sentence": "a dog, <ref>x</ref> " * 3_000,
    "wide table": "{|\n" + "| a<ref>x</ref> |" * 1_500 + "\n|}",
    "references that only open": "<ref>" * 20_000,
    "external links that only open": "[http://" * 30_000,
    "broken references": "<ref name=a " * 10_000,
    "templates in open references": "<ref>{{a" * 3_000,
    "a row of many cells": "{|\n| " + "a || " * 20_000,
    "uses on one line": "A b.<ref name=a /> " * 3_000,
    "tags on one line": "A b c d{{cn}} " * 3_000,
    "a heading of open comments": "==" + "<!--" * 20_000,
    "computed in computed": ("{{convert|" * 30 + "<ref>x</ref>" + "}}" * 30) * 60,
    "unknown in unknown": ("{{a|b=" * 30 + "<ref>x</ref>" + "}}" * 30) * 80,
}
HOSTILE_HTML = {
    "open tags": "<a " * 50_000,
    "open comments": "<!--" * 50_000,
    "open attributes": "<a '" * 50_000,
    "open references": '<sup class="reference">' * 20_000,
    "nested references": '<sup class="reference">' * 20_000 + "</sup>" * 20_000,
    "nested definitions": "<li id='cite_note-1'>" * 20_000 + "</li>" * 20_000,
    "nested citations": "<cite id=CITEREFa>" * 20_000 + "</cite>" * 20_000,
    "nested tags": "<sup class='Inline-Template'>" * 10_000 + "</sup>" * 10_000,
    "open tables": "<table><tr><td>a" * 10_000,
    "scripts": "<script>" * 50_000,
}


LONG = 20_000  # characters, below which one long sentence is most of the work


def calls(source: str, markup: Literal["wikitext", "html"]) -> int:
    """How many functions are called to read `source`: the same on every machine."""
    count = 0

    def profile(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        parse_article(source, "T", markup=markup)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    ("markup", "source"),
    [
        *(pytest.param("wikitext", source, id=name) for name, source in HOSTILE.items()),
        *(pytest.param("html", source, id=f"HTML {name}") for name, source in HOSTILE_HTML.items()),
    ],
)
def test_hostile_articles_take_linear_time(
    markup: Literal["wikitext", "html"], source: str
) -> None:
    check_article(parse_article(source, "T", markup=markup))
    third, whole = (calls(source[: len(source) // n], markup) for n in (12, 4))
    assert len(source) < LONG or whole < 6 * third  # a square would be 9


def test_deep_nests_cost_no_more_than_flat_ones() -> None:
    for opening in ("{{convert|", "{{a|b=", "{{efn|", "{{refn|", "[[File:a|"):
        closing = "]]" if opening[0] == "[" else "}}"
        flat, deep = (
            calls((opening * n + "<ref>x</ref>" + closing * n) * (600 // n), "wikitext")
            for n in (3, 30)
        )
        assert deep < 3 * flat, opening


def test_warnings_are_few() -> None:
    article = parse_article("<ref>a " * 1000, "T")
    assert len(article.warnings) == 101
    assert article.warnings[-1].startswith("and ")
