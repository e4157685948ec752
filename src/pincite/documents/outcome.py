"""Detects pages that are not sources: gone, blocked, behind a paywall, or without text.

Rejecting a real page is worse than accepting an error page, so all signs apply only to short texts.
Paywalls and scripts have rules of their own, since a teaser has statements and a shell has no text.

Other pages in place of a source (gone, for sale, a login, a list of results) are recognised by what
they say of themselves. `notices.toml` has the cues of each kind in eleven languages. A page with a
statement about anything but itself is no notice, whatever its cues: a page on bus 404 with "Sign
in" in its margin is a real page. For the others a logistic regression weighs what is around a cue;
its weights, in `notice_weights.toml`, are fitted by `research/scripts/fit_notices.py`.
"""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pincite.text.hosts import is_front, original_of
from pincite.text.sentences import n_words, sentences
from pincite.types import Reason, Unchecked, sigmoid

# ── Notices ──────────────────────────────────────────────────────────────────────────────────────

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
    found = {kind: cue for kind in KINDS if (cue := next(_find_cues(kind, places), ""))}
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
    lines, parts, own = _lines(look.text), title_parts(look.title), _own_sentences(look)
    words = _words_of(own)
    cued = [each for each in own if next(_find_cues(kind, [each]), "")]
    lead = [each for each in (look.headline, _first_sentence(look)) if _means_this_page(each)]
    in_title = max(_share_of_cues(kind, part) for part in (look.title, *parts, *lead))
    in_headline = _share_of_cues(kind, look.headline)
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
        "early": float(bool(next(_find_cues(kind, lines[:EARLY_LINES]), ""))),
        "cues": math.log1p(len({cue.lower() for cue in _find_cues(kind, lines)})),
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
    whole = [head for head in heads if kind not in LISTS and _share_of_cues(kind, head) >= WHOLE]
    repeated = [each for each in [_first_sentence(look)] if next(_find_cues(kind, [each]), "")]
    return bool(whole) and any(map(_means_this_page, [*whole, *repeated]))


def _means_this_page(text: str) -> bool:
    return cues("this").search(typographic(text)) is not None


def _first_sentence(look: Look) -> str:
    """The first sentence below the headline."""
    below = look.text.rpartition(f"{look.headline}\n")[2]
    return next(iter(_own_sentences(replace(look, text=below))), "")


def _own_sentences(look: Look) -> list[str]:
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
    if sentence.rstrip(_CLOSING)[-1:] not in _ENDS or any(_kinds_cued(sentence)):
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
    return bool(words) or _addresses(sentence) or any(_kinds_cued(sentence))


def _kinds_cued(sentence: str) -> Iterator[str]:
    return (kind for kind in KINDS if next(_find_cues(kind, [sentence]), ""))


def _find_cues(kind: str, texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        found = cues(kind).finditer(typographic(text))
        yield from (" ".join(match[0].split()) for match in found)


def _share_of_cues(kind: str, text: str) -> float:
    return sum(map(len, _find_cues(kind, [text]))) / max(1, len(text))


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


# ── Outcomes ─────────────────────────────────────────────────────────────────────────────────────

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
# An address of search results or of a topic: its page is supposed to be a list.
_LISTING_PLACE = re.compile(
    r"(?<![:/])[/?&](search|suche?|recherche|buscar?|tags?|topics?|categor\w+|archives?|author|q|query|s)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Markup(Look):
    """A page as its markup shows it."""

    visible: str = ""  # all text except scripts, navigation and footer
    n_scripts: int = 0
    not_free: bool = False  # JSON-LD or microdata: isAccessibleForFree is false
    paywall_class: str = ""  # a class or id that names a paywall
    noscript: str = ""  # what the page shows where scripts are off
    address: str = ""  # that the page states as its own


_BLOCKS = "p li td dd div small footer address blockquote body h1 h2 h3 h4 h5 h6".split()
_BLOCK = " or ".join(f"self::{tag}" for tag in _BLOCKS)
_NAMED = " or ".join(f"contains(., '{each}')" for each in ("ikip", "икип", "ウィキペ", "维基百科"))
_MENTIONS = (  # the first and last: a list of references may link it a thousand times
    "(//body/descendant-or-self::*[not(self::script or self::style)]"
    f"[text()[{_NAMED}] or contains(@href, 'wikipedia.org/')])"
    "[position() <= 100 or position() > last() - 100]"
    f"/ancestor-or-self::*[{_BLOCK}][1][not(self::h1)]"
)
_ARTICLE = re.compile(
    r"(?:https?:)?//[\w.-]+\.wikipedia\.org/(?:wiki/|w/index\.php\?(?:\S*&)?title=)"
    r"(?P<title>(?!\w+:\w)[^?&#\s]+)(?P<version>\S*[?&](oldid=|action=history))?\S*"
)
MENTION_CHARS = 1_000
COPY_SIGNS = 3  # a news story that links its subject's article, and the list of its versions, has 2


def of_status(url: str, status: int | None) -> Unchecked | None:
    """Classify by HTTP status alone; None if the body is worth reading.

    >>> of_status("https://example.org/", 404).reason, of_status("https://example.org/", 200)
    (<Reason.DEAD: 'dead'>, None)
    """
    if status is None or status < 300:
        return None
    if status < 400:
        detail = f"HTTP {status}: a redirect to a page that is not stored"
        return Unchecked(url, Reason.NOT_SUPPLIED, detail)
    reasons = {404: Reason.DEAD, 410: Reason.DEAD, 402: Reason.PAYWALL}
    return Unchecked(url, reasons.get(status, Reason.REFUSED), f"HTTP {status}")


def of_page(url: str, text: str, article: str, markup: Markup) -> Unchecked | None:
    """Classify a page; None if it can be read as a source.

    `text` is what would be kept of the page, `article` its running text: a teaser among many
    headlines is a short article on a page with much text.
    """
    words, markup = n_words(text), replace(markup, text=markup.text or text)
    found = None
    if n_words(markup.text[:NOTICE_CHARS]) <= NOTICE_WORDS:
        found = _notice(url, markup) or _needs_scripts(words, text, markup)
    found = found or _paywall(n_words(article) or words, markup)
    if not found and words == 0:
        found = Reason.EMPTY, "the page has no text"
    return Unchecked(url, *found) if found else None


def copied_article(tree: Any, title: str) -> str:
    """The Wikipedia article that a page copies, or "Wikipedia"; empty if it copies none.

    A copy names Wikipedia below its headline, or states two of: this text is Wikipedia's, under
    its licence, and the article of the same title is linked.
    """
    shown = (title, *tree.xpath("//h1//text()"))
    names = {_name(part) for each in shown for part in (each, *title_parts(each))}
    for block in tree.xpath(_MENTIONS):
        beside = [each for each in (block.getprevious(), block.getnext()) if each is not None]
        text, *near = (each.text_content()[:MENTION_CHARS] for each in (block, *beside))
        text = typographic(" ".join([text, *block.xpath(".//a/@rel")])).strip()
        around = typographic(" ".join([text, *near]))
        links = filter(None, map(_ARTICLE.match, block.xpath(".//a/@href")))
        same = [link for link in links if _name(unquote(link["title"])) in names]
        attributed = bool(cues("attributed").search(text))
        credited = not attributed and cues("credit").search(around)
        licensed = bool(cues("share_alike").search(around) and not credited)
        versions = any(link["version"] for link in same)
        signs = bool(same) + versions + attributed + 2 * licensed
        if signs >= COPY_SIGNS or cues("tagline").fullmatch(text):
            return same[0][0] if same else "Wikipedia"
    return ""


def _name(title: str) -> str:
    return re.sub(r"[\W_]+", " ", title.partition("(")[0]).strip().lower()


def look_of(url: str, markup: Markup) -> Look:
    """What `notices` weighs: with what follows from the address that was asked for."""
    address = original_of(url if url.startswith("http") else markup.address)  # that a file states
    at_front = is_front(markup.address) and bool(address) and not is_front(address)
    may_list = not is_front(address) and _LISTING_PLACE.search(address) is None
    return replace(markup, at_front=at_front, may_list=may_list)


def _notice(url: str, markup: Markup) -> tuple[Reason, str] | None:
    if notice := find_notice(look_of(url, markup)):
        reason, what = REASONS[notice.kind]
        return reason, f"{what}: “{notice.cue}”"
    if markup.asks_password and n_words(markup.text) - n_words(markup.headline) < BARE_WORDS:
        return Reason.LOGIN, "the page asks for a password and has no other text"
    return None


def _paywall(words: int, markup: Markup) -> tuple[Reason, str] | None:
    if words > TEASER_WORDS:
        return None
    stored = f"; {words} words are readable"
    all_words = n_words(markup.visible)
    text = typographic(markup.visible)
    hint = cues("hint").search(text) if all_words <= 2 * TEASER_WORDS else None
    phrases = (match for match in cues("paywall").finditer(text) if _stands_alone(match))
    if match := next(phrases, None) or hint:
        return Reason.PAYWALL, f"“{match[0]}”{stored}"
    if markup.not_free:
        return Reason.PAYWALL, f"the page declares isAccessibleForFree: false{stored}"
    if markup.paywall_class and words <= TEASER_WORDS_BY_CLASS:
        return Reason.PAYWALL, f"a part of the page is marked “{markup.paywall_class}”{stored}"
    return None


def _stands_alone(match: re.Match[str]) -> bool:
    """Whether a phrase begins or ends its sentence, outside of quotation marks."""
    before, after = match.string[: match.start()], match.string[match.end() :]
    if before.endswith(tuple('"“„«»‘「『')):
        return False
    return _AT_START.search(before[-8:]) is not None or _AT_END.match(after) is not None


def _needs_scripts(words: int, text: str, markup: Markup) -> tuple[Reason, str] | None:
    seen = typographic(f"{markup.visible}\n{text}"[:NOTICE_CHARS])
    needs_scripts = cues("scripts").search(seen) and not has_statement(text, markup.title)
    asks = needs_scripts or cues("scripts").search(typographic(markup.noscript))
    bare = words - n_words(markup.headline) < BARE_WORDS
    is_shell = needs_scripts and words < SHELL_WORDS
    if markup.n_scripts and ((words < SCRIPTED_WORDS and (bare or asks)) or is_shell):
        return Reason.EMPTY, f"a page rendered by scripts: {words} words without them"
    return None
