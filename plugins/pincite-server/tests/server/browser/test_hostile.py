"""A hundred hostile texts wherever one fits: they are shown, and nothing comes of them."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, expect
from samples import report
from server.browser.watched import Watched, payloads
from server.processes import Served

from pincite.notes import as_written
from pincite.types import Claim, Finding
from pincite.verbs.verify.report import Report
from pincite_server.database import Database
from pincite_server.jobs import JobStore, Status

TEXTS = payloads()


def hostile_report(texts: list[str]) -> Report:
    """Each text in the claims, quotes, addresses, tags and reasons of its own findings."""
    made = [report(text, text) for text in texts]
    findings: list[Finding] = []
    for number, each in enumerate(made):
        for of_one, finding in enumerate(each.findings):
            claim: Claim = replace(finding.claim, claim_id=f"{number:03}{of_one}")
            findings.append(replace(finding, claim=claim))
    return replace(
        made[0],
        findings=tuple(findings),
        n_claims=len(findings),
        warnings_coded=as_written(*texts),
        settings={"verify.threshold": 0.3, "note": texts[0]},
    )


def beside(texts: list[str]) -> dict[str, object]:
    blocks = [
        {"kind": "paragraph", "text": text, "label": text, "claims": [[0, len(text), f"{n:03}0"]]}
        for n, text in enumerate(texts)
    ]
    return {"blocks": blocks, "precision": {}}


def source(text: str) -> dict[str, object]:
    """What a document of the samples may hold; its passage begins at 10."""
    known = {"published": text, "fetched": text, "language": text, "kind": "html", "meta": {}}
    return {"url": text, "title": text, "text": f"{text[:10]:10}First. {text} Last.", **known}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose jobs nobody runs, so that the tests may write what came of them."""
    found = Served(tmp_path_factory.mktemp("hostile"), "--jobs", "0", lasting=True)
    yield found
    found.end()


@pytest.fixture(scope="module")
def job_id(served: Served) -> str:
    database = Database(f"sqlite:///{served.data / 'pincite.sqlite'}")
    store = JobStore(database)
    texts = [text for text in TEXTS if text.strip()]
    files = {"view": beside(texts), "0123456789abcdef": source(TEXTS[0])}
    result = hostile_report(texts).to_json()
    job = store.submit("local", "verify", TEXTS[0], {"text": TEXTS[0]})
    store.take("test")
    store.finish(job.job_id, "test", Status.DONE, result=result, files=files)
    database.close()
    return job.job_id


@pytest.fixture
def watch(chromium: Browser, served: Served) -> Callable[..., Watched]:
    return lambda **options: Watched(chromium, served.url, options)


def test_hostile_texts_run_nothing(watch: Callable[..., Watched], job_id: str) -> None:
    with watch() as seen:
        page = seen.page(f"/jobs/{job_id}")
        expect(page.locator(".worst li")).to_have_count(4 * len(TEXTS))
        shown = page.locator(".article").inner_text()
        assert all(text in shown for text in TEXTS if text.isprintable() and text == text.strip())
        assert page.locator(".article a[href]").evaluate_all(
            "links => links.every(a => a.getAttribute('href').startsWith('/jobs/'))"
        )
        for number in range(len(TEXTS)):
            address = f"/jobs/{job_id}?claim={number:03}0"
            page.evaluate(
                "path => htmx.ajax('GET', path, {target: '#finding', swap: 'outerHTML'})", address
            )
        links = page.locator("#finding a").evaluate_all("links => links.map(a => a.protocol)")
        assert set(links) <= {"http:", "https:"}
