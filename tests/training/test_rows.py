"""Reports of `ask` as rows to learn from: what is kept, put right, left out, and kept apart."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pincite.cli import cli
from pincite.completions import Usage
from pincite.errors import InputError
from pincite.judgement.references import Standing, Support, Verdict, standing
from pincite.llm.templates import Templates
from pincite.text import citation_marks
from pincite.text.passages import passages
from pincite.training.answer_rows import Builder, Sieve, cited_places, read_rows
from pincite.types import Document, Evidence
from pincite.verbs.ask.data import to_json
from pincite.verbs.ask.records import Answer, AnswerReport, Checked, Reference, Searched

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
            number = citation_marks.resolved(written, known)
            passage = passages(references[number - 1].document)[-1] if number else None
            said = support if number else Support.NO_SUCH_REFERENCE
            evidence = Evidence(passage, 0.9, 0.0, 0.1, 1.0) if passage else None
            verdicts.append(Verdict(said, evidence, written=written, number=number))
        together = standing(each.support for each in verdicts)
        sentences.append(Checked(found, tuple(verdicts), together))
    ids = tuple(reversed([each.ref_id for each in references]))
    searched = Searched("5f", 3, "weighted", found=ids)
    return Answer(question, text, tuple(sentences), tuple(references), by, searched, **given)


def write(path: Path, *answers: Answer) -> Path:
    versions = {"verifier": "words"}
    report = AnswerReport(answers, len(answers), Usage(), (), {}, versions, "2026-01-02")
    path.write_text(to_json(report), encoding="utf-8")
    return path


def built(tmp_path: Path, *answers: Answer, **given: Any) -> Builder:
    found = Builder(**given)
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
        ({"text": "Oil helps [1]. It costs little."}, "not verified"),
        ({"text": "Oil helps [1]. It costs little [1, 9]."}, "not verified"),
        ({"cut": True}, "to the end"),
        ({"failure": "the server went away"}, "to the end"),
        ({"papers": [paper(11, retracted="yes"), paper(12)]}, "retracted"),
        ({"by": "extract"}, "quoted"),
    ],
)
def test_what_makes_no_row(tmp_path: Path, given: dict[str, Any], why: str) -> None:
    found = built(tmp_path, answer(**given), extracts=False)
    assert found.rows == []
    ((told, n),) = found.left_out.items()
    assert why in told
    assert n == 1


def test_with_a_lower_share_only_the_sentences_go(tmp_path: Path) -> None:
    mixed = answer(wrong=["New ones need none."])
    (row,) = built(tmp_path, mixed, least_verified=0.5).rows
    assert row["answer"] == "Oil helped the old mills (PUBMED:11)."
    assert built(tmp_path, mixed, least_verified=0.6).rows == []


def test_a_long_document_gives_what_was_quoted(tmp_path: Path) -> None:
    lines = "\n".join(f"Mill {n} was built by hand and ran all year." for n in range(900))
    (row,) = built(tmp_path, answer("It ran [1].", papers=[paper(11, lines)])).rows
    text = row["abstracts"][0]["text"]
    assert len(text) < 6_500
    assert "Mill 899 " in text
    assert "Mill 500 " not in text


def test_nothing_stands_in_two_parts(tmp_path: Path) -> None:
    """Questions that differ share references in pairs; one is asked twice, of other papers."""
    answers = [
        answer("It does [1].", f"Question {n}?", papers=[paper(1 + n // 2)]) for n in range(120)
    ]
    answers.append(answer("It does [1].", "QUESTION  3", papers=[paper(999)]))
    found = built(tmp_path, *answers, answers[0])
    parts = found.parts()
    assert sum(map(len, parts.values())) == 121
    assert found.left_out == {"given twice": 1}
    assert len(parts["train"]) > len(parts["dev"]) + len(parts["test"]) > 0
    cited = [{each for row in rows for each in row["meta"]["cited"]} for rows in parts.values()]
    assert sum(map(len, cited)) == len(set().union(*cited))
    (own,) = (rows for rows in parts.values() if any("999" in row["meta"]["cited"] for row in rows))
    assert any(row["question"] == "Question 3?" for row in own)
    card = found.card()
    assert sum(card["rows"].values()) == 121
    assert card["written_by"] == {"m": 121}


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


def test_corrections_take_the_place_of_what_they_correct(home: Path) -> None:
    wrong = ["New ones need none."]
    other, third, gone = answer("Mills [1].", "Two?"), answer("It does [1].", "Three?"), "None [1]."
    write(home / "a.json", answer(wrong=wrong), other, third, answer(gone, "Four?"))
    run("feedback", "a.json", "--item", "1.s2", "--down", "--correction", "New ones need some.")
    run("feedback", "a.json", "--item", "2", "--down", "--correction", "No mill does [2].")
    run("feedback", "a.json", "--item", "3.s1/r1", "--label", "refute")
    run("feedback", "a.json", "--item", "4", "--down")
    told = run("train", "rows", "a.json", "--out", "rows")
    assert "2 rows of 4 answers" in told
    assert "1 called wrong" in told
    found = [row for part in ("train", "dev", "test") for row in rows(home / f"rows/{part}.jsonl")]
    assert {row["question"]: row["answer"] for row in found} == {
        "Does oil help mills?": "Oil helped the old mills (PUBMED:11). "
        "New ones need some. (PUBMED:11, PUBMED:12)",
        "Two?": "No mill does (PUBMED:12).",
    }
    card = json.loads((home / "rows/card.json").read_text())
    assert (card["corrected"], card["verified_by"]) == (2, {"words": 2})
    assert "| train |" in (home / "rows/README.md").read_text()


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


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
    sieve = Sieve(Templates.load("en", "en"), lambda lesson: 1, 10, 1)
    for row in found:
        sieve.add(row)
        assert cited_places(row) == [1, 2]
    assert len(sieve.kept) == 3
    assert not bad
    assert not sieve.dropped


def test_a_standing_that_is_inherited_is_written_out(tmp_path: Path) -> None:
    """Verif.ai's rule gives a sentence its neighbour's references; the row shows them."""
    bare = answer("It is so [1]. Nothing else is.")
    first, second = bare.sentences
    second = Checked(second.sentence, first.verdicts, Standing.SUPPORTED, inherited=True)
    whole = Answer(bare.question, bare.text, (first, second), bare.references, "m", bare.searched)
    (row,) = built(tmp_path, whole).rows
    assert row["answer"] == "It is so (PUBMED:11). Nothing else is. (PUBMED:11)"
