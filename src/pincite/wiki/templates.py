"""What Wikipedia's templates mean, and how they render as text.

`templates.toml` lists them by language; local templates and parameters are mapped to English
names. A rule that cannot compute a template's text returns None, and the template is unknown.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from pincite.text.figures import MONTHS

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
    values = [value.strip() for value in positional(given)]
    text, index = "", 0
    values = [_MIXED.sub(r"\1 \2", value) for value in values]
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
    parts = [part.strip() for part in parts if part.strip()]
    if len(parts) < 2 or not parts[1].isdecimal() or not 1 <= int(parts[1]) <= 12:
        return " ".join(parts[:1] if len(parts) > 1 and not parts[1] else reversed(parts))
    month = MONTHS[int(parts[1]) - 1]
    if len(parts) == 2:
        return f"{month} {parts[0]}"
    if given.get("df") or given.get("mf") == "no":
        return f"{parts[2]} {month} {parts[0]}"
    return f"{month} {parts[2]}, {parts[0]}"


RULES: Mapping[str, Callable[..., str | None]] = {
    rule.__name__: rule
    for rule in (
        *(convert, day, as_of, fraction, value, joined, percentage, rounded, ordinal),
        *(amount, rupees, years, ship, ship_class, answer),
    )
}
COMPUTED = {name: RULES[rule] for rule, names in TABLE["computed"].items() for name in names}
COMPUTED |= dict.fromkeys(_SHIPS, ship)


def computed(name: str, given: Parameters) -> str | None:
    """The text of the template `name` with these parameters; None if it is unknown."""
    rule = COMPUTED[name]
    return rule(given, name) if rule in (ship, answer) else rule(given)
