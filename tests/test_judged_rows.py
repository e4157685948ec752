"""What a judge that answers by the key changes in `check` and `ask`, with the shipped models.

The rows and their documents are ours (tests/cases/judged). Half of the statements are false: a
former state, swapped roles, a plan told as done, another speaker, place or value. The rows of the
set "held back" were written at the same time, and looked at last.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from models.chat_server import Answer, Server, good, serving
from support.examined import MODEL, keep_examined

from pincite import api
from pincite.corpus.protocol import Corpus
from pincite.judgement.confirmation import rank
from pincite.judgement.references import Standing
from pincite.llm import judge as judges
from pincite.settings import JudgeSettings, Settings
from pincite.text.citation_marks import cited_sentences
from pincite.types import Document, Evidence, Opinion, Verdict
from pincite.verbs.ask import build
from pincite.verbs.ask.report import Reference
from pincite.verbs.check.report import Check

pytestmark = [pytest.mark.models, pytest.mark.xdist_group("demo")]
CASES = Path(__file__).parent / "cases" / "judged"
# Shares of rows. Of those held back, Pincite's own doubt leaves more true ones disputed.
RIGHT, RIGHT_OR_DISPUTED = {"open": 0.93, "held back": 0.80}, 0.97
FENCED = re.compile(r"<data [0-9a-f]{16}>\n(.*?)\n</data", re.DOTALL)


class Row(NamedTuple):
    statement: str
    document: str
    true: bool
    kind: str
    set: str
    quote: str  # the sentence that decides


def read(name: str) -> Iterator[dict[str, Any]]:
    return map(json.loads, (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())


def rows(name: str) -> list[Row]:
    return [Row(**row) for row in read(name)]


def documents(name: str) -> list[Document]:
    return [Document(**row) for row in read(name)]


def by_key(of: Iterable[Row]) -> Callable[[dict[str, Any]], Answer]:
    """A judge that is always right: it has the key, and quotes the sentence that decides."""
    key = {row.statement: row for row in of}

    def answer(request: dict[str, Any]) -> Answer:
        _, claim, *sources = FENCED.findall(request["messages"][-1]["content"])
        row = key.get(claim)  # None: a reading of a part of a statement
        quotes = [row.quote] if row and row.quote in "\n".join(sources) else []
        verdict = "supported" if row and row.true else "contradicted"
        reply = {"quotes": quotes, "verdict": verdict if quotes else "not_supported"}
        return good(json.dumps({**reply, "missing": [], "why": ""}))

    return answer


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server of a model that passed its examination."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    with serving() as server:
        keep_examined(server, judges.judges_file(""), contradicts=True)
        yield server


def settings(judge: Server | None) -> Settings:
    return Settings(judge=JudgeSettings(judge.url, MODEL)) if judge else Settings()


def shown(of: Iterable[Evidence | None]) -> bool:
    """Whether a reader sees that the model finds support."""
    opinions = [each.opinion for each in of if each]
    return any(isinstance(o, Opinion) and o.verdict is Verdict.SUPPORTED for o in opinions)


class Score(NamedTuple):
    """What a reader sees of rows: false ones as supported, and shares of all."""

    false_green: list[str]
    right: float
    right_or_disputed: float


def score(of: list[Row], results: Iterable[tuple[bool, bool]]) -> Score:
    found = list(zip(of, results, strict=True))
    right = sum(green is row.true for row, (green, _) in found)
    disputed = sum(row.true and not green and marked for row, (green, marked) in found)
    return Score(
        [row.statement for row, (green, _) in found if green and not row.true],
        right / len(of),
        (right + disputed) / len(of),
    )


def checked(of: list[Row], judge: Server | None, corpus: Corpus) -> Score:
    """`check` of each statement against all documents."""

    def result(check: Check) -> tuple[bool, bool]:
        # The statement itself: of "X said that it rained", "It rained" is another reading.
        stated = [r for r in check.results if r.reading.text == check.statement] or check.results
        green = any((rank(each.weight.outcome) or 0) > 0 for each in stated)
        outcomes = [item.outcome for each in stated for item in each.items]
        return green, shown(each for each in outcomes if isinstance(each, Evidence))

    report = api.check([row.statement for row in of], corpus, settings=settings(judge))
    return score(of, map(result, report.results))


def answered(of: list[Row], judge: Server | None, corpus: Corpus) -> Score:
    """Each sentence as one of an answer that cites its abstract."""
    references = [Reference(n, d.url, d) for n, d in enumerate(documents("abstracts"), 1)]
    numbers = {each.ref_id: each.number for each in references}
    text = " ".join(f"{row.statement[:-1]} [{numbers[row.document]}]." for row in of)
    with build.asking(settings(judge), corpus) as run:
        found = run.pipeline.checker.check(cited_sentences(text, "en"), references)
    results = (
        (s.standing is Standing.SUPPORTED, shown(v.evidence for v in s.verdicts)) for s in found
    )
    return score(of, results)


@pytest.mark.parametrize("of", RIGHT)
@pytest.mark.parametrize(
    ("run", "statements", "sources"),
    [(checked, "statements", "documents"), (answered, "sentences", "abstracts")],
)
def test_nothing_false_is_green_with_a_judge_that_is_right(
    judge: Server,
    run: Callable[[list[Row], Server | None, Corpus], Score],
    statements: str,
    sources: str,
    of: str,
) -> None:
    found = documents(sources)
    judge.by_request = by_key(rows(statements))
    chosen = [row for row in rows(statements) if row.set == of]
    with api.open_corpus("kb", write=True, settings=Settings()) as corpus:
        corpus.add(found)
        alone, both = run(chosen, None, corpus), run(chosen, judge, corpus)
    assert both.false_green == []
    assert both.right >= max(alone.right, RIGHT[of])
    assert both.right_or_disputed >= RIGHT_OR_DISPUTED
