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
from pincite.types import Document
from pincite_cluster.filters import expression, facets_of
from pincite_cluster.milvus import rows
from pincite_cluster.milvus.client import place_of


@each_row("cluster/addresses_and_filters/wrong_addresses_are_refused")
def test_wrong_addresses_are_refused(address: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as raised:
        engines.open(address, None)
    assert "secret" not in str(raised.value).replace("token=secret", "")


def test_tls_and_database() -> None:
    found = place_of("milvuss://db.example:443/team/kb?consistency=bounded")
    assert found[:4] == ("https://db.example:443", "team", "kb", "Bounded")
    assert place_of("milvuss://db.example/kb").uri == "https://db.example:19530"


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with pytest.raises(MissingExtra, match=re.escape(install_command("milvus"))):
        engines.open("milvus://localhost/kb", None)


@pytest.mark.parametrize("filters", _FILTERS, ids=str)
def test_expression_lets_through_what_the_filter_accepts(filters: Filters) -> None:
    written = expression(filters, rows.DIALECT)
    exact = not any(c.comparison in ("<", ">", ">=") for c in filters.where)
    assert not set(written) & set("'\\;")
    for document in map(filtered, range(60)):
        (row,) = [*rows.passage_rows(document, _cut(document), None)][:1]
        named = {name: row[name] for name in ("facets", "first_day", "last_day")}
        named["numbers"] = defaultdict(lambda: float("nan"), row["numbers"])
        let_through = eval(written, _FUNCTIONS, named)  # our own expression is Python's too
        facts = Facts(*_named(document), document.meta)
        assert let_through or not filters.accepts(facts), document
        if exact:
            assert let_through == filters.accepts(facts), document


_FUNCTIONS = {
    "array_contains": lambda values, value: value in values,
    "array_contains_any": lambda values, some: bool(set(values) & set(some)),
}


def _named(document: Document) -> tuple[str, str, str, str | None, str | None]:
    return document.url, document.title, document.kind, document.published, document.language


def _cut(document: Document):  # type: ignore[no-untyped-def]
    from pincite.text.passages import passages

    return passages(document)


def test_document_with_too_many_values_is_never_left_out() -> None:
    meta = {"subjects": "; ".join(f"s{n}" for n in range(5_000))}
    facets = facets_of(Facts("https://a.example/", "", "html", None, None, meta))
    names = {"facets": facets, "first_day": -1, "last_day": -1}
    assert eval(expression(Filters(kinds=("html",)), rows.DIALECT), _FUNCTIONS, names)
