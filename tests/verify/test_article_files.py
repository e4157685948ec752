"""Files that are supplied for an article are matched with its citations."""

import json
from pathlib import Path

import pytest
from support.articles import parse_article
from support.rows import each_row

from pincite.documents import read
from pincite.documents.collection import NAME, open_sources
from pincite.types import FILE, Citation, Document, Unchecked
from pincite.verbs.verify.article_files import ArticleFiles, Unmatched, describe, match_files
from pincite.verbs.verify.cited_copies import CitedCopies
from pincite.wiki.article import article_in

ARTICLE = """The pier opened in 1911.<ref>{{cite web |url=https://port.example/reports/pier-review-1911.pdf
|title=Review of the outer pier}}</ref>
It is forty metres long.<ref>{{cite journal |title=Lengths of northern piers |doi=10.1000/xyz.7
|url=https://journal.example/7}}</ref>
Ann Fell wrote about it.<ref>{{cite book |title=A short book about piers |last=Fell}}</ref>
It has a clock.<ref>https://www.clocks.example/pier?id=4</ref>"""
TEXT = "The harbour board met and spoke about the pier and its clock for a long time."


def matched(folder: Path, article: str = ARTICLE) -> ArticleFiles:
    return match_files(open_sources(folder), parse_article(article, "Pier"))


def pairs(files: ArticleFiles) -> list[tuple[str, str, str]]:
    return [(each.file, each.ids, each.by) for each in files.matches]


def whys(files: ArticleFiles) -> list[tuple[str, str]]:
    return [(each.file, each.why) for each in files.unused]


def cited(citation_id: str, article: str = ARTICLE) -> Citation:
    cited = (c for claim in parse_article(article, "Pier").claims for c in claim.citations)
    return next(each for each in cited if each.citation_id == citation_id)


def put(folder: Path, name: str, text: str = TEXT) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@each_row("verify/article_files/a_file_is_the_copy_of_its_citation")
def test_a_file_is_the_copy_of_its_citation(
    tmp_path: Path, name: str, text: str, citation_id: str, by: str
) -> None:
    put(tmp_path, f"folder/{name}", text)
    files = matched(tmp_path)
    assert pairs(files) == [(f"folder/{name}", citation_id, by)]
    assert not files.unused
    assert not files.warnings
    copy = files(cited(citation_id))
    assert isinstance(copy, Document)
    assert "harbour board" in copy.text
    assert copy.meta[FILE] == f"folder/{name}"
    assert str(tmp_path) not in copy.url
    assert files(cited("r1" if citation_id != "r1" else "r2")) is None
    assert f"folder/{name}" in describe(files)[1]


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("2.txt", TEXT, Unmatched.NO_MATCH),  # the second of somebody's files, not of the citations
        ("r9.txt", TEXT, Unmatched.NO_MATCH),
        ("empty.txt", " ", Unmatched.UNREADABLE),
        ("photo.jpg", "\x00\x01", Unmatched.UNREADABLE),
        ("r1.zip", "PK\3\4", Unmatched.UNREADABLE),
    ],
)
def test_a_file_that_matches_no_citation_is_reported(
    tmp_path: Path, name: str, text: str, why: Unmatched
) -> None:
    put(tmp_path, name, text)
    files = matched(tmp_path)
    assert whys(files) == [(name, why)]
    assert not files.matches
    # Pictures are parts of saved pages more often than sources.
    assert [each.file for each in files.warnings] == ([] if name == "photo.jpg" else [name])
    assert [line for line in describe(files) if name in line] == [describe(files)[2]]


def test_a_file_that_matches_two_sources_is_unused(tmp_path: Path) -> None:
    text = "{{cite web |url=https://%s.example/annual-review.pdf |title=The annual review here}}"
    refs = "".join(f"It is {word}.<ref>{text % word}</ref>\n" for word in ("old", "new"))
    put(tmp_path, "annual-review.txt")
    files = matched(tmp_path, refs)
    assert [(each.why, each.detail) for each in files.unused] == [(Unmatched.SEVERAL, "r1, r2")]


def test_references_of_one_source_share_its_file(tmp_path: Path) -> None:
    page = "{{cite web |url=https://a.example/annual-review.pdf |title=The review%s}}"
    book = "{{cite book |title=A book about piers |last=Fell |page=%d%s}}"
    made = [page % "", page % " |archive-url=https://web.archive.org/web/2020/https://a.example/x"]
    made += [book % (1, ""), book % (2, " |isbn=978-0-306-40615-7")]
    article = "".join(f"It has {n} arches.<ref>{each}</ref>\n" for n, each in enumerate(made))
    put(tmp_path, "annual-review.txt")
    put(tmp_path, "A book about piers.txt")
    files = matched(tmp_path, article)
    assert {each.ids for each in files.matches} == {"r1, r2", "r3, r4"}
    found = [files(cited(f"r{n}", article)) for n in (1, 2, 3, 4)]
    assert all(isinstance(each, Document) for each in found)


def test_manifests_and_collections_are_left_as_they_are(tmp_path: Path) -> None:
    put(tmp_path, "page.txt", f"{TEXT} One.")
    row = {"url": "https://www.clocks.example/pier?id=4", "file": "page.txt"}
    put(tmp_path, NAME, json.dumps(row))
    more = {"url": "https://journal.example/7", "text": f"{TEXT} Two."}
    put(tmp_path, "more.jsonl", json.dumps(more))
    files = matched(tmp_path)
    assert (files.matches, files.unused, files.sources.n_named) == ([], [], 2)
    for url, word in ((row["url"], "One."), (more["url"], "Two.")):
        copy = files.sources.get(url)
        assert isinstance(copy, Document)
        assert word in copy.text


def test_file_whose_reading_raises_costs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = read.read_file

    def read_file(path: Path) -> Document | Unchecked:
        if path.name == "broken.txt":
            raise KeyError("ſ")
        return real(path)

    monkeypatch.setattr(read, "read_file", read_file)
    put(tmp_path, "r1.txt")
    put(tmp_path, "broken.txt", "Words that no citation has.")
    files = matched(tmp_path)
    assert pairs(files) == [("r1.txt", "r1", "number")]
    assert whys(files) == [("broken.txt", Unmatched.UNREADABLE)]


def test_a_page_with_a_short_title_and_the_name_of_its_site_is_matched(tmp_path: Path) -> None:
    cites = (
        "It opened in 1936.<ref>{{cite web |title=Our story |website=Friends of Wexmoor Lido "
        "|url=https://lido.example/about/story}}</ref>"
    )
    put(tmp_path, "Our story _ Friends.html", f"<p>{TEXT}</p>")
    put(tmp_path, "saved.html", f"<title>Our story | Wexmoor Lido</title><p>{TEXT}</p>")
    put(tmp_path, "Our story _ Harbour.html", f"<p>{TEXT}</p>")
    files = matched(tmp_path, cites)
    assert {file for file, *_ in pairs(files)} == {"Our story _ Friends.html", "saved.html"}


RECORD = """<PubmedArticle><MedlineCitation><PMID>{n}</PMID><Article><Journal><Title>Ferries</Title>
</Journal><ArticleTitle>{title}.</ArticleTitle><Abstract><AbstractText>It carried {n} carts a day.
</AbstractText></Abstract></Article></MedlineCitation><PubmedData><ArticleIdList>
<ArticleId IdType="doi">10.1000/Holm.{n}</ArticleId></ArticleIdList></PubmedData></PubmedArticle>"""


def test_a_collection_counts_as_its_records(tmp_path: Path) -> None:
    titles = ("Rope ferries of the Holm", "The crews of the Holm", "A mill on the Holm", "A mill")
    records = "".join(RECORD.format(n=n, title=title) for n, title in enumerate(titles, 71))
    (tmp_path / "set.xml").write_text(f"<PubmedArticleSet>{records}</PubmedArticleSet>")
    line = {"url": "https://holm.example/1", "doi": "10.1000/holm.81", "text": "A lock of 1911."}
    (tmp_path / "set.jsonl").write_text(json.dumps(line))
    (tmp_path / "set.csv").write_text("url,title,text\nhttps://holm.example/2,The old weir,A weir.")
    article = article_in(
        "It [1] is. It [2] is. It [3] is. It [4] is. It [5] is. It [6] is.\n\nReferences\n"
        "1. Berg A. Some. doi:10.1000/holm.71\n2. Ito M. Some. PMID: 72\n"
        "3. Ito M. “A mill on the Holm.” 1999.\n4. Ito M. A mill. 1999.\n"
        "5. Berg A. doi:10.1000/HOLM.81\n6. https://holm.example/2"
    )
    files = match_files(open_sources(tmp_path), article)
    copies = CitedCopies(files.sources.get, given=[files])
    found = [copies.read(claim.citations[0]).source for claim in article.claims]
    texts = [each.text.partition("\n")[0] if isinstance(each, Document) else "" for each in found]
    carried = ["It carried 71 carts a day.", "It carried 72 carts a day."]
    assert texts[:3] == [*carried, "It carried 73 carts a day."]
    assert texts[3:6] == ["", "A lock of 1911.", "A weir."]
    assert not files.unused
