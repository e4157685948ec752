"""A report that `verify --json` wrote, read again: for the pages of an earlier run.

What the JSON leaves out is left out here too: of the evidence for a clause all but its probability
and quote. `data.as_dict` of what is read gives the same JSON again, but for rounding.
"""

import math
from collections.abc import Callable
from typing import TypeVar, cast, get_args

from pincite.errors import InputError
from pincite.report.json_values import Values
from pincite.types import (
    Bar,
    Changed,
    Citation,
    CitationResult,
    Claim,
    Copy,
    CopyKind,
    Evidence,
    Exclusion,
    Finding,
    Funnel,
    Label,
    Listing,
    Part,
    PartKind,
    Passage,
    Place,
    Reason,
    Reliability,
    Report,
    Span,
    Suggestion,
    Unchecked,
)
from pincite.verbs.verify import funnel_words
from pincite.verbs.verify.data import SCHEMA_VERSION

T = TypeVar("T")


def from_dict(values: object) -> Report:
    """The report that `data.as_dict` made these values of.

    Raises:
        InputError: they are not such values; the message names the first that is wrong.
    """
    given = Values(values, "")
    version = given.any("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(
            f"schema_version is {version!r}, this Pincite reads {SCHEMA_VERSION!r}. Verify again."
        )
    article, counts = given.inner("article"), given.inner("counts")
    return Report(
        title=article.text("title"),
        language=article.text("language"),
        revision_id=article.maybe("revision_id", article.text),
        findings=given.each("findings", lambda each: _finding(each, article.text("title"))),
        n_claims=counts.whole("claims"),
        n_references=counts.whole("references"),
        warnings=given.texts("warnings"),
        settings=given.settings("settings"),  # type: ignore[arg-type]  # no setting is a list here
        versions=given.pairs("versions"),
        created=given.text("created"),
        funnel=_funnel(given.any("funnel")),
        flag_precision=given.each("flag_precision", _precision),
        url=article.maybe("url", article.text),
    )


def _funnel(values: object) -> Funnel:
    try:
        return funnel_words.from_dict(values)  # type: ignore[arg-type]  # what it is not is told below
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"funnel is none that a report has: {error!r}") from error


def _precision(given: Values) -> tuple[float, float]:
    return given.number("base_rate"), given.number("precision")


def _finding(given: Values, title: str) -> Finding:
    together = given.maybe("together", given.inner)
    results = given.each("citations", _result)
    claim = Claim(
        given.text("claim_id"),
        given.text("claim"),
        title,
        given.texts("section"),
        given.text("before"),
        given.maybe("span", given.span),
        tuple(result.citation for result in results),
        given.texts("tags"),
        sentence=given.text("sentence") if given.holds("sentence") else "",
        part=given.maybe("part", given.span) if given.holds("part") else None,
    )
    return Finding(
        claim,
        results,
        _evidence(together) if together else None,
        given.one_of("label", Label),
        given.maybe("score", given.number),
        given.each("suggestions", _suggestion),
        given.whole("n_candidates"),
        given.each("missing", _part),
        given.each("excluded", _exclusion),
    )


def _result(given: Values) -> CitationResult:
    span, url = given.span("span"), given.maybe("url", given.text)
    citation = Citation(
        given.text("citation_id"),
        span,
        span,
        template=given.maybe("template", given.text),
        url=url,
        title=given.maybe("title", given.text),
        authors=given.texts("authors"),
        publisher=given.maybe("publisher", given.text),
        pages=given.maybe("pages", given.text),
        doi=given.maybe("doi", given.text),
        pmid=given.maybe("pmid", given.text),
        isbn=given.maybe("isbn", given.text),
        archive_url=given.maybe("archive_url", given.text),
        url_status=given.maybe("url_status", given.text),
        tags=given.texts("tags"),
    )
    unchecked = given.maybe("unchecked", given.inner)
    listing = given.maybe("reliability", given.inner)
    return CitationResult(
        citation,
        _unchecked(unchecked, url) if unchecked else _evidence(given.inner("evidence")),
        given.one_of("label", Label),
        given.each("clauses", _part),
        given.each("missing", _part),
        _listing(listing) if listing else None,
        copy=_inner(given, "copy", _copy),
        not_live=_inner(given, "not_live", lambda why: _unchecked(why, url)),
        changed=_inner(given, "changed", _changed),
        place=_inner(given, "place", _place),
    )


def _inner(given: Values, name: str, read: Callable[[Values], T]) -> T | None:
    found = given.maybe(name, given.inner)
    return read(found) if found else None


def _copy(given: Values) -> Copy:
    date = given.maybe("date", given.text)
    return Copy(given.one_of("kind", CopyKind), given.text("url"), date)


def _changed(given: Values) -> Changed:
    evidence = _evidence(given.inner("evidence"))
    return Changed(_copy(given.inner("copy")), evidence, given.one_of("label", Label))


def _place(given: Values) -> Place:
    return Place(
        given.maybe("page", given.text),
        given.flag("printed"),
        given.maybe("cited", given.text),
        given.flag("elsewhere"),
    )


def _unchecked(given: Values, url: str | None) -> Unchecked:
    return Unchecked(url or "", given.one_of("reason", Reason), given.text("detail"))


def _part(given: Values) -> Part:
    probability = given.maybe("prob_supported", given.number)
    evidence = None
    if probability is not None:
        refuted, quote = given.number("prob_refuted"), given.maybe("quote", given.text) or ""
        whole = Span(0, len(quote))
        evidence = Evidence(
            Passage("", given.maybe("url", given.text) or "", "", quote, whole),
            probability,
            refuted,
            max(0.0, 1 - probability - refuted),
            _log_odds(probability),
            whole if quote else None,
        )
    kind = given.text("kind")
    if kind not in get_args(PartKind):
        raise InputError(f"{kind!r} is no kind of a claim's part")
    return Part(
        cast(PartKind, kind),
        given.span("span"),
        given.text("text"),
        given.flag("supported"),
        evidence,
    )


def _log_odds(probability: float) -> float:
    """Finite for the probabilities 0 and 1, to which a JSON's four digits may round.

    >>> round(_log_odds(0.5), 3), round(_log_odds(0.0), 3)
    (0.0, -9.903)
    """
    inside = min(max(probability, 0.00005), 0.99995)
    return math.log(inside / (1 - inside))


def _suggestion(given: Values) -> Suggestion:
    listing = given.maybe("reliability", given.inner)
    return Suggestion(
        _evidence(given.inner("evidence")),
        given.maybe("published", given.text),
        given.number("gain"),
        _listing(listing) if listing else None,
        place=_inner(given, "place", _place),
    )


def _listing(given: Values) -> Listing:
    return Listing(
        given.one_of("label", Reliability),
        given.text("name"),
        given.text("place"),
        given.text("scope"),
        given.maybe("link", given.text),
        given.texts("others"),
    )


def _exclusion(given: Values) -> Exclusion:
    bar = given.one_of("reason", Bar)
    return Exclusion(given.text("url"), given.text("title"), bar, given.text("detail"))


def _evidence(given: Values) -> Evidence:
    span, quote = given.span("span"), given.maybe("quote_span", given.span)
    if quote and quote.start < span.start:
        raise InputError(f"a quote_span begins before its passage: {list(quote)} in {list(span)}")
    return Evidence(
        Passage(
            given.text("doc_id"),
            given.text("url"),
            given.text("title"),
            given.text("passage"),
            span,
        ),
        given.number("prob_supported"),
        given.number("prob_refuted"),
        given.number("prob_neutral"),
        given.number("score"),
        Span(quote.start - span.start, quote.end - span.start) if quote else None,
        given.texts("reasons"),
    )
