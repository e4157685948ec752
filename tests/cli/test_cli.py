"""The command line as a user meets it: output, exit codes, errors, and what the help says."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from cli.check_runs import prepare
from click.testing import CliRunner, Result
from support.rows import each_row

from pincite.cli import cli, main

ARTICLE = (
    "The '''Varde Bridge''' opened in 1911.<ref>{{cite web |url=https://varde.example/bridge "
    "|title=The bridge}}</ref> It was old.<ref>{{cite book |title=Bridges |isbn=1}}</ref>\n\n"
    "The river was by the town.<ref>{{cite web |url=https://gone.example/ |title=Gone}}</ref>\n"
)
PAGE = (
    "<html lang='en'><head><title>The bridge</title>"
    "<link rel='canonical' href='https://varde.example/bridge'></head><body><article>"
    "<p>The old bridge by the town opened in 1911, and it was a bridge over the river.</p>"
    "<p>Nobody in the town remembers who had paid for all of it in the end.</p>"
    "</article></body></html>"
)
BETTER = json.dumps(
    {
        "url": "https://better.example/",
        "title": "River",
        "text": "The river was by the old town. It opened in 1911.",
    }
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with an article, sources, a web to index, and tiny models."""
    prepare(tmp_path, monkeypatch)
    (tmp_path / "article.wiki").write_text(ARTICLE)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "bridge.html").write_text(PAGE)
    manifest = [
        {"url": "https://varde.example/bridge", "file": "bridge.html"},
        {"url": "https://gone.example/", "status": 404},
    ]
    (tmp_path / "pages" / "manifest.jsonl").write_text("\n".join(map(json.dumps, manifest)))
    (tmp_path / "web.jsonl").write_text(BETTER + "\nbroken line\n")
    return tmp_path


def run(*arguments: str, code: int = 0) -> Result:
    """Through `main`, so that exit codes are what a shell sees."""
    runner = CliRunner()
    result = runner.invoke(Main(), list(arguments), catch_exceptions=False)  # type: ignore[arg-type]
    assert result.exit_code == code, (result.stdout, result.stderr)
    return result


class Main:
    """What CliRunner wants of a command, answered by `main`."""

    name = "pincite"

    def main(self, args: list[str], prog_name: str, **_: object) -> None:
        import sys

        before, sys.argv = sys.argv, ["pincite", *args]
        try:
            main()
        finally:
            sys.argv = before


def commands(group: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command with the groups on its way, groups too."""
    yield path
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command
            yield from commands(command, (*path, name))


def at(path: tuple[str, ...]) -> click.Command:
    found: click.Command = cli
    for name in path:
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), name) or found
    return found


LEAVES = [path for path in commands(cli) if not isinstance(at(path), click.Group)]


def test_every_command_explains_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it does, and each option and argument that it takes."""
    monkeypatch.setenv("COLUMNS", "80")
    every = list(commands(cli))
    assert len(every) > 60
    for path in every:
        command = at(path)
        has_more = any("--help-all" in given.opts for given in command.params)
        asked = "--help-all" if has_more else "--help"
        result = CliRunner().invoke(cli, [*path, asked], prog_name="pincite")
        assert result.exit_code == 0, path
        lines = result.output.splitlines()
        assert lines[0].startswith(" ".join(("Usage: pincite", *path))), path
        assert max(map(len, lines)) <= 90, path  # an example is shown as it is typed
        assert command.help, path
        for given in command.params:
            if isinstance(given, click.Option) and not given.hidden:
                assert given.help or isinstance(given.type, click.Choice), (path, given.name)
                assert set(given.opts) <= set(re.split(r"[\s,/=\[]+", result.output)), path
            elif isinstance(given, click.Argument):
                assert given.make_metavar(click.Context(command)) in result.output, path
        if isinstance(command, click.Group) and command is not cli:
            listed = {line.split()[0] for line in lines if line.strip()}
            assert set(command.list_commands(click.Context(command))) <= listed, path


def test_claims_as_text_and_json(home: Path) -> None:
    assert "https://varde.example/bridge" in run("claims", "article.wiki").stdout
    shown = run("claims", "article.wiki", "--json").stdout
    rows = [json.loads(line) for line in shown.splitlines()]
    assert rows[0]["text"] == "The Varde Bridge opened in 1911."
    for row in rows:
        start, end = row["span"]
        assert row["text"].split()[-1] in ARTICLE[start:end]


def test_a_knowledge_base_is_kept_up_to_date(home: Path) -> None:
    docs = home / "docs"
    docs.mkdir()
    (docs / "river.md").write_text("The old town by the river.")
    (docs / "bridge.txt").write_text("The bridge opened in 1911.")
    (docs / "scan.pdf").write_bytes(b"no pdf")
    (docs / "about.csv").write_text(
        "file,publisher,date\nriver.md,Gazette,2001\nbridge.txt,Office,"
    )
    would = run("corpus", "update", "kb", "docs", "--dry-run", code=5)
    assert "it would be: 2 documents added" in would.stderr
    assert not (home / "kb").exists()
    done = json.loads(run("corpus", "update", "kb", "docs", "--json", code=5).stdout)
    assert [url.rsplit("/", 1)[1] for url in done["added"]] == ["bridge.txt", "river.md"]
    assert [one["reason"] for one in done["unread"]] == ["undecodable"]
    found = run("corpus", "search", "kb", "old town", "--where", "publisher == Gazette", "--json")
    (line,) = found.stdout.splitlines()
    assert json.loads(line)["text"] == "The old town by the river."
    assert "1 of 2 documents deleted" in run("corpus", "delete", "kb", done["added"][0], "x").stderr
    run("corpus", "add", "kb", "docs", "-q", code=5)
    (docs / "bridge.txt").unlink()
    again = run("corpus", "update", "kb", "docs", code=5)
    assert "1 no longer in PATHS: --prune deletes them." in again.stderr
    would = run("corpus", "update", "kb", "docs", "--prune", "--dry-run", code=5)
    assert "would be removed: file:" in would.stderr
    pruned = run("corpus", "update", "kb", "docs", "--prune", code=5)
    assert "1 unchanged" in pruned.stderr
    assert "1 removed" in pruned.stderr
    assert run("corpus", "verify", "kb").stderr.endswith("is sound.\n")


def test_words_now_and_vectors_later(home: Path) -> None:
    for command, done in (("add", "1 document added"), ("update", "1 unchanged")):
        given = ("corpus", command, "kb", "web.jsonl", "--no-vectors")
        assert done in run(*given, code=5).stderr
    found = run("corpus", "search", "kb", "old river town", "--by", "words", "--json").stdout
    assert json.loads(found)["url"] == "https://better.example/"
    refused = run("corpus", "search", "kb", "old river town", code=7).stderr
    assert "kb has no vectors. Create them: pincite corpus rebuild kb" in refused
    run("corpus", "rebuild", "kb")
    found = run("corpus", "search", "kb", "old river town", "--by", "meaning", "--json").stdout
    assert json.loads(found)["url"] == "https://better.example/"
    assert "1 unchanged" in run("corpus", "add", "kb", "web.jsonl", code=5).stderr
    refused = run("corpus", "add", "kb", "web.jsonl", "--no-vectors", code=2).stderr
    assert "Leave out --no-vectors" in refused


def test_corpus_verified_and_optimized(home: Path) -> None:
    run("corpus", "add", "web", "web.jsonl", "-q", code=5)
    (home / "web" / "g1" / "lexical.json").unlink()
    report = json.loads(run("corpus", "verify", "web", "--json", code=1).stdout)
    assert (report["sound"], report["findings"][0]["kind"]) == (False, "words")
    run("corpus", "verify", "web", "--repair")
    assert json.loads(run("corpus", "verify", "web", "--json").stdout)["sound"]
    run("corpus", "optimize", "web", "--index", "hnsw")
    manifest = json.loads(run("corpus", "status", "web", "--json").stdout)["manifest"]
    assert manifest["vector_index"] == "hnsw"


def test_verify_writes_every_format(home: Path) -> None:
    run("corpus", "add", "web", "web.jsonl", "-q", code=5)
    result = run(
        *("verify article.wiki --sources pages --corpus web --json r.json --csv r.csv".split()),
        *("--html r.html --wikitext r.txt".split()),
    )
    assert "1 claim could not be checked" in result.stdout
    report = json.loads((home / "r.json").read_text())
    assert report["counts"]["citations_unchecked"] == {"dead": 1, "offline": 1}
    assert report["counts"]["citations_checked"] == 1
    assert report["settings"]["retrieval.depth"] == 100
    assert report["versions"]["verifier"].startswith("verifier@")
    assert len(report["versions"]["corpus"]) >= 16
    assert "<mark>" in (home / "r.html").read_text()
    assert (home / "r.csv").read_text().startswith("rank,claim_id")
    assert (home / "r.txt").read_text().startswith("# Varde Bridge")


def test_fail_on(home: Path) -> None:
    run("verify", "article.wiki", "--sources", "pages", "--fail-on", "unchecked", "-q", code=1)
    run("verify", "article.wiki", "--sources", "pages", "--fail-on", "could not check", code=1)
    for same in ("contradicted?", "refuted"):
        run("verify", "article.wiki", "--sources", "pages", "--fail-on", same)


@pytest.mark.parametrize("verb", ["verify", "check", "ask"])
def test_help_shows_the_common_options_and_help_all_the_rest(verb: str) -> None:
    few, every = (run(verb, asked).stdout for asked in ("--help", "--help-all"))
    assert "--corpus" in few
    assert "--help-all" in few
    assert "--max-tokens" not in few
    assert "--max-tokens" in every


def test_ctrl_c_keeps_what_is_done_and_says_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pincite.types import Claim, Finding
    from pincite.verbs.verify.pipeline import VerifyPipeline

    done: list[Finding] = []
    finding = VerifyPipeline.finding

    def interrupted(self: VerifyPipeline, claim: Claim, written: str | None = None) -> Finding:
        if done:
            raise KeyboardInterrupt
        done.append(finding(self, claim))
        return done[0]

    monkeypatch.setattr(VerifyPipeline, "finding", interrupted)
    result = run("verify", "article.wiki", "--sources", "pages", "--json", "r.json", code=130)
    assert "Stopped after 1 of 3 claims" in result.stderr
    report = json.loads((home / "r.json").read_text())
    assert report["complete"] is False
    assert len(report["findings"]) == 1


@each_row("cli/cli/errors_say_what_to_do_and_have_their_exit_code")
def test_errors_say_what_to_do_and_have_their_exit_code(
    home: Path, arguments: str, code: int, said: str
) -> None:
    result = run(*arguments.split(), code=code)
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_without_arguments_commands_are_shown() -> None:
    shown = run().stdout
    tried = re.findall(r"^  (pincite \w+)", shown, re.MULTILINE)
    assert len(tried) == 3
    for command in tried:
        run(command.split()[1], "--help")


def test_sources_are_matched_and_named(home: Path) -> None:
    (home / "mine").mkdir()
    text = "It opened in 1911."
    (home / "mine" / "r1.txt").write_text(text)
    (home / "notes.txt").write_text("Words that nobody cites.")
    given = ("--sources", "mine", "--sources", "notes.txt", "--json", "-")
    done = run("verify", "article.wiki", *given)
    assert "r1.txt → r1" in done.stderr
    assert "notes.txt" in done.stderr
    report = json.loads(done.stdout)
    copies = [c["copy"] for f in report["findings"] for c in f["citations"] if c["copy"]]
    assert {"r1.txt"} == {copy["file"] for copy in copies}
    assert {note["values"]["file"] for note in report["warnings_coded"]} == {"notes.txt"}
    assert "r1.txt" not in run("verify", "article.wiki", *given, "-q").stderr


def test_doctor_names_what_hosts_are_told(home: Path) -> None:
    shown = run("doctor").stdout
    assert "encoder@" in shown
    assert "nothing leaves this machine" in shown
    assert "cited pages" not in shown
    server = "check.confirmation = 'model'\nchat.url = 'http://box:1/v1'\nchat.model = 'm'\n"
    for settings, words in (
        ("web.online = true\n", ("cited pages", "set contact")),
        ("web.online = true\nweb.contact = 'me@example.org'\n", ("me@example.org", "web.sqlite")),
        (server, ("statements with passages, which go to http://box:1/v1",)),
    ):
        (home / "pincite.toml").write_text(settings)
        shown = run("doctor").stdout
        assert [each for each in words if each not in shown] == []
    (home / "pincite.toml").write_text("models.encoder = 'nothing'")
    assert "MISSING" in run("doctor", code=6).stdout


def test_a_quiet_run_still_prints_the_result(home: Path) -> None:
    given = ("verify", "article.wiki", "--sources", "pages", "-q")
    assert "supported" in run(*given).stdout
    done = run(*given, "--html", "r.html")
    assert (done.stdout, done.stderr) == ("", "")
