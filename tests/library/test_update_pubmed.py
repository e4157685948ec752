"""PubMed's files into a corpus: the last state of a record counts, and what was deleted goes."""

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.make_pubmed import lines

from pincite.cli import cli
from pincite.corpus.embedded import EmbeddedCorpus
from pincite.corpus.origins import Origins
from pincite.library import update as module
from pincite.library.update import How, Outcome, update
from pincite.retrieval.filters import Filters, condition

BASE, FIRST, SECOND = "pubmed26n0001.xml.gz", "pubmed26n0101.xml.gz", "pubmed26n0102.xml.gz"


def record(pmid: int, text: str, version: int = 1, more: str = "") -> str:
    abstract = f"<Abstract><AbstractText>{text}</AbstractText></Abstract>" if text else ""
    return (
        f'<PubmedArticle><MedlineCitation><PMID Version="{version}">{pmid}</PMID><Article>'
        f"<ArticleTitle>Record {pmid}.</ArticleTitle>{abstract}</Article>{more}</MedlineCitation>"
        "</PubmedArticle>"
    )


def deleted(*pmids: int) -> str:
    inside = "".join(f"<PMID>{pmid}</PMID>" for pmid in pmids)
    return f"<DeleteCitation>{inside}</DeleteCitation>"


def write(path: Path, *records: str) -> Path:
    content = f"<PubmedArticleSet>{''.join(records)}</PubmedArticleSet>"
    path.write_bytes(gzip.compress(content.encode(), mtime=0))
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[EmbeddedCorpus]:
    with EmbeddedCorpus.create(tmp_path / "kb", None) as made:
        yield made


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "pubmed"
    folder.mkdir()
    return [
        write(folder / SECOND, record(2, "Two, third state."), deleted(3)),
        write(folder / FIRST, record(2, "Two, second state."), record(5, "Five."), record(4, "")),
        write(folder / BASE, *(record(n, f"Number {n}, first state.") for n in range(1, 5))),
    ]


def run(corpus: EmbeddedCorpus, tmp_path: Path, paths: Sequence[Path], **how: Any) -> Outcome:
    with Origins(tmp_path / "kb", write=not how.get("dry", False)) as origins:
        return update(corpus, origins, paths, How(**how))


def texts(corpus: EmbeddedCorpus) -> dict[int, str]:
    urls = [f"https://pubmed.ncbi.nlm.nih.gov/{n}/" for n in range(1, 9)]
    found = zip(range(1, 9), corpus.get(urls), strict=True)
    return {n: document.text for n, document in found if document}


FINAL = {1: "Number 1, first state.", 2: "Two, third state.", 5: "Five."}


def test_the_last_file_counts_whatever_the_order(
    corpus: EmbeddedCorpus, files: list[Path], tmp_path: Path
) -> None:
    outcome = run(corpus, tmp_path, files)  # given last file first
    assert texts(corpus) == FINAL
    assert outcome.passed_over == {"title_only": 1}
    assert (outcome.unread, outcome.gone) == ([], [])

    again = run(corpus, tmp_path, files)
    assert (again.added, again.changed, again.removed) == ([], [], [])
    reread = run(corpus, tmp_path, files, reread=True)
    assert (reread.added, reread.changed, reread.removed) == ([], [], [])
    assert reread.n_superseded == 4  # of the baseline 2, 3, 4; of the first update 2
    assert texts(corpus) == FINAL


def test_a_file_that_comes_late_changes_nothing_that_is_newer(
    corpus: EmbeddedCorpus, files: list[Path], tmp_path: Path
) -> None:
    run(corpus, tmp_path, files[:1])
    run(corpus, tmp_path, files[1:])
    assert texts(corpus) == FINAL
    files[2].touch()
    outcome = run(corpus, tmp_path, files)
    assert (outcome.added, outcome.changed, outcome.removed) == ([], [], [])
    assert texts(corpus) == FINAL


def test_what_was_deleted_may_come_back(
    corpus: EmbeddedCorpus, files: list[Path], tmp_path: Path
) -> None:
    run(corpus, tmp_path, files)
    files.append(write(files[0].with_name("pubmed26n0103.xml.gz"), record(3, "Three again.")))
    outcome = run(corpus, tmp_path, files)
    assert outcome.n_files == 4
    assert texts(corpus) == FINAL | {3: "Three again."}
    run(corpus, tmp_path, files, reread=True)
    assert texts(corpus) == FINAL | {3: "Three again."}
    new_year = write(files[0].with_name("pubmed27n0001.xml.gz"), record(2, "Two, next year."))
    run(corpus, tmp_path, [new_year])
    assert texts(corpus)[2] == "Two, next year."


def test_what_is_deleted_in_a_batch_that_was_kept(
    corpus: EmbeddedCorpus, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH_CHARS", 1)
    monkeypatch.setattr(module, "LEAVING_AT_ONCE", 1)
    outcome = run(corpus, tmp_path, files)
    assert texts(corpus) == FINAL
    assert [url[-2] for url in outcome.removed] == ["4", "3"]
    assert run(corpus, tmp_path, files, reread=True, dry=True).removed == []


def test_a_dry_run_says_what_would_go(
    corpus: EmbeddedCorpus, files: list[Path], tmp_path: Path
) -> None:
    run(corpus, tmp_path, files[2:])
    outcome = run(corpus, tmp_path, files, dry=True)
    assert sorted(url[-2] for url in outcome.removed) == ["3", "4"]
    assert len(texts(corpus)) == 4


def test_the_highest_version_of_an_article_counts(corpus: EmbeddedCorpus, tmp_path: Path) -> None:
    write(tmp_path / BASE, record(1, "Version two.", 2), record(1, "Version one."))
    outcome = run(corpus, tmp_path, [tmp_path / BASE])
    assert (texts(corpus), outcome.n_superseded) == ({1: "Version two."}, 1)
    write(tmp_path / FIRST, record(1, "Version one, revised."))
    outcome = run(corpus, tmp_path, [tmp_path / FIRST])
    assert (texts(corpus), outcome.n_superseded) == ({1: "Version two."}, 1)
    write(tmp_path / SECOND, record(1, "Version three.", 3))
    run(corpus, tmp_path, [tmp_path / SECOND])
    assert texts(corpus) == {1: "Version three."}


def test_a_run_that_was_stopped_goes_on(
    corpus: EmbeddedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH_CHARS", 5_000)
    paths = [tmp_path / BASE, tmp_path / FIRST]
    for n, path in enumerate(paths):
        path.write_bytes(gzip.compress("".join(lines(60, 1 + 60 * n)).encode()))

    class Stopped(Exception):
        pass

    def stop(outcome: Outcome) -> None:
        if len(outcome.added) > 70:
            raise Stopped

    with Origins(tmp_path / "kb") as origins, pytest.raises(Stopped):
        update(corpus, origins, paths, How(), stop)
    n_before = corpus.status().n_documents
    outcome = run(corpus, tmp_path, paths)
    assert n_before >= 70 - 20
    assert len(outcome.added) + n_before == corpus.status().n_documents
    n_titles = outcome.passed_over["title_only"]
    assert n_titles < 30  # of the second file alone: the first was known
    assert run(corpus, tmp_path, paths).n_unchanged == corpus.status().n_documents


def test_a_broken_file_is_listed_and_the_rest_goes_on(
    corpus: EmbeddedCorpus, files: list[Path], tmp_path: Path
) -> None:
    whole = files[2].read_bytes()
    files[2].write_bytes(whole[:-30])
    files[0].with_name(SECOND + ".md5").write_text("0" * 32)
    outcome = run(corpus, tmp_path, [files[0].parent])
    assert len(outcome.unread) == 2
    assert texts(corpus)[5] == "Five."
    files[2].write_bytes(whole)
    files[0].with_name(SECOND + ".md5").unlink()
    assert run(corpus, tmp_path, [files[0].parent]).unread == []
    assert texts(corpus) == FINAL


def test_filters_by_what_a_record_says(corpus: EmbeddedCorpus, tmp_path: Path) -> None:
    path = tmp_path / "export.xml"
    cases = Path(__file__).parents[1] / "cases" / "pubmed" / "articles.xml"
    path.write_bytes(cases.read_bytes())
    run(corpus, tmp_path, [path])

    def found(*conditions: str, first: str = "", last: str = "") -> set[str]:
        filters = Filters(first, last, where=tuple(map(condition, conditions)))
        (hits,) = corpus.lexical(filters=filters).retrieve(
            ["sleep patients notice tramwaje counts"], 20
        )
        return {hit.passage.url.split("/")[-2][-1] for hit in hits}

    assert found() == {"1", "2", "3", "5", "6"}
    assert found("publication_type == 'Randomized Controlled Trial'") == {"1"}
    assert found("mesh in Sleep, Asthma") == {"1"}
    assert found("mesh_major == Humans") == set()
    assert found("retracted != yes") == {"1", "2", "5", "6"}
    assert found("retracted == no") == {"1", "2"}
    assert found("pmid in 90000002, 90000003") == {"2", "3"}
    assert found("journal == Open trams") == {"5"}
    assert found(first="2015", last="2018") == {"1", "5"}


def test_the_command_counts_what_it_passed_over(files: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "base"
    arguments = ["corpus", "add", str(folder), str(files[0].parent)]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    assert "1 records without an abstract or a text skipped." in done.stderr
    done = CliRunner().invoke(cli, [*arguments, "--json"])
    outcome = json.loads(done.stdout)
    assert (outcome["passed_over"], outcome["n_superseded"]) == ({"title_only": 1}, 4)
