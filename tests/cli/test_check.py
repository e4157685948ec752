"""`pincite check` as a user meets it: with rules alone and with a server."""

import json
from pathlib import Path

import pytest
from check_replies import Model
from cli.check_runs import CHECK, KEY, PAGES, STATEMENT, Run, llm, written
from click.testing import CliRunner
from models.chat_server import Server, good, refusal, serving
from support.check_values import readings

from pincite.cli import cli

# ── Without a language model ─────────────────────────────────────────────────────────────────────


def test_offline_with_rules_and_the_verifier(run: Run) -> None:
    report = written(run(*CHECK, "--json", "-"))
    (reading,) = readings(report)
    assert (reading["text"], reading["origin"]) == (STATEMENT, "statement")
    urls = [item["url"] for item in reading["evidence"]]
    assert urls.count("https://a.example/") + urls.count("https://copy.example/") == 1
    assert report["usage"]["n_calls"] == 0
    assert report["versions"]["corpus"]
    assert report["settings"]["check.top_k"] == 8
    for item in reading["evidence"]:
        page = next(page for page in PAGES if page["url"] == item["url"])
        assert item["quote"] is None or item["quote"] in page["text"]
        start, end = item["span"]
        assert page["text"][start:end] == item["passage"]


def test_a_normative_statement_is_listed_and_not_judged(run: Run) -> None:
    normative = ("check", "The bridge should be of stone.", "--corpus", "kb", "--json", "-")
    (reading,) = readings(written(run(*normative)))
    assert (reading["outcome"], reading["evidence"]) == ("not_judged", [])
    with Path("pincite.toml").open("a") as file:
        file.write("check.ignore_statement_types = []\n")
    (reading,) = readings(written(run(*normative)))
    assert reading["evidence"]


def test_metadata_is_shown_and_filtered_by(run: Run) -> None:
    (reading,) = readings(written(run(*CHECK, "--where", "author == A. Berg", "--json", "-")))
    assert [item["url"] for item in reading["evidence"]] == ["https://a.example/"]
    assert reading["evidence"][0]["meta"]["author"] == "A. Berg"
    nothing = ("--where", "autor == A. Berg")
    assert "pass the filters" in run("corpus", "search", "kb", "bridge", *nothing).stderr
    assert len(written(run(*CHECK, *nothing, "--json", "-"))["warnings"]) == 1


def test_statements_of_a_file(run: Run) -> None:
    lines = "# a list\nThe bridge is old.\n\nIt opened in 1911.\n"
    report = written(run("check", "--file", "-", "--corpus", "kb", "--json", "-", stdin=lines))
    statements = [check["statement"] for check in report["checks"]]
    assert statements == ["The bridge is old.", "It opened in 1911."]
    pasted = run("check", "The bridge is\nold.\nIt opened in 1911.", "--corpus", "kb", "--json")
    assert [check["statement"] for check in written(pasted)["checks"]] == statements
    run("check", "--corpus", "kb", code=2)
    run(*CHECK, "--file", "-", code=2)
    run("check", "--file", "-", "--corpus", "kb", stdin="\n", code=2)
    run("check", "--file", "-", "--corpus", "kb", "--interactive", stdin=lines, code=2)
    lines = "Die Brücke von Varde wurde 1911 eröffnet.\n" + "bridge " * 101
    report = written(run("check", "--file", "-", "--corpus", "kb", "--json", "-", stdin=lines))
    german, long = report["warnings"]
    assert "1 of 2 statements are German" in german
    assert "more than 100 words" in long


def test_readings_are_edited_before_the_search(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def edit(text: str) -> str:
        opened.append(text)
        return f"{text}\nThe bridge is  by the river.\n"

    monkeypatch.setattr("click.edit", edit)
    report = written(run(*CHECK, "--interactive", "--json", "-"))
    assert STATEMENT in opened[0]
    texts = [(reading["text"], reading["origin"]) for reading in readings(report)]
    assert texts == [(STATEMENT, "statement"), ("The bridge is by the river.", "user")]
    assert report["checks"][0]["interpreted_by"] == "rules + user"
    monkeypatch.setattr("click.edit", lambda text: "Holm opened it.")
    assert "Holm opened it." in run("check", "Who opened it?", *CHECK[2:], "-i").stdout
    monkeypatch.setattr("click.edit", lambda text: None)
    assert written(run(*CHECK, "-i", "--json", "-"))["checks"][0]["interpreted_by"] == "rules"


# ── With a language model's server ───────────────────────────────────────────────────────────────


def test_the_whole_way_with_a_model(run: Run, server: Server) -> None:
    result = run(*CHECK, *llm(server), "--json", "-")
    report = written(result)
    stone, should = readings(report)
    assert (stone["outcome"], stone["doc"]) == ("strong_confirmation", 0.8)
    assert (should["kind"], should["outcome"]) == ("normative", "not_judged")
    assert stone["n_texts"] == 2, "three pages, of which two are copies"
    usage = report["usage"]
    assert usage["n_calls"] == len(server.asked) == 3 + 3 + 2 + 2 * 2 * 2
    assert usage["n_prompt_tokens"] == 7 * usage["n_calls"]
    assert "up to 32 calls (26,560 tokens)" in result.stderr


def test_a_step_asks_its_own_server_with_its_own_key(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as other:
        other.by_request = Model()
        monkeypatch.setenv("PINCITE_CHAT_KEY_127_0_0_1_" + other.url[17:-3], "sk-other")
        with Path("pincite.toml").open("a") as settings:
            settings.write(f"chat.step_models = ['negate_claim=n@{other.url}']\n")
        run(*CHECK, *llm(server))
        assert "sk-other" not in run("config", "show").output
        assert {h["authorization"] for h in other.headers} == {"Bearer sk-other"}
        assert {asked["model"] for asked in other.asked} == {"n"}
    assert {h["authorization"] for h in server.headers} == {f"Bearer {KEY}"}


def test_the_key_is_in_no_output(run: Run, server: Server, tmp_path: Path) -> None:
    """Not even where the server repeats it, in replies and in refusals."""
    said = f"Your key is {KEY}."
    claims = json.dumps({"claims": [f"The bridge of {KEY} is of stone."]})
    model = Model(
        instead={
            "freetext_confirmation_analysis": lambda _: good(said),
            "list_descriptive_statements": lambda _: good(claims),
        }
    )
    names = "json html csv markdown yaml claimreview trace".split()
    outputs = [word for name in names for word in (f"--{name}", f"out.{name}")]
    shown = ""
    for by_request in (model, lambda _: refusal(401, f"Wrong key: {KEY}")):
        server.by_request = by_request
        result = CliRunner().invoke(cli, [*CHECK, *llm(server), *outputs])
        shown += result.output
    run("feedback", "out.json", "--up", "--note", "good")
    for command in (("feedback", "list", "--json"), ("config", "show", "--json")):
        shown += run(*command).output
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
    assert KEY not in shown
    assert "[key]" in (tmp_path / "out.json").read_text() + shown
    assert all(KEY in headers["authorization"] for headers in server.headers)


def test_a_table_names_who_said_a_statement_when_and_where(run: Run) -> None:
    rows = 'statement,speaker\n"We opened it\nhere last year.",\nI own a bridge.,Bo Falk\n'
    Path("said.csv").write_text(rows)
    said = ("--speaker", "Ada Holm, mayor of Varde", "--date", "2012-03-01", "--json", "-")
    report = written(run("check", "--file", "said.csv", "--corpus", "kb", *said))
    checks = [(each["speaker"], each["date"], each["place"]) for each in report["checks"]]
    assert checks == [("Ada Holm, mayor of Varde", "2012-03-01", ""), ("Bo Falk", "2012-03-01", "")]
    texts = [each["readings"][0]["text"] for each in report["checks"]]
    assert texts == ["Varde opened it in Varde in 2011.", "Bo Falk owns a bridge."]
    given = {"statement": "I own a\u2028bridge.", "speaker": "Bo Falk"}
    Path("said.jsonl").write_text(f"{json.dumps(given, ensure_ascii=False)}\n\n")
    report = written(run("check", "--file", "said.jsonl", "--corpus", "kb", *said))
    assert [each["statement"] for each in report["checks"]] == ["I own a bridge."]
    lacking = written(run("check", "We opened it last year.", "--corpus", "kb", "--json", "-"))
    assert readings(lacking)[0]["lacks"] == ["speaker", "date"]
    for date in ("yesterday", "2019-13", "2019-02-31", "spring 2019"):
        run("check", STATEMENT, "--corpus", "kb", "--date", date, code=2)


@pytest.mark.parametrize(
    "more",
    [("--html", "nowhere/out.html"), ("--json", "."), ("--template", "t.md.j2")],
)
def test_what_cannot_be_written_is_told_before_any_call(
    run: Run, server: Server, more: tuple[str, ...]
) -> None:
    run(*CHECK, *llm(server), *more, code=2)
    assert server.asked == []


def test_each_check_goes_into_the_log(run: Run, tmp_path: Path) -> None:
    Path("own.tmpl").write_text(
        "{% for c in claims %}{{ translation[c.kind] }}{% endfor %}{{ feedback }}"
    )
    with Path("pincite.toml").open("a") as file:
        file.write(
            "[results]\nfolder = 'log'\nby = 'monthly'\n"
            "[check]\ntemplate = 'own.tmpl'\ntranslation = ['descriptive=beschreibend']\n"
        )
    lines = "The bridge is old.\nIt opened in 1911.\n"
    report = written(run("check", "--file", "-", "--corpus", "kb", "--json", "-", stdin=lines))
    assert not {"results.folder", "check.template"} & set(report["settings"]), "no file's path"
    kept = sorted(Path("log").rglob("*.*"))
    assert [path.suffix for path in kept] == [".md", ".yaml"] * 2
    assert {path.parent.name for path in kept} == {f"y{report['created'][:7].replace('-', '_m')}"}
    texts = [path.read_text() for path in kept]
    assert {text for text in texts if "statement" not in text} == {"beschreibend"}
    assert sum("The bridge is old." in text for text in texts) == 1
    run(*CHECK, "--markdown", "out.md")
    assert Path("out.md").read_text() == "beschreibend"
    run("check", "It is of stone.", "--corpus", "kb", "--json", "rated.json")
    run("feedback", "rated.json", "--down")
    assert len(list(Path("log").rglob("*.md"))) == 4, "the file is written over"
    rated = [path.read_text() for path in Path("log").rglob("*.*")]
    assert sum("negative" in text for text in rated) == 2, "in the template's text and in the YAML"
    Path("own.tmpl").write_text("{% for %}")
    said = CliRunner().invoke(cli, [*CHECK, "--markdown", "out.md"])
    assert said.exit_code != 0
    assert len(list(Path("log").rglob("*.yaml"))) == 4, "found out before anything was checked"
