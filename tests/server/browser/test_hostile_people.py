"""Hostile texts as names of people, keys, corpora and files, and in them."""

import json
from collections.abc import Callable
from dataclasses import replace

from filled_records import filled
from playwright.sync_api import Page, expect
from server.browser.furnished import Furnished, log_in, result
from server.browser.looks import opened_details
from server.browser.test_hostile import hostile_report
from server.browser.watched import Watched, payloads

from pincite.errors import PinciteError
from pincite.library.feedback import Opinion
from pincite.server.corpora import Shared
from pincite.server.identity import Role
from pincite.server.work import Ingested

TEXTS = list(dict.fromkeys(payloads()))
Watch = Callable[..., Watched]


def named(add: Callable[[str], object]) -> list[str]:
    """The texts that names may be, after adding something of each."""
    taken = []
    for text in TEXTS:
        try:
            add(text)
        except PinciteError:  # too long, signs without a shape, or taken in other letters
            continue
        taken.append(text)
    assert len(taken) > 40
    return taken


def all_shown(page: Page, texts: list[str], path: str) -> None:
    """The texts stand on the page, or on those after it, as texts."""
    page.goto(path)
    said = ""
    while True:
        opened_details(page)
        said += page.locator("main").text_content() or ""
        more = page.locator("main a[rel=next]")
        if not more.count():
            break
        page.goto(more.get_attribute("href") or "")
    missing = [text for text in texts if text not in said]
    assert not missing, (path, missing)


def test_accounts(visit: Watch, there: Furnished) -> None:
    people = there.site.people
    accounts = named(lambda text: people.accounts.add(text, Role.READER))
    for name in accounts:
        account = people.accounts.named(name)
        assert account
        people.audit.record(account.account_id, name, name, {name: name})
    with visit() as seen:
        page = seen.page()
        log_in(page, "Ada")
        all_shown(page, accounts, "/admin/accounts")
        all_shown(page, accounts, "/admin/audit")


def test_an_account_that_is_called_so_logs_in(visit: Watch, there: Furnished) -> None:
    name = '"><script>alert(2)</script>'
    there.site.people.accounts.add(name, Role.ADMIN, "correct horse battery")
    with visit() as seen:
        page = seen.page("/login")
        seen.expected("the server responded with a status of 401")
        for text in TEXTS[::10]:  # typed, and shown again
            page.get_by_label("Name").fill(text)
            page.get_by_label("Password").fill(text or "x")
            page.get_by_role("main").get_by_role("button", name="Log in").click()
            expect(page.get_by_label("Password")).to_have_value("")  # never shown again
        log_in(page, name)
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
        for path in ("/", "/history", "/corpora", "/admin/audit"):
            page.goto(path)
            expect(page.locator("nav.who")).to_contain_text(name)


def test_corpora_files_and_feedback(visit: Watch, there: Furnished) -> None:
    site, ada = there.site, there.ada.account_id
    corpora = [
        site.corpora.add(ada, text, about=text, shared=Shared.EVERYBODY) for text in TEXTS if text
    ]
    problems = [{"file": t, "place": t, "reason": "undecodable", "detail": t} for t in TEXTS]
    counts = {f"n_{each}": 1 for each in ("added", "changed", "unchanged", "removed")}
    found = {**counts, "n_problems": len(TEXTS), "problems": problems, "complete": True}
    job_id = result(site.jobs, ada, TEXTS[0], json.dumps(filled(Ingested, found)), kind="ingest")
    opinion = replace(Opinion(*TEXTS[: len(Opinion.__slots__)]), versions="{}")
    said = site.feedback.add(ada, job_id, "wrong", opinion)
    assert said.feedback_id
    with visit() as seen:
        page = seen.page()
        log_in(page, "Ada")
        all_shown(page, [" ".join(t.split()) for t in TEXTS if t.isprintable()], "/corpora")
        for corpus in corpora[::12]:
            page.goto(f"/corpora/{corpus.corpus_id}")
        page.goto(f"/jobs/{job_id}")
        with page.expect_download() as got:
            page.goto("/account")
            page.get_by_role("link", name="Download all").click()
        assert got.value.suggested_filename.endswith(".zip")


def test_a_shared_result(visit: Watch, there: Furnished) -> None:
    texts = [text for text in TEXTS if text.strip()][::8]  # a small page, loaded for each
    job_id = result(
        there.site.jobs, there.ada.account_id, TEXTS[0], hostile_report(texts).to_json()
    )
    _, token = there.site.people.links.add(job_id, 1)
    with visit() as seen:
        page = seen.page(f"/s/{token}")
        expect(page.locator(".worst li")).to_have_count(4 * len(texts))
        links = page.locator("main a[href]").evaluate_all("all => all.map(a => a.protocol)")
        assert set(links) <= {"http:", "https:"}
        for number in range(len(texts)):
            page.goto(f"/s/{token}/findings/{number:03}0")
        seen.expected("the server responded with a status of 404")
        for text in TEXTS[::10]:
            page.evaluate("text => fetch('/s/' + encodeURIComponent(text))", text)
        log_in(page, "Ada", f"/jobs/{job_id}/links")
