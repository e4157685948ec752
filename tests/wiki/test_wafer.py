"""WAFER records: read, written, and turned into claims."""

import json
from pathlib import Path
from typing import Any

import pytest

from pincite.errors import InputError
from pincite.wiki.article import parse_article
from pincite.wiki.claims import MAX_AFTER
from pincite.wiki.wafer import (
    Output,
    Provenance,
    WaferRecord,
    claim_of,
    is_featured,
    read_records,
    records_in,
    write_records,
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
        wikipedia_id="12",
        wikipedia_title="Alba",
        wikipedia_section="History",
        cit_paragraph_id=2,
        cit_offset=31,
        sentences=("It is old.", "It seats 900.[CIT]"),
        featured=True,
        failed_verification=True,
        supporting=(frozenset({"a", "b"}), frozenset({"c"})),
        label="supported",
        extra={"unknown": {"kept": [1]}},
    )
    assert record.urls == ("http://a.example/1",)


@pytest.mark.parametrize("name", ["w.jsonl", "w.jsonl.gz"])
def test_round_trip(tmp_path: Path, name: str) -> None:
    smallest = {"id": 2, "input": "It is old.[CIT]"}
    records = list(read_records(write(tmp_path / "a.jsonl", LINE, smallest)))
    assert records[1] == WaferRecord("2", "It is old.[CIT]")
    write_records(records, tmp_path / name)
    assert list(read_records(tmp_path / name)) == records


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"w.jsonl, line 2: "),
        ("[]", r"w.jsonl, line 2: "),
        ({"input": "a"}, "line 2: field id"),
        ({"id": "a"}, "field input"),
        (
            {"id": "a", "input": "b", "output": [{"provenance": [{}]}]},
            r"outputs.0.provenance.0.url",
        ),
        ({"id": "a", "input": "b", "output": "c"}, "field outputs"),
        ({"id": "a", "input": "b", "meta": {"cit_offset": "x"}}, "cit_offset"),
        ({"id": "a", "input": "b", "meta": {"sentences": [["x"]]}}, "sentences"),
        ({"id": "a", "input": "b", "meta": {"supporting": ["x"]}}, "supporting"),
    ],
)
def test_errors_name_file_line_and_field(tmp_path: Path, line: object, message: str) -> None:
    path = write(tmp_path / "w.jsonl", LINE, line)
    with pytest.raises(InputError, match=message):
        list(read_records(path))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file"):
        list(read_records(tmp_path / "none.jsonl"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two.[CIT]", ("", (), "One.", "Two.", "")),
        ("S [SEP] One. Two.[CIT]", ("", ("S",), "One.", "Two.", "")),
        ("T [SEP] A :: B [SEP] Two.[CIT]", ("T", ("A", "B"), "", "Two.", "")),
        (
            "T [SEP] Section::::A.:B. [SEP] One. Two[CIT] more.",
            ("T", ("A", "B"), "One.", "Two", "more."),
        ),
        ("T [SEP]  [SEP] Two.", ("T", (), "", "Two.", "")),
    ],
)
def test_parts(text: str, expected: tuple[str, tuple[str, ...], str, str, str]) -> None:
    claim = claim_of(WaferRecord("r", text))
    assert (claim.title, claim.section, claim.before, claim.text, claim.after) == expected
    assert claim.claim_id == "r"
    assert claim.span is None


@pytest.mark.parametrize("text", ["a [SEP] b [SEP] c [SEP] d[CIT]", "a[CIT] b[CIT]"])
def test_too_many_parts_or_marks(text: str) -> None:
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


def test_text_after_begins_behind_the_clause_and_ends_with_a_whole_word() -> None:
    more = "wordy " * 200
    source = f"It opened in 1911<ref>http://a.example/</ref>, and it closed in 1950. {more}"
    (claim,) = parse_article(source, "Alba").claims
    assert claim.after.startswith("and it closed in 1950. wordy")
    assert claim.after.endswith("wordy")
    assert len(claim.after) <= MAX_AFTER


@pytest.mark.parametrize(
    "tag",
    [
        "{{failed verification|date=May 2020}}",
        "{{FV}}",
        "{{Not in citation given}}",
        "{{Failed_verification}}",
        "{{not in source}}",
        "{{Fails verification}}",
    ],
)
def test_a_tagged_citation_has_a_record_of_its_own(tag: str) -> None:
    source = f"It seats 900.<ref>http://a.example/</ref><ref>http://b.example/x</ref>{tag}"
    kept, failed = records_in(parse_article(source, "Alba"))
    assert (kept.urls, kept.failed) == (("http://a.example/",), False)
    assert (failed.urls, failed.failed) == (("http://b.example/x",), True)
    assert failed.outputs[0].answer == "{Failed verification}"
    assert failed.input == kept.input
    assert failed.id != kept.id


def test_a_tag_in_the_sentence_marks_all_its_citations() -> None:
    tag = "{{failed verification span|text=It seats 900.}}"
    records = list(records_in(parse_article(f"{tag}<ref>http://a.example/</ref>", "Alba")))
    assert [record.failed for record in records] == [True]


def test_the_released_files_mark_failures_in_the_answer() -> None:
    page = Provenance("http://a.example/")
    assert WaferRecord("r", "It.[CIT]", (Output("{Failed verification}", (page,)),)).failed


@pytest.mark.parametrize(
    ("source", "language", "expected"),
    [
        ("{{Featured article}}\nIt is old.", "en", True),
        ("{{ featured_article | date=2020 }}", "en", True),
        ("{{Exzellent|10. Mai 2007|12345}}", "de", True),
        ("{{Article de qualité|oldid=1|date=2009}}", "fr", True),
        ("{{Exzellent}}", "en", False),
        ("<!-- {{Featured article}} -->", "en", False),
        ("{{Featured article candidates}} {{good article}}", "en", False),
    ],
)
def test_featured(source: str, language: str, expected: bool) -> None:
    assert is_featured(parse_article(source, "Alba", language=language)) is expected


def test_featured_in_html() -> None:
    star = '<div id="mw-indicator-featured-star" class="mw-indicator"></div><p>It is old.</p>'
    assert is_featured(parse_article(star, "Alba", markup="html"))
    assert not is_featured(parse_article("<p>It is old.</p>", "Alba", markup="html"))
