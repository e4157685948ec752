import gzip
from pathlib import Path

from pincite.documents.body import Limits
from pincite.documents.read import read_path
from pincite.types import Document, Reason, Unchecked

HEADER = "id\ttext\ttitle"


def read(path: Path, *lines: str, **limits: int) -> list[Document | Unchecked]:
    data = "\r\n".join(lines).encode("utf-8", "surrogateescape")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return list(read_path(path, limits=Limits(**limits)))


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
    assert [d.text for d in found if isinstance(d, Document)] == ["One.", "Two.", "Three."]
    assert len({d.url for d in found}) == 3


def test_a_bad_line_costs_only_itself(tmp_path: Path) -> None:
    rows = ("1\tOne.\tA", "2\tno title", "3\t \tA", "4\tx\t", "5\t\udcff\tA", "6\tSix.\tA")
    *wrong, page = read(tmp_path / "p.tsv", HEADER, *rows, "7\t" + "x" * 99 + "\tA", line_bytes=60)
    assert isinstance(page, Document)
    assert page.text == "One. Six."
    assert [w.reason for w in wrong if isinstance(w, Unchecked)] == [
        Reason.UNDECODABLE,
        Reason.EMPTY,
        Reason.UNDECODABLE,
        Reason.UNDECODABLE,
        Reason.TOO_LARGE,
    ]
    assert isinstance(wrong[0], Unchecked)
    assert wrong[0].detail == "p.tsv line 3: 2 columns; id, text and title were expected"


def test_a_quotation_mark_that_is_never_closed_swallows_nothing(tmp_path: Path) -> None:
    rows = ('1\t"Old bridge\tA', '2\tthe "new" one\tA')
    (found,) = read(tmp_path / "p.tsv", HEADER, *rows)
    assert isinstance(found, Document)
    assert found.text == '"Old bridge the "new" one'
