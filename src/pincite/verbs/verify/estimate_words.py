"""An estimate of a run, in words and as JSON."""

from typing import Any

from pincite.contract import codec
from pincite.models.weights import served
from pincite.report.cells import n_of
from pincite.settings import Settings
from pincite.text.hosts import host_of
from pincite.verbs.verify.estimate import Estimate, Seconds

FREE = "Nothing is paid, and no language model's server is asked."
SHORT = 10.0  # seconds that nobody needs to be told of
VERIFIER = (
    "The verifier's server is asked about every pair not judged before: it may cost something."
)


def to_json(found: Estimate, settings: Settings) -> str:
    """The estimate as JSON; times are seconds, at least about and at most about."""
    values: dict[str, Any] = {
        "articles": found.n_articles,
        "claims": found.n_claims,
        "citations": found.n_citations,
        "with_address": found.n_with_address,
        "sources": found.n_sources,
        "at_hand": found.n_at_hand,
        "known_to_fail": found.n_known_to_fail,
        "fetched_before": found.n_fetched_before,
        "to_fetch": found.n_to_fetch,
        "missing": found.n_missing,
        "never_opened": found.n_never_opened,
        "hosts": dict(sorted(found.hosts.items(), key=lambda item: (-item[1], item[0]))),
        "seconds_of_fetching": [round(value, 1) for value in found.fetching],
        "seconds_of_judging": [round(value, 1) for value in found.judging],
        "asks_a_server": asks_a_server(settings),
        "most_calls": found.calls,
        "most_tokens": found.tokens,
    }
    return codec.to_json(values)


def lines(found: Estimate, settings: Settings) -> list[str]:
    """What is to be done, and how long it may take."""
    counted = f"{n_of(found.n_claims, 'claim')}, {n_of(found.n_citations, 'citation')}, "
    counted += f"{found.n_with_address} with an address ({n_of(found.n_sources, 'source')}"
    copies = [f"{found.n_at_hand} at hand"]
    if found.n_known_to_fail:
        copies.append(f"{found.n_known_to_fail} known to fail")
    if found.n_fetched_before:
        copies.append(f"{found.n_fetched_before} fetched before")
    if found.n_to_fetch:
        hosts = n_of(len(found.hosts), "host")
        copies.append(f"{found.n_to_fetch} to fetch from {hosts}")
    if found.n_missing:
        copies.append(f"{found.n_missing} missing: hand in copies, or give --online")
    if found.n_never_opened:
        copies.append(f"{found.n_never_opened} at no public web address")
    times = f"Takes {length(found.seconds)}"
    if found.n_to_fetch:
        times += f": fetching {length(found.fetching)}, judging {length(found.judging)}"
    if found.judging[1] >= SHORT:
        times += "; less for what was judged before"
    if found.n_to_fetch and (settings.web.wayback or settings.web.search_url):
        times += "; more if archives or the search engine are asked"
    return [f"{counted}: {', '.join(copies)}).", f"{times}. {_costs(found, settings)}"]


def _costs(found: Estimate, settings: Settings) -> str:
    """What is sent to which servers, and may cost something."""
    costs = [VERIFIER] if served(settings.models.verifier) else []
    costs += [_opinions(found, settings)] if found.calls else []
    return " ".join(costs) or FREE


def asks_a_server(settings: Settings) -> bool:
    """Whether a run of `verify` with these settings asks a language model's server."""
    return bool(served(settings.models.verifier) or settings.judge.url)


def _opinions(found: Estimate, settings: Settings) -> str:
    """What second opinions may cost, within the budget."""
    budget, judge = settings.budget, settings.judge
    calls = min(found.calls, budget.max_calls or found.calls)
    tokens = min(found.tokens * calls // found.calls, budget.max_tokens or found.tokens)
    asked = "" if judge.every else ", and only where we are unsure"
    cost = budget.limits.cost_of(tokens, 0)
    price = f", about {cost:.2f} at the price that is set" if cost else ""
    return (
        f"{judge.model} at {host_of(judge.url)} is asked for at most {n_of(calls, 'opinion')}"
        f"{asked}: at most {tokens:,} tokens{price}. It is sent the claims and their sources."
    )


def length(seconds: Seconds) -> str:
    """A length of time that is not known well.

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
