"""`pincite source`, and that no output of `verify` holds more of a copy than short quotes."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from cli.test_cli import run
from documents.builders import locked_pdf, paragraph_lines, pdf
from support.rows import text_of

ISBN = "978-0-306-40615-7"
# Stands before and behind the sentence that is quoted, in the same passage and the same paragraph.
CANARY = "Zanzibar Quicksilver Marmalade"
PAGES = [
    [f"{CANARY} stands on the first page. The ferry of Varde was slow."],
    [
        f"{CANARY} was a firm of the town.",
        "The bridge of Varde opened in 1911.",
        f"Its owner was {CANARY} again.",
    ],
    [f"The tram reached the harbour in 1922, says {CANARY}."],
]
ARTICLE = text_of("cli/source/article.wiki")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an article, a book and a stored page; the models are those of the package."""
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / "article.wiki").write_text(ARTICLE)
    (tmp_path / "book.pdf").write_bytes(pdf([paragraph_lines([page]) for page in PAGES]))
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.html").write_text(
        '<html><head><link rel="canonical" href="https://a.example/"><title>Page</title></head>'
        "<body><p>The bridge was painted green in the summer after it opened.</p></body></html>"
    )
    return tmp_path


def attach(*more: str) -> None:
    done = run("source", "attach", ISBN, "book.pdf", "--pages", "120-122", *more)
    assert "ISBN 9780306406157: 3 pages (pp. 120–122), " in done.stderr
    assert "words" in done.stderr


def citations_of(report: dict[str, Any]) -> dict[str, Any]:
    return {c["citation_id"]: c for f in report["findings"] for c in f["citations"]}


def test_no_output_holds_more_than_quotes(home: Path) -> None:
    attach()
    outputs = ["--json", "r.json", "--csv", "r.csv", "--html", "r.html", "--wikitext", "r.wiki"]
    done = run("verify", "article.wiki", "--sources", "pages", *outputs)
    texts = {name: (home / name).read_text() for name in outputs[1::2]}
    for name, text in (texts | {"terminal": done.stdout}).items():
        assert CANARY not in " ".join(text.split()), name
        assert "Quicksilver" not in text, name
        assert str(home) not in text, name
    report = json.loads(texts["r.json"])
    citations = citations_of(report)
    first = citations["r1"]
    quote, passage = first["evidence"]["quote"], first["evidence"]["passage"]
    assert first["label"] == "supported"
    assert quote == passage == "The bridge of Varde opened in 1911."
    digest = first["copy"].pop("url").removeprefix("own:")
    assert first["copy"] == {"kind": "own", "date": None, "corpus": "", "file": "book.pdf"}
    assert len(digest) == 64
    assert first["evidence"]["url"] == f"own:{digest}"
    place = {"page": "121", "printed": True, "cited": "p. 122", "elsewhere": True}
    assert first["place"] == place
    assert citations["r3"]["copy"]["kind"] == "stored"
    assert citations["r4"]["unchecked"]["reason"] == "offline"
    assert "library.own_copies" not in report["settings"]
    assert "own_copies" in report["versions"]
    for text in (done.stdout, texts["r.html"], texts["r.csv"]):
        assert "cited p. 122, found on p. 121" in text
        assert "book.pdf" in text
        assert digest[:12] not in text
    rows = list(csv.DictReader(io.StringIO(texts["r.csv"])))
    assert {row["copy_url"] for row in rows if row["citation_id"] == "r1"} == {"book.pdf"}


def test_a_citation_of_an_article_or_a_report(home: Path) -> None:
    (home / "old.txt").write_text("The zoo of the town has nine lions and two bears.")
    run("verify", "article.wiki", "-q", "--json", "r.json")
    done = run("source", "attach", "r4", "old.txt", "--report", "r.json")
    assert "Old Towns (r4 of r.json): 11 words" in done.stderr
    for ref in ("article.wiki#r4", "article.wiki#4"):
        assert "work:old towns|rao" in run("source", "show", ref).stdout
    done = run("verify", "article.wiki", "-q", "--json", "-")
    found = citations_of(json.loads(done.stdout))
    assert found["r4"]["evidence"]["quote"] == "The zoo of the town has nine lions and two bears."
    assert found["r1"]["unchecked"]["reason"] == "offline"


def test_listed_shown_and_removed(home: Path) -> None:
    assert run("source", "list").stdout == ""
    attach()
    (home / "notes.md").write_text("# Notes\n\nThe bridge opened in 1911.")
    run("source", "attach", ISBN, "notes.md")
    rows = [json.loads(line) for line in run("source", "list", "--json").stdout.splitlines()]
    assert [(row["name"], row["pages"]) for row in rows] == [
        ("book.pdf", [120, 122]),
        ("notes.md", None),
    ]
    first, _ = run("source", "list").stdout.splitlines()
    assert first.split()[:2] == [rows[0]["id"], "book.pdf:"]
    assert rows[0]["sha256"][:8] not in first
    shown = run("source", "show", "0306406152").stdout
    assert str(home / "data" / "pincite" / "own" / "files" / rows[0]["sha256"]) in shown
    done = run("source", "remove", rows[0]["id"])
    assert "book.pdf" in done.stderr
    assert len(run("source", "list").stdout.splitlines()) == 1
    assert "notes.md" in run("source", "show", "notes.md").stdout
    run("source", "remove", ISBN)
    assert list((home / "data" / "pincite" / "own" / "files").iterdir()) == []
    failed = run("source", "show", ISBN, code=3)
    assert "Nothing is attached to ISBN 9780306406157" in failed.stderr


def test_refusals(home: Path) -> None:
    (home / "locked.pdf").write_bytes(locked_pdf())
    failed = run("source", "attach", ISBN, "locked.pdf", code=3)
    assert "locked.pdf was not attached: the PDF is password-protected. Attach a" in failed.stderr
    for given, message in (
        (["The Harbour", "book.pdf"], "does not identify a source"),
        (["article.wiki#r9", "book.pdf"], "no citation r9"),
        (["article.wiki#x", "book.pdf"], "such as r7"),
        ([ISBN, "book.pdf", "--pages", "120-135"], "are 16 pages"),
        ([ISBN, "none.pdf"], "missing"),
    ):
        failed = run("source", "attach", *given, code=3)
        assert message in failed.stderr, given
    assert run("source", "list").stdout == ""


def test_names_that_would_move_a_terminal(home: Path) -> None:
    name = "a\x1b[2J\u202eb.txt"
    (home / name).write_text("The bridge opened in 1911.")
    run("source", "attach", ISBN, name)
    shown = run("source", "list").stdout
    assert "a[2Jb.txt" in shown
    assert "\x1b" not in shown
