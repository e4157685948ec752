"""A WAFER-like collection: splits without leaks, pages once, nothing half-written."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pincite.errors import InputError
from pincite.types import Article, Document
from pincite.wiki import wafer as collection
from pincite.wiki.article import parse_article
from pincite.wiki.wafer import SPLITS, WaferRecord, build, part_of, read_records

TEXT = " ".join(f"Sentence number {n} says that the hall seats nine hundred." for n in range(40))


def title_in(part: str, number: int = 0) -> str:
    """A title whose hash puts its article into this part."""
    names = (f"Hall {n}" for n in range(10_000))
    wanted = (n for n in names if part_of(n, held_out=0.5, evaluation_only=False) == part)
    return [next(wanted) for _ in range(number + 1)][-1]


def article(title: str, *urls: str, head: str = "", tail: str = "") -> Article:
    claims = "\n\n".join(
        f"{title} seats {n}00.<ref>{url}</ref>{tail}" for n, url in enumerate(urls)
    )
    return parse_article(f"{head}{claims}", title)


def page(url: str) -> Document | None:
    return None if "gone" in url else Document(url.replace("http:", "https:"), "Page", TEXT)


def of(folder: Path, split: str) -> list[WaferRecord]:
    return list(read_records(folder / f"{split}.jsonl.gz"))


def test_no_article_and_no_page_is_in_two_parts(tmp_path: Path) -> None:
    train, dev, test = (title_in(part) for part in ("train", "dev", "test"))
    articles = [
        article(train, "http://a.example/", "http://b.example/", "http://c.example/"),
        article(dev, "http://b.example/", "https://www.c.example"),
        article(test, "http://c.example/#part"),
    ]
    counts = build(articles, tmp_path / "out", held_out=0.5)
    urls = {split: [r.urls[0] for r in of(tmp_path / "out", split)] for split in SPLITS}
    assert urls == {
        "train": ["http://a.example/"],
        "dev": ["http://b.example/"],
        "test": ["http://c.example/#part"],
        "fail-dev": [],
        "fail-test": [],
    }
    assert counts["left_out"] == {"no stored page": 0, "page cited in another part": 3}
    left = of(tmp_path / "out", "left-out")
    assert [r.extra["left_out"] for r in left] == ["page cited in another part"] * 3
    assert not (tmp_path / "out" / "corpus.jsonl.gz").exists()


def test_featured_and_tagged_articles_are_for_evaluation_only(tmp_path: Path) -> None:
    titles = [title_in("train", n) for n in range(4)]
    tagged = article(titles[1], "http://b.example/", tail="{{fv}}")
    marked = article(titles[0], "http://a.example/", head="{{Featured article}}\n")
    plain = [article(t, f"http://{n}.example/") for n, t in enumerate(titles[2:])]
    counts = build([marked, tagged, *plain], tmp_path / "out", held_out=0.5)["splits"]
    assert counts["train"]["articles"] == 2
    assert counts["dev"]["featured"] + counts["test"]["featured"] == 1
    assert counts["fail-dev"]["records"] + counts["fail-test"]["records"] == 1
    assert counts["train"]["featured"] == 0


def test_the_split_depends_on_the_title_alone() -> None:
    parts = [part_of(f"T{n}", held_out=0.2, evaluation_only=False) for n in range(2_000)]
    assert 0.17 < 1 - parts.count("train") / 2_000 < 0.23
    assert 0.8 < parts.count("dev") / parts.count("test") < 1.25
    assert part_of("ada_Lovelace ", held_out=0.2, evaluation_only=False) == part_of(
        "Ada Lovelace", held_out=0.2, evaluation_only=False
    )
    never = {part_of(f"T{n}", held_out=0.2, evaluation_only=True) for n in range(200)}
    assert never == {"dev", "test"}


def test_pages_are_aligned_in_passages_and_written_once(tmp_path: Path) -> None:
    title = title_in("train")
    articles = [article(title, "http://a.example/", "http://a.example/", "http://gone.example/")]
    counts = build(articles, tmp_path / "out", page, held_out=0.5)
    first, second = of(tmp_path / "out", "train")
    (output,) = first.outputs
    assert output.answer == "http://a.example/"
    assert {p.url for p in output.provenance} == {"https://a.example/"}  # as the crawl has it
    assert len(output.provenance) == len({p.chunk_id for p in output.provenance}) > 2
    assert " ".join(p.text or "" for p in output.provenance) == TEXT
    assert second.outputs == first.outputs
    (left,) = of(tmp_path / "out", "left-out")
    assert left.extra["left_out"] == "no stored page"
    with gzip.open(tmp_path / "out" / "corpus.jsonl.gz", "rt") as lines:
        (stored,) = map(json.loads, lines)
    assert (stored["url"], stored["text"]) == ("https://a.example/", TEXT)
    assert counts["pages"] == 1
    assert counts["left_out"]["no stored page"] == 1


def test_claims_repeated_word_for_word_are_counted(tmp_path: Path) -> None:
    train, test = title_in("train"), title_in("test")
    same = "The hall seats 900.<ref>http://{}.example/</ref>"
    articles = [parse_article(same.format(n), title) for n, title in enumerate((train, test))]
    counts = build(articles, tmp_path / "out", held_out=0.5)
    assert counts["splits"]["train"]["also_in_evaluation"] == 1
    assert "1 claims\n  of train stand word for word" in (tmp_path / "out/README.md").read_text()


def test_the_card_counts_what_is_there(tmp_path: Path) -> None:
    build([article(title_in("dev"), "http://a.example/")], tmp_path / "out", held_out=0.5)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "| dev | 1 | 1 | 0 | 1 | 0 |" in card
    assert "50 % of articles" in card
    counts = json.loads((tmp_path / "out" / "counts.json").read_text())
    assert collection.card(counts) == card
    assert max(map(len, card.splitlines())) < 140


def test_nothing_is_there_until_all_is_there(tmp_path: Path) -> None:
    def stopped() -> Iterator[Article]:
        yield article("A", "http://a.example/")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(stopped(), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    build([article("A", "http://a.example/")], tmp_path / "out")
    assert sum(len(of(tmp_path / "out", split)) for split in SPLITS) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert not list((tmp_path / "out").glob("*.all.gz"))


def test_the_same_articles_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        build([article("A", "http://a.example/")], tmp_path / name, page)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_folder_that_holds_something_is_kept(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="Expected a new folder"):
        build([], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
