"""Recognises notices, which stand in place of a source: gone, for sale, a login, a list of results.

`notices.toml` has what each kind says of itself, its cues, in eleven languages. A page with a
statement about anything but itself is no notice, whatever its cues: a page on bus 404 with "Sign
in" in its margin is a real page. For the others a logistic regression weighs what is around a cue;
its weights, in `notice_weights.toml`, are fitted by `research/scripts/fit_notices.py`.
"""

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Self

from pincite.text.sentences import n_words, sentences
from pincite.types import Reason, sigmoid

CUES = Path(__file__).with_name("notices.toml")
WEIGHTS = Path(__file__).with_name("notice_weights.toml")
NOTICE_CHARS = 5_000  # a single "word" can have megabytes, and searching it takes seconds
EARLY_LINES = 3
MIN_STATEMENT_WORDS = 6  # "Page not found." has three
# Shares of a title or headline that are cues: it is a notice's, or says nothing else.
HEADED = 0.2
WHOLE = 0.8
# Most words of a notice that does not say in its title or headline what it is.
UNHEADED_WORDS = 15
EXPLAINED_WORDS = 40  # where the rest explains it
_PATH = re.compile(r"(?<!\S)/[\w./-]+")
_TITLE_PARTS = re.compile(r"\s+[|–—:·»«-]+\s*|\s*[|:»]\s+|[|\uff5c\uff1a]")
_YEAR = re.compile(r"(?<!\d)(1\d\d\d|20\d\d)(?!\d)")
_NAME = re.compile(r"(?<=[a-zà-ÿа-я,] )[A-ZÀ-ÝА-Я][a-zà-ÿа-я]{2,}")
_DOMAIN = re.compile(r"(?:[\w-]+\.)+[a-z]{2,}", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?。][\"'”’»」)]*\Z")


@dataclass(frozen=True, slots=True)
class NoticeKind:
    """A kind of page in place of a source, and what users read of it."""

    name: str  # of its cues in `notices.toml`
    reason: Reason
    meaning: str
    is_list: bool = False  # of results or stories
    is_explained: bool = False  # often has a few sentences on why


PARKED = NoticeKind("parked", Reason.USURPED, "the domain is parked", is_explained=True)
LOGIN = NoticeKind("login", Reason.LOGIN, "the page requires a login")
FRONT = NoticeKind("front", Reason.FRONT_PAGE, "the copy is the site's front page", is_list=True)
KINDS = (
    NoticeKind("gone", Reason.SOFT_404, "the page reports itself as not found", is_explained=True),
    PARKED,
    NoticeKind("consent", Reason.CONSENT, "the page asks for consent"),
    LOGIN,
    NoticeKind("robot", Reason.REFUSED, "the copy is a robot check"),
    NoticeKind("blocked", Reason.REFUSED, "the copy is a refusal page", is_explained=True),
    NoticeKind("moved", Reason.NOT_SUPPLIED, "the copy only redirects to another page"),
    NoticeKind("archive", Reason.NOT_SUPPLIED, "the archive has no copy"),
    NoticeKind("listing", Reason.LISTING, "the page is a list of other pages", is_list=True),
    FRONT,
)


@dataclass(frozen=True, slots=True)
class Signs:
    """What of a page shows whether it is a source."""

    title: str = ""
    headline: str = ""
    text: str = ""  # visible, without lists of links and of other stories
    linked: float = 0.0  # share of the visible words in links
    n_stories: int = 0  # lines of three words or more in links
    visible: str = ""  # all text except scripts, navigation and footer
    asks_password: bool = False
    n_scripts: int = 0
    not_free: bool = False  # JSON-LD or microdata: isAccessibleForFree is false
    paywall_class: str = ""  # a class or id that names a paywall
    noscript: str = ""  # what the page shows where scripts are off
    address: str = ""  # that the page states as its own
    at_front: bool = False  # states the address of the site's front page as its own
    may_list: bool = True  # its address is not that of a front page, a search or a topic


class PageText(NamedTuple):
    """The text of a page in the parts that show whether it is a notice."""

    signs: Signs
    titles: list[str]  # the parts of the title, then all of it
    lines: list[str]
    own_sentences: list[str]  # those that repeat neither title nor headline
    first_sentence: str  # of them, below the headline

    @classmethod
    def of(cls, signs: Signs) -> Self:
        titles = [*title_parts(signs.title), signs.title]
        lines = [line.strip() for line in signs.text[:NOTICE_CHARS].split("\n") if line.strip()]
        n_above = lines.index(signs.headline) + 1 if signs.headline in lines else 0
        known = {*titles, signs.headline}
        own = [
            (number, sentence)
            for number, line in enumerate(lines)
            for span in sentences(line)
            if (sentence := span.of(line).strip()) not in known
        ]
        first = next((sentence for number, sentence in own if number >= n_above), "")
        return cls(signs, titles, lines, [sentence for _, sentence in own], first)


@dataclass(frozen=True, slots=True)
class Notice:
    """A kind of notice that a page probably is, with the first of its cues."""

    kind: NoticeKind
    probability: float
    cue: str  # as it stands on the page


def find_notice(signs: Signs) -> Notice | None:
    """Return the most probable kind of notice; None if the page is more probably a source."""
    page, notices = PageText.of(signs), list[Notice]()
    for kind, cue in possible_kinds(page).items():
        probability = _probability(features(kind, page))
        if probability >= _table(WEIGHTS)["threshold"]:
            notices.append(Notice(kind, probability, cue))
    # Lists come last: a search may have no results.
    return max(notices, key=lambda n: (not n.kind.is_list, n.probability), default=None)


def possible_kinds(page: PageText) -> dict[NoticeKind, str]:
    """Return the kinds that a page may be, each with the first of its cues."""
    signs, texts = page.signs, [*page.titles, page.signs.headline, *page.lines]
    cue_of = {kind: cue for kind in KINDS if (cue := next(_find_cues(kind.name, texts), ""))}
    if signs.asks_password:
        cue_of.setdefault(LOGIN, signs.title or signs.headline)
    if signs.at_front:
        cue_of.setdefault(FRONT, signs.title or signs.headline)
    # What a parked page advertises is no statement, nor is the reason why "this page" is gone.
    advertises = PARKED in cue_of and _is_named_by_domain(page)
    states = bool(cue_of) and not advertises and has_statement(signs.text, signs.title)
    return {
        kind: cue
        for kind, cue in cue_of.items()
        if (signs.may_list or not kind.is_list)
        and (not states or declares(kind, page))
        and is_headed_or_short(kind, page)
    }


def is_headed_or_short(kind: NoticeKind, page: PageText) -> bool:
    """Whether a page says in its title or headline that it is of a kind, or has few words."""
    shares = (_title_share(kind, page), _share_of_cues(kind, page.signs.headline))
    if max(shares) >= HEADED or page.signs.at_front:
        return True
    is_explained = kind.is_explained and not _unexplained(kind, page)
    limit = EXPLAINED_WORDS if is_explained else UNHEADED_WORDS
    return _count_words(page.own_sentences) <= limit


def features(kind: NoticeKind, page: PageText) -> dict[str, float]:
    """Return the features of the regression for one kind that are not zero."""
    signs, n_own_words = page.signs, _count_words(page.own_sentences)
    n_cued = _count_words(s for s in page.own_sentences if _has_cue(kind, s))
    n_to_reader = _count_words(filter(_addresses_reader, page.own_sentences))
    cues = {cue.lower() for cue in _find_cues(kind.name, page.lines)}
    values = {
        f"is_{kind.name}": 1.0,
        "in_title": _title_share(kind, page),
        "in_headline": _share_of_cues(kind, signs.headline),
        "early": float(any(_has_cue(kind, line) for line in page.lines[:EARLY_LINES])),
        "cues": math.log1p(len(cues)),
        "cued": n_cued / max(1, n_own_words),
        "addressed": n_to_reader / max(1, n_own_words),
        "unexplained": math.log1p(_count_words(_unexplained(kind, page))),
        "words": math.log1p(n_own_words),
        "linked": signs.linked,
        "stories": math.log1p(signs.n_stories) if kind.is_list else 0.0,
        "password": float(signs.asks_password and kind is LOGIN),
        "at_front": float(signs.at_front and kind is FRONT),
    }
    return {name: value for name, value in values.items() if value}


def declares(kind: NoticeKind, page: PageText) -> bool:
    """Whether a headline is a notice about "this page", or one that the first sentence repeats."""
    if kind.is_list:
        return False
    heads = [page.signs.headline] if page.signs.headline else page.titles
    notices = [head for head in heads if _share_of_cues(kind, head) >= WHOLE]
    first = [page.first_sentence] if _has_cue(kind, page.first_sentence) else []
    return bool(notices) and any(map(_is_about_page, [*notices, *first]))


def _probability(values: Mapping[str, float]) -> float:
    weights, intercept = _table(WEIGHTS)["weights"], _table(WEIGHTS)["intercept"]
    return sigmoid(intercept + sum(weights.get(name, 0.0) * x for name, x in values.items()))


def _title_share(kind: NoticeKind, page: PageText) -> float:
    """Return the largest share of cues in the title, its parts, and what is said of "this page"."""
    about_page = filter(_is_about_page, (page.signs.headline, page.first_sentence))
    return max(_share_of_cues(kind, text) for text in (*page.titles, *about_page))


def _unexplained(kind: NoticeKind, page: PageText) -> list[str]:
    """Return the sentences that no notice of the kind has, whatever it explains or advertises."""
    if (kind is PARKED and _is_named_by_domain(page)) or declares(kind, page):
        return []
    return [sentence for sentence in page.own_sentences if not _is_of_notice(sentence)]


# ── Sentences and cues ────────────────────────────────────────────────────────────────────────────


def has_statement(text: str, title: str = "") -> bool:
    """Whether a text has a sentence about anything but the page itself and its reader.

    >>> has_statement("Sorry, this page was moved."), has_statement("It was built in May 1874.")
    (False, True)
    """
    parts = (span.of(text).strip() for span in sentences(text[:NOTICE_CHARS]))
    return any(_is_statement(sentence) for sentence in parts if sentence != title)


def _is_statement(sentence: str) -> bool:
    is_short = n_words(sentence) < MIN_STATEMENT_WORDS
    if is_short or "©" in sentence or _addresses_reader(sentence):
        return False
    if _YEAR.search(normalise(sentence)):
        return True
    is_whole = _SENTENCE_END.search(sentence) is not None
    if not is_whole or _has_any_cue(sentence):
        return False
    words = {word.lower() for word in _vocabulary("words").findall(normalise(sentence))}
    # One is allowed beside a name, except in German, where all nouns have capitals.
    names = _NAME.findall(sentence)
    is_named = 0 < len(names) <= len(sentence.split()) // 4 and ":" not in sentence
    return not words or (len(words) == 1 and is_named)


def _is_named_by_domain(page: PageText) -> bool:
    return any(map(_DOMAIN.fullmatch, (page.signs.headline, *page.titles)))


def _is_about_page(text: str) -> bool:
    return cue_pattern("this").search(normalise(text)) is not None


def _addresses_reader(sentence: str) -> bool:
    return _vocabulary("reader").search(normalise(sentence)) is not None


def _is_of_notice(sentence: str) -> bool:
    has_word = _vocabulary("words").search(normalise(sentence)) is not None
    return has_word or _addresses_reader(sentence) or _has_any_cue(sentence)


def title_parts(title: str) -> list[str]:
    return [part.strip() for part in _TITLE_PARTS.split(title) if part.strip()]


def normalise(text: str) -> str:
    """Return a text as the cues are written: with typographic apostrophes, without file paths."""
    return _PATH.sub(" ", text.replace("'", "’"))


@cache
def cue_pattern(table: str) -> re.Pattern[str]:
    """Return a pattern of the cues in a table of `notices.toml`, in all languages."""
    cues = (f"(?:{cue})" for of_language in _table(CUES)[table].values() for cue in of_language)
    return re.compile("|".join(cues), re.IGNORECASE | re.MULTILINE)


def _find_cues(table: str, texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for match in cue_pattern(table).finditer(normalise(text)):
            yield " ".join(match[0].split())


def _has_cue(kind: NoticeKind, text: str) -> bool:
    return next(_find_cues(kind.name, [text]), "") != ""


def _has_any_cue(text: str) -> bool:
    return any(_has_cue(kind, text) for kind in KINDS)


def _share_of_cues(kind: NoticeKind, text: str) -> float:
    return sum(map(len, _find_cues(kind.name, [text]))) / max(1, len(text))


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
