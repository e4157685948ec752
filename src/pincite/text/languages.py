"""Identifies the language of a text, and cuts a text of any script into terms.

Function words identify a language in texts that are too short for letter statistics (Grefenstette
1995). In doubt a text in Latin letters has its declared language.
"""

import re
import tomllib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

from pincite.text import words_of

_DATA = tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))
FUNCTION_WORDS, NEGATIONS = (
    {language: frozenset(words.split()) for language, words in _DATA[table].items()}
    for table in ("function_words", "negations")
)
# Languages whose names are marked by capitals; in German all nouns are.
CAPITALISED_NAMES = FUNCTION_WORDS.keys() - {"de", "zh"} | {"en"}
NAMES = {  # by the language of the reader
    reader: dict(name.split(" ", 1) for name in names.split("; "))
    for reader, names in _DATA["names"].items()
}
_SAMPLE = 1_000  # characters of a text by which its language is identified

# By script: its letters, its languages, the commonest first, and letters that only some have.
_RANGES: dict[str, str] = {script: ranges for script, (ranges, _) in _DATA["scripts"].items()}
_CODES: dict[str, list[str]] = {
    script: codes.split() for script, (_, codes) in _DATA["scripts"].items()
}
_OWN_LETTERS = {code: frozenset(letters) for code, letters in _DATA["letters"].items()}
_LATIN, _OTHER = re.compile("[A-Za-zÀ-ÖØ-öø-ʯḀ-ỿ]+"), re.compile(f"[{''.join(_RANGES.values())}]")
_LEAST_SHARE = 0.3  # of a text's letters, for a script other than Latin: Japanese names companies
_LEAST_KANA = 0.05  # share of kana in Japanese: Chinese quotes a の at most

# By function words, in Latin letters.
_WORDS = {
    **{code: words for code, words in FUNCTION_WORDS.items() if code not in ("ru", "zh")},
    "en": words_of("words", "function"),
}
_LANGUAGES_WITH = {
    word: [code for code, words in _WORDS.items() if word in words]
    for word in frozenset().union(*_WORDS.values())
}
_OWN_WORDS = {
    code: frozenset(word for word in words if _LANGUAGES_WITH[word] == [code])
    for code, words in _WORDS.items()
}
_COUNT_HALF = frozenset(_DATA["weak"]["words"].split())
# The words that a language needs: in number, as a share of the text's, and for each word of the one
# that is expected. Of 112,000 English claims and passages (claims/train and dev), 24 are taken for
# another language: tables of foreign teams. Of 1,247 claims in seven other Latin languages
# (multilingual), 96 % are identified, and 0.6 % are taken for a third.
_LEAST, _LEAST_OF_WORDS, _RATIO = 2.0, 0.05, 2.0
# Number and share of words that no other list has, from which the others are not looked up.
_LEAST_OWN, _SHARE_OF_OWN = 4, 0.08


def identify(text: str, declared: str | None = None) -> str | None:
    """Return the ISO 639-1 code of a text of any length; in doubt, `declared`.

    >>> identify("Die Brücke ist von 1911."), identify("1911年に開業した。"), identify("Varde")
    ('de', 'ja', None)
    >>> identify("It was opened by the king.", "de"), identify("Varde", "da")
    ('en', 'da')
    """
    code = (declared or "").partition("-")[0].lower()  # "en-GB"
    return _identify(text[:_SAMPLE], code or None)


def is_english(text: str) -> bool:
    """Whether nothing speaks against English."""
    return identify(text) in ("en", None)


def common(claim: str, text: str, declared: str = "") -> str:
    """Return the language of a claim and a text, "en" if nothing speaks against it; "" if two.

    `declared`: of the claim, used if its words do not tell.
    """
    of_text = identify(text)
    language = of_claim(claim, of_text, declared)
    differ = language and of_text and language != of_text
    return "" if differ else language or of_text or "en"


def of_claim(claim: str, text_language: str | None, declared: str = "") -> str | None:
    """Return the language of a claim beside a text in `text_language`.

    A short claim may show none: one English word beside a text in another language does.

    >>> of_claim("It opened on 1 May 1904.", "de"), of_claim("Kanal von 1904", "de")
    ('en', None)
    """
    language = identify(claim, declared)
    if language or text_language in ("en", None):
        return language
    return None if _OWN_WORDS["en"].isdisjoint(claim.lower().split()) else "en"


def language_name(code: str, reader: str = "en") -> str:
    """Return a language's name in that of the reader, with its code.

    >>> language_name("ja"), language_name("ja", "de"), language_name("tlh")
    ('Japanese (ja)', 'Japanisch (ja)', 'tlh')
    """
    names = NAMES.get(reader, NAMES["en"])
    return f"{names[code]} ({code})" if code in names else code


def not_read(code: str, read: Collection[str]) -> str:
    """Say why a text in the language `code` is not judged by models that read `read`.

    >>> not_read("fi", {"en", "de"})
    'in Finnish (fi); the models read only de, en'
    """
    if set(read) == {"en"}:
        return f"in {language_name(code)}; pincite[multilingual] reads more than English"
    return f"in {language_name(code)}; the models read only {', '.join(sorted(read))}"


@lru_cache(maxsize=4096)
def _identify(sample: str, declared: str | None) -> str | None:
    expected, written = declared or "en", sample.split()
    own_words = _OWN_WORDS.get(expected, frozenset())
    n_own = sum(word in own_words for word in written)
    if n_own >= max(_LEAST_OWN, _SHARE_OF_OWN * len(written)):
        return expected
    if script := "" if sample.isascii() else _script(sample):
        return declared if declared in _CODES[script] else _language_in(script, sample)
    words = _latin_words(sample)
    scores = _scores(words)
    if expected not in _WORDS:
        scores = defaultdict(float, en=scores["en"])  # a language like it may be listed
    best = max(scores, key=lambda code: (scores[code], code == declared, code), default="")
    least = max(_LEAST, _LEAST_OF_WORDS * len(words))
    if best != expected:
        least = max(least, _RATIO * scores[expected])
    return best if scores[best] >= least else declared


def _script(sample: str) -> str:
    """Return the script of a text's letters; "" for Latin."""
    others, n_latin = _OTHER.findall(sample), len("".join(_LATIN.findall(sample)))
    if not others or len(others) < _LEAST_SHARE * (n_latin + len(others)):
        return ""
    counts = Counter(map(_script_of, others))
    if counts["kana"] >= _LEAST_KANA * (counts["kana"] + counts["han"]) > 0:
        return "kana"
    return counts.most_common(1)[0][0]


@lru_cache(maxsize=8192)
def _script_of(letter: str) -> str:
    return next(name for name, ranges in _RANGES.items() if re.match(f"[{ranges}]", letter))


def _language_in(script: str, sample: str) -> str:
    """Return the commonest language of a script that has letters of the sample of its own."""
    marked = (c for c in _CODES[script] if not _OWN_LETTERS.get(c, frozenset()).isdisjoint(sample))
    return next(marked, _CODES[script][0])


def _latin_words(sample: str) -> set[str]:
    """Return the words that are no names: capitals count of the first only."""
    in_order = _LATIN.findall(sample)
    return {word.lower() for n, word in enumerate(in_order) if n == 0 or not word[0].isupper()}


def _scores(words: Collection[str]) -> defaultdict[str, float]:
    """Return by language how many of the words, and letters beyond ASCII, its list has."""
    letters = {letter for word in words for letter in word if not letter.isascii()}
    scores = defaultdict[str, float](float)
    for word in {*words, *letters}:
        languages = _LANGUAGES_WITH.get(word, ())
        is_english_too = "en" in languages and len(languages) > 1
        counts_half = is_english_too or word in _COUNT_HALF or word in letters
        for language in languages:
            scores[language] += 0.5 if counts_half else 1.0
    return scores


# ── Terms ────────────────────────────────────────────────────────────────────────────────────────

# Scripts without spaces are cut into n-grams: two signs of Chinese, Japanese and Korean, and four
# letters of alphabets (McNamee & Mayfield 2004).
CJK = _RANGES["kana"] + _RANGES["han"]
SOUTHEAST = "".join(_RANGES[name] for name in ("thai", "lao", "burmese", "khmer"))
_INDIC = "\u0900-\u0963\u0971-\u0dff\u200c\u200d"  # their vowel signs are no \w in Python
_RUN = re.compile(
    rf"(?P<signs>[{CJK}{_RANGES['hangul']}]+)|(?P<alphabet>[{SOUTHEAST}]+)"
    rf"|(?:(?![{CJK}{_RANGES['hangul']}{SOUTHEAST}])[^\W_]|[{_INDIC}\u0300-\u036f])+"
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
