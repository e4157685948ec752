"""A server's state as one file and back, on both databases, by the script in `deploy/`."""

import hashlib
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
import sqlalchemy as sa
from server.corpora_of_tests import copy_of

from pincite.durable import WriterLock
from pincite.errors import ConfigError
from pincite.library.private_copies import OwnCopies
from pincite.settings import Settings
from pincite_server.jobs import Status
from pincite_server.operation import examine
from pincite_server.settings import ServerSettings
from pincite_server.site import Site, open_site
from pincite_server.tables import jobs

SCRIPT = Path(__file__).parents[4] / "deploy" / "backup.sh"
WORDS = "What somebody asked."
backs_up = pytest.mark.skipif(
    not all(map(shutil.which, ("sqlite3", "flock"))), reason="needs sqlite3 and flock"
)


def backup(settings: ServerSettings, file: Path, *more: str, code: int = 0) -> str:
    command = [str(SCRIPT), str(settings.folder), str(file), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    left = [path.name for path in file.parent.glob(".backup-*")]
    assert left == []
    return done.stderr


def restored(
    file: Path, folder: Path, mode: Literal["local", "server"] = "local"
) -> ServerSettings:
    folder.mkdir()
    subprocess.run(["tar", "-xzpf", file, "-C", folder], check=True)
    return ServerSettings(data=str(folder), mode=mode)


@contextmanager
def running_site(settings: ServerSettings) -> Iterator[Site]:
    site = open_site(settings, Settings())
    yield site
    site.database.close()


def fill(settings: ServerSettings) -> tuple[str, str]:
    """A finished job and a corpus; returns their ids."""
    with running_site(settings) as site:
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


@backs_up
def test_everything_comes_back(settings: ServerSettings, tmp_path: Path) -> None:
    job_id, corpus_id = fill(settings)
    file = tmp_path / "copy.tar.gz"
    with running_site(settings) as site:  # while the server has its database open
        backup(settings, file)
        later = site.jobs.submit("local", "verify", "later", {"text": "x"})
    assert file.stat().st_mode & 0o777 == 0o600
    assert "exists" in backup(settings, file, code=3)
    target = restored(file, tmp_path / "new")
    with running_site(target) as site:
        job = site.jobs.get(job_id)
        assert job
        assert job.title == WORDS
        assert site.jobs.result(job_id) == b'{"x": 1}'
        assert site.jobs.get(later.job_id) is None
        folder = site.corpora.folder_of(corpus_id)
        assert (folder / "g1" / "documents").read_bytes() == bytes(range(256)) * 100
    assert all(part.well for part in examine(target)), list(examine(target))
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    assert subprocess.run(["gzip", "-t", file], capture_output=True, check=False).returncode


@backs_up
@pytest.mark.xdist_group("postgresql")
def test_a_dump_of_postgresql_is_in_it(tmp_path: Path, postgres_url: str) -> None:
    settings = ServerSettings(data=str(tmp_path / "data"), database=postgres_url)
    _, corpus_id = fill(settings)
    backup(settings, tmp_path / "copy", postgres_url.replace("+psycopg", ""))
    target = restored(tmp_path / "copy", tmp_path / "new")
    assert (target.folder / "pincite.dump").read_bytes().startswith(b"PGDMP")
    assert (target.folder / "corpora" / corpus_id / "g1" / "documents").is_file()


@backs_up
def test_a_corpus_that_is_being_written_is_not_copied_half(
    settings: ServerSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, corpus_id = fill(settings)
    (tmp_path / "bin").mkdir()
    waiting = tmp_path / "bin" / "flock"  # that of the system, without its patience
    waiting.write_text(f'#!/bin/sh\nshift 2\nexec {shutil.which("flock")} --nonblock "$@"\n')
    waiting.chmod(0o755)
    monkeypatch.setenv("PATH", str(waiting.parent), prepend=":")
    with WriterLock(settings.folder / "corpora" / corpus_id):
        assert corpus_id in backup(settings, tmp_path / "copy", code=7)
    assert not (tmp_path / "copy").exists()


def test_check_reports_faulty_parts(settings: ServerSettings) -> None:
    _, corpus_id = fill(settings)
    assert [part.well for part in examine(settings)] == [True] * 5
    with running_site(settings) as site:
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
    with running_site(settings) as site, site.database.writing() as connection:
        connection.execute(sa.text("UPDATE pincite_version SET version = 9999"))
    (part,) = [part for part in examine(settings) if not part.well]
    assert part.name == "database"


def attach(copies: OwnCopies, n: int) -> None:
    data = f"The bridge, part {n}.".encode()
    digest = hashlib.sha256(data).hexdigest()
    copies.attach(replace(copy_of(n), sha256=digest, n_bytes=len(data)), data)


@backs_up
def test_own_copies_are_not_copied_half_changed(tmp_path: Path) -> None:
    settings = ServerSettings(data=str(tmp_path / "data"), mode="server")
    fill(settings)
    with running_site(settings) as site:
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
        target = restored(tmp_path / f"{n}.pincite", tmp_path / f"new-{n}", "server")
        with running_site(target) as site:
            copied = site.own.of("a" * 22)
            for copy in copied.all():
                assert hashlib.sha256(copied.read(copy) or b"").hexdigest() == copy.sha256
        assert all(part.well for part in examine(target)), list(examine(target))
    assert copied.folder.stat().st_mode & 0o777 == 0o700
    assert copied.all()
