"""Templates, parameters and languages of other Wikipedias, in small pieces."""

from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.articles import parse_article
from support.rows import each_row

from pincite.types import Citation
from pincite.wiki.article import PageText, parse_page, read_articles
from pincite.wiki.templates import MAX_PEOPLE, TABLE, TAGS, address_of, edition, is_citation

LANGUAGES = sorted(TABLE["languages"])
GERMAN = "Die Mühle am unteren Markt wurde im Jahr 1840 von der Stadt gekauft und " * 3


def cited(source: str, language: str) -> Citation:
    (claim,) = parse_article(f"It burnt in 1840.<ref>{source}</ref>", "T", language=language).claims
    (citation,) = claim.citations
    return citation


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_local_name_means_two_things(language: str) -> None:
    table = TABLE["languages"][language]
    assert table["source"].startswith(f"https://{language}.wikipedia.org/")
    for part in ("names", "parameters", "shown"):
        counts = Counter(name for names in table.get(part, {}).values() for name in names)
        assert [name for name, n in counts.items() if n > 1] == []
        assert all(name == name.lower().strip() for name in counts)


@pytest.mark.parametrize("language", LANGUAGES)
def test_tags_and_citations_of_a_language_are_ones_of_ours(language: str) -> None:
    names = TABLE["languages"][language]["names"]
    kinds = {name for kind in TABLE["kinds"].values() for name in kind}
    others = {"webarchive", "harvid", "r", "in quotation marks", *TABLE["articles"]}
    assert [n for n in names if not (n in TAGS or is_citation(n) or n in kinds | others)] == []
    assert any(is_citation(name) for name in names) or language == "ja"
    assert "citation needed" in {TAGS.get(name) for name in names} or language == "de"


def test_a_parameter_keeps_its_number() -> None:
    french = edition("fr")
    assert french.parameter("ouvrage", "Prénom2") == "first2"
    assert french.parameter("ouvrage", "pages") == "number-of-pages"
    assert french.parameter("article", "pages") == "pages"
    assert edition("en").parameter("cite web", "Titre") == "Titre"
    assert edition("sv") == edition("en")


def test_of_two_names_for_one_parameter_the_filled_one_counts() -> None:
    citation = cited("{{Lien web|titre=|title=A|url=http://a.example|nom1=Roux|nom2=Petit}}", "fr")
    assert (citation.title, citation.authors) == ("A", ("Roux", "Petit"))


@each_row("wiki/templates/people_in_one_parameter")
def test_people_in_one_parameter(people: str, authors: tuple[str, ...]) -> None:
    assert cited(f"{{{{Literatur|Autor={people}|Titel=T}}}}", "de").authors == authors


def test_portuguese_citations_state_the_time_of_the_copy() -> None:
    citation = cited("{{citar web|url=http://a.example|título=A|wayb=20110812000000}}", "pt")
    assert citation.archive_url == "https://web.archive.org/web/20110812000000/http://a.example"


def test_the_number_of_authors_is_limited() -> None:
    people = ", ".join(f"A{n}" for n in range(2 * MAX_PEOPLE))
    authors = cited(f"{{{{Literatur|Autor={people}|Titel=T}}}}", "de").authors
    assert authors[:2] == ("A0", "A1")
    assert MAX_PEOPLE <= len(authors) <= 2 * MAX_PEOPLE


@each_row("wiki/templates/an_archived_page_is_found_by_its_time")
def test_an_archived_page_is_found_by_its_time(language: str, source: str, template: str) -> None:
    citation = cited(source, language)
    assert (citation.url, citation.title) == ("http://a.example", "A")
    assert citation.archive_date == "2013-05-01"
    assert str(citation.archive_url).startswith("https://web.archive.org/web/20130501")
    assert template in str(citation.template)


def test_the_copy_of_another_page_is_a_source_of_its_own() -> None:
    first = "{{Internetquelle|url=http://a.example|titel=A}}"
    other = "{{Webarchiv|url=http://b.example|wayback=20130501|text=B}}"
    (claim,) = parse_article(f"x y z<ref>{first} {other}</ref>", "T", language="de").claims
    assert [citation.title for citation in claim.citations] == ["A", "B"]
    same = other.replace("b.example", "a.example")
    citation = cited(f"{first} {same}", "de")
    assert (citation.title, citation.archive_date) == ("A", "2013-05-01")


def test_citation_templates_without_a_named_address() -> None:
    assert cited("{{Link|en|2=http://a.example|3=A}}", "pt").title == "A"
    assert cited("{{BibISBN|3123456789|Seite=8}}", "de").isbn == "3123456789"
    assert cited("{{БРЭ|статья=A|ссылка=http://a.example}}", "ru").url == "http://a.example"


def test_dead_addresses_and_broken_links() -> None:
    for dead in ("brisé le=3 mai 2019", "dead-url=yes"):
        source = f"{{{{Lien web|titre=A|url=http://a.example|{dead}}}}}"
        assert cited(source, "fr").url_status == "dead"
    inner = "{{cita web|url=http://a.example|título=A}}"
    citation = cited(f"{{{{enlace roto|1={inner}|2=http://a.example}}}}", "es")
    assert (citation.title, citation.tags) == ("A", ("dead link",))


@each_row("wiki/templates/what_a_reader_sees")
def test_what_a_reader_sees(language: str, source: str, text: str) -> None:
    (claim,) = parse_article(f"{source}<ref>x</ref>", "T", language=language).claims
    assert claim.text == text


def test_a_claim_has_its_articles_language_unless_that_is_english() -> None:
    for language, stated in (("de", "de"), ("en", ""), ("simple", "")):
        (claim,) = parse_article("Bau der Bahn, 1911<ref>x</ref>", "T", language=language).claims
        assert claim.language == stated


@pytest.mark.parametrize("stop", ["。<ref>b</ref>", "<ref>b</ref>。"])
def test_a_chinese_clause_is_one_by_its_signs(stop: str) -> None:
    source = f"他生于北京<ref>a</ref>，后来去了上海{stop}"
    first, second = parse_article(source, "T", language="zh").claims
    assert (first.text, second.text.rstrip("。")) == ("他生于北京", "后来去了上海")
    source = "大桥建成通车<ref>a</ref>，全长5米。<ref>b</ref>"
    short, whole = parse_article(source, "T", language="zh").claims
    assert (short.text, whole.text) == ("大桥建成通车", "大桥建成通车，全长5米。")


# ── which language ──────────────────────────────────────────────────────────────────────────────


def page(wikitext: str, attribute: str = "") -> str:
    return (
        f"<mediawiki{attribute}><page><title>A</title><ns>0</ns><revision><id>1</id>"
        f"<text>{wikitext}</text></revision></page></mediawiki>"
    )


@pytest.mark.parametrize(
    ("content", "language"),
    [
        (page("x y z", ' xml:lang="nl"'), "nl"),
        (page("x y z"), "en"),
        ('<!DOCTYPE html><html class="a" lang="fr-CA"><body><p>x y z</p></body></html>', "fr"),
        (f"<html><body><p>{GERMAN}</p></body></html>", "de"),
        (GERMAN, "de"),
        ("The mill on the lower market was bought by the town " * 3, "en"),
        ("Kurz.", "en"),
    ],
)
def test_the_language_is_stated_or_detected(tmp_path: Path, content: str, language: str) -> None:
    path = tmp_path / "a"
    path.write_text(content, encoding="utf-8")
    assert [article.language for article in read_articles(path)] == [language]
    assert next(read_articles(path, language="it")).language == "it"
    if content == "Kurz.":
        assert next(read_articles(path, otherwise="de")).language == "de"


def test_two_languages_in_one_text_give_the_default() -> None:
    french = "Le moulin du marché a été acheté par la ville en mil huit cent " * 10
    both = f"{GERMAN * 3}\n\n{french}"
    assert parse_page(PageText(both, "T"), "it").language == "it"


def test_a_module_without_a_function_is_not_a_template() -> None:
    source = "{{#invoke:x}}It opened in 1911.<ref>{{cite web|url=https://a.example/}}</ref>"
    (claim,) = parse_article(source, "Varde").claims
    assert "×" not in claim.text


# ── Addresses from parameters ────────────────────────────────────────────────────────────────────


@each_row("wiki/templates/address_is_made_from_parameters")
def test_address_is_made_from_parameters(template: str, url: str) -> None:
    assert cited(template, "en").url == url


@each_row("wiki/templates/parameter_that_breaks_its_syntax_makes_no_address")
def test_parameter_that_breaks_its_syntax_makes_no_address(template: str) -> None:
    assert cited(template, "en").url is None


@given(st.text(max_size=40), st.text(max_size=40))
def test_made_address_never_leaves_its_host(user: str, number: str) -> None:
    hosts = {urlsplit(address).hostname for address in TABLE["addresses"]}
    for row in TABLE["addresses"].values():
        keys = [key.partition("/")[0] for key in row if key != "of"]
        given = dict(zip(keys, (user, number), strict=False))
        address = address_of(row.get("of", "cite book"), given)
        assert address is None or (urlsplit(address).hostname in hosts and address.isascii())


# ── Pages of {{r}} ───────────────────────────────────────────────────────────────────────────────

BOOKS = "<ref name=a>{{cite book|title=A|pages=1–99}}</ref><ref name=b>{{cite book|title=B}}</ref>"


@each_row("wiki/templates/pages_of_r_belong_to_their_reference")
def test_pages_of_r_belong_to_their_reference(template: str, pages: list[str | None]) -> None:
    first, *_ = parse_article(f"The mill burnt in 1840.{template} It went.{BOOKS}", "T").claims
    assert [citation.pages for citation in first.citations] == pages


def test_pages_of_one_use_are_not_those_of_another() -> None:
    text = f"It burnt in 1840.{{{{r|a|p=3}}}} It stood in 1850.{{{{r|a|p=9}}}} It went.{BOOKS}"
    first, second, _ = parse_article(text, "T").claims
    assert [first.citations[0].pages, second.citations[0].pages] == ["3", "9"]
