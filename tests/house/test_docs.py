"""What the documents show runs, and what they name exists."""

import json
import re
import shlex
from pathlib import Path

import click
import pytest

from pincite.cli import PLUGINS, cli

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RESEARCH = sorted((ROOT / "research").glob("*.md"))

# What the examples of docs/python.md read.
ARTICLE = """The harbour of Sandby was built in 1874.<ref>{{cite web
|url=https://harbour.example/history |title=Our history}}</ref> Its lighthouse is 31 metres
tall.<ref>{{cite web |url=https://lights.example/sandby |title=Sandby light}}</ref> The fish market
closed in 1962.<ref>{{cite book |title=Markets of the coast}}</ref>"""
STORED = {
    "https://harbour.example/history": "The town paid for the harbour itself. Building began in "
    "1871, and the harbour of Sandby was built by 1874. The first ship came in spring.",
    "https://lights.example/sandby": "The lighthouse of Sandby stands on the northern mole. It is "
    "27 metres tall and white, and its light is seen for 15 miles.",
}


def blocks(path: Path) -> list[tuple[str, str]]:
    """The examples of a page, each with what it prints; "" where the page does not show it."""
    text = path.read_text(encoding="utf-8")
    found = r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?"
    return re.findall(found, text, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of their own to run in, with an article and copies of its sources."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("pincite.runtime.judgements_file", lambda: tmp_path / "judged")
    Path("article.wiki").write_text(ARTICLE)
    Path("pages").mkdir()
    lines = [json.dumps({"url": url, "text": text}) for url, text in STORED.items()]
    Path("pages/pages.jsonl").write_text("\n".join(lines))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("code", "shown"),
    [
        pytest.param(*block, id=f"{page.stem} {number}")
        for page in PAGES
        for number, block in enumerate(blocks(page), 1)
    ],
)
def test_python_examples_run(code: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "example", "exec"), {})
    if shown:
        assert capsys.readouterr().out == shown


@pytest.mark.parametrize("page", [*PAGES, *RESEARCH], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    plain = (
        re.sub(r"[^\w\- ]", "", h.lower()) for h in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    )
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", [*PAGES, *RESEARCH], ids=lambda p: p.name)
def test_anchors_exist(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
    assert not [
        link for link in links if link[1] not in anchors(page.parent / link[0] if link[0] else page)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_commands_that_are_shown_take_the_options_that_are_shown(page: Path) -> None:
    for line in re.findall(r"^    pincite (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        words = shlex.split(re.split(r" #| && | \| | &$", line)[0].rstrip("\\"))
        if PLUGINS.get(words[0]) and words[0] not in cli.list_commands(click.Context(cli)):
            continue  # in the tests of the plugin
        command: click.Command = cli
        while isinstance(command, click.Group) and words:
            found = command.get_command(click.Context(command), words[0])
            if found is None and command.name == "feedback":  # short for `feedback add`
                words.insert(0, "add")
                continue
            assert found or words[0].startswith("-"), line
            if found is None:
                break
            command, words = found, words[1:]
        known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
        options = {word for word in words if re.match(r"-[a-z-]", word)}
        assert options <= known | {"--help", "--version", "--debug"}, line


def test_make_targets_that_are_shown_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        shown = re.findall(r"^    make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(shown) <= targets


@pytest.mark.parametrize("marker", ["models", "train"])
def test_make_looks_wherever_a_marker_is(marker: str) -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    (named,) = re.findall(rf"^OF_{marker.upper()} := (.+)$", text, re.MULTILINE)
    places = {ROOT / place for place in named.split()}
    bear = {
        path
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search(rf"pytest\.mark\.{marker}\b", path.read_text(encoding="utf-8"))
    }
    assert {path for path in bear if path not in places} == set()
    assert {path for path in places if not path.exists()} == set()
