"""A report that `check --json` wrote, read again: for exports and for pages of an earlier check.

As in `ask_read`: each value is looked at before it is believed, and what is derived (`complete`,
`level`, `summary`, …) is not read but follows anew.
"""

from dataclasses import fields
from typing import Any, cast

from pincite.checks import (
    Check,
    CheckReport,
    Failed,
    FailedStep,
    Judged,
    Outcome,
    Reading,
    ReadingOrigin,
    ReadingResult,
    StatementType,
    Usage,
    Weighed,
    Weight,
)
from pincite.errors import InputError
from pincite.report.json_values import Values
from pincite.types import Passage, Span
from pincite.verbs.check.data import SCHEMA_VERSION


def from_dict(values: object) -> CheckReport:
    """The report that `check_data.as_dict` made these values of, but for rounding.

    Raises:
        InputError: they are not such values; the message names the first that is wrong.
    """
    given = Values(values, "")
    version = given.any("schema_version")
    if version != SCHEMA_VERSION:
        raise InputError(
            f"schema_version is {version!r}, this Pincite reads {SCHEMA_VERSION!r}. Check again."
        )
    return CheckReport(
        checks=given.each("checks", _check),
        n_statements=given.whole("n_statements"),
        usage=_usage(given.inner("usage")),
        warnings=given.texts("warnings"),
        settings=given.settings("settings"),  # type: ignore[arg-type]  # no lists
        versions=given.pairs("versions"),
        created=given.text("created"),
    )


def _usage(given: Values) -> Usage:
    names = [field.name for field in fields(Usage)]
    counts: dict[str, Any] = {
        name: given.number(name) if name in ("cost", "seconds") else given.whole(name)
        for name in names
    }
    return Usage(**counts)


def _check(given: Values) -> Check:
    return Check(
        statement=given.text("statement"),
        results=given.each("readings", _result),
        interpreted_by=given.text("interpreted_by"),
        failures=given.each("failures", _failed),
    )


def _failed(given: Values) -> Failed:
    return Failed(cast(FailedStep, given.text("step")), given.text("detail"))


def _result(given: Values) -> ReadingResult:
    reading = Reading(
        reading_id=given.text("reading_id"),
        text=given.text("text"),
        kind=given.one_of("kind", StatementType),
        negation=given.text("negation"),
        origin=cast(ReadingOrigin, given.text("origin")),
    )
    items = given.each("evidence", _item)
    years = given.each("as_of", lambda then: (then.text("year"), _weight(then, len(items))))
    return ReadingResult(reading, items, _weight(given, len(items)), years)


def _weight(given: Values, n_items: int) -> Weight:
    places = given.any("contradictions")
    if not isinstance(places, list) or not all(
        isinstance(place, int) and 0 <= place < n_items for place in places
    ):
        raise InputError(f"contradictions is {places!r}; expected places in the evidence")
    return Weight(
        outcome=given.one_of("outcome", Outcome),
        doc=given.maybe("doc", given.number),
        n_texts=given.whole("n_texts"),
        variance=given.maybe("variance", given.number),
        interval=given.maybe("interval", lambda name: _pair(given.any(name))),
        n_silent=given.whole("n_silent"),
        n_failed=given.whole("n_failed"),
        contradictions=tuple(places),
    )


def _pair(values: object) -> tuple[float, float]:
    if (
        not isinstance(values, list)
        or len(values) != 2
        or not all(isinstance(value, int | float) for value in values)
    ):
        raise InputError(f"interval is {values!r}; expected two numbers")
    return float(values[0]), float(values[1])


def _item(given: Values) -> Weighed:
    span = given.span("span")
    passage = Passage(
        doc_id=given.text("doc_id"),
        url=given.text("url"),
        title=given.text("title"),
        text=given.text("passage"),
        span=span,
    )
    failed = given.maybe("failed", given.inner)
    return Weighed(
        passage=passage,
        outcome=_failed(failed) if failed else _judged(given, span.start, len(passage.text)),
        text_id=given.whole("text_id"),
        published=given.maybe("published", given.text),
        meta=given.pairs("meta"),
        copies=given.texts("copies"),
    )


def _judged(given: Values, start: int, length: int) -> Judged:
    quote = given.maybe("quote_span", given.span)
    if quote and not start <= quote.start <= quote.end <= start + length:
        raise InputError(f"a quote_span does not lie in its passage: {list(quote)}")
    return Judged(
        prob_reading=given.number("prob_reading"),
        prob_negation=given.number("prob_negation"),
        quote=Span(quote.start - start, quote.end - start) if quote else None,
        reasons=given.texts("reasons"),
        analysis=given.text("analysis"),
    )
