"""`pincite verify --dump`: every article once, whoever checks it, however often it stops."""

import csv
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.sax.saxutils import escape

import pytest
from cli.check_runs import Run
from support.rows import each_row

from pincite.cli.verify import View
from pincite.types import Label

PAGE = (
    "<page><title>{title}</title><ns>{ns}</ns>{more}<revision><id>{id}</id>"
    "<timestamp>2024-01-02T03:04:05Z</timestamp><text>{text}</text></revision></page>"
)


def page(number: int, text: str, ns: int = 0, more: str = "") -> str:
    title = f"Bridge {number}"
    return PAGE.format(title=title, ns=ns, more=more, id=100 + number, text=escape(text))


def text(number: int) -> str:
    places = ["https://a.example/", "https://b.example/", "https://gone.example/"]
    return f"The bridge opened in {1909 + number}.<ref>[{places[number % 3]} Town]</ref> It is old."


@pytest.fixture
def dump(run: Run) -> Path:
    pages = [page(n, text(n)) for n in range(7)]
    pages.insert(2, page(50, "#REDIRECT [[Bridge 1]]", more='<redirect title="Bridge 1"/>'))
    pages.insert(4, page(51, text(0), ns=1))
    Path("stored").mkdir()
    Path("kb.jsonl").rename("stored/kb.jsonl")
    Path("dump.xml").write_text(f'<mediawiki xml:lang="en">{"".join(pages)}</mediawiki>')
    return Path("dump.xml")


def checked(
    run: Run, out: str, *more: str, code: int = 0, dump: str = "dump.xml"
) -> dict[str, Any]:
    """Every file of the reports' folder, without the time at which it was made."""
    arguments = "--dump", dump, "--corpus", "kb", "--sources", "stored", "--out", out
    run("verify", *arguments, *more, code=code)
    found: dict[str, Any] = {}
    for path in sorted(Path(out).iterdir()):
        found[path.name] = path.read_text()
        if path.suffix == ".json" and "created" in json.loads(found[path.name]):
            found[path.name] = json.loads(found[path.name]) | {"created": ""}
        elif path.suffix == ".html":
            found[path.name] = len(found[path.name])
    return found


def test_every_article_has_its_report_and_the_worst_claims_of_all_are_a_table(
    run: Run, dump: Path
) -> None:
    found = checked(run, "out", "--worst", "34%")
    assert checked(run, "out", "--worst", "34%") == found  # from the stored reports too
    reports = [name for name in found if name.startswith("dump.")]
    assert reports == sorted(f"dump.{100 + n}.{end}" for n in range(7) for end in ("html", "json"))
    titles = {f"Bridge {n}" for n in range(7)}
    assert {row["title"] for row in json.loads(found["worklist.json"])["articles"]} == titles
    findings = [f for name in reports if name.endswith(".json") for f in found[name]["findings"]]
    scores = [finding["score"] for finding in findings if finding["score"] is not None]
    rows = list(csv.DictReader(found["worst.csv"].splitlines()))
    assert len(rows) == math.ceil(0.34 * len(scores)) > 0
    assert [float(row["score"]) for row in rows] == pytest.approx(sorted(scores)[: len(rows)])
    assert {row["article"] for row in rows} <= titles


@pytest.mark.parametrize(
    ("limit", "worst", "n_rows"),
    [(None, None, None), (None, 0.07, 7), (9, 0.34, 9), (1, 0.34, 1), (0, 0.34, 0)],
)
def test_a_share_is_of_the_claims_that_were_checked_and_the_limit_holds_too(
    limit: int | None, worst: float | None, n_rows: int | None
) -> None:
    labels = [*[Label.SUPPORTED] * 100, *[Label.UNCHECKED] * 9]
    report: Any = SimpleNamespace(findings=[SimpleNamespace(label=each) for each in labels])
    assert View(limit, worst).most_rows(report) == n_rows


@pytest.mark.parametrize("share", ["10", "0%", "101%", "x%", "%"])
def test_a_share_is_a_percentage(run: Run, dump: Path, share: str) -> None:
    run("verify", "--dump", "dump.xml", "--out", "out", "--worst", share, code=2)


def test_a_second_run_only_does_what_is_missing(run: Run, dump: Path) -> None:
    first = checked(run, "out")
    kept = {path: path.stat().st_mtime_ns for path in Path("out").glob("dump.*")}
    for number in (100, 104):
        Path(f"out/dump.{number}.json").unlink()
    assert checked(run, "out") == first
    again = {path for path in kept if path.stat().st_mtime_ns != kept[path]}
    assert {path.name for path in again} == {
        f"dump.{number}.{end}" for number in (100, 104) for end in ("html", "json")
    }


def test_an_article_that_breaks_costs_itself(
    run: Run, dump: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pincite.verbs.verify import batch
    from pincite.wiki.article import parse_page as read

    def breaking(found: Any, otherwise: str) -> Any:
        if found.title == "Bridge 3":
            raise RecursionError("too deep")
        return read(found, otherwise)

    monkeypatch.setattr(batch, "parse_page", breaking)
    found = checked(run, "out", code=5)
    assert "dump.103.json" not in found
    last = json.loads(found["worklist.json"])["articles"][-1]
    assert last["title"] == "Bridge 3"
    assert "RecursionError" in last["problem"]


@each_row("cli/dump/what_does_not_go_together")
def test_what_does_not_go_together(run: Run, dump: Path, arguments: list[str], said: str) -> None:
    assert said in run("verify", *arguments, code=2).output
