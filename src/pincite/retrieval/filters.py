"""Which documents a search may return: by date, site, language, kind and metadata.

A filter depends only on a document's own fields and applies before ranking, so excluded documents
never use up the k. Dates may be partial on both sides: "2019" is the whole year, and a document
that states only a year passes if some day of that year would.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias, get_args

from pincite.errors import ConfigError
from pincite.text.hosts import host_of, is_below
from pincite.types import Document

Comparison: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in"]
_DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")
SEPARATOR = "; "  # between several values of one metadata field
_VALUE = re.compile(r"""\s*("[^"]*"|'[^']*'|[^,]*)\s*,""")
_QUOTED = re.compile(r"""(["'])([^"']*)\1""")
# A field's name may contain what JSON keys can, except comparison signs and blanks.
_CONDITION = re.compile(
    r"\s*([^\s=!<>]+)\s*(==|!=|<=|>=|<|>|\bnot in\b|\bin\b)\s*(.*?)\s*", re.DOTALL
)


class Facts(NamedTuple):
    """The fields of a `Document` that filters use."""

    url: str
    title: str
    kind: str
    published: str | None
    language: str | None
    meta: Mapping[str, str]

    @classmethod
    def of(cls, document: Document) -> "Facts":
        return cls(*(getattr(document, name) for name in cls._fields))


@dataclass(frozen=True)
class Condition:
    """Compares a field of `Facts` or of its metadata with values, as numbers if both sides are.

    A document without the field fails, except for `!=` and `not in`. Of several values in one
    metadata field ("; "), `==` and `in` need one of them, or the whole text, to be equal; `!=` and
    `not in` none. The others compare the whole text.
    """

    field: str
    comparison: Comparison
    values: tuple[str, ...]

    @cached_property
    def _texts(self) -> frozenset[str]:
        return frozenset(self.values)  # for fast lookup among, say, 10,000 ids

    @cached_property
    def _numbers(self) -> frozenset[float | None]:
        return frozenset(map(number_of, self.values)) - {None}

    def __str__(self) -> str:
        return f"{self.field} {self.comparison} {', '.join(self.values)}"

    def holds(self, facts: Facts) -> bool:
        fact = _field(facts, self.field)
        if fact is None:
            return self.comparison in ("!=", "not in")
        if self.comparison in ("==", "in", "!=", "not in"):
            return self._is_among(fact) == (self.comparison in ("==", "in"))
        return any(_compare(fact, value) in _MEETS[self.comparison] for value in self.values)

    def _is_among(self, fact: str) -> bool:
        numbers = self._numbers
        return any(
            part in self._texts or (bool(numbers) and number_of(part) in numbers)
            for part in forms_of(self.field, fact)
        )


# The results of `_compare` for which a comparison holds.
_MEETS = {"<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}


def condition(text: str) -> Condition:
    """Parse a condition: `section == news`, `year >= 2015`, `kind in html, pdf`.

    A value may be quoted, and must be if it contains a comma and is one of several. Raises
    ConfigError for any other text.

    >>> condition("site not in a.example, b.example").values
    ('a.example', 'b.example')
    """
    match = _CONDITION.fullmatch(text)
    if not match or not match[3]:
        raise ConfigError(
            f"where is {text!r}; expected FIELD COMPARISON VALUE, with a comparison of "
            f"{', '.join(get_args(Comparison))}: 'section == news', 'kind in html, pdf'."
        )
    several = match[2] in ("in", "not in")
    values = tuple(map(_unquote, _VALUE.findall(f"{match[3]},") if several else [match[3]]))
    comparison: Comparison = match[2]  # type: ignore[assignment]
    return Condition(match[1], comparison, values)


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters that must all hold; an empty one accepts everything.

    If a date is given, documents without a date are excluded unless `undated`.
    """

    published_from: str = ""  # inclusive; an ISO date or its beginning
    published_to: str = ""
    undated: bool = False
    domains: tuple[str, ...] = ()  # only these hosts and their subdomains
    not_domains: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()  # ISO 639-1
    kinds: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()

    def __post_init__(self) -> None:
        for name, option in (("published_from", "--from-date"), ("published_to", "--to-date")):
            date = getattr(self, name)
            if date and not _DATE.fullmatch(date):
                expected = "a date like 2019-05-14, 2019-05 or 2019"
                raise ConfigError(f"{name} ({option}) is {date!r}; expected {expected}.")
        # The end sorts after all days of a partial date.
        end = self.published_to + "-99-99"[len(self.published_to) - 4 :]
        if self.published_to and self.published_from > end:
            raise ConfigError(
                f"published_from is {self.published_from}, after published_to, which is "
                f"{self.published_to}; there are no dates in between."
            )
        for name in ("domains", "not_domains"):
            object.__setattr__(self, name, tuple(map(_host, getattr(self, name))))
        for name in ("languages", "kinds"):
            object.__setattr__(self, name, tuple(v.lower() for v in getattr(self, name)))

    def __bool__(self) -> bool:
        return any(getattr(self, f.name) for f in fields(self) if f.name != "undated")

    def __str__(self) -> str:
        """Describe the filters; empty if there are none.

        >>> str(Filters(published_from="2015", where=(condition("mesh in Humans, Mice"),)))
        'from 2015; mesh in Humans, Mice'
        """
        stated = {
            "from": self.published_from,
            "to": self.published_to,
            "site": ", ".join(self.domains),
            "not site": ", ".join(self.not_domains),
            "in": ", ".join(self.languages),
            "kind": ", ".join(self.kinds),
        }
        parts = (f"{name} {value}" for name, value in stated.items() if value)
        return "; ".join((*parts, *map(str, self.where)))

    @property
    def leaves_out_undated(self) -> bool:
        return bool(self.published_from or self.published_to) and not self.undated

    def accepts(self, facts: Facts) -> bool:
        """Whether a document may be returned.

        >>> page = Facts("https://news.example.org/a", "A", "html", "2019", "en", {})
        >>> Filters(published_from="2019-05", domains=("example.org",)).accepts(page)
        True
        >>> Filters(published_to="2018").accepts(page)
        False
        """
        language = (facts.language or "").split("-")[0].lower()
        return (
            (not self.kinds or facts.kind.lower() in self.kinds)
            and (not self.languages or language in self.languages)
            and self._in_time(facts.published)
            and (not self.domains or is_below(facts.url, self.domains))
            and not is_below(facts.url, self.not_domains)
            and all(condition.holds(facts) for condition in self.where)
        )

    @staticmethod
    def date_in(published: str | None) -> str:
        """Return the date at the start of the text: 2019-05-14, 2019-05, 2019 or ""."""
        match = _DATE.match(published or "")
        return match[0] if match else ""

    def _in_time(self, published: str | None) -> bool:
        if not (self.published_from or self.published_to):
            return True
        date, first, last = self.date_in(published), self.published_from, self.published_to
        if not date:
            return self.undated
        return date[: len(first)] >= first[: len(date)] and (
            not last or date[: len(last)] <= last[: len(date)]
        )


_SINGLE = ("url", "title", "kind", "published", "language")


def _field(facts: Facts, name: str) -> str | None:
    if name in _SINGLE:
        value: str | None = getattr(facts, name)
        return value
    if name == "date" and name not in facts.meta:  # the name used in manifests
        return facts.published
    return facts.meta.get(name)


def fields_of(facts: Facts) -> Iterator[tuple[str, str]]:
    for name in dict.fromkeys((*_SINGLE, "date", *facts.meta)):
        if (value := _field(facts, name)) is not None:
            yield name, value


def forms_of(field: str, value: str) -> list[str]:
    """Return the texts that `==` compares with: the whole, and each of several values."""
    several = SEPARATOR in value and field not in _SINGLE
    return [value, *(value.split(SEPARATOR) if several else ())]


def number_of(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _unquote(value: str) -> str:
    match = _QUOTED.fullmatch(value.strip())
    return match[2] if match else value.strip()


def _compare(fact: str, value: str) -> int:
    a, b = number_of(fact), number_of(value)
    if a is None or b is None:
        return (fact > value) - (fact < value)
    return (a > b) - (a < b)


def _host(domain: str) -> str:
    return host_of(domain) if "://" in domain else domain.lower().strip().strip(".")
