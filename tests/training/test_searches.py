"""Searches from claims files and WAFER-like records: documents, negatives, what a teacher says."""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pincite.documents.lines.labelled import LabelledClaim
from pincite.errors import InputError
from pincite.training.encoder.searches import (
    Search,
    Sources,
    _drawn,
    asked_of,
    context_of,
    documents_by_query,
    key_of,
    read_either,
    read_searches,
    searches_of,
)
from pincite.training.groups import write_groups
from pincite.training.recipe import EncoderRecipe, SetRecipe

Write = Callable[[Path, list[Any]], Path]
RECIPE = EncoderRecipe(sets=(SetRecipe("towns"),))


def row(claim: str, evidence: str, label: str = "support", **meta: Any) -> LabelledClaim:
    return LabelledClaim("r", claim, evidence, label, meta)


def made(
    rows: Sequence[LabelledClaim], recipe: EncoderRecipe = RECIPE, **given: Any
) -> list[Search]:
    sources = Sources(documents_by_query(rows), given.get("found", {}), given.get("judge"))
    return list(searches_of(rows, SetRecipe("towns", visits=2), recipe, sources))


def test_every_document_of_a_claim_is_its_own_whatever_was_said_of_it() -> None:
    rows = [row("The mill.", "A."), row("The mill.", "B.", "nei"), row("The tower.", "C.")]
    mill, _, tower, _ = made(rows)
    assert mill.documents == (key_of("A."), key_of("B."))
    assert tower.documents == (key_of("C."),)


@pytest.mark.parametrize(("refuted", "n"), [(True, 6), (False, 4)])
def test_which_labels_are_to_be_found(refuted: bool, n: int) -> None:
    labels = ["support", "refute", "partial", "nei", "not_support"]
    rows = [row(f"Claim {label}.", f"Text {label}.", label) for label in labels]
    found = made(rows, EncoderRecipe(sets=RECIPE.sets, refuted=refuted))
    assert len(found) == n, "two visits each"


def test_context_names_the_query_and_the_page_its_passages() -> None:
    context = {"title": "Holm", "section": ["History"], "before": "Old.", "page": "Mills of Holm"}
    given = row("It was opened.", "The mill was opened.", context=context)
    found, _ = made([given])
    assert (found.title, found.section, found.before) == ("Holm", ("History",), "Old.")
    assert found.claim.text == "It was opened."
    assert found.passages == ("Mills of Holm\nThe mill was opened.",)
    assert asked_of(given) == "Holm It was opened."


@pytest.mark.parametrize("context", [3, {"title": 4, "section": 5}, {"section": None}])
def test_a_context_of_another_form_is_no_error(context: Any) -> None:
    title, _, before, page = context_of(row("a", "b", context=context))
    assert (title, before, page) == ("", "", "")


FOUND = [("d1", "one"), ("d2", "two"), ("d3", "three"), ("d4", "four")]


def test_what_the_teacher_confuses_is_taken_and_what_it_believes_is_not() -> None:
    scored = {"right": 1.0, "one": 2.0, "two": 0.5, "three": -1.0, "four": 0.9}
    recipe = EncoderRecipe(sets=RECIPE.sets, negatives=1, confusing=2)
    drawn = _drawn(("right",), FOUND, scored, recipe, random.Random(0))
    assert drawn == (("d4", "four"), ("d2", "two"), ("d3", "three"))
    blind = _drawn(("right",), FOUND, {}, recipe, random.Random(0))
    assert len(blind) == 1, "nobody said which are confusing"


def test_scores_stand_in_the_order_of_passages_and_negatives() -> None:
    asked: list[tuple[str, str]] = []

    def judge(pairs: Sequence[tuple[str, str]]) -> list[float]:
        asked.extend(pairs)
        return [-float(len(text)) for _, text in pairs]

    given = row("The mill.", "It is.")
    found, _ = made([given], found={"The mill.": FOUND}, judge=judge)
    texts = [*found.passages, *(text for _, text in found.negatives)]
    assert found.scores == tuple(-float(len(text)) for text in texts)
    assert len(found.negatives) == 0, "all are shorter, and so believed more than the right one"
    assert {claim for claim, _ in asked} == {"The mill."}


def test_searches_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    context = {"title": "Holm", "section": ["a", "b"]}
    found = made([row("The mill.", "It is.", context=context)], found={"Holm The mill.": FOUND})
    assert found[0].negatives
    write_groups(tmp_path / "groups.jsonl", found)
    assert read_searches(tmp_path / "groups.jsonl") == found


def record(number: int, url: str, **page: str) -> dict[str, Any]:
    text = "Holm [SEP] Section::::History [SEP] It is old. The mill was opened in 1811.[CIT]"
    output = [{"answer": url, "provenance": [{"url": url, **page}]}]
    return {"id": f"w{number}", "input": text, "output": output}


def test_records_bring_the_text_of_their_page_or_find_it_beside(
    tmp_path: Path, write: Write
) -> None:
    lines = [
        record(1, "http://a", text="The mill.", title="Mills"),
        record(2, "http://b"),
        record(3, "http://nowhere"),
        "not json",
        {**record(4, "http://b"), "input": "a [SEP] b [SEP] c [SEP] d"},
    ]
    write(tmp_path / "towns.jsonl.gz", lines)
    pages = [{"url": "http://b", "title": "Old Holm", "text": "A mill by the river."}, "bad"]
    write(tmp_path / "corpus-towns.jsonl", pages)
    bad: list[str] = []
    rows = list(read_either(tmp_path / "towns.jsonl.gz", lambda error: bad.append(str(error))))
    assert [(r.row_id, r.claim, r.evidence) for r in rows] == [
        ("w1", "The mill was opened in 1811.", "The mill."),
        ("w2", "The mill was opened in 1811.", "A mill by the river."),
    ]
    assert context_of(rows[0]) == ("Holm", ("History",), "It is old.", "Mills")
    assert context_of(rows[1])[3] == "Old Holm"
    assert len(bad) == 4
    for words in ("corpus-towns.jsonl line 2", "record w3 has no cited page", "line 4", "w4"):
        assert [message for message in bad if words in message], words


def test_claims_files_are_read_as_before(tmp_path: Path, write: Write) -> None:
    path = write(tmp_path / "a.jsonl", [{"id": 1, "claim": "c", "evidence": "e", "label": "nei"}])
    assert [r.claim for r in read_either(path, lambda _: None)] == ["c"]
    for content in (b"", b"\xff\n", json.dumps([1]).encode()):
        path.write_bytes(content)
        bad: list[InputError] = []
        assert list(read_either(path, bad.append)) == []
        assert len(bad) == bool(content)
