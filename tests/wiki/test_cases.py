"""Wikitext and HTML in, claims out: each file in tests/cases is one case.

A file is the markup, a line of five dashes, and one JSON object per claim. Keys of a claim that
are left out are not compared; `covers` is the source that its span covers. A last object may hold
`warnings` (all of them; none if it is missing) and `n_references`.
"""

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from support.articles import parse_article
from support.rows import each_row

from pincite.types import Article, Citation, Claim
from pincite.wiki.article import PageText, article_in, parse_page
from pincite.wiki.templates import TABLE

CASES = Path(__file__).parents[1] / "cases"
WIKITEXT = sorted((CASES / "wikitext").glob("*.txt"))
HTML = sorted((CASES / "html_article").glob("*.txt"))
EDITIONS = sorted((CASES / "editions").glob("*.txt"))  # by language: de.txt, de_hard.txt
EDITIONS_HTML = sorted((CASES / "editions_html").glob("*.txt"))


def read(path: Path) -> tuple[str, list[dict[str, Any]], dict[str, Any]]:
    source, expected = path.read_text(encoding="utf-8").split("\n-----\n")
    lines = [json.loads(line) for line in expected.splitlines() if line.strip()]
    claims = [line for line in lines if "text" in line]
    page: dict[str, Any] = {"warnings": []}
    for line in lines:
        page |= line if "text" not in line else {}
    return source, claims, page


def shown_citation(citation: Citation, expected: dict[str, Any]) -> dict[str, Any]:
    shown = {key: getattr(citation, key) for key in expected}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in shown.items()}


def shown(claim: Claim, source: str, expected: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"text": claim.text, "before": claim.before, "origin": claim.origin}
    found |= {"section": list(claim.section), "tags": list(claim.tags)}
    found["covers"] = claim.span.of(source) if claim.span else None
    wanted = expected.get("citations", [])
    found["citations"] = [
        shown_citation(citation, want)
        for citation, want in zip(claim.citations, wanted, strict=len(wanted) > 0)
    ]
    return {key: found[key] for key in expected}


def check(article: Article, claims: list[dict[str, Any]], page: dict[str, Any]) -> None:
    assert [claim.text for claim in article.claims] == [claim["text"] for claim in claims]
    for claim, expected in zip(article.claims, claims, strict=True):
        assert shown(claim, article.source, expected) == expected
        if expected.get("citations") == []:
            assert claim.citations == ()
    assert list(article.warnings) == page["warnings"]
    if "n_references" in page:
        assert article.n_references == page["n_references"]


@pytest.mark.parametrize(
    ("path", "markup"),
    [(path, "wikitext") for path in WIKITEXT] + [(path, "html") for path in HTML],
    ids=lambda value: value.stem if isinstance(value, Path) else "",
)
def test_case(path: Path, markup: Literal["wikitext", "html"]) -> None:
    source, claims, page = read(path)
    check(parse_article(source, "Example", markup=markup), claims, page)


@pytest.mark.parametrize("path", EDITIONS, ids=lambda path: path.stem)
def test_an_article_of_another_wikipedia(path: Path) -> None:
    source, claims, page = read(path)
    article = parse_article(source, "Example", language=None)
    assert article.language == page["language"] == path.stem[:2]
    check(article, claims, page)
    assert parse_article(source, "Example", language=article.language) == article


@pytest.mark.parametrize("path", EDITIONS_HTML, ids=lambda path: path.stem)
def test_a_page_of_another_wikipedia(path: Path) -> None:
    source, claims, page = read(path)
    article = article_in(source)
    assert (article.language, article.title) == (path.stem, page["title"])
    check(article, claims, page)


def test_the_sentence_shows_what_is_judged_of_it() -> None:
    source = "The mill burnt down<ref>x</ref> and was sold in 1902.<ref>y</ref>"
    first, second = parse_article(source, "Example").claims
    assert first.sentence == second.sentence == "The mill burnt down and was sold in 1902."
    assert (first.text, first.words) == ("The mill burnt down", "The mill burnt down")
    assert (second.text, second.words) == ("The mill was sold in 1902.", "was sold in 1902.")


def test_fragments_of_one_clause_are_one_claim_with_all_their_citations() -> None:
    source = "Alba<ref>x</ref> and Borg<ref>y</ref> opposed it {{by whom}} in 1990."
    (claim,) = parse_article(source, "Example").claims
    assert claim.text == "Alba and Borg opposed it in 1990."
    assert [citation.text for citation in claim.citations] == ["x", "y"]


@pytest.mark.parametrize("language", ["de", "xx"])
def test_other_languages_are_not_split_into_clauses(language: str) -> None:
    source = "Die Mühle brannte 1840 ab<ref>x</ref> und wurde verkauft.<ref>y</ref>"
    claims = parse_article(source, "Beispiel", language=language).claims
    assert [claim.text for claim in claims] == ["Die Mühle brannte 1840 ab", "und wurde verkauft."]


def test_a_mark_is_for_the_words_since_the_mark_before() -> None:
    marks = [f"<ref>http://a.example/{n}</ref>" for n in range(3)]
    article = parse_article(
        "It opened in 1911{} after a year of work,{} and has two gates.{}".format(*marks), "T"
    )
    first, second, third = article.claims
    assert (first.own, third.own, third.earlier) == (None, None, ())
    assert second.text == "It opened in 1911 after a year of work"
    assert second.own
    assert second.own.of(second.text) == "after a year of work"
    assert [c.url for c in second.earlier] == ["http://a.example/0"]
    assert third.text == "It has two gates."
    source = "It has two gates;{} its church was built in 1210.{}".format(*marks)
    claims = [(claim.text, claim.own) for claim in parse_article(source, "T").claims]
    assert claims == [("It has two gates", None), ("its church was built in 1210.", None)]


@each_row("wiki/cases/general_subjects_get_the_title")
def test_general_subjects_get_the_title(text: str, about: str) -> None:
    for language in ("en", "simple"):
        page = PageText(f"{text}<ref>x</ref>", "Varde Bridge (Norway)", language=language)
        (claim,) = parse_page(page).claims
        assert claim.about == about


def test_a_claim_names_the_templates_that_it_lacks() -> None:
    source = "The team beat {{fb|XYZ}}<ref>x</ref> and lost to {{fb|ABC}} in 1954.<ref>y</ref>"
    first, second = parse_article(source, "Example").claims
    assert first.unread == ("{{fb|XYZ}}",)
    assert "{{fb|ABC}}" in second.unread
    assert parse_article('He wrote "[…] no".<ref>x</ref>', "Example").claims[0].unread == ()


@pytest.mark.parametrize("language", sorted(TABLE["languages"]))
def test_every_wiki_has_a_tag_for_failed_verification(language: str) -> None:
    given = TABLE["languages"][language]["names"]
    local = [
        name for ours, names in given.items() if ours.startswith("failed ver") for name in names
    ]
    assert local
    for name in ("failed verification", "fv", *local):
        source = f"Holm 1911 Berg 1912 Lund.<ref>http://a.example/1</ref>{{{{{name}|x}}}}"
        (claim,) = parse_article(source, "Example", language=language).claims
        assert claim.disputed
