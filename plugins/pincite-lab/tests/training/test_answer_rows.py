"""Reports of `ask` as rows to learn from, and rows as lessons."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pincite.cli import cli
from pincite.completions import Usage
from pincite.errors import InputError
from pincite.judgement.references import ReferenceVerdict, Standing, Support, standing
from pincite.llm.templates import Templates
from pincite.text import citation_marks
from pincite.text.passages import passages
from pincite.types import Document, Evidence
from pincite.verbs.ask.report import Answer, AnswerReport, Checked, Reference, Searched
from pincite_lab.training.answer_rows import (
    Abstract,
    Lesson,
    LessonMaker,
    Row,
    RowMaker,
    cited_places,
    lesson_of,
    read_rows,
)

GOOD = "Oil helped the old mills [1]. New ones need none [1, 2]."
URL = "https://e.org/mills"


def paper(n: int, text: str = "", **meta: str) -> Document:
    known = {"pmid": str(n), **meta} if n else meta
    return Document(f"https://p.example/{n}" if n else URL, f"On mills {n}", text or f"Mill {n}.",
                    meta=known)  # fmt: skip


def answer(
    text: str = GOOD,
    question: str = "Does oil help mills?",
    *,
    papers: Sequence[Document] = (),
    by: str = "m",
    wrong: Sequence[str] = (),
    **given: Any,
) -> Answer:
    """Sentences whose references all support them, but for those of `wrong`."""
    listed = papers or [paper(n) for n in (11, 12, 13)]
    numbered = enumerate(listed, 1)
    references = [Reference(n, each.meta.get("pmid") or each.url, each) for n, each in numbered]
    known = {each.ref_id: each.number for each in references}
    sentences = []
    for found in citation_marks.cited_sentences(text):
        support = Support.NO_EVIDENCE if found.text in wrong else Support.SUPPORTS
        verdicts = []
        for written in found.ids:
            number = citation_marks.find_number(written, known)
            passage = passages(references[number - 1].document)[-1] if number else None
            said = support if number else Support.NO_SUCH_REFERENCE
            evidence = Evidence(passage, 0.9, 0.0, 0.1, 1.0) if passage else None
            verdicts.append(ReferenceVerdict(said, evidence, written=written, number=number))
        together = standing(each.support for each in verdicts)
        sentences.append(Checked(found, tuple(verdicts), together))
    ids = tuple(reversed([each.ref_id for each in references]))
    searched = Searched("5f", 3, "weighted", found=ids)
    return Answer(question, text, tuple(sentences), tuple(references), by, searched, **given)


def write(path: Path, *answers: Answer) -> Path:
    versions = {"verifier": "words"}
    report = AnswerReport(
        answers=answers,
        n_questions=len(answers),
        usage=Usage(),
        warnings_coded=(),
        settings={},
        versions=versions,
        created="2026-01-02",
    )
    path.write_text(report.to_json(), encoding="utf-8")
    return path


def built(tmp_path: Path, *answers: Answer) -> RowMaker:
    found = RowMaker()
    found.add(write(tmp_path / "answers.json", *answers))
    return found


def test_a_row_cites_by_id_and_has_the_references_of_the_prompt(tmp_path: Path) -> None:
    (row,) = built(tmp_path, answer()).rows
    assert row["answer"] == (
        "Oil helped the old mills (PUBMED:11). New ones need none (PUBMED:11, PUBMED:12)."
    )
    assert [each["id"] for each in row["abstracts"]] == ["13", "12", "11"]
    assert row["abstracts"][0] == {"id": "13", "title": "On mills 13", "text": "Mill 13."}


def test_what_is_no_paper_is_cited_by_its_place(tmp_path: Path) -> None:
    (row,) = built(tmp_path, answer(papers=[paper(0), paper(11), paper(12)])).rows
    assert row["answer"].endswith("New ones need none [3, 2].")
    assert row["abstracts"][2]["id"] == URL


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"wrong": ["New ones need none."]}, "not verified"),
        ({"text": "Oil helps [1]. It costs little."}, "no reference"),
        ({"text": "Oil helps [1]. It costs little [1, 9]."}, "not verified"),
        ({"cut": True}, "to the end"),
        ({"failure": "the server went away"}, "to the end"),
        ({"papers": [paper(11, retracted="yes"), paper(12)]}, "retracted"),
    ],
)
def test_what_makes_no_row(tmp_path: Path, given: dict[str, Any], why: str) -> None:
    found = built(tmp_path, answer(**given))
    assert found.rows == []
    ((told, n),) = found.left_out.items()
    assert why in told
    assert n == 1


def test_a_long_document_gives_what_was_quoted(tmp_path: Path) -> None:
    lines = "\n".join(f"Mill {n} was built by hand and ran all year." for n in range(900))
    (row,) = built(tmp_path, answer("It ran [1].", papers=[paper(11, lines)])).rows
    text = row["abstracts"][0]["text"]
    assert len(text) < 6_500
    assert "Mill 899 " in text
    assert "Mill 500 " not in text


def test_no_question_is_in_two_parts(tmp_path: Path) -> None:
    answers = [answer("It does [1].", f"Question {n}?") for n in range(120)]
    answers.append(answer("It does [2].", "QUESTION  3"))
    found = built(tmp_path, *answers, answers[0])
    assert found.left_out == {"repeated": 1}
    files = found.files()
    parts = [files[f"{part}.jsonl"].splitlines() for part in ("train", "dev", "test")]
    assert sum(map(len, parts)) == 121
    assert len(parts[0]) > len(parts[1]) + len(parts[2]) > 0
    (own,) = (lines for lines in parts if any("QUESTION  3" in line for line in lines))
    assert any('"Question 3?"' in line for line in own)


def test_the_card_of_a_release_says_who_wrote_and_who_verified(tmp_path: Path) -> None:
    found = built(tmp_path, answer("It does [1]."))
    readme = found.files("Mills: a set", "CC0-1.0")["README.md"]
    header = json.loads(readme.split("---")[1])
    assert header == {"license": "CC0-1.0", "pretty_name": "Mills: a set"}
    (writer,) = found.writers
    assert f"{writer} (1 rows)" in readme
    assert all(each in readme for each in found.verifiers)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> str:
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_every_row_is_learnt_from(home: Path) -> None:
    papers = [paper(0), paper(11), paper(12)]
    write(home / "a.json", *(answer(question=f"{n}?", papers=papers) for n in range(3)))
    run("train", "rows", "a.json", "--out", "rows")
    bad: list[InputError] = []
    found = [
        row
        for part in ("train", "dev", "test")
        for row in read_rows(home / f"rows/{part}.jsonl", bad.append)
    ]
    made = LessonMaker(Templates.load("en", "en"), lambda lesson: 1, 10, 1)
    for row in found:
        made.add(row)
        assert cited_places(row) == [1, 2]
    assert len(made.lessons) == 3
    assert not bad
    assert not made.dropped


def test_a_standing_that_is_inherited_is_written_out(tmp_path: Path) -> None:
    """Verif.ai's rule gives a sentence its neighbour's references; the row shows them."""
    bare = answer("It is so [1]. Nothing else is.")
    first, second = bare.sentences
    second = Checked(second.sentence, first.verdicts, Standing.SUPPORTED, inherited=True)
    whole = Answer(bare.question, bare.text, (first, second), bare.references, "m", bare.searched)
    (row,) = built(tmp_path, whole).rows
    assert row["answer"] == "It is so (PUBMED:11). Nothing else is. (PUBMED:11)"


TEMPLATES = Templates.load("en", "en")
ROW = Row(
    "Do mills grind?",
    tuple(Abstract(str(n), f"Title {n}", f"Text of the abstract {n}.") for n in range(101, 107)),
    "They do (PUBMED:102). Some more than others [5, 6].",
)


def words(lesson: Lesson) -> int:
    return len(f"{lesson.system} {lesson.user} {lesson.answer}".split())


def maker(most: int = 10_000, seed: int = 13, control: frozenset[str] = frozenset()) -> LessonMaker:
    return LessonMaker(TEMPLATES, words, most, seed, control)


def shown_in(lesson: Lesson) -> list[str]:
    """PMIDs in the order of the prompt."""
    return [line.split("PUBMED:")[1] for line in lesson.user.splitlines() if line[0:1] == "["]


def named(lesson: Lesson) -> set[str]:
    """PMIDs that the answer names by id or by number."""
    shown, ids = shown_in(lesson), set[str]()
    for sentence in citation_marks.cited_sentences(lesson.answer):
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
        one = maker(seed=seed)
        one.add(ROW)
        (lesson,) = one.lessons
        assert sorted(shown_in(lesson)) == [each.ref_id for each in ROW.abstracts]
        assert named(lesson) == {"102", "105", "106"}
        assert "(PUBMED:102)" in lesson.answer
        orders.add(tuple(shown_in(lesson)))
        again = maker(seed=seed)
        again.add(ROW)
        assert again.lessons == one.lessons
    assert len(orders) > 2


@pytest.mark.parametrize("n_shown", [3, 4, 5, 6])
def test_what_is_cut_is_never_cited_and_always_counted(n_shown: int) -> None:
    whole = words(lesson_of(ROW, range(6), TEMPLATES))
    of_one = whole - words(lesson_of(ROW, range(5), TEMPLATES))
    one = maker(whole - (6 - n_shown) * of_one)
    one.add(ROW)
    (lesson,) = one.lessons
    assert words(lesson) <= one.max_tokens
    assert len(shown_in(lesson)) == n_shown
    assert named(lesson) == {"102", "105", "106"}
    # The best of those that are not cited stay.
    best = {"101", "103", "104"} & set(shown_in(lesson))
    assert best == set(["101", "103", "104"][: n_shown - 3])
    assert one.n_cut == int(n_shown < 6)


def test_a_row_whose_cited_abstracts_do_not_fit_is_left_out_and_counted() -> None:
    one = maker(words(lesson_of(ROW, [1, 4, 5], TEMPLATES)) - 1)
    one.add(ROW)
    assert not one.lessons
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
        ({"answer": "They do <|end|>."}, "control token"),
        ({"abstracts": (*ROW.abstracts, Abstract("1", "", "<|end|>"))}, "control token"),
    ],
)
def test_bad_rows_are_counted_with_their_reason(change: dict[str, Any], why: str) -> None:
    one = maker(control=frozenset({"<|end|>"}))
    one.add(replace(ROW, **change))
    one.add(ROW)
    assert (one.n_rows, len(one.lessons)) == (2, 1)
    ((reason, count),) = one.dropped.items()
    assert why in reason
    assert count == 1


def test_an_answer_without_references_is_learnt() -> None:
    one = maker()
    one.add(replace(ROW, answer="The abstracts do not say."))
    assert len(one.lessons) == 1


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
    assert "rows.jsonl line 1: " in told[0]
    with pytest.raises(InputError, match="cannot be read"):
        list(read_rows(tmp_path / "none.jsonl", lambda error: None))
