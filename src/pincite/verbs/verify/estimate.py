"""Estimates the work and time of a `verify` run without fetching anything.

The estimate is a range: how fast hosts answer, how long their pages are, and which pairs are
already judged is not known in advance. What is known is the pause between requests to a host, and
the time per pair on this machine, which is measured on a few pairs.
"""

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pincite import codec
from pincite.llm.calls import tokens_of
from pincite.llm.judge import REPLY_TOKENS
from pincite.models.weights import served
from pincite.report.cells import n_of
from pincite.settings import Settings
from pincite.text.hosts import host_of
from pincite.text.passages import WIDE_WORDS
from pincite.types import Article, Citation, Claim, Document, Passage, Span, Unchecked
from pincite.verbs.verify.cited_copies import is_wanted
from pincite.verbs.verify.coverage import addresses
from pincite.web.addresses import WebRules
from pincite.wiki.uncited import is_read, uncited

Seconds = tuple[float, float]  # lower and upper estimate
# Per request: as measured by research/scripts/bench_fetch.py, and for a slow site.
LATENCY: Seconds = (0.2, 3.0)
TRIED = 3  # pairs, judged twice because the first time warms up; half a second on two cores
# Share of the possible pairs, each as long as wide passages make it. Short pages have fewer, and
# clauses are judged as well: the demo's article (short pages) has 304, and 200 were judged.
OF_THE_PAIRS: Seconds = (0.5, 1.5)
MANY = 1_000_000  # tokens assumed for a source not fetched yet: it fills its share of the prompt
BESIDES = 500 + REPLY_TOKENS  # tokens of the prompt without the sources, and of the reply


@dataclass(frozen=True, slots=True)
class Estimate:
    """The work for one article, or the sum for several."""

    n_articles: int
    n_claims: int
    n_citations: int  # uses of references at claims
    n_with_address: int  # of those
    n_sources: int  # distinct addresses; of those:
    n_at_hand: int  # supplied, or in the corpus
    n_known_to_fail: int  # supplied as a failure, such as a stored "404"
    n_fetched_before: int  # in the cache and still fresh
    hosts: Mapping[str, int] = field(default_factory=dict)  # addresses to fetch from each
    n_missing: int = 0  # neither at hand nor fetchable
    n_never_opened: int = 0  # not addresses of the public web
    fetching: Seconds = (0.0, 0.0)
    judging: Seconds = (0.0, 0.0)
    calls: int = 0  # for second opinions, at most one per claim
    tokens: int = 0  # prompts and replies of those calls, at most

    @property
    def n_to_fetch(self) -> int:
        return sum(self.hosts.values())

    @property
    def seconds(self) -> Seconds:
        return self.fetching[0] + self.judging[0], self.fetching[1] + self.judging[1]


_COUNTED = [name for name, of in Estimate.__annotations__.items() if of is int]


@dataclass(frozen=True, slots=True)
class Estimator:
    """Estimates from the available copies and the speed of this machine."""

    stored: Callable[[Citation], Document | Unchecked]  # the supplied copy, or the corpus's
    seconds_a_pair: Callable[[Sequence[tuple[Claim, Passage]]], float]  # measured on these pairs
    of_a_page: int  # passages judged per source, at most
    candidates: int  # corpus passages judged per claim; 0 without a corpus
    rules: WebRules
    uncited: bool = False  # whether to search for uncited sentences
    judge_tokens: int = 0  # source tokens per second opinion, at most; 0: no second opinions
    asked: Callable[[Citation], str | None] = lambda citation: None  # first address to fetch
    is_kept: Callable[[str], bool] = lambda url: False  # whether the cache has the page
    host_of: Callable[[str], str | None] = lambda url: None  # None: not opened

    def of(self, article: Article) -> Estimate:
        cited = [citation for claim in article.claims for citation in claim.citations]
        uses = Counter(found[0] for citation in cited if (found := addresses(citation)))
        sources = {found[0]: c for c in cited if (found := addresses(c))}
        copies = {url: self.stored(citation) for url, citation in sources.items()}
        at_hand = [url for url, copy in copies.items() if isinstance(copy, Document)]
        others = [url for url, copy in copies.items() if is_wanted(copy)]
        online = self.rules.online
        asked = {url: self.asked(sources[url]) for url in others if online}
        kept = [url for url, address in asked.items() if address and self.is_kept(address)]
        wanted = [url for url in others if url not in set(kept)]
        first = [address for url in wanted if (address := asked.get(url))]
        hosts = Counter(host for address in first if (host := self.host_of(address)))
        n_uncited = len(uncited(article)) if self.uncited and is_read(article.language) else 0
        of_candidates = (len(article.claims) + n_uncited) * self.candidates
        sure = sum(uses[url] for url in (*at_hand, *kept)) * self.of_a_page
        most = of_candidates + sure + sum(uses[url] for url in wanted if online) * self.of_a_page
        each = self._seconds_a_pair(article) if most else 0.0
        legible = {*at_hand, *kept, *(wanted if online else ())}
        calls, tokens = self._opinions(article, legible, copies)
        return Estimate(
            n_articles=1,
            n_claims=len(article.claims),
            n_citations=len(cited),
            n_with_address=sum(uses.values()),
            n_sources=len(uses),
            n_at_hand=len(at_hand),
            n_known_to_fail=len(uses) - len(at_hand) - len(others),
            n_fetched_before=len(kept),
            hosts=dict(hosts),
            n_missing=0 if online else len(wanted),
            n_never_opened=len(wanted) - sum(hosts.values()) if online else 0,
            fetching=fetching_seconds(list(hosts.values()), self.rules),
            judging=(OF_THE_PAIRS[0] * sure * each, OF_THE_PAIRS[1] * most * each),
            calls=calls,
            tokens=tokens,
        )

    def _opinions(
        self, article: Article, legible: Container[str], copies: Mapping[str, Document | Unchecked]
    ) -> tuple[int, int]:
        calls = tokens = 0
        for claim in article.claims if self.judge_tokens else ():
            cited = [f[0] for c in claim.citations if (f := addresses(c)) and f[0] in legible]
            found = [copies[url] for url in cited]
            shown = [tokens_of(d.text) if isinstance(d, Document) else MANY for d in found]
            calls += bool(cited)
            tokens += bool(cited) * (min(self.judge_tokens, sum(shown)) + BESIDES)
        return calls, tokens

    def _seconds_a_pair(self, article: Article) -> float:
        """Measured on the article's own words, at the length of real passages."""
        words = " ".join(claim.text for claim in article.claims).split() or ["none"]
        text = " ".join((words * (1 + WIDE_WORDS // len(words)))[:WIDE_WORDS])
        passage = Passage("", "", "", text, Span(0, len(text)))
        claims = (article.claims * TRIED)[:TRIED]
        pairs = [(claim, passage) for claim in claims]
        return min(self.seconds_a_pair(pairs) for _ in range(2))


def fetching_seconds(queues: Sequence[int], rules: WebRules) -> Seconds:
    """Estimate the time to fetch these queues, one per host: hosts in parallel, pages in sequence.

    >>> fetching_seconds([10, 1], WebRules(pause=1.0))
    (12.0, 43.0)
    >>> fetching_seconds([], WebRules())
    (0.0, 0.0)
    """
    if not queues:
        return 0.0, 0.0
    least, most = (
        max(
            max(queues) * (rules.pause + latency),
            sum(queues) * (rules.pause + latency) / rules.at_once,
        )
        for latency in LATENCY
    )
    return least, most + LATENCY[1]  # robots.txt comes first unless it is cached


def together(estimates: Sequence[Estimate], n_articles: int) -> Estimate:
    """Sum the estimates, scaled up if they cover fewer than `n_articles`."""
    scale = n_articles / len(estimates)
    hosts: Counter[str] = Counter()
    for estimate in estimates:
        hosts.update(estimate.hosts)

    def lasting(pairs: Sequence[Seconds]) -> Seconds:
        return scale * sum(low for low, _ in pairs), scale * sum(high for _, high in pairs)

    return Estimate(
        **{name: round(scale * sum(getattr(e, name) for e in estimates)) for name in _COUNTED}
        | {"n_articles": n_articles},
        hosts={host: round(scale * n) for host, n in hosts.items()},
        fetching=lasting([e.fetching for e in estimates]),
        judging=lasting([e.judging for e in estimates]),
    )


# ── In words and as JSON ─────────────────────────────────────────────────────────────────────────

FREE = "It costs nothing: no language model's server is asked."
SHORT = 10.0  # seconds; too short to mention
VERIFIER = (
    "Each pair not judged before is a request to the verifier's server, which may cost something."
)


def to_json(found: Estimate, settings: Settings) -> str:
    """Format the estimate as JSON; times are [lower, upper] in seconds."""
    values: dict[str, Any] = {
        **{name.removeprefix("n_"): getattr(found, name) for name in _COUNTED if name[:2] == "n_"},
        "to_fetch": found.n_to_fetch,
        "hosts": dict(sorted(found.hosts.items(), key=lambda item: (-item[1], item[0]))),
        "seconds_of_fetching": [round(value, 1) for value in found.fetching],
        "seconds_of_judging": [round(value, 1) for value in found.judging],
        "asks_a_server": asks_a_server(settings),
        "most_calls": found.calls,
        "most_tokens": found.tokens,
    }
    return codec.to_json(values)


def lines(found: Estimate, settings: Settings) -> list[str]:
    counted = f"{n_of(found.n_claims, 'claim')}, {n_of(found.n_citations, 'citation')}, "
    counted += f"{found.n_with_address} with an address ({n_of(found.n_sources, 'source')}"
    others = {
        "known to fail": found.n_known_to_fail,
        "fetched before": found.n_fetched_before,
        f"to fetch from {n_of(len(found.hosts), 'host')}": found.n_to_fetch,
        "missing: supply copies, or give --online": found.n_missing,
        "without a public web address": found.n_never_opened,
    }
    copies = [f"{found.n_at_hand} at hand", *(f"{n} {words}" for words, n in others.items() if n)]
    times = f"Takes {length(found.seconds)}"
    if found.n_to_fetch:
        times += f": fetching {length(found.fetching)}, judging {length(found.judging)}"
    if found.judging[1] >= SHORT:
        times += "; less for what was judged before"
    if found.n_to_fetch and (settings.web.wayback or settings.web.search_url):
        times += "; more if archives or the search engine are used"
    costs = [VERIFIER] if served(settings.models.verifier) else []
    costs += [_opinions(found, settings)] if found.calls else []
    return [f"{counted}: {', '.join(copies)}).", f"{times}. {' '.join(costs) or FREE}"]


def asks_a_server(settings: Settings) -> bool:
    return bool(served(settings.models.verifier) or settings.judge.url)


def _opinions(found: Estimate, settings: Settings) -> str:
    budget, judge = settings.budget, settings.judge
    calls = min(found.calls, budget.max_calls or found.calls)
    tokens = min(found.tokens * calls // found.calls, budget.max_tokens or found.tokens)
    asked = "" if judge.every else ", and only where we are unsure"
    cost = budget.limits.cost_of(tokens, 0)
    price = f", about {cost:.2f} at the price that is set" if cost else ""
    return (
        f"{judge.model} at {host_of(judge.url)} is asked for at most {n_of(calls, 'opinion')}"
        f"{asked}: at most {tokens:,} tokens{price}. It receives the claims and their sources."
    )


def length(seconds: Seconds) -> str:
    """Format a rough duration.

    >>> length((0.4, 3)), length((3, 41)), length((50, 100)), length((9e3, 2e4))
    ('a few seconds', 'up to 40 s', 'about 1 to 2 min', 'about 2 to 6 h')
    """
    low, high = seconds
    if high < SHORT:
        return "a few seconds"
    unit, name, step = (1, "s", 10) if high < 90 else (60, "min", 1)
    if high > 90 * 60:
        unit, name = 3600, "h"
    least, most = (round(value / unit / step) * step for value in (low, high))
    if least == 0:
        return f"up to {most} {name}"
    return f"about {most} {name}" if least == most else f"about {least} to {most} {name}"
