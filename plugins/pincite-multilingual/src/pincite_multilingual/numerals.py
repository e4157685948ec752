"""Renders numbers, dates and measures of ten languages in English, which `quantities` reads.

"3,5 Millionen", "12 мая 2019 года" and "约三百万人" become "3.5 million", "12 May 2019" and "about
3 million". All other words are blanked, so that none is taken for an English one. Words that may
mean something else are unsure: in a source they may state a value, in a claim they are none.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from pincite.text.figures import MONTHS, Rendering, fold, roman
from pincite.types import Span

_CJK = frozenset({"ja", "zh"})
LANGUAGES = frozenset("de fr es it pt nl pl ru".split()) | _CJK


@lru_cache(maxsize=4096)  # a claim meets hundreds of passages, a passage many claims
def in_english(text: str, language: str) -> Rendering:
    """Render a text in one of `LANGUAGES`; empty for any other language.

    >>> in_english("Im März 2019 waren es 3,5 Millionen.", "de").text
    'qq March 2019 qqqqq qq 3.5 million.'
    """
    if language not in LANGUAGES:
        return Rendering("", (), ())
    words, read = _words(language), _cjk if language in _CJK else _european
    rendered, starts, pieces = "", list[int](), list[tuple[Span, bool]]()
    for match in words.pattern.finditer(fold(text)):
        meaning = read(match, words)
        english, unsure = meaning or (_LETTER.sub("q", match[0]), False)
        if language in _CJK and meaning:  # no spaces separate words there
            english = f" {english} " if rendered[-1:] != " " else f"{english} "
        starts.append(len(rendered))
        pieces.append((Span(*match.span()), unsure))
        rendered += english
    return Rendering(rendered, starts, pieces)


# ── Words ──────────────────────

_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SIGNS = {"€": "euros", "$": "dollars", "£": "sterling", "％": "%"}
_SYMBOLS = {s.lower(): s for s in "% km m cm mm km² m² ha t kg g mg l kW MW GW kWh km/h °C".split()}
_KINDS = ("units", "scales", "months", "words", "behind")
_NUMBERS = ("one", "small", "tens", "hundreds")
_LETTER = re.compile(r"[^\W\d_⁰¹²³⁴-⁹]")
_PARTS = frozenset({"third", "quarter", "fifth", "tenth"})
_VAGUE = frozenset("early mid late end hundred dozens hundreds thousands".split()) | {"end of"}
_LONGEST = 30  # digits of a number: longer ones are codes


class _Words(NamedTuple):
    """A language's words in lower case, and its patterns."""

    numbers: Mapping[str, float]
    ordinals: Mapping[str, float]
    english: Mapping[str, str]  # of all others
    patterns: Sequence[tuple[re.Pattern[str], str]]  # of those with a "*"
    unsure: frozenset[str]
    groups_by_point: bool  # "1.234" is a whole number
    pattern: re.Pattern[str]
    number: re.Pattern[str]  # a part of a cardinal


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("numerals.toml").read_text("utf-8"))


@cache
def _words(language: str) -> _Words:
    table, patterns = _tables()[language], _tables()["patterns"]
    kinds = {key: _meanings(table.get(key, "")) for key in _KINDS}
    kinds["units"] |= _SIGNS
    numbers = [_numbers(table.get(key, "")) for key in _NUMBERS]
    numbers.append({form: 1e3 for form, name in kinds["scales"].items() if name == "thousand"})
    known = {form: n for listed in numbers for form, n in listed.items()}
    ordinals, endings = _numbers(table.get("ordinals", "")), table.get("endings", "")
    pattern = patterns["cjk" if language in _CJK else "european"].format_map(
        dict.fromkeys(("year", "tails", "bc", "counters"), "(?!)")
        | dict(table)
        | {kind: _any(forms) for kind, forms in kinds.items()}
        | {
            "symbols": _any(_SYMBOLS.values()),
            "n": patterns["number"],
            "century": _any(_meant(kinds["units"], "centuries")),
            "of": rf"(?:{_any(_meant(kinds['words'], 'of'))}\s?)?",
            "to": rf"(?:\s{_any(_meant(kinds['words'], 'to', 'and'))}\s|\s?[–—-]\s?)",
            "ordinals": rf"{_any(ordinals)}(?:{endings})",
            "numbers": _number_words(numbers, table),
            "no_number": rf"(?!{_any(kinds['months'].keys() & known)}(?!\w))",  # French: sept
            "decade": table.get("decade", "(?!)").replace(
                "{tens}", rf"(?P<tens>(?:1\d|20)?\d0|{_any(numbers[2])})"
            ),
        }
    )
    english = _SYMBOLS | {form: name for forms in kinds.values() for form, name in forms.items()}
    return _Words(
        known,
        ordinals,
        english,
        [(re.compile(_any([form])), name) for form, name in english.items() if "*" in form],
        frozenset(table.get("unsure", "").split()),
        language in ("de", "es", "it", "nl", "pt"),
        re.compile(pattern, re.IGNORECASE | re.VERBOSE | re.DOTALL),
        re.compile(_any(known), re.IGNORECASE),
    )


def _number_words(numbers: Sequence[Iterable[str]], table: Mapping[str, str]) -> str:
    """A pattern of numbers in words: "zweiundzwanzig", "treinta y dos mil"."""
    one, small, ten, hundred, thousand = map(_any, numbers)
    joined = rf"[\s-]?(?:(?:{table.get('joins', '(?!)')})[\s-]?)?"
    below_100 = rf"(?:{ten}(?:{joined}(?:{small}|{one}))?|{small}|{one})"
    if "tails" in table:  # German and Dutch: "zwei-und-zwanzig"
        below_100 = rf"(?:(?:(?:{small}|{one}){joined})?{ten}|{small}|{one})"
    below_1000 = rf"(?:(?:(?:{small}|{one})[\s-]?)?{hundred}(?:{joined}{below_100})?|{below_100})"
    return rf"(?:(?:{below_1000}[\s-]?)?{thousand}(?:{joined}{below_1000})?|{below_1000})"


def _meanings(words: str) -> dict[str, str]:
    """Words with their meaning: "about: rund etwa; over: mehr_als"."""
    lines = (line.split(":") for line in words.split(";") if line)
    return {
        form.replace("_", " "): " ".join(english.split())
        for english, forms in lines
        for form in forms.lower().split()
    }


def _numbers(words: str) -> dict[str, float]:
    return {form: float(n) for form, n in _meanings(words).items()}


def _meant(meanings: Mapping[str, str], *wanted: str) -> list[str]:
    return [form for form, english in meanings.items() if english in wanted]


_ANY_OF = {" ": r"\s", "*": r"\w{0,3}", "’": "['’]"}


def _any(forms: Iterable[str]) -> str:
    """A pattern of any of these forms: a trie, since the lists are long."""
    tree: dict[str, Any] = {}
    for form in forms:
        node = tree
        for sign in form:
            node = node.setdefault(sign, {})
        node[""] = {}
    return _branches(tree) or "(?!)"


def _branches(node: dict[str, Any]) -> str:
    signs = sorted(filter(None, node), key="*".__ne__)  # "metr*_cub*" before "metri"
    found = [(_ANY_OF.get(sign) or re.escape(sign)) + _branches(node[sign]) for sign in signs]
    return f"(?:{'|'.join(found)})" + "?" * ("" in node) if found else ""


def _meaning(words: _Words, written: str | None) -> str:
    form = " ".join((written or "").lower().replace("'", "’").split())
    if not form or form in words.english:
        return words.english.get(form, "")
    known = (name for pattern, name in words.patterns if pattern.fullmatch(form))
    return next(known, "")


# ── European languages ──────────────────────


def _european(match: re.Match[str], words: _Words) -> tuple[str, bool] | None:
    """What a match means in English, and whether that is unsure; None: nothing."""
    if tens := match["decade"] and match["tens"]:
        year = int(tens) if tens.isdigit() else int(_cardinal(tens, words))
        return f"{year + 1900 * (year < 100)}s", year < 100
    if written := match["century"] or match["roman"]:
        before_christ = " BC" if match["bc1"] or match["bc2"] else ""
        return f"{_ordinal(written, words):.0f}th century{before_christ}", False
    if match["month"]:
        month, dated = _meaning(words, match["month"]), match["day"] or match["year"]
        return f"{match['day'] or ''} {month} {match['year'] or ''}".strip(), not dated
    if match["d"]:
        return f"{match['d']} {MONTHS[int(match['m']) - 1]}", False
    if match["hour"]:
        return f"{match['hour']}:{match['minute'] or '00'}", False
    if match["only"]:
        return match["only"], False
    return _word(match, words) if match["words"] else _quantity(match, words)


def _cardinal(written: str, words: _Words) -> float:
    total, current = 0.0, 0.0
    for part in words.number.findall(written.lower()):
        value = words.numbers[part]
        if value == 1000:
            total, current = total + max(1.0, current) * value, 0.0
        else:
            current = current * value if value == 100 and 0 < current < 10 else current + value
    return total + current


def _ordinal(written: str, words: _Words) -> float:
    """The number of "XIX", "XIXe", "19." or "neunzehntes"."""
    if letters := re.fullmatch("([ivx]+)(?:e|ème)?", written, re.IGNORECASE):
        return roman(letters[1])
    if digits := re.match(r"\d+", written):
        return float(digits[0])
    stems = (stem for stem in words.ordinals if written.lower().startswith(stem))
    return words.ordinals[max(stems, key=len)]


def _word(match: re.Match[str], words: _Words) -> tuple[str, bool]:
    english = _meaning(words, match["words"])
    if english in _PARTS:
        before = match.string[: match.start()].lower().split()[-1:]
        counted = before and (before[0].isdigit() or words.numbers.get(before[0], 0) > 1)
        english = f"{english}s" if counted else f"a {english}"
    return english, english in _VAGUE or match["words"].lower() in words.unsure


def _quantity(match: re.Match[str], words: _Words) -> tuple[str, bool] | None:
    """A number with its scale and unit."""
    written, digits = match["number"] or match["ordinal"], match["digits"]
    if not written and not digits:
        return None
    unit, scale = _meaning(words, match["unit"]), _meaning(words, match["scale"] or match["later"])
    if digits:
        readings = _readings(digits, words.groups_by_point, bool(scale))
    else:
        n = _ordinal(written, words) if match["ordinal"] else _cardinal(written, words)
        readings = [f"{n:,.0f}"]
        if n == 1 and not (scale or unit):
            return None
    ending = "th" if match["nth"] or match["ordinal"] else ""
    english = (" ".join(part for part in (one + ending, scale, unit) if part) for one in readings)
    alone = readings[0] in ("1", "100", "1,000") and not scale  # "un", "cent", "mil"
    twice = readings[0] == "2" and (match["tail"] or unit == "times")
    odd = written and (alone or written[0].isupper() or written.lower() in words.unsure)
    return " / ".join(english), bool(odd or twice or len(readings) > 1)


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


# ── Japanese and Chinese ──────────────────────

_DIGITS = {sign: n for n, sign in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2}
_TENS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 1e4, "萬": 1e4, "億": 1e8, "亿": 1e8, "兆": 1e12, "万亿": 1e12, "萬億": 1e12}
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867}  # and Minguo, 1911
_TIMES = tuple("回次倍度")  # "twice" is no value
_MANY = {"十": "dozens", "百": "hundreds", "千": "thousands"}
_WHEN = {"春": "spring", "夏": "summer", "秋": "autumn", "初": "early", "前": "early", "半": "mid",
         "中": "mid", "後": "late", "后": "late", "末": "late"}  # fmt: skip
_SHARES = {3.0: "thirds", 4.0: "quarters", 5.0: "fifths", 10.0: "tenths", 100.0: "%"}


def _kanji(written: str | None) -> float | None:
    """A number in signs, digits or both; None if it is none: "二三"."""
    if re.fullmatch(f"[{''.join(_DIGITS)}]{{3,}}", written or ""):
        return float("".join(str(_DIGITS[sign]) for sign in written or ""))
    total, section, digit = 0.0, 0.0, None
    for piece in re.findall(r"\d[\d,]*(?:\.\d+)?|万亿|萬億|.", written or ""):
        if piece in _TENS:
            section, digit = section + _TENS[piece] * (1 if digit is None else digit), None
        elif piece in _MYRIADS:
            total += (section + (digit or 0.0) or 1.0) * _MYRIADS[piece]
            section, digit = 0.0, None
        elif digit is not None or not (piece in _DIGITS or piece[0].isdigit()):
            return None
        elif piece not in "〇零":
            digit = float(_DIGITS.get(piece) or piece.replace(",", ""))
    return total + section + (digit or 0.0)


def _cjk(match: re.Match[str], words: _Words) -> tuple[str, bool] | None:
    """What a match means in English, and whether that is unsure; None: nothing."""

    def n(group: str) -> int:
        value = _kanji(match[group]) or 0.0
        return int(value) if value < 10_000 else 0

    if match["kept"]:
        return _LETTER.sub("q", match[0]), False
    if match["year"] or match["era"]:
        year = n("year") or _ERAS.get(match["era"], 1911) + (n("nth") or 1)
        when = _WHEN[match["when"][0]] if match["when"] else ""
        date = f"{n('day') or ''} {MONTHS[n('month') % 13 - 1]}" if match["month"] else when
        return f"{date} {year}{'s' * bool(match['decade'])}".strip(), when in _VAGUE
    if match["tens"]:
        return f"{1900 + n('tens')}s", not match["century20"]
    if match["month1"]:
        return f"{n('day1') or ''} {MONTHS[n('month1') - 1]}".strip(), not match["day1"]
    if match["hour"]:
        late = 12 * (match["half"] in ("午後", "下午", "晚上") and n("hour") < 12)
        return f"{n('hour') + late}:{n('minute'):02}", False
    if match["whole"]:
        part, share = _kanji(match["part"]), _SHARES.get(_kanji(match["whole"]) or 0.0)
        return (f"{part:g} {share}", False) if part and share else None
    if match["among"]:
        return f"{n('some')} in {n('among')}", False
    if match["century"]:
        return f"{n('century')}th century", False
    if match["tenths"]:
        return f"{10 * n('tenths')} %", False
    if match["many"]:
        return _MANY[match["many"]], True
    return _cjk_quantity(match, words)


def _cjk_quantity(match: re.Match[str], words: _Words) -> tuple[str, bool] | None:
    if match["words"]:
        return _word(match, words)
    written, value = match["number"] or "", _kanji(match["number"])
    unit, counter = _meaning(words, match["unit"]), match["counter"]
    beside = unit or counter or match["ordinal"] or match["big"]
    if not value or not (beside or len(written) > 1 or written.isdigit()):
        return None
    shown, name, signs = written, "", bool(match["big"] or not re.fullmatch(r"[\d,.]+", written))
    if signs:
        value *= _MYRIADS.get(match["big"], 1.0)
        name = next((m for m, n in reversed(_SCALES.items()) if 1e6 <= n <= value), "")
        shown = f"{value / _SCALES.get(name, 1.0):,.6f}".rstrip("0").rstrip(".")
    hedge = "over" if match["more"] else _meaning(words, match["behind"])
    parts = (hedge, shown + "th" * bool(match["ordinal"]), name, unit)
    few = value == 1 or (value == 2 and (counter in _TIMES or match["ordinal"]))
    odd = (match["unit"] or counter) in ("日", "分", "代") or not (beside or written[0].isdigit())
    return " ".join(part for part in parts if part), bool(few or odd)
