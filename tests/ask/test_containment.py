"""One bad document, sentence or reference costs itself; every other result is written."""

import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from evaluation.invented import WordVerifier
from rich.console import Console

from pincite.judgement.references import Standing, Support
from pincite.protocols import Usage
from pincite.report import bibliography
from pincite.types import Claim, Document, Evidence, Hit, Passage, Span
from pincite.verbs.ask import render, terminal
from pincite.verbs.ask.answer_check import AnswerChecker
from pincite.verbs.ask.extract import Extractor
from pincite.verbs.ask.pipeline import AskPipeline, LiteratureFinder
from pincite.verbs.ask.report import Answer, AnswerReport, Searched

BAD = "unlucky"
QUESTION = "Does velorin reduce the number of migraine days?"
SOUND = "Velorin reduced the number of migraine days in adults by three a month."
PAPERS = [
    Document("https://0.example/", "Velorin", SOUND, language="en"),
    Document("https://1.example/", "Trial", f"The {BAD} trial of velorin reduced all of it."),
]


class OnePassageEach:
    def retrieve(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        found = [Passage(d.doc_id, d.url, d.title, d.text, Span(0, len(d.text))) for d in PAPERS]
        return [[Hit(p, 3.0 - n, n) for n, p in enumerate(found, 1)] for _ in queries]


class SameMeaning:
    dim, fingerprint = 1, "same"

    def encode(self, texts: Sequence[str], role: str) -> Any:
        return np.ones((len(texts), 1), dtype=np.float32)


class BadReader:
    def relevance(self, pairs: Sequence[tuple[Claim, Passage]]) -> Any:
        if any(BAD in passage.text for _, passage in pairs):
            raise KeyError(BAD)
        return np.full(len(pairs), 9.0, dtype=np.float32)


class BadVerifier(WordVerifier):
    def verify(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Evidence]:
        if any(BAD in passage.text for _, passage in pairs):
            raise OverflowError
        return super().verify(pairs)


class Said:
    fingerprint = "said"

    def write(self, question: str, references: Sequence[Any]) -> Any:
        yield f"{SOUND[:-1]} [1]. The trial of velorin reduced it [2]."


def documents_of(urls: Sequence[str]) -> list[Document | None]:
    by_url = {each.url: each for each in PAPERS}
    return [by_url.get(url) for url in urls]


def pipeline(**parts: Any) -> AskPipeline:
    whole = AskPipeline(
        LiteratureFinder(OnePassageEach(), documents_of),
        Extractor(BadReader(), SameMeaning()),
        AnswerChecker(BadVerifier()),
        Searched("digest", 2, "fused"),
    )
    return replace(whole, **parts)


def test_a_sentence_that_cannot_be_read_leaves_the_others() -> None:
    answer = pipeline().ask(QUESTION)
    assert [each.sentence.text for each in answer.sentences] == [SOUND]
    assert ("KeyError" in answer.failure, answer.complete) == (True, False)


def test_a_reference_that_cannot_be_judged_is_not_checked() -> None:
    answer = pipeline(writer=Said()).ask(QUESTION)
    first, second = answer.sentences
    assert (first.standing, second.standing) == (Standing.SUPPORTED, Standing.NOT_CHECKED)
    (verdict,) = second.verdicts
    assert verdict.support is Support.NOT_CHECKED
    assert verdict.why_coded[0].values == {"error": "OverflowError"}


def test_a_failing_search_affects_only_its_question() -> None:
    class BadSearch:
        def retrieve(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
            raise ZeroDivisionError

    answer = pipeline(finder=LiteratureFinder(BadSearch(), documents_of)).ask(QUESTION)
    assert (answer.sentences, answer.complete) == ((), False)
    assert "ZeroDivisionError" in answer.failure


def report(*answers: Answer) -> AnswerReport:
    return AnswerReport(
        answers=answers, n_questions=len(answers), usage=Usage(), warnings_coded=(), settings={}
    )


def printed(found: AnswerReport) -> str:
    out = io.StringIO()
    terminal.print_report(found, Console(file=out, width=200))
    return out.getvalue()


RENDERERS: list[Callable[[AnswerReport], str]] = [
    AnswerReport.to_json,
    render.to_html,
    render.to_markdown,
    printed,
]


@pytest.mark.parametrize("to_format", RENDERERS)
@pytest.mark.parametrize("damage", [{"title": None}, {"text": None}, {"meta": None}])
def test_a_reference_that_cannot_be_rendered_affects_only_itself(
    to_format: Callable[[AnswerReport], str], damage: dict[str, Any]
) -> None:
    answer = pipeline(writer=Said()).ask(QUESTION)
    first, second = answer.references
    broken = replace(second, document=replace(second.document, **damage))
    shown = to_format(report(replace(answer, references=(first, broken)), answer))
    assert shown.count(SOUND.removesuffix(".")) >= 2


@pytest.mark.parametrize(
    "write", [bibliography.to_bibtex, bibliography.to_ris, bibliography.to_csl]
)
@pytest.mark.parametrize("damage", [{"title": None}, {"meta": None}, {"published": 7}])
def test_a_source_that_cannot_be_written_leaves_the_others(
    write: Callable[[Any], str], damage: dict[str, Any]
) -> None:
    first, second = pipeline(writer=Said()).ask(QUESTION).references
    broken = replace(second, document=replace(second.document, **damage))
    written = write([broken, first])
    assert "0.example" in written
    assert "1.example" in written


@pytest.mark.parametrize("question", ["", "???"])
def test_an_empty_question_finds_nothing(question: str) -> None:
    answer = pipeline().ask(question)
    assert (answer.sentences, answer.searched.found) == ((), ())
    assert [note.code for note in answer.abstained_coded] == ["nothing_found"]
