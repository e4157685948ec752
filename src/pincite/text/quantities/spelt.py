"""Numbers in words, and the words before a number that say how exactly it is meant."""

import re
from collections.abc import Sequence

_ONES = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
_ONES += " sixteen seventeen eighteen nineteen"
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_ORDINALS += " thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
_TENTHS = "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth"
VALUES = {word: n for n, word in enumerate(_ONES.split(), 1)}
HOURS = _ONES.split()[:12]
VALUES |= {word: 10 * n for n, word in enumerate(TENS.split(), 2)}
VALUES |= {"zero": 0, "dozen": 12, "hundred": 100, "thousand": 1000}
PLACES = {word: n for n, word in enumerate(_ORDINALS.split(), 1)}
PLACES |= {word: 10 * n for n, word in enumerate(_TENTHS.split(), 2)}
SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_ABOUT = "about around approximately roughly some circa c. ca. ca ~ estimated approx. approx"
_ALMOST = "nearly almost approaching"
_BELOW = "under below"
_ABOVE = (
    "over,above,exceeding,upwards of,more than,at least,no fewer than,no less than,in excess of"
)
_ABOVE += ",as many as,well over,just over,greater than"
_HEDGES = {
    **dict.fromkeys(_ABOUT.split(), (0.9, 1.1)),
    **dict.fromkeys(_ABOVE.split(","), (1.0, 1.25)),
    **dict.fromkeys([*_ALMOST.split(), "just under", "close to", "just short of"], (0.9, 1.0)),
    **dict.fromkeys(
        [*_BELOW.split(), "less than", "fewer than", "up to", "at most", "no more than"],
        (0.75, 1.0),
    ),
}


def any_of(words: Sequence[str]) -> str:
    """A pattern of any of these words, the longest first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


# A number in words. "Five thirty-second ads" are five and thirty, not 35: after a small number only
# "hundred" and its like go on with it.
_SCALE = "(?:hundred|thousand|dozen)"
_SMALL = rf"(?:(?:{TENS.replace(' ', '|')})(?:[ -](?:{'|'.join(_ONES.split()[:9])}))?\b"
_SMALL += rf"|zero|{any_of(_ONES.split())})"
_SCALED = rf"(?:{_SMALL}[ -])?{_SCALE}(?:[ -]{_SCALE})*"
WORDED = rf"(?:{_SCALED}(?:[ -](?:and\s)?{_SCALED})*(?:[ -](?:and\s)?{_SMALL})?|{_SMALL})"


def count(word: str) -> float:
    """A number in one word or in digits; 1 of an article."""
    return 1.0 if word.lower() in ("a", "an") else float(VALUES.get(word.lower(), 0) or word)


def spelt(words: str) -> float:
    """A number in words: "two thousand three hundred and five" → 2305.

    >>> spelt("twenty-five"), spelt("two hundred and six")
    (25.0, 206.0)
    """
    total, current = 0.0, 0.0
    for word in re.split(r"[ -]+", words.lower()):
        if word == "and":
            continue
        if word in ("hundred", "dozen"):
            current = max(1.0, current) * VALUES[word]
        elif word == "thousand":
            total, current = total + max(1.0, current) * 1000, 0.0
        else:
            current += VALUES[word]
    return total + current


_HEDGE = re.compile(rf"(?:^|[\s(])({any_of(list(_HEDGES))})\s?(?:a |an |the )?\Z", re.IGNORECASE)


def hedged(text: str, start: int, value: float, width: float) -> tuple[float, float]:
    """The interval of a value with the word before it: "about", "more than", "nearly"."""
    hedge = _HEDGE.search(text, max(0, start - 24), start)
    low, high = value - width, value + width
    if hedge is None:
        return low, high
    below, above = _HEDGES[hedge[1].lower()]
    least, most = sorted((value * below, value * above))
    return (least if below < 1 else value), (most if above > 1 else value)
