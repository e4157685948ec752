"""Recognises pages that stand in for a source: gone, for sale, a login, a list of results.

`notices.toml` has what each kind says of itself, its cues, in eleven languages. A page with a
statement about anything but itself is no notice, whatever its cues: a page on bus 404 with "Sign
in" in its margin is a real page. For the others a logistic regression weighs what is around a cue;
its weights, in `notice_weights.toml`, are fitted by `research/scripts/fit_notices.py`.
"""

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pincite.text.sentences import n_words, sentences
from pincite.types import sigmoid

CUES = Path(__file__).with_name("notices.toml")
WEIGHTS = Path(__file__).with_name("notice_weights.toml")
LISTS = ("listing", "front")
KINDS = ("gone", "parked", "consent", "login", "robot", "blocked", "moved", "archive", *LISTS)
NOTICE_CHARS = 5_000  # a single "word" can have megabytes, and searching it takes seconds
MIN_STATEMENT_WORDS = 6  # "Page not found." has three
EARLY_LINES = 3
HEADED = 0.2  # share of a title or headline that is a cue
_PATH = re.compile(r"(?<!\S)/[\w./-]+")
WHOLE = 0.8  # share of a title or headline that says nothing else
UNHEADED_WORDS, EXPLAINED_WORDS = 15, 40  # the second if the rest explains one of EXPLAINED
EXPLAINED = ("gone", "blocked", "parked")
_TITLE_PARTS = re.compile(r"\s+[|–—:·»«-]+\s*|\s*[|:»]\s+|[|\uff5c\uff1a]")
_YEAR = re.compile(r"(?<!\d)(1\d\d\d|20\d\d)(?!\d)")
_NAME = re.compile(r"(?<=[a-zà-ÿа-я,] )[A-ZÀ-ÝА-Я][a-zà-ÿа-я]{2,}")
_DOMAIN = re.compile(r"(?:[\w-]+\.)+[a-z]{2,}", re.IGNORECASE)
_ENDS = tuple(".!?。")
_CLOSING = "\"'”’»」)"


@dataclass(frozen=True, slots=True)
class Notice:
    """A kind of notice that a page probably is, with the first of its cues."""

    kind: str
    probability: float
    cue: str  # as it stands on the page


@dataclass(frozen=True, slots=True)
class Signs:
    """What of a page shows whether it is a notice."""

    title: str = ""
    headline: str = ""
    text: str = ""  # visible, without lists of links and of other stories
    linked: float = 0.0  # share of the visible words in links
    n_stories: int = 0  # lines of three words or more in links
    asks_password: bool = False
    at_front: bool = False  # states the address of the site's front page as its own
    may_list: bool = True  # its address is not that of a front page, a search or a topic


def find_notice(page: Signs) -> Notice | None:
    """Return the most probable kind of notice; None if the page is more probably a source."""
    cue_of = candidate_kinds(page)
    if not cue_of:
        return None
    # What a parked page advertises is no statement, nor is the reason why "this page" is gone.
    advertises = "parked" in cue_of and _is_domain(page)
    if has_statement(page.text, page.title) and not advertises:
        cue_of = {kind: cue for kind, cue in cue_of.items() if declares(kind, page)}
    notices = [
        Notice(kind, _probability(values), cue)
        for kind, cue in cue_of.items()
        if (values := features(kind, page))
    ]
    least = _table(WEIGHTS)["threshold"]
    probable = (notice for notice in notices if notice.probability >= least)

    def order(notice: Notice) -> tuple[bool, float]:
        return notice.kind not in LISTS, notice.probability  # a search may have no results

    return max(probable, key=order, default=None)


def candidate_kinds(page: Signs) -> dict[str, str]:
    """Return the kinds whose cues a page has, each with the first of them."""
    places = [*title_parts(page.title), page.title, page.headline, *_lines(page.text)]
    cue_of = {kind: cue for kind in KINDS if (cue := next(_find_cues(kind, places), ""))}
    heading = page.title or page.headline
    if page.asks_password:
        cue_of.setdefault("login", heading)
    if page.at_front:
        cue_of.setdefault("front", heading)
    return {kind: cue for kind, cue in cue_of.items() if page.may_list or kind not in LISTS}


def features(kind: str, page: Signs) -> dict[str, float]:
    """Return the features of the regression for one kind; empty if the page cannot be that.

    A notice says what it is in its title or headline, unless it is very short.
    """
    lines, parts, own = _lines(page.text), title_parts(page.title), _own_sentences(page)
    n_own = _count_words(own)
    lead = [text for text in (page.headline, _first_sentence(page)) if _means_this_page(text)]
    in_title = max(_share_of_cues(kind, part) for part in (page.title, *parts, *lead))
    in_headline = _share_of_cues(kind, page.headline)
    explains = (kind == "parked" and _is_domain(page)) or declares(kind, page)
    odd = [] if explains else [sentence for sentence in own if not _is_of_notice(sentence)]
    most = EXPLAINED_WORDS if kind in EXPLAINED and not odd else UNHEADED_WORDS
    if max(in_title, in_headline) < HEADED and n_own > most and not page.at_front:
        return {}
    values = {
        f"is_{kind}": 1.0,
        "in_title": in_title,
        "in_headline": in_headline,
        "early": float(any(_has_cue(kind, line) for line in lines[:EARLY_LINES])),
        "cues": math.log1p(len({cue.lower() for cue in _find_cues(kind, lines)})),
        "cued": _count_words(s for s in own if _has_cue(kind, s)) / max(1, n_own),
        "addressed": _count_words(filter(_addresses, own)) / max(1, n_own),
        "unexplained": math.log1p(_count_words(odd)),
        "words": math.log1p(n_own),
        "linked": page.linked,
        "stories": math.log1p(page.n_stories) if kind in LISTS else 0.0,
        "password": float(page.asks_password and kind == "login"),
        "at_front": float(page.at_front and kind == "front"),
    }
    return {name: value for name, value in values.items() if value}


def _probability(values: Mapping[str, float]) -> float:
    table = _table(WEIGHTS)
    weighted = (table["weights"].get(name, 0.0) * value for name, value in values.items())
    return sigmoid(table["intercept"] + sum(weighted))


def declares(kind: str, page: Signs) -> bool:
    """Whether a headline is a notice about "this page", or one that the first sentence repeats."""
    if kind in LISTS:
        return False
    heads = [page.headline] if page.headline else [page.title, *title_parts(page.title)]
    whole = [head for head in heads if _share_of_cues(kind, head) >= WHOLE]
    first = _first_sentence(page)
    repeated = [first] if _has_cue(kind, first) else []
    return bool(whole) and any(map(_means_this_page, [*whole, *repeated]))


def _means_this_page(text: str) -> bool:
    return cue_pattern("this").search(normalise(text)) is not None


def _first_sentence(page: Signs) -> str:
    """Return the first sentence below the headline."""
    below = page.text.rpartition(f"{page.headline}\n")[2]
    return next(iter(_own_sentences(replace(page, text=below))), "")


def _own_sentences(page: Signs) -> list[str]:
    """Return the sentences of a page that do not repeat its title or headline."""
    known = {*title_parts(page.title), page.title, page.headline}
    spoken = (span.of(line).strip() for line in _lines(page.text) for span in sentences(line))
    return [sentence for sentence in spoken if sentence not in known]


def has_statement(text: str, title: str = "") -> bool:
    """Whether a text has a sentence about anything but the page itself and its reader.

    >>> has_statement("Sorry, this page was moved."), has_statement("It was built in May 1874.")
    (False, True)
    """
    parts = (span.of(text).strip() for span in sentences(text[:NOTICE_CHARS]))
    return any(_is_statement(sentence) for sentence in parts if sentence != title)


def title_parts(title: str) -> list[str]:
    return [part.strip() for part in _TITLE_PARTS.split(title) if part.strip()]


def normalise(text: str) -> str:
    """Return a text as the cues are written: with typographic apostrophes, without file paths."""
    return _PATH.sub(" ", text.replace("'", "’"))


@cache
def cue_pattern(kind: str) -> re.Pattern[str]:
    """Return a pattern of the cues of a kind in all languages."""
    cues = (f"(?:{cue})" for of_language in _table(CUES)[kind].values() for cue in of_language)
    return re.compile("|".join(cues), re.IGNORECASE | re.MULTILINE)


def _is_domain(page: Signs) -> bool:
    """Whether a page is named after its domain."""
    return any(map(_DOMAIN.fullmatch, (page.headline, *title_parts(page.title))))


def _is_statement(sentence: str) -> bool:
    if n_words(sentence) < MIN_STATEMENT_WORDS or "©" in sentence or _addresses(sentence):
        return False
    if _YEAR.search(normalise(sentence)):
        return True
    is_whole = sentence.rstrip(_CLOSING)[-1:] in _ENDS
    if not is_whole or any(_has_cue(kind, sentence) for kind in KINDS):
        return False
    of_notices = {word.lower() for word in _vocabulary("words").findall(normalise(sentence))}
    # One is allowed beside a name, except in German, where all nouns have capitals.
    names = _NAME.findall(sentence)
    is_named = 0 < len(names) <= len(sentence.split()) // 4 and ":" not in sentence
    return not of_notices or (len(of_notices) == 1 and is_named)


def _addresses(sentence: str) -> bool:
    return _vocabulary("reader").search(normalise(sentence)) is not None


def _is_of_notice(sentence: str) -> bool:
    words = _vocabulary("words").search(normalise(sentence))
    return bool(words) or _addresses(sentence) or any(_has_cue(kind, sentence) for kind in KINDS)


def _find_cues(kind: str, texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        matches = cue_pattern(kind).finditer(normalise(text))
        yield from (" ".join(match[0].split()) for match in matches)


def _has_cue(kind: str, text: str) -> bool:
    return next(_find_cues(kind, [text]), "") != ""


def _share_of_cues(kind: str, text: str) -> float:
    return sum(map(len, _find_cues(kind, [text]))) / max(1, len(text))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text[:NOTICE_CHARS].split("\n") if line.strip()]


def _count_words(texts: Iterable[str]) -> int:
    return sum(map(n_words, texts))


@cache
def _vocabulary(name: str) -> re.Pattern[str]:
    table = {code: "|".join(words.split()) for code, words in _table(CUES)[name].items()}
    signs = table.pop("signs")
    return re.compile(rf"\b(?:{'|'.join(table.values())})\b|{signs}", re.IGNORECASE)


@cache
def _table(path: Path) -> Mapping[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))
