"""Files of labelled claims: what is read, and how what cannot be is told."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from pincite.documents.jsonl import LABELS, LabelledClaim, read_labelled
from pincite.errors import InputError

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


BAD = {
    "broken": "{broken",
    "list": "[1, 2]",
    "number": "3",
    "null": "null",
    "no id": line(id=...),
    "no claim": line(claim=...),
    "no evidence": line(evidence=...),
    "no label": line(label=...),
    "unknown label": line(label="SUPPORTS"),
    "label is a list": line(label=["support"]),
    "claim is a number": line(claim=3),
    "claim is empty": line(claim="  \t"),
    "evidence is null": line(evidence=None),
    "meta is a list": line(meta=[1]),
    "half a surrogate pair": line(evidence="\ud83d"),
    "binary": b"\x00\xff\xfe\x80\x81",
    "latin-1": line(claim="x").encode().replace(b"x", b"\xe9"),
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
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


def test_the_message_lists_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"label is 'yes'; expected one of support, refute, nei"):
        list(read_labelled(file(tmp_path, line(label="yes"))))
    with pytest.raises(InputError, match=r"with id, evidence, claim, label; got KeyError\('claim'"):
        list(read_labelled(file(tmp_path, line(claim=...))))


def damaged(folder: Path, how: str) -> Path:
    """A gzipped file of rows that was cut, changed within, or never was one."""
    path = file(folder, *(line(id=n, claim=f"Claim {n * 7919}") for n in range(400)),
                name="claims.jsonl.gz")  # fmt: skip
    content = bytearray(path.read_bytes())
    if how == "cut":
        content = content[: len(content) // 2]
    elif how == "changed":
        middle = len(content) // 2
        content[middle : middle + 40] = b"\xff" * 40
    else:
        content = bytearray(b"plain text, not gzip\n")
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("how", ["cut", "changed", "no gzip"])
def test_a_damaged_archive_cannot_be_read(tmp_path: Path, how: str) -> None:
    heard: list[InputError] = []
    with pytest.raises(InputError, match=r"claims\.jsonl\.gz cannot be read"):
        list(read_labelled(damaged(tmp_path, how), heard.append))


def test_a_file_that_is_not_there_or_is_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            list(read_labelled(path))
