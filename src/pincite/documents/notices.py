"""How probably a page is a notice in place of a source: gone, for sale, a login, a list of results.

`notices.toml` has the cues of each kind in eleven languages. A page with a statement about anything
but itself is no notice, whatever its cues: a page on bus 404 with "Sign in" in its margin is a real
page. For the others a logistic regression weighs what is around a cue; its weights, in
`notice_weights.toml`, are fitted by `research/scripts/fit_notices.py`.
"""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
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
class Look:
    """A page as the regression sees it."""

    title: str = ""
    headline: str = ""
    text: str = ""  # visible, without lists of links and of other stories
    linked: float = 0.0  # share of the visible words in links
    n_stories: int = 0  # lines of three words or more in links
    asks_password: bool = False
    at_front: bool = False  # states the address of the site's front page as its own
    may_list: bool = True  # its address is not that of a front page, a search or a topic


def find_notice(look: Look) -> Notice | None:
    """The most probable kind of notice; None if the page is more probably a source."""
    found = candidates(look)
    if not found:
        return None
    # What a parked page advertises is no statement, nor is the reason why "this page" is gone.
    if has_statement(look.text, look.title) and not ("parked" in dict(found) and _is_domain(look)):
        found = [each for each in found if declares(each[0], look)]
    table = _table(WEIGHTS)
    weights, least = table["weights"], table["intercept"]
    notices = [
        Notice(kind, sigmoid(least + sum(weights.get(n, 0.0) * v for n, v in of.items())), cue)
        for kind, cue in found
        if (of := features(kind, look))
    ]
    probable = (notice for notice in notices if notice.probability >= table["threshold"])

    def order(notice: Notice) -> tuple[bool, float]:
        return notice.kind not in LISTS, notice.probability  # a search may have no results

    return max(probable, key=order, default=None)


def candidates(look: Look) -> list[tuple[str, str]]:
    """The kinds whose cues a page has, with the first of them."""
    places = [*title_parts(look.title), look.title, look.headline, *_lines(look.text)]
    found = {kind: cue for kind in KINDS if (cue := next(_found(kind, places), ""))}
    whole = look.title or look.headline
    if look.asks_password:
        found.setdefault("login", whole)
    if look.at_front:
        found.setdefault("front", whole)
    return [each for each in found.items() if look.may_list or each[0] not in LISTS]


def features(kind: str, look: Look) -> dict[str, float]:
    """Return the features of the regression for one kind; empty if the page cannot be that.

    A notice says what it is in its title or headline, unless it is very short.
    """
    lines, parts, own = _lines(look.text), title_parts(look.title), _own(look)
    words = _words_of(own)
    cued = [each for each in own if next(_found(kind, [each]), "")]
    lead = [each for each in (look.headline, _first(look)) if _points(each)]
    in_title = max(_covered(kind, part) for part in (look.title, *parts, *lead))
    in_headline = _covered(kind, look.headline)
    advertises = kind == "parked" and _is_domain(look)
    reasons = advertises or declares(kind, look)
    odd = [] if reasons else [each for each in own if not _is_of_notice(each)]
    most = EXPLAINED_WORDS if kind in EXPLAINED and not odd else UNHEADED_WORDS
    if max(in_title, in_headline) < HEADED and words > most and not look.at_front:
        return {}
    found = {
        f"is_{kind}": 1.0,
        "in_title": in_title,
        "in_headline": in_headline,
        "early": float(bool(next(_found(kind, lines[:EARLY_LINES]), ""))),
        "cues": math.log1p(len({cue.lower() for cue in _found(kind, lines)})),
        "cued": _words_of(cued) / max(1, words),
        "addressed": _words_of(filter(_addresses, own)) / max(1, words),
        "unexplained": math.log1p(_words_of(odd)),
        "words": math.log1p(words),
        "linked": look.linked,
        "stories": math.log1p(look.n_stories) if kind in LISTS else 0.0,
        "password": float(look.asks_password and kind == "login"),
        "at_front": float(look.at_front and kind == "front"),
    }
    return {name: value for name, value in found.items() if value}


def declares(kind: str, look: Look) -> bool:
    """Whether a headline is a notice about "this page", or one that the first sentence repeats."""
    heads = [look.headline] if look.headline else [look.title, *title_parts(look.title)]
    whole = [head for head in heads if kind not in LISTS and _covered(kind, head) >= WHOLE]
    repeated = [each for each in [_first(look)] if next(_found(kind, [each]), "")]
    return bool(whole) and any(map(_points, [*whole, *repeated]))


def _points(text: str) -> bool:
    return cues("this").search(typographic(text)) is not None


def _first(look: Look) -> str:
    """The first sentence below the headline."""
    below = look.text.rpartition(f"{look.headline}\n")[2]
    return next(iter(_own(replace(look, text=below))), "")


def _own(look: Look) -> list[str]:
    """The sentences of a page that do not repeat its title or headline."""
    known = {*title_parts(look.title), look.title, look.headline}
    spoken = (span.of(line).strip() for line in _lines(look.text) for span in sentences(line))
    return [sentence for sentence in spoken if sentence not in known]


def has_statement(text: str, title: str = "") -> bool:
    """Whether a text has a sentence about anything but the page itself and its reader.

    >>> has_statement("Sorry, this page was moved."), has_statement("It was built in May 1874.")
    (False, True)
    """
    found = (span.of(text).strip() for span in sentences(text[:NOTICE_CHARS]))
    return any(_is_statement(sentence) for sentence in found if sentence != title)


def title_parts(title: str) -> list[str]:
    return [part.strip() for part in _TITLE_PARTS.split(title) if part.strip()]


def typographic(text: str) -> str:
    """The text as the cues are written, with the apostrophes of print and no paths of files."""
    return _PATH.sub(" ", text.replace("'", "’"))


@cache
def cues(kind: str) -> re.Pattern[str]:
    """The cues of a kind in all languages."""
    found = (f"(?:{cue})" for of_language in _table(CUES)[kind].values() for cue in of_language)
    return re.compile("|".join(found), re.IGNORECASE | re.MULTILINE)


def _is_domain(look: Look) -> bool:
    """Whether a page is named after its domain."""
    return any(map(_DOMAIN.fullmatch, (look.headline, *title_parts(look.title))))


def _is_statement(sentence: str) -> bool:
    if n_words(sentence) < MIN_STATEMENT_WORDS or "©" in sentence or _addresses(sentence):
        return False
    if _YEAR.search(typographic(sentence)):
        return True
    if sentence.rstrip(_CLOSING)[-1:] not in _ENDS or any(_found_kinds(sentence)):
        return False
    of_notices = {word.lower() for word in _vocabulary("words").findall(typographic(sentence))}
    # One is allowed beside a name, except in German, where all nouns have capitals.
    names = _NAME.findall(sentence)
    named = 0 < len(names) <= len(sentence.split()) // 4 and ":" not in sentence
    return not of_notices or (len(of_notices) == 1 and named)


def _addresses(sentence: str) -> bool:
    return _vocabulary("reader").search(typographic(sentence)) is not None


def _is_of_notice(sentence: str) -> bool:
    words = _vocabulary("words").search(typographic(sentence))
    return bool(words) or _addresses(sentence) or any(_found_kinds(sentence))


def _found_kinds(sentence: str) -> Iterator[str]:
    return (kind for kind in KINDS if next(_found(kind, [sentence]), ""))


def _found(kind: str, texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        found = cues(kind).finditer(typographic(text))
        yield from (" ".join(match[0].split()) for match in found)


def _covered(kind: str, text: str) -> float:
    return sum(map(len, _found(kind, [text]))) / max(1, len(text))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text[:NOTICE_CHARS].split("\n") if line.strip()]


def _words_of(texts: Any) -> int:
    return sum(map(n_words, texts))


@cache
def _vocabulary(name: str) -> re.Pattern[str]:
    table = {code: "|".join(words.split()) for code, words in _table(CUES)[name].items()}
    signs = table.pop("signs")
    return re.compile(rf"\b(?:{'|'.join(table.values())})\b|{signs}", re.IGNORECASE)


@cache
def _table(path: Path) -> Mapping[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))
