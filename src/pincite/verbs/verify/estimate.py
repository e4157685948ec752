"""Estimates the work and time of a `verify` run without fetching anything.

Times are ranges: how fast hosts answer and how long their pages are is not known in advance.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pincite.llm.calls import tokens_of
from pincite.llm.judge import REPLY_TOKENS
from pincite.models.weights import served
from pincite.report.cells import n_of
from pincite.retrieval import cascade
from pincite.settings import Settings
from pincite.text.hosts import host_of
from pincite.types import Article, Claim, Document, Passage, Span, written
from pincite.verbs.verify.cited_copies import CitedCopies, is_wanted
from pincite.verbs.verify.report import addresses
from pincite.web.addresses import WebRules
from pincite.wiki.uncited import find_uncited, is_read

Seconds = tuple[float, float]  # lower and upper estimate
# Per request: as measured by research/scripts/bench_fetch.py, and for a slow site.
LATENCY: Seconds = (0.2, 3.0)
TRIED = 3  # pairs, judged twice because the first time warms up; half a second on two cores
# Share of the possible pairs, each as long as wide passages make it. Short pages have fewer, and
# clauses are judged as well: the demo's article (short pages) has 304, and 200 were judged.
OF_THE_PAIRS: Seconds = (0.5, 1.5)
MANY = 1_000_000  # tokens assumed for a source not fetched yet: it fills its share of the prompt
BESIDES = 500 + REPLY_TOKENS  # tokens of the prompt without the sources, and of the reply
SHORT = 10.0  # seconds; too short to mention


@dataclass(frozen=True, slots=True)
class Estimate:
    """The work for one article."""

    claims: int
    citations: int
    sources: int  # distinct addresses
    at_hand: int  # supplied, in a corpus, or fetched before and still fresh
    missing: int  # neither at hand nor fetchable
    most_calls: int  # for second opinions, one per claim
    most_tokens: int  # prompts and replies of those calls
    hosts: Mapping[str, int]  # pages to fetch from each
    seconds_of_fetching: Seconds
    seconds_of_judging: Seconds

    @property
    @written
    def to_fetch(self) -> int:
        return sum(self.hosts.values())


def estimate_article(
    article: Article,
    copies: CitedCopies,
    seconds_a_pair: Callable[[Sequence[tuple[Claim, Passage]]], float],
    settings: Settings,
    candidates: int,
) -> Estimate:
    """Estimate the work for one article; `candidates`: corpus passages judged per claim."""
    citations = [citation for claim in article.claims for citation in claim.citations]
    uses = Counter(urls[0] for citation in citations if (urls := addresses(citation)))
    cited = {urls[0]: citation for citation in citations if (urls := addresses(citation))}
    found = {url: copies.stored_copy(citation) for url, citation in cited.items()}
    wanted = [url for url, copy in found.items() if is_wanted(copy)]
    readable = {url for url, copy in found.items() if isinstance(copy, Document)}
    to_fetch: dict[str, str] = {}  # the host of each
    if copies.web:
        for url in wanted:
            address = copies.first_address(cited[url])
            if address and copies.web.sources.is_cached(address):
                readable.add(url)
            elif address and (host := copies.web.sources.host_of(address)):
                to_fetch[url] = host
    hosts = dict(Counter(to_fetch.values()).most_common())
    n_claims = len(article.claims)
    if settings.verify.uncited and is_read(article.language):
        n_claims += len(find_uncited(article))
    a_use = 1 + settings.retrieval.read
    least = sum(uses[url] for url in readable) * a_use
    most = least + sum(uses[url] for url in to_fetch) * a_use
    most += n_claims * candidates
    each = _measured(article, seconds_a_pair) if most else 0.0
    tokens, judge = [], settings.judge
    for claim in article.claims if judge.url else ():
        texts = [found[urls[0]] for c in claim.citations
                 if (urls := addresses(c)) and urls[0] in (readable | to_fetch.keys())]  # fmt: skip
        sizes = [tokens_of(text.text) if isinstance(text, Document) else MANY for text in texts]
        tokens += [min(judge.source_tokens, sum(sizes)) + BESIDES] if texts else []
    asked = sorted(tokens, reverse=True)[: judge.limit]
    return Estimate(
        claims=len(article.claims),
        citations=len(citations),
        sources=len(cited),
        at_hand=len(readable),
        missing=len(set(wanted) - readable - to_fetch.keys()),
        most_calls=len(asked),
        most_tokens=sum(asked),
        hosts=hosts,
        seconds_of_fetching=fetching_seconds(list(hosts.values()), settings.web.rules),
        seconds_of_judging=(OF_THE_PAIRS[0] * least * each, OF_THE_PAIRS[1] * most * each),
    )


def _measured(
    article: Article, seconds_a_pair: Callable[[Sequence[tuple[Claim, Passage]]], float]
) -> float:
    """Measure the time per pair on the article's own words, at the length of real passages."""
    words = " ".join(claim.text for claim in article.claims).split() or ["none"]
    n_words = cascade.COVERING_WORDS
    text = " ".join((words * (1 + n_words // len(words)))[:n_words])
    passage = Passage("", "", "", text, Span(0, len(text)))
    pairs = [(claim, passage) for claim in (article.claims * TRIED)[:TRIED]]
    return min(seconds_a_pair(pairs) for _ in range(2))


def fetching_seconds(queues: Sequence[int], rules: WebRules) -> Seconds:
    """Estimate the time to fetch these queues: hosts in parallel, pages of a host in sequence."""
    if not queues:
        return 0.0, 0.0
    longest = max(max(queues), sum(queues) / rules.at_once)
    least, most = (longest * (rules.pause + latency) for latency in LATENCY)
    return least, most + LATENCY[1]  # robots.txt comes first unless it is cached


# ── In words ─────────────────────────────────────────────────────────────────────────────────────

EXAMINATION = "24 to 192 short questions, about 700 tokens each"
FREE = "It costs nothing: no language model is used."
VERIFIER = (
    "Each pair not judged before is a request to the verifier's server, which may cost money."
)


def lines(found: Estimate, settings: Settings) -> list[str]:
    copies = [f"{found.at_hand} at hand"]
    if found.to_fetch:
        copies.append(f"{found.to_fetch} to fetch from {n_of(len(found.hosts), 'host')}")
    if found.missing:
        how = "supply copies" + ("" if settings.web.online else ", or give --online")
        copies.append(f"{found.missing} missing: {how}")
    counted = f"{n_of(found.claims, 'claim')}, {n_of(found.citations, 'citation')}, "
    counted += f"{n_of(found.sources, 'source')} with an address: {', '.join(copies)}."
    fetching, judging = found.seconds_of_fetching, found.seconds_of_judging
    times = f"Takes {length((fetching[0] + judging[0], fetching[1] + judging[1]))}"
    if found.to_fetch:
        times += f": fetching {length(fetching)}, judging {length(judging)}"
    if judging[1] >= SHORT:
        times += "; less if pairs were judged before"
    if found.to_fetch and (settings.web.wayback or settings.web.search_url):
        times += "; more if archives or the search engine are used"
    costs = [VERIFIER] if served(settings.models.verifier) else []
    costs += [_opinions(found, settings)] if found.most_calls else []
    return [counted, f"{times}. {' '.join(costs) or FREE}"]


def asks_others(settings: Settings) -> bool:
    """Whether a run waits for hosts or servers; if not, it is too quick to need an estimate."""
    return bool(settings.web.online or served(settings.models.verifier) or settings.judge.url)


def _opinions(found: Estimate, settings: Settings) -> str:
    budget, judge = settings.budget, settings.judge
    calls = min(found.most_calls, budget.max_calls or found.most_calls)
    tokens = found.most_tokens * calls // found.most_calls
    tokens = min(tokens, budget.max_tokens or found.most_tokens)
    cost = budget.limits.cost_of(tokens, 0)
    price = f", about {cost:.2f} at the configured price" if cost else ""
    return (
        f"{judge.model} at {host_of(judge.url)} is asked for at most {n_of(calls, 'opinion')}: at "
        f"most {tokens:,} tokens{price}. It receives the claims and their sources. A model that is "
        f"new to Pincite is examined first: {EXAMINATION}."
    )


def length(seconds: Seconds) -> str:
    """Format a rough duration: "about 1 to 2 min"."""
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
