import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pincite.documents.body import Limits
from pincite.documents.jsonl import Seen
from pincite.documents.read import read_path
from pincite.types import Document, Reason, Unchecked

HARBOUR, MILL = "https://varde.example/harbour", "https://varde.example/mill"


def chunk(url: str, raw: str, **fields: Any) -> dict[str, Any]:
    known = {"id": f"id of {raw}", "url": url, "title": f"Page {url[-4:]}", "sha": "5ha"}
    return known | {"raw": raw, "vector": [0.5, 0.25]} | fields


def read(path: Path, lines: Sequence[object], **limits: int) -> list[Document | Unchecked]:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts))
    return list(read_path(path, limits=Limits(**limits)))


def documents(found: Sequence[Document | Unchecked]) -> list[Document]:
    return [one for one in found if isinstance(one, Document)]


def test_adjacent_chunks_are_one_document(tmp_path: Path) -> None:
    lines = [chunk(HARBOUR, "Two cranes."), chunk(HARBOUR, " A\tlight. "), chunk(MILL, "A wheel.")]
    harbour, mill = documents(read(tmp_path / "sphere.jsonl", lines))
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
    found = documents(read(tmp_path / "sphere.jsonl", lines))
    assert len({d.url for d in found}) == 6
    of_harbour = [d for d in found if d.url.startswith(HARBOUR)]
    assert [d.text for d in of_harbour] == texts
    assert of_harbour[0].url == HARBOUR
    assert all(d.url.startswith(f"{HARBOUR}#") for d in of_harbour[1:])
    assert documents(read(tmp_path / "again.jsonl", lines)) == found


def test_a_bad_line_does_not_end_a_page(tmp_path: Path) -> None:
    bad = ["{", chunk(HARBOUR, " "), {"url": HARBOUR}, {"sha": "1", "raw": "no address"}, [1]]
    lines = [chunk(HARBOUR, "Two cranes."), *bad, chunk(HARBOUR, "A light.")]
    *wrong, page = read(tmp_path / "sphere.jsonl", lines)
    assert isinstance(page, Document)
    assert page.text == "Two cranes.\n\nA light."
    assert [w.reason for w in wrong if isinstance(w, Unchecked)] == [
        Reason.UNDECODABLE,
        Reason.EMPTY,
        *[Reason.UNDECODABLE] * 3,
    ]
    details = [w.detail for w in wrong if isinstance(w, Unchecked)]
    assert details[0].startswith("sphere.jsonl line 2: no JSON")
    assert details[2] == "sphere.jsonl line 4: no raw, the text of the chunk"
    assert details[3] == "sphere.jsonl line 5: no url"


def test_a_page_without_end_becomes_several_documents(tmp_path: Path) -> None:
    lines = [chunk(HARBOUR, f"Crane number {n:03}.") for n in range(10)]
    found = documents(read(tmp_path / "sphere.jsonl", lines, max_chars=60))
    assert [len(d.text) for d in found] == [17 * 3 + 4] * 3 + [17]
    assert len({d.url for d in found}) == 4
    assert "\n\n".join(d.text for d in found) == "\n\n".join(line["raw"] for line in lines)
    (wrong,) = read(tmp_path / "long.jsonl", [chunk(HARBOUR, "x" * 61)], max_chars=60)
    assert isinstance(wrong, Unchecked)
    assert wrong.reason is Reason.TOO_LARGE


def test_what_was_seen_is_never_forgotten_and_little_else_is_known() -> None:
    seen = Seen()
    urls = [f"https://e.org/{n}" for n in range(3_000)]
    assert sum(seen.add(url) for url in urls) <= 1
    assert all(seen.add(url) for url in urls)
