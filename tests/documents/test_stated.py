"""Headline, authors and date as pages state them, and what is none."""

import json
from datetime import date, timedelta

import pytest

from pincite.documents.html import (
    MAX_AUTHORS,
    Statements,
    author_of,
    headline_of,
    iso_day,
    published_of,
)


def linked_data(*things: object) -> Statements:
    return Statements(json_ld=[json.dumps(thing) for thing in things])


def article(**fields: object) -> dict[str, object]:
    return {"@context": "https://schema.org", "@type": "NewsArticle", **fields}


@pytest.mark.parametrize(
    ("authors", "expected"),
    [
        ("Eva Lund", "Eva Lund"),
        ({"@type": "Person", "name": "Eva Lund"}, "Eva Lund"),
        ([{"name": "Eva Lund"}, {"name": "Jo O&#39;Hara"}], "Eva Lund; Jo O'Hara"),
        ([{"name": "By Eva Lund"}, "https://post.example/eva"], "Eva Lund"),
        ({"name": None}, ""),
        (7, ""),
    ],
)
def test_authors_in_linked_data(authors: object, expected: str) -> None:
    assert author_of(linked_data(article(author=authors)), "") == expected


def test_an_author_who_is_described_elsewhere_in_the_graph() -> None:
    person = {"@type": "Person", "@id": "#eva", "name": "Eva Lund"}
    graph = {"@graph": [article(author={"@id": "#eva"}), person]}
    assert author_of(linked_data(graph), "") == "Eva Lund"


def test_only_what_is_written_has_an_author() -> None:
    video = {
        "@type": "VideoObject",
        "author": {"name": "Camera Crew"},
        "datePublished": "2011-01-01",
    }
    assert author_of(linked_data(video), "") == ""
    assert published_of(linked_data(video)) is None


@pytest.mark.parametrize(
    "name",
    [
        *("Edit", "By", "admin", "Staff Writer", "Lindvik Post", "https://post.example/eva"),
        *("eva@post.example", "@eva", "4 May 2011", "—", "", "View profile", "x" * 100),
    ],
)
def test_what_is_no_author(name: str) -> None:
    stated = Statements(metas={"author": [name]}, bylines=[name])
    assert author_of(stated, "Lindvik Post", found=name) == ""


@pytest.mark.parametrize(
    ("byline", "name"),
    [
        ("by Eva Lund", "Eva Lund"),
        ("Written by: Eva Lund", "Eva Lund"),
        ("Von Eva Lund", "Eva Lund"),
        ("Par Eva Lund –", "Eva Lund"),
        ("von Berg, Anna", "von Berg, Anna"),
        ("Byron Lund", "Byron Lund"),
        ("Text: Eva Lund", "Eva Lund"),
        ("Lund Eva; Holm Ida", "Lund Eva; Holm Ida"),
    ],
)
def test_what_introduces_a_name_is_no_part_of_it(byline: str, name: str) -> None:
    assert author_of(Statements(bylines=[byline]), "") == name


def test_the_most_explicit_statement_counts() -> None:
    metas = {"author": ["template"], "citation_author": ["Lund, Eva", "Holm, Ida"]}
    assert author_of(Statements(metas=metas, bylines=["Someone"]), "") == "Lund, Eva; Holm, Ida"
    assert author_of(Statements(bylines=["Eva Lund"]), "", found="Eva Lund yesterday") == "Eva Lund"
    assert author_of(Statements(), "", found="Eva Lund") == "Eva Lund"


def test_a_collaboration_is_cut() -> None:
    names = [f"Author {'x' * n}" for n in range(1, 50)]
    found = author_of(Statements(metas={"citation_author": names}), "")
    assert found.count("; ") == MAX_AUTHORS - 1


def test_broken_and_deep_linked_data_states_nothing() -> None:
    texts = [
        "{",
        "[" * 100_000,
        '"Article"',
        "null",
        "[[[1]]]",
        "<![CDATA[",
        "]]>",
        '{"@graph": 3}',
        "",
    ]
    stated = Statements(json_ld=texts)
    assert (headline_of(stated), author_of(stated, ""), published_of(stated)) == ("", "", None)


@pytest.mark.parametrize(
    ("begin", "end"),
    [("<![CDATA[", "]]>"), ("//<![CDATA[\n", "\n//]]>"), ("/* <![CDATA[ */ ", " /* ]]> */")],
)
def test_linked_data_in_a_cdata_section(begin: str, end: str) -> None:
    text = f"\n{begin}{json.dumps(article(author='Eva Lund'))}{end}\n"
    assert author_of(Statements(json_ld=[text]), "") == "Eva Lund"


def test_headlines() -> None:
    assert headline_of(linked_data(article(headline="Crane &amp; ship"))) == "Crane & ship"
    assert headline_of(linked_data(article(headline="Crane sold to the highest …"))) == ""
    front_page = [article(headline="Crane sold"), article(headline="Ship sunk")]
    assert headline_of(linked_data(front_page)) == ""
    assert headline_of(linked_data({"@type": "Organization", "headline": "Lindvik Post"})) == ""


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2015-04-30T23:59:00-04:00", "2015-04-30"),
        ("2015/04/30", "2015-04-30"),
        ("20150430T0800", "2015-04-30"),
        ("2015-04", "2015-04"),
        ("2015-02-31", "2015-02"),
        ("2015-13-01", "2015"),
        ("30/04/2015", ""),
        ("0001-01-01", ""),
        ("1430380800", ""),
        ("soon", ""),
    ],
)
def test_days(text: str, day: str) -> None:
    assert iso_day(text) == day


def test_dates_of_publication() -> None:
    stated = linked_data(article(datePublished="2011-03-04", dateModified="2020-01-01"))
    assert published_of(stated, found="2020-01-01") == "2011-03-04"
    metas = {"article:published_time": ["2012-03-04T08:00:00Z"]}
    assert published_of(Statements(metas=metas, dates=["2020-01-01"])) == "2012-03-04"
    assert published_of(Statements(dates=["", "2013-01-02"])) == "2013-01-02"
    assert published_of(Statements(), found="2014-01-02") == "2014-01-02"
    assert published_of(Statements(dates=["yesterday"])) is None


def test_no_date_before_print_and_none_in_the_future() -> None:
    tomorrow = (date.today() + timedelta(days=2)).isoformat()
    assert published_of(Statements(dates=[tomorrow, "1492-10-12"])) is None
    assert published_of(Statements(dates=[tomorrow, "1952-10-12"])) == "1952-10-12"
    assert published_of(linked_data(article(datePublished=str(date.today().year)))) is not None
