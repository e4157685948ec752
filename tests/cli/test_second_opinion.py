"""`verify --judge` and `calibrate judge` as a user meets them: from article to report, and back."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cli.check_runs import Run, invoke, prepare, written
from models.chat_server import Answer, Server, good, refusal, serving
from support.check_values import readings
from support.examined import keep_examined

from pincite.llm import judge as judges
from pincite.llm.client import Limits

KEY = "sk-of-the-judge"
N = 6
ARTICLE = "\n\n".join(
    f"The mill number {n} was built in 19{n}1.<ref>{{{{cite web |url=https://{n}.example/ "
    f"|title=Mill {n}}}}}</ref>"
    for n in range(1, N + 1)
)


def as_asked(request: dict[str, Any]) -> Answer:
    """A judge that finds odd mills supported and the others not."""
    said = re.findall(
        r"<data [0-9a-f]{16}>\n(.*?)\n</data", request["messages"][-1]["content"], re.DOTALL
    )
    number = int(re.findall(r"number (\d)", said[1])[0])
    return good(
        json.dumps(
            {
                "quotes": [f"The mill number {number} stands", "This stands nowhere at all."],
                "missing": ["built"],
                "why": f"Mill {number} <b>stands</b>.",
                "verdict": "supported" if number % 2 else "not_supported",
            }
        )
    )


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in a folder with an article, its sources and a tiny verifier."""
    monkeypatch.setenv("PINCITE_JUDGE_KEY", KEY)
    # A busy server is asked again after no time at all.
    monkeypatch.setattr("pincite.runtime.Limits", partial(Limits, first_wait=0.001))
    prepare(tmp_path, monkeypatch, "judge.at_once = 1\n")
    monkeypatch.setenv("COLUMNS", "120")
    Path("article.wiki").write_text(ARTICLE)
    pages = [
        {"url": f"https://{n}.example/", "title": f"Mill {n}", "text": f"The mill number {n} "
         f"stands by the river. It was built of stone in the year 19{n}1."}
        for n in range(1, N + 1)
    ]  # fmt: skip
    Path("sources").mkdir()
    Path("sources/pages.jsonl").write_text("\n".join(map(json.dumps, pages)))
    return invoke


@pytest.fixture
def server(run: Run) -> Iterator[Server]:
    """A server of a model that was examined."""
    with serving() as found:
        found.by_request = as_asked
        keep_examined(found, judges.judges_file(""))
        yield found


def verify(server: Server, *more: str) -> tuple[str, ...]:
    shown = ("--json", "out.json", *more)
    return ("verify", "article.wiki", "--sources", "sources", *judge_of(server), *shown)


def judge_of(server: Server) -> tuple[str, ...]:
    return ("--judge", server.url, "--judge-model", "qwen3", "--judge-all")


def report() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("out.json").read_text())
    return found


def by_claim(name: str) -> dict[str, Any]:
    return {finding["claim"]: finding[name] for finding in report()["findings"]}


def test_the_whole_way_from_article_to_reports(run: Run, server: Server) -> None:
    result = run(*verify(server, "--html", "out.html", "--csv", "out.csv"))
    assert len(server.asked) == N
    assert {headers["authorization"] for headers in server.headers} == {f"Bearer {KEY}"}
    host = server.url.split("/")[2]
    for claim, opinion in by_claim("opinion").items():
        number = int(re.findall(r"number (\d)", claim)[0])
        assert opinion["verdict"] == ("supported" if number % 2 else "not_supported")
        assert opinion["quotes"] == [f"The mill number {number} stands"]
        assert (opinion["missing"], opinion["n_invented"]) == (["built"], 1)
        assert opinion["model"] == f"qwen3@{host}"
    page, table = Path("out.html").read_text(), Path("out.csv").read_text()
    assert "Mill 1 &lt;b&gt;stands&lt;/b&gt;." in page
    assert f"qwen3@{host}" in page
    assert f"qwen3@{host}" in table
    assert "Second opinion" in result.output
    assert KEY not in page + table + result.output + Path("out.json").read_text()
    assert report()["settings"]["judge.url"] == server.url
    assert report()["versions"]["judge"] == f"qwen3@{host}"


def test_nothing_is_asked_twice_and_a_budget_is_kept(run: Run, server: Server) -> None:
    run(*verify(server, "--max-calls", "2"))
    assert len(server.asked) == 2
    failed = [each["step"] for each in by_claim("opinion").values() if "step" in each]
    assert failed == ["budget"] * (N - 2)
    notes = {note["code"]: note["values"] for note in report()["warnings_coded"]}
    assert notes["no_second_opinions"]["n"] == N - 2
    run(*verify(server))
    assert len(server.asked) == N
    assert not any("step" in each for each in by_claim("opinion").values())
    run(*verify(server))
    assert len(server.asked) == N
    assert f"{N} replies" in run("cache", "show").output
    assert f"{N} replies of language models removed" in run("cache", "clear", "--judgements").output
    assert "0 replies" in run("cache", "show").output


@pytest.mark.parametrize(
    "answer",
    [
        good("I would rather not."), good(""), good("{" * 9000), refusal(500), refusal(401),
        refusal(429, code="insufficient_quota"), Answer(body=b"<html>"), Answer(body=b""),
        good('{"verdict": "supported"}', finish_reason="length"),
    ],
)  # fmt: skip
def test_whatever_the_server_says_the_report_is_written(
    run: Run, server: Server, answer: Answer
) -> None:
    server.by_request = lambda request: answer
    alone = run(*verify(server)[:4], "--json", "alone.json")
    assert "Second opinion" not in alone.output
    run(*verify(server))
    alone = json.loads(Path("alone.json").read_text())["findings"]
    ours = {f["claim_id"]: f["label"] for f in alone}
    found = report()["findings"]
    for finding in found:
        if "verdict" not in finding["opinion"]:
            assert finding["label"] == ours[finding["claim_id"]]
    assert len(found) == N


def always(verdict: str) -> Answer:
    return good(json.dumps({"quotes": [], "missing": [], "why": "", "verdict": verdict}))


def test_check_and_ask_have_it_too(run: Run, server: Server) -> None:
    """An unusable server is a warning of the run, not of each passage."""
    judge = judge_of(server)
    run("corpus", "add", "kb", "sources/pages.jsonl")

    def checked(answer: Answer) -> tuple[dict[str, Any], list[list[str]]]:
        server.by_request = lambda request: answer
        claim = ("check", "The mill number 3 was built in 1931.", "--corpus", "kb")
        found = written(run(*claim, *judge, "--json", "-"))
        items = [item for reading in readings(found) for item in reading["evidence"]]
        assert items
        return found, [[note["code"] for note in item["reasons_coded"]] for item in items]

    found, codes = checked(refusal(401))
    assert [n["code"] for n in found["warnings_coded"]].count("no_second_opinions") == 1
    assert not any("second_failed" in of_item for of_item in codes)
    before = len(server.asked)
    found, codes = checked(always("not_supported"))
    assert all("second_not_supported" in of_item for of_item in codes)
    assert found["usage"]["n_calls"] == len(server.asked) - before > 0
    before = len(server.asked)
    question = ("ask", "When was mill number 3 built?", "--corpus", "kb")
    asked = written(run(*question, *judge, "--json", "-"))
    assert asked["usage"]["n_calls"] == len(server.asked) - before


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_stopped_or_killed_goes_on_where_it_was(
    run: Run, server: Server, sign: signal.Signals
) -> None:
    process: list[subprocess.Popen[bytes]] = []

    def then_stopped(request: dict[str, Any]) -> Answer:
        if len(server.asked) == 4:  # three are answered
            process[0].send_signal(sign)
        return as_asked(request)

    server.by_request = then_stopped
    command = [sys.executable, "-m", "pincite", *verify(server, "--quiet")]
    process.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    code = process[0].wait()
    assert code == (130 if sign == signal.SIGINT else -sign)
    asked = len(server.asked)
    server.by_request = as_asked
    run(*verify(server))
    assert all(each["verdict"] for each in by_claim("opinion").values())
    assert len(server.asked) - asked <= N - 3


def test_a_measured_judge_counts_by_what_it_is_worth(run: Run, server: Server) -> None:
    rows = [
        {"id": f"r{n}-{k}", "claim": f"The mill number {n} was built {k}.", "label":
         "support" if n % 2 else "not_support", "evidence": f"The mill number {n} stands."}
        for n in range(1, 9) for k in range(4)
    ]  # fmt: skip
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    server_options = ("--judge", server.url, "--judge-model", "qwen3")
    said = run("calibrate", "judge", "--claims", "rows.jsonl", *server_options)
    assert "32 verdicts" in said.output
    ((model, kept),) = json.loads(Path("data/pincite/judges.json").read_text())["judges"].items()
    assert model.startswith("qwen3@")
    assert kept["measured"]["counts"]["supported"] == [16, 0]
    ours, alone, _ = kept["measured"]["right"]
    assert alone == 1.0 > ours
    run(*verify(server))
    trusted = {each["trust"]["confirms"] for each in by_claim("opinion").values()}
    assert trusted == {kept["measured"]["confirmed"][1] >= judges.LEAST_CONFIRMED}
    assert model in run("judges").output


def test_a_model_that_failed_its_examination_changes_no_label(run: Run, server: Server) -> None:
    run(*verify(server)[:4], "--json", "out.json")
    ours = by_claim("label")
    keep_examined(server, judges.judges_file(""), passed=False)
    run(*verify(server))
    assert by_claim("label") == ours
    assert "judge_failed" in [note["code"] for note in report()["warnings_coded"]]


def test_a_model_is_examined_once_before_its_first_opinion(run: Run, server: Server) -> None:
    judges.judges_file("").unlink()
    server.by_request = lambda request: always("supported")
    run(*verify(server))
    n_asked = len(server.asked)
    assert n_asked > N
    assert "failed" in run("judges").output
    run("cache", "clear", "--judgements")
    run(*verify(server))
    assert len(server.asked) == n_asked + N
