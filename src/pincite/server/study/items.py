"""From reports to the items of a study: a claim, its citation, and the one that was suggested.

Of several citations of a claim the one that the verifier scored highest stands for all: the
suggestion has to be better than the best. Whole texts are taken where they are at hand, cut alike.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from pincite.errors import InputError
from pincite.evaluation.preferences import Compared
from pincite.report.json_values import Values
from pincite.server.jobs.store import JobStore
from pincite.server.texts import whole
from pincite.types import Evidence, Finding, Report, Span

Sample = Literal["low-scores", "random"]
SAMPLES: tuple[Sample, ...] = get_args(Sample)
TEXT_CHARS = 50_000  # of a source's text, around its passage
TextOf = Callable[[str], str | None]  # by document id; None: it is not at hand


@dataclass(frozen=True, slots=True)
class Source:
    """One of the two sources of an item. Spans count characters."""

    url: str
    title: str
    score: float  # log-odds of support, of the verifier
    passage: str
    quote: tuple[int, int] | None  # in the passage
    text: str  # around the passage; empty: it was not at hand
    start: int  # of the passage in the text


@dataclass(frozen=True, slots=True)
class Item:
    """What is rated, with what raters are not told."""

    claim_id: str
    article: str
    article_url: str
    section: tuple[str, ...]
    before: str
    claim: str
    existing: Source
    suggested: Source

    def as_dict(self, *, texts: bool = True) -> dict[str, Any]:
        """As JSON values; `texts`: with what stands around the passages."""
        values = asdict(self) | {"section": list(self.section)}
        for side in (values["existing"], values["suggested"]):
            side["quote"] = list(side["quote"]) if side["quote"] else None
            if not texts:
                side |= {"text": "", "start": 0}
        return values

    def compared(self, number: int) -> Compared:
        """As the report of a study counts it."""
        return Compared(number, self.existing.score, self.suggested.score, self.claim)


def item_of(values: object) -> Item:
    """The item that `Item.as_dict` made these values of.

    Raises:
        InputError: they are not such values; names the first that is wrong.
    """
    given = Values(values, "")
    return Item(
        claim_id=given.text("claim_id"),
        article=given.text("article"),
        article_url=given.text("article_url"),
        section=given.texts("section"),
        before=given.text("before"),
        claim=given.text("claim"),
        existing=_read(given.inner("existing")),
        suggested=_read(given.inner("suggested")),
    )


def items_of(report: Report, text_of: TextOf) -> list[Item]:
    """The claims of a report whose citation was checked and that have a suggestion.

    Args:
        report: of `verify`.
        text_of: where whole texts are.
    """
    found = []
    for finding in report.findings:
        evidence = [r.outcome for r in finding.citations if isinstance(r.outcome, Evidence)]
        if evidence and finding.suggestions:
            best = max(evidence, key=lambda each: each.score)
            found.append(_item(report, finding, best, text_of))
    return found


def sampled(items: Iterable[Item], how: Sample, n: int | None, seed: int) -> list[Item]:
    """At most `n` of them, all without; a claim that several reports have counts once.

    low-scores: those whose citation the verifier thinks more likely to fail than not (log-odds
    below 0, as SIDE's study with editors), the lowest first. random: any, by the seed.

    Raises:
        InputError: none is left.
    """
    once = list({item.claim_id: item for item in items}.values())
    if how == "low-scores":
        chosen = sorted(once, key=lambda item: (item.existing.score, item.claim_id))
        chosen = [item for item in chosen if item.existing.score < 0]
    else:
        chosen = random.Random(seed).sample(once, len(once))  # noqa: S311 - no secret
    if not chosen:
        why = "none of their citations scores below 0" if once else "there is no such claim"
        raise InputError(
            "A study needs claims whose citation was checked and that have a suggestion; "
            f"{why} in these reports. Verify with --corpus, or take --sample random."
        )
    return chosen[:n]


def _item(report: Report, finding: Finding, existing: Evidence, text_of: TextOf) -> Item:
    claim = finding.claim
    return Item(
        claim_id=claim.claim_id,
        article=whole(report.title),
        article_url=whole(report.url or ""),
        section=tuple(whole(name) for name in claim.section),
        before=whole(claim.before),
        claim=whole(claim.text),
        existing=_source(existing, text_of),
        suggested=_source(finding.suggestions[0].evidence, text_of),
    )


def _source(evidence: Evidence, text_of: TextOf) -> Source:
    passage, quote = evidence.passage, evidence.quote
    text, start = _around(text_of(passage.doc_id), passage.span, passage.text)
    return Source(
        url=whole(passage.url),
        title=whole(passage.title),
        score=evidence.score,
        passage=whole(passage.text),
        quote=(quote.start, quote.end) if quote else None,
        text=whole(text),
        start=start,
    )


def _around(text: str | None, span: Span, passage: str) -> tuple[str, int]:
    """The text around a passage, and where in it the passage begins; ("", 0) without one."""
    if text is None or span.of(text) != passage:
        return "", 0
    spare = max(0, TEXT_CHARS - len(passage))
    first = max(0, min(span.start - spare // 2, len(text) - TEXT_CHARS))
    return text[first : first + max(TEXT_CHARS, len(passage))], span.start - first


def _read(given: Values) -> Source:
    quote, passage = given.maybe("quote", given.span), given.text("passage")
    source = Source(
        url=given.text("url"),
        title=given.text("title"),
        score=given.number("score"),
        passage=passage,
        quote=(quote.start, quote.end) if quote else None,
        text=given.text("text"),
        start=given.whole("start"),
    )
    inside = Span(source.start, source.start + len(passage)).of(source.text) == passage
    if (source.text and not inside) or (quote and quote.end > len(passage)):
        raise InputError("a passage or a quote is not where its item says")
    return source


def texts_beside(jobs: JobStore, job_id: str) -> TextOf:
    """The texts of the documents that a job has kept."""

    def text_of(doc_id: str) -> str | None:
        return (jobs.file(job_id, doc_id) or {}).get("text")

    return text_of
