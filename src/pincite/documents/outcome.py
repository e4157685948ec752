"""Decides whether a page can be read as a source, and whether it copies Wikipedia.

Rejecting a real page is worse than accepting an error page, so all signs apply only to short texts.
Notices have a classifier (`notices`). Paywalls and scripts have rules, since a teaser has
statements and a page that scripts write has no text.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from pincite.documents import notices
from pincite.documents.notices import Signs, cue_pattern, normalise
from pincite.text import patterns
from pincite.text.hosts import is_front, original_of
from pincite.text.sentences import n_words
from pincite.types import Reason, Unchecked

# Calibrated on the 60 pages of Mozilla Readability's tests (median 760 words) and 82 pages of web
# archives (median 511): these limits reject none of them, although one declares itself not free
# (326 words). Teasers before a paywall have one to four paragraphs, notices one.
TEASER_WORDS = 250
TEASER_WORDS_BY_CLASS = 100  # class names alone are weak: templates of free pages carry them too
NOTICE_WORDS = 250
SHELL_WORDS = 100
SCRIPTED_WORDS = 25
BARE_WORDS = 8  # besides the headline
_SENTENCE_START = re.compile(r"(\A|[\n.!?…。:]\W*)\Z")
_SENTENCE_END = re.compile(r"[\s.!…。]*(\Z|\n|[.!…。])")
_QUOTES = tuple('"“„«»‘「『')
_PATTERNS = patterns(__file__, "outcome")
Refusal = tuple[Reason, str]


def of_page(url: str, text: str, article: str, signs: Signs) -> Unchecked | None:
    """Classify a page; None if it can be read as a source.

    `text` is what would be kept of the page, `article` its running text: a teaser among many
    headlines is a short article on a page with much text.
    """
    words, signs = n_words(text), replace(signs, text=signs.text or text)
    refusal: Refusal | None = None
    if n_words(signs.text[: notices.NOTICE_CHARS]) <= NOTICE_WORDS:
        refusal = _notice(url, signs) or _needs_scripts(words, text, signs)
    refusal = refusal or _paywall(n_words(article) or words, signs)
    if not refusal and words == 0:
        refusal = Reason.EMPTY, "the page has no text"
    return Unchecked(url, *refusal) if refusal else None


def with_address(url: str, signs: Signs) -> Signs:
    """Add the signs that follow from the requested address."""
    address = original_of(url if url.startswith("http") else signs.address)  # that a file states
    at_front = is_front(signs.address) and bool(address) and not is_front(address)
    may_list = not is_front(address) and _PATTERNS["listing_place"].search(address) is None
    return replace(signs, at_front=at_front, may_list=may_list)


def _notice(url: str, signs: Signs) -> Refusal | None:
    if notice := notices.find_notice(with_address(url, signs)):
        return notice.kind.reason, f"{notice.kind.meaning}: “{notice.cue}”"
    if signs.asks_password and n_words(signs.text) - n_words(signs.headline) < BARE_WORDS:
        return Reason.LOGIN, "the page asks for a password and has no other text"
    return None


def _needs_scripts(words: int, text: str, signs: Signs) -> Refusal | None:
    if not signs.n_scripts:
        return None
    shown = normalise(f"{signs.visible}\n{text}"[: notices.NOTICE_CHARS])
    asks = bool(cue_pattern("scripts").search(shown)) and not notices.has_statement(
        text, signs.title
    )
    asks_without = cue_pattern("scripts").search(normalise(signs.noscript)) is not None
    is_bare = words - n_words(signs.headline) < BARE_WORDS
    is_empty = words < SCRIPTED_WORDS and (is_bare or asks or asks_without)
    if is_empty or (asks and words < SHELL_WORDS):
        return Reason.EMPTY, f"a page rendered by scripts: {words} words without them"
    return None


def _paywall(words: int, signs: Signs) -> Refusal | None:
    if words > TEASER_WORDS:
        return None
    readable = f"; {words} words are readable"
    shown = normalise(signs.visible)
    phrases = (match for match in cue_pattern("paywall").finditer(shown) if _stands_alone(match))
    is_short = n_words(signs.visible) <= 2 * TEASER_WORDS
    if match := next(phrases, None) or (cue_pattern("hint").search(shown) if is_short else None):
        return Reason.PAYWALL, f"“{match[0]}”{readable}"
    if signs.not_free:
        return Reason.PAYWALL, f"the page declares isAccessibleForFree: false{readable}"
    if signs.paywall_class and words <= TEASER_WORDS_BY_CLASS:
        return Reason.PAYWALL, f"a part of the page is marked “{signs.paywall_class}”{readable}"
    return None


def _stands_alone(match: re.Match[str]) -> bool:
    """Whether a phrase begins or ends its sentence, outside of quotation marks."""
    before, after = match.string[: match.start()], match.string[match.end() :]
    is_at_edge = _SENTENCE_START.search(before[-8:]) or _SENTENCE_END.match(after)
    return is_at_edge is not None and not before.endswith(_QUOTES)


# ── Copies of Wikipedia ───────────────────────────────────────────────────────────────────────────

_BLOCKS = "p li td dd div small footer address blockquote body h1 h2 h3 h4 h5 h6".split()
_IS_BLOCK = " or ".join(f"self::{tag}" for tag in _BLOCKS)
_NAMES = ("ikip", "икип", "ウィキペ", "维基百科")
_HAS_NAME = " or ".join(f"contains(., '{name}')" for name in _NAMES)
_MENTIONS = (  # the first and last: a list of references may link it a thousand times
    "(//body/descendant-or-self::*[not(self::script or self::style)]"
    f"[text()[{_HAS_NAME}] or contains(@href, 'wikipedia.org/')])"
    "[position() <= 100 or position() > last() - 100]"
    f"/ancestor-or-self::*[{_IS_BLOCK}][1][not(self::h1)]"
)
MENTION_CHARS = 1_000
COPY_SIGNS = 3  # a news story that links its subject's article, and the list of its versions, has 2


def copied_article(tree: Any, title: str) -> str:
    """Return the Wikipedia article that a page copies, or "Wikipedia"; empty if it copies none.

    A copy names Wikipedia below its headline, or states two of: this text is Wikipedia's, under
    its licence, and the article of the same title is linked.
    """
    headings = (title, *tree.xpath("//h1//text()"))
    titles = {
        _plain(part) for heading in headings for part in (heading, *notices.title_parts(heading))
    }
    for block in tree.xpath(_MENTIONS):
        links = filter(None, map(_PATTERNS["article"].match, block.xpath(".//a/@href")))
        same = [link for link in links if _plain(unquote(link["title"])) in titles]
        if _states_copy(block, same):
            return same[0][0] if same else "Wikipedia"
    return ""


def _states_copy(block: Any, links: Sequence[re.Match[str]]) -> bool:
    """Whether a block that mentions Wikipedia states a copy; `links` to the page's article."""
    beside = [near for near in (block.getprevious(), block.getnext()) if near is not None]
    text, *texts_beside = (near.text_content()[:MENTION_CHARS] for near in (block, *beside))
    text = normalise(" ".join([text, *block.xpath(".//a/@rel")])).strip()
    around = normalise(" ".join([text, *texts_beside]))
    is_attributed = cue_pattern("attributed").search(text) is not None
    # The licence may be that of a picture, with a credit for it.
    has_credit = not is_attributed and cue_pattern("credit").search(around) is not None
    is_licensed = not has_credit and cue_pattern("share_alike").search(around) is not None
    links_versions = any(link["version"] for link in links)
    n_signs = bool(links) + links_versions + is_attributed + 2 * is_licensed
    return n_signs >= COPY_SIGNS or cue_pattern("tagline").fullmatch(text) is not None


def _plain(title: str) -> str:
    """A title without what tells it from others: "Mercury (planet)" is "mercury"."""
    return re.sub(r"[\W_]+", " ", title.partition("(")[0]).strip().lower()
