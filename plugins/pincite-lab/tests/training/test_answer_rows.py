"""Reports of `ask` as conversations to learn from."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pincite.cli import cli
from pincite.completions import Usage
from pincite.judgement.references import ReferenceVerdict, Standing, Support, standing
from pincite.text import citation_marks
from pincite.text.passages import passages
from pincite.types import Document, Evidence
from pincite.verbs.ask.report import Answer, AnswerReport, Checked, Reference, Searched
from pincite_lab.training.answer_rows import RowMaker

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


def write(path: Path, *answers: Answer, settings: Mapping[str, str | int] | None = None) -> Path:
    versions = {"verifier": "words"}
    report = AnswerReport(
        answers=answers,
        n_questions=len(answers),
        usage=Usage(),
        warnings_coded=(),
        settings=settings or {},
        versions=versions,
        created="2026-01-02",
    )
    path.write_text(report.to_json(), encoding="utf-8")
    return path


def built(tmp_path: Path, *answers: Answer) -> RowMaker:
    found = RowMaker()
    found.add(write(tmp_path / "answers.json", *answers))
    return found


def rows(maker: RowMaker) -> list[dict[str, str]]:
    """The turns of each row, by role."""
    return [
        {turn["role"]: turn["content"] for turn in row["messages"]}
        for of_question in maker.rows.values()
        for row in of_question
    ]


def test_a_row_asks_as_ask_does_and_fences_every_reference(tmp_path: Path) -> None:
    (row,) = rows(built(tmp_path, answer()))
    assert row["assistant"] == GOOD
    assert list(row) == ["system", "user", "assistant"]
    assert "answer in English" in row["system"]
    assert row["user"].index("[1] PUBMED:11\n<data") < row["user"].index("[2] PUBMED:12\n<data")
    assert row["user"].count("<data ") == 4  # three references and the question


def test_the_languages_are_those_of_the_report(tmp_path: Path) -> None:
    settings = {"chat.prompt_language": "de", "language": "de"}
    made = RowMaker()
    made.add(write(tmp_path / "answers.json", answer(), settings=settings))
    (row,) = rows(made)
    assert "antwortest auf Deutsch" in row["system"]


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
    assert not rows(found)
    ((told, n),) = found.left_out.items()
    assert why in told
    assert n == 1


def test_references_that_do_not_fit_make_no_row(tmp_path: Path) -> None:
    made = RowMaker()
    settings = {"ask.prompt_tokens": 500}
    papers = [paper(n, "It grinds. " * 300) for n in (11, 12)]
    given = answer("It does [2].", papers=papers)
    made.add(write(tmp_path / "answers.json", given, settings=settings))
    assert not rows(made)
    assert made.left_out.total() == 1


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
    assert any("Question 3?" in line for line in own)


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


def test_the_command_writes_one_conversation_a_line(home: Path) -> None:
    write(home / "a.json", *(answer(question=f"{n}?") for n in range(3)))
    run("train", "rows", "a.json", "--out", "rows")
    lines = [line for path in (home / "rows").iterdir() for line in path.read_text().splitlines()]
    assert sorted(path.stem for path in (home / "rows").iterdir()) == ["dev", "test", "train"]
    assert [len(json.loads(line)["messages"]) for line in lines] == [3, 3, 3]


def test_a_standing_that_is_inherited_is_written_out(tmp_path: Path) -> None:
    """Verif.ai's rule gives a sentence its neighbour's references; the row shows them."""
    bare = answer("It is so [1]. Nothing else is.")
    first, second = bare.sentences
    second = Checked(second.sentence, first.verdicts, Standing.SUPPORTED, inherited=True)
    whole = Answer(bare.question, bare.text, (first, second), bare.references, "m", bare.searched)
    (row,) = rows(built(tmp_path, whole))
    assert row["assistant"] == "It is so [1]. Nothing else is. [1]"
