"""Templates whose text is worked out: measures, dates, numbers. Parameters in, text out."""

import re
from collections.abc import Callable, Mapping, Sequence

from pincite.text.figures import MONTHS

_BETWEEN = {
    "to": " to ", "and": " and ", "or": " or ", "by": " by ", "x": " × ", "×": " × ", "-": "–",
    "–": "–", "+/-": " ± ", "±": " ± ", "to(-)": " to ", "+": " + ", ",": ", ", "xx": " × ",
    "(-)": "–", "to about": " to about ", "and(-)": " and ", "*": " × ",
}  # fmt: skip
_UNITS = {
    "sqmi": "sq mi", "sqkm": "km2", "sqm": "m2", "sqft": "sq ft", "sqyd": "sq yd", "c": "°C",
    "f": "°F", "acre": "acres", "mile": "miles", "cumi": "cu mi", "cuft": "cu ft", "cuyd": "cu yd",
    "foot": "feet", "inch": "inches", "mph": "mph", "metre": "metres", "meter": "metres",
    "kilometre": "kilometres", "kilometer": "kilometres", "usgal": "US gal", "impgal": "imp gal",
    "m3/s": "m3/s", "cuft/s": "cu ft/s", "pound": "pounds", "longton": "long tons", "k": "K",
    "shortton": "short tons", "nmi": "nautical miles", "/km2": "/km2", "/sqmi": "/sq mi",
    "pd/sqkm": "/km2", "pd/sqmi": "/sq mi", "pd/km2": "/km2", "e6acre": "million acres",
    "e6ha": "million hectares", "e6usgal": "million US gal", "oilbbl": "barrels", "lbft": "lb⋅ft",
}  # fmt: skip
_COMPOUND = frozenset({"ft", "foot", "feet", "lb", "st", "mi", "yd"})  # 5 ft 6 in is one measure
_SMALLER = (["in"], ["inch"], ["oz"], ["lb"], ["ft"], ["yd"], ["chain"])
_NUMBER = re.compile(r"[-+−]?[.\d]")

Parameters = Mapping[str, str]


def convert(given: Parameters) -> str:
    """{{convert|5|km|mi}} reads "5 km": the value as written, without what was computed."""
    values = [value.strip() for value in positional(given)]
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
    """{{start date|1990|1|2}} reads "January 2, 1990", with `df=y` "2 January 1990"."""
    return _date(positional(given)[:3], given)


def as_of(given: Parameters) -> str:
    """{{as of|2009|4}} reads "As of April 2009"."""
    if given.get("alt"):
        return given["alt"]
    start = "as of" if given.get("lc") else "As of"
    start = f"{'since' if given.get('lc') else 'Since'}" if given.get("since") else start
    return f"{start} {_date(positional(given)[:3], {'df': 'y'})}"


def fraction(given: Parameters) -> str:
    """{{frac|1|2}} reads "1/2", {{frac|3|1|2}} "3 1/2", {{frac|4}} "1/4"."""
    values = positional(given)
    if len(values) >= 3:
        return f"{values[0]} {values[1]}/{values[2]}"
    return f"{values[0]}/{values[1]}" if len(values) == 2 else "1/" + "".join(values)


def value(given: Parameters) -> str:
    """{{val|11|e=6|ul=km}} reads "11×10^6 km"."""
    values = positional(given)
    text = values[0] if values else ""
    if len(values) > 1:
        text += f" ± {values[1]}"
    if given.get("e"):
        text += f"×10^{given['e']}"
    unit = given.get("u") or given.get("ul") or ""
    return f"{given.get('p', '')}{text}{given.get('s', '')} {unit}".strip()


def height(given: Parameters) -> str:
    """{{height|m=1.8}} reads "1.8 m", {{height|ft=5|in=11}} "5 ft 11 in"."""
    return " ".join(f"{given[u]} {u}" for u in ("m", "cm", "ft", "in") if given.get(u))


COMPUTED: Mapping[str, Callable[[Parameters], str]] = {
    **dict.fromkeys(("convert", "cvt", "conv", "convert/2", "unit convert"), convert),
    **dict.fromkeys(("start date", "end date", "birth date", "death date", "film date"), day),
    **dict.fromkeys(("start date and age", "birth date and age", "release date", "dts"), day),
    **dict.fromkeys(("bda", "dob", "birth-date", "death-date", "date", "birth year and age"), day),
    **dict.fromkeys(("death date and age", "dda", "end date and age", "start and end date"), day),
    **dict.fromkeys(("as of", "asof", "as at"), as_of),
    **dict.fromkeys(("frac", "fraction", "sfrac"), fraction),
    **dict.fromkeys(("val",), value),
    **dict.fromkeys(("height",), height),
}


def positional(given: Parameters) -> Sequence[str]:
    """The parameters "1", "2", …, up to the first that is not given."""
    values: list[str] = []
    while (key := str(len(values) + 1)) in given:
        values.append(given[key])
    return values


def _date(parts: Sequence[str], given: Parameters) -> str:
    """Year, month, day as prose; what is not a number stays as it is."""
    parts = [part.strip() for part in parts if part.strip()]
    if len(parts) < 2 or not parts[1].isdecimal() or not 1 <= int(parts[1]) <= 12:
        return " ".join(parts[:1] if len(parts) > 1 and not parts[1] else reversed(parts))
    month = MONTHS[int(parts[1]) - 1]
    if len(parts) == 2:
        return f"{month} {parts[0]}"
    if given.get("df") or given.get("mf") == "no":
        return f"{parts[2]} {month} {parts[0]}"
    return f"{month} {parts[2]}, {parts[0]}"
