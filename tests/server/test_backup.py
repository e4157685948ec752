"""A server's state as one file and back, on both databases."""

import fcntl
import hashlib
import io
import json
import re
import shutil
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from server.own_copies import copy_of
from server.processes import Served

from pincite.cli import cli
from pincite.durable import WriterLock
from pincite.errors import ConfigError, CorpusError, InputError
from pincite.library.private_copies import OwnCopies
from pincite.server.backup import MANIFEST, DamagedArchive, InUse, backup, inspect, restore, using
from pincite.server.database import VERSION
from pincite.server.jobs import Status
from pincite.server.operation import examine
from pincite.server.settings import ServerSettings
from pincite.server.site import Site, opened
from pincite.server.tables import jobs
from pincite.settings import Settings

WORDS = "What somebody asked."


@contextmanager
def open_site(settings: ServerSettings) -> Iterator[Site]:
    site = opened(settings, Settings())
    yield site
    site.database.close()


def fill(settings: ServerSettings) -> tuple[str, str]:
    """A finished job and a corpus; returns their ids."""
    with open_site(settings) as site:
        job = site.jobs.submit("local", "verify", WORDS, {"text": WORDS})
        site.jobs.take("w")
        site.jobs.finish(job.job_id, "w", Status.DONE, result='{"x": 1}', files={"article": {}})
        entry = site.corpora.add("local", "Mine")
        folder = site.corpora.folder_of(entry.corpus_id)
        (folder / "g1").mkdir(parents=True)
        (folder / "g1" / "documents").write_bytes(bytes(range(256)) * 100)
        return job.job_id, entry.corpus_id


@pytest.fixture
def settings(tmp_path: Path) -> ServerSettings:
    return ServerSettings(data=str(tmp_path / "data"))


def test_everything_comes_back(settings: ServerSettings, tmp_path: Path) -> None:
    job_id, corpus_id = fill(settings)
    file = tmp_path / "copy.pincite"
    done = backup(settings, file)
    assert done.n_files == 2
    assert file.stat().st_mode & 0o777 == 0o600
    assert inspect(file) == done
    with open_site(settings) as site:  # what happened afterwards is not in it
        later = site.jobs.submit("local", "verify", "later", {"text": "x"})
    target = ServerSettings(data=str(tmp_path / "new"))
    restore(target, file)
    with open_site(target) as site:
        job = site.jobs.get(job_id)
        assert job
        assert job.title == WORDS
        assert site.jobs.result(job_id) == b'{"x": 1}'
        assert site.jobs.get(later.job_id) is None
        entry = site.corpora.get(corpus_id)
        assert entry
        assert entry.address == target.folder / "corpora" / corpus_id
        assert (entry.address / "g1" / "documents").read_bytes() == bytes(range(256)) * 100
    assert all(part.well for part in examine(target)), list(examine(target))


@pytest.mark.xdist_group("postgresql")
def test_with_postgresql_it_holds_the_folder_only(tmp_path: Path, postgres_url: str) -> None:
    settings = ServerSettings(data=str(tmp_path / "data"), database=postgres_url)
    _, corpus_id = fill(settings)
    file = tmp_path / "copy"
    done = backup(settings, file)
    assert not done.database
    assert done.n_files == 1
    shutil.rmtree(settings.folder / "corpora")
    restore(settings, file)
    assert (settings.folder / "corpora" / corpus_id / "g1" / "documents").is_file()
    with pytest.raises(ConfigError):
        restore(ServerSettings(data=str(tmp_path / "new")), file)


def test_nothing_is_replaced_without_force(settings: ServerSettings, tmp_path: Path) -> None:
    fill(settings)
    file = tmp_path / "copy.pincite"
    backup(settings, file)
    with pytest.raises(InputError, match="--force"):
        backup(settings, file)
    backup(settings, file, replace=True)
    with pytest.raises(InputError, match="--force"):
        restore(settings, file)
    with open_site(settings) as site:
        site.jobs.submit("local", "verify", "later", {"text": "x"})
    restore(settings, file, replace=True)
    with open_site(settings) as site:
        assert [job.title for job in site.jobs.listed(None, 9)] == [WORDS]
    leftovers = [p.name for p in settings.folder.iterdir() if p.name.startswith(".restore")]
    assert leftovers == []


def test_nothing_is_restored_under_a_running_server(
    settings: ServerSettings, tmp_path: Path
) -> None:
    file = tmp_path / "copy.pincite"
    server = Served(tmp_path, "--jobs", "0", data=settings.folder)
    job_id = server.submit("verify", example="article")
    backup(settings, file)  # while it runs
    with pytest.raises(InUse, match="Stop it first"):
        restore(settings, file, replace=True)
    assert server.job(job_id)["status"] == "queued"
    assert server.end() == 0
    restore(settings, file, replace=True)
    with open_site(settings) as site:
        assert site.jobs.get(job_id)


def test_several_may_use_a_folder_but_none_while_it_is_restored(tmp_path: Path) -> None:
    with using(tmp_path), using(tmp_path):
        pass
    with (tmp_path / "in-use").open() as restoring:
        fcntl.flock(restoring, fcntl.LOCK_EX)
        with pytest.raises(InUse, match="is being restored"), using(tmp_path):
            pass


def test_a_damaged_backup_is_refused_and_changes_nothing(
    settings: ServerSettings, tmp_path: Path
) -> None:
    fill(settings)
    file = tmp_path / "copy.pincite"
    backup(settings, file)
    whole = file.read_bytes()
    target = ServerSettings(data=str(tmp_path / "new"))
    for broken in (whole[: len(whole) // 2], b"", b"nonsense", whole[:-40]):
        file.write_bytes(broken)
        with pytest.raises(DamagedArchive):
            inspect(file)
        with pytest.raises(DamagedArchive):
            restore(target, file)
    assert [p.name for p in target.folder.iterdir()] == ["in-use"]


LISTED: dict[str, object] = {"format": 1, "tables": VERSION, "pincite": "1", "created": 0}
LISTED |= {"database": False, "n_files": 1, "n_bytes": 0}


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("../outside", LISTED),
        ("/outside", LISTED),
        ("files/x", LISTED | {"format": 2}),
        ("files/x", LISTED | {"tables": VERSION + 1}),
        ("files/x", LISTED | {"more": []}),
        ("files/x", {"format": 1}),
        ("files/link", LISTED),
    ],
)
def test_an_archive_that_was_made_up_is_refused(
    tmp_path: Path, name: str, listed: dict[str, object]
) -> None:
    file = tmp_path / "made-up"
    with tarfile.open(file, "w:gz") as tar:
        for each, content in ((name, b"x"), (MANIFEST, json.dumps(listed).encode())):
            entry = tarfile.TarInfo(each)
            entry.size = len(content)
            if each == "files/link":
                entry.type, entry.linkname = tarfile.SYMTYPE, "/etc"
            tar.addfile(entry, io.BytesIO(content))
    with pytest.raises(DamagedArchive):
        inspect(file)
    assert not (tmp_path.parent / "outside").exists()


def test_a_corpus_that_is_being_written_is_not_copied_half(
    settings: ServerSettings, tmp_path: Path
) -> None:
    _, corpus_id = fill(settings)
    with (
        WriterLock(settings.folder / "corpora" / corpus_id),
        pytest.raises(CorpusError, match="being written"),
    ):
        backup(settings, tmp_path / "copy")


def test_a_source_that_cannot_be_read_or_locked_is_named(
    settings: ServerSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, corpus_id = fill(settings)
    folder = settings.folder / "corpora" / corpus_id
    (tmp_path / "copy.part").touch()
    open_file = Path.open

    def refuse(self: Path, *arguments: Any, **options: Any) -> Any:
        if self.name == "documents":
            raise PermissionError(13, "Permission denied", str(self))
        return open_file(self, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", refuse)
        with pytest.raises(InputError, match=re.escape(f"{folder / 'g1' / 'documents'} cannot be")):
            backup(settings, tmp_path / "copy")
    (folder / "lock").unlink()
    (folder / "lock").mkdir()  # cannot be opened by root either
    with pytest.raises(CorpusError, match=re.escape(f"{folder} cannot be locked")):
        backup(settings, tmp_path / "copy")
    assert {path.name for path in tmp_path.iterdir()} == {"data", "copy.part"}


def test_check_reports_faulty_parts(settings: ServerSettings) -> None:
    _, corpus_id = fill(settings)
    assert [part.well for part in examine(settings)] == [True] * 5
    with open_site(settings) as site:
        job = site.jobs.submit("local", "verify", "t", {"text": "x"})
        site.jobs.take("w")
        with site.database.writing() as connection:
            connection.execute(sa.update(jobs).where(jobs.c.job_id == job.job_id).values(lease=1.0))
        site.corpora.add("local", "Linked", address=settings.folder / "gone")
    shutil.rmtree(settings.folder / "corpora" / corpus_id)
    told = {part.name: part.what for part in examine(settings)}
    assert told["corpora"] == (
        f"server.corpora: Linked: there is no corpus at {settings.folder / 'gone'}"
    )
    wrong = {part.name: part.what for part in examine(settings) if not part.well}
    assert set(wrong) == {"corpora", "jobs"}
    assert wrong["jobs"].startswith("1 running, 1 done, ")
    with open_site(settings) as site, site.database.writing() as connection:
        connection.execute(sa.text("UPDATE pincite_version SET version = 9999"))
    (part,) = [part for part in examine(settings) if not part.well]
    assert part.name == "database"


def test_the_commands(tmp_path: Path) -> None:
    data, file = str(tmp_path / "data"), str(tmp_path / "copy")
    fill(ServerSettings(data=data))

    def run(*words: str, code: int = 0) -> str:
        result = CliRunner().invoke(cli, ["server", *words])
        assert result.exit_code == code, result.output
        return result.output

    assert "2 files" in run("backup", file, "--data", data)
    assert "all intact" in run("check", "--backup", file)
    new = str(tmp_path / "new")
    assert "Restored the backup" in run("restore", file, "--data", new)
    assert run("check", "--data", new).splitlines()[1].startswith("ok    database")
    (tmp_path / "new" / "pincite.sqlite").unlink()
    assert "FAIL  database" in run("check", "--data", new, code=1)


@pytest.mark.parametrize("words", [["check"], ["backup", "b"], ["user", "list"]])
@pytest.mark.parametrize("line", ["[verfy]\nk = 3", "[server]\nprot = 1", "[web]\npauze = 1"])
def test_every_command_reports_a_misspelt_setting(
    tmp_path: Path, words: list[str], line: str
) -> None:
    config = tmp_path / "pincite.toml"
    config.write_text(line, encoding="utf-8")
    places = ["--config", str(config), "--data", str(tmp_path / "data")]
    done = CliRunner().invoke(cli, ["server", *words, *places])
    assert isinstance(done.exception, ConfigError)


def attach(copies: OwnCopies, n: int) -> bytes:
    data = f"The bridge, part {n}.".encode()
    digest = hashlib.sha256(data).hexdigest()
    copies.attach(replace(copy_of(n), sha256=digest, n_bytes=len(data)), data)
    return data


def test_own_copies_come_back_whole(tmp_path: Path) -> None:
    settings = ServerSettings(data=str(tmp_path / "data"), mode="server")
    fill(settings)
    with open_site(settings) as site:
        copies = site.own.of("a" * 22)
        data = [attach(copies, n) for n in range(3)]
    file = tmp_path / "copy.pincite"
    backup(settings, file)
    copies.remove(copies.all())  # what happened after it is not in it
    restore(settings, file, replace=True)
    assert [copies.read(copy) for copy in copies.all()] == data
    assert copies.folder.stat().st_mode & 0o777 == 0o700
    assert all(part.well for part in examine(settings)), list(examine(settings))


def test_own_copies_are_not_copied_half_changed(tmp_path: Path) -> None:
    settings = ServerSettings(data=str(tmp_path / "data"), mode="server")
    fill(settings)
    with open_site(settings) as site:
        copies = site.own.of("a" * 22)
    stop, failed = threading.Event(), []

    def attach_and_remove() -> None:
        n = 0
        while not stop.is_set():
            try:
                attach(copies, n)
                copies.remove(copies.all()[:-3])
            except ConfigError as error:
                failed.append(error)
            n += 1

    writer = threading.Thread(target=attach_and_remove)
    writer.start()
    try:
        for n in range(5):
            backup(settings, tmp_path / f"{n}.pincite")
    finally:
        stop.set()
        writer.join()
    assert not failed
    for n in range(5):
        target = ServerSettings(data=str(tmp_path / f"new-{n}"), mode="server")
        restore(target, tmp_path / f"{n}.pincite")
        copied = OwnCopies(target.folder / "own" / ("a" * 22))
        assert all(copied.read(copy) for copy in copied.all())
        assert {p.name for p in (copied.folder / "files").glob("*")} == {
            copy.sha256 for copy in copied.all()
        }
