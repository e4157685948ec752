"""`--expansion` as a user meets it: in `verify`, in `eval wafer`, in `doctor`."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from models.chat_server import Server, good, refusal, serving

from conftest import write_model
from pincite.cli import cli

KEY = "sk-very-secret"
ARTICLE = (
    "The river was by the town.<ref>{{cite web |url=https://gone.example/ |title=Gone}}</ref>\n\n"
    "The bridge opened in 1911.<ref>{{cite web |url=https://lost.example/ |title=Lost}}</ref>\n"
)
PAGES = [
    {"url": "https://a.example/", "title": "River", "text": "The river was by the old town."},
    {"url": "https://b.example/", "title": "Bridge", "text": "The old bridge opened in 1911."},
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs a command in a folder with an article, a corpus and tiny models."""
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PINCITE_CHAT_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    encoder = write_model(tmp_path / "encoder", labels=0)
    verifier = write_model(tmp_path / "verifier", labels=3)
    Path("pincite.toml").write_text(
        f"models.encoder = '{encoder}'\nmodels.verifier = '{verifier}'\n"
    )
    Path("article.wiki").write_text(ARTICLE)
    Path("corpus-dev.jsonl").write_text("\n".join(map(json.dumps, PAGES)))
    records = [
        {
            "id": str(number),
            "input": f"Varde [SEP] {page['text']} [CIT]",
            "output": [{"answer": page["url"], "provenance": [{"url": page["url"]}]}],
            "meta": {"supporting": [[page["text"]]]},
        }
        for number, page in enumerate(PAGES)
    ]
    Path("dev.jsonl").write_text("\n".join(map(json.dumps, records)))

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(cli, list(arguments), catch_exceptions=False)

    assert call("corpus", "add", "web", "corpus-dev.jsonl").exit_code == 0
    return call


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


VERIFY = ("verify", "article.wiki", "--corpus", "web", "--json", "-")


def by_server(server: Server) -> tuple[str, ...]:
    return ("--expansion", "server", "--chat-url", server.url, "--chat-model", "tiny")


def test_nothing_is_asked_unless_it_is_switched_on(
    run: Callable[..., Result], server: Server
) -> None:
    report = json.loads(run(*VERIFY, *by_server(server)[2:]).stdout)
    assert report["settings"]["retrieval.expansion"] == "none"
    assert "expansion" not in report["versions"]
    assert server.asked == []


def test_feedback(run: Callable[..., Result]) -> None:
    report = json.loads(run(*VERIFY, "--expansion", "rm3").stdout)
    assert report["versions"]["expansion"] == "rm3"
    assert len(report["findings"]) == 2


def test_a_server_gives_titles_and_the_key_stays_here(
    run: Callable[..., Result], server: Server
) -> None:
    server.answers = [good("The old river of the town")]
    result = run(*VERIFY, *by_server(server))
    report = json.loads(result.stdout)
    assert report["settings"]["chat.url"] == server.url
    assert report["versions"]["expansion"].startswith("titles by tiny@127.0.0.1:")
    assert report["warnings"] == []
    assert len(server.asked) == 2
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert "[SEP] The river was by the town" in server.asked[0]["messages"][1]["content"]
    assert KEY not in result.output + json.dumps(server.asked)


def test_a_refusing_server_ends_no_run_and_is_told_of_once(
    run: Callable[..., Result], server: Server
) -> None:
    server.answers = [refusal(401, f"bad key {KEY}")]
    result = run(*VERIFY, *by_server(server))
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert len(report["findings"]) == 2
    (warning,) = report["warnings"]
    assert warning.startswith("2 claims were searched without a guessed title")
    assert "PINCITE_CHAT_KEY" in warning
    assert KEY not in result.output
    assert len(server.asked) == 1


def test_a_row_beside_sparse(run: Callable[..., Result], server: Server) -> None:
    pytest.importorskip("ir_measures")
    plain = run("eval", "wafer", ".", "-q").stdout
    assert "sparse + expansion" not in plain
    names = [line.split("  ")[0] for line in plain.splitlines()[:10]]
    assert names == "page side sparse dense weighted learnt rrf union verifai verified".split()
    for way in (("--expansion", "rm3"), by_server(server)):
        table = run("eval", "wafer", ".", "-q", *way).stdout
        assert [line.split("  ")[0] for line in table.splitlines()[1:5]] == [
            *("side", "sparse", "sparse + expansion", "dense")
        ]
    result = json.loads(run("eval", "wafer", ".", "--json", *by_server(server)).stdout)
    assert result["evidence"]["sparse + expansion"]["SR@10"] == 1.0
    assert result["versions"]["expansion"].startswith("titles by tiny")
    server.answers = [refusal(404)]
    result = json.loads(run("eval", "wafer", ".", "-q", "--json", *by_server(server)).stdout)
    assert "2 claims were searched" in result["warnings"][0]


def test_settings_that_lack_something(run: Callable[..., Result]) -> None:
    from pincite.errors import ConfigError, MissingModel

    with pytest.raises(ConfigError, match="titles is empty"):
        run(*VERIFY, "--expansion", "titles")
    with pytest.raises(MissingModel, match="holds no model that writes titles"):
        run(*VERIFY, "--expansion", "titles", "--title-model", "web")


def test_doctor_names_the_server(run: Callable[..., Result]) -> None:
    assert "go to" not in run("doctor").stdout
    with Path("pincite.toml").open("a") as settings:
        settings.write(
            "retrieval.expansion = 'server'\nchat.url = 'http://box:1/v1'\nchat.model = 'm'\n"
        )
    shown = run("doctor").stdout
    assert "which go to http://box:1/v1" in shown
    assert KEY not in shown
