"""Identifies the language of a text, and cuts a text of any script into terms.

Function words identify a language in texts that are too short for letter statistics (Grefenstette
1995). In doubt a text in Latin letters has its declared language.
"""

import re
import tomllib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

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


class _Script(NamedTuple):
    """A script other than Latin."""

    letters: str  # as ranges of a pattern: "α-ω"
    languages: Sequence[str]  # the commonest first


_SCRIPTS: dict[str, _Script] = {
    name: _Script(letters, codes.split()) for name, (letters, codes) in _DATA["scripts"].items()
}
_LETTERS_OF_LANGUAGE = {code: frozenset(letters) for code, letters in _DATA["letters"].items()}
_LATIN_LETTERS = re.compile("[A-Za-zÀ-ÖØ-öø-ʯḀ-ỿ]+")
_OTHER_LETTER = re.compile(f"[{''.join(script.letters for script in _SCRIPTS.values())}]")
_LEAST_SHARE = 0.3  # of a text's letters, for a script other than Latin: Japanese names companies
_LEAST_KANA = 0.05  # share of kana in Japanese: Chinese quotes a の at most

_LATIN_FUNCTION_WORDS = {
    **{code: words for code, words in FUNCTION_WORDS.items() if code not in ("ru", "zh")},
    "en": words_of("words", "function"),
}
_LANGUAGES_WITH = {
    word: [code for code, words in _LATIN_FUNCTION_WORDS.items() if word in words]
    for word in frozenset().union(*_LATIN_FUNCTION_WORDS.values())
}
_OWN_WORDS = {  # that no other list has
    code: frozenset(word for word in words if _LANGUAGES_WITH[word] == [code])
    for code, words in _LATIN_FUNCTION_WORDS.items()
}
_HALF_WEIGHT_WORDS = frozenset(_DATA["weak"]["words"].split())
# The score that a language needs: at all, for each word of the text, and for each point of the one
# that is expected. Of 112,000 English claims and passages (claims/train and dev), 24 are taken for
# another language: tables of foreign teams. Of 1,247 claims in seven other Latin languages
# (multilingual), 96 % are identified, and 0.6 % are taken for a third.
_LEAST_SCORE, _LEAST_A_WORD, _TIMES_EXPECTED = 2.0, 0.05, 2.0
# Number and share of own words from which the other lists are not looked up.
_LEAST_OWN, _SHARE_OF_OWN = 4, 0.08


def identify(text: str, declared: str | None = None) -> str | None:
    """Return the ISO 639-1 code of a text of any length; in doubt, `declared`.

    >>> identify("Die Brücke ist von 1911."), identify("1911年に開業した。"), identify("Varde")
    ('de', 'ja', None)
    """
    code = re.split("[-_]", declared or "")[0].lower()  # "en-GB", "en_GB"
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


@lru_cache(maxsize=4096)
def _identify(sample: str, declared: str | None) -> str | None:
    if script := None if sample.isascii() else _script(sample):
        return declared if declared in script.languages else _language_in(script, sample)
    words, own_words = sample.split(), _OWN_WORDS.get(declared or "en", frozenset())
    n_own = sum(word in own_words for word in words)
    if n_own >= max(_LEAST_OWN, _SHARE_OF_OWN * len(words)):
        return declared or "en"
    return _by_function_words(sample, declared) or declared


def _script(sample: str) -> _Script | None:
    """Return the script of a text's letters; None for Latin."""
    others = _OTHER_LETTER.findall(sample)
    n_latin = sum(map(len, _LATIN_LETTERS.findall(sample)))
    if not others or len(others) < _LEAST_SHARE * (n_latin + len(others)):
        return None
    counts = Counter(map(_name_of_script, others))
    if counts["kana"] >= _LEAST_KANA * (counts["kana"] + counts["han"]) > 0:
        return _SCRIPTS["kana"]
    return _SCRIPTS[counts.most_common(1)[0][0]]


@lru_cache(maxsize=8192)
def _name_of_script(letter: str) -> str:
    return next(n for n, script in _SCRIPTS.items() if re.match(f"[{script.letters}]", letter))


def _language_in(script: _Script, sample: str) -> str:
    """Return the commonest language of a script that has letters of the sample of its own."""
    for code in script.languages:
        if not _LETTERS_OF_LANGUAGE.get(code, frozenset()).isdisjoint(sample):
            return code
    return script.languages[0]


def _by_function_words(sample: str, declared: str | None) -> str | None:
    """Return the language with most words of a text in Latin letters; None in doubt."""
    in_order, expected = _LATIN_LETTERS.findall(sample), declared or "en"
    # Capitals, as of names, count of the first word only.
    words = {word.lower() for n, word in enumerate(in_order) if n == 0 or not word[0].isupper()}
    scores = _scores(words)
    if expected not in _LATIN_FUNCTION_WORDS:
        scores = {"en": scores.get("en", 0.0)}  # a language like it may be listed
    best = max(scores, key=lambda code: (scores[code], code == declared, code), default="")
    least = max(_LEAST_SCORE, _LEAST_A_WORD * len(words))
    if best != expected:
        least = max(least, _TIMES_EXPECTED * scores.get(expected, 0.0))
    return best if scores.get(best, 0.0) >= least else None


def _scores(words: Collection[str]) -> Mapping[str, float]:
    """Return by language how many of the words, and letters beyond ASCII, its list has."""
    letters = {letter for word in words for letter in word if not letter.isascii()}
    scores = defaultdict[str, float](float)
    for word in {*words, *letters}:
        languages = _LANGUAGES_WITH.get(word, ())
        is_english_too = "en" in languages and len(languages) > 1
        counts_half = is_english_too or word in _HALF_WEIGHT_WORDS or word in letters
        for language in languages:
            scores[language] += 0.5 if counts_half else 1.0
    return scores


# ── Terms ────────────────────────────────────────────────────────────────────────────────────────

# Scripts without spaces are cut into n-grams: two signs of Chinese, Japanese and Korean, and four
# letters of alphabets (McNamee & Mayfield 2004).
CJK = _SCRIPTS["kana"].letters + _SCRIPTS["han"].letters
SOUTHEAST = "".join(_SCRIPTS[name].letters for name in ("thai", "lao", "burmese", "khmer"))
_KOREAN = _SCRIPTS["hangul"].letters
_INDIC = "\u0900-\u0963\u0971-\u0dff\u200c\u200d"  # their vowel signs are no \w in Python
_RUN = re.compile(
    rf"(?P<signs>[{CJK}{_KOREAN}]+)|(?P<alphabet>[{SOUTHEAST}]+)"
    rf"|(?:(?![{CJK}{_KOREAN}{SOUTHEAST}])[^\W_]|[{_INDIC}\u0300-\u036f])+"
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
