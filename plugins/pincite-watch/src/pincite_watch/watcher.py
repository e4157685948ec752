"""`pincite watch`: reads what changed on a wiki, and checks the pages of the queue, one at a time.

page ─▶ its claims and their sources' texts ─▶ hashes
hashes of the last revision ─▶ findings kept, moved or withdrawn
claims that are left ─▶ `verify` ─▶ gate ─▶ new findings

All state is in the database, so a watcher that was killed continues where it was.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from pincite import containment
from pincite.errors import FetchError, PinciteError
from pincite.references import hygiene
from pincite.text.hosts import host_of
from pincite.types import Article, Citation, Claim, Document, Failed, Finding, Unchecked
from pincite.verbs.verify.build import Run, decisive, report_settings
from pincite.verbs.verify.coverage import addresses
from pincite.web.sources import FetchStep
from pincite.wiki.addresses import ArticleAddress, Site
from pincite.wiki.api import ActionApi, WikiError, article_of, fetch_page
from pincite.wiki.suggest import date_format_of
from pincite_server.database import DatabaseError
from pincite_server.tables import now
from pincite_watch.carry import carried, inputs_hash, source_hash, text_hash
from pincite_watch.gate import PUBLISHED, Kind, record_of
from pincite_watch.lists import changes
from pincite_watch.store import Held, PageRow, Place, Watch

DAY = 86_400.0
DUE_AGAIN = 0.8  # of the time until findings expire: then their page is read again
# The page has no article of its own any more.
_GONE = frozenset({"missing", "hidden", "invalid", "disambiguation", "interwiki", "not_wikitext"})
Sources = list[Document | Unchecked]


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be used on a day, UTC; requests: for each host."""

    citations: float = 5_000
    cpu_seconds: float = 43_200  # half a core
    requests: float = 500

    def allow(self, spent: dict[str, float]) -> bool:
        return (
            spent.get("citations", 0) < self.citations
            and spent.get("cpu_seconds", 0) < self.cpu_seconds
        )

    def allow_host(self, spent: dict[str, float], host: str) -> bool:
        return spent.get(_requests(host), 0) < self.requests


@dataclass(frozen=True, slots=True)
class Plan:
    """How a wiki is watched."""

    expire_days: float = 30.0
    settle_seconds: float = 600.0  # after an edit, so that vandalism may be reverted first
    namespaces: frozenset[int] = frozenset({0})
    new_pages: bool = False
    publish: frozenset[Kind] = PUBLISHED


@dataclass(slots=True)
class Usage:
    """What was used since the last `taken`."""

    requests: Counter[str] = field(default_factory=Counter)
    _cpu: float = field(default_factory=lambda: sum(os.times()[:4]))

    def fetching(self, step: FetchStep) -> None:
        if step.state in ("requested", "archive"):
            self.requests[host_of(step.url)] += 1

    def taken(self) -> dict[str, float]:
        before, self._cpu = self._cpu, sum(os.times()[:4])
        used = {_requests(host): float(n) for host, n in self.requests.items()}
        self.requests.clear()
        return used | {"cpu_seconds": self._cpu - before}


class _Statement(NamedTuple):
    """A claim of the revision, with all that its finding is found by."""

    claim: Claim
    sources: Sources
    place: Place
    source_hash: str
    inputs: str


def wiki_name(site: Site) -> str:
    """The name of a wiki in the database and in the API: en.wikipedia.org."""
    return site.host + ("" if site.scripts == "/w" else site.scripts)


@dataclass(frozen=True, slots=True)
class Watcher:
    """Watches one wiki. Only one may run for each wiki of a database."""

    store: Watch
    api: ActionApi
    run: Run
    limits: Limits = Limits()
    plan: Plan = Plan()
    usage: Usage = field(default_factory=Usage)
    tell: Callable[[str], None] = lambda line: None

    @property
    def wiki(self) -> str:
        return wiki_name(self.api.site)

    def follow(self) -> None:
        """Queue the watched pages that changed since the last time."""
        since = self.store.note(self.wiki, "changes")
        if since is None:  # every page is queued anyway
            self.store.set_note(self.wiki, "changes", f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
            return
        due = now() + self.plan.settle_seconds
        try:
            for reply in changes(self.api, since, self.plan.namespaces):
                self.usage.requests[self.api.site.host] += 1
                added = reply.new if self.plan.new_pages else ()
                self.store.changed(self.wiki, reply.titles, due, reply.read_to, added)
        except (WikiError, FetchError) as error:
            self.tell(str(error))

    def step(self) -> bool:
        """Check the next page; False: none is due, or the day's budget is spent."""
        if not self.limits.allow(self.store.spent()):
            return False
        page = self.store.next(self.wiki)
        if page is None:
            return False
        try:
            problem = containment.attempted(partial(self._check, page), lambda why: why)
        except DatabaseError:
            raise
        except PinciteError as error:  # it costs its page, never the run
            problem = Failed("internal", str(error))
        if problem:
            self.store.failed(page, problem.detail)
            self.tell(f"{page.title}: {problem.detail}")
        self.store.count(self.usage.taken())
        return True

    def _check(self, page: PageRow) -> Failed | None:
        site = self.api.site
        self.usage.requests[site.host] += 1
        try:
            fetched = fetch_page(self.api, ArticleAddress(site, page.title))
        except (WikiError, FetchError) as error:
            self.tell(f"{page.title}: {error}")
            if isinstance(error, WikiError) and error.code in _GONE:
                self.store.gone(page, str(error))
            else:
                self.store.failed(page, str(error))
            return None
        page_id, revision = int(fetched.page_id), int(fetched.revision_id)
        if page.page_id not in (None, page_id):
            self.store.gone(page, "its title leads to another page")
        article = hygiene.checked(article_of(fetched), datetime.now(UTC).date())
        spent = self.store.spent()
        hosts = {host_of(url) for c in _citations(article) for url in addresses(c)[:1]}
        if not all(self.limits.allow_host(spent, host) for host in hosts):
            self.store.postpone(page, _tomorrow())
            return None
        self.tell(f"{fetched.title}: revision {revision}")
        if self._judge(article, page_id, revision):
            due = now() + DUE_AGAIN * self.plan.expire_days * DAY
            self.store.done(page, fetched.title, page_id, revision, due)
        else:
            self.store.postpone(page, _tomorrow())
        return None

    def _judge(self, article: Article, page_id: int, revision: int) -> bool:
        """Carry the findings of the last revision, and judge what is left.

        Returns False if the day's budget ended before.
        """
        statements = self._statements(article)
        held = self.store.held(self.wiki, page_id)
        found = carried([each.inputs for each in held], [each.inputs for each in statements])
        expires = now() + self.plan.expire_days * DAY
        kept = [(held[f].finding_id, statements[c].place) for f, c in found.kept]
        withdrawn = [held[number].finding_id for number in found.withdrawn]
        self.store.carry(kept, withdrawn, revision, expires)
        hidden = {_same(each): each.hidden for each in held if each.hidden}
        for number in found.new:
            if not self.limits.allow(self.store.spent()):
                return False
            each = statements[number]
            values = self._values(each, article) | {
                "wiki": self.wiki,
                "page_id": page_id,
                "first_revision": revision,
                "revision": revision,
                "expires": expires,
                "hidden": hidden.get((text_hash(each.claim.text), each.source_hash)),
            }
            used = {"citations": float(len(each.claim.citations)), **self.usage.taken()}
            self.store.add_finding(each.place, values, used)
        return True

    def _statements(self, article: Article) -> list[_Statement]:
        copies = self.run.pipeline.copies
        if copies.web:  # a source may have changed since an earlier check, and memory is finite
            copies.web.forget()
        copies.prepare(article)
        found = []
        for claim in article.claims:
            if claim.span is None:
                continue
            sources: Sources = [self._source(each, article.timestamp) for each in claim.citations]
            text = claim.span.of(article.source)
            place = Place(claim.span.start, claim.span.end, _sha256(text))
            hashed = source_hash(sources)
            inputs = inputs_hash(claim, hashed, [*self._versions, self._settings])
            found.append(_Statement(claim, sources, place, hashed, inputs))
        return found

    def _source(self, citation: Citation, written: str | None) -> Document | Unchecked:
        return containment.attempted(
            lambda: self.run.pipeline.copies.read(citation, written).source,
            lambda why: containment.unchecked(citation.url or "", why),
        )

    def _finding(self, claim: Claim, article: Article) -> Finding:
        (finding,) = self.run.pipeline.findings(replace(article, claims=(claim,)))
        if self.run.second is None:
            return finding
        (finding,) = self.run.second.on(article, [finding], lambda done, total: None)
        return finding

    def _values(self, each: _Statement, article: Article) -> dict[str, object]:
        finding = self._finding(each.claim, article)
        today = datetime.now(UTC).date()
        record = record_of(finding, each.sources, today, date_format_of(article.source))
        verifier, judge = self._versions
        return {
            "claim_hash": each.claim.claim_id,
            "claim_sha256": text_hash(each.claim.text),
            "claim": each.claim.text,
            "source_hash": each.source_hash,
            "inputs": each.inputs,
            "verifier": verifier,
            "judge": judge,
            "kind": record.kind,
            "published": record.kind in self.plan.publish,
            "record": record.values(),
        }

    @property
    def _versions(self) -> tuple[str, str]:
        versions = self.run.versions
        return f"pincite {versions['pincite']}, {versions['verifier']}", versions.get("judge", "")

    @property
    def _settings(self) -> str:
        return json.dumps(decisive(report_settings(self.run.settings)), sort_keys=True)


def _same(held: Held) -> tuple[str, str]:
    return held.claim_sha256, held.source_hash


def _citations(article: Article) -> list[Citation]:
    return [citation for claim in article.claims for citation in claim.citations]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _requests(host: str) -> str:
    return f"requests {host}"


def _tomorrow() -> float:
    return (now() // DAY + 1) * DAY
