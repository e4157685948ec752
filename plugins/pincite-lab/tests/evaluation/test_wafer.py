"""WAFER: records, answers in context, and failed verification (fig. 2c)."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from click.testing import CliRunner
from evaluation.invented import BRIDGE, FILLER, WordVerifier
from support.articles import parse_article
from support.files import write_jsonl, write_records
from support.rows import each_row, text_of

from pincite.cli import cli
from pincite.errors import InputError
from pincite.types import Document, Hit, Passage, Span
from pincite.wiki.article import PageText, parse_page
from pincite_lab.evaluation import tables
from pincite_lab.evaluation.wafer import (
    Collection,
    Output,
    Provenance,
    WaferRecord,
    claim_of,
    is_featured,
    open_collection,
    read_records,
    records_in,
    split_of,
)
from pincite_lab.evaluation.wafer_measures import (
    answers_in_context,
    contrast_of,
    measure_failures,
    measures_by_level,
)

LINE: dict[str, Any] = json.loads(text_of("lab/evaluation/wafer/record.json"))


@pytest.mark.parametrize("name", ["w.jsonl", "w.jsonl.gz"])
def test_records_read_back_as_written(tmp_path: Path, name: str) -> None:
    smallest = {"id": 2, "input": "It is old.[CIT]"}
    records = list(read_records(write_jsonl(tmp_path / "a.jsonl", LINE, smallest)))
    assert records[1] == WaferRecord("2", "It is old.[CIT]")
    write_records(records, tmp_path / name)
    assert list(read_records(tmp_path / name)) == records


@each_row("lab/evaluation/wafer/errors_name_file_line_and_field")
def test_errors_name_file_line_and_field(tmp_path: Path, line: object, message: str) -> None:
    path = write_jsonl(tmp_path / "w.jsonl", LINE, line)
    with pytest.raises(InputError, match=message):
        list(read_records(path))
    with pytest.raises(InputError, match="cannot be read"):
        list(read_records(tmp_path / "none.jsonl"))


@each_row("lab/evaluation/wafer/parts")
def test_an_input_has_title_section_and_claim(
    text: str, expected: tuple[str, tuple[str, ...], str, str, str]
) -> None:
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


@each_row("lab/evaluation/wafer/featured")
def test_featured_articles_are_recognised(source: str, language: str, expected: bool) -> None:
    markup: Literal["html", "wikitext"] = "html" if language == "html" else "wikitext"
    article = parse_article(source, "Alba", markup=markup, language=language)
    assert is_featured(article) is expected


BRIDGE_CLAIM = "The bridge of Varde opened in 1911."


def record(number: int, url: str, claim: str = BRIDGE_CLAIM, **fields: Any) -> WaferRecord:
    output = Output(url, (Provenance(url),))
    return WaferRecord(str(number), f"Varde [SEP] {claim}[CIT]", (output,), **fields)


NEWS, KING = "https://a.example/news/2011/", "A king paid 900 coins."
GOOD = [record(n, f"{NEWS}{n}", featured=True, wikipedia_title="Varde") for n in range(6)]
BAD = [record(n, f"https://b.example/{n}", KING, failed_verification=True) for n in (10, 11, 12)]
OTHER = record(20, "https://c.example/")


def pages(urls: Sequence[str]) -> list[Document | None]:
    return [None if "/gone" in url else Document(url, "Page", FILLER + BRIDGE) for url in urls]


def figure(records: Sequence[WaferRecord], of: Any = pages, verifier: Any = ...) -> dict[str, Any]:
    verifier = WordVerifier() if verifier is ... else verifier
    return measure_failures(Collection(tuple(records), None), of, verifier, lambda *_: None) or {}


def test_failing_citations_are_told_from_featured_ones() -> None:
    found = figure([*GOOD, *BAD, OTHER])
    assert found["against"] == "featured"
    assert found["labels"] == {"support": 6, "not_support": 3}
    ours, depth, first = found["systems"].values()
    assert list(found["systems"]) == ["pincite", "URL depth", "first 3 passages"]
    assert ours["auroc"] == depth["auroc"] == 1.0
    assert ours["precision_at_recall"] == 1.0
    # The bridge stands behind the first three passages: a reader of these sees no difference,
    # and every citation is called at once.
    assert first["precision_at_recall"] == pytest.approx(1 / 3, abs=1e-4)
    assert first["auroc"] == 0.5
    assert found["curves"]["pincite"][-1]["recall"] == 1.0


def hit(text: str, rank: int) -> Hit:
    return Hit(Passage("d", "u", "", text, Span(0, len(text))), 1.0, rank)


def test_answers_in_context() -> None:
    asked = [
        WaferRecord("1", "a[CIT]", (Output("The Varde Bridge", ()),)),  # an answer in words
        record(2, "https://a.example/", supporting=(frozenset({"It rains.", "It pours!"}),)),
        record(3, "https://a.example/"),  # nothing to look for
    ]
    run = [
        [hit("A Varde bridged river.", 1), hit("Here is Varde bridge, in rain.", 2)],
        [hit("It rains here.", 1), hit("It rains. It pours!", 2)],
        [hit("Nothing.", 1)],
    ]
    found = answers_in_context(asked, {"sparse": run})
    assert found["n"] == 2
    assert (found["sparse"]["AiC@1"], found["sparse"]["AiC@10"]) == (0.0, 1.0)
    assert answers_in_context(asked[2:], {"sparse": run[2:]}) == {"n": 0}


def test_without_marks_and_with_featured_articles_only_there_is_a_table() -> None:
    no_corpus: Any = None
    every = measures_by_level(GOOD, no_corpus, {"sparse": [[] for _ in GOOD]})
    parts = {"featured": every, "others": measures_by_level([], no_corpus, {"sparse": []})}
    result = every | {"by_featured": parts, "failed_verification": None}
    json.dumps(result, allow_nan=False)
    assert tables.wafer_table(result).count("n/a") >= 4  # table 4 of the others


def test_a_split_and_its_failing_part(tmp_path: Path) -> None:
    write_records([*GOOD, BAD[0]], tmp_path / "test.jsonl.gz")
    write_records(BAD[1:], tmp_path / "fail-test.jsonl.gz")
    found = open_collection(tmp_path, "test")
    assert list(found.records) == GOOD
    assert list(found.failed) == BAD
    assert found.corpus_file is None
    with pytest.raises(InputError, match=r"has no dev\.jsonl"):
        open_collection(tmp_path, "dev")


def test_a_collection_without_pages_as_a_user_meets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write_records(GOOD, tmp_path / "test.jsonl")
    write_records(BAD, tmp_path / "fail-test.jsonl")
    command = ["eval", "wafer", str(tmp_path), "--split", "test", "-q"]
    result = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert "failing citations against featured (6 support, 3 not_support" in result.output
    found = json.loads(CliRunner().invoke(cli, [*command, "--json"]).output)
    assert found["failed_verification"]["systems"]["URL depth"]["auroc"] == 1.0
    assert (found["n"], found["n_failed"]) == (6, 3)


def test_what_failing_citations_are_compared_with() -> None:
    labelled = [record(1, "u", label="supported"), record(2, "u", label="not_supported")]
    assert contrast_of([*GOOD, *BAD, OTHER, *labelled])[0] == "featured"
    name, rows = contrast_of([*labelled, record(3, "u", label="partially_supported"), OTHER])
    assert name == "labelled"
    assert [label for _, label in rows] == ["support", "not_support", "partial"]
    assert contrast_of([*BAD, OTHER])[0] == "others"
    assert contrast_of(BAD) == contrast_of([*GOOD, OTHER]) == ("", [])


def test_articles_are_split_into_a_large_part_and_two_small_ones() -> None:
    sizes = Counter(split_of(f"Article {n}") for n in range(2000))
    assert sizes.keys() == {"train", "dev", "test"}
    assert all(60 <= sizes[part] <= 140 for part in ("dev", "test"))
