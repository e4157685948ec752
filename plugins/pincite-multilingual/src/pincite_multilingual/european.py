"""What a number, a date or a measure in a European language means in English."""

import re

from pincite.text.figures import MONTHS, roman
from pincite_multilingual.words import Meaning, Words

_LONGEST = 30  # digits of a number: longer ones are codes


def meaning(match: re.Match[str], words: Words) -> Meaning | None:
    """Return the English of a match of `words.pattern`; None if it has none."""
    if tens := match["decade"] and match["tens"]:
        year = int(tens) if tens.isdigit() else int(_cardinal(tens, words))
        is_short = year < 100
        return Meaning(f"{year + 1900 if is_short else year}s", is_short)
    if written := match["century"] or match["roman"]:
        before_christ = " BC" if match["bc1"] or match["bc2"] else ""
        return Meaning(f"{_ordinal(written, words):.0f}th century{before_christ}")
    if match["month"]:
        month, is_dated = words.meaning(match["month"]), match["day"] or match["year"]
        date = f"{match['day'] or ''} {month} {match['year'] or ''}"
        return Meaning(date.strip(), not is_dated)
    if match["d"]:
        return Meaning(f"{match['d']} {MONTHS[int(match['m']) - 1]}")
    if match["hour"]:
        return Meaning(f"{match['hour']}:{match['minute'] or '00'}")
    if match["only"]:
        return Meaning(match["only"])
    return words.hedge_or_part(match) if match["words"] else _quantity(match, words)


def _cardinal(written: str, words: Words) -> float:
    total, current = 0.0, 0.0
    for part in words.number.findall(written.lower()):
        value = words.numbers[part]
        if value == 1000:
            total, current = total + max(1.0, current) * value, 0.0
        else:
            current = current * value if value == 100 and 0 < current < 10 else current + value
    return total + current


def _ordinal(written: str, words: Words) -> float:
    """The number of "XIX", "XIXe", "19." or "neunzehntes"."""
    if letters := re.fullmatch("([ivx]+)(?:e|ème)?", written, re.IGNORECASE):
        return roman(letters[1])
    if digits := re.match(r"\d+", written):
        return float(digits[0])
    stems = (stem for stem in words.ordinals if written.lower().startswith(stem))
    return words.ordinals[max(stems, key=len)]


def _quantity(match: re.Match[str], words: Words) -> Meaning | None:
    """A number with its scale and unit."""
    written, digits = match["number"] or match["ordinal"], match["digits"]
    if not written and not digits:
        return None
    unit, scale = words.meaning(match["unit"]), words.meaning(match["scale"] or match["later"])
    if digits:
        readings = _readings(digits, words.groups_by_point, bool(scale))
    else:
        n = _ordinal(written, words) if match["ordinal"] else _cardinal(written, words)
        readings = [f"{n:,.0f}"]
        if n == 1 and not (scale or unit):
            return None
    ending = "th" if match["nth"] or match["ordinal"] else ""
    english = (" ".join(filter(None, (number + ending, scale, unit))) for number in readings)
    is_alone = readings[0] in ("1", "100", "1,000") and not scale  # "un", "cent", "mil"
    is_twice = readings[0] == "2" and (match["tail"] or unit == "times")
    may_be_name = written and (written[0].isupper() or written.lower() in words.unsure)
    is_unsure = may_be_name or (written and is_alone) or is_twice or len(readings) > 1
    return Meaning(" / ".join(english), bool(is_unsure))


def _readings(digits: str, groups_by_point: bool, scaled: bool) -> list[str]:
    """A number as written in English; two if it may be read in two ways: "1,234"."""
    plain = re.sub(r"[\s’']", "", digits)
    head, *rest = re.split(r"[.,]", plain)
    marks = set(re.findall(r"[.,]", plain))
    grouped = all(len(part) == 3 for part in rest) and len(head) <= 3 and head != "0"
    if len(plain) > _LONGEST or (len(rest) > 1 and len(marks) == 1 and not grouped):
        return [digits]  # a code, a version or a date
    whole = re.sub(r"(?<=\d)(?=(?:\d{3})+\Z)", ",", "".join((head, *rest)))
    if not rest:
        return [whole if scaled or plain != digits else digits]
    decimal = f"{''.join((head, *rest[:-1]))}.{rest[-1]}"
    if len(rest) > 1 or not grouped:
        return [decimal if len(marks) == 2 or not grouped else whole]
    return [whole] if groups_by_point and marks == {"."} else [whole, decimal]
