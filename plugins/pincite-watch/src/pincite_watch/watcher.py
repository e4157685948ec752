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
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from pincite import errors
from pincite.errors import FetchError, PinciteError
from pincite.judgement.findings import not_read
from pincite.references import faults
from pincite.text.hosts import host_of
from pincite.types import Article, Citation, Claim, CopyKind, Failed, Finding, Reason, Unchecked
from pincite.verbs.verify.build import Run, decisive, report_settings
from pincite.verbs.verify.cited_copies import CitedSource
from pincite.verbs.verify.report import addresses
from pincite.web.addresses import WAYBACK_API
from pincite.web.sources import TRANSIENT, FetchStep
from pincite.wiki.addresses import ArticleAddress, Site
from pincite.wiki.api import ActionApi, Page, WikiError, article_of, fetch_page
from pincite.wiki.suggest import date_format_of
from pincite_server.database import DatabaseError
from pincite_server.tables import now
from pincite_watch.carry import context_hash, inputs_hash, match_hashes, source_hash, text_hash
from pincite_watch.gate import PUBLISHED, Kind, record_of
from pincite_watch.lists import Watched, changes
from pincite_watch.store import REQUESTS, PageRow, Place, Watch

DAY = 86_400.0
DUE_AGAIN = 0.8  # of the time until findings expire: then their page is read again
# The page has no article of its own any more.
_GONE = frozenset({"missing", "hidden", "invalid", "disambiguation", "interwiki", "not_wikitext"})
# A source of which this is said may be read on another day.
_PASSING = TRANSIENT | {Reason.ROBOTS, Reason.NO_HOST, Reason.INTERNAL_ERROR}
_ON_THE_WEB = frozenset({CopyKind.LIVE, CopyKind.ARCHIVED, CopyKind.WAYBACK})
_BUDGET = ("citations", "cpu_seconds")


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be used on a day, UTC; requests: for each host."""

    citations: float = 5_000
    cpu_seconds: float = 43_200  # half a core
    requests: float = 500

    def allow(self, spent: dict[str, float]) -> bool:
        return all(spent[name] < getattr(self, name) for name in _BUDGET)


@dataclass(frozen=True, slots=True)
class Plan:
    """How a wiki is watched."""

    expire_days: float = 30.0
    settle_seconds: float = 600.0  # after the last edit: vandalism may be reverted first
    publish: frozenset[Kind] = PUBLISHED


@dataclass(slots=True)
class Usage:
    """What was used since the last `take`."""

    archive: str = host_of(WAYBACK_API)  # the host that is asked for archived copies
    requests: Counter[str] = field(default_factory=Counter)
    _cpu: float = field(default_factory=lambda: sum(os.times()[:4]))

    def fetching(self, step: FetchStep) -> None:
        if step.state in ("requested", "archive"):
            self.requests[self.archive if step.state == "archive" else host_of(step.url)] += 1

    def take(self) -> dict[str, float]:
        before, self._cpu = self._cpu, sum(os.times()[:4])
        used = {_requests(host): float(n) for host, n in self.requests.items()}
        self.requests.clear()
        return used | {"cpu_seconds": self._cpu - before}


class _Statement(NamedTuple):
    """A claim of the revision, with all that its finding is found by."""

    claim: Claim
    cited: list[CitedSource]
    place: Place
    context: str
    source_hash: str
    inputs: str

    @property
    def is_unread(self) -> bool:
        """Whether a source could not be read, and may be on another day."""
        failures = [cited.not_live or cited.source for cited in self.cited]
        return any(isinstance(why, Unchecked) and why.reason in _PASSING for why in failures)


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

    @property
    def watched(self) -> Watched:
        return Watched.of_json(self.store.note(self.wiki, "watched"))

    def watch(self, watched: Watched) -> None:
        """Watch more, from now on and after a restart."""
        self._store_watched(self.watched | watched)

    def ignore_new_pages(self) -> None:
        """Watch only the new pages of namespaces that are watched as a whole."""
        self._store_watched(replace(self.watched, new_in=self.watched.drafts))

    def _store_watched(self, watched: Watched) -> None:
        self.store.set_note(self.wiki, "watched", json.dumps(asdict(watched)))

    def follow(self) -> PinciteError | None:
        """Queue the watched pages that changed since the last time; return why it failed."""
        since, watched = self.store.note(self.wiki, "changes"), self.watched
        if since is None:  # every page is queued anyway
            self.store.set_note(self.wiki, "changes", f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
            return None
        try:
            for reply in changes(self.api, since, watched.namespaces):
                self.usage.requests[self.api.site.host] += 1
                self.store.queue_edits(self.wiki, reply, self.plan.settle_seconds, watched.new_in)
        except (WikiError, FetchError) as error:
            self.tell(str(error))
            return error
        return None

    def step(self) -> bool:
        """Check the next page; False: none is due, or the day's budget is spent."""
        if not self.limits.allow(self.store.spent(*_BUDGET)):
            return False
        page = self.store.next(self.wiki)
        if page is None:
            return False
        try:
            problem = errors.attempt(partial(self._check, page), lambda why: why)
        except DatabaseError:
            raise
        except PinciteError as error:  # it costs its page, never the run
            problem = Failed("internal", str(error))
        if problem:
            self.store.retry_later(page, problem.detail)
            self.tell(f"{page.title}: {problem.detail}")
        self.store.count(self.usage.take())
        return True

    def _check(self, page: PageRow) -> Failed | None:
        try:
            fetched = self._fetch(page)
        except (WikiError, FetchError) as error:
            self.tell(f"{page.title}: {error}")
            if isinstance(error, WikiError) and error.code in _GONE:
                self.store.gone(page, str(error))
            else:
                self.store.retry_later(page, str(error))
            return None
        page_id, revision = int(fetched.page_id), int(fetched.revision_id)
        if page.page_id not in (None, page_id):
            self.store.gone(page, "its title leads to another page")
        if fetched.namespace not in self.watched.namespaces:
            self.watch(Watched(namespaces=(fetched.namespace,)))
        article = faults.check_references(article_of(fetched), datetime.now(UTC).date())
        citations = [citation for claim in article.claims for citation in claim.citations]
        hosts = {host_of(url) for citation in citations for url in addresses(citation)}
        requests = self.store.spent(*map(_requests, hosts))
        if any(n >= self.limits.requests for n in requests.values()):
            self.store.postpone(page, _tomorrow())
            return None
        self.tell(f"{fetched.title}: revision {revision}")
        due = self._judge(article, page_id, revision)
        if due is None:
            self.store.postpone(page, _tomorrow())
        else:
            self.store.done(page, fetched.title, page_id, revision, due)
        return None

    def _fetch(self, page: PageRow) -> Page:
        """Fetch a page by its title, or by its id if it left the title without a redirect."""
        site, number = self.api.site, str(page.page_id)
        by_title = ArticleAddress(site, page.title)
        by_id = page.page_id and ArticleAddress(site, page_id=number)
        self.usage.requests[site.host] += 1
        try:
            fetched = fetch_page(self.api, by_title)
        except WikiError as error:
            if not by_id or error.code != "missing":
                raise
            return fetch_page(self.api, by_id)
        if not by_id or fetched.page_id == number:
            return fetched
        try:
            return fetch_page(self.api, by_id)
        except WikiError:  # it was deleted, and another page has its title
            return fetched

    def _judge(self, article: Article, page_id: int, revision: int) -> float | None:
        """Carry the findings of the last revision, and judge what is left.

        Returns when the page is due again; None if the day's budget ended before.
        """
        statements = self._statements(article)
        held = self.store.held_findings(self.wiki, page_id)
        at = now()
        expires = at + self.plan.expire_days * DAY
        same = match_hashes([f.inputs for f in held], [s.inputs for s in statements])
        kept = [(held[f].finding_id, statements[s].place, expires) for f, s in same.kept]
        new = [statements[number] for number in same.new]
        withdrawn = [held[number] for number in same.withdrawn]
        # A source that cannot be read today withdraws nothing, until the finding expires.
        unread = [statement for statement in new if statement.is_unread]
        valid = [f for f in withdrawn if f.kind != Kind.UNCHECKED and f.expires > at]
        waiting = match_hashes([f.context for f in valid], [s.context for s in unread]).kept
        for n_finding, n_statement in waiting:
            finding, statement = valid[n_finding], unread[n_statement]
            kept.append((finding.finding_id, statement.place, finding.expires))
            withdrawn.remove(finding)
            new.remove(statement)
        self.store.carry(kept, [finding.finding_id for finding in withdrawn], revision)
        hidden = {(f.claim_sha256, f.source_hash): f.hidden for f in held if f.hidden}
        for statement in new:
            if not self.limits.allow(self.store.spent(*_BUDGET)):
                return None
            values = self._values(statement, article) | {
                "wiki": self.wiki,
                "page_id": page_id,
                "revision": revision,
                "expires": expires,
                "hidden": hidden.get((text_hash(statement.claim.text), statement.source_hash)),
            }
            used = {"citations": float(len(statement.claim.citations)), **self.usage.take()}
            self.store.add_finding(statement.place, values, used)
        return at + (DAY if waiting else DUE_AGAIN * self.plan.expire_days * DAY)

    def _statements(self, article: Article) -> list[_Statement]:
        copies = self.run.pipeline.copies
        if copies.web:  # a source may have changed since an earlier check, and memory is finite
            copies.web.forget()
        copies.prepare(article)
        statements, versions = [], [*self._versions, self._settings]
        for claim in article.claims:
            if claim.span is None:
                continue
            cited, earlier = (
                [self._source(citation, article.timestamp) for citation in some]
                for some in (claim.citations, claim.earlier)
            )
            text = claim.span.of(article.source).encode("utf-8", "surrogatepass")
            place = Place(claim.span.start, claim.span.end, hashlib.sha256(text).hexdigest())
            context, hashed = context_hash(claim, versions), _hash_of(cited)
            inputs = inputs_hash(context, hashed, _hash_of(earlier))
            statements.append(_Statement(claim, cited, place, context, hashed, inputs))
        return statements

    def _source(self, citation: Citation, written: str | None) -> CitedSource:
        return errors.attempt(
            lambda: self.run.pipeline.copies.read(citation, written),
            lambda why: CitedSource(not_read(citation.url or "", why)),
        )

    def _finding(self, claim: Claim, article: Article) -> Finding:
        (finding,) = self.run.pipeline.findings(replace(article, claims=(claim,)))
        if self.run.second is None:
            return finding
        (finding,) = self.run.second.on(article, [finding], lambda done, total: None)
        return finding

    def _values(self, statement: _Statement, article: Article) -> dict[str, object]:
        finding = self._finding(statement.claim, article)
        today = datetime.now(UTC).date()
        sources = [cited.source for cited in statement.cited]
        record = record_of(finding, sources, today, date_format_of(article.source))
        verifier, judge = self._versions
        return {
            "claim_hash": statement.claim.claim_id,
            "claim_sha256": text_hash(statement.claim.text),
            "claim": statement.claim.text,
            "source_hash": statement.source_hash,
            "context": statement.context,
            "inputs": statement.inputs,
            "private": self._is_private(finding),
            "verifier": verifier,
            "judge": judge,
            "kind": record.kind,
            "published": record.kind in self.plan.publish,
            "record": record.values(),
        }

    def _is_private(self, finding: Finding) -> bool:
        """Whether a finding may quote what only the operator can read."""
        web, private = self.run.pipeline.copies.web, self.run.settings.web.rules.private_hosts
        urls = [url for result in finding.citations for url in addresses(result.citation)]
        copies = [result.copy for result in finding.citations if result.copy]
        if web and private:  # a public address may lead to a private host
            live = (copy.url for copy in copies if copy.kind is CopyKind.LIVE)
            urls += [web.get(url).final_url for url in live]
        return (
            any(copy.kind not in _ON_THE_WEB for copy in copies)
            or any(suggestion.found_by for suggestion in finding.suggestions)
            or not {host_of(url) for url in urls}.isdisjoint(host for host, _ in private)
        )

    @property
    def _versions(self) -> tuple[str, str]:
        versions = self.run.versions
        return f"pincite {versions['pincite']}, {versions['verifier']}", versions.get("judge", "")

    @property
    def _settings(self) -> str:
        return json.dumps(decisive(report_settings(self.run.settings)), sort_keys=True)


def _hash_of(cited: Sequence[CitedSource]) -> str:
    return source_hash([c.source for c in cited])


def _requests(host: str) -> str:
    return f"{REQUESTS}{host}"


def _tomorrow() -> float:
    return (now() // DAY + 1) * DAY
