"""Uploaded files are matched with citations."""

import json
from pathlib import Path

import pytest

from pincite.documents import read
from pincite.documents.collection import NAME, open_sources
from pincite.server.uploads import SENT, Outcome, Why, match_files
from pincite.types import Document, Unchecked
from pincite.wiki.article import parse_article

ARTICLE = """The pier opened in 1911.<ref>{{cite web |url=https://port.example/reports/pier-review-1911.pdf
|title=Review of the outer pier}}</ref>
It is forty metres long.<ref>{{cite journal |title=Lengths of northern piers |doi=10.1000/xyz.7
|url=https://journal.example/7}}</ref>
Ann Fell wrote about it.<ref>{{cite book |title=A short book about piers |last=Fell}}</ref>
It has a clock.<ref>https://www.clocks.example/pier?id=4</ref>"""
URLS = {
    "r1": "https://port.example/reports/pier-review-1911.pdf",
    "r2": "https://journal.example/7",
    "r4": "https://www.clocks.example/pier?id=4",
}
TEXT = "The harbour board met and spoke about the pier and its clock for a long time."


def sent(folder: Path) -> Outcome:
    return match_files(folder, parse_article(ARTICLE, "Pier"))


def put(folder: Path, name: str, text: str = TEXT) -> None:
    path = folder / SENT / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "text", "citation"),
    [
        ("r2.txt", TEXT, "r2"),
        ("r2 my scan.txt", TEXT, "r2"),
        ("Pier-Review-1911.txt", TEXT, "r1"),
        ("Review of the outer pier.txt", TEXT, "r1"),
        ("scan.txt", f"Lengths of northern piers\n\n{TEXT}", "r2"),
        ("scan.txt", f"Journal 3, 4 (doi:10.1000/XYZ.7).\n\n{TEXT}", "r2"),
        (
            "saved.html",
            f'<link rel="canonical" href="http://clocks.example/pier?id=4"><p>{TEXT}</p>',
            "r4",
        ),
        (
            "saved.html",
            f"<title>Review of the outer pier - The Port</title><article><p>{TEXT}</p></article>",
            "r1",
        ),
    ],
)
def test_a_file_is_found_under_its_citations_address(
    tmp_path: Path, name: str, text: str, citation: str
) -> None:
    put(tmp_path, f"folder/{name}", text)
    outcome = sent(tmp_path)
    assert outcome.matched == [(f"folder/{name}", citation)]
    assert outcome.unused == []
    found = open_sources(tmp_path)
    copy = found.get(URLS[citation])
    assert isinstance(copy, Document)
    assert "harbour board" in copy.text
    assert not found.warnings


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("2.txt", TEXT, Why.NO_MATCH),  # the second of somebody's files, not of the citations
        ("[2] notes.txt", TEXT, Why.NO_MATCH),
        ("review.txt", TEXT, Why.NO_MATCH),
        ("r9.txt", TEXT, Why.NO_MATCH),
        ("A short book about piers.txt", TEXT, Why.NO_ADDRESS),
        ("empty.txt", " ", Why.UNREADABLE),
        ("photo.jpg", "\x00\x01", Why.UNREADABLE),
    ],
)
def test_a_file_that_matches_no_citation_is_reported(
    tmp_path: Path, name: str, text: str, why: Why
) -> None:
    put(tmp_path, name, text)
    outcome = sent(tmp_path)
    assert [(each.file, each.why) for each in outcome.unused] == [(name, why)]
    assert outcome.matched == []
    assert len(open_sources(tmp_path)) == 0


def test_a_file_that_matches_two_sources_is_unused(tmp_path: Path) -> None:
    text = "{{cite web |url=https://%s.example/annual-review.pdf |title=The annual review here}}"
    refs = "".join(f"It is {word}.<ref>{text % word}</ref>\n" for word in ("old", "new"))
    put(tmp_path, "annual-review.txt")
    outcome = match_files(tmp_path, parse_article(refs, "Pier"))
    assert [each.why for each in outcome.unused] == [Why.NO_MATCH]


def test_manifests_and_collections_are_left_as_they_are(tmp_path: Path) -> None:
    put(tmp_path, "page.txt", f"{TEXT} One.")
    row = {"url": URLS["r4"], "file": "page.txt"}
    put(tmp_path, NAME, json.dumps(row))
    put(tmp_path, "more.jsonl", json.dumps({"url": URLS["r2"], "text": f"{TEXT} Two."}))
    outcome = sent(tmp_path)
    assert (outcome.matched, outcome.unused, outcome.n_named) == ([], [], 2)
    found = open_sources(tmp_path)
    for citation, word in (("r4", "One."), ("r2", "Two.")):
        copy = found.get(URLS[citation])
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
    outcome = sent(tmp_path)
    assert outcome.matched == [("r1.txt", "r1")]
    assert [(each.file, each.why) for each in outcome.unused] == [("broken.txt", Why.UNREADABLE)]
