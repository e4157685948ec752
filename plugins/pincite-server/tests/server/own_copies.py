"""An article whose sources nobody can read, and own copies that are handed in for them."""

import io
from typing import Any

from fastapi.testclient import TestClient
from server import corpora_of_tests
from support.rows import text_of

from pincite.library.private_copies import OwnCopy
from pincite_server.site import Site

# One book without an address, one page that nobody has, and one that could not be known again.
ARTICLE = text_of("server/copies/article.wiki")
FILLER = "Nobody may read this secret sentence of the book, it says nothing of any bridge. "
BOOK = f"{FILLER * 60}\n\nThe bridge of Varde opened in 1911.\n\n{FILLER * 60}"


def run_next(site: Site) -> None:
    done = site.jobs.get(corpora_of_tests.run_next(site))
    assert done
    assert done.status == "done", done


def checked(client: TestClient, site: Site, text: str = ARTICLE) -> str:
    """The id of a job that has looked at the article."""
    reply = client.post("/api/v1/verify", json={"text": text, "title": "Varde"})
    assert reply.status_code == 202, reply.text
    run_next(site)
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
