"""Collections with a record a line: which format a file has, and what its lines become."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.found import document, refusal

from pincite.documents import jsonl
from pincite.documents.body import Limits
from pincite.documents.collection import open_sources
from pincite.documents.jsonl import (
    FIRST_LINES,
    LABELS,
    LabelledClaim,
    Seen,
    documents,
    format_of,
    read_labelled,
)
from pincite.documents.read import read_path
from pincite.errors import InputError
from pincite.types import Document, Reason, Unchecked

Found = Document | Unchecked


def write(path: Path, *records: object) -> Path:
    lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
    data = "\n".join(lines).encode("utf-8", "surrogateescape")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def read(path: Path, *records: object, **limits: int) -> list[Found]:
    return list(read_path(write(path, *records), limits=Limits(**limits)))


def refusals(found: Sequence[Found]) -> list[Unchecked]:
    return [one for one in found if isinstance(one, Unchecked)]


def pages(found: Sequence[Found]) -> list[Document]:
    return [one for one in found if isinstance(one, Document)]


PLAIN = {"url": "https://e.org/1", "text": "Some words."}
BEIR = {"_id": "7", "title": "One", "text": "Some words.", "metadata": {}}
SPHERE = {"url": "https://e.org/1", "title": "One", "sha": "a", "raw": "Some words."}
KILT = {"wikipedia_id": "1", "wikipedia_title": "One", "text": ["One", "Some words."]}
CCNET = {
    "url": "https://e.org/1",
    "title": "One",
    "raw_content": "Some words.\nMore words.",
    "date_download": "2019-08-20T10:00:00Z",
    "digest": "sha1:A",
    "language": "en",
    "language_score": 0.99,
    "perplexity": 210.4,
    "bucket": "head",
}
QUERY = {"_id": "1", "text": "which words", "metadata": {"url": "https://e.org/"}}


@pytest.mark.parametrize(
    ("name", "record", "reader"),
    [
        ("a.jsonl", PLAIN, jsonl.PLAIN),
        ("a.jsonl", BEIR, jsonl.PLAIN),
        ("a.jsonl", SPHERE, jsonl.SPHERE),
        ("a.jsonl", {"url": "u", "id": 5, "raw": "words"}, jsonl.SPHERE),
        ("a.jsonl", SPHERE | {"text": "Other words."}, jsonl.PLAIN),
        ("a.jsonl", KILT, jsonl.KILT),
        ("a.NDJSON.gz", SPHERE, jsonl.SPHERE),
        ("a.json", SPHERE, jsonl.SPHERE),
        ("a.json.gz", KILT, jsonl.KILT),
        ("a.json", PLAIN, None),
        ("en_head_0000.json.gz", CCNET, jsonl.CCNET),
        ("a.jsonl", CCNET, jsonl.CCNET),
        ("a.json", {"name": "a package"}, None),
        ("a.jsonl", {"name": "nothing of it"}, jsonl.PLAIN),
        ("a.tsv", "id\ttext\ttitle", jsonl.DPR),
        ("a.tsv.gz", "\ufeffid\ttext\ttitle\r", jsonl.DPR),
        ("a.tsv", "query-id\tcorpus-id\tscore", None),
        ("a.txt", SPHERE, None),
        ("corpus.jsonl", {"_id": "1", "text": "no title, yet a document"}, jsonl.PLAIN),
        ("queries.jsonl", BEIR, jsonl.PLAIN),
        ("queries.jsonl", PLAIN, jsonl.PLAIN),
    ],
)
def test_the_first_record_decides(tmp_path: Path, name: str, record: Any, reader: object) -> None:
    assert format_of(write(tmp_path / name, record)) is reader


def test_ccnet(tmp_path: Path) -> None:
    path = write(tmp_path / "en_head_0000.json.gz", CCNET, "{", CCNET | {"raw_content": " "})
    first, *unread = read_path(path)
    page = document(first)
    assert (page.url, page.title, page.text) == ("https://e.org/1", "One", CCNET["raw_content"])
    assert (page.fetched, page.language) == ("2019-08-20T10:00:00Z", "en")
    assert page.meta == {"digest": "sha1:A", "bucket": "head"}
    assert [isinstance(one, Unchecked) and one.reason for one in unread] == [
        *(Reason.UNDECODABLE, Reason.EMPTY)
    ]
    assert open_sources(tmp_path).get("http://e.org/1") == page


def test_bad_lines_do_not_decide(tmp_path: Path) -> None:
    bad = ["{", "", "[1]", '"words"', "[" * 100_000, {"vector": [1]}]
    assert format_of(write(tmp_path / "a.json", *bad, SPHERE, PLAIN)) is jsonl.SPHERE
    late = ["{"] * FIRST_LINES
    assert format_of(write(tmp_path / "b.json", *late, SPHERE)) is None


def test_a_file_that_breaks_off_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(b"no gzip")
    found = refusal(*read_path(tmp_path / "a.jsonl.gz"))
    assert "breaks off" in found.detail


@pytest.mark.parametrize("name", ["queries.jsonl", "scifact-queries.jsonl.gz"])
def test_queries_are_refused(tmp_path: Path, name: str) -> None:
    found = refusal(*read_path(write(tmp_path / name, QUERY, QUERY)))
    assert found.reason is Reason.UNSUPPORTED_TYPE
    assert found.detail.startswith(f"{name}: these are the queries of a BEIR collection")
    assert "corpus.jsonl" in found.detail


def test_other_json_is_still_told_to_have_no_reader(tmp_path: Path) -> None:
    found = refusal(*read_path(write(tmp_path / "a.json", {"name": "a package"})))
    assert found.reason is Reason.UNSUPPORTED_TYPE


def test_documents_come_while_the_file_is_read(tmp_path: Path) -> None:
    lines = [SPHERE | {"url": f"https://e.org/{n}", "raw": "word " * 999} for n in range(99)]
    path = write(tmp_path / "a.jsonl", *lines)
    found = read_path(path)
    assert isinstance(next(found), Document)
    path.write_text("")  # what is not buffered yet is gone
    assert len(list(found)) < 98


GOOD = {
    "url": "https://e.org/1",
    "title": "One",
    "text": "Some words.",
    "date": "2001",
    "lang": "de",
}


def test_fields_of_json_lines(tmp_path: Path) -> None:
    record = GOOD | {"site": "E", "year": 3, "id": "x", "kind": "abstract", "text": "Some\t words."}
    for name in ("a.jsonl", "a.jsonl.gz"):
        (found,) = documents(write(tmp_path / name, record))
        assert found == Document(
            url="https://e.org/1",
            title="One",
            text="Some words.",
            kind="abstract",
            published="2001",
            language="de",
            meta={"site": "E", "id": "x"},
        )


def test_an_id_stands_in_for_the_url(tmp_path: Path) -> None:
    found = list(
        documents(write(tmp_path / "a.jsonl", {"id": 7, "text": "a"}, {"_id": "x", "text": "b"}))
    )
    assert [d.url for d in found] == ["7", "x"]
    assert [d.meta for d in pages(found)] == [{}, {}]


def test_beir(tmp_path: Path) -> None:
    records = [
        {"_id": "7", "title": "One", "text": "a", "metadata": {}},
        {"_id": "8", "title": "Two", "text": "b", "metadata": {"url": "https://e.org/2"}},
        {"_id": 9, "text": "c", "metadata": {"url": "https://e.org/3"}},
        {"_id": "10", "title": "A title only", "text": ""},
    ]
    found = list(documents(write(tmp_path / "corpus.jsonl", *records)))
    assert [d.url for d in found] == ["7", "https://e.org/2", "https://e.org/3", "10"]
    known = pages(found)
    assert [d.meta for d in known] == [{}, {"_id": "8"}, {"_id": "9"}, {}]
    assert [d.text for d in known] == ["a", "b", "c", "A title only"]


def test_a_bad_line_costs_only_itself(tmp_path: Path) -> None:
    nested = "[" * 100_000
    bad = [
        "{",
        "[1]",
        {"url": "u"},
        {"text": "t"},
        {"url": "u", "text": 5},
        nested,
        '"\\ud800"',
        "1" * 9_999,
    ]
    path = write(tmp_path / "bad.jsonl", GOOD, "", *bad, {"url": "u", "text": " "}, GOOD)
    found = list(documents(path))
    assert [type(f) for f in found] == [Document, *[Unchecked] * 9, Document]
    wrong = refusals(found)
    assert [f.reason for f in wrong] == [Reason.UNDECODABLE] * 8 + [Reason.EMPTY]
    assert wrong[0].detail.startswith("bad.jsonl line 3: no JSON")
    assert wrong[2].detail == "bad.jsonl line 5: no text"


def test_a_line_over_the_limit_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl.gz", GOOD, GOOD | {"text": "x" * 3_000_000}, GOOD)
    found = list(documents(path, Limits(line_bytes=1_000)))
    assert [type(f) for f in found] == [Document, Unchecked, Document]
    assert refusal(found[1]).reason is Reason.TOO_LARGE
    assert next(iter(documents(path, Limits(max_chars=5)))).url == "https://e.org/1"


def test_a_file_that_breaks_off(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl.gz", *[GOOD | {"n": str(i)} for i in range(2_000)])
    path.write_bytes(path.read_bytes()[:-100])
    *whole, last = documents(path)
    assert len(whole) > 100
    assert isinstance(last, Unchecked)
    assert "breaks off" in last.detail
    path.write_bytes(b"no gzip")
    refusal(*documents(path))


KILT_PAGE: dict[str, Any] = {
    "_id": "77",
    "wikipedia_id": "77",
    "wikipedia_title": "Varde Bridge",
    "text": [
        "Varde Bridge\n",
        "The bridge crosses the river.\n",
        "Section::::History.\n",
        "It opened in 1911.\n",
        "Section::::History.:Repairs.\n",
        "BULLET::::- The first arch\n",
        "BULLET::::- The second arch\n",
        "BULLET::::\n",
        "After that it was sound.\n",
    ],
    "anchors": [{"text": "river", "href": "River", "paragraph_id": 1, "start": 19, "end": 24}],
    "categories": "Bridges,Varde",
    "history": {"timestamp": "2019-08-01T10:00:00Z", "url": "https://en.wikipedia.org/w/?oldid=5"},
}


def test_a_page_of_kilt(tmp_path: Path) -> None:
    for name in ("kilt_knowledgesource.json", "kilt.json.gz", "kilt.jsonl"):
        assert read(tmp_path / name, KILT_PAGE) == [
            Document(
                url="https://en.wikipedia.org/w/?oldid=5",
                title="Varde Bridge",
                text=(
                    "The bridge crosses the river.\n\nHistory\n\nIt opened in 1911.\n\nRepairs\n\n"
                    "- The first arch\n- The second arch\n\nAfter that it was sound."
                ),
                kind="jsonl",
                fetched="2019-08-01T10:00:00Z",
                language="en",
                meta={"wikipedia_id": "77", "categories": "Bridges,Varde"},
            )
        ]


def test_the_id_of_kilt_stands_in_for_the_address(tmp_path: Path) -> None:
    (found,) = read(tmp_path / "k.json", KILT_PAGE | {"history": None, "wikipedia_id": 78})
    assert found.url == "https://en.wikipedia.org/?curid=78"


def test_a_bad_line_of_kilt_costs_only_itself(tmp_path: Path) -> None:
    bad = [
        KILT_PAGE | {"text": "one string"},
        KILT_PAGE | {"text": ["words", 5]},
        {"wikipedia_title": "A", "text": ["A", "words"]},
        KILT_PAGE | {"text": ["Varde Bridge\n", " "]},
        KILT_PAGE | {"text": ["x" * 999]},
    ]
    first, *wrong, last = read(tmp_path / "k.json", KILT_PAGE, *bad, "{", KILT_PAGE, max_chars=500)
    assert isinstance(first, Document)
    assert first == last
    reasons = "undecodable undecodable undecodable empty too_large undecodable".split()
    assert [w.reason for w in refusals(wrong)] == reasons


HARBOUR, MILL = "https://varde.example/harbour", "https://varde.example/mill"


def chunk(url: str, raw: str, **fields: Any) -> dict[str, Any]:
    known = {"id": f"id of {raw}", "url": url, "title": f"Page {url[-4:]}", "sha": "5ha"}
    return known | {"raw": raw, "vector": [0.5, 0.25]} | fields


def test_adjacent_chunks_are_one_document(tmp_path: Path) -> None:
    lines = [chunk(HARBOUR, "Two cranes."), chunk(HARBOUR, " A\tlight. "), chunk(MILL, "A wheel.")]
    harbour, mill = pages(read(tmp_path / "sphere.jsonl", *lines))
    assert harbour == Document(
        url=HARBOUR,
        title="Page bour",
        text="Two cranes.\n\nA light.",
        kind="jsonl",
        meta={"id": "id of Two cranes.", "sha": "5ha"},
    )
    assert (mill.url, mill.text) == (MILL, "A wheel.")


def test_chunks_that_come_back_are_documents_of_their_own(tmp_path: Path) -> None:
    texts = ["Two cranes.", "A light.", "A pier."]
    lines = [line for text in texts for line in (chunk(HARBOUR, text), chunk(MILL, text))]
    found = pages(read(tmp_path / "sphere.jsonl", *lines))
    assert len({d.url for d in found}) == 6
    of_harbour = [d for d in found if d.url.startswith(HARBOUR)]
    assert [d.text for d in of_harbour] == texts
    assert of_harbour[0].url == HARBOUR
    assert all(d.url.startswith(f"{HARBOUR}#") for d in of_harbour[1:])
    assert pages(read(tmp_path / "again.jsonl", *lines)) == found


def test_a_bad_line_does_not_end_a_page(tmp_path: Path) -> None:
    bad = ["{", chunk(HARBOUR, " "), {"url": HARBOUR}, {"sha": "1", "raw": "no address"}, [1]]
    lines = [chunk(HARBOUR, "Two cranes."), *bad, chunk(HARBOUR, "A light.")]
    *wrong, page = read(tmp_path / "sphere.jsonl", *lines)
    assert document(page).text == "Two cranes.\n\nA light."
    reasons = "undecodable empty undecodable undecodable undecodable".split()
    assert [w.reason for w in refusals(wrong)] == reasons
    assert refusals(wrong)[2].detail.startswith("sphere.jsonl line 4: ")


def test_a_page_without_end_becomes_several_documents(tmp_path: Path) -> None:
    lines = [chunk(HARBOUR, f"Crane number {n:03}.") for n in range(10)]
    found = pages(read(tmp_path / "sphere.jsonl", *lines, max_chars=60))
    assert [len(d.text) for d in found] == [17 * 3 + 4] * 3 + [17]
    assert len({d.url for d in found}) == 4
    assert "\n\n".join(d.text for d in found) == "\n\n".join(line["raw"] for line in lines)
    wrong = refusal(*read(tmp_path / "long.jsonl", chunk(HARBOUR, "x" * 61), max_chars=60))
    assert wrong.reason is Reason.TOO_LARGE


def test_what_was_seen_is_never_forgotten_and_little_else_is_known() -> None:
    seen = Seen()
    urls = [f"https://e.org/{n}" for n in range(3_000)]
    assert sum(seen.add(url) for url in urls) <= 1
    assert all(seen.add(url) for url in urls)


HEADER = "id\ttext\ttitle"


def test_passages_of_a_title_are_one_document(tmp_path: Path) -> None:
    rows = (
        '1\t"The ""old"" bridge was"\tVarde Bridge',
        "2\topened in 1911.\tVarde Bridge",
        "3\tÆ is a letter.\tÆ/Ø",
    )
    for name in ("psgs_w100.tsv", "psgs_w100.tsv.gz"):
        bridge, letter = read(tmp_path / name, HEADER, *rows)
        assert bridge == Document(
            url="https://en.wikipedia.org/wiki/Varde_Bridge",
            title="Varde Bridge",
            text='The "old" bridge was opened in 1911.',
            kind="tsv",
            meta={"id": "1"},
        )
        assert letter.url == "https://en.wikipedia.org/wiki/%C3%86/%C3%98"


def test_a_title_that_comes_back_is_not_lost(tmp_path: Path) -> None:
    rows = ("1\tOne.\tA", "2\tTwo.\tB", "3\tThree.\tA")
    found = read(tmp_path / "p.tsv", HEADER, *rows)
    assert [d.text for d in pages(found)] == ["One.", "Two.", "Three."]
    assert len({d.url for d in found}) == 3


def test_a_bad_row_costs_only_itself(tmp_path: Path) -> None:
    rows = ("1\tOne.\tA", "2\tno title", "3\t \tA", "4\tx\t", "5\t\udcff\tA", "6\tSix.\tA")
    *wrong, page = read(tmp_path / "p.tsv", HEADER, *rows, "7\t" + "x" * 99 + "\tA", line_bytes=60)
    assert document(page).text == "One. Six."
    reasons = "undecodable empty undecodable undecodable too_large".split()
    assert [w.reason for w in refusals(wrong)] == reasons


def test_a_quotation_mark_that_is_never_closed_swallows_nothing(tmp_path: Path) -> None:
    rows = ('1\t"Old bridge\tA', '2\tthe "new" one\tA')
    assert document(*read(tmp_path / "p.tsv", HEADER, *rows)).text == '"Old bridge the "new" one'


# ── Labelled claims ──────────────────────────────────────────────────────────────────────────────

ROW = {"id": 7, "claim": "The mill is old.", "evidence": "A mill.", "label": "support"}


def line(**changes: Any) -> str:
    return json.dumps({key: v for key, v in (ROW | changes).items() if v is not ...})


def file(folder: Path, *lines: str | bytes, name: str = "claims.jsonl") -> Path:
    content = b"\n".join(x if isinstance(x, bytes) else x.encode() for x in lines)
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return folder / name


@pytest.mark.parametrize("name", ["claims.jsonl", "claims.jsonl.gz"])
def test_rows_come_in_order_and_empty_lines_count_for_nothing(tmp_path: Path, name: str) -> None:
    path = file(tmp_path, line(), "", line(id="b", label="nei", meta={"page": 3}), name=name)
    rows = list(read_labelled(path))
    assert rows[0] == LabelledClaim("7", "The mill is old.", "A mill.", "support")
    assert (rows[1].row_id, rows[1].label, rows[1].meta) == ("b", "nei", {"page": 3})


@pytest.mark.parametrize("label", LABELS)
def test_every_label_is_known(tmp_path: Path, label: str) -> None:
    assert next(read_labelled(file(tmp_path, line(label=label)))).label == label


BAD: list[str | bytes] = [
    *("{broken", "[1, 2]", "3", "null", "[" * 100_000, b"\x00\xff\xfe\x80\x81"),
    *(line(**{field: ...}) for field in ("id", "claim", "evidence", "label")),
    *(line(label=label) for label in ("SUPPORTS", ["support"])),
    *(line(claim=claim) for claim in (3, "  \t")),
    *(line(evidence=evidence) for evidence in (None, "\ud83d")),
    line(meta=[1]),
    line(claim="x").encode().replace(b"x", b"\xe9"),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: repr(bad[:40]))
def test_a_bad_row_is_told_with_its_line_and_skipped_on_request(
    tmp_path: Path, bad: str | bytes
) -> None:
    path = file(tmp_path, line(), bad, line(id="last"))
    with pytest.raises(InputError, match=r"claims\.jsonl line 2: "):
        list(read_labelled(path))
    heard: list[InputError] = []
    assert [row.row_id for row in read_labelled(path, heard.append)] == ["7", "last"]
    assert len(heard) == 1
    assert f"{path} line 2" in str(heard[0])


@pytest.mark.parametrize("how", ["cut", "changed", "no gzip"])
def test_a_damaged_archive_cannot_be_read(tmp_path: Path, how: str) -> None:
    rows = (line(id=n, claim=f"Claim {n * 7919}") for n in range(400))
    path = file(tmp_path, *rows, name="claims.jsonl.gz")
    content = path.read_bytes()
    half = len(content) // 2
    damaged = {
        "cut": content[:half],
        "changed": content[:half] + b"\xff" * 40 + content[half + 40 :],
        "no gzip": b"plain text, not gzip\n",
    }
    path.write_bytes(damaged[how])
    with pytest.raises(InputError, match=r"claims\.jsonl\.gz cannot be read"):
        list(read_labelled(path, lambda bad: None))


def test_a_file_that_is_not_there_or_is_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            list(read_labelled(path))
