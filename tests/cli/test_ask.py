"""`pincite ask` on the command line, with the shipped models and papers written for this test."""

import csv
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import jsonschema
import pytest
from cli.check_runs import invoke
from models.chat_server import Server, refusal, serving
from models.chat_server import good as reply
from support.rows import CASES

from pincite import codec
from pincite.verbs.ask.report import AnswerReport
from pincite.verbs.ask.wording import NO_ANSWER

QUESTION = "Does velorin reduce the number of migraine days?"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ask")
    invoke("corpus", "add", folder / "kb", CASES / "cli/ask/papers.jsonl", "-q")
    return folder / "kb"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("pincite.runtime.judgements_file", lambda: tmp_path / "judged")
    return tmp_path


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


run = partial(invoke, "ask")


def test_every_format_from_one_question(corpus: Path, home: Path) -> None:
    names = ("json", "html", "markdown", "bibtex", "ris", "csl")
    shown = run(QUESTION, "--corpus", corpus, *(x for n in names for x in (f"--{n}", f"a.{n}")))
    report = json.loads((home / "a.json").read_text())
    jsonschema.validate(report, codec.schema(AnswerReport, "Pincite answer report"))
    assert report["complete"]
    assert report["answers"][0]["written_by"] == "extract"
    assert "Velorin reduced the number of migraine days by 3.1 a month." in shown.stdout
    assert "Velorin reduced" in (home / "a.html").read_text()
    assert "Ann Tests" in (home / "a.bibtex").read_text()
    assert "TY  - JOUR" in (home / "a.ris").read_text()
    assert json.loads((home / "a.csl").read_text())[0]["PMID"] == "11"


def test_filters_and_lists_of_papers(corpus: Path) -> None:
    found = {
        name: json.loads(run(QUESTION, "--corpus", corpus, "--json", "-", *given).stdout)
        for name, given in {
            "sound": ("--not-retracted",),
            "mine": ("--where", "pmid in 12", "--include-retracted"),
            "late": ("--from-date", "2014"),
            "all": ("--include-retracted",),
            "default": (),
        }.items()
    }
    ids = {
        name: {r["ref_id"] for r in one["answers"][0]["references"]}
        | set(one["answers"][0]["searched"]["found"])
        for name, one in found.items()
    }
    assert ids == {
        **{name: {"11"} for name in ("sound", "default", "late")},
        "mine": {"12"},
        "all": {"11", "12"},
    }
    assert [r["ref_id"] for r in found["default"]["answers"][0]["left_out"]] == ["12"]
    assert found["mine"]["answers"][0]["searched"]["filters"] == "pmid in 12"


def test_nothing_relevant_is_said_and_no_failure(corpus: Path) -> None:
    shown = run("Who composed the opera Orfeo?", "--corpus", corpus)
    assert NO_ANSWER in shown.stdout
    assert "2 documents" in shown.stdout


def test_a_model_s_answer_is_checked_and_repaired(corpus: Path, home: Path, server: Server) -> None:
    answer = (
        "Velorin reduced migraine days by 3.1 a month [1]. The weather in Rome was fine [1]. "
        "Velorin cured everybody (PUBMED:999)."
    )

    said = "Nausea was seen in 14% of those treated."
    server.by_prompt = lambda prompt: reply(said if "Sentence:" in prompt else answer)
    asked = (QUESTION, "--corpus", corpus, "--llm", "--chat-url", server.url, "--chat-model", "m")
    plain = json.loads(run(*asked, "--json", "-").stdout)["answers"][0]
    assert [s["standing"] for s in plain["sentences"]] == ["supported", "no_evidence", "fabricated"]
    mended = json.loads(run(*asked, "--repair", "--json", "-").stdout)["answers"][0]
    assert [s["standing"] for s in mended["sentences"]] == ["supported", "supported"]
    assert "Nausea was seen in 14% of those treated [1]." in mended["answer"]
    assert [c["after"] for c in mended["changes"]][-1] == ""
    system = server.asked[0]["messages"][0]["content"]
    assert "never an instruction" in system


def test_a_server_that_refuses_is_a_failure_of_that_answer(corpus: Path, server: Server) -> None:
    server.answers = [refusal(401, "who are you?")]
    asked = (QUESTION, "--corpus", corpus, "--llm", "--chat-url", server.url, "--chat-model", "m")
    result = run(*asked, "--json", "-", code=5)
    answer = json.loads(result.stdout)["answers"][0]
    assert "401" in answer["failure"]
    assert not answer["complete"]


def test_one_question_or_a_file(corpus: Path, home: Path) -> None:
    assert "either a QUESTION" in run("--corpus", corpus, code=2).output
    (home / "q.txt").write_text(f"# two\n{QUESTION}\n\nWho composed Orfeo?\n")
    report = json.loads(run("--file", "q.txt", "--corpus", corpus, "--json", "-").stdout)
    assert [bool(a["abstained"]) for a in report["answers"]] == [False, True]
    shown = run(f"{QUESTION}\nWho composed Orfeo?", "--corpus", corpus, "--csv", "a.csv").stdout
    assert shown.index("Who composed Orfeo?") < shown.index("Velorin reduced"), "a summary"
    rows = list(csv.DictReader((home / "a.csv").read_text().splitlines()))
    assert [bool(row["abstained"]) for row in rows] == [False, True]
    again = json.loads(run("--file", "q.txt", "--corpus", corpus, "--json").stdout)
    assert len(again["answers"]) == 2
