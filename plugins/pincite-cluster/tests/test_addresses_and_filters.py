"""Addresses of databases, and the filter expressions that it is sent; needs no server."""

import re
import sys
from collections import defaultdict

import pytest
from support.laws import _FILTERS, filtered
from support.rows import each_row

from pincite.corpus import engines
from pincite.errors import ConfigError, MissingExtra, install_command
from pincite.retrieval.filters import Facts, Filters
from pincite_cluster.filters import days_of, expression, facets_of, numbers_of


@each_row("cluster/addresses_and_filters/wrong_addresses_are_refused")
def test_wrong_addresses_are_refused(address: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as raised:
        engines.open(address, None)
    assert "secret" not in str(raised.value)


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=re.escape(install_command("postgres"))):
        engines.open("postgresql://localhost/facts/kb", None)


@pytest.mark.parametrize("filters", _FILTERS, ids=str)
def test_expression_lets_through_what_the_filter_accepts(filters: Filters) -> None:
    exact = not any(c.comparison in ("<", ">", ">=") for c in filters.where)
    for document in map(filtered, range(60)):
        facts = Facts.of(document)
        found = lets_through(filters, facts)
        assert found or not filters.accepts(facts), document
        if exact:
            assert found == filters.accepts(facts), document


def lets_through(filters: Filters, facts: Facts) -> bool:
    """Evaluate the expression as Python, once its SQL operators are replaced."""
    written = re.sub(
        r"d\.facets && ARRAY(\[[\d, ]+\])::bigint\[\]", r"has_any(\1)", expression(filters)
    )
    written = re.sub(r"\(d\.numbers->>'(\w+)'\)::float8", r'numbers["\1"]', written)
    assert not set(written) & set("'\\;")
    first, last = days_of(facts.published)
    numbers = defaultdict(lambda: float("nan"), numbers_of(facts))
    known = {"first_day": first, "last_day": last, "numbers": numbers}
    known["has_any"] = set(facets_of(facts)).intersection
    return bool(eval(written, known)) if written else True


def test_document_with_too_many_values_is_never_left_out() -> None:
    meta = {"subjects": "; ".join(f"s{n}" for n in range(5_000))}
    facts = Facts("https://a.example/", "", "html", None, None, meta)
    assert lets_through(Filters(kinds=("pdf",)), facts)
