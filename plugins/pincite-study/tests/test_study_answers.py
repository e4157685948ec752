"""Blind comparison of whole answers: reports of `ask` become items, raters see no system."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pincite.cli import cli
from pincite.errors import InputError
from pincite.judgement.references import ReferenceVerdict, Standing, Support
from pincite.protocols import Usage
from pincite.text import citation_marks
from pincite.types import Document
from pincite.verbs.ask.report import Answer, AnswerReport, Checked, Reference, Searched
from pincite_study.blinding import blind
from pincite_study.items import NO_ANSWER, answers_of, draw_sample
from pincite_study.preferences import Rating, summary

BRIDGE = "Does the Varde bridge carry trams?"
MILL = "Did the mill at Lunde burn?"
QUESTIONS = (BRIDGE, MILL)


def answer(question: str, text: str, best: float = 1.5) -> Answer:
    document = Document("https://papers.example/1", "Trams of Varde", "The bridge carries trams.")
    sentences = tuple(
        Checked(each, (ReferenceVerdict(Support.VERBATIM, number=1),), Standing.VERBATIM)
        for each in citation_marks.cited_sentences(text, "en")
    )
    searched = Searched("digest", 3, "weighted", best=best)
    references = (Reference(1, document.url, document),)
    return Answer(question, text, sentences, references, "extract", searched)


def report(*texts: str) -> AnswerReport:
    answers = tuple(answer(q, text) for q, text in zip(QUESTIONS, texts, strict=True))
    return AnswerReport(
        answers=answers, n_questions=2, usage=Usage(), warnings_coded=(), settings={}
    )


FIRST = report("It carries trams [1].", "It burned down [1].")
SECOND = report("Trams cross it daily [1].", "It burned down [1].")
THIRD = report("", "Yes, in 1790, see https://papers.example/1 [1].")


FOUND = answers_of([("first", FIRST), ("second", SECOND), ("third", THIRD)])


def test_answers_to_a_question_are_compared_with_the_first_report() -> None:
    compared = [(item.claim, item.tested.title) for item in FOUND.items]
    assert compared == [(BRIDGE, "second"), (BRIDGE, "third"), (MILL, "third")]
    assert FOUND.n_one_passage == 1  # the same words
    assert FOUND.items[1].tested.passage == NO_ANSWER
    assert FOUND.items[0].baseline.passage == "It carries trams [1].\n\n[1] Trams of Varde"


def test_questions_that_the_first_report_lacks_are_counted() -> None:
    found = answers_of([("a", replace(FIRST, answers=FIRST.answers[:1])), ("b", SECOND)])
    assert (len(found.items), found.n_without_text) == (1, 1)


@pytest.mark.parametrize("names", [("one",), ("same", "same")])
def test_answers_need_two_named_reports(names: tuple[str, ...]) -> None:
    with pytest.raises(InputError):
        answers_of([(name, FIRST) for name in names])


def test_raters_see_no_system_and_no_address() -> None:
    seen = blind(FOUND.items[2], baseline_first=True)
    text = json.dumps([seen.a.passage.head, seen.b.passage.head, seen.article])
    assert "papers.example" not in text
    assert "third" not in text


def test_every_other_report_has_a_row_of_its_own() -> None:
    drawn = draw_sample(FOUND.items, "random", None, 0)
    compared = [item.comparison(number) for number, item in enumerate(drawn, 1)]
    ratings = [Rating(c.item, 1, "other", {}, "first", 2.0) for c in compared]
    found = summary(compared, ratings, 1, "answers")
    assert set(found["systems"]) == {"second", "third"}
    assert found["systems"]["third"]["other"] == 2
    assert found["systems"]["second"]["first"] == 0
    assert "difference" not in found["buckets"]


def test_create_on_the_command_line(tmp_path: Path) -> None:
    files = []
    for name, one in (("plain", FIRST), ("model", THIRD)):
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(one.to_json())

    def run(*arguments: Any) -> str:
        place = ["--data", str(tmp_path / "data")]
        done = CliRunner().invoke(cli, ["study", *map(str, arguments), *place])
        assert done.exit_code == 0, done.output
        return done.output

    made = run("create", *files, "--compare", "answers")
    assert "0 of 6 ratings by 0 raters of 2" in made
    study_id = next(line.split()[0] for line in made.splitlines() if "plain / model" in line)
    page = tmp_path / "r.html"
    assert "model against the first" in run("report", study_id, "--html", page)
    assert "<table" in page.read_text()
