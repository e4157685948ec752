"""The words of a language for numbers, dates and measures, and the patterns that find them.

They come from numerals.toml, where each list gives English words and what stands for them:
"about: rund etwa; over: mehr_als", with a space written "_" and any ending of up to three letters
written "*".
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

CJK = frozenset({"ja", "zh"})
LANGUAGES = frozenset("de fr es it pt nl pl ru".split()) | CJK
SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
VAGUE = frozenset("early mid late end hundred dozens hundreds thousands".split()) | {"end of"}
_POINTS_GROUP = frozenset({"de", "es", "it", "nl", "pt"})  # languages in which "1.234" is whole
_SIGNS = {"€": "euros", "$": "dollars", "£": "sterling", "％": "%"}
_SYMBOLS = {s.lower(): s for s in "% km m cm mm km² m² ha t kg g mg l kW MW GW kWh km/h °C".split()}
_KINDS = ("units", "scales", "months", "words", "behind")  # lists of words by their meaning
_SIZES = ("one", "small", "tens", "hundreds", "thousands")  # lists of number words by their value
_TABLES: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("numerals.toml").read_text(encoding="utf-8")
)
_PARTS = frozenset({"third", "quarter", "fifth", "tenth"})
_LETTER = re.compile(r"[^\W\d_⁰¹²³⁴-⁹]")
_NEVER = "(?!)"  # a pattern that matches nothing


class Meaning(NamedTuple):
    """What words mean in English, and whether they may mean something else."""

    english: str
    is_unsure: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """A language's words in lower case, and its patterns."""

    numbers: Mapping[str, float]
    ordinals: Mapping[str, float]
    english: Mapping[str, str]  # of all others
    with_endings: Sequence[tuple[re.Pattern[str], str]]  # those of `english` with a "*"
    unsure: frozenset[str]
    groups_by_point: bool
    pattern: re.Pattern[str]  # of all that is rendered, and of any other word
    number: re.Pattern[str]  # a part of a cardinal

    def meaning(self, written: str | None) -> str:
        """The English of words; empty if they have none."""
        form = " ".join((written or "").lower().replace("'", "’").split())
        if not form or form in self.english:
            return self.english.get(form, "")
        return next((name for pattern, name in self.with_endings if pattern.fullmatch(form)), "")

    def hedge_or_part(self, match: re.Match[str]) -> Meaning:
        """The meaning of the group `words`: "about", "half", "a third", "early"."""
        english = self.meaning(match["words"])
        if english in _PARTS:
            before = match.string[: match.start()].lower().split()[-1:]
            is_counted = before and (before[0].isdigit() or self.numbers.get(before[0], 0) > 1)
            english = f"{english}s" if is_counted else f"a {english}"
        return Meaning(english, english in VAGUE or match["words"].lower() in self.unsure)


def mask_letters(text: str) -> str:
    """Return a text with a letter of no English word for each of its letters."""
    return _LETTER.sub("q", text)


@cache
def words_of(language: str) -> Words:
    """Return the words of one of LANGUAGES."""
    table = _TABLES[language]
    kinds = {kind: _meanings(table.get(kind, "")) for kind in _KINDS}
    kinds["units"] |= _SIGNS
    numbers = {size: _values(table.get(size, "")) for size in _SIZES}
    numbers["thousands"] = dict.fromkeys(_forms(kinds["scales"], "thousand"), 1e3)
    known = {form: n for values in numbers.values() for form, n in values.items()}
    ordinals = _values(table.get("ordinals", ""))
    english = _SYMBOLS | {form: name for forms in kinds.values() for form, name in forms.items()}
    return Words(
        numbers=known,
        ordinals=ordinals,
        english=english,
        with_endings=[
            (re.compile(_any_of(form)), name) for form, name in english.items() if "*" in form
        ],
        unsure=frozenset(table.get("unsure", "").split()),
        groups_by_point=language in _POINTS_GROUP,
        pattern=_pattern(language, kinds, numbers, ordinals),
        number=re.compile(_any_of(*known), re.IGNORECASE),
    )


def _pattern(
    language: str,
    kinds: Mapping[str, Mapping[str, str]],
    numbers: Mapping[str, Mapping[str, float]],
    ordinals: Iterable[str],
) -> re.Pattern[str]:
    """Fill a language's words into the pattern of its family in numerals.toml."""
    table, patterns, words = _TABLES[language], _TABLES["patterns"], kinds["words"]
    tens = rf"(?P<tens>(?:1\d|20)?\d0|{_any_of(*numbers['tens'])})"
    number_words = {form for forms in numbers.values() for form in forms}
    ambiguous = [month for month in kinds["months"] if month in number_words]  # French "sept"
    parts = {
        **dict.fromkeys(("year", "tails", "bc", "counters"), _NEVER),
        **table,
        **{kind: _any_of(*forms) for kind, forms in kinds.items()},
        "symbols": _any_of(*_SYMBOLS.values()),
        "n": patterns["number"],
        "century": _any_of(*_forms(kinds["units"], "centuries")),
        "of": rf"(?:{_any_of(*_forms(words, 'of'))}\s?)?",
        "to": rf"(?:\s{_any_of(*_forms(words, 'to', 'and'))}\s|\s?[–—-]\s?)",
        "ordinals": rf"{_any_of(*ordinals)}(?:{table.get('endings', '')})",
        "numbers": _number_words(numbers, table),
        "no_number": rf"(?!{_any_of(*ambiguous)}(?!\w))",
        "decade": table.get("decade", _NEVER).replace("{tens}", tens),
    }
    family = patterns["cjk" if language in CJK else "european"]
    return re.compile(family.format_map(parts), re.IGNORECASE | re.VERBOSE | re.DOTALL)


def _number_words(numbers: Mapping[str, Iterable[str]], table: Mapping[str, str]) -> str:
    """A pattern of numbers in words: "zweiundzwanzig", "treinta y dos mil"."""
    one, small, ten, hundred, thousand = (_any_of(*numbers[size]) for size in _SIZES)
    joined = rf"[\s-]?(?:(?:{table.get('joins', _NEVER)})[\s-]?)?"
    below_100 = rf"(?:{ten}(?:{joined}(?:{small}|{one}))?|{small}|{one})"
    if "tails" in table:  # German and Dutch: "zwei-und-zwanzig"
        below_100 = rf"(?:(?:(?:{small}|{one}){joined})?{ten}|{small}|{one})"
    below_1000 = rf"(?:(?:(?:{small}|{one})[\s-]?)?{hundred}(?:{joined}{below_100})?|{below_100})"
    return rf"(?:(?:{below_1000}[\s-]?)?{thousand}(?:{joined}{below_1000})?|{below_1000})"


def _meanings(words: str) -> dict[str, str]:
    """The English of each form in a list of numerals.toml."""
    lines = (line.split(":") for line in words.split(";") if line)
    return {
        form.replace("_", " "): " ".join(english.split())
        for english, forms in lines
        for form in forms.lower().split()
    }


def _values(words: str) -> dict[str, float]:
    return {form: float(n) for form, n in _meanings(words).items()}


def _forms(meanings: Mapping[str, str], *wanted: str) -> list[str]:
    return [form for form, english in meanings.items() if english in wanted]


# What may be written for a sign of a form, besides itself.
_WRITTEN = {" ": r"\s", "*": r"\w{0,3}", "’": "['’]"}


def _any_of(*forms: str) -> str:
    """A pattern of any of these forms: a trie, since the lists are long."""
    tree: dict[str, Any] = {}
    for form in forms:
        node = tree
        for sign in form:
            node = node.setdefault(sign, {})
        node[""] = {}  # a form ends here
    return _any_branch(tree) or _NEVER


def _any_branch(node: dict[str, Any]) -> str:
    signs = sorted(filter(None, node), key="*".__ne__)  # "metr*_cub*" before "metri"
    branches = [_WRITTEN.get(sign, re.escape(sign)) + _any_branch(node[sign]) for sign in signs]
    return f"(?:{'|'.join(branches)})" + ("?" if "" in node else "") if branches else ""
