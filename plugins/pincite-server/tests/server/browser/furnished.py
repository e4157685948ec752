"""A server with accounts, and what people leave on one: keys, results."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from playwright.sync_api import Page
from samples import report
from server.people_of_tests import PASSWORD
from server.processes import Served

from pincite.settings import Settings
from pincite_server.accounts import Account
from pincite_server.identity import Permission, Role
from pincite_server.jobs import JobStore, Status
from pincite_server.settings import ServerSettings
from pincite_server.site import Site, open_site
from pincite_server.tables import Kind

# Over http, and as fast as a test asks; nobody runs jobs.
OPEN: dict[str, Any] = {"secure_cookies": False, "requests_a_minute": 0}


@dataclass(frozen=True, slots=True)
class Furnished:
    """A server with accounts, and its stores, which tests may write themselves."""

    served: Served
    site: Site
    ada: Account  # may everything
    link: str  # the path of a shared result

    def end(self) -> None:
        self.served.end()
        self.site.database.close()


def furnished(folder: Path) -> Furnished:
    """Ada, who has a key and a result that she shares."""
    served = Served(folder, lasting=True, mode="server", jobs_at_once=0, login_tries=1000, **OPEN)
    site = open_site(ServerSettings(mode="server", data=str(served.data)), Settings())
    people = site.people
    ada = people.accounts.add("Ada", Role.ADMIN, PASSWORD)
    people.accounts.add("Linus the rater", Role.RATER, PASSWORD)
    people.keys.add(ada.account_id, "the nightly run", [Permission.READ, Permission.RUN], 30)
    findings = tuple(
        replace(each, claim=replace(each.claim, claim_id=f"{n:03}"))
        for n, each in enumerate(report().findings)
    )
    found = replace(report(), findings=findings, settings={"verify.threshold": 0.3})
    job_id = result(site.jobs, ada.account_id, "An article", found.to_json())
    _, token = people.links.add(job_id, 7)
    return Furnished(served, site, ada, f"/s/{token}")


def result(jobs: JobStore, owner: str, title: str, result: str, kind: Kind = "verify") -> str:
    """The id of a job that came to this."""
    job = jobs.submit(owner, kind, title, {"text": title, "corpus": title})
    while (taken := jobs.take("test")) and taken.job_id != job.job_id:
        pass
    jobs.finish(job.job_id, "test", Status.DONE, result=result)
    return job.job_id


def log_in(page: Page, name: str, then: str = "/account") -> None:
    """As a person does."""
    page.goto(then)
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    page.wait_for_url(f"**{then}")
