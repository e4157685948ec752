"""Checks as ClaimReview in JSON-LD, as search engines and fact-check archives read it.

One review for each reading that the knowledge base speaks about. What could not be judged, what is
left alone and what nothing was found on gets none: a rating would say more than is known.

Readers of ClaimReview ask for an author and an address, which only the publisher knows: they are
settings, and fields are left out rather than made up.
"""

import json
from functools import partial
from typing import Any

from pincite.documents.language import code_of
from pincite.judgement import confirmation
from pincite.judgement.confirmation import Weighed
from pincite.report.cells import one_line, safe_link
from pincite.verbs.check import wording
from pincite.verbs.check.records import Check, CheckReport, ReadingResult, shown


def to_claimreview(report: CheckReport) -> str:
    """A JSON-LD document with all reviews; safe inside of a page's `<script>` too."""
    reviews = [
        review
        for n, check in enumerate(report.checks, 1)
        for review in shown(partial(_reviews, report=report, number=n), check)
    ]
    document = {"@context": "https://schema.org", "@graph": reviews}
    # ASCII without "<": no text of a page can end a script element.
    return json.dumps(document, ensure_ascii=True, indent=1).replace("<", "\\u003c") + "\n"


def _reviews(check: Check, report: CheckReport, number: int) -> list[dict[str, Any]]:
    threshold = wording.threshold_of(report)
    return [
        _review(result, report, threshold)
        | _published(report, f"reading-{number}-{result.reading.reading_id[1:]}")
        for result in check.results
        if confirmation.rank(result.weight.outcome) is not None
    ]


_NAMES = ("claimreview.author", "claimreview.author_url", "claimreview.url")


def lacking(report: CheckReport) -> str:
    """What a publisher has to add before search engines take the document; empty if nothing."""
    given = report.settings
    absent = [name for name in _NAMES if not given.get(name)]
    if not absent:
        return ""
    return (
        f"claimreview: not set, so left out: {', '.join(absent)}. Set them before you publish it."
    )


def _published(report: CheckReport, anchor: str) -> dict[str, Any]:
    """Who says so, and where: the reading's place on the page of --html."""
    given = report.settings
    name, site, page = (str(given.get(name) or "") for name in _NAMES)
    author = {"name": name} if name else {}
    author |= {"url": site} if safe_link(site) else {}
    found: dict[str, Any] = {}
    if author:
        found["author"] = {"@type": "Organization", **author}
    if safe_link(page):
        found["url"] = page if "#" in page else f"{page}#{anchor}"
    return found


def _review(result: ReadingResult, report: CheckReport, threshold: float) -> dict[str, Any]:
    outcome = result.weight.outcome
    rank = confirmation.rank(outcome)
    assert rank is not None
    language = code_of(str(report.settings.get("language") or ""))
    return {
        "@type": "ClaimReview",
        **({"inLanguage": language} if language else {}),
        "claimReviewed": one_line(result.reading.text),
        "datePublished": report.created[:10],
        "itemReviewed": {"@type": "Claim", "name": one_line(result.reading.text)},
        "reviewRating": {
            "@type": "Rating",
            "ratingValue": rank + 4,  # schema.org's Rating wants a scale; 4 is in its middle
            "worstRating": 1,
            "bestRating": 7,
            "alternateName": wording.LABELS[outcome],
            "ratingExplanation": wording.sentence(result),
        },
        "reviewBody": wording.ADVICE,
        "citation": [
            _work(item)
            for item in result.items
            if abs(confirmation.degree_of(item) or 0.0) > threshold
        ],
    }


def _work(item: Weighed) -> dict[str, Any]:
    work = {"@type": "CreativeWork", "name": one_line(item.passage.title or item.passage.url)}
    if href := safe_link(item.passage.url):
        work["url"] = href
    if item.published:
        work["datePublished"] = item.published
    return work
