"""Estimates the work for an article before it begins, and puts it in words.

An estimate fetches nothing. Its times are ranges: how fast hosts answer and how long their pages
are is not known in advance.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pincite.llm.calls import tokens_of
from pincite.models.weights import server_of
from pincite.report.cells import n_of
from pincite.retrieval import cascade
from pincite.settings import Settings
from pincite.text.hosts import host_of
from pincite.types import Article, Citation, Claim, Document, Passage, Span, Unchecked, written
from pincite.verbs.verify.cited_copies import CitedCopies, is_wanted
from pincite.verbs.verify.report import addresses
from pincite.web.addresses import WebRules
from pincite.wiki.uncited import find_uncited, is_read


class Seconds(NamedTuple):
    """A duration: lower and upper estimate."""

    least: float
    most: float


# Per request: as measured by research/scripts/bench_fetch.py, and for a slow site.
LATENCY = Seconds(0.2, 3.0)
TRIED = 3  # pairs, judged twice because the first time warms up; half a second on two cores
# Share of the possible pairs, each as long as wide passages make it. Short pages have fewer, and
# clauses are judged as well: the demo's article (short pages) has 304, and 200 were judged.
OF_THE_PAIRS = Seconds(0.5, 1.5)
UNKNOWN_TOKENS = 1_000_000  # of a source not fetched yet: it fills its share of the prompt
PROMPT_TOKENS = 500  # without the sources

SHORT = 10.0  # seconds; too short to mention
EXAMINATION = "24 to 192 short questions, about 700 tokens each"
FREE = "It costs nothing: no language model is used."
VERIFIER = (
    "Each pair not judged before is a request to the verifier's server, which may cost money."
)

TimePairs = Callable[[Sequence[tuple[Claim, Passage]]], float]  # → measured seconds per pair


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
    time_pairs: TimePairs,
    settings: Settings,
    candidates: int,
) -> Estimate:
    """Estimate the work for one article; `candidates`: corpus passages judged per claim."""
    citations = [citation for claim in article.claims for citation in claim.citations]
    uses = Counter(filter(None, map(_address, citations)))
    cited = {url: citation for citation in citations if (url := _address(citation))}
    sources = {url: copies.copy_at_hand(citation) for url, citation in cited.items()}
    wanted = [url for url, source in sources.items() if is_wanted(source)]
    readable = {url for url, source in sources.items() if isinstance(source, Document)}
    host_of_page: dict[str, str] = {}  # of those to fetch
    if copies.web:
        pages = copies.web.sources
        for url in wanted:
            address = copies.first_address(cited[url])
            if address and pages.is_cached(address):
                readable.add(url)
            elif address and (host := pages.host_of(address)):
                host_of_page[url] = host
    available = readable | host_of_page.keys()
    pairs_a_use = 1 + settings.retrieval.read
    n_claims = len(article.claims)
    if settings.verify.uncited and is_read(article.language):
        n_claims += len(find_uncited(article))
    least = pairs_a_use * sum(uses[url] for url in readable)
    most = pairs_a_use * sum(uses[url] for url in available) + n_claims * candidates
    seconds_a_pair = _measure_pairs(article, time_pairs) if most else 0.0
    tokens: list[int] = []
    if settings.judge.url:
        texts = {url: source for url, source in sources.items() if url in available}
        tokens = _opinion_tokens(article, texts, settings.judge.source_tokens)
    most_costly = sorted(tokens, reverse=True)[: settings.judge.limit]
    queues = Counter(host_of_page.values())
    return Estimate(
        claims=len(article.claims),
        citations=len(citations),
        sources=len(cited),
        at_hand=len(readable),
        missing=len(set(wanted) - available),
        most_calls=len(most_costly),
        most_tokens=sum(most_costly),
        hosts=dict(queues.most_common()),
        seconds_of_fetching=fetching_seconds(list(queues.values()), settings.web.rules),
        seconds_of_judging=Seconds(
            OF_THE_PAIRS.least * least * seconds_a_pair, OF_THE_PAIRS.most * most * seconds_a_pair
        ),
    )


def _address(citation: Citation) -> str:
    """Return the address by which a source is counted; empty if it has none."""
    return next(iter(addresses(citation)), "")


def _opinion_tokens(
    article: Article, sources: Mapping[str, Document | Unchecked], most_of_sources: int
) -> list[int]:
    """Return the tokens of a second opinion on each claim that has a source."""
    from pincite.llm.judge import REPLY_TOKENS

    tokens = []
    for claim in article.claims:
        cited = [sources[url] for url in map(_address, claim.citations) if url in sources]
        sizes = [
            tokens_of(source.text) if isinstance(source, Document) else UNKNOWN_TOKENS
            for source in cited
        ]
        if sizes:
            tokens.append(min(most_of_sources, sum(sizes)) + PROMPT_TOKENS + REPLY_TOKENS)
    return tokens


def _measure_pairs(article: Article, time_pairs: TimePairs) -> float:
    """Measure the time per pair on the article's own words, at the length of real passages."""
    words = " ".join(claim.text for claim in article.claims).split() or ["none"]
    n_words = cascade.COVERING_WORDS
    text = " ".join((words * (1 + n_words // len(words)))[:n_words])
    passage = Passage("", "", "", text, Span(0, len(text)))
    pairs = [(claim, passage) for claim in (article.claims * TRIED)[:TRIED]]
    return min(time_pairs(pairs) for _ in range(2))


def fetching_seconds(queues: Sequence[int], rules: WebRules) -> Seconds:
    """Estimate the time to fetch these queues: hosts in parallel, pages of a host in sequence."""
    if not queues:
        return Seconds(0.0, 0.0)
    longest = max(max(queues), sum(queues) / rules.at_once)
    least, most = (longest * (rules.pause + latency) for latency in LATENCY)
    return Seconds(least, most + LATENCY.most)  # robots.txt comes first unless it is cached


def waits_for_servers(settings: Settings) -> bool:
    """Whether a run waits for hosts or servers; if not, it is too quick to need an estimate."""
    return bool(settings.web.online or server_of(settings.models.verifier) or settings.judge.url)


def describe(estimate: Estimate, settings: Settings) -> list[str]:
    """Return a line on the article, and one on time and costs."""
    copies = [f"{estimate.at_hand} at hand"]
    if estimate.to_fetch:
        copies.append(f"{estimate.to_fetch} to fetch from {n_of(len(estimate.hosts), 'host')}")
    if estimate.missing:
        how = "supply copies" if settings.web.online else "supply copies, or give --online"
        copies.append(f"{estimate.missing} missing: {how}")
    counts = f"{n_of(estimate.claims, 'claim')}, {n_of(estimate.citations, 'citation')}, "
    counts += f"{n_of(estimate.sources, 'source')} with an address: {', '.join(copies)}."
    fetching, judging = estimate.seconds_of_fetching, estimate.seconds_of_judging
    both = Seconds(fetching.least + judging.least, fetching.most + judging.most)
    times = f"Takes {duration(both)}"
    if estimate.to_fetch:
        times += f": fetching {duration(fetching)}, judging {duration(judging)}"
    if judging.most >= SHORT:
        times += "; less if pairs were judged before"
    if estimate.to_fetch and (settings.web.wayback or settings.web.search_url):
        times += "; more if archives or the search engine are used"
    costs = [VERIFIER] if server_of(settings.models.verifier) else []
    if estimate.most_calls:
        costs.append(_describe_opinions(estimate, settings))
    return [counts, f"{times}. {' '.join(costs) or FREE}"]


def _describe_opinions(estimate: Estimate, settings: Settings) -> str:
    budget, judge = settings.budget, settings.judge
    calls = min(estimate.most_calls, budget.max_calls or estimate.most_calls)
    tokens = estimate.most_tokens * calls // estimate.most_calls
    tokens = min(tokens, budget.max_tokens or estimate.most_tokens)
    cost = budget.limits.cost_of(tokens, 0)
    price = f", about {cost:.2f} at the configured price" if cost else ""
    return (
        f"{judge.model} at {host_of(judge.url)} is asked for at most {n_of(calls, 'opinion')}: at "
        f"most {tokens:,} tokens{price}. It receives the claims and their sources. A model that is "
        f"new to Pincite is examined first: {EXAMINATION}."
    )


def duration(seconds: Seconds) -> str:
    """Format a rough duration: "about 1 to 2 min"."""
    if seconds.most < SHORT:
        return "a few seconds"
    if seconds.most < 90:
        unit, name, step = 1, "s", 10
    elif seconds.most <= 90 * 60:
        unit, name, step = 60, "min", 1
    else:
        unit, name, step = 3600, "h", 1
    least, most = (round(value / unit / step) * step for value in seconds)
    if least == 0:
        return f"up to {most} {name}"
    return f"about {least} to {most} {name}" if least < most else f"about {least} {name}"
