"""Writing systems: cuts a text in any of them into terms, for search and for comparisons.

Scripts without spaces are cut into n-grams: two signs of Chinese, Japanese and Korean, and four
letters of alphabets (McNamee & Mayfield 2004).
"""

import re
import tomllib
import unicodedata
from pathlib import Path

LANGUAGES = tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))
RANGES: dict[str, str] = {name: ranges for name, (ranges, _) in LANGUAGES["scripts"].items()}
CJK = RANGES["kana"] + RANGES["han"]
SOUTHEAST = "".join(RANGES[name] for name in ("thai", "lao", "burmese", "khmer"))
_INDIC = "\u0900-\u0963\u0971-\u0dff\u200c\u200d"  # their vowel signs are no \w in Python
_RUN = re.compile(
    rf"(?P<signs>[{CJK}{RANGES['hangul']}]+)|(?P<alphabet>[{SOUTHEAST}]+)"
    rf"|(?:(?![{CJK}{RANGES['hangul']}{SOUTHEAST}])[^\W_]|[{_INDIC}\u0300-\u036f])+"
)
_GRAM = {"signs": 2, "alphabet": 4}
_ARABIC_ARTICLE = re.compile(r"\Aو?(?:[بكف]?ال|لل)(?=\w{3})")  # light10, Larkey et al. 2007
_MARKS = re.compile(  # accents, and vowel marks of Cyrillic, Hebrew and Arabic
    r"[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]"
)


def terms(text: str) -> list[str]:
    """Return words in order, and n-grams of scripts without spaces.

    >>> terms("1911年に開業 l'été"), terms("สะพานยาว")
    (['1911', '年に', 'に開', '開業', 'l', 'été'], ['สะพา', 'ะพาน', 'พานย', 'านยา', 'นยาว'])
    """
    cut: list[str] = []
    for run in _RUN.finditer(text):
        n = _GRAM.get(run.lastgroup or "", 0)
        if n:
            cut += [run[0][i : i + n] for i in range(max(1, len(run[0]) - n + 1))]
        else:
            cut.append(_ARABIC_ARTICLE.sub("", run[0]))
    return cut


def without_accents(text: str) -> str:
    """Drop accents, and the vowel marks of Arabic and Hebrew, which are seldom written."""
    plain = _MARKS.sub("", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", plain)
