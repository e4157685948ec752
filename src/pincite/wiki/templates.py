"""What Wikipedia's templates mean, how they render as text, and what references cite by them.

`templates.toml` lists them by language; local templates and parameters are mapped to English
names. A rule that cannot compute a template's text returns None, and the template is unknown.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from pincite.text import patterns
from pincite.text.figures import MONTHS
from pincite.text.identifiers import doi_in
from pincite.types import Citation, Span

TABLE: Mapping[str, Any] = tomllib.loads(
    Path(__file__).with_name("templates.toml").read_text(encoding="utf-8")
)
FILE, CATEGORY = (frozenset(TABLE["namespaces"][name]) for name in ("file", "category"))
_DIGITS = "0123456789"
_SUBSTITUTED = ("template:", "safesubst:", "subst:", "подст:")

Parameters: TypeAlias = Mapping[str, str]


# ── Languages ──────────────────────


@dataclass(frozen=True, slots=True)
class Edition:
    """The templates of one language; names are in lower case."""

    names: Mapping[str, str] = field(default_factory=dict)  # of templates: local → English
    parameters: Mapping[str, str] = field(default_factory=dict)  # local → English, without number
    shown: Mapping[str, str] = field(default_factory=dict)  # local template → visible text
    months: tuple[str, ...] = ()  # by number, as in a date
    spaced: bool = False  # whether a space is written before ; and :
    variants: bool = False  # whether -{zh-hans:…; zh-hant:…}- is one word in two scripts

    def parameter(self, template: str, name: str) -> str:
        """The English name of a parameter of the local `template`.

        >>> edition("de").parameter("literatur", "Titel"), edition("es").parameter("", "nombre2")
        ('title', 'first2')
        """
        if not self.parameters:
            return name
        lower = name.lower()
        base = lower.rstrip(_DIGITS)
        for key, number in ((lower, ""), (base, lower[len(base) :])):
            for known in (f"{template}:{key}", key):
                if known in self.parameters:
                    return self.parameters[known] + number
        return lower

    def written(self, kind: str, value: str) -> str:
        """A number as the edition shows it: the name of a "month", or with a "decimal" comma.

        >>> edition("fr").written("month", "5"), edition("fr").written("decimal", "4.5")
        ('mai', '4,5')
        """
        if kind == "decimal":
            return value.replace(".", ",") if _DECIMAL.fullmatch(value) else value
        months = dict(enumerate(self.months, 1))
        return months.get(int(value), value) if value.isdecimal() else value


ENGLISH = Edition()


@cache
def edition(language: str) -> Edition:
    """The edition in `language`; for unlisted languages, the English templates."""
    given = TABLE["languages"].get(language, {})
    names, parameters, shown = (
        {local: ours for ours, locals_ in given.get(key, {}).items() for local in locals_}
        for key in ("names", "parameters", "shown")
    )
    months = tuple(given.get("months", "").split())
    flags = {flag: given.get(flag, False) for flag in ("spaced", "variants")}
    return Edition(names, parameters, shown, months, **flags)


def template_name(raw: str) -> str:
    """A template's name as in the tables: " Template:Cite_web " is "cite web"."""
    name = " ".join(raw.replace("_", " ").split()).lower()
    for prefix in _SUBSTITUTED:
        name = name.removeprefix(prefix)
    return name.strip()


# ── Kinds of templates ──────────────────────

PATTERNS = {name: shown for shown, names in TABLE["shown"].items() for name in names}
TAGS = {
    alias: name
    for name, aliases in TABLE["tags"].items()
    for alias in (name, *aliases)
    if alias not in PATTERNS
} | {f"{name} span": name for name in TABLE["tags"]}  # a tag around a text

SHORT_CITATIONS, HARVARD, NOTES, REFERENCE_LISTS, QUOTES = (
    frozenset(TABLE["kinds"][kind])
    for kind in ("short_citations", "harvard", "notes", "reference_lists", "quotes")
)
ARCHIVES = frozenset({"wayback", "webarchive"})
# Each address with the template that makes it ("": any citation), and its parameters' syntax.
_ADDRESSES: list[tuple[str, str, list[tuple[list[str], re.Pattern[str]]]]] = [
    (address, row.pop("of", ""), [(k.split("/"), re.compile(v, re.ASCII)) for k, v in row.items()])
    for address, row in ((address, dict(row)) for address, row in TABLE["addresses"].items())
]
ADDRESSED = frozenset(of for _, of, _ in _ADDRESSES if of)
_CITATION = re.compile(r"(?:v?cite?\b|vancite\b|citation\b(?! needed| style| required)|harvc\b)")
_SILENT = frozenset(TABLE["nothing"]["names"])
_SILENT_PREFIXES, _SILENT_SUFFIXES = (
    tuple(TABLE["nothing"][kind]) for kind in ("prefixes", "suffixes")
)


def is_citation(name: str) -> bool:
    """Whether the template `name` is a full citation, such as {{cite web}} or {{citation}}."""
    return bool(_CITATION.match(name)) and name not in TAGS


def address_of(name: str, given: Parameters) -> str | None:
    """The address that the template `name` makes from its parameters; None if one does not fit.

    >>> address_of("cite journal", {"title": "Mills", "eprint": "2101.00001"})
    'https://arxiv.org/abs/2101.00001'
    """
    for address, of, syntax in _ADDRESSES:
        if name == of or (not of and is_citation(name)):
            values = [next(filter(None, map(given.get, keys)), "") for keys, _ in syntax]
            if all(p.fullmatch(value) for (_, p), value in zip(syntax, values, strict=True)):
                return address.format(*(quote(value.replace(" ", "_")) for value in values))
    return None


def is_silent(name: str) -> bool:
    """Whether dropping the template loses no text: a picture, a sound, a box."""
    return name in _SILENT or name.startswith(_SILENT_PREFIXES) or name.endswith(_SILENT_SUFFIXES)


# ── Computed text ──────────────────────

_SHIPS = {prefix.lower(): prefix for prefix in TABLE["ships"]["prefixes"]}
_BETWEEN, _UNITS, _RUPEES = (TABLE["convert"][k] for k in ("between", "units", "rupees"))
_COMPOUND = frozenset({"ft", "foot", "feet", "lb", "st", "mi", "yd"})  # 5 ft 6 in is one measure
_SMALLER = (["in"], ["inch"], ["oz"], ["lb"], ["ft"], ["yd"], ["chain"])
_MIXED = re.compile(r"(\d)\+(\d+/\d)")  # 6+1/2
_NUMBER = re.compile(r"[-+−]?[.\d]")
_DECIMAL = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_PLACES = 10  # decimals at most


def positional(given: Parameters) -> list[str]:
    values: list[str] = []
    while (key := str(len(values) + 1)) in given:
        values.append(given[key])
    return values


def convert(given: Parameters) -> str:
    """{{convert|5|km|mi}} becomes "5 km": the value as written, without the conversion."""
    values = [_MIXED.sub(r"\1 \2", value.strip()) for value in positional(given)]
    text, index = "", 0
    while index < len(values) and _NUMBER.match(values[index]):
        text += values[index]
        following = values[index + 1] if index + 1 < len(values) else ""
        index += 2
        if following.lower() in _BETWEEN:
            text += _BETWEEN[following.lower()]
            continue
        text += f" {_UNITS.get(following.lower(), following)} "
        if following not in _COMPOUND or values[index + 1 : index + 2] not in _SMALLER:
            break
    return " ".join(text.split())


def day(given: Parameters) -> str:
    """{{start date|1990|1|2}} becomes "January 2, 1990", with `df=y` "2 January 1990"."""
    return _date(positional(given)[:3], given)


def as_of(given: Parameters) -> str:
    """{{as of|2009|4}} becomes "As of April 2009"."""
    if given.get("alt"):
        return given["alt"]
    start = "since" if given.get("since") else "as of"
    start = start if given.get("lc") else start.capitalize()
    return f"{start} {_date(positional(given)[:3], {'df': 'y'})}"


def fraction(given: Parameters) -> str:
    """{{frac|1|2}} becomes "1/2", {{frac|3|1|2}} "3 1/2", {{frac|4}} "1/4"."""
    values = positional(given)
    if len(values) >= 3:
        return f"{values[0]} {values[1]}/{values[2]}"
    return f"{values[0]}/{values[1]}" if len(values) == 2 else "1/" + "".join(values)


def value(given: Parameters) -> str:
    """{{val|11|e=6|ul=km}} becomes "11×10^6 km", {{val|5|2}} "5 ± 2"."""
    values = positional(given)
    text = values[0] if values else ""
    if len(values) > 2:
        text += f" (+{values[1].lstrip('+')}/−{values[2].lstrip('-−')})"
    elif len(values) > 1:
        text += f" ± {values[1]}"
    if given.get("e"):
        text = f"({text})×10^{given['e']}" if len(values) > 1 else f"{text}×10^{given['e']}"
    unit = given.get("u") or given.get("ul") or ""
    if per := given.get("up") or given.get("upl"):
        unit += f"/{per}"
    return f"{given.get('p', '')}{text}{given.get('s', '')} {unit}".strip()


def joined(given: Parameters) -> str:
    """{{gaps|384|400|u=km}} becomes "384400 km"."""
    text = given.get("lhs", "") + "".join(positional(given))
    text += f"×10^{given['e']}" if given.get("e") else ""
    return f"{text} {given.get('u') or given.get('ul') or ''}".strip()


def percentage(given: Parameters) -> str | None:
    """{{percentage|45|120|1}} becomes "37.5%"; the default whole is 100."""
    part, whole, places = (*_numbers(given), 0.0, 0.0, 0.0)[:3]
    if not _numbers(given) or not 0 <= places <= _PLACES:
        return None
    text = f"{100 * part / whole if whole else part:.{int(places)}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + "%"


def rounded(given: Parameters) -> str | None:
    """{{rnd|3.14159|2}} becomes "3.14"."""
    number, places = (*_numbers(given), 0.0, 0.0)[:2]
    return f"{number:.{int(places)}f}" if _numbers(given) and 0 <= places <= _PLACES else None


def _numbers(given: Parameters) -> list[float]:
    """The positional parameters as numbers; empty unless all are."""
    texts = [text.strip().replace(",", "").replace("−", "-") for text in positional(given)]
    return [float(text) for text in texts] if all(map(_DECIMAL.fullmatch, texts)) else []


def ordinal(given: Parameters) -> str | None:
    """{{ordinal|21}} becomes "21st"."""
    number = next(iter(positional(given)), "").strip()
    if not number.isdecimal():
        return None
    teens = number[-2:-1] == "1"
    return number + ("th" if teens else {"1": "st", "2": "nd", "3": "rd"}.get(number[-1], "th"))


def amount(given: Parameters) -> str | None:
    """{{currency|500|GBP}} becomes "£500"."""
    number, code = (*positional(given), given.get("amount", ""), "")[:2]
    code = (code or given.get("code") or given.get("type") or "USD").strip().upper()
    return f"{TABLE['currencies'].get(code, code + ' ')}{number}" if number else None


def rupees(given: Parameters) -> str | None:
    """{{INRConvert|50|c}} becomes "₹50 crore"."""
    number, unit = (*positional(given), "", "")[:2]
    return f"₹{number} {_RUPEES.get(unit.strip(), '')}".rstrip() if number else None


def years(given: Parameters) -> str | None:
    """{{age|1801|5|2|1870|3|1}} becomes "68"; None without an end date."""
    values = [value.strip() for value in positional(given)][:6]
    if len(values) < 6 or not all(value.isdecimal() and len(value) < 5 for value in values):
        return None
    year, month, day_, year2, month2, day2 = map(int, values)
    return str(year2 - year - ((month2, day2) < (month, day_)))


def ship(given: Parameters, name: str = "") -> str | None:
    """{{HMS|Hood|51}} becomes "HMS Hood (51)", {{ship|HMS|Hood}} "HMS Hood".

    The format's bits select prefix, name and number: {{HMS|Hood|51|2}} becomes "Hood". Any format
    but 7 drops the prefix, which sources rarely repeat.
    """
    values = [value.strip() for value in positional(given)]
    if name in ("ship", "warship"):
        prefix, values = (values or [""])[0], values[1:]
    else:
        prefix = _SHIPS[name]
    called, number, form = (*values, "", "", "")[:3]
    shown = int(form) if form in tuple("1234567") else 7
    if shown == 1 or not called:
        return number or None
    text = called + (f" ({number})" if number and shown & 1 else "")
    return f"{prefix} {text}".strip() if shown == 7 else text


def ship_class(given: Parameters) -> str | None:
    """{{sclass|Kidd|destroyer}} becomes "Kidd-class destroyer", with format 4 "Kidd class"."""
    called, kind, form = (value.strip() for value in (*positional(given), "", "", "")[:3])
    if not called or form == "5":
        return called or None
    if form == "4":
        return f"{called} class"
    return f"{called}-class {'' if form == '0' else kind}".strip()


def answer(given: Parameters, name: str = "") -> str:
    """{{yes}} becomes "Yes", {{yes|since 1990}} "since 1990"."""
    return next(iter(positional(given)), "").strip() or name.capitalize()


def _date(parts: Sequence[str], given: Parameters) -> str:
    year, month, day = [*(part.strip() for part in parts), "", "", ""][:3]
    if not month:
        return year
    if month.isdecimal() and 1 <= int(month) <= 12:
        month = MONTHS[int(month) - 1]
        if day and not (given.get("df") or given.get("mf") == "no"):
            return f"{month} {day}, {year}" if year else f"{month} {day}"
    return " ".join(filter(None, (day, month, year)))


RULES: Mapping[str, Callable[..., str | None]] = {
    rule.__name__: rule
    for rule in (
        *(convert, day, as_of, fraction, value, joined, percentage, rounded, ordinal),
        *(amount, rupees, years, ship, ship_class, answer),
    )
}
COMPUTED = {name: RULES[rule] for rule, names in TABLE["computed"].items() for name in names}
COMPUTED |= dict.fromkeys(_SHIPS, ship)


def computed_text(name: str, given: Parameters) -> str | None:
    """The text of the template `name` with these parameters; None if it is unknown."""
    rule = COMPUTED[name]
    return rule(given, name) if rule in (ship, answer) else rule(given)


# ── References: named, list-defined, and short citations ──────────────────────

WAYBACK = "https://web.archive.org/web/"  # followed by the time of a copy and the address
MAX_PEOPLE = 30  # numbered authors per citation
MAX_DIGITS = 4  # of an author's number
# Values of the old |deadurl= as |url-status=: yes and no, in the ten languages.
_DEAD = dict.fromkeys("yes y true 1 404 ja j oui si sí sì sim tak да".split(), "dead")
_DEAD |= dict.fromkeys("no n false 0 nein non não nao nee nie нет".split(), "live")
_YEAR = re.compile(r"\b(\d{4}[a-z]?)\b")
_ORIGINAL = ("orig-date", "orig-year", "origdate", "origyear")  # of a reprint: "2002 [1962]"
_HAN_OR_KANA = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_WEB = patterns(__file__, "templates")["web"]


@dataclass(frozen=True, slots=True)
class Source:
    """One work named in a reference: a citation template, an address, or free text."""

    span: Span  # of the reference's content, or of the template for a short citation's work
    text: str = ""
    template: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)  # template parameters in plain text
    tags: tuple[str, ...] = ()
    short_key: str | None = None  # of a short citation: the key of its work


@dataclass(slots=True)
class Use:
    """One use of a reference; `sources` is empty if the reference is defined elsewhere."""

    span: Span
    name: str | None = None
    group: str | None = None
    sources: tuple[Source, ...] = ()
    pages: str | None = None  # from {{rp}}, or the details of a sub-reference
    tags: tuple[str, ...] = ()  # inline tags directly after this use
    citation_id: str = ""  # empty: its place among the uses, "r12"


@dataclass(slots=True)
class Definitions:
    """All named references and works defined in an article."""

    named: dict[tuple[str, str], tuple[Source, ...]] = field(default_factory=dict)  # group, name
    works: dict[str, Source] = field(default_factory=dict)  # full citations by short key

    def define(self, group: str | None, name: str, sources: tuple[Source, ...]) -> None:
        """Register a named reference; the first definition with content wins, as in MediaWiki."""
        if sources:
            self.named.setdefault((group or "", name), sources)

    def find(self, use: Use) -> tuple[Source, ...]:
        """The sources of `use`; searches other groups for the name as a last resort."""
        if use.sources or use.name is None:
            return use.sources
        if sources := self.named.get((use.group or "", use.name)):
            return sources
        return next((s for (_, name), s in self.named.items() if name == use.name), ())


def short_key(names: Iterable[str], year: str) -> str:
    """The key shared by {{sfn|Ito|Rao|2001}} and its full citation: "ito rao 2001"."""
    return " ".join(re.sub(r"[\W_]+", " ", " ".join([*list(names)[:4], year])).lower().split())


def work_keys(fields: Mapping[str, str]) -> list[str]:
    """The short keys of a full citation; `ref=` adds one."""
    names, stated = last_names(fields), map(fields.get, ("year", "date", "publication-date"))
    # With the letter that distinguishes works of one year.
    year = next((match[1] for date in stated if (match := _YEAR.search(date or ""))), "")
    keys = [short_key(names, year)] if names else []
    if names and fields.get("ref"):  # {{odn|Nowak|2001}} for |autor=Jan Nowak |odn=tak
        keys.append(short_key([name.split()[-1] for name in names], year))
    if fields.get("ref"):  # {{sfn|Лугин|1988}} for |ref=Лугин |год=1988
        ref = fields["ref"].removeprefix("CITEREF")
        keys += [short_key([ref], ""), short_key([ref], year)]
    return keys + [key.replace(" ", "") for key in keys]


def resolve(
    uses: Sequence[Use], definitions: Definitions
) -> tuple[list[list[Citation]], list[str]]:
    """Return the citations of each use in order, at least one each, and unresolved names."""
    resolved: list[list[Citation]] = []
    missing: list[str] = []
    for number, use in enumerate(uses, 1):
        sources = definitions.find(use)
        if not sources and use.name:
            missing.append(f"reference {use.name!r} is used but not defined")
        elif not sources:
            missing.append(f"the reference at character {use.span.start} is empty")
        citations: list[Citation] = []
        for part, source in enumerate(sources or (Source(use.span),), 1):
            citation_id = use.citation_id or f"r{number}"
            citation_id += f".{part}" if part > 1 else ""
            citations.append(_citation(use, citation_id, _work(source, definitions, missing)))
        resolved.append(citations)
    return resolved, missing


def _work(source: Source, definitions: Definitions, missing: list[str]) -> Source:
    if source.short_key is None:
        return source
    key, works = source.short_key, definitions.works
    work = works.get(key) or works.get(key.replace(" ", ""))
    if work is None:
        missing.append(f"no full citation was found for the short citation {source.text!r}")
        return source
    pages = {key: source.fields[key] for key in ("p", "pp", "loc") if source.fields.get(key)}
    fields = {k: v for k, v in work.fields.items() if k not in ("page", "pages", "at")} | pages
    text, tags = f"{source.text}: {work.text}", source.tags + work.tags
    return replace(work, text=text, template=source.template, fields=fields, tags=tags)


def _citation(use: Use, citation_id: str, source: Source) -> Citation:
    known = known_fields(source.fields)
    if use.pages:
        known["pages"] = use.pages
    return Citation(
        citation_id,
        use.span,
        source.span,
        name=use.name,
        group=use.group,
        template=source.template,
        text=source.text,
        tags=tuple(dict.fromkeys((*source.tags, *use.tags))),
        **known,
    )


# ── Parameters of citation templates ──────────────────────


def known_fields(given: Mapping[str, str]) -> dict[str, Any]:
    """Map plain-text parameters to fields of `types.Citation`; the first alias wins.

    >>> known_fields({"archiveurl": "http://a.org/1", "last": "Ito", "first": "Mei"})
    {'archive_url': 'http://a.org/1', 'authors': ('Mei Ito',)}
    """
    known: dict[str, Any] = {}
    for ours, aliases in TABLE["fields"].items():
        value = next((given[alias] for alias in aliases if given.get(alias)), "")
        if ours.endswith("url"):
            value = address_in(value) or ""
        if value:
            known[ours] = value
    if "date" in known and (original := next(filter(None, map(given.get, _ORIGINAL)), "")):
        known["date"] += f" [{original}]"
    if "url_status" in known:
        known["url_status"] = _DEAD.get(known["url_status"].lower(), known["url_status"].lower())
    url = known.get("url", "")
    if doi := doi_in(known.get("doi") or (url if "doi.org/" in url.lower() else "")):
        known["doi"] = doi
    if authors := tuple(_authors(given)):
        known["authors"] = authors
    return known


def address_in(text: str) -> str | None:
    """The address at the beginning of a text, with a scheme; None if there is none.

    >>> address_in("//a.example/x"), address_in("www.a.example see"), address_in("p. 5")
    ('https://a.example/x', 'http://www.a.example', None)
    """
    match = _WEB.match(text.strip())
    if match is None:
        return None
    scheme = {"//": "https://", "": "http://"}.get(match["scheme"], match["scheme"])
    return scheme + match["rest"]


def translate(given: Mapping[str, str]) -> dict[str, str]:
    """Rename parameters to English, and split or join those that English templates do not have.

    >>> translate({"people": "Karl Mott, Eva Lind", "day": "3", "month": "Mai", "year": "1911"})
    {'day': '3', 'month': 'Mai', 'year': '1911', 'author1': 'Karl Mott', 'author2': 'Eva Lind', \
'date': '3 Mai 1911'}
    """
    fields = dict(given)
    people = fields.pop("people", "")
    names = re.split(r"\s*;\s*" if ";" in people else r"\s*,\s+", people)
    if len(names) == 2 and ";" not in people and " " not in min(names, key=len):
        names = [people]  # "Mott, Karl" is one
    fields |= {f"author{n}": name for n, name in enumerate(names, 1) if name}
    if (stamp := fields.pop("archive-stamp", "")) and fields.get("url"):
        fields["archive-url"] = f"{WAYBACK}{stamp}/{fields['url']}"
    if fields.get("month") and not fields.get("date"):
        fields["date"] = " ".join(filter(None, map(fields.get, ("day", "month", "year"))))
    if fields.pop("dead-since", ""):
        fields["dead-url"] = "yes"
    return fields


def last_names(given: Mapping[str, str]) -> tuple[str, ...]:
    """Last names of the authors, else of the editors, as used in short citations."""
    for prefix in ("", "editor"):
        people = (_person(given, prefix, number) for number in _author_numbers(given))
        if names := tuple(dict.fromkeys(person[0] for person in people if person)):
            return names
    return ()


def _author_numbers(given: Mapping[str, str]) -> list[str]:
    numerals = {digits for key in given if (digits := "".join(filter(str.isdecimal, key)))}
    numbers = sorted(int(digits) for digits in numerals if len(digits) < MAX_DIGITS)
    return ["", *map(str, numbers[:MAX_PEOPLE])]


def _authors(given: Mapping[str, str]) -> Iterable[str]:
    if given.get("vauthors"):
        yield from (name.strip() for name in given["vauthors"].split(",") if name.strip())
    seen = set()
    for number in _author_numbers(given):
        last, first = _person(given, "", number) or ("", "")
        east_asian = _HAN_OR_KANA.match(last) and _HAN_OR_KANA.match(first)
        name = last + first if east_asian else f"{first} {last}".strip()
        if name and name not in seen:
            seen.add(name)
            yield name
    if not seen and given.get("authors"):
        yield given["authors"]


def _person(given: Mapping[str, str], role: str, number: str) -> tuple[str, str] | None:
    """Last and first name of one person; `author=Ito, Mei` is split at its comma."""
    prefix, whole = f"{role}-" if role else "", role or "author"

    def filled(*keys: str) -> str:
        return next((given[key] for key in keys if given.get(key)), "")

    if last := filled(f"{prefix}last{number}", f"{role}{number}-last", f"{prefix}surname{number}"):
        first = (f"{prefix}first{number}", f"{role}{number}-first", f"{prefix}given{number}")
        return last, filled(*first)
    name = filled(f"{whole}{number}", f"{whole}-name{number}")
    last, comma, first_name = name.partition(",")
    if comma and "," not in first_name:
        return last.strip(), first_name.strip()
    return (name, "") if name else None
