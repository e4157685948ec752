"""What the documents show runs, and what they name exists."""

import re
from pathlib import Path

import pytest

from pincite.cli import VERBS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize(
    "code", [b for page in PAGES for b in blocks(page)], ids=lambda b: str(b).split("\n", 1)[0]
)
def test_python_examples_run(code: str) -> None:
    exec(compile(code, "example", "exec"), {})


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
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


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_anchors_exist(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
    assert not [
        link for link in links if link[1] not in anchors(page.parent / link[0] if link[0] else page)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_commands_that_are_shown_exist(page: Path) -> None:
    shown = re.findall(r"^    pincite (\w+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(shown) <= set(VERBS)


def test_every_verb_is_in_the_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert not [verb for verb in VERBS if f"pincite {verb}" not in changelog]


def test_make_targets_that_are_shown_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        shown = re.findall(r"^    make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(shown) <= targets
