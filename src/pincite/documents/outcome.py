"""Decides whether a page can be read as a source, and whether it copies Wikipedia.

Rejecting a real page is worse than accepting an error page, so all signs apply only to short texts.
Paywalls and scripts have rules of their own, since a teaser has statements and a shell has no text.

Notices are pages in place of a source: gone, for sale, a login, a list of results. `notices.toml`
has what each kind says of itself, its cues, in eleven languages. A page with a statement about
anything but itself is no notice, whatever its cues: a page on bus 404 with "Sign in" in its margin
is a real page. For the others a logistic regression weighs what is around a cue; its weights, in
`notice_weights.toml`, are fitted by `research/scripts/fit_notices.py`.
"""

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pincite.text import patterns
from pincite.text.hosts import is_front, original_of
from pincite.text.sentences import n_words, sentences
from pincite.types import Reason, Unchecked, sigmoid

# Calibrated on the 60 pages of Mozilla Readability's tests (median 760 words) and 82 pages of web
# archives (median 511): these limits reject none of them, although one declares itself not free
# (326 words). Teasers before a paywall have one to four paragraphs, notices one.
TEASER_WORDS = 250
TEASER_WORDS_BY_CLASS = 100  # class names alone are weak: templates of free pages carry them too
NOTICE_WORDS = 250
SHELL_WORDS = 100
SCRIPTED_WORDS = 25
BARE_WORDS = 8  # besides the headline
_AT_START = re.compile(r"(\A|[\n.!?…。:]\W*)\Z")
_AT_END = re.compile(r"[\s.!…。]*(\Z|\n|[.!…。])")

REASONS = {
    "gone": (Reason.SOFT_404, "the page reports itself as not found"),
    "parked": (Reason.USURPED, "the domain is parked"),
    "consent": (Reason.CONSENT, "the page asks for consent"),
    "login": (Reason.LOGIN, "the page requires a login"),
    "robot": (Reason.REFUSED, "the copy is a robot check"),
    "blocked": (Reason.REFUSED, "the copy is a refusal page"),
    "moved": (Reason.NOT_SUPPLIED, "the copy only redirects to another page"),
    "archive": (Reason.NOT_SUPPLIED, "the archive has no copy"),
    "listing": (Reason.LISTING, "the page is a list of other pages"),
    "front": (Reason.FRONT_PAGE, "the copy is the site's front page"),
}
_PATTERNS = patterns(__file__, "outcome")


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


_BLOCKS = "p li td dd div small footer address blockquote body h1 h2 h3 h4 h5 h6".split()
_BLOCK = " or ".join(f"self::{tag}" for tag in _BLOCKS)
_NAMED = " or ".join(f"contains(., '{name}')" for name in ("ikip", "икип", "ウィキペ", "维基百科"))
_MENTIONS = (  # the first and last: a list of references may link it a thousand times
    "(//body/descendant-or-self::*[not(self::script or self::style)]"
    f"[text()[{_NAMED}] or contains(@href, 'wikipedia.org/')])"
    "[position() <= 100 or position() > last() - 100]"
    f"/ancestor-or-self::*[{_BLOCK}][1][not(self::h1)]"
)
MENTION_CHARS = 1_000
COPY_SIGNS = 3  # a news story that links its subject's article, and the list of its versions, has 2


def of_page(url: str, text: str, article: str, signs: Signs) -> Unchecked | None:
    """Classify a page; None if it can be read as a source.

    `text` is what would be kept of the page, `article` its running text: a teaser among many
    headlines is a short article on a page with much text.
    """
    words, signs = n_words(text), replace(signs, text=signs.text or text)
    reason = None
    if n_words(signs.text[:NOTICE_CHARS]) <= NOTICE_WORDS:
        reason = _notice(url, signs) or _needs_scripts(words, text, signs)
    reason = reason or _paywall(n_words(article) or words, signs)
    if not reason and words == 0:
        reason = Reason.EMPTY, "the page has no text"
    return Unchecked(url, *reason) if reason else None


def copied_article(tree: Any, title: str) -> str:
    """Return the Wikipedia article that a page copies, or "Wikipedia"; empty if it copies none.

    A copy names Wikipedia below its headline, or states two of: this text is Wikipedia's, under
    its licence, and the article of the same title is linked.
    """
    headings = (title, *tree.xpath("//h1//text()"))
    names = {_name(part) for heading in headings for part in (heading, *title_parts(heading))}
    for block in tree.xpath(_MENTIONS):
        links = filter(None, map(_PATTERNS["article"].match, block.xpath(".//a/@href")))
        same = [link for link in links if _name(unquote(link["title"])) in names]
        if _states_copy(block, same):
            return same[0][0] if same else "Wikipedia"
    return ""


def _states_copy(block: Any, same: Sequence[re.Match[str]]) -> bool:
    """Whether a block that mentions Wikipedia states a copy; `same`: links to the article."""
    beside = [near for near in (block.getprevious(), block.getnext()) if near is not None]
    text, *texts_beside = (near.text_content()[:MENTION_CHARS] for near in (block, *beside))
    text = normalise(" ".join([text, *block.xpath(".//a/@rel")])).strip()
    around = normalise(" ".join([text, *texts_beside]))
    attributed = bool(cue_pattern("attributed").search(text))
    credited = not attributed and cue_pattern("credit").search(around)
    licensed = bool(cue_pattern("share_alike").search(around) and not credited)
    links_versions = any(link["version"] for link in same)
    n_signs = bool(same) + links_versions + attributed + 2 * licensed
    return n_signs >= COPY_SIGNS or cue_pattern("tagline").fullmatch(text) is not None


def _name(title: str) -> str:
    return re.sub(r"[\W_]+", " ", title.partition("(")[0]).strip().lower()


def with_address(url: str, signs: Signs) -> Signs:
    """Add the signs that follow from the requested address."""
    address = original_of(url if url.startswith("http") else signs.address)  # that a file states
    at_front = is_front(signs.address) and bool(address) and not is_front(address)
    may_list = not is_front(address) and _PATTERNS["listing_place"].search(address) is None
    return replace(signs, at_front=at_front, may_list=may_list)


def _notice(url: str, signs: Signs) -> tuple[Reason, str] | None:
    if notice := find_notice(with_address(url, signs)):
        reason, what = REASONS[notice.kind]
        return reason, f"{what}: “{notice.cue}”"
    if signs.asks_password and n_words(signs.text) - n_words(signs.headline) < BARE_WORDS:
        return Reason.LOGIN, "the page asks for a password and has no other text"
    return None


def _paywall(words: int, signs: Signs) -> tuple[Reason, str] | None:
    if words > TEASER_WORDS:
        return None
    readable = f"; {words} words are readable"
    text = normalise(signs.visible)
    is_short = n_words(signs.visible) <= 2 * TEASER_WORDS
    hint = cue_pattern("hint").search(text) if is_short else None
    phrases = (match for match in cue_pattern("paywall").finditer(text) if _stands_alone(match))
    if match := next(phrases, None) or hint:
        return Reason.PAYWALL, f"“{match[0]}”{readable}"
    if signs.not_free:
        return Reason.PAYWALL, f"the page declares isAccessibleForFree: false{readable}"
    if signs.paywall_class and words <= TEASER_WORDS_BY_CLASS:
        return Reason.PAYWALL, f"a part of the page is marked “{signs.paywall_class}”{readable}"
    return None


def _stands_alone(match: re.Match[str]) -> bool:
    """Whether a phrase begins or ends its sentence, outside of quotation marks."""
    before, after = match.string[: match.start()], match.string[match.end() :]
    is_at_end = _AT_START.search(before[-8:]) or _AT_END.match(after)
    return is_at_end is not None and not before.endswith(tuple('"“„«»‘「『'))


def _needs_scripts(words: int, text: str, signs: Signs) -> tuple[Reason, str] | None:
    seen = normalise(f"{signs.visible}\n{text}"[:NOTICE_CHARS])
    says_so = cue_pattern("scripts").search(seen)
    needs_scripts = says_so and not has_statement(text, signs.title)
    asks = needs_scripts or cue_pattern("scripts").search(normalise(signs.noscript))
    bare = words - n_words(signs.headline) < BARE_WORDS
    is_shell = needs_scripts and words < SHELL_WORDS
    if signs.n_scripts and ((words < SCRIPTED_WORDS and (bare or asks)) or is_shell):
        return Reason.EMPTY, f"a page rendered by scripts: {words} words without them"
    return None


# ── Notices ───────────────────────────────────────────────────────────────────────────────────────

CUES = Path(__file__).with_name("notices.toml")
WEIGHTS = Path(__file__).with_name("notice_weights.toml")
LISTS = ("listing", "front")
KINDS = tuple(REASONS)
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


def find_notice(page: Signs) -> Notice | None:
    """Return the most probable kind of notice; None if the page is more probably a source."""
    cue_of = candidate_kinds(page)
    if not cue_of:
        return None
    # What a parked page advertises is no statement, nor is the reason why "this page" is gone.
    advertises = "parked" in cue_of and _is_domain(page)
    if has_statement(page.text, page.title) and not advertises:
        cue_of = {kind: cue for kind, cue in cue_of.items() if declares(kind, page)}
    table, notices = _table(WEIGHTS), list[Notice]()
    for kind, cue in cue_of.items():
        values = features(kind, page)
        weighted = (table["weights"].get(name, 0.0) * value for name, value in values.items())
        probability = sigmoid(table["intercept"] + sum(weighted))
        if values and probability >= table["threshold"]:
            notices.append(Notice(kind, probability, cue))
    # Lists come last: a search may have no results.
    return max(notices, key=lambda n: (n.kind not in LISTS, n.probability), default=None)


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
    """Return the features of the regression for one kind; empty if the page cannot be that."""
    lines, parts, own = _lines(page.text), title_parts(page.title), _own_sentences(page)
    n_own = _count_words(own)
    lead = [text for text in (page.headline, _first_sentence(page)) if _means_this_page(text)]
    in_title = max(_share_of_cues(kind, part) for part in (page.title, *parts, *lead))
    in_headline = _share_of_cues(kind, page.headline)
    explains = (kind == "parked" and _is_domain(page)) or declares(kind, page)
    odd = [] if explains else [sentence for sentence in own if not _is_of_notice(sentence)]
    # A notice says what it is in its title or headline, unless it is very short.
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
