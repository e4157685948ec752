"""WAFER-like collections: answers in context, and failed verification (fig. 2c)."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from evaluation.invented import BRIDGE, FILLER, WordVerifier
from support.files import write_records

from pincite.cli import cli
from pincite.errors import InputError
from pincite.types import Document, Hit, Passage, Span
from pincite_lab.wafer.collection import Output, Provenance, WaferRecord
from pincite_lab.wafer.measures import contrasted, in_context, measured, open_collection

BRIDGE_CLAIM = "The bridge of Varde opened in 1911."


def record(number: int, url: str, claim: str = BRIDGE_CLAIM, **fields: Any) -> WaferRecord:
    output = Output(url, (Provenance(url),))
    return WaferRecord(str(number), f"Varde [SEP] {claim}[CIT]", (output,), **fields)


GOOD = [
    record(n, f"https://a.example/news/2011/{n}", featured=True, wikipedia_title="Varde")
    for n in range(6)
]
BAD = [
    record(10 + n, f"https://b.example/{n}", "A king paid 900 coins.", failed_verification=True)
    for n in range(3)
]
OTHER = record(20, "https://c.example/")


def pages(urls: Sequence[str]) -> list[Document | None]:
    return [None if "/gone" in url else Document(url, "Page", FILLER + BRIDGE) for url in urls]


def measure(records: Sequence[WaferRecord], of: Any = pages, verifier: Any = ...) -> dict[str, Any]:
    verifier = WordVerifier() if verifier is ... else verifier
    found = measured(records, of, verifier, lambda *_: None)
    return found or {}


def test_failing_citations_are_told_from_featured_ones() -> None:
    found = measure([*GOOD, *BAD, OTHER])
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


def test_citations_without_a_page_are_left_out_and_counted() -> None:
    gone = record(30, "https://a.example/gone", featured=True)
    found = measure([*GOOD, gone, *BAD])
    assert found["n_without_page"] == 1
    assert {one["n"] for one in found["systems"].values()} == {9}


def test_without_pages_only_the_addresses_are_measured() -> None:
    found = measure([*GOOD, *BAD], None, None)
    assert list(found["systems"]) == ["URL depth"]
    assert found["n_without_page"] == 0


def test_the_records_own_passages_stand_in_for_a_page() -> None:
    provenance = (Provenance("https://a.example/", "1", "Page", BRIDGE),)
    held = WaferRecord("1", f"{BRIDGE_CLAIM}[CIT]", (Output("x", provenance),), featured=True)
    found = measure([held, *BAD], lambda urls: [None] * len(urls))
    assert found == {}  # nothing failing has a page
    texts = [Output("{Failed verification}", (Provenance("u", "1", "", "Warm bread."),))]
    failing = WaferRecord("2", f"{BRIDGE_CLAIM}[CIT]", tuple(texts))
    found = measure([held, failing], lambda urls: [None])
    assert found["systems"]["pincite"]["auroc"] == 1.0


def test_what_failing_citations_are_compared_with() -> None:
    labelled = [record(1, "u", label="supported"), record(2, "u", label="not_supported")]
    assert contrasted([*GOOD, *BAD, OTHER, *labelled])[0] == "featured"
    name, rows = contrasted([*labelled, record(3, "u", label="partially_supported"), OTHER])
    assert name == "labelled"
    assert [label for _, label in rows] == ["support", "not_support", "partial"]
    assert contrasted([*BAD, OTHER])[0] == "others"
    assert contrasted(BAD) == contrasted([*GOOD, OTHER]) == ("", [])
    assert measure(GOOD) == {}
    gone = record(4, "https://b.example/gone", label="not_supported")
    partly = record(5, "https://b.example/", label="partially_supported")
    assert measure([labelled[0], partly, gone]) == {}


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
    found = in_context(asked, {"sparse": run})
    assert found["n"] == 2
    assert (found["sparse"]["AiC@1"], found["sparse"]["AiC@10"]) == (0.0, 1.0)
    assert in_context(asked[2:], {"sparse": run[2:]}) == {"n": 0}


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
    plot = tmp_path / "figure.png"
    result = CliRunner().invoke(cli, [*command, "--plot", str(plot)], catch_exceptions=False)
    assert "failing citations against featured (6 support, 3 not_support" in result.output
    assert plot.read_bytes().startswith(b"\x89PNG")
    found = json.loads(CliRunner().invoke(cli, [*command, "--json"]).output)
    assert found["failed_verification"]["systems"]["URL depth"]["auroc"] == 1.0
    assert (found["n"], found["n_failed"]) == (6, 3)
