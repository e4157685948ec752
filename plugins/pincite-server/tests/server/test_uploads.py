"""Uploads: hostile names, limits, crashes, two writers; untrusted zip files are unpacked."""

import io
import json
import os
import re
import stat
import struct
import subprocess
import sys
import threading
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from server.corpora_of_tests import BRIDGE, NOISE, TOWER, C, run_next, send, uploads
from server.processes import wait_until
from starlette.requests import Request
from starlette.types import Message
from support.rows import rows

from pincite.corpus.engines import EmbeddedCorpus
from pincite.durable import WriterLock
from pincite.models.session import OnnxEncoder
from pincite.types import Document
from pincite.verbs.verify.article_files import Unused
from pincite_server import uploads as module
from pincite_server.job_process import Runner
from pincite_server.jobs import Status
from pincite_server.requests import SentFile
from pincite_server.site import Site, open_site
from pincite_server.uploads import BadForm, Form, Uploads, Why, parts_of, receive_form, unpack_files

HOSTILE = [name for (name,) in rows("server/uploads/hostile_names")]
SITE = {"encoder": True, "upload_megabytes": 0.2}


def everything(folder: Path) -> set[Path]:
    return {p for p in folder.rglob("*") if p.is_file()}


def test_a_name_is_a_text_and_never_a_path(
    client: TestClient, site: Site, corpus_id: str, tmp_path: Path
) -> None:
    outside = everything(tmp_path) - everything(site.server.folder)
    texts = [f"The old bridge number {n}.".encode() for n, _ in enumerate(HOSTILE)]
    answer = send(client, corpus_id, *zip(HOSTILE, texts, strict=True))
    assert answer.status_code == 202, answer.text
    stored = [p.name for p in uploads(site) if p.name != "lock"]
    assert len(stored) == len(HOSTILE)
    assert all(re.fullmatch(r"000\d\d(\.[a-z0-9]{1,8}){0,2}", name) for name in stored), stored
    job_id = run_next(site)
    assert everything(tmp_path) - everything(site.server.folder) == outside
    listed = client.get(f"{C}/{corpus_id}/documents").json()["documents"]
    unread = client.get(f"/api/v1/jobs/{job_id}/result").json()["problems"]
    assert len(listed) == len(HOSTILE) - 1
    assert [p["file"] for p in unread] == ["manifest.jsonl"]  # no JSON in it, whatever its name
    shown = json.dumps([listed, unread])
    assert str(tmp_path) not in shown
    assert not any(name in shown for name in stored)


def test_a_file_uploaded_again_replaces_the_first(
    client: TestClient, site: Site, corpus_id: str
) -> None:
    here = f"{C}/{corpus_id}"
    send(client, corpus_id, ("note.txt", BRIDGE), ("bad.bin", NOISE))
    first = client.get(f"/api/v1/jobs/{run_next(site)}/result").json()
    assert first["n_problems"] == 1
    send(client, corpus_id, ("note.txt", BRIDGE.replace(b"1911", b"1913")), ("bad.bin", BRIDGE))
    result = client.get(f"/api/v1/jobs/{run_next(site)}/result").json()
    assert (result["n_changed"], result["n_added"]) == (1, 1)
    assert result["n_problems"] == 0
    assert client.get(here).json()["n_documents"] == 2


def test_files_of_one_name_are_kept_apart_and_equal_ones_once(
    client: TestClient, site: Site, corpus_id: str
) -> None:
    other = b"Another old town."
    files = [("a.txt", BRIDGE), ("a.txt", other), ("a.txt", BRIDGE), ("a.txt", b"A third town.")]
    send(client, corpus_id, *files, ("a (2).txt", other))
    result = client.get(f"/api/v1/jobs/{run_next(site)}/result").json()
    assert (result["n_added"], result["n_problems"]) == (3, 0)
    assert result["restarted"] is False


def test_an_invalid_upload_leaves_nothing(client: TestClient, site: Site, corpus_id: str) -> None:
    url = f"{C}/{corpus_id}/documents"
    kind = "multipart/form-data; boundary=x"
    part = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
    bodies: list[tuple[Any, str, str]] = [
        (part + b"a" * 300_000 + b"\r\n--x--\r\n", kind, "too_large"),
        (iter([part, *[b"a" * 10_000] * 100]), kind, "too_large"),  # without a length
        *((text.encode("latin-1"), *more) for text, *more in rows("server/uploads/invalid_bodies")),
    ]
    for body, of_kind, code in bodies:
        answer = client.post(url, content=body, headers={"content-type": of_kind})
        assert answer.status_code in (413, 422), (body, answer.text)
        assert answer.json()["code"] == code, body
        assert uploads(site) == []
    assert client.get("/api/v1/jobs").json()["jobs"] == []


def test_too_many_files_and_unknown_fields(tmp_path: Path) -> None:
    def read(head: str, n: int) -> Form:
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        part = "--x\r\nContent-Disposition: form-data; {}\r\n\r\na\r\n"
        body = "".join(part.format(head.format(number)) for number in range(n)) + "--x--\r\n"

        async def receive() -> Message:
            return {"type": "http.request", "body": body.encode()}

        kind = (b"content-type", b"multipart/form-data; boundary=x")
        request = Request({"type": "http", "headers": [kind]}, receive)
        with ThreadPoolExecutor(1) as other:  # this thread may have the browser's loop
            run = partial(receive_form, request, folder, ["f0", "f1", "files"], {})
            return other.submit(anyio.run, run).result()

    assert read("name=f{}", 2).fields == {"f0": "a", "f1": "a"}
    for head, n in (("name=f{}", 3), ('name="files"; filename="{}"', 1_001)):
        with pytest.raises(BadForm):
            read(head, n)


def test_a_full_disk_is_an_error_and_nothing_is_stored(
    client: TestClient, site: Site, corpus_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, *args: object, **more: object) -> io.BytesIO:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", full)
        answer = send(client, corpus_id, ("a.txt", BRIDGE))
    assert (answer.status_code, answer.json()["code"]) == (507, "disk_full")
    assert uploads(site) == []


def test_a_corpus_that_is_being_written_waits_or_is_refused(
    client: TestClient, site: Site, corpus_id: str
) -> None:
    here = f"{C}/{corpus_id}"
    send(client, corpus_id, ("bridge.txt", BRIDGE))
    run_next(site)
    (document,) = client.get(f"{here}/documents").json()["documents"]
    job_id = send(client, corpus_id, ("rows.jsonl", TOWER)).json()["job_id"]
    lock = WriterLock(site.corpora.folder_of(corpus_id))
    lock.acquire()
    refused = client.delete(f"{here}/documents/{document['doc_id']}")
    assert (refused.status_code, refused.json()["code"]) == (409, "corpus_in_use")
    assert refused.headers["retry-after"]

    def let_go() -> None:
        wait_until(lambda: "waiting" in kinds(client, job_id))
        lock.release()

    waiting = threading.Thread(target=let_go)
    waiting.start()
    run_next(site)
    waiting.join()
    assert client.get(f"/api/v1/jobs/{job_id}").json()["status"] == "done"
    assert client.get(here).json()["n_documents"] == 2


def kinds(client: TestClient, job_id: str) -> list[str]:
    events = client.get(f"/api/v1/jobs/{job_id}/events").json()["events"]
    return [event["kind"] for event in events]


def test_deleting_while_a_job_writes_leaves_nothing(
    client: TestClient, site: Site, corpus_id: str
) -> None:
    folder = site.corpora.folder_of(corpus_id)
    send(client, corpus_id, ("bridge.txt", BRIDGE))
    run_next(site)
    waiting = send(client, corpus_id, ("rows.jsonl", TOWER)).json()["job_id"]
    with WriterLock(folder):
        assert client.delete(f"{C}/{corpus_id}").status_code == 204
        assert folder.exists()  # whoever writes it may finish its batch
    assert client.get(f"{C}/{corpus_id}").status_code == 404
    assert client.get(f"/api/v1/jobs/{waiting}").json()["status"] == "cancelled"
    assert client.post(C, json={"name": "Bridges"}).status_code == 201
    site.tidy()
    assert not folder.exists()
    assert uploads(site) == []


def test_a_corpus_deleted_under_a_running_job_does_not_come_back(
    client: TestClient, site: Site, corpus_id: str
) -> None:
    send(client, corpus_id, ("bridge.txt", BRIDGE))
    job = site.jobs.take("test")
    assert job
    client.delete(f"{C}/{corpus_id}")
    Runner("test", site.server, site.settings).run(job.job_id)
    assert site.jobs.get(job.job_id).status in (Status.FAILED, Status.CANCELLED)  # type: ignore[union-attr]
    assert not site.corpora.folder_of(corpus_id).exists()
    assert uploads(site) == []


def test_a_start_finishes_interrupted_deletions(
    site: Site, client: TestClient, corpus_id: str, tiny_encoder: Path
) -> None:
    """Killed after the entry was marked, and while files came in; strangers' folders stay."""
    folder = site.corpora.folder_of(corpus_id)
    with EmbeddedCorpus.create(folder, OnnxEncoder(tiny_encoder)) as corpus:
        corpus.add([Document("https://e.example/a", "A", BRIDGE.decode())])
    site.corpora.mark_deleted(corpus_id)
    kept = client.post(C, json={"name": "Kept"}).json()["corpus_id"]
    send(client, kept, ("bridge.txt", BRIDGE))
    waiting = [p for p in uploads(site) if p.name != "lock"]
    left = site.server.folder / "uploads" / ("u" * 22)
    (left / "files").mkdir(parents=True)
    (left / "files" / "00001.txt").write_bytes(BRIDGE)
    stranger = site.server.folder / "corpora" / ("s" * 22)
    stranger.mkdir()
    again = open_site(site.server, site.settings)
    try:
        assert not folder.exists()
        assert not left.exists()
        assert stranger.exists()
        assert again.corpora.deleted_entries() == []
        assert [p for p in uploads(site) if p.name != "lock"] == waiting
        run_next(again)
        assert uploads(site) == []
    finally:
        again.database.close()


def test_an_upload_that_is_being_filled_is_not_swept_away(tmp_path: Path) -> None:
    found = Uploads(tmp_path / "uploads")
    with found.filling() as upload_id:
        assert Uploads(tmp_path / "uploads").sweep(()) == 0
        assert found.at(upload_id).is_dir()
    assert found.sweep({upload_id}) == 0
    assert found.sweep(()) == 1
    assert not found.at(upload_id).exists()
    with pytest.raises(ValueError, match="id of an upload"):
        found.at("../../etc")


def test_a_killed_worker_costs_no_document(
    client: TestClient, site: Site, corpus_id: str, tiny_encoder: Path
) -> None:
    """SIGKILL in the middle of an upload of several batches: the job goes on where it was."""
    rows = "".join(
        json.dumps({"url": f"https://e.example/{n}", "text": f"The old town {n}. " * 200}) + "\n"
        for n in range(40)
    )
    job_id = send(client, corpus_id, ("rows.jsonl", rows.encode())).json()["job_id"]
    config = site.server.folder / "pincite.toml"
    config.write_text(f'models.encoder = "{tiny_encoder}"\n')
    environment = os.environ | {
        "PINCITE_SERVER_DATA": str(site.server.folder),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    site.jobs.take("w")
    command = [sys.executable, "-m", "pincite_server.job_process", "w", str(config)]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as runner:
        assert runner.stdin
        runner.stdin.write(f"{job_id}\n".encode())
        runner.stdin.flush()
        folder = site.corpora.folder_of(corpus_id)
        wait_until((folder / "corpus.json").exists, 60)
        runner.kill()
    site.jobs.requeue(job_id, "w", died=True)
    assert uploads(site)
    run_next(site)
    assert client.get(f"/api/v1/jobs/{job_id}/result").json()["restarted"] is True
    state = client.get(f"{C}/{corpus_id}").json()
    assert state["n_documents"] == 40
    assert uploads(site) == []


# ── Sources of articles ──────────────────────────────────────────────────────────────────────────


def zipped(*files: tuple[str | zipfile.ZipInfo, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as packed:
        for name, data in files:
            packed.writestr(name, data, kind)
    return out.getvalue()


def laid(folder: Path, *files: tuple[str, bytes]) -> tuple[list[str], list[Unused]]:
    """What lies in the folder after these were sent, and what could not be used."""
    stored, into = folder / "stored", folder / "into"
    stored.mkdir()
    into.mkdir()
    sent = []
    for n, (name, data) in enumerate(files, 1):
        path = stored / f"{n:05d}"
        path.write_bytes(data)
        sent.append(SentFile(stored=path.name, name=name, n_bytes=len(data)))
    unused = unpack_files(stored, sent, into)
    paths = sorted(path for path in into.rglob("*") if path.is_file())
    return [path.relative_to(into).as_posix() for path in paths], unused


def whys(unused: Sequence[Unused]) -> list[tuple[str, str]]:
    return [(each.file, each.why) for each in unused]


def test_files_keep_their_folders_and_zips_are_unpacked(tmp_path: Path) -> None:
    packed = zipped(("pages/a.html", b"a"), ("__MACOSX/pages/._a.html", b"x"), (".DS_Store", b"x"))
    found, unused = laid(
        tmp_path, ("mine/b.txt", b"b"), ("mine/.hidden", b"x"), ("all.zip", packed)
    )
    assert found == ["all.zip/pages/a.html", "mine/b.txt"]
    assert unused == []
    assert (tmp_path / "into" / "all.zip" / "pages" / "a.html").read_bytes() == b"a"


@pytest.mark.parametrize(
    "name", ["../out.txt", "a/../../out.txt", "/out.txt", "C:\\out.txt", "..\\out.txt", "a\n.txt"]
)
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    packed = zipped((name, b"evil"), ("good.txt", b"good"))
    found, unused = laid(tmp_path, (name, b"evil"), ("sources.zip", packed))
    assert found == ["sources.zip/good.txt"]
    assert [each.why for each in unused] == [Why.UNSAFE, Why.UNSAFE]
    everything = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert everything == {"00001", "00002", "good.txt"}


@given(st.text(st.characters(codec=None), max_size=40))
def test_parts_are_plain_names(name: str) -> None:
    parts = parts_of(name)
    for part in parts or ():
        assert part not in ("", ".", "..")
        assert not set(part) & set("/\\\0\n")
        assert 0 < len(part.encode()) <= module.MAX_NAME_BYTES


def test_links_locks_and_zips_in_zips_are_named(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link.html")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    locked = bytearray(zipped(("locked.html", b"secret")))
    at = locked.rindex(b"PK\x01\x02")
    locked[at + 8] |= 1  # says that it is encrypted
    inner = zipped(("a.html", b"a"))
    found, unused = laid(
        tmp_path,
        ("one.zip", zipped((link, b"/etc/passwd"), ("more.zip", inner), ("fine.html", b"f"))),
        ("two.zip", bytes(locked)),
        ("three.zip", b"no zip at all"),
        ("four.zip", zipped(("a.html", b"a"), kind=zipfile.ZIP_BZIP2)),
    )
    assert found == ["one.zip/fine.html"]
    assert whys(unused) == [
        ("one.zip/link.html", Why.LINK),
        ("one.zip/more.zip", Why.NESTED),
        ("two.zip/locked.html", Why.ENCRYPTED),
        ("three.zip", Why.NO_ZIP),
        ("four.zip/a.html", Why.NO_ZIP),
    ]


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SMALL", 1_000)
    bomb = zipped(("bomb.html", b"\0" * 3_000_000), ("fine.html", b"fine"))
    found, unused = laid(tmp_path, ("bomb.zip", bomb))
    assert found == ["bomb.zip/fine.html"]
    assert whys(unused) == [("bomb.zip/bomb.html", Why.TOO_LARGE)]


def test_all_zips_together_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    packed = zipped(("a.html", b"123456"), ("b.html", b"123456"))
    found, unused = laid(tmp_path, ("one.zip", packed), ("after.html", b"x"))
    assert found == ["one.zip/a.html"]
    assert whys(unused) == [("one.zip", Why.TOO_LARGE), ("after.html", Why.TOO_LARGE)]


def test_files_have_a_limit_and_names_count_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_UNPACKED_FILES", 3)
    found, unused = laid(tmp_path, *((name, b"x") for name in ("a", "a", "a/b", "c", "d")))
    assert found == ["a"]
    assert whys(unused) == [
        ("a", Why.TWICE),
        ("a/b", Why.TWICE),
        ("c", Why.TOO_MANY),
        ("d", Why.TOO_MANY),
    ]


def test_a_zip_with_too_many_entries_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = zipped(*((f"{n}.html", b"x") for n in range(50)))
    monkeypatch.setattr(module, "MAX_DIRECTORY", 100)
    monkeypatch.setattr(zipfile, "ZipFile", None)  # nothing may open it
    end = packed.rindex(b"PK\x05\x06")
    large = packed[:end] + b"PK\x06\x07" + bytes(16) + struct.pack("<4s", packed[end : end + 4])
    large += packed[end + 4 :]
    found, unused = laid(tmp_path, ("long.zip", packed), ("zip64.zip", large))
    assert found == []
    assert whys(unused) == [("long.zip", Why.TOO_MANY), ("zip64.zip", Why.TOO_MANY)]
