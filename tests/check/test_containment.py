"""One bad statement, reading, passage or text costs itself; everything else is written."""

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from evaluation.invented import WordVerifier
from rich.console import Console

from pincite.judgement.confirmation import Outcome, Weighed, from_answers
from pincite.protocols import Usage
from pincite.types import Claim, Evidence, Failed, Passage, Span
from pincite.verbs.check import render, terminal
from pincite.verbs.check.confirm import VerifierJudge
from pincite.verbs.check.pipeline import Candidate, CheckPipeline, PassageFinder
from pincite.verbs.check.report import Check, CheckReport, Reading

BAD = "unlucky"
TEXTS = ["The mill of Varde closed in 1934.", f"The {BAD} mill of Varde closed in 1934."]
STATEMENT = "The mill of Varde closed in 1934."


def passage(text: str, number: int = 0, **more: Any) -> Passage:
    url = f"https://{number}.example/"
    return Passage(f"d{number}", url, f"Title {number}", text, Span(0, len(text)), **more)


class FoundTexts:
    def __init__(self, texts: Sequence[str] = TEXTS, bad: str = "") -> None:
        self.texts, self.bad = texts, bad

    def find(self, readings: Sequence[Reading]) -> list[list[Candidate]]:
        if self.bad and any(self.bad in reading.text for reading in readings):
            raise KeyError(self.bad)
        return [[Candidate(passage(t, n)) for n, t in enumerate(self.texts)] for _ in readings]


class BadVerifier(WordVerifier):
    def verify(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Evidence]:
        if any(BAD in passage.text for _, passage in pairs):
            raise ZeroDivisionError
        return super().verify(pairs)


class BadReader:
    def log_odds(self, pairs: Sequence[tuple[Claim, Passage]]) -> Any:
        if any(BAD in passage.text for _, passage in pairs):
            raise OverflowError
        return np.full((len(pairs), 2), 3.0)


class BadInterpreter:
    fingerprint = "bad"

    def interpret(self, statement: str) -> Any:
        raise RuntimeError(statement)


def pipeline(**parts: Any) -> CheckPipeline:
    whole = CheckPipeline(cast(PassageFinder, FoundTexts()), VerifierJudge(WordVerifier()))
    return replace(whole, **parts)


@pytest.mark.parametrize(
    ("judge", "error"),
    [
        (VerifierJudge(BadVerifier()), "ZeroDivisionError"),
        (VerifierJudge(WordVerifier(), cast(Any, BadReader())), "OverflowError"),
    ],
)
def test_a_passage_that_cannot_be_judged_affects_only_itself(
    judge: VerifierJudge, error: str
) -> None:
    check = pipeline(judge=judge).check(STATEMENT)
    (result,) = check.results
    assert [item.failed and item.failed.detail for item in result.items] == [None, error]
    assert (result.weight.n_failed, result.weight.outcome) == (1, Outcome.STRONG_CONFIRMATION)
    assert not check.complete


def test_a_statement_that_cannot_be_interpreted_is_its_own_reading() -> None:
    check = pipeline(interpreter=BadInterpreter()).check(f" {STATEMENT} ")
    (result,) = check.results
    assert (result.reading.text, result.weight.n_texts) == (STATEMENT, 2)
    assert check.failures == (Failed("internal", "RuntimeError"),)


def test_a_failing_search_affects_only_its_reading() -> None:
    statement = f"The mill of Varde closed in 1934 and the {BAD} tram was sold in 1935."
    check = pipeline(finder=FoundTexts(bad=BAD)).check(statement)
    by_text = {BAD in result.reading.text: result.weight for result in check.results}
    assert by_text[True].outcome is Outcome.FAILED
    assert by_text[False].n_texts == 2
    assert not check.complete
    assert {failure.detail for failure in check.failures} == {"KeyError"}


def test_an_error_outside_the_parts_affects_only_its_statement() -> None:
    def record(_: Any) -> None:
        raise TypeError

    check = pipeline(record=record).check(STATEMENT)
    assert check.failures == (Failed("internal", "TypeError"),)
    assert [result.weight.outcome for result in check.results] == [Outcome.FAILED]


def report(*checks: Check) -> CheckReport:
    return CheckReport(
        checks=checks,
        n_statements=len(checks),
        usage=Usage(),
        warnings_coded=(),
        settings={},
        versions={},
        created="2026-11-26T12:00:00+00:00",
    )


def printed(found: CheckReport) -> str:
    out = io.StringIO()
    terminal.print_report(found, Console(file=out, width=200))
    return out.getvalue()


RENDERERS: list[Callable[[CheckReport], str]] = [
    CheckReport.to_json,
    render.to_html,
    render.to_csv,
    render.to_markdown,
    render.to_footnotes,
    render.to_claimreview,
    printed,
]


@pytest.mark.parametrize("to_format", RENDERERS)
@pytest.mark.parametrize("damage", [{"text": None}, {"title": None}, {"span": None}, {"url": 7}])
def test_a_passage_that_cannot_be_rendered_affects_only_itself(
    to_format: Callable[[CheckReport], str], damage: dict[str, Any]
) -> None:
    sound, other = pipeline().check(STATEMENT), pipeline().check("The tram was sold in 1935.")
    (result,) = sound.results
    bad = passage(TEXTS[1], 9)
    outcome = from_answers(replace(bad, **damage), 0.9, 0.0, Span(0, len(TEXTS[1])))
    item = Weighed(outcome, 9, "for")
    broken = replace(sound, results=(replace(result, items=(*result.items, item)),))
    shown = to_format(report(broken, other))
    assert STATEMENT.rstrip(".") in shown
    assert "0.example" in shown, "the other passages are there"
    if to_format is not render.to_claimreview:  # it reviews what something was found on
        assert "tram was sold" in shown


def test_a_statement_that_cannot_be_shown_leaves_the_others() -> None:
    sound, bad = pipeline().check(STATEMENT), pipeline().check("The tram was sold.")
    (result,) = bad.results
    reading = replace(result.reading, kind="no kind")  # type: ignore[arg-type]
    bad = replace(bad, results=(replace(result, reading=reading),))
    for to_format in [*RENDERERS[:4], printed]:
        shown = to_format(report(sound, bad))
        assert "0.example" in shown
        assert "tram was sold" in shown or to_format is render.to_csv, "a row is of a reading"
    assert json.loads(report(sound, bad).to_json())["n_statements"] == 2


HOSTILE = [
    "Zero out of twelve mills closed.",
    "ſix hundred mills closed in ſeptember.",
    "nıne out of ten mills closed on 31 February of year 0.",
    "The mill closed after " + "9" * 5000 + " years.",
    "Mills closed: ½ of ٣٤, １９３４, x⁻¹⁰.",
    "İstanbul’un \ud800 mill \x00 closed \u202e in 1934.",
    "(((((((((((“““““ the mill closed",
    "and " * 400 + "the mill closed.",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts(text: str) -> None:
    ready = pipeline(finder=FoundTexts([text, *TEXTS[:1]]))
    checks = [ready.check(text), ready.check(STATEMENT)]
    assert checks[1].results[0].items[1].outcome is not None
    for to_format in RENDERERS:
        assert "mill" in to_format(report(*checks))
