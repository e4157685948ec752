"""A knowledge base kept up to date: with real files, a real corpus, and manifests."""

import gzip
import json
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from documents.builders import pubmed_record as record
from support.laws import FakeEncoder

from pincite.cli import cli
from pincite.corpus import update as module
from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.origins import ORIGINS, Origins, ReadFile
from pincite.corpus.update import Outcome, UpdateOptions, update
from pincite.documents.inputs import Parallel
from pincite.errors import CorpusError, InputError
from pincite.types import Document


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[EmbeddedCorpus]:
    with EmbeddedCorpus.create(tmp_path / "kb", None) as made:
        yield made


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# Trams\n\nThe tram to the harbour opened in 1931.\n")
    (folder / "b.txt").write_text("The ferry stopped in 1960.\n")
    return folder


def run(corpus: EmbeddedCorpus, tmp_path: Path, *paths: Path, **how: Any) -> Outcome:
    with Origins(tmp_path / "kb", write=not how.get("dry", False)) as origins:
        return update(corpus, origins, paths, UpdateOptions(**how))


def names(urls: list[str]) -> list[str]:
    return [url.rsplit("/", 1)[1] for url in urls]


def document(corpus: EmbeddedCorpus, url: str) -> Document:
    (found,) = corpus.get([url])
    assert found
    return found


def test_new_changed_known_and_gone(corpus: EmbeddedCorpus, docs: Path, tmp_path: Path) -> None:
    first = run(corpus, tmp_path, docs)
    assert names(first.added) == ["a.md", "b.txt"]
    second = run(corpus, tmp_path, docs)
    assert (second.added, second.changed, second.n_unchanged) == ([], [], 2)

    (docs / "a.md").write_text("# Trams\n\nThe tram to the harbour opened in 1932.\n")
    (docs / "b.txt").unlink()
    (docs / "c.txt").write_text("A third text.\n")
    third = run(corpus, tmp_path, docs)
    assert (names(third.added), names(third.changed)) == (["c.txt"], ["a.md"])
    assert (names(third.gone), third.removed) == (["b.txt"], [])
    assert corpus.status().n_documents == 3  # nothing is deleted unasked
    assert names(run(corpus, tmp_path, docs).gone) == ["b.txt"]  # and it is not forgotten

    fourth = run(corpus, tmp_path, docs, prune=True)
    assert (names(fourth.removed), fourth.gone, fourth.n_unchanged) == (["b.txt"], [], 2)
    assert corpus.status().n_documents == 2
    assert run(corpus, tmp_path, docs, prune=True).removed == []


def test_a_dry_run_writes_nothing(corpus: EmbeddedCorpus, docs: Path, tmp_path: Path) -> None:
    outcome = run(corpus, tmp_path, docs, dry=True)
    assert names(outcome.added) == ["a.md", "b.txt"]
    with Origins(tmp_path / "nothing", write=False) as origins:  # nor does it need a corpus
        assert (
            update(None, origins, [docs], UpdateOptions(dry=True, prune=True)).added
            == outcome.added
        )
    assert not (tmp_path / "nothing").exists()
    assert corpus.status().n_documents == 0
    assert not (tmp_path / "kb" / ORIGINS).exists()

    with Origins(tmp_path / "kb") as origins:  # opened for writing: a dry run leaves it alone
        assert len(update(corpus, origins, [docs], UpdateOptions(dry=True)).added) == 2
        assert len(update(corpus, origins, [docs], UpdateOptions()).added) == 2
    (docs / "b.txt").unlink()
    outcome = run(corpus, tmp_path, docs, dry=True, prune=True)
    assert names(outcome.removed) == ["b.txt"]
    assert corpus.status().n_documents == 2
    assert names(run(corpus, tmp_path, docs, prune=True).removed) == ["b.txt"]


def test_lines_that_left_a_file_are_gone(corpus: EmbeddedCorpus, tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    rows = [{"url": f"https://e.org/{n}", "text": f"Text number {n}."} for n in range(3)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run(corpus, tmp_path, file)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows[:1]))
    second = tmp_path / "b.jsonl"  # what another file still gives is not gone
    second.write_text(json.dumps(rows[2]))
    assert run(corpus, tmp_path, file, second, prune=True).removed == ["https://e.org/1"]
    # A line that is broken now may be one that was there before: it takes nothing away.
    file.write_text("{broken\n")
    outcome = run(corpus, tmp_path, file, prune=True)
    assert (outcome.removed, len(outcome.unread)) == ([], 1)
    assert len(run(corpus, tmp_path, file).unread) == 1, "said every time"
    assert corpus.status().n_documents == 2


def test_a_run_that_is_stopped_goes_on(
    corpus: EmbeddedCorpus, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pincite.corpus.update.BATCH_CHARS", 1)

    def stop(outcome: Outcome) -> None:
        if outcome.n_files_done == 1:
            raise KeyboardInterrupt

    with Origins(tmp_path / "kb") as origins, pytest.raises(KeyboardInterrupt):
        update(corpus, origins, [docs], UpdateOptions(), stop)
    assert corpus.status().n_documents == 1
    assert names(run(corpus, tmp_path, docs).added) == ["b.txt"]


def test_an_add_that_fails_says_how_many_documents_there_are(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = EmbeddedCorpus.add

    def fail_with_the_second(corpus: EmbeddedCorpus, documents: Any) -> int:
        if corpus.status().n_documents:
            raise CorpusError("The disk is full.")
        return add(corpus, documents)

    monkeypatch.setattr(module, "BATCH_CHARS", 1)
    monkeypatch.setattr(EmbeddedCorpus, "add", fail_with_the_second)
    command = ["corpus", "add", str(tmp_path / "kb"), str(docs), "--no-vectors", "-q"]
    (line,) = CliRunner().invoke(cli, command).stderr.splitlines()
    assert re.findall(r"\b\d+\b", line.removeprefix(str(tmp_path))) == ["1", "0"]


def test_a_path_that_is_not_there_changes_nothing(
    corpus: EmbeddedCorpus, docs: Path, tmp_path: Path
) -> None:
    run(corpus, tmp_path, docs)
    docs.rename(tmp_path / "elsewhere")  # a disk that is not mounted is no order to delete
    with pytest.raises(InputError, match="does not exist"):
        run(corpus, tmp_path, docs, prune=True)
    assert corpus.status().n_documents == 2


def test_a_damaged_memory_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / ORIGINS).write_bytes(b"no database" * 1000)
    with pytest.raises(CorpusError, match="remove it"):
        Origins(tmp_path)


def test_names_of_any_bytes_and_folders_that_begin_alike(tmp_path: Path) -> None:
    odd = tmp_path / "a" / os.fsdecode(b"\xff.txt")
    with Origins(tmp_path) as origins:
        origins.record([ReadFile(odd, "1", ["u"]), ReadFile(tmp_path / "ab" / "c", "1", ["v"])])
        assert origins.files_below([tmp_path / "a"]) == [odd.resolve()]
        origins.forget_files([odd])
        assert origins.gone_below([tmp_path / "a"]) == ["u"]
        assert origins.gone_below([tmp_path / "ab"]) == []


# ── Manifests ────────────────────────────────────────────────────────────────────────────────────


def test_a_row_of_a_csv_that_changed_changes_its_document_alone(
    corpus: EmbeddedCorpus, docs: Path, tmp_path: Path
) -> None:
    rows = [
        "file;url;date;author;publisher;licence;riders",
        "a.md;https://e.org/tram;2019-05-14;Ines Holm;Varde Gazette;CC BY 4.0;1200",
        "b.txt;;2001;;Harbour Office;CC0;",
    ]
    (docs / "sources.csv").write_text("\n".join(rows), encoding="utf-8-sig")
    outcome = run(corpus, tmp_path, docs)
    assert outcome.unread == []
    tram = document(corpus, "https://e.org/tram")
    assert (tram.title, tram.published, tram.kind) == ("Trams", "2019-05-14", "markdown")
    assert tram.meta == {
        "author": "Ines Holm",
        "publisher": "Varde Gazette",
        "licence": "CC BY 4.0",
        "riders": "1200",
    }
    ferry = document(corpus, (docs / "b.txt").as_uri())
    assert (ferry.published, ferry.meta["publisher"]) == ("2001", "Harbour Office")
    text = (docs / "sources.csv").read_text(encoding="utf-8-sig")
    (docs / "sources.csv").write_text(text.replace("Ines Holm", "Ines H. Holm"))
    outcome = run(corpus, tmp_path, docs)
    assert (outcome.changed, outcome.n_unchanged) == (["https://e.org/tram"], 1)


def test_a_manifest_alone_brings_its_files_and_texts(
    corpus: EmbeddedCorpus, docs: Path, tmp_path: Path
) -> None:
    rows = [
        {"file": "a.md", "url": "https://e.org/tram", "author": ["A. B.", "C. D."], "pages": 3},
        {"url": "https://e.org/note", "text": "A note on ferries.", "publisher": "Office"},
        {"url": "https://e.org/gone", "status": 404},
        {"file": "../kb/corpus.json", "url": "https://e.org/secret"},
        {"file": "b.txt", "url": "https://e.org/b", "date": "14.5.2019"},
        "no object",
    ]
    (docs / "manifest.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    outcome = run(corpus, tmp_path, docs / "manifest.jsonl")
    expected = ["https://e.org/tram", "https://e.org/note", "https://e.org/b"]
    assert sorted(outcome.added) == sorted(expected)
    assert document(corpus, expected[0]).meta == {"author": "A. B., C. D.", "pages": "3"}
    assert document(corpus, expected[1]).meta == {"publisher": "Office"}
    undated = document(corpus, expected[2])
    assert (undated.published, undated.meta) == (None, {"date": "14.5.2019"})
    said = " ".join(f"{one.url} {one.detail}" for one in outcome.unread)
    for word in ("HTTP 404", "outside the folder", "14.5.2019", "object"):
        assert word in said


def test_metadata_by_file_name_as_evidence_seeker_has_it(
    corpus: EmbeddedCorpus, docs: Path, tmp_path: Path
) -> None:
    said: dict[str, dict[str, Any]] = {
        "a.md": {"author": "I. Holm", "title": "Trams", "url": "https://a.example/", "year": 1931},
        "none.pdf": {"author": "Nobody"},
    }
    metadata = tmp_path / "meta_data.json"
    metadata.write_text(json.dumps(said))
    outcome = run(corpus, tmp_path, docs, metadata)
    found = document(corpus, "https://a.example/")
    assert (found.title, found.meta["author"], found.meta["year"]) == ("Trams", "I. Holm", "1931")
    (unread,) = outcome.unread
    assert "none.pdf" in unread.detail
    said["a.md"]["author"] = "I. Lund"
    metadata.write_text(json.dumps(said))
    assert run(corpus, tmp_path, docs, metadata).changed == ["https://a.example/"]


# ── PubMed: the last state of a record counts, and what was deleted goes ──────────────────────────

BASE, FIRST, SECOND = "pubmed26n0001.xml.gz", "pubmed26n0101.xml.gz", "pubmed26n0102.xml.gz"


def deleted(*pmids: int) -> str:
    inside = "".join(f"<PMID>{pmid}</PMID>" for pmid in pmids)
    return f"<DeleteCitation>{inside}</DeleteCitation>"


def write(path: Path, *records: str) -> Path:
    content = f"<PubmedArticleSet>{''.join(records)}</PubmedArticleSet>"
    path.write_bytes(gzip.compress(content.encode(), mtime=0))
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "pubmed"
    folder.mkdir()
    return [
        write(folder / SECOND, record(2, "Two, third state."), deleted(3)),
        write(folder / FIRST, record(2, "Two, second state."), record(5, "Five."), record(4, "")),
        write(folder / BASE, *(record(n, f"Number {n}, first state.") for n in range(1, 5))),
    ]


def texts(corpus: EmbeddedCorpus) -> dict[int, str]:
    urls = [f"https://pubmed.ncbi.nlm.nih.gov/{n}/" for n in range(1, 9)]
    found = zip(range(1, 9), corpus.get(urls), strict=True)
    return {n: document.text for n, document in found if document}


FINAL = {1: "Number 1, first state.", 2: "Two, third state.", 5: "Five."}


def test_the_last_file_counts_whatever_the_order(
    corpus: EmbeddedCorpus, files: list[Path], tmp_path: Path
) -> None:
    outcome = run(corpus, tmp_path, *files)  # given last file first
    assert texts(corpus) == FINAL
    assert outcome.passed_over == {"title_only": 1}
    assert (outcome.unread, outcome.gone) == ([], [])

    again = run(corpus, tmp_path, *files)
    assert (again.added, again.changed, again.removed) == ([], [], [])
    reread = run(corpus, tmp_path, *files, reread=True)
    assert (reread.added, reread.changed, reread.removed) == ([], [], [])
    assert reread.n_superseded == 4  # of the baseline 2, 3, 4; of the first update 2
    assert texts(corpus) == FINAL


def test_a_file_that_comes_late_changes_nothing_and_what_was_deleted_may_come_back(
    corpus: EmbeddedCorpus, files: list[Path], tmp_path: Path
) -> None:
    for late in (files[:1], files[1:]):
        run(corpus, tmp_path, *late)
    assert texts(corpus) == FINAL
    files.append(write(files[0].with_name("pubmed26n0103.xml.gz"), record(3, "Three again.")))
    outcome = run(corpus, tmp_path, *files)
    assert outcome.n_files == 4
    assert texts(corpus) == FINAL | {3: "Three again."}
    run(corpus, tmp_path, *files, reread=True)
    assert texts(corpus) == FINAL | {3: "Three again."}
    new_year = write(files[0].with_name("pubmed27n0001.xml.gz"), record(2, "Two, next year."))
    run(corpus, tmp_path, new_year)
    assert texts(corpus)[2] == "Two, next year."


def test_what_is_deleted_in_a_batch_that_was_kept(
    corpus: EmbeddedCorpus, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH_CHARS", 1)
    monkeypatch.setattr(module, "WITHDRAWN_AT_ONCE", 1)
    outcome = run(corpus, tmp_path, *files)
    assert texts(corpus) == FINAL
    assert [url[-2] for url in outcome.removed] == ["4", "3"]
    assert run(corpus, tmp_path, *files, reread=True, dry=True).removed == []


def test_the_highest_version_of_an_article_counts(corpus: EmbeddedCorpus, tmp_path: Path) -> None:
    write(tmp_path / BASE, record(1, "Version two.", version=2), record(1, "Version one."))
    outcome = run(corpus, tmp_path, tmp_path / BASE)
    assert (texts(corpus), outcome.n_superseded) == ({1: "Version two."}, 1)
    write(tmp_path / FIRST, record(1, "Version one, revised."))
    outcome = run(corpus, tmp_path, tmp_path / FIRST)
    assert (texts(corpus), outcome.n_superseded) == ({1: "Version two."}, 1)
    write(tmp_path / SECOND, record(1, "Version three.", version=3))
    run(corpus, tmp_path, tmp_path / SECOND)
    assert texts(corpus) == {1: "Version three."}


# ── A load that is killed, and files that break ──────────────────────────────────────────────────


class Counting(FakeEncoder):
    """Remembers what it encoded."""

    def __init__(self) -> None:
        super().__init__()
        self.encoded: list[str] = []

    def encode(self, texts: Any, role: Any) -> Any:
        self.encoded += texts
        return super().encode(texts, role)


def sentences(chance: random.Random, n: int) -> str:
    words = [f"word{chance.randrange(300)}" for _ in range(12 * n)]
    return " ".join(f"The {' '.join(words[at : at + 12])}." for at in range(0, len(words), 12))


@pytest.fixture
def numbered_files(tmp_path: Path) -> Path:
    """Texts, some in rows of a table with broken ones between, one address given twice."""
    chance, folder = random.Random(7), tmp_path / "files"
    folder.mkdir()
    for n in range(9):
        (folder / f"{n}.txt").write_text(sentences(chance, 30 + n))
    rows = [
        json.dumps({"url": f"https://e.example/{n % 70}", "text": sentences(chance, 20)})
        for n in range(75)
    ]
    (folder / "rows.jsonl").write_text("\n".join([*rows[:40], "{broken", *rows[40:]]))
    (folder / "pages.csv").write_text("url,author\nhttps://e.example/3,I. Holm\n")
    return folder


def filled(corpus: EmbeddedCorpus, folder: Path, files: Path, parallel: Parallel) -> Outcome:
    with Origins(folder) as origins:
        return update(corpus, origins, [files], UpdateOptions(), None, parallel)


def held(corpus: EmbeddedCorpus) -> list[Any]:
    """Everything that the corpus holds, in its order."""
    store = corpus._generation.store
    rows = store.rows("SELECT key, doc_id, title, content_hash, meta FROM documents ORDER BY key")
    texts = store.rows("SELECT document, number, data FROM blocks ORDER BY document, number")
    passages = store.rows("SELECT key, document, first, last FROM passages ORDER BY key")
    vectors = store.rows("SELECT passage, vector FROM vectors ORDER BY passage")
    return [rows, texts, passages, vectors]


class Killed(BaseException):
    """As Ctrl-C, or kill -9: nobody catches it."""


def only(n: int, add: Any) -> Any:
    """`add`, which is killed after so many calls."""
    left = iter(range(n))

    def added(documents: Any) -> int:
        if next(left, None) is None:
            raise Killed
        result: int = add(documents)
        return result

    return added


@pytest.mark.parametrize("n_commits", [1, 4])
def test_a_cut_load_goes_on_and_encodes_nothing_twice(
    numbered_files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_commits: int
) -> None:
    monkeypatch.setattr("pincite.corpus.update.BATCH_CHARS", 20_000)
    folder, encoder = tmp_path / "kb", Counting()
    with EmbeddedCorpus.create(tmp_path / "whole", FakeEncoder()) as corpus:
        filled(corpus, tmp_path / "whole", numbered_files, Parallel())
        whole = held(corpus)
    with EmbeddedCorpus.create(folder, encoder) as corpus:
        monkeypatch.setattr(corpus, "add", only(n_commits, corpus.add))
        with pytest.raises(Killed):
            filled(corpus, folder, numbered_files, Parallel())
    with EmbeddedCorpus.open(folder, encoder, write=True) as corpus:
        filled(corpus, folder, numbered_files, Parallel())
        assert held(corpus) == whole
    assert len(encoder.encoded) == len(set(encoder.encoded))
