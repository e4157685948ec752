"""Rows of question, abstracts and answer as lessons: what is left out, cut, and numbered anew."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pincite.errors import InputError
from pincite.llm.templates import Templates
from pincite.text.citation_marks import cited_sentences
from pincite.training.answer_rows import (
    Abstract,
    Lesson,
    Row,
    Sieve,
    cited_places,
    lesson_of,
    read_rows,
)

TEMPLATES = Templates.load("en", "en")
ROW = Row(
    "Do mills grind?",
    tuple(Abstract(str(n), f"Title {n}", f"Text of the abstract {n}.") for n in range(101, 107)),
    "They do (PUBMED:102). Some more than others [5, 6].",
)


def words(lesson: Lesson) -> int:
    return len(f"{lesson.system} {lesson.user} {lesson.answer}".split())


def sieve(most: int = 10_000, seed: int = 13, control: frozenset[str] = frozenset()) -> Sieve:
    return Sieve(TEMPLATES, words, most, seed, control)


def shown_in(lesson: Lesson) -> list[str]:
    """PMIDs in the order of the prompt."""
    return [line.split("PUBMED:")[1] for line in lesson.user.splitlines() if line[0:1] == "["]


def named(lesson: Lesson) -> set[str]:
    """PMIDs that the answer names by id or by number."""
    shown, ids = shown_in(lesson), set[str]()
    for sentence in cited_sentences(lesson.answer):
        ids |= {i[7:] if ":" in i else shown[int(i) - 1] for i in sentence.ids}
    return ids


def test_a_lesson_asks_as_ask_does_and_fences_every_abstract() -> None:
    lesson = lesson_of(ROW, [1, 0], TEMPLATES)
    assert "answer in English" in lesson.system
    assert "never an instruction" in lesson.system
    assert lesson.user.index("[1] PUBMED:102\n<data") < lesson.user.index("[2] PUBMED:101\n<data")
    assert lesson.user.count("<data ") == 3  # two abstracts and the question
    assert "Title 102\nText of the abstract 102.\n</data" in lesson.user
    german = lesson_of(ROW, [0], Templates.load("de", "de"))
    assert "antwortest auf Deutsch" in german.system


def test_all_abstracts_are_shown_in_a_seeded_order_and_references_go_with_them() -> None:
    orders = set()
    for seed in range(5):
        one = sieve(seed=seed)
        one.add(ROW)
        (lesson,) = one.kept
        assert sorted(shown_in(lesson)) == [each.ref_id for each in ROW.abstracts]
        assert named(lesson) == {"102", "105", "106"}
        assert "(PUBMED:102)" in lesson.answer
        orders.add(tuple(shown_in(lesson)))
        again = sieve(seed=seed)
        again.add(ROW)
        assert again.kept == one.kept
    assert len(orders) > 2


@pytest.mark.parametrize("n_shown", [3, 4, 5, 6])
def test_what_is_cut_is_never_cited_and_always_counted(n_shown: int) -> None:
    whole = words(lesson_of(ROW, range(6), TEMPLATES))
    of_one = whole - words(lesson_of(ROW, range(5), TEMPLATES))
    one = sieve(whole - (6 - n_shown) * of_one)
    one.add(ROW)
    (lesson,) = one.kept
    assert words(lesson) <= one.max_tokens
    assert len(shown_in(lesson)) == n_shown
    assert named(lesson) == {"102", "105", "106"}
    # The best of those that are not cited stay.
    best = {"101", "103", "104"} & set(shown_in(lesson))
    assert best == set(["101", "103", "104"][: n_shown - 3])
    assert (one.n_abstracts_cut, one.n_cut) == (6 - n_shown, int(n_shown < 6))


def test_a_row_whose_cited_abstracts_do_not_fit_is_left_out_and_counted() -> None:
    one = sieve(words(lesson_of(ROW, [1, 4, 5], TEMPLATES)) - 1)
    one.add(ROW)
    assert not one.kept
    assert one.dropped == {"whose answer and cited abstracts need more than max_tokens": 1}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"answer": "They do (PUBMED:999)."}, "cites what is not among its abstracts"),
        ({"answer": "They do [1, 7]."}, "cites what is not among its abstracts"),
        ({"answer": "They do [0]."}, "cites what is not among its abstracts"),
        ({"answer": "They do, as PMID 999 says."}, "cites what is not among its abstracts"),
        ({"answer": " "}, "without a question or an answer"),
        ({"question": ""}, "without a question or an answer"),
        ({"abstracts": ()}, "without abstracts"),
        ({"abstracts": (Abstract("102", "T", " "),)}, "without abstracts, or with an empty one"),
        ({"abstracts": (Abstract("102", "T", "x"),) * 2}, "two abstracts one id"),
        ({"answer": "They do <|end|>."}, "hold a token"),
        ({"abstracts": (*ROW.abstracts, Abstract("1", "", "<|end|>"))}, "hold a token"),
    ],
)
def test_bad_rows_are_counted_with_their_reason(change: dict[str, Any], why: str) -> None:
    one = sieve(control=frozenset({"<|end|>"}))
    one.add(replace(ROW, **change))
    one.add(ROW)
    assert (one.n_rows, len(one.kept)) == (2, 1)
    ((reason, count),) = one.dropped.items()
    assert why in reason
    assert count == 1


def test_an_answer_without_references_is_learnt_and_counted() -> None:
    one = sieve()
    one.add(replace(ROW, answer="The abstracts do not say."))
    assert one.n_without_reference == 1
    assert len(one.kept) == 1


def test_ids_are_read_in_every_spelling(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    ids = [7, "PUBMED:8", "pmid 9", "doc-10"]
    abstracts: list[dict[str, Any]] = [{"id": i, "text": "x"} for i in ids]
    path.write_text(
        json.dumps({"question": "q", "abstracts": abstracts, "answer": "a (PMID:8) [4]"})
    )
    (row,) = read_rows(path, lambda error: None)
    assert [each.ref_id for each in row.abstracts] == ["7", "8", "9", "doc-10"]
    assert cited_places(row) == [1, 3]
    lesson = lesson_of(row, [3, 1], TEMPLATES)
    assert "[1]\n<data" in lesson.user  # an id that is no PMID is not shown
    assert lesson.answer == "a (PMID:8) [1]"


def test_lines_that_are_no_rows_are_told_with_their_number(tmp_path: Path) -> None:
    path, told = tmp_path / "rows.jsonl", list[str]()
    good = '{"question": "q", "abstracts": [{"id": 1, "text": "x"}], "answer": "a"}'
    bad = [
        "{",
        "[]",
        '{"question": "q"}',
        good.replace('"q"', "1"),
        good.replace("[{", '["').replace("}]", '"]'),
    ]
    bad += [good.replace('"id": 1', '"id": [1]'), good.replace('"a"', '"\\ud800"')]
    path.write_text("\n".join([*bad, "", good]))
    assert len(list(read_rows(path, lambda error: told.append(str(error))))) == 1
    assert len(told) == len(bad)
    assert "line 1: expected an object with" in told[0]
    with pytest.raises(InputError, match="cannot be read"):
        list(read_rows(tmp_path / "none.jsonl", lambda error: None))
