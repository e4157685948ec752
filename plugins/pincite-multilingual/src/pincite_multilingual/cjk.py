"""What a number, a date or a measure in Japanese or Chinese means in English."""

import re

from pincite.text.figures import MONTHS
from pincite_multilingual.words import SCALES, VAGUE, Meaning, Words, mask_letters

_DIGITS = {sign: n for n, sign in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2}
_TENS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 1e4, "萬": 1e4, "億": 1e8, "亿": 1e8, "兆": 1e12, "万亿": 1e12, "萬億": 1e12}
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867}
_MINGUO = 1911  # the year before the first of any other era
_MYRIAD = 10_000
_TIMES = tuple("回次倍度")  # "twice" is no value
_MANY = {"十": "dozens", "百": "hundreds", "千": "thousands"}
_WHEN = {"春": "spring", "夏": "summer", "秋": "autumn", "初": "early", "前": "early", "半": "mid",
         "中": "mid", "後": "late", "后": "late", "末": "late"}  # fmt: skip
_SHARES = {3.0: "thirds", 4.0: "quarters", 5.0: "fifths", 10.0: "tenths", 100.0: "%"}


def meaning(match: re.Match[str], words: Words) -> Meaning | None:
    """Return the English of a match of `words.pattern`; None if it has none."""

    def n(group: str) -> int:
        value = _kanji(match[group]) or 0.0
        return int(value) if value < _MYRIAD else 0

    if match["kept"]:
        return Meaning(mask_letters(match[0]))
    if match["year"] or match["era"]:
        year = n("year") or _ERAS.get(match["era"], _MINGUO) + (n("nth") or 1)
        when = _WHEN[match["when"][0]] if match["when"] else ""
        date = f"{n('day') or ''} {MONTHS[n('month') % 13 - 1]}" if match["month"] else when
        plural = "s" if match["decade"] else ""
        return Meaning(f"{date} {year}{plural}".strip(), when in VAGUE)
    if match["tens"]:
        return Meaning(f"{1900 + n('tens')}s", not match["century20"])
    if match["month1"]:
        date = f"{n('day1') or ''} {MONTHS[n('month1') - 1]}"
        return Meaning(date.strip(), not match["day1"])
    if match["hour"]:
        is_late = match["half"] in ("午後", "下午", "晚上") and n("hour") < 12
        return Meaning(f"{n('hour') + (12 if is_late else 0)}:{n('minute'):02}")
    if match["whole"]:
        part, share = _kanji(match["part"]), _SHARES.get(_kanji(match["whole"]) or 0.0)
        return Meaning(f"{part:g} {share}") if part and share else None
    if match["among"]:
        return Meaning(f"{n('some')} in {n('among')}")
    if match["century"]:
        return Meaning(f"{n('century')}th century")
    if match["tenths"]:
        return Meaning(f"{10 * n('tenths')} %")
    if match["many"]:
        return Meaning(_MANY[match["many"]], is_unsure=True)
    return words.hedge_or_part(match) if match["words"] else _quantity(match, words)


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


def _quantity(match: re.Match[str], words: Words) -> Meaning | None:
    """A number with its hedge, scale and unit."""
    written, value = match["number"] or "", _kanji(match["number"])
    unit, counter = words.meaning(match["unit"]), match["counter"]
    has_company = unit or counter or match["ordinal"] or match["big"]
    if not value or not (has_company or len(written) > 1 or written.isdigit()):
        return None
    number, scale = written, ""
    if match["big"] or not re.fullmatch(r"[\d,.]+", written):
        value *= _MYRIADS.get(match["big"], 1.0)
        scale = next((m for m, n in reversed(SCALES.items()) if 1e6 <= n <= value), "")
        number = f"{value / SCALES.get(scale, 1.0):,.6f}".rstrip("0").rstrip(".")
    hedge = "over" if match["more"] else words.meaning(match["behind"])
    nth = "th" if match["ordinal"] else ""
    is_few = value == 1 or (value == 2 and (counter in _TIMES or match["ordinal"]))
    may_be_part = (match["unit"] or counter) in ("日", "分", "代")
    is_unsure = is_few or may_be_part or not (has_company or written[0].isdigit())
    return Meaning(" ".join(filter(None, (hedge, number + nth, scale, unit))), bool(is_unsure))
