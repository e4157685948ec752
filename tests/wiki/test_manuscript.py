"""Manuscripts in plain text, with numbered citations and a list of references."""

import time

import pytest
from support.rows import each_row, text_of

from pincite.types import Article
from pincite.wiki.article import article_in
from pincite.wiki.uncited import find_uncited

TEXT = text_of("wiki/manuscript/manuscript.txt")


def cited(article: Article) -> list[tuple[str, list[str]]]:
    return [(c.text, [each.citation_id for each in c.citations]) for c in article.claims]


def test_a_sentence_with_marks_cites_the_entries_of_the_list() -> None:
    assert cited(article_in(TEXT)) == [
        ("In 1911, two ferries crossed the Holm", ["r1", "r2"]),
        ("and they carried 40 carts a day", ["r1-2", "r2-2", "r3"]),
        ("As shown in [this work], the crossing took nine minutes (95% CI [8, 10]).", ["r2-3"]),
        ("It was dear.", ["r3-2"]),
        ("Berg et al. found that the crews were paid by the day; others deny it.", ["r4", "r9"]),
    ]


def test_an_entry_gives_identifiers_and_title() -> None:
    article = article_in(TEXT)
    known = {each.citation_id: each for claim in article.claims for each in claim.citations}
    assert (known["r1"].doi, known["r1"].url) == ("10.1000/abc.1", None)
    assert (known["r2"].pmid, known["r2"].doi) == ("12345", None)
    assert (known["r3"].url, known["r4"].isbn) == ("https://ferry.example/cost", "0-306-40615-2")
    assert [known[f"r{n}"].title for n in (1, 2, 3, 4)] == [
        "Rope ferries of the upper Holm",
        "Crossing a river by rope in all weathers",
        "What it cost to cross the river",
        None,
    ]
    assert known["r9"].text == ""
    assert known["r2"].definition.of(TEXT).endswith("PMID: 12345.")


@each_row("wiki/manuscript/forms_of_lists_and_marks")
@pytest.mark.parametrize("marks", ["[1]. It rose [2]", ".¹ It rose²"])
def test_forms_of_lists_and_marks(marks: str, listed: str) -> None:
    article = article_in(f"A ferry of 20 m² crossed the river{marks}.\n\n{listed}")
    (first,), (second,) = (claim.citations for claim in article.claims)
    assert first.doi == "10.1000/x"
    assert second.title in ("The town by a river", "Die Stadt am Fluss", None)
    assert second.text.startswith("Ito")


def test_wikitext_and_citations_by_author_are_none() -> None:
    assert article_in("It rose [1].<ref>A. Berg</ref>").claims[0].text == "It rose [1]."
    text = "The ferry was dear (Berg et al., 2001).\n\nReferences\nBerg A. Dear. 2001."
    article = article_in(text)
    assert not article.n_references
    assert any("(Berg et al., 2001)" in warning for warning in article.warnings)


def test_an_uncited_sentence_of_a_manuscript_is_found() -> None:
    text = "It sank [1]. According to the miller, it lost 2,400 tonnes of rye in 1912, 12 %.\n\n"
    listed = "References\n1. Berg A. The mill of 1911, 12 % of it. 1999."
    found = find_uncited(article_in(text + listed))
    assert [each.claim.text[:12] for each in found] == ["According to"]


@pytest.mark.parametrize(
    "unit", ["[1-50]", "a [1]. ", "\n[1] a", "(Ab ", "¹,", "\n1. http://;;", "“a"]
)
def test_hostile_texts_take_linear_time(unit: str) -> None:
    start = time.process_time()
    article_in(f"It rose [1].\n{unit * (20_000 // len(unit))}\n\nReferences\n[1] {unit * 999}")
    assert time.process_time() - start < 10
