"""What words of a passage mean by its page: relative times, pronouns and descriptions.

"This morning" is resolved against the date of publication, as exactly as that date is known, and
only in a sentence without another anchor. "It" and "the canal" stand for what the page has named
before. In doubt nothing is resolved.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

from pincite.text import patterns, syntax
from pincite.text.figures import MONTH_NUMBERS, MONTHS, count_of
from pincite.text.finite import BE_OR_MODAL, WORD_OR_MARK, finite_verb, lemmas, may_be_noun
from pincite.text.words import DAYS, sentences_of
from pincite.types import Span

_MONTH = rf"{'|'.join(MONTHS)}|(?:{'|'.join(name[:3] for name in MONTHS)})\b\.?"
_CAPITAL = r"[A-ZÀ-Þ][\w’'-]*\w"
NAME = (
    rf"(?!(?i:{'|'.join(syntax.PARTICLES)})\b){_CAPITAL}(?: (?:(?:of|de|von|van|du) )?{_CAPITAL})*"
)
_P = patterns(
    __file__,
    "context",
    weekdays="|".join(DAYS),
    months="|".join(MONTHS),
    month=_MONTH,
    name=NAME,
)
_COMING = frozenset({"next", "coming", "this coming"})
_STEPS = {"last": -1, "past": -1, "next": 1}  # of months or years
_ANCHOR = re.compile(r"\b(?:1[0-9]|20)\d\d\b")  # another year: the time may be relative to it


class DatedTime(NamedTuple):
    """A relative time and the date that it means: "14 May 2004", "May 2004" or "2004"."""

    span: Span
    date: str


@lru_cache(maxsize=4096)  # a passage meets several claims
def relative_times(text: str, published: str) -> tuple[DatedTime, ...]:
    """Return the relative times of a text that was published on an ISO date, which may be partial.

    >>> [t.date for t in relative_times("It opened this morning.", "2004-05-14")]
    ['14 May 2004']
    >>> [t.date for t in relative_times("It shuts on Friday. It was built last year.", "2004")]
    ['2003']
    """
    parts = re.fullmatch(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?.*", published)
    if not parts or not _P["any"].search(text):  # most passages name none: no sentence is cut
        return ()
    year, month, day = parts.groups()
    try:
        now = date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return ()
    return tuple(_in_sentences(text, now, has_month=bool(month), has_day=bool(day)))


def about_passage(about: str, text: str, published: str | None, page: str = "") -> str:
    """Add to what is known of a page the dates and names that its passage leaves to its context."""
    dates = (time.date for time in relative_times(text, published or ""))
    names = (referent.name for referent in referents_in(text, page)) if page else ()
    return " · ".join(filter(None, dict.fromkeys([about, *dates, *names])))


def _in_sentences(text: str, now: date, *, has_month: bool, has_day: bool) -> Iterator[DatedTime]:
    for sentence in sentences_of(text):
        words = sentence.of(text)
        if _ANCHOR.search(words):
            continue
        ahead = bool(_P["to_come"].search(words))
        for match in _P["any"].finditer(words):
            try:
                meant = _day(match, now, ahead) if has_day else ""
                if has_month and not meant:
                    meant = _month(match, now, ahead)
            except (ValueError, OverflowError):  # 30 February, a thousand years ago
                continue
            if meant := meant or _year(match, now):
                yield DatedTime(Span(*match.span()).moved(sentence.start), meant)


def _day(match: re.Match[str], now: date, ahead: bool) -> str:
    """The day of a time such as "on Friday"; empty if it names none. `ahead`: it is to come."""
    for name, days in (("before", -2), ("yesterday", -1), ("today", 0), ("tomorrow", 1)):
        if match[name]:
            return _format(now + timedelta(days))
    if match["ago"] in ("day", "week"):
        days = 7 if match["ago"] == "week" else 1
        return _format(now - timedelta(days * count_of(match["n"])))
    if name := match["named"] or match["weekday"]:
        return _format(now + timedelta(_days_to(name, (match["which"] or "").lower(), now, ahead)))
    if number := match["day"] or match["after"]:
        month = MONTH_NUMBERS[(match["month"] or match["first"]).rstrip(".").lower()]
        return _format(_nearest(now, month, int(number), ahead))
    return ""


def _days_to(weekday: str, which: str, now: date, ahead: bool) -> int:
    """Days from now to a weekday, negative for one that is past; `which`: "last", "next" or ""."""
    days = DAYS.index(weekday) - now.weekday()
    if which == "next":  # the one of the next week
        return 7 + days
    if which in _COMING or (ahead and which in ("", "this")):
        return days % 7
    return -(-days % 7) - (7 if days == 0 and which in ("last", "past") else 0)


def _month(match: re.Match[str], now: date, ahead: bool) -> str:
    """The month of a time such as "last May"; empty if it names none."""
    if match["ago"] == "month":
        return _of_month(now, -int(count_of(match["n"])))
    if match["unit"] == "month":
        return _of_month(now, _STEPS.get(match["which"].lower(), 0))
    if name := match["of"] or match["only"]:
        which = (match["which"] or "").lower()
        is_ahead = which in _COMING or (ahead and not which)
        return _of_month(_nearest(now.replace(day=1), MONTH_NUMBERS[name.lower()], 1, is_ahead), 0)
    return ""


def _year(match: re.Match[str], now: date) -> str:
    """The year of a time such as "two years ago"; empty if it names none."""
    if match["ago"] == "year":
        return str(now.year - int(count_of(match["n"])))
    which = (match["which"] or match["whose"] or "").lower()
    if match["unit"] == "year" or match["whose"]:
        year = now.year + _STEPS.get(which, 0)
        return " ".join(filter(None, (match["nth"], match["in"], str(year))))
    return str(now.year) if match["season"] and which == "this" else ""


def _nearest(now: date, month: int, day: int, ahead: bool) -> date:
    """Return the first such day from `now` on, or the last one up to it."""
    in_year = date(now.year, month, day)
    if ahead:
        return in_year if in_year >= now else in_year.replace(year=now.year + 1)
    return in_year if in_year <= now else in_year.replace(year=now.year - 1)


def _of_month(now: date, months: int) -> str:
    year, month = divmod(now.year * 12 + now.month - 1 + months, 12)
    return f"{MONTHS[month]} {year}"


def _format(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


# ── Pronouns and descriptions ────────────────────────────────────────────────────────────────────

_PRONOUN = re.compile(r"(?:It|He|She|They)\b")
_LONGEST = 1_000  # characters of a sentence; longer ones are lists
_NARROWS = frozenset("of that which who whose where".split())
_NO_PHRASE = syntax.PARTICLES | syntax.AUXILIARIES | BE_OR_MODAL | {"and", "or", "but", "who"}


class Referent(NamedTuple):
    """A pronoun or description, and what it may stand for: certain if that is one name."""

    span: Span
    sentence: Span
    names: tuple[str, ...]  # the likeliest first; "": something without a name

    @property
    def name(self) -> str:
        return self.names[0] if len(self.names) == 1 else ""


class _Known(NamedTuple):
    """A thing that a text has introduced; "": without a name."""

    name: str
    noun: str
    modifiers: frozenset[str]


@lru_cache(maxsize=64)
def referents(text: str) -> tuple[Referent, ...]:
    """Find what "It" at the start of a sentence, "the canal" or "the elder brother" stand for.

    A pronoun stands for the subject of the nearest sentence before it that does not open so; a
    description for the names before it that have its noun, or were introduced by it.

    >>> referents("Varde Mill was sold. It was never a barn.")[0].name
    'Varde Mill'
    """
    result, before, known = list[Referent](), "", dict[_Known, None]()
    for span in sentences_of(text):
        sentence = span.of(text)
        if len(sentence) > _LONGEST:
            continue
        if pronoun := _PRONOUN.match(sentence):
            if names := _subjects(before, pronoun[0]):
                result.append(Referent(Span(span.start, span.start + pronoun.end()), span, names))
        else:
            before = sentence
        for at, names in _descriptions(sentence, known):
            result.append(Referent(at.moved(span.start), span, names))
        known.update(dict.fromkeys(_introductions(sentence)))
    return tuple(result)


def _subjects(sentence: str, pronoun: str) -> tuple[str, ...]:
    """Return what a pronoun may stand for by the sentence before; empty if unknown."""
    if not (verb := finite_verb(sentence)):
        return ()
    subject = sentence[: verb.start].strip()
    others = [m["name"] for m in _P["named"].finditer(sentence, verb.end) if not m["place"]]
    is_noun = " " not in subject and may_be_noun(subject.lower())
    is_name = _P["named"].fullmatch(subject) and not is_noun
    return (subject, *others) if is_name and pronoun != "They" else (subject, "")


@lru_cache(maxsize=256)  # asked for several times while a pair is judged
def referents_in(passage: str, page: str) -> tuple[Referent, ...]:
    """Return the referents of a page that are in one of its passages."""
    page, result = page or passage, list[Referent]()
    for span, sentence, names in referents(page):
        at = passage.find(sentence.of(page))
        if at >= 0:
            by = at - sentence.start
            result.append(Referent(span.moved(by), sentence.moved(by), names))
    return tuple(result)


def _descriptions(sentence: str, known: Iterable[_Known]) -> Iterator[tuple[Span, tuple[str, ...]]]:
    for match in _P["described"].finditer(sentence):
        words = match["kind"].split(" ")
        for n, word in enumerate(words):
            end = match.start("kind") + len(" ".join(words[: n + 1]))
            same = [k.name for k in known if k.noun == word and k.modifiers.issuperset(words[:n])]
            if any(same) and not _goes_on(sentence, end):
                names = sorted(_distinct(same), key=bool, reverse=True)
                yield Span(match.start(), end), tuple(names)
                break


def _distinct(names: Iterable[str]) -> list[str]:
    """Return the longest form of each name; "Holm" and "Ada Holm" are forms of one."""
    by_words = dict[frozenset[str], str]()
    for name in names:
        words = frozenset(name.removeprefix("the ").split(" "))
        if words in by_words or not any(words <= other or other <= words for other in by_words):
            by_words[words] = max(name, by_words.get(words, ""), key=len)
    return list(by_words.values())


def _goes_on(sentence: str, end: int) -> bool:
    """Whether words behind a noun narrow it, or make another one: "canal of Corinth", "boat"."""
    word, after = [*WORD_OR_MARK.findall(sentence, end)[:2], "", ""][:2]
    if word in syntax.PREPOSITIONS | _NARROWS:
        return word in _NARROWS or not after[:1].isdigit()
    if not word[:1].isalpha() or word in syntax.AUXILIARIES | BE_OR_MODAL | {"and", "or", "but"}:
        return False
    is_verb = word.endswith(("s", "ed")) or syntax.may_be_past(word)
    return word != word.lower() or not ("VERB" in lemmas(word) and is_verb)


def _introductions(sentence: str) -> Iterator[_Known]:
    """Yield names with a noun in them or beside them, and what has such a noun and no name."""
    taken = list[range]()
    for match in _P["named"].finditer(sentence):
        words = match["name"].split(" ")
        name = f"the {match['name']}" if match["the"] else match["name"]
        if len(words) > 1:
            noun = next(filter(may_be_noun, (words[-1].lower(), words[0].lower())), "")
            yield _Known(name, noun, frozenset())
        is_subject = not sentence[: match.start()].strip(" ,")
        beside = _P["beside"].match(sentence, match.end())
        if not beside or (beside["is"] and not is_subject):
            beside = _P["before"].search(sentence, 0, match.start("name"))
        if beside:
            yield _Known(name, *_noun(beside["kind"]))
            taken.append(range(*beside.span()))
    for match in _P["unnamed"].finditer(sentence):
        is_new = match["det"].lower() != "the"
        noun, modifiers = _noun(match["kind"])
        behind = match["kind"].partition(noun)[2].split()
        narrowed = modifiers or _NARROWS.intersection(behind[:1])
        if (is_new or narrowed) and not any(match.start() in other for other in taken):
            yield _Known("", noun, modifiers)


def _noun(phrase: str) -> tuple[str, frozenset[str]]:
    """Return the noun of a phrase, and the words before it: "company", {"shipping"}."""
    words = phrase.lower().split(" ")
    ends = (
        n
        for n, word in enumerate(words)
        if n and (word in _NO_PHRASE or (syntax.is_participle(word) or word.endswith("ing")))
        if n > 1 or may_be_noun(words[0])
    )
    words = words[: next(ends, len(words))]
    return words[-1], frozenset(words[:-1])
