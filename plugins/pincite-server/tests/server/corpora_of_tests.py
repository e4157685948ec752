"""What tests of corpora and own copies share: documents, and ways to send and read them."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from support.rows import text_of

from pincite.library.private_copies import OwnCopy
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


# ── Own copies ───────────────────────────────────────────────────────────────────────────────────

# One book without an address, one page that nobody has, and one that could not be known again.
CITING = text_of("server/copies/article.wiki")
FILLER = "Nobody may read this secret sentence of the book, it says nothing of any bridge. "
BOOK = f"{FILLER * 60}\n\nThe bridge of Varde opened in 1911.\n\n{FILLER * 60}"


def run_well(site: Site) -> None:
    done = site.jobs.get(run_next(site))
    assert done
    assert done.status == "done", done


def checked(client: TestClient, site: Site, text: str = CITING) -> str:
    """The id of a job that has looked at the article."""
    reply = client.post("/api/v1/verify", json={"text": text, "title": "Varde"})
    assert reply.status_code == 202, reply.text
    run_well(site)
    return str(reply.json()["job_id"])


def cited(client: TestClient, job_id: str) -> list[tuple[str, str]]:
    """Claim and citation of each finding, in the order of the article."""
    found = client.get(f"/api/v1/jobs/{job_id}/result").json()["findings"]
    pairs = [(f["claim_id"], c["citation_id"]) for f in found for c in f["citations"]]
    return sorted(pairs, key=lambda pair: int(pair[1][1:]))


def checked_book(client: TestClient, site: Site) -> tuple[str, tuple[str, str]]:
    """A job that has looked at the article, and its citation of the book."""
    job_id = checked(client, site)
    return job_id, cited(client, job_id)[0]


def hand_in(
    client: TestClient,
    job_id: str,
    at: tuple[str, str],
    file: tuple[str, bytes] | None = None,
    **fields: str,
) -> Any:
    parts = {"file": (file[0], io.BytesIO(file[1]))} if file else {}
    query = {"claim": at[0], "citation": at[1]}
    there = f"/api/v1/jobs/{job_id}/copies"
    # Without a file the library would send no multipart form.
    return client.post(there, params=query, data=fields, files=parts or {"file": ("", b"")})


def page_of(job_id: str, at: tuple[str, str]) -> str:
    return f"/jobs/{job_id}/copies?claim={at[0]}&citation={at[1]}"


def copy_of(n: int) -> OwnCopy:
    named: dict[str, Any] = {"ref": f"source {n}", "name": f"{n}.txt", "sha256": f"{n:064x}"}
    counts: dict[str, Any] = {"n_bytes": 1, "n_pages": 0, "n_words": 1}
    return OwnCopy(keys=(f"url:{n}",), pages=None, language="", title="", **named, **counts)
