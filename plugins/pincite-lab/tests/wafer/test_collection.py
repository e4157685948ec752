"""WAFER records, and collections of them: no leaks between splits, nothing half-written."""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
from support.articles import parse_article
from support.files import write_records
from support.rows import each_row

from pincite.errors import InputError
from pincite.types import Article, Document
from pincite.wiki.article import PageText, parse_page
from pincite.wiki.claims import MAX_AFTER
from pincite_lab.wafer.collection import (
    SPLITS,
    Output,
    Provenance,
    WaferRecord,
    build,
    claim_of,
    is_featured,
    read_records,
    records_in,
    split_of,
)

LINE: dict[str, Any] = {
    "id": "r1",
    "input": "Alba [SEP] Section::::History.:Early life. [SEP] It is old. It seats 900.[CIT]",
    "output": [
        {
            "answer": "http://a.example/1",
            "provenance": [
                {"url": "http://a.example/1", "chunk_id": "3", "title": "T", "text": "x"}
            ],
        }
    ],
    "meta": {
        "wikipedia_id": "12",
        "wikipedia_title": "Alba",
        "wikipedia_section": "History",
        "cit_paragraph_id": 2,
        "cit_offset": 31,
        "sentences": ["It is old.", "It seats 900.[CIT]"],
        "featured": True,
        "failed_verification": True,
        "supporting": [["b", "a"], ["c"]],
        "label": "supported",
        "unknown": {"kept": [1]},
    },
}


def write(path: Path, *lines: object) -> Path:
    path.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines))
    return path


def test_all_fields_are_read(tmp_path: Path) -> None:
    (record,) = read_records(write(tmp_path / "w.jsonl", LINE, ""))
    assert record == WaferRecord(
        id="r1",
        input=LINE["input"],
        outputs=(Output("http://a.example/1", (Provenance("http://a.example/1", "3", "T", "x"),)),),
        wikipedia_title="Alba",
        sentences=("It is old.", "It seats 900.[CIT]"),
        featured=True,
        failed_verification=True,
        supporting=(frozenset({"a", "b"}), frozenset({"c"})),
        label="supported",
        extra={
            "wikipedia_id": "12",
            "wikipedia_section": "History",
            "cit_paragraph_id": 2,
            "cit_offset": 31,
            "unknown": {"kept": [1]},
        },
    )
    assert record.urls == ("http://a.example/1",)


@pytest.mark.parametrize("name", ["w.jsonl", "w.jsonl.gz"])
def test_round_trip(tmp_path: Path, name: str) -> None:
    smallest = {"id": 2, "input": "It is old.[CIT]"}
    records = list(read_records(write(tmp_path / "a.jsonl", LINE, smallest)))
    assert records[1] == WaferRecord("2", "It is old.[CIT]")
    write_records(records, tmp_path / name)
    assert list(read_records(tmp_path / name)) == records


@each_row("lab/wafer/collection/errors_name_file_line_and_field")
def test_errors_name_file_line_and_field(tmp_path: Path, line: object, message: str) -> None:
    path = write(tmp_path / "w.jsonl", LINE, line)
    with pytest.raises(InputError, match=message):
        list(read_records(path))
    with pytest.raises(InputError, match="cannot be read"):
        list(read_records(tmp_path / "none.jsonl"))


@each_row("lab/wafer/collection/parts")
def test_parts(text: str, expected: tuple[str, tuple[str, ...], str, str, str]) -> None:
    claim = claim_of(WaferRecord("r", text))
    assert (claim.title, claim.section, claim.before, claim.text, claim.after) == expected
    assert claim.claim_id == "r"
    assert claim.span is None


def test_too_many_parts_or_marks() -> None:
    for text in ("a [SEP] b [SEP] c [SEP] d[CIT]", "a[CIT] b[CIT]"):
        with pytest.raises(InputError, match="Expected at most 3 parts"):
            claim_of(WaferRecord("r", text))


def test_an_articles_claim_becomes_a_record_and_back() -> None:
    source = (
        "== Halls ==\nIt is old. It seats 900.<ref>http://a.example/1</ref><ref>A book</ref> "
        "It has two towers (one is closed). Nobody\nknows why.\n\nNext."
    )
    article = parse_article(source, "Alba")
    (claim,) = article.claims
    (record,) = records_in(article)
    after = "It has two towers (one is closed). Nobody knows why."
    assert record.input == f"Alba [SEP] Halls [SEP] It is old. It seats 900.[CIT] {after}"
    assert record.urls == ("http://a.example/1",)
    assert record.sentences == ("It is old.", "It seats 900.[CIT]")
    assert not record.failed
    again = claim_of(record)
    assert (again.text, again.before, again.section) == (claim.text, claim.before, claim.section)
    assert again.context == claim.context
    assert again.after == claim.after == after


def test_a_record_names_its_page_paragraph_and_offset_and_no_cell_makes_one() -> None:
    source = (
        "It is [[old]].\n\n== Halls ==\nIt seats 900.<ref>http://a.example/1</ref>\n\n"
        '{| class="wikitable"\n|-\n'
        "| The hall was opened by Ann Lee in 1901.<ref>http://a.example/2</ref>\n|}"
    )
    article = parse_page(PageText(source, "Alba", page_id="12", language="en"))
    (record,) = records_in(article)
    assert len(article.claims) == 2
    assert record.extra == {
        "wikipedia_id": "12",
        "wikipedia_section": "Halls",
        "cit_paragraph_id": 2,
        "cit_offset": len("It seats 900."),
    }


def test_text_after_begins_behind_the_clause_and_ends_with_a_whole_word() -> None:
    more = "wordy " * 200
    source = f"It opened in 1911<ref>http://a.example/</ref>, and it closed in 1950. {more}"
    (claim,) = parse_article(source, "Alba").claims
    assert claim.after.startswith("and it closed in 1950. wordy")
    assert claim.after.endswith("wordy")
    assert len(claim.after) <= MAX_AFTER


def test_a_tagged_citation_has_a_record_of_its_own() -> None:
    source = "It seats 900.<ref>http://a.example/</ref><ref>http://b.example/x</ref>{{FV|date=x}}"
    kept, failed = records_in(parse_article(source, "Alba"))
    assert (kept.urls, kept.failed) == (("http://a.example/",), False)
    assert (failed.urls, failed.failed) == (("http://b.example/x",), True)
    assert failed.outputs[0].answer == "{Failed verification}"
    assert failed.input == kept.input
    assert failed.id != kept.id
    assert WaferRecord("r", "It.[CIT]", failed.outputs).failed  # as in SIDE's own files


def test_a_tag_in_the_sentence_marks_all_its_citations() -> None:
    tag = "{{failed verification span|text=It seats 900.}}"
    records = list(records_in(parse_article(f"{tag}<ref>http://a.example/</ref>", "Alba")))
    assert [record.failed for record in records] == [True]


@each_row("lab/wafer/collection/featured")
def test_featured(source: str, language: str, expected: bool) -> None:
    markup: Literal["html", "wikitext"] = "html" if language == "html" else "wikitext"
    article = parse_article(source, "Alba", markup=markup, language=language)
    assert is_featured(article) is expected


# ── collections ──────────────────────

TEXT = " ".join(f"Sentence number {n} says that the hall seats nine hundred." for n in range(40))


def title_in(part: str, number: int = 0) -> str:
    """A title whose hash puts its article into this part."""
    names = (f"Hall {n}" for n in range(10_000))
    wanted = (n for n in names if split_of(n, held_out=0.5, evaluation_only=False) == part)
    return [next(wanted) for _ in range(number + 1)][-1]


def article_of(title: str, *urls: str, head: str = "", tail: str = "") -> Article:
    claims = "\n\n".join(
        f"{title} seats {n}00.<ref>{url}</ref>{tail}" for n, url in enumerate(urls)
    )
    return parse_article(f"{head}{claims}", title)


def each(articles: Iterable[Article]) -> Iterator[Callable[[], Article]]:
    return (partial(copy, article) for article in articles)


def page(url: str) -> Document | None:
    return None if "gone" in url else Document(url.replace("http:", "https:"), "Page", TEXT)


def of(folder: Path, split: str) -> list[WaferRecord]:
    return list(read_records(folder / f"{split}.jsonl.gz"))


def test_no_article_and_no_page_is_in_two_splits(tmp_path: Path) -> None:
    train, dev, test = (title_in(split) for split in ("train", "dev", "test"))
    articles = [
        article_of(train, "http://a.example/", "http://b.example/", "http://c.example/"),
        article_of(dev, "http://b.example/", "https://www.c.example"),
        article_of(test, "http://c.example/#part"),
    ]
    counts = build(each(articles), tmp_path / "out", held_out=0.5)
    urls = {split: [r.urls[0] for r in of(tmp_path / "out", split)] for split in SPLITS}
    assert urls == {
        "train": ["http://a.example/"],
        "dev": ["http://b.example/"],
        "test": ["http://c.example/#part"],
        "fail-dev": [],
        "fail-test": [],
    }
    assert counts["page_in_another_split"] == 3
    assert json.loads((tmp_path / "out" / "counts.json").read_text()) == counts
    assert not (tmp_path / "out" / "corpus.jsonl.gz").exists()


def test_featured_and_tagged_articles_are_for_evaluation_only(tmp_path: Path) -> None:
    titles = [title_in("train", n) for n in range(4)]
    tagged = article_of(titles[1], "http://b.example/", tail="{{fv}}")
    marked = article_of(titles[0], "http://a.example/", head="{{Featured article}}\n")
    plain = [article_of(t, f"http://{n}.example/") for n, t in enumerate(titles[2:])]
    counts = build(each([marked, tagged, *plain]), tmp_path / "out", held_out=0.5)["splits"]
    assert counts["train"]["articles"] == 2
    assert counts["dev"]["featured"] + counts["test"]["featured"] == 1
    assert counts["fail-dev"]["records"] + counts["fail-test"]["records"] == 1
    assert counts["train"]["featured"] == 0


def test_the_split_depends_on_the_title_alone() -> None:
    parts = [split_of(f"T{n}", held_out=0.2, evaluation_only=False) for n in range(2_000)]
    assert 0.17 < 1 - parts.count("train") / 2_000 < 0.23
    assert 0.8 < parts.count("dev") / parts.count("test") < 1.25
    assert split_of("ada_Lovelace ", held_out=0.2, evaluation_only=False) == split_of(
        "Ada Lovelace", held_out=0.2, evaluation_only=False
    )
    never = {split_of(f"T{n}", held_out=0.2, evaluation_only=True) for n in range(200)}
    assert never == {"dev", "test"}


def test_pages_are_aligned_in_passages_and_written_once(tmp_path: Path) -> None:
    title = title_in("train")
    articles = [article_of(title, "http://a.example/", "http://a.example/", "http://gone.example/")]
    counts = build(each(articles), tmp_path / "out", page, held_out=0.5)
    first, second = of(tmp_path / "out", "train")
    (output,) = first.outputs
    assert output.answer == "http://a.example/"
    assert {p.url for p in output.provenance} == {"https://a.example/"}  # as the crawl has it
    assert len(output.provenance) == len({p.chunk_id for p in output.provenance}) > 2
    assert " ".join(p.text or "" for p in output.provenance) == TEXT
    assert second.outputs == first.outputs
    with gzip.open(tmp_path / "out" / "corpus.jsonl.gz", "rt") as lines:
        (stored,) = map(json.loads, lines)
    assert (stored["url"], stored["text"]) == ("https://a.example/", TEXT)
    assert (counts["pages"], counts["without_page"]) == (1, 1)


def test_the_folder_appears_only_when_complete(tmp_path: Path) -> None:
    def stopped() -> Iterator[Article]:
        yield article_of("A", "http://a.example/")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(each(stopped()), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    build(each([article_of("A", "http://a.example/")]), tmp_path / "out")
    assert sum(len(of(tmp_path / "out", split)) for split in SPLITS) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert not list((tmp_path / "out").glob("*.all.gz"))


@pytest.mark.parametrize(("limit", "value"), [("BATCH", 3), ("BATCH_CHARS", 1)])
def test_a_killed_run_continues_and_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(f"pincite_lab.wafer.collection.{limit}", value)
    articles = [article_of(f"A{n}", f"http://a.example/{n % 5}") for n in range(20)]

    def killed(at: int) -> Iterator[Callable[[], Article]]:
        for n, read in enumerate(each(articles)):
            if n == at:
                raise KeyboardInterrupt
            yield read

    build(each(articles), tmp_path / "whole", page, held_out=0.5)
    for at in (2, 7, 13):
        with pytest.raises(KeyboardInterrupt):
            build(killed(at), tmp_path / "out", page, held_out=0.5)
        state = json.loads((tmp_path / "out.part" / "state.json").read_text()) if at > 2 else {}
        assert not state or at - state["counts"]["articles"] < value
    with pytest.raises(InputError, match="other arguments"):
        build(each(articles), tmp_path / "out", page, held_out=0.4)
    counts = build(each(articles), tmp_path / "out", page, held_out=0.5)
    assert counts["articles"] == 20
    for path in (tmp_path / "whole").iterdir():
        assert path.read_bytes() == (tmp_path / "out" / path.name).read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "whole"]


def test_the_same_articles_give_the_same_bytes_and_keep_other_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        build(each([article_of("A", "http://a.example/")]), tmp_path / name, page)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    with pytest.raises(InputError, match="Expected a new folder"):
        build([], tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
