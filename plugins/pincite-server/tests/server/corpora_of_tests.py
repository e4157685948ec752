"""What tests of corpora share: documents to send, and ways to send them and have them read."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from pincite_server.identity import ALLOWED, Identity, Role
from pincite_server.ingesting import Ingested, Unread
from pincite_server.job_process import Runner
from pincite_server.jobs import Status
from pincite_server.site import Site
from pincite_server.tables import Kind

C = "/api/v1/corpora"
BRIDGE = b"The old bridge over the river was opened in 1911 by the mayor of the town.\n"
TOWER = (
    b'{"url": "https://e.example/tower", "title": "Tower", "date": "1913-05-01", "language": "en",'
    b' "text": "The tower was built in 1913 of local stone, and it was old."}\n'
)
NOISE = b"\x89PNG\r\n\x1a\n" + bytes(200)


def send(client: TestClient, corpus_id: str, *files: tuple[str, bytes]) -> Any:
    parts = [("files", (name, io.BytesIO(data))) for name, data in files]
    return client.post(f"{C}/{corpus_id}/documents", files=parts)


def filled(
    client: TestClient, site: Site, name: str = "Bridges", file: tuple[str, bytes] | None = None
) -> str:
    """The id of a new corpus with a document in it."""
    corpus_id = str(client.post(C, json={"name": name}).json()["corpus_id"])
    send(client, corpus_id, file or ("bridge.txt", BRIDGE))
    run_next(site)
    return corpus_id


def run_next(site: Site) -> str:
    """What a worker does; the id of the job that was done."""
    job = site.jobs.take("test")
    assert job
    Runner("test", site.server, site.settings).run(job.job_id)
    return job.job_id


def finished(
    site: Site,
    kind: Kind = "verify",
    result: str = "{}",
    *,
    owner: str = "local",
    files: Mapping[str, Mapping[str, Any]] | None = None,
    **request: object,
) -> str:
    """The id of a job that has ended with a result."""
    job = site.jobs.submit(owner, kind, "A title", request)
    assert site.jobs.take("w")
    site.jobs.finish(job.job_id, "w", Status.DONE, result=result, files=files)
    return job.job_id


def as_somebody(client: TestClient, name: str, role: Role) -> None:
    """Whoever asks from now on; accounts have tests of their own."""
    identity = Identity(name, name, role, ALLOWED[role])
    client.app.state.identify = lambda request: identity  # type: ignore[attr-defined]


def uploads(site: Site) -> list[Path]:
    return [p for p in (site.server.folder / "uploads").rglob("*") if p.is_file()]


def ingested(*problems: Unread) -> Ingested:
    """The result of a job that added one file, and could not read others."""
    counts: dict[str, Any] = dict.fromkeys(
        ("n_changed", "n_unchanged", "n_removed", "n_superseded"), 0
    )
    found: dict[str, Any] = {"n_problems": len(problems), "problems": problems, "passed_over": {}}
    return Ingested(complete=True, n_files=1, n_added=1, **counts, **found)
