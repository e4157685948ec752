"""What filters ask, as facts of a document in a database and as expressions over them.

Values are hashed into whole numbers (*facets*): no text of a user or a page ever stands in an
expression. An expression lets through all that a filter accepts, and for comparisons of texts
(`<`, `>`) some more; the filter itself then decides about what was found.
"""

import math
from collections.abc import Sequence, Set
from hashlib import blake2b, sha256

from pincite.corpus.store import raw
from pincite.retrieval.filters import Condition, Facts, Filters, fields_of, forms_of, number_of
from pincite.text.hosts import host_of

MAX_FACETS = 4_096  # kept of a document; corpora of format postgres-2 have no more
_TOO_MANY = 1  # the one facet of a document that has too many: no expression leaves it out


def facets_of(facts: Facts) -> list[int]:
    """All that a filter may ask for by equality, as numbers, each once."""
    labels = host_of(facts.url).split(".")
    facets = [_facet("host", ".".join(labels[i:])) for i in range(len(labels))]
    facets.append(_facet("kind", facts.kind.lower()))
    facets.append(_facet("language", (facts.language or "").split("-")[0].lower()))
    for field, value in fields_of(facts):
        facets += [_facet("has", field), *([_facet("text", field)] * (_finite(value) is None))]
        facets += [_facet("value", field, _form(form)) for form in forms_of(field, value)]
    distinct = list(dict.fromkeys(facets))
    return distinct if len(distinct) <= MAX_FACETS else [_TOO_MANY]


def days_of(published: str | None) -> tuple[int, int]:
    """The first and the last day that a date may mean, as 20190514; -1 where it is not known.

    >>> days_of("2019-05")
    (20190500, 20190599)
    """
    date = Filters.date_in(published)
    if not date:
        return -1, -1
    digits = date.replace("-", "")
    return int(digits.ljust(8, "0")), int(digits.ljust(8, "9"))


def expression(filters: Filters) -> str:
    """What the database is to leave out before it ranks; empty where nothing is asked."""

    def one_of(facet: str, values: Sequence[str]) -> str:
        return _any_of({_facet(facet, value) for value in values}) if values else ""

    asked = [
        one_of("kind", filters.kinds),
        one_of("language", filters.languages),
        one_of("host", filters.domains),
        f"not ({one_of('host', filters.not_domains)})" if filters.not_domains else "",
        _in_time(filters),
        *map(_condition, filters.where),
    ]
    if not any(asked):
        return ""
    all_of = " and ".join(f"({one})" for one in asked if one)
    return f"({all_of}) or {_any_of({_TOO_MANY})}"


def _in_time(filters: Filters) -> str:
    bounds = []
    if filters.published_from:
        bounds.append(f"last_day >= {days_of(filters.published_from)[0]}")
    if filters.published_to:
        bounds.append(f"(first_day >= 0 and first_day <= {days_of(filters.published_to)[1]})")
    joined = " and ".join(bounds)
    return f"({joined}) or first_day < 0" if bounds and filters.undated else joined


def _any_of(facets: Set[int]) -> str:
    return f"d.facets && ARRAY{sorted(facets)}::bigint[]"


def _condition(asked: Condition) -> str:
    """All documents that meet a condition, and perhaps more."""
    values = {_facet("value", asked.field, _form(value)) for value in asked.values}
    if asked.comparison in ("==", "in"):
        return _any_of(values)
    if asked.comparison in ("!=", "not in"):
        return f"not ({_any_of(values)})"
    numbers = [_finite(value) for value in asked.values]
    if any(number is None for number in numbers):
        return _any_of({_facet("has", asked.field)})
    path = f"(d.numbers->>'{_number_key(asked.field)}')::float8"
    compared = [f"{path} {asked.comparison} {number!r}" for number in numbers]
    return " or ".join([*compared, _any_of({_facet("text", asked.field)})])


def numbers_of(facts: Facts) -> dict[str, float]:
    known = {_number_key(field): _finite(value) for field, value in fields_of(facts)}
    return {key: number for key, number in known.items() if number is not None}


def _number_key(field: str) -> str:
    return f"n{sha256(raw(field)).hexdigest()[:16]}"


def _form(value: str) -> str:
    """One writing of each number, so that 2 is 2.0; texts as they are."""
    number = number_of(value)
    return f"={value}" if number is None or math.isnan(number) else f"#{number + 0.0!r}"


def _finite(value: str) -> float | None:
    number = number_of(value)
    return number if number is not None and math.isfinite(number) else None


def _facet(*parts: str) -> int:
    """63 bits of a hash: no sign, and never the number that stands for too many."""
    digest = blake2b(raw("\0".join(parts)), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 1) | 2
